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
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/norm/channel_layout.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// So many tasks keep all threads busy.
constexpr int64_t kMany = 16;

struct Groups {
  int64_t batch, channels, groups, positions;  // positions: elements of one channel of one sample
  bool innermost;                              // the channels are
  int64_t wide() const { return channels / groups; }
  int64_t count() const { return wide() * positions; }
  int64_t elements() const { return batch * channels * positions; }
  // Of a sample whose channels are innermost: fixed pieces of positions, whose sums are added in order, so that no
  // result depends on the number of threads.
  int64_t pieces() const { return std::clamp<int64_t>(channels * positions / (4 * kGrain), 1, 16); }
  bool by_sample() const { return pieces() == 1 || batch >= kMany; }
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

int64_t tasks_of(int64_t elements) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(elements, 1));
}

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
      : g_(g),
        x_(x),
        y_(y),
        w_(w),
        b_(b),
        eps_(eps),
        mean_(mean),
        rstd_(rstd),
        kernel_(*cpu::moments_kernel(c10::CppTypeToScalarType<T>::value)),
        bytes_(g.channels * kernel_.state_size) {
    params_.correction = 0;
    params_.out_type = ScalarType::Double;
  }

  void run() {
    if (g_.by_sample()) {
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

  void take(int64_t n, int64_t first, int64_t last, char* states) const {
    const int64_t item = sizeof(T);
    kernel_.init(states, g_.channels);
    kernel_.accumulate(states, reinterpret_cast<const char*>(x_ + (n * g_.positions + first) * g_.channels),
                       g_.channels, item, last - first, g_.channels * item, first, params_);
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
    cpu::StreamedRows<T> results(g.positions, g.elements());
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + i * g.count();
      T* to = y + i * g.count();
      const Moments m = moments_of_run(from, g.count(), eps);
      (*mean)[static_cast<size_t>(i)] = m.mean, (*rstd)[static_cast<size_t>(i)] = m.rstd;
      for (int64_t k = 0; k < g.wide(); ++k) {
        const size_t c = static_cast<size_t>(i % g.groups * g.wide() + k);
        const double scale = m.rstd * w[c];
        if (g.positions >= kShortRun) {
          T* const run = to + k * g.positions;
          cpu::normalize_run<T>(from + k * g.positions, results.begin(run), g.positions,
                                {static_cast<C>(m.mean), static_cast<C>(scale), static_cast<C>(b[c])});
          results.end(run, g.positions, {from + (k + 1) * g.positions});
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
  explicit Sums(size_t n) : g(n), gx(n) {}
  std::vector<double> g, gx;
};

// Finds these sums and, where `to` is not null, the gradient of the input. Both read all of grad and x: where there are
// many groups, or samples, one after the other for each of them, while the caches hold it.
template <class T>
class Gradient {
 public:
  Gradient(const Groups& g, const T* grad, const T* x, T* to, const std::vector<double>& mean,
           const std::vector<double>& rstd, const std::vector<double>& w)
      : g_(g),
        grad_(grad),
        x_(x),
        to_(to),
        mean_(mean),
        rstd_(rstd),
        w_(w),
        sums_(static_cast<size_t>(g.batch * g.channels)) {}

  Sums run() {
    if (g_.innermost) {
      by_pieces();
    } else if (g_.positions < kShortRun) {
      at::parallel_for(0, g_.batch, tasks_of(g_.channels * g_.positions), [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          for (int64_t c = 0; c < g_.channels; ++c) take_run(n * g_.channels + c);
          write_rows(n, 0, 1);
        }
      });
    } else if (g_.batch * g_.groups >= kMany) {
      at::parallel_for(0, g_.batch * g_.groups, tasks_of(g_.count()), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t k = 0; k < g_.wide(); ++k) take_run(i * g_.wide() + k);
          write_runs(i * g_.wide(), (i + 1) * g_.wide());
        }
      });
    } else {
      const int64_t runs = g_.batch * g_.channels, grain = tasks_of(g_.positions);
      at::parallel_for(0, runs, grain, [&](int64_t begin, int64_t end) {
        for (int64_t run = begin; run < end; ++run) take_run(run);
      });
      at::parallel_for(0, runs, grain, [&](int64_t begin, int64_t end) { write_runs(begin, end); });
    }
    return std::move(sums_);
  }

 private:
  using C = typename cpu::ComputeType<T>::type;

  // What a group's statistics take off: a constant, and a multiple of the distance from the mean.
  struct Tilt {
    double offset = 0, slope = 0;
  };

  Tilt tilt_of(int64_t group) const {
    double all = 0, tilted = 0;
    for (int64_t run = group * g_.wide(); run < (group + 1) * g_.wide(); ++run) {
      const size_t at = static_cast<size_t>(run);
      all += w_[static_cast<size_t>(run % g_.channels)] * sums_.g[at];
      tilted += w_[static_cast<size_t>(run % g_.channels)] * sums_.gx[at];
    }
    const double rstd = rstd_[static_cast<size_t>(group)], count = static_cast<double>(g_.count());
    return {rstd * all / count, rstd * rstd * rstd * tilted / count};
  }

  // One channel of one sample, whose positions are neighbours.
  void take_run(int64_t run) {
    const size_t at = static_cast<size_t>(run);
    cpu::gradient_sums_run<T>(grad_ + run * g_.positions, x_ + run * g_.positions, g_.positions,
                              static_cast<C>(mean_[static_cast<size_t>(run / g_.wide())]), &sums_.g[at], &sums_.gx[at]);
  }

  void write_runs(int64_t begin, int64_t end) const {
    if (to_ == nullptr) return;
    cpu::StreamedRows<T> results(g_.positions, g_.elements());
    Tilt tilt;
    for (int64_t run = begin; run < end; ++run) {
      const int64_t group = run / g_.wide(), at = run * g_.positions;
      if (run == begin || run % g_.wide() == 0) tilt = tilt_of(group);
      const size_t i = static_cast<size_t>(group);
      const double scale = rstd_[i] * w_[static_cast<size_t>(run % g_.channels)];
      cpu::gradient_run<T>(
          grad_ + at, x_ + at, results.begin(to_ + at), g_.positions,
          {static_cast<C>(mean_[i]), static_cast<C>(scale), static_cast<C>(tilt.offset), static_cast<C>(tilt.slope)});
      results.end(to_ + at, g_.positions, {grad_ + at + g_.positions, x_ + at + g_.positions});
    }
  }

  // Rows [first, last) of sample n: positions where the channels are innermost, else the whole sample is one.
  void write_rows(int64_t n, int64_t first, int64_t last) const {
    if (to_ == nullptr) return;
    const int64_t width = g_.innermost ? g_.channels : g_.channels * g_.positions, each = width / g_.channels;
    Rows<C, 4> rows(width);
    for (int64_t group = n * g_.groups; group < (n + 1) * g_.groups; ++group) {
      const Tilt tilt = tilt_of(group);
      const size_t i = static_cast<size_t>(group);
      const int64_t begin = group % g_.groups * g_.wide() * each;
      for (int64_t k = begin; k < begin + g_.wide() * each; ++k) {
        rows.set(k, mean_[i], rstd_[i] * w_[static_cast<size_t>(k / each)], tilt.offset, tilt.slope);
      }
    }
    for (int64_t p = first; p < last; ++p) {
      const int64_t at = n * g_.channels * g_.positions + p * width;
      cpu::gradient_row<T>(grad_ + at, x_ + at, to_ + at, width, {rows[0], rows[1], rows[2], rows[3]});
    }
  }

  void by_pieces() {
    const int64_t pieces = g_.pieces(), channels = g_.channels;
    std::vector<double> part_g(static_cast<size_t>(g_.batch * pieces * channels)), part_gx(part_g);
    const auto take = [&](int64_t i, int64_t n, int64_t first, int64_t last) {
      std::vector<C> center(static_cast<size_t>(channels));
      for (int64_t c = 0; c < channels; ++c)
        center[static_cast<size_t>(c)] = static_cast<C>(mean_[static_cast<size_t>(n * g_.groups + c / g_.wide())]);
      const int64_t at = (n * g_.positions + first) * channels;
      cpu::gradient_sums_rows<T>(grad_ + at, x_ + at, last - first, channels, center.data(),
                                 part_g.data() + i * channels, part_gx.data() + i * channels);
    };
    const auto add = [&](int64_t n) {
      for (int64_t k = 0; k < pieces * channels; ++k) {
        const size_t from = static_cast<size_t>(n * pieces * channels + k),
                     at = static_cast<size_t>(n * channels + k % channels);
        sums_.g[at] += part_g[from];
        sums_.gx[at] += part_gx[from];
      }
    };
    if (g_.by_sample()) {
      return at::parallel_for(0, g_.batch, tasks_of(channels * g_.positions), [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          for (int64_t i = 0; i < pieces; ++i)
            take(n * pieces + i, n, g_.positions * i / pieces, g_.positions * (i + 1) / pieces);
          add(n);
          write_rows(n, 0, g_.positions);
        }
      });
    }
    for_pieces(g_, take);
    for (int64_t n = 0; n < g_.batch; ++n) add(n);
    for_pieces(g_, [&](int64_t, int64_t n, int64_t first, int64_t last) { write_rows(n, first, last); });
  }

  const Groups& g_;
  const T *const grad_, *const x_;
  T* const to_;
  const std::vector<double>&mean_, &rstd_, &w_;
  Sums sums_;
};

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
      T* const to = gx.defined() ? static_cast<T*>(gx.mutable_data_ptr()) : nullptr;
      const Sums sums = Gradient<T>(g, gp, xp, to, mu, r, w).run();
      for (size_t i = 0; i < sums.g.size(); ++i) {
        of_bias[i % of_bias.size()] += sums.g[i];
        of_weight[i % of_bias.size()] += sums.gx[i] * r[i / static_cast<size_t>(g.wide())];
      }
    });
  }
  if (gw.defined()) write_numbers(of_weight, gw);
  if (gb.defined()) write_numbers(of_bias, gb);
  return {gx, gw, gb};
}

}  // namespace at::native
