// Normalisation by groups of neighbouring channels of each sample, and its gradients, over memory of contiguous
// channels or of contiguous positions (channels last).
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/result_spec.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/reduce/reduce.h"
#include "aten/cpu/rows/batch_norm.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channel_layout.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

struct Groups {
  int64_t batch, channels, groups, positions;  // positions: elements of one channel of one sample
  bool innermost;                              // the channels are
  int64_t wide() const { return channels / groups; }
  int64_t count() const { return wide() * positions; }
  // Of a sample whose channels are innermost: fixed pieces of positions, whose sums are added in order, so that no
  // result depends on the number of threads.
  int64_t pieces() const { return std::clamp<int64_t>(channels * positions / (4 * kGrain), 1, 16); }
};

Groups groups_of(const Tensor& input, int64_t groups) {
  const int64_t batch = input.size(0), channels = input.size(1);
  const bool innermost = channels_innermost(input) && !is_dense(input);
  return {batch, channels, groups, batch * channels == 0 ? 0 : input.numel() / (batch * channels), innermost};
}

void check_groups(const char* op, const Tensor& input, int64_t groups) {
  TORCH_CHECK(groups > 0 && input.size(1) % groups == 0, op, ": expected num_groups to divide the ", input.size(1),
              " channels, got ", groups);
}

int64_t tasks_of(int64_t elements) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(elements, 1)); }

double reciprocal_deviation(double variance, double eps) {
  return 1 / std::sqrt((variance > 0 || variance != variance ? variance : 0) + eps);
}

struct Moments {
  double mean, rstd;
};

// Whether the mean's own rounding shows beside the deviation, so that it is to be found again from the distances.
bool is_nearly_constant(double squares, double mean, double count) {
  return squares != 0 && squares < mean * mean * count * 0x1p-20;
}

// Squares are of the distance from the rounded mean, whose own distance from the mean is taken off.
template <class T>
Moments moments_of_run(const T* x, int64_t n, double eps) {
  using C = typename cpu::ComputeType<T>::type;
  const double count = static_cast<double>(n);
  double mean = cpu::row_sum<T>(x, n) / count, center = static_cast<double>(static_cast<C>(mean));
  double squares = cpu::row_square_sum<T>(x, n, center);
  if (is_nearly_constant(squares, mean, count)) {
    double rest = 0;
    for (int64_t i = 0; i < n; ++i) rest += static_cast<double>(x[i]) - center;
    mean = center + rest / count;
    center = static_cast<double>(static_cast<C>(mean));
    squares = cpu::row_square_sum<T>(x, n, center);
  }
  const double off = mean - center;
  return {mean, reciprocal_deviation(squares / count - off * off, eps)};
}

// f(image, first position, last position) for all pieces of all images, in parallel.
template <class F>
void for_pieces(const Groups& g, const F& f) {
  const int64_t pieces = g.pieces();
  at::parallel_for(0, g.batch * pieces, tasks_of(g.channels * g.positions / pieces), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      f(i, i / pieces, g.positions * (i % pieces) / pieces, g.positions * (i % pieces + 1) / pieces);
  });
}

// Channels of fewer positions are rows with numbers for each element.
constexpr int64_t kShortRun = 8;

// Calls f(first element, elements, numbers for them) over `positions` of all channels in memory order; numbers(c) are
// those of a channel, a struct of kFields numbers of the compute type.
template <class C, int kFields>
class Rows {
 public:
  explicit Rows(int64_t width) : width_(width), values_(static_cast<size_t>(kFields * width)) {}
  template <class... N>
  void set(int64_t at, N... numbers) {
    int field = 0;
    ((values_[static_cast<size_t>(field++ * width_ + at)] = static_cast<C>(numbers)), ...);
  }
  const C* operator[](int field) const { return values_.data() + field * width_; }

 private:
  int64_t width_;
  std::vector<C> values_;
};

