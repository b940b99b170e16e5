#include "quantization/observers/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <typeinfo>

#include "aten/core/printing.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/module/state_dict.h"

namespace torch::quantization {

using at::Tensor;
using c10::QScheme;
using c10::ScalarType;

bool is_per_channel(QScheme qscheme) {
  return qscheme == c10::kPerChannelAffine || qscheme == c10::kPerChannelSymmetric ||
         qscheme == c10::kPerChannelAffineFloatQParams;
}
bool is_symmetric(QScheme qscheme) {
  return qscheme == c10::kPerTensorSymmetric || qscheme == c10::kPerChannelSymmetric;
}
const char* qscheme_name(QScheme qscheme) {
  switch (qscheme) {
    case QScheme::PER_TENSOR_AFFINE:
      return "per_tensor_affine";
    case QScheme::PER_CHANNEL_AFFINE:
      return "per_channel_affine";
    case QScheme::PER_TENSOR_SYMMETRIC:
      return "per_tensor_symmetric";
    case QScheme::PER_CHANNEL_SYMMETRIC:
      return "per_channel_symmetric";
    case QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS:
      return "per_channel_affine_float_qparams";
  }
  return "unknown";
}

ScalarType integer_dtype(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::QUInt8:
    case ScalarType::QUInt4x2:
      return ScalarType::Byte;
    case ScalarType::QInt8:
      return ScalarType::Char;
    case ScalarType::QInt32:
      return ScalarType::Int;
    default:
      return dtype;
  }
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void check_seen(const char* who, const Tensor& x) {
  TORCH_CHECK(x.defined(), who, ": expected a tensor, but got an undefined one");
  TORCH_CHECK(!x.is_complex() && !x.is_quantized(), who, ": expected a tensor of real numbers, but got dtype ",
              x.scalar_type());
}

// As numbers of the dtype that extremes have.
Tensor numbers(const Tensor& x) {
  return at::to(at::detach(x), ScalarType::Float);
}

// [channels, rest]
Tensor channels_of(const char* who, const Tensor& x, int64_t axis) {
  TORCH_CHECK_INDEX(axis >= -x.dim() && axis < x.dim(), who, ": ch_axis ", axis,
                    " is no dimension of a tensor of sizes ", x.sizes());
  return at::flatten(at::contiguous(at::movedim(numbers(x), axis, 0)), 1);
}

void assign(Tensor& to, const Tensor& value) {
  if (to.sizes() != value.sizes()) to.resize_(value.sizes());
  to.copy_(value);
}

bool nothing_seen(const Tensor& t) {
  return t.numel() == 0 || (t.dim() == 0 && std::isinf(at::item(t).toFloat()));
}

// old + c * (now - old), each step rounded.
Tensor moved(const Tensor& old, const Tensor& now, double constant) {
  return at::add(old, at::mul(at::sub(now, old), constant));
}

}  // namespace

std::tuple<int64_t, int64_t> quantization_range(const ObserverOptions& options) {
  const auto given_min = options.quant_min(), given_max = options.quant_max();
  const ScalarType dtype = integer_dtype(options.dtype());
  const bool wide = dtype == ScalarType::Int;
  if (given_min.has_value() && given_max.has_value()) {
    TORCH_CHECK(*given_min <= 0 && 0 <= *given_max, "Used-specified quantization range must include 0.");
    TORCH_CHECK(*given_min < *given_max, "qmin must be strictly less than qmax for user-specified quantization range.");
    const int64_t most =
        wide ? int64_t{1} << 32 : (dtype == ScalarType::UInt16 || dtype == ScalarType::Short ? 1 << 16 : 256);
    TORCH_CHECK(*given_max - *given_min < most,
                "quantization range should be positive and not exceed the maximum bit range (=", most, ").");
    // Rounded down, as Python's division of integers.
    const auto half = [](int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); };
    if (options.reduce_range()) return {half(*given_min), half(*given_max)};
    return {*given_min, *given_max};
  }
  const bool reduced = options.reduce_range();
  switch (options.dtype()) {
    case ScalarType::QUInt4x2:
      return {0, 15};
    case ScalarType::QInt8:
    case ScalarType::Char:
      return reduced ? std::make_tuple(int64_t{-64}, int64_t{63}) : std::make_tuple(int64_t{-128}, int64_t{127});
    case ScalarType::QUInt8:
    case ScalarType::Byte:
      return {0, reduced ? 127 : 255};
    case ScalarType::Short:
      return {-32768, 32767};
    case ScalarType::UInt16:
      return {0, 65535};
    case ScalarType::QInt32:
    case ScalarType::Int:
      return {-(int64_t{1} << 31), (int64_t{1} << 31) - 1};
    default:
      TORCH_CHECK(false,
                  "observer: expected a dtype of integers (quint8, qint8, qint32, quint4x2, uint8, int8, int16, "
                  "uint16, int32), but got ",
                  options.dtype());
  }
}

