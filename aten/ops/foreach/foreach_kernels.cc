// Operators of several arguments on lists of tensors; powers, reductions, copies. `on_cpu`: all tensors are on the CPU,
// or on a device for which the table names the function, and no gradient is recorded.
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/kernels.h"
#include "aten/ops/foreach/lists.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::foreach {

std::vector<Tensor> one_history(std::vector<Tensor> results) {
  bool some = false, all = true;
  for (const Tensor& t : results) {
    if (!t.is_floating_point() && !t.is_complex()) continue;
    (t.requires_grad() ? some : all) = t.requires_grad();
  }
  if (!some || all) return results;
  return at::_foreach_clone(results);
}

}  // namespace at::foreach

namespace at::native {

using foreach::change;
using foreach::check_not_empty;
using foreach::check_same_length;
using foreach::make;
using foreach::Numbers;

namespace {

void check_scalar_tensor(const Tensor& t) {
  TORCH_CHECK(t.dim() == 0 && t.numel() == 1, "scalar tensor expected to be 0 dim but it has ", t.dim(),
              " dimensions and ", t.numel(), " elements.");
}
// A 0-dim tensor as a number, where it counts as one: on the CPU, and of a dtype that does not decide.
std::optional<Scalar> number_of(bool on_cpu, const Tensor& t, TensorList self) {
  if (!on_cpu || !t.is_cpu()) return std::nullopt;
  for (const Tensor& s : self) {
    if (!s.defined() || pointwise::promoted_type({s, t}) != s.scalar_type()) return std::nullopt;
  }
  const Scalar number = pointwise::load_element(t.const_data_ptr(), t.scalar_type());
  return number.isBoolean() ? std::nullopt : std::optional<Scalar>(number);
}

// One number a tensor, from a one-dimensional tensor of them.
std::vector<Scalar> numbers_of(const Tensor& scalars, size_t count) {
  TORCH_CHECK(scalars.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ", scalars.dim(),
              " instead.");
  TORCH_CHECK(scalars.size(0) == static_cast<int64_t>(count), "Expected length of scalars to match input of length ",
              count, " but got ", scalars.size(0), " instead.");
  std::vector<Scalar> numbers;
  for (int64_t i = 0; i < scalars.size(0); ++i) numbers.push_back(at::item(at::select(scalars, 0, i)));
  return numbers;
}

// A bool factor, which floats refuse, is left to each tensor's own operator.
bool factor_in_loop(bool on_cpu, const Scalar& alpha) {
  return on_cpu && !alpha.isBoolean();
}

}  // namespace

// --- add ---

std::vector<Tensor> _foreach_add_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::add, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::add(self[i], scalar); });
}
void _foreach_add_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::add, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::add_(t, scalar); });
}
std::vector<Tensor> _foreach_add_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::add, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::add(self[i], scalars[i]); });
}
void _foreach_add_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::add, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::add_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_add_list(TensorList self, TensorList other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_same_length(self, other);
  const auto one = [&](size_t i) { return at::add(self[i], other[i], alpha); };
  if (is_one(alpha)) return make(in_loop, cpu::loops::add, {self, other}, std::nullopt, self.size(), one);
  return make(in_loop, cpu::loops::add_scaled, {self, other}, Numbers(alpha), self.size(), one);
}
void _foreach_add_list_(TensorList self, TensorList other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_same_length(self, other);
  const auto one = [&](Tensor& t, size_t i) { at::add_(t, other[i], alpha); };
  if (is_one(alpha)) return change(in_loop, cpu::loops::add, {self, other}, std::nullopt, self, one);
  return change(in_loop, cpu::loops::add_scaled, {self, other}, Numbers(alpha), self, one);
}
// --- sub ---

