#include "utils/testing/assert_close.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/util/exception.h"
#include "utils/repr/repr.h"

namespace torch::testing {
namespace {

using at::Tensor;
using c10::Scalar;

// A number in as many digits as it needs, as Python writes it.
std::string text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[400];
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string all(digits, std::to_chars(digits, digits + sizeof(digits), value, format).ptr);
  return plain && all.find('.') == std::string::npos ? all + ".0" : all;
}

std::string text(const Scalar& number) {
  if (number.isBoolean()) return number.toBool() ? "True" : "False";
  if (number.isIntegral(/*includeBool=*/false)) return c10::str(number.toLong());
  if (!number.isComplex()) return text(number.toDouble());
  const c10::complex<double> z = number.toComplexDouble();
  const auto part = [](double v) {
    std::string all = text(v);
    return all.ends_with(".0") ? all.substr(0, all.size() - 2) : all;
  };
  return "(" + part(z.real()) + (std::signbit(z.imag()) ? "" : "+") + part(z.imag()) + "j)";
}

struct Tolerances {
  double rtol, atol;
  bool exact() const { return rtol == 0 && atol == 0; }
};

Tolerances tolerances_of(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
    case at::kComplexHalf:
      return {1e-3, 1e-5};
    case at::kBFloat16:
      return {1.6e-2, 1e-5};
    case at::kFloat:
    case at::kComplexFloat:
      return {1.3e-6, 1e-5};
    case at::kDouble:
    case at::kComplexDouble:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

Tolerances tolerances(const AssertCloseOptions& options, at::ScalarType a, at::ScalarType b) {
  TORCH_CHECK_VALUE(options.rtol.has_value() == options.atol.has_value(),
                    "Both 'rtol' and 'atol' must be either specified or omitted, but got no ",
                    options.rtol ? "atol" : "rtol", ".");
  if (options.rtol) return {*options.rtol, *options.atol};
  const Tolerances one = tolerances_of(a), other = tolerances_of(b);
  return {std::max(one.rtol, other.rtol), std::max(one.atol, other.atol)};
}

// `place`: where in a list or map the values stand that are compared, "[1]".
[[noreturn]] void fail(const AssertCloseOptions& options, const std::string& what, const std::string& place) {
  std::string message = what;
  if (!place.empty()) message += "\n\nThe failure occurred for item " + place;
  TORCH_CHECK(false, options.msg ? options.msg(message) : message);
}

std::string allowed(const Tolerances& t, double tolerance) {
  return t.exact() ? "" : " (up to " + text(tolerance) + " allowed)";
}

std::string strides_text(at::IntArrayRef strides) {
  std::string all = repr(strides);
  // "torch.Size([3, 1])" to "(3, 1)".
  return "(" + all.substr(12, all.size() - 14) + ")";
}

void compare_attributes(const Tensor& a, const Tensor& e, const AssertCloseOptions& o, const std::string& place) {
  const auto check = [&](const char* name, bool same, const std::string& got, const std::string& expected) {
    if (!same)
      fail(o, c10::str("The values for attribute '", name, "' do not match: ", got, " != ", expected, "."), place);
  };
  check("shape", a.sizes() == e.sizes(), repr(a.sizes()), repr(e.sizes()));
  if (o.check_layout) check("layout", a.layout() == e.layout(), repr(a.layout()), repr(e.layout()));
  if (o.check_device) check("device", a.device() == e.device(), a.device().str(), e.device().str());
  if (o.check_dtype) check("dtype", a.scalar_type() == e.scalar_type(), repr(a.scalar_type()), repr(e.scalar_type()));
  if (o.check_stride)
    check("stride()", a.strides() == e.strides(), strides_text(a.strides()), strides_text(e.strides()));
}

// Whole numbers and flags as int64, whose differences are exact; numbers of eight bits as float32, which has
// arithmetic.
Tensor comparable(const Tensor& t, at::ScalarType type) {
  if (at::isIntegralType(type, /*includeBool=*/true)) type = at::kLong;
  if (c10::isFloat8Type(type)) type = at::kFloat;
  return at::to(at::to(at::detach(t), at::Device(at::kCPU)), type);
}

void compare_numbers(const Scalar& a, const Scalar& e, const Tolerances& t, const AssertCloseOptions& o,
                     const std::string& place) {
  double difference, size;
  bool equal;
  if (a.isComplex() || e.isComplex()) {
    const auto x = a.toComplexDouble(), y = e.toComplexDouble();
    difference = std::hypot(x.real() - y.real(), x.imag() - y.imag());
    size = std::hypot(y.real(), y.imag());
    equal = x == y;
  } else {
    const double x = a.toDouble(), y = e.toDouble();
    difference = std::abs(x - y), size = std::abs(y);
    equal = x == y || (o.equal_nan && std::isnan(x) && std::isnan(y));
  }
  if (equal || (std::isfinite(size) && difference <= t.atol + t.rtol * size)) return;
  const bool whole = a.isIntegral(true) && e.isIntegral(true);
  const std::string absolute = whole ? c10::str(static_cast<int64_t>(difference)) : text(difference);
  const double relative = size == 0 ? INFINITY : difference / size;
  fail(o,
       "Scalars are not " + std::string(t.exact() ? "equal" : "close") + "!\n\nExpected " + text(e) + " but got " +
           text(a) + ".\nAbsolute difference: " + absolute + allowed(t, t.atol) +
           "\nRelative difference: " + text(relative) + allowed(t, t.rtol),
       place);
}

// "5.0 at index (1, 0)" of the greatest number.
std::string greatest(const Tensor& differences) {
  const int64_t flat = at::argmax(at::reshape(differences, {-1})).item().toLong();
  const Scalar value = at::select(at::reshape(differences, {-1}), 0, flat).item();
  std::string index;
  int64_t rest = flat;
  for (int64_t d = differences.dim() - 1; d >= 0; --d) {
    index = c10::str(rest % differences.size(d), index.empty() ? "" : ", ", index);
    rest /= differences.size(d);
  }
  return text(value) + " at index (" + index + (differences.dim() == 1 ? ",)" : ")");
}

void compare(const Tensor& actual, const Tensor& expected, const AssertCloseOptions& o, const std::string& place) {
  TORCH_CHECK(actual.defined() && expected.defined(), "assert_close: a tensor is undefined");
  compare_attributes(actual, expected, o, place);
  const Tolerances t = tolerances(o, actual.scalar_type(), expected.scalar_type());
  if (actual.is_meta() || expected.is_meta()) return;
  TORCH_CHECK_NOT_IMPLEMENTED(actual.layout() == at::kStrided && expected.layout() == at::kStrided,
                              "assert_close compares strided tensors, not of layout ", actual.layout(), " and ",
                              expected.layout());
  const at::ScalarType type = c10::promoteTypes(actual.scalar_type(), expected.scalar_type());
  if (actual.dim() == 0) {
    const auto number = [&](const Tensor& one) { return at::to(at::detach(one), type).item(); };
    return compare_numbers(number(actual), number(expected), t, o, place);
  }
  const Tensor a = comparable(actual, type), e = comparable(expected, type);
  const Tensor close = at::isclose(a, e, t.rtol, t.atol, o.equal_nan);
  const int64_t total = close.numel(), bad = total - at::sum(close).item().toLong();
  if (bad == 0) return;
  const Tensor absolute = at::abs(at::sub(a, e)), relative = at::div(absolute, at::abs(e));
  char percent[32];
  std::snprintf(percent, sizeof(percent), "%.1f%%", 100.0 * static_cast<double>(bad) / static_cast<double>(total));
  fail(o,
       c10::str("Tensor-likes are not ", t.exact() ? "equal" : "close", "!\n\nMismatched elements: ", bad, " / ", total,
                " (", percent, ")\nGreatest absolute difference: ", greatest(at::masked_fill(absolute, close, 0)),
                allowed(t, t.atol), "\nGreatest relative difference: ", greatest(at::masked_fill(relative, close, 0)),
                allowed(t, t.rtol)),
       place);
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string all;
  for (const std::string& key : keys) all += (all.empty() ? "'" : ", '") + key + "'";
  return "[" + all + "]";
}

const char* kind_of(const Scalar& number) {
  return number.isBoolean() ? "bool" : number.isIntegral(false) ? "int" : number.isComplex() ? "complex" : "float";
}

const Tensor* find(const detail::Items& items, const std::string& key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == key; });
  return found == items.end() ? nullptr : &found->second;
}

