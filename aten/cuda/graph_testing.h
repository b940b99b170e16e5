// Device memory and its contents, for tests of graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aten/cuda/graph.h"
#include "aten/cuda/graph_test_kernels.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"

namespace at::cuda::testing {

using Numbers = std::vector<uint64_t>;

/// Numbers of the current device, allocated for the current stream.
class Buffer {
 public:
  explicit Buffer(uint32_t n)
      : n_(n), memory_(c10::cuda::CUDACachingAllocator::get()->allocate(n * sizeof(uint64_t))) {}
  explicit Buffer(const Numbers& numbers) : Buffer(static_cast<uint32_t>(numbers.size())) { set(numbers); }

  uint64_t* data() const { return static_cast<uint64_t*>(memory_.get()); }
  const c10::DataPtr& memory() const { return memory_; }
  uint32_t size() const { return n_; }

  /// Both on the current stream.
  void set(const Numbers& numbers) {
    C10_CUDA_CHECK(cudaMemcpyAsync(data(), numbers.data(), numbers.size() * sizeof(uint64_t), cudaMemcpyHostToDevice,
                                   c10::cuda::getCurrentCUDAStream()));
  }
  Numbers get() const {
    Numbers numbers(n_);
    c10::cuda::memcpy_and_sync(numbers.data(), data(), static_cast<int64_t>(n_ * sizeof(uint64_t)),
                               cudaMemcpyDeviceToHost, c10::cuda::getCurrentCUDAStream());
    return numbers;
  }

 private:
  uint32_t n_;
  c10::DataPtr memory_;
};

inline Numbers mixed(const Numbers& a, const Numbers& b, uint64_t tag) {
  Numbers out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = 31 * a[i] + 17 * b[i] + tag;
  return out;
}

inline void mix(const Buffer& out, const Buffer& a, const Buffer& b, uint64_t tag) {
  mix(out.data(), a.data(), b.data(), tag, out.size(), c10::cuda::getCurrentCUDAStream());
}

}  // namespace at::cuda::testing