// Samples whose channels are innermost, a piece of one's positions at a time.
template <class T>
class PixelNorm {
 public:
  PixelNorm(const Groups& g, const T* x, T* y, const std::vector<double>& w, const std::vector<double>& b, double eps,
            double* mean, double* rstd)
      : g_(g), x_(x), y_(y), w_(w), b_(b), eps_(eps), mean_(mean), rstd_(rstd),
        kernel_(*cpu::moments_kernel(c10::CppTypeToScalarType<T>::value)),
        bytes_(g.channels * kernel_.state_size) {
    params_.correction = 0;
    params_.out_type = ScalarType::Double;
  }

  void run() {
    if (g_.pieces() == 1 || g_.batch >= kManySamples) {
      // Both walks over a sample while the caches hold it.
      return at::parallel_for(0, g_.batch, tasks_of(g_.channels * g_.positions), [&](int64_t begin, int64_t end) {
        std::vector<char> states(static_cast<size_t>(bytes_));
        for (int64_t n = begin; n < end; ++n) {
          take(n, 0, g_.positions, states.data());
          finish(n, states.data());
          normalize(n, 0, g_.positions);
        }
      });
    }
    const int64_t pieces = g_.pieces();
    std::vector<char> states(static_cast<size_t>(g_.batch * pieces * bytes_));
    for_pieces(g_, [&](int64_t i, int64_t n, int64_t first, int64_t last) {
      take(n, first, last, states.data() + i * bytes_);
    });
    for (int64_t n = 0; n < g_.batch; ++n) {
      char* const all = states.data() + n * pieces * bytes_;
      for (int64_t i = 1; i < pieces; ++i) kernel_.combine(all, all + i * bytes_, g_.channels);
      finish(n, all);
    }
    for_pieces(g_, [&](int64_t, int64_t n, int64_t first, int64_t last) { normalize(n, first, last); });
  }

 private:
  using C = typename cpu::ComputeType<T>::type;
  static constexpr int64_t kManySamples = 16;

  void take(int64_t n, int64_t first, int64_t last, char* states) const {
    const int64_t item = sizeof(T);
    kernel_.init(states, g_.channels);
    kernel_.accumulate(states, reinterpret_cast<const char*>(x_ + (n * g_.positions + first) * g_.channels), g_.channels,
                       item, last - first, g_.channels * item, first, params_);
  }
  // From the moments by channel, which count the same elements each, to those by group.
  void finish(int64_t n, const char* states) const {
    std::vector<double> means(static_cast<size_t>(g_.channels)), variances(means);
    kernel_.finish(states, g_.channels, reinterpret_cast<char*>(variances.data()), sizeof(double),
                   reinterpret_cast<char*>(means.data()), sizeof(double), params_);
    const double wide = static_cast<double>(g_.wide()), *m = means.data(), *v = variances.data();
    for (int64_t i = n * g_.groups; i < (n + 1) * g_.groups; ++i, m += g_.wide(), v += g_.wide()) {
      // About the first channel's: exact where all are equal.
      double off = 0, spread = 0;
      for (int64_t k = 0; k < g_.wide(); ++k) off += m[k] - m[0];
      const double center = m[0] + off / wide;
      for (int64_t k = 0; k < g_.wide(); ++k) spread += v[k] + (m[k] - center) * (m[k] - center);
      mean_[i] = center, rstd_[i] = reciprocal_deviation(spread / wide, eps_);
    }
  }
  void normalize(int64_t n, int64_t first, int64_t last) const {
    Rows<C, 3> rows(g_.channels);
    for (int64_t c = 0; c < g_.channels; ++c) {
      const int64_t i = n * g_.groups + c / g_.wide();
      rows.set(c, mean_[i], rstd_[i] * w_[static_cast<size_t>(c)], b_[static_cast<size_t>(c)]);
    }
    for (int64_t i = n * g_.positions + first; i < n * g_.positions + last; ++i)
      cpu::normalize_row<T>(x_ + i * g_.channels, y_ + i * g_.channels, g_.channels, {rows[0], rows[1], rows[2]});
  }

