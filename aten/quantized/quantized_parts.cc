#include "aten/quantized/quantized_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/ops.h"
#include "aten/quantized/channel_runs.h"
#include "aten/quantized/device_parts.h"
#include "aten/quantized/element_loops.h"
#include "c10/parallel/parallel.h"

namespace at::quantized {
namespace {

template <class F>
void visit_integers(const char* op, ScalarType quantized, F&& f) {
  switch (integers_of(op, quantized)) {
    case ScalarType::Byte:
      return f(uint8_t{});
    case ScalarType::Char:
      return f(int8_t{});
    default:
      return f(int32_t{});
  }
}

// Calls f(begin, end, steps) on runs of all elements.
template <class F>
void for_each_of(IntArrayRef sizes, const Quantizer& quantizer, const F& f) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  if (quantizer.per_tensor()) {
    const auto scale = static_cast<float>(quantizer.scale), zero = static_cast<float>(quantizer.zero_point);
    return for_each_run(native::DimSplit{1, 1, numel}, &scale, &zero, f);
  }
  const native::DimSplit split = native::split_at_dim(sizes, quantizer.axis);
  const Tensor scales = native::dense(quantizer.scales, kFloat), zeros = native::dense(quantizer.zero_points, kFloat);
  for_each_run(split, scales.data_ptr<float>(), zeros.data_ptr<float>(), f);
}

// Contiguous on both sides.
void quantize_memory(const char* op, IntArrayRef sizes, const float* x, void* out, ScalarType quantized,
                     const Quantizer& quantizer) {
  const bool whole = quantizer.scheme != kPerChannelAffineFloatQParams;
  visit_integers(op, quantized, [&](auto tag) {
    using T = decltype(tag);
    T* const q = static_cast<T*>(out);
    for_each_of(sizes, quantizer, [&](int64_t begin, int64_t end, const Steps& steps) {
      quantize_run(x + begin, q + begin, end - begin, steps, whole);
    });
  });
}

Tensor moved(const Tensor& t, Device device) {
  return t.device() == device ? t : at::to(t, device);
}

// `t` where each element stands once and none between them, else a copy.
Tensor without_gaps(const Tensor& t) {
  return t.is_non_overlapping_and_dense() && native::is_aligned(t) ? t : native::dense(t);
}

}  // namespace

Range range_of(const char* op, ScalarType quantized) {
  if (quantized == kQUInt4x2) return {0, 15};
  if (quantized == kQUInt2x4) return {0, 3};
  return range_of_integers(integers_of(op, quantized));
}

Range range_of_integers(ScalarType integers) {
  switch (integers) {
    case ScalarType::Byte:
      return {0, 255};
    case ScalarType::Char:
      return {-128, 127};
    default:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

Tensor empty_packed(IntArrayRef sizes, ScalarType quantized, QuantizerPtr quantizer, Device device) {
  const int64_t numel = checked_numel(sizes), each = elements_per_byte(quantized),
                row = sizes.empty() ? 1 : std::max<int64_t>(sizes.back(), 1);
  const Tensor bytes = empty_contiguous({numel / row * ((row + each - 1) / each)}, kByte, device);
  return Tensor(c10::make_intrusive<QTensorImpl>(bytes.unsafeGetTensorImpl()->storage(), quantized, bytes.device(),
                                                 sizes, strides_of_format(sizes, MemoryFormat::Contiguous), 0,
                                                 std::move(quantizer)));
}

namespace {
int bits_each(ScalarType quantized) {
  return 8 / static_cast<int>(elements_per_byte(quantized));
}
// The bytes [begin, end) of a tensor whose integers share them.
Tensor bytes_of(const Tensor& t, int64_t begin, int64_t end) {
  return Tensor(
      TensorImpl::strided(t.unsafeGetTensorImpl()->storage(), kByte, t.device(), {end - begin}, {1}, begin));
}
}  // namespace

Tensor packed(const Tensor& integers, ScalarType quantized, QuantizerPtr quantizer) {
  const Tensor q = native::dense(integers),
               result = empty_packed(integers.sizes(), quantized, std::move(quantizer), integers.device());
  const int64_t each = elements_per_byte(quantized), numel = q.numel();
  const int bits = bits_each(quantized);
  if (!q.is_cpu()) {
    Tensor to = bytes_of(result, 0, (numel + each - 1) / each);
    at::copy_(to, device::pack(q, each, bits));
    return fresh(result);
  }
  const auto* in = q.const_data_ptr<uint8_t>();
  auto* out = static_cast<uint8_t*>(result.mutable_data_ptr());
  at::parallel_for(0, (numel + each - 1) / each, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t byte = begin; byte < end; ++byte) {
      unsigned together = 0;
      for (int64_t i = byte * each; i < std::min(numel, (byte + 1) * each); ++i) {
        together |= static_cast<unsigned>(in[i]) << (i % each * bits);
      }
      out[byte] = static_cast<uint8_t>(together);
    }
  });
  return fresh(result);
}

