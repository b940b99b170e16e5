#include "aten/cpu/cast.h"

#include <type_traits>

// The conversions are linked into every program that mixes types: few instruction sets, small loops.
#undef HWY_DISABLED_TARGETS
#ifdef __OPTIMIZE_SIZE__
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/cast.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/cast-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class To, class From>
struct Convert {
  static void run(void* dst, const void* src, int64_t n) {
    To* to = static_cast<To*>(dst);
    const From* from = static_cast<const From*>(src);
#if defined(__OPTIMIZE_SIZE__)
#elif defined(__clang__)
#pragma clang loop vectorize(assume_safety) interleave_count(1)
#else
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; ++i) to[i] = convert_element<To>(from[i]);
  }
};

constexpr int pair(c10::ScalarType to, c10::ScalarType from) {
  return static_cast<int>(to) * 64 + static_cast<int>(from);
}

ConvertRun find_step(c10::ScalarType to, c10::ScalarType from) {
  using enum c10::ScalarType;
  switch (pair(to, from)) {
    case pair(Int, Byte): return Convert<int32_t, uint8_t>::run;
    case pair(Int, Char): return Convert<int32_t, int8_t>::run;
    case pair(Int, Short): return Convert<int32_t, int16_t>::run;
    case pair(Int, Bool): return Convert<int32_t, Boolean>::run;
    case pair(Int, Long): return Convert<int32_t, int64_t>::run;
    case pair(Int, Float): return Convert<int32_t, float>::run;
    case pair(Int, Double): return Convert<int32_t, double>::run;
    case pair(Long, Byte): return Convert<int64_t, uint8_t>::run;
    case pair(Long, Int): return Convert<int64_t, int32_t>::run;
    case pair(Long, Bool): return Convert<int64_t, Boolean>::run;
    case pair(Long, Float): return Convert<int64_t, float>::run;
    case pair(Long, Double): return Convert<int64_t, double>::run;
    case pair(Byte, Int): return Convert<uint8_t, int32_t>::run;
    case pair(Byte, Float): return Convert<uint8_t, float>::run;
    case pair(Char, Int): return Convert<int8_t, int32_t>::run;
    case pair(Short, Int): return Convert<int16_t, int32_t>::run;
    case pair(Float, Byte): return Convert<float, uint8_t>::run;
    case pair(Float, Bool): return Convert<float, Boolean>::run;
    case pair(Float, Int): return Convert<float, int32_t>::run;
    case pair(Float, Long): return Convert<float, int64_t>::run;
    case pair(Float, Half): return Convert<float, F16>::run;
    case pair(Float, BFloat16): return Convert<float, BF16>::run;
    case pair(Float, Double): return Convert<float, double>::run;
    case pair(Float, ComplexFloat): return Convert<float, C64>::run;
    case pair(Double, Int): return Convert<double, int32_t>::run;
    case pair(Double, Long): return Convert<double, int64_t>::run;
    case pair(Double, Float): return Convert<double, float>::run;
    case pair(Double, ComplexDouble): return Convert<double, C128>::run;
    case pair(Half, Float): return Convert<F16, float>::run;
    case pair(BFloat16, Float): return Convert<BF16, float>::run;
    case pair(ComplexFloat, Float): return Convert<C64, float>::run;
    case pair(ComplexFloat, ComplexDouble): return Convert<C64, C128>::run;
    case pair(ComplexDouble, Double): return Convert<C128, double>::run;
    case pair(ComplexDouble, ComplexFloat): return Convert<C128, C64>::run;
    case pair(Bool, Int): return Convert<Boolean, int32_t>::run;
    case pair(Bool, Long): return Convert<Boolean, int64_t>::run;
    case pair(Bool, Float): return Convert<Boolean, float>::run;
    case pair(Bool, Double): return Convert<Boolean, double>::run;
    case pair(Bool, ComplexFloat): return Convert<Boolean, C64>::run;
    case pair(Bool, ComplexDouble): return Convert<Boolean, C128>::run;
    default: return nullptr;
  }
}

