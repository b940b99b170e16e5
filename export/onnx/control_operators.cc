// Branches, loops, sequences and optional values.
#include "export/onnx/emitter.h"
#include "export/onnx/importer.h"
#include "third_party/onnx/onnx.pb.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;
using graph::Block;
using graph::Node;
using graph::Operand;
using ::onnx::GraphProto;

c10::TypePtr tensor_list() {
  static const c10::TypePtr type = c10::ListType::create(c10::TensorType::get());
  return type;
}
c10::TypePtr type_of(const Item& item) {
  return item.sequence ? tensor_list() : c10::TypePtr(c10::TensorType::get());
}
Item made(graph::Value* value, ScalarType dtype, bool sequence = false) {
  Item item;
  item.value = value;
  item.dtype = dtype;
  item.sequence = sequence;
  return item;
}
Node* append(Block& block, Node::Kind kind, std::vector<Operand> operands) {
  return block.append(block.graph().make(kind, std::move(operands)));
}
graph::Value* call_in(Emitter& e, Block& block, const char* name, std::vector<Operand> operands) {
  return block.append(block.graph().call(*e.importer().callable(name), std::move(operands)))->result();
}
Item empty_list(Emitter& e, ScalarType dtype) {
  Node* list = append(e.block(), Node::Kind::kList, {});
  return made(list->add_result(tensor_list()), dtype, true);
}
// One from every turn of a loop, as one tensor.
Item stacked(Emitter& e, const Item& list, bool joined = false, int64_t axis = 0) {
  return e.call("onnx::stack", {list, axis, joined, list.dtype}, list.dtype);
}

void if_else(Emitter& e) {
  const GraphProto &then_graph = e.g("then_branch"), &else_graph = e.g("else_branch");
  Node* node = append(e.block(), Node::Kind::kIf, {Operand(e.in(0).value)});
  std::vector<Item> results;
  for (const GraphProto* graph : {&then_graph, &else_graph}) {
    Block& block = node->add_block();
    const std::vector<Item> outputs = e.importer().body(*graph, block, e.scope(), {}, e.depth());
    std::vector<Operand> operands;
    for (const Item& item : outputs) operands.emplace_back(item.value);
    block.set_outputs(std::move(operands));
    if (results.empty()) results = outputs;
    e.check(results.size() == outputs.size() && outputs.size() == e.output_count(), "expected ", e.output_count(),
            " outputs of each branch, but got ", outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      e.check(results[k].dtype == outputs[k].dtype && results[k].sequence == outputs[k].sequence, "output ", k,
              " is of another type in the other branch");
    }
  }
  for (const Item& item : results) e.out(made(node->add_result(type_of(item)), item.dtype, item.sequence));
}

void loop(Emitter& e) {
  const GraphProto& body = e.g("body");
  e.check(e.input_count() >= 2, "expected at least two inputs");
  const Operand turns = e.has(0) ? e.integer(0).operand() : Operand(c10::IValue());
  const Operand condition =
      e.has(1) ? Operand(call_in(e, e.block(), "onnx::truth", {Operand(e.in(1).value)})) : Operand(c10::IValue(true));
  std::vector<Item> carried;
  for (size_t k = 2; k < e.input_count(); ++k) carried.push_back(e.in(k));
  const size_t kept = carried.size();
  e.check(static_cast<size_t>(body.input_size()) == kept + 2 &&
              static_cast<size_t>(body.output_size()) == e.output_count() + 1 && e.output_count() >= kept,
          "the body has ", body.input_size(), " inputs and ", body.output_size(), " outputs for ", kept,
          " carried values and ", e.output_count(), " outputs");
  const size_t collected = e.output_count() - kept;
  for (size_t k = 0; k < collected; ++k) carried.push_back(empty_list(e, ScalarType::Undefined));

  std::vector<Operand> initial;
  for (const Item& item : carried) initial.emplace_back(item.value);
  Node* node = append(e.block(), Node::Kind::kLoop, {turns, condition, Operand(std::move(initial))});
  Block& block = node->add_block();
  graph::Value* turn = block.add_input(c10::IntType::get());
  std::vector<Item> inputs{made(call_in(e, block, "onnx::number", {Operand(turn)}), ScalarType::Long)};
  inputs.push_back(made(call_in(e, block, "onnx::true", {}), ScalarType::Bool));
  for (size_t k = 0; k < carried.size(); ++k) {
    carried[k].value = block.add_input(type_of(carried[k]));
    if (k < kept) inputs.push_back(carried[k]);
  }
  std::vector<Item> outputs = e.importer().body(body, block, e.scope(), inputs, e.depth());
  std::vector<Operand> next{Operand(call_in(e, block, "onnx::truth", {Operand(outputs[0].value)}))};
  for (size_t k = 0; k < kept; ++k) {
    e.check(outputs[k + 1].sequence == carried[k].sequence, "carried value ", k, " becomes one of another type");
    // A sequence begins empty, of no dtype.
    if (carried[k].sequence && carried[k].dtype == ScalarType::Undefined) carried[k].dtype = outputs[k + 1].dtype;
    e.check(outputs[k + 1].dtype == carried[k].dtype, "carried value ", k, " is ", carried[k].dtype, " and becomes ",
            outputs[k + 1].dtype);
    next.emplace_back(outputs[k + 1].value);
  }
  for (size_t k = 0; k < collected; ++k) {
    const Item& one = outputs[kept + 1 + k];
    e.check(!one.sequence, "output ", kept + k, ": sequences cannot be stacked");
    carried[kept + k].dtype = one.dtype;
    next.emplace_back(call_in(e, block, "onnx::append", {Operand(carried[kept + k].value), Operand(one.value)}));
  }
  block.set_outputs(std::move(next));
  for (size_t k = 0; k < carried.size(); ++k) {
    const Item result = made(node->add_result(type_of(carried[k])), carried[k].dtype, carried[k].sequence);
    e.out(k < kept ? result : stacked(e, result));
  }
}

