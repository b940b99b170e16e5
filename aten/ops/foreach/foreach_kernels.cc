// Operators on lists of tensors: the same operator on each, in one call.
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_not_empty(TensorList tensors) { TORCH_CHECK(!tensors.empty(), "Tensor list must have at least one tensor."); }
void check_same_length(TensorList a, TensorList b) {
  check_not_empty(a);
  TORCH_CHECK(a.size() == b.size(), "Tensor lists must have the same number of tensors, got ", a.size(), " and ", b.size());
}
void check_same_length(TensorList a, ArrayRef<Scalar> b) {
  check_not_empty(a);
  TORCH_CHECK(a.size() == b.size(), "Tensor list must have same number of elements as scalar list.");
}
void check_scalar_tensor(const Tensor& t) {
  TORCH_CHECK(t.dim() == 0 && t.numel() == 1, "scalar tensor expected to be 0 dim but it has ", t.dim(), " dimensions and ",
              t.numel(), " elements.");
}

// One number a tensor, from a one-dimensional tensor of them.
std::vector<Scalar> numbers_of(const Tensor& scalars, size_t count) {
  TORCH_CHECK(scalars.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ", scalars.dim(), " instead.");
  TORCH_CHECK(scalars.size(0) == static_cast<int64_t>(count), "Expected length of scalars to match input of length ", count,
              " but got ", scalars.size(0), " instead.");
  std::vector<Scalar> numbers;
  for (int64_t i = 0; i < scalars.size(0); ++i) numbers.push_back(at::item(at::select(scalars, 0, i)));
  return numbers;
}

// The results of f(i) for every i.
template <class F>
std::vector<Tensor> collect(TensorList self, const F& f) {
  std::vector<Tensor> results;
  results.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i) results.push_back(f(i));
  return results;
}
// Calls f(tensor, i) for every tensor of the list.
template <class F>
void change(TensorList self, const F& f) {
  for (size_t i = 0; i < self.size(); ++i) {
    Tensor t = self[i];
    f(t, i);
  }
}

}  // namespace

