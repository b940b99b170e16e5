// layer_norm, its fused kernel and its backward, rms_norm.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/epsilon.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// Mean and reciprocal deviation are kept in float for the 16-bit types.
ScalarType statistics_dtype(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::BFloat16 ? ScalarType::Float : type;
}

struct Shape {
  int64_t rows = 1, width = 1;
};

Shape rows_of(const Tensor& input, IntArrayRef normalized_shape) {
  const size_t lead = static_cast<size_t>(input.dim()) - normalized_shape.size();
  Shape s;
  for (size_t d = 0; d < lead; ++d) s.rows *= input.sizes()[d];
  for (int64_t n : normalized_shape) s.width *= n;
  return s;
}

void check_affine(const char* op, const char* name, const std::optional<Tensor>& t, IntArrayRef normalized_shape) {
  TORCH_CHECK(
      !t || !t->defined() || t->sizes() == normalized_shape, op, "(): Expected ", name,
      " to be of same shape as normalized_shape, but got ", name, " of shape ", t ? t->sizes() : IntArrayRef(),
      " and normalized_shape = ", normalized_shape);
}

std::string comma_separated(IntArrayRef sizes) {
  std::string text;
  for (int64_t n : sizes) text += ", " + std::to_string(n);
  return text;
}

void check_normalized(const char* op, const Tensor& input, IntArrayRef normalized_shape, bool complex = false) {
  TORCH_CHECK(
      !normalized_shape.empty(), "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, ",
      "but got normalized_shape = ", normalized_shape);
  const int64_t lead = input.dim() - static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(
      lead >= 0 && input.sizes().slice(static_cast<size_t>(lead)) == normalized_shape, "Given normalized_shape=", normalized_shape,
      ", expected input with shape [*", comma_separated(normalized_shape), "], but got input of size", input.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()) || (complex && input.is_complex()), "\"", op,
                              "\" not implemented for '", toString(input.scalar_type()), "'");
}

DimVector statistics_sizes(const Tensor& input, IntArrayRef normalized_shape) {
  DimVector sizes(input.sizes().begin(), input.sizes().end());
  for (size_t d = sizes.size() - normalized_shape.size(); d < sizes.size(); ++d) sizes[d] = 1;
  return sizes;
}

Tensor dense_or_none(const std::optional<Tensor>& t, ScalarType type) { return t && t->defined() ? dense(*t, type) : Tensor(); }

template <class C>
const C* data_or_null(const Tensor& t) {
  return t.defined() ? static_cast<const C*>(t.const_data_ptr()) : nullptr;
}

}  // namespace

std::array<TensorSpec, 3> fused_layer_norm_meta(const Tensor& input, IntArrayRef normalized_shape,
                                                const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                                double) {
  check_normalized("layer_norm", input, normalized_shape);
  check_affine("layer_norm", "weight", weight, normalized_shape);
  check_affine("layer_norm", "bias", bias, normalized_shape);
  const DimVector sizes = statistics_sizes(input, normalized_shape);
  const ScalarType type = statistics_dtype(input.scalar_type());
  return {
      TensorSpec{DimVector(input.sizes().begin(), input.sizes().end()), {}, input.scalar_type(), input.device()},
      TensorSpec{sizes, {}, type, input.device()}, TensorSpec{sizes, {}, type, input.device()}};
}

