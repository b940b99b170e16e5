// Orthogonal polynomials.
#include "aten/cuda/special/wide.cuh"

namespace at::cuda::special {
namespace {

constexpr int64_t kMaxDegree = int64_t{1} << 20;

// What the recurrences do not cover: degrees too large for them.
AT_ON_WIDE double beyond(int64_t n) {
  return n < 0 ? 0 : n == 0 ? 1 : not_a_number();
}
AT_ON_WIDE double chebyshev_t(double x, int64_t n) {
  if (n >= 0 && ::fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
  if (n > 6 && ::fabs(x) < 1) return ::cos(static_cast<double>(n) * ::acos(x));
  if (n > kMaxDegree) return not_a_number();
  if (n <= 0) return beyond(n);
  double before = 1, p = x;
  for (int64_t k = 1; k < n; ++k) {
    const double next = (x + x) * p - before;
    before = p;
    p = next;
  }
  return p;
}
AT_ON_WIDE double chebyshev_u(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double chebyshev_v(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double chebyshev_w(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double hermite_h(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double hermite_he(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double laguerre_l(double, int64_t n) {
  return beyond(n);
}
AT_ON_WIDE double legendre_p(double, int64_t n) {
  return beyond(n);
}

#include "aten/cpu/special/polynomials.inc"

}  // namespace
}  // namespace at::cuda::special

using namespace at::cuda::special;  // NOLINT: names of formulas

AT_CUDA_SPECIAL_OP(chebyshev_t, Function<Polynomial<ChebyshevT>>)
AT_CUDA_SPECIAL_OP(chebyshev_u, Function<Polynomial<ChebyshevU>>)
AT_CUDA_SPECIAL_OP(chebyshev_v, Function<Polynomial<ChebyshevV>>)
AT_CUDA_SPECIAL_OP(chebyshev_w, Function<Polynomial<ChebyshevW>>)
AT_CUDA_SPECIAL_OP(hermite_h, Function<Polynomial<HermiteH>>)
AT_CUDA_SPECIAL_OP(hermite_he, Function<Polynomial<HermiteHe>>)
AT_CUDA_SPECIAL_OP(laguerre_l, Function<Polynomial<LaguerreL>>)
AT_CUDA_SPECIAL_OP(legendre_p, Function<Polynomial<LegendreP>>)
AT_CUDA_SPECIAL_OP(shifted_chebyshev_t, Function<Polynomial<ChebyshevT, true>>)
AT_CUDA_SPECIAL_OP(shifted_chebyshev_u, Function<Polynomial<ChebyshevU, true>>)
AT_CUDA_SPECIAL_OP(shifted_chebyshev_v, Function<Polynomial<ChebyshevV, true>>)
AT_CUDA_SPECIAL_OP(shifted_chebyshev_w, Function<Polynomial<ChebyshevW, true>>)
