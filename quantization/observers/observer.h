// Observers: modules that let tensors pass, remember how large their numbers are, and choose scales and zero points.
//
//   torch::quantization::MinMaxObserver observer(ObserverOptions().dtype(torch::kQInt8));
//   observer(x);                                              // x; its least and greatest number are kept
//   auto [scale, zero_point] = observer->calculate_qparams();
//
// With [qmin, qmax] the integers of the dtype and [min, max] what was seen, 0 added to it:
//   affine:     scale = max((max - min) / (qmax - qmin), eps), zero_point = qmin - round(min / scale), within the range
//   symmetric:  scale = max(max(-min, max) / ((qmax - qmin) / 2), eps), zero_point 0; for unsigned dtypes 128, or the
//               middle of a range that was given
//   float qparams: scale = (max - min) / (qmax - qmin), or 1 where that is not above eps, zero_point = -min / scale,
//               without adding 0
// in float, halves rounded to even: the numbers that torch.ao.quantization computes, bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/qscheme.h"
#include "c10/core/scalar_type.h"
#include "c10/util/arg.h"
#include "nn/module/cloneable.h"
#include "nn/module/module.h"
#include "nn/module/module_holder.h"

namespace torch::quantization {

/// Scale (float) and zero point (int32, int64, or float where the scheme has such), of one element, or one a channel.
using QParams = std::tuple<at::Tensor, at::Tensor>;

/// What observers and fake quantizers are made with; each reads what concerns it.
struct ObserverOptions {
  /// Of the integers: QUInt8, QInt8, QInt32, QUInt4x2, or Byte, Char, Short, UInt16, Int.
  TORCH_ARG(c10::ScalarType, dtype) = c10::ScalarType::QUInt8;
  TORCH_ARG(c10::QScheme, qscheme) = c10::kPerTensorAffine;
  /// Half of the dtype's range: 7 bits, whose products two by two fit 16 bits.
  TORCH_ARG(bool, reduce_range) = false;
  /// The range of integers, both or none.
  TORCH_ARG(std::optional<int64_t>, quant_min);
  TORCH_ARG(std::optional<int64_t>, quant_max);
  /// The least scale.
  TORCH_ARG(double, eps) = 0x1p-23;
  /// Whether scales are chosen for each tensor when the program runs.
  TORCH_ARG(bool, is_dynamic) = false;
  /// Of moving averages: how much of the way to the new value is gone.
  TORCH_ARG(double, averaging_constant) = 0.01;
  /// Of per-channel schemes.
  TORCH_ARG(int64_t, ch_axis) = 0;
  /// Of histograms.
  TORCH_ARG(int64_t, bins) = 2048;
};

bool is_per_channel(c10::QScheme qscheme);
bool is_symmetric(c10::QScheme qscheme);
/// "per_tensor_affine" and the like.
const char* qscheme_name(c10::QScheme qscheme);
/// The integers' own dtype: Byte of QUInt8 (and of QUInt4x2), Char of QInt8, Int of QInt32; others are what they are.
c10::ScalarType integer_dtype(c10::ScalarType dtype);

/// What stands where tensors pass: an observer or a fake quantizer.
class ObserverBase : public virtual nn::Module {
 public:
  explicit ObserverBase(const ObserverOptions& options) : options_(options) {}
  /// Sees a tensor, floating-point of any size, and gives it back: the same one, or, of fake quantizers, what is left
  /// of it after quantization.
  virtual at::Tensor forward(const at::Tensor& x) = 0;
  /// Throws c10::Error where the class chooses none.
  virtual QParams calculate_qparams() = 0;
  /// Whether it has what calculate_qparams() needs, as it needs no more numbers.
  virtual bool chooses_qparams() const { return true; }
  /// Whether what it needs was seen.
  virtual bool has_seen() const { return true; }

