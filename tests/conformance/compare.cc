#include "tests/conformance/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"

namespace conformance {
namespace {

using at::Tensor;
using c10::ScalarType;

std::string shape_text(const Tensor& t) {
  std::string s = "[";
  for (int64_t d = 0; d < t.dim(); ++d) s += (d ? ", " : "") + std::to_string(t.size(d));
  return s + "]";
}

std::string number_text(double x) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", x);
  return text;
}

Tensor values_of(const Tensor& t, ScalarType dtype) { return at::contiguous(at::to(at::to(at::detach(t), c10::kCPU), dtype)); }

bool close(double a, double e, double rtol, double atol) {
  if (std::isnan(e) || std::isnan(a)) return std::isnan(e) && std::isnan(a);
  if (std::isinf(e) || std::isinf(a)) return a == e;
  return std::fabs(a - e) <= atol + rtol * std::fabs(e);
}

// A tensor as lines along one dimension.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  Lines(const Tensor& t, int64_t dim) {
    if (t.dim() == 0) return;
    for (int64_t d = 0; d < dim; ++d) outer *= t.size(d);
    length = t.size(dim);
    for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.size(d);
  }
};

// Indices and values, in coordinates of each place once.
std::vector<Tensor> sparse_parts(const Tensor& t) {
  const Tensor plain = at::detach(t);
  if (t.layout() == c10::kSparse) {
    const Tensor once = at::coalesce(plain);
    return {at::indices(once), at::values(once)};
  }
  if (t.layout() == c10::kSparseCsr || t.layout() == c10::kSparseBsr) {
    return {at::crow_indices(plain), at::col_indices(plain), at::values(plain)};
  }
  return {at::ccol_indices(plain), at::row_indices(plain), at::values(plain)};
}

bool equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string Mismatch::text() const {
  std::string s = where;
  if (index >= 0) s += ", index " + std::to_string(index);
  return s + ": got " + got + ", expected " + expected;
}

std::optional<Mismatch> kind_difference(const Tensor& got, const Tensor& expected) {
  if (got.scalar_type() != expected.scalar_type()) {
    return Mismatch{"", -1, std::string("dtype ") + c10::toString(got.scalar_type()), c10::toString(expected.scalar_type())};
  }
  if (got.is_nested() != expected.is_nested()) {
    const auto kind = [](const Tensor& t) { return t.is_nested() ? "a nested tensor" : "a dense one"; };
    return Mismatch{"", -1, kind(got), kind(expected)};
  }
  if (got.layout() != expected.layout()) {
    return Mismatch{"", -1, std::string("layout ") + c10::toString(got.layout()), c10::toString(expected.layout())};
  }
  if (got.is_nested() && !at::is_same_size(got, expected)) {
    return Mismatch{"", -1, "parts of other sizes", shape_text(expected)};
  }
  if (got.sizes() != expected.sizes()) return Mismatch{"", -1, "size " + shape_text(got), shape_text(expected)};
  return std::nullopt;
}

namespace {

std::optional<Mismatch> quantizer_difference(const Tensor& got, const Tensor& expected) {
  const auto other = [](const char* what, const std::string& a, const std::string& e) {
    return Mismatch{"", -1, std::string(what) + " " + a, e};
  };
  if (got.qscheme() != expected.qscheme()) {
    const auto number = [](const Tensor& t) { return std::to_string(static_cast<int>(t.qscheme())); };
    return other("scheme", number(got), number(expected));
  }
  if (expected.qscheme() == c10::kPerTensorAffine) {
    const double a = got.q_scale(), e = expected.q_scale();
    if (!close(a, e, 1e-7, 0)) return other("scale", number_text(a), number_text(e));
    if (got.q_zero_point() == expected.q_zero_point()) return std::nullopt;
    return other("zero point", std::to_string(got.q_zero_point()), std::to_string(expected.q_zero_point()));
  }
  if (got.q_per_channel_axis() != expected.q_per_channel_axis()) {
    return other("axis", std::to_string(got.q_per_channel_axis()), std::to_string(expected.q_per_channel_axis()));
  }
  if (auto mismatch = difference(got.q_per_channel_scales(), expected.q_per_channel_scales())) return mismatch;
  return difference(got.q_per_channel_zero_points(), expected.q_per_channel_zero_points());
}

}  // namespace

