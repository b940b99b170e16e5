// Names that the language knows.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "c10/value/ivalue.h"
#include "c10/value/type.h"

namespace torch::jit::detail {

/// torch.float32, torch.channels_last, torch.strided ...: the name behind "torch.".
std::optional<std::pair<c10::IValue, c10::TypePtr>> torch_constant(const std::string& name);
/// The operator that computes an attribute of such a value, "prim::dtype"; empty where there is none.
std::string attribute_operator(c10::TypeKind kind, const std::string& name);
/// The operator for "+", "<" ...; of tensors or of other values.
std::string operator_of_symbol(const std::string& symbol, bool tensors);

}  // namespace torch::jit::detail
