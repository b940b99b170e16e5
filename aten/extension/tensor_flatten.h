// Many tensors as one, and back: what is sent or reduced together.
//
//   for (auto& group : torch::utils::take_tensors(gradients, 25 << 20)) {
//     at::Tensor flat = torch::utils::flatten_dense_tensors(group.tensors);
//     ...
//     auto parts = torch::utils::unflatten_dense_tensors(flat, group.tensors);
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::utils {

/// The elements of all tensors, one after the other, in one dimension. Throws where there are none, or of several
/// dtypes.
at::Tensor flatten_dense_tensors(at::TensorList tensors);
/// Views of `flat` in the shapes of `tensors`; new ones of those without elements. Throws where the numbers of elements
/// differ.
std::vector<at::Tensor> unflatten_dense_tensors(const at::Tensor& flat, at::TensorList tensors);

struct TensorGroup {
  std::vector<at::Tensor> tensors;
  size_t size = 0;  // bytes

  const at::TensorOptions options() const { return tensors.at(0).options(); }
};

/// The tensors in groups of one dtype and device, each of at most `size_limit` bytes but for a tensor that alone has
/// more. Order is kept within a dtype and device. `fine_grained`: a sparse tensor ends all groups that are open, so
/// that the order of sparse and dense ones is kept, too.
std::vector<TensorGroup> take_tensors(at::TensorList tensors, size_t size_limit, bool fine_grained = false);
/// Puts tensors that came out of take_tensors into the order that `order` has, group by group of a dtype and device.
void reorder_tensors_like(std::vector<at::Tensor>& tensors, at::TensorList order);

}  // namespace torch::utils
