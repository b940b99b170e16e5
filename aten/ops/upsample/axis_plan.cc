#include "aten/ops/upsample/axis_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "c10/util/exception.h"

namespace at::native {
namespace {

// More would take gigabytes for weights alone.
constexpr int64_t kMostTaps = int64_t{1} << 28;

bool usable(std::optional<double> scale) {
  return scale.has_value() && *scale > 0;
}

// The distance of neighbouring elements of the result, in elements of the input.
double step_of(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  return usable(scale) ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

// The cubic convolution kernel (Keys, 1981) with parameter a.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0.0;
}
double sinc(double x) {
  return x == 0 ? 1.0 : std::sin(M_PI * x) / (M_PI * x);
}

struct Window {
  double support;
  double (*value)(double);
};
Window window_of(Filter filter) {
  switch (filter) {
    case Filter::kLinearAntialias:
      return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
    case Filter::kCubicAntialias:
      return {2, [](double x) { return cubic(x, -0.5); }};
    default:
      return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
  }
}

void add_tap(AxisPlan& plan, int64_t index, double weight) {
  plan.index.push_back(std::clamp<int64_t>(index, 0, plan.in - 1));
  plan.weight.push_back(weight);
}
void end_element(AxisPlan& plan) {
  plan.offset.push_back(static_cast<int64_t>(plan.index.size()));
}

// The filter is stretched by the step where that is above 1, so that every element of the input counts.
void antialias(const char* op, AxisPlan& plan, Filter filter, double step) {
  const Window window = window_of(filter);
  step = std::min(step, 0x1p1000);  // that of a scale next to 0 is infinite
  const double stretch = std::max(step, 1.0), support = window.support * stretch, in = static_cast<double>(plan.in);
  for (int64_t i = 0; i < plan.out; ++i) {
    const double center = std::min(step * (static_cast<double>(i) + 0.5), in + support);
    const int64_t begin = static_cast<int64_t>(std::clamp(center - support + 0.5, 0.0, in - 1));
    const int64_t end = static_cast<int64_t>(std::clamp(center + support + 0.5, static_cast<double>(begin + 1), in));
    TORCH_CHECK(static_cast<int64_t>(plan.index.size()) + end - begin <= kMostTaps, op, ": a scale of ", 1 / step,
                " from ", plan.in, " to ", plan.out, " elements reads too many of them for each");
    double total = 0;
    for (int64_t j = begin; j < end; ++j) {
      add_tap(plan, j, window.value((static_cast<double>(j) - center + 0.5) / stretch));
      total += plan.weight.back();
    }
    if (total != 0) {
      for (int64_t j = begin; j < end; ++j) plan.weight[plan.weight.size() - static_cast<size_t>(end - j)] /= total;
    }
    end_element(plan);
  }
}

void interpolate(AxisPlan& plan, Filter filter, double step, bool align_corners) {
  const double last = static_cast<double>(plan.in - 1);
  for (int64_t i = 0; i < plan.out; ++i) {
    double at = align_corners ? step * static_cast<double>(i) : step * (static_cast<double>(i) + 0.5) - 0.5;
    if (filter == Filter::kLinear) {
      at = std::max(at, 0.0);
      const int64_t left = at < last ? static_cast<int64_t>(at) : plan.in - 1;
      const double part = std::clamp(at - static_cast<double>(left), 0.0, 1.0);
      add_tap(plan, left, 1 - part);
      add_tap(plan, left + 1, part);
    } else {
      at = std::min(at, last + 1);
      const double left = std::floor(at), part = at - left;
      for (int64_t k = -1; k <= 2; ++k) {
        add_tap(plan, static_cast<int64_t>(left) + k, cubic(part - static_cast<double>(k), -0.75));
      }
    }
    end_element(plan);
  }
}

// An entry an element of the row, where each of the plan is one of `channels` neighbours.
template <class F>
void for_each_tap(const AxisPlan& plan, int64_t channels, std::vector<int64_t>& offset, std::vector<int64_t>& index,
                  const F& f) {
  offset.reserve(static_cast<size_t>(plan.out * channels + 1));
  index.reserve(plan.index.size() * static_cast<size_t>(channels));
  offset.push_back(0);
  for (int64_t i = 0; i < plan.out; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = plan.offset[static_cast<size_t>(i)]; k < plan.offset[static_cast<size_t>(i + 1)]; ++k) {
        index.push_back(plan.index[static_cast<size_t>(k)] * channels + c);
        f(plan.weight[static_cast<size_t>(k)]);
      }
      offset.push_back(static_cast<int64_t>(index.size()));
    }
  }
}

}  // namespace

