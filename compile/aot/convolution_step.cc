// Convolutions with constant weights, and what follows them.
#include <string>
#include <vector>

#include "aten/cpu/matrix/packed_convolution.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "compile/aot/epilogue.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/steps.h"
#include "compile/layers/fusion.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using compiler::ConvolutionForm;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

std::string pair(const int64_t (&numbers)[3]) {
  return "{" + print(numbers[1]) + ", " + print(numbers[2]) + "}";
}

struct Form {
  const char* name;
  const char* header;
  int64_t scratch_floats = 0;
};
Form printed_form(const at::matrix::Convolution& c, ConvolutionForm form) {
  if (form == ConvolutionForm::kDepthwise) return {"PackedDepthwise", "packed_depthwise.h"};
  if (form == ConvolutionForm::kWinograd)
    return {"PackedWinograd", "packed_winograd.h", at::matrix::PackedWinograd::scratch_floats(c)};
  return {"PackedConvolution", "packed_convolution.h", at::matrix::PackedConvolution::scratch_floats(c)};
}

}  // namespace

bool convolution_step(Printer& printer, const Node& node) {
  const std::vector<const Node*> group = printer.group(node);
  const Node& convolution = *group.front();
  if (!compiler::is_packable_convolution(convolution)) return false;
  const TensorInfo in = printer.info(convolution.operand(0)), out = *node.result()->info();
  if (!graph::is_channels_last(in) || !graph::is_channels_last(out)) return false;
  const at::Tensor weight = convolution.argument("weight").constant().toTensor();
  const Operand& bias = convolution.argument("bias");
  const std::string weights =
      printer.stored(weight) + ", " + (bias.constant().isNone() ? "nullptr" : printer.pointer(bias));
  // Of the largest sizes.
  const at::matrix::Convolution c =
      compiler::convolution_of(convolution, [&](const IntExpr& size) { return printer.largest(size); });
  const ConvolutionForm kind = compiler::form_of(c);
  const std::string epilogue = print_epilogue(printer, group);
  const std::string input = printer.pointer(convolution.operand(0)), output = printer.pointer(node.result());
  if (kind == ConvolutionForm::kProduct) {
    printer.include("compile/aot/runtime/product.h");
    const std::string packed = printer.shared("torch::aot::Product<" + printer.stored_type() + ">",
                                              print(c.out_channels) + ", " + print(c.in_channels) + ", " + weights);
    printer.line(packed + ".run(" + print(in.sizes[0] * in.sizes[2] * in.sizes[3]) + ", " + input + ", " + epilogue +
                 ", " + output + ");");
  } else {
    const Form form = printed_form(c, kind);
    printer.include("compile/aot/runtime/convolution.h");
    printer.include(std::string("aten/cpu/matrix/") + form.header);
    const std::string shape = "{" + print(c.in_channels) + ", " + print(c.out_channels) + ", " + print(c.groups) +
                              ", " + pair(c.kernel) + ", " + pair(c.stride) + ", " + pair(c.padding) + ", " +
                              pair(c.dilation) + "}";
    const std::string packed = printer.shared(std::string("torch::aot::Convolution<at::matrix::") + form.name + ">",
                                              "torch::aot::ConvolutionShape" + shape + ", " + weights);
    const bool has_scratch = c.groups == 1;
    printer.line(
        packed + ".run(" + print(in.sizes[0]) + ", {" + print(in.sizes[2]) + ", " + print(in.sizes[3]) + "}, {" +
        print(out.sizes[2]) + ", " + print(out.sizes[3]) + "}, " + input + ", " + epilogue + ", " + output +
        (has_scratch ? ", " + printer.scratch(form.scratch_floats * static_cast<int64_t>(sizeof(float))) : "") + ");");
  }
  IntExpr outputs = 1;
  for (const IntExpr& size : out.sizes) outputs = outputs * size;
  printer.count(2 * (weight.numel() / weight.size(0)) * outputs);
  return true;
}

}  // namespace torch::aot
