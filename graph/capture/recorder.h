// Records the operators that a thread calls as nodes of a graph: what capture() and decompose() are made of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
    /// Results say what they are (Value::info).
    bool infos = false;
    /// Where the thread's calls come from at the moment, for messages. May be null.
    std::function<std::shared_ptr<const Source>()> source;
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

  /// The recorder that this thread's calls go to; null where none is at work, and within a call that is recorded whole.
  static Recorder* current();

  // --- control flow ---
  Graph& graph() const { return place_->graph(); }
  /// A node where the next call will stand.
  Node* insert(std::unique_ptr<Node> node);
  /// While it lives, calls are recorded at the end of an inner block. Tensors that they make are known there alone:
  /// what uses one afterwards throws ValueError, as does a call there that writes to another tensor than those.
  class Inside {
   public:
    /// `what` names the block in messages: "the body of while_loop". A null recorder: nothing is done.
    Inside(Recorder* recorder, Block* block, std::string what);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Recorder* recorder_;
    Node* place_ = nullptr;
  };
  /// Whether the tensor is, or shares memory with, one that is known outside of the inner block.
  bool is_from_outside(const at::Tensor& tensor) const;

 private:
  struct Known {
    at::Tensor tensor;
    Operand operand;
  };
  // An inner block that calls are recorded in.
  struct Open {
    std::string what;
    std::set<const void*> storages;                                               // that its calls made
    std::vector<std::pair<const c10::TensorImpl*, std::optional<Known>>> before;  // of tensors bound in it
  };
  std::optional<Operand> known(const at::Tensor& tensor);
  bool is_visible(const Operand& operand) const;
  void check_writes(const Node& node, const c10::Stack& arguments) const;

  Node* place_;
  Options options_;
  std::map<const c10::TensorImpl*, Known> known_;
  std::map<const void*, std::vector<const c10::TensorImpl*>> by_storage_;
  std::vector<Open> open_;
  bool any_inside_ = false;  // so far
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
