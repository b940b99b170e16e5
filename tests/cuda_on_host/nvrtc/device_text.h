// What NVRTC knows without headers, for a host's compiler: put before a text by the stand-in, as device.h is before the
// sources of kernels. It needs no header of the toolkit and few others: every text is compiled with it.
#pragma once

#include <math.h>
#include <stdint.h>

#include <cstring>
#include <limits>
#include <source_location>
#include <type_traits>

#include "tests/cuda_on_host/runtime/text_kernels.h"

#define KD_CUDA_ON_HOST 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define KD_DEVICE inline

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};

namespace simt {
extern uint3 thread_index, block_index;
extern unsigned lane_index;
extern dim3 block_size, grid_size;
void* dynamic_shared();
enum class Barrier { kPlain, kCount, kAnd, kOr };
int barrier(Barrier kind, int predicate, std::source_location site);
struct Lanes {
  unsigned mask;
  const void* in[32];
  void* out[32];
};
void collective(const char* name, unsigned mask, const void* in, void* out, void (*resolve)(const Lanes&),
                bool orders_memory, std::source_location site);
namespace watch {
void load(const void* address, size_t bytes);
void store(const void* address, size_t bytes);
}  // namespace watch
}  // namespace simt
extern "C" [[noreturn]] void simt_text_fault(const char* what);

static const uint3 &threadIdx = simt::thread_index, &blockIdx = simt::block_index;
static const dim3 &blockDim = simt::block_size, &gridDim = simt::grid_size;

inline float __int_as_float(int v) {
  return __builtin_bit_cast(float, v);
}
inline double __longlong_as_double(long long v) {
  return __builtin_bit_cast(double, v);
}

inline void __syncthreads(std::source_location site = std::source_location::current()) {
  simt::barrier(simt::Barrier::kPlain, 0, site);
}

namespace simt_text {

struct Shuffled {
  unsigned value;
  int from;  // a lane
};
#ifdef __clang__
__attribute__((no_sanitize("coverage")))
#endif
inline unsigned
shuffle(const char* name, unsigned mask, unsigned value, int from, std::source_location site) {
  const Shuffled in{value, from};
  unsigned out = 0;
  simt::collective(
      name, mask, &in, &out,
      [](const simt::Lanes& lanes) {
        unsigned results[32] = {};
        for (int lane = 0; lane < 32; ++lane) {
          if ((lanes.mask >> lane & 1) == 0) continue;
          const int source = static_cast<const Shuffled*>(lanes.in[lane])->from;
          // Of a lane that does not take part: undefined on a device.
          results[lane] =
              (lanes.mask >> source & 1) == 0 ? 0xffffffffu : static_cast<const Shuffled*>(lanes.in[source])->value;
        }
        for (int lane = 0; lane < 32; ++lane) {
          if ((lanes.mask >> lane & 1) != 0) *static_cast<unsigned*>(lanes.out[lane]) = results[lane];
        }
      },
      false, site);
  return out;
}

}  // namespace simt_text

inline unsigned __shfl_sync(unsigned mask, unsigned value, int lane, int width = 32,
                            std::source_location site = std::source_location::current()) {
  const int own = static_cast<int>(simt::lane_index);
  return simt_text::shuffle("__shfl_sync", mask, value, own / width * width + lane % width, site);
}
inline unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned delta, int width = 32,
                                 std::source_location site = std::source_location::current()) {
  const int own = static_cast<int>(simt::lane_index), from = own % width + static_cast<int>(delta);
  return simt_text::shuffle("__shfl_down_sync", mask, value, from >= width ? own : own / width * width + from, site);
}
inline unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned delta, int width = 32,
                               std::source_location site = std::source_location::current()) {
  const int own = static_cast<int>(simt::lane_index), from = own % width - static_cast<int>(delta);
  return simt_text::shuffle("__shfl_up_sync", mask, value, from < 0 ? own : own / width * width + from, site);
}

namespace c10::cuda {

template <class T>
inline T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_shared());
}

template <class V>
inline V load_aligned(const void* address) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(V) != 0) simt_text_fault("misaligned vector load");
  simt::watch::load(address, sizeof(V));
  return *static_cast<const V*>(address);
}
template <class V>
inline void store_aligned(void* address, const V& value) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(V) != 0) simt_text_fault("misaligned vector store");
  simt::watch::store(address, sizeof(V));
  *static_cast<V*>(address) = value;
}

}  // namespace c10::cuda

namespace simt_text {

// Arguments one behind the other, each aligned to 16 bytes.
template <class... Params>
struct Arguments {
  static void copy(void**, char*) {}
  static int pointers(const char*, const void**) { return 0; }
  static constexpr size_t kBytes = 0;
  template <class F, class... Before>
  static void call(F function, char*, Before&... before) {
    function(before...);
  }
};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
  using Value = std::remove_const_t<First>;
  static constexpr size_t kOwn = (sizeof(Value) + 15) / 16 * 16, kBytes = kOwn + Arguments<Rest...>::kBytes;
  static void copy(void** arguments, char* to) {
    __builtin_memcpy(to, *arguments, sizeof(Value));
    Arguments<Rest...>::copy(arguments + 1, to + kOwn);
  }
  static int pointers(const char* from, const void** which) {
    *which = nullptr;
    if constexpr (std::is_pointer_v<Value>) __builtin_memcpy(which, from, sizeof(Value));
    return 1 + Arguments<Rest...>::pointers(from + kOwn, which + 1);
  }
  template <class F, class... Before>
  static void call(F function, char* from, Before&... before) {
    Arguments<Rest...>::call(function, from + kOwn, before..., *reinterpret_cast<Value*>(from));
  }
};

template <auto kFunction>
struct Kernel;
template <class... Params, void (*kFunction)(Params...)>
struct Kernel<kFunction> {
  using Given = Arguments<Params...>;
  static simt::TextKernel described(const char* name) {
    return {name,
            reinterpret_cast<const void*>(kFunction),
            Given::kBytes,
            [](void** arguments, void* to) { Given::copy(arguments, static_cast<char*>(to)); },
            [](const void* from, const void** which) { return Given::pointers(static_cast<const char*>(from), which); },
            sizeof...(Params),
            [](void* from) { Given::call(kFunction, static_cast<char*>(from)); }};
  }
};

}  // namespace simt_text
