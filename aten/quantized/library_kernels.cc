// The operators of torch.ops.quantized: kernels.
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/element_loops.h"
#include "aten/quantized/packed_weights.h"
#include "aten/quantized/quantized_parts.h"
#include "aten/quantized/row_tables.h"

namespace at::quantized {
namespace {

using MaybeTensor = std::optional<Tensor>;

void check_same(const char* op, const Tensor& a, const Tensor& b) {
  uniform(op, a);
  uniform(op, b);
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), op, ": operands should have same data type, but got ",
              a.scalar_type(), " and ", b.scalar_type());
}

// f of the numbers of `x`, quantized by other parameters.
template <class F>
Tensor to_scale(const char* op, const Tensor& x, double scale, int64_t zero_point, const F& f) {
  uniform(op, x);
  return on_numbers(op, x, per_tensor(scale, zero_point), f);
}

// The same of a function that works element by element.
template <class F>
Tensor each_to_scale(const char* op, const Tensor& x, double scale, int64_t zero_point, const F& f) {
  uniform(op, x);
  return on_each_number(op, x, per_tensor(scale, zero_point), f);
}

// --- arithmetic ---
enum class Relu { kNo, kYes };

Tensor rectified(const Tensor& x, Relu relu) {
  return relu == Relu::kYes ? at::relu(x) : x;
}

template <Relu R>
Tensor add(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  check_same("quantized::add", qa, qb);
  const Tensor sum = combined("quantized::add", qa, qb, {.multiply = false, .rectified = R == Relu::kYes},
                              per_tensor(scale, zero_point));
  if (sum.defined()) return sum;
  return to_scale("quantized::add", qa, scale, zero_point,
                  [&](const Tensor& a) { return rectified(at::add(a, dequantize("quantized::add", qb)), R); });
}
template <Relu R>
Tensor mul(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  check_same("quantized::mul", qa, qb);
  const Tensor product = combined("quantized::mul", qa, qb, {.multiply = true, .rectified = R == Relu::kYes},
                                  per_tensor(scale, zero_point));
  if (product.defined()) return product;
  const char* const op = "quantized::mul";
  const auto distances = [&](const Tensor& t) {
    return at::sub(at::to(integers(op, t), kLong), Scalar(uniform(op, t).zero_point));
  };
  const float factor = static_cast<float>(uniform(op, qa).scale) * static_cast<float>(uniform(op, qb).scale) *
                       (1.0f / static_cast<float>(scale));
  const Tensor steps = at::mul(at::to(at::mul(distances(qa), distances(qb)), kFloat), Scalar(factor));
  const Tensor q = quantize(op, rectified(steps, R), qa.scalar_type(), per_tensor(1, zero_point));
  return fresh(make_quantized(integers(op, q), per_tensor(scale, zero_point)));
}
template <Relu R>
Tensor add_out(const Tensor& qa, const Tensor& qb, Tensor out) {
  const Quantizer& to = uniform("quantized::add", out);
  return give("quantized::add", out, add<R>(qa, qb, to.scale, to.zero_point));
}
template <Relu R>
Tensor mul_out(const Tensor& qa, const Tensor& qb, Tensor out) {
  const Quantizer& to = uniform("quantized::mul", out);
  return give("quantized::mul", out, mul<R>(qa, qb, to.scale, to.zero_point));
}

// Adding a number moves the zero point, as far as the dtype has integers; beyond, the integers get another scale.
template <Relu R>
Tensor add_scalar(const Tensor& qa, const Scalar& b) {
  const char* const op = "quantized::add";
  const Quantizer& from = uniform(op, qa);
  const Range range = range_of(op, qa.scalar_type());
  const double shift = std::nearbyint(b.toDouble() / from.scale);
  TORCH_CHECK(std::abs(shift) < 0x1p31, op, ": value cannot be converted to type int without overflow: ", b,
              " by a scale of ", from.scale);
  const int64_t moved = from.zero_point - static_cast<int64_t>(shift);
  Tensor q;
  QuantizerPtr to;
  if (moved >= range.least && moved <= range.most) {
    q = at::clone(integers(op, qa));
    to = per_tensor(from.scale, moved);
  } else {
    const bool below = moved < range.least;
    const double steps = static_cast<double>(range.most - range.least);
    const double wider = static_cast<double>(below ? range.most - moved : moved - range.least) / steps;
    to = per_tensor(from.scale * wider, below ? range.least : range.most);
    const Tensor distances = at::mul(at::sub(at::to(integers(op, qa), kFloat), Scalar(moved)), Scalar(1.0 / wider));
    const Tensor whole =
        at::clamp(at::add(at::round(distances), Scalar(to->zero_point)), Scalar(range.least), Scalar(range.most));
    q = from_floats(whole, integers_of(op, qa.scalar_type()));
  }
  if (R == Relu::kYes) q = at::clamp_min(q, Scalar(to->zero_point));
  return fresh(make_quantized(q, to));
}

