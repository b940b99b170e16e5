// What turns graphs into ONNX's: names, constants, sizes, and one node at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "export/exported_program.h"
#include "export/onnx/export.h"
#include "graph/ir/graph.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace torch::onnx {

/// Of a value of the ONNX graph; empty: left out.
using Name = std::string;
using Names = std::vector<Name>;

struct Attribute {
  const char* name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>> value;
};
using Attributes = std::vector<Attribute>;

/// That a node has no form in ONNX, and why.
struct Unsupported {
  std::string why;
};
template <class... Parts>
void supported(bool good, const Parts&... parts) {
  if (!good) throw Unsupported{c10::str(parts...)};
}

/// What an operand is: of a number that stands where an operator wants a tensor (torch::wrapped_number), the number.
const graph::Operand& plain(const graph::Operand& operand);

/// ONNX's number of a dtype. Throws Unsupported.
int64_t number_of(c10::ScalarType dtype);

class Exporter {
 public:
  Exporter(const ExportedProgram& program, const Options& options, ::onnx::ModelProto& model);
  ~Exporter();
  void run();
  /// The tensors that the model's initializers stand for, in order; their elements are not in it yet.
  const std::vector<at::Tensor>& weights() const { return weights_; }

  // --- nodes ---
  Names nodes(const char* op, const Names& inputs, const Attributes& attributes, size_t outputs);
  Name node(const char* op, const Names& inputs, const Attributes& attributes = {}) {
    return nodes(op, inputs, attributes, 1)[0];
  }
  /// A node to add more to; its outputs have these names.
  ::onnx::NodeProto& add_node(const char* op, const Names& inputs, const Names& outputs);
  /// Writes branches and loops.
  void control(const graph::Node& node);

  // --- constants ---
  Name constant(const at::Tensor& tensor);
  Name ints(const std::vector<int64_t>& values);
  /// Of no dimensions.
  Name scalar(const c10::IValue& value, c10::ScalarType dtype);
  Name cast(const Name& x, c10::ScalarType from, c10::ScalarType to);

  // --- values of the graph ---
  Name tensor(const graph::Operand& operand);
  Names tensors(const graph::Operand& list);
  /// A whole number as a tensor of one dimension and element, int64.
  Name number(const graph::Operand& operand);
  /// Several, in one tensor of one dimension.
  Name numbers(const graph::Operand& list);
  void define(const graph::Value* value, Name name) { names_[value] = std::move(name); }
  void define_list(const graph::Value* value, Names parts) { lists_[value] = std::move(parts); }
  std::string fresh(const std::string& base);

 private:
  class Inner;
  Names inlined(const graph::Block& block, const Names& inputs);
  void if_else(const graph::Node& node);
  void while_loop(const graph::Node& node);
  void scan(const graph::Node& node);
  Name truth(const graph::Operand& operand);
  Names listed(const graph::Operand& list);
  void inner_input(::onnx::GraphProto& graph, const Name& name, c10::ScalarType dtype, bool scalar = false);
  void inner_output(::onnx::GraphProto& graph, const Name& name, c10::ScalarType dtype);
  Name size(const graph::IntExpr& e);
  void one(const graph::Node& node);
  void inputs();
  void outputs();
  void info(::onnx::ValueInfoProto& to, const Name& name, const graph::TensorInfo& about);
  void no_form(const graph::Node& node, const std::string& why);

  const ExportedProgram& program_;
  const Options& options_;
  ::onnx::ModelProto& model_;
  ::onnx::GraphProto* graph_;
  std::set<std::string> taken_;
  std::map<std::string, int64_t> next_;
  std::map<const graph::Value*, Name> names_;
  std::map<const graph::Value*, Names> lists_;
  std::vector<std::map<graph::IntExpr, Name>> sizes_;  // of each graph that is open
  std::map<std::string, Name> constants_;              // by dtype, sizes and bytes
  std::vector<at::Tensor> weights_;
  std::map<std::string, std::string> missing_;  // operators and why
};

/// A node that is being written.
class Call {
 public:
  Call(Exporter& exporter, const graph::Node& node, const char* target) : x(exporter), node(node), target(target) {}

  size_t size() const { return node.operands().size(); }
  const graph::Operand& operand(size_t i) const { return plain(node.operand(i)); }
  bool is_none(size_t i) const { return operand(i).is_constant() && operand(i).constant().isNone(); }
  // --- arguments that are known; Unsupported where they are not ---
  const c10::IValue& known(size_t i) const;
  int64_t i(size_t i) const { return known(i).toInt(); }
  double f(size_t i) const { return known(i).isInt() ? static_cast<double>(known(i).toInt()) : known(i).toDouble(); }
  bool b(size_t i) const { return known(i).toBool(); }
  std::vector<int64_t> is(size_t i) const;
  /// A dimension, from 0 on, of a tensor of so many.
  int64_t dim(size_t i, int64_t dims) const;
  // --- tensors ---
  Name in(size_t i) const { return x.tensor(operand(i)); }
  Name in_or_none(size_t i) const { return is_none(i) ? Name() : in(i); }
  Name in(size_t i, c10::ScalarType dtype) const;  ///< cast; numbers, too
  const graph::TensorInfo& info(size_t i) const;
  c10::ScalarType dtype(size_t i) const { return info(i).dtype; }
  int64_t dims(size_t i) const { return static_cast<int64_t>(info(i).sizes.size()); }
  /// Of a size that does not differ.
  int64_t fixed(size_t i, int64_t dim) const;
  const graph::TensorInfo& result_info(size_t i = 0) const;
  c10::ScalarType result_dtype(size_t i = 0) const { return result_info(i).dtype; }
  /// The dtype that two arguments are compared in.
  c10::ScalarType promoted(size_t a, size_t b) const;
  // --- results ---
  void give(Name name, size_t i = 0) const { x.define(node.result(i), std::move(name)); }
  Name op(const char* name, const Names& inputs, const Attributes& attributes = {}) const {
    return x.node(name, inputs, attributes);
  }
  /// A constant of no dimensions.
  Name number(double value, c10::ScalarType dtype) const { return x.scalar(value, dtype); }

  Exporter& x;
  const graph::Node& node;
  const char* const target;  ///< what the table says besides the function
};

struct Form {
  const char* name;  ///< "aten::add.Tensor"
  void (*write)(const Call& call);
  const char* target = "";
};
c10::ArrayRef<Form> math_forms();
c10::ArrayRef<Form> reduction_forms();
c10::ArrayRef<Form> shape_forms();
c10::ArrayRef<Form> network_forms();
c10::ArrayRef<Form> recurrent_forms();
/// Null where an operator has none.
const Form* form_of(std::string_view name);
}  // namespace torch::onnx
