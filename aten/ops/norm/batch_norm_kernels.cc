// The normalisation of each channel of [N, C, ...] and its gradients, over memory of contiguous channels ([N, C, *] as
// it is) or of contiguous positions (channels last, and [N, C]).
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/result_spec.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/rows/batch_norm.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channel_layout.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/reduce/reduction.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// How the elements of dense memory belong to channels: `runs` runs of `run` elements of one channel, the channels in
// turn, or, where `run` is 1, rows of one element of each channel.
struct Channels {
  int64_t channels = 0, count = 0, run = 1;  // count: the elements of a channel
  int64_t runs() const { return channels * (count / run); }
  bool rows() const { return run == 1; }
};

Channels channels_of(const Tensor& t, bool innermost) {
  Channels c{t.size(1), t.size(1) == 0 ? 0 : t.numel() / t.size(1), 1};
  if (!innermost && t.size(0) != 0) c.run = c.count / t.size(0);
  return c;
}

// Numbers of the channels in the compute type, repeated so that short rows make longer ones.
template <class C>
class PerChannel {
 public:
  PerChannel(int64_t channels, int64_t repeats)
      : channels_(channels), repeats_(repeats), values_(static_cast<size_t>(channels * repeats)) {}
  void set(int64_t channel, double value) {
    for (int64_t r = 0; r < repeats_; ++r)
      values_[static_cast<size_t>(r * channels_ + channel)] = static_cast<C>(value);
  }
  C operator[](int64_t channel) const { return values_[static_cast<size_t>(channel)]; }
  const C* data() const { return values_.data(); }

 private:
  int64_t channels_, repeats_;
  std::vector<C> values_;
};

int64_t repeats_of(const Channels& c) {
  return c.rows() ? std::max<int64_t>(1, 512 / std::max<int64_t>(c.channels, 1)) : 1;
}

// f(first element, its channel, length) for every run, or f(first element, 0, length) for rows of whole channels.
template <class F>
void for_pieces(const Channels& c, const F& f) {
  if (c.rows()) {
    const int64_t width = c.channels * repeats_of(c), total = c.channels * c.count, rows = (total + width - 1) / width;
    at::parallel_for(0, rows, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i * width, 0, std::min(width, total - i * width));
    });
    return;
  }
  at::parallel_for(0, c.runs(), std::max<int64_t>(1, kGrain / c.run), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * c.run, i % c.channels, c.run);
  });
}

void write_numbers(const std::vector<double>& numbers, Tensor& out) {
  cpu::visit_float_double(out.scalar_type(), "batch_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    DenseOut to(out);
    std::transform(numbers.begin(), numbers.end(), to.data<C>(), [](double v) { return static_cast<C>(v); });
    to.commit();
  });
}

// Mean and biased variance by channel.
void moments(const Tensor& input, std::vector<double>* mean, std::vector<double>* var) {
  DimVector others;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) others.push_back(d);
  }
  const int64_t channels = input.size(1);
  const Tensor m = empty_contiguous({channels}, ScalarType::Double),
               v = empty_contiguous({channels}, ScalarType::Double);
  cpu::ReduceParams params;
  params.correction = 0;
  params.out_type = ScalarType::Double;
  run_reduction("batch_norm", cpu::moments_kernel(input.scalar_type()), input,
                make_dim_mask(IntArrayRef(others), input.dim()), v, m, params);
  *mean = numbers_of(m);
  *var = numbers_of(v);
}

}  // namespace

std::array<TensorSpec, 4> fused_batch_norm_meta(const Tensor& input, const std::optional<Tensor>& weight,
                                                const std::optional<Tensor>& bias, const std::optional<Tensor>& mean,
                                                const std::optional<Tensor>& var, bool training, double) {
  check_normalized_by_channel("batch_norm", input, weight, bias);
  check_channels("batch_norm", "running_mean", mean, input.size(1));
  check_channels("batch_norm", "running_var", var, input.size(1));
  TORCH_CHECK(training || (given(mean) && given(var)),
              "batch_norm: Expected running_mean and running_var to be defined when training=False");
  const TensorSpec numbers{{input.size(1)}, {}, statistics_dtype(input.scalar_type()), input.device()};
  return {pointwise::result_spec({input}, input.scalar_type()), numbers, numbers, numbers};
}