std::vector<Tensor> _foreach_sub_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::sub, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::sub(self[i], scalar); });
}
void _foreach_sub_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::sub, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::sub_(t, scalar); });
}
std::vector<Tensor> _foreach_sub_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::sub, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::sub(self[i], scalars[i]); });
}
void _foreach_sub_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::sub, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::sub_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_sub_list(TensorList self, TensorList other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_same_length(self, other);
  const auto one = [&](size_t i) { return at::sub(self[i], other[i], alpha); };
  const Scalar factor = alpha.isBoolean() ? alpha : -alpha;
  if (is_one(alpha)) return make(in_loop, cpu::loops::sub, {self, other}, std::nullopt, self.size(), one);
  return make(in_loop, cpu::loops::add_scaled, {self, other}, Numbers(factor), self.size(), one);
}
void _foreach_sub_list_(TensorList self, TensorList other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_same_length(self, other);
  const auto one = [&](Tensor& t, size_t i) { at::sub_(t, other[i], alpha); };
  const Scalar factor = alpha.isBoolean() ? alpha : -alpha;
  if (is_one(alpha)) return change(in_loop, cpu::loops::sub, {self, other}, std::nullopt, self, one);
  return change(in_loop, cpu::loops::add_scaled, {self, other}, Numbers(factor), self, one);
}
std::vector<Tensor> _foreach_add_tensor(TensorList self, const Tensor& other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](size_t i) { return at::add(self[i], other, alpha); };
  const std::optional<Scalar> number = number_of(in_loop, other, self);
  if (!number.has_value()) return foreach::collect(self.size(), one);
  if (is_one(alpha)) return make(in_loop, cpu::loops::add, {self, Numbers(*number)}, std::nullopt, self.size(), one);
  return make(in_loop, cpu::loops::add_scaled, {self, Numbers(*number)}, Numbers(alpha), self.size(), one);
}
void _foreach_add_tensor_(TensorList self, const Tensor& other, const Scalar& alpha, bool on_cpu) {
  const bool in_loop = factor_in_loop(on_cpu, alpha);
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](Tensor& t, size_t) { at::add_(t, other, alpha); };
  const std::optional<Scalar> number = number_of(in_loop, other, self);
  if (!number.has_value()) return foreach::visit(self, one);
  if (is_one(alpha)) return change(in_loop, cpu::loops::add, {self, Numbers(*number)}, std::nullopt, self, one);
  change(in_loop, cpu::loops::add_scaled, {self, Numbers(*number)}, Numbers(alpha), self, one);
}

// --- mul ---

std::vector<Tensor> _foreach_mul_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::mul, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::mul(self[i], scalar); });
}
void _foreach_mul_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::mul, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::mul_(t, scalar); });
}
std::vector<Tensor> _foreach_mul_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::mul, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::mul(self[i], scalars[i]); });
}
void _foreach_mul_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::mul, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::mul_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_mul_list(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  return make(on_cpu, cpu::loops::mul, {self, other}, std::nullopt, self.size(),
              [&](size_t i) { return at::mul(self[i], other[i]); });
}
void _foreach_mul_list_(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  change(on_cpu, cpu::loops::mul, {self, other}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::mul_(t, other[i]); });
}
std::vector<Tensor> _foreach_mul_tensor(TensorList self, const Tensor& other, bool on_cpu) {
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](size_t i) { return at::mul(self[i], other); };
  const std::optional<Scalar> number = number_of(on_cpu, other, self);
  if (!number.has_value()) return foreach::collect(self.size(), one);
  return make(on_cpu, cpu::loops::mul, {self, Numbers(*number)}, std::nullopt, self.size(), one);
}
void _foreach_mul_tensor_(TensorList self, const Tensor& other, bool on_cpu) {
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](Tensor& t, size_t) { at::mul_(t, other); };
  const std::optional<Scalar> number = number_of(on_cpu, other, self);
  if (!number.has_value()) return foreach::visit(self, one);
  change(on_cpu, cpu::loops::mul, {self, Numbers(*number)}, std::nullopt, self, one);
}

// --- div ---

