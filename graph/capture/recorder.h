// Records the operators that a thread calls as nodes of a graph: what capture() and decompose() are made of.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/thread_state.h"
#include "c10/dispatch/registry.h"
#include "graph/ir/graph.h"

namespace torch::graph {

/// Inserts a call node for every operator that the thread calls while a Recording is open, above autograd: a program
/// calls matmul, and not its mm. Tensors are known by identity: those bound, and what recorded calls gave. What shares
/// memory with a known one though no operator made it (data()) is that one, or as_strided of it.
///
/// Operators need their boxed form (//aten/ops:registry).
class Recorder {
 public:
  struct Options {
    /// What stands for a tensor that is not known; may throw. Null: an error.
    std::function<Operand(const at::Tensor&)> unknown;
    /// Does what the operator does by other calls, which are recorded in its place; false where it is to be recorded
    /// itself. May be null.
    std::function<bool(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack)> expand;
    /// What stands for the device meta among the arguments.
    std::optional<c10::Device> device;
    /// Told of each call before it is made; may throw. May be null.
    std::function<void(const c10::OperatorHandle& op, const c10::Stack& arguments)> before;
  };
  /// New nodes stand before `place`.
  Recorder(Node* place, Options options) : place_(place), options_(std::move(options)) {}

  /// From now on the tensor is that operand.
  void bind(const at::Tensor& tensor, Operand operand);
  /// What stands for a value: known tensors, lists and tuples with such, constants.
  Operand operand(const c10::IValue& value);
  /// Like bind(), for a result: the tensors of a list are the results of an unpack node.
  void bind_result(const c10::IValue& value, Value* result);
  /// All tensors that recorded calls gave, with the values that stand for them now.
  std::vector<std::pair<at::Tensor, Operand>> results() const;

  /// What the operator calls while a Recording is open come here.
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack);

 private:
  struct Known {
    at::Tensor tensor;
    Operand operand;
  };
  Node* insert(std::unique_ptr<Node> node);
  std::optional<Operand> known(const at::Tensor& tensor);

  Node* place_;
  Options options_;
  std::map<const c10::TensorImpl*, Known> known_;
  std::map<const void*, std::vector<const c10::TensorImpl*>> by_storage_;
  int depth_ = 0;
};

/// While it lives, the thread's calls go to a recorder. Throws where one is at work in this thread already.
class Recording {
 public:
  explicit Recording(Recorder& recorder);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  std::optional<c10::IncludeDispatchKeyGuard> on_;
};

}  // namespace torch::graph
