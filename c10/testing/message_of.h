#pragma once

#include <string>

#include "c10/util/exception.h"

namespace c10::testing {

// The message of the error of type E that f throws, "no error" where it returns; other exceptions pass.
//     EXPECT_EQ(message_of([] { torch::ones({2}).view({3}); }), "shape '[3]' is invalid for input of size 2");
template <class E = c10::Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.msg();
  }
  return "no error";
}

}  // namespace c10::testing
