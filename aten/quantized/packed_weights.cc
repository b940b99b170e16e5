#include "aten/quantized/packed_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/parallel/parallel.h"

namespace at::quantized {
namespace {

void check_weight(const char* op, const Tensor& weight) {
  TORCH_CHECK(weight.scalar_type() == kQInt8, op, ": expected a weight of dtype QInt8, but got ", weight.scalar_type());
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  TORCH_CHECK(quantizer.scheme == kPerTensorAffine || quantizer.scheme == kPerChannelAffine, op,
              ": expected a weight that is quantized per tensor or per channel with integer zero points");
}

std::optional<Tensor> checked_bias(const char* op, const std::optional<Tensor>& bias, int64_t channels) {
  if (!bias.has_value() || !bias->defined()) return std::nullopt;
  TORCH_CHECK(bias->dim() == 1, op, ": bias should be a vector (1D Tensor)");
  TORCH_CHECK(bias->size(0) == channels, op, ": bias should have ", channels, " elements, but has ", bias->size(0));
  TORCH_CHECK(bias->is_floating_point(), op, ": expected a floating-point bias, but got ", bias->scalar_type());
  return at::detach(*bias);
}

// The integers less their zero points, double; `axis` is the dimension that channels must be quantized along.
Tensor distances_of(const char* op, const Tensor& weight, int64_t axis) {
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  const Tensor q = at::to(integers(op, weight), kDouble);
  if (quantizer.per_tensor()) return at::sub(q, Scalar(quantizer.zero_point));
  TORCH_CHECK(quantizer.axis == axis, op, ": expected a weight that is quantized along dimension ", axis,
              ", but it is ", quantizer.axis);
  DimVector shape(static_cast<size_t>(weight.dim()), 1);
  shape[static_cast<size_t>(axis)] = quantizer.zero_points.numel();
  return at::sub(q, at::reshape(at::to(quantizer.zero_points, kDouble), shape));
}

Tensor scales_of(const char* op, const Tensor& weight) {
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  if (quantizer.per_tensor()) return at::full(IntArrayRef(), Scalar(quantizer.scale), TensorOptions().dtype(kDouble));
  return quantizer.scales;
}

// The integers of an input, less its zero point. Products of those with weights and sums of `depth` of them are whole
// numbers below 2^53, which double holds exactly.
Tensor input_distances(const char* op, const Tensor& x) {
  const Quantizer& quantizer = uniform(op, x);
  return at::sub(at::to(integers(op, x), kDouble), Scalar(quantizer.zero_point));
}

// One scale a channel.
std::vector<float> scales_of_channels(const Tensor& scales, int64_t channels) {
  const Tensor all = native::dense(scales, kFloat);
  const float* const own = all.data_ptr<float>();
  std::vector<float> result(static_cast<size_t>(channels), own[0]);
  if (all.numel() > 1) std::copy(own, own + channels, result.begin());
  return result;
}

std::vector<float> bias_of(const std::optional<Tensor>& bias, int64_t channels) {
  if (!bias.has_value()) return std::vector<float>(static_cast<size_t>(channels));
  const Tensor values = native::dense(*bias, kFloat);
  return std::vector<float>(values.data_ptr<float>(), values.data_ptr<float>() + channels);
}

// f(i, channel) for each sum, whose channels are dimension `dim`.
template <class F>
void for_each_sum(const Tensor& sums, int64_t dim, const F& f) {
  const native::DimSplit split = native::split_at_dim(sums.sizes(), dim);
  at::parallel_for(0, split.outer * split.size, 1 + 16384 / (split.inner + 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = row * split.inner; i < (row + 1) * split.inner; ++i) f(i, static_cast<size_t>(row % split.size));
    }
  });
}

// Sums in steps of the scales as numbers.
Tensor as_numbers(const char* op, const Tensor& sums, const Tensor& x, const Tensor& scales,
                  const std::optional<Tensor>& bias, int64_t dim) {
  const Tensor whole = native::dense(sums);
  const Tensor result = empty_contiguous(sums.sizes(), kFloat);
  const std::vector<float> steps = scales_of_channels(scales, sums.size(dim)), offsets = bias_of(bias, sums.size(dim));
  const auto input_scale = static_cast<float>(uniform(op, x).scale);
  const double* const from = whole.data_ptr<double>();
  float* const to = result.data_ptr<float>();
  for_each_sum(sums, dim,
               [&](int64_t i, size_t c) { to[i] = static_cast<float>(from[i]) * input_scale * steps[c] + offsets[c]; });
  return fresh(result);
}

// The same in the integers of another scale. What is rounded includes the zero point, which decides between the two
// neighbours of a half.
Tensor requantized(const char* op, const Tensor& sums, const Tensor& x, const Tensor& scales,
                   const std::optional<Tensor>& bias, int64_t dim, double scale, int64_t zero_point, bool relu) {
  TORCH_CHECK(x.scalar_type() == kQUInt8, op, ": expected an input of dtype QUInt8, but got ", x.scalar_type());
  const Range range = range_of(op, x.scalar_type());
  TORCH_CHECK(zero_point >= range.least && zero_point <= range.most, op, ": expected an output_zero_point within [",
              range.least, ", ", range.most, "], but got ", zero_point);
  const Tensor whole = native::dense(sums);
  const Tensor result = empty_contiguous(sums.sizes(), integers_of(op, x.scalar_type()));
  const std::vector<float> steps = scales_of_channels(scales, sums.size(dim)), offsets = bias_of(bias, sums.size(dim));
  const auto input_scale = static_cast<float>(uniform(op, x).scale), output_scale = static_cast<float>(scale);
  const auto least = static_cast<float>(relu ? zero_point : range.least), most = static_cast<float>(range.most),
             zero = static_cast<float>(zero_point);
  const double* const from = whole.data_ptr<double>();
  uint8_t* const to = result.data_ptr<uint8_t>();
  for_each_sum(sums, dim, [&](int64_t i, size_t c) {
    const float number = static_cast<float>(from[i]) * input_scale * steps[c] + offsets[c];
    const float q = std::nearbyint(number / output_scale + zero);
    to[i] = static_cast<uint8_t>(q > least ? (q < most ? q : most) : least);
  });
  return fresh(make_quantized(result, per_tensor(scale, zero_point)));
}

}  // namespace

