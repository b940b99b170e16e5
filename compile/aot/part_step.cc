// The steps of control flow: programs of their own, in memory of the one around them.
#include <algorithm>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "graph/ir/text.h"

namespace torch::aot {

using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using Kind = Node::Kind;

namespace {

// Of one turn's part of what is sliced or stacked.
std::string slice_bytes(const TensorInfo& info) {
  return "(" + print(bytes_of(info, 1)) + ")";
}

}  // namespace

// Prints the bodies' classes. They use the same memory, from what scratch() gives on.
Printer::Bodies Printer::add_bodies(const ProgramPart& part, const std::string& name) {
  Bodies bodies;
  include("optional");
  for (size_t b = 0; b < part.bodies.size(); ++b) {
    const PreparedProgram& program = *part.bodies[b].program;
    PrintOptions options = options_;
    options.class_name = options_.class_name + "Part" + std::to_string(part_count_++);
    options.embed_weights = false;
    Printer body(program, options, *this);
    body.print_steps();
    const int64_t place = add_weights(body.weights_.data(), body.weights_.size());
    parts_ += body.class_text() + "\n" + body.definitions() + "\n";
    includes_.insert(body.includes_.begin(), body.includes_.end());
    families_.insert(body.families_.begin(), body.families_.end());
    allocating_.insert(allocating_.end(), body.allocating_.begin(), body.allocating_.end());
    report_ += name + ", " + std::to_string(b) + "\n  ";
    for (const char c : body.report_) report_ += c == '\n' ? std::string("\n  ") : std::string(1, c);
    report_ += "\n";
    if (part.kind == Kind::kScan) all_operations_ = all_operations_ + body.all_operations_ * part.turns;
    const std::string weights =
        add_shared("std::shared_ptr<const " + options.class_name + "::Shared>",
                   options.class_name + "::share(torch::aot::Weights(" + byte_offset("w", place) + ", " +
                       std::to_string(body.weights_.size()) + "))");
    const std::string member = "part" + std::to_string(part_count_ - 1);
    const int64_t bytes = std::max(aligned(body.arena_bytes()), kAlignment);
    bodies.bytes = std::max(bodies.bytes, bytes);
    state_members_ += "  std::optional<" + options.class_name + "> " + member + ";\n";
    constructor_ += "    " + member + ".emplace(shared->" + weights + ", " + scratch(bytes) + ");\n";
    bodies.calls.push_back("state." + member + "->run(");
  }
  return bodies;
}

std::string Printer::body_call(const std::string& call, const PreparedProgram& body,
                               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const {
  std::vector<std::string> sizes, from, to;
  for (const auto& symbol : largest_) sizes.push_back(symbol.first);
  const graph::Block& block = body.graph->block();
  for (size_t i = 0; i < inputs.size(); ++i) {
    from.push_back(std::string("reinterpret_cast<const ") + element_type(block.input(i)->info()->dtype) + "*>(" +
                   inputs[i] + ")");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    to.push_back(std::string("reinterpret_cast<") + element_type(block.outputs()[i].value()->info()->dtype) + "*>(" +
                 outputs[i] + ")");
  }
  return call + (sizes.empty() ? "" : braces(sizes) + ", ") + braces(from) + ", " + braces(to) + ");";
}

void Printer::part_step(const Node& invoke) {
  const ProgramPart& part = program_.parts.at(invoke.name());
  const char* const kind = part.kind == Kind::kIf ? "if" : part.kind == Kind::kWhile ? "while" : "scan";
  line("// " + graph::print_node(invoke) + ": " + kind);
  const auto [calls, body_bytes] = add_bodies(part, invoke.name() + ": " + kind);
  const auto inputs = [&](size_t b, const auto& place) {
    std::vector<std::string> all;
    for (const size_t i : part.bodies[b].operands) all.push_back(place(i));
    return all;
  };
  const auto operand_place = [&](size_t i) { return pointer(invoke.operand(i)); };
  if (part.kind == Kind::kIf) {
    std::string condition;
    if (part.condition.has_value()) {
      condition = print(part.condition->left) + " " + part.condition->comparison + " " + print(part.condition->right);
    } else {
      const char* const type = element_type(info(invoke.operand(0)).dtype);
      condition =
          std::string("*reinterpret_cast<const ") + type + "*>(" + pointer(invoke.operand(0)) + ") != " + type + "()";
    }
    std::vector<std::string> results;
    for (size_t i = 0; i < invoke.result_count(); ++i) results.push_back(pointer(invoke.result(i)));
    line("if (" + condition + ") {");
    line("  " + body_call(calls[0], *part.bodies[0].program, inputs(0, operand_place), results));
    line("} else {");
    line("  " + body_call(calls[1], *part.bodies[1].program, inputs(1, operand_place), results));
    line("}");
    return;
  }
  // Behind the bodies' memory: the condition, and the other place of what is carried.
  const std::string memory = scratch(body_bytes);
  int64_t used = body_bytes;
  include("cstring");
  include("utility");
  line("{");
  const int64_t flag = used;
  used += kAlignment;
  std::vector<std::string> carried, next;
  for (size_t k = 0; k < part.carried; ++k) {
    const TensorInfo info = *invoke.result(k)->info();
    const std::string i = std::to_string(k);
    line("  char *now" + i + " = " + pointer(invoke.result(k)) + ", *next" + i + " = " + byte_offset(memory, used) +
         ";");
    line("  std::memcpy(now" + i + ", " + operand_place(k) + ", " + print(bytes_of(info)) + ");");
    carried.push_back("now" + i);
    next.push_back("next" + i);
    used += aligned(largest(bytes_of(info)));
  }
  scratch(used);
  const auto place = [&](size_t i) {
    if (i < part.carried) return carried[i];
    const std::string at = operand_place(i);
    return i < part.carried + part.sliced ? at + " + turn * " + slice_bytes(info(invoke.operand(i))) : at;
  };
  std::vector<std::string> results = next;
  for (size_t i = part.carried; i < invoke.result_count(); ++i) {
    results.push_back(pointer(invoke.result(i)) + " + turn * " + slice_bytes(*invoke.result(i)->info()));
  }
  if (part.kind == Kind::kWhile) {
    line("  char* const goes_on = " + byte_offset(memory, flag) + ";");
    line("  while (true) {");
    line("    " + body_call(calls[0], *part.bodies[0].program, inputs(0, place), {"goes_on"}));
    line("    if (*goes_on == 0) break;");
  } else {
    line("  for (int64_t turn = 0; turn < " + print(part.turns) + "; ++turn) {");
  }
  line("    " + body_call(calls.back(), *part.bodies.back().program, inputs(part.bodies.size() - 1, place), results));
  for (size_t k = 0; k < part.carried; ++k) line("    std::swap(" + carried[k] + ", " + next[k] + ");");
  line("  }");
  for (size_t k = 0; k < part.carried; ++k) {
    const std::string at = pointer(invoke.result(k));
    line("  if (" + carried[k] + " != " + at + ") std::memcpy(" + at + ", " + carried[k] + ", " +
         print(bytes_of(*invoke.result(k)->info())) + ");");
  }
  line("}");
}

}  // namespace torch::aot