// Multiplying by a number changes the scale; by a negative one it turns the range around.
template <Relu R>
Tensor mul_scalar(const Tensor& qa, const Scalar& b) {
  const char* const op = "quantized::mul";
  const Quantizer& from = uniform(op, qa);
  const Range range = range_of(op, qa.scalar_type());
  const double factor = b.toDouble();
  Tensor q = integers(op, qa);
  QuantizerPtr to;
  if (factor > 0) {
    q = at::clone(q);
    to = per_tensor(from.scale * factor, from.zero_point);
  } else if (factor == 0) {
    q = at::clone(q);
    at::zero_(q);
    to = per_tensor(1, 0);
  } else {
    q = at::to(at::rsub(at::to(q, kLong), Scalar(range.most + range.least)), q.scalar_type());
    to = per_tensor(-from.scale * factor, range.most + range.least - from.zero_point);
  }
  if (R == Relu::kYes) q = at::clamp_min(q, Scalar(to->zero_point));
  return fresh(make_quantized(q, to));
}

// The forms of an operator with a number: it may stand first or be a tensor, and the result may be given.
using WithNumber = Tensor(const Tensor&, const Scalar&);
template <WithNumber F>
Tensor number_first(const Scalar& b, const Tensor& qa) {
  return F(qa, b);
}
template <WithNumber F>
Tensor number_of_tensor(const Tensor& qa, const Tensor& b) {
  return F(qa, at::item(b));
}
template <WithNumber F>
Tensor number_out(const Tensor& qa, const Scalar& b, Tensor out) {
  constexpr bool adds = F == &add_scalar<Relu::kNo> || F == &add_scalar<Relu::kYes>;
  return give(adds ? "quantized::add_scalar_out" : "quantized::mul_scalar_out", out, F(qa, b));
}
template <WithNumber F>
Tensor number_of_tensor_out(const Tensor& qa, const Tensor& b, Tensor out) {
  return number_out<F>(qa, at::item(b), out);
}

template <Relu R>
Tensor cat(const std::vector<Tensor>& qx, int64_t dim, std::optional<double> scale, std::optional<int64_t> zero_point) {
  const char* const op = "quantized::cat";
  TORCH_CHECK(!qx.empty(), op, ": expected a non-empty list of Tensors");
  const Quantizer& first = uniform(op, qx[0]);
  const QuantizerPtr to = per_tensor(scale.value_or(first.scale), zero_point.value_or(first.zero_point));
  std::vector<Tensor> parts;
  for (const Tensor& t : qx) {
    check_same(op, qx[0], t);
    const Tensor same = on_each_number(op, t, to, [](const Tensor& x) { return rectified(x, R); });
    parts.push_back(integers(op, same));
  }
  return fresh(make_quantized(at::cat(parts, dim), to));
}

template <Relu R>
Tensor cat_out(const std::vector<Tensor>& qx, int64_t dim, Tensor out) {
  const Quantizer& to = uniform("quantized::cat", out);
  return give("quantized::cat", out, cat<R>(qx, dim, to.scale, to.zero_point));
}

Tensor matmul(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  const char* const op = "quantized::matmul";
  check_same(op, qa, qb);
  // Sums of products of integers are exact in double.
  const auto distances = [&](const Tensor& t) {
    return at::sub(at::to(integers(op, t), kDouble), Scalar(uniform(op, t).zero_point));
  };
  const Tensor sums = at::matmul(distances(qa), distances(qb));
  const Tensor numbers = at::to(at::mul(sums, Scalar(uniform(op, qa).scale * uniform(op, qb).scale)), kFloat);
  return quantize(op, numbers, qa.scalar_type(), per_tensor(scale, zero_point));
}

