// Random programs over streams and devices: each block carries a tag of its own, which device work writes and every
// reader checks. KINDLING_ALLOCATOR_PROGRAMS says how many run.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "c10/cuda/allocator/testing.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

#ifdef KD_CUDA_ON_HOST
using cuda_standin::Execution;
constexpr Execution kExecutions[] = {Execution::kEager, Execution::kLazy, Execution::kRandom};
#else
enum class Execution { kDevice, kRandom = kDevice };
constexpr Execution kExecutions[] = {Execution::kDevice};
#endif

constexpr int kStreams = 4;  // two a device, where there are two
int devices() {
  return std::min<int>(device_count(), 2);
}

uint64_t programs(uint64_t short_form) {
  const char* text = std::getenv("KINDLING_ALLOCATOR_PROGRAMS");
  return text == nullptr ? short_form : std::strtoull(text, nullptr, 10);
}

constexpr const char* kSettings[] = {
    "",
    "max_split_size_mb:24",
    "roundup_power2_divisions:4",
    "garbage_collection_threshold:0.5",
    "expandable_segments:True",
    "release_lock_on_cudamalloc:True",
};

// What a program does wrong.
enum class Fault { kNone, kForgetsRecordStream };

class Program {
 public:
  Program(uint64_t seed, Fault fault) : random_(seed * 2654435761u + 1), fault_(fault) {
    C10_CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&seen_), kChecks * kSample));
    std::fill_n(seen_, kChecks * kSample, static_cast<unsigned char>(0));
    for (int stream = 0; stream < kStreams; ++stream) {
      const CUDAGuard guard(device_of(stream));
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&events_[stream], cudaEventDisableTiming));
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    (void)cudaFreeHost(seen_);
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
  }

  // How many reads saw something else than the block's tag.
  int run() {
    for (int step = 0; step < kSteps && checks_ + 2 < kChecks; ++step) {
      switch (random_() % 10) {
        case 0:
        case 1:
          allocate(some_size());
          break;
        case 2:
        case 3:
          read();
          break;
        case 4:
        case 5:
          release();
          break;
        case 6:
          rare();
          break;
        default:
          hand_over();
          break;
      }
    }
    while (!live_.empty()) release();
    for (int device = 0; device < devices(); ++device) {
      C10_CUDA_CHECK(cudaSetDevice(device));
      C10_CUDA_CHECK(cudaDeviceSynchronize());
    }
    C10_CUDA_CHECK(cudaSetDevice(0));
    int wrong = 0;
    for (size_t i = 0; i < checks_; ++i)
      for (size_t k = 0; k < kSample; ++k)
        if (seen_[i * kSample + k] != expected_[i]) {
          ++wrong;
          break;
        }
    return wrong;
  }

 private:
  static constexpr size_t kSample = 64, kChecks = 400;
  static constexpr int kSteps = 120;

  struct Live {
    char* data;
    size_t size;
    unsigned char tag;
    int stream;
  };

  size_t some_size() {
    switch (random_() % 32) {
      case 0:
        return 2 * kMiB + random_() % (3 * kMiB);
      case 1:
        return 10 * kMiB + random_() % (16 * kMiB);
      case 2:
      case 3:
      case 4:
        return 1 + random_() % 4096;
      default:
        return 512 * (1 + random_() % 2);
    }
  }

  static DeviceIndex device_of(int stream) { return static_cast<DeviceIndex>(stream % devices()); }

  // The first or the last bytes of a block carry its tag. Calls are few: each lets the stand-in run work that is better
  // put off.
  char* sample_of(const Live& block) const {
    return block.tag % 2 == 0 ? block.data : block.data + block.size - std::min(block.size, kSample);
  }

  // A stream of the current device.
  int some_stream() {
    return device_ + devices() * static_cast<int>(random_() % static_cast<uint64_t>(kStreams / devices()));
  }

  void allocate(size_t size) {
    const int stream = some_stream();
    Live block{nullptr, size, static_cast<unsigned char>(1 + next_tag_++ % 254), stream};
    try {
      block.data = static_cast<char*>(raw_alloc_with_stream(block.size, streams_[stream]));
    } catch (const c10::OutOfMemoryError&) {
      return;
    }
    for (const Live& other : live_)
      EXPECT_TRUE(block.data + block.size <= other.data || other.data + other.size <= block.data) << "blocks overlap";
    C10_CUDA_CHECK(cudaMemsetAsync(sample_of(block), block.tag, std::min(block.size, kSample), streams_[stream]));
    live_.push_back(block);
  }

  // On the block's stream or another of its device, behind the work that is on the block's.
  void read() {
    if (!live_.empty()) read(live_[random_() % live_.size()]);
  }
  void read(const Live& block) {
    if (device_of(block.stream) != device_) return;
    const int reader = some_stream();
    if (reader != block.stream) {
      const cudaEvent_t written = events_[block.stream];
      C10_CUDA_CHECK(cudaEventRecord(written, streams_[block.stream]));
      C10_CUDA_CHECK(cudaStreamWaitEvent(streams_[reader], written, 0));
      if (fault_ != Fault::kForgetsRecordStream) {
        recordStream(DataPtr(block.data, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, device_)),
                     getStreamFromExternal(streams_[reader], device_));
      }
    }
    unsigned char* const to = seen_ + checks_ * kSample;
    std::fill_n(to, kSample, block.tag);
    C10_CUDA_CHECK(
        cudaMemcpyAsync(to, sample_of(block), std::min(block.size, kSample), cudaMemcpyDeviceToHost, streams_[reader]));
    expected_[checks_++] = block.tag;
  }

  // A block is written, read by whichever stream, and its memory is wanted again at once.
  void hand_over() {
    const size_t size = some_size();
    const size_t before = live_.size();
    allocate(size);
    if (live_.size() == before) return;
    read(live_.back());
    release(live_.size() - 1);
    allocate(size);
  }

  void release() {
    if (!live_.empty()) release(random_() % live_.size());
  }
  void release(size_t index) {
    raw_delete(live_[index].data);
    live_[index] = live_.back();
    live_.pop_back();
  }

  void rare() {
    switch (random_() % 12) {
      case 0:
        emptyCache();
        break;
      case 1:
        C10_CUDA_CHECK(cudaStreamSynchronize(streams_[random_() % kStreams]));
        break;
      case 2:
        pool();
        break;
      case 3:
      case 4:
        device_ = static_cast<DeviceIndex>((device_ + 1) % devices());
        C10_CUDA_CHECK(cudaSetDevice(device_));
        break;
      default:
        allocate(some_size());
        break;
    }
  }

  // Some blocks of a pool of its own.
  void pool() {
    MemPool pool;
    const MemPoolContext context(&pool);
    for (uint64_t i = random_() % 3; i > 0; --i) allocate(some_size());
    release();
  }

  std::mt19937_64 random_;
  const Fault fault_;
  const TestStream stream0_{0}, stream1_{device_of(1)}, stream2_{device_of(2)}, stream3_{device_of(3)};
  const std::array<cudaStream_t, kStreams> streams_{stream0_, stream1_, stream2_, stream3_};
  std::array<cudaEvent_t, kStreams> events_{};
  DeviceIndex device_ = 0;
  std::vector<Live> live_;
  unsigned char* seen_ = nullptr;
  std::array<unsigned char, kChecks> expected_{};
  size_t checks_ = 0;
  unsigned next_tag_ = 0;
};

