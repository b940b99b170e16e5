#include "c10/cuda/caching_allocator.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "c10/cuda/allocator/testing.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/pluggable_allocator.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

using CachingAllocator = AllocatorTest;

void record(void* block, cudaStream_t stream, DeviceIndex device = 0) {
  recordStream(DataPtr(block, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, device)),
               getStreamFromExternal(stream, device));
}

// --- sizes and segments ---

TEST_F(CachingAllocator, SizesRoundTo512BytesAndSmallOnesShareASegmentOf2MiB) {
  void* a = raw_alloc(1);
  void* b = raw_alloc(512);
  void* c = raw_alloc(513);
  void* d = raw_alloc(kMiB);
  EXPECT_EQ(layout(), "small 2097152: 512* 512* 1024* 1048576* 1046528\n");
  EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 512);
  EXPECT_EQ(static_cast<char*>(d) - static_cast<char*>(a), 2048);
  const DeviceStats stats = getDeviceStats(0);
  EXPECT_EQ(all(stats.allocated_bytes), 2048 + 1048576);
  EXPECT_EQ(all(stats.requested_bytes), 1 + 512 + 513 + 1048576);
  EXPECT_EQ(all(stats.reserved_bytes), 2097152);
  EXPECT_EQ(stats.num_device_alloc, 1);
  for (void* p : {a, b, c, d}) raw_delete(p);
  EXPECT_EQ(layout(), "small 2097152: 2097152\n");
  EXPECT_EQ(raw_alloc(0), nullptr);
  raw_delete(nullptr);
}

TEST_F(CachingAllocator, LargeOnesComeFromSegmentsOf20MiBAndFrom10MiBOnHaveTheirOwn) {
  void* a = raw_alloc(kMiB + 1);
  EXPECT_EQ(layout(), "large 20971520: 1049088* 19922432\n");
  raw_delete(a);
  void* b = raw_alloc(10 * kMiB - 512);
  EXPECT_EQ(layout(), "large 20971520: 10485248* 10486272\n");
  void* c = raw_alloc(30 * kMiB);
  void* d = raw_alloc(31 * kMiB + 1);
  std::string text = layout();
  EXPECT_NE(text.find("large 31457280: 31457280*\n"), std::string::npos) << text;
  EXPECT_NE(text.find("large 33554432: 33554432*\n"), std::string::npos) << text;
  for (void* p : {b, c, d}) raw_delete(p);
}

TEST_F(CachingAllocator, LargeBlocksAreSplitWhereMoreThan1MiBIsLeft) {
  raw_delete(raw_alloc(40 * kMiB));
  void* a = raw_alloc(39 * kMiB);
  EXPECT_EQ(layout(), "large 41943040: 41943040*\n");  // 1 MiB would be left
  raw_delete(a);
  void* b = raw_alloc(39 * kMiB - 512);
  EXPECT_EQ(layout(), "large 41943040: 40893952* 1049088\n");
  raw_delete(b);
  EXPECT_EQ(layout(), "large 41943040: 41943040\n");
}

TEST_F(CachingAllocator, TheBestFitIsTheSmallestBlockThenTheLowestAddress) {
  std::vector<void*> blocks;
  for (int i = 0; i < 9; ++i) blocks.push_back(raw_alloc(i % 2 == 0 ? 512 : static_cast<size_t>(8 - i) * 512 + 512));
  // Blocks 1, 3, 5, 7 have 4096, 3072, 2048 and 1024 bytes, with ones of 512 between them.
  for (const int i : {1, 3, 5, 7}) raw_delete(blocks[static_cast<size_t>(i)]);
  EXPECT_EQ(raw_alloc(1024), blocks[7]);
  void* const in_five = raw_alloc(1024);
  EXPECT_EQ(in_five, blocks[5]);
  EXPECT_EQ(raw_alloc(512), static_cast<char*>(blocks[5]) + 1024);
  EXPECT_EQ(raw_alloc(2049), blocks[3]);
  raw_delete(blocks[7]);
  raw_delete(in_five);
  EXPECT_EQ(raw_alloc(1000), std::min(blocks[7], in_five));
  for (const SegmentInfo& segment : snapshot().segments) {
    size_t address = segment.address;
    for (const BlockInfo& block : segment.blocks) {
      if (block.allocated) raw_delete(reinterpret_cast<void*>(address));
      address += block.size;
    }
  }
}

TEST_F(CachingAllocator, NeighboursMergeWhateverTheOrder) {
  std::vector<int> order = {0, 1, 2};
  do {
    std::vector<void*> p = {raw_alloc(512), raw_alloc(512), raw_alloc(512)};
    for (const int i : order) raw_delete(p[static_cast<size_t>(i)]);
    EXPECT_EQ(layout(), "small 2097152: 2097152\n");
  } while (std::next_permutation(order.begin(), order.end()));
  const DeviceStats stats = getDeviceStats(0);
  EXPECT_EQ(all(stats.inactive_split), 0);
  EXPECT_EQ(all(stats.inactive_split_bytes), 0);
}

TEST_F(CachingAllocator, StreamsDoNotShareBlocks) {
  const TestStream one, two;
  void* a = raw_alloc_with_stream(512, one);
  raw_delete(a);
  void* b = raw_alloc_with_stream(512, two);
  EXPECT_NE(a, b);
  EXPECT_EQ(raw_alloc_with_stream(512, one), a);
  raw_delete(a);
  raw_delete(b);
  emptyCache();
}