// --- activations ---
Tensor sigmoid(const Tensor& qx, double scale, int64_t zero_point) {
  return each_to_scale("quantized::sigmoid", qx, scale, zero_point, [](const Tensor& x) { return at::sigmoid(x); });
}
Tensor hardswish(const Tensor& qx, double scale, int64_t zero_point) {
  return each_to_scale("quantized::hardswish", qx, scale, zero_point, [](const Tensor& x) { return at::hardswish(x); });
}
Tensor softmax(const Tensor& qx, int64_t dim, double scale, int64_t zero_point) {
  return to_scale("quantized::softmax", qx, scale, zero_point, [&](const Tensor& x) { return at::softmax(x, dim); });
}
Tensor prelu(const Tensor& qx, const Tensor& weight, double scale, int64_t zero_point) {
  const char* const op = "quantized::prelu";
  return to_scale(op, qx, scale, zero_point, [&](const Tensor& x) {
    return at::prelu(x, weight.is_quantized() ? dequantize(op, weight) : weight);
  });
}
Tensor celu(const Tensor& qx, double scale, int64_t zero_point, const Scalar& alpha) {
  return each_to_scale("quantized::celu", qx, scale, zero_point, [&](const Tensor& x) { return at::celu(x, alpha); });
}
Tensor elu(const Tensor& qx, double scale, int64_t zero_point, const Scalar& alpha, const Scalar& positive_scale,
           const Scalar& input_scale) {
  return each_to_scale("quantized::elu", qx, scale, zero_point,
                       [&](const Tensor& x) { return at::elu(x, alpha, positive_scale, input_scale); });
}
Tensor leaky_relu(const Tensor& qx, const Scalar& negative_slope, bool inplace, double scale, int64_t zero_point) {
  if (inplace) TORCH_WARN_ONCE("inplace=True is not supported for quantized::leaky_relu yet");
  return each_to_scale("quantized::leaky_relu", qx, scale, zero_point,
                       [&](const Tensor& x) { return at::leaky_relu(x, negative_slope); });
}
Tensor threshold(const Tensor& qx, const Scalar& threshold, const Scalar& value) {
  return at::threshold(qx, threshold, value);
}
Tensor clamp(const Tensor& qx, std::optional<Scalar> min, std::optional<Scalar> max) {
  return at::clamp(qx, min, max);
}
Tensor relu6(const Tensor& qx, bool inplace) {
  if (!inplace) return at::relu6(qx);
  Tensor same = qx;
  return at::relu6_(same);
}
Tensor dropout(const Tensor& qx, double, int64_t, const Scalar& p, bool training) {
  const double probability = p.toDouble();
  TORCH_CHECK(probability >= 0 && probability <= 1, "dropout probability has to be between 0 and 1, but got ",
              probability);
  TORCH_CHECK_NOT_IMPLEMENTED(!training || probability == 0,
                              "quantized::dropout: quantized tensors are for inference; training is not implemented");
  return qx;
}

// --- pooling and normalisation ---
Tensor max_pool1d(const Tensor& qx, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                  std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
  return at::quantized_max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode);
}
Tensor max_pool2d(const Tensor& qx, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                  std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
  return at::quantized_max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode);
}
// Bytes that are no quantized tensor, as graphs of integers have them.
Tensor max_pool2d_of_bytes(const Tensor& x, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                           std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
  TORCH_CHECK_NOT_IMPLEMENTED(x.scalar_type() == kByte,
                              "quantized::max_pool2d: expected an input of dtype Byte or a quantized one, but got ",
                              x.scalar_type());
  const QuantizerPtr same = per_tensor(1, 0);
  const char* const op = "quantized::max_pool2d";
  return fresh(integers(
      op, at::quantized_max_pool2d(make_quantized(x, same), kernel_size, stride, padding, dilation, ceil_mode)));
}
Tensor max_pool3d(const Tensor& qx, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                  std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
  return at::quantized_max_pool3d(qx, kernel_size, stride, padding, dilation, ceil_mode);
}