std::vector<Tensor> _foreach_div_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::div, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::div(self[i], scalar); });
}
void _foreach_div_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::div, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::div_(t, scalar); });
}
std::vector<Tensor> _foreach_div_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::div, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::div(self[i], scalars[i]); });
}
void _foreach_div_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::div, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::div_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_div_list(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  return make(on_cpu, cpu::loops::div, {self, other}, std::nullopt, self.size(),
              [&](size_t i) { return at::div(self[i], other[i]); });
}
void _foreach_div_list_(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  change(on_cpu, cpu::loops::div, {self, other}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::div_(t, other[i]); });
}
std::vector<Tensor> _foreach_div_tensor(TensorList self, const Tensor& other, bool on_cpu) {
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](size_t i) { return at::div(self[i], other); };
  const std::optional<Scalar> number = number_of(on_cpu, other, self);
  if (!number.has_value()) return foreach::collect(self.size(), one);
  return make(on_cpu, cpu::loops::div, {self, Numbers(*number)}, std::nullopt, self.size(), one);
}
void _foreach_div_tensor_(TensorList self, const Tensor& other, bool on_cpu) {
  check_not_empty(self);
  check_scalar_tensor(other);
  const auto one = [&](Tensor& t, size_t) { at::div_(t, other); };
  const std::optional<Scalar> number = number_of(on_cpu, other, self);
  if (!number.has_value()) return foreach::visit(self, one);
  change(on_cpu, cpu::loops::div, {self, Numbers(*number)}, std::nullopt, self, one);
}

// --- addcdiv ---

std::vector<Tensor> _foreach_addcdiv_scalar(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Scalar& value, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return make(on_cpu, cpu::loops::addcdiv, {self, tensor1, tensor2}, Numbers(value), self.size(),
              [&](size_t i) { return at::addcdiv(self[i], tensor1[i], tensor2[i], value); });
}
void _foreach_addcdiv_scalar_(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value,
                              bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  change(on_cpu, cpu::loops::addcdiv, {self, tensor1, tensor2}, Numbers(value), self,
         [&](Tensor& t, size_t i) { at::addcdiv_(t, tensor1[i], tensor2[i], value); });
}
std::vector<Tensor> _foreach_addcdiv_scalarlist(TensorList self, TensorList tensor1, TensorList tensor2,
                                                ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::addcdiv, {self, tensor1, tensor2}, Numbers(scalars), self.size(),
              [&](size_t i) { return at::addcdiv(self[i], tensor1[i], tensor2[i], scalars[i]); });
}
void _foreach_addcdiv_scalarlist_(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars,
                                  bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::addcdiv, {self, tensor1, tensor2}, Numbers(scalars), self,
         [&](Tensor& t, size_t i) { at::addcdiv_(t, tensor1[i], tensor2[i], scalars[i]); });
}
std::vector<Tensor> _foreach_addcdiv_tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Tensor& scalars, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return _foreach_addcdiv_scalarlist(self, tensor1, tensor2, numbers_of(scalars, self.size()), on_cpu);
}
void _foreach_addcdiv_tensor_(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars,
                              bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  _foreach_addcdiv_scalarlist_(self, tensor1, tensor2, numbers_of(scalars, self.size()), on_cpu);
}

// --- addcmul ---

