#include "tests/examples/text_of.h"

#include <cstdio>

namespace examples {
namespace {

std::string digits(double value, const char* format = "%.4g") {
  char text[32];
  if (value != value) return "nan";
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string part(const at::Tensor& t) {
  if (t.dim() == 0) return text_of(at::item(t));
  std::string text;
  for (int64_t i = 0; i < t.size(0); ++i) text += (i == 0 ? "" : ", ") + part(at::select(t, 0, i));
  return "{" + text + "}";
}

}  // namespace

std::string text_of(const at::Scalar& s) {
  if (s.isBoolean()) return s.toBool() ? "true" : "false";
  if (s.isIntegral(false)) return std::to_string(s.toLong());
  if (!s.isComplex()) return digits(s.toDouble());
  const c10::complex<double> z = s.toComplexDouble();
  // Without the signs of zeros, which follow from the order of sums.
  return digits(z.real() + 0.0) + digits(z.imag() + 0.0, "%+.4g") + "i";
}

std::string text_of(const at::Tensor& t) { return part(at::detach(t)); }

std::string text_of(at::ScalarType dtype) { return c10::toString(dtype); }

}  // namespace examples
