#include "compile/aot/epilogue.h"

#include "compile/aot/printing.h"

namespace torch::aot {

using graph::Node;
using graph::Operand;
using graph::Value;

namespace {

std::string number(const Operand& operand) {
  const c10::IValue& v = operand.constant();
  return print_double(v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble()) + "f";
}

}  // namespace

Epilogue epilogue_of(Printer& printer, const std::vector<const Node*>& group) {
  printer.include("cmath");
  Epilogue epilogue;
  const Value* sum = group.front()->result();
  for (const Node* after : group) {
    if (after->calls("aten::add.Tensor")) {
      const Value* other = after->operand(after->operand(0).value() == sum ? 1 : 0).value();
      epilogue.add = "reinterpret_cast<const float*>(" + printer.pointer(other) + ")";
    } else if (after->calls("aten::relu")) {
      epilogue.low = "0.0f";
    } else if (after->calls("aten::relu6")) {
      epilogue.low = "0.0f";
      epilogue.high = "6.0f";
    } else if (after->calls("aten::hardtanh")) {
      epilogue.low = number(after->operand(1));
      epilogue.high = number(after->operand(2));
    }
  }
  return epilogue;
}

}  // namespace torch::aot
