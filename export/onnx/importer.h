// A model that is being read: its names, and the program that it becomes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "export/exported_program.h"
#include "export/onnx/emitter.h"
#include "export/onnx/tensors.h"
#include "graph/ir/callable.h"

namespace onnx {
class FunctionProto;
class ModelProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace torch::onnx {

/// The names of a graph; those of the graphs around it are seen, too.
struct Scope {
  std::map<std::string, Item> names;
  const Scope* outer = nullptr;
  const std::map<std::string, int64_t>* opsets = nullptr;  // by domain
};

class Importer {
 public:
  Importer(::onnx::ModelProto& model, std::string origin, DataFolder folder);
  ~Importer();
  ExportedProgram run();

  /// The outputs of a graph in `block`, whose inputs stand for `inputs`.
  std::vector<Item> body(const ::onnx::GraphProto& graph, graph::Block& block, const Scope& outer,
                         const std::vector<Item>& inputs, int depth);
  /// As a value of the program.
  graph::Value* value_of(Constant& constant);
  /// Null where it is not linked, which is reported in the end.
  std::optional<graph::Callable> callable(std::string_view name);
  at::Tensor tensor(const ::onnx::TensorProto& proto) const;
  std::string unique(const std::string& name);
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    serialize::throw_format_error(c10::str(origin_, ": ", parts...));
  }
  const std::string& origin() const { return origin_; }

 private:
  void node(const ::onnx::NodeProto& node, Scope& scope, graph::Block& block, int depth);
  void inline_function(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& call, Scope& scope,
                       graph::Block& block, int depth);
  void define(Scope& scope, const std::string& name, Item item);
  void input(const ::onnx::ValueInfoProto& info, Scope& scope);
  void check_opset(const std::map<std::string, int64_t>& opsets) const;
  void look_for_unknown(const ::onnx::GraphProto& graph);
  std::string unknown_text() const;
  Item lookup(const Scope& scope, const std::string& name) const;
  void constants_of(const ::onnx::GraphProto& graph, Scope& scope);
  friend class Emitter;

  ::onnx::ModelProto& model_;
  std::string origin_;
  DataFolder folder_;
  ExportedProgram out_;
  std::map<std::string, int64_t> opsets_;
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions_;
  std::map<const ::onnx::FunctionProto*, std::map<std::string, int64_t>> function_opsets_;
  std::set<const ::onnx::FunctionProto*> open_;
  size_t inlined_nodes_ = 0, inlined_bytes_ = 0;
  std::map<std::string, int64_t> used_names_;  // and how often
  std::set<std::string> missing_, unknown_;
};

}  // namespace torch::onnx