  const Groups& g_;
  const T* const x_;
  T* const y_;
  const std::vector<double>&w_, &b_;
  const double eps_;
  double *const mean_, *const rstd_;
  const cpu::ReduceKernel& kernel_;
  const int64_t bytes_;  // of the states of one sample's channels
  cpu::ReduceParams params_;
};

template <class T>
void normalize(const Groups& g, const T* x, T* y, const std::vector<double>& w, const std::vector<double>& b,
               double eps, std::vector<double>* mean, std::vector<double>* rstd) {
  using C = typename cpu::ComputeType<T>::type;
  if (g.innermost) return PixelNorm<T>(g, x, y, w, b, eps, mean->data(), rstd->data()).run();
  at::parallel_for(0, g.batch * g.groups, tasks_of(g.count()), [&](int64_t begin, int64_t end) {
    Rows<C, 3> rows(g.positions < kShortRun ? g.count() : 0);
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + i * g.count();
      T* to = y + i * g.count();
      const Moments m = moments_of_run(from, g.count(), eps);
      (*mean)[static_cast<size_t>(i)] = m.mean, (*rstd)[static_cast<size_t>(i)] = m.rstd;
      for (int64_t k = 0; k < g.wide(); ++k) {
        const size_t c = static_cast<size_t>(i % g.groups * g.wide() + k);
        const double scale = m.rstd * w[c];
        if (g.positions >= kShortRun) {
          cpu::normalize_run<T>(from + k * g.positions, to + k * g.positions, g.positions,
                                {static_cast<C>(m.mean), static_cast<C>(scale), static_cast<C>(b[c])});
        } else {
          for (int64_t p = 0; p < g.positions; ++p) rows.set(k * g.positions + p, m.mean, scale, b[c]);
        }
      }
      if (g.positions < kShortRun) cpu::normalize_row<T>(from, to, g.count(), {rows[0], rows[1], rows[2]});
    }
  });
}

void write_numbers(const std::vector<double>& numbers, Tensor& out) {
  cpu::visit_floating(out.scalar_type(), "group_norm", [&](auto tag) {
    using W = typename decltype(tag)::type;
    using Wide = typename cpu::ComputeType<W>::type;
    DenseOut to(out);
    std::transform(numbers.begin(), numbers.end(), to.data<W>(),
                   [](double v) { return static_cast<W>(static_cast<Wide>(v)); });
    to.commit();
  });
}

// The gradient's sums, and those of it times the distance from the mean, of every channel of every sample.
struct Sums {
  std::vector<double> g, gx;
};

template <class T>
Sums gradient_sums(const Groups& g, const T* grad, const T* x, const std::vector<double>& mean) {
  using C = typename cpu::ComputeType<T>::type;
  const size_t all = static_cast<size_t>(g.batch * g.channels);
  Sums sums{std::vector<double>(all), std::vector<double>(all)};
  if (!g.innermost) {
    at::parallel_for(0, g.batch * g.channels, tasks_of(g.positions), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = static_cast<size_t>(i);
        cpu::gradient_sums_run<T>(grad + i * g.positions, x + i * g.positions, g.positions,
                                  static_cast<C>(mean[static_cast<size_t>(i / g.wide())]), &sums.g[at], &sums.gx[at]);
      }
    });
    return sums;
  }
  std::vector<double> part_g(static_cast<size_t>(g.batch * g.pieces() * g.channels)), part_gx(part_g);
  for_pieces(g, [&](int64_t i, int64_t n, int64_t first, int64_t last) {
    std::vector<C> center(static_cast<size_t>(g.channels));
    for (int64_t c = 0; c < g.channels; ++c)
      center[static_cast<size_t>(c)] = static_cast<C>(mean[static_cast<size_t>(n * g.groups + c / g.wide())]);
    const int64_t at = (n * g.positions + first) * g.channels;
    cpu::gradient_sums_rows<T>(grad + at, x + at, last - first, g.channels, center.data(),
                               part_g.data() + i * g.channels, part_gx.data() + i * g.channels);
  });
  for (size_t i = 0; i < part_g.size(); ++i) {
    const size_t at = i / static_cast<size_t>(g.pieces() * g.channels) * static_cast<size_t>(g.channels) +
                      i % static_cast<size_t>(g.channels);
    sums.g[at] += part_g[i];
    sums.gx[at] += part_gx[i];
  }
  return sums;
}

