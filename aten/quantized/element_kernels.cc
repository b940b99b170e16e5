// Quantized tensors: functions of each element, and reductions.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/kernels.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "aten/quantized/element_loops.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using quantized::on_each_number;
using quantized::on_integers;
using quantized::on_numbers;

// Numbers in [0, 1) (or [-1, 1)) in all integers of the dtype.
QuantizerPtr of_unit_interval(ScalarType dtype) {
  if (dtype == kQInt32) return quantized::per_tensor(1.0 / 4294967296.0, 0);
  return quantized::per_tensor(1.0 / 256, dtype == kQInt8 ? -128 : 0);
}
QuantizerPtr of_symmetric_interval(ScalarType dtype) {
  if (dtype == kQInt32) return quantized::per_tensor(1.0 / 2147483648.0, 0);
  return quantized::per_tensor(1.0 / 128, dtype == kQInt8 ? 0 : 128);
}

// f of the numbers. Integers of 32 bits show the last digit of a float: `exact` gives it.
template <class Exact, class F>
Tensor precisely(const char* op, const Tensor& self, QuantizerPtr to, const Exact& exact, const F& f) {
  quantized::uniform(op, self);
  const bool shown = self.scalar_type() == kQInt32;
  return on_each_number(op, self, std::move(to), [&](const Tensor& x) { return shown ? exact(x) : f(x); });
}

// Steps in float, and exponentials that are rounded once: the C library's functions are made of them, and all devices
// give the same.
Tensor logistic(const Tensor& x) {
  const Tensor e = at::to(at::exp(at::to(at::neg(x), kDouble)), kFloat);
  return at::reciprocal(at::add(e, Scalar(1)));
}
Tensor hyperbolic_tangent(const Tensor& x) {
  const Tensor size = at::abs(x), far = at::ge(size, Scalar(1));
  const Tensor twice = at::mul(size, Scalar(2)), exponent = at::where(far, twice, at::neg(twice));
  const Tensor e = at::to(at::expm1(at::to(exponent, kDouble)), kFloat), below = at::add(e, Scalar(2));
  const Tensor outside = at::rsub(at::div(at::full_like(e, Scalar(2)), below), Scalar(1));
  return at::copysign(at::where(far, outside, at::div(at::neg(e), below)), x);
}

// Between numbers, rounded to integers.
Tensor between(const char* op, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  const Quantizer& quantizer = quantized::uniform(op, self);
  TORCH_CHECK(min.has_value() || max.has_value(), "Both min and max is None");
  const quantized::Range range = quantized::range_of(op, self.scalar_type());
  const auto bound = [&](const std::optional<Scalar>& number, int64_t otherwise) {
    return number.has_value() ? quantized::quantize_one(op, *number, self.scalar_type(), quantizer) : otherwise;
  };
  return quantized::clamped(op, self, bound(min, range.least), bound(max, range.most));
}

}  // namespace

Tensor relu_quantized(const Tensor& self) {
  return between("relu", self, Scalar(0.0), std::nullopt);
}
Tensor relu6_quantized(const Tensor& self) {
  return between("relu6", self, Scalar(0.0), Scalar(6.0));
}
Tensor hardtanh_quantized(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return between("hardtanh", self, min_val, max_val);
}
Tensor clamp_quantized(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return between("clamp", self, min, max);
}
Tensor hardsigmoid_quantized(const Tensor& self) {
  quantized::uniform("hardsigmoid", self);
  return on_each_number("hardsigmoid", self, of_unit_interval(self.scalar_type()),
                        [](const Tensor& x) { return at::hardsigmoid(x); });
}
Tensor sigmoid_quantized(const Tensor& self) {
  return precisely("sigmoid", self, of_unit_interval(self.scalar_type()), logistic,
                   [](const Tensor& x) { return at::sigmoid(x); });
}
Tensor tanh_quantized(const Tensor& self) {
  return precisely("tanh", self, of_symmetric_interval(self.scalar_type()), hyperbolic_tangent,
                   [](const Tensor& x) { return at::tanh(x); });
}
Tensor leaky_relu_quantized(const Tensor& self, const Scalar& negative_slope) {
  quantized::uniform("leaky_relu", self);
  return on_each_number("leaky_relu", self, [&](const Tensor& x) { return at::leaky_relu(x, negative_slope); });
}
Tensor gelu_quantized(const Tensor& self, std::string_view approximate) {
  const Quantizer& quantizer = quantized::uniform("gelu", self);
  // The result's scale is a float.
  return on_each_number("gelu", self, quantized::per_tensor(static_cast<float>(quantizer.scale), quantizer.zero_point),
                        [&](const Tensor& x) { return at::gelu(x, approximate); });
}
Tensor threshold_quantized(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  quantized::uniform("threshold", self);
  return on_each_number("threshold", self, [&](const Tensor& x) { return at::threshold(x, threshold, value); });
}