// Of inputs of `Dims` dimensions; 0: any.
template <int Dims, Relu R>
Tensor batch_norm(const Tensor& qx, const MaybeTensor& weight, const MaybeTensor& bias, const Tensor& mean,
                  const Tensor& var, double eps, double scale, int64_t zero_point) {
  TORCH_CHECK(Dims == 0 || qx.dim() == Dims || (Dims == 3 && qx.dim() == 2),
              "quantized::batch_norm: Expecting the "
              "input tensor of rank ",
              Dims, ", but got ", qx.dim());
  const Tensor result = at::quantized_batch_norm(qx, weight, bias, mean, var, eps, scale, zero_point);
  return R == Relu::kYes ? at::relu(result) : result;
}
Tensor layer_norm(const Tensor& qx, std::vector<int64_t> normalized_shape, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, double scale, int64_t zero_point) {
  return to_scale("quantized::layer_norm", qx, scale, zero_point,
                  [&](const Tensor& x) { return at::layer_norm(x, normalized_shape, weight, bias, eps); });
}
Tensor group_norm(const Tensor& qx, int64_t num_groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps,
                  double scale, int64_t zero_point) {
  return to_scale("quantized::group_norm", qx, scale, zero_point,
                  [&](const Tensor& x) { return at::group_norm(x, num_groups, weight, bias, eps); });
}
Tensor instance_norm(const Tensor& qx, const MaybeTensor& weight, const MaybeTensor& bias, double eps, double scale,
                     int64_t zero_point) {
  TORCH_CHECK(qx.dim() >= 3, "quantized::instance_norm: expected an input of at least 3 dimensions, but got ",
              qx.dim());
  return group_norm(qx, qx.size(1), weight, bias, eps, scale, zero_point);
}

// --- layers ---
using Linear = c10::intrusive_ptr<LinearPackedParams>;

Linear linear_prepack(const Tensor& weight, const MaybeTensor& bias) {
  return c10::make_intrusive<LinearPackedParams>(weight, bias);
}
template <Relu R>
Tensor linear(const Tensor& x, const Linear& w, double scale, int64_t zero_point) {
  return w->apply("quantized::linear", x, scale, zero_point, R == Relu::kYes);
}
Tensor linear_leaky_relu(const Tensor& x, const Linear& w, double scale, int64_t zero_point, double negative_slope) {
  const char* const op = "quantized::linear_leaky_relu";
  return quantize(op, at::leaky_relu(w->apply(op, x), Scalar(negative_slope)), x.scalar_type(),
                  per_tensor(scale, zero_point));
}
Tensor linear_tanh(const Tensor& x, const Linear& w, double scale, int64_t zero_point) {
  const char* const op = "quantized::linear_tanh";
  return quantize(op, at::tanh(w->apply(op, x)), x.scalar_type(), per_tensor(scale, zero_point));
}

template <Relu R>
Tensor linear_dynamic(const Tensor& x, const Linear& w, bool reduce_range) {
  return rectified(w->apply_to_numbers("quantized::linear_dynamic", x, reduce_range), R);
}
template <Relu R>
Tensor linear_dynamic_fp16(const Tensor& x, const Linear& w) {
  return rectified(w->apply_to_numbers("quantized::linear_dynamic_fp16", x, false), R);
}
Linear linear_prepack_fp16(const Tensor& weight, const MaybeTensor& bias) {
  return c10::make_intrusive<LinearPackedParams>(weight, bias);
}
Tensor linear_dynamic_fp16_unpacked_weight(const Tensor& x, const Tensor& weight, const MaybeTensor& bias) {
  return linear_dynamic_fp16<Relu::kNo>(x, linear_prepack_fp16(weight, bias));
}
// Numbers, quantized with given steps and multiplied, as numbers.
Tensor wrapped_quantized_linear(const Tensor& x, const Tensor& scale, const Tensor& zero_point, const Tensor& weight,
                                const Tensor& weight_scale, const Tensor& weight_zero_point, const Tensor& bias,
                                const Tensor& output_scale, const Tensor& output_zero_point, int64_t) {
  const char* const op = "_quantized::wrapped_quantized_linear";
  const auto packed = linear_prepack(at::quantize_per_tensor(weight, weight_scale, weight_zero_point, kQInt8), bias);
  return dequantize(op, packed->apply(op, at::quantize_per_tensor(x, scale, zero_point, kQUInt8),
                                      at::item(output_scale).toDouble(), at::item(output_zero_point).toLong(), false));
}
Tensor int4mm_packed_weight_cpu(const Tensor& self, const Tensor& mat2, const Tensor& group_size,
                                const Tensor& scales_and_zeros) {
  return at::_weight_int4pack_mm_for_cpu(self, mat2, at::item(group_size).toLong(), scales_and_zeros);
}
template <Relu R>
Tensor linear_q_dq(const Tensor& x, double scale, int64_t zero_point, const Linear& w) {
  const char* const op = "quantized::linear_with_input_q_dq_qweight_dq_output_fp32";
  return rectified(w->apply(op, at::quantize_per_tensor(x, scale, zero_point, kQUInt8)), R);
}

