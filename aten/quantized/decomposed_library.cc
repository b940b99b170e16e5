// The operators of torch.ops.quantized_decomposed: quantization with dense tensors of integers, composed of others.
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/core/library.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/element_loops.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/core/thread_state.h"
#include "c10/parallel/parallel.h"

namespace at::quantized {
namespace {

using MaybeDtype = std::optional<ScalarType>;
using Parameters = std::tuple<Tensor, Tensor>;

void check_bounds(int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  int64_t least = 0, most = 0;
  switch (dtype) {
    case kByte:
      most = 255;
      break;
    case kChar:
      least = -128, most = 127;
      break;
    case kShort:
      least = -32768, most = 32767;
      break;
    case ScalarType::UInt16:
      most = 65535;
      break;
    case kInt:
      least = -(int64_t{1} << 31), most = (int64_t{1} << 31) - 1;
      break;
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
      return;
    default:
      TORCH_CHECK(false, "quantized_decomposed: Unsupported dtype: ", dtype);
  }
  TORCH_CHECK(quant_min >= least, "quant_min out of bound for dtype, quant_min_lower_bound: ", least,
              " quant_min: ", quant_min);
  TORCH_CHECK(quant_max <= most, "quant_max out of bound for dtype, quant_max_upper_bound: ", most,
              " quant_max: ", quant_max);
}

Tensor as_float32(const char* op, const Tensor& input) {
  if (input.scalar_type() == kHalf || input.scalar_type() == kBFloat16) return at::to(input, kFloat);
  TORCH_CHECK(input.scalar_type() == kFloat, op,
              ": Expecting input to have dtype torch.float32, but got dtype: ", input.scalar_type());
  return input;
}

// `t` along dimension `axis` of a tensor of `dims` dimensions.
Tensor along(const Tensor& t, int64_t axis, int64_t dims) {
  DimVector shape(static_cast<size_t>(dims), 1);
  shape[static_cast<size_t>(maybe_wrap_dim(axis, dims))] = t.numel();
  return at::reshape(t, shape);
}

Tensor rounded_to(const Tensor& x, const Tensor& inverse_scale, const Tensor& zero_point, int64_t quant_min,
                  int64_t quant_max, ScalarType dtype) {
  return at::to(
      at::clamp(at::add(at::round(at::mul(x, inverse_scale)), zero_point), Scalar(quant_min), Scalar(quant_max)),
      dtype);
}

// Whether a loop may walk the memory of `t`, that is nothing but a dense tensor of the CPU which nobody watches.
bool is_plain(const Tensor& t, ScalarType dtype) {
  const c10::ThreadState& thread = c10::thread_state();
  const auto keys = ((t.key_set() | thread.included) - thread.excluded);
  return keys == DispatchKeySet(DispatchKey::CPU) && t.scalar_type() == dtype && t.layout() == Layout::Strided &&
         t.is_non_overlapping_and_dense() && native::is_aligned(t) && !t.is_conj() && !t.is_neg();
}

// Whether the loops of quantized tensors compute the same bits: the scale is a float, the zero point exact in float.
bool in_one_loop(double scale, int64_t zero_point) {
  return scale > 0 && static_cast<double>(static_cast<float>(scale)) == scale &&
         std::abs(zero_point) < int64_t{1} << 23;
}

template <class T>
Tensor quantized_at_once(const Tensor& x, float scale, int64_t zero_point, int64_t least, int64_t most,
                         ScalarType dtype) {
  const Tensor q = empty_with_strides(x.sizes(), strides_like(x), dtype, x.device());
  const float* const from = x.const_data_ptr<float>();
  T* const to = static_cast<T*>(q.mutable_data_ptr());
  const auto zero = static_cast<float>(zero_point);
  const bool whole = least <= std::numeric_limits<T>::min() && most >= std::numeric_limits<T>::max();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    quantize_run(from + begin, to + begin, end - begin, Steps{&scale, &zero}, true);
    if (!whole) {
      clamp_run(to + begin, to + begin, end - begin, static_cast<T>(least), static_cast<T>(most));
    }
  });
  return fresh(q);
}
template <class T>
Tensor dequantized_at_once(const Tensor& q, float scale, int64_t zero_point) {
  const Tensor x = empty_with_strides(q.sizes(), strides_like(q), kFloat, q.device());
  const T* const from = q.const_data_ptr<T>();
  float* const to = x.mutable_data_ptr<float>();
  const auto zero = static_cast<float>(zero_point);
  at::parallel_for(0, q.numel(), kGrain, [&](int64_t begin, int64_t end) {
    dequantize_run(from + begin, to + begin, end - begin, Steps{&scale, &zero}, true);
  });
  return fresh(x);
}

