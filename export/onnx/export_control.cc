// Branches and loops as If, Loop and Scan.
#include "export/onnx/inner_graph.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;
using graph::Block;
using graph::Node;
using graph::Operand;
using graph::Value;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;

ScalarType dtype_of(const Value* value) {
  supported(value->info() != nullptr, "nothing is known of a tensor");
  return value->info()->dtype;
}
GraphProto& graph_attribute(::onnx::NodeProto& node, const char* name) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return *attribute.mutable_g();
}

}  // namespace

Name Exporter::truth(const Operand& operand) {
  const Name x = tensor(operand);
  if (!operand.is_value() || operand.value()->info() == nullptr) return x;
  return cast(x, operand.value()->info()->dtype, ScalarType::Bool);
}
Names Exporter::listed(const Operand& list) {
  return tensors(list);
}
void Exporter::inner_input(GraphProto& graph, const Name& name, ScalarType dtype, bool scalar) {
  ::onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(number_of(dtype)));
  if (scalar) input.mutable_type()->mutable_tensor_type()->mutable_shape();
}
void Exporter::inner_output(GraphProto& graph, const Name& name, ScalarType dtype) {
  // A graph's outputs are made in it.
  const Name own = node("Identity", {name});
  ::onnx::ValueInfoProto& output = *graph.add_output();
  output.set_name(own);
  output.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(number_of(dtype)));
}

void Exporter::if_else(const Node& node) {
  Names results;
  for (size_t i = 0; i < node.result_count(); ++i) results.push_back(fresh("if"));
  const Name condition = truth(node.operand(0));
  ::onnx::NodeProto made;
  for (const size_t b : {0, 1}) {
    GraphProto& graph = graph_attribute(made, b == 0 ? "then_branch" : "else_branch");
    const Inner inner(*this, graph);
    const Names outputs = inlined(node.block(b), {});
    for (size_t i = 0; i < outputs.size(); ++i) inner_output(graph, outputs[i], dtype_of(node.result(i)));
  }
  *add_node("If", {condition}, results).mutable_attribute() = made.attribute();
  for (size_t i = 0; i < results.size(); ++i) define(node.result(i), results[i]);
}

void Exporter::while_loop(const Node& node) {
  const Names start = listed(node.operand(0)), others = listed(node.operand(1));
  const auto with_others = [&](Names all) {
    all.insert(all.end(), others.begin(), others.end());
    return all;
  };
  const auto condition = [&](const Names& carried) {
    inlined(node.block(0), with_others(carried));
    return truth(node.block(0).outputs()[0]);
  };
  Names inputs{"", condition(start)};
  inputs.insert(inputs.end(), start.begin(), start.end());
  ::onnx::NodeProto made;
  {
    GraphProto& graph = graph_attribute(made, "body");
    const Inner inner(*this, graph);
    inner_input(graph, fresh("turn"), ScalarType::Long, /*scalar=*/true);
    inner_input(graph, fresh("go_on"), ScalarType::Bool, /*scalar=*/true);
    Names carried;
    for (size_t i = 0; i < start.size(); ++i) {
      carried.push_back(fresh("carried"));
      inner_input(graph, carried.back(), dtype_of(node.result(i)));
    }
    const Names next = inlined(node.block(1), with_others(carried));
    inner_output(graph, condition(next), ScalarType::Bool);
    for (size_t i = 0; i < next.size(); ++i) inner_output(graph, next[i], dtype_of(node.result(i)));
  }
  Names results;
  for (size_t i = 0; i < node.result_count(); ++i) results.push_back(fresh("loop"));
  *add_node("Loop", inputs, results).mutable_attribute() = made.attribute();
  for (size_t i = 0; i < results.size(); ++i) define(node.result(i), results[i]);
}

// Also of a map, which carries nothing.
void Exporter::scan(const Node& node) {
  const bool carries = node.kind() == Node::Kind::kScan;
  const Names start = carries ? listed(node.operand(0)) : Names();
  const Names xs = listed(node.operand(carries ? 1 : 0)), others = listed(node.operand(carries ? 2 : 1));
  Names inputs = start;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  ::onnx::NodeProto made;
  {
    GraphProto& graph = graph_attribute(made, "body");
    const Inner inner(*this, graph);
    Names given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      given.push_back(fresh(i < start.size() ? "carried" : "slice"));
      inner_input(graph, given.back(), dtype_of(node.block(0).input(i)));
    }
    given.insert(given.end(), others.begin(), others.end());
    const Names outputs = inlined(node.block(0), given);
    for (size_t i = 0; i < outputs.size(); ++i) inner_output(graph, outputs[i], dtype_of(node.result(i)));
  }
  AttributeProto& count = *made.add_attribute();
  count.set_name("num_scan_inputs");
  count.set_type(AttributeProto::INT);
  count.set_i(static_cast<int64_t>(xs.size()));
  Names results;
  for (size_t i = 0; i < node.result_count(); ++i) results.push_back(fresh("scan"));
  *add_node("Scan", inputs, results).mutable_attribute() = made.attribute();
  for (size_t i = 0; i < results.size(); ++i) define(node.result(i), results[i]);
}

void Exporter::control(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kIf:
      return if_else(node);
    case Node::Kind::kWhile:
      return while_loop(node);
    case Node::Kind::kMap:
    case Node::Kind::kScan:
      return scan(node);
    case Node::Kind::kScope: {
      // What a mode does not change for inference.
      supported(node.name() == "set_grad_enabled", "its scope is ", node.name());
      const Names outputs = inlined(node.block(0), {});
      for (size_t i = 0; i < outputs.size(); ++i) define(node.result(i), outputs[i]);
      return;
    }
    default:
      supported(false, "its values are no tensors");
  }
}

}  // namespace torch::onnx
