#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/core/thread_state.h"

// Tangents: what forward mode keeps of a tensor. A tangent has the sizes, dtype and, but for views, strides of its tensor and
// memory of its own. The tangent of a view is a view of that of its base, so that a change in place of either reaches both.
//
// A tensor with a tangent carries the key ForwardAD: an operator that gets none of them pays nothing. Every thread has levels
// of its own, which at::ThreadLocalState carries to others; leaving one drops its tangents. A thread that is in none works in
// those of the only thread that is in some.
//
// Levels are entered one inside the other, 0 first. Tangents of level k are tensors that have tangents of the levels below k
// where the tensor's own value depends on those: the second derivative of y lies in the tangent of level 0 of the tangent of
// level 1 of y. An operator is handled for the highest level first: its wrapper computes the value and the tangent of level k
// with operators that see the levels below k only (ForwardScope), and those are handled for level k - 1 in the same way.
namespace torch::autograd {

struct ForwardGrad;

// Whether any thread is in a level.
bool forward_level_active() noexcept;
// Returns the number of the level, which is how many the thread was in. Throws NotImplementedError where a tangent is being
// computed.
uint64_t enter_forward_level();
// Throws where `level` is not the number of the last level that this thread entered.
void exit_forward_level(uint64_t level);

namespace detail {
// The level that the open ForwardScope handles; -1 where there is none.
extern thread_local constinit int handled_level
#if defined(__PIC__) && !defined(__PIE__)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
}  // namespace detail

// How many levels this thread is in.
int forward_depth() noexcept;
// The level that tangents are of where none is named: the one that is being handled, else the last one entered.
inline int forward_level() noexcept { return detail::handled_level >= 0 ? detail::handled_level : forward_depth() - 1; }

// Handles a level: while it lives, operators see the tangents of the levels below only. A wrapper holds it around the operator
// and the formulas of its tangents.
class ForwardScope {
 public:
  // The next level down from those that operators see.
  ForwardScope() : ForwardScope(below(detail::handled_level >= 0 ? detail::handled_level : forward_depth())) {}
  explicit ForwardScope(int level)
      : before_(std::exchange(detail::handled_level, level)),
        excluded_(level == 0 ? c10::kForwardKey : c10::DispatchKeySet()) {}
  ~ForwardScope() { detail::handled_level = before_; }
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;

 private:
  static int below(int level) { return level > 0 ? level - 1 : 0; }

  const int before_;
  const c10::ExcludeDispatchKeyGuard excluded_;
};

// The tangent of `t`: its own or, for a view, the part of its base's; undefined where there is none.
at::Tensor tangent_of(const at::TensorBase& t, int level);
inline at::Tensor tangent_of(const at::TensorBase& t) {
  const c10::TensorImpl* const impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || C10_LIKELY(!impl->key_set().has(c10::DispatchKey::ForwardAD))) return {};
  return tangent_of(t, forward_level());
}
// Makes `tangent` that of `t` as it is. Undefined: `t` has none, even where it is a view of a tensor that has one. Ignored
// where there is no such level.
void put_tangent(const at::TensorBase& t, at::Tensor tangent, int level);
inline void put_tangent(const at::TensorBase& t, at::Tensor tangent) {
  put_tangent(t, std::move(tangent), forward_level());
}
// The same for all levels, by their numbers; empty where there is none.
std::vector<at::Tensor> all_tangents_of(const at::TensorBase& t);
void put_all_tangents(const at::TensorBase& t, const std::vector<at::Tensor>& tangents);

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
