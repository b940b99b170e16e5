// What nvcc gives a .cu source, for a host's compiler: included before the source (-include) where kernels are built to
// run on the host
// (//build_defs:cuda.bzl). Types and prototypes are the toolkit's own headers; here is what needs a device. A kernel
// that uses what is missing here does not compile: add it.
#pragma once

#define KD_CUDA_ON_HOST 1

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <math.h>  // and not <cmath>: a device has the overloads of the global namespace
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/cuda_on_host/simt/simt.h"
#include "tests/cuda_on_host/simt/watch.h"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
// Shared memory is a static of the kernel, in one section that every block finds poisoned; under ASan anywhere, with
// its end guarded.
#undef __shared__
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __shared__ static
#endif
#endif
#ifndef __shared__
#define __shared__ static __attribute__((section("simt_shared")))
#endif
// Functions of this header are not the kernel's accesses.
#ifdef __clang__
#define SIMT_UNWATCHED __attribute__((no_sanitize("coverage")))
#else
#define SIMT_UNWATCHED
#endif
#define SIMT_SITE ::simt::Site site = ::simt::Site::current()

inline const uint3& threadIdx = simt::thread_index;
inline const uint3& blockIdx = simt::block_index;
inline const dim3& blockDim = simt::block_size;
inline const dim3& gridDim = simt::grid_size;
inline constexpr int warpSize = 32;

// --- barriers, votes, shuffles ---
inline void __syncthreads(SIMT_SITE) {
  simt::barrier(simt::Barrier::kPlain, 0, site);
}
inline int __syncthreads_count(int predicate, SIMT_SITE) {
  return simt::barrier(simt::Barrier::kCount, predicate, site);
}
inline int __syncthreads_and(int predicate, SIMT_SITE) {
  return simt::barrier(simt::Barrier::kAnd, predicate, site);
}
inline int __syncthreads_or(int predicate, SIMT_SITE) {
  return simt::barrier(simt::Barrier::kOr, predicate, site);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_SITE) {
  simt::collective("__syncwarp", mask, nullptr, nullptr, nullptr, true, site);
}