// --- per tensor ---
Tensor quantize_per_tensor(const Tensor& input, double scale, int64_t zero_point, int64_t quant_min, int64_t quant_max,
                           ScalarType dtype) {
  check_bounds(quant_min, quant_max, dtype);
  if ((dtype == kByte || dtype == kChar) && quant_min <= quant_max && in_one_loop(scale, zero_point) &&
      is_plain(input, kFloat)) {
    const auto step = static_cast<float>(scale);
    return dtype == kByte ? quantized_at_once<uint8_t>(input, step, zero_point, quant_min, quant_max, dtype)
                          : quantized_at_once<int8_t>(input, step, zero_point, quant_min, quant_max, dtype);
  }
  const Tensor x = as_float32("quantized_decomposed::quantize_per_tensor", input);
  const Tensor q = at::add(at::round(at::mul(x, Scalar(1.0 / scale))), Scalar(zero_point));
  return at::to(at::clamp(q, Scalar(quant_min), Scalar(quant_max)), dtype);
}
Tensor quantize_per_tensor_tensor(const Tensor& input, const Tensor& scale, const Tensor& zero_point, int64_t quant_min,
                                  int64_t quant_max, ScalarType dtype) {
  return quantize_per_tensor(input, at::item(scale).toDouble(), at::item(zero_point).toLong(), quant_min, quant_max,
                             dtype);
}
Tensor quantize_per_tensor_tensor2(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                   const Tensor& quant_min, const Tensor& quant_max, ScalarType dtype) {
  return quantize_per_tensor_tensor(input, scale, zero_point, at::item(quant_min).toLong(),
                                    at::item(quant_max).toLong(), dtype);
}

Tensor dequantize_per_tensor(const Tensor& input, double scale, int64_t zero_point, int64_t, int64_t, ScalarType dtype,
                             MaybeDtype out_dtype) {
  TORCH_CHECK(input.scalar_type() == dtype, "Expecting input to have dtype: ", dtype, ", but got ",
              input.scalar_type());
  if ((dtype == kByte || dtype == kChar) && out_dtype.value_or(kFloat) == kFloat && in_one_loop(scale, zero_point) &&
      is_plain(input, dtype)) {
    const auto step = static_cast<float>(scale);
    return dtype == kByte ? dequantized_at_once<uint8_t>(input, step, zero_point)
                          : dequantized_at_once<int8_t>(input, step, zero_point);
  }
  return at::mul(at::sub(at::to(input, out_dtype.value_or(kFloat)), Scalar(zero_point)), Scalar(scale));
}
Tensor dequantize_per_tensor_tensor(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                    int64_t quant_min, int64_t quant_max, ScalarType dtype, MaybeDtype out_dtype) {
  return dequantize_per_tensor(input, at::item(scale).toDouble(), at::item(zero_point).toLong(), quant_min, quant_max,
                               dtype, out_dtype);
}
Tensor dequantize_per_tensor_tensor2(const Tensor& input, const Tensor& scale, const Tensor& zero_point, const Tensor&,
                                     const Tensor&, ScalarType dtype, MaybeDtype out_dtype) {
  return dequantize_per_tensor_tensor(input, scale, zero_point, 0, 0, dtype, out_dtype);
}

// --- per channel ---
Tensor quantize_per_channel(const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                            int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  check_bounds(quant_min, quant_max, dtype);
  const Tensor x = as_float32("quantized_decomposed::quantize_per_channel", input);
  return rounded_to(x, along(at::reciprocal(scales), axis, x.dim()), along(zero_points, axis, x.dim()), quant_min,
                    quant_max, dtype);
}
Tensor dequantize_per_channel(const Tensor& input, const Tensor& scales, const std::optional<Tensor>& zero_points,
                              int64_t axis, int64_t, int64_t, ScalarType dtype, MaybeDtype out_dtype) {
  TORCH_CHECK(input.scalar_type() == dtype, "Expecting input to have dtype: ", dtype, ", but got ",
              input.scalar_type());
  Tensor distances = at::to(input, out_dtype.value_or(kFloat));
  if (zero_points.has_value() && zero_points->defined()) {
    distances = at::sub(distances, along(*zero_points, axis, input.dim()));
  }
  return at::to(at::mul(distances, along(scales, axis, input.dim())), out_dtype.value_or(kFloat));
}

