// Special functions: shape rules and CPU kernels. The functions themselves are in aten/cpu/special.
#include <cmath>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/special.h"
#include "aten/cpu/special/special_loops.h"
#include "aten/ops/special/kernels.h"

namespace at::native {

namespace special = cpu::special;
using pointwise::Input;

namespace {

TensorSpec real_floating_spec(pointwise::Inputs inputs) {
  const ScalarType type = pointwise::to_floating(pointwise::promoted_type(inputs));
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(type), "special functions are not implemented for complex tensors, got ",
                              type);
  return pointwise::result_spec(inputs, type);
}

template <class F>
void run(const char* name, const Tensor& self, Tensor& out) {
  static constexpr cpu::ElementOp kOp = special::unary_op<F>();
  pointwise::run(name, kOp, out.scalar_type(), nullptr, out, {self});
}
template <class F>
void run(const char* name, const Input& a, const Input& b, Tensor& out) {
  static constexpr cpu::ElementOp kOp = special::binary_op<F>();
  pointwise::run(name, kOp, out.scalar_type(), nullptr, out, {a, b});
}

// Cut to whole numbers; what is too large stays so.
int64_t degree(double n) { return n <= -1 ? -1 : n < 1e18 ? static_cast<int64_t>(n) : int64_t{1} << 60; }

// A polynomial of a degree that comes as a floating-point number.
template <double (*f)(double, int64_t)>
struct Polynomial {
  static double run(double x, double n) { return std::isnan(n) ? n : f(x, degree(n)); }
};
// The same of 2x - 1.
template <double (*f)(double, int64_t)>
struct ShiftedPolynomial {
  static double run(double x, double n) { return std::isnan(n) ? n : f(x + x - 1, degree(n)); }
};

struct Entr {
  static double run(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0.0 : std::isnan(x) ? x : -INFINITY; }
};
struct Xlog1py {
  static double run(double x, double y) { return std::isnan(y) ? y : x == 0 ? 0.0 : x * std::log1p(y); }
};
template <double (*f)(double)>
struct Plain {
  static double run(double x) { return f(x); }
};
template <double (*f)(double, double)>
struct Plain2 {
  static double run(double x, double y) { return f(x, y); }
};
template <double (*f)(int, double), int order>
struct Bessel {
  static double run(double x) { return f(order, x); }
};
template <double (*f)(int, double, bool), int order, bool scaled>
struct ModifiedBessel {
  static double run(double x) { return f(order, x, scaled); }
};

}  // namespace

TensorSpec special_unary_meta(const Tensor& self) {
  return real_floating_spec({self});
}
TensorSpec special_unary_x_meta(const Tensor& x) {
  return real_floating_spec({x});
}
TensorSpec special_binary_meta(const Tensor& self, const Tensor& other) {
  return real_floating_spec({self, other});
}
TensorSpec special_binary_self_scalar_meta(const Scalar& self, const Tensor& other) {
  return real_floating_spec({self, other});
}
TensorSpec special_binary_other_scalar_meta(const Tensor& self, const Scalar& other) {
  return real_floating_spec({self, other});
}
TensorSpec special_binary_x_meta(const Tensor& x, const Tensor& n) {
  return real_floating_spec({x, n});
}
TensorSpec special_binary_x_scalar_meta(const Scalar& x, const Tensor& n) {
  return real_floating_spec({x, n});
}
TensorSpec special_binary_n_scalar_meta(const Tensor& x, const Scalar& n) {
  return real_floating_spec({x, n});
}

