#include "aten/quantized/packed_weights.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "aten/cpu/matrix/integer.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
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

// The zero points of a weight's channels in order, one for all or one each, on the CPU.
Tensor zero_points_of(const char* op, const Quantizer& quantizer) {
  const Tensor all = quantizer.per_tensor() ? at::full({1}, Scalar(quantizer.zero_point), kLong)
                                            : native::dense(at::to(quantizer.zero_points, Device(kCPU)), kLong);
  for (int64_t i = 0; i < all.numel(); ++i) {
    check_zero_point(op, "zero points of the weight", all.const_data_ptr<int64_t>()[i], kQInt8);
  }
  return at::to(all, kInt);
}

void check_device(const char* op, const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(x.device() == weight.device(), op,
              ": Expected all tensors to be on the same device, but the input is on ", x.device(),
              " and the weight on ", weight.device());
}

void check_input(const char* op, const Tensor& x) {
  const Quantizer& quantizer = uniform(op, x);
  TORCH_CHECK(x.scalar_type() == kQUInt8, op, ": expected an input of dtype QUInt8, but got ", x.scalar_type());
  check_zero_point(op, "a zero point of the input", quantizer.zero_point, kQUInt8);
}

// PyTorch hands scales to oneDNN as their inverses, which are rounded to float, and gets them back so.
float inverted_twice(double scale) {
  return 1 / static_cast<float>(1 / scale);
}

// Integers of `scale` and `zero_point`; with `relu` none below the latter.
ProductResult to_integers(const char* op, const PackedWeight& packed, const Tensor& x, ProductResult::To to,
                          double scale, int64_t zero_point, bool relu) {
  const Range range = range_of(op, kQUInt8);
  check_zero_point(op, "an output_zero_point", zero_point, kQUInt8);
  const bool by_numbers = to == ProductResult::To::kIntegersByNumbers;
  const auto rounded = [&](double s) { return by_numbers ? inverted_twice(s) : static_cast<float>(s); };
  ProductResult result;
  result.to = to;
  result.uniform = packed.uniform();
  result.input_scale = rounded(uniform(op, x).scale);
  result.output_scale = rounded(scale);
  result.zero_point = static_cast<int32_t>(zero_point);
  result.least = static_cast<int32_t>(relu ? zero_point : range.least);
  result.most = static_cast<int32_t>(range.most);
  return result;
}

ProductResult to_numbers(const char* op, const PackedWeight& packed, const Tensor& x) {
  ProductResult result;
  result.uniform = packed.uniform();
  result.input_scale = static_cast<float>(uniform(op, x).scale);
  return result;
}

// `result` for CPU tensors, and the arrays that it needs.
struct Factors {
  Factors(const ProductResult& result, const Tensor& scales, const Tensor& biases, const Tensor& out) {
    const auto channels = static_cast<size_t>(scales.numel());
    const float *const scale = scales.const_data_ptr<float>(), *const bias = biases.const_data_ptr<float>();
    to.data = out.mutable_data_ptr();
    to.least = result.least;
    to.most = result.most;
    switch (result.to) {
      case ProductResult::To::kNumbers:
        to.to = matrix::IntegerResult::To::kNumbers;
        factor.resize(channels);
        for (size_t c = 0; c < channels; ++c) factor[c] = result.input_scale * scale[c];
        to.factor = factor.data();
        to.after = bias;
        break;
      case ProductResult::To::kIntegersByNumbers:
        to.to = matrix::IntegerResult::To::kIntegers;
        to.factor = scale;
        to.after = bias;
        to.scale = result.input_scale;
        to.inverse = 1 / result.output_scale;
        to.shift = static_cast<float>(result.zero_point);
        break;
      case ProductResult::To::kIntegersBySums:
        to.to = matrix::IntegerResult::To::kIntegers;
        to.zero_point = result.zero_point;
        before.resize(channels);
        factor.resize(channels);
        for (size_t c = 0; c < channels; ++c) {
          const SumFactors f = sum_factors(result, scale[c], bias[c]);
          before[c] = f.before;
          factor[c] = f.factor;
          to.unit = f.unit;
        }
        to.before = before.data();
        to.factor = factor.data();
        break;
    }
  }

  std::vector<float> before, factor;
  matrix::IntegerResult to;
};

}  // namespace

struct PackedWeight::Parts {
  int64_t inputs, outputs;
  std::unique_ptr<matrix::IntegerWeights> integers;  // of CPU tensors
  device::ProductWeight weight;                      // of CUDA tensors; scales and bias of both
};

