// Products with constant matrices, and what follows them.
#include <string>
#include <vector>

#include "aten/ops/view/ops.h"
#include "compile/aot/epilogue.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/steps.h"
#include "compile/layers/fusion.h"
#include "graph/passes/operands.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using c10::ScalarType;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;

namespace {

// Multiply-adds that are not worth a second thread.
constexpr int64_t kFewOperations = 1 << 19;

std::string matrix_type(ScalarType dtype) {
  return dtype == ScalarType::Float ? "at::matrix::Type::kFloat32" : "at::matrix::Type::kFloat64";
}

}  // namespace

bool product_step(Printer& printer, const Node& node) {
  const std::vector<const Node*> group = printer.group(node);
  const Node& first = *group.front();
  const std::optional<compiler::ConstantProduct> product = compiler::constant_product(first);
  if (!product.has_value()) return false;
  const at::Tensor weight = product->weight.constant().toTensor();
  const TensorInfo in = printer.info(product->x), out = *node.result()->info();
  const int64_t n = weight.size(product->transposed ? 0 : 1), k = weight.size(product->transposed ? 1 : 0);
  const Operand* const bias = product->bias;
  IntExpr m = 1;
  for (size_t d = 0; d + 1 < in.sizes.size(); ++d) m = m * in.sizes[d];
  printer.count(2 * n * k * m);
  if (compiler::is_packable_product(first)) {
    printer.include("compile/aot/runtime/product.h");
    const at::Tensor turned =
        product->transposed ? weight : at::contiguous(at::t(weight), c10::MemoryFormat::Contiguous);
    const std::string packed = printer.shared("torch::aot::Product<" + printer.stored_type() + ">",
                                              print(n) + ", " + print(k) + ", " + printer.stored(turned) + ", " +
                                                  (bias == nullptr ? "nullptr" : printer.pointer(*bias)));
    const bool alone = printer.largest(m) <= kFewOperations / (n * k);
    printer.line(packed + (alone ? ".run_alone(" : ".run(") + print(m) + ", " + printer.pointer(product->x) + ", " +
                 print_epilogue(printer, group) + ", " + printer.pointer(node.result()) + ");");
    return true;
  }
  printer.include("compile/aot/runtime/matrix.h");
  const std::string strides = product->transposed ? "1, " + print(k) : print(n) + ", 1";
  const std::string packed =
      printer.shared("at::matrix::PackedMatrix", matrix_type(in.dtype) + ", " + print(n) + ", " + print(k) + ", {" +
                                                     printer.pointer(product->weight) + ", " + strides + "}");
  printer.line("torch::aot::multiply(" + packed + ", " + print(m) + ", {" + printer.pointer(product->x) + ", " +
               print(k) + ", 1}, " + printer.pointer(node.result()) + ", " +
               (bias == nullptr ? "nullptr" : printer.pointer(*bias)) + ");");
  return true;
}

}  // namespace torch::aot
