// Weight and spectral normalization by computed members: the older forms, with their names in state dictionaries. Those
// of nn/utils/parametrizations.h are the newer ones.
//
//   auto conv = torch::nn::utils::weight_norm(torch::nn::Conv2d(3, 8, 3));   // parameters weight_g, weight_v
//   conv(x);
//   torch::nn::utils::remove_weight_norm(conv);                             // parameter weight again
//
// The weight is computed before each call of the module; see nn/module/computed_tensor.h for what a call is. All throw
// where the module has no such parameter, or it is computed already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/module/computed_tensor.h"

namespace torch::nn::utils {

// weight = weight_g * weight_v / |weight_v|, the norm over all dimensions but `dim`; none: over all. Parameters name_g
// and name_v take the place of `name`.
void weight_norm(Module& module, const std::string& name = "weight", std::optional<int64_t> dim = 0);
template <ModuleHandle M>
M weight_norm(M module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  weight_norm(*ModuleRef(module), name, dim);
  return module;
}
// Makes `name` a parameter of its present value again.
void remove_weight_norm(ModuleRef module, const std::string& name = "weight");

// weight = weight_orig / sigma: sigma, its largest singular value as a matrix of rows `dim` (1 for transposed
// convolutions, else 0, unless given), is approached by n_power_iterations each call in training, from the buffers
// name_u and name_v.
void spectral_norm(Module& module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                   double eps = 1e-12, std::optional<int64_t> dim = std::nullopt);
template <ModuleHandle M>
M spectral_norm(M module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12,
                std::optional<int64_t> dim = std::nullopt) {
  spectral_norm(*ModuleRef(module), name, n_power_iterations, eps, dim);
  return module;
}
void remove_spectral_norm(ModuleRef module, const std::string& name = "weight");

namespace detail {

// A weight as a matrix of rows `dim`.
at::Tensor as_matrix(const at::Tensor& weight, int64_t dim);
// v / max(|v|, eps)
at::Tensor unit_vector(const at::Tensor& v, double eps);
// Approaches the first singular vectors, in place.
void power_iterations(const at::Tensor& matrix, at::Tensor& u, at::Tensor& v, int64_t iterations, double eps);
// 1 for transposed convolutions, else 0.
int64_t output_dim(const Module& module);
// v * (g / |v|)
at::Tensor scaled_to(const at::Tensor& v, const at::Tensor& g, std::optional<int64_t> dim);
at::Tensor norm_of(const at::Tensor& v, std::optional<int64_t> dim);

}  // namespace detail
}  // namespace torch::nn::utils
