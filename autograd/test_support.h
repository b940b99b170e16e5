#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "c10/util/exception.h"

// What the tests of this folder share.
namespace torch::autograd::test {

using List = std::vector<double>;

// A leaf of these values.
inline at::Tensor leaf_of(List values) {
  at::Tensor t = at::clone(at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble));
  t.set_requires_grad(true);
  return t;
}

inline List numbers(const at::Tensor& t) {
  const at::Tensor flat = at::contiguous(at::detach(t));
  const double* data = flat.data_ptr<double>();
  return List(data, data + flat.numel());
}

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no exception";
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