template <class Packed>
c10::intrusive_ptr<Packed> conv_prepack(const Tensor& weight, const MaybeTensor& bias, std::vector<int64_t> stride,
                                        std::vector<int64_t> padding, std::vector<int64_t> dilation, int64_t groups) {
  return c10::make_intrusive<Packed>(weight, bias, std::move(stride), std::move(padding), std::vector<int64_t>(),
                                     std::move(dilation), groups, false);
}
template <class Packed>
c10::intrusive_ptr<Packed> conv_transpose_prepack(const Tensor& weight, const MaybeTensor& bias,
                                                  std::vector<int64_t> stride, std::vector<int64_t> padding,
                                                  std::vector<int64_t> output_padding, std::vector<int64_t> dilation,
                                                  int64_t groups) {
  return c10::make_intrusive<Packed>(weight, bias, std::move(stride), std::move(padding), std::move(output_padding),
                                     std::move(dilation), groups, true);
}
template <class Packed, Relu R>
Tensor conv(const Tensor& x, const c10::intrusive_ptr<Packed>& w, double scale, int64_t zero_point) {
  return w->apply(w->transposed ? "quantized::conv_transpose" : "quantized::conv", x, scale, zero_point,
                  R == Relu::kYes);
}
// The geometry is the weights' own.
template <class Packed, Relu R>
Tensor conv_with_geometry(const Tensor& x, const c10::intrusive_ptr<Packed>& w, const std::vector<int64_t>&,
                          const std::vector<int64_t>&, const std::vector<int64_t>&, int64_t, double scale,
                          int64_t zero_point) {
  return conv<Packed, R>(x, w, scale, zero_point);
}
// The sum of a convolution and `qaccum`, rounded once.
template <Relu R>
Tensor conv_add(const Tensor& x, const Tensor& qaccum, const c10::intrusive_ptr<Conv2dPackedParams>& w, double scale,
                int64_t zero_point) {
  const char* const op = "quantized::conv2d_add";
  TORCH_CHECK(qaccum.scalar_type() == kQUInt8, op, ": expected qaccum of dtype QUInt8, but got ", qaccum.scalar_type());
  uniform(op, qaccum);
  const Tensor numbers = w->apply(op, x);
  TORCH_CHECK(numbers.sizes() == qaccum.sizes(), op, ": expected qaccum of size ", numbers.sizes(), ", but got ",
              qaccum.sizes());
  return quantize(op, rectified(at::add(numbers, dequantize(op, qaccum)), R), kQUInt8, per_tensor(scale, zero_point));
}
// The result is quantized as the input is, and given as numbers.
template <class Packed>
Tensor conv_dynamic(const Tensor& x, const c10::intrusive_ptr<Packed>& w, bool reduce_range) {
  const char* const op = w->transposed ? "quantized::conv_transpose_dynamic" : "quantized::conv_dynamic";
  TORCH_CHECK(x.scalar_type() == kFloat, op, ": expected an input of dtype Float, but got ", x.scalar_type());
  const Tensor q = at::quantize_per_tensor_dynamic(x, kQUInt8, reduce_range);
  return dequantize(op, w->apply(op, q, uniform(op, q).scale, uniform(op, q).zero_point, false));
}

// --- tables of vectors ---
using Embedding = c10::intrusive_ptr<EmbeddingPackedParams>;

Embedding embedding_bag_prepack(const Tensor& weight) {
  return c10::make_intrusive<EmbeddingPackedParams>(weight);
}
// What the lookups of bags take; `scale_grad_by_freq` means nothing without gradients.
Tensor bags(const char* op, const Tensor& table, int bits, const Tensor& indices, const MaybeTensor& offsets,
            int64_t mode, bool pruned_weights, const MaybeTensor& per_sample_weights, const MaybeTensor& mapping,
            bool include_last_offset) {
  TORCH_CHECK_NOT_IMPLEMENTED(mode == 0, op, ": only sums (mode 0) are implemented, but got mode ", mode);
  const bool mapped = mapping.has_value() && mapping->defined();
  TORCH_CHECK(!pruned_weights || mapped, op, ": pruned_weights need a compressed_indices_mapping");
  Lookup lookup{indices, offsets, per_sample_weights, std::nullopt, include_last_offset};
  if (pruned_weights) lookup.mapping = mapping;
  return sums_of_rows(op, table, bits, lookup);
}

