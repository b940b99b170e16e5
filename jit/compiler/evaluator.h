// Runs compiled functions.
#pragma once

#include <stdexcept>
#include <string>

#include "c10/value/stack.h"
#include "jit/compiler/program.h"

namespace torch::jit {

/// Replaces the arguments on the stack by the result. What goes wrong inside throws std::runtime_error that names the
/// operation's place in the source, and JITException where the program raised it.
void run_program(const Program& program, c10::Stack& stack);

}  // namespace torch::jit
