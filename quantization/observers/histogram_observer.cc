#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "quantization/observers/observer.h"

namespace torch::quantization {

using at::Tensor;
using c10::ScalarType;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Bins are cut into so many before they move to other bins.
constexpr int64_t kParts = 16;

float number(const Tensor& t) {
  return at::item(t).toFloat();
}

float cube(float x) {
  return x * x * x;
}

// a / b rounded down, from the exact remainder.
float floor_divide(float a, float b) {
  const float rest = std::fmod(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1.0f;
  if (quotient == 0) return 0;
  const float whole = std::floor(quotient);
  return quotient - whole > 0.5f ? whole + 1.0f : whole;
}

// The squared error that integers make of numbers spread evenly within the bins of a histogram, where bins [first,
// last] are the range that `steps` integers stand for; what lies outside moves to its ends.
class QuantizationError {
 public:
  QuantizationError(const Tensor& histogram, double least, double most, int64_t steps)
      : bins_(histogram.numel()),
        width_((most - least) / static_cast<double>(bins_)),
        steps_(steps),
        density_(at::contiguous(at::div(histogram, width_))),
        norm_(at::empty({bins_}, at::TensorOptions().dtype(ScalarType::Float))) {}

  double of(int64_t first, int64_t last) {
    const double step = width_ * static_cast<double>(last - first + 1) / static_cast<double>(steps_);
    if (step == 0) return 0;
    const auto width = static_cast<float>(width_), to = static_cast<float>(step), half = static_cast<float>(step / 2),
               most = static_cast<float>(steps_ - 1);
    const float between = (cube(half) - cube(-half)) / 3.0f;
    const float* const density = density_.const_data_ptr<float>();
    float* const norm = norm_.mutable_data_ptr<float>();
    for (int64_t bin = 0; bin < bins_; ++bin) {
      const float begin = static_cast<float>(bin - first) * width, end = begin + width;
      const float from_step = std::clamp(floor_divide(begin, to), 0.0f, most),
                  to_step = std::clamp(floor_divide(end, to), 0.0f, most);
      // From the bin's begin to the end of its first step, whole steps, and from the begin of the last.
      float sum = density[bin] * ((cube(half) - cube(begin - (from_step + 0.5f) * to)) / 3.0f);
      sum += (to_step - from_step - 1.0f) * (density[bin] * between);
      sum += density[bin] * ((cube(end - (to_step * to + half)) - cube(-half)) / 3.0f);
      norm[bin] = sum;
    }
    return static_cast<double>(number(at::sum(norm_)));
  }

 private:
  int64_t bins_;
  double width_;
  int64_t steps_;
  Tensor density_, norm_;
};

}  // namespace

HistogramObserverImpl::HistogramObserverImpl(const ObserverOptions& options)
    : UniformQuantizationObserverBase(options) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !is_per_channel(qscheme()),
      "HistogramObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine.");
  TORCH_CHECK_NOT_IMPLEMENTED(!options.is_dynamic(), "HistogramObserver doesn't support dynamic quantization");
  TORCH_CHECK(options.bins() > 0, "HistogramObserver: expected a positive number of bins, but got ", options.bins());
  reset();
}

void HistogramObserverImpl::reset() {
  const auto floats = at::TensorOptions().dtype(ScalarType::Float);
  eps = register_buffer("eps", at::full({1}, options_.eps(), floats));
  histogram = register_buffer("histogram", at::zeros({options_.bins()}, floats));
  min_val = register_buffer("min_val", at::full({}, kInfinity, floats));
  max_val = register_buffer("max_val", at::full({}, -kInfinity, floats));
}

void HistogramObserverImpl::reset_min_max_vals() {
  histogram.zero_();
  min_val.fill_(kInfinity);
  max_val.fill_(-kInfinity);
}

