// What amp.cc calls to learn the dtypes of results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"

namespace recorded {

struct AutocastCall {
  std::string name;  // as recorded
  int float_inputs;  // tensors whose dtype the recording varies
  std::string call;  // "mm: p(2,3), p(3,2)"
};

const std::vector<AutocastCall>& autocast_calls();

// Whether PyTorch's function gives the first of the operator's results only: "first of embedding_bag: ...".
bool gives_first_result(const AutocastCall& call);

// The operator of a call; nullopt where the library has none of that name.
std::optional<c10::OperatorHandle> operator_of(const AutocastCall& call);

// Is given every floating-point tensor, in order, and says what stands there; those that are no input of PyTorch's
// function are not counted.
using MakeTensor = std::function<at::Tensor(const at::Tensor&, bool counted)>;

c10::Stack arguments_of(const AutocastCall& call, const c10::OperatorHandle& op, const MakeTensor& made);

}  // namespace recorded
