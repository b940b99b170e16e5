// Types as programs write them.
#pragma once

#include "c10/value/type.h"
#include "jit/compiler/compiler.h"
#include "jit/frontend/tree.h"

namespace torch::jit {

/// "Tensor", "Optional[List[int]]", "Dict[str, Tensor]", "Tuple[()]", "int | None", "__torch__.torch.classes.my.Stack"
/// ... and the types of the scope. Throws ErrorReport for what is no type.
c10::TypePtr type_of_annotation(const Expr& annotation, Scope& scope);

/// a.b.c, or empty where it is no such path.
std::string dotted_path(const Expr& node);

}  // namespace torch::jit