TEST_F(CachingAllocator, DevicesAreSeparateAndTheCurrentOneCounts) {
  void* a = raw_alloc(512);
  void* b = nullptr;
  {
    const CUDAGuard guard(1);
    b = raw_alloc(512);
  }
  EXPECT_EQ(layout(0), "small 2097152: 512* 2096640\n");
  EXPECT_EQ(layout(1), "small 2097152: 512* 2096640\n");
  raw_delete(b);  // whatever is current
  EXPECT_EQ(layout(1), "small 2097152: 2097152\n");
  raw_delete(a);
  cudaPointerAttributes attributes{};
  C10_CUDA_CHECK(cudaPointerGetAttributes(&attributes, b));
  EXPECT_EQ(attributes.device, 1);
}

// --- options ---

TEST_F(CachingAllocator, MaxSplitSizeKeepsLargeBlocksWholeAndForRequestsOfTheirSize) {
  setAllocatorSettings("max_split_size_mb:32");
  raw_delete(raw_alloc(100 * kMiB));
  EXPECT_EQ(getDeviceStats(0).oversize_segments.current, 1);
  EXPECT_EQ(getDeviceStats(0).oversize_allocations.allocated, 1);
  void* a = raw_alloc(30 * kMiB);  // not a part of the large one
  EXPECT_EQ(getDeviceStats(0).segment[0].current, 2);
  void* b = raw_alloc(79 * kMiB);  // more than 20 MiB would be wasted
  EXPECT_EQ(getDeviceStats(0).segment[0].current, 3);
  void* c = raw_alloc(81 * kMiB);
  EXPECT_EQ(getDeviceStats(0).segment[0].current, 3);
  EXPECT_NE(layout().find("large 104857600: 104857600*\n"), std::string::npos) << layout();
  EXPECT_EQ(getDeviceStats(0).max_split_size, 32 << 20);
  for (void* p : {a, b, c}) raw_delete(p);
}

TEST_F(CachingAllocator, MaxNonSplitRoundingSaysHowMuchMayBeWasted) {
  setAllocatorSettings("max_split_size_mb:32,max_non_split_rounding_mb:60");
  raw_delete(raw_alloc(100 * kMiB));
  void* a = raw_alloc(41 * kMiB);
  EXPECT_EQ(layout(), "large 104857600: 104857600*\n");
  raw_delete(a);
  void* b = raw_alloc(40 * kMiB);
  EXPECT_EQ(getDeviceStats(0).segment[0].current, 2);
  raw_delete(b);
}

TEST_F(CachingAllocator, OversizeBlocksAreReleasedBeforeTheWholeCache) {
  begin({.memory_bytes = 256 * kMiB});
  setAllocatorSettings("max_split_size_mb:32");
  raw_delete(raw_alloc(512));
  raw_delete(raw_alloc(100 * kMiB));
  raw_delete(raw_alloc(120 * kMiB));
  void* a = raw_alloc(150 * kMiB);  // needs both
  const DeviceStats stats = getDeviceStats(0);
  EXPECT_EQ(stats.num_alloc_retries, 0);
  EXPECT_EQ(stats.num_device_free, 2);
  EXPECT_NE(layout().find("small 2097152: 2097152\n"), std::string::npos) << layout();
  raw_delete(a);
}

TEST_F(CachingAllocator, RoundupDivisionsApplyToSizes) {
  setAllocatorSettings("roundup_power2_divisions:4");
  void* a = raw_alloc(1200);  // below 4 * 512 only to 512
  void* b = raw_alloc(9000);
  EXPECT_EQ(layout(), "small 2097152: 1536* 10240* 2085376\n");
  raw_delete(a);
  raw_delete(b);
  setAllocatorSettings("roundup_power2_divisions:[1:1,4:2,>:1]");
  void* c = raw_alloc(9000);
  void* d = raw_alloc(2 * kMiB + 1);
  void* e = raw_alloc(5 * kMiB + 1);
  EXPECT_NE(layout().find("small 2097152: 9216*"), std::string::npos) << layout();
  EXPECT_NE(layout().find("large 20971520: 3145728* 5243392*"), std::string::npos) << layout();
  for (void* p : {c, d, e}) raw_delete(p);
}

TEST_F(CachingAllocator, GarbageCollectionFreesOldUnusedSegmentsBeyondTheThreshold) {
  begin({.memory_bytes = 256 * kMiB});
  setAllocatorSettings("garbage_collection_threshold:0.75");
  void* a = raw_alloc(40 * kMiB);
  void* b = raw_alloc(50 * kMiB);
  void* c = raw_alloc(60 * kMiB);
  raw_delete(b);
  void* e = raw_alloc(56 * kMiB);
  raw_delete(a);  // the younger one
  EXPECT_EQ(getDeviceStats(0).num_device_free, 0);
  void* d = raw_alloc(51 * kMiB);
  EXPECT_EQ(getDeviceStats(0).num_device_free, 1);
  EXPECT_EQ(layout().find("large 52428800"), std::string::npos) << layout();
  EXPECT_NE(layout().find("large 41943040: 41943040\n"), std::string::npos) << layout();
  EXPECT_EQ(getDeviceStats(0).num_sync_all_streams, 0);
  for (void* p : {c, d, e}) raw_delete(p);
  begin({.memory_bytes = 256 * kMiB});
  raw_delete(raw_alloc(40 * kMiB));
  raw_delete(raw_alloc(150 * kMiB));
  raw_delete(raw_alloc(151 * kMiB));
  EXPECT_EQ(getDeviceStats(0).num_alloc_retries, 1);  // without the option the whole cache went
}

