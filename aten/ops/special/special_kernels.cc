// Special functions: shape rules and kernels. The functions themselves are in aten/cpu/special.
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/loops.h"
#include "aten/ops/special/kernels.h"

namespace at::native {

namespace loops = cpu::special::loops;
using pointwise::Input;

namespace {

TensorSpec real_floating_spec(pointwise::Inputs inputs) {
  const ScalarType type = pointwise::to_floating(pointwise::promoted_type(inputs));
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(type), "special functions are not implemented for complex tensors, got ",
                              type);
  return pointwise::result_spec(inputs, type);
}

void run(const char* name, const cpu::ElementOp& op, const Tensor& self, Tensor& out) {
  pointwise::run(name, op, out.scalar_type(), nullptr, out, {self});
}
void run(const char* name, const cpu::ElementOp& op, const Input& a, const Input& b, Tensor& out) {
  pointwise::run(name, op, out.scalar_type(), nullptr, out, {a, b});
}

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

void special_entr_kernel(const Tensor& self, Tensor& out) {
  run("special_entr", loops::entr, self, out);
}
void special_ndtri_kernel(const Tensor& self, Tensor& out) {
  run("special_ndtri", loops::ndtri, self, out);
}
void special_log_ndtr_kernel(const Tensor& self, Tensor& out) {
  run("special_log_ndtr", loops::log_ndtr, self, out);
}
void special_ndtr_kernel(const Tensor& self, Tensor& out) {
  run("special_ndtr", loops::ndtr, self, out);
}
void special_erfcx_kernel(const Tensor& self, Tensor& out) {
  run("special_erfcx", loops::erfcx, self, out);
}
void special_i0e_kernel(const Tensor& self, Tensor& out) {
  run("special_i0e", loops::i0e, self, out);
}
void special_i1_kernel(const Tensor& self, Tensor& out) {
  run("special_i1", loops::i1, self, out);
}
void special_i1e_kernel(const Tensor& self, Tensor& out) {
  run("special_i1e", loops::i1e, self, out);
}
void special_bessel_j0_kernel(const Tensor& self, Tensor& out) {
  run("special_bessel_j0", loops::j0, self, out);
}
void special_bessel_j1_kernel(const Tensor& self, Tensor& out) {
  run("special_bessel_j1", loops::j1, self, out);
}
void special_bessel_y0_kernel(const Tensor& self, Tensor& out) {
  run("special_bessel_y0", loops::y0, self, out);
}
void special_bessel_y1_kernel(const Tensor& self, Tensor& out) {
  run("special_bessel_y1", loops::y1, self, out);
}
void special_modified_bessel_i0_kernel(const Tensor& self, Tensor& out) {
  run("special_modified_bessel_i0", loops::i0, self, out);
}
void special_modified_bessel_i1_kernel(const Tensor& self, Tensor& out) {
  run("special_modified_bessel_i1", loops::i1, self, out);
}
void special_modified_bessel_k0_kernel(const Tensor& self, Tensor& out) {
  run("special_modified_bessel_k0", loops::k0, self, out);
}
void special_modified_bessel_k1_kernel(const Tensor& self, Tensor& out) {
  run("special_modified_bessel_k1", loops::k1, self, out);
}
void special_airy_ai_kernel(const Tensor& self, Tensor& out) {
  run("special_airy_ai", loops::airy_ai, self, out);
}
void special_scaled_modified_bessel_k0_kernel(const Tensor& self, Tensor& out) {
  run("special_scaled_modified_bessel_k0", loops::k0e, self, out);
}
void special_scaled_modified_bessel_k1_kernel(const Tensor& self, Tensor& out) {
  run("special_scaled_modified_bessel_k1", loops::k1e, self, out);
}
void special_spherical_bessel_j0_kernel(const Tensor& self, Tensor& out) {
  run("special_spherical_bessel_j0", loops::spherical_j0, self, out);
}

void special_xlog1py_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  run("special_xlog1py", loops::xlog1py, self, other, out);
}
void special_xlog1py_self_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  run("special_xlog1py", loops::xlog1py, self, other, out);
}
void special_xlog1py_other_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  run("special_xlog1py", loops::xlog1py, self, other, out);
}
void special_zeta_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  run("special_zeta", loops::zeta, self, other, out);
}
void special_zeta_self_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  run("special_zeta", loops::zeta, self, other, out);
}
void special_zeta_other_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  run("special_zeta", loops::zeta, self, other, out);
}

