// A CUDA grid on the host. Every thread of a block is a fiber of the calling thread. A fiber runs until it waits at a
// barrier or in a warp's collective, so lanes never move together by accident, and the scheduler lets one warp run as
// far as it can before the next has a turn: a kernel that leans on lockstep, or forgets a barrier, meets the worst
// case.
//
// Kernels see this through device.h, which stands in for what nvcc gives a source. The runtime's stand-in calls run().
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace simt {

using Site = std::source_location;

// The order of a grid's blocks, of a block's warps and of a warp's lanes. Random orders change at every barrier.
enum class Order { kForward, kReverse, kRandom };

struct Options {
  Order order = Order::kForward;
  uint64_t seed = 0;
  bool poison_shared = true;  // shared memory starts as bytes of 0xFF in every block: NaN, or -1
  bool watch = true;          // races end a launch (watch.h); of kernels that Clang compiled
};
// SIMT_ORDER=forward|reverse|random and SIMT_SEED=n are the initial values.
Options& options();

// Since the program began, or since they were set to {}.
struct Statistics {
  uint64_t launches = 0, blocks = 0, threads = 0, barriers = 0, collectives = 0;
};
Statistics& statistics();

// What a kernel did that a device does not allow or does not define; the text has the kernel, the thread, the block and
// the line. It ends the launch.
struct KernelFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Grid {
  dim3 blocks, threads;
  size_t dynamic_shared = 0;
  const char* name = "kernel";
};

// Runs `kernel` once for every thread of the grid. Throws KernelFault. One grid at a time in a process.
void run(const Grid& grid, const std::function<void()>& kernel);

// The memory around an address that a kernel may touch. Where nothing is known of the address, `is_known` is false.
struct Bounds {
  uintptr_t begin = 0, end = 0;
  bool is_known = false;
};
// Asked, by a runtime, for every page that a kernel touches outside its stack and shared memory; what is beyond the
// bounds ends the launch, and so does an address that is neither known nor the program's own constant. Null: everything
// may be touched.
void set_bounds_of(Bounds (*bounds_of)(const void* address));

namespace watch {
void set_active(bool active);
}

// --- kernels by their address, as the runtime's launch has them ---

struct PointerArgument {
  int index;
  const void* value;
};
struct BoundKernel {
  std::function<void()> call;  // with copies of the arguments
  std::vector<PointerArgument> pointers;
};
struct Kernel {
  std::string name;
  BoundKernel (*bind)(const void* kernel, void** arguments);
};
void declare(const void* kernel, const char* name, BoundKernel (*bind)(const void*, void**));
// Null for what is no kernel, as far as is known.
const Kernel* find_kernel(const void* kernel);

template <class... Params>
void declare(const char* name, void (*kernel)(Params...)) {
  declare(reinterpret_cast<const void*>(kernel), name, [](const void* address, void** arguments) {
    const auto values = [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::tuple<std::decay_t<Params>...>(*static_cast<std::decay_t<Params>*>(arguments[kIndex])...);
    }
    (std::index_sequence_for<Params...>{});
    BoundKernel bound;
    int index = 0;
    const auto note = [&](const auto& value) {
      if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>)
        bound.pointers.push_back({index, static_cast<const void*>(value)});
      ++index;
    };
    std::apply([&](const auto&... value) { (note(value), ...); }, values);
    const auto typed = reinterpret_cast<void (*)(Params...)>(const_cast<void*>(address));
    bound.call = [typed, values] {
      watch::set_active(false);
      auto arguments = values;
      std::apply([typed](auto&... argument) { watch::set_active(true), typed(argument...); }, arguments);
    };
    return bound;
  });
}

// --- for device.h ---

struct Thread {
  uint3 index;
  unsigned lane, warp;
};
extern Thread* current;  // null outside kernels
extern uint3 thread_index, block_index;
extern unsigned lane_index;
extern dim3 block_size, grid_size;
void* dynamic_shared();
size_t dynamic_shared_bytes();

// Ends the launch with a KernelFault.
[[noreturn]] void fault(const std::string& what, Site site = Site::current());

// Waits for all threads of the block; the result is how many brought a predicate other than 0 (kCount), whether all did
// (kAnd), whether one did (kOr).
enum class Barrier { kPlain, kCount, kAnd, kOr };
int barrier(Barrier kind, int predicate, Site site);

// One collective of a warp. Every lane of `mask` arrives with the same name and mask; the last one calls `resolve`,
// which reads every lane's `in` and writes every lane's `out`. Only where `orders_memory` do lanes see each other's
// writes behind it.
struct Lanes {
  unsigned mask;
  const void* in[32];
  void* out[32];
};
void collective(const char* name, unsigned mask, const void* in, void* out, void (*resolve)(const Lanes&),
                bool orders_memory, Site site);

}  // namespace simt