TEST_F(CachingAllocator, WithoutCachingMemoryIsOfTheSizeAndGoesBackAtOnce) {
  enable(false);
  EXPECT_FALSE(isEnabled());
  void* a = raw_alloc(1000);
  EXPECT_EQ(layout(), "small 1000: 1000*\n");
  EXPECT_EQ(cuda_standin::live().device_bytes, 1000u);
  raw_delete(a);
  EXPECT_EQ(cuda_standin::live_allocations(), 0u);
  const TestStream other;
  void* b = raw_alloc(4 * kMiB);
  record(b, other);
  raw_delete(b);
  EXPECT_EQ(layout(), "large 4194304: 4194304~\n");
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  raw_delete(raw_alloc(1));
  EXPECT_EQ(cuda_standin::live_allocations(), 0u);
}

TEST_F(CachingAllocator, TheFractionLimitsWhatIsTakenFromCuda) {
  begin({.memory_bytes = 256 * kMiB});
  setMemoryFraction(0.25, 0);
  EXPECT_EQ(getMemoryFraction(0), 0.25);
  EXPECT_EQ(getMemoryFraction(1), 1);
  void* a = raw_alloc(60 * kMiB);
  EXPECT_THROW(raw_alloc(10 * kMiB), c10::OutOfMemoryError);
  raw_delete(a);
  void* b = raw_alloc(64 * kMiB);  // the cache made room
  EXPECT_THROW(raw_alloc(512), c10::OutOfMemoryError);
  raw_delete(b);
  EXPECT_THROW(setMemoryFraction(1.5, 0), c10::ValueError);
  EXPECT_THROW(setMemoryFraction(-0.1, 0), c10::ValueError);
  EXPECT_EQ(getMemoryFraction(0), 0.25);
  setMemoryFraction(1, 0);
  emptyCache();
  setAllocatorSettings("per_process_memory_fraction:0.125");
  EXPECT_EQ(getMemoryFraction(0), 0.125);
  EXPECT_THROW(raw_alloc(33 * kMiB), c10::OutOfMemoryError);
}

// --- streams ---

TEST_F(CachingAllocator, RecordedBlocksWaitForTheStreamThatUsesThem) {
  for (const auto execution : {cuda_standin::Execution::kEager, cuda_standin::Execution::kLazy}) {
    begin({.execution = execution});
    const TestStream own, user;
    void* a = raw_alloc_with_stream(512, own);
    C10_CUDA_CHECK(cudaMemsetAsync(a, 1, 512, user));
    record(a, user);
    raw_delete(a);
    EXPECT_EQ(layout(), "small 2097152: 512~ 2096640\n");
    if (execution == cuda_standin::Execution::kLazy) {
      void* b = raw_alloc_with_stream(512, own);
      EXPECT_NE(a, b);
      EXPECT_EQ(layout(), "small 2097152: 512~ 512* 2096128\n");
      raw_delete(b);
      EXPECT_EQ(all(getDeviceStats(0).active_bytes), 512);
      EXPECT_EQ(all(getDeviceStats(0).allocated_bytes), 0);
    }
    C10_CUDA_CHECK(cudaStreamSynchronize(user));
    void* c = raw_alloc_with_stream(512, own);
    EXPECT_EQ(a, c);
    raw_delete(c);
    EXPECT_EQ(layout(), "small 2097152: 2097152\n");
    emptyCache();
  }
}

TEST_F(CachingAllocator, TheOwnStreamForeignMemoryAndNothingAreNotRecorded) {
  const TestStream own, user;
  void* a = raw_alloc_with_stream(512, own);
  record(a, own);
  recordStream(DataPtr(), getStreamFromExternal(user, 0));
  int on_host = 0;
  recordStream(DataPtr(&on_host, Device(kCPU)), getStreamFromExternal(user, 0));
  raw_delete(a);
  EXPECT_EQ(layout(), "small 2097152: 2097152\n");
  EXPECT_EQ(cuda_standin::live().events, 0u);
  EXPECT_THROW(record(&on_host, user), c10::Error);
  emptyCache();
}

TEST_F(CachingAllocator, SeveralStreamsOfSeveralDevicesAreWaitedFor) {
  const TestStream own, user, far(1);
  void* a = raw_alloc_with_stream(512, own);
  record(a, user);
  record(a, user);
  record(a, far, 1);
  C10_CUDA_CHECK(cudaMemsetAsync(a, 1, 512, user));
  raw_delete(a);
  EXPECT_EQ(cuda_standin::live().events, 2u);
  C10_CUDA_CHECK(cudaStreamSynchronize(user));
  raw_delete(raw_alloc_with_stream(512, own));
  C10_CUDA_CHECK(cudaStreamSynchronize(far));
  void* b = raw_alloc_with_stream(512, own);
  EXPECT_EQ(a, b);
  raw_delete(b);
  // Events are used again.
  void* c = raw_alloc_with_stream(512, own);
  record(c, user);
  raw_delete(c);
  EXPECT_EQ(cuda_standin::live().events, 2u);
  emptyCache();
}

TEST_F(CachingAllocator, GuardsRecordThroughTheAllocatorAndDataPtrsFreeThemselves) {
  const TestStream user;
  {
    DataPtr data = GetAllocator(kCUDA)->allocate(100);
    EXPECT_EQ(data.device(), Device(kCUDA, 0));
    EXPECT_EQ(data.get(), data.get_context());
    c10::impl::getDeviceGuardImpl(kCUDA)->recordDataPtrOnStream(data, getStreamFromExternal(user, 0).unwrap());
  }
  EXPECT_EQ(layout(), "small 2097152: 512~ 2096640\n");
  emptyCache();
  EXPECT_EQ(GetAllocator(kCUDA)->allocate(0).get(), nullptr);
}

