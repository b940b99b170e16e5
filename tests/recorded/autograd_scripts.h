// The recorded scripts of autograd, written again in C++.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"
#include "c10/util/warning.h"

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
  // A line for which Python does what C++ has no call for, or refuses when it is compiled; the reason is for readers.
  void not_in_cpp(const char* /*reason*/) { lines_.push_back(kNotInCpp); }
  static constexpr const char* kNotInCpp = "(not in C++)";
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
const std::map<std::string, Script>& checkpoint_scripts();
const std::map<std::string, Script>& function_scripts();
const std::map<std::string, Script>& mode_scripts();
const std::map<std::string, Script>& module_scripts();

// A tensor of these values that requires no gradient.
at::Tensor doubles(std::initializer_list<double> values);

// "(True, False)".
std::string tuple(const std::vector<bool>& values);
// What the class of a node is called in Python: the name without namespaces, SquareBackward for a Function named Square.
std::string python_class(const torch::autograd::Node& node);
// The warnings of a scope, instead of being shown.
class CollectedWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

// "IndexError: message" of what `f` throws, "None" where it throws nothing.
std::string caught(const std::function<void()>& f);

}  // namespace recorded
