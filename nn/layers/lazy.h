// Layers that learn the size of their input from the first one.
//
//   torch::nn::Sequential net(torch::nn::LazyConv2d(torch::nn::LazyConv2dOptions(16, 3)), torch::nn::Flatten(),
//                             torch::nn::LazyLinear(10));
//   net->forward(torch::zeros({1, 3, 8, 8}));      // the first batch gives all sizes
//   torch::optim::SGD optimizer(net->parameters(), 0.1);
//
// Before the first forward parameters and running statistics are undefined: parameters(), buffers() and their named
// forms throw; to(), train(), zero_grad() and apply() may be used, and what to() said holds for the tensors that are
// made. state_dict() leaves them out. load_state_dict() with tensors of them gives them their sizes; without, they stay
// as they are. The first forward draws the initial values as the layer that it then is: it prints like that, is cloned
// as that, and is one (LazyLinear a Linear).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "nn/init/init.h"
#include "nn/layers/conv.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/state_dict.h"

namespace torch::nn {

struct LazyLinearOptions {
  LazyLinearOptions(int64_t out_features) : out_features_(out_features) {}
  TORCH_ARG(int64_t, out_features);
  TORCH_ARG(bool, bias) = true;
};

// The arguments of a convolution without in_channels.
template <size_t D>
struct LazyConvOptions : ConvOptions<D> {
  LazyConvOptions(int64_t out_channels, ExpandingArray<D> kernel_size) : ConvOptions<D>(0, out_channels, kernel_size) {}
  LazyConvOptions(const ConvOptions<D>& options) : ConvOptions<D>(options) { this->in_channels(0); }
};
using LazyConv1dOptions = LazyConvOptions<1>;
using LazyConv2dOptions = LazyConvOptions<2>;
using LazyConv3dOptions = LazyConvOptions<3>;

template <size_t D>
struct LazyConvTransposeOptions : ConvTransposeOptions<D> {
  LazyConvTransposeOptions(int64_t out_channels, ExpandingArray<D> kernel_size)
      : ConvTransposeOptions<D>(0, out_channels, kernel_size) {}
  LazyConvTransposeOptions(const ConvTransposeOptions<D>& options) : ConvTransposeOptions<D>(options) {
    this->in_channels(0);
  }
};
using LazyConvTranspose1dOptions = LazyConvTransposeOptions<1>;
using LazyConvTranspose2dOptions = LazyConvTransposeOptions<2>;
using LazyConvTranspose3dOptions = LazyConvTransposeOptions<3>;

// Those of a norm without num_features.
struct LazyBatchNormOptions : BatchNormOptions {
  LazyBatchNormOptions() : BatchNormOptions(0) {}
  LazyBatchNormOptions(const BatchNormOptions& options) : BatchNormOptions(options) { num_features(0); }
};
// Here affine and track_running_stats are true unless said otherwise, as in Python.
struct LazyInstanceNormOptions : InstanceNormOptions {
  LazyInstanceNormOptions() : InstanceNormOptions(0) { affine(true).track_running_stats(true); }
  LazyInstanceNormOptions(const InstanceNormOptions& options) : InstanceNormOptions(options) { num_features(0); }
};

namespace detail {

// What lazy layers share: `Base` is the layer that `Derived` becomes. The classes below say where the unknown size is;
// their constructors call reset().
template <typename Derived, typename Base>
class LazyImpl : public Base {
 public:
  using Base::Base;

  // Makes (again) the parameters, or only reserves their names.
  void reset() override {
    this->parameters_.clear();
    this->buffers_.clear();
    if (!has_uninitialized_params()) return Base::reset();
    reserve_names();
  }

  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;

 protected:
  virtual void reserve_names() = 0;
  virtual void set_input_size(int64_t size) = 0;
  virtual int64_t input_size_of(const at::Tensor& input) const = 0;
  // Of tensors to be loaded; 0: there are none.
  virtual int64_t input_size_in(const StateDict& state, const std::string& prefix) const = 0;

  // Before each forward.
  void initialize(const at::Tensor& input) {
    if (has_uninitialized_params()) materialize(input_size_of(input), /*draw=*/true);
  }

  void convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype,
               bool non_blocking) override {
    if (device.has_value()) device_ = device;
    if (dtype.has_value()) dtype_ = dtype;
    Base::convert(device, dtype, non_blocking);
  }
  void initialize_from(const StateDict& state, const std::string& prefix) override {
    const int64_t size = input_size_in(state, prefix);
    if (size > 0) materialize(size, /*draw=*/false);
  }
  bool has_uninitialized_params() const override = 0;

 private:
  void materialize(int64_t size, bool draw) {
    set_input_size(size);
    this->parameters_.clear();
    this->buffers_.clear();
    {
      // The values are drawn where and as what the tensors are to be.
      const init::SkipGuard skip;
      Base::reset();
    }
    Base::convert(device_, dtype_, false);
    if (draw) this->reset_parameters();
  }

