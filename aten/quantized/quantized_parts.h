#pragma once
// What kernels of quantized tensors are made of.

#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/quantized/choose_parameters.h"
#include "aten/quantized/quantized_tensor_impl.h"

namespace at::native {
struct DimSplit;
}

namespace at::quantized {

struct Combination;

/// The least and the greatest integer of a quantized dtype, and of the dtype of whole integers, Byte, Char or Int.
Range range_of(const char* op, ScalarType quantized);
Range range_of_integers(ScalarType integers);

QuantizerPtr per_tensor(double scale, int64_t zero_point);
/// Checks them as quantize_per_channel does and keeps copies: doubles and int64, or floats where `zero_points` are; on
/// the device of the scales unless another is named.
QuantizerPtr per_channel(const char* op, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                         std::optional<Device> device = std::nullopt);
/// The same quantizer for tensors of a device.
QuantizerPtr on_device(const QuantizerPtr& quantizer, Device device);

/// A contiguous tensor of a dtype of less than 8 bits, unwritten; one of `integers` (Byte, within the range); and the
/// integers of one, a byte each. Throws c10::Error for strided ones.
Tensor empty_packed(IntArrayRef sizes, ScalarType quantized, QuantizerPtr quantizer,
                    Device device = Device(DeviceType::CPU));
Tensor packed(const Tensor& integers, ScalarType quantized, QuantizerPtr quantizer);
Tensor unpacked(const char* op, const Tensor& t);

/// Whether the channels of `quantizer`, if it has any, are those of a dimension of `sizes`; throws c10::Error where
/// not. A view of another shape may have more or fewer.
bool fits(const Quantizer& quantizer, IntArrayRef sizes);
void check_fits(const char* op, const Quantizer& quantizer, IntArrayRef sizes);

/// One number: nearbyint(x / scale) + zero_point within the range; NaN gives its least.
inline int64_t quantize_one(float x, float inverse_scale, int64_t zero_point, Range range) {
  const float shifted = std::nearbyint(x * inverse_scale) + static_cast<float>(zero_point);
  if (!(shifted > static_cast<float>(range.least))) return range.least;
  return shifted >= static_cast<float>(range.most) ? range.most : static_cast<int64_t>(shifted);
}
int64_t quantize_one(const char* op, const Scalar& x, ScalarType quantized, const Quantizer& quantizer);

/// Elements that are worth a thread.
constexpr int64_t kGrain = 16384;

/// Float numbers as integers, as a new quantized tensor in the memory order of `numbers`.
Tensor quantize(const char* op, const Tensor& numbers, ScalarType quantized, QuantizerPtr quantizer);
/// The same into the memory of a quantized tensor of the same size.
void quantize_into(const char* op, const Tensor& target, const Tensor& numbers);
/// The numbers, float.
Tensor dequantize(const char* op, const Tensor& t);

/// A copy.
Tensor clone(const char* op, const Tensor& t, std::optional<MemoryFormat> memory_format = std::nullopt);

/// A new quantized tensor like `t` (its memory order where it is dense) that shares the quantizer; unwritten.
Tensor empty_like(const char* op, const Tensor& t);

/// `t` of one scale and zero point. Throws c10::Error "<op>: only per tensor affine ...".
const Quantizer& uniform(const char* op, const Tensor& t);

/// f of the integers gives integers that stand for the result, with the quantizer of `t`.
template <class F>
Tensor on_integers(const char* op, const Tensor& t, const F& f) {
  return make_quantized(f(integers(op, t)), impl_of(op, t).shared_quantizer());
}
/// f of the integers gives integers and indices; the same.
template <class F>
std::tuple<Tensor, Tensor> on_integers_with_indices(const char* op, const Tensor& t, const F& f) {
  auto [values, indices] = f(integers(op, t));
  return {make_quantized(values, impl_of(op, t).shared_quantizer()), indices};
}
/// f of the integers as floats (doubles for qint32) gives whole numbers; the same.
template <class F>
Tensor on_whole_numbers(const char* op, const Tensor& t, const F& f);
/// f of the numbers gives numbers, which are quantized as `t` is, or by `to`.
template <class F>
Tensor on_numbers(const char* op, const Tensor& t, QuantizerPtr to, const F& f) {
  return quantize(op, f(dequantize(op, t)), t.scalar_type(), std::move(to));
}
template <class F>
Tensor on_numbers(const char* op, const Tensor& t, const F& f) {
  return on_numbers(op, t, impl_of(op, t).shared_quantizer(), f);
}

/// The sum or the product of two tensors of one 8-bit dtype, in `how` that names no scales yet, by the scale and zero
/// point `to`. Undefined where they do not lie in memory alike, or zero points are far away.
Tensor combined(const char* op, const Tensor& a, const Tensor& b, Combination how, QuantizerPtr to);

/// Integers within [least, most], numbers of their dtype, with the quantizer of `t`.
Tensor clamped(const char* op, const Tensor& t, int64_t least, int64_t most);

/// A tensor of all 256 integers of t's 8-bit dtype, in the order of their bits, with its quantizer; and the elements of
/// such a `table` at the integers of `t`.
Tensor all_integers(const char* op, const Tensor& t);
Tensor looked_up(const char* op, const Tensor& t, const Tensor& table);

/// As on_numbers, for an f that works element by element: it is called once for each of 8-bit integers.
template <class F>
Tensor on_each_number(const char* op, const Tensor& t, QuantizerPtr to, const F& f) {
  if (!t.is_cpu() || t.itemsize() != 1 || t.numel() < 1024 || !impl_of(op, t).quantizer().per_tensor()) {
    return on_numbers(op, t, std::move(to), f);
  }
  return looked_up(op, t, on_numbers(op, all_integers(op, t), std::move(to), f));
}
template <class F>
Tensor on_each_number(const char* op, const Tensor& t, const F& f) {
  return on_each_number(op, t, impl_of(op, t).shared_quantizer(), f);
}

/// Of each channel, that is a part of split.size, the integers slope * (q - zero point) + offset in steps of `to`.
/// Undefined for integers of 32 bits and where zero points are far away. `t` is dense in the order of `split`.
Tensor on_lines(const char* op, const Tensor& t, const native::DimSplit& split, const Tensor& slopes,
                const Tensor& offsets, QuantizerPtr to);

/// Gives `self` the elements and the quantizer of a result of its size and dtype.
Tensor& assign(const char* op, Tensor& self, const Tensor& result);

/// The same for an out= argument, which takes the size of the result; and of a result that is dense.
Tensor& give(const char* op, Tensor& out, const Tensor& result);
void give(const char* op, TensorList outs, const std::vector<Tensor>& results);  // all checked before one is written
Tensor& give_dense(const char* op, Tensor& out, const Tensor& result);

/// Integers of another dtype, and back: whole numbers within the range of `quantized`.
Tensor as_floats(const Tensor& integers);
Tensor from_floats(const Tensor& whole, ScalarType integers);

template <class F>
Tensor on_whole_numbers(const char* op, const Tensor& t, const F& f) {
  return on_integers(op, t, [&](const Tensor& q) { return from_floats(f(as_floats(q)), q.scalar_type()); });
}

/// The least and the greatest of float numbers, between which parameters are chosen; 0 and 0 where there are none.
/// Throws c10::Error for NaN.
std::pair<float, float> extremes(const Tensor& numbers);

}  // namespace at::quantized