int64_t ObserverBase::quant_min() const {
  return std::get<0>(quantization_range(options_));
}
int64_t ObserverBase::quant_max() const {
  return std::get<1>(quantization_range(options_));
}

UniformQuantizationObserverBase::UniformQuantizationObserverBase(const ObserverOptions& options)
    : ObserverBase(options) {
  std::tie(quant_min_, quant_max_) = quantization_range(options);
  TORCH_CHECK(options.eps() >= 0, "observer: expected an eps of at least 0, but got ", options.eps());
}

void UniformQuantizationObserverBase::register_extremes(bool per_channel) {
  const auto floats = at::TensorOptions().dtype(ScalarType::Float);
  eps = register_buffer("eps", at::full({1}, options_.eps(), floats));
  if (per_channel) {
    min_val = register_buffer("min_val", at::empty({0}, floats));
    max_val = register_buffer("max_val", at::empty({0}, floats));
  } else {
    min_val = register_buffer("min_val", at::full({}, kInfinity, floats));
    max_val = register_buffer("max_val", at::full({}, -kInfinity, floats));
  }
}

void UniformQuantizationObserverBase::adopt_sizes_when_loaded() {
  register_load_state_dict_pre_hook([](nn::Module& module, nn::StateDict& state, const std::string& prefix, bool,
                                       std::vector<std::string>&, std::vector<std::string>&,
                                       std::vector<std::string>&) {
    auto& self = dynamic_cast<UniformQuantizationObserverBase&>(module);
    const std::pair<const char*, Tensor*> extremes[] = {{"min_val", &self.min_val}, {"max_val", &self.max_val}};
    for (const auto& [name, to] : extremes) {
      const Tensor* from = state.find(prefix + name);
      if (from != nullptr && from->defined() && from->sizes() != to->sizes()) to->resize_(from->sizes());
    }
  });
}

std::string UniformQuantizationObserverBase::extremes_text() const {
  std::ostringstream text;
  text << "min_val=" << min_val << ", max_val=" << max_val;
  return text.str();
}

bool UniformQuantizationObserverBase::has_seen() const {
  return !nothing_seen(min_val) && !nothing_seen(max_val);
}

