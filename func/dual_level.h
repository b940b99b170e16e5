#pragma once

#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/forward_ad.h"
#include "c10/core/grad_mode.h"
#include "func/active_levels.h"

namespace torch::func::detail {

using TensorList = std::vector<at::Tensor>;

/// Where a transform takes derivatives by forward mode of the function that it calls: a level of forward_ad of its own, inside of
/// those that there are, and dual tensors of it.
class DualLevel {
 public:
  /// Throws ValueError where one of a pair is neither floating point nor complex, Error where its sizes differ.
  DualLevel(const TensorList& primals, const TensorList& tangents);
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;

  /// What the function is called with.
  const TensorList& duals() const { return duals_; }
  /// A result of the function and its tangent: zeros where it does not depend on the primals, or Error with `strict`.
  std::pair<at::Tensor, at::Tensor> unpack(const at::Tensor& result, bool strict) const;
  /// The result alone.
  at::Tensor finished(const at::Tensor& result) const;

 private:
  const bool records_;
  const c10::InferenceMode normal_{false};
  const c10::AutoGradMode record_{records_};
  const c10::AutoFwGradMode tangents_{true};
  const ActiveLevels levels_;
  const autograd::forward_ad::dual_level level_;
  TensorList duals_;
};

}  // namespace torch::func::detail
