#include "aten/ops/upsample/decompositions.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

// One dimension, and where the elements of the result lie in it.
struct Line {
  int64_t in, out;
  bool align_corners;
  double step;

  // `scale` is the caller's, result over input.
  Line(int64_t from, int64_t to, bool align, std::optional<double> scale) : in(from), out(to), align_corners(align) {
    const auto ratio = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
    const bool scaled = scale.has_value() && *scale > 0;
    step = align ? (to > 1 ? ratio(from - 1, to - 1) : 0.0) : scaled ? 1 / *scale : ratio(from, to);
  }
  Tensor source(const Tensor& like) const {
    const Tensor i = places(out, like, ScalarType::Double);
    return align_corners ? at::mul(i, step) : at::clamp(at::sub(at::mul(at::add(i, 0.5), step), 0.5), 0);
  }
  // The larger of the two weights of an element, of all elements.
  double greatest_weight() const {
    double greatest = 0;
    for (int64_t i = 0; i < out; ++i) {
      const double place = static_cast<double>(i);
      const double at = std::max(align_corners ? place * step : (place + 0.5) * step - 0.5, 0.0);
      const double part = at < static_cast<double>(in - 1) ? at - std::floor(at) : 0.0;
      greatest = std::max({greatest, part, 1 - part});
    }
    return greatest;
  }
};

// Between the two nearest elements of one dimension: combine(left ones, right ones, weight of the right ones).
template <class Combine>
Tensor interpolated(const Tensor& x, int64_t dim, const Line& line, const Combine& combine) {
  const Tensor source = line.source(x), left = at::clamp(at::floor(source), std::nullopt, line.in - 1);
  const Tensor right = at::clamp(at::add(left, 1), std::nullopt, line.in - 1);
  const Tensor part = kept_where(at::lt(left, line.in - 1), at::sub(source, left), 0);
  const auto elements = [&](const Tensor& index) { return at::index_select(x, dim, cast(index, ScalarType::Long)); };
  return combine(elements(left), elements(right), along(cast(part, x.scalar_type()), dim, x.dim()));
}

Tensor of_numbers(const Tensor& x, int64_t dim, const Line& line) {
  return interpolated(x, dim, line, [](const Tensor& left, const Tensor& right, const Tensor& part) {
    return at::add(left, at::mul(at::sub(right, left), part));
  });
}

// As images are resized: weights are integers of 16 bits with as many fractional ones as fit, and each dimension is
// rounded.
Tensor of_bytes(const Tensor& x, int64_t dim, const Line& line) {
  int bits = 1;
  for (const double greatest = line.greatest_weight(); 0.5 + greatest * std::ldexp(1, bits + 1) < 0x1p15;) ++bits;
  const double unit = std::ldexp(1, bits);
  return interpolated(x, dim, line, [&](const Tensor& left, const Tensor& right, const Tensor& part) {
    const auto weight = [&](const Tensor& w) { return at::floor(at::add(at::mul(w, unit), 0.5)); };
    const Tensor rest = at::add(at::neg(part), 1);
    const Tensor sum = at::add(at::mul(left, weight(rest)), at::mul(right, weight(part)));
    return at::clamp(at::floor(at::add(at::div(sum, unit), 0.5)), 0, 255);
  });
}

// Dimension by dimension, from the last one; one that keeps its size stays as it is.
Tensor linear(const Tensor& self, IntArrayRef output_size, bool align_corners,
              std::initializer_list<std::optional<double>> scales) {
  const bool bytes = self.scalar_type() == ScalarType::Byte;
  Tensor x = bytes ? cast(self, ScalarType::Double) : widened(self);
  for (size_t d = output_size.size(); d-- > 0;) {
    const int64_t dim = 2 + static_cast<int64_t>(d);
    if (x.size(dim) == output_size[d]) continue;
    const Line line(x.size(dim), output_size[d], align_corners, scales.begin()[d]);
    x = bytes ? of_bytes(x, dim, line) : of_numbers(x, dim, line);
  }
  return x.is_same(self) ? at::clone(self) : cast(x, self.scalar_type());
}

}  // namespace

Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales) {
  return linear(self, output_size, align_corners, {scales});
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h, std::optional<double> scales_w) {
  return linear(self, output_size, align_corners, {scales_h, scales_w});
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                            std::optional<double> scales_d, std::optional<double> scales_h,
                            std::optional<double> scales_w) {
  return linear(self, output_size, align_corners, {scales_d, scales_h, scales_w});
}

}  // namespace at::decompositions
