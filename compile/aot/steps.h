// Operators that programs compute without tensor objects.
#pragma once

#include <string_view>

#include "graph/ir/graph.h"

namespace torch::aot {

class Printer;

/// Prints what computes the node into its place; false, and nothing printed, for a form of it that the step does not
/// take.
using Step = bool (*)(Printer& printer, const graph::Node& node);

/// Convolutions, and groups that begin with one (compile/layers/fusion.h).
bool convolution_step(Printer& printer, const graph::Node& node);

/// linear, mm and addmm with a constant matrix, and groups that begin with one.
bool product_step(Printer& printer, const graph::Node& node);

/// Prints a copy of the first operand into the result's place, where that is another one.
void copy_first(Printer& printer, const graph::Node& node);

/// That of "linear"; null where there is none.
Step find_step(std::string_view op);

}  // namespace torch::aot
