// Convolutions with constant weights, and what follows them.
#include <string>
#include <vector>

#include "compile/aot/fusion.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/steps.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

// "{2, 2}" of a list of one number or two.
std::string pair(const Operand& operand) {
  const auto list = operand.constant().toIntVector();
  return "{" + print(list.front()) + ", " + print(list.back()) + "}";
}

std::string number(const c10::IValue& v) {
  return print_double(v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble()) + "f";
}

}  // namespace

bool convolution_step(Printer& printer, const Node& node) {
  const std::vector<const Node*> group = printer.group(node);
  const Node& convolution = *group.front();
  if (!is_packable_convolution(convolution)) return false;
  const TensorInfo in = printer.info(convolution.operand(0)), out = *node.result()->info();
  if (!graph::is_channels_last(in) || !graph::is_channels_last(out)) return false;
  std::string add = "nullptr", low = "-INFINITY", high = "INFINITY";
  const Value* sum = convolution.result();
  for (const Node* after : group) {
    if (after->calls("aten::add.Tensor")) {
      const Value* other = after->operand(after->operand(0).value() == sum ? 1 : 0).value();
      add = "reinterpret_cast<const float*>(" + printer.pointer(other) + ")";
    } else if (after->calls("aten::relu")) {
      low = "0.0f";
    } else if (after->calls("aten::relu6")) {
      low = "0.0f";
      high = "6.0f";
    } else if (after->calls("aten::hardtanh")) {
      low = number(after->operand(1).constant());
      high = number(after->operand(2).constant());
    }
  }
  printer.include("cmath");
  printer.include("compile/aot/runtime/convolution.h");
  const at::Tensor weight = convolution.argument("weight").constant().toTensor();
  const Operand& bias = convolution.argument("bias");
  const int64_t groups = convolution.argument("groups").constant().toInt();
  const std::string shape = "{" + print(in.sizes[1]) + ", " + print(weight.size(0)) + ", " + print(groups) + ", {" +
                            print(weight.size(2)) + ", " + print(weight.size(3)) + "}, " +
                            pair(convolution.argument("stride")) + ", " + pair(convolution.argument("padding")) + ", " +
                            pair(convolution.argument("dilation")) + "}";
  const std::string packed =
      printer.shared("torch::aot::Convolution", "torch::aot::ConvolutionShape" + shape + ", " +
                                                    printer.pointer(convolution.argument("weight")) + ", " +
                                                    (bias.constant().isNone() ? "nullptr" : printer.pointer(bias)));
  printer.line(packed + ".run(" + print(in.sizes[0]) + ", {" + print(in.sizes[2]) + ", " + print(in.sizes[3]) + "}, {" +
               print(out.sizes[2]) + ", " + print(out.sizes[3]) + "}, " + printer.pointer(convolution.operand(0)) +
               ", " + add + ", " + low + ", " + high + ", " + printer.pointer(node.result()) + ");");
  IntExpr outputs = 1;
  for (const IntExpr& size : out.sizes) outputs = outputs * size;
  printer.count(2 * (weight.numel() / weight.size(0)) * outputs);
  return true;
}

}  // namespace torch::aot
