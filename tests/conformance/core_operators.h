// Which operators are core, and which are decomposed into them.
#pragma once

#include <string>
#include <vector>

#include "c10/dispatch/registry.h"

namespace conformance {

struct Exception {
  const char* name;  // "lgamma", or with an overload "rand.generator"
  const char* reason;
};

// The names for which PyTorch 2.15 has a decomposition, "addcmul".
const std::vector<std::string>& decomposed_names();
// Of those the operators that have none here and are not composed of others.
const std::vector<Exception>& not_decomposed();
// What decompositions call although it is neither core nor decomposed.
const std::vector<Exception>& called_beside_core();

// Whether the operator has a decomposition, or is of decomposed_names() and composed of others.
bool is_decomposed(const c10::OperatorHandle& op);

// The decomposition of such an operator. Every call is core, in torch::graph::core_operators() or called_beside_core(), or has a
// decomposition, which is followed. Throws c10::Error that names the first call which is not.
void decompose_into_core(const c10::OperatorHandle& op, c10::Stack& stack);

}  // namespace conformance
