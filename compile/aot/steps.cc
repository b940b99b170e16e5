#include "compile/aot/steps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/ops/view/ops.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "graph/passes/operands.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {
namespace {

using c10::IValue;
using c10::ScalarType;
using graph::IntExpr;
using graph::is_constant_tensor;
using graph::is_one;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;

bool is_floating(ScalarType dtype) {
  return dtype == ScalarType::Float || dtype == ScalarType::Double;
}

IntExpr numel(const TensorInfo& info) {
  IntExpr n = 1;
  for (const IntExpr& size : info.sizes) n = n * size;
  return n;
}

// --- element by element ---

// A loop over dense tensors of one shape and dtype.
bool loop(Printer& printer, const Node& node, const char* op, const std::vector<Operand>& inputs,
          const std::vector<double>& numbers) {
  const TensorInfo out = *node.result()->info();
  if (!is_floating(out.dtype) || !graph::is_row_major(out)) return false;
  for (const Operand& input : inputs) {
    if (!input.is_value() && !is_constant_tensor(input)) return false;
    const TensorInfo in = printer.info(input);
    if (in.dtype != out.dtype || in.sizes != out.sizes || !graph::is_row_major(in)) return false;
  }
  const bool wide = out.dtype == ScalarType::Double;
  const std::string type = wide ? "double" : "float";
  printer.include("compile/aot/runtime/loops.h");
  std::vector<std::string> data{printer.pointer(node.result())}, params;
  for (const Operand& input : inputs) data.push_back(printer.pointer(input));
  for (const double number : numbers) params.push_back("static_cast<" + type + ">(" + print_double(number) + ")");
  const std::string op_name = std::string("at::cpu::loops::") + op + (wide ? ".float64" : ".float32");
  printer.line("torch::aot::loop<" + type + ">(" + op_name + ", " + braces(params) + ", " + print(numel(out)) + ", " +
               joined(data, ", ") + ");");
  printer.count(numel(out));
  return true;
}

std::optional<double> number(const Operand& operand) {
  if (!operand.is_constant()) return std::nullopt;
  const IValue& v = operand.constant();
  if (v.isInt()) return static_cast<double>(v.toInt());
  if (v.isDouble()) return v.toDouble();
  return std::nullopt;
}

template <const char* const& Op>
bool unary(Printer& printer, const Node& node) {
  return loop(printer, node, Op, {node.operand(0)}, {});
}
template <const char* const& Op>
bool binary(Printer& printer, const Node& node) {
  return loop(printer, node, Op, {node.operand(0), node.operand(1)}, {});
}

bool relu(Printer& printer, const Node& node) {
  return loop(printer, node, "clamp_min", {node.operand(0)}, {0});
}
bool hardtanh(Printer& printer, const Node& node) {
  const auto low = number(node.operand(1)), high = number(node.operand(2));
  return low.has_value() && high.has_value() && loop(printer, node, "clamp", {node.operand(0)}, {*low, *high});
}
bool add(Printer& printer, const Node& node) {
  return is_one(node.argument("alpha")) && loop(printer, node, "add", {node.operand(0), node.operand(1)}, {});
}
bool sub(Printer& printer, const Node& node) {
  return is_one(node.argument("alpha")) && loop(printer, node, "sub", {node.operand(0), node.operand(1)}, {});
}
bool gelu(Printer& printer, const Node& node) {
  const Operand& how = node.argument("approximate");
  if (!how.is_constant() || !how.constant().isString()) return false;
  return loop(printer, node, how.constant().toStringRef() == "tanh" ? "gelu_tanh" : "gelu", {node.operand(0)}, {});
}

constexpr const char* kSigmoid = "sigmoid";
constexpr const char* kTanh = "tanh";
constexpr const char* kSilu = "silu";
constexpr const char* kHardswish = "hardswish";
constexpr const char* kHardsigmoid = "hardsigmoid";
constexpr const char* kMul = "mul";
constexpr const char* kDiv = "div";

// --- copies ---

std::string view(Printer& printer, const std::string& pointer, const TensorInfo& info) {
  return "{" + pointer + ", " + print(info.dtype) + ", " + print(info.sizes) + ", " + print(info.strides) + "}";
}

bool clone(Printer& printer, const Node& node) {
  const TensorInfo out = *node.result()->info(), in = printer.info(node.operand(0));
  if (out.dtype == in.dtype && graph::is_row_major(in) && graph::is_row_major(out)) {
    printer.include("cstring");
    printer.line("std::memcpy(" + printer.pointer(node.result()) + ", " + printer.pointer(node.operand(0)) + ", " +
                 print(numel(out) * static_cast<int64_t>(c10::elementSize(out.dtype))) + ");");
    return true;
  }
  printer.include("compile/aot/runtime/copies.h");
  printer.line("torch::aot::copy(" + view(printer, printer.pointer(node.result()), out) + ", " +
               view(printer, printer.pointer(node.operand(0)), in) + ");");
  return true;
}

bool cat(Printer& printer, const Node& node) {
  const TensorInfo out = *node.result()->info();
  const auto along = number(node.argument("dim"));
  if (!node.operand(0).is_list() || !along.has_value() || out.sizes.empty()) return false;
  const size_t dim = static_cast<size_t>(*along < 0 ? *along + static_cast<double>(out.sizes.size()) : *along);
  for (const Operand& part : node.operand(0).list()) {
    if (!part.is_value() && !is_constant_tensor(part)) return false;
    if (printer.info(part).sizes.size() != out.sizes.size()) return false;  // the empty vector goes with anything
  }
  printer.include("compile/aot/runtime/copies.h");
  IntExpr before = 0;
  for (const Operand& part : node.operand(0).list()) {
    TensorInfo in = printer.info(part), to = out;
    to.sizes = in.sizes;
    const IntExpr bytes = before * out.strides[dim] * static_cast<int64_t>(c10::elementSize(out.dtype));
    printer.line("torch::aot::copy(" + view(printer, printer.pointer(node.result()) + " + " + print(bytes), to) + ", " +
                 view(printer, printer.pointer(part), in) + ");");
    before = before + in.sizes[dim];
  }
  return true;
}

}  // namespace

Step find_step(std::string_view op) {
  static const auto* const steps = new std::map<std::string_view, Step>{
      {"convolution", convolution_step},
      {"linear", product_step},
      {"mm", product_step},
      {"addmm", product_step},
      {"relu", relu},
      {"hardtanh", hardtanh},
      {"add.Tensor", add},
      {"sub.Tensor", sub},
      {"mul.Tensor", binary<kMul>},
      {"div.Tensor", binary<kDiv>},
      {"sigmoid", unary<kSigmoid>},
      {"tanh", unary<kTanh>},
      {"silu", unary<kSilu>},
      {"hardswish", unary<kHardswish>},
      {"hardsigmoid", unary<kHardsigmoid>},
      {"gelu", gelu},
      {"clone", clone},
      {"_to_copy", clone},
      {"cat", cat},
  };
  const auto found = steps->find(op);
  return found == steps->end() ? nullptr : found->second;
}

}  // namespace torch::aot
