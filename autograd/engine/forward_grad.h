#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/core/thread_state.h"

// Tangents: what forward mode keeps of a tensor. A tangent has the sizes, dtype and, but for views, strides of its tensor and
// memory of its own. The tangent of a view is a view of that of its base, so that a change in place of either reaches both.
//
// A tensor with a tangent carries the key ForwardAD: an operator that gets none of them pays nothing. Every thread has a level
// of its own, which at::ThreadLocalState carries to others; leaving it drops its tangents. A thread that is in none works in
// the only one there is.
namespace torch::autograd {

struct ForwardGrad;

// Whether any thread is in a level.
bool forward_level_active() noexcept;
// Throws "Nested forward mode AD is not supported at the moment" where this thread is in one.
uint64_t enter_forward_level();
// Throws where this thread is in none or `level` is not its number.
void exit_forward_level(uint64_t level);

// While it lives, operators ignore tangents: a wrapper holds it around the operator and the formulas of its tangents.
class ForwardScope : public c10::ExcludeDispatchKeyGuard {
 public:
  ForwardScope() : ExcludeDispatchKeyGuard(c10::kForwardKey) {}
};

// The tangent of `t`: its own or, for a view, the part of its base's; undefined where there is none.
at::Tensor tangent_of(const at::TensorBase& t);
// Makes `tangent` that of `t` as it is. Undefined: `t` has none, even where it is a view of a tensor that has one. Ignored
// where no level is entered.
void put_tangent(const at::TensorBase& t, at::Tensor tangent);

// Gives an operator's result its tangent, expanded, cast and laid out like it, in memory of its own unless `result` is a view.
// Results whose dtype has no derivative and undefined ones are left alone.
void set_tangent(const at::Tensor& result, at::Tensor tangent);
// The same for a tensor that was modified in place: what shares its memory sees the new tangent too. Undefined means zero.
void set_tangent_inplace(const at::Tensor& self, at::Tensor tangent);

// Whether a formula must be made of differentiable operators: where gradients are recorded or tangents are on their way.
bool is_differentiated();

// For ~AutogradMeta.
void drop_forward_grad(AutogradMeta& meta) noexcept;

}  // namespace torch::autograd
