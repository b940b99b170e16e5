#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/foreach/multi_tensor.h"

// What the operators on lists of tensors share: the documented checks, and taking all tensors at once or one by one.

namespace at::foreach {

inline void check_not_empty(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "Tensor list must have at least one tensor.");
}
inline void check_same_length(TensorList a, TensorList b) {
  check_not_empty(a);
  TORCH_CHECK(a.size() == b.size(), "Tensor lists must have the same number of tensors, got ", a.size(), " and ",
              b.size());
}
inline void check_same_length(TensorList a, ArrayRef<Scalar> b) {
  check_not_empty(a);
  TORCH_CHECK(a.size() == b.size(), "Tensor list must have same number of elements as scalar list.");
}

/// Where one of the results requires a gradient, all do: a call on lists is one operator.
std::vector<Tensor> one_history(std::vector<Tensor> results);

/// The results of f(i), one by one.
template <class F>
std::vector<Tensor> collect(size_t count, const F& f) {
  std::vector<Tensor> results;
  results.reserve(count);
  for (size_t i = 0; i < count; ++i) results.push_back(f(i));
  return one_history(std::move(results));
}
/// Calls f(tensor, i) for every tensor of the list.
template <class F>
void visit(TensorList self, const F& f) {
  for (size_t i = 0; i < self.size(); ++i) {
    Tensor t = self[i];
    f(t, i);
  }
}

/// The results of `op` on the operands; where they are not `on_cpu` or cannot be taken together, those of one(i).
template <class F>
std::vector<Tensor> make(bool on_cpu, const cpu::ElementOp& op, std::initializer_list<Operand> operands,
                         const std::optional<Numbers>& parameter, size_t count, const F& one) {
  std::vector<Tensor> results;
  if (on_cpu && pointwise(op, operands, parameter, &results)) return results;
  return collect(count, one);
}

/// The same in place; `self` is the first operand. Else one(self[i], i).
template <class F>
void change(bool on_cpu, const cpu::ElementOp& op, std::initializer_list<Operand> operands,
            const std::optional<Numbers>& parameter, TensorList self, const F& one) {
  if (!on_cpu || !pointwise(op, operands, parameter, nullptr)) visit(self, one);
}

}  // namespace at::foreach