bool AxisPlan::identity() const {
  if (in != out || static_cast<int64_t>(index.size()) != out) return false;
  for (int64_t i = 0; i < out; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (offset[at] != i || index[at] != i || weight[at] != 1) return false;
  }
  return true;
}

int64_t AxisPlan::span() const {
  int64_t widest = 1;
  for (size_t i = 0; i + 1 < offset.size(); ++i) {
    const size_t begin = static_cast<size_t>(offset[i]), end = static_cast<size_t>(offset[i + 1]);
    if (begin < end) widest = std::max(widest, index[end - 1] - index[begin] + 1);
  }
  return widest;
}

AxisPlan identity_plan(int64_t size) {
  AxisPlan plan{size, size, {0}, {}, {}};
  for (int64_t i = 0; i < size; ++i) {
    add_tap(plan, i, 1);
    end_element(plan);
  }
  return plan;
}

std::vector<int64_t> nearest_indices(Filter filter, int64_t in, int64_t out, std::optional<double> scale,
                                     NearestRule rule) {
  const bool exact = filter == Filter::kNearestExact;
  if (rule == NearestRule::kSizesFirst && !exact && (out == in || out == 2 * in)) scale.reset();
  const double step = step_of(in, out, false, scale), shift = exact ? 0.5 : 0.0;
  const float short_step = usable(scale) ? static_cast<float>(step) : static_cast<float>(in) / static_cast<float>(out);
  const auto place = [&](int64_t i) -> float {
    const float at = static_cast<float>(i) + static_cast<float>(shift);
    if (rule == NearestRule::kDouble) return static_cast<float>((static_cast<double>(i) + shift) * step);
    if (rule == NearestRule::kFloat && exact) return std::fma(short_step, at, -0.5f) + 0.5f;
    return at * short_step;
  };
  std::vector<int64_t> indices(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float at = std::floor(place(i));
    indices[static_cast<size_t>(i)] = at < static_cast<float>(in) ? std::min(static_cast<int64_t>(at), in - 1) : in - 1;
  }
  return indices;
}

AxisPlan axis_plan(const char* op, Filter filter, int64_t in, int64_t out, bool align_corners,
                   std::optional<double> scale) {
  // Linear interpolation to the same size is a copy whatever the scale.
  if (filter == Filter::kLinear && in == out) return identity_plan(in);
  AxisPlan plan{in, out, {0}, {}, {}};
  if (filter == Filter::kNearest || filter == Filter::kNearestExact) {
    for (int64_t i : nearest_indices(filter, in, out, scale, NearestRule::kSizesFirst)) {
      add_tap(plan, i, 1);
      end_element(plan);
    }
    return plan;
  }
  const double step = step_of(in, out, align_corners, scale);
  if (filter == Filter::kLinear || filter == Filter::kCubic) {
    interpolate(plan, filter, step, align_corners);
  } else {
    antialias(op, plan, filter, step);
  }
  return plan;
}

