// The C++ expressions of recordings, compiled: a table from an expression's text to what it gives.
#pragma once

#include <memory>
#include <sstream>
#include <string>

#include "nn/module/module.h"

namespace recorded {

// What an expression gave.
struct Outcome {
  std::string text;                           // its stream form
  std::shared_ptr<torch::nn::Module> module;  // where it is one
};

struct Expression {
  const char* text;
  Outcome (*run)();
};

// Null where `text` was not compiled.
const Expression* find_expression(const std::string& text);

template <class T>
Outcome outcome_of(const T& value) {
  std::ostringstream stream;
  stream << value;
  Outcome outcome{stream.str(), nullptr};
  if constexpr (requires { value.ptr(); }) outcome.module = value.ptr();
  return outcome;
}

}  // namespace recorded
