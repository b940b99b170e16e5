// Pickles by themselves, without a file around them.
#pragma once

#include <cstddef>
#include <vector>

#include "c10/value/ivalue.h"

namespace torch::jit {

/// A value without tensors as a pickle (protocol 2), which Python's pickle module reads. Throws NotImplementedError for
/// a value with tensors: those need a file, as torch::pickle_save writes; `tensor_table` stays as it is.
std::vector<char> pickle(const c10::IValue& value, std::vector<at::Tensor>* tensor_table = nullptr);
/// And back. FormatError for bytes that are no such pickle. Nothing that a pickle names is called.
c10::IValue unpickle(const char* data, size_t size);

}  // namespace torch::jit
