#include "nn/utils/parametrizations.h"


#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/epsilon.h"
#include "c10/core/grad_mode.h"
#include "nn/module/module_access.h"
#include "nn/utils/orthogonal_maps.h"
#include "nn/utils/weight_norm.h"

namespace torch::nn::utils::parametrizations {

using at::Tensor;
namespace d = torch::nn::utils::detail;

Tensor WeightNormImpl::forward(const Tensor& g, const Tensor& v) {
  return d::scaled_to(v, g, dim_);
}
std::tuple<Tensor, Tensor> WeightNormImpl::right_inverse(const Tensor& weight) {
  return {d::norm_of(weight, dim_), at::clone(weight)};
}
void WeightNormImpl::pretty_print(std::ostream& stream) const {
  nn::detail::put_text(stream, "torch::nn::utils::parametrizations::WeightNorm()");
}

void weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim) {
  parametrize::register_parametrization(module, name, WeightNorm(dim), /*unsafe=*/true);
}

SpectralNormImpl::SpectralNormImpl(const Tensor& weight, int64_t n_power_iterations, int64_t dim, double eps)
    : n_power_iterations_(n_power_iterations), dim_(dim), eps_(eps) {
  TORCH_CHECK_INDEX(dim < weight.dim() && dim >= -weight.dim(), "Dimension out of range (expected to be in range of [-",
                    weight.dim(), ", ", weight.dim() - 1, "] but got ", dim, ")");
  TORCH_CHECK_VALUE(n_power_iterations > 0,
                    "Expected n_power_iterations to be positive, but got n_power_iterations=", n_power_iterations);
  // A vector's largest singular value is its norm.
  if (weight.dim() > 1) {
    c10::NoGradGuard no_grad;
    const Tensor matrix = d::as_matrix(at::detach(weight), dim_);
    const auto drawn = [&](int64_t size) {
      Tensor v = at::empty({size}, matrix.options());
      at::normal_(v, 0, 1);
      return d::unit_vector(v, eps_);
    };
    _u = drawn(matrix.size(0));
    _v = drawn(matrix.size(1));
    d::power_iterations(matrix, _u, _v, 15, eps_);
  }
  reset();
}

void SpectralNormImpl::reset() {
  if (!_u.defined()) return;
  // A clone's own, not the original's.
  _u = register_buffer("_u", at::clone(_u));
  _v = register_buffer("_v", at::clone(_v));
}

Tensor SpectralNormImpl::forward(const Tensor& weight) {
  if (weight.dim() == 1) return d::unit_vector(weight, eps_);
  const Tensor matrix = d::as_matrix(weight, dim_);
  if (is_training()) d::power_iterations(at::detach(matrix), _u, _v, n_power_iterations_, eps_);
  // The next iteration changes the buffers, perhaps before this call's backward.
  const Tensor u = at::clone(_u, at::MemoryFormat::Contiguous), v = at::clone(_v, at::MemoryFormat::Contiguous);
  return at::div(weight, at::vdot(u, at::mv(matrix, v)));
}

void SpectralNormImpl::pretty_print(std::ostream& stream) const {
  nn::detail::put_text(stream, "torch::nn::utils::parametrizations::SpectralNorm()");
}

void spectral_norm(Module& module, const std::string& name, int64_t n_power_iterations, double eps,
                   std::optional<int64_t> dim) {
  const Tensor* weight = ModuleAccess::parameters(module).find(name);
  if (weight == nullptr) weight = ModuleAccess::buffers(module).find(name);
  Tensor value;
  if (weight == nullptr && parametrize::is_parametrized(module, name)) {
    value = parametrize::get(module, name);
    weight = &value;
  }
  TORCH_CHECK_VALUE(weight != nullptr && weight->defined(), "Module '", module,
                    "' has no parameter or buffer with name '", name, "'");
  parametrize::register_parametrization(
      module, name, SpectralNorm(*weight, n_power_iterations, dim.value_or(d::output_dim(module)), eps));
}

OrthogonalImpl::OrthogonalImpl(std::vector<int64_t> sizes, OrthogonalMap map, bool use_trivialization)
    : sizes_(std::move(sizes)), map_(map), use_trivialization_(use_trivialization) {
  reset();
}

void OrthogonalImpl::reset() {
  // A clone's own, not the original's.
  if (use_trivialization_) base = register_buffer("base", base.defined() ? at::clone(base) : Tensor());
}

void OrthogonalImpl::pretty_print(std::ostream& stream) const {
  nn::detail::put_text(stream, "torch::nn::utils::parametrizations::Orthogonal()");
}

namespace {

Tensor turned(const Tensor& t) {
  return at::transpose(t, -2, -1);
}

bool is_orthogonal(const Tensor& q) {
  const Tensor product = at::matmul(at::adjoint(q), q);
  const double eps = 10 * static_cast<double>(q.size(-2)) * at::epsilon_of(q.scalar_type());
  return at::allclose(product, at::expand(at::eye(q.size(-1), q.options()), product.sizes()), 1e-5, eps);
}

}  // namespace

