// What kernels do to memory, as a device would have it: how many bytes a warp's accesses ask for, how many sectors of 32 bytes they
// touch, and how often banks of shared memory make them wait.
//
//   simt::start_counting();
//   ...
//   for (const auto& [kernel, counts] : simt::stop_counting()) ...
//
// The lanes of a warp count as going together: the n-th time that each of them comes to a place in the code is one request. Needs
// Options::watch and kernels that Clang compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace simt {

struct KernelCounts {
  int64_t launches = 0, blocks = 0, threads = 0;

  // Global memory.
  struct Traffic {
    int64_t requests = 0;      // of warps
    int64_t bytes = 0;         // that lanes ask for
    int64_t sectors = 0;       // of 32 bytes, over all requests
    int64_t first_sectors = 0;  // each once a launch: what no cache can save
  };
  Traffic loads, stores;
  int64_t atomics = 0;  // of lanes

  // Shared memory: one wavefront serves each bank once.
  int64_t shared_requests = 0, shared_wavefronts = 0, least_shared_wavefronts = 0;

  KernelCounts& operator+=(const KernelCounts& other);
};

void start_counting();
/// By the kernel's name. Counting ends.
std::map<std::string, KernelCounts> stop_counting();

namespace counts {

// The executor says what happens.
bool is_on();
void start_launch(const char* kernel, int64_t blocks, int64_t threads);
void end_block();
void end_launch();

struct Access {
  uintptr_t address;
  size_t bytes;
  const void* code;
  unsigned warp, lane;
  bool writes, is_atomic, is_shared;
  bool is_vector;  // said by load_aligned and store_aligned: the compiler reports its parts, too
};
void note(const Access& access);

}  // namespace counts
}  // namespace simt