void stream_bytes(char* dst, const char* src, int64_t bytes, const void* const* next, int count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t head = -reinterpret_cast<intptr_t>(dst) & (lanes - 1);
  if (bytes < head + lanes) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
    return;
  }
  std::memcpy(dst, src, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + lanes <= bytes; i += lanes) {
    for (int k = 0; k < count; ++k) __builtin_prefetch(static_cast<const char*>(next[k]) + i);
    hn::Stream(hn::LoadU(d, reinterpret_cast<const uint8_t*>(src + i)), d, reinterpret_cast<uint8_t*>(dst + i));
  }
  std::memcpy(dst + i, src + i, static_cast<size_t>(bytes - i));
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <unistd.h>

#include <algorithm>

#include "aten/cpu/isa_table.h"
#include "c10/util/exception.h"

namespace at::cpu {
namespace {

constexpr auto kFindStep = AT_ISA_TABLE(find_step);
constexpr auto kStreamBytes = AT_ISA_TABLE(stream_bytes);
}  // namespace

constinit detail::FindStep detail::find_rare_step = nullptr;

// The most last-level cache that a processor has for each of its cores.
constexpr int64_t kCacheOfCore = int64_t{16} << 20;

ConvertRun find_common_step(c10::ScalarType to, c10::ScalarType from) { return kFindStep.get()(to, from); }

namespace {

bool is_number(c10::ScalarType t) {
  return isIntegralType(t, true) || isComplexType(t) || (isFloatingType(t) && t != c10::ScalarType::Float4_e2m1fn_x2);
}

[[noreturn]] C10_COLD void refuse(c10::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "\"copy_\" not implemented for '", c10::toString(type), "'");
  __builtin_unreachable();
}

ConvertRun find_any_step(c10::ScalarType to, c10::ScalarType from) {
  const ConvertRun run = find_common_step(to, from);
  if (run != nullptr) return run;
  const detail::FindStep find_rare = __atomic_load_n(&detail::find_rare_step, __ATOMIC_RELAXED);
  return find_rare == nullptr ? nullptr : find_rare(to, from);
}

// Where to go first when no loop leads from `from` to `to` at once. Every hop holds the values exactly or rounds as the
// direct conversion would.
c10::ScalarType next_hop(c10::ScalarType to, c10::ScalarType from) {
  using enum c10::ScalarType;
  const bool to_small_int = to == Byte || to == Char || to == Short;
  const bool to_unsigned = isBarebonesUnsignedType(to);
  const bool to_small_complex = to == ComplexHalf || to == BComplex32;
  switch (from) {
    case Byte: case Char: case Short: case Bool: return Int;
    case Half: case BFloat16: case ComplexFloat: return Float;
    case ComplexDouble: return to_small_complex ? ComplexFloat : Double;
    case ComplexHalf: case BComplex32: return ComplexFloat;
    case Int: return to_unsigned ? Long : to_small_int ? Int : to == ComplexDouble ? Double : Float;
    case Long: return to_unsigned ? UInt64 : to_small_int ? Int : to == ComplexDouble ? Double : Float;
    case Float: return to_small_complex ? ComplexFloat : to_unsigned ? UInt64 : to == Byte ? Long : to_small_int ? Int : Double;
    case Double: return to_unsigned ? UInt64 : to == Byte ? Long : to_small_int ? Int : to == ComplexFloat ? ComplexDouble : Float;
    case UInt16: case UInt32: return UInt64;
    case UInt64: return isIntegralType(to, true) ? Long : to == ComplexDouble ? Double : Float;
    default: return isFloat8Type(from) ? Float : to;
  }
}

struct Item16 {
  uint64_t low, high;
};

template <class T>
void copy_items(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T item;
    std::memcpy(&item, src + i * src_stride, sizeof(T));
    std::memcpy(dst + i * dst_stride, &item, sizeof(T));
  }
}

