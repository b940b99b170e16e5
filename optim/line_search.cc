#include "optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"

namespace torch::optim {
namespace {

constexpr double kDecrease = 1e-4;   // the loss falls by this part of what the slope promises, at least,
constexpr double kCurvature = 0.9;   // and the slope to this part
constexpr double kTolerance = 1e-9;  // of steps
constexpr int kMostSearches = 25;

// Numbers in the precision of the gradients, which slopes and what comes of them have.
struct Precision {
  bool exact;
  double operator()(double x) const { return exact ? x : static_cast<double>(static_cast<float>(x)); }
};

// The least value between two places of the cubic that has their losses and slopes; the middle where it has none.
double cubic_minimum(const LinePoint* a, const LinePoint* b, Precision r,
                     std::optional<std::pair<double, double>> bounds = std::nullopt) {
  if (a->t > b->t) std::swap(a, b);
  const auto [low, high] = bounds.value_or(std::pair(a->t, b->t));
  const double d1 = r(r(a->slope + b->slope) - 3 * (a->loss - b->loss) / (a->t - b->t));
  const double square = r(r(d1 * d1) - r(a->slope * b->slope));
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = r(std::sqrt(square));
  const double part = r(r(r(b->slope + d2) - d1) / r(r(b->slope - a->slope) + r(2 * d2)));
  return std::min(std::max(r(b->t - r((b->t - a->t) * part)), low), high);
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& from,
                       const at::Tensor& direction, double t, int64_t* evaluations) {
  const Precision r{direction.scalar_type() == at::kDouble};
  const double longest = at::item(at::max(at::abs(direction))).toDouble();
  const auto falls = [&](const LinePoint& p) { return p.loss <= r(from.loss + r(kDecrease * p.t * from.slope)); };
  const auto flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -kCurvature * from.slope; };
  const auto at_place = [&](double place) {
    ++*evaluations;
    return evaluate(place);
  };

  // First a pair of places with such a step between them.
  LinePoint before = from, now = at_place(t);
  LinePoint low, high;
  int searches = 0;
  while (true) {
    if (searches == kMostSearches) {
      low = from;
      high = now;
      break;
    }
    if (!falls(now) || (searches > 1 && now.loss >= before.loss)) {
      low = before;
      high = now;
      break;
    }
    if (flat(now)) return now;
    if (now.slope >= 0) {
      low = before;
      high = now;
      break;
    }
    const std::pair bounds(now.t + 0.01 * (now.t - before.t), now.t * 10);
    t = cubic_minimum(&before, &now, r, bounds);
    before = std::move(now);
    now = at_place(t);
    ++searches;
  }

  // Then smaller and smaller ones. `low` has the lesser loss; which one came first matters nowhere.
  if (low.loss > high.loss) std::swap(low, high);
  bool slow = false;
  while (searches < kMostSearches && std::abs(high.t - low.t) * longest >= kTolerance) {
    t = cubic_minimum(&low, &high, r);
    // Twice in a row next to an end: a tenth of the way inside.
    const auto [least, most] = std::minmax(low.t, high.t);
    const double margin = 0.1 * (most - least);
    if (std::min(most - t, t - least) < margin) {
      if (slow || t >= most || t <= least) {
        t = std::abs(t - most) < std::abs(t - least) ? most - margin : least + margin;
        slow = false;
      } else {
        slow = true;
      }
    } else {
      slow = false;
    }
    now = at_place(t);
    ++searches;
    if (!falls(now) || now.loss >= low.loss) {
      high = std::move(now);
      if (low.loss > high.loss) std::swap(low, high);
      continue;
    }
    if (flat(now)) return now;
    if (now.slope * (high.t - low.t) >= 0) high = std::move(low);
    low = std::move(now);
  }
  return low;
}

}  // namespace torch::optim