Tensor unpacked(const char* op, const Tensor& t) {
  impl_of(op, t);
  TORCH_CHECK(t.is_contiguous(), op, ": a tensor of dtype ", t.scalar_type(),
              " must be contiguous, but its strides are ", t.strides());
  const int64_t each = elements_per_byte(t.scalar_type()), first = t.storage_offset();
  const int bits = bits_each(t.scalar_type());
  if (!t.is_cpu()) {
    const Tensor bytes = bytes_of(t, first / each, (first + t.numel() + each - 1) / each);
    return fresh(device::unpack(bytes, first % each, t.sizes(), each, bits));
  }
  const Tensor result = empty_contiguous(t.sizes(), kByte);
  // An offset counts elements.
  const auto* in = static_cast<const uint8_t*>(t.storage().data());
  auto* out = result.data_ptr<uint8_t>();
  at::parallel_for(0, t.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = first + i;
      out[i] = static_cast<uint8_t>(in[at / each] >> (at % each * bits) & ((1 << bits) - 1));
    }
  });
  return fresh(result);
}

bool fits(const Quantizer& quantizer, IntArrayRef sizes) {
  if (quantizer.per_tensor()) return true;
  const bool within = quantizer.axis >= 0 && quantizer.axis < static_cast<int64_t>(sizes.size());
  return within && quantizer.scales.numel() == sizes[static_cast<size_t>(quantizer.axis)];
}

void check_fits(const char* op, const Quantizer& quantizer, IntArrayRef sizes) {
  if (fits(quantizer, sizes)) return;
  TORCH_CHECK(quantizer.axis >= 0 && quantizer.axis < static_cast<int64_t>(sizes.size()), op,
              ": channel axis out of range in per channel affine quantization. Got: ", quantizer.axis,
              " Expected: [0, ", sizes.size(), ")");
  TORCH_CHECK(false, op, ": length of scales must equal to channel, expected ",
              sizes[static_cast<size_t>(quantizer.axis)], " got, ", quantizer.scales.numel());
}

QuantizerPtr per_tensor(double scale, int64_t zero_point) {
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->scale = scale;
  quantizer->zero_point = zero_point;
  return quantizer;
}

QuantizerPtr per_channel(const char* op, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                         std::optional<Device> device) {
  TORCH_CHECK(scales.dim() == 1, "scale tensor must have dimension 1");
  TORCH_CHECK(zero_points.dim() == 1, "zero_points tensor must have dimension 1");
  TORCH_CHECK(scales.numel() == zero_points.numel(), "number of elements in scales and zero_points must match");
  TORCH_CHECK(isFloatingType(scales.scalar_type()), op, ": expected scales of a floating-point dtype, but got ",
              scales.scalar_type());
  TORCH_CHECK(!zero_points.is_complex() && zero_points.layout() == Layout::Strided && !zero_points.is_quantized(), op,
              ": expected dense zero_points of integers or floats, but got ", zero_points.toString());
  auto quantizer = std::make_shared<Quantizer>();
  const bool floats = isFloatingType(zero_points.scalar_type());
  quantizer->scheme = floats ? kPerChannelAffineFloatQParams : kPerChannelAffine;
  const auto copy = [&](const Tensor& t, ScalarType dtype) {
    const TensorOptions options = TensorOptions().dtype(dtype).device(device.value_or(scales.device()));
    return native::dense(at::_to_copy(t, options, false, MemoryFormat::Contiguous));
  };
  quantizer->scales = copy(scales, floats ? kFloat : kDouble);
  quantizer->zero_points = copy(zero_points, floats ? kFloat : kLong);
  quantizer->axis = axis;
  return quantizer;
}

QuantizerPtr on_device(const QuantizerPtr& quantizer, Device device) {
  if (quantizer->per_tensor() || quantizer->scales.device() == device) return quantizer;
  auto there = std::make_shared<Quantizer>(*quantizer);
  there->scales = moved(quantizer->scales, device);
  there->zero_points = moved(quantizer->zero_points, device);
  return there;
}