class AllocatorPrograms : public AllocatorTest {
 protected:
  int run(Execution execution, uint64_t seed, Fault fault) {
#ifdef KD_CUDA_ON_HOST
    begin({.memory_bytes = 160 * kMiB, .execution = execution, .seed = seed, .protect = false});
#else
    end();
    (void)execution;
#endif
    setAllocatorSettings(kSettings[seed % std::size(kSettings)]);
    int wrong = 0;
    {
      Program program(seed, fault);
      wrong = program.run();
      emptyCache();
    }
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::misuse(), "") << seed;
#endif
    return wrong;
  }
};

TEST_F(AllocatorPrograms, NoBlockIsGivenOutWhileItIsUsed) {
  for (uint64_t seed = 0; seed < programs(70); ++seed) {
    for (const Execution execution : kExecutions) {
      EXPECT_EQ(run(execution, seed, Fault::kNone), 0)
          << "seed " << seed << ", execution " << static_cast<int>(execution);
      if (HasFailure()) return;
    }
  }
}

#ifdef KD_CUDA_ON_HOST
// The programs can tell.
TEST_F(AllocatorPrograms, AForgottenRecordStreamIsFound) {
  int found = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) found += run(Execution::kRandom, seed, Fault::kForgetsRecordStream) != 0;
  RecordProperty("seeds_that_found_it", found);
  EXPECT_GE(found, 10) << "of 50";
}
#endif

