// Pooling layers over the last one, two or three dimensions of [N, C, *] or [C, *].
#pragma once

#include <iosfwd>
#include <tuple>

#include "nn/module/cloneable.h"
#include "nn/options/pooling.h"

namespace torch::nn {

// A layer that only keeps options.
template <typename Options, typename Derived>
class PoolImpl : public Cloneable<Derived> {
 public:
  explicit PoolImpl(const Options& options_) : options(options_) {}
  void reset() override {}

  Options options;
};
template <size_t D, typename Derived>
using AvgPoolImpl = PoolImpl<AvgPoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using MaxPoolImpl = PoolImpl<MaxPoolOptions<D>, Derived>;
template <size_t D, typename Derived>
using AdaptivePoolImpl = PoolImpl<AdaptivePoolOptions<D>, Derived>;

// Means of windows.
class AvgPool1dImpl : public AvgPoolImpl<1, AvgPool1dImpl> {
 public:
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : AvgPool1dImpl(AvgPool1dOptions(kernel_size)) {}
  explicit AvgPool1dImpl(const AvgPool1dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool1d);

class AvgPool2dImpl : public AvgPoolImpl<2, AvgPool2dImpl> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool2d);

class AvgPool3dImpl : public AvgPoolImpl<3, AvgPool3dImpl> {
 public:
  AvgPool3dImpl(ExpandingArray<3> kernel_size) : AvgPool3dImpl(AvgPool3dOptions(kernel_size)) {}
  explicit AvgPool3dImpl(const AvgPool3dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AvgPool3d);

// Maxima of windows. With indices, also where each was found.
class MaxPool1dImpl : public MaxPoolImpl<1, MaxPool1dImpl> {
 public:
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : MaxPool1dImpl(MaxPool1dOptions(kernel_size)) {}
  explicit MaxPool1dImpl(const MaxPool1dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool1d);

class MaxPool2dImpl : public MaxPoolImpl<2, MaxPool2dImpl> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool2d);

class MaxPool3dImpl : public MaxPoolImpl<3, MaxPool3dImpl> {
 public:
  MaxPool3dImpl(ExpandingArray<3> kernel_size) : MaxPool3dImpl(MaxPool3dOptions(kernel_size)) {}
  explicit MaxPool3dImpl(const MaxPool3dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(MaxPool3d);

// Means of windows that give the output size.
class AdaptiveAvgPool1dImpl : public AdaptivePoolImpl<1, AdaptiveAvgPool1dImpl> {
 public:
  AdaptiveAvgPool1dImpl(ExpandingArrayWithOptionalElem<1> output_size)
      : AdaptiveAvgPool1dImpl(AdaptiveAvgPool1dOptions(output_size)) {}
  explicit AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool1d);

class AdaptiveAvgPool2dImpl : public AdaptivePoolImpl<2, AdaptiveAvgPool2dImpl> {
 public:
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveAvgPool2dImpl(AdaptiveAvgPool2dOptions(output_size)) {}
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool2d);

class AdaptiveAvgPool3dImpl : public AdaptivePoolImpl<3, AdaptiveAvgPool3dImpl> {
 public:
  AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveAvgPool3dImpl(AdaptiveAvgPool3dOptions(output_size)) {}
  explicit AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveAvgPool3d);

// Maxima of windows that give the output size. With indices, also where each was found.
class AdaptiveMaxPool1dImpl : public AdaptivePoolImpl<1, AdaptiveMaxPool1dImpl> {
 public:
  AdaptiveMaxPool1dImpl(ExpandingArrayWithOptionalElem<1> output_size)
      : AdaptiveMaxPool1dImpl(AdaptiveMaxPool1dOptions(output_size)) {}
  explicit AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool1d);

class AdaptiveMaxPool2dImpl : public AdaptivePoolImpl<2, AdaptiveMaxPool2dImpl> {
 public:
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveMaxPool2dImpl(AdaptiveMaxPool2dOptions(output_size)) {}
  explicit AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool2d);

class AdaptiveMaxPool3dImpl : public AdaptivePoolImpl<3, AdaptiveMaxPool3dImpl> {
 public:
  AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveMaxPool3dImpl(AdaptiveMaxPool3dOptions(output_size)) {}
  explicit AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& options_) : PoolImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(AdaptiveMaxPool3d);

}  // namespace torch::nn
