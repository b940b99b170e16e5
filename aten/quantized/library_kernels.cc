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
  return assign("quantized::add", out, add<R>(qa, qb, to.scale, to.zero_point));
}
template <Relu R>
Tensor mul_out(const Tensor& qa, const Tensor& qb, Tensor out) {
  const Quantizer& to = uniform("quantized::mul", out);
  return assign("quantized::mul", out, mul<R>(qa, qb, to.scale, to.zero_point));
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

// The input in the integers that its own numbers ask for.
Tensor quantized_input(const char* op, const Tensor& x, bool reduce_range) {
  TORCH_CHECK(x.scalar_type() == kFloat, op, ": expected an input of dtype Float, but got ", x.scalar_type());
  return at::quantize_per_tensor_dynamic(x, kQUInt8, reduce_range);
}

template <Relu R>
Tensor linear_dynamic(const Tensor& x, const Linear& w, bool reduce_range) {
  return rectified(w->apply("quantized::linear_dynamic", quantized_input("quantized::linear_dynamic", x, reduce_range)),
                   R);
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
// The result is quantized as the input is, and given as numbers.
template <class Packed>
Tensor conv_dynamic(const Tensor& x, const c10::intrusive_ptr<Packed>& w, bool reduce_range) {
  const char* const op = w->transposed ? "quantized::conv_transpose_dynamic" : "quantized::conv_dynamic";
  const Tensor q = quantized_input(op, x, reduce_range);
  return dequantize(op, w->apply(op, q, uniform(op, q).scale, uniform(op, q).zero_point, false));
}

// --- tables of vectors ---
using Embedding = c10::intrusive_ptr<EmbeddingPackedParams>;

Embedding embedding_bag_prepack(const Tensor& weight) {
  return c10::make_intrusive<EmbeddingPackedParams>(weight);
}
void check_not_pruned(const char* op, bool pruned) {
  TORCH_CHECK_NOT_IMPLEMENTED(!pruned, op, ": pruned weights are not implemented");
}
Tensor embedding_byte(const Embedding& weight, const Tensor& indices, bool pruned_weights) {
  check_not_pruned("quantized::embedding_byte", pruned_weights);
  return at::embedding(weight->numbers, indices);
}
Tensor embedding_bag_byte(const Embedding& weight, const Tensor& indices, const MaybeTensor& offsets, bool,
                          int64_t mode, bool pruned_weights, const MaybeTensor& per_sample_weights,
                          const MaybeTensor& compressed_indices_mapping, bool include_last_offset) {
  const char* const op = "quantized::embedding_bag_byte";
  check_not_pruned(op,
                   pruned_weights || (compressed_indices_mapping.has_value() && compressed_indices_mapping->defined()));
  TORCH_CHECK(indices.dim() == 1 || indices.dim() == 2, op, ": expected indices of 1 or 2 dimensions, but got ",
              indices.dim());
  TORCH_CHECK(indices.dim() == 2 || (offsets.has_value() && offsets->defined()), op,
              ": embedding_bag_byte expects offsets to be set for 1D indices.");
  if (indices.dim() == 1) {
    return std::get<0>(at::embedding_bag(weight->numbers, indices, *offsets, false, mode, false, per_sample_weights,
                                         include_last_offset));
  }
  // Each row is a bag.
  const Tensor starts = at::mul(at::arange(indices.size(0), TensorOptions().dtype(kLong)), Scalar(indices.size(1)));
  MaybeTensor flat;
  if (per_sample_weights.has_value() && per_sample_weights->defined()) flat = at::reshape(*per_sample_weights, {-1});
  return std::get<0>(
      at::embedding_bag(weight->numbers, at::reshape(indices, {-1}), starts, false, mode, false, flat, false));
}

// --- recurrent cells: the two products are quantized, with a range of 7 bits, the rest is float ---
Tensor gates(const Tensor& x, const Linear& w) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("quantized::linear_dynamic", "")
                             .typed<Tensor(const Tensor&, const Linear&, bool)>();
  return op.call(x, w, true);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx, const Linear& w_ih,
                                     const Linear& w_hh, const Tensor&, const Tensor&) {
  TORCH_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  const std::vector<Tensor> parts = at::chunk(at::add(gates(input, w_ih), gates(hx[0], w_hh)), 4, 1);
  const Tensor cell =
      at::add(at::mul(at::sigmoid(parts[1]), hx[1]), at::mul(at::sigmoid(parts[0]), at::tanh(parts[2])));
  return {at::mul(at::sigmoid(parts[3]), at::tanh(cell)), cell};
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                const Tensor&) {
  const std::vector<Tensor> of_input = at::chunk(gates(input, w_ih), 3, 1),
                            of_hidden = at::chunk(gates(hx, w_hh), 3, 1);
  const Tensor reset = at::sigmoid(at::add(of_hidden[0], of_input[0])),
               update = at::sigmoid(at::add(of_hidden[1], of_input[1])),
               fresh_part = at::tanh(at::add(of_input[2], at::mul(of_hidden[2], reset)));
  return at::add(at::mul(at::sub(hx, fresh_part), update), fresh_part);
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                     const Tensor&) {
  return at::relu(at::add(gates(hx, w_hh), gates(input, w_ih)));
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                     const Tensor&) {
  return at::tanh(at::add(gates(hx, w_hh), gates(input, w_ih)));
}

template <class Packed>
void implement_convolution(torch::Library& m, const std::string& name, bool has_new) {
  const std::string overload = has_new ? ".new" : "";
  m.impl(name + "_prepack", &conv_prepack<Packed>);
  m.impl(name + overload, &conv<Packed, Relu::kNo>);
  m.impl(name + "_relu" + overload, &conv<Packed, Relu::kYes>);
}

}  // namespace

