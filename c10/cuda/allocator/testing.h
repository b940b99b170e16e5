// What the allocator's tests share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c10/cuda/allocator_config.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"

#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/runtime/standin.h"
#endif

namespace c10::cuda::CUDACachingAllocator {

inline constexpr size_t kKiB = size_t{1} << 10;
inline constexpr size_t kMiB = size_t{1} << 20;

/// A stream for a scope, whose frees and copies nobody else waits for.
class TestStream {
 public:
  explicit TestStream(DeviceIndex device = 0) {
    int before = 0;
    C10_CUDA_CHECK(cudaGetDevice(&before));
    C10_CUDA_CHECK(cudaSetDevice(device));
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    C10_CUDA_CHECK(cudaSetDevice(before));
  }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The segments of a device, one a line, in the order of their addresses where that is one: "large 20971520: 1049088*
/// 19922432". Behind the size of a block * says that it is allocated and ~ that it waits for a stream; an expandable
/// segment has "expandable" in front.
inline std::string layout(DeviceIndex device = 0, MempoolId_t id = {0, 0}) {
  std::string text;
  for (const SegmentInfo& segment : snapshot(id).segments) {
    if (segment.device != device || (id == MempoolId_t{0, 0} && segment.owner_private_pool_id != id)) continue;
    if (segment.is_expandable) text += "expandable ";
    text += (segment.is_large ? "large " : "small ") + std::to_string(segment.total_size) + ":";
    for (const BlockInfo& block : segment.blocks)
      text += " " + std::to_string(block.size) + (block.allocated ? "*" : block.active ? "~" : "");
    text += "\n";
  }
  return text;
}

inline int64_t all(const StatArray& stat) {
  return stat[static_cast<size_t>(StatType::AGGREGATE)].current;
}

/// Each test leaves nothing behind, and begins, on the host, in the state of a process that has not called CUDA yet.
class AllocatorTest : public ::testing::Test {
 protected:
#ifdef KD_CUDA_ON_HOST
  void SetUp() override {
    begin({});
  }
  void TearDown() override {
    EXPECT_EQ(cuda_standin::misuse(), "");
    end();
  }

  void begin(const cuda_standin::Options& options) {
    end();
    cuda_standin::reset(options);
    reset_statistics();
  }
#else
  void SetUp() override {
    if (device_count() < 1) GTEST_SKIP() << "there is no CUDA device";
    reset_statistics();
  }
  void TearDown() override {
    if (device_count() > 0) end();
  }
#endif
  static void reset_statistics() {
    for (DeviceIndex device = 0; device < device_count(); ++device) {
      resetAccumulatedStats(device);
      resetPeakStats(device);
    }
  }
  /// Gives back what is cached; nothing may be left.
  static void end() {
    for (DeviceIndex device = 0; device < device_count(); ++device) setMemoryFraction(1, device);
    setAllocatorSettings("");
    enable(true);
    recordHistory(false, nullptr, 0, RecordContext::NEVER, true);
    emptyCache();
    for (DeviceIndex device = 0; device < device_count(); ++device) {
      EXPECT_EQ(layout(device), "");
      const DeviceStats stats = getDeviceStats(device);
      for (const StatArray* stat :
           {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
            &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes})
        EXPECT_EQ(all(*stat), 0);
    }
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::leaks(), "");
#endif
  }
};

}  // namespace c10::cuda::CUDACachingAllocator
