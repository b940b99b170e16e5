// The parametrizations of torch.nn.utils.parametrizations.
//
//   auto linear = torch::nn::utils::parametrizations::orthogonal(torch::nn::Linear(20, 40));
//   auto conv = torch::nn::utils::parametrizations::weight_norm(torch::nn::Conv2d(3, 8, 3));
//
// See nn/utils/parametrize.h for how they work and what holds between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "nn/utils/parametrize.h"

namespace torch::nn::utils::parametrizations {

// `weight` = original0 * original1 / |original1|, the norm over all dimensions but `dim`; none: over all.
void weight_norm(Module& module, const std::string& name = "weight", std::optional<int64_t> dim = 0);
template <ModuleHandle M>
M weight_norm(M module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  weight_norm(*ModuleRef(module), name, dim);
  return module;
}

// `weight` = original / sigma: sigma, its largest singular value as a matrix of rows `dim` (1 for transposed
// convolutions, else 0, unless given), is approached by 15 iterations at once and n_power_iterations each time in
// training, from the buffers _u and _v. Throws c10::ValueError for n_power_iterations below 1.
void spectral_norm(Module& module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                   double eps = 1e-12, std::optional<int64_t> dim = std::nullopt);
template <ModuleHandle M>
M spectral_norm(M module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12,
                std::optional<int64_t> dim = std::nullopt) {
  spectral_norm(*ModuleRef(module), name, n_power_iterations, eps, dim);
  return module;
}

// `weight`, of at least two dimensions, the last two a matrix (or a batch of them), is orthogonal: Q^H Q = 1, or Q Q^H
// = 1 where it has more columns than rows. orthogonal_map: "matrix_exp" of a skew matrix, "cayley" (1 - A/2)^-1 (1 +
// A/2), or "householder" reflections; by default matrix_exp for square or complex matrices, else householder. With
// use_trivialization the map's result is multiplied by a fixed orthogonal matrix `base`, so that any orthogonal matrix
// can be assigned; without, cayley and matrix_exp take no assignment. Each call costs time as n^3. Throws
// c10::ValueError for another map, for householder of complex matrices, and for tensors of fewer than two dimensions.
void orthogonal(Module& module, const std::string& name = "weight",
                std::optional<std::string> orthogonal_map = std::nullopt, bool use_trivialization = true);
template <ModuleHandle M>
M orthogonal(M module, const std::string& name = "weight", std::optional<std::string> orthogonal_map = std::nullopt,
             bool use_trivialization = true) {
  orthogonal(*ModuleRef(module), name, orthogonal_map, use_trivialization);
  return module;
}

// The modules that they register.

class WeightNormImpl : public Cloneable<WeightNormImpl> {
 public:
  explicit WeightNormImpl(std::optional<int64_t> dim = 0) : dim_(dim) {}
  at::Tensor forward(const at::Tensor& g, const at::Tensor& v);
  std::tuple<at::Tensor, at::Tensor> right_inverse(const at::Tensor& weight);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

 private:
  std::optional<int64_t> dim_;
};
TORCH_MODULE(WeightNorm);

class SpectralNormImpl : public Cloneable<SpectralNormImpl> {
 public:
  SpectralNormImpl(const at::Tensor& weight, int64_t n_power_iterations = 1, int64_t dim = 0, double eps = 1e-12);
  at::Tensor forward(const at::Tensor& weight);
  at::Tensor right_inverse(const at::Tensor& value) { return value; }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  TORCH_MODULE_TENSORS(_u, _v)

 private:
  int64_t n_power_iterations_;
  int64_t dim_;
  double eps_;
  at::Tensor _u, _v;
};
TORCH_MODULE(SpectralNorm);

enum class OrthogonalMap { kMatrixExp, kCayley, kHouseholder };

class OrthogonalImpl : public Cloneable<OrthogonalImpl> {
 public:
  OrthogonalImpl(std::vector<int64_t> sizes, OrthogonalMap map, bool use_trivialization);
  at::Tensor forward(const at::Tensor& x);
  at::Tensor right_inverse(const at::Tensor& q);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  TORCH_MODULE_TENSORS(base)

 private:
  at::Tensor mapped(const at::Tensor& x) const;

  std::vector<int64_t> sizes_;
  OrthogonalMap map_;
  bool use_trivialization_;
  at::Tensor base;
};
TORCH_MODULE(Orthogonal);

}  // namespace torch::nn::utils::parametrizations

namespace torch::nn {
extern template class Cloneable<utils::parametrizations::WeightNormImpl>;
extern template class Cloneable<utils::parametrizations::SpectralNormImpl>;
extern template class Cloneable<utils::parametrizations::OrthogonalImpl>;
}  // namespace torch::nn
