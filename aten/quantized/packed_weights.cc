#include "aten/quantized/packed_weights.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "aten/cpu/matrix/integer.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"
#include "aten/quantized/row_tables.h"
#include "c10/util/safe_numerics.h"

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

void check_zero_point(const char* op, const char* name, int64_t zero_point, ScalarType quantized) {
  const Range range = range_of(op, quantized);
  TORCH_CHECK(zero_point >= range.least && zero_point <= range.most, op, ": expected ", name, " within [", range.least,
              ", ", range.most, "], but got ", zero_point);
}

// The parameters of a weight's channels, in order: one for all, or one each.
std::vector<int32_t> zero_points_of(const char* op, const Quantizer& quantizer) {
  const auto checked = [&](int64_t zero_point) {
    check_zero_point(op, "zero points of the weight", zero_point, kQInt8);
    return static_cast<int32_t>(zero_point);
  };
  if (quantizer.per_tensor()) return {checked(quantizer.zero_point)};
  const Tensor all = native::dense(quantizer.zero_points, kLong);
  std::vector<int32_t> result;
  for (int64_t i = 0; i < all.numel(); ++i) result.push_back(checked(all.const_data_ptr<int64_t>()[i]));
  return result;
}
std::vector<float> floats_of(const Tensor& t) {
  const Tensor all = native::dense(t, kFloat);
  return std::vector<float>(all.data_ptr<float>(), all.data_ptr<float>() + all.numel());
}

void check_input(const char* op, const Tensor& x) {
  const Quantizer& quantizer = uniform(op, x);
  TORCH_CHECK(x.scalar_type() == kQUInt8, op, ": expected an input of dtype QUInt8, but got ", x.scalar_type());
  check_zero_point(op, "a zero point of the input", quantizer.zero_point, kQUInt8);
}

// How sums of products become integers. PyTorch has two ways, which differ where a number lies between two integers.
enum class Rounding {
  kSums,     // a bias in units of the sums, one factor, and the zero point after rounding: its products with FBGEMM
  kNumbers,  // numbers, to which the zero point is added before rounding: its convolutions with oneDNN
};

// PyTorch hands scales to oneDNN as their inverses, which are rounded to float, and gets them back so.
float inverted_twice(double scale) {
  return 1 / static_cast<float>(1 / scale);
}

// What a result of `packed` is computed with, and arrays of that.
struct Factors {
  std::vector<float> before, factor;
  matrix::IntegerResult result;
};

Factors to_integers(const char* op, const PackedWeight& packed, const Tensor& x, Rounding rounding, double scale,
                    int64_t zero_point, bool relu, const Tensor& to) {
  const Range range = range_of(op, kQUInt8);
  check_zero_point(op, "an output_zero_point", zero_point, kQUInt8);
  const Quantizer& quantizer = uniform(op, x);
  const size_t channels = packed.scales().size();
  Factors f;
  f.result.to = matrix::IntegerResult::To::kIntegers;
  f.result.data = to.data_ptr<uint8_t>();
  f.result.least = static_cast<int32_t>(relu ? zero_point : range.least);
  f.result.most = static_cast<int32_t>(range.most);
  if (rounding == Rounding::kNumbers) {
    f.result.factor = packed.scales().data();
    f.result.after = packed.bias().data();
    f.result.scale = inverted_twice(quantizer.scale);
    f.result.inverse = 1 / inverted_twice(scale);
    f.result.shift = static_cast<float>(zero_point);
  } else {
    f.before.resize(channels);
    f.factor.resize(channels);
    f.result.zero_point = static_cast<int32_t>(zero_point);
    for (size_t c = 0; c < channels; ++c) {
      const float step = static_cast<float>(quantizer.scale) * packed.scales()[c];
      f.before[c] = packed.uniform() ? packed.bias()[c] : packed.bias()[c] / step;
      f.factor[c] = step / static_cast<float>(scale);
      if (packed.uniform()) f.result.unit = 1 / step;
    }
    f.result.before = f.before.data();
    f.result.factor = f.factor.data();
  }
  return f;
}

}  // namespace