// Of a matrix with at least as many rows as columns.
Tensor OrthogonalImpl::mapped(const Tensor& x) const {
  const int64_t n = x.size(-2), k = x.size(-1);
  if (map_ == OrthogonalMap::kHouseholder) {
    const Tensor a = at::tril(x, -1);
    const Tensor tau =
        at::div(at::ones({}, a.options()), at::mul(at::add(at::sum(at::mul(a, a), at::IntArrayRef{-2}), 1), 0.5));
    const Tensor signs = at::to(at::to(at::detach(at::diagonal(x, 0, -2, -1)), at::kInt), x.scalar_type());
    return at::mul(d::householder_product(a, tau), at::unsqueeze(signs, -2));
  }
  // Only the part below the diagonal counts.
  Tensor lower = at::tril(x);
  if (n != k) {
    std::vector<int64_t> rest = x.sizes().vec();
    rest.back() = n - k;
    lower = at::cat({lower, at::zeros(rest, x.options())}, -1);
  }
  const Tensor skew = at::sub(lower, at::adjoint(lower));
  const Tensor q = map_ == OrthogonalMap::kMatrixExp ? d::matrix_exp(skew) : d::cayley(skew);
  return n == k ? q : at::narrow(q, -1, 0, k);
}

Tensor OrthogonalImpl::forward(const Tensor& x) {
  const bool wide = x.size(-2) < x.size(-1);
  Tensor q = mapped(wide ? turned(x) : x);
  if (base.defined()) q = at::matmul(base, q);
  return wide ? turned(q) : q;
}

Tensor OrthogonalImpl::right_inverse(const Tensor& given) {
  TORCH_CHECK_VALUE(given.sizes() == at::IntArrayRef(sizes_), "Expected a matrix or batch of matrices of shape ",
                    at::IntArrayRef(sizes_), ". Got a tensor of shape ", given.sizes(), ".");
  c10::NoGradGuard no_grad;
  const bool wide = given.size(-2) < given.size(-1);
  const Tensor q = wide ? turned(given) : given;
  const int64_t n = q.size(-2), k = q.size(-1);
  if (!use_trivialization_) {
    TORCH_CHECK_NOT_IMPLEMENTED(map_ == OrthogonalMap::kHouseholder,
                                "It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                "when use_trivialization=false.");
    const d::Reflections r = d::geqrf(q);
    // The reflections alone are an orthogonal matrix up to the signs of R's diagonal, which the diagonal keeps.
    Tensor diagonal = at::diagonal(r.a, 0, -2, -1);
    const Tensor signs = at::sgn(diagonal);
    // Where there was no reflection, the map has one: of the diagonal element alone.
    at::copy_(diagonal, at::where(at::eq(r.tau, 0), at::neg(signs), signs));
    return wide ? turned(r.a) : r.a;
  }
  Tensor whole;
  if (n == k) {
    whole = is_orthogonal(q) ? at::clone(q) : d::orthonormalized(q);
  } else {
    // With columns that complete it.
    std::vector<int64_t> rest = q.sizes().vec();
    rest.back() = n - k;
    whole = d::orthonormalized(at::cat({q, at::randn(rest, q.options())}, -1));
  }
  base = replace_buffer("base", whole);
  // The maps take zeros to the identity; householder reads signs on the diagonal, and -1 there is its identity.
  Tensor start = at::zeros_like(given);
  Tensor diagonal = at::diagonal(start, 0, -2, -1);
  at::fill_(diagonal, -1);
  return start;
}

void orthogonal(Module& module, const std::string& name, std::optional<std::string> orthogonal_map,
                bool use_trivialization) {
  const Tensor* weight = ModuleAccess::parameters(module).find(name);
  if (weight == nullptr) weight = ModuleAccess::buffers(module).find(name);
  TORCH_CHECK_VALUE(weight != nullptr && weight->defined(), "Module '", module,
                    "' has no parameter or buffer with name '", name, "'");
  // As of a matrix: a vector has none.
  TORCH_CHECK_VALUE(weight->dim() >= 2, "Expected a matrix or batch of matrices. Got a tensor of ", weight->dim(),
                    " dimensions.");
  const bool square = weight->size(-2) == weight->size(-1);
  const std::string map = orthogonal_map.value_or(square || weight->is_complex() ? "matrix_exp" : "householder");
  TORCH_CHECK_VALUE(map == "matrix_exp" || map == "cayley" || map == "householder",
                    "orthogonal_map has to be one of \"matrix_exp\", \"cayley\", \"householder\". Got: ", map);
  TORCH_CHECK_VALUE(map != "householder" || !weight->is_complex(),
                    "The householder parametrization does not support complex tensors.");
  const OrthogonalMap which = map == "matrix_exp" ? OrthogonalMap::kMatrixExp
                              : map == "cayley"   ? OrthogonalMap::kCayley
                                                  : OrthogonalMap::kHouseholder;
  parametrize::register_parametrization(module, name, Orthogonal(weight->sizes().vec(), which, use_trivialization),
                                        /*unsafe=*/true);
}

}  // namespace torch::nn::utils::parametrizations

namespace torch::nn {
template class Cloneable<utils::parametrizations::WeightNormImpl>;
template class Cloneable<utils::parametrizations::SpectralNormImpl>;
template class Cloneable<utils::parametrizations::OrthogonalImpl>;
}  // namespace torch::nn