  c10::ScalarType dtype() const { return options_.dtype(); }
  c10::QScheme qscheme() const { return options_.qscheme(); }
  int64_t ch_axis() const { return options_.ch_axis(); }
  bool is_dynamic() const { return options_.is_dynamic(); }
  double eps_value() const { return options_.eps(); }
  /// The range of the integers. Throws c10::Error where the dtype has none.
  virtual int64_t quant_min() const;
  virtual int64_t quant_max() const;
  const ObserverOptions& options() const { return options_; }

 protected:
  ObserverOptions options_;
};

/// The range that options say: the dtype's (half of it where reduced), or the one they give. Throws c10::Error for one
/// that has no 0, is empty, or larger than the dtype's number of integers.
std::tuple<int64_t, int64_t> quantization_range(const ObserverOptions& options);

/// Those that choose by the formulas above.
class UniformQuantizationObserverBase : public ObserverBase {
 public:
  explicit UniformQuantizationObserverBase(const ObserverOptions& options);
  int64_t quant_min() const override { return quant_min_; }
  int64_t quant_max() const override { return quant_max_; }
  bool has_seen() const override;

  /// What was seen: infinite, or empty, before.
  at::Tensor min_val, max_val, eps;

  /// Forgets it.
  virtual void reset_min_max_vals();

 protected:
  /// Scale 1 and zero point 0, with a warning, where nothing was seen.
  QParams qparams_for(const at::Tensor& least, const at::Tensor& most) const;
  void register_extremes(bool per_channel);
  /// The extremes that a state dict brings may be of another size.
  void adopt_sizes_when_loaded();
  std::string extremes_text() const;

 private:
  int64_t quant_min_ = 0, quant_max_ = 0;
};

/// The least and the greatest number of all tensors, or, per channel, of each channel, along dimension ch_axis; or
/// their moving averages: min += averaging_constant * (least - min), from the first tensor's on. NotImplementedError
/// for qschemes of the other kind, for a reduced symmetric QUInt8, and for dynamic ones but the average of constant 1.
template <bool kAveraged, bool kPerChannel>
class ExtremesObserver : public UniformQuantizationObserverBase,
                         public nn::Cloneable<ExtremesObserver<kAveraged, kPerChannel>> {
 public:
  explicit ExtremesObserver(const ObserverOptions& options = ObserverOptions().qscheme(kPerChannel
                                                                                           ? c10::kPerChannelAffine
                                                                                           : c10::kPerTensorAffine));
  at::Tensor forward(const at::Tensor& x) override;
  QParams calculate_qparams() override { return qparams_for(min_val, max_val); }
  void reset() override { register_extremes(kPerChannel); }
  std::string extra_repr() const override { return extremes_text(); }
};
extern template class ExtremesObserver<false, false>;
extern template class ExtremesObserver<true, false>;
extern template class ExtremesObserver<false, true>;
extern template class ExtremesObserver<true, true>;
using MinMaxObserverImpl = ExtremesObserver<false, false>;
using MovingAverageMinMaxObserverImpl = ExtremesObserver<true, false>;
using PerChannelMinMaxObserverImpl = ExtremesObserver<false, true>;
using MovingAveragePerChannelMinMaxObserverImpl = ExtremesObserver<true, true>;
TORCH_MODULE(MinMaxObserver);
TORCH_MODULE(MovingAverageMinMaxObserver);
TORCH_MODULE(PerChannelMinMaxObserver);
TORCH_MODULE(MovingAveragePerChannelMinMaxObserver);

/// A histogram of all numbers, of `bins` bins. The range that is chosen is the one of least squared error, found by
/// moving its ends inwards, a hundred-thousandth of the numbers at a time. Infinite numbers are left out; those of half
/// precision are counted as floats. Per tensor
/// schemes only.
class HistogramObserverImpl : public UniformQuantizationObserverBase, public nn::Cloneable<HistogramObserverImpl> {
 public:
  explicit HistogramObserverImpl(const ObserverOptions& options = {});
  at::Tensor forward(const at::Tensor& x) override;
  QParams calculate_qparams() override;
  void reset() override;
  void reset_min_max_vals() override;

  /// Counts, [bins], float.
  at::Tensor histogram;