Tensor prelu_quantized(const Tensor& self, const Tensor& weight) {
  const char* const op = "prelu";
  TORCH_CHECK(self.scalar_type() == weight.scalar_type(), op, ": Type promoting not supported. Got ",
              self.scalar_type(), " and ", weight.scalar_type());
  const Quantizer &from = quantized::uniform(op, self), &by = quantized::uniform(op, weight);
  const quantized::Range range = quantized::range_of(op, self.scalar_type());
  const auto scale = static_cast<float>(by.scale);
  // Distances from the zero points are multiplied.
  return quantized::on_whole_numbers(op, self, [&](const Tensor& q) {
    const Tensor distances = at::sub(q, Scalar(from.zero_point)),
                 slopes = at::sub(quantized::as_floats(quantized::integers(op, weight)), Scalar(by.zero_point)),
                 products = at::mul(at::prelu(distances, slopes), Scalar(scale)),
                 steps = at::where(at::gt(distances, Scalar(0)), distances, at::round(products));
    return at::clamp(at::add(steps, Scalar(from.zero_point)), Scalar(range.least), Scalar(range.most));
  });
}

Tensor& hardsigmoid_out_quantized(const Tensor& self, Tensor& out) {
  return quantized::give("hardsigmoid", out, hardsigmoid_quantized(self));
}
Tensor& hardtanh_out_quantized(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Tensor& out) {
  return quantized::give("hardtanh", out, hardtanh_quantized(self, min_val, max_val));
}
// In the steps of `out`.
Tensor& leaky_relu_out_quantized(const Tensor& self, const Scalar& negative_slope, Tensor& out) {
  const char* const op = "leaky_relu";
  quantized::uniform(op, self);
  quantized::uniform(op, out);
  return quantized::give(op, out,
                         on_each_number(op, self, quantized::impl_of(op, out).shared_quantizer(),
                                        [&](const Tensor& x) { return at::leaky_relu(x, negative_slope); }));
}

Tensor& relu_quantized_(Tensor& self) {
  return quantized::assign("relu_", self, relu_quantized(self));
}
Tensor& relu6_quantized_(Tensor& self) {
  return quantized::assign("relu6_", self, relu6_quantized(self));
}
Tensor& hardtanh_quantized_(Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return quantized::assign("hardtanh_", self, hardtanh_quantized(self, min_val, max_val));
}
Tensor& hardsigmoid_quantized_(Tensor& self) {
  return quantized::assign("hardsigmoid_", self, hardsigmoid_quantized(self));
}
Tensor& leaky_relu_quantized_(Tensor& self, const Scalar& negative_slope) {
  return quantized::assign("leaky_relu_", self, leaky_relu_quantized(self, negative_slope));
}
Tensor& gelu_quantized_(Tensor& self, std::string_view approximate) {
  return quantized::assign("gelu_", self, gelu_quantized(self, approximate));
}