std::vector<Tensor> _foreach_exp(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::exp(self[i]); });
}
void _foreach_exp_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::exp_(t); });
}
std::vector<Tensor> _foreach_sqrt(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sqrt(self[i]); });
}
void _foreach_sqrt_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sqrt_(t); });
}
std::vector<Tensor> _foreach_abs(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::abs(self[i]); });
}
void _foreach_abs_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::abs_(t); });
}
std::vector<Tensor> _foreach_acos(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::acos(self[i]); });
}
void _foreach_acos_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::acos_(t); });
}
std::vector<Tensor> _foreach_asin(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::asin(self[i]); });
}
void _foreach_asin_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::asin_(t); });
}
std::vector<Tensor> _foreach_atan(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::atan(self[i]); });
}
void _foreach_atan_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::atan_(t); });
}
std::vector<Tensor> _foreach_ceil(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::ceil(self[i]); });
}
void _foreach_ceil_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::ceil_(t); });
}
std::vector<Tensor> _foreach_cos(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::cos(self[i]); });
}
void _foreach_cos_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::cos_(t); });
}
std::vector<Tensor> _foreach_cosh(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::cosh(self[i]); });
}
void _foreach_cosh_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::cosh_(t); });
}
std::vector<Tensor> _foreach_erf(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::erf(self[i]); });
}
void _foreach_erf_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::erf_(t); });
}
std::vector<Tensor> _foreach_erfc(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::erfc(self[i]); });
}
void _foreach_erfc_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::erfc_(t); });
}
std::vector<Tensor> _foreach_expm1(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::expm1(self[i]); });
}
void _foreach_expm1_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::expm1_(t); });
}
std::vector<Tensor> _foreach_floor(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::floor(self[i]); });
}
void _foreach_floor_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::floor_(t); });
}
std::vector<Tensor> _foreach_log(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::log(self[i]); });
}
void _foreach_log_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::log_(t); });
}
std::vector<Tensor> _foreach_log10(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::log10(self[i]); });
}
void _foreach_log10_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::log10_(t); });
}
std::vector<Tensor> _foreach_log1p(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::log1p(self[i]); });
}
void _foreach_log1p_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::log1p_(t); });
}
std::vector<Tensor> _foreach_log2(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::log2(self[i]); });
}
void _foreach_log2_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::log2_(t); });
}
std::vector<Tensor> _foreach_neg(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::neg(self[i]); });
}
void _foreach_neg_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::neg_(t); });
}
std::vector<Tensor> _foreach_tan(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::tan(self[i]); });
}
void _foreach_tan_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::tan_(t); });
}
std::vector<Tensor> _foreach_tanh(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::tanh(self[i]); });
}
void _foreach_tanh_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::tanh_(t); });
}
std::vector<Tensor> _foreach_sin(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sin(self[i]); });
}
void _foreach_sin_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sin_(t); });
}
std::vector<Tensor> _foreach_sinh(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sinh(self[i]); });
}
void _foreach_sinh_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sinh_(t); });
}
std::vector<Tensor> _foreach_round(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::round(self[i]); });
}
void _foreach_round_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::round_(t); });
}
std::vector<Tensor> _foreach_lgamma(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::lgamma(self[i]); });
}
void _foreach_lgamma_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::lgamma_(t); });
}
std::vector<Tensor> _foreach_frac(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::frac(self[i]); });
}
void _foreach_frac_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::frac_(t); });
}
std::vector<Tensor> _foreach_reciprocal(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::reciprocal(self[i]); });
}
void _foreach_reciprocal_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::reciprocal_(t); });
}
std::vector<Tensor> _foreach_sigmoid(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sigmoid(self[i]); });
}
void _foreach_sigmoid_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sigmoid_(t); });
}
std::vector<Tensor> _foreach_trunc(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::trunc(self[i]); });
}
void _foreach_trunc_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::trunc_(t); });
}
std::vector<Tensor> _foreach_rsqrt(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::rsqrt(self[i]); });
}
void _foreach_rsqrt_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::rsqrt_(t); });
}
std::vector<Tensor> _foreach_sign(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sign(self[i]); });
}
void _foreach_sign_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sign_(t); });
}
std::vector<Tensor> _foreach_add_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::add(self[i], scalar); });
}
void _foreach_add_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::add_(t, scalar); });
}
std::vector<Tensor> _foreach_add_list(TensorList self, TensorList other, const Scalar& alpha) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::add(self[i], other[i], alpha); });
}
void _foreach_add_list_(TensorList self, TensorList other, const Scalar& alpha) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::add_(t, other[i], alpha); });
}
std::vector<Tensor> _foreach_add_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::add(self[i], scalars[i]); });
}
void _foreach_add_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::add_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_add_tensor(TensorList self, const Tensor& other, const Scalar& alpha) {
  check_not_empty(self);
  check_scalar_tensor(other);
  return collect(self, [&](size_t i) { return at::add(self[i], other, alpha); });
}
void _foreach_add_tensor_(TensorList self, const Tensor& other, const Scalar& alpha) {
  check_not_empty(self);
  check_scalar_tensor(other);
  change(self, [&](Tensor& t, size_t i) { at::add_(t, other, alpha); });
}
std::vector<Tensor> _foreach_sub_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::sub(self[i], scalar); });
}
void _foreach_sub_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::sub_(t, scalar); });
}
std::vector<Tensor> _foreach_sub_list(TensorList self, TensorList other, const Scalar& alpha) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::sub(self[i], other[i], alpha); });
}
void _foreach_sub_list_(TensorList self, TensorList other, const Scalar& alpha) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::sub_(t, other[i], alpha); });
}
std::vector<Tensor> _foreach_sub_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::sub(self[i], scalars[i]); });
}
void _foreach_sub_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::sub_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_mul_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::mul(self[i], scalar); });
}
void _foreach_mul_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::mul_(t, scalar); });
}
std::vector<Tensor> _foreach_mul_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::mul(self[i], other[i]); });
}
void _foreach_mul_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::mul_(t, other[i]); });
}
std::vector<Tensor> _foreach_mul_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::mul(self[i], scalars[i]); });
}
void _foreach_mul_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::mul_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_mul_tensor(TensorList self, const Tensor& other) {
  check_not_empty(self);
  check_scalar_tensor(other);
  return collect(self, [&](size_t i) { return at::mul(self[i], other); });
}
void _foreach_mul_tensor_(TensorList self, const Tensor& other) {
  check_not_empty(self);
  check_scalar_tensor(other);
  change(self, [&](Tensor& t, size_t i) { at::mul_(t, other); });
}
std::vector<Tensor> _foreach_div_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::div(self[i], scalar); });
}
void _foreach_div_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::div_(t, scalar); });
}
std::vector<Tensor> _foreach_div_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::div(self[i], other[i]); });
}
void _foreach_div_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::div_(t, other[i]); });
}
std::vector<Tensor> _foreach_div_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::div(self[i], scalars[i]); });
}
void _foreach_div_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::div_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_div_tensor(TensorList self, const Tensor& other) {
  check_not_empty(self);
  check_scalar_tensor(other);
  return collect(self, [&](size_t i) { return at::div(self[i], other); });
}
void _foreach_div_tensor_(TensorList self, const Tensor& other) {
  check_not_empty(self);
  check_scalar_tensor(other);
  change(self, [&](Tensor& t, size_t i) { at::div_(t, other); });
}
std::vector<Tensor> _foreach_addcdiv_scalar(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return collect(self, [&](size_t i) { return at::addcdiv(self[i], tensor1[i], tensor2[i], value); });
}
void _foreach_addcdiv_scalar_(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  change(self, [&](Tensor& t, size_t i) { at::addcdiv_(t, tensor1[i], tensor2[i], value); });
}
std::vector<Tensor> _foreach_addcdiv_scalarlist(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::addcdiv(self[i], tensor1[i], tensor2[i], scalars[i]); });
}
void _foreach_addcdiv_scalarlist_(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::addcdiv_(t, tensor1[i], tensor2[i], scalars[i]); });
}
std::vector<Tensor> _foreach_addcdiv_tensor(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  const std::vector<Scalar> values = numbers_of(scalars, self.size());
  return collect(self, [&](size_t i) { return at::addcdiv(self[i], tensor1[i], tensor2[i], values[i]); });
}
void _foreach_addcdiv_tensor_(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  const std::vector<Scalar> values = numbers_of(scalars, self.size());
  change(self, [&](Tensor& t, size_t i) { at::addcdiv_(t, tensor1[i], tensor2[i], values[i]); });
}
std::vector<Tensor> _foreach_addcmul_scalar(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return collect(self, [&](size_t i) { return at::addcmul(self[i], tensor1[i], tensor2[i], value); });
}
void _foreach_addcmul_scalar_(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  change(self, [&](Tensor& t, size_t i) { at::addcmul_(t, tensor1[i], tensor2[i], value); });
}
std::vector<Tensor> _foreach_addcmul_scalarlist(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::addcmul(self[i], tensor1[i], tensor2[i], scalars[i]); });
}
void _foreach_addcmul_scalarlist_(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::addcmul_(t, tensor1[i], tensor2[i], scalars[i]); });
}
std::vector<Tensor> _foreach_addcmul_tensor(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  const std::vector<Scalar> values = numbers_of(scalars, self.size());
  return collect(self, [&](size_t i) { return at::addcmul(self[i], tensor1[i], tensor2[i], values[i]); });
}
void _foreach_addcmul_tensor_(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  const std::vector<Scalar> values = numbers_of(scalars, self.size());
  change(self, [&](Tensor& t, size_t i) { at::addcmul_(t, tensor1[i], tensor2[i], values[i]); });
}
std::vector<Tensor> _foreach_maximum_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::maximum(self[i], other[i]); });
}
void _foreach_maximum_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::maximum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_maximum_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::clamp_min(self[i], scalar); });
}
void _foreach_maximum_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::clamp_min_(t, scalar); });
}
std::vector<Tensor> _foreach_maximum_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::clamp_min(self[i], scalars[i]); });
}
void _foreach_maximum_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::clamp_min_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_minimum_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::minimum(self[i], other[i]); });
}
void _foreach_minimum_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::minimum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_minimum_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::clamp_max(self[i], scalar); });
}
void _foreach_minimum_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::clamp_max_(t, scalar); });
}
std::vector<Tensor> _foreach_minimum_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::clamp_max(self[i], scalars[i]); });
}
void _foreach_minimum_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::clamp_max_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_clamp_max_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::minimum(self[i], other[i]); });
}
void _foreach_clamp_max_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::minimum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_clamp_max_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::clamp_max(self[i], scalar); });
}
void _foreach_clamp_max_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::clamp_max_(t, scalar); });
}
std::vector<Tensor> _foreach_clamp_max_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::clamp_max(self[i], scalars[i]); });
}
void _foreach_clamp_max_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::clamp_max_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_clamp_min_list(TensorList self, TensorList other) {
  check_same_length(self, other);
  return collect(self, [&](size_t i) { return at::maximum(self[i], other[i]); });
}
void _foreach_clamp_min_list_(TensorList self, TensorList other) {
  check_same_length(self, other);
  change(self, [&](Tensor& t, size_t i) { at::maximum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_clamp_min_scalar(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::clamp_min(self[i], scalar); });
}
void _foreach_clamp_min_scalar_(TensorList self, const Scalar& scalar) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::clamp_min_(t, scalar); });
}
std::vector<Tensor> _foreach_clamp_min_scalarlist(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  return collect(self, [&](size_t i) { return at::clamp_min(self[i], scalars[i]); });
}
void _foreach_clamp_min_scalarlist_(TensorList self, ArrayRef<Scalar> scalars) {
  check_same_length(self, scalars);
  change(self, [&](Tensor& t, size_t i) { at::clamp_min_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_lerp_list(TensorList self, TensorList tensors1, TensorList weights) {
  check_same_length(self, tensors1);
  check_same_length(self, weights);
  return collect(self, [&](size_t i) { return at::lerp(self[i], tensors1[i], weights[i]); });
}
void _foreach_lerp_list_(TensorList self, TensorList tensors1, TensorList weights) {
  check_same_length(self, tensors1);
  check_same_length(self, weights);
  change(self, [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weights[i]); });
}
std::vector<Tensor> _foreach_lerp_scalar(TensorList self, TensorList tensors1, const Scalar& weight) {
  check_same_length(self, tensors1);
  return collect(self, [&](size_t i) { return at::lerp(self[i], tensors1[i], weight); });
}
void _foreach_lerp_scalar_(TensorList self, TensorList tensors1, const Scalar& weight) {
  check_same_length(self, tensors1);
  change(self, [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weight); });
}
std::vector<Tensor> _foreach_lerp_scalarlist(TensorList self, TensorList tensors1, ArrayRef<Scalar> weight) {
  check_same_length(self, tensors1);
  check_same_length(self, weight);
  return collect(self, [&](size_t i) { return at::lerp(self[i], tensors1[i], weight[i]); });
}
void _foreach_lerp_scalarlist_(TensorList self, TensorList tensors1, ArrayRef<Scalar> weight) {
  check_same_length(self, tensors1);
  check_same_length(self, weight);
  change(self, [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weight[i]); });
}
std::vector<Tensor> _foreach_pow_list(TensorList self, TensorList exponent) {
  check_same_length(self, exponent);
  return collect(self, [&](size_t i) { return at::pow(self[i], exponent[i]); });
}
void _foreach_pow_list_(TensorList self, TensorList exponent) {
  check_same_length(self, exponent);
  change(self, [&](Tensor& t, size_t i) { at::pow_(t, exponent[i]); });
}
std::vector<Tensor> _foreach_pow_scalar(TensorList self, const Scalar& exponent) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::pow(self[i], exponent); });
}
void _foreach_pow_scalar_(TensorList self, const Scalar& exponent) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t i) { at::pow_(t, exponent); });
}
std::vector<Tensor> _foreach_pow_scalarlist(TensorList self, ArrayRef<Scalar> exponent) {
  check_same_length(self, exponent);
  return collect(self, [&](size_t i) { return at::pow(self[i], exponent[i]); });
}
void _foreach_pow_scalarlist_(TensorList self, ArrayRef<Scalar> exponent) {
  check_same_length(self, exponent);
  change(self, [&](Tensor& t, size_t i) { at::pow_(t, exponent[i]); });
}
std::vector<Tensor> _foreach_pow_scalarandtensor(const Scalar& self, TensorList exponent) {
  check_not_empty(exponent);
  return collect(exponent, [&](size_t i) { return at::pow(self, exponent[i]); });
}
void _foreach_zero_(TensorList self) {
  check_not_empty(self);
  change(self, [&](Tensor& t, size_t) { at::zero_(t); });
}
std::vector<Tensor> _foreach_norm_scalar(TensorList self, const Scalar& ord, std::optional<ScalarType> dtype) {
  check_not_empty(self);
  return collect(self, [&](size_t i) {
    return at::norm(dtype.has_value() ? at::to(self[i], *dtype) : self[i], ord);
  });
}
std::vector<Tensor> _foreach_max(TensorList self) {
  check_not_empty(self);
  return collect(self, [&](size_t i) { return at::max(self[i]); });
}
std::vector<Tensor> _foreach_copy(TensorList self, TensorList src, bool non_blocking) {
  check_same_length(self, src);
  return collect(self, [&](size_t i) { return at::copy(self[i], src[i], non_blocking); });
}
void _foreach_copy_(TensorList self, TensorList src, bool non_blocking) {
  check_same_length(self, src);
  change(self, [&](Tensor& t, size_t i) { at::copy_(t, src[i], non_blocking); });
}

}  // namespace at::native