LinearPackedParams::LinearPackedParams(Tensor weight_, std::optional<Tensor> bias_) : weight(std::move(weight_)) {
  const char* const op = "quantized::linear_prepack";
  TORCH_CHECK(weight.dim() == 2, "The weight tensor for quantized::linear_prepack should be 2-dimensional.");
  check_weight(op, weight);
  bias = checked_bias(op, bias_, weight.size(0));
  distances = at::contiguous(at::transpose(distances_of(op, weight, 0), 0, 1));
  scales = scales_of(op, weight);
}

Tensor LinearPackedParams::sums(const char* op, const Tensor& x) const {
  TORCH_CHECK(x.dim() >= 1, "The dimension of input should be larger than 0.");
  TORCH_CHECK(x.size(-1) == distances.size(0), op, ": expected an input of ", distances.size(0),
              " columns, as the weight has, but got ", x.size(-1));
  return at::matmul(input_distances(op, x), distances);
}
Tensor LinearPackedParams::apply(const char* op, const Tensor& x) const {
  return as_numbers(op, sums(op, x), x, scales, bias, x.dim() - 1);
}
Tensor LinearPackedParams::apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const {
  return requantized(op, sums(op, x), x, scales, bias, x.dim() - 1, scale, zero_point, relu);
}

template <int Dims>
ConvPackedParams<Dims>::ConvPackedParams(Tensor weight_, std::optional<Tensor> bias_, std::vector<int64_t> stride_,
                                         std::vector<int64_t> padding_, std::vector<int64_t> output_padding_,
                                         std::vector<int64_t> dilation_, int64_t groups_, bool transposed_)
    : weight(std::move(weight_)),
      stride(std::move(stride_)),
      padding(std::move(padding_)),
      output_padding(std::move(output_padding_)),
      dilation(std::move(dilation_)),
      groups(groups_),
      transposed(transposed_) {
  const char* const op = transposed ? "quantized::conv_transpose_prepack" : "quantized::conv_prepack";
  const int64_t dims = weight.dim() - 2;
  TORCH_CHECK(Dims == 3 ? dims == 3 : dims == 1 || dims == 2, op, ": Weights are expected to have ", Dims + 2,
              " dimensions, but got ", weight.dim());
  const auto check = [&](const char* name, const std::vector<int64_t>& values) {
    TORCH_CHECK(static_cast<int64_t>(values.size()) == dims, op, ": ", name, " should contain ", dims, " elements for ",
                dims, "D convolution, but has ", values.size());
  };
  check("stride", stride);
  check("padding", padding);
  check("dilation", dilation);
  if (transposed) check("output_padding", output_padding);
  if (!transposed) output_padding.assign(static_cast<size_t>(dims), 0);
  TORCH_CHECK(groups > 0 && weight.size(0) % groups == 0, op, ": ", weight.size(0),
              " channels of the weight do not divide into ", groups, " groups");
  check_weight(op, weight);
  TORCH_CHECK_NOT_IMPLEMENTED(!transposed || impl_of(op, weight).quantizer().per_tensor() || groups == 1, op,
                              ": a transposed weight of several groups is quantized per tensor only");
  bias = checked_bias(op, bias_, transposed ? weight.size(1) * groups : weight.size(0));
  distances = distances_of(op, weight, transposed ? 1 : 0);
  scales = scales_of(op, weight);
}

template <int Dims>
Tensor ConvPackedParams<Dims>::apply(const char* op, const Tensor& x, double scale, int64_t zero_point,
                                     bool relu) const {
  TORCH_CHECK(x.dim() == weight.dim(), op, ": expected an input of ", weight.dim(), " dimensions, but got ", x.dim());
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  TORCH_CHECK(x.size(1) == channels, op, ": Given groups=", groups, ", weight of size ", weight.sizes(),
              ", expected an input (qx) of size ", x.sizes(), " to have ", channels, " channels, but it has ",
              x.size(1));
  const Tensor sums = at::convolution(input_distances(op, x), distances, std::nullopt, stride, padding, dilation,
                                      transposed, output_padding, groups);
  // Fast algorithms come near the whole numbers.
  return requantized(op, at::round(sums), x, scales, bias, 1, scale, zero_point, relu);
}

template struct ConvPackedParams<2>;
template struct ConvPackedParams<3>;

EmbeddingPackedParams::EmbeddingPackedParams(Tensor weight_) : weight(std::move(weight_)) {
  const char* const op = "quantized::embedding_bag_prepack";
  TORCH_CHECK(weight.scalar_type() == kQUInt8, op, ": expected a weight of dtype QUInt8, but got ",
              weight.scalar_type());
  TORCH_CHECK(weight.dim() == 2, op, ": expected a weight of 2 dimensions, but got ", weight.dim());
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  TORCH_CHECK(quantizer.scheme == kPerChannelAffineFloatQParams && quantizer.axis == 0, op,
              ": expected a weight that is quantized along dimension 0 with float zero points");
  numbers = dequantize(op, weight);
}

}  // namespace at::quantized