TORCH_LIBRARY_IMPL(quantized, QuantizedCPU, m) {
  m.impl("add", &add<Relu::kNo>);
  m.impl("add_relu", &add<Relu::kYes>);
  m.impl("add.out", &add_out<Relu::kNo>);
  m.impl("add_relu.out", &add_out<Relu::kYes>);
  m.impl("mul", &mul<Relu::kNo>);
  m.impl("mul_relu", &mul<Relu::kYes>);
  m.impl("mul.out", &mul_out<Relu::kNo>);
  m.impl("mul_relu.out", &mul_out<Relu::kYes>);
  for (const std::string name : {"add.Scalar", "add_scalar"}) m.impl(name, &add_scalar<Relu::kNo>);
  for (const std::string name : {"add_relu.Scalar", "add_scalar_relu"}) m.impl(name, &add_scalar<Relu::kYes>);
  for (const std::string name : {"mul.Scalar", "mul_scalar"}) m.impl(name, &mul_scalar<Relu::kNo>);
  for (const std::string name : {"mul_relu.Scalar", "mul_scalar_relu"}) m.impl(name, &mul_scalar<Relu::kYes>);
  m.impl("cat", &cat<Relu::kNo>);
  m.impl("cat_relu", &cat<Relu::kYes>);
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
  m.impl("embedding_bag_prepack", &embedding_bag_prepack);
}

TORCH_LIBRARY_IMPL(quantized, CPU, m) {
  m.impl("linear_dynamic", &linear_dynamic<Relu::kNo>);
  m.impl("linear_relu_dynamic", &linear_dynamic<Relu::kYes>);
  m.impl("linear_with_input_q_dq_qweight_dq_output_fp32", &linear_q_dq<Relu::kNo>);
  m.impl("linear_with_input_q_dq_qweight_dq_relu_output_fp32", &linear_q_dq<Relu::kYes>);
  for (const std::string name : {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"}) {
    m.impl(name + "_dynamic", &conv_dynamic<Conv2dPackedParams>);
  }
  for (const std::string name : {"conv3d", "conv_transpose3d"})
    m.impl(name + "_dynamic", &conv_dynamic<Conv3dPackedParams>);
  m.impl("embedding_byte", &embedding_byte);
  m.impl("embedding_bag_byte", &embedding_bag_byte);
}

TORCH_LIBRARY_IMPL(quantized, CompositeImplicitAutograd, m) {
  m.impl("quantized_lstm_cell_dynamic", &lstm_cell);
  m.impl("quantized_gru_cell_dynamic", &gru_cell);
  m.impl("quantized_rnn_relu_cell_dynamic", &rnn_relu_cell);
  m.impl("quantized_rnn_tanh_cell_dynamic", &rnn_tanh_cell);
}

}  // namespace at::quantized