// --- reductions ---
Tensor max_quantized(const Tensor& self) {
  quantized::uniform("max", self);
  return on_integers("max", self, [](const Tensor& q) { return at::max(q); });
}
Tensor min_quantized(const Tensor& self) {
  quantized::uniform("min", self);
  return on_integers("min", self, [](const Tensor& q) { return at::min(q); });
}
namespace {
// Of the innermost dimensions: those that the others' elements lie around.
bool are_innermost(const Tensor& self, const DimMask& mask) {
  return self.is_contiguous() && std::is_sorted(mask.reduced, mask.reduced + self.dim());
}

// The rounded means of the innermost 8-bit integers, of `count` each: their sums are exact.
Tensor means_of_rows(const Tensor& q, int64_t count, IntArrayRef sizes) {
  if (!q.is_cpu()) return fresh(quantized::device::means_of_rows(q, count, sizes));
  Tensor result = empty_contiguous(sizes, q.scalar_type());
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    const T* const in = static_cast<const T*>(q.const_data_ptr());
    T* const out = static_cast<T*>(result.mutable_data_ptr());
    at::parallel_for(0, q.numel() / count, 1 + 4 * quantized::kGrain / count, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const double sum = static_cast<double>(quantized::sum_run(in + row * count, count));
        out[row] = static_cast<T>(std::nearbyint(static_cast<float>(sum / static_cast<double>(count))));
      }
    });
  };
  q.scalar_type() == kByte ? run(uint8_t{}) : run(int8_t{});
  return fresh(result);
}
}  // namespace
Tensor mean_dim_quantized(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  quantized::uniform("mean", self);
  TORCH_CHECK(!dtype.has_value() || *dtype == self.scalar_type(), "mean: a quantized tensor keeps its dtype");
  // The mean of the integers is rounded where they lie together, else that of the distances from the zero point; the
  // two differ in halves.
  const DimMask mask = make_dim_mask(dim, self.dim());
  if (are_innermost(self, mask)) {
    if (self.itemsize() == 1 && self.numel() > 0) {
      return on_integers("mean", self, [&](const Tensor& q) {
        return means_of_rows(q, reduced_count(q, mask), reduced_sizes(q, mask, keepdim));
      });
    }
    return quantized::on_whole_numbers("mean", self,
                                       [&](const Tensor& q) { return at::round(at::mean(q, dim, keepdim)); });
  }
  return on_numbers("mean", self, [&](const Tensor& x) { return at::mean(x, dim, keepdim); });
}
Tensor mean_quantized(const Tensor& self, std::optional<ScalarType> dtype) {
  return mean_dim_quantized(self, std::nullopt, false, dtype);
}

Tensor& mean_dim_out_quantized(const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
                               std::optional<ScalarType> dtype, Tensor& out) {
  return quantized::give("mean", out, mean_dim_quantized(self, dim, keepdim, dtype));
}

Tensor& max_out_quantized(const Tensor& self, Tensor& out) {
  return quantized::give("max", out, max_quantized(self));
}
Tensor& min_out_quantized(const Tensor& self, Tensor& out) {
  return quantized::give("min", out, min_quantized(self));
}
std::tuple<Tensor, Tensor> max_dim_quantized(const Tensor& self, int64_t dim, bool keepdim) {
  quantized::uniform("max", self);
  return quantized::on_integers_with_indices("max", self, [&](const Tensor& q) { return at::max(q, dim, keepdim); });
}
std::tuple<Tensor, Tensor> min_dim_quantized(const Tensor& self, int64_t dim, bool keepdim) {
  quantized::uniform("min", self);
  return quantized::on_integers_with_indices("min", self, [&](const Tensor& q) { return at::min(q, dim, keepdim); });
}

Tensor std_quantized(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                     bool keepdim) {
  quantized::uniform("std", self);
  return on_numbers("std", self, [&](const Tensor& x) { return at::std(x, dim, correction, keepdim); });
}
Tensor& std_out_quantized(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                          bool keepdim, Tensor& out) {
  return quantized::give("std", out, std_quantized(self, dim, correction, keepdim));
}

}  // namespace at::native