void fused_batch_norm_cpu(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                          const std::optional<Tensor>& mean, const std::optional<Tensor>& var, bool training,
                          double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd, Tensor& save_var) {
  const int64_t channels = input.size(1);
  std::vector<double> mu, variance;
  if (training) {
    moments(input, &mu, &variance);
  } else {
    mu = numbers_of(*mean), variance = numbers_of(*var);
  }
  const std::vector<double> w = numbers_or(weight, channels, 1), b = numbers_or(bias, channels, 0);
  std::vector<double> invstd(variance.size());
  std::transform(variance.begin(), variance.end(), invstd.begin(), [eps](double v) { return 1 / std::sqrt(v + eps); });
  write_numbers(mu, save_mean);
  write_numbers(invstd, save_invstd);
  write_numbers(variance, save_var);
  if (input.numel() == 0) return;

  const bool innermost = channels_innermost(input);
  const Channels c = channels_of(input, innermost);
  const Tensor x = as_walked(input, input.scalar_type(), innermost);
  const Tensor y = is_walked(out, innermost) ? out : walked(out, out.scalar_type(), innermost);
  cpu::visit_floating(input.scalar_type(), "batch_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename cpu::ComputeType<T>::type;
    PerChannel<C> center(channels, repeats_of(c)), scale(channels, repeats_of(c)), shift(channels, repeats_of(c));
    for (int64_t k = 0; k < channels; ++k) {
      const size_t i = static_cast<size_t>(k);
      center.set(k, mu[i]), scale.set(k, invstd[i] * w[i]), shift.set(k, b[i]);
    }
    const T* from = static_cast<const T*>(x.const_data_ptr());
    T* to = static_cast<T*>(y.mutable_data_ptr());
    for_pieces(c, [&](int64_t first, int64_t k, int64_t n) {
      if (c.rows()) {
        cpu::normalize_row<T>(from + first, to + first, n, {center.data(), scale.data(), shift.data()});
      } else {
        cpu::normalize_run<T>(from + first, to + first, n, {center[k], scale[k], shift[k]});
      }
    });
  });
  if (!y.is_same(out)) at::copy_(out, y);
}

namespace {

struct Sums {
  std::vector<double> g, gx;  // of the gradient, and of it times the distance from the mean
};

// Fixed pieces of memory, each into its own sums, which are added in order: no result depends on the number of threads.
template <class T, class C>
Sums gradient_sums(const Channels& c, const T* g, const T* x, const PerChannel<C>& mean) {
  constexpr int64_t kMaxPieces = 16;
  const int64_t pieces = std::clamp<int64_t>((c.rows() ? c.channels * c.count : c.count) / (4 * kGrain), 1, kMaxPieces);
  const int64_t width = c.channels * repeats_of(c);
  std::vector<double> part_g(static_cast<size_t>(pieces * width)), part_gx(part_g);
  if (c.rows()) {
    const int64_t total = c.channels * c.count, rows = total / width;
    at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        double *to_g = part_g.data() + p * width, *to_gx = part_gx.data() + p * width;
        const int64_t first = rows * p / pieces, last = rows * (p + 1) / pieces;
        cpu::gradient_sums_rows<T>(g + first * width, x + first * width, last - first, width, mean.data(), to_g, to_gx);
        if (p + 1 == pieces) {
          cpu::gradient_sums_rows<T>(g + rows * width, x + rows * width, 1, total - rows * width, mean.data(), to_g,
                                     to_gx);
        }
      }
    });
  } else {
    at::parallel_for(0, pieces * c.channels, std::max<int64_t>(1, kGrain * pieces / c.count),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t k = i % c.channels, p = i / c.channels;
                         for (int64_t at = c.count * p / pieces, last = c.count * (p + 1) / pieces; at < last;) {
                           const int64_t n = std::min(last - at, c.run - at % c.run);
                           const int64_t first = (at / c.run * c.channels + k) * c.run + at % c.run;
                           cpu::gradient_sums_run<T>(g + first, x + first, n, mean[k], &part_g[static_cast<size_t>(i)],
                                                     &part_gx[static_cast<size_t>(i)]);
                           at += n;
                         }
                       }
                     });
  }
  Sums sums{std::vector<double>(static_cast<size_t>(c.channels)), std::vector<double>(static_cast<size_t>(c.channels))};
  for (size_t i = 0; i < part_g.size(); ++i) {
    sums.g[i % sums.g.size()] += part_g[i];
    sums.gx[i % sums.gx.size()] += part_gx[i];
  }
  return sums;
}

}  // namespace

