#pragma once

#include <torch/accelerator.h>
#include <torch/torch.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// Values as the doc comments of operators write them: numbers in four digits, 1+2i, true; tensors as nested braces; several
// values one behind the other.
namespace examples {

// "{{1, 2}, {3, 4}}", and a number for a tensor without dimensions.
std::string text_of(const at::Tensor& t);
std::string text_of(const at::Scalar& s);
std::string text_of(at::ScalarType dtype);

inline std::string text_of(const std::string& text) { return text; }
template <class T>
  requires std::is_arithmetic_v<T>
std::string text_of(T number) {
  return text_of(at::Scalar(number));
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + text_of(value);
  return text;
}
template <class... T>
std::string text_of(const std::tuple<T...>& values) {
  return std::apply([](const auto& first, const auto&... rest) { return (text_of(first) + ... + (", " + text_of(rest))); }, values);
}

}  // namespace examples
