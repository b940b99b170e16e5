#pragma once
// The weights of torch.ops.quantized's layers, as its operators hold them: torch classes of the namespace quantized.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/core/custom_class.h"
#include "aten/core/tensor.h"

namespace at::quantized {

/// The weight [out, in] of a linear layer, and its bias.
struct LinearPackedParams final : torch::CustomClassHolder {
  LinearPackedParams(Tensor weight, std::optional<Tensor> bias);

  /// input x weight + bias of a quantized input of one scale, as float numbers.
  Tensor apply(const char* op, const Tensor& x) const;
  /// The same, quantized; with `relu` no integer is below the zero point.
  Tensor apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  std::tuple<Tensor, std::optional<Tensor>> unpack() const { return {weight, bias}; }

  Tensor weight;
  std::optional<Tensor> bias;
  /// The weight's integers, less their zero points: [in, out], double.
  Tensor distances;
  /// One a row of the weight, or one for all; double.
  Tensor scales;

 private:
  Tensor sums(const char* op, const Tensor& x) const;
};

/// A convolution's weight [out, in / groups, ...] ([in, out / groups, ...] where transposed), bias and geometry.
/// `Dims`: 2 for one and two dimensions, 3 for three.
template <int Dims>
struct ConvPackedParams final : torch::CustomClassHolder {
  ConvPackedParams(Tensor weight, std::optional<Tensor> bias, std::vector<int64_t> stride, std::vector<int64_t> padding,
                   std::vector<int64_t> output_padding, std::vector<int64_t> dilation, int64_t groups, bool transposed);

  Tensor apply(const char* op, const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  std::tuple<Tensor, std::optional<Tensor>> unpack() const { return {weight, bias}; }

  Tensor weight;
  std::optional<Tensor> bias;
  std::vector<int64_t> stride, padding, output_padding, dilation;
  int64_t groups;
  bool transposed;
  Tensor distances;
  Tensor scales;
};
using Conv2dPackedParams = ConvPackedParams<2>;
using Conv3dPackedParams = ConvPackedParams<3>;

/// A table of vectors, quantized by rows.
struct EmbeddingPackedParams final : torch::CustomClassHolder {
  explicit EmbeddingPackedParams(Tensor weight);

  Tensor weight;
  /// Its numbers.
  Tensor numbers;
};

}  // namespace at::quantized