PackedWeight::PackedWeight(const char* op, const matrix::Convolution& shape, const Tensor& weight, int64_t axis,
                           const Tensor& integers, const std::optional<Tensor>& bias) {
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  const auto channels = static_cast<size_t>(shape.out_channels);
  TORCH_CHECK(quantizer.per_tensor() || quantizer.axis == axis, op,
              ": expected a weight that is quantized along dimension ", axis, ", but it is ", quantizer.axis);
  TORCH_CHECK(quantizer.per_tensor() || quantizer.scales.numel() == shape.out_channels, op,
              ": expected a scale for each of ", shape.out_channels, " channels of the weight, but it has ",
              quantizer.scales.numel());
  uniform_ = quantizer.per_tensor();
  scales_ = uniform_ ? std::vector<float>(channels, static_cast<float>(quantizer.scale)) : floats_of(quantizer.scales);
  bias_ = bias.has_value() ? floats_of(*bias) : std::vector<float>(channels);
  std::vector<int32_t> zero_points = zero_points_of(op, quantizer);
  symmetric_ = std::all_of(zero_points.begin(), zero_points.end(), [](int32_t zero) { return zero == 0; });
  const Tensor own = native::dense(integers);
  integers_ = std::make_unique<matrix::IntegerWeights>(
      shape, std::shared_ptr<const int8_t>(own.data_ptr<int8_t>(), [own](const int8_t*) {}), std::move(zero_points));
}

PackedWeight::~PackedWeight() = default;

LinearPackedParams::LinearPackedParams(const Tensor& weight_, const std::optional<Tensor>& bias_) {
  const char* const op = weight_.is_quantized() ? "quantized::linear_prepack" : "quantized::linear_prepack_fp16";
  TORCH_CHECK(weight_.dim() == 2, "The weight tensor for ", op, " should be 2-dimensional.");
  if (!weight_.is_quantized()) {
    TORCH_CHECK(weight_.scalar_type() == kFloat, op, ": expected a weight of dtype Float, but got ",
                weight_.scalar_type());
    bias = checked_bias(op, bias_, weight_.size(0));
    weight = native::dense(at::to(at::clamp(at::detach(weight_), Scalar(-65504.0), Scalar(65504.0)), kHalf));
    return;
  }
  check_weight(op, weight_);
  weight = at::clone(weight_);
  bias = checked_bias(op, bias_, weight.size(0));
  matrix::Convolution shape;
  shape.dims = 1;
  shape.out_channels = weight.size(0);
  shape.in_channels = weight.size(1);
  packed_.emplace(op, shape, weight, 0, integers(op, weight), bias);
}

const PackedWeight& LinearPackedParams::integers_for(const char* op) const {
  TORCH_CHECK(packed_.has_value(), op, ": the weight is of half precision, which takes numbers, not integers");
  return *packed_;
}

std::tuple<Tensor, std::optional<Tensor>> LinearPackedParams::unpack() const {
  return {packed_.has_value() ? weight : at::to(weight, kFloat), bias};
}

Tensor LinearPackedParams::apply_to_numbers(const char* op, const Tensor& x, bool reduce_range) const {
  TORCH_CHECK(x.scalar_type() == kFloat, op, ": expected an input of dtype Float, but got ", x.scalar_type());
  if (packed_.has_value()) return apply(op, at::quantize_per_tensor_dynamic(x, kQUInt8, reduce_range));
  TORCH_CHECK(x.dim() >= 2, op, ": expected an input of at least 2 dimensions, but got ", x.dim());
  TORCH_CHECK(x.size(-1) == weight.size(1), op, ": expected an input of ", weight.size(1),
              " columns, as the weight has, but got ", x.size(-1));
  const Tensor product = at::matmul(x, at::t(at::to(weight, kFloat)));
  return bias.has_value() ? at::add(product, at::to(*bias, kFloat)) : product;
}

Tensor LinearPackedParams::bytes_of(const char* op, const Tensor& x) const {
  check_input(op, x);
  TORCH_CHECK(x.dim() >= 1, "The dimension of input should be larger than 0.");
  TORCH_CHECK(x.size(-1) == weight.size(1), op, ": expected an input of ", weight.size(1),
              " columns, as the weight has, but got ", x.size(-1));
  return native::dense(integers(op, x));
}

Tensor LinearPackedParams::apply(const char* op, const Tensor& x) const {
  const PackedWeight& packed = integers_for(op);
  const Tensor bytes = bytes_of(op, x);
  DimVector sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = weight.size(0);
  const Tensor result = empty_contiguous(sizes, kFloat);
  const Quantizer& quantizer = uniform(op, x);
  std::vector<float> steps = packed.scales();
  for (float& step : steps) step *= static_cast<float>(quantizer.scale);
  matrix::IntegerResult to;
  to.to = matrix::IntegerResult::To::kNumbers;
  to.data = result.data_ptr<float>();
  to.factor = steps.data();
  to.after = packed.bias().data();
  packed.integers().multiply(c10::multiply_integers(x.sizes().slice(0, x.sizes().size() - 1)),
                             bytes.data_ptr<uint8_t>(), static_cast<int32_t>(quantizer.zero_point), to);
  return fresh(result);
}

