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
using graph::Node;
using graph::Operand;
using graph::TensorInfo;

IntExpr numel(const TensorInfo& info) {
  IntExpr n = 1;
  for (const IntExpr& size : info.sizes) n = n * size;
  return n;
}

std::optional<double> number(const Operand& operand) {
  if (!operand.is_constant()) return std::nullopt;
  const IValue& v = operand.constant();
  if (v.isInt()) return static_cast<double>(v.toInt());
  if (v.isDouble()) return v.toDouble();
  return std::nullopt;
}

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

// One number everywhere.
bool full(Printer& printer, const Node& node) {
  const TensorInfo out = *node.result()->info();
  const Operand& value = node.argument("fill_value");
  if (!value.is_constant() || !value.constant().isScalar() || !graph::is_row_major(out)) return false;
  const c10::Scalar number = value.constant().toScalar();
  const bool floating = out.dtype == ScalarType::Float || out.dtype == ScalarType::Double;
  const bool whole = c10::isIntegralType(out.dtype, true) && number.isIntegral(true);
  if (!(floating && !number.isComplex()) && !whole) return false;
  const std::string type = out.dtype == ScalarType::Bool ? "uint8_t" : element_type(out.dtype);
  const std::string text = floating                        ? print_double(number.toDouble())
                           : out.dtype == ScalarType::Bool ? (number.toBool() ? "1" : "0")
                                                           : print(number.toLong());
  printer.include("algorithm");
  printer.line("std::fill_n(reinterpret_cast<" + type + "*>(" + printer.pointer(node.result()) + "), " +
               print(numel(out)) + ", static_cast<" + type + ">(" + text + "));");
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
      {"clone", clone},
      {"_to_copy", clone},
      {"cat", cat},
      {"full", full},
  };
  const auto found = steps->find(op);
  return found == steps->end() ? nullptr : found->second;
}

}  // namespace torch::aot