int64_t quantize_one(const char* op, const Scalar& x, ScalarType quantized, const Quantizer& quantizer) {
  TORCH_CHECK(quantizer.per_tensor(), op, ": only per tensor affine quantized tensors are supported");
  return quantize_one(x.toFloat(), 1.0f / static_cast<float>(quantizer.scale), quantizer.zero_point,
                      range_of(op, quantized));
}

void quantize_into(const char* op, const Tensor& target, const Tensor& numbers) {
  const QTensorImpl& impl = impl_of(op, target);
  check_fits(op, impl.quantizer(), target.sizes());
  TORCH_CHECK(numbers.scalar_type() == kFloat, op, ": expected numbers of dtype Float, but got ",
              numbers.scalar_type());
  Tensor whole = integers(op, target);
  if (!target.is_cpu()) {
    at::copy_(whole, device::quantize(moved(numbers, target.device()), whole.scalar_type(), impl.quantizer()));
    return;
  }
  const Tensor x = native::dense(moved(numbers, target.device()));
  native::DenseOut out(whole);
  quantize_memory(op, target.sizes(), x.data_ptr<float>(), out.tensor().mutable_data_ptr(), target.scalar_type(),
                  impl.quantizer());
  out.commit();
}

Tensor quantize(const char* op, const Tensor& numbers, ScalarType quantized, QuantizerPtr quantizer) {
  if (elements_per_byte(quantized) != 1) {
    const Tensor bytes = quantize(op, numbers, kQUInt8, quantizer);
    return packed(integers(op, clamped(op, bytes, 0, range_of(op, quantized).most)), quantized, std::move(quantizer));
  }
  const ScalarType dtype = integers_of(op, quantized);
  if (!numbers.is_cpu()) {
    check_fits(op, *quantizer, numbers.sizes());
    TORCH_CHECK(numbers.scalar_type() == kFloat, op, ": expected numbers of dtype Float, but got ",
                numbers.scalar_type());
    const Tensor q = device::quantize(numbers, dtype, *quantizer);
    return fresh(make_quantized(q, std::move(quantizer)));
  }
  const DimVector strides = strides_like(numbers);
  const Tensor result =
      make_quantized(empty_with_strides(numbers.sizes(), strides, dtype, numbers.device()), std::move(quantizer));
  const Quantizer& own = impl_of(op, result).quantizer();
  const bool in_order = own.per_tensor() && numbers.scalar_type() == kFloat && native::is_aligned(numbers) &&
                        numbers.is_non_overlapping_and_dense();
  if (in_order) {  // element by element, whatever the order
    quantize_memory(op, numbers.numel(), numbers.data_ptr<float>(), result.mutable_data_ptr(), quantized, own);
  } else {
    quantize_into(op, result, numbers);
  }
  return fresh(result);
}

Tensor dequantize(const char* op, const Tensor& t) {
  const QTensorImpl& impl = impl_of(op, t);
  if (elements_per_byte(t.scalar_type()) != 1) {
    return dequantize(op, make_quantized(unpacked(op, t), impl.shared_quantizer()));
  }
  const Quantizer& quantizer = impl.quantizer();
  check_fits(op, quantizer, t.sizes());
  const Tensor whole = integers(op, t);
  if (!t.is_cpu()) return fresh(device::dequantize(whole, quantizer));
  const bool in_order = quantizer.per_tensor() && native::is_aligned(whole) && whole.is_non_overlapping_and_dense();
  const Tensor q = in_order ? whole : native::dense(whole);
  const Tensor result =
      in_order ? empty_with_strides(t.sizes(), t.strides(), kFloat) : empty_contiguous(t.sizes(), kFloat);
  float* const out = result.data_ptr<float>();
  const bool exact = quantizer.scheme != kPerChannelAffineFloatQParams;
  visit_integers(op, t.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* const in = static_cast<const T*>(q.const_data_ptr());
    for_each_of(t.sizes(), quantizer, [&](int64_t begin, int64_t end, const Steps& steps) {
      dequantize_run(in + begin, out + begin, end - begin, steps, exact);
    });
  });
  return fresh(result);
}

Tensor clone(const char* op, const Tensor& t, std::optional<MemoryFormat> memory_format) {
  if (elements_per_byte(t.scalar_type()) != 1) {
    return packed(unpacked(op, t), t.scalar_type(), impl_of(op, t).shared_quantizer());
  }
  return fresh(on_integers(op, t, [&](const Tensor& q) { return at::clone(q, memory_format); }));
}

Tensor empty_like(const char* op, const Tensor& t) {
  const Tensor whole = integers(op, t);
  return make_quantized(empty_with_strides(t.sizes(), strides_like(whole), whole.scalar_type(), t.device()),
                        impl_of(op, t).shared_quantizer());
}