void scan(Emitter& e) {
  const GraphProto& body = e.g("body");
  const int64_t given = e.i("num_scan_inputs");
  e.check(given > 0 && given <= static_cast<int64_t>(e.input_count()), "num_scan_inputs is ", given);
  const auto scanned = static_cast<size_t>(given);
  const size_t kept = e.input_count() - scanned;
  const auto list = [&](const char* name, size_t count) {
    std::vector<int64_t> values = e.is(name);
    if (values.empty()) values.assign(count, 0);
    e.check(values.size() == count, "expected ", count, " values in ", name, ", but got ", values.size());
    return values;
  };
  e.check(e.output_count() >= kept && static_cast<size_t>(body.output_size()) == e.output_count() &&
              static_cast<size_t>(body.input_size()) == e.input_count(),
          "the body has ", body.input_size(), " inputs and ", body.output_size(), " outputs for ", e.input_count(),
          " and ", e.output_count());
  const size_t collected = e.output_count() - kept;
  const auto in_axes = list("scan_input_axes", scanned), in_directions = list("scan_input_directions", scanned),
             out_axes = list("scan_output_axes", collected), out_directions = list("scan_output_directions", collected);
  std::vector<Item> inputs;
  std::vector<Operand> carried, tensors;
  for (size_t k = 0; k < e.input_count(); ++k) {
    Item item = e.in(k);
    e.check(!item.sequence, "input ", k, " is a sequence");
    if (k >= kept) {
      if (in_axes[k - kept] != 0) item = e.call("aten::movedim.int", {item, in_axes[k - kept], 0}, item.dtype);
      if (in_directions[k - kept] != 0) item = e.call("aten::flip", {item, std::vector<int64_t>{0}}, item.dtype);
    }
    (k < kept ? carried : tensors).emplace_back(item.value);
    inputs.push_back(item);
  }
  Node* node = append(e.block(), Node::Kind::kScan,
                      {Operand(std::move(carried)), Operand(std::move(tensors)), Operand(std::vector<Operand>())});
  Block& block = node->add_block();
  for (Item& item : inputs) item.value = block.add_input(c10::TensorType::get());
  const std::vector<Item> outputs = e.importer().body(body, block, e.scope(), inputs, e.depth());
  std::vector<Operand> next;
  for (const Item& item : outputs) {
    e.check(!item.sequence, "the body gives a sequence");
    next.emplace_back(item.value);
  }
  block.set_outputs(std::move(next));
  std::vector<Item> results;
  for (const Item& item : outputs) results.push_back(made(node->add_result(c10::TensorType::get()), item.dtype));
  for (size_t k = 0; k < results.size(); ++k) {
    Item item = results[k];
    if (k >= kept) {
      if (out_directions[k - kept] != 0) item = e.call("aten::flip", {item, std::vector<int64_t>{0}}, item.dtype);
      if (out_axes[k - kept] != 0) item = e.call("aten::movedim.int", {item, 0, out_axes[k - kept]}, item.dtype);
    }
    e.out(item);
  }
}

// --- sequences ---