TEST_F(AllocatorPrograms, StatisticsEqualAModel) {
  const TestStream stream;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    std::map<void*, std::pair<size_t, size_t>> live;  // requested and rounded
    int64_t allocations = 0, peak = 0, bytes = 0, total = 0;
    resetPeakStats(0);
    resetAccumulatedStats(0);
    for (int step = 0; step < 200; ++step) {
      if (random() % 3 != 0 || live.empty()) {
        const size_t size = 1 + random() % (random() % 4 == 0 ? 3 * kMiB : 4096);
        void* p = raw_alloc_with_stream(size, stream);
        const size_t rounded = (size + 511) / 512 * 512;
        EXPECT_TRUE(live.emplace(p, std::make_pair(size, rounded)).second);
        ++allocations;
      } else {
        const auto it = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
        raw_delete(it->first);
        live.erase(it);
      }
      if (random() % 40 == 0) emptyCache();
      const DeviceStats stats = getDeviceStats(0);
      size_t requested = 0, reserved = 0, free_split = 0, free_splits = 0;
      bytes = 0;
      for (const auto& [p, sizes] : live) requested += sizes.first;
      for (const SegmentInfo& segment : snapshot().segments) {
        reserved += segment.total_size;
        for (const BlockInfo& block : segment.blocks) {
          if (block.allocated) bytes += static_cast<int64_t>(block.size);
          if (!block.active && segment.blocks.size() > 1) {
            free_split += block.size;
            ++free_splits;
          }
        }
      }
      peak = std::max(peak, bytes);
      EXPECT_EQ(all(stats.allocation), static_cast<int64_t>(live.size()));
      EXPECT_EQ(all(stats.active), static_cast<int64_t>(live.size()));
      EXPECT_EQ(stats.allocation[0].allocated, allocations);
      EXPECT_EQ(stats.allocation[0].allocated - stats.allocation[0].freed, static_cast<int64_t>(live.size()));
      EXPECT_EQ(all(stats.requested_bytes), static_cast<int64_t>(requested));
      EXPECT_EQ(all(stats.allocated_bytes), bytes);
      EXPECT_EQ(all(stats.active_bytes), bytes);
      EXPECT_EQ(all(stats.reserved_bytes), static_cast<int64_t>(reserved));
      EXPECT_EQ(all(stats.inactive_split), static_cast<int64_t>(free_splits));
      EXPECT_EQ(all(stats.inactive_split_bytes), static_cast<int64_t>(free_split));
      EXPECT_EQ(stats.allocated_bytes[0].peak, peak);
      for (const StatArray* stat : {&stats.allocation, &stats.allocated_bytes, &stats.reserved_bytes,
                                    &stats.inactive_split_bytes, &stats.requested_bytes, &stats.segment})
        EXPECT_EQ((*stat)[0].current, (*stat)[1].current + (*stat)[2].current);
      if (HasFailure()) return;
    }
    total += allocations;
    EXPECT_GT(total, 0);
    for (const auto& [p, sizes] : live) raw_delete(p);
    live.clear();
    emptyCache();
  }
}

TEST_F(AllocatorPrograms, ThreadsAllocateFreeAndAskAtOnce) {
#ifdef KD_CUDA_ON_HOST
  begin({.memory_bytes = 256 * kMiB, .execution = Execution::kLazy, .protect = false});
#endif
  setAllocatorSettings("release_lock_on_cudamalloc:True");
  recordHistory(true, &gather_stack, 100, RecordContext::STATE);
  constexpr int kThreads = 4;
  std::array<std::vector<void*>, kThreads> handed;  // freed by the next thread
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([number, &handed] {
      const auto device = static_cast<DeviceIndex>(number % devices());
      const CUDAGuard guard(device);
      const TestStream own(device), other(device);
      std::mt19937_64 random(static_cast<uint64_t>(number));
      std::vector<void*> mine;
      for (int step = 0; step < 300; ++step) {
        if (random() % 2 == 0 || mine.empty()) {
          const size_t size = 1 + random() % (random() % 8 == 0 ? 4 * kMiB : 2000);
          try {
            mine.push_back(raw_alloc_with_stream(size, own));
          } catch (const c10::OutOfMemoryError&) {
          }
        } else {
          void* const p = mine.back();
          mine.pop_back();
          if (random() % 4 == 0)
            recordStream(DataPtr(p, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, device)),
                         getStreamFromExternal(other, device));
          raw_delete(p);
        }
        if (step % 50 == 10) emptyCache();
        if (step % 50 == 20) (void)snapshot();
        if (step % 50 == 30) (void)getDeviceStats(static_cast<DeviceIndex>((device + 1) % devices()));
        if (step % 50 == 40) resetPeakStats(device);
      }
      C10_CUDA_CHECK(cudaStreamSynchronize(other));
      handed[static_cast<size_t>(number)] = std::move(mine);
      emptyCache();  // no block waits for a stream that goes
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::thread> others;
  for (int number = 0; number < kThreads; ++number) {
    others.emplace_back([number, &handed] {
      for (void* p : handed[static_cast<size_t>((number + 1) % kThreads)]) raw_delete(p);
    });
  }
  for (std::thread& thread : others) thread.join();
  for (DeviceIndex device = 0; device < devices(); ++device) EXPECT_EQ(all(getDeviceStats(device).allocation), 0);
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