QParams UniformQuantizationObserverBase::qparams_for(const Tensor& least, const Tensor& most) const {
  const c10::NoGradGuard no_grad;
  const auto on = at::TensorOptions().device(least.device());
  if (nothing_seen(least) || nothing_seen(most)) {
    TORCH_WARN("must run observer before calling calculate_qparams. Returning default values.");
    return {at::ones({1}, on.dtype(ScalarType::Float)), at::zeros({1}, on.dtype(ScalarType::Long))};
  }
  TORCH_CHECK(least.sizes() == most.sizes(), "observer: min_val and max_val should have the same size, but have ",
              least.sizes(), " and ", most.sizes());
  const Tensor low = at::contiguous(at::to(least, c10::Device(c10::DeviceType::CPU), ScalarType::Float)),
               high = at::contiguous(at::to(most, c10::Device(c10::DeviceType::CPU), ScalarType::Float));
  const bool symmetric = is_symmetric(qscheme()), floats = qscheme() == c10::kPerChannelAffineFloatQParams;
  const ScalarType integers = integer_dtype(dtype());
  int64_t middle = 0;
  if (symmetric && integers == ScalarType::Byte) {
    const bool given = options_.quant_min().has_value() && options_.quant_max().has_value();
    middle = given ? (quant_min_ + quant_max_) / 2 : 128;
  } else if (symmetric && integers == ScalarType::UInt16) {
    middle = 32768;
  }
  const int64_t n = low.numel();
  const at::DimVector sizes = low.dim() == 0 ? at::DimVector{1} : at::DimVector(low.sizes().begin(), low.sizes().end());
  const Tensor scale = at::empty(sizes, at::TensorOptions().dtype(ScalarType::Float));
  const Tensor zero = at::empty(sizes, at::TensorOptions().dtype(floats      ? ScalarType::Float
                                                                 : symmetric ? ScalarType::Long
                                                                             : ScalarType::Int));
  const float *const from = low.const_data_ptr<float>(), *const to = high.const_data_ptr<float>();
  float* const scales = scale.mutable_data_ptr<float>();
  const auto steps = static_cast<float>(quant_max_ - quant_min_),
             half_steps = static_cast<float>(static_cast<double>(quant_max_ - quant_min_) / 2),
             least_scale = static_cast<float>(options_.eps());
  for (int64_t i = 0; i < n; ++i) {
    TORCH_CHECK(from[i] <= to[i], "min ", from[i], " should be less than max ", to[i]);
    if (floats) {
      const float step = (to[i] - from[i]) / steps;
      scales[i] = step > least_scale ? step : 1.0f;
      zero.mutable_data_ptr<float>()[i] = -1.0f * from[i] / scales[i];
      continue;
    }
    const float negative = std::min(from[i], 0.0f), positive = std::max(to[i], 0.0f);
    if (symmetric) {
      scales[i] = std::max(std::max(-negative, positive) / half_steps, least_scale);
      zero.mutable_data_ptr<int64_t>()[i] = middle;
      continue;
    }
    scales[i] = std::max((positive - negative) / steps, least_scale);
    // At most as far as there are steps.
    const auto below = static_cast<int64_t>(std::nearbyint(negative / scales[i]));
    zero.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(std::clamp(quant_min_ - below, quant_min_, quant_max_));
  }
  return {at::to(scale, least.device(), scale.scalar_type()), at::to(zero, least.device(), zero.scalar_type())};
}

void UniformQuantizationObserverBase::reset_min_max_vals() {
  if (is_per_channel(qscheme())) {
    min_val.resize_({0});
    max_val.resize_({0});
  } else {
    min_val.fill_(kInfinity);
    max_val.fill_(-kInfinity);
  }
}

// --- extremes ---
namespace {
template <bool kAveraged, bool kPerChannel>
constexpr const char* kExtremesName = kAveraged ? (kPerChannel ? "MovingAveragePerChannelMinMaxObserver"
                                                               : "MovingAverageMinMaxObserver")
                                                : (kPerChannel ? "PerChannelMinMaxObserver" : "MinMaxObserver");
}  // namespace

template <bool kAveraged, bool kPerChannel>
ExtremesObserver<kAveraged, kPerChannel>::ExtremesObserver(const ObserverOptions& options)
    : Module(kExtremesName<kAveraged, kPerChannel>), UniformQuantizationObserverBase(options) {
  TORCH_CHECK_NOT_IMPLEMENTED(is_per_channel(qscheme()) == kPerChannel, this->name(), "'s qscheme only support ",
                              kPerChannel ? "torch.per_channel_symmetric, torch.per_channel_affine and "
                                            "torch.per_channel_affine_float_qparams"
                                          : "torch.per_tensor_symmetric and torch.per_tensor_affine",
                              ", but got: torch.", qscheme_name(qscheme()));
  TORCH_CHECK_NOT_IMPLEMENTED(
      kAveraged || kPerChannel || !is_symmetric(qscheme()) || !options.reduce_range() || dtype() != ScalarType::QUInt8,
      "Cannot reduce range for symmetric quantization for quint8");
  TORCH_CHECK_NOT_IMPLEMENTED(!kPerChannel || !options.is_dynamic(), this->name(),
                              " doesn't support dynamic quantization");
  TORCH_CHECK_NOT_IMPLEMENTED(!kAveraged || !options.is_dynamic() || options.averaging_constant() == 1, this->name(),
                              " doesn't support dynamic quantization for averaging constant of ",
                              options.averaging_constant());
  reset();
  if (kPerChannel) adopt_sizes_when_loaded();
}

