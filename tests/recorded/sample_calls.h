// Calls by the names of PyTorch's tables of samples, and what they give.
#pragma once

#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "tests/recorded/python_interpreter.h"

namespace recorded {

// Calls that are no operator of their own: "nn.functional.pad", "masked.sum", "__radd__". A part behind the name is one
// of several sets of samples.
Json call_sample(PythonInterpreter& python, const std::string& name, PythonArguments a);
// The recorded overload, or, where PyTorch's has arguments that are tensors or numbers, the one that takes those given.
Json call_recorded(PythonInterpreter& python, const std::string& op, const PythonArguments& arguments);
// The tensors of a call's results, in order.
void results_of(const Json& value, const PythonInterpreter& python, std::vector<at::Tensor>& results);

}  // namespace recorded
