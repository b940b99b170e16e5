#include "autograd/forward_ad.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/forward_grad.h"
#include "c10/util/exception.h"

namespace torch::autograd::forward_ad {
namespace {

bool is_differentiable_type(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

}  // namespace

uint64_t enter_dual_level() {
  return enter_forward_level();
}

void exit_dual_level(uint64_t level) {
  exit_forward_level(level);
}

namespace {

int checked_level(std::optional<uint64_t> level, const char* what) {
  if (!level.has_value()) return forward_level();
  const int depth = forward_depth();
  TORCH_CHECK(
      *level < static_cast<uint64_t>(depth), what, ": there is no level ", *level, " of forward AD, this thread is in ", depth);
  return static_cast<int>(*level);
}

// The tangent of `t` of a level, with its own tangents of the levels above: those lie in t's tangents of these.
at::Tensor whole_tangent_of(const at::Tensor& t, int level, int depth) {
  at::Tensor tangent = tangent_of(t, level);
  bool shared = true;
  for (int above = level + 1; above < depth; ++above) {
    const at::Tensor of_above = tangent_of(t, above);
    if (!of_above.defined()) continue;
    at::Tensor mixed = whole_tangent_of(of_above, level, above);
    if (!mixed.defined()) continue;
    if (shared) tangent = tangent.defined() ? at::alias(tangent) : at::zeros(t.sizes(), t.options());
    shared = false;
    put_tangent(tangent, std::move(mixed), above);
  }
  return tangent;
}

// A view of `t` without its tangent of a level, in its tangents of the levels above either.
at::Tensor without_level(const at::Tensor& t, int level, int depth) {
  at::Tensor result = at::alias(t);
  put_tangent(result, {}, level);
  for (int above = level + 1; above < depth; ++above) {
    const at::Tensor of_above = tangent_of(result, above);
    if (of_above.defined()) put_tangent(result, without_level(of_above, level, above), above);
  }
  return result;
}

}  // namespace

at::Tensor make_dual(const at::Tensor& primal, const at::Tensor& tangent, std::optional<uint64_t> of_level) {
  TORCH_CHECK(
      forward_level_active(),
      "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.");
  const int level = checked_level(of_level, "make_dual");
  TORCH_CHECK(primal.defined() && tangent.defined(), "make_dual: primal and tangent must be defined");
  TORCH_CHECK_VALUE(
      is_differentiable_type(primal.scalar_type()), "Expected primal to be floating point or complex, but got: ",
      c10::toString(primal.scalar_type()));
  TORCH_CHECK_VALUE(
      is_differentiable_type(tangent.scalar_type()), "Expected tangent to be floating point or complex, but got: ",
      c10::toString(tangent.scalar_type()));
  TORCH_CHECK(
      !tangent_of(primal, level).defined(),
      "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level ", level,
      " is not supported.");
  for (int above = level; above < forward_depth(); ++above) {
    TORCH_CHECK(
        !tangent_of(tangent, above).defined(), "make_dual: a tangent of level ", level, " that itself has a tangent of level ",
        above, " is not supported");
  }
  TORCH_CHECK(
      primal.sizes() == tangent.sizes(),
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
      "Tensor is of size ",
      primal.sizes(), " while the given forward gradient is of size ", tangent.sizes(), ".");
  at::Tensor dual = at::alias(primal);
  const ForwardScope scope(level);
  if (tangent.strides() == primal.strides()) {
    put_tangent(dual, tangent);
  } else {
    at::Tensor copy = at::empty_strided(primal.sizes(), primal.strides(), tangent.options());
    at::copy_(copy, tangent);
    put_tangent(dual, std::move(copy));
  }
  return dual;
}

UnpackedDualTensor unpack_dual(const at::Tensor& dual, std::optional<uint64_t> of_level) {
  TORCH_CHECK(dual.defined(), "unpack_dual: the tensor must be defined");
  const int depth = forward_depth();
  const int level = checked_level(of_level, "unpack_dual");
  at::Tensor tangent = level < 0 ? at::Tensor() : whole_tangent_of(dual, level, depth);
  if (!tangent.defined()) return {dual, {}};
  std::optional<ForwardScope> scope;
  if (level + 1 == depth) scope.emplace(level);
  return {without_level(dual, level, depth), std::move(tangent)};
}

}  // namespace torch::autograd::forward_ad

namespace at {

Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level) {
  TORCH_CHECK(
      level >= 0 && level < torch::autograd::forward_depth(), "Invalid level given to _make_dual: ", level,
      ", this thread is in ", torch::autograd::forward_depth());
  return torch::autograd::forward_ad::make_dual(primal, tangent, static_cast<uint64_t>(level));
}

std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level) {
  TORCH_CHECK(
      level >= 0 && level < torch::autograd::forward_depth(), "Invalid level given to _unpack_dual: ", level,
      ", this thread is in ", torch::autograd::forward_depth());
  auto [primal, tangent] = torch::autograd::forward_ad::unpack_dual(dual, static_cast<uint64_t>(level));
  return {std::move(primal), std::move(tangent)};
}

}  // namespace at
