// Layer, group, batch and instance normalization, and normalization over neighbouring channels.
#pragma once

#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "nn/module/cloneable.h"
#include "nn/options/normalization.h"

namespace torch::nn {

// Over the last dimensions, of sizes normalized_shape. Members: weight (ones) and bias (zeros) of that shape.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(LayerNormOptions options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  LayerNormOptions options;
  at::Tensor weight;
  at::Tensor bias;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)
};
TORCH_COMPILED_MODULE(LayerNorm);

// Over num_groups groups of the channels of [N, num_channels, *]. Members: weight, bias [num_channels].
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  GroupNormOptions options;
  at::Tensor weight;
  at::Tensor bias;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)
};
TORCH_COMPILED_MODULE(GroupNorm);

namespace detail {

// What batch and instance normalization share. Members: weight (ones), bias (zeros) [num_features], undefined
// where the options leave them out; buffers
// running_mean (zeros), running_var (ones), num_batches_tracked (int64 0).
class NormState : public virtual Module {
 public:
  void reset_running_stats();
  void reset_parameters();

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor num_batches_tracked;

 protected:
  TORCH_MODULE_TENSORS(weight, bias, running_mean, running_var, num_batches_tracked)
  virtual void _check_input_dim(const at::Tensor& input) = 0;
  void make_state(int64_t num_features, bool affine, bool bias, bool track_running_stats);
  // Throws unless the input has one of these numbers of dimensions (0: only one).
  static void expect_dim(const at::Tensor& input, int64_t dim, int64_t or_dim);
};

// BatchNorm without its number of dimensions.
class BatchNormState : public NormState {
 public:
  explicit BatchNormState(const BatchNormOptions& options_) : options(options_) {}
  // In training the batch's statistics, which also move the running ones; in evaluation these.
  at::Tensor forward(const at::Tensor& input);
  // Before version 2 there was no num_batches_tracked: loading keeps the module's.
  int64_t state_dict_version() const override { return 2; }
  void upgrade_state_dict(StateDict& state, const std::string& prefix, std::optional<int64_t> version) const override;

  BatchNormOptions options;

 protected:
  void print(std::ostream& stream, std::string_view name) const;
};

// InstanceNorm without its number of dimensions.
class InstanceNormState : public NormState {
 public:
  explicit InstanceNormState(const InstanceNormOptions& options_) : options(options_) {}

  InstanceNormOptions options;

 protected:
  // Of a batch, or of one sample, which has one dimension less.
  at::Tensor normalized(const at::Tensor& input, bool batched);
  void print(std::ostream& stream, std::string_view name) const;
};

}  // namespace detail

template <size_t D, typename Derived, typename DerivedOptions>
class NormImplBase : public std::conditional_t<std::is_same_v<DerivedOptions, BatchNormOptions>, detail::BatchNormState,
                                               detail::InstanceNormState>,
                     public Cloneable<Derived> {
 public:
  explicit NormImplBase(const DerivedOptions& options_) : NormImplBase::State(options_) {}
  void reset() override {
    this->make_state(this->options.num_features(), this->options.affine(), this->options.bias(),
                     this->options.track_running_stats());
  }

 protected:
  using State = std::conditional_t<std::is_same_v<DerivedOptions, BatchNormOptions>, detail::BatchNormState,
                                   detail::InstanceNormState>;
};

template <size_t D, typename Derived>
class BatchNormImplBase : public NormImplBase<D, Derived, BatchNormOptions> {
 public:
  explicit BatchNormImplBase(const BatchNormOptions& options_) : NormImplBase<D, Derived, BatchNormOptions>(options_) {
    this->reset();
  }
};

template <size_t D, typename Derived>
class InstanceNormImpl : public NormImplBase<D, Derived, InstanceNormOptions> {
 public:
  explicit InstanceNormImpl(const InstanceNormOptions& options_)
      : NormImplBase<D, Derived, InstanceNormOptions>(options_) {
    this->reset();
  }
  at::Tensor forward(const at::Tensor& input) {
    this->_check_input_dim(input);
    return this->normalized(input, input.dim() == static_cast<int64_t>(D) + 2);
  }
};

