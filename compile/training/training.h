// Programs whose gradients are wanted: a forward and a backward pass, each compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/stack.h"
#include "compile/executable.h"
#include "compile/training/split.h"

namespace torch::compiler {

struct TrainingOptions {
  /// Tensors that are inputs before the arguments', as graph::CaptureOptions has them.
  std::vector<std::pair<std::string, at::Tensor>> state;
  int64_t max_constant_bytes = int64_t{16} << 20;
  ExecutableOptions executable;
};

/// Runs forward, and is a node of the autograd graph that runs backward.
class TrainingExecutable : public c10::intrusive_ptr_target {
 public:
  struct Recorded {
    c10::intrusive_ptr<TrainingExecutable> run;  ///< null where it cannot be compiled
    std::string why;                             ///< then
    c10::Stack results;                          ///< the program's, recorded for gradients
    std::vector<std::string> state;              ///< that the program uses
  };
  /// Runs `program` once, and its backward pass with gradients of zero, and records both. Operators that are composed
  /// of others are recorded as these. What the program throws passes.
  static Recorded record(const std::function<c10::Stack(const c10::Stack& inputs)>& program, const c10::Stack& inputs,
                         const TrainingOptions& options);

  /// Of the inputs, state first: the program's results, with a gradient that is computed by the backward pass.
  /// Gradients of gradients are not recorded: asking for them throws.
  c10::IValue operator()(std::vector<at::Tensor> inputs) const;

  const Executable& forward() const { return *forward_; }
  const Executable& backward() const { return *backward_; }
  int64_t saved_bytes() const { return saved_bytes_; }
  int64_t unsplit_bytes() const { return unsplit_bytes_; }
  size_t bytes() const { return forward_->bytes() + backward_->bytes(); }

 private:
  friend struct TrainingFunction;
  // A result, with the numbers of outputs in the places of its tensors.
  static c10::IValue numbered(const c10::IValue& result, std::vector<at::Tensor>& tensors);
  static c10::IValue filled(const c10::IValue& result, const std::vector<at::Tensor>& tensors);

  std::unique_ptr<Executable> forward_, backward_;
  std::vector<size_t> written_;       // inputs that the first outputs of the forward pass go into
  size_t outputs_ = 0;                // of the program, behind these
  std::vector<Saved> saved_;          // beyond the outputs
  std::vector<bool> differentiable_;  // outputs
  std::vector<graph::TensorInfo> tangents_;
  std::vector<size_t> inputs_of_gradients_;  // one an output of the backward pass
  c10::IValue result_;
  int64_t saved_bytes_ = 0, unsplit_bytes_ = 0;
};

}  // namespace torch::compiler
