#include "compile/aot/epilogue.h"

#include <cmath>

#include "compile/aot/printing.h"
#include "compile/layers/fusion.h"

namespace torch::aot {

std::string print_epilogue(Printer& printer, const std::vector<const graph::Node*>& group) {
  printer.include("cmath");
  const compiler::Epilogue epilogue = compiler::epilogue_of(group);
  const auto limit = [](double number) {
    if (std::isinf(number)) return std::string(number < 0 ? "-INFINITY" : "INFINITY");
    return print_double(number) + "f";
  };
  const std::string add =
      epilogue.add == nullptr ? "nullptr" : "reinterpret_cast<const float*>(" + printer.pointer(epilogue.add) + ")";
  return add + ", " + limit(epilogue.low) + ", " + limit(epilogue.high);
}

}  // namespace torch::aot