// --- per token: a scale for each vector of the last dimension ---
Tensor quantize_per_token(const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t quant_min,
                          int64_t quant_max, ScalarType dtype) {
  check_bounds(quant_min, quant_max, dtype);
  return rounded_to(as_float32("quantized_decomposed::quantize_per_token", input), at::reciprocal(scales), zero_points,
                    quant_min, quant_max, dtype);
}
Tensor dequantize_per_token(const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t, int64_t,
                            ScalarType, ScalarType output_dtype) {
  return at::mul(at::to(at::sub(input, zero_points), output_dtype), at::to(scales, output_dtype));
}

// --- groups of the last dimension ---
DimVector in_groups(const char* op, const Tensor& input, const Tensor& scales, int64_t group_size) {
  TORCH_CHECK(group_size > 1 && input.dim() == 2 && scales.dim() == 2, op,
              ": expected group_size above 1 and an input and "
              "scales of 2 dimensions");
  TORCH_CHECK(input.size(1) % group_size == 0, op, ": ", input.size(1), " columns do not divide into groups of ",
              group_size);
  return {input.numel() / group_size, group_size};
}
Tensor quantize_per_channel_group(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                                  int64_t quant_min, int64_t quant_max, ScalarType dtype, int64_t group_size) {
  check_bounds(quant_min, quant_max, dtype);
  const DimVector groups = in_groups("quantized_decomposed::quantize_per_channel_group", input, scales, group_size);
  const Tensor x = at::reshape(input, groups);
  return at::reshape(rounded_to(x, at::reciprocal(at::reshape(scales, {-1, 1})), at::reshape(zero_points, {-1, 1}),
                                quant_min, quant_max, dtype),
                     input.sizes());
}
Tensor dequantize_per_channel_group(const Tensor& w_int8, const Tensor& scales,
                                    const std::optional<Tensor>& zero_points, int64_t, int64_t, ScalarType,
                                    int64_t group_size, ScalarType output_dtype) {
  const DimVector groups = in_groups("quantized_decomposed::dequantize_per_channel_group", w_int8, scales, group_size);
  Tensor distances = at::to(at::reshape(w_int8, groups), output_dtype);
  if (zero_points.has_value() && zero_points->defined()) {
    distances = at::sub(distances, at::to(at::reshape(*zero_points, {-1, 1}), output_dtype));
  }
  return at::reshape(at::mul(distances, at::to(at::reshape(scales, {-1, 1}), output_dtype)), w_int8.sizes());
}

// --- the choice of scales ---
Parameters parameters_of(const Tensor& least, const Tensor& most, int64_t quant_min, int64_t quant_max, double eps) {
  const Tensor from = at::clamp_max(least, Scalar(0)), to = at::clamp_min(most, Scalar(0));
  const Tensor scale =
      at::clamp_min(at::div(at::sub(to, from), Scalar(static_cast<double>(quant_max - quant_min))), Scalar(eps));
  const Tensor zero =
      at::clamp(at::rsub(at::round(at::div(from, scale)), Scalar(quant_min)), Scalar(quant_min), Scalar(quant_max));
  return {at::to(scale, kDouble), at::to(zero, kLong)};
}
// Lists of one, as those of tensors are.
Parameters as_lists(const Parameters& numbers) {
  return {at::reshape(std::get<0>(numbers), {1}), at::reshape(std::get<1>(numbers), {1})};
}
Parameters choose_qparams(const Tensor& input, int64_t quant_min, int64_t quant_max, double eps, ScalarType dtype) {
  check_bounds(quant_min, quant_max, dtype);
  TORCH_CHECK(quant_min < quant_max, "Expecting quant_min to be smaller than quant_max but min: ", quant_min,
              " max: ", quant_max);
  const auto [least, most] = at::aminmax(as_float32("quantized_decomposed::choose_qparams", input));
  return as_lists(parameters_of(least, most, quant_min, quant_max, eps));
}
Parameters choose_qparams_symmetric(const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                                    ScalarType dtype) {
  check_bounds(quant_min, quant_max, dtype);
  TORCH_CHECK(quant_min < quant_max, "Expecting quant_min to be smaller than quant_max but min: ", quant_min,
              " max: ", quant_max);
  const auto [least, most] = at::aminmax(as_float32("quantized_decomposed::choose_qparams_symmetric", input));
  const Tensor widest = at::maximum(at::neg(at::clamp_max(least, Scalar(0))), at::clamp_min(most, Scalar(0)));
  const Tensor scale =
      at::clamp_min(at::div(widest, Scalar(static_cast<double>(quant_max - quant_min) / 2)), Scalar(eps));
  const int64_t middle = dtype == kByte ? 128 : 0;
  return as_lists({at::to(scale, kDouble), at::add(at::to(at::mul(scale, Scalar(0)), kLong), Scalar(middle))});
}
Parameters choose_qparams_per_token_asymmetric(const Tensor& input, ScalarType) {
  constexpr double kEps = 1.1920928955078125e-07;
  const auto [least, most] = at::aminmax(input, -1, true);
  const Parameters chosen = parameters_of(least, most, -128, 127, kEps);
  return {at::to(std::get<0>(chosen), kFloat), at::to(std::get<1>(chosen), kLong)};
}
Parameters choose_qparams_per_token(const Tensor& input, ScalarType dtype) {
  TORCH_CHECK(dtype == kChar, "unsupported dtype in choose_qparams_per_token: ", dtype);
  const Tensor widest =
      at::amax(at::abs(as_float32("quantized_decomposed::choose_qparams_per_token", input)), {-1}, true);
  const Tensor scales = at::div(at::clamp_min(widest, Scalar(1e-5)), Scalar(127));
  return {scales, at::mul(scales, Scalar(0))};
}

