#include <sstream>

#include "nn/module/module.h"

namespace torch::nn {

void detail::put_text(std::ostream& stream, std::string_view text) {
  stream.rdbuf()->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

void detail::put_text_with_words(std::ostream& stream, std::string_view text) {
  stream.setf(std::ios_base::boolalpha);
  put_text(stream, text);
}

void Module::pretty_print(std::ostream& stream) const {
  const std::string extra = extra_repr();
  detail::put_text(stream, extra.empty() ? name() : name() + "(" + extra + ")");
}

void Module::pretty_print_recursive(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  const std::string deeper = indentation + "  ";
  detail::put_text(stream, "(\n");
  for (const auto& child : children_) {
    detail::put_text(stream, deeper + "(" + child.key() + "): ");
    if (child.value() != nullptr) child.value()->pretty_print_recursive(stream, deeper);
    detail::put_text(stream, "\n");
  }
  detail::put_text(stream, indentation + ")");
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.pretty_print_recursive(stream, "");
  return stream;
}

void to_text(std::string& out, const Module& module) {
  std::ostringstream stream;
  stream << module;
  out += stream.str();
}

}  // namespace torch::nn