const Quantizer& uniform(const char* op, const Tensor& t) {
  const Quantizer& quantizer = impl_of(op, t).quantizer();
  TORCH_CHECK(quantizer.per_tensor(), op, ": only per tensor affine quantized tensors are supported");
  return quantizer;
}

Tensor combined(const char* op, const Tensor& a, const Tensor& b, Combination how, QuantizerPtr to) {
  const Quantizer &x = uniform(op, a), &y = uniform(op, b);
  const Tensor qa = integers(op, a), qb = integers(op, b);
  const auto near = [](const Quantizer& q) { return std::abs(static_cast<float>(q.zero_point)) <= kNear; };
  if (!qa.is_cpu() || !qb.is_cpu() || qa.itemsize() != 1 || qa.sizes() != qb.sizes() || qa.strides() != qb.strides() ||
      !qa.is_non_overlapping_and_dense() || !near(x) || !near(y) || !near(*to)) {
    return Tensor();
  }
  how.scale_a = static_cast<float>(x.scale), how.zero_a = static_cast<float>(x.zero_point);
  how.scale_b = static_cast<float>(y.scale), how.zero_b = static_cast<float>(y.zero_point);
  how.scale = static_cast<float>(to->scale), how.zero = static_cast<float>(to->zero_point);
  const Tensor result = empty_with_strides(qa.sizes(), qa.strides(), qa.scalar_type());
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    const T* const p = static_cast<const T*>(qa.const_data_ptr());
    const T* const q = static_cast<const T*>(qb.const_data_ptr());
    T* const out = static_cast<T*>(result.mutable_data_ptr());
    at::parallel_for(0, qa.numel(), 2 * kGrain, [&](int64_t begin, int64_t end) {
      combine_run(p + begin, q + begin, out + begin, end - begin, how);
    });
  };
  qa.scalar_type() == ScalarType::Byte ? run(uint8_t{}) : run(int8_t{});
  return fresh(make_quantized(result, std::move(to)));
}

Tensor all_integers(const char* op, const Tensor& t) {
  const ScalarType dtype = integers_of(op, t.scalar_type());
  const Tensor all = empty_contiguous({256}, dtype);
  auto* bits = static_cast<uint8_t*>(all.mutable_data_ptr());
  for (int i = 0; i < 256; ++i) bits[i] = static_cast<uint8_t>(i);
  return make_quantized(all, impl_of(op, t).shared_quantizer());
}

Tensor looked_up(const char* op, const Tensor& t, const Tensor& table) {
  const Tensor q = without_gaps(integers(op, t)), found = integers(op, table);
  const Tensor result = empty_with_strides(q.sizes(), q.strides(), found.scalar_type());
  const auto *in = static_cast<const uint8_t*>(q.const_data_ptr()),
             *by_bits = static_cast<const uint8_t*>(found.const_data_ptr());
  auto* out = static_cast<uint8_t*>(result.mutable_data_ptr());
  at::parallel_for(0, q.numel(), 4 * kGrain,
                   [&](int64_t begin, int64_t end) { look_up_run(in + begin, out + begin, end - begin, by_bits); });
  return fresh(make_quantized(result, impl_of(op, table).shared_quantizer()));
}

Tensor on_lines(const char* op, const Tensor& t, const native::DimSplit& split, const Tensor& slopes,
                const Tensor& offsets, QuantizerPtr to) {
  const auto zero_in = static_cast<float>(uniform(op, t).zero_point), zero_out = static_cast<float>(to->zero_point);
  if (!t.is_cpu() || t.itemsize() != 1 || std::abs(zero_in) > kNear || std::abs(zero_out) > kNear) return Tensor();
  const Tensor q = integers(op, t), slope = native::dense(slopes, kFloat), offset = native::dense(offsets, kFloat);
  const Tensor result = empty_with_strides(q.sizes(), q.strides(), q.scalar_type());
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    const T* const in = static_cast<const T*>(q.const_data_ptr());
    T* const out = static_cast<T*>(result.mutable_data_ptr());
    for_each_run(split, slope.const_data_ptr<float>(), offset.const_data_ptr<float>(),
                 [&](int64_t begin, int64_t end, const Steps& lines) {
                   line_run(in + begin, out + begin, end - begin, lines, zero_in, zero_out);
                 });
  };
  q.scalar_type() == ScalarType::Byte ? run(uint8_t{}) : run(int8_t{});
  return fresh(make_quantized(result, std::move(to)));
}