  std::optional<c10::Device> device_;
  std::optional<Dtype> dtype_;
};

// Not inline, as Cloneable's.
template <typename Derived, typename Base>
std::shared_ptr<Module> LazyImpl<Derived, Base>::clone(const std::optional<c10::Device>& device) const {
  if (!has_uninitialized_params()) return Base::clone(device);
  const Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
  if (device.has_value()) copy->device_ = device;
  return cloning.finish(std::move(copy));
}

int64_t size_in(const StateDict& state, const std::string& name, int64_t dim);
void check_lazy_input(const at::Tensor& input, int64_t dims, const char* layer);

template <size_t D, typename Derived, typename Base, bool kTransposed>
class LazyConvImpl : public LazyImpl<Derived, Base> {
 public:
  template <typename Options>
  explicit LazyConvImpl(const Options& options) : LazyImpl<Derived, Base>(options, LazyTag()) {
    this->reset();
  }
  bool has_uninitialized_params() const override { return this->options.in_channels() == 0; }

 protected:
  void reserve_names() override {
    this->weight = this->register_parameter("weight", at::Tensor(), false);
    this->bias = this->register_parameter("bias", at::Tensor(), false);
  }
  void set_input_size(int64_t size) override { this->options.in_channels(size); }
  int64_t input_size_of(const at::Tensor& input) const override {
    check_lazy_input(input, D, kTransposed ? "LazyConvTranspose" : "LazyConv");
    return input.size(input.dim() - static_cast<int64_t>(D) - 1);
  }
  int64_t input_size_in(const StateDict& state, const std::string& prefix) const override {
    return kTransposed ? size_in(state, prefix + "weight", 0)
                       : size_in(state, prefix + "weight", 1) * this->options.groups();
  }
};

template <typename Derived, typename Base>
class LazyNormImpl : public LazyImpl<Derived, Base> {
 public:
  template <typename Options>
  explicit LazyNormImpl(const Options& options) : LazyImpl<Derived, Base>(options) {
    this->reset();
  }
  // A norm without tensors needs no size.
  bool has_uninitialized_params() const override {
    return this->options.num_features() == 0 && (this->options.affine() || this->options.track_running_stats());
  }

 protected:
  void reserve_names() override {
    this->weight = this->register_parameter("weight", at::Tensor(), false);
    this->bias = this->register_parameter("bias", at::Tensor(), false);
    this->running_mean = this->register_buffer("running_mean", at::Tensor());
    this->running_var = this->register_buffer("running_var", at::Tensor());
    this->num_batches_tracked = this->register_buffer("num_batches_tracked", at::Tensor());
  }
  void set_input_size(int64_t size) override { this->options.num_features(size); }
  int64_t input_size_of(const at::Tensor& input) const override {
    const_cast<LazyNormImpl*>(this)->_check_input_dim(input);
    return input.size(this->features_dim(input));
  }
  int64_t input_size_in(const StateDict& state, const std::string& prefix) const override {
    const int64_t size = size_in(state, prefix + "weight", 0);
    return size > 0 ? size : size_in(state, prefix + "running_mean", 0);
  }
  virtual int64_t features_dim(const at::Tensor& /*input*/) const { return 1; }
};

}  // namespace detail

