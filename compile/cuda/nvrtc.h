// CUDA C++ that is compiled while the program runs.
#pragma once

#include <string>
#include <vector>

#include "c10/util/exception.h"

namespace torch::compiler::cuda {

/// The compiler refuses a text, or fails: the message has its log.
class CompileError : public c10::Error {
  using Error::Error;
};

/// What cudaLibraryLoadData takes: code of devices of that compute capability or, where the compiler does not know it,
/// PTX of the newest one below that it knows. Nothing is contracted: a product and a sum are rounded one by one. Throws
/// CompileError.
std::vector<char> compile_source(const std::string& text, int major, int minor);

}  // namespace torch::compiler::cuda