template <bool kAveraged, bool kPerChannel>
Tensor ExtremesObserver<kAveraged, kPerChannel>::forward(const Tensor& x) {
  const char* const who = kExtremesName<kAveraged, kPerChannel>;
  check_seen(who, x);
  if (x.numel() == 0) return x;
  const c10::NoGradGuard no_grad;
  const auto [least, most] = kPerChannel ? at::aminmax(channels_of(who, x, ch_axis()), 1) : at::aminmax(numbers(x));
  const bool first = nothing_seen(min_val) && nothing_seen(max_val);
  TORCH_CHECK(first || min_val.sizes() == least.sizes(), who, ": expected ", min_val.numel(),
              " channels, as were seen before, but got ", least.numel());
  if (first) {
    assign(min_val, least);
    assign(max_val, most);
  } else if (kAveraged) {
    assign(min_val, moved(min_val, least, options_.averaging_constant()));
    assign(max_val, moved(max_val, most, options_.averaging_constant()));
  } else {
    assign(min_val, at::minimum(least, min_val));
    assign(max_val, at::maximum(most, max_val));
  }
  return x;
}
template class ExtremesObserver<false, false>;
template class ExtremesObserver<true, false>;
template class ExtremesObserver<false, true>;
template class ExtremesObserver<true, true>;

// --- those that see nothing ---
FixedQParamsObserverImpl::FixedQParamsObserverImpl(double scale, int64_t zero_point, const ObserverOptions& options)
    : ObserverBase(options), scale_(scale), zero_point_(zero_point) {
  const auto [least, most] = quantization_range(options_);
  TORCH_CHECK(scale > 0 && std::isfinite(scale), "FixedQParamsObserver: expected a positive scale, but got ", scale);
  TORCH_CHECK(zero_point >= least && zero_point <= most, "FixedQParamsObserver: expected a zero_point in [", least,
              ", ", most, "], but got ", zero_point);
  reset();
}
void FixedQParamsObserverImpl::reset() {
  scale = register_buffer("scale", at::full({1}, scale_, at::TensorOptions().dtype(ScalarType::Float)));
  zero_point = register_buffer("zero_point", at::full({1}, zero_point_, at::TensorOptions().dtype(ScalarType::Int)));
}
std::string FixedQParamsObserverImpl::extra_repr() const {
  std::ostringstream text;
  text << "scale=" << scale_ << ", zero_point=" << zero_point_;
  return text.str();
}

QParams NoQParamsObserver::calculate_qparams() {
  TORCH_CHECK(false, "calculate_qparams should not be called for ", nn::detail::class_name(*this));
}
std::string PlaceholderObserverImpl::extra_repr() const {
  std::ostringstream text;
  text << "dtype=" << dtype() << ", is_dynamic=" << (is_dynamic() ? "True" : "False");
  return text.str();
}

Tensor RecordingObserverImpl::forward(const Tensor& x) {
  check_seen("RecordingObserver", x);
  tensor_val.push_back(at::clone(at::detach(x)));
  return x;
}
bool same_observer(const ObserverBase& a, const ObserverBase& b) {
  if (typeid(a) != typeid(b)) return false;
  const ObserverOptions &p = a.options(), &q = b.options();
  const bool same = p.dtype() == q.dtype() && p.qscheme() == q.qscheme() && p.reduce_range() == q.reduce_range() &&
                    p.quant_min() == q.quant_min() && p.quant_max() == q.quant_max() && p.eps() == q.eps() &&
                    p.is_dynamic() == q.is_dynamic() && p.averaging_constant() == q.averaging_constant() &&
                    p.ch_axis() == q.ch_axis() && p.bins() == q.bins();
  if (!same) return false;
  if (const auto* fixed = dynamic_cast<const FixedQParamsObserverImpl*>(&a)) {
    const auto& other = dynamic_cast<const FixedQParamsObserverImpl&>(b);
    if (!at::equal(fixed->scale, other.scale) || !at::equal(fixed->zero_point, other.zero_point)) return false;
  }
  const auto own = a.children(), other = b.children();
  if (own.size() != other.size()) return false;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto *x = dynamic_cast<const ObserverBase*>(own[i].get()),
               *y = dynamic_cast<const ObserverBase*>(other[i].get());
    if (x == nullptr || y == nullptr || !same_observer(*x, *y)) return false;
  }
  return true;
}

}  // namespace torch::quantization
