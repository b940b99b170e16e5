// Programs in TorchScript, from text to a tree.
#pragma once

#include <memory>

#include "jit/frontend/tree.h"

namespace torch::jit {

/// Functions and classes, as programs and the files of TorchScript archives hold them. Throws ErrorReport for what is
/// no such text, and for one of more than 64 MiB or nested deeper than 200 levels.
Block parse_program(const std::shared_ptr<const Source>& source);
/// One expression, such as a type.
ExprPtr parse_expression(const std::shared_ptr<const Source>& source);

}  // namespace torch::jit
