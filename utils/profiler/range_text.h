// What profilers are told of a range beside its name.
#pragma once

#include <string>

#include "aten/core/record_function.h"
#include "aten/core/tensor.h"

namespace torch::autograd::profiler::detail {

/// ", sizes = [[2, 3], []]": of the arguments, [] for what is no tensor; "" where the range has none.
inline std::string sizes_text(const at::RecordFunction& range) {
  if (range.num_inputs() == 0) return {};
  std::string text;
  for (const c10::IValue& input : range.inputs()) {
    std::string sizes;
    if (input.isTensor() && input.toTensor().defined()) {
      for (const int64_t size : input.toTensor().sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    text += (text.empty() ? "[" : ", [") + sizes + "]";
  }
  return ", sizes = [" + text + "]";
}

}  // namespace torch::autograd::profiler::detail