template <class T>
void fill_items(char* dst, const void* item, int64_t n) {
  T value;
  std::memcpy(&value, item, sizeof(T));
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

Conversion find_conversion(c10::ScalarType to, c10::ScalarType from) {
  if (!is_number(to) || !is_number(from)) refuse(is_number(to) ? from : to);
  Conversion c;
  c.from_size = static_cast<int64_t>(c10::elementSize(from));
  c.to_size = static_cast<int64_t>(c10::elementSize(to));
  while (from != to) {
    c10::ScalarType hop = to;
    ConvertRun run = find_any_step(hop, from);
    if (run == nullptr) {
      hop = next_hop(to, from);
      run = find_any_step(hop, from);
    }
    // No step where the type was made without prepare_type().
    if (run == nullptr || c.steps == Conversion::kMaxSteps) refuse(is_rare(from) ? from : hop);
    c.run[c.steps] = run;
    c.size_after[c.steps] = static_cast<int64_t>(c10::elementSize(hop));
    ++c.steps;
    from = hop;
  }
  return c;
}

void convert(const Conversion& c, void* dst, const void* src, int64_t n) {
  if (c.steps == 1) {
    c.run[0](dst, src, n);
    return;
  }
  if (c.steps == 0) {
    std::memcpy(dst, src, static_cast<size_t>(n * c.to_size));
    return;
  }
  constexpr int64_t kChunk = 256;
  alignas(64) char buffers[2][kChunk * 16];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = n - i < kChunk ? n - i : kChunk;
    const void* in = static_cast<const char*>(src) + i * c.from_size;
    for (int s = 0; s < c.steps; ++s) {
      void* out = s + 1 == c.steps ? static_cast<char*>(dst) + i * c.to_size : buffers[s & 1];
      c.run[s](out, in, m);
      in = out;
    }
  }
}

void copy_run(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n, int64_t item_size) {
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
  if (dst_stride == item_size && src_stride == item_size) {
    std::memcpy(to, from, static_cast<size_t>(n * item_size));
    return;
  }
  switch (item_size) {
    case 1: copy_items<uint8_t>(to, dst_stride, from, src_stride, n); break;
    case 2: copy_items<uint16_t>(to, dst_stride, from, src_stride, n); break;
    case 4: copy_items<uint32_t>(to, dst_stride, from, src_stride, n); break;
    case 8: copy_items<uint64_t>(to, dst_stride, from, src_stride, n); break;
    case 16: copy_items<Item16>(to, dst_stride, from, src_stride, n); break;
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * dst_stride, from + i * src_stride, static_cast<size_t>(item_size));
  }
}

void gather_run(void* dst, const void* src, int64_t byte_stride, int64_t n, int64_t item_size) {
  if (byte_stride == 0) {
    fill_run(dst, src, n, item_size);
  } else {
    copy_run(dst, item_size, src, byte_stride, n, item_size);
  }
}

void scatter_run(void* dst, int64_t byte_stride, const void* src, int64_t n, int64_t item_size) {
  copy_run(dst, byte_stride, src, item_size, n, item_size);
}

void fill_run(void* dst, const void* item, int64_t n, int64_t item_size) {
  char* to = static_cast<char*>(dst);
  if (item_size < 8 && 8 % item_size == 0) {
    // As words: of bytes the compiler makes a call of memset, which is slow where the caches end.
    char word[8];
    for (int64_t i = 0; i < 8; i += item_size) std::memcpy(word + i, item, static_cast<size_t>(item_size));
    const int64_t bytes = n * item_size;
    fill_items<uint64_t>(to, word, bytes / 8);
    std::memcpy(to + bytes / 8 * 8, word, static_cast<size_t>(bytes % 8));
    return;
  }
  switch (item_size) {
    case 8: fill_items<uint64_t>(to, item, n); break;
    case 16: fill_items<Item16>(to, item, n); break;
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * item_size, item, static_cast<size_t>(item_size));
  }
}

void stream_copy(void* dst, const void* src, int64_t bytes, const void* const* next, int count) {
  kStreamBytes.get()(static_cast<char*>(dst), static_cast<const char*>(src), bytes, next, count);
}

void stream_fence() { hwy::FlushStream(); }

int64_t stream_threshold_bytes() {
  static const int64_t threshold = [] {
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    // A virtual machine is told of the whole cache of a processor of which it has only a few cores.
    const int64_t share = kCacheOfCore * std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
    return std::min(cache > 0 ? int64_t{cache} : 2 * kCacheOfCore, share) / 2;
  }();
  return threshold;
}

}  // namespace at::cpu

#endif  // HWY_ONCE
