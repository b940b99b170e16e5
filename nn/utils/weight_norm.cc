#include "nn/utils/weight_norm.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/conv.h"
#include "nn/module/module_access.h"

namespace torch::nn::utils {
namespace detail {

at::Tensor as_matrix(const at::Tensor& weight, int64_t dim) {
  at::Tensor rows_first = weight;
  if (dim < 0) dim += weight.dim();
  TORCH_CHECK_INDEX(dim >= 0 && dim < weight.dim(), "spectral_norm: dim ", dim,
                    " is out of range for a weight of sizes ", weight.sizes());
  if (dim != 0) {
    std::vector<int64_t> order = {dim};
    for (int64_t d = 0; d < weight.dim(); ++d) {
      if (d != dim) order.push_back(d);
    }
    rows_first = at::permute(weight, order);
  }
  return at::reshape(rows_first, {rows_first.size(0), -1});
}

at::Tensor unit_vector(const at::Tensor& v, double eps) {
  return at::div(v, at::clamp_min(at::norm(v), eps));
}

void power_iterations(const at::Tensor& matrix, at::Tensor& u, at::Tensor& v, int64_t iterations, double eps) {
  c10::NoGradGuard no_grad;
  for (int64_t i = 0; i < iterations; ++i) {
    at::copy_(u, unit_vector(at::mv(matrix, v), eps));
    at::copy_(v, unit_vector(at::mv(at::adjoint(matrix), u), eps));
  }
}

int64_t output_dim(const Module& module) {
  return module.as<ConvTranspose1dImpl>() != nullptr || module.as<ConvTranspose2dImpl>() != nullptr ||
                 module.as<ConvTranspose3dImpl>() != nullptr
             ? 1
             : 0;
}

at::Tensor norm_of(const at::Tensor& v, std::optional<int64_t> dim) {
  const int64_t kept = dim.value_or(-1) == -1 ? -1 : *dim < 0 ? *dim + v.dim() : *dim;
  return at::norm_except_dim(v, 2, kept);
}

at::Tensor scaled_to(const at::Tensor& v, const at::Tensor& g, std::optional<int64_t> dim) {
  return at::mul(v, at::div(g, norm_of(v, dim)));
}

namespace {

class WeightNormRule final : public TensorRule {
 public:
  explicit WeightNormRule(std::optional<int64_t> dim) : dim_(dim) {}
  at::Tensor compute(Module& m, const std::string& name) const override {
    return scaled_to(m.get_parameter(name + "_v"), m.get_parameter(name + "_g"), dim_);
  }

 private:
  std::optional<int64_t> dim_;
};

class SpectralNormRule final : public TensorRule {
 public:
  SpectralNormRule(int64_t iterations, double eps, int64_t dim) : iterations_(iterations), eps_(eps), dim_(dim) {}

  at::Tensor compute(Module& m, const std::string& name) const override {
    return compute(m, name, m.is_training() ? iterations_ : 0);
  }
  at::Tensor compute(Module& m, const std::string& name, int64_t iterations) const {
    const at::Tensor& weight = m.get_parameter(name + "_orig");
    at::Tensor &u = m.get_buffer(name + "_u"), &v = m.get_buffer(name + "_v");
    const at::Tensor matrix = as_matrix(weight, dim_);
    iterate(at::detach(matrix), u, v, iterations);
    // The next iteration changes the buffers, perhaps before this call's backward.
    const at::Tensor left = at::clone(u), right = at::clone(v);
    return at::div(weight, at::dot(left, at::mv(matrix, right)));
  }

 private:
  // The other order than power_iterations(): v first.
  void iterate(const at::Tensor& matrix, at::Tensor& u, at::Tensor& v, int64_t iterations) const {
    c10::NoGradGuard no_grad;
    for (int64_t i = 0; i < iterations; ++i) {
      at::copy_(v, unit_vector(at::mv(at::adjoint(matrix), u), eps_));
      at::copy_(u, unit_vector(at::mv(matrix, v), eps_));
    }
  }