template <class T>
void input_gradient(const Groups& g, const T* grad, const T* x, T* to, const Sums& sums,
                    const std::vector<double>& mean, const std::vector<double>& rstd, const std::vector<double>& w) {
  using C = typename cpu::ComputeType<T>::type;
  // What each group's statistics take off: a constant, and a multiple of the distance from the mean.
  std::vector<double> offset(mean.size()), slope(mean.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double all = 0, tilted = 0;
    for (size_t k = 0; k < static_cast<size_t>(g.wide()); ++k) {
      const size_t at = i * static_cast<size_t>(g.wide()) + k;
      all += w[at % static_cast<size_t>(g.channels)] * sums.g[at];
      tilted += w[at % static_cast<size_t>(g.channels)] * sums.gx[at];
    }
    const double count = static_cast<double>(g.count());
    offset[i] = rstd[i] * all / count;
    slope[i] = rstd[i] * rstd[i] * rstd[i] * tilted / count;
  }
  if (g.innermost || g.positions < kShortRun) {
    const int64_t width = g.innermost ? g.channels : g.channels * g.positions;
    const auto image = [&](int64_t n, int64_t first, int64_t last) {
      Rows<C, 4> rows(width);
      for (int64_t k = 0; k < width; ++k) {
        const int64_t c = g.innermost ? k : k / g.positions;
        const size_t i = static_cast<size_t>(n * g.groups + c / g.wide());
        rows.set(k, mean[i], rstd[i] * w[static_cast<size_t>(c)], offset[i], slope[i]);
      }
      for (int64_t p = first; p < last; ++p) {
        const int64_t at = n * g.channels * g.positions + p * width;
        cpu::gradient_row<T>(grad + at, x + at, to + at, width, {rows[0], rows[1], rows[2], rows[3]});
      }
    };
    if (g.innermost)
      return for_pieces(g, [&](int64_t, int64_t n, int64_t first, int64_t last) { image(n, first, last); });
    return at::parallel_for(0, g.batch, tasks_of(width), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) image(n, 0, 1);
    });
  }
  at::parallel_for(0, g.batch * g.channels, tasks_of(g.positions), [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      const size_t i = static_cast<size_t>(run / g.wide());
      const double scale = rstd[i] * w[static_cast<size_t>(run % g.channels)];
      const int64_t at = run * g.positions;
      cpu::gradient_run<T>(
          grad + at, x + at, to + at, g.positions,
          {static_cast<C>(mean[i]), static_cast<C>(scale), static_cast<C>(offset[i]), static_cast<C>(slope[i])});
    }
  });
}

}  // namespace

std::array<TensorSpec, 3> fused_group_norm_meta(const Tensor& input, const std::optional<Tensor>& weight,
                                                const std::optional<Tensor>& bias, int64_t num_groups, double) {
  check_normalized_by_channel("group_norm", input, weight, bias);
  check_groups("group_norm", input, num_groups);
  const TensorSpec numbers{{input.size(0), num_groups}, {}, statistics_dtype(input.scalar_type()), input.device()};
  return {pointwise::result_spec({input}, input.scalar_type()), numbers, numbers};
}

void fused_group_norm_cpu(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                          int64_t num_groups, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Groups g = groups_of(input, num_groups);
  const double nothing = std::nan("");
  std::vector<double> mu(static_cast<size_t>(g.batch * g.groups), nothing), r(mu);
  if (input.numel() != 0) {
    const std::vector<double> w = numbers_or(weight, g.channels, 1), b = numbers_or(bias, g.channels, 0);
    const Tensor x = as_walked(input, input.scalar_type(), g.innermost);
    const Tensor y = is_walked(out, g.innermost) ? out : walked(out, out.scalar_type(), g.innermost);
    cpu::visit_floating(input.scalar_type(), "group_norm", [&](auto tag) {
      using T = typename decltype(tag)::type;
      normalize(g, static_cast<const T*>(x.const_data_ptr()), static_cast<T*>(y.mutable_data_ptr()), w, b, eps, &mu,
                &r);
    });
    if (!y.is_same(out)) at::copy_(out, y);
  }
  write_numbers(mu, mean);
  write_numbers(r, rstd);
}

