#include "aten/cpu/pointwise.h"

#include <cstring>

#include "aten/cpu/cast.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/support/alignment.h"
#include "aten/cpu/support/boolean.h"
#include "aten/cuda/elementwise.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"
#include "c10/util/float8.h"

namespace at::cuda {

// There in programs that link //aten/cuda.
[[gnu::weak]] void elementwise(const char* name, const ElementKernels& kernels, ScalarType compute, const void* params,
                               const TensorBase& out, pointwise::Inputs inputs);
[[gnu::weak]] void copy_elements(const TensorBase& dst, const TensorBase& src);

}  // namespace at::cuda

namespace at::pointwise {
namespace {

// Elements in place of which a number is repeated for a contiguous loop.
constexpr int64_t kSpreadElements = 256;

// One beyond int64 wraps, as a tensor of it would.
int64_t integer_of(const Scalar& number) {
  return C10_UNLIKELY(number.type() == ScalarType::UInt64) ? static_cast<int64_t>(number.to<uint64_t>())
                                                           : number.to<int64_t>();
}

void store_number(const Scalar& number, ScalarType type, void* to) {
  switch (type) {
    case ScalarType::Float: {
      const float v = static_cast<float>(number.to<double>());
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    case ScalarType::Double: {
      const double v = number.to<double>();
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    case ScalarType::Int: {
      const int32_t v = static_cast<int32_t>(integer_of(number));
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    case ScalarType::Long: {
      const int64_t v = integer_of(number);
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    case ScalarType::UInt64: {
      const uint64_t v = number.to<uint64_t>();
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    case ScalarType::ComplexFloat: {
      const c10::complex<double> z = number.to<c10::complex<double>>();
      const float v[2] = {static_cast<float>(z.real()), static_cast<float>(z.imag())};
      std::memcpy(to, v, sizeof(v));
      return;
    }
    case ScalarType::ComplexDouble: {
      const c10::complex<double> z = number.to<c10::complex<double>>();
      const double v[2] = {z.real(), z.imag()};
      std::memcpy(to, v, sizeof(v));
      return;
    }
    case ScalarType::Bool: {
      const bool v = number.to<bool>();
      std::memcpy(to, &v, sizeof(v));
      return;
    }
    default: TORCH_CHECK_NOT_IMPLEMENTED(false, "arithmetic is not implemented for ", c10::toString(type));
  }
}

}  // namespace

void store_element(const Scalar& number, ScalarType dtype, void* to) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  switch (dtype) {
    case ScalarType::Byte: return put(number.to<uint8_t>());
    case ScalarType::Char: return put(number.to<int8_t>());
    case ScalarType::Short: return put(number.to<int16_t>());
    case ScalarType::Int: return put(number.to<int32_t>());
    case ScalarType::Long: return put(number.to<int64_t>());
    case ScalarType::Half: return put(number.to<Half>());
    case ScalarType::Float: return put(number.to<float>());
    case ScalarType::Double: return put(number.to<double>());
    case ScalarType::ComplexFloat: return put(number.to<c10::complex<float>>());
    case ScalarType::ComplexDouble: return put(number.to<c10::complex<double>>());
    case ScalarType::Bool: return put(number.to<bool>());
    case ScalarType::BFloat16: return put(number.to<BFloat16>());
    case ScalarType::UInt16:
      return put(number.to<uint16_t>());
    case ScalarType::UInt32:
      return put(number.to<uint32_t>());
    case ScalarType::UInt64:
      return put(number.to<uint64_t>());
    case ScalarType::Float8_e5m2:
      return put(number.to<Float8_e5m2>());
    case ScalarType::Float8_e4m3fn:
      return put(number.to<Float8_e4m3fn>());
    case ScalarType::Float8_e5m2fnuz:
      return put(number.to<Float8_e5m2fnuz>());
    case ScalarType::Float8_e4m3fnuz:
      return put(number.to<Float8_e4m3fnuz>());
    case ScalarType::Float8_e8m0fnu:
      return put(number.to<Float8_e8m0fnu>());
    case ScalarType::ComplexHalf:
      return put(number.to<c10::complex<Half>>());
    case ScalarType::BComplex32:
      return put(number.to<c10::complex<BFloat16>>());
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"fill_cpu\" not implemented for '", dtype, "'");
  }
}

Scalar load_element(const void* from, ScalarType dtype) {
  const auto get = [&](auto like) {
    decltype(like) value;
    std::memcpy(&value, from, sizeof(value));
    return Scalar(value);
  };
  switch (dtype) {
    case ScalarType::Byte: return get(uint8_t{});
    case ScalarType::Char: return get(int8_t{});
    case ScalarType::Short: return get(int16_t{});
    case ScalarType::Int: return get(int32_t{});
    case ScalarType::Long: return get(int64_t{});
    case ScalarType::Half: return get(Half{});
    case ScalarType::Float: return get(float{});
    case ScalarType::Double: return get(double{});
    case ScalarType::ComplexFloat: return get(c10::complex<float>{});
    case ScalarType::ComplexDouble: return get(c10::complex<double>{});
    case ScalarType::Bool: return Scalar(static_cast<bool>(*static_cast<const cpu::Boolean*>(from)));
    case ScalarType::BFloat16: return get(BFloat16{});
    case ScalarType::UInt16:
      return get(uint16_t{});
    case ScalarType::UInt32:
      return get(uint32_t{});
    case ScalarType::UInt64:
      return get(uint64_t{});
    case ScalarType::Float8_e5m2:
      return get(Float8_e5m2{});
    case ScalarType::Float8_e4m3fn:
      return get(Float8_e4m3fn{});
    case ScalarType::Float8_e5m2fnuz:
      return get(Float8_e5m2fnuz{});
    case ScalarType::Float8_e4m3fnuz:
      return get(Float8_e4m3fnuz{});
    case ScalarType::Float8_e8m0fnu:
      return get(Float8_e8m0fnu{});
    case ScalarType::ComplexHalf:
      return get(c10::complex<Half>{});
    case ScalarType::BComplex32:
      return get(c10::complex<BFloat16>{});
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"_local_scalar_dense_cpu\" not implemented for '", dtype, "'");
  }
}

cpu::Operand operand_of(const TensorBase& t) {
  return {static_cast<char*>(t.mutable_data_ptr()), t.sizes().data(), t.strides().data(), t.dim(),
          static_cast<int64_t>(t.itemsize())};
}

Params::Params(ScalarType compute, std::initializer_list<Scalar> numbers) {
  TORCH_INTERNAL_ASSERT(numbers.size() <= 4);
  char* at = bytes_;
  for (const Scalar& n : numbers) {
    store_number(n, compute, at);
    at += elementSize(compute);
  }
}

namespace {

// A contiguous operand whose shape is the end of the result's repeats after this many elements; else 0.
int64_t period_of(const TensorBase& t, IntArrayRef sizes) {
  if (!t.is_contiguous() || t.dim() == 0) return 0;
  int64_t d = 0;
  while (d < t.dim() && t.sizes()[d] == 1) ++d;
  const int64_t rest = t.dim() - d;
  if (rest == 0 || rest > static_cast<int64_t>(sizes.size())) return 0;
  for (int64_t i = 1; i <= rest; ++i) {
    if (t.sizes()[t.dim() - i] != sizes[sizes.size() - i]) return 0;
  }
  return t.numel();
}

constexpr int64_t kTileBytes = 4096;

// One operand repeats (a row added to a matrix), the others are direct: runs of whole periods, short ones several at a time.
void run_cyclic(cpu::ElementLoop loop, const void* context, char* const* data, const int64_t* item_sizes, int count, int k,
                int64_t period, int64_t n) {
  alignas(64) char tile[kTileBytes];
  const int64_t copies = kTileBytes / (period * item_sizes[k]);
  char* repeated = data[k];
  int64_t step = period;
  if (copies >= 2) {
    const int64_t periods = n / period;
    step = period * (copies < periods ? copies : periods);
    for (int64_t i = 0; i < step; i += period) {
      cpu::copy_run(tile + i * item_sizes[k], item_sizes[k], data[k], item_sizes[k], period, item_sizes[k]);
    }
    repeated = tile;
  }
  const int64_t steps = (n + step - 1) / step;
  at::parallel_for(0, steps, 1 + cpu::kPointwiseGrain / step, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      char* at[cpu::kMaxOperands];
      for (int j = 0; j < count; ++j) at[j] = j == k ? repeated : data[j] + s * step * item_sizes[j];
      loop(at, n - s * step < step ? n - s * step : step, context);
    }
  });
}

}  // namespace

void run_loop(cpu::ElementLoop loop, const void* context, const ScalarType* computes, const TensorBase& out, Inputs inputs) {
  const int count = static_cast<int>(inputs.size()) + 1;
  const TensorImpl& result = *out.unsafeGetTensorImpl();
  const int64_t n = result.numel();
  if (n == 0) return;

  // Everything contiguous, of one shape and of the loop's types: no driver. Numbers and 0-dim tensors are spread over a buffer
  // for small results; one operand may repeat.
  char* data[cpu::kMaxOperands];
  int64_t item_sizes[cpu::kMaxOperands];
  alignas(64) char spread[2][kSpreadElements * 16];
  int spreads = 0, cyclic = 0, k = 1;
  int64_t period = 0;
  data[0] = static_cast<char*>(result.data());
  item_sizes[0] = static_cast<int64_t>(result.itemsize());
  bool direct = result.dtype() == computes[0] && result.is_contiguous() && cpu::is_aligned(data[0], item_sizes[0]);
  for (const Input& in : inputs) {
    if (!direct) break;
    item_sizes[k] = static_cast<int64_t>(elementSize(computes[k]));
    alignas(16) char number[16];
    const void* item = nullptr;
    if (in.tensor() == nullptr) {
      store_number(in.number(), computes[k], number);
      item = number;
    } else {
      const TensorImpl& t = *in.tensor()->unsafeGetTensorImpl();
      data[k] = static_cast<char*>(t.data());
      direct = t.dtype() == computes[k] && cpu::is_aligned(data[k], item_sizes[k]);
      if (t.numel() == 1 || !t.is_contiguous()) {
        // One value for all, or an expanded one.
        for (int64_t d = 0; d < t.dim(); ++d) direct = direct && (t.strides()[d] == 0 || t.sizes()[d] == 1);
        if (n > 1 || !t.is_contiguous()) item = data[k];
      } else if (t.numel() != n) {
        direct = direct && cyclic == 0 && n * item_sizes[0] < cpu::stream_threshold_bytes() &&
            (period = period_of(*in.tensor(), out.sizes())) > 0;
        cyclic = k;
      }
    }
    if (item != nullptr && direct) {
      direct = n <= kSpreadElements && spreads < 2;
      if (!direct) break;
      data[k] = spread[spreads++];
      cpu::fill_run(data[k], item, n, item_sizes[k]);
    }
    ++k;
  }
  if (direct && cyclic != 0) {
    run_cyclic(loop, context, data, item_sizes, count, cyclic, period, n);
    return;
  }
  if (direct) {
    cpu::elementwise_contiguous(loop, context, data, item_sizes, 1, count, n);
    return;
  }

  cpu::ElementArg args[cpu::kMaxOperands];
  alignas(16) char numbers[cpu::kMaxOperands][16];
  args[0] = {operand_of(out), out.scalar_type(), computes[0]};
  k = 1;
  for (const Input& in : inputs) {
    if (in.tensor() != nullptr) {
      args[k] = {operand_of(*in.tensor()), in.tensor()->scalar_type(), computes[k]};
    } else {
      store_number(in.number(), computes[k], numbers[k]);
      args[k] = {{numbers[k], nullptr, nullptr, 0, static_cast<int64_t>(elementSize(computes[k]))}, computes[k], computes[k]};
    }
    ++k;
  }
  cpu::elementwise(loop, context, args, 1, count);
}

namespace {
cpu::ElementLoop loop_or_throw(const char* name, const cpu::ElementOp& op, ScalarType dtype) {
  const cpu::ElementLoop loop = cpu::find_loop(op, dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(loop != nullptr, "\"", name, "\" not implemented for '", dtype, "'");
  return loop;
}
}  // namespace

namespace {
void run_on_cuda(const char* name, const cpu::ElementOp& op, ScalarType in_dtype, const void* params,
                 const TensorBase& out, Inputs inputs) {
  loop_or_throw(name, op, in_dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(out.is_cuda() && op.cuda != nullptr, name, ": no kernel for tensors on ", out.device(),
                              " is linked");
  cuda::elementwise(name, *op.cuda, cpu::compute_type(in_dtype), params, out, inputs);
}
}  // namespace

void run(const char* name, const cpu::ElementOp& op, ScalarType in_dtype, const void* params, const TensorBase& out,
         Inputs inputs) {
  if (C10_UNLIKELY(!out.is_cpu())) return run_on_cuda(name, op, in_dtype, params, out, inputs);
  const ScalarType compute = cpu::compute_type(in_dtype);
  const ScalarType computes[cpu::kMaxOperands] = {compute, compute, compute, compute, compute, compute, compute, compute};
  run_loop(loop_or_throw(name, op, in_dtype), params, computes, out, inputs);
}

void run_to(ScalarType out_compute, const char* name, const cpu::ElementOp& op, ScalarType in_dtype,
            const TensorBase& out, Inputs inputs) {
  if (C10_UNLIKELY(!out.is_cpu())) return run_on_cuda(name, op, in_dtype, nullptr, out, inputs);
  const ScalarType compute = cpu::compute_type(in_dtype);
  const ScalarType computes[cpu::kMaxOperands] = {out_compute, compute, compute, compute, compute};
  run_loop(loop_or_throw(name, op, in_dtype), nullptr, computes, out, inputs);
}

void run_of_bools(const char* name, const cpu::ElementTable& of_bytes, const cpu::ElementOp& op, const TensorBase& out,
                  Inputs inputs) {
  if (C10_UNLIKELY(!out.is_cpu())) return run_on_cuda(name, op, ScalarType::Bool, nullptr, out, inputs);
  constexpr ScalarType kComputes[] = {ScalarType::Bool, ScalarType::Bool, ScalarType::Bool};
  run_loop(of_bytes.get(), nullptr, kComputes, out, inputs);
}

void copy(const TensorBase& out, const TensorBase& from) {
  if (C10_LIKELY(out.is_cpu()))
    return cpu::copy(operand_of(out), out.scalar_type(), operand_of(from), from.scalar_type());
  if (out.numel() > 0) cuda::copy_elements(out, from);
}

}  // namespace at::pointwise
