// Programs of other operators.
#pragma once

#include <functional>

#include "c10/dispatch/registry.h"
#include "export/exported_program.h"
#include "graph/passes/decompose.h"

namespace torch {

/// The program with operators replaced by what they are made of, by default until all are of the core ATen set, and
/// with no node that writes: ExportedProgram.run_decompositions() of torch.export. What calls in place changed are
/// outputs (BUFFER_MUTATION, USER_INPUT_MUTATION). State is shared with the program. Results are as exact, but not the
/// same bits.
///
///   const torch::ExportedProgram core = torch::run_decompositions(program);
///
/// What has no decomposition, or one that is another at other sizes, stays. Throws ValueError that names the node for
/// writes that have no functional form (graph/passes/functionalize.h).
ExportedProgram run_decompositions(
    const ExportedProgram& program,
    const std::function<bool(const c10::OperatorHandle&)>& wanted = graph::is_decomposed_to_core);

}  // namespace torch