TEST_F(CachingAllocator, CopiesGoInTheOrderOfTheCurrentStream) {
  Allocator* const allocator = GetAllocator(kCUDA);
  DataPtr source = allocator->allocate(256);
  C10_CUDA_CHECK(cudaMemsetAsync(source.get(), 7, 256, getCurrentCUDAStream().stream()));
  const DataPtr copy = allocator->clone(source.get(), 256);
  unsigned char seen[256] = {};
  C10_CUDA_CHECK(cudaMemcpyAsync(seen, copy.get(), 256, cudaMemcpyDeviceToHost, getCurrentCUDAStream().stream()));
  C10_CUDA_CHECK(cudaStreamSynchronize(getCurrentCUDAStream().stream()));
  EXPECT_EQ(std::set<unsigned char>(seen, seen + 256), std::set<unsigned char>{7});
}

// --- out of memory ---

TEST_F(CachingAllocator, TheCacheIsGivenBackBeforeAllocationFails) {
  begin({.memory_bytes = 64 * kMiB});
  const TestStream own, user;
  void* a = raw_alloc_with_stream(50 * kMiB, own);
  C10_CUDA_CHECK(cudaMemsetAsync(a, 1, 512, user));
  record(a, user);
  raw_delete(a);
  void* b = raw_alloc_with_stream(51 * kMiB, own);  // waits for the user of a, frees a
  const DeviceStats stats = getDeviceStats(0);
  EXPECT_EQ(stats.num_alloc_retries, 1);
  EXPECT_EQ(stats.num_ooms, 0);
  EXPECT_EQ(stats.num_sync_all_streams, 1);
  raw_delete(b);
  // What comes back from the other stream may suffice by itself.
  void* c = raw_alloc_with_stream(52 * kMiB, own);
  C10_CUDA_CHECK(cudaMemsetAsync(c, 1, 512, user));
  record(c, user);
  raw_delete(c);
  void* d = raw_alloc_with_stream(40 * kMiB, own);
  raw_delete(d);
  emptyCache();
}

