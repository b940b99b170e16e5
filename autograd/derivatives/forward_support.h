#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/derivatives/support.h"
#include "autograd/engine/forward_grad.h"
#include "autograd/engine/record.h"
#include "c10/core/grad_mode.h"

// What the generated forward-mode wrappers use. A wrapper has this shape:
//
//   Tensor mul_Tensor(const Tensor& self, const Tensor& other) {
//     const ForwardScope scope;
//     const Tensor self_t = tangent_of(or_undefined(self));
//     const Tensor other_t = tangent_of(or_undefined(other));
//     Tensor result = operators::mul_Tensor(self, other);
//     Tangent tangent0(result);
//     if (tangent0.wanted() && any_defined(self_t)) tangent0.add(<formula>);
//     if (tangent0.wanted() && any_defined(other_t)) tangent0.add(<formula>);
//     tangent0.commit();
//     return result;
//   }
namespace torch::autograd::generated {

bool is_differentiable(const Tensor& t);

// The tangents of a list, one a tensor; empty where none has one.
std::vector<Tensor> tangents_of(TensorList tensors);

inline bool is_any_defined(const Tensor& t) { return t.defined(); }
inline bool is_any_defined(const std::vector<Tensor>& tensors) { return !tensors.empty(); }
template <class... Tangents>
bool any_defined(const Tangents&... tangents) {
  return (is_any_defined(tangents) || ...);
}

inline bool has_one_tangent(const Tensor& t) { return tangent_of(t).defined(); }
inline bool has_one_tangent(const std::optional<Tensor>& t) { return t.has_value() && tangent_of(*t).defined(); }
inline bool has_one_tangent(TensorList tensors) { return !tangents_of(tensors).empty(); }
bool has_one_tangent(const c10::List<std::optional<Tensor>>& tensors);
template <class... Inputs>
bool has_tangent(const Inputs&... inputs) {
  return (has_one_tangent(inputs) || ...);
}

// Whether what is computed of these makes nodes, which keep some of them.
template <class... Tensors>
bool is_recorded(const Tensors&... tensors) {
  return c10::GradMode::is_enabled() && any_requires_grad(tensors...);
}

// Zeros like the input where the tangent is undefined; an input that is undefined stays so.
Tensor or_zeros(const Tensor& tangent, const Tensor& input);
std::vector<Tensor> or_zeros(const std::vector<Tensor>& tangents, TensorList inputs);

// Throws NotImplementedError "Trying to use forward AD with <op> that does not support it because .." where `any`.
void refuse_tangents(const char* op, bool is_out, bool any);

// The tangent of one result as it is added up.
class Tangent {
 public:
  explicit Tangent(const Tensor& result) : result_(result), wanted_(result.defined() && is_differentiable(result)) {}
  Tangent(const Tangent&) = delete;
  Tangent& operator=(const Tangent&) = delete;

  bool wanted() const { return wanted_; }
  // An undefined term is zero.
  void add(Tensor term);
  void commit() { set_tangent(result_, std::move(sum_)); }
  void commit_geometry() {
    if (sum_.defined()) put_tangent(result_, std::move(sum_));
  }
  void commit_inplace() { set_tangent_inplace(result_, std::move(sum_)); }

 private:
  const Tensor& result_;
  Tensor sum_;
  const bool wanted_;
};

// Those of a list of results; `tangents` may be empty.
void set_tangents(const std::vector<Tensor>& results, std::vector<Tensor> tangents);

// The tangent of `result` of an elementwise operator by one input of tangent `tangent`, from the formula of that input's
// gradient g -> g * conj(d result / d input): applied to the tangent where numbers are real, and to its conjugate where they are
// complex. For a real result w of a complex input z the gradient of a unit gives dw = Re(conj(gradient) * dz).
Tensor elementwise_argument(const Tensor& tangent, const Tensor& result);
Tensor elementwise_of_complex(const Tensor& tangent, const Tensor& gradient);
Tensor ones_of(const Tensor& result);
Tensor conjugate(const Tensor& t);
template <class Formula>
Tensor elementwise_tangent(const Tensor& tangent, const Tensor& result, const Formula& formula) {
  if (tangent.is_complex() && !result.is_complex()) return elementwise_of_complex(tangent, formula(ones_of(result)));
  const Tensor argument = elementwise_argument(tangent, result);
  return result.is_complex() ? conjugate(formula(conjugate(argument))) : formula(argument);
}

// The same for any operator: the formula is the adjoint of the derivative, so the adjoint of the formula is the derivative.
Tensor adjoint_of(const Tensor& gradient, const Tensor& unknown, const Tensor& tangent, bool record);
Tensor unknown_gradient(const Tensor& result);
template <class Formula>
Tensor adjoint_tangent(const Tensor& tangent, const Tensor& result, const Formula& formula) {
  const bool record = c10::GradMode::is_enabled();
  const Tensor unknown = unknown_gradient(result);
  const Tensor gradient = [&] {
    c10::AutoGradMode recording(true);
    return formula(unknown);
  }();
  return adjoint_of(gradient, unknown, tangent, record);
}

}  // namespace torch::autograd::generated