void fused_layer_norm_cpu(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Shape s = rows_of(input, normalized_shape);
  if (s.rows == 0) return;
  const Tensor x = dense(input);
  const ScalarType type = statistics_dtype(x.scalar_type());
  const Tensor w = dense_or_none(weight, type), b = dense_or_none(bias, type);
  DenseOut y(out), m(mean), r(rstd);
  cpu::visit_floating(x.scalar_type(), "layer_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename cpu::ComputeType<T>::type;
    const T* from = static_cast<const T*>(x.const_data_ptr());
    const C *wp = data_or_null<C>(w), *bp = data_or_null<C>(b);
    T* to = y.data<T>();
    C *mp = m.data<C>(), *rp = r.data<C>();
    at::parallel_for(0, s.rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(s.width, 1)), [&](int64_t begin, int64_t end) {
      [[maybe_unused]] std::vector<float> wide(sizeof(T) == 2 ? static_cast<size_t>(s.width) : 0);
      cpu::StreamedRows<T> results(s.width, s.rows * s.width);
      for (int64_t i = begin; i < end; ++i) {
        T* const yi = results.begin(to + i * s.width);
        if constexpr (sizeof(T) == 2) {
          cpu::convert_row(from + i * s.width, wide.data(), s.width);
          cpu::layer_norm_row<float>(wide.data(), wp, bp, wide.data(), s.width, eps, mp + i, rp + i);
          cpu::convert_row(wide.data(), yi, s.width);
        } else {
          cpu::layer_norm_row<T>(from + i * s.width, wp, bp, yi, s.width, eps, mp + i, rp + i);
        }
        results.end(to + i * s.width, s.width, {from + (i + 1) * s.width});
      }
    });
  });
  y.commit();
  m.commit();
  r.commit();
}

// Gradients that output_mask leaves out are undefined. Without values: what Meta tensors give.
std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_meta(
    const Tensor& grad_out, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, std::array<bool, 3> output_mask) {
  check_normalized("layer_norm_backward", input, normalized_shape);
  check_affine("layer_norm_backward", "weight", weight, normalized_shape);
  check_affine("layer_norm_backward", "bias", bias, normalized_shape);
  TORCH_CHECK(
      grad_out.sizes() == input.sizes(), "native_layer_norm_backward(): expected grad_out of size ", input.sizes(), ", but got ",
      grad_out.sizes());
  const Shape s = rows_of(input, normalized_shape);
  TORCH_CHECK(
      mean.numel() == s.rows && rstd.numel() == s.rows, "native_layer_norm_backward(): expected mean and rstd with ", s.rows,
      " elements, but got ", mean.numel(), " and ", rstd.numel());
  structured::check_one_device(grad_out, input, mean, rstd, weight, bias);
  const auto like = [&](const std::optional<Tensor>& t) {
    return t && t->defined() ? empty_contiguous(normalized_shape, t->scalar_type(), input.device()) : Tensor();
  };
  Tensor gx, gw, gb;
  if (output_mask[0]) gx = empty_contiguous(input.sizes(), input.scalar_type(), input.device());
  if (output_mask[1]) gw = like(weight);
  if (output_mask[2]) gb = like(bias);
  return {gx, gw, gb};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_cpu(
    const Tensor& grad_out, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] =
      native_layer_norm_backward_meta(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask);
  const Shape s = rows_of(input, normalized_shape);
  const ScalarType type = input.scalar_type(), stats = statistics_dtype(type);
  const Tensor x = dense(input), g = dense(grad_out, type), m = dense(mean, stats), r = dense(rstd, stats);
  const Tensor w = dense_or_none(weight, stats);
  const bool want_weight = gw.defined(), want_bias = gb.defined();

  // Weight gradients: fixed pieces of rows, each into its own partial sums, added in order.
  constexpr int64_t kMaxPieces = 16;
  const int64_t pieces = std::clamp<int64_t>(s.rows * std::max<int64_t>(s.width, 1) / (4 * kGrain), 1, kMaxPieces);
  Tensor gw_parts, gb_parts;
  const auto zeroed = [&](IntArrayRef sizes) {
    const Tensor t = empty_contiguous(sizes, stats, input.device());
    std::fill_n(static_cast<char*>(t.mutable_data_ptr()), t.nbytes(), 0);
    return t;
  };
  if (want_weight) gw_parts = zeroed({pieces, s.width});
  if (want_bias) gb_parts = zeroed({pieces, s.width});

  cpu::visit_floating(type, "layer_norm_backward", [&, &gx = gx](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename cpu::ComputeType<T>::type;
    const T *xp = data_or_null<T>(x), *gp = data_or_null<T>(g);
    const C *wp = data_or_null<C>(w), *mp = data_or_null<C>(m), *rp = data_or_null<C>(r);
    T* gxp = gx.defined() ? static_cast<T*>(gx.mutable_data_ptr()) : nullptr;
    C* gwp = want_weight ? static_cast<C*>(gw_parts.mutable_data_ptr()) : nullptr;
    C* gbp = want_bias ? static_cast<C*>(gb_parts.mutable_data_ptr()) : nullptr;
    const auto rows = [&](int64_t piece, int64_t begin, int64_t end) {
      [[maybe_unused]] std::vector<float> wide(sizeof(T) == 2 ? static_cast<size_t>(3 * s.width) : 0);
      cpu::StreamedRows<T> results(s.width, s.rows * s.width);
      for (int64_t i = begin; i < end; ++i) {
        const C *gi, *xi;
        C* gxi;
        if constexpr (sizeof(T) == 2) {
          cpu::convert_row(gp + i * s.width, wide.data(), s.width);
          cpu::convert_row(xp + i * s.width, wide.data() + s.width, s.width);
          gi = wide.data(), xi = wide.data() + s.width, gxi = wide.data() + 2 * s.width;
        } else {
          gi = gp + i * s.width, xi = xp + i * s.width, gxi = gxp ? results.begin(gxp + i * s.width) : nullptr;
        }
        if (gwp || gbp) {
          cpu::layer_norm_weight_row<C>(
              gi, xi, s.width, mp[i], rp[i], gwp ? gwp + piece * s.width : nullptr, gbp ? gbp + piece * s.width : nullptr);
        }
        if (gxp) {
          cpu::layer_norm_backward_row<C>(gi, xi, wp, gxi, s.width, mp[i], rp[i]);
          if constexpr (sizeof(T) == 2) cpu::convert_row(gxi, results.begin(gxp + i * s.width), s.width);
          results.end(gxp + i * s.width, s.width, {gp + (i + 1) * s.width, xp + (i + 1) * s.width});
        }
      }
    };
    at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) rows(p, s.rows * p / pieces, s.rows * (p + 1) / pieces);
    });
  });
  const auto total = [&](const Tensor& parts, Tensor& to) {
    Tensor row = at::view(to, {s.width});
    at::sum_out(row, parts, IntArrayRef(0), false, to.scalar_type());
  };
  if (want_weight) total(gw_parts, gw);
  if (want_bias) total(gb_parts, gb);
  return {gx, gw, gb};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps) {
  const auto [result, mean, rstd] = at::_fused_layer_norm(input, normalized_shape, weight, bias, eps);
  const ScalarType type = public_statistics_dtype(input, {weight, bias});
  return {result, at::to(mean, type), at::to(rstd, type)};
}