TEST_F(CachingAllocator, TheErrorSaysWhatIsWhere) {
  begin({.memory_bytes = 64 * kMiB});
  static int64_t observed[4];
  static bool is_attached = false;
  if (!is_attached) {
    attachOutOfMemoryObserver([](int64_t device, size_t allocated, size_t total, size_t free) {
      observed[0] = device;
      observed[1] = static_cast<int64_t>(allocated);
      observed[2] = static_cast<int64_t>(total);
      observed[3] = static_cast<int64_t>(free);
    });
    is_attached = true;
  }
  void* a = raw_alloc(20 * kMiB);
  void* b = raw_alloc(2 * kMiB);
  std::string text;
  try {
    raw_alloc(50 * kMiB);
  } catch (const c10::OutOfMemoryError& error) {
    text = error.msg();
  }
  EXPECT_EQ(
      text,
      "CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 24.00 MiB "
      "is free. Of the allocated memory 22.00 MiB is allocated by PyTorch, and 18.00 MiB is reserved by PyTorch "
      "but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
      "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
  EXPECT_EQ(observed[0], 0);
  EXPECT_EQ(observed[1], 50 << 20);
  EXPECT_EQ(observed[2], 64 << 20);
  EXPECT_EQ(observed[3], 24 << 20);
  setMemoryFraction(0.75, 0);
  try {
    raw_alloc(19 * kMiB);
  } catch (const c10::OutOfMemoryError& error) {
    text = error.msg();
  }
  EXPECT_NE(text.find("24.00 MiB is free. 48.00 MiB allowed; Of the allocated memory"), std::string::npos) << text;
  EXPECT_EQ(observed[2], 48 << 20);
  EXPECT_EQ(getDeviceStats(0).num_ooms, 2);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_THROW(raw_alloc(size_t{1} << 60), c10::OutOfMemoryError);
  EXPECT_THROW(raw_alloc(~size_t{0}), c10::OutOfMemoryError);
  raw_delete(a);
  raw_delete(b);
}

void* g_held = nullptr;
struct DropHeld final : FreeMemoryCallback {
  bool Execute() override {
    if (g_held == nullptr) return false;
    raw_delete(std::exchange(g_held, nullptr));
    return true;
  }
};
REGISTER_FREE_MEMORY_CALLBACK("drop_held", DropHeld);

TEST_F(CachingAllocator, CallbacksFreeMemoryBeforeMoreIsTaken) {
  g_held = raw_alloc(30 * kMiB);
  void* const held = g_held;
  EXPECT_EQ(raw_alloc(30 * kMiB), held);
  EXPECT_EQ(getDeviceStats(0).num_device_alloc, 1);
  raw_delete(held);
}

std::function<void()> g_when_short;
struct WhenShort final : FreeMemoryCallback {
  bool Execute() override {
    if (g_when_short) std::exchange(g_when_short, nullptr)();
    return false;
  }
};
REGISTER_FREE_MEMORY_CALLBACK("when_short", WhenShort);

// --- pools ---

TEST_F(CachingAllocator, CapturesAllocateFromTheirPoolAndKeepItsAddresses) {
  const TestStream stream, user;
  const MempoolId_t id = MemPool::graph_pool_handle(false);
  EXPECT_EQ(id.second, 0u);
  void* before = raw_alloc_with_stream(512, stream);
  beginAllocateToPool(0, id, [&](cudaStream_t s) { return s == stream; });
  EXPECT_EQ(getPoolUseCount(0, id), 1);
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* a = raw_alloc_with_stream(512, stream);  // a segment is made: the capture goes on
  void* outside = raw_alloc_with_stream(512, user);
  C10_CUDA_CHECK(cudaMemsetAsync(a, 1, 512, stream));
  record(before, user);
  raw_delete(before);  // no event now
  EXPECT_EQ(cuda_standin::live().events, 0u);
  void* b = raw_alloc_with_stream(512, stream);
  EXPECT_NE(b, before);
  EXPECT_EQ(layout(0, id), "small 2097152: 512* 512* 2096128\n");
  raw_delete(a);  // of the capturing stream: usable at once, by the graph
  EXPECT_EQ(raw_alloc_with_stream(512, stream), a);
  cudaGraph_t graph = nullptr;
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  ASSERT_NE(graph, nullptr);
  endAllocateToPool(0, id);
  raw_delete(a);
  raw_delete(b);
  raw_delete(outside);
  raw_delete(raw_alloc_with_stream(512, user));  // asks the streams again
  EXPECT_EQ(cuda_standin::live().events, 1u);
  void* c = raw_alloc_with_stream(512, stream);
  EXPECT_NE(c, a);
  raw_delete(c);
  emptyCache();
  EXPECT_EQ(layout(), "");
  EXPECT_EQ(layout(0, id), "small 2097152: 2097152\n");  // the graph may be replayed
  cudaGraphExec_t exec = nullptr;
  C10_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
  C10_CUDA_CHECK(cudaGraphLaunch(exec, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  C10_CUDA_CHECK(cudaGraphExecDestroy(exec));
  C10_CUDA_CHECK(cudaGraphDestroy(graph));
  releasePool(0, id);
  EXPECT_EQ(getPoolUseCount(0, id), 0);
  emptyCache();
  EXPECT_EQ(layout(0, id), "");
}

// An allocation holds its pool while it gives up the lock, and the last that does takes it away.
TEST_F(CachingAllocator, PoolsAreReleasedWhileAnAllocationFromThemLooksForMemory) {
  const MempoolId_t id{9, 0};
  const auto said_of = [](MempoolId_t pool) {
    try {
      releasePool(0, pool);
    } catch (const c10::Error& error) {
      return error.msg();
    }
    return std::string("it was released");
  };
  static std::function<void()> when_out;
  static bool is_attached = false;
  if (!is_attached) {
    attachOutOfMemoryObserver([](int64_t, size_t, size_t, size_t) {
      if (when_out) std::exchange(when_out, nullptr)();
    });
    is_attached = true;
  }
  // By the limit before CUDA is asked, and by CUDA.
  for (const double fraction : {0.5, 1.0}) {
    setMemoryFraction(fraction, 0);
    beginAllocateToPool(0, id, [](cudaStream_t) { return true; });
    g_when_short = [&] {
      std::thread([&] {
        endAllocateToPool(0, id);
        releasePool(0, id);
      }).join();
    };
    std::string while_it_looks;
    when_out = [&] { while_it_looks = said_of(id); };
    EXPECT_THROW(raw_alloc(size_t{1} << 40), c10::OutOfMemoryError);
    EXPECT_FALSE(g_when_short);
    EXPECT_NE(while_it_looks.find("pool {9, 0} has no user"), std::string::npos) << while_it_looks;
    EXPECT_NE(said_of(id).find("there is no pool {9, 0}"), std::string::npos) << said_of(id);
  }
  setMemoryFraction(1, 0);
  // What it finds is the pool's, which lives as long.
  beginAllocateToPool(0, id, [](cudaStream_t) { return true; });
  g_when_short = [&] {
    std::thread([&] {
      endAllocateToPool(0, id);
      releasePool(0, id);
    }).join();
  };
  void* const block = raw_alloc(12 * kMiB);
  EXPECT_EQ(layout(0, id), "large 12582912: 12582912*\n");
  raw_delete(block);
  emptyCache();
  EXPECT_EQ(layout(0, id), "");
  EXPECT_THROW(releasePool(0, id), c10::Error);
}

TEST_F(CachingAllocator, MisuseOfPoolsIsAnError) {
  const auto everything = [](cudaStream_t) { return true; };
  EXPECT_THROW(beginAllocateToPool(0, {0, 0}, everything), c10::Error);
  EXPECT_THROW(beginAllocateToPool(0, {1, 1}, everything), c10::Error);
  EXPECT_THROW(beginAllocateToPool(0, {7, 0}, nullptr), c10::Error);
  EXPECT_THROW(beginAllocateToPool(5, {7, 0}, everything), c10::Error);
  EXPECT_THROW(endAllocateToPool(0, {7, 0}), c10::Error);
  EXPECT_THROW(releasePool(0, {7, 0}), c10::Error);
  EXPECT_THROW(setUseOnOOM(0, {7, 0}), c10::Error);
  EXPECT_EQ(getPoolUseCount(0, {7, 0}), 0);
  beginAllocateToPool(0, {7, 0}, everything);
  EXPECT_THROW(beginAllocateToPool(0, {7, 0}, everything), c10::Error);
  EXPECT_EQ(getPoolUseCount(0, {7, 0}), 1);
  endAllocateToPool(0, {7, 0});
  releasePool(0, {7, 0});
  EXPECT_THROW(releasePool(0, {7, 0}), c10::Error);
}

TEST_F(CachingAllocator, MemPoolsWorkAsDocumented) {
  {
    MemPool pool;
    EXPECT_EQ(pool.id().first, 0u);
    EXPECT_EQ(pool.use_count(), 1);
    void* out_0 = nullptr;
    {
      const MemPoolContext context(&pool);
      EXPECT_EQ(MemPoolContext::getActiveMemPool(), &pool);
      out_0 = raw_alloc(kMiB);
      EXPECT_EQ(pool.use_count(), 2);
      const MemPoolContext again(&pool);
      EXPECT_EQ(pool.use_count(), 2);
    }
    EXPECT_EQ(MemPoolContext::getActiveMemPool(), nullptr);
    EXPECT_EQ(pool.use_count(), 1);
    const MemPoolContext context(&pool);
    EXPECT_EQ(pool.snapshot().size(), 1u);
    void* out_1 = raw_alloc(kMiB);
    EXPECT_EQ(pool.snapshot().size(), 1u);
    void* out_2 = raw_alloc(kMiB);
    EXPECT_EQ(pool.snapshot().size(), 2u);
    {
      MemPool inner;
      const MemPoolContext innermost(&inner);
      raw_delete(raw_alloc(kMiB));
      EXPECT_EQ(inner.snapshot().size(), 1u);
    }
    EXPECT_EQ(pool.snapshot().size(), 2u);
    EXPECT_TRUE(checkPoolLiveAllocations(0, pool.id(), {out_0, out_1, out_2}));
    EXPECT_FALSE(checkPoolLiveAllocations(0, pool.id(), {out_0, out_1}));
    EXPECT_FALSE(checkPoolLiveAllocations(0, pool.id(), {out_0, out_1, nullptr}));
    for (void* p : {out_0, out_1, out_2}) raw_delete(p);
    EXPECT_EQ(layout(), "");
  }
  EXPECT_EQ(cuda_standin::live_allocations(), 0u);
  void* late = nullptr;
  {
    MemPool pool;
    const MemPoolContext context(&pool);
    late = raw_alloc(kMiB);
  }
  EXPECT_EQ(cuda_standin::live_allocations(), 1u);
  raw_delete(late);
  emptyCache();
  EXPECT_EQ(cuda_standin::live_allocations(), 0u);
}

TEST_F(CachingAllocator, EmptyingTheCacheDoesNotEndACapture) {
  const TestStream stream;
  raw_delete(raw_alloc(512));
  raw_delete(raw_alloc(30 * kMiB));
  const MempoolId_t id = MemPool::graph_pool_handle(false);
  beginAllocateToPool(0, id, [&](cudaStream_t s) { return s == stream; });
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* a = raw_alloc_with_stream(512, stream);
  C10_CUDA_CHECK(cudaMemsetAsync(a, 1, 512, stream));
  emptyCache();
  EXPECT_EQ(layout(), "");
  cudaGraph_t graph = nullptr;
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  C10_CUDA_CHECK(cudaGraphDestroy(graph));
  endAllocateToPool(0, id);
  raw_delete(a);
  releasePool(0, id);
}

TEST_F(CachingAllocator, PoolsTakeTheirSegmentsFromAnotherAllocator) {
  static std::map<void*, size_t> given;
  static bool is_exhausted = false;
  const auto other = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
      [](size_t size, int, cudaStream_t) -> void* {
        if (is_exhausted) return nullptr;
        void* data = nullptr;
        C10_CUDA_CHECK(cudaMalloc(&data, size));
        given[data] = size;
        return data;
      },
      [](void* data, size_t size, int device, cudaStream_t) {
        EXPECT_EQ(given.at(data), size);
        EXPECT_EQ(device, 0);
        given.erase(data);
        C10_CUDA_CHECK(cudaFree(data));
      });
  setAllocatorSettings("expandable_segments:True");  // which such pools do not have
  {
    MemPool pool(other.get());
    EXPECT_EQ(pool.allocator(), other.get());
    void* a = nullptr;
    {
      const MemPoolContext context(&pool);
      a = raw_alloc(512);
      raw_delete(raw_alloc(512));
      EXPECT_EQ(given, (std::map<void*, size_t>{{a, 2 * kMiB}}));
      is_exhausted = true;
      EXPECT_THROW(raw_alloc(30 * kMiB), c10::OutOfMemoryError);
      is_exhausted = false;
    }
    const auto third = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
        [](size_t, int, cudaStream_t) -> void* { return nullptr; }, [](void*, size_t, int, cudaStream_t) {});
    EXPECT_THROW(createOrIncrefPool(0, pool.id(), third.get()), c10::Error);
    EXPECT_EQ(pool.use_count(), 1);
    raw_delete(a);
    EXPECT_EQ(given.size(), 1u);
  }
  EXPECT_TRUE(given.empty());
}

TEST_F(CachingAllocator, PoolsMayServeAnybodyWhenMemoryRunsOut) {
  begin({.memory_bytes = 64 * kMiB});
  for (const bool use_on_oom : {false, true}) {
    MemPool pool(nullptr, true, use_on_oom);
    {
      const MemPoolContext context(&pool);
      raw_delete(raw_alloc(50 * kMiB));
    }
    if (!use_on_oom) {
      EXPECT_THROW(raw_alloc(40 * kMiB), c10::OutOfMemoryError);
      continue;
    }
    void* a = raw_alloc(40 * kMiB);
    EXPECT_TRUE(checkPoolLiveAllocations(0, pool.id(), {a}));
    raw_delete(a);
  }
}

TEST_F(CachingAllocator, PoolsMayGiveEveryAllocationItsSegment) {
  MemPool pool(nullptr, true, false, /*no_split=*/true);
  const MemPoolContext context(&pool);
  void* a = raw_alloc(512);
  void* b = raw_alloc(512);
  EXPECT_EQ(layout(0, pool.id()), "small 2097152: 2097152*\nsmall 2097152: 2097152*\n");
  raw_delete(a);
  raw_delete(b);
}

TEST_F(CachingAllocator, TheErrorCountsPrivatePools) {
  begin({.memory_bytes = 64 * kMiB});
  MemPool pool;
  const MemPoolContext context(&pool);
  void* a = raw_alloc(30 * kMiB);
  try {
    raw_alloc(50 * kMiB);
    ADD_FAILURE();
  } catch (const c10::OutOfMemoryError& error) {
    EXPECT_NE(error.msg().find("30.00 MiB is allocated by PyTorch, with 30.00 MiB allocated in private pools (e.g., "
                               "CUDA Graphs), and 0 bytes is reserved"),
              std::string::npos)
        << error.msg();
  }
  raw_delete(a);
}

TEST_F(CachingAllocator, CheckpointsBringAPoolsBlocksBack) {
  for (const char* settings : {"", "expandable_segments:True"}) {
    setAllocatorSettings(settings);
    const MempoolId_t id = MemPool::graph_pool_handle(false);
    beginAllocateToPool(0, id, [](cudaStream_t) { return true; });
    void* a = raw_alloc(1000);
    void* b = raw_alloc(3000);
    void* c = raw_alloc(5 * kMiB);
    void* d = raw_alloc(700);
    raw_delete(b);
    const std::string then = layout(0, id);
    const auto state = getCheckpointState(0, id);
    raw_delete(a);
    void* e = raw_alloc(4096);
    raw_delete(c);
    void* f = raw_alloc(9 * kMiB);
    void* g = raw_alloc(30 * kMiB);
    EXPECT_NE(layout(0, id), then);
    CheckpointDelta delta = setCheckpointPoolState(0, state);
    EXPECT_EQ(std::set<void*>(delta.ptrs_freed.begin(), delta.ptrs_freed.end()), (std::set<void*>{d, e, f, g}));
    std::set<void*> allocated;
    for (DataPtr& data : delta.dataptrs_allocd) allocated.insert(data.get());
    EXPECT_EQ(allocated, (std::set<void*>{a, c, d}));
    EXPECT_TRUE(checkPoolLiveAllocations(0, id, {a, c, d}));
    const std::string now = layout(0, id);
    if (*settings == '\0') {
      EXPECT_EQ(now.substr(0, then.size()), then) << now;  // and the free segment of g
    }
    EXPECT_THROW(setCheckpointPoolState(0, nullptr), c10::Error);
    delta.dataptrs_allocd.clear();
    EXPECT_EQ(all(getDeviceStats(0).allocation), 0);
    endAllocateToPool(0, id);
    releasePool(0, id);
    emptyCache();
    EXPECT_THROW(setCheckpointPoolState(0, state), c10::Error);
  }
}

// --- expandable segments ---

TEST_F(CachingAllocator, ExpandableSegmentsGrow) {
  setAllocatorSettings("expandable_segments:True");
  void* a = raw_alloc(30 * kMiB);
  EXPECT_EQ(layout(), "expandable large 41943040: 31457280* 10485760\n");
  EXPECT_EQ(cuda_standin::live().mappings, 2u);
  void* b = raw_alloc(30 * kMiB);
  EXPECT_EQ(layout(), "expandable large 62914560: 31457280* 31457280*\n");
  EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 30 << 20);
  void* c = raw_alloc(1);
  void* d = raw_alloc(kMiB);
  EXPECT_NE(layout().find("expandable small 2097152: 512* 1048576* 1048064\n"), std::string::npos) << layout();
  EXPECT_EQ(all(getDeviceStats(0).segment), 2);
  EXPECT_EQ(all(getDeviceStats(0).reserved_bytes), (60 << 20) + (2 << 20));
  // What is allocated is memory, to its end.
  C10_CUDA_CHECK(cudaMemset(a, 1, 30 * kMiB));
  C10_CUDA_CHECK(cudaMemset(b, 1, 30 * kMiB));
  raw_delete(a);
  emptyCache();  // the whole pieces in front of b
  EXPECT_EQ(layout().substr(0, layout().find('\n')), "expandable large 41943040: 10485760 31457280*");
  EXPECT_EQ(all(getDeviceStats(0).reserved_bytes), (40 << 20) + (2 << 20));
  void* e = raw_alloc(28 * kMiB);  // into the hole
  EXPECT_EQ(e, a);
  for (void* p : {b, c, d, e}) raw_delete(p);
  emptyCache();
  EXPECT_EQ(cuda_standin::live().reservations, 0u);
}