std::optional<Mismatch> difference(const Tensor& got, const Tensor& expected, double factor, int64_t slack) {
  if (const auto mismatch = kind_difference(got, expected)) return mismatch;
  if (got.is_quantized()) {
    if (auto mismatch = quantizer_difference(got, expected)) return mismatch;
    const Tensor a = values_of(at::int_repr(got), ScalarType::Long);
    const Tensor e = values_of(at::int_repr(expected), ScalarType::Long);
    const int64_t *x = a.data_ptr<int64_t>(), *y = e.data_ptr<int64_t>();
    for (int64_t i = 0; i < a.numel(); ++i) {
      if (std::abs(x[i] - y[i]) > slack) return Mismatch{"", i, std::to_string(x[i]), std::to_string(y[i])};
    }
    return std::nullopt;
  }
  if (got.is_nested()) {
    const std::vector<Tensor> parts = at::unbind(got), others = at::unbind(expected);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (auto mismatch = difference(parts[i], others[i], factor, slack)) return mismatch;
    }
    return std::nullopt;
  }
  if (got.layout() != c10::kStrided) {
    const std::vector<Tensor> parts = sparse_parts(got), others = sparse_parts(expected);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (auto mismatch = difference(parts[i], others[i], factor)) {
        mismatch->got += i + 1 < parts.size() ? " (indices)" : " (values)";
        return mismatch;
      }
    }
    return std::nullopt;
  }
  double rtol = 0, atol = 0;
  switch (expected.scalar_type()) {
    case ScalarType::Double:
    case ScalarType::ComplexDouble: rtol = atol = 1e-7; break;
    case ScalarType::Float:
    case ScalarType::ComplexFloat: rtol = 1.3e-6 * 10, atol = 1e-5 * 2; break;
    case ScalarType::BFloat16: rtol = 1.6e-2, atol = 1e-2; break;
    case ScalarType::Half:
    case ScalarType::ComplexHalf: rtol = atol = 1e-3; break;
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e8m0fnu:
      break;
    default: {
      const Tensor a = values_of(got, ScalarType::Long), e = values_of(expected, ScalarType::Long);
      const int64_t *x = a.data_ptr<int64_t>(), *y = e.data_ptr<int64_t>();
      for (int64_t i = 0; i < a.numel(); ++i) {
        if (x[i] != y[i]) return Mismatch{"", i, std::to_string(x[i]), std::to_string(y[i])};
      }
      return std::nullopt;
    }
  }
  const bool complex = expected.is_complex();
  const ScalarType wide = complex ? ScalarType::ComplexDouble : ScalarType::Double;
  const Tensor a = values_of(got, wide), e = values_of(expected, wide);
  const double *x = static_cast<const double*>(a.data_ptr()), *y = static_cast<const double*>(e.data_ptr());
  const int64_t parts = complex ? 2 : 1;
  for (int64_t i = 0; i < parts * a.numel(); ++i) {
    if (close(x[i], y[i], rtol * factor, atol * factor)) continue;
    const char* part = i % parts == 1 ? " (imaginary part)" : "";
    return Mismatch{"", i / parts, number_text(x[i]) + part, number_text(y[i])};
  }
  return std::nullopt;
}

std::optional<Mismatch> index_difference(const Tensor& got, const Tensor& expected, const Tensor& source, int64_t dim) {
  if (got.scalar_type() != expected.scalar_type() || got.sizes() != expected.sizes()) return difference(got, expected);
  const Lines lines(source, dim);
  if (lines.length == 0 || got.numel() == 0) return difference(got, expected);
  const int64_t along = got.numel() / (lines.outer * lines.inner);
  if (along * lines.outer * lines.inner != got.numel()) return difference(got, expected);
  const Tensor a = values_of(got, ScalarType::Long), e = values_of(expected, ScalarType::Long);
  const Tensor s = values_of(source, source.is_complex() ? ScalarType::ComplexDouble : ScalarType::Double);
  const int64_t parts = source.is_complex() ? 2 : 1;
  const double* data = static_cast<const double*>(s.data_ptr());
  std::vector<int64_t> seen;
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t n = 0; n < lines.inner; ++n) {
      seen.clear();
      for (int64_t k = 0; k < along; ++k) {
        const int64_t i = (o * along + k) * lines.inner + n;
        const int64_t x = a.data_ptr<int64_t>()[i], y = e.data_ptr<int64_t>()[i];
        const Mismatch wrong{"", i, std::to_string(x), std::to_string(y)};
        if (x < 0 || x >= lines.length || y < 0 || y >= lines.length) return wrong;
        for (int64_t p = 0; p < parts; ++p) {
          const auto at = [&](int64_t index) { return data[((o * lines.length + index) * lines.inner + n) * parts + p]; };
          if (!equal(at(x), at(y))) return wrong;
        }
        if (std::find(seen.begin(), seen.end(), x) != seen.end()) return wrong;
        seen.push_back(x);
      }
    }
  }
  return std::nullopt;
}

bool has_ties(const Tensor& source, int64_t dim) {
  const Lines lines(source, dim);
  if (source.is_complex() || source.numel() == 0) return false;
  const Tensor s = values_of(source, ScalarType::Double);
  std::vector<double> line;
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t n = 0; n < lines.inner; ++n) {
      line.clear();
      for (int64_t k = 0; k < lines.length; ++k) {
        const double value = s.data_ptr<double>()[(o * lines.length + k) * lines.inner + n];
        for (const double other : line) {
          if (equal(value, other)) return true;
        }
        line.push_back(value);
      }
    }
  }
  return false;
}

}  // namespace conformance
