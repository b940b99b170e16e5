#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/engine.h"
#include "autograd/engine/hooks.h"
#include "autograd/engine/node.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd {

using at::AutoGradMode;
using at::GradMode;
using at::InferenceMode;
using at::NoGradGuard;

/// The data as a variable: another handle to it, which is a leaf and requires a gradient where that is asked for. With
/// allow_tensor_metadata_change = false older programs forbade changes of its geometry; they are allowed here.
inline at::Tensor make_variable(at::Tensor data, bool requires_grad = false, bool /*allow_tensor_metadata_change*/ = true) {
  return data.defined() ? data.detach().set_requires_grad(requires_grad) : data;
}

/// Adds the derivatives of `tensors` to the grad() of the leaves they were computed from.
///
/// grad_tensors: one a tensor, the derivative of something with respect to it; undefined (or the list empty) stands for 1 where
/// the tensor has one element. retain_graph: keep what another backward pass through the graph needs (default: create_graph).
/// create_graph: record this pass, so that the gradients can be differentiated. inputs: accumulate into these only.
///
/// Throws c10::Error where a tensor does not require a gradient, where a gradient that is left out is not of one element or
/// one that is given does not fit, and "Trying to backward through the graph a second time .." where the graph was freed.
void backward(
    const variable_list& tensors,
    const variable_list& grad_tensors = {},
    std::optional<bool> retain_graph = std::nullopt,
    bool create_graph = false,
    const variable_list& inputs = {});
/// The same from places in the graph (graph::get_gradient_edge), whose tensors may be gone.
void backward(
    const std::vector<GradientEdge>& tensors,
    const variable_list& grad_tensors = {},
    std::optional<bool> retain_graph = std::nullopt,
    bool create_graph = false,
    const variable_list& inputs = {});

/// The derivatives of `outputs` with respect to `inputs`, in their order; nothing is accumulated anywhere.
///
/// An input that the outputs do not depend on is an error; with allow_unused its result is undefined, with materialize_grads
/// zeros (which implies allow_unused: ValueError where that is given as false). is_grads_batched: the first dimension of every
/// grad_output, and then of every result, counts independent gradients, each taken through the graph by itself.
///
///   auto rows = torch::autograd::grad({y}, {x}, {torch::eye(3)}, {}, false, {}, /*is_grads_batched=*/true)[0];   // Jacobian
variable_list grad(
    const variable_list& outputs,
    const variable_list& inputs,
    const variable_list& grad_outputs = {},
    std::optional<bool> retain_graph = std::nullopt,
    bool create_graph = false,
    std::optional<bool> allow_unused = std::nullopt,
    bool is_grads_batched = false,
    bool materialize_grads = false);
/// The same between places in the graph; a tensor's is graph::get_gradient_edge.
variable_list grad(
    const std::vector<GradientEdge>& outputs,
    const std::vector<GradientEdge>& inputs,
    const variable_list& grad_outputs = {},
    std::optional<bool> retain_graph = std::nullopt,
    bool create_graph = false,
    std::optional<bool> allow_unused = std::nullopt,
    bool is_grads_batched = false,
    bool materialize_grads = false);

}  // namespace torch::autograd

namespace at {

template <class Hook>
Tensor::hook_position Tensor::register_hook(Hook&& hook) const {
  using Result = std::invoke_result_t<Hook&, const Tensor&>;
  if constexpr (std::is_void_v<Result>) {
    return torch::autograd::register_tensor_hook(
        *this, [hook = std::forward<Hook>(hook)](const Tensor& grad) mutable -> Tensor {
          hook(grad);
          return {};
        });
  } else {
    return torch::autograd::register_tensor_hook(*this, torch::autograd::TensorHook(std::forward<Hook>(hook)));
  }
}

template <class Hook>
auto Tensor::register_post_accumulate_grad_hook(Hook&& hook) const {
  return torch::autograd::register_post_accumulate_grad_hook(
      *this, torch::autograd::PostAccumulateHook(std::forward<Hook>(hook)));
}

}  // namespace at
