// Dropout layers: torch::nn::functional's dropout in training, nothing in evaluation.
#pragma once

#include <iosfwd>

#include "nn/module/cloneable.h"
#include "nn/options/dropout.h"

namespace torch::nn {

namespace detail {
template <typename Derived>
class _DropoutNd : public Cloneable<Derived> {
 public:
  _DropoutNd(double p) : _DropoutNd(DropoutOptions(p)) {}
  explicit _DropoutNd(const DropoutOptions& options_ = {}) : options(options_) { reset(); }
  // Throws where p is outside [0, 1].
  void reset() override {
    TORCH_CHECK_VALUE(options.p() >= 0. && options.p() <= 1., "dropout probability has to be between 0 and 1, but got ",
                options.p());
  }

  DropoutOptions options;
};
}  // namespace detail

// Zeroes elements.
class DropoutImpl : public detail::_DropoutNd<DropoutImpl> {
 public:
  using detail::_DropoutNd<DropoutImpl>::_DropoutNd;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Dropout);

// Zeroes channels of [N, C, L] or [C, L].
class Dropout1dImpl : public detail::_DropoutNd<Dropout1dImpl> {
 public:
  using detail::_DropoutNd<Dropout1dImpl>::_DropoutNd;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Dropout1d);

// Zeroes channels of [N, C, H, W].
class Dropout2dImpl : public detail::_DropoutNd<Dropout2dImpl> {
 public:
  using detail::_DropoutNd<Dropout2dImpl>::_DropoutNd;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Dropout2d);

class Dropout3dImpl : public detail::_DropoutNd<Dropout3dImpl> {
 public:
  using detail::_DropoutNd<Dropout3dImpl>::_DropoutNd;
  at::Tensor forward(at::Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Dropout3d);

class AlphaDropoutImpl : public detail::_DropoutNd<AlphaDropoutImpl> {
 public:
  using detail::_DropoutNd<AlphaDropoutImpl>::_DropoutNd;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(AlphaDropout);

class FeatureAlphaDropoutImpl : public detail::_DropoutNd<FeatureAlphaDropoutImpl> {
 public:
  using detail::_DropoutNd<FeatureAlphaDropoutImpl>::_DropoutNd;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(FeatureAlphaDropout);

}  // namespace torch::nn