AxisPlan transposed(const AxisPlan& plan) {
  AxisPlan t{plan.out, plan.in, std::vector<int64_t>(static_cast<size_t>(plan.in + 1)),
             std::vector<int64_t>(plan.index.size()), std::vector<double>(plan.index.size())};
  for (int64_t j : plan.index) ++t.offset[static_cast<size_t>(j + 1)];
  for (size_t j = 1; j < t.offset.size(); ++j) t.offset[j] += t.offset[j - 1];
  std::vector<int64_t> next(t.offset.begin(), t.offset.end() - 1);
  for (int64_t i = 0; i < plan.out; ++i) {
    for (int64_t k = plan.offset[static_cast<size_t>(i)]; k < plan.offset[static_cast<size_t>(i + 1)]; ++k) {
      const size_t to = static_cast<size_t>(next[static_cast<size_t>(plan.index[static_cast<size_t>(k)])]++);
      t.index[to] = i;
      t.weight[to] = plan.weight[static_cast<size_t>(k)];
    }
  }
  return t;
}

AxisPlan merged(const AxisPlan& plan) {
  AxisPlan m{plan.in, plan.out, {0}, {}, {}};
  for (int64_t i = 0; i < plan.out; ++i) {
    for (int64_t k = plan.offset[static_cast<size_t>(i)]; k < plan.offset[static_cast<size_t>(i + 1)]; ++k) {
      const bool first = static_cast<int64_t>(m.index.size()) == m.offset.back();
      if (!first && m.index.back() == plan.index[static_cast<size_t>(k)]) {
        m.weight.back() += plan.weight[static_cast<size_t>(k)];
      } else {
        add_tap(m, plan.index[static_cast<size_t>(k)], plan.weight[static_cast<size_t>(k)]);
      }
    }
    end_element(m);
  }
  return m;
}

template <class C>
Taps<C>::Taps(const AxisPlan& plan, int64_t channels) : x_size_(plan.in * channels) {
  weight_.reserve(plan.index.size() * static_cast<size_t>(channels));
  for_each_tap(plan, channels, offset_, index_, [&](double w) { weight_.push_back(static_cast<C>(w)); });
  const size_t n = offset_.size() - 1;
  if (n == 0 || plan.in * channels > std::numeric_limits<int32_t>::max()) return;
  const int64_t first = offset_[1];
  for (size_t i = 0; i < n; ++i) {
    if (offset_[i + 1] - offset_[i] != first) return;
  }
  if (first == 0 || first > 16) return;
  uniform_ = static_cast<int>(first);
  const size_t taps = static_cast<size_t>(uniform_);
  index_by_tap_.resize(index_.size());
  weight_by_tap_.resize(index_.size());
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < taps; ++k) {
      index_by_tap_[k * n + i] = static_cast<int32_t>(index_[i * taps + k]);
      weight_by_tap_[k * n + i] = weight_[i * taps + k];
    }
  }
}
template <class C>
cpu::RowTaps<C> Taps<C>::view() const {
  return {
      offset_.data(),       index_.data(),        weight_.data(), uniform_, static_cast<int64_t>(offset_.size()) - 1,
      index_by_tap_.data(), weight_by_tap_.data(), x_size_};
}
template class Taps<float>;
template class Taps<double>;

// As many fractional bits as 16-bit weights have room for, as image libraries do.
ByteTaps::ByteTaps(const AxisPlan& plan, int64_t channels) {
  double most = 0;
  for (double w : plan.weight) most = std::max(most, std::abs(w));
  while (shift_ < 21 && static_cast<int>(0.5 + most * (1 << (shift_ + 1))) < (1 << 15)) ++shift_;
  const double unit = 1 << shift_;
  for_each_tap(plan, channels, offset_, index_,
               [&](double w) { weight_.push_back(static_cast<int16_t>(std::lround(w * unit))); });
}
cpu::RowTaps<int16_t> ByteTaps::view() const {
  return {offset_.data(), index_.data(), weight_.data(), 0, static_cast<int64_t>(offset_.size()) - 1,
          nullptr,        nullptr,       0};
}

}  // namespace at::native