namespace simt {

// resolve(values, lane) is what `lane` gets; values[i] is null for lanes outside the mask.
template <class Out, class In, class Resolve>
SIMT_UNWATCHED Out exchange(const char* name, unsigned mask, const In& in, Resolve, Site site) {
  Out out{};
  collective(
      name, mask, &in, &out,
      [](const Lanes& lanes) SIMT_UNWATCHED {
        const In* values[32];
        for (int lane = 0; lane < 32; ++lane)
          values[lane] = lanes.mask >> lane & 1 ? static_cast<const In*>(lanes.in[lane]) : nullptr;
        Out results[32];
        for (int lane = 0; lane < 32; ++lane) {
          if (values[lane] != nullptr) results[lane] = Resolve{}(values, lane);
        }
        for (int lane = 0; lane < 32; ++lane) {
          if (values[lane] != nullptr) *static_cast<Out*>(lanes.out[lane]) = results[lane];
        }
      },
      false, site);
  return out;
}

template <class T>
struct Shuffled {
  T value;
  int from;  // a lane
};

template <class T>
SIMT_UNWATCHED T shuffle(const char* name, unsigned mask, T value, int from, Site site) {
  static_assert(std::is_trivially_copyable_v<T> &&
                (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  return exchange<T>(
      name, mask, Shuffled<T>{value, from},
      [](const Shuffled<T>* const* lanes, int lane) SIMT_UNWATCHED {
        const Shuffled<T>* source = lanes[lanes[lane]->from];
        T result;
        if (source == nullptr)
          std::memset(&result, 0xFF, sizeof result);  // a lane that does not take part: undefined on a device
        else
          result = source->value;
        return result;
      },
      site);
}

// All lanes get what f makes of the values, first lane first.
template <class T, class F>
SIMT_UNWATCHED T warp_reduce(const char* name, unsigned mask, T value, F, Site site) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>, "warps reduce 32-bit integers only");
  return exchange<T>(
      name, mask, value,
      [](const T* const* lanes, int) SIMT_UNWATCHED {
        T total{};
        bool is_first = true;
        for (int lane = 0; lane < 32; ++lane) {
          if (lanes[lane] == nullptr) continue;
          total = is_first ? *lanes[lane] : F{}(total, *lanes[lane]);
          is_first = false;
        }
        return total;
      },
      site);
}

inline unsigned ballot(const char* name, unsigned mask, int predicate, Site site) {
  return exchange<unsigned>(
      name, mask, predicate,
      [](const int* const* lanes, int) {
        unsigned bits = 0;
        for (int lane = 0; lane < 32; ++lane)
          bits |= static_cast<unsigned>(lanes[lane] != nullptr && *lanes[lane] != 0) << lane;
        return bits;
      },
      site);
}

template <class T>
SIMT_UNWATCHED unsigned same_lanes(const char* name, unsigned mask, T value, Site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return exchange<unsigned>(
      name, mask, value,
      [](const T* const* lanes, int lane) SIMT_UNWATCHED {
        unsigned bits = 0;
        for (int other = 0; other < 32; ++other) {
          bits |=
              static_cast<unsigned>(lanes[other] != nullptr && std::memcmp(lanes[lane], lanes[other], sizeof(T)) == 0)
              << other;
        }
        return bits;
      },
      site);
}

inline int lane_in(int width, int source) {
  return (static_cast<int>(lane_index) & ~(width - 1)) + source;
}
inline int own_place(int width) {
  return static_cast<int>(lane_index) & (width - 1);
}

}  // namespace simt

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_SITE) {
  return simt::shuffle("__shfl_sync", mask, value, simt::lane_in(width, source & (width - 1)), site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE) {
  const int place = simt::own_place(width), from = place - static_cast<int>(delta);
  return simt::shuffle("__shfl_up_sync", mask, value, simt::lane_in(width, from < 0 ? place : from), site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE) {
  const int place = simt::own_place(width), from = place + static_cast<int>(delta);
  return simt::shuffle("__shfl_down_sync", mask, value, simt::lane_in(width, from >= width ? place : from), site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, SIMT_SITE) {
  const int lane = static_cast<int>(simt::lane_index), from = lane ^ lanes;
  return simt::shuffle("__shfl_xor_sync", mask, value, from / width > lane / width || from >= 32 ? lane : from, site);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE) {
  return simt::ballot("__ballot_sync", mask, predicate, site);
}
inline int __any_sync(unsigned mask, int predicate, SIMT_SITE) {
  return simt::ballot("__any_sync", mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, SIMT_SITE) {
  return simt::ballot("__all_sync", mask, predicate, site) == mask;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, SIMT_SITE) {
  return simt::same_lanes("__match_any_sync", mask, value, site);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, SIMT_SITE) {
  *all = simt::same_lanes("__match_all_sync", mask, value, site) == mask;
  return *all ? mask : 0;
}
template <class T>
T __reduce_add_sync(unsigned mask, T value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_add_sync", mask, value, [](unsigned a, unsigned b) { return static_cast<T>(a + b); }, site);
}
template <class T>
T __reduce_min_sync(unsigned mask, T value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_min_sync", mask, value, [](T a, T b) { return std::min(a, b); }, site);
}
template <class T>
T __reduce_max_sync(unsigned mask, T value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_max_sync", mask, value, [](T a, T b) { return std::max(a, b); }, site);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_and_sync", mask, value, [](unsigned a, unsigned b) { return a & b; }, site);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_or_sync", mask, value, [](unsigned a, unsigned b) { return a | b; }, site);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, SIMT_SITE) {
  return simt::warp_reduce(
      "__reduce_xor_sync", mask, value, [](unsigned a, unsigned b) { return a ^ b; }, site);
}
// Promises no more than the caller itself.
inline unsigned __activemask() {
  return 1u << simt::lane_index;
}

// --- memory ---
inline void __threadfence_block() {
  simt::watch::fence();
}
inline void __threadfence() {
  simt::watch::fence();
}
inline void __threadfence_system() {
  simt::watch::fence();
}
template <class T>
[[gnu::always_inline]] inline T __ldg(const T* address) {
  return *address;
}
template <class T>
[[gnu::always_inline]] inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
[[gnu::always_inline]] inline T __ldcg(const T* address) {
  return *address;
}
template <class T>
[[gnu::always_inline]] inline void __stcs(T* address, T value) {
  *address = value;
}
template <class T>
[[gnu::always_inline]] inline void __stcg(T* address, T value) {
  *address = value;
}

namespace simt {

// The value before; f gives the one after. Called from the kernel's own line.
template <class T, class F>
[[gnu::noinline]] SIMT_UNWATCHED T change_atomically(T* address, F f) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  static_assert(sizeof(T) == sizeof(Bits));
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0) fault("an atomic operation on a misaligned address");
  watch::atomic(address, sizeof(T), __builtin_return_address(0));
  auto* bits = reinterpret_cast<Bits*>(address);
  Bits seen = __atomic_load_n(bits, __ATOMIC_RELAXED), wanted;
  T before;
  do {
    std::memcpy(&before, &seen, sizeof before);
    const T after = f(before);
    std::memcpy(&wanted, &after, sizeof after);
  } while (!__atomic_compare_exchange_n(bits, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return before;
}

}  // namespace simt

#define SIMT_ATOMIC(name, type, after)                                                               \
  [[gnu::always_inline]] SIMT_UNWATCHED inline type name(type* address, type value) {                \
    return simt::change_atomically(address, [value](type old) { return static_cast<type>(after); }); \
  }                                                                                                  \
  SIMT_UNWATCHED inline type name##_block(type* address, type value) {                               \
    return name(address, value);                                                                     \
  }                                                                                                  \
  SIMT_UNWATCHED inline type name##_system(type* address, type value) {                              \
    return name(address, value);                                                                     \
  }
#define SIMT_ATOMIC_INTEGERS(name, after) \
  SIMT_ATOMIC(name, int, after)           \
  SIMT_ATOMIC(name, unsigned, after)      \
  SIMT_ATOMIC(name, unsigned long long, after)
SIMT_ATOMIC(atomicAdd, int, static_cast<unsigned>(old) + static_cast<unsigned>(value))
SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicAdd, __half, old + value)
SIMT_ATOMIC(atomicAdd, __nv_bfloat16, old + value)
SIMT_ATOMIC(atomicSub, int, static_cast<unsigned>(old) - static_cast<unsigned>(value))
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC_INTEGERS(atomicExch, ((void)old, value))
SIMT_ATOMIC(atomicExch, float, ((void)old, value))
SIMT_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
SIMT_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
SIMT_ATOMIC_INTEGERS(atomicAnd, old& value)
SIMT_ATOMIC_INTEGERS(atomicOr, old | value)
SIMT_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMT_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1)
SIMT_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef SIMT_ATOMIC_INTEGERS
#undef SIMT_ATOMIC
#define SIMT_ATOMIC_CAS(type)                                                                            \
  [[gnu::always_inline]] SIMT_UNWATCHED inline type atomicCAS(type* address, type compare, type value) { \
    return simt::change_atomically(address, [=](type old) { return old == compare ? value : old; });     \
  }
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
SIMT_ATOMIC_CAS(unsigned short)
#undef SIMT_ATOMIC_CAS

