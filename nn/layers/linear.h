// Linear, Bilinear, Flatten, Unflatten and Identity.
#pragma once

#include <iosfwd>
#include <vector>

#include "nn/layers/options_layer.h"
#include "nn/module/cloneable.h"
#include "nn/options/linear.h"

namespace torch::nn {

// Takes any arguments, has no parameters, returns its input.
class IdentityImpl : public detail::StatelessLayer<IdentityImpl> {
 public:
  at::Tensor forward(const at::Tensor& input) { return input; }
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Identity);

// y = x weight^T + bias; x [*, in_features], weight [out_features, in_features], bias [out_features].
// Both start uniform within 1 / sqrt(in_features).
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options_);
  at::Tensor forward(const at::Tensor& input);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  LinearOptions options;
  at::Tensor weight;
  at::Tensor bias;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)
};
TORCH_COMPILED_MODULE(Linear);

// y[k] = x1 weight[k] x2^T + bias[k]
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& options_);
  at::Tensor forward(const at::Tensor& input1, const at::Tensor& input2);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  BilinearOptions options;
  at::Tensor weight;
  at::Tensor bias;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)
};
TORCH_COMPILED_MODULE(Bilinear);

// Joins the dimensions start_dim ... end_dim.
class FlattenImpl : public detail::OptionsLayer<FlattenImpl, FlattenOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Flatten);

// Splits dimension `dim` into `sizes`.
class UnflattenImpl : public detail::OptionsLayer<UnflattenImpl, UnflattenOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : OptionsLayer(dim, std::move(sizes)) {}
  UnflattenImpl(std::string dimname, UnflattenOptions::namedshape_t namedshape)
      : OptionsLayer(std::move(dimname), std::move(namedshape)) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Unflatten);

}  // namespace torch::nn
