#pragma once

#include <torch/torch.h>

#include <iostream>
#include <string>
#include <typeinfo>

namespace programs {

// A ValueError is an Error here: this library throws more of them than libtorch.
inline const char* kind_of(const c10::Error& e) {
  if (dynamic_cast<const c10::IndexError*>(&e) != nullptr) return "IndexError";
  if (dynamic_cast<const c10::TypeError*>(&e) != nullptr) return "TypeError";
  if (dynamic_cast<const c10::NotImplementedError*>(&e) != nullptr) return "NotImplementedError";
  return "Error";
}

// Prints what `call` throws.
template <class F>
void report(const char* text, F call) {
  std::cout << text << ": ";
  try {
    call();
    std::cout << "no error\n";
  } catch (const c10::Error& e) {
    std::cout << kind_of(e) << ": " << e.what_without_backtrace() << "\n";
  } catch (const std::exception& e) {
    std::cout << e.what() << "\n";
  }
}

}  // namespace programs

// A comparison stands for its error.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunused-comparison"
#endif
/// Prints a statement and the error that it throws.
#define REFUSED(...) programs::report(#__VA_ARGS__, [&] { __VA_ARGS__; })
/// Prints an expression and its value.
#define SHOW(...) std::cout << #__VA_ARGS__ << " =\n" << (__VA_ARGS__) << "\n"
