// Programs as torch.export has them: a graph, what its inputs and outputs stand for, and the tensors it comes with.
//
//   torch::ExportedProgram program = torch::load_exported("model.pt2");       // export/pt2/pt2.h
//   c10::IValue y = program({x});
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"
#include "export/tree_spec.h"
#include "graph/ir/graph.h"

namespace torch {

/// What an input of the graph stands for.
struct InputSpec {
  enum class Kind : uint8_t { kUser, kParameter, kBuffer, kConstantTensor, kConstant };
  Kind kind = Kind::kUser;
  std::string target;      ///< the name of the parameter, buffer or tensor
  bool persistent = true;  ///< of a buffer: whether it is part of the state dict
  c10::IValue value;       ///< of kConstant: what was traced, which is all that the graph is for
};

/// What an output of the graph stands for.
struct OutputSpec {
  enum class Kind : uint8_t {
    kUser,
    kLoss,
    kBufferMutation,
    kParameterMutation,
    kInputMutation,
    kParameterGradient,
    kInputGradient,
  };
  Kind kind = Kind::kUser;
  std::string target;  ///< the name of the buffer, parameter or input
};

struct GraphSignature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
};

class ExportedProgram {
 public:
  std::unique_ptr<graph::Graph> graph = std::make_unique<graph::Graph>();
  GraphSignature signature;
  /// Parameters and persistent buffers by name.
  std::map<std::string, at::Tensor> state_dict;
  /// Other buffers, and tensors that the program was traced with.
  std::map<std::string, at::Tensor> constants;
  /// Of (args, kwargs), and of the result.
  TreeSpec in_spec, out_spec;
  /// The arguments that the program was traced with: (args, kwargs). None where it has none, or where they hold objects
  /// that this library has no value for.
  c10::IValue example_inputs;
  /// Of the parameters of the Python function, or empty.
  std::vector<std::string> argument_names;
  /// Python conditions on the inputs, which PyTorch checks before it runs the program and this library does not:
  /// "L['x'].size()[0] % 2 == 0".
  std::vector<std::string> guards;
  /// Symbols that stand for sizes which are no whole-number expressions of this library: "opaque0" is the text that
  /// PyTorch has for it.
  std::map<std::string, std::string> opaque_sizes;
  /// The modules that the program was made of ("layers.0"), for torch.export.unflatten.
  std::vector<std::string> modules;
  /// Whether its nodes write to nothing: buffers and inputs are changed by outputs alone.
  bool functional = false;

  /// The result for these arguments. Buffers and inputs that the program changes are changed. Throws ValueError for
  /// arguments of another shape than those it was traced with, or sizes out of the program's ranges; what an operator
  /// throws passes. Not from several threads where it changes buffers.
  c10::IValue operator()(std::vector<c10::IValue> args,
                         std::vector<std::pair<std::string, c10::IValue>> kwargs = {}) const;
  /// The same for arguments in a row, as in_spec has them; user outputs in a row.
  std::vector<c10::IValue> run(std::vector<c10::IValue> inputs) const;

  ExportedProgram();
  ~ExportedProgram();
  ExportedProgram(ExportedProgram&&) noexcept;
  ExportedProgram& operator=(ExportedProgram&&) noexcept;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace torch
