// Fake quantization: numbers moved to the nearest ones that integers would stand for.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/quantized/checks.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/channel_runs.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

TensorSpec spec_of(const Tensor& self, ScalarType dtype) {
  TensorSpec spec;
  spec.sizes = DimVector(self.sizes().begin(), self.sizes().end());
  spec.dtype = dtype;
  spec.device = self.device();
  return spec;
}

void check_range(int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(quant_min <= quant_max, "`quant_min` should be less than or \n        equal to `quant_max`.");
}
void check_zero_point(int64_t zero_point, int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(zero_point >= quant_min && zero_point <= quant_max,
              "`zero_point` must be between `quant_min` and `quant_max`.");
}
// The channels of numbers that are dense: a scale and a zero point each.
struct Channels {
  DimSplit split;
  const float* scales;
  const float* zero_points;
  // Zero points are whole numbers.
  bool whole = true;
};

void fake_quantize(const char* op, const Tensor& self, const Channels& channels, int64_t quant_min, int64_t quant_max,
                   Tensor& output, Tensor* mask) {
  // Half and bfloat16 are computed in float.
  const ScalarType wide = self.scalar_type() == kDouble ? kDouble : kFloat;
  const Tensor x = dense(self, wide);
  DenseOut out(output, wide);
  std::optional<DenseOut> inside;
  if (mask != nullptr) inside.emplace(*mask);
  bool* const within = mask != nullptr ? inside->data<bool>() : nullptr;
  cpu::visit_float_double(wide, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = x.const_data_ptr<T>();
    T* const y = out.data<T>();
    quantized::for_each_run(channels.split, channels.scales, channels.zero_points,
                            [&](int64_t begin, int64_t end, const quantized::Steps& steps) {
                              quantized::fake_quantize_run(
                                  from + begin, y + begin, within != nullptr ? within + begin : nullptr, end - begin,
                                  steps, channels.whole, static_cast<T>(quant_min), static_cast<T>(quant_max));
                            });
  });
  out.commit();
  if (inside) inside->commit();
}

Channels one_channel(const Tensor& self, const float* scale, const float* zero_point) {
  return {DimSplit{1, 1, self.numel()}, scale, zero_point};
}

// The zero points of learnable forms: whole numbers within the range.
Tensor rounded_within(const Tensor& zero_point, int64_t quant_min, int64_t quant_max) {
  Tensor rounded = at::clone(dense(zero_point, kFloat));
  float* const z = rounded.data_ptr<float>();
  for (int64_t i = 0; i < rounded.numel(); ++i) {
    z[i] = std::nearbyint(z[i]);
    z[i] = std::min(std::max(z[i], static_cast<float>(quant_min)), static_cast<float>(quant_max));
  }
  return rounded;
}

struct LearnableGradients {
  Tensor self, scale, zero_point;
};

// Of the straight-through estimator: the numbers within the range pass their gradient on, those outside move with the
// end of the range.
LearnableGradients learnable_gradients(const char* op, const Tensor& grad, const Tensor& self, const Tensor& scale,
                                       const Tensor& zero_point, DimSplit split, int64_t quant_min, int64_t quant_max,
                                       double grad_factor) {
  TORCH_CHECK(grad.sizes() == self.sizes(), "`X` and `dY` are not the same size");
  const ScalarType dtype = self.scalar_type(), wide = dtype == kDouble ? kDouble : kFloat;
  const Tensor x = dense(self, wide), g = dense(grad, wide), scales = dense(scale, kFloat),
               zeros = rounded_within(zero_point, quant_min, quant_max);
  Tensor dx = empty_contiguous(self.sizes(), wide), ds = at::zeros(scale.sizes(), TensorOptions().dtype(wide)),
         dz = at::zeros(zero_point.sizes(), TensorOptions().dtype(wide));
  cpu::visit_float_double(wide, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *const px = x.data_ptr<T>(), *const pg = g.data_ptr<T>();
    T *const out = dx.data_ptr<T>(), *const scale_out = ds.data_ptr<T>(), *const zero_out = dz.data_ptr<T>();
    const float *const s = scales.data_ptr<float>(), *const z = zeros.data_ptr<float>();
    const T least = static_cast<T>(quant_min), most = static_cast<T>(quant_max);
    // Sums are those of a channel's parts, in order, so that they do not depend on how many threads there are.
    constexpr int64_t kPart = int64_t{4} * quantized::kGrain;
    const int64_t parts = split.size == 1 ? (split.inner + kPart - 1) / kPart : 1, tasks = split.size * parts;
    std::vector<double> scale_sums(static_cast<size_t>(tasks)), zero_sums(scale_sums.size());
    const int64_t grain = 1 + quantized::kGrain / (split.outer * split.inner + 1);
    at::parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t c = task / parts, first = task % parts * kPart,
                      n = parts == 1 ? split.inner : std::min(kPart, split.inner - first);
        for (int64_t o = 0; o < split.outer; ++o) {
          const int64_t i = (o * split.size + c) * split.inner + first;
          quantized::fake_quantize_backward_run(px + i, pg + i, out + i, n, s[c], z[c], least, most, &scale_sums[task],
                                                &zero_sums[task]);
        }
      }
    });
    for (int64_t c = 0; c < split.size; ++c) {
      double scale_sum = 0, zero_sum = 0;
      for (int64_t task = c * parts; task < (c + 1) * parts; ++task) {
        scale_sum += scale_sums[task];
        zero_sum += zero_sums[task];
      }
      scale_out[c] = static_cast<T>(scale_sum * grad_factor);
      zero_out[c] = static_cast<T>(zero_sum * grad_factor);
    }
  });
  return {at::to(dx, dtype), at::to(ds, scale.scalar_type()), at::to(dz, zero_point.scalar_type())};
}

}  // namespace