// --- integers and bits ---
inline int __popc(unsigned v) {
  return std::popcount(v);
}
inline int __popcll(unsigned long long v) {
  return std::popcount(v);
}
inline int __clz(int v) {
  return std::countl_zero(static_cast<unsigned>(v));
}
inline int __clzll(long long v) {
  return std::countl_zero(static_cast<unsigned long long>(v));
}
inline int __ffs(int v) {
  return __builtin_ffs(v);
}
inline int __ffsll(long long v) {
  return __builtin_ffsll(v);
}
inline unsigned __brev(unsigned v) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (v >> bit & 1) << (31 - bit);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (choice & 7))) & 0xFF;
    if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline int __float_as_int(float v) {
  return std::bit_cast<int>(v);
}
inline unsigned __float_as_uint(float v) {
  return std::bit_cast<unsigned>(v);
}
inline float __int_as_float(int v) {
  return std::bit_cast<float>(v);
}
inline float __uint_as_float(unsigned v) {
  return std::bit_cast<float>(v);
}
inline long long __double_as_longlong(double v) {
  return std::bit_cast<long long>(v);
}
inline double __longlong_as_double(long long v) {
  return std::bit_cast<double>(v);
}
inline int __double2hiint(double v) {
  return static_cast<int>(std::bit_cast<uint64_t>(v) >> 32);
}
inline int __double2loint(double v) {
  return static_cast<int>(std::bit_cast<uint64_t>(v));
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}