Tensor LinearPackedParams::apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const {
  const PackedWeight& packed = integers_for(op);
  const Tensor bytes = bytes_of(op, x);
  DimVector sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = weight.size(0);
  const Tensor result = empty_contiguous(sizes, kByte);
  const Factors to = to_integers(op, packed, x, Rounding::kSums, scale, zero_point, relu, result);
  packed.integers().multiply(c10::multiply_integers(x.sizes().slice(0, x.sizes().size() - 1)),
                             bytes.data_ptr<uint8_t>(), static_cast<int32_t>(uniform(op, x).zero_point), to.result);
  return fresh(make_quantized(result, per_tensor(scale, zero_point)));
}

template <int Dims>
ConvPackedParams<Dims>::ConvPackedParams(const Tensor& weight_, const std::optional<Tensor>& bias_,
                                         std::vector<int64_t> stride_, std::vector<int64_t> padding_,
                                         std::vector<int64_t> output_padding_, std::vector<int64_t> dilation_,
                                         int64_t groups_, bool transposed_)
    : stride(std::move(stride_)),
      padding(std::move(padding_)),
      output_padding(std::move(output_padding_)),
      dilation(std::move(dilation_)),
      groups(groups_),
      transposed(transposed_) {
  const char* const op = transposed ? "quantized::conv_transpose_prepack" : "quantized::conv_prepack";
  const int64_t dims = weight_.dim() - 2;
  TORCH_CHECK(Dims == 3 ? dims == 3 : dims == 1 || dims == 2, op, ": Weights are expected to have ", Dims + 2,
              " dimensions, but got ", weight_.dim());
  const auto check = [&](const char* name, const std::vector<int64_t>& values) {
    TORCH_CHECK(static_cast<int64_t>(values.size()) == dims, op, ": ", name, " should contain ", dims, " elements for ",
                dims, "D convolution, but has ", values.size());
  };
  check("stride", stride);
  check("padding", padding);
  check("dilation", dilation);
  if (transposed) check("output_padding", output_padding);
  if (!transposed) output_padding.assign(static_cast<size_t>(dims), 0);
  TORCH_CHECK(groups > 0 && weight_.size(0) % groups == 0, op, ": ", weight_.size(0),
              " channels of the weight do not divide into ", groups, " groups");
  check_weight(op, weight_);
  TORCH_CHECK_NOT_IMPLEMENTED(!transposed || impl_of(op, weight_).quantizer().per_tensor() || groups == 1, op,
                              ": a transposed weight of several groups is quantized per tensor only");
  weight = at::clone(weight_);
  matrix::Convolution shape;
  shape.dims = static_cast<int>(dims);
  shape.groups = groups;
  shape.in_channels = transposed ? weight.size(0) : weight.size(1) * groups;
  shape.out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  for (int64_t i = 0; i < dims; ++i) shape.kernel[3 - dims + i] = weight.size(2 + i);
  bias = checked_bias(op, bias_, shape.out_channels);
  Tensor q = integers(op, weight);
  if (transposed) {
    // What a convolution of the spread input needs: [in, out / groups, ...] becomes [out, in / groups, ...], windows
    // turned.
    DimVector split{groups, weight.size(0) / groups}, joined{shape.out_channels, weight.size(0) / groups}, turned;
    for (int64_t i = 1; i < weight.dim(); ++i) split.push_back(weight.size(i));
    for (int64_t i = 2; i < weight.dim(); ++i) joined.push_back(weight.size(i)), turned.push_back(i + 1);
    q = at::reshape(at::transpose(at::flip(at::reshape(q, split), turned), 1, 2), joined);
  }
  packed_.emplace(op, shape, weight, transposed ? 1 : 0, q, bias);
}