TEST_F(CachingAllocator, ExpandableSegmentsGiveWayToEachOther) {
  begin({.memory_bytes = 100 * kMiB});
  setAllocatorSettings("expandable_segments:True");
  const TestStream one, two;
  raw_delete(raw_alloc_with_stream(80 * kMiB, one));
  void* a = raw_alloc_with_stream(60 * kMiB, two);
  EXPECT_EQ(getDeviceStats(0).num_alloc_retries, 1);
  EXPECT_EQ(layout(), "expandable large 62914560: 62914560*\n");
  EXPECT_THROW(raw_alloc_with_stream(50 * kMiB, one), c10::OutOfMemoryError);
  EXPECT_EQ(cuda_standin::live().reservations, 1u);
  raw_delete(a);
  emptyCache();
  setMemoryFraction(0.5, 0);
  EXPECT_THROW(raw_alloc_with_stream(60 * kMiB, two), c10::OutOfMemoryError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  emptyCache();
}

TEST_F(CachingAllocator, ExpandableSegmentsServeCapturesAndNotPoolsOfPrograms) {
  setAllocatorSettings("expandable_segments:True");
  const TestStream stream;
  const MempoolId_t id = MemPool::graph_pool_handle(false);
  beginAllocateToPool(0, id, [&](cudaStream_t s) { return s == stream; });
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* a = raw_alloc_with_stream(512, stream);
  EXPECT_EQ(layout(0, id), "expandable small 2097152: 512* 2096640\n");
  cudaGraph_t graph = nullptr;
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  C10_CUDA_CHECK(cudaGraphDestroy(graph));
  endAllocateToPool(0, id);
  raw_delete(a);
  emptyCache();
  EXPECT_EQ(layout(0, id), "expandable small 2097152: 2097152\n");
  releasePool(0, id);
  emptyCache();
  EXPECT_EQ(cuda_standin::live().reservations, 0u);
  MemPool pool;
  const MemPoolContext context(&pool);
  raw_delete(raw_alloc(512));
  EXPECT_EQ(layout(0, pool.id()), "small 2097152: 2097152\n");
}

TEST_F(CachingAllocator, PeersReachWhatExpandableSegmentsHaveAndWillHave) {
  setAllocatorSettings("expandable_segments:True");
  void* a = raw_alloc(512);
  enablePeerAccess(1, 0);
  enablePeerAccess(1, 0);
  enablePeerAccess(1, 1);
  void* b = raw_alloc(2 * kMiB);
  const CUDAGuard guard(1);
  const TestStream stream(1);
  for (void* p : {a, b}) C10_CUDA_CHECK(cudaMemsetAsync(p, 3, 512, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  for (void* p : {a, b}) raw_delete(p);
  EXPECT_THROW(enablePeerAccess(0, 9), c10::Error);
}

// --- others ---

TEST_F(CachingAllocator, CopiesBetweenDevices) {
  void* a = raw_alloc(256);
  C10_CUDA_CHECK(cudaMemset(a, 9, 256));
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  const CUDAGuard guard(1);
  void* b = raw_alloc(256);
  const TestStream stream(1);
  C10_CUDA_CHECK(memcpyAsync(b, 1, a, 0, 256, stream, false));
  unsigned char seen[256] = {};
  C10_CUDA_CHECK(cudaMemcpyAsync(seen, b, 256, cudaMemcpyDeviceToHost, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen[255], 9);
  raw_delete(a);
  raw_delete(b);
}

TEST_F(CachingAllocator, BlocksKnowTheirSegment) {
  void* a = raw_alloc(512);
  void* b = raw_alloc(512);
  size_t size = 0;
  EXPECT_EQ(getBaseAllocation(b, &size), a);
  EXPECT_EQ(size, 2 * kMiB);
  EXPECT_EQ(getBaseAllocation(a, nullptr), a);
  EXPECT_THROW(getBaseAllocation(static_cast<char*>(a) + 1, &size), c10::Error);
  size_t largest = 0;
  cacheInfo(0, &largest);
  EXPECT_EQ(largest, (size_t{1} << 30) - 2 * kMiB);
  largest = 1;
  cacheInfo(0, &largest);
  EXPECT_EQ(largest, 2 * kMiB - 1024);
  raw_delete(a);
  raw_delete(b);
}

TEST_F(CachingAllocator, HandlesOpenMemoryOnce) {
  raw_alloc(512);
  void* b = raw_alloc(512);
  const ShareableHandle handle = shareIpcHandle(b);
  EXPECT_EQ(handle.offset, 512);
  EXPECT_EQ(handle.handle.size(), sizeof(cudaIpcMemHandle_t));
  {
    const std::shared_ptr<void> opened = getIpcDevPtr(handle.handle);
    EXPECT_EQ(getIpcDevPtr(handle.handle), opened);
    EXPECT_NE(opened, nullptr);
  }
  getIpcDevPtr(handle.handle);
  EXPECT_THROW(getIpcDevPtr("short"), c10::Error);
  EXPECT_THROW(shareIpcHandle(&g_held), c10::Error);
  raw_delete(static_cast<char*>(b) - 512);
  raw_delete(b);
  setAllocatorSettings("expandable_segments:True");
  emptyCache();
  void* c = raw_alloc(512);
  EXPECT_THROW(shareIpcHandle(c), c10::NotImplementedError);
  raw_delete(c);
}

TEST_F(CachingAllocator, BadArgumentsAreErrors) {
  int on_host = 0;
  EXPECT_THROW(raw_delete(&on_host), c10::Error);
  void* a = raw_alloc(512);
  EXPECT_THROW(raw_delete(static_cast<char*>(a) + 256), c10::Error);
  raw_delete(a);
  EXPECT_THROW(raw_delete(a), c10::Error);
  for (const DeviceIndex device : {DeviceIndex{-1}, DeviceIndex{2}, DeviceIndex{119}}) {
    EXPECT_THROW(getDeviceStats(device), c10::Error);
    EXPECT_THROW(resetPeakStats(device), c10::Error);
    EXPECT_THROW(setMemoryFraction(0.5, device), c10::Error);
  }
  EXPECT_THROW(init(3), c10::Error);
  EXPECT_THROW(recordHistory(true, nullptr, 10, RecordContext::ALL), c10::Error);
  EXPECT_THROW(attachOutOfMemoryObserver(nullptr), c10::Error);
  EXPECT_THROW(attachAllocatorTraceTracker(nullptr), c10::Error);
  EXPECT_THROW(popCompileContext(), c10::Error);
  EXPECT_EQ(name(), "native");
  EXPECT_TRUE(get()->initialized());
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