std::vector<Tensor> _foreach_addcmul_scalar(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Scalar& value, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return make(on_cpu, cpu::loops::addcmul, {self, tensor1, tensor2}, Numbers(value), self.size(),
              [&](size_t i) { return at::addcmul(self[i], tensor1[i], tensor2[i], value); });
}
void _foreach_addcmul_scalar_(TensorList self, TensorList tensor1, TensorList tensor2, const Scalar& value,
                              bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  change(on_cpu, cpu::loops::addcmul, {self, tensor1, tensor2}, Numbers(value), self,
         [&](Tensor& t, size_t i) { at::addcmul_(t, tensor1[i], tensor2[i], value); });
}
std::vector<Tensor> _foreach_addcmul_scalarlist(TensorList self, TensorList tensor1, TensorList tensor2,
                                                ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::addcmul, {self, tensor1, tensor2}, Numbers(scalars), self.size(),
              [&](size_t i) { return at::addcmul(self[i], tensor1[i], tensor2[i], scalars[i]); });
}
void _foreach_addcmul_scalarlist_(TensorList self, TensorList tensor1, TensorList tensor2, ArrayRef<Scalar> scalars,
                                  bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::addcmul, {self, tensor1, tensor2}, Numbers(scalars), self,
         [&](Tensor& t, size_t i) { at::addcmul_(t, tensor1[i], tensor2[i], scalars[i]); });
}
std::vector<Tensor> _foreach_addcmul_tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Tensor& scalars, bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  return _foreach_addcmul_scalarlist(self, tensor1, tensor2, numbers_of(scalars, self.size()), on_cpu);
}
void _foreach_addcmul_tensor_(TensorList self, TensorList tensor1, TensorList tensor2, const Tensor& scalars,
                              bool on_cpu) {
  check_same_length(self, tensor1);
  check_same_length(self, tensor2);
  _foreach_addcmul_scalarlist_(self, tensor1, tensor2, numbers_of(scalars, self.size()), on_cpu);
}

// --- extremes ---

std::vector<Tensor> _foreach_maximum_list(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  return make(on_cpu, cpu::loops::maximum, {self, other}, std::nullopt, self.size(),
              [&](size_t i) { return at::maximum(self[i], other[i]); });
}
void _foreach_maximum_list_(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  change(on_cpu, cpu::loops::maximum, {self, other}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::maximum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_maximum_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::maximum, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::maximum(self[i], wrapped_scalar_tensor(scalar)); });
}
void _foreach_maximum_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::maximum, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::clamp_min_(t, scalar); });
}
std::vector<Tensor> _foreach_maximum_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::maximum, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::maximum(self[i], wrapped_scalar_tensor(scalars[i])); });
}
void _foreach_maximum_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::maximum, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::clamp_min_(t, scalars[i]); });
}
std::vector<Tensor> _foreach_minimum_list(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  return make(on_cpu, cpu::loops::minimum, {self, other}, std::nullopt, self.size(),
              [&](size_t i) { return at::minimum(self[i], other[i]); });
}
void _foreach_minimum_list_(TensorList self, TensorList other, bool on_cpu) {
  check_same_length(self, other);
  change(on_cpu, cpu::loops::minimum, {self, other}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::minimum_out(t, t, other[i]); });
}
std::vector<Tensor> _foreach_minimum_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::minimum, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::minimum(self[i], wrapped_scalar_tensor(scalar)); });
}
void _foreach_minimum_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  change(on_cpu, cpu::loops::minimum, {self, Numbers(scalar)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::clamp_max_(t, scalar); });
}
std::vector<Tensor> _foreach_minimum_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::minimum, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::minimum(self[i], wrapped_scalar_tensor(scalars[i])); });
}
void _foreach_minimum_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  change(on_cpu, cpu::loops::minimum, {self, Numbers(scalars)}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::clamp_max_(t, scalars[i]); });
}