// `result_of` gives what becomes of the sums, in the memory of a tensor of `dtype`.
template <int Dims>
template <class F>
Tensor ConvPackedParams<Dims>::convolve(const char* op, const Tensor& x, ScalarType dtype, const F& result_of) const {
  check_input(op, x);
  TORCH_CHECK(x.dim() == weight.dim(), op, ": expected an input of ", weight.dim(), " dimensions, but got ", x.dim());
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  TORCH_CHECK(x.size(1) == channels, op, ": Given groups=", groups, ", weight of size ", weight.sizes(),
              ", expected an input (qx) of size ", x.sizes(), " to have ", channels, " channels, but it has ",
              x.size(1));
  const Tensor bytes = integers(op, x);
  const TensorSpec spec = native::convolution_meta(bytes, at::view(integers(op, weight), kByte), std::nullopt, stride,
                                                   padding, dilation, transposed, output_padding, groups);
  // Channels innermost, and back.
  DimVector inner{0}, outer{0, x.dim() - 1}, sizes{spec.sizes[0]};
  for (int64_t i = 2; i < x.dim(); ++i) {
    inner.push_back(i);
    outer.push_back(i - 1);
    sizes.push_back(spec.sizes[static_cast<size_t>(i)]);
  }
  inner.push_back(1);
  sizes.push_back(spec.sizes[1]);
  const Tensor input = native::dense(at::permute(bytes, inner)), result = empty_contiguous(sizes, dtype);

  matrix::Convolution c;
  int64_t spread[3] = {1, 1, 1};
  c.dims = static_cast<int>(x.dim() - 2);
  c.batch = x.size(0);
  c.groups = groups;
  c.in_channels = channels;
  c.out_channels = spec.sizes[1];
  for (int i = 0; i < c.dims; ++i) {
    const int d = 3 - c.dims + i;
    const auto at = static_cast<size_t>(i);
    c.input[d] = x.size(2 + i);
    c.output[d] = spec.sizes[2 + at];
    c.kernel[d] = weight.size(2 + i);
    c.dilation[d] = dilation[at];
    c.stride[d] = transposed ? 1 : stride[at];
    c.padding[d] = transposed ? dilation[at] * (c.kernel[d] - 1) - padding[at] : padding[at];
    if (transposed) spread[d] = stride[at];
  }
  result_of(result, [&](const matrix::IntegerResult& to) {
    packed_->integers().convolve(c, input.data_ptr<uint8_t>(), static_cast<int32_t>(uniform(op, x).zero_point), to,
                                 transposed ? spread : nullptr);
  });
  return fresh(at::permute(result, outer));
}

template <int Dims>
Tensor ConvPackedParams<Dims>::apply(const char* op, const Tensor& x, double scale, int64_t zero_point,
                                     bool relu) const {
  constexpr int64_t kMostGroups = 100;
  const bool padded_behind =
      std::any_of(output_padding.begin(), output_padding.end(), [](int64_t padding) { return padding != 0; });
  const Rounding rounding =
      packed_->symmetric() && groups <= kMostGroups && !padded_behind ? Rounding::kNumbers : Rounding::kSums;
  const Tensor q = convolve(op, x, kByte, [&](const Tensor& result, const auto& run) {
    run(to_integers(op, *packed_, x, rounding, scale, zero_point, relu, result).result);
  });
  return fresh(make_quantized(q, per_tensor(scale, zero_point)));
}

template <int Dims>
Tensor ConvPackedParams<Dims>::apply(const char* op, const Tensor& x) const {
  return convolve(op, x, kFloat, [&](const Tensor& result, const auto& run) {
    std::vector<float> steps = packed_->scales();
    for (float& step : steps) step *= static_cast<float>(uniform(op, x).scale);
    matrix::IntegerResult to;
    to.to = matrix::IntegerResult::To::kNumbers;
    to.data = result.template data_ptr<float>();
    to.factor = steps.data();
    to.after = packed_->bias().data();
    run(to);
  });
}

template struct ConvPackedParams<2>;
template struct ConvPackedParams<3>;

EmbeddingPackedParams::EmbeddingPackedParams(const Tensor& weight) {
  const char* const op = "quantized::embedding_bag_prepack";
  TORCH_CHECK(weight.scalar_type() == kQUInt8 || weight.scalar_type() == kQUInt4x2, op,
              ": expected a weight of dtype QUInt8 or QUInt4x2, but got ", weight.scalar_type());
  TORCH_CHECK(weight.dim() == 2, op, ": expected a weight of 2 dimensions, but got ", weight.dim());
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  TORCH_CHECK(quantizer.scheme == kPerChannelAffineFloatQParams && quantizer.axis == 0, op,
              ": expected a weight that is quantized along dimension 0 with float zero points");
  check_fits(op, quantizer, weight.sizes());
  bits = weight.scalar_type() == kQUInt8 ? 8 : 4;
  TORCH_CHECK(bits == 8 || weight.size(1) % 2 == 0, op,
              ": a weight of dtype QUInt4x2 needs an even number of columns, but has ", weight.size(1));
  columns_ = weight.size(1);
  scales_ = quantizer.scales;
  zero_points_ = quantizer.zero_points;
  table = pack_integers(bits == 8 ? integers(op, weight) : unpacked(op, weight), scales_, zero_points_, bits);
}

Tensor EmbeddingPackedParams::unpack() const {
  const Tensor q = unpack_integers(table, columns_, bits);
  QuantizerPtr quantizer = per_channel("quantized::embedding_bag_unpack", scales_, zero_points_, 0);
  return bits == 8 ? make_quantized(q, std::move(quantizer)) : packed(q, kQUInt4x2, std::move(quantizer));
}

}  // namespace at::quantized
