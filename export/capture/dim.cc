#include "export/capture/dim.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"

namespace torch {

const Dim Dim::DYNAMIC = Dim();

Dim::Dim(std::string name, std::optional<int64_t> min, std::optional<int64_t> max)
    : name_(std::move(name)), bounds_{min, max} {
  const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool word = !name_.empty() && letter(name_[0]) &&
                    std::all_of(name_.begin(), name_.end(), [&](char c) { return letter(c) || digit(c); });
  TORCH_CHECK_VALUE(word, "Dim: expected a name of letters, digits and '_', but got '", name_, "'");
  TORCH_CHECK_VALUE(min.value_or(0) >= 0, "Dim ", name_, ": min is ", *min);
  TORCH_CHECK_VALUE(!max.has_value() || *max >= min.value_or(1), "Dim ", name_, ": max is ", *max, ", and min ",
                    min.value_or(1));
}

namespace {

void check_named(const Dim& dim) {
  TORCH_CHECK_VALUE(!dim.name().empty(), "Dim::DYNAMIC is a size of its own; a size that follows from another needs ",
                    "one with a name");
}

}  // namespace

Dim operator+(const Dim& dim, int64_t b) {
  check_named(dim);
  Dim made = dim;
  TORCH_CHECK_VALUE(!__builtin_add_overflow(dim.offset_, b, &made.offset_), "Dim ", dim.name_, ": ", dim.offset_, " + ",
                    b, " is too large");
  return made;
}
Dim operator-(const Dim& dim, int64_t b) {
  TORCH_CHECK_VALUE(b != INT64_MIN, "Dim ", dim.name_, ": the number is too large");
  return dim + (-b);
}
Dim operator*(int64_t a, const Dim& dim) {
  check_named(dim);
  TORCH_CHECK_VALUE(a >= 1, "Dim ", dim.name_, ": expected a factor of at least 1, but got ", a);
  Dim made = dim;
  TORCH_CHECK_VALUE(
      !__builtin_mul_overflow(dim.offset_, a, &made.offset_) && !__builtin_mul_overflow(dim.factor_, a, &made.factor_),
      "Dim ", dim.name_, ": the factor ", a, " is too large");
  return made;
}

}  // namespace torch