void special_chebyshev_polynomial_t_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_t", loops::chebyshev_t, x, n, out);
}
void special_chebyshev_polynomial_t_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_t", loops::chebyshev_t, x, n, out);
}
void special_chebyshev_polynomial_t_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_chebyshev_polynomial_t", loops::chebyshev_t, x, n, out);
}
void special_chebyshev_polynomial_u_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_u", loops::chebyshev_u, x, n, out);
}
void special_chebyshev_polynomial_u_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_u", loops::chebyshev_u, x, n, out);
}
void special_chebyshev_polynomial_u_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_chebyshev_polynomial_u", loops::chebyshev_u, x, n, out);
}
void special_chebyshev_polynomial_v_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_v", loops::chebyshev_v, x, n, out);
}
void special_chebyshev_polynomial_v_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_v", loops::chebyshev_v, x, n, out);
}
void special_chebyshev_polynomial_v_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_chebyshev_polynomial_v", loops::chebyshev_v, x, n, out);
}
void special_chebyshev_polynomial_w_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_w", loops::chebyshev_w, x, n, out);
}
void special_chebyshev_polynomial_w_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_chebyshev_polynomial_w", loops::chebyshev_w, x, n, out);
}
void special_chebyshev_polynomial_w_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_chebyshev_polynomial_w", loops::chebyshev_w, x, n, out);
}
void special_hermite_polynomial_h_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_hermite_polynomial_h", loops::hermite_h, x, n, out);
}
void special_hermite_polynomial_h_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_hermite_polynomial_h", loops::hermite_h, x, n, out);
}
void special_hermite_polynomial_h_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_hermite_polynomial_h", loops::hermite_h, x, n, out);
}
void special_hermite_polynomial_he_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_hermite_polynomial_he", loops::hermite_he, x, n, out);
}
void special_hermite_polynomial_he_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_hermite_polynomial_he", loops::hermite_he, x, n, out);
}
void special_hermite_polynomial_he_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_hermite_polynomial_he", loops::hermite_he, x, n, out);
}
void special_laguerre_polynomial_l_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_laguerre_polynomial_l", loops::laguerre_l, x, n, out);
}
void special_laguerre_polynomial_l_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_laguerre_polynomial_l", loops::laguerre_l, x, n, out);
}
void special_laguerre_polynomial_l_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_laguerre_polynomial_l", loops::laguerre_l, x, n, out);
}
void special_legendre_polynomial_p_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_legendre_polynomial_p", loops::legendre_p, x, n, out);
}
void special_legendre_polynomial_p_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_legendre_polynomial_p", loops::legendre_p, x, n, out);
}
void special_legendre_polynomial_p_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_legendre_polynomial_p", loops::legendre_p, x, n, out);
}
void special_shifted_chebyshev_polynomial_t_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_t", loops::shifted_chebyshev_t, x, n, out);
}
void special_shifted_chebyshev_polynomial_t_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_t", loops::shifted_chebyshev_t, x, n, out);
}
void special_shifted_chebyshev_polynomial_t_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_t", loops::shifted_chebyshev_t, x, n, out);
}
void special_shifted_chebyshev_polynomial_u_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_u", loops::shifted_chebyshev_u, x, n, out);
}
void special_shifted_chebyshev_polynomial_u_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_u", loops::shifted_chebyshev_u, x, n, out);
}
void special_shifted_chebyshev_polynomial_u_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_u", loops::shifted_chebyshev_u, x, n, out);
}
void special_shifted_chebyshev_polynomial_v_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_v", loops::shifted_chebyshev_v, x, n, out);
}
void special_shifted_chebyshev_polynomial_v_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_v", loops::shifted_chebyshev_v, x, n, out);
}
void special_shifted_chebyshev_polynomial_v_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_v", loops::shifted_chebyshev_v, x, n, out);
}
void special_shifted_chebyshev_polynomial_w_kernel(const Tensor& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_w", loops::shifted_chebyshev_w, x, n, out);
}
void special_shifted_chebyshev_polynomial_w_x_scalar_kernel(const Scalar& x, const Tensor& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_w", loops::shifted_chebyshev_w, x, n, out);
}
void special_shifted_chebyshev_polynomial_w_n_scalar_kernel(const Tensor& x, const Scalar& n, Tensor& out) {
  run("special_shifted_chebyshev_polynomial_w", loops::shifted_chebyshev_w, x, n, out);
}

}  // namespace at::native
