#pragma once

#include <exception>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"

// What the tests of gradients share.
namespace torch::autograd::test {

using List = std::vector<double>;

inline at::Tensor tensor_of(const List& values, at::IntArrayRef sizes) {
  return at::testing::tensor_of(values, sizes, at::kDouble);
}
inline at::Tensor tensor_of(const List& values) { return tensor_of(values, {static_cast<int64_t>(values.size())}); }

// A leaf of these values.
inline at::Tensor leaf_of(const List& values) { return tensor_of(values).set_requires_grad(true); }

inline List numbers(const at::Tensor& t) { return at::testing::values(t.detach()); }

// The message of what f throws, whatever its type; of a library error of a type E where one is expected.
template <class E = c10::Error, class F>
std::string message_of(F&& f) {
  try {
    return c10::testing::message_of<E>(f);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Lines of words, as a log of what ran in which order.
class Log {
 public:
  template <class... Words>
  void operator()(const Words&... words) {
    std::string line;
    ((line += (line.empty() ? "" : " ") + text(words)), ...);
    lines.push_back(line);
  }
  std::vector<std::string> lines;

 private:
  static std::string text(const std::string& word) { return word; }
  static std::string text(const at::Tensor& t) {
    if (!t.defined()) return "None";
    std::string out;
    for (const double x : numbers(t)) out += (out.empty() ? "[" : ", ") + c10::str(x);
    return out + "]";
  }
};

}  // namespace torch::autograd::test