namespace simt {

// A device's conversion: to the nearest number that there is, NaN to 0.
template <class To, class From>
To saturated(From v) {
  if (v != v) return 0;
  if (v <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (v >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(v);
}

}  // namespace simt

#define SIMT_CONVERSIONS(from_name, from)                 \
  inline int __##from_name##2int_rn(from v) {             \
    return simt::saturated<int>(std::nearbyint(v));       \
  }                                                       \
  inline int __##from_name##2int_rz(from v) {             \
    return simt::saturated<int>(std::trunc(v));           \
  }                                                       \
  inline int __##from_name##2int_rd(from v) {             \
    return simt::saturated<int>(std::floor(v));           \
  }                                                       \
  inline int __##from_name##2int_ru(from v) {             \
    return simt::saturated<int>(std::ceil(v));            \
  }                                                       \
  inline unsigned __##from_name##2uint_rn(from v) {       \
    return simt::saturated<unsigned>(std::nearbyint(v));  \
  }                                                       \
  inline unsigned __##from_name##2uint_rz(from v) {       \
    return simt::saturated<unsigned>(std::trunc(v));      \
  }                                                       \
  inline long long __##from_name##2ll_rn(from v) {        \
    return simt::saturated<long long>(std::nearbyint(v)); \
  }                                                       \
  inline long long __##from_name##2ll_rz(from v) {        \
    return simt::saturated<long long>(std::trunc(v));     \
  }
SIMT_CONVERSIONS(float, float)
SIMT_CONVERSIONS(double, double)
#undef SIMT_CONVERSIONS
inline float __int2float_rn(int v) {
  return static_cast<float>(v);
}
inline float __uint2float_rn(unsigned v) {
  return static_cast<float>(v);
}
inline float __ll2float_rn(long long v) {
  return static_cast<float>(v);
}
inline double __int2double_rn(int v) {
  return v;
}
inline double __uint2double_rn(unsigned v) {
  return v;
}
inline double __ll2double_rn(long long v) {
  return static_cast<double>(v);
}
inline float __double2float_rn(double v) {
  return static_cast<float>(v);
}

// --- arithmetic that the compiler may not join; functions that a device has approximations of ---
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float __fsqrt_rn(float v) {
  return std::sqrt(v);
}
inline float __frcp_rn(float v) {
  return 1.0f / v;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
}
inline double __dsqrt_rn(double v) {
  return std::sqrt(v);
}
inline float __expf(float v) {
  return std::exp(v);
}
inline float __exp10f(float v) {
  return ::exp10f(v);
}
inline float __logf(float v) {
  return std::log(v);
}
inline float __log2f(float v) {
  return std::log2(v);
}
inline float __log10f(float v) {
  return std::log10(v);
}
inline float __powf(float a, float b) {
  return std::pow(a, b);
}
inline float __sinf(float v) {
  return std::sin(v);
}
inline float __cosf(float v) {
  return std::cos(v);
}
inline float __tanf(float v) {
  return std::tan(v);
}
inline void __sincosf(float v, float* sine, float* cosine) {
  *sine = std::sin(v);
  *cosine = std::cos(v);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __saturatef(float v) {
  return v > 0.0f ? std::min(v, 1.0f) : 0.0f;
}
inline float rsqrtf(float v) {
  return 1.0f / std::sqrt(v);
}
inline double rsqrt(double v) {
  return 1.0 / std::sqrt(v);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
auto min(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(b) < static_cast<Common>(a) ? static_cast<Common>(b) : static_cast<Common>(a);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
auto max(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(a) < static_cast<Common>(b) ? static_cast<Common>(b) : static_cast<Common>(a);
}

// --- the rest ---
inline void __nanosleep(unsigned) {}
inline long long clock64() {
  return static_cast<long long>(simt::statistics().collectives + simt::statistics().barriers);
}
[[noreturn]] inline void __trap(SIMT_SITE) {
  simt::fault("__trap", site);
}

#undef SIMT_SITE
