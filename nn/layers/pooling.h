// Pooling layers over the last one, two or three dimensions of [N, C, *] or [C, *].
#pragma once

#include <iosfwd>
#include <tuple>

#include "nn/layers/options_layer.h"
#include "nn/options/pooling.h"

namespace torch::nn {

// A layer that only keeps options.
template <typename Options, typename Derived>
using PoolImpl = detail::OptionsLayer<Derived, Options>;
template <size_t D, typename Derived>
using AvgPoolImpl = PoolImpl<AvgPoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using MaxPoolImpl = PoolImpl<MaxPoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using AdaptivePoolImpl = PoolImpl<AdaptivePoolOptions<D>, Derived>;

// Means of windows.
class AvgPool1dImpl : public AvgPoolImpl<1, AvgPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool1d);

class AvgPool2dImpl : public AvgPoolImpl<2, AvgPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool2d);

class AvgPool3dImpl : public AvgPoolImpl<3, AvgPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AvgPool3dImpl(ExpandingArray<3> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool3d);

// Maxima of windows. With indices, also where each was found.
class MaxPool1dImpl : public MaxPoolImpl<1, MaxPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool1d);

class MaxPool2dImpl : public MaxPoolImpl<2, MaxPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool2d);

class MaxPool3dImpl : public MaxPoolImpl<3, MaxPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  MaxPool3dImpl(ExpandingArray<3> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool3d);

// Means of windows that give the output size.
class AdaptiveAvgPool1dImpl : public AdaptivePoolImpl<1, AdaptiveAvgPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool1dImpl(ExpandingArrayWithOptionalElem<1> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool1d);

class AdaptiveAvgPool2dImpl : public AdaptivePoolImpl<2, AdaptiveAvgPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool2d);

class AdaptiveAvgPool3dImpl : public AdaptivePoolImpl<3, AdaptiveAvgPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool3d);

// Maxima of windows that give the output size. With indices, also where each was found.
class AdaptiveMaxPool1dImpl : public AdaptivePoolImpl<1, AdaptiveMaxPool1dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool1dImpl(ExpandingArrayWithOptionalElem<1> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool1d);

class AdaptiveMaxPool2dImpl : public AdaptivePoolImpl<2, AdaptiveMaxPool2dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool2d);

class AdaptiveMaxPool3dImpl : public AdaptivePoolImpl<3, AdaptiveMaxPool3dImpl> {
 public:
  using OptionsLayer::OptionsLayer;
  AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size) : OptionsLayer(output_size) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool3d);

}  // namespace torch::nn
