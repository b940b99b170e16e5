#pragma once

#include <cstdint>
#include <tuple>

#include "aten/core/tensor.h"

// Forward-mode differentiation: tensors carry a tangent, and what is computed from them gets one, that is the directional
// derivative of the computation.
//
//   forward_ad::dual_level level;
//   torch::Tensor x = forward_ad::make_dual(primal, tangent);
//   auto [y, dy] = forward_ad::unpack_dual(f(x));          // dy = (df/dx) tangent
//
// All of it lies within a dual level, of which a thread has one at a time; leaving it drops all its tangents. Several threads may
// each be in their own; a thread that works for another one gets that one's with at::ThreadLocalState, and one that is in none
// works in the only one there is. Tangents follow views and changes in place. They are themselves recorded where gradients are, and gradients of dual tensors have
// tangents: for a scalar f of x that requires a gradient, grad({f(x)}, {x})[0] has the Hessian-vector product as its tangent.
// GradMode does not matter to tangents; AutoFwGradMode(false) and inference mode switch them off.
//
// An operator with a derivative but no forward derivative throws NotImplementedError for an input with a tangent ("Trying to use
// forward AD with <operator> that does not support it because it has not been implemented yet."), and so does every out= form.
namespace torch::autograd::forward_ad {

// A tensor and its tangent; the tangent is undefined where there is none.
struct UnpackedDualTensor {
  at::Tensor primal;
  at::Tensor tangent;
};

// Enters a level and returns its number. Throws Error "Nested forward mode AD is not supported at the moment" where this thread
// is in one already.
uint64_t enter_dual_level();
// Leaves it. Throws Error where this thread is in none or `level` is not its number.
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

// A view of `primal` with `tangent` as its tangent. The tangent is the one given where it has the primal's strides, else a copy.
// Throws ValueError where one of the two is neither floating point nor complex, TypeError where their dtypes differ, Error
// where their sizes differ, where `primal` has a tangent already, and outside a dual level.
at::Tensor make_dual(const at::Tensor& primal, const at::Tensor& tangent);
// A view of `dual` without a tangent, and its tangent; outside a dual level or without a tangent: `dual` itself and undefined.
UnpackedDualTensor unpack_dual(const at::Tensor& dual);

}  // namespace torch::autograd::forward_ad

namespace at {

// The same by the level's number. Throw Error "Invalid level given to .." where that is not 0.
Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level);
std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level);

}  // namespace at