  int64_t iterations_;
  double eps_;
  int64_t dim_;
};

template <typename Rule>
std::shared_ptr<const Rule> expect_rule(Module& m, const std::string& name, const char* what) {
  auto rule = std::dynamic_pointer_cast<const Rule>(rule_of(m, name));
  TORCH_CHECK_VALUE(rule != nullptr, what, " of '", name, "' not found in ", m);
  return rule;
}

at::Tensor drawn_unit_vector(const at::Tensor& like, int64_t size, double eps) {
  at::Tensor v = at::empty({size}, like.options());
  at::normal_(v, 0, 1);
  return unit_vector(v, eps);
}

void check_parameter(Module& m, const std::string& name, const char* what) {
  TORCH_CHECK(rule_of(m, name) == nullptr, "Cannot register two ", what, " hooks on the same parameter ", name);
  const at::Tensor* const parameter = ModuleAccess::parameters(m).find(name);
  TORCH_CHECK_VALUE(parameter != nullptr && parameter->defined(), what, ": ", m, " has no parameter '", name, "'");
}

}  // namespace
}  // namespace detail

void weight_norm(Module& m, const std::string& name, std::optional<int64_t> dim) {
  detail::check_parameter(m, name, "weight_norm");
  c10::NoGradGuard no_grad;
  const at::Tensor weight = compute_tensor(m, name, std::make_shared<detail::WeightNormRule>(dim));
  const auto trained = [&](at::Tensor t) { return at::clone(at::detach(t)).set_requires_grad(weight.requires_grad()); };
  register_memberless(m, name + "_g", trained(detail::norm_of(weight, dim)), true);
  register_memberless(m, name + "_v", trained(weight), true);
  c10::AutoGradMode grad(true);
  refresh_tensor(m, name);
}

void remove_weight_norm(ModuleRef module, const std::string& name) {
  Module& m = *module;
  detail::expect_rule<detail::WeightNormRule>(m, name, "weight_norm");
  c10::NoGradGuard no_grad;
  at::Tensor weight = at::detach(refresh_tensor(m, name));
  weight.set_requires_grad(m.get_parameter(name + "_v").requires_grad());
  unregister_memberless(m, name + "_g");
  unregister_memberless(m, name + "_v");
  stop_computing(m, name, weight, true);
}

void spectral_norm(Module& m, const std::string& name, int64_t n_power_iterations, double eps,
                   std::optional<int64_t> dim) {
  detail::check_parameter(m, name, "spectral_norm");
  TORCH_CHECK_VALUE(n_power_iterations > 0,
                    "Expected n_power_iterations to be positive, but got n_power_iterations=", n_power_iterations);
  c10::NoGradGuard no_grad;
  const int64_t rows = dim.value_or(detail::output_dim(m));
  const at::Tensor matrix = detail::as_matrix(at::detach(m.get_parameter(name)), rows);
  const at::Tensor weight =
      compute_tensor(m, name, std::make_shared<detail::SpectralNormRule>(n_power_iterations, eps, rows));
  const at::Tensor u = detail::drawn_unit_vector(matrix, matrix.size(0), eps);
  const at::Tensor v = detail::drawn_unit_vector(matrix, matrix.size(1), eps);
  register_memberless(m, name + "_orig", weight, true);
  register_memberless(m, name + "_u", u, false);
  register_memberless(m, name + "_v", v, false);
  // Only a call normalizes it.
  tensor_member(m, name) = at::detach(weight);
}

void remove_spectral_norm(ModuleRef module, const std::string& name) {
  Module& m = *module;
  const auto rule = detail::expect_rule<detail::SpectralNormRule>(m, name, "spectral_norm");
  c10::NoGradGuard no_grad;
  at::Tensor weight = at::detach(rule->compute(m, name, 0));
  weight.set_requires_grad(m.get_parameter(name + "_orig").requires_grad());
  for (const char* suffix : {"_u", "_v", "_orig"}) unregister_memberless(m, name + suffix);
  stop_computing(m, name, weight, true);
}

}  // namespace torch::nn::utils
