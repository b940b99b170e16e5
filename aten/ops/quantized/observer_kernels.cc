// The choice of scales and zero points, from what numbers there are.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <tuple>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/checks.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/choose_parameters.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {
namespace {

void check_fit(const Tensor& to, const Tensor& values) {
  TORCH_CHECK(to.numel() == values.numel(), "_fused_moving_avg_obs_fq_helper: expected ", values.numel(),
              " running values, scales and zero points, but got ", to.numel());
}

void write(Tensor& to, const Tensor& values) { at::copy_(to, at::view(values, to.sizes())); }

// The running extremes come nearer to those that were seen; infinite ones have seen nothing yet.
Tensor moved(const Tensor& running, const Tensor& seen, double constant) {
  TORCH_CHECK(running.numel() == seen.numel(), "_fused_moving_avg_obs_fq_helper: expected ", seen.numel(),
              " running values, but got ", running.numel());
  Tensor next = at::clone(dense(running, kFloat));
  float* const r = next.data_ptr<float>();
  const float* const s = seen.data_ptr<float>();
  const auto c = static_cast<float>(constant);
  for (int64_t i = 0; i < next.numel(); ++i) r[i] = std::isinf(r[i]) ? s[i] : r[i] + c * (s[i] - r[i]);
  return next;
}

// How far numbers are moved by 2^bits steps over [least, most]: the root of the sum of squares.
float distance(const float* x, int64_t n, float least, float most, int64_t bits) {
  const auto steps = static_cast<float>((int64_t{1} << bits) - 1);
  const float width = most - least;
  const float scale = width == 0.0f ? 1.0f : width / steps, inverse = 1.0f / scale;
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float q = std::min(std::max(std::nearbyint((x[i] - least) * inverse), 0.0f), steps);
    const float error = x[i] - (q * scale + least);
    sum += error * error;
  }
  return std::sqrt(sum);
}

}  // namespace

std::tuple<double, int64_t> _choose_qparams_per_tensor(const Tensor& self, bool reduce_range) {
  const auto [least, most] = quantized::extremes(self);
  const auto chosen = quantized::choose_parameters(least, most, {0, reduce_range ? 127 : 255});
  return {chosen.scale, chosen.zero_point};
}

std::tuple<Tensor, Tensor> choose_qparams_optimized_meta(const Tensor& input, int64_t numel, int64_t n_bins,
                                                         double ratio, int64_t bit_width) {
  const char* const op = "choose_qparams_optimized";
  TORCH_CHECK(numel > 0 && input.numel() >= numel, "numel ", numel, " greater than input.numel() ", input.numel());
  TORCH_CHECK(n_bins > 0, op, ": n_bins must be positive, but got ", n_bins);
  TORCH_CHECK(bit_width > 0 && bit_width < 32, op, ": bit_width must be in [1, 31], but got ", bit_width);
  TORCH_CHECK(ratio >= 0 && ratio <= 1, op, ": ratio must be in [0, 1], but got ", ratio);
  TORCH_CHECK(input.scalar_type() == kFloat, op, ": expected an input of dtype Float, but got ", input.scalar_type());
  const auto single = [&] { return empty_contiguous({1}, kFloat, input.device()); };
  return {single(), single()};
}

std::tuple<Tensor, Tensor> choose_qparams_optimized(const Tensor& input, int64_t numel, int64_t n_bins, double ratio,
                                                    int64_t bit_width) {
  auto [most_found, least_found] = choose_qparams_optimized_meta(input, numel, n_bins, ratio, bit_width);
  const Tensor numbers = dense(at::to(input, Device(DeviceType::CPU), kFloat));
  const float* const x = numbers.data_ptr<float>();
  const auto [first, last] = std::minmax_element(x, x + numel);
  float best_least = *first, best_most = *last;
  // A greedy search: the end is moved inwards whose move hurts less, until the bins that must stay are left; a range
  // that is better than both its successors and than the best one so far is kept.
  const float step = (best_most - best_least) / static_cast<float>(n_bins);
  const auto kept_bins = static_cast<int64_t>(static_cast<float>(n_bins) * (1.0f - static_cast<float>(ratio)));
  const float narrowest = static_cast<float>(kept_bins) * step;
  float least = best_least, most = best_most, loss = distance(x, numel, least, most, bit_width), best = loss;
  // Steps that are too small for floats would lead nowhere.
  while (least + step > least && most - step < most && least + narrowest < most) {
    const float from_below = distance(x, numel, least + step, most, bit_width);
    const float from_above = distance(x, numel, least, most - step, bit_width);
    if (loss < from_below && loss < from_above && loss < best) {
      best = loss;
      best_least = least;
      best_most = most;
    }
    const bool raise = from_below < from_above;
    loss = raise ? from_below : from_above;
    raise ? least += step : most -= step;
  }
  at::fill_(most_found, best_most);
  at::fill_(least_found, best_least);
  return {most_found, least_found};
}

