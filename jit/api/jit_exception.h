#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace torch::jit {

/// An exception that a program raised. what() also shows where; getOriginalMsg() is what the program said.
struct JITException : std::runtime_error {
  explicit JITException(const std::string& msg, std::optional<std::string> python_class_name = std::nullopt,
                        std::optional<std::string> original_msg = std::nullopt)
      : std::runtime_error(msg),
        python_class_name_(std::move(python_class_name)),
        original_msg_(std::move(original_msg)) {}
  /// "builtins.ValueError"
  std::optional<std::string> getPythonClassName() const { return python_class_name_; }
  std::optional<std::string> getOriginalMsg() const { return original_msg_; }

 private:
  std::optional<std::string> python_class_name_;
  std::optional<std::string> original_msg_;
};

}  // namespace torch::jit