const Tensor& table_of(const char* op, const Embedding& weight, int bits) {
  TORCH_CHECK(weight->bits == bits, op, ": expected a weight of ", bits, " bits, but got one of ", weight->bits);
  return weight->table;
}
template <int Bits>
Tensor embedding(const Embedding& weight, const Tensor& indices, bool pruned_weights) {
  const char* const op = Bits == 8 ? "quantized::embedding_byte" : "quantized::embedding_4bit";
  TORCH_CHECK_NOT_IMPLEMENTED(!pruned_weights, op, ": pruned weights are not implemented");
  return rows_of(op, table_of(op, weight, Bits), Bits, indices);
}
template <int Bits>
Tensor embedding_bag(const Embedding& weight, const Tensor& indices, const MaybeTensor& offsets, bool, int64_t mode,
                     bool pruned_weights, const MaybeTensor& per_sample_weights, const MaybeTensor& mapping,
                     bool include_last_offset) {
  const char* const op = Bits == 8 ? "quantized::embedding_bag_byte" : "quantized::embedding_bag_4bit";
  return bags(op, table_of(op, weight, Bits), Bits, indices, offsets, mode, pruned_weights, per_sample_weights, mapping,
              include_last_offset);
}

// Tables of bytes that name no class.
template <int Bits>
constexpr const char* table_name() {
  return Bits == 8   ? "quantized::embedding_bag_byte"
         : Bits == 4 ? "quantized::embedding_bag_4bit"
                     : "quantized::embedding_bag_2bit";
}
Tensor byte_prepack(const Tensor& weight) {
  return pack_rows(table_name<8>(), weight, 8);
}
Tensor byte_prepack_with_range(const Tensor& weight, const Tensor& least_most) {
  return pack_rows(table_name<8>(), weight, 8, {.least_most = least_most});
}
template <int Bits>
Tensor bits_prepack(const Tensor& weight, bool optimized, int64_t bins, double ratio) {
  return pack_rows(table_name<Bits>(), weight, Bits, {std::nullopt, optimized, bins, ratio});
}
template <int Bits>
Tensor bits_prepack_with_range(const Tensor& weight, const Tensor& least_most, bool, int64_t, double) {
  return pack_rows(table_name<Bits>(), weight, Bits, {.least_most = least_most});
}
template <int Bits>
Tensor table_unpack(const Tensor& table) {
  return unpack_rows(table_name<Bits>(), table, Bits);
}
template <int Bits>
Tensor table_bags(const Tensor& table, const Tensor& indices, const MaybeTensor& offsets, bool, int64_t mode,
                  bool pruned_weights, const MaybeTensor& per_sample_weights, const MaybeTensor& mapping,
                  bool include_last_offset) {
  return bags(table_name<Bits>(), table, Bits, indices, offsets, mode, pruned_weights, per_sample_weights, mapping,
              include_last_offset);
}

template <Relu R>
void implement_numbers(torch::Library& m, const std::string& op) {
  const std::string relu = R == Relu::kYes ? "_relu" : "";
  const auto implement = [&]<WithNumber F>() {
    m.impl(op + relu + ".Scalar", F);
    m.impl(op + "_scalar" + relu, F);
    m.impl(op + relu + ".Scalar2", &number_first<F>);
    m.impl(op + relu + ".Scalar_out", &number_out<F>);
    m.impl(op + "_scalar" + relu + "_out", &number_out<F>);
    m.impl(op + "_scalar" + relu + ".Tensor", &number_of_tensor<F>);
    m.impl(op + "_scalar" + relu + "_out.Tensor", &number_of_tensor_out<F>);
  };
  op == "add" ? implement.template operator()<&add_scalar<R>>() : implement.template operator()<&mul_scalar<R>>();
  m.impl(op + relu, op == "add" ? &add<R> : &mul<R>);
  for (const std::string out : {".out", "_out"}) m.impl(op + relu + out, op == "add" ? &add_out<R> : &mul_out<R>);
}

template <class Packed>
void implement_convolution(torch::Library& m, const std::string& name, bool has_new) {
  const std::string overload = has_new ? ".new" : "";
  m.impl(name + "_prepack", &conv_prepack<Packed>);
  m.impl(name + overload, &conv<Packed, Relu::kNo>);
  m.impl(name + "_relu" + overload, &conv<Packed, Relu::kYes>);
  if (!has_new) return;
  m.impl(name, &conv_with_geometry<Packed, Relu::kNo>);
  m.impl(name + "_relu", &conv_with_geometry<Packed, Relu::kYes>);
}