Item sequence_in(Emitter& e, size_t i) {
  const Item item = e.in(i);
  e.check(item.sequence, "input ", i, " is no sequence");
  return item;
}
Item sequence_call(Emitter& e, const char* name, const std::vector<Arg>& args, ScalarType dtype) {
  Item item = e.call(name, args, dtype);
  item.sequence = true;
  return item;
}
void sequence_construct(Emitter& e) {
  std::vector<Operand> parts;
  const std::vector<Item> inputs = e.all_inputs();
  e.check(!inputs.empty(), "expected at least one input");
  for (const Item& item : inputs) {
    e.check(!item.sequence, "a sequence in a sequence");
    parts.emplace_back(item.value);
  }
  Node* list = append(e.block(), Node::Kind::kList, std::move(parts));
  e.out(made(list->add_result(tensor_list()), inputs[0].dtype, true));
}
void sequence_empty(Emitter& e) {
  e.out(empty_list(e, e.has_attribute("dtype") ? e.dtype_named("dtype") : ScalarType::Float));
}
void sequence_at(Emitter& e) {
  const Item list = sequence_in(e, 0);
  e.out(e.call("onnx::at", {list, e.integer(1)}, list.dtype));
}
void sequence_insert(Emitter& e) {
  const Item list = sequence_in(e, 0), item = e.in(1);
  e.check(!item.sequence, "a sequence in a sequence");
  e.out(sequence_call(e, "onnx::insert", {list, item, e.has(2) ? e.integer(2) : Arg(std::nullopt)}, item.dtype));
}
void sequence_erase(Emitter& e) {
  const Item list = sequence_in(e, 0);
  e.out(sequence_call(e, "onnx::erase", {list, e.has(1) ? e.integer(1) : Arg(-1)}, list.dtype));
}
void sequence_length(Emitter& e) {
  e.out(e.call("onnx::length", {sequence_in(e, 0)}, ScalarType::Long));
}
void concat_from_sequence(Emitter& e) {
  const bool new_axis = e.i("new_axis", 0) != 0;
  const int64_t axis = e.i("axis");
  e.out(stacked(e, sequence_in(e, 0), !new_axis, axis));
}
void split_to_sequence(Emitter& e) {
  const int64_t axis = e.i("axis", 0);
  const bool keep = e.i("keepdims", 1) != 0;
  const Item x = e.in(0);
  e.out(sequence_call(e, "onnx::split_to_sequence", {x, e.in_or_absent(1), axis, keep}, x.dtype));
}
// The graph for every element.
void sequence_map(Emitter& e) {
  const GraphProto& body = e.g("body");
  const std::vector<Item> given = e.all_inputs();
  e.check(!given.empty() && given[0].sequence, "input 0 is no sequence");
  std::vector<Item> lists;
  std::vector<Operand> initial;
  for (size_t k = 0; k < e.output_count(); ++k) lists.push_back(empty_list(e, ScalarType::Undefined));
  for (const Item& list : lists) initial.emplace_back(list.value);
  const Item length = e.call("onnx::int", {e.call("onnx::length", {given[0]}, ScalarType::Long)}, ScalarType::Long);
  Node* node = append(e.block(), Node::Kind::kLoop,
                      {Operand(length.value), Operand(c10::IValue(true)), Operand(std::move(initial))});
  Block& block = node->add_block();
  graph::Value* turn = block.add_input(c10::IntType::get());
  for (Item& list : lists) list.value = block.add_input(tensor_list());
  std::vector<Item> inputs;
  for (const Item& item : given) {
    inputs.push_back(
        item.sequence ? made(call_in(e, block, "onnx::at", {Operand(item.value), Operand(turn)}), item.dtype) : item);
  }
  const std::vector<Item> outputs = e.importer().body(body, block, e.scope(), inputs, e.depth());
  e.check(outputs.size() == lists.size(), "the body has ", outputs.size(), " outputs for ", lists.size());
  std::vector<Operand> next{Operand(c10::IValue(true))};
  for (size_t k = 0; k < lists.size(); ++k) {
    next.emplace_back(call_in(e, block, "onnx::append", {Operand(lists[k].value), Operand(outputs[k].value)}));
  }
  block.set_outputs(std::move(next));
  for (const Item& output : outputs) e.out(made(node->add_result(tensor_list()), output.dtype, true));
}

// --- optional values: what is there, as only those are supported ---

void optional_get_element(Emitter& e) {
  e.out(e.in(0));
}
void optional_has_element(Emitter& e) {
  const bool there = e.has(0);
  e.skip(0);
  e.out(made(call_in(e, e.block(), there ? "onnx::true" : "onnx::false", {}), ScalarType::Bool));
}

constexpr Operator kOperators[] = {
    {"ConcatFromSequence", 11, concat_from_sequence},
    {"If", 1, if_else},
    {"Loop", 1, loop},
    {"OptionalGetElement", 15, optional_get_element},
    {"OptionalHasElement", 15, optional_has_element},
    {"Scan", 9, scan},
    {"SequenceAt", 11, sequence_at},
    {"SequenceConstruct", 11, sequence_construct},
    {"SequenceEmpty", 11, sequence_empty},
    {"SequenceErase", 11, sequence_erase},
    {"SequenceInsert", 11, sequence_insert},
    {"SequenceLength", 11, sequence_length},
    {"SequenceMap", 17, sequence_map},
    {"SplitToSequence", 11, split_to_sequence},
};

}  // namespace

c10::ArrayRef<Operator> control_operators() {
  return kOperators;
}

}  // namespace torch::onnx
