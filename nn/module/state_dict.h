// What Module::state_dict() gives and Module::load_state_dict() takes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/ivalue.h"
#include "nn/module/ordered_dict.h"

namespace torch::nn {

// Parameters and persistent buffers by dotted name, in the order of registration.
//
//   torch::nn::StateDict state = net->state_dict();
//   state["0.weight"].sizes();
//   other->load_state_dict(state);
//
// Any OrderedDict of tensors, as named_parameters() gives it, is one as well.
class StateDict : public OrderedDict<std::string, at::Tensor> {
 public:
  StateDict() = default;
  StateDict(OrderedDict<std::string, at::Tensor> tensors) : OrderedDict(std::move(tensors)) {}

  // What Module::get_extra_state() gave, under "NAME._extra_state".
  OrderedDict<std::string, c10::IValue> extra_state;
  // Module::state_dict_version() by the module's name ("" is the module that was asked).
  OrderedDict<std::string, int64_t> versions;
};

// The names that only the module, or only the state, has.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;
  std::vector<std::string> unexpected_keys;
};
// "<All keys matched successfully>", or both lists.
std::ostream& operator<<(std::ostream& stream, const IncompatibleKeys& keys);

}  // namespace torch::nn
