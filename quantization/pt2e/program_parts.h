// What prepare, convert and lowering do with programs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "export/exported_program.h"
#include "graph/ir/graph.h"

namespace torch::quantization {

/// The same program with nothing remembered of how it ran before.
ExportedProgram renewed(ExportedProgram&& program);

/// The same with new tensors in place of calls that write, whose effects are outputs; with what is known of all sizes.
/// Nothing is done to a functional program but that. Throws what functionalize() throws, and ValueError where a
/// constant is written to.
ExportedProgram functional_program(ExportedProgram&& program);

/// The parameter, buffer or constant that an input of the graph stands for; null for other values.
const at::Tensor* state_of(const ExportedProgram& program, const graph::Value* value);
/// Its name.
const std::string& state_name(const ExportedProgram& program, const graph::Value* value);
/// Its tensor, or that of a constant operand, undefined for None; nothing for others.
std::optional<at::Tensor> known_tensor(const ExportedProgram& program, const graph::Operand& operand);

/// The names of parameters, buffers and constants that nodes use.
std::set<std::string> used_state(const ExportedProgram& program);
/// Takes away those of `names` that nothing uses any more.
void drop_unused_state(ExportedProgram& program, const std::set<std::string>& names);

/// An operator by its full name, "aten::add.Tensor". Throws NotImplementedError where it is not linked.
graph::Callable operator_named(std::string_view name);
/// A call, inserted before `place`; operands that are left out are the schema's defaults.
graph::Node* insert_call(graph::Node* place, std::string_view name, std::vector<graph::Operand> operands);
/// The same with operands by name behind the first ones.
graph::Node* insert_call(graph::Node* place, std::string_view name, std::vector<graph::Operand> operands,
                         const std::vector<std::pair<std::string_view, graph::Operand>>& named);

/// Lets one user have another value.
void replace_use(graph::Node* user, const graph::Value* from, graph::Value* to);

}  // namespace torch::quantization