Tensor layer_norm(
    const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    double eps, bool) {
  return std::get<0>(at::_fused_layer_norm(input, normalized_shape, weight, bias, eps));
}

namespace {

// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, and 1 / sqrt(mean(x^2) + eps), which 16-bit types have
// in float.
std::tuple<Tensor, Tensor> normalized_by_square(const Tensor& input, IntArrayRef normalized_shape,
                                                const std::optional<Tensor>& weight, double eps) {
  check_normalized("rms_norm", input, normalized_shape, /*complex=*/true);
  check_affine("rms_norm", "weight", weight, normalized_shape);
  const ScalarType type = input.scalar_type();
  DimVector dims;
  for (size_t d = 0; d < normalized_shape.size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor x = statistics_dtype(type) == type ? input : at::_to_copy(input, TensorOptions().dtype(ScalarType::Float));
  const Tensor rstd = at::rsqrt(at::add(at::mean(at::mul(x, x), dims, true), Scalar(eps)));
  Tensor y = at::mul(x, rstd);
  if (weight && weight->defined()) y = at::mul(y, *weight);
  return {y.scalar_type() == type ? y : at::_to_copy(y, TensorOptions().dtype(type)), rstd};
}

}  // namespace

// Without eps: the epsilon of the dtype that it computes in.
std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, IntArrayRef normalized_shape,
                                          const std::optional<Tensor>& weight, std::optional<double> eps) {
  return normalized_by_square(input, normalized_shape, weight,
                              eps.value_or(epsilon_of(statistics_dtype(input.scalar_type()))));
}

// Without eps: the epsilon of the input's dtype.
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps) {
  return std::get<0>(
      normalized_by_square(input, normalized_shape, weight, eps.value_or(epsilon_of(input.scalar_type()))));
}

}  // namespace at::native
