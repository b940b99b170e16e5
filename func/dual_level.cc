#include "func/dual_level.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"

namespace torch::func::detail {
namespace {

// A tangent is laid out like its primal, which therefore has memory of its own for every element.
at::Tensor unexpanded(const at::Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return at::clone(t, at::MemoryFormat::Contiguous);
  }
  return t;
}

}  // namespace

DualLevel::DualLevel(const TensorList& primals, const TensorList& tangents) : records_(c10::GradMode::is_enabled()) {
  for (size_t i = 0; i < primals.size(); ++i) {
    const at::Tensor &primal = primals[i], &tangent = tangents[i];
    TORCH_CHECK(primal.defined() && tangent.defined(), "jvp(f, primals, tangents): tensor ", i, " is undefined");
    TORCH_CHECK(primal.sizes() == tangent.sizes(),
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                "supported. Tensor is of size ",
                primal.sizes(), " while the given forward gradient is of size ", tangent.sizes(), ".");
    if (levels_.batch(primal) || levels_.batch(tangent)) {
      const at::Tensor physical = unexpanded(levels_.physical(primal));
      duals_.push_back(levels_.batched(autograd::forward_ad::make_dual(physical, levels_.physical(tangent))));
    } else {
      duals_.push_back(autograd::forward_ad::make_dual(unexpanded(primal), tangent));
    }
  }
}

std::pair<at::Tensor, at::Tensor> DualLevel::unpack(const at::Tensor& result, bool strict) const {
  TORCH_CHECK(result.defined(), "jvp(f, primals, tangents): f returned an undefined tensor");
  const bool batched = levels_.batch(result);
  auto [primal, tangent] = autograd::forward_ad::unpack_dual(batched ? levels_.physical(result) : result);
  TORCH_CHECK(tangent.defined() || !strict,
              "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
              "strict=True.");
  if (!tangent.defined()) tangent = at::zeros_like(primal);
  if (!batched) return {std::move(primal), std::move(tangent)};
  return {levels_.batched(primal), levels_.batched(tangent)};
}

at::Tensor DualLevel::finished(const at::Tensor& result) const {
  return result.defined() ? unpack(result, /*strict=*/false).first : result;
}

}  // namespace torch::func::detail
