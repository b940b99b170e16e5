// The recorded scripts of autograd, written again in C++.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aten/core/tensor.h"

namespace recorded {

// What a script logs, one line a call, its arguments joined by spaces as Python writes them.
class ScriptLog {
 public:
  template <typename... Parts>
  void operator()(const Parts&... parts) {
    std::string line;
    ((line += (line.empty() ? "" : " ") + text(parts)), ...);
    lines_.push_back(line);
  }
  const std::vector<std::string>& lines() const { return lines_; }

  static std::string text(const at::Tensor& t);
  static std::string text(const std::string& s) { return s; }
  static std::string text(const char* s) { return s; }
  static std::string text(bool value) { return value ? "True" : "False"; }
  static std::string text(int64_t value) { return std::to_string(value); }
  static std::string text(int value) { return std::to_string(value); }
  static std::string text(const std::vector<std::string>& names);

 private:
  std::vector<std::string> lines_;
};

struct ScriptRun {
  ScriptLog log;
  double added = 0;  // to every value

  // A leaf of these values.
  at::Tensor leaf(std::vector<double> values, bool requires_grad = true) const;
};

using Script = void (*)(ScriptRun&);
// By what follows "script/" in a case's id.
const std::map<std::string, Script>& hook_scripts();
const std::map<std::string, Script>& engine_scripts();

// "IndexError: message" of what `f` throws, "None" where it throws nothing.
std::string caught(const std::function<void()>& f);

}  // namespace recorded