Tensor HistogramObserverImpl::forward(const Tensor& given) {
  TORCH_CHECK(given.defined() && !given.is_complex() && !given.is_quantized(),
              "HistogramObserver: expected a tensor of real numbers");
  if (given.numel() == 0) return given;
  const c10::NoGradGuard no_grad;
  Tensor x = at::to(at::detach(given), ScalarType::Float);
  auto [low, high] = at::aminmax(x);
  if (std::isinf(number(low)) || std::isinf(number(high))) {
    TORCH_WARN("torch.inf detected in input tensor, ignoring input");
    x = at::masked_select(x, at::ne(at::abs(x), static_cast<double>(kInfinity)));
    if (x.numel() == 0) return given;
    std::tie(low, high) = at::aminmax(x);
  }
  const int64_t bins = options_.bins();
  const float old_least = number(min_val), old_most = number(max_val);
  if (std::isinf(old_least) || std::isinf(old_most)) {
    histogram.copy_(at::histc(x, bins, at::item(low), at::item(high)));
    min_val.copy_(low);
    max_val.copy_(high);
    return given;
  }
  const float least = std::min(old_least, number(low)), most = std::max(old_most, number(high));
  TORCH_CHECK(std::isfinite(least) && std::isfinite(most), "HistogramObserver: the tensor has numbers that are NaN");
  const Tensor seen = at::histc(x, bins, least, most);
  if (least == old_least && most == old_most) {
    histogram.copy_(at::add(histogram, seen));
  } else {
    histogram.copy_(at::add(seen, widened(old_least, old_most, least, most)));
    min_val.fill_(least);
    max_val.fill_(most);
  }
  return given;
}

// The histogram over another range, which holds its own.
Tensor HistogramObserverImpl::widened(float least, float most, float new_least, float new_most) const {
  const int64_t bins = options_.bins();
  if (least == most) {
    return at::mul(at::histc(min_val, bins, new_least, new_most), at::sum(histogram));
  }
  const Tensor parts = at::div(at::repeat_interleave(histogram, kParts), static_cast<double>(kParts));
  // The difference is one of floats, as tensors' is; where the parts lie, too.
  const float width = (most - least) / static_cast<float>(bins * kParts);
  const auto floats = at::TensorOptions().dtype(ScalarType::Float).device(histogram.device());
  const Tensor ends = at::linspace(least, most, bins * kParts + 1, floats);
  const Tensor middles = at::add(at::slice(ends, 0, 0, bins * kParts), 0.5f * width);
  const Tensor borders = at::linspace(new_least, new_most, bins + 1, floats);
  const Tensor places = at::clamp(at::sub(at::bucketize(middles, borders, false, true), 1), 0, bins - 1);
  return at::bincount(places, parts, bins);
}

std::tuple<float, float> HistogramObserverImpl::search_range() const {
  constexpr double kStep = 1e-5;
  const int64_t bins = options_.bins();
  const float least = number(min_val), most = number(max_val), width = (most - least) / static_cast<float>(bins);
  const double total = static_cast<double>(number(at::sum(histogram)));
  const Tensor sums = at::contiguous(at::cumsum(histogram, 0));
  const float* const sum = sums.const_data_ptr<float>();
  const ScalarType integers = integer_dtype(dtype());
  QuantizationError error(histogram, least, most, int64_t{1} << (8 * static_cast<int64_t>(c10::elementSize(integers))));
  double below = 0, above = 1, best = std::numeric_limits<double>::infinity();
  int64_t first = 0, last = bins - 1;
  while (below < above) {
    const auto low = static_cast<float>((below + kStep) * total), high = static_cast<float>((above - kStep) * total);
    int64_t l = first, r = last;
    while (l < last && sum[l] < low) ++l;
    while (r > first && sum[r] > high) --r;
    // The end that would lose more bins moves.
    const bool raise = l - first > last - r;
    (raise ? below : above) += raise ? kStep : -kStep;
    const int64_t next_first = raise ? l : first, next_last = raise ? last : r;
    if (next_first == first && next_last == last) continue;
    const double loss = error.of(next_first, next_last);
    if (loss > best) break;
    best = loss;
    first = next_first;
    last = next_last;
  }
  return {least + width * static_cast<float>(first), least + width * static_cast<float>(last + 1)};
}

QParams HistogramObserverImpl::calculate_qparams() {
  const c10::NoGradGuard no_grad;
  if (std::isinf(number(min_val)) || std::isinf(number(max_val))) return qparams_for(min_val, max_val);
  TORCH_CHECK(histogram.numel() == options_.bins(),
              "The number of bins in histogram should be equal to the number of bins supplied while making this "
              "observer");
  const auto [least, most] = search_range();
  const auto floats = at::TensorOptions().dtype(ScalarType::Float).device(min_val.device());
  return qparams_for(at::full({}, least, floats), at::full({}, most, floats));
}

}  // namespace torch::quantization
