#include "aten/ops/upsample/axis_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "c10/util/exception.h"

namespace at::native {
namespace {

void add_tap(AxisPlan& plan, int64_t index, double weight) {
  plan.index.push_back(std::clamp<int64_t>(index, 0, plan.in - 1));
  plan.weight.push_back(weight);
}
void end_element(AxisPlan& plan) {
  plan.offset.push_back(static_cast<int64_t>(plan.index.size()));
}

void antialias(const char* op, AxisPlan& plan, Filter filter, double step) {
  const AntialiasFilter<double> f = antialias_filter(filter, step);
  for (int64_t i = 0; i < plan.out; ++i) {
    const AntialiasPlace<double> place = antialias_place(f, plan.in, i);
    const auto [begin, end, center] = place;
    TORCH_CHECK(static_cast<int64_t>(plan.index.size()) + end - begin <= kMostTaps, op, ": a scale of ", 1 / f.step,
                " from ", plan.in, " to ", plan.out, " elements reads too many of them for each");
    double total = 0;
    for (int64_t j = begin; j < end; ++j) {
      add_tap(plan, j, antialias_weight(f, place, j));
      total += plan.weight.back();
    }
    if (total != 0) {
      for (int64_t j = begin; j < end; ++j) plan.weight[plan.weight.size() - static_cast<size_t>(end - j)] /= total;
    }
    end_element(plan);
  }
}

void interpolate(AxisPlan& plan, Filter filter, double step, bool align_corners) {
  for (int64_t i = 0; i < plan.out; ++i) {
    const InterpolationPlace<double> place = interpolation_place(filter, align_corners, step, plan.in, i);
    for (int64_t k = 0; k < (filter == Filter::kLinear ? 2 : 4); ++k) {
      add_tap(plan, place.first + k, interpolation_weight(filter, place, k));
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
  const NearestSteps steps = nearest_steps(filter, in, out, scale, rule);
  std::vector<int64_t> indices(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) indices[static_cast<size_t>(i)] = nearest_index(filter, rule, steps, in, i);
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
  const double step = axis_step(in, out, align_corners, scale);
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

ByteTaps::ByteTaps(const AxisPlan& plan, int64_t channels) {
  double most = 0;
  for (double w : plan.weight) most = std::max(most, std::abs(w));
  shift_ = weight_bits(most);
  const double unit = 1 << shift_;
  for_each_tap(plan, channels, offset_, index_,
               [&](double w) { weight_.push_back(static_cast<int16_t>(std::lround(w * unit))); });
}
cpu::RowTaps<int16_t> ByteTaps::view() const {
  return {offset_.data(), index_.data(), weight_.data(), 0, static_cast<int64_t>(offset_.size()) - 1,
          nullptr,        nullptr,       0};
}

}  // namespace at::native
