#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

// Forward-mode differentiation: tensors carry a tangent, and what is computed from them gets one, that is the directional
// derivative of the computation.
//
//   forward_ad::dual_level level;
//   torch::Tensor x = forward_ad::make_dual(primal, tangent);
//   auto [y, dy] = forward_ad::unpack_dual(f(x));          // dy = (df/dx) tangent
//
// All of it lies within a dual level of the thread; leaving it drops all its tangents. Levels are entered one inside the other, as
// many as wanted, and what is computed in an inner one from dual tensors of an outer one is differentiated for both:
//
//   forward_ad::dual_level outer;
//   torch::Tensor x0 = forward_ad::make_dual(x, u);
//   forward_ad::dual_level inner;
//   auto [y, dy] = forward_ad::unpack_dual(f(forward_ad::make_dual(x0, v)));
//   auto [dv, d2] = forward_ad::unpack_dual(dy, 0);        // dv = (df/dx) v, d2 = the second derivative of f along u and v
//
// Several threads may each be in levels of their own; a thread that works for another one gets that one's with
// at::ThreadLocalState, and one that is in none works in those of the only thread that is in some. Tangents follow views and
// changes in place. They are themselves recorded where gradients are, and gradients of dual tensors have tangents: for a scalar f
// of x that requires a gradient, grad({f(x)}, {x})[0] has the Hessian-vector product as its tangent. GradMode does not matter to
// tangents; AutoFwGradMode(false) and inference mode switch them off.
//
// An operator with a derivative but no forward derivative throws NotImplementedError for an input with a tangent ("Trying to use
// forward AD with <operator> that does not support it because it has not been implemented yet."), and so does every out= form.
// A function of the user's (Function::jvp) takes tangents of one level at a time.
namespace torch::autograd::forward_ad {

// A tensor and its tangent; the tangent is undefined where there is none.
struct UnpackedDualTensor {
  at::Tensor primal;
  at::Tensor tangent;
};

// Enters a level, inside of those that this thread is in, and returns its number: 0 for the outermost. Throws
// NotImplementedError inside of Function::jvp.
uint64_t enter_dual_level();
// Leaves it. Throws Error where `level` is not the number of the last level that this thread entered.
void exit_dual_level(uint64_t level);

// A dual level from here to the end of the scope.
class dual_level {
 public:
  dual_level() : level_(enter_dual_level()) {}
  ~dual_level() { exit_dual_level(level_); }
  dual_level(const dual_level&) = delete;
  dual_level& operator=(const dual_level&) = delete;

 private:
  uint64_t level_;
};

// A view of `primal` with `tangent` as its tangent of a level, the last one entered where none is given. The tangent is the one
// given where it has the primal's strides, else a copy; its dtype may be another one. Throws ValueError where one of the two is
// neither floating point nor complex, Error where their sizes differ, where `primal` has a tangent of the level already or `tangent` has one of this level or a further one, outside a dual level, and for a level that this thread is not in.
at::Tensor make_dual(
    const at::Tensor& primal, const at::Tensor& tangent, std::optional<uint64_t> level = std::nullopt);
// A view of `dual` without a tangent of the level, and its tangent; outside a dual level or without a tangent: `dual` itself and
// undefined. Both keep their tangents of other levels. Throws Error for a level that this thread is not in.
UnpackedDualTensor unpack_dual(const at::Tensor& dual, std::optional<uint64_t> level = std::nullopt);

}  // namespace torch::autograd::forward_ad

namespace at {

// The same by the level's number. Throw Error "Invalid level given to .." where this thread is not in it.
Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level);
std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level);

}  // namespace at