// What is made of the operators on quantized tensors, of any device.
void implement_for_tensors(torch::Library& m) {
  for (const std::string op : {"add", "mul"}) {
    implement_numbers<Relu::kNo>(m, op);
    implement_numbers<Relu::kYes>(m, op);
  }
  m.impl("cat", &cat<Relu::kNo>);
  m.impl("cat_relu", &cat<Relu::kYes>);
  m.impl("cat_out", &cat_out<Relu::kNo>);
  m.impl("cat_relu_out", &cat_out<Relu::kYes>);
  m.impl("matmul", &matmul);
  m.impl("sigmoid", &sigmoid);
  m.impl("hardswish", &hardswish);
  m.impl("softmax", &softmax);
  m.impl("prelu", &prelu);
  m.impl("celu", &celu);
  m.impl("elu", &elu);
  m.impl("leaky_relu", &leaky_relu);
  m.impl("threshold", &threshold);
  m.impl("clamp", &clamp);
  m.impl("relu6", &relu6);
  m.impl("dropout", &dropout);
  m.impl("max_pool1d", &max_pool1d);
  m.impl("max_pool2d", &max_pool2d);
  m.impl("max_pool3d", &max_pool3d);
  m.impl("batch_norm", &batch_norm<0, Relu::kNo>);
  m.impl("batch_norm_relu", &batch_norm<0, Relu::kYes>);
  m.impl("batch_norm1d", &batch_norm<3, Relu::kNo>);
  m.impl("batch_norm1d_relu", &batch_norm<3, Relu::kYes>);
  m.impl("batch_norm2d", &batch_norm<4, Relu::kNo>);
  m.impl("batch_norm2d_relu", &batch_norm<4, Relu::kYes>);
  m.impl("batch_norm3d", &batch_norm<5, Relu::kNo>);
  m.impl("batch_norm3d_relu", &batch_norm<5, Relu::kYes>);
  m.impl("layer_norm", &layer_norm);
  m.impl("group_norm", &group_norm);
  m.impl("instance_norm", &instance_norm);
  m.impl("linear_prepack", &linear_prepack);
  m.impl("linear", &linear<Relu::kNo>);
  m.impl("linear_relu", &linear<Relu::kYes>);
  m.impl("linear_leaky_relu", &linear_leaky_relu);
  m.impl("linear_tanh", &linear_tanh);
  implement_convolution<Conv2dPackedParams>(m, "conv1d", false);
  implement_convolution<Conv2dPackedParams>(m, "conv2d", true);
  implement_convolution<Conv3dPackedParams>(m, "conv3d", true);
  m.impl("conv_transpose1d_prepack", &conv_transpose_prepack<Conv2dPackedParams>);
  m.impl("conv_transpose2d_prepack", &conv_transpose_prepack<Conv2dPackedParams>);
  m.impl("conv_transpose3d_prepack", &conv_transpose_prepack<Conv3dPackedParams>);
  m.impl("conv_transpose1d", &conv<Conv2dPackedParams, Relu::kNo>);
  m.impl("conv_transpose2d", &conv<Conv2dPackedParams, Relu::kNo>);
  m.impl("conv_transpose3d", &conv<Conv3dPackedParams, Relu::kNo>);
  m.impl("conv_prepack", &conv_prepack<Conv2dPackedParams>);
  m.impl("conv2d_add", &conv_add<Relu::kNo>);
  m.impl("conv2d_add_relu", &conv_add<Relu::kYes>);
  m.impl("embedding_bag_prepack", &embedding_bag_prepack);
}