// Gradients that output_mask leaves out are undefined. Without values: what Meta tensors give.
std::tuple<Tensor, Tensor, Tensor> fused_group_norm_backward_meta(const Tensor& grad_out, const Tensor& input,
                                                                  const std::optional<Tensor>& weight,
                                                                  const Tensor& mean, const Tensor& rstd,
                                                                  int64_t num_groups, std::array<bool, 3> output_mask) {
  check_normalized_by_channel("group_norm_backward", input, weight, std::nullopt);
  check_groups("group_norm_backward", input, num_groups);
  TORCH_CHECK(grad_out.sizes() == input.sizes(), "group_norm_backward(): expected grad_out of size ", input.sizes(),
              ", but got ", grad_out.sizes());
  const int64_t groups = input.size(0) * num_groups;
  TORCH_CHECK(mean.numel() == groups && rstd.numel() == groups, "group_norm_backward(): expected mean and rstd of ",
              groups, " elements, but got ", mean.numel(), " and ", rstd.numel());
  structured::check_one_device(grad_out, input, weight, mean, rstd);
  const ScalarType of_weight = given(weight) ? weight->scalar_type() : statistics_dtype(input.scalar_type());
  Tensor gx, gw, gb;
  if (output_mask[0]) gx = walked(input, input.scalar_type(), groups_of(input, num_groups).innermost);
  if (output_mask[1]) gw = empty_contiguous({input.size(1)}, of_weight, input.device());
  if (output_mask[2]) gb = empty_contiguous({input.size(1)}, of_weight, input.device());
  return {gx, gw, gb};
}

std::tuple<Tensor, Tensor, Tensor> fused_group_norm_backward_cpu(const Tensor& grad_out, const Tensor& input,
                                                                 const std::optional<Tensor>& weight,
                                                                 const Tensor& mean, const Tensor& rstd,
                                                                 int64_t num_groups, std::array<bool, 3> output_mask) {
  auto [gx, gw, gb] = fused_group_norm_backward_meta(grad_out, input, weight, mean, rstd, num_groups, output_mask);
  const Groups g = groups_of(input, num_groups);
  const ScalarType type = input.scalar_type();
  std::vector<double> of_weight(static_cast<size_t>(g.channels)), of_bias(of_weight);
  if (input.numel() != 0) {
    const Tensor x = as_walked(input, type, g.innermost), grad = as_walked(grad_out, type, g.innermost);
    const std::vector<double> mu = numbers_of(mean), r = numbers_of(rstd), w = numbers_or(weight, g.channels, 1);
    cpu::visit_floating(type, "group_norm_backward", [&, &gx = gx](auto tag) {
      using T = typename decltype(tag)::type;
      const T *gp = static_cast<const T*>(grad.const_data_ptr()), *xp = static_cast<const T*>(x.const_data_ptr());
      const Sums sums = gradient_sums(g, gp, xp, mu);
      for (size_t i = 0; i < sums.g.size(); ++i) {
        of_bias[i % of_bias.size()] += sums.g[i];
        of_weight[i % of_bias.size()] += sums.gx[i] * r[i / static_cast<size_t>(g.wide())];
      }
      if (gx.defined()) input_gradient(g, gp, xp, static_cast<T*>(gx.mutable_data_ptr()), sums, mu, r, w);
    });
  }
  if (gw.defined()) write_numbers(of_weight, gw);
  if (gb.defined()) write_numbers(of_bias, gb);
  return {gx, gw, gb};
}

}  // namespace at::native
