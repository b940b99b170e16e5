// Layer, group and batch normalization.
#pragma once

#include <iosfwd>
#include <string_view>

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
};
TORCH_MODULE(LayerNorm);

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
};
TORCH_MODULE(GroupNorm);

// What the batch normalizations share. Members: weight (ones), bias (zeros) [num_features]; buffers running_mean
// (zeros), running_var (ones), num_batches_tracked (int64 0).
class BatchNormImplBase : public virtual Module {
 public:
  explicit BatchNormImplBase(const BatchNormOptions& options_) : options(options_) {}
  // In training the batch's statistics, which also move the running ones; in evaluation these.
  at::Tensor forward(const at::Tensor& input);
  void reset_running_stats();
  void reset_parameters();
  // Before version 2 there was no num_batches_tracked: loading keeps the module's.
  int64_t state_dict_version() const override { return 2; }
  void upgrade_state_dict(StateDict& state, const std::string& prefix, std::optional<int64_t> version) const override;

  BatchNormOptions options;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor num_batches_tracked;

 protected:
  virtual void _check_input_dim(const at::Tensor& input) = 0;
  void make_state();
  void print(std::ostream& stream, std::string_view name) const;
};

// Input [N, C] or [N, C, L].
class BatchNorm1dImpl : public BatchNormImplBase, public Cloneable<BatchNorm1dImpl> {
 public:
  BatchNorm1dImpl(int64_t num_features) : BatchNorm1dImpl(BatchNormOptions(num_features)) {}
  explicit BatchNorm1dImpl(const BatchNormOptions& options_);
  void reset() override { make_state(); }
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm1d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override;
};
TORCH_MODULE(BatchNorm1d);

// Input [N, C, H, W].
class BatchNorm2dImpl : public BatchNormImplBase, public Cloneable<BatchNorm2dImpl> {
 public:
  BatchNorm2dImpl(int64_t num_features) : BatchNorm2dImpl(BatchNormOptions(num_features)) {}
  explicit BatchNorm2dImpl(const BatchNormOptions& options_);
  void reset() override { make_state(); }
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm2d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override;
};
TORCH_MODULE(BatchNorm2d);

// Input [N, C, D, H, W].
class BatchNorm3dImpl : public BatchNormImplBase, public Cloneable<BatchNorm3dImpl> {
 public:
  BatchNorm3dImpl(int64_t num_features) : BatchNorm3dImpl(BatchNormOptions(num_features)) {}
  explicit BatchNorm3dImpl(const BatchNormOptions& options_);
  void reset() override { make_state(); }
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::BatchNorm3d"); }

 protected:
  void _check_input_dim(const at::Tensor& input) override;
};
TORCH_MODULE(BatchNorm3d);

}  // namespace torch::nn
