// What turns one node of an ONNX graph into nodes of ours: its inputs and attributes, and the block that it goes to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "graph/ir/graph.h"
#include "utils/serialize/file_error.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace torch::onnx {

class Importer;
struct Scope;

/// A tensor that is known when the model is read. It becomes an input of the graph when a node needs it there.
struct Constant {
  std::string name;
  at::Tensor tensor;
  bool initializer = false;  ///< of a graph, not a node's
  graph::Value* value = nullptr;
};

/// What a name of an ONNX graph stands for: ONNX is typed, so that dtypes are always known.
struct Item {
  graph::Value* value = nullptr;
  std::shared_ptr<Constant> constant;
  c10::ScalarType dtype = c10::ScalarType::Undefined;  ///< of the tensor, or those in a sequence
  bool sequence = false;
  bool narrow = false;  ///< whole numbers of less than a byte, a byte each
  bool absent() const { return value == nullptr && constant == nullptr; }
};

/// An argument of an operator.
class Arg {
 public:
  Arg(const Item& item)
      : operand_(item.value == nullptr ? graph::Operand(c10::IValue()) : graph::Operand(item.value)) {}
  Arg(graph::Operand operand) : operand_(std::move(operand)) {}
  Arg(std::nullopt_t) : operand_(c10::IValue()) {}
  Arg(bool v) : operand_(c10::IValue(v)) {}
  Arg(int v) : operand_(c10::IValue(static_cast<int64_t>(v))) {}
  Arg(int64_t v) : operand_(c10::IValue(v)) {}
  Arg(double v) : operand_(c10::IValue(v)) {}
  Arg(const char* v) : operand_(c10::IValue(v)) {}
  Arg(const std::string& v) : operand_(c10::IValue(v)) {}
  Arg(c10::ScalarType v) : operand_(c10::IValue(v)) {}
  Arg(const std::vector<int64_t>& v) : operand_(c10::IValue(v)) {}
  Arg(const std::vector<double>& v) : operand_(c10::IValue(v)) {}
  Arg(const std::vector<std::string>& v) : operand_(c10::IValue(v)) {}
  Arg(const std::vector<Item>& items);
  const graph::Operand& operand() const { return operand_; }

 private:
  graph::Operand operand_;
};

class Emitter {
 public:
  Emitter(Importer& importer, const ::onnx::NodeProto& node, Scope& scope, graph::Block& block, int64_t opset,
          const char* target, int depth)
      : importer_(importer), node_(node), scope_(scope), block_(block), opset_(opset), target_(target), depth_(depth) {}

  int64_t opset() const { return opset_; }
  /// What the table says of the operator besides its function.
  const char* target() const { return target_; }

  // --- inputs; asking for one that is not there throws, unless it says otherwise ---
  size_t input_count() const;
  bool has(size_t i) const;
  Item in(size_t i);
  Item in_or_absent(size_t i);
  /// Which may be narrow; all others are not.
  Item in_of_any_width(size_t i);
  std::vector<Item> all_inputs();
  c10::ScalarType dtype(size_t i = 0);
  /// Undefined where it is not known before the model runs.
  at::Tensor known(size_t i);
  std::optional<std::vector<int64_t>> known_ints(size_t i);
  /// How many dimensions it has, where that is known.
  std::optional<int64_t> known_dim(size_t i);
  /// It means nothing here.
  void skip(size_t i) { read_inputs_.insert(i); }
  /// As int[], int, and Scalar; computed where it is not known.
  Arg ints(size_t i);
  Arg integer(size_t i);
  Arg scalar(size_t i);

  // --- attributes; without a default they must be there ---
  bool has_attribute(const char* name) const;
  int64_t i(const char* name);
  int64_t i(const char* name, int64_t otherwise);
  double f(const char* name);
  double f(const char* name, double otherwise);
  std::string s(const char* name, const char* otherwise);
  /// One of `values`.
  std::string choice(const char* name, const char* otherwise, std::initializer_list<const char*> values);
  std::vector<int64_t> is(const char* name);  ///< empty where it is not there
  std::optional<std::vector<int64_t>> is_if_any(const char* name);
  std::vector<double> fs(const char* name);
  std::vector<std::string> ss(const char* name);
  at::Tensor t(const char* name);
  /// The dtype that a number stands for.
  c10::ScalarType dtype_named(const char* name);
  const ::onnx::GraphProto& g(const char* name);
  /// Attributes that mean nothing for inference.
  void ignore(std::initializer_list<const char*> names);

  // --- nodes ---
  /// The result of an operator with one; arguments that are left out have their defaults. `dtype`: of the result; that
  /// of input 0 where it is not said.
  Item call(std::string_view name, const std::vector<Arg>& args, std::optional<c10::ScalarType> dtype = std::nullopt);
  std::vector<Item> call_for(std::string_view name, const std::vector<Arg>& args,
                             const std::vector<c10::ScalarType>& dtypes);
  /// The elements of a list of tensors.
  std::vector<Item> unpack(const Item& list, size_t count, c10::ScalarType dtype);
  Item cast(const Item& x, c10::ScalarType dtype);
  Item constant(const at::Tensor& tensor);
  Item constant_attribute(const char* name);
  Item input_value(Item item);
  graph::Block& block() const { return block_; }
  Importer& importer() const { return importer_; }
  Scope& scope() const { return scope_; }
  int depth() const { return depth_; }

  // --- outputs ---
  size_t output_count() const;
  bool wants(size_t output) const;
  const std::string& output_name(size_t output) const;
  void out(Item item) { outputs.push_back(std::move(item)); }
  std::vector<Item> outputs;

  // --- errors ---
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    serialize::throw_format_error(c10::str(where(), ": ", parts...));
  }
  template <class... Parts>
  void check(bool good, const Parts&... parts) const {
    if (!good) fail(parts...);
  }
  template <class... Parts>
  void supported(bool good, const Parts&... parts) const {
    TORCH_CHECK_NOT_IMPLEMENTED(good, where(), ": ", parts...);
  }
  /// Inputs and attributes that nothing has asked for throw.
  void check_all_read() const;
  std::string where() const;

 private:
  const ::onnx::AttributeProto* attribute(const char* name, int type) const;
  const ::onnx::AttributeProto& required(const ::onnx::AttributeProto* found, const char* name) const;

  Importer& importer_;
  const ::onnx::NodeProto& node_;
  Scope& scope_;
  graph::Block& block_;
  int64_t opset_;
  const char* target_;
  int depth_;
  std::set<size_t> read_inputs_;
  mutable std::set<std::string> read_attributes_;
};

/// How an ONNX operator is turned into nodes.
struct Operator {
  const char* name;
  int since;  ///< the first opset with it, 1 for those older than 7
  void (*emit)(Emitter&);
  const char* target = nullptr;  ///< for the function: an operator's name
};

/// The tables, a family each.
c10::ArrayRef<Operator> math_operators();
c10::ArrayRef<Operator> shape_operators();
c10::ArrayRef<Operator> network_operators();
c10::ArrayRef<Operator> control_operators();
c10::ArrayRef<Operator> quantized_operators();

}  // namespace torch::onnx