Tensor _saturate_weight_to_fp16(const Tensor& weight) {
  TORCH_CHECK(weight.scalar_type() == kFloat, "_saturate_weight_to_fp16: expected a weight of dtype Float, but got ",
              weight.scalar_type());
  constexpr double kMost = 65504;
  Tensor elements = at::detach(weight);
  at::clamp_(elements, Scalar(-kMost), Scalar(kMost));
  return weight;
}

std::tuple<Tensor, Tensor> _fused_moving_avg_obs_fq_helper_meta(const Tensor& self, const Tensor&, const Tensor&,
                                                                Tensor& running_min, Tensor& running_max, Tensor& scale,
                                                                Tensor& zero_point, double, int64_t quant_min,
                                                                int64_t quant_max, int64_t ch_axis,
                                                                bool per_row_fake_quant, bool) {
  check_observed("_fused_moving_avg_obs_fq_helper", self, {&running_min, &running_max, &scale, &zero_point}, quant_min,
                 quant_max, ch_axis, per_row_fake_quant);
  if (per_row_fake_quant && running_min.numel() == 0) {
    for (Tensor* t : {&running_min, &running_max, &scale, &zero_point}) resize_output(*t, {self.size(ch_axis)});
  }
  return at::fake_quantize_per_tensor_affine_cachemask(self, 1, quant_min, quant_min, quant_max);
}

