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

std::optional<size_t> dimension(const Operand& operand, const TensorInfo& info) {
  const auto given = number(operand);
  const auto dims = static_cast<double>(info.sizes.size());
  if (!given.has_value() || *given < -dims || *given >= dims) return std::nullopt;
  return static_cast<size_t>(*given < 0 ? *given + dims : *given);
}

// --- copies ---

std::string view(Printer& printer, const std::string& pointer, const TensorInfo& info) {
  return "{" + pointer + ", " + print(info.dtype) + ", " + print(info.sizes) + ", " + print(info.strides) + "}";
}

bool clone(Printer& printer, const Node& node) {
  copy_first(printer, node);
  return true;
}

// All of the first operand is written over.
bool copy(Printer& printer, const Node& node) {
  const TensorInfo out = *node.result()->info();
  TensorInfo in = printer.info(node.operand(1));
  if (in.sizes.size() > out.sizes.size()) return false;
  // What is broadcast.
  const size_t more = out.sizes.size() - in.sizes.size();
  in.sizes.insert(in.sizes.begin(), more, 1);
  in.strides.insert(in.strides.begin(), more, 0);
  for (size_t d = 0; d < out.sizes.size(); ++d) {
    if (in.sizes[d] == out.sizes[d]) continue;
    if (!(in.sizes[d] == IntExpr(1))) return false;
    in.sizes[d] = out.sizes[d];
    in.strides[d] = 0;
  }
  printer.include("compile/aot/runtime/copies.h");
  printer.line("torch::aot::copy(" + view(printer, printer.pointer(node.result()), out) + ", " +
               view(printer, printer.pointer(node.operand(1)), in) + ");");
  return true;
}

// The place of a result from `place` along a dimension on, with the sizes of what is written there.
bool write_part(Printer& printer, const Node& node, const IntExpr* unit, const std::string& place, size_t dim) {
  const TensorInfo whole = *node.result()->info(), from = printer.info(node.operand(1));
  TensorInfo part = whole;
  if (unit == nullptr) {
    part.sizes.erase(part.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    part.strides.erase(part.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  } else {
    part.strides[dim] = part.strides[dim] * *unit;
  }
  if (part.sizes.size() != from.sizes.size()) return false;
  part.sizes = from.sizes;
  const IntExpr bytes = whole.strides[dim] * static_cast<int64_t>(c10::elementSize(whole.dtype));
  copy_first(printer, node);
  printer.include("compile/aot/runtime/copies.h");
  printer.line("torch::aot::copy(" +
               view(printer, printer.pointer(node.result()) + " + " + place + " * " + print(bytes), part) + ", " +
               view(printer, printer.pointer(node.operand(1)), from) + ");");
  return true;
}

// A whole number as text; nothing for what is none.
std::optional<std::string> whole_number(const Operand& operand) {
  if (operand.is_expr()) return print(operand.expr());
  if (operand.is_value()) {
    if (operand.value()->expr() == nullptr) return std::nullopt;
    return print(*operand.value()->expr());
  }
  if (!operand.is_constant() || !operand.constant().isInt()) return std::nullopt;
  return print(operand.constant().toInt());
}

bool slice_scatter(Printer& printer, const Node& node) {
  const TensorInfo whole = *node.result()->info();
  const auto dim = dimension(node.argument("dim"), whole);
  const auto step = number(node.argument("step"));
  const Operand& start = node.argument("start");
  const auto from = graph::is_none(start) ? std::optional<std::string>("0") : whole_number(start);
  if (!dim.has_value() || !step.has_value() || !from.has_value()) return false;
  const IntExpr unit = static_cast<int64_t>(*step);
  return write_part(printer, node, &unit, "torch::aot::slice_start(" + *from + ", " + print(whole.sizes[*dim]) + ")",
                    *dim);
}

bool select_scatter(Printer& printer, const Node& node) {
  const TensorInfo whole = *node.result()->info();
  const auto dim = dimension(node.argument("dim"), whole);
  const auto index = whole_number(node.argument("index"));
  if (!dim.has_value() || !index.has_value()) return false;
  return write_part(printer, node, nullptr, "torch::aot::slice_start(" + *index + ", " + print(whole.sizes[*dim]) + ")",
                    *dim);
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
  const auto along = dimension(node.argument("dim"), out);
  if (!node.operand(0).is_list() || !along.has_value()) return false;
  const size_t dim = *along;
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

void copy_first(Printer& printer, const Node& node) {
  const TensorInfo out = *node.result()->info(), in = printer.info(node.operand(0));
  const std::string to = printer.pointer(node.result()), from = printer.pointer(node.operand(0));
  if (to == from) return;
  if (out.dtype == in.dtype && graph::is_row_major(in) && graph::is_row_major(out)) {
    printer.include("cstring");
    printer.line("std::memcpy(" + to + ", " + from + ", " +
                 print(numel(out) * static_cast<int64_t>(c10::elementSize(out.dtype))) + ");");
    return;
  }
  printer.include("compile/aot/runtime/copies.h");
  printer.line("torch::aot::copy(" + view(printer, to, out) + ", " + view(printer, from, in) + ");");
}

Step find_step(std::string_view op) {
  static const auto* const steps = new std::map<std::string_view, Step>{
      {"convolution", convolution_step},
      {"linear", product_step},
      {"mm", product_step},
      {"addmm", product_step},
      {"clone", clone},
      {"_to_copy", clone},
      {"cat", cat},
      {"copy", copy},
      {"slice_scatter", slice_scatter},
      {"select_scatter", select_scatter},
      {"full", full},
  };
  const auto found = steps->find(op);
  return found == steps->end() ? nullptr : found->second;
}

}  // namespace torch::aot