// What clamp_max and clamp_min compute is the minimum and the maximum; they differ in the gradient at equal elements.
std::vector<Tensor> _foreach_clamp_max_list(TensorList self, TensorList other, bool on_cpu) {
  return _foreach_minimum_list(self, other, on_cpu);
}
std::vector<Tensor> _foreach_clamp_max_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::minimum, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::clamp_max(self[i], scalar); });
}
std::vector<Tensor> _foreach_clamp_max_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::minimum, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::clamp_max(self[i], scalars[i]); });
}
void _foreach_clamp_max_list_(TensorList self, TensorList other, bool on_cpu) {
  return _foreach_minimum_list_(self, other, on_cpu);
}
void _foreach_clamp_max_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  return _foreach_minimum_scalar_(self, scalar, on_cpu);
}
void _foreach_clamp_max_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  return _foreach_minimum_scalarlist_(self, scalars, on_cpu);
}
std::vector<Tensor> _foreach_clamp_min_list(TensorList self, TensorList other, bool on_cpu) {
  return _foreach_maximum_list(self, other, on_cpu);
}
std::vector<Tensor> _foreach_clamp_min_scalar(TensorList self, const Scalar& scalar, bool on_cpu) {
  check_not_empty(self);
  return make(on_cpu, cpu::loops::maximum, {self, Numbers(scalar)}, std::nullopt, self.size(),
              [&](size_t i) { return at::clamp_min(self[i], scalar); });
}
std::vector<Tensor> _foreach_clamp_min_scalarlist(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  check_same_length(self, scalars);
  return make(on_cpu, cpu::loops::maximum, {self, Numbers(scalars)}, std::nullopt, self.size(),
              [&](size_t i) { return at::clamp_min(self[i], scalars[i]); });
}
void _foreach_clamp_min_list_(TensorList self, TensorList other, bool on_cpu) {
  return _foreach_maximum_list_(self, other, on_cpu);
}
void _foreach_clamp_min_scalar_(TensorList self, const Scalar& scalar, bool on_cpu) {
  return _foreach_maximum_scalar_(self, scalar, on_cpu);
}
void _foreach_clamp_min_scalarlist_(TensorList self, ArrayRef<Scalar> scalars, bool on_cpu) {
  return _foreach_maximum_scalarlist_(self, scalars, on_cpu);
}

// --- lerp ---

std::vector<Tensor> _foreach_lerp_list(TensorList self, TensorList tensors1, TensorList weights, bool on_cpu) {
  check_same_length(self, tensors1);
  check_same_length(self, weights);
  return make(on_cpu, cpu::loops::lerp, {self, tensors1, weights}, std::nullopt, self.size(),
              [&](size_t i) { return at::lerp(self[i], tensors1[i], weights[i]); });
}
void _foreach_lerp_list_(TensorList self, TensorList tensors1, TensorList weights, bool on_cpu) {
  check_same_length(self, tensors1);
  check_same_length(self, weights);
  change(on_cpu, cpu::loops::lerp, {self, tensors1, weights}, std::nullopt, self,
         [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weights[i]); });
}
std::vector<Tensor> _foreach_lerp_scalar(TensorList self, TensorList tensors1, const Scalar& weight, bool on_cpu) {
  check_same_length(self, tensors1);
  return make(on_cpu, cpu::loops::lerp_scalar, {self, tensors1}, Numbers(weight), self.size(),
              [&](size_t i) { return at::lerp(self[i], tensors1[i], weight); });
}
void _foreach_lerp_scalar_(TensorList self, TensorList tensors1, const Scalar& weight, bool on_cpu) {
  check_same_length(self, tensors1);
  change(on_cpu, cpu::loops::lerp_scalar, {self, tensors1}, Numbers(weight), self,
         [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weight); });
}
std::vector<Tensor> _foreach_lerp_scalarlist(TensorList self, TensorList tensors1, ArrayRef<Scalar> weight,
                                             bool on_cpu) {
  check_same_length(self, tensors1);
  check_same_length(self, weight);
  return make(on_cpu, cpu::loops::lerp_scalar, {self, tensors1}, Numbers(weight), self.size(),
              [&](size_t i) { return at::lerp(self[i], tensors1[i], weight[i]); });
}
void _foreach_lerp_scalarlist_(TensorList self, TensorList tensors1, ArrayRef<Scalar> weight, bool on_cpu) {
  check_same_length(self, tensors1);
  check_same_length(self, weight);
  change(on_cpu, cpu::loops::lerp_scalar, {self, tensors1}, Numbers(weight), self,
         [&](Tensor& t, size_t i) { at::lerp_(t, tensors1[i], weight[i]); });
}

// --- powers ---

