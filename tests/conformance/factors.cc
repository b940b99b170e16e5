#include "tests/conformance/factors.h"

#include <algorithm>
#include <complex>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace conformance {
namespace {

using at::Tensor;

Tensor on_cpu(const Tensor& t) {
  return at::to(t, at::Device(at::kCPU), t.scalar_type());
}

double factor(const Tensor& t) {
  return 10 * static_cast<double>(std::max<int64_t>({t.size(-1), t.size(-2), 1}));
}

std::optional<Mismatch> orthonormal_difference(const Tensor& q) {
  const Tensor product = at::matmul(at::adjoint(q), q);
  const Tensor unit = at::expand(at::eye(q.size(-1), q.size(-1), q.options()), product.sizes());
  return difference(product, at::clone(unit), factor(q));
}

Tensor scaled(const Tensor& vectors, const Tensor& values) {
  return at::mul(vectors, at::unsqueeze(at::to(values, vectors.scalar_type()), -2));
}

std::optional<Mismatch> svd_difference(const Tensor& A, const Tensor& U, const Tensor& S, const Tensor& Vh) {
  if (auto mismatch = orthonormal_difference(U)) return mismatch;
  if (auto mismatch = orthonormal_difference(at::adjoint(Vh))) return mismatch;
  const int64_t k = S.size(-1);
  const Tensor product = at::matmul(scaled(at::narrow(U, -1, 0, k), S), at::narrow(Vh, -2, 0, k));
  return difference(product, A, factor(A));
}

std::optional<Mismatch> eigh_difference(const Tensor& A, bool upper, const Tensor& L, const Tensor& V) {
  if (auto mismatch = orthonormal_difference(V)) return mismatch;
  // Of the diagonal only the real parts count.
  const Tensor half = upper ? at::triu(A, 1) : at::tril(A, -1), diagonal = at::diagonal(A, 0, -2, -1);
  const Tensor reals = at::mul(at::add(diagonal, at::conj(diagonal)), at::Scalar(0.5));
  const Tensor whole = at::add(at::add(half, at::adjoint(half)), at::diag_embed(reals));
  return difference(at::matmul(whole, V), scaled(V, L), factor(A));
}

// The values of each row in the order of the expected ones: each takes the nearest that is left.
Tensor in_order_of(const Tensor& got, const Tensor& expected) {
  const Tensor ordered = at::clone(at::to(got, at::kComplexDouble), at::MemoryFormat::Contiguous);
  const Tensor wanted = at::contiguous(at::to(expected, at::kComplexDouble));
  auto* x = static_cast<std::complex<double>*>(ordered.data_ptr());
  const auto* y = static_cast<const std::complex<double>*>(wanted.data_ptr());
  const int64_t n = got.dim() > 0 ? got.size(-1) : 1;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const int64_t end = (i / n + 1) * n;
    std::swap(x[i], *std::min_element(x + i, x + end, [&](const auto& a, const auto& b) { return std::abs(a - y[i]) < std::abs(b - y[i]); }));
  }
  return at::to(ordered, got.scalar_type());
}

std::optional<Mismatch> eig_difference(const Tensor& A, const Tensor& L, const Tensor& V) {
  const Tensor length = at::sum(at::square(at::abs(V)), {-2});
  if (auto mismatch = difference(length, at::ones_like(length), factor(A))) return mismatch;
  return difference(at::matmul(at::to(A, V.scalar_type()), V), scaled(V, L), factor(A));
}

}  // namespace

bool is_factors_rule(const std::string& rule) {
  return rule == "svd" || rule == "eigh" || rule == "eig" || rule == "complex_set";
}

std::optional<Mismatch> factors_difference(const std::string& rule, const std::string& name,
                                           const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                                           const c10::Stack& args, bool& free_choice) {
  std::vector<Tensor> t;
  for (size_t i = 0; i < got.size(); ++i) {
    t.push_back(on_cpu(got[i]));
    if (auto mismatch = kind_difference(t[i], expected[i])) return mismatch;
  }
  const Tensor A = on_cpu(args[0].toTensor());
  if (rule == "eig" || rule == "complex_set") {
    const Tensor values = in_order_of(t[0], expected[0]);
    free_choice = free_choice || difference(t[0], values).has_value();
    if (auto mismatch = difference(values, expected[0], factor(A))) return mismatch;
    return rule == "eig" ? eig_difference(A, t[0], t[1]) : std::nullopt;
  }
  if (rule == "eigh") {
    if (auto mismatch = difference(t[0], expected[0], factor(A))) return mismatch;
    const bool upper = args.size() > 1 && args[1].isString() && args[1].toStringView() == "U";
    return eigh_difference(A, upper, t[0], t[1]);
  }
  if (auto mismatch = difference(t[1], expected[1], factor(A))) return mismatch;
  return svd_difference(A, t[0], t[1], name.find("linalg") == std::string::npos ? at::adjoint(t[2]) : t[2]);
}

}  // namespace conformance