void special_entr_cpu(const Tensor& self, Tensor& out) {
  run<Entr>("special_entr", self, out);
}
void special_ndtri_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::normal_quantile>>("special_ndtri", self, out);
}
void special_log_ndtr_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::log_normal_cdf>>("special_log_ndtr", self, out);
}
void special_ndtr_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::normal_cdf>>("special_ndtr", self, out);
}
void special_erfcx_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::scaled_erfc>>("special_erfcx", self, out);
}
void special_i0e_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_i, 0, true>>("special_i0e", self, out);
}
void special_i1_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_i, 1, false>>("special_i1", self, out);
}
void special_i1e_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_i, 1, true>>("special_i1e", self, out);
}
void special_bessel_j0_cpu(const Tensor& self, Tensor& out) {
  run<Bessel<special::bessel_j, 0>>("special_bessel_j0", self, out);
}
void special_bessel_j1_cpu(const Tensor& self, Tensor& out) {
  run<Bessel<special::bessel_j, 1>>("special_bessel_j1", self, out);
}
void special_bessel_y0_cpu(const Tensor& self, Tensor& out) {
  run<Bessel<special::bessel_y, 0>>("special_bessel_y0", self, out);
}
void special_bessel_y1_cpu(const Tensor& self, Tensor& out) {
  run<Bessel<special::bessel_y, 1>>("special_bessel_y1", self, out);
}
void special_modified_bessel_i0_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_i, 0, false>>("special_modified_bessel_i0", self, out);
}
void special_modified_bessel_i1_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_i, 1, false>>("special_modified_bessel_i1", self, out);
}
void special_modified_bessel_k0_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_k, 0, false>>("special_modified_bessel_k0", self, out);
}
void special_modified_bessel_k1_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_k, 1, false>>("special_modified_bessel_k1", self, out);
}
void special_airy_ai_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::airy_ai>>("special_airy_ai", self, out);
}
void special_scaled_modified_bessel_k0_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_k, 0, true>>("special_scaled_modified_bessel_k0", self, out);
}
void special_scaled_modified_bessel_k1_cpu(const Tensor& self, Tensor& out) {
  run<ModifiedBessel<special::bessel_k, 1, true>>("special_scaled_modified_bessel_k1", self, out);
}
void special_spherical_bessel_j0_cpu(const Tensor& self, Tensor& out) {
  run<Plain<special::spherical_bessel_j0>>("special_spherical_bessel_j0", self, out);
}

void special_xlog1py_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  run<Xlog1py>("special_xlog1py", self, other, out);
}
void special_xlog1py_self_scalar_cpu(const Scalar& self, const Tensor& other, Tensor& out) {
  run<Xlog1py>("special_xlog1py", self, other, out);
}
void special_xlog1py_other_scalar_cpu(const Tensor& self, const Scalar& other, Tensor& out) {
  run<Xlog1py>("special_xlog1py", self, other, out);
}
void special_zeta_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  run<Plain2<special::zeta>>("special_zeta", self, other, out);
}
void special_zeta_self_scalar_cpu(const Scalar& self, const Tensor& other, Tensor& out) {
  run<Plain2<special::zeta>>("special_zeta", self, other, out);
}
void special_zeta_other_scalar_cpu(const Tensor& self, const Scalar& other, Tensor& out) {
  run<Plain2<special::zeta>>("special_zeta", self, other, out);
}