namespace {

// The loop that pow takes for a number, and whether the number is its second operand. Null: pow itself.
struct PowerLoop {
  const cpu::ElementOp* op;
  bool takes_exponent;
};
PowerLoop power_loop(TensorList self, const Scalar& exponent) {
  for (const Tensor& t : self) {
    if (!t.defined() || !(t.is_floating_point() || t.is_complex())) return {nullptr, false};
  }
  if (exponent.equal(int64_t{0}) || exponent.equal(int64_t{1})) return {nullptr, false};
  if (exponent.equal(int64_t{2})) return {&cpu::loops::square, false};
  if (!self[0].is_complex()) {
    if (exponent.equal(int64_t{3})) return {&cpu::loops::cube, false};
    if (exponent.equal(0.5)) return {&cpu::loops::sqrt, false};
    if (exponent.equal(-0.5)) return {&cpu::loops::rsqrt, false};
    if (exponent.equal(int64_t{-1})) return {&cpu::loops::reciprocal, false};
    if (exponent.equal(int64_t{-2})) return {&cpu::loops::inverse_square, false};
  }
  return {&cpu::loops::pow, true};
}
// Whether all exponents go through the general loop.
bool are_general(TensorList self, ArrayRef<Scalar> exponents) {
  for (const Scalar& e : exponents) {
    const PowerLoop loop = power_loop(self, e);
    if (loop.op == nullptr || !loop.takes_exponent) return false;
  }
  return true;
}
bool are_floating(TensorList tensors) {
  for (const Tensor& t : tensors) {
    if (!t.defined() || !(t.is_floating_point() || t.is_complex())) return false;
  }
  return true;
}

}  // namespace

std::vector<Tensor> _foreach_pow_scalar(TensorList self, const Scalar& exponent, bool on_cpu) {
  check_not_empty(self);
  const auto one = [&](size_t i) { return at::pow(self[i], exponent); };
  const PowerLoop loop = power_loop(self, exponent);
  if (loop.op == nullptr) return foreach::collect(self.size(), one);
  if (!loop.takes_exponent) return make(on_cpu, *loop.op, {self}, std::nullopt, self.size(), one);
  return make(on_cpu, *loop.op, {self, Numbers(exponent)}, std::nullopt, self.size(), one);
}
void _foreach_pow_scalar_(TensorList self, const Scalar& exponent, bool on_cpu) {
  check_not_empty(self);
  const auto one = [&](Tensor& t, size_t) { at::pow_(t, exponent); };
  const PowerLoop loop = power_loop(self, exponent);
  if (loop.op == nullptr) return foreach::visit(self, one);
  if (!loop.takes_exponent) return change(on_cpu, *loop.op, {self}, std::nullopt, self, one);
  change(on_cpu, *loop.op, {self, Numbers(exponent)}, std::nullopt, self, one);
}
std::vector<Tensor> _foreach_pow_scalarlist(TensorList self, ArrayRef<Scalar> exponent, bool on_cpu) {
  check_same_length(self, exponent);
  const auto one = [&](size_t i) { return at::pow(self[i], exponent[i]); };
  if (!are_general(self, exponent)) return foreach::collect(self.size(), one);
  return make(on_cpu, cpu::loops::pow, {self, Numbers(exponent)}, std::nullopt, self.size(), one);
}
void _foreach_pow_scalarlist_(TensorList self, ArrayRef<Scalar> exponent, bool on_cpu) {
  check_same_length(self, exponent);
  const auto one = [&](Tensor& t, size_t i) { at::pow_(t, exponent[i]); };
  if (!are_general(self, exponent)) return foreach::visit(self, one);
  change(on_cpu, cpu::loops::pow, {self, Numbers(exponent)}, std::nullopt, self, one);
}
std::vector<Tensor> _foreach_pow_list(TensorList self, TensorList exponent, bool on_cpu) {
  check_same_length(self, exponent);
  const auto one = [&](size_t i) { return at::pow(self[i], exponent[i]); };
  return make(on_cpu, cpu::loops::pow, {self, exponent}, std::nullopt, self.size(), one);
}
void _foreach_pow_list_(TensorList self, TensorList exponent, bool on_cpu) {
  check_same_length(self, exponent);
  const auto one = [&](Tensor& t, size_t i) { at::pow_(t, exponent[i]); };
  change(on_cpu, cpu::loops::pow, {self, exponent}, std::nullopt, self, one);
}
std::vector<Tensor> _foreach_pow_scalarandtensor(const Scalar& self, TensorList exponent, bool on_cpu) {
  check_not_empty(exponent);
  const auto one = [&](size_t i) { return at::pow(self, exponent[i]); };
  if (!are_floating(exponent)) return foreach::collect(exponent.size(), one);
  return make(on_cpu, cpu::loops::pow, {Numbers(self), exponent}, std::nullopt, exponent.size(), one);
}

