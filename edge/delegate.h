// Graphs of which engines of others run parts.
//
//   torch::edge::XnnpackDelegate xnnpack;                                  // edge/xnnpack/xnnpack.h
//   torch::edge::DelegatedProgram fast(torch::load_exported("net.pt2"), {&xnnpack});
//   std::vector<c10::IValue> y = fast.run({x});
//   std::cout << fast.report().text();                                      // who runs what, and why not others
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "c10/util/array_ref.h"
#include "c10/value/ivalue.h"
#include "c10/value/stack.h"
#include "export/exported_program.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"

namespace torch::edge {

/// A part of a graph, ready to run. From one thread at a time.
class CompiledPart {
 public:
  virtual ~CompiledPart() = default;
  /// Replaces the part's inputs, which are all that is on the stack, by its outputs.
  virtual void run(c10::Stack& stack) = 0;
  /// How many nodes it stands for.
  virtual size_t nodes() const = 0;
};

/// An engine.
class Delegate {
 public:
  virtual ~Delegate() = default;
  virtual std::string_view name() const = 0;
  /// Why it does not run a node whose values' infos are known and whose weights are constants; empty: it does.
  virtual std::string why_not(const graph::Node& node) const = 0;
  /// A graph of nodes that it runs.
  virtual std::unique_ptr<CompiledPart> compile(std::unique_ptr<graph::Graph> part) const = 0;
};

struct DelegateOptions {
  /// Parts of fewer nodes stay with the interpreter: each costs copies of its inputs and outputs.
  size_t min_nodes = 2;
};

struct DelegateReport {
  struct Part {
    std::string delegate;
    size_t nodes = 0;
  };
  std::vector<Part> parts;  ///< in the order in which they run
  /// Of the nodes that no delegate runs: the operator, and what each delegate said ("xnnpack: the weight is no
  /// constant").
  struct Left {
    std::string node;
    std::vector<std::string> reasons;
  };
  std::vector<Left> left;
  std::vector<std::string> notes;  ///< of the whole program
  std::string text() const;
};

/// An exported program for inference: weights are bound, batch norms folded, constants computed. Each node goes to the
/// first of the delegates that takes it, in parts as large as possible; the interpreter runs the rest.
class DelegatedProgram {
 public:
  /// The delegates have to live until it is made. Throws ValueError for a program that changes its
  /// buffers or inputs.
  DelegatedProgram(const ExportedProgram& program, c10::ArrayRef<const Delegate*> delegates,
                   const DelegateOptions& options = {});
  ~DelegatedProgram();
  DelegatedProgram(DelegatedProgram&&) noexcept;
  DelegatedProgram& operator=(DelegatedProgram&&) noexcept;

  /// User inputs in a row, as ExportedProgram::run has them; user outputs. From one thread at a time. Throws ValueError
  /// for another number of inputs; sizes are not checked against the program's.
  std::vector<c10::IValue> run(std::vector<c10::IValue> inputs) const;
  const DelegateReport& report() const;
  /// What the interpreter runs: nodes, and invocations of the parts.
  const graph::Graph& graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace torch::edge
