// Runs graphs operator by operator: what every other way to run one is compared with. Calls are recorded for gradients
// as those of C++ are.
//
//   const torch::graph::Interpreter run(graph);     // prepared once, for any number of threads
//   c10::Stack stack{x, y};
//   run(stack);                                     // the inputs are replaced by the outputs
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "c10/value/stack.h"
#include "graph/ir/graph.h"

namespace torch::graph {

/// What a program raised (Node::Kind::kRaise).
class Raised : public std::runtime_error {
 public:
  Raised(const std::string& message, std::string exception_class)
      : std::runtime_error(message), exception_class_(std::move(exception_class)) {}
  /// "builtins.ValueError", or empty.
  const std::string& exception_class() const { return exception_class_; }

 private:
  std::string exception_class_;
};

/// What a graph needs from around it.
struct Surroundings {
  /// What runs the function of a kInvoke node; it replaces the arguments on the stack by the results.
  std::function<std::function<void(c10::Stack&)>(const Node& node)> function;
};

/// What one run tells.
struct RunListener {
  virtual ~RunListener() = default;
  /// Whether ran() is called; asked once a run.
  virtual bool wants_results() const { return true; }
  /// After each node, with its results.
  virtual void ran(const Node& /*node*/, c10::ArrayRef<c10::IValue> /*results*/) {}
  /// Of the node that an exception passes, innermost first.
  virtual void failed(const Node& /*node*/) {}
};

namespace detail {
struct PreparedGraph;
}

class Interpreter {
 public:
  /// The graph is copied. Throws ValueError where it is not well-formed or has nodes that cannot be run.
  explicit Interpreter(const Graph& graph, const Surroundings& surroundings = {});
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  /// Replaces the inputs, which are all that is on the stack, by the outputs. What an operator throws passes, with the
  /// node as its context; Raised where the program raises. Values are let go after their last use.
  void operator()(c10::Stack& stack, RunListener* listener = nullptr) const;
  /// The copy that runs.
  const Graph& graph() const;

 private:
  std::unique_ptr<const detail::PreparedGraph> prepared_;
};

}  // namespace torch::graph