PackedWeight::PackedWeight(const char* op, const matrix::Convolution& shape, const Tensor& weight, int64_t axis,
                           const Tensor& integers, const std::optional<Tensor>& bias)
    : parts_(std::make_unique<Parts>()) {
  const Quantizer& quantizer = impl_of(op, weight).quantizer();
  const int64_t channels = shape.out_channels;
  const TensorOptions numbers = TensorOptions(weight.device()).dtype(kFloat);
  TORCH_CHECK(quantizer.per_tensor() || quantizer.axis == axis, op,
              ": expected a weight that is quantized along dimension ", axis, ", but it is ", quantizer.axis);
  TORCH_CHECK(quantizer.per_tensor() || quantizer.scales.numel() == channels, op, ": expected a scale for each of ",
              channels, " channels of the weight, but it has ", quantizer.scales.numel());
  uniform_ = quantizer.per_tensor();
  const Tensor zero_points = zero_points_of(op, quantizer);
  const int32_t* const zeros = zero_points.const_data_ptr<int32_t>();
  symmetric_ = std::all_of(zeros, zeros + zero_points.numel(), [](int32_t zero) { return zero == 0; });
  const Tensor scales = uniform_ ? at::full({channels}, Scalar(static_cast<float>(quantizer.scale)), numbers)
                                 : at::clone(at::to(quantizer.scales, numbers), MemoryFormat::Contiguous);
  const Tensor own_bias =
      bias.has_value() ? at::clone(at::to(*bias, numbers), MemoryFormat::Contiguous) : at::zeros({channels}, numbers);
  parts_->inputs = shape.in_channels;
  parts_->outputs = channels;
  if (weight.is_cpu()) {
    const Tensor own = native::dense(integers);
    parts_->weight.scales = scales;
    parts_->weight.bias = own_bias;
    parts_->integers = std::make_unique<matrix::IntegerWeights>(
        shape, std::shared_ptr<const int8_t>(own.data_ptr<int8_t>(), [own](const int8_t*) {}),
        std::vector<int32_t>(zeros, zeros + zero_points.numel()));
    return;
  }
  const Tensor each = at::expand(zero_points, {channels});
  parts_->weight = device::product_weight(integers, symmetric_ ? Tensor() : each, scales, own_bias);
}

PackedWeight::~PackedWeight() = default;

void PackedWeight::convolve(const matrix::Convolution& c, const Tensor& input, int64_t zero_point,
                            const ProductResult& result, const Tensor& out, const int64_t* spread) const {
  if (parts_->integers == nullptr) {
    return device::convolve(c, input, zero_point, parts_->weight, result, out, spread);
  }
  const Factors factors(result, parts_->weight.scales, parts_->weight.bias, out);
  parts_->integers->convolve(c, input.const_data_ptr<uint8_t>(), static_cast<int32_t>(zero_point), factors.to, spread);
}

void PackedWeight::multiply(int64_t rows, const Tensor& input, int64_t zero_point, const ProductResult& result,
                            const Tensor& out) const {
  if (parts_->integers == nullptr) {
    matrix::Convolution c;
    c.dims = 1;
    c.batch = rows;
    c.in_channels = parts_->inputs;
    c.out_channels = parts_->outputs;
    return device::convolve(c, input, zero_point, parts_->weight, result, out, nullptr);
  }
  const Factors factors(result, parts_->weight.scales, parts_->weight.bias, out);
  parts_->integers->multiply(rows, input.const_data_ptr<uint8_t>(), static_cast<int32_t>(zero_point), factors.to);
}

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
  check_device(op, x, weight);
  TORCH_CHECK(x.dim() >= 1, "The dimension of input should be larger than 0.");
  TORCH_CHECK(x.size(-1) == weight.size(1), op, ": expected an input of ", weight.size(1),
              " columns, as the weight has, but got ", x.size(-1));
  return native::dense(integers(op, x));
}

Tensor LinearPackedParams::multiply(const char* op, const Tensor& x, ScalarType dtype,
                                    const ProductResult& result) const {
  const Tensor bytes = bytes_of(op, x);
  DimVector sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = weight.size(0);
  const Tensor out = empty_contiguous(sizes, dtype, x.device());
  packed_->multiply(c10::multiply_integers(x.sizes().slice(0, x.sizes().size() - 1)), bytes, uniform(op, x).zero_point,
                    result, out);
  return out;
}

Tensor LinearPackedParams::apply(const char* op, const Tensor& x) const {
  return fresh(multiply(op, x, kFloat, to_numbers(op, integers_for(op), x)));
}

Tensor LinearPackedParams::apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const {
  const ProductResult result =
      to_integers(op, integers_for(op), x, ProductResult::To::kIntegersBySums, scale, zero_point, relu);
  return fresh(make_quantized(multiply(op, x, kByte, result), per_tensor(scale, zero_point)));
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

template <int Dims>
Tensor ConvPackedParams<Dims>::convolve(const char* op, const Tensor& x, ScalarType dtype,
                                        const ProductResult& result) const {
  check_input(op, x);
  check_device(op, x, weight);
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
  const Tensor input = native::dense(at::permute(bytes, inner)), out = empty_contiguous(sizes, dtype, x.device());

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
  packed_->convolve(c, input, uniform(op, x).zero_point, result, out, transposed ? spread : nullptr);
  return fresh(at::permute(out, outer));
}

template <int Dims>
Tensor ConvPackedParams<Dims>::apply(const char* op, const Tensor& x, double scale, int64_t zero_point,
                                     bool relu) const {
  constexpr int64_t kMostGroups = 100;
  const bool padded_behind =
      std::any_of(output_padding.begin(), output_padding.end(), [](int64_t padding) { return padding != 0; });
  const auto to = packed_->symmetric() && groups <= kMostGroups && !padded_behind
                      ? ProductResult::To::kIntegersByNumbers
                      : ProductResult::To::kIntegersBySums;
  const Tensor q = convolve(op, x, kByte, to_integers(op, *packed_, x, to, scale, zero_point, relu));
  return fresh(make_quantized(q, per_tensor(scale, zero_point)));
}

template <int Dims>
Tensor ConvPackedParams<Dims>::apply(const char* op, const Tensor& x) const {
  return convolve(op, x, kFloat, to_numbers(op, *packed_, x));
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