void special_chebyshev_polynomial_t_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_t>>("special_chebyshev_polynomial_t", x, n, out);
}
void special_chebyshev_polynomial_t_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_t>>("special_chebyshev_polynomial_t", x, n, out);
}
void special_chebyshev_polynomial_t_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::chebyshev_t>>("special_chebyshev_polynomial_t", x, n, out);
}
void special_chebyshev_polynomial_u_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_u>>("special_chebyshev_polynomial_u", x, n, out);
}
void special_chebyshev_polynomial_u_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_u>>("special_chebyshev_polynomial_u", x, n, out);
}
void special_chebyshev_polynomial_u_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::chebyshev_u>>("special_chebyshev_polynomial_u", x, n, out);
}
void special_chebyshev_polynomial_v_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_v>>("special_chebyshev_polynomial_v", x, n, out);
}
void special_chebyshev_polynomial_v_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_v>>("special_chebyshev_polynomial_v", x, n, out);
}
void special_chebyshev_polynomial_v_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::chebyshev_v>>("special_chebyshev_polynomial_v", x, n, out);
}
void special_chebyshev_polynomial_w_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_w>>("special_chebyshev_polynomial_w", x, n, out);
}
void special_chebyshev_polynomial_w_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::chebyshev_w>>("special_chebyshev_polynomial_w", x, n, out);
}
void special_chebyshev_polynomial_w_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::chebyshev_w>>("special_chebyshev_polynomial_w", x, n, out);
}
void special_hermite_polynomial_h_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::hermite_h>>("special_hermite_polynomial_h", x, n, out);
}
void special_hermite_polynomial_h_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::hermite_h>>("special_hermite_polynomial_h", x, n, out);
}
void special_hermite_polynomial_h_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::hermite_h>>("special_hermite_polynomial_h", x, n, out);
}
void special_hermite_polynomial_he_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::hermite_he>>("special_hermite_polynomial_he", x, n, out);
}
void special_hermite_polynomial_he_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::hermite_he>>("special_hermite_polynomial_he", x, n, out);
}
void special_hermite_polynomial_he_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::hermite_he>>("special_hermite_polynomial_he", x, n, out);
}
void special_laguerre_polynomial_l_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::laguerre_l>>("special_laguerre_polynomial_l", x, n, out);
}
void special_laguerre_polynomial_l_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::laguerre_l>>("special_laguerre_polynomial_l", x, n, out);
}
void special_laguerre_polynomial_l_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::laguerre_l>>("special_laguerre_polynomial_l", x, n, out);
}
void special_legendre_polynomial_p_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::legendre_p>>("special_legendre_polynomial_p", x, n, out);
}
void special_legendre_polynomial_p_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<Polynomial<special::legendre_p>>("special_legendre_polynomial_p", x, n, out);
}
void special_legendre_polynomial_p_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<Polynomial<special::legendre_p>>("special_legendre_polynomial_p", x, n, out);
}
void special_shifted_chebyshev_polynomial_t_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_t>>("special_shifted_chebyshev_polynomial_t", x, n, out);
}
void special_shifted_chebyshev_polynomial_t_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_t>>("special_shifted_chebyshev_polynomial_t", x, n, out);
}
void special_shifted_chebyshev_polynomial_t_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_t>>("special_shifted_chebyshev_polynomial_t", x, n, out);
}
void special_shifted_chebyshev_polynomial_u_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_u>>("special_shifted_chebyshev_polynomial_u", x, n, out);
}
void special_shifted_chebyshev_polynomial_u_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_u>>("special_shifted_chebyshev_polynomial_u", x, n, out);
}
void special_shifted_chebyshev_polynomial_u_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_u>>("special_shifted_chebyshev_polynomial_u", x, n, out);
}
void special_shifted_chebyshev_polynomial_v_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_v>>("special_shifted_chebyshev_polynomial_v", x, n, out);
}
void special_shifted_chebyshev_polynomial_v_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_v>>("special_shifted_chebyshev_polynomial_v", x, n, out);
}
void special_shifted_chebyshev_polynomial_v_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_v>>("special_shifted_chebyshev_polynomial_v", x, n, out);
}
void special_shifted_chebyshev_polynomial_w_cpu(const Tensor& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_w>>("special_shifted_chebyshev_polynomial_w", x, n, out);
}
void special_shifted_chebyshev_polynomial_w_x_scalar_cpu(const Scalar& x, const Tensor& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_w>>("special_shifted_chebyshev_polynomial_w", x, n, out);
}
void special_shifted_chebyshev_polynomial_w_n_scalar_cpu(const Tensor& x, const Scalar& n, Tensor& out) {
  run<ShiftedPolynomial<special::chebyshev_w>>("special_shifted_chebyshev_polynomial_w", x, n, out);
}

}  // namespace at::native