std::tuple<Tensor, Tensor> _fused_moving_avg_obs_fq_helper(const Tensor& self, const Tensor& observer_on,
                                                           const Tensor& fake_quant_on, Tensor& running_min,
                                                           Tensor& running_max, Tensor& scale, Tensor& zero_point,
                                                           double averaging_const, int64_t quant_min, int64_t quant_max,
                                                           int64_t ch_axis, bool per_row_fake_quant,
                                                           bool symmetric_quant) {
  const char* const op = "_fused_moving_avg_obs_fq_helper";
  check_observed(op, self, {&running_min, &running_max, &scale, &zero_point}, quant_min, quant_max, ch_axis,
                 per_row_fake_quant);
  const bool observe = at::item(observer_on).toDouble() != 0, quantize = at::item(fake_quant_on).toDouble() != 0;
  // Where nothing was seen yet, it was not known either how many channels there are.
  const bool unseen = per_row_fake_quant && running_min.numel() == 0;
  Tensor low, high;
  if (unseen) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    low = at::full({self.size(ch_axis)}, Scalar(kInfinity), TensorOptions().dtype(kFloat));
    high = at::full({self.size(ch_axis)}, Scalar(-kInfinity), TensorOptions().dtype(kFloat));
  } else {
    low = dense(running_min, kFloat);
    high = dense(running_max, kFloat);
  }
  if (observe) {
    Tensor least, most;
    if (per_row_fake_quant) {
      const Tensor rows = at::reshape(at::transpose(at::detach(self), 0, ch_axis), {self.size(ch_axis), -1});
      std::tie(least, most) = at::aminmax(at::contiguous(rows), 1);
    } else {
      std::tie(least, most) = at::aminmax(dense(at::detach(self)));
    }
    low = moved(low, dense(at::reshape(least, {-1})), averaging_const);
    high = moved(high, dense(at::reshape(most, {-1})), averaging_const);
  }
  Tensor scales, zeros, output, mask;
  if (quantize) {
    TORCH_CHECK(low.numel() == high.numel(), op, ": expected as many running_min as running_max, but got ",
                low.numel(), " and ", high.numel());
    scales = empty_contiguous({low.numel()}, kFloat);
    zeros = empty_contiguous({low.numel()}, kInt);
    for (int64_t i = 0; i < low.numel(); ++i) {
      const auto chosen = quantized::choose_parameters(low.data_ptr<float>()[i], high.data_ptr<float>()[i],
                                                       {quant_min, quant_max}, symmetric_quant, /*float_scale=*/true);
      scales.data_ptr<float>()[i] = static_cast<float>(chosen.scale);
      zeros.data_ptr<int32_t>()[i] = static_cast<int32_t>(chosen.zero_point);
    }
    std::tie(output, mask) =
        per_row_fake_quant
            ? at::fake_quantize_per_channel_affine_cachemask(self, scales, zeros, ch_axis, quant_min, quant_max)
            : at::fake_quantize_per_tensor_affine_cachemask(self, at::item(scales).toDouble(),
                                                            at::item(zeros).toLong(), quant_min, quant_max);
  } else {
    output = at::clone(self);
    mask = at::ones(self.sizes(), TensorOptions().dtype(kBool));
  }
  // Nothing is written before everything is known to fit.
  if (unseen) {
    for (Tensor* t : {&running_min, &running_max, &scale, &zero_point}) resize_output(*t, {self.size(ch_axis)});
  }
  if (observe || unseen) {
    check_fit(running_min, low);
    check_fit(running_max, high);
  }
  if (quantize) {
    check_fit(scale, scales);
    check_fit(zero_point, zeros);
  }
  if (observe || unseen) {
    write(running_min, low);
    write(running_max, high);
  }
  if (quantize) {
    write(scale, scales);
    write(zero_point, zeros);
  }
  return {output, mask};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> _fused_moving_avg_obs_fq_helper_functional(
    const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on, const Tensor& running_min,
    const Tensor& running_max, const Tensor& scale, const Tensor& zero_point, double averaging_const, int64_t quant_min,
    int64_t quant_max, int64_t ch_axis, bool per_row_fake_quant, bool symmetric_quant) {
  Tensor least = at::clone(running_min), most = at::clone(running_max), step = at::clone(scale),
         middle = at::clone(zero_point);
  const auto [output, mask] =
      at::_fused_moving_avg_obs_fq_helper(self, observer_on, fake_quant_on, least, most, step, middle, averaging_const,
                                          quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant);
  return {output, mask, least, most, step, middle};
}

std::tuple<Tensor&, Tensor&> _fused_moving_avg_obs_fq_helper_out(
    const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on, Tensor& running_min,
    Tensor& running_max, Tensor& scale, Tensor& zero_point, double averaging_const, int64_t quant_min,
    int64_t quant_max, int64_t ch_axis, bool per_row_fake_quant, bool symmetric_quant, Tensor& out0, Tensor& out1) {
  // All that is written to is checked before any of it is.
  const auto [output, mask, least, most, step, middle] = at::_fused_moving_avg_obs_fq_helper_functional(
      self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const, quant_min,
      quant_max, ch_axis, per_row_fake_quant, symmetric_quant);
  structured::assign_out("_fused_moving_avg_obs_fq_helper", {out0, out1, running_min, running_max, scale, zero_point},
                         {output, mask, least, most, step, middle});
  return {out0, out1};
}

Tensor fused_moving_avg_obs_fake_quant(const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on,
                                       Tensor& running_min, Tensor& running_max, Tensor& scale, Tensor& zero_point,
                                       double averaging_const, int64_t quant_min, int64_t quant_max, int64_t ch_axis,
                                       bool per_row_fake_quant, bool symmetric_quant) {
  if (self.numel() == 0) return at::clone(self);
  return std::get<0>(at::_fused_moving_avg_obs_fq_helper(self, observer_on, fake_quant_on, running_min, running_max,
                                                         scale, zero_point, averaging_const, quant_min, quant_max,
                                                         ch_axis, per_row_fake_quant, symmetric_quant));
}

}  // namespace at::native