// What is made of the operators on numbers and bytes, of any device.
void implement_for_numbers(torch::Library& m) {
  m.impl("linear_dynamic", &linear_dynamic<Relu::kNo>);
  m.impl("linear_relu_dynamic", &linear_dynamic<Relu::kYes>);
  m.impl("linear_with_input_q_dq_qweight_dq_output_fp32", &linear_q_dq<Relu::kNo>);
  m.impl("linear_with_input_q_dq_qweight_dq_relu_output_fp32", &linear_q_dq<Relu::kYes>);
  for (const std::string name : {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"}) {
    m.impl(name + "_dynamic", &conv_dynamic<Conv2dPackedParams>);
  }
  for (const std::string name : {"conv3d", "conv_transpose3d"})
    m.impl(name + "_dynamic", &conv_dynamic<Conv3dPackedParams>);
  m.impl("linear_prepack_fp16", &linear_prepack_fp16);
  m.impl("linear_dynamic_fp16", &linear_dynamic_fp16<Relu::kNo>);
  m.impl("linear_relu_dynamic_fp16", &linear_dynamic_fp16<Relu::kYes>);
  m.impl("linear_dynamic_fp16_unpacked_weight", &linear_dynamic_fp16_unpacked_weight);
  m.impl("max_pool2d", &max_pool2d_of_bytes);
  m.impl("embedding_byte", &embedding<8>);
  m.impl("embedding_4bit", &embedding<4>);
  m.impl("embedding_bag_byte", &embedding_bag<8>);
  m.impl("embedding_bag_4bit", &embedding_bag<4>);
  m.impl("embedding_bag_byte_prepack", &byte_prepack);
  m.impl("embedding_bag_4bit_prepack", &bits_prepack<4>);
  m.impl("embedding_bag_2bit_prepack", &bits_prepack<2>);
  m.impl("embedding_bag_byte_prepack_with_rowwise_min_max", &byte_prepack_with_range);
  m.impl("embedding_bag_4bit_prepack_with_rowwise_min_max", &bits_prepack_with_range<4>);
  m.impl("embedding_bag_2bit_prepack_with_rowwise_min_max", &bits_prepack_with_range<2>);
  m.impl("embedding_bag_byte_unpack", &table_unpack<8>);
  m.impl("embedding_bag_4bit_unpack", &table_unpack<4>);
  m.impl("embedding_bag_2bit_unpack", &table_unpack<2>);
  m.impl("embedding_bag_byte_rowwise_offsets", &table_bags<8>);
  m.impl("embedding_bag_4bit_rowwise_offsets", &table_bags<4>);
  m.impl("embedding_bag_2bit_rowwise_offsets", &table_bags<2>);
}

// The older names of some of them.
void implement_older_for_tensors(torch::Library& m) {
  m.impl("add", &add<Relu::kNo>);
  m.impl("conv2d_prepack", &conv_prepack<Conv2dPackedParams>);
  m.impl("conv3d_prepack", &conv_prepack<Conv3dPackedParams>);
  m.impl("conv2d", &conv<Conv2dPackedParams, Relu::kNo>);
  m.impl("conv2d_relu", &conv<Conv2dPackedParams, Relu::kYes>);
  m.impl("conv3d", &conv<Conv3dPackedParams, Relu::kNo>);
  m.impl("conv3d_relu", &conv<Conv3dPackedParams, Relu::kYes>);
  m.impl("conv_transpose1d_prepack", &conv_transpose_prepack<Conv2dPackedParams>);
  m.impl("conv_transpose2d_prepack", &conv_transpose_prepack<Conv2dPackedParams>);
  m.impl("conv_transpose3d_prepack", &conv_transpose_prepack<Conv3dPackedParams>);
  m.impl("conv_transpose1d", &conv<Conv2dPackedParams, Relu::kNo>);
  m.impl("conv_transpose2d", &conv<Conv2dPackedParams, Relu::kNo>);
  m.impl("linear", &linear<Relu::kNo>);
  m.impl("linear_prepack", &linear_prepack);
}
void implement_older_for_numbers(torch::Library& m) {
  m.impl("linear_dynamic", &linear_dynamic<Relu::kNo>);
  m.impl("linear_prepack_fp16", &linear_prepack_fp16);
  m.impl("wrapped_quantized_linear", &wrapped_quantized_linear);
}

}  // namespace

TORCH_LIBRARY_IMPL(quantized, QuantizedCPU, m) {
  implement_for_tensors(m);
}
TORCH_LIBRARY_IMPL(quantized, QuantizedCUDA, m) {
  implement_for_tensors(m);
}

TORCH_LIBRARY_IMPL(quantized, CPU, m) {
  implement_for_numbers(m);
  m.impl("int4mm_packed_weight_cpu", &int4mm_packed_weight_cpu);
}
TORCH_LIBRARY_IMPL(quantized, CUDA, m) {
  implement_for_numbers(m);
}

TORCH_LIBRARY_IMPL(_quantized, QuantizedCPU, m) {
  implement_older_for_tensors(m);
}
TORCH_LIBRARY_IMPL(_quantized, QuantizedCUDA, m) {
  implement_older_for_tensors(m);
}

TORCH_LIBRARY_IMPL(_quantized, CPU, m) {
  implement_older_for_numbers(m);
  m.impl("wrapped_fbgemm_pack_gemm_matrix_fp16",
         [](const Tensor& weight) { return at::fbgemm_pack_gemm_matrix_fp16(weight); });
  m.impl("wrapped_fbgemm_linear_fp16_weight", [](const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t) {
    return at::fbgemm_linear_fp16_weight(x, weight, bias);
  });
}
TORCH_LIBRARY_IMPL(_quantized, CUDA, m) {
  implement_older_for_numbers(m);
}

}  // namespace at::quantized