Tensor fake_quant_per_channel(const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                              int64_t quant_min, int64_t quant_max) {
  return at::fake_quantize_per_channel_affine(input, scales, zero_points, axis, quant_min, quant_max);
}

}  // namespace

TORCH_LIBRARY(quantized_decomposed, m) {
  const std::string range = "int quant_min, int quant_max", dtype = ", ScalarType dtype",
                    tensors = "Tensor scale, Tensor zero_point, ";
  m.def("quantize_per_tensor(Tensor input, float scale, int zero_point, " + range + dtype + ") -> Tensor",
        &quantize_per_tensor);
  m.def("quantize_per_tensor.tensor(Tensor input, " + tensors + range + dtype + ") -> Tensor",
        &quantize_per_tensor_tensor);
  m.def("quantize_per_tensor.tensor2(Tensor input, " + tensors + "Tensor quant_min, Tensor quant_max" + dtype +
            ") -> Tensor",
        &quantize_per_tensor_tensor2);
  const std::string out = ", *, ScalarType? out_dtype=None) -> Tensor";
  m.def("dequantize_per_tensor(Tensor input, float scale, int zero_point, " + range + dtype + out,
        &dequantize_per_tensor);
  m.def("dequantize_per_tensor.tensor(Tensor input, " + tensors + range + dtype + out, &dequantize_per_tensor_tensor);
  m.def("dequantize_per_tensor.tensor2(Tensor input, " + tensors + "Tensor quant_min, Tensor quant_max" + dtype + out,
        &dequantize_per_tensor_tensor2);
  m.def("quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " + range + dtype +
            ") -> Tensor",
        &quantize_per_channel);
  m.def("dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " + range + dtype + out,
        &dequantize_per_channel);
  m.def("quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " + range + dtype + ") -> Tensor",
        &quantize_per_token);
  m.def("dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " + range + dtype +
            ", ScalarType output_dtype) -> Tensor",
        &dequantize_per_token);
  m.def("quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " + range + dtype +
            ", int group_size) -> Tensor",
        &quantize_per_channel_group);
  m.def("dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " + range + dtype +
            ", int group_size, ScalarType output_dtype) -> Tensor",
        &dequantize_per_channel_group);
  m.def("choose_qparams.tensor(Tensor input, " + range + ", float eps" + dtype + ") -> (Tensor, Tensor)",
        &choose_qparams);
  m.def("choose_qparams_symmetric.tensor(Tensor input, " + range + ", float eps" + dtype + ") -> (Tensor, Tensor)",
        &choose_qparams_symmetric);
  m.def("choose_qparams_per_token(Tensor input" + dtype + ") -> (Tensor, Tensor)", &choose_qparams_per_token);
  m.def("choose_qparams_per_token_asymmetric(Tensor input" + dtype + ") -> (Tensor, Tensor)",
        &choose_qparams_per_token_asymmetric);
  m.def("_choose_qparams_per_token_asymmetric_impl(Tensor input" + dtype + ") -> (Tensor, Tensor)",
        &choose_qparams_per_token_asymmetric);
  m.def("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
        [](const Tensor& input, ScalarType to) { return at::to(input, to); });
  m.def("fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " + range + ") -> Tensor",
        &fake_quant_per_channel);
}

}  // namespace at::quantized