// --- fills, copies, reductions ---

std::vector<Tensor> _foreach_zero(TensorList self) {
  check_not_empty(self);
  return foreach::collect(self.size(), [&](size_t i) {
    Tensor zeros = at::clone(self[i]);
    return at::zero_(zeros);
  });
}
void _foreach_zero_(TensorList self, bool on_cpu) {
  check_not_empty(self);
  if (on_cpu && foreach::zero(self)) return;
  foreach::visit(self, [](Tensor& t, size_t) { at::zero_(t); });
}
std::vector<Tensor> _foreach_copy(TensorList self, TensorList src, bool non_blocking) {
  check_same_length(self, src);
  return foreach::collect(self.size(), [&](size_t i) { return at::copy(self[i], src[i], non_blocking); });
}
std::vector<Tensor> _foreach_clone(TensorList self, std::optional<MemoryFormat> memory_format) {
  check_not_empty(self);
  std::vector<Tensor> results;
  results.reserve(self.size());
  for (const Tensor& t : self) results.push_back(at::clone(t, memory_format));
  return results;
}
std::vector<Tensor> _foreach_mm(TensorList self, TensorList mat2) {
  check_same_length(self, mat2);
  return foreach::collect(self.size(), [&](size_t i) { return at::mm(self[i], mat2[i]); });
}
void _foreach_copy_(TensorList self, TensorList src, bool non_blocking, bool on_cpu) {
  check_same_length(self, src);
  if (on_cpu && foreach::copy(self, src)) return;
  foreach::visit(self, [&](Tensor& t, size_t i) { at::copy_(t, src[i], non_blocking); });
}
std::vector<Tensor> _foreach_norm_scalar(TensorList self, const Scalar& ord, std::optional<ScalarType> dtype,
                                         bool on_cpu) {
  check_not_empty(self);
  const auto one = [&](size_t i) {
    return dtype.has_value() ? at::norm(self[i], ord, *dtype) : at::norm(self[i], ord);
  };
  std::vector<Tensor> results;
  if (dtype.has_value() || !self[0].defined()) return foreach::collect(self.size(), one);
  cpu::ReduceParams params;
  params.p = ord.toDouble();
  params.out_type = toRealValueType(self[0].scalar_type());
  const cpu::ReduceKernel* kernel = cpu::norm_kernel(self[0].scalar_type(), params.p);
  if (on_cpu && foreach::reduce(kernel, params, self, results)) return results;
  return foreach::collect(self.size(), one);
}
std::vector<Tensor> _foreach_powsum_scalar(TensorList self, const Scalar& ord, std::optional<ScalarType> dtype) {
  check_not_empty(self);
  return foreach::collect(self.size(), [&](size_t i) {
    const Tensor magnitudes = at::abs(dtype.has_value() ? at::to(self[i], *dtype) : self[i]);
    return at::sum(at::pow(magnitudes, ord));
  });
}
std::vector<Tensor> _foreach_max(TensorList self, bool on_cpu) {
  check_not_empty(self);
  std::vector<Tensor> results;
  if (self[0].defined()) {
    cpu::ReduceParams params;
    params.out_type = self[0].scalar_type();
    if (on_cpu && foreach::reduce(cpu::max_kernel(params.out_type), params, self, results)) return results;
  }
  return foreach::collect(self.size(), [&](size_t i) { return at::max(self[i]); });
}

}  // namespace at::native