// The keys of `all` that `others` has not, in order.
std::vector<std::string> missing(const detail::Items& all, const detail::Items& others) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : all) {
    if (find(others, key) == nullptr) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

void assert_close(const Tensor& actual, const Tensor& expected, const AssertCloseOptions& options) {
  compare(actual, expected, options, "");
}

void assert_close(const Scalar& actual, const Scalar& expected, const AssertCloseOptions& options) {
  const Tolerances t = tolerances(options, actual.type(), expected.type());
  if (actual.isBoolean() && expected.isBoolean()) {
    if (actual.toBool() != expected.toBool())
      fail(options, "Booleans mismatch: " + text(actual) + " is not " + text(expected), "");
    return;
  }
  if (options.check_dtype && std::string(kind_of(actual)) != kind_of(expected))
    fail(options, c10::str("The (d)types do not match: ", kind_of(actual), " != ", kind_of(expected), "."), "");
  compare_numbers(actual, expected, t, options, "");
}

void assert_close(at::TensorList actual, at::TensorList expected, const AssertCloseOptions& options) {
  if (actual.size() != expected.size())
    fail(options, c10::str("The length of the sequences mismatch: ", actual.size(), " != ", expected.size()), "");
  for (size_t i = 0; i < actual.size(); ++i) compare(actual[i], expected[i], options, c10::str("[", i, "]"));
}

void detail::assert_close(const Items& actual, const Items& expected, const AssertCloseOptions& options) {
  const auto lacking = missing(expected, actual), additional = missing(actual, expected);
  if (!lacking.empty() || !additional.empty()) {
    std::string what = "The keys of the mappings do not match:";
    if (!lacking.empty()) what += "\nMissing keys in the actual mapping: " + quoted_list(lacking);
    if (!additional.empty()) what += "\nAdditional keys in the actual mapping: " + quoted_list(additional);
    fail(options, what, "");
  }
  for (const auto& [key, value] : actual) compare(value, *find(expected, key), options, "['" + key + "']");
}

}  // namespace torch::testing
