// Convolutions with constant weights, and what follows them.
#include <string>
#include <vector>

#include "aten/cpu/matrix/packed_convolution.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "compile/aot/epilogue.h"
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

// Of a list of one number or two.
int64_t front(const Operand& operand) {
  return operand.constant().toIntVector().front();
}
int64_t back(const Operand& operand) {
  return operand.constant().toIntVector().back();
}
std::string pair(const Operand& operand) {
  return "{" + print(front(operand)) + ", " + print(back(operand)) + "}";
}

// What computes it: a form of at::matrix.
struct Form {
  const char* name;
  const char* header;
  int64_t scratch_floats = 0;
};
Form form_of(const at::matrix::Convolution& c) {
  if (c.groups > 1) return {"PackedDepthwise", "packed_depthwise.h"};
  if (at::matrix::PackedWinograd::refusal(c) == nullptr && at::matrix::PackedWinograd::is_worth(c))
    return {"PackedWinograd", "packed_winograd.h", at::matrix::PackedWinograd::scratch_floats(c)};
  return {"PackedConvolution", "packed_convolution.h", at::matrix::PackedConvolution::scratch_floats(c)};
}

bool is_product(const at::matrix::Convolution& c) {
  bool is = c.groups == 1;
  for (int d = 1; d < 3; ++d) is = is && c.kernel[d] == 1 && c.stride[d] == 1 && c.padding[d] == 0;
  return is;
}

}  // namespace

bool convolution_step(Printer& printer, const Node& node) {
  const std::vector<const Node*> group = printer.group(node);
  const Node& convolution = *group.front();
  if (!is_packable_convolution(convolution)) return false;
  const TensorInfo in = printer.info(convolution.operand(0)), out = *node.result()->info();
  if (!graph::is_channels_last(in) || !graph::is_channels_last(out)) return false;
  const at::Tensor weight = convolution.argument("weight").constant().toTensor();
  const Operand& bias = convolution.argument("bias");
  const std::string weights =
      printer.stored(weight) + ", " + (bias.constant().isNone() ? "nullptr" : printer.pointer(bias));
  const Operand &stride = convolution.argument("stride"), &padding = convolution.argument("padding"),
                &dilation = convolution.argument("dilation");
  // Of the largest sizes.
  at::matrix::Convolution c;
  c.channels_last = true;
  c.batch = printer.largest(in.sizes[0]);
  c.in_channels = in.sizes[1].value(), c.out_channels = weight.size(0);
  c.groups = convolution.argument("groups").constant().toInt();
  for (int d = 0; d < 2; ++d) {
    const auto number = [&](const Operand& list) { return d == 0 ? front(list) : back(list); };
    c.input[d + 1] = printer.largest(in.sizes[static_cast<size_t>(d) + 2]);
    c.output[d + 1] = printer.largest(out.sizes[static_cast<size_t>(d) + 2]);
    c.kernel[d + 1] = weight.size(d + 2);
    c.stride[d + 1] = number(stride), c.padding[d + 1] = number(padding), c.dilation[d + 1] = number(dilation);
  }
  const Epilogue epilogue = epilogue_of(printer, group);
  const std::string input = printer.pointer(convolution.operand(0)), output = printer.pointer(node.result());
  if (is_product(c)) {
    printer.include("compile/aot/runtime/product.h");
    const std::string packed = printer.shared("torch::aot::Product<" + printer.stored_type() + ">",
                                              print(c.out_channels) + ", " + print(c.in_channels) + ", " + weights);
    printer.line(packed + ".run(" + print(in.sizes[0] * in.sizes[2] * in.sizes[3]) + ", " + input + ", " +
                 epilogue.arguments() + ", " + output + ");");
  } else {
    const Form form = form_of(c);
    printer.include("compile/aot/runtime/convolution.h");
    printer.include(std::string("aten/cpu/matrix/") + form.header);
    const std::string shape = "{" + print(c.in_channels) + ", " + print(c.out_channels) + ", " + print(c.groups) +
                              ", {" + print(c.kernel[1]) + ", " + print(c.kernel[2]) + "}, " + pair(stride) + ", " +
                              pair(padding) + ", " + pair(dilation) + "}";
    const std::string packed = printer.shared(std::string("torch::aot::Convolution<at::matrix::") + form.name + ">",
                                              "torch::aot::ConvolutionShape" + shape + ", " + weights);
    const bool has_scratch = c.groups == 1;
    printer.line(
        packed + ".run(" + print(in.sizes[0]) + ", {" + print(in.sizes[2]) + ", " + print(in.sizes[3]) + "}, {" +
        print(out.sizes[2]) + ", " + print(out.sizes[3]) + "}, " + input + ", " + epilogue.arguments() + ", " + output +
        (has_scratch ? ", " + printer.scratch(form.scratch_floats * static_cast<int64_t>(sizeof(float))) : "") + ");");
  }
  IntExpr outputs = 1;
  for (const IntExpr& size : out.sizes) outputs = outputs * size;
  printer.count(2 * (weight.numel() / weight.size(0)) * outputs);
  return true;
}

}  // namespace torch::aot