// --- per tensor ---
Tensor fake_quantize_per_tensor_affine(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                                       int64_t quant_max) {
  return std::get<0>(at::fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max));
}
Tensor fake_quantize_per_tensor_affine_tensor_qparams(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                                      int64_t quant_min, int64_t quant_max) {
  return std::get<0>(at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
      self, scale, zero_point, at::ones({1}, TensorOptions().dtype(kLong).device(self.device())), quant_min,
      quant_max));
}

std::array<TensorSpec, 2> fake_quantize_per_tensor_affine_cachemask_meta(const Tensor& self, double, int64_t zero_point,
                                                                         int64_t quant_min, int64_t quant_max) {
  check_floating("fake_quantize_per_tensor_affine_cachemask", self);
  check_range(quant_min, quant_max);
  check_zero_point(zero_point, quant_min, quant_max);
  return {spec_of(self, self.scalar_type()), spec_of(self, kBool)};
}
void fake_quantize_per_tensor_affine_cachemask_cpu(const Tensor& self, double scale, int64_t zero_point,
                                                   int64_t quant_min, int64_t quant_max, Tensor& output, Tensor& mask) {
  const auto s = static_cast<float>(scale), z = static_cast<float>(zero_point);
  fake_quantize("fake_quantize_per_tensor_affine_cachemask", self, one_channel(self, &s, &z), quant_min, quant_max,
                output, &mask);
}

std::array<TensorSpec, 2> fake_quantize_tensor_qparams_meta(const Tensor& self, const Tensor& scale,
                                                            const Tensor& zero_point, const Tensor& fake_quant_enabled,
                                                            int64_t quant_min, int64_t quant_max) {
  const char* const op = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams";
  check_floating(op, self);
  check_range(quant_min, quant_max);
  check_single(op, "scale", scale);
  check_single(op, "zero_point", zero_point);
  check_single(op, "fake_quant_enabled", fake_quant_enabled);
  return {spec_of(self, self.scalar_type()), spec_of(self, kBool)};
}
void fake_quantize_tensor_qparams_cpu(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                      const Tensor& fake_quant_enabled, int64_t quant_min, int64_t quant_max,
                                      Tensor& output, Tensor& mask) {
  if (at::item(fake_quant_enabled).toDouble() == 0) {
    at::copy_(output, self);
    at::fill_(mask, true);
    return;
  }
  const float s = at::item(scale).toFloat(), z = at::item(zero_point).toFloat();
  fake_quantize("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", self, one_channel(self, &s, &z), quant_min,
                quant_max, output, &mask);
}

// --- per channel ---
Tensor fake_quantize_per_channel_affine(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
                                        int64_t quant_min, int64_t quant_max) {
  return std::get<0>(
      at::fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max));
}

