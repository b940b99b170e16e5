// Names in the state dictionaries of modules that wrap another one.
#pragma once

#include "nn/module/module.h"

namespace torch::nn::parallel {

/// state_dict() of a module whose only child is called "module" has the names that the child's has, or with
/// `has_prefix` those with "module." before them, as Python's. load_state_dict() takes both.
void name_states_as_wrapped(Module& wrapper, bool has_prefix);

}  // namespace torch::nn::parallel