Tensor clamped(const char* op, const Tensor& t, int64_t least, int64_t most) {
  if (!t.is_cpu()) {
    return fresh(make_quantized(device::clamp(integers(op, t), least, most), impl_of(op, t).shared_quantizer()));
  }
  const Tensor q = without_gaps(integers(op, t));
  const Tensor result = empty_with_strides(q.sizes(), q.strides(), q.scalar_type());
  visit_integers(op, t.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* const in = static_cast<const T*>(q.const_data_ptr());
    T* const out = static_cast<T*>(result.mutable_data_ptr());
    at::parallel_for(0, q.numel(), 4 * kGrain, [&](int64_t begin, int64_t end) {
      clamp_run(in + begin, out + begin, end - begin, static_cast<T>(least), static_cast<T>(most));
    });
  });
  return fresh(make_quantized(result, impl_of(op, t).shared_quantizer()));
}

Tensor& assign(const char* op, Tensor& self, const Tensor& result) {
  QTensorImpl& impl = impl_of(op, self);
  TORCH_CHECK(self.sizes() == result.sizes(), op, ": a result of size ", result.sizes(),
              " does not fit the tensor of size ", self.sizes());
  Tensor target = integers(op, self);
  at::copy_(target, integers(op, result));
  impl.set_quantizer(impl_of(op, result).shared_quantizer());
  structured::mark_written(self);
  return self;
}

namespace {
void check_dtype(const char* op, const Tensor& out, const Tensor& result) {
  TORCH_CHECK(out.scalar_type() == result.scalar_type(), op, ": Expected out tensor to have dtype ",
              result.scalar_type(), ", but got ", out.scalar_type(), " instead");
}
void fit(const char* op, Tensor& out, const Tensor& result) {
  check_dtype(op, out, result);
  if (out.sizes() != result.sizes()) resize_output(out, result.sizes());
}
}  // namespace

Tensor& give(const char* op, Tensor& out, const Tensor& result) {
  fit(op, out, result);
  return assign(op, out, result);
}

void give(const char* op, TensorList outs, const std::vector<Tensor>& results) {
  TORCH_CHECK(outs.size() == results.size(), op, ": expected ", results.size(), " tensors as out, but got ",
              outs.size());
  for (size_t i = 0; i < outs.size(); ++i) check_dtype(op, outs[i], results[i]);
  for (size_t i = 0; i < outs.size(); ++i) {
    Tensor out = outs[i];
    give(op, out, results[i]);
  }
}

Tensor& give_dense(const char* op, Tensor& out, const Tensor& result) {
  fit(op, out, result);
  at::copy_(out, result);
  return out;
}

Tensor as_floats(const Tensor& integers) {
  if (integers.itemsize() == 1) return dequantize("as_floats", make_quantized(integers, per_tensor(1, 0)));
  return at::_to_copy(integers, TensorOptions().dtype(kDouble), false, MemoryFormat::Preserve);
}
Tensor from_floats(const Tensor& whole, ScalarType integers) {
  if (whole.scalar_type() == kFloat && elementSize(integers) == 1) {
    const char* const op = "from_floats";
    return quantized::integers(op, quantize(op, whole, quantized_of(op, integers), per_tensor(1, 0)));
  }
  return at::_to_copy(whole, TensorOptions().dtype(integers), false, MemoryFormat::Preserve);
}

std::pair<float, float> extremes(const Tensor& numbers) {
  if (numbers.numel() == 0) return {0, 0};
  if (!numbers.is_cpu()) {
    const auto [low, high] = at::aminmax(at::to(numbers, kFloat));
    const float least = at::item(low).toFloat(), most = at::item(high).toFloat();
    TORCH_CHECK(least <= most, "In ChooseQuantizationParams, min should be less than or equal to max");
    return {least, most};
  }
  const Tensor x = native::dense(numbers, kFloat);
  const float* const data = x.const_data_ptr<float>();
  const int64_t n = x.numel(), parts = std::clamp<int64_t>(n / kGrain, 1, int64_t{4} * get_num_threads());
  std::vector<std::pair<float, float>> ends(static_cast<size_t>(parts));
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = n / parts * p, end = p + 1 == parts ? n : begin + n / parts;
      extremes_run(data + begin, end - begin, &ends[p].first, &ends[p].second);
    }
  });
  auto [least, most] = ends[0];
  for (const auto& [low, high] : ends) {
    if (low < least || std::isnan(low)) least = low;
    if (high > most || std::isnan(high)) most = high;
  }
  TORCH_CHECK(least <= most, "In ChooseQuantizationParams, min should be less than or equal to max");
  return {least, most};
}

}  // namespace at::quantized
