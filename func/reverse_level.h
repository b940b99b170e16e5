#pragma once

#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/grad_mode.h"
#include "func/active_levels.h"

namespace torch::func::detail {

using TensorList = std::vector<at::Tensor>;

/// The products of vectors with the Jacobian of what a ReverseLevel recorded. It keeps the graph.
class Pullback {
 public:
  /// For each input the sum over the outputs of cotangent times Jacobian, of the input's sizes: zeros where no output depends on
  /// it. Cotangents have the sizes of the outputs; an undefined one stands for 1 where the output has one element. They may be
  /// batched by vmap levels that were entered since. `create_graph`: the products can be differentiated; default: where gradients
  /// are recorded now. Throws Error for other sizes, and where a pass without `retain_graph` has freed the graph.
  TensorList operator()(const TensorList& cotangents, bool retain_graph, std::optional<bool> create_graph) const;

 private:
  friend class ReverseLevel;
  friend class Pushforward;
  at::Tensor physical_cotangent(const at::Tensor& cotangent, size_t output) const;
  TensorList finished(TensorList gradients) const;

  ActiveLevels levels_;
  TensorList inputs_, outputs_;  // physical
  std::vector<std::vector<int64_t>> sizes_;  // of the outputs
  bool reaches_outside_ = false;
};

/// The products of the same Jacobian with vectors, from the graph: u -> u J is linear in u, and its derivative times v is J v. Every
/// operator needs a derivative that has one.
class Pushforward {
 public:
  explicit Pushforward(const Pullback& pullback);
  /// For each output the Jacobian times the tangents, of the output's sizes. `tangents`: one an input, of its sizes.
  TensorList operator()(const TensorList& tangents) const;

 private:
  Pullback pullback_;
  TensorList cotangents_, products_;  // u, and u J
};

/// Where a transform takes derivatives by reverse mode of the function that it calls: while it lives, gradients are recorded, and its
/// variables are new tensors with the inputs' values. A gradient of theirs goes on to the inputs where those require one
/// and gradients were recorded around the transform.
class ReverseLevel {
 public:
  /// Throws Error where an input is neither floating point nor complex.
  explicit ReverseLevel(const TensorList& inputs);
  ReverseLevel(const ReverseLevel&) = delete;
  ReverseLevel& operator=(const ReverseLevel&) = delete;

  /// What the function is called with.
  const TensorList& variables() const { return variables_; }
  /// Whether gradients are recorded around the transform.
  bool records_outside() const { return records_outside_; }
  Pullback pullback(const TensorList& outputs) const;
  /// A result of the function as the transform returns it: without its history, but for what leads outside of this level.
  at::Tensor finished(const at::Tensor& result) const;

 private:
  bool leads_outside(const at::Tensor& physical) const;
  at::Tensor finished_physical(const at::Tensor& t) const;

  const bool records_outside_;
  const c10::InferenceMode normal_{false};
  const c10::AutoGradMode record_{true};
  const ActiveLevels levels_;
  TensorList inputs_, variables_;
};

}  // namespace torch::func::detail