// Gradients that output_mask leaves out are undefined. Without values: what Meta tensors give.
std::tuple<Tensor, Tensor, Tensor> fused_batch_norm_backward_meta(const Tensor& grad_out, const Tensor& input,
                                                                  const std::optional<Tensor>& weight,
                                                                  const Tensor& mean, const Tensor& invstd, bool,
                                                                  std::array<bool, 3> output_mask) {
  check_normalized_by_channel("batch_norm_backward", input, weight, std::nullopt);
  TORCH_CHECK(grad_out.sizes() == input.sizes(), "batch_norm_backward(): expected grad_out of size ", input.sizes(),
              ", but got ", grad_out.sizes());
  const int64_t channels = input.size(1);
  TORCH_CHECK(mean.numel() == channels && invstd.numel() == channels,
              "batch_norm_backward(): expected mean and invstd of ", channels, " elements, but got ", mean.numel(),
              " and ", invstd.numel());
  structured::check_one_device(grad_out, input, weight, mean, invstd);
  const ScalarType of_weight = given(weight) ? weight->scalar_type() : statistics_dtype(input.scalar_type());
  Tensor gx, gw, gb;
  if (output_mask[0]) gx = walked(input, input.scalar_type(), channels_innermost(input));
  if (output_mask[1]) gw = empty_contiguous({channels}, of_weight, input.device());
  if (output_mask[2]) gb = empty_contiguous({channels}, of_weight, input.device());
  return {gx, gw, gb};
}

std::tuple<Tensor, Tensor, Tensor> fused_batch_norm_backward_cpu(const Tensor& grad_out, const Tensor& input,
                                                                 const std::optional<Tensor>& weight,
                                                                 const Tensor& mean, const Tensor& invstd,
                                                                 bool training, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] = fused_batch_norm_backward_meta(grad_out, input, weight, mean, invstd, training, output_mask);
  const int64_t channels = input.size(1);
  const ScalarType type = input.scalar_type();
  const bool innermost = channels_innermost(input);
  const Channels c = channels_of(input, innermost);
  const Tensor x = as_walked(input, type, innermost), g = as_walked(grad_out, type, innermost);
  const std::vector<double> mu = numbers_of(mean), rstd = numbers_of(invstd), w = numbers_or(weight, channels, 1);
  const bool sums_wanted = output_mask[1] || output_mask[2] || (training && output_mask[0]);
  cpu::visit_floating(type, "batch_norm_backward", [&, &gx = gx, &gw = gw, &gb = gb](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename cpu::ComputeType<T>::type;
    const T *gp = static_cast<const T*>(g.const_data_ptr()), *xp = static_cast<const T*>(x.const_data_ptr());
    const int64_t repeats = repeats_of(c);
    PerChannel<C> center(channels, repeats), scale(channels, repeats), offset(channels, repeats),
        slope(channels, repeats);
    for (int64_t k = 0; k < channels; ++k) center.set(k, mu[static_cast<size_t>(k)]);
    Sums sums{std::vector<double>(mu.size()), std::vector<double>(mu.size())};
    if (sums_wanted && input.numel() != 0) sums = gradient_sums(c, gp, xp, center);
    const double count = static_cast<double>(c.count);
    for (size_t i = 0; i < mu.size(); ++i) {
      const double k = rstd[i] * w[i];
      scale.set(static_cast<int64_t>(i), k);
      offset.set(static_cast<int64_t>(i), k * sums.g[i] / count);
      slope.set(static_cast<int64_t>(i), k * rstd[i] * rstd[i] * sums.gx[i] / count);
      sums.gx[i] *= rstd[i];
    }
    const auto write = [&](const std::vector<double>& from, Tensor& to) {
      cpu::visit_floating(to.scalar_type(), "batch_norm_backward", [&](auto kind) {
        using W = typename decltype(kind)::type;
        using Wide = typename cpu::ComputeType<W>::type;
        std::transform(from.begin(), from.end(), static_cast<W*>(to.mutable_data_ptr()),
                       [](double v) { return static_cast<W>(static_cast<Wide>(v)); });
      });
    };
    if (gw.defined()) write(sums.gx, gw);
    if (gb.defined()) write(sums.g, gb);
    if (!gx.defined() || input.numel() == 0) return;
    T* to = static_cast<T*>(gx.mutable_data_ptr());
    // With given statistics nothing but the gradient counts: a NaN of the input stays out.
    const PerChannel<C> zero(channels, repeats);
    for_pieces(c, [&](int64_t first, int64_t k, int64_t n) {
      if (training) {
        if (c.rows()) {
          cpu::gradient_row<T>(gp + first, xp + first, to + first, n,
                               {center.data(), scale.data(), offset.data(), slope.data()});
        } else {
          cpu::gradient_run<T>(gp + first, xp + first, to + first, n, {center[k], scale[k], offset[k], slope[k]});
        }
      } else if (c.rows()) {
        cpu::normalize_row<T>(gp + first, to + first, n, {zero.data(), scale.data(), zero.data()});
      } else {
        cpu::normalize_run<T>(gp + first, to + first, n, {C{0}, scale[k], C{0}});
      }
    });
  });
  return {gx, gw, gb};
}

}  // namespace at::native
