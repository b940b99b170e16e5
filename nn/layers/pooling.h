// Pooling layers over the last one, two or three dimensions of [N, C, *] or [C, *].
#pragma once

#include <iosfwd>
#include <optional>
#include <tuple>
#include <vector>

#include "nn/layers/options_layer.h"
#include "nn/module/any_module.h"
#include "nn/options/pooling.h"

namespace torch::nn {

// A layer that only keeps options.
template <typename Options, typename Derived>
using PoolImpl = detail::OptionsLayer<Derived, Options>;
template <size_t D, typename Derived>
using AvgPoolImpl = PoolImpl<AvgPoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using MaxPoolImpl = PoolImpl<MaxPoolOptions<D>, Derived>;
template <size_t D, typename output_size_t, typename Derived>
using AdaptiveAvgPoolImpl = PoolImpl<AdaptiveAvgPoolOptions<output_size_t>, Derived>;
template <size_t D, typename output_size_t, typename Derived>
using AdaptiveMaxPoolImpl = PoolImpl<AdaptiveMaxPoolOptions<output_size_t>, Derived>;
template <size_t D, typename Derived>
using MaxUnpoolImpl = PoolImpl<MaxUnpoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using LPPoolImpl = PoolImpl<LPPoolOptions<D>, Derived>;

// Means of windows.
class AvgPool1dImpl : public AvgPoolImpl<1, AvgPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AvgPool1d);

class AvgPool2dImpl : public AvgPoolImpl<2, AvgPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AvgPool2d);

class AvgPool3dImpl : public AvgPoolImpl<3, AvgPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool3dImpl(ExpandingArray<3> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AvgPool3d);

// Maxima of windows. With indices, also where each was found.
class MaxPool1dImpl : public MaxPoolImpl<1, MaxPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MaxPool1d);

class MaxPool2dImpl : public MaxPoolImpl<2, MaxPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MaxPool2d);

class MaxPool3dImpl : public MaxPoolImpl<3, MaxPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool3dImpl(ExpandingArray<3> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MaxPool3d);

// Means of windows that give the output size.
class AdaptiveAvgPool1dImpl : public AdaptiveAvgPoolImpl<1, ExpandingArray<1>, AdaptiveAvgPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveAvgPool1d);

class AdaptiveAvgPool2dImpl : public AdaptiveAvgPoolImpl<2, ExpandingArrayWithOptionalElem<2>, AdaptiveAvgPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveAvgPool2d);

class AdaptiveAvgPool3dImpl : public AdaptiveAvgPoolImpl<3, ExpandingArrayWithOptionalElem<3>, AdaptiveAvgPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveAvgPool3d);

// Maxima of windows that give the output size. With indices, also where each was found.
class AdaptiveMaxPool1dImpl : public AdaptiveMaxPoolImpl<1, ExpandingArray<1>, AdaptiveMaxPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveMaxPool1d);

class AdaptiveMaxPool2dImpl : public AdaptiveMaxPoolImpl<2, ExpandingArrayWithOptionalElem<2>, AdaptiveMaxPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveMaxPool2d);

class AdaptiveMaxPool3dImpl : public AdaptiveMaxPoolImpl<3, ExpandingArrayWithOptionalElem<3>, AdaptiveMaxPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AdaptiveMaxPool3d);

// The opposite of MaxPool: what it took, put where it was found.
class MaxUnpool1dImpl : public MaxUnpoolImpl<1, MaxUnpool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxUnpool1dImpl(ExpandingArray<1> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& indices,
                     const std::optional<std::vector<int64_t>>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TORCH_COMPILED_MODULE(MaxUnpool1d);

class MaxUnpool2dImpl : public MaxUnpoolImpl<2, MaxUnpool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxUnpool2dImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& indices,
                     const std::optional<std::vector<int64_t>>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TORCH_COMPILED_MODULE(MaxUnpool2d);

class MaxUnpool3dImpl : public MaxUnpoolImpl<3, MaxUnpool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxUnpool3dImpl(ExpandingArray<3> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& indices,
                     const std::optional<std::vector<int64_t>>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TORCH_COMPILED_MODULE(MaxUnpool3d);

// Maxima of windows at random places, for an output of given size or ratio.
class FractionalMaxPool2dImpl : public Cloneable<FractionalMaxPool2dImpl> {
 public:
  FractionalMaxPool2dImpl(ExpandingArray<2> kernel_size)
      : FractionalMaxPool2dImpl(FractionalMaxPool2dOptions(kernel_size)) {}
  // Throws unless exactly one of output_size and output_ratio is there.
  explicit FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options_);
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  FractionalMaxPool2dOptions options;
  at::Tensor _random_samples;

 protected:
  TORCH_MODULE_TENSORS(_random_samples)
};
TORCH_COMPILED_MODULE(FractionalMaxPool2d);

class FractionalMaxPool3dImpl : public Cloneable<FractionalMaxPool3dImpl> {
 public:
  FractionalMaxPool3dImpl(ExpandingArray<3> kernel_size)
      : FractionalMaxPool3dImpl(FractionalMaxPool3dOptions(kernel_size)) {}
  // Throws unless exactly one of output_size and output_ratio is there.
  explicit FractionalMaxPool3dImpl(FractionalMaxPool3dOptions options_);
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  FractionalMaxPool3dOptions options;
  at::Tensor _random_samples;

 protected:
  TORCH_MODULE_TENSORS(_random_samples)
};
TORCH_COMPILED_MODULE(FractionalMaxPool3d);

// (sum of x^norm_type over a window)^(1 / norm_type)
class LPPool1dImpl : public LPPoolImpl<1, LPPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  LPPool1dImpl(double norm_type, ExpandingArray<1> kernel_size) : OptionsLayer(norm_type, kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LPPool1d);

class LPPool2dImpl : public LPPoolImpl<2, LPPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  LPPool2dImpl(double norm_type, ExpandingArray<2> kernel_size) : OptionsLayer(norm_type, kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LPPool2d);

class LPPool3dImpl : public LPPoolImpl<3, LPPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  LPPool3dImpl(double norm_type, ExpandingArray<3> kernel_size) : OptionsLayer(norm_type, kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(LPPool3d);

}  // namespace torch::nn