// Input [N, C] or [N, C, L].
class BatchNorm1dImpl : public BatchNormImplBase<1, BatchNorm1dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
  BatchNorm1dImpl(int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm1d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 2, 3); }
};
TORCH_COMPILED_MODULE(BatchNorm1d);

// Input [N, C, H, W].
class BatchNorm2dImpl : public BatchNormImplBase<2, BatchNorm2dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
  BatchNorm2dImpl(int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm2d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 4, 0); }
};
TORCH_COMPILED_MODULE(BatchNorm2d);

// Input [N, C, D, H, W].
class BatchNorm3dImpl : public BatchNormImplBase<3, BatchNorm3dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
  BatchNorm3dImpl(int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm3d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 5, 0); }
};
TORCH_COMPILED_MODULE(BatchNorm3d);

// Each channel of each sample by itself. Input [N, C, L] or [C, L].
class InstanceNorm1dImpl : public InstanceNormImpl<1, InstanceNorm1dImpl> {
 public:
  using InstanceNormImpl::InstanceNormImpl;
  InstanceNorm1dImpl(int64_t num_features) : InstanceNormImpl(InstanceNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::InstanceNorm1d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 2, 3); }
};
TORCH_COMPILED_MODULE(InstanceNorm1d);

// Input [N, C, H, W] or [C, H, W].
class InstanceNorm2dImpl : public InstanceNormImpl<2, InstanceNorm2dImpl> {
 public:
  using InstanceNormImpl::InstanceNormImpl;
  InstanceNorm2dImpl(int64_t num_features) : InstanceNormImpl(InstanceNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::InstanceNorm2d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 3, 4); }
};
TORCH_COMPILED_MODULE(InstanceNorm2d);

// Input [N, C, D, H, W] or [C, D, H, W].
class InstanceNorm3dImpl : public InstanceNormImpl<3, InstanceNorm3dImpl> {
 public:
  using InstanceNormImpl::InstanceNormImpl;
  InstanceNorm3dImpl(int64_t num_features) : InstanceNormImpl(InstanceNormOptions(num_features)) {}
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::InstanceNorm3d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override { expect_dim(input, 4, 5); }
};
TORCH_COMPILED_MODULE(InstanceNorm3d);

// x / sqrt(mean(x^2) + eps) over the last dimensions, of sizes normalized_shape. Member: weight (ones) of that shape.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  RMSNormImpl(std::vector<int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  RMSNormOptions options;
  at::Tensor weight;

 protected:
  TORCH_MODULE_TENSORS(weight)
};
TORCH_COMPILED_MODULE(RMSNorm);

// functional::local_response_norm. Input [N, C, *].
class LocalResponseNormImpl : public Cloneable<LocalResponseNormImpl> {
 public:
  LocalResponseNormImpl(int64_t size) : options(size) {}
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options_) : options(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  LocalResponseNormOptions options;
};
TORCH_COMPILED_MODULE(LocalResponseNorm);

// The same with as many channels before as after each (an even `size` takes one less), and, as in PyTorch, with channel
// 0 once more from channel (size + 1) / 2 on. Input [N, C, H, W].
class CrossMapLRN2dImpl : public Cloneable<CrossMapLRN2dImpl> {
 public:
  CrossMapLRN2dImpl(int64_t size) : options(size) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options_) : options(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  CrossMapLRN2dOptions options;
};
TORCH_COMPILED_MODULE(CrossMapLRN2d);

namespace functions {

// CrossMapLRN2d as a function.
struct CrossMapLRN2d {
  static at::Tensor apply(const at::Tensor& input, int64_t size, double alpha = 1e-4, double beta = 0.75,
                          int64_t k = 1);
};

}  // namespace functions

}  // namespace torch::nn