// Linear whose in_features is the input's last size.
class LazyLinearImpl : public detail::LazyImpl<LazyLinearImpl, LinearImpl> {
 public:
  LazyLinearImpl(int64_t out_features) : LazyLinearImpl(LazyLinearOptions(out_features)) {}
  explicit LazyLinearImpl(const LazyLinearOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
  bool has_uninitialized_params() const override { return options.in_features() == 0; }

 protected:
  void reserve_names() override;
  void set_input_size(int64_t size) override { options.in_features(size); }
  int64_t input_size_of(const at::Tensor& input) const override;
  int64_t input_size_in(const StateDict& state, const std::string& prefix) const override;
};
extern template class detail::LazyImpl<LazyLinearImpl, LinearImpl>;
TORCH_MODULE(LazyLinear);

// Conv1d whose in_channels is the input's: [N, C, L] or [C, L].
class LazyConv1dImpl : public detail::LazyConvImpl<1, LazyConv1dImpl, Conv1dImpl, false> {
 public:
  LazyConv1dImpl(int64_t out_channels, ExpandingArray<1> kernel_size)
      : LazyConv1dImpl(LazyConv1dOptions(out_channels, kernel_size)) {}
  explicit LazyConv1dImpl(const LazyConv1dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConv1dImpl, Conv1dImpl>;
TORCH_MODULE(LazyConv1d);

// Conv2d whose in_channels is the input's: [N, C, H, W] or [C, H, W].
class LazyConv2dImpl : public detail::LazyConvImpl<2, LazyConv2dImpl, Conv2dImpl, false> {
 public:
  LazyConv2dImpl(int64_t out_channels, ExpandingArray<2> kernel_size)
      : LazyConv2dImpl(LazyConv2dOptions(out_channels, kernel_size)) {}
  explicit LazyConv2dImpl(const LazyConv2dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConv2dImpl, Conv2dImpl>;
TORCH_MODULE(LazyConv2d);

// Conv3d whose in_channels is the input's: [N, C, D, H, W] or [C, D, H, W].
class LazyConv3dImpl : public detail::LazyConvImpl<3, LazyConv3dImpl, Conv3dImpl, false> {
 public:
  LazyConv3dImpl(int64_t out_channels, ExpandingArray<3> kernel_size)
      : LazyConv3dImpl(LazyConv3dOptions(out_channels, kernel_size)) {}
  explicit LazyConv3dImpl(const LazyConv3dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConv3dImpl, Conv3dImpl>;
TORCH_MODULE(LazyConv3d);

class LazyConvTranspose1dImpl : public detail::LazyConvImpl<1, LazyConvTranspose1dImpl, ConvTranspose1dImpl, true> {
 public:
  LazyConvTranspose1dImpl(int64_t out_channels, ExpandingArray<1> kernel_size)
      : LazyConvTranspose1dImpl(LazyConvTranspose1dOptions(out_channels, kernel_size)) {}
  explicit LazyConvTranspose1dImpl(const LazyConvTranspose1dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConvTranspose1dImpl, ConvTranspose1dImpl>;
TORCH_MODULE(LazyConvTranspose1d);

class LazyConvTranspose2dImpl : public detail::LazyConvImpl<2, LazyConvTranspose2dImpl, ConvTranspose2dImpl, true> {
 public:
  LazyConvTranspose2dImpl(int64_t out_channels, ExpandingArray<2> kernel_size)
      : LazyConvTranspose2dImpl(LazyConvTranspose2dOptions(out_channels, kernel_size)) {}
  explicit LazyConvTranspose2dImpl(const LazyConvTranspose2dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConvTranspose2dImpl, ConvTranspose2dImpl>;
TORCH_MODULE(LazyConvTranspose2d);

class LazyConvTranspose3dImpl : public detail::LazyConvImpl<3, LazyConvTranspose3dImpl, ConvTranspose3dImpl, true> {
 public:
  LazyConvTranspose3dImpl(int64_t out_channels, ExpandingArray<3> kernel_size)
      : LazyConvTranspose3dImpl(LazyConvTranspose3dOptions(out_channels, kernel_size)) {}
  explicit LazyConvTranspose3dImpl(const LazyConvTranspose3dOptions& options_) : LazyConvImpl(options_) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyConvTranspose3dImpl, ConvTranspose3dImpl>;
TORCH_MODULE(LazyConvTranspose3d);

class LazyBatchNorm1dImpl : public detail::LazyNormImpl<LazyBatchNorm1dImpl, BatchNorm1dImpl> {
 public:
  explicit LazyBatchNorm1dImpl(const LazyBatchNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyBatchNorm1dImpl, BatchNorm1dImpl>;
TORCH_MODULE(LazyBatchNorm1d);

class LazyBatchNorm2dImpl : public detail::LazyNormImpl<LazyBatchNorm2dImpl, BatchNorm2dImpl> {
 public:
  explicit LazyBatchNorm2dImpl(const LazyBatchNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyBatchNorm2dImpl, BatchNorm2dImpl>;
TORCH_MODULE(LazyBatchNorm2d);

class LazyBatchNorm3dImpl : public detail::LazyNormImpl<LazyBatchNorm3dImpl, BatchNorm3dImpl> {
 public:
  explicit LazyBatchNorm3dImpl(const LazyBatchNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
extern template class detail::LazyImpl<LazyBatchNorm3dImpl, BatchNorm3dImpl>;
TORCH_MODULE(LazyBatchNorm3d);

class LazyInstanceNorm1dImpl : public detail::LazyNormImpl<LazyInstanceNorm1dImpl, InstanceNorm1dImpl> {
 public:
  explicit LazyInstanceNorm1dImpl(const LazyInstanceNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

 protected:
  int64_t features_dim(const at::Tensor& input) const override { return input.dim() - 1 - 1; }
};
extern template class detail::LazyImpl<LazyInstanceNorm1dImpl, InstanceNorm1dImpl>;
TORCH_MODULE(LazyInstanceNorm1d);

class LazyInstanceNorm2dImpl : public detail::LazyNormImpl<LazyInstanceNorm2dImpl, InstanceNorm2dImpl> {
 public:
  explicit LazyInstanceNorm2dImpl(const LazyInstanceNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

 protected:
  int64_t features_dim(const at::Tensor& input) const override { return input.dim() - 2 - 1; }
};
extern template class detail::LazyImpl<LazyInstanceNorm2dImpl, InstanceNorm2dImpl>;
TORCH_MODULE(LazyInstanceNorm2d);

class LazyInstanceNorm3dImpl : public detail::LazyNormImpl<LazyInstanceNorm3dImpl, InstanceNorm3dImpl> {
 public:
  explicit LazyInstanceNorm3dImpl(const LazyInstanceNormOptions& options_ = {}) : LazyNormImpl(options_) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

 protected:
  int64_t features_dim(const at::Tensor& input) const override { return input.dim() - 3 - 1; }
};
extern template class detail::LazyImpl<LazyInstanceNorm3dImpl, InstanceNorm3dImpl>;
TORCH_MODULE(LazyInstanceNorm3d);

}  // namespace torch::nn
