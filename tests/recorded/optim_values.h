// Values of optimizers and schedules: settings from recorded ones, and state dicts against them.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "optim/optimizer.h"
#include "tests/recorded/check.h"

namespace recorded {

// Numbers, flags, texts, null and lists of them.
c10::IValue value_of(const Json& recorded);

// The class of Python's name with the settings of `config`, and one group for each of `groups`, which may have a
// "config" of its own. Null where there is no such class.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name, const Json& config,
                                                        const std::vector<std::vector<at::Tensor>>& params,
                                                        const std::vector<Json>& group_configs);

// All of a state dict: the same names, and values within the tolerances. Names in `unrecorded` are passed over.
void check_tree(Check& check, const std::string& what, const c10::IValue& got, const Json& recorded,
                std::initializer_list<std::string_view> unrecorded = {});

}  // namespace recorded