 private:
  at::Tensor widened(float least, float most, float new_least, float new_most) const;
  std::tuple<float, float> search_range() const;
};
TORCH_MODULE(HistogramObserver);

/// A scale and a zero point that are known: those of sigmoid, whose results lie between 0 and 1.
class FixedQParamsObserverImpl : public ObserverBase, public nn::Cloneable<FixedQParamsObserverImpl> {
 public:
  FixedQParamsObserverImpl(double scale, int64_t zero_point,
                           const ObserverOptions& options = ObserverOptions().quant_min(0).quant_max(255));
  at::Tensor forward(const at::Tensor& x) override { return x; }
  QParams calculate_qparams() override { return {scale, zero_point}; }
  void reset() override;
  std::string extra_repr() const override;

  at::Tensor scale, zero_point;

 private:
  double scale_;
  int64_t zero_point_;
};
TORCH_MODULE(FixedQParamsObserver);

/// What chooses no scales: calculate_qparams() throws c10::Error.
class NoQParamsObserver : public ObserverBase {
 public:
  using ObserverBase::ObserverBase;
  at::Tensor forward(const at::Tensor& x) override { return x; }
  QParams calculate_qparams() override;
  bool chooses_qparams() const override { return false; }
};

/// Sees nothing: says by its dtype what shall become of a tensor (dynamic quantization, half precision).
class PlaceholderObserverImpl : public NoQParamsObserver, public nn::Cloneable<PlaceholderObserverImpl> {
 public:
  explicit PlaceholderObserverImpl(const ObserverOptions& options = ObserverOptions().dtype(c10::ScalarType::Float),
                                   std::string custom_op_name = "")
      : NoQParamsObserver(options), custom_op(std::move(custom_op_name)) {}
  void reset() override {}
  std::string extra_repr() const override;

  std::string custom_op;
};
TORCH_MODULE(PlaceholderObserver);

/// Keeps copies of all tensors, for those who look for errors.
class RecordingObserverImpl : public NoQParamsObserver, public nn::Cloneable<RecordingObserverImpl> {
 public:
  explicit RecordingObserverImpl(const ObserverOptions& options = {}) : NoQParamsObserver(options) {}
  at::Tensor forward(const at::Tensor& x) override;
  void reset() override {}
  const std::vector<at::Tensor>& get_tensor_value() const { return tensor_val; }

  std::vector<at::Tensor> tensor_val;
};
TORCH_MODULE(RecordingObserver);

/// Does nothing, for half precision.
class NoopObserverImpl : public NoQParamsObserver, public nn::Cloneable<NoopObserverImpl> {
 public:
  explicit NoopObserverImpl(const ObserverOptions& options = ObserverOptions().dtype(c10::ScalarType::Half))
      : NoQParamsObserver(options) {}
  void reset() override {}
};
TORCH_MODULE(NoopObserver);

/// Stands where the result is quantized as the input is.
class ReuseInputObserverImpl : public NoQParamsObserver, public nn::Cloneable<ReuseInputObserverImpl> {
 public:
  ReuseInputObserverImpl() : NoQParamsObserver(ObserverOptions()) {}
  void reset() override {}
};
TORCH_MODULE(ReuseInputObserver);

/// Whether two are of one class, with the same options, and so are the observers in them.
bool same_observer(const ObserverBase& a, const ObserverBase& b);

/// Makes an observer or a fake quantizer, a new one each time: what torch.ao.quantization writes as
/// `MinMaxObserver.with_args(dtype=torch.qint8)`.
using ObserverFactory = std::function<std::shared_ptr<ObserverBase>()>;

/// with_args<MinMaxObserver>(ObserverOptions().dtype(torch::kQInt8))
template <class Holder, class... Args>
ObserverFactory with_args(Args... args) {
  return [args...]() -> std::shared_ptr<ObserverBase> { return Holder(args...).ptr(); };
}

}  // namespace torch::quantization

namespace torch::ao {
namespace quantization = torch::quantization;
}  // namespace torch::ao
