// Operators of one argument on lists of tensors. `on_cpu`: all are on the CPU, and no gradient is recorded.
#include "aten/core/tensor.h"
#include "aten/cpu/loops/loops.h"
#include "aten/ops/foreach/kernels.h"
#include "aten/ops/foreach/lists.h"
#include "aten/ops/unary/ops.h"

namespace at::native {
namespace {

// `one` is the operator itself, for the tensors that cannot be taken together.
std::vector<Tensor> each(bool on_cpu, TensorList self, const cpu::ElementOp& op, Tensor (*one)(const Tensor&)) {
  foreach::check_not_empty(self);
  return foreach::make(on_cpu, op, {self}, std::nullopt, self.size(), [&](size_t i) { return one(self[i]); });
}
void each_(bool on_cpu, TensorList self, const cpu::ElementOp& op, Tensor& (*one)(Tensor&)) {
  foreach::check_not_empty(self);
  foreach::change(on_cpu, op, {self}, std::nullopt, self, [&](Tensor& t, size_t) { one(t); });
}

}  // namespace

std::vector<Tensor> _foreach_exp(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::exp, at::exp);
}
void _foreach_exp_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::exp, at::exp_);
}
std::vector<Tensor> _foreach_sqrt(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::sqrt, at::sqrt);
}
void _foreach_sqrt_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::sqrt, at::sqrt_);
}
std::vector<Tensor> _foreach_abs(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::abs, at::abs);
}
void _foreach_abs_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::abs, at::abs_);
}
std::vector<Tensor> _foreach_acos(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::acos, at::acos);
}
void _foreach_acos_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::acos, at::acos_);
}
std::vector<Tensor> _foreach_asin(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::asin, at::asin);
}
void _foreach_asin_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::asin, at::asin_);
}
std::vector<Tensor> _foreach_atan(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::atan, at::atan);
}
void _foreach_atan_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::atan, at::atan_);
}
std::vector<Tensor> _foreach_ceil(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::ceil, at::ceil);
}
void _foreach_ceil_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::ceil, at::ceil_);
}
std::vector<Tensor> _foreach_cos(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::cos, at::cos);
}
void _foreach_cos_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::cos, at::cos_);
}
std::vector<Tensor> _foreach_cosh(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::cosh, at::cosh);
}
void _foreach_cosh_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::cosh, at::cosh_);
}
std::vector<Tensor> _foreach_erf(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::erf, at::erf);
}
void _foreach_erf_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::erf, at::erf_);
}
std::vector<Tensor> _foreach_erfc(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::erfc, at::erfc);
}
void _foreach_erfc_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::erfc, at::erfc_);
}
std::vector<Tensor> _foreach_expm1(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::expm1, at::expm1);
}
void _foreach_expm1_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::expm1, at::expm1_);
}
std::vector<Tensor> _foreach_floor(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::floor, at::floor);
}
void _foreach_floor_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::floor, at::floor_);
}
std::vector<Tensor> _foreach_log(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::log, at::log);
}
void _foreach_log_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::log, at::log_);
}
std::vector<Tensor> _foreach_log10(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::log10, at::log10);
}
void _foreach_log10_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::log10, at::log10_);
}
std::vector<Tensor> _foreach_log1p(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::log1p, at::log1p);
}
void _foreach_log1p_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::log1p, at::log1p_);
}
std::vector<Tensor> _foreach_log2(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::log2, at::log2);
}
void _foreach_log2_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::log2, at::log2_);
}
std::vector<Tensor> _foreach_neg(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::neg, at::neg);
}
void _foreach_neg_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::neg, at::neg_);
}
std::vector<Tensor> _foreach_tan(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::tan, at::tan);
}
void _foreach_tan_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::tan, at::tan_);
}
std::vector<Tensor> _foreach_tanh(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::tanh, at::tanh);
}
void _foreach_tanh_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::tanh, at::tanh_);
}
std::vector<Tensor> _foreach_sin(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::sin, at::sin);
}
void _foreach_sin_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::sin, at::sin_);
}
std::vector<Tensor> _foreach_sinh(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::sinh, at::sinh);
}
void _foreach_sinh_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::sinh, at::sinh_);
}
std::vector<Tensor> _foreach_round(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::round, at::round);
}
void _foreach_round_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::round, at::round_);
}
std::vector<Tensor> _foreach_lgamma(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::lgamma, at::lgamma);
}
void _foreach_lgamma_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::lgamma, at::lgamma_);
}
std::vector<Tensor> _foreach_frac(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::frac, at::frac);
}
void _foreach_frac_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::frac, at::frac_);
}
std::vector<Tensor> _foreach_reciprocal(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::reciprocal, at::reciprocal);
}
void _foreach_reciprocal_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::reciprocal, at::reciprocal_);
}
std::vector<Tensor> _foreach_sigmoid(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::sigmoid, at::sigmoid);
}
void _foreach_sigmoid_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::sigmoid, at::sigmoid_);
}
std::vector<Tensor> _foreach_trunc(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::trunc, at::trunc);
}
void _foreach_trunc_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::trunc, at::trunc_);
}
std::vector<Tensor> _foreach_rsqrt(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::rsqrt, at::rsqrt);
}
void _foreach_rsqrt_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::rsqrt, at::rsqrt_);
}
std::vector<Tensor> _foreach_sign(TensorList self, bool on_cpu) {
  return each(on_cpu, self, cpu::loops::sign, at::sign);
}
void _foreach_sign_(TensorList self, bool on_cpu) {
  each_(on_cpu, self, cpu::loops::sign, at::sign_);
}

}  // namespace at::native
