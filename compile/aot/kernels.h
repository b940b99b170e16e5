// What computes an operator in a printed program.
#pragma once

#include <string>
#include <string_view>

#include "aten/codegen/kernel_names.h"
#include "graph/ir/graph.h"

namespace torch::aot {

/// The functional form's name of a call: "add.Tensor" of aten::add_.Tensor. Empty for other namespaces.
std::string functional_name(const graph::Node& node);

/// Whether a call may write its result into its first argument, which no other operand shares memory with unless it is
/// the same element by element.
bool may_compute_in_place(const graph::Node& node);

/// The function that computes "add.Tensor" on the CPU; null where there is none.
const kindling::KernelName* find_kernel(std::string_view op);

/// One that fills its results and computes a returning operator's as well: with the same arguments, the first result,
/// and for the second "no tensor" where that is not wanted. Null where there is none.
const kindling::KernelName* find_filling_kernel(std::string_view op);

/// Of an operator that gives its first argument with some elements changed, what changes them in place: index_put_ of
/// index_put. Null where there is none.
const kindling::KernelName* find_changing_kernel(const graph::Node& node);

/// Whether a call of the operator becomes one step that writes where it is told to: it need not be decomposed.
bool is_printed_whole(const c10::FunctionSchema& op);

}  // namespace torch::aot