std::array<TensorSpec, 2> fake_quantize_per_channel_affine_cachemask_meta(const Tensor& self, const Tensor& scale,
                                                                          const Tensor& zero_point, int64_t axis,
                                                                          int64_t quant_min, int64_t quant_max) {
  const char* const op = "fake_quantize_per_channel_affine_cachemask";
  check_floating(op, self);
  TORCH_CHECK(scale.scalar_type() == kFloat || scale.scalar_type() == kBFloat16,
              "Scale must be Float or BFloat16, found ", scale.scalar_type());
  TORCH_CHECK(zero_point.scalar_type() == kInt || zero_point.scalar_type() == kFloat ||
                  zero_point.scalar_type() == kHalf || zero_point.scalar_type() == kBFloat16,
              "Zero-point must be Int32, Float, Half or BFloat16, found ", zero_point.scalar_type());
  check_channels(self, scale, zero_point, axis);
  check_range(quant_min, quant_max);
  if (!zero_point.is_floating_point() && zero_point.is_cpu() && zero_point.numel() > 0) {
    const auto [least, most] = at::aminmax(zero_point);
    TORCH_CHECK(at::item(least).toLong() >= quant_min && at::item(most).toLong() <= quant_max,
                "`zero_point` must be between `quant_min` and `quant_max`.");
  }
  return {spec_of(self, self.scalar_type()), spec_of(self, kBool)};
}
void fake_quantize_per_channel_affine_cachemask_cpu(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                                    int64_t axis, int64_t quant_min, int64_t quant_max, Tensor& output,
                                                    Tensor& mask) {
  const Tensor scales = dense(scale, kFloat), zeros = dense(zero_point, kFloat);
  const Channels channels{split_at_dim(self.sizes(), axis), scales.data_ptr<float>(), zeros.data_ptr<float>(),
                          !zero_point.is_floating_point()};
  fake_quantize("fake_quantize_per_channel_affine_cachemask", self, channels, quant_min, quant_max, output, &mask);
}

Tensor fake_quantize_cachemask_backward(const Tensor& grad, const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == kBool, "Mask must be bool type");
  TORCH_CHECK(mask.numel() == grad.numel(), "`mask` and `grad` are not the same size: `mask` is size ", mask.numel(),
              " and `grad` is size ", grad.numel());
  return at::mul(grad, mask);
}

// --- with scales and zero points that are learnt ---
TensorSpec learnable_per_tensor_meta(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                     int64_t quant_min, int64_t quant_max, double) {
  const char* const op = "_fake_quantize_learnable_per_tensor_affine";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_single(op, "scale", scale);
  check_single(op, "zero_point", zero_point);
  return spec_of(self, self.scalar_type());
}
void learnable_per_tensor_cpu(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t quant_min,
                              int64_t quant_max, double, Tensor& out) {
  const Tensor scales = dense(scale, kFloat), zeros = rounded_within(zero_point, quant_min, quant_max);
  fake_quantize("_fake_quantize_learnable_per_tensor_affine", self,
                one_channel(self, scales.data_ptr<float>(), zeros.data_ptr<float>()), quant_min, quant_max, out,
                nullptr);
}
std::tuple<Tensor, Tensor, Tensor> learnable_per_tensor_backward(const Tensor& grad, const Tensor& self,
                                                                 const Tensor& scale, const Tensor& zero_point,
                                                                 int64_t quant_min, int64_t quant_max,
                                                                 double grad_factor) {
  const char* const op = "_fake_quantize_learnable_per_tensor_affine_backward";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_single(op, "scale", scale);
  check_single(op, "zero_point", zero_point);
  LearnableGradients g = learnable_gradients(op, grad, self, scale, zero_point, DimSplit{1, 1, self.numel()}, quant_min,
                                             quant_max, grad_factor);
  return {g.self, g.scale, g.zero_point};
}

TensorSpec learnable_per_channel_meta(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
                                      int64_t quant_min, int64_t quant_max, double) {
  const char* const op = "_fake_quantize_learnable_per_channel_affine";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_channels(self, scale, zero_point, axis);
  return spec_of(self, self.scalar_type());
}
void learnable_per_channel_cpu(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
                               int64_t quant_min, int64_t quant_max, double, Tensor& out) {
  const Tensor scales = dense(scale, kFloat), zeros = rounded_within(zero_point, quant_min, quant_max);
  const Channels channels{split_at_dim(self.sizes(), axis), scales.data_ptr<float>(), zeros.data_ptr<float>()};
  fake_quantize("_fake_quantize_learnable_per_channel_affine", self, channels, quant_min, quant_max, out, nullptr);
}
std::tuple<Tensor, Tensor, Tensor> learnable_per_channel_backward(const Tensor& grad, const Tensor& self,
                                                                  const Tensor& scale, const Tensor& zero_point,
                                                                  int64_t axis, int64_t quant_min, int64_t quant_max,
                                                                  double grad_factor) {
  const char* const op = "_fake_quantize_learnable_per_channel_affine_backward";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_channels(self, scale, zero_point, axis);
  LearnableGradients g = learnable_gradients(op, grad, self, scale, zero_point, split_at_dim(self.sizes(), axis),
                                             quant_min, quant_max, grad_factor);
  return {g.self, g.scale, g.zero_point};
}

}  // namespace at::native
