#pragma once
// The weights of torch.ops.quantized's layers, as its operators hold them: torch classes of the namespace quantized.

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/core/custom_class.h"
#include "aten/core/tensor.h"
#include "aten/quantized/product_result.h"

namespace at::matrix {
struct Convolution;
}

namespace at::quantized {

/// The integers of a weight for products, and the scale and bias of each channel of the result. All are on the weight's
/// device.
class PackedWeight {
 public:
  /// `weight` is [out_channels, in_channels / groups, kernel...] of `shape`; its channels may be quantized along
  /// `axis`.
  PackedWeight(const char* op, const matrix::Convolution& shape, const Tensor& weight, int64_t axis,
               const Tensor& integers, const std::optional<Tensor>& bias);
  ~PackedWeight();

  /// Writes the convolution of integers [batch, places..., in_channels], dense on the weight's device, to `out`, as
  /// matrix::IntegerWeights does.
  void convolve(const matrix::Convolution& c, const Tensor& input, int64_t zero_point, const ProductResult& result,
                const Tensor& out, const int64_t* spread) const;
  /// The same of rows and a window of one place.
  void multiply(int64_t rows, const Tensor& input, int64_t zero_point, const ProductResult& result,
                const Tensor& out) const;

  /// Whether all zero points are 0, and whether there is one scale for all channels.
  bool symmetric() const { return symmetric_; }
  bool uniform() const { return uniform_; }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  bool symmetric_, uniform_;
};

/// The weight [out, in] of a linear layer, integers or numbers of half precision, and its bias.
struct LinearPackedParams final : torch::CustomClassHolder {
  /// Of a weight of dtype QInt8; one of dtype Float is rounded to halves within their range.
  LinearPackedParams(const Tensor& weight, const std::optional<Tensor>& bias);

  /// input x weight + bias of a quantized input of one scale, as float numbers.
  Tensor apply(const char* op, const Tensor& x) const;
  /// The same, quantized; with `relu` no integer is below the zero point.
  Tensor apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  /// Of numbers: they are taken as they are where the weight is of half precision, else quantized for their range.
  Tensor apply_to_numbers(const char* op, const Tensor& x, bool reduce_range) const;
  std::tuple<Tensor, std::optional<Tensor>> unpack() const;

  /// Quantized, or of dtype Half.
  Tensor weight;
  std::optional<Tensor> bias;

 private:
  const PackedWeight& integers_for(const char* op) const;
  Tensor bytes_of(const char* op, const Tensor& x) const;
  Tensor multiply(const char* op, const Tensor& x, ScalarType dtype, const ProductResult& result) const;
  std::optional<PackedWeight> packed_;
};

/// A convolution's weight [out, in / groups, ...] ([in, out / groups, ...] where transposed), bias and geometry.
/// `Dims`: 2 for one and two dimensions, 3 for three.
template <int Dims>
struct ConvPackedParams final : torch::CustomClassHolder {
  ConvPackedParams(const Tensor& weight, const std::optional<Tensor>& bias, std::vector<int64_t> stride,
                   std::vector<int64_t> padding, std::vector<int64_t> output_padding, std::vector<int64_t> dilation,
                   int64_t groups, bool transposed);

  /// The result's channels are its innermost dimension.
  Tensor apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  /// As numbers.
  Tensor apply(const char* op, const Tensor& x) const;
  std::tuple<Tensor, std::optional<Tensor>> unpack() const { return {weight, bias}; }

  Tensor weight;
  std::optional<Tensor> bias;
  std::vector<int64_t> stride, padding, output_padding, dilation;
  int64_t groups;
  bool transposed;

 private:
  Tensor convolve(const char* op, const Tensor& x, ScalarType dtype, const ProductResult& result) const;
  std::optional<PackedWeight> packed_;
};
using Conv2dPackedParams = ConvPackedParams<2>;
using Conv3dPackedParams = ConvPackedParams<3>;

/// A table of vectors, quantized by rows with float zero points, in 8 or 4 bits.
struct EmbeddingPackedParams final : torch::CustomClassHolder {
  explicit EmbeddingPackedParams(const Tensor& weight);

  Tensor unpack() const;

  int bits;
  /// As row_tables.h has them.
  Tensor table;

 private:
  int64_t columns_;
  Tensor scales_, zero_points_;
};

}  // namespace at::quantized
