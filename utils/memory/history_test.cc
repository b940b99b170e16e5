// Histories of memory, and the files that PyTorch's viewer reads.
#include "utils/memory/history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "c10/memory/allocation_observer.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"
#include "utils/pickle/bare_pickle.h"

namespace torch::memory {
namespace {

using at::Tensor;

__attribute__((noinline)) Tensor named_function_of_the_test(int64_t size) {
  return at::exp(at::ones({size}));
}

TEST(MemoryHistory, KnowsWhoHoldsWhatAndWhen) {
  EXPECT_FALSE(is_recording_memory_history());
  const Tensor before = at::ones({5000});
  record_memory_history();
  EXPECT_THROW(record_memory_history(), c10::Error);
  const Tensor kept = named_function_of_the_test(1024);
  { const Tensor peak = at::neg(at::ones({2048})); }
  std::thread([] { at::ones({16}); }).join();
  Snapshot snapshot = memory::snapshot();
  stop_memory_history();
  stop_memory_history();
  at::ones({64});
  EXPECT_FALSE(c10::memoryProfilingEnabled());
  EXPECT_EQ(memory::snapshot().events.size(), snapshot.events.size());

  ASSERT_EQ(snapshot.blocks.size(), 1u);
  EXPECT_EQ(snapshot.blocks[0].bytes, 4096u);
  EXPECT_EQ(snapshot.blocks[0].address, reinterpret_cast<uintptr_t>(kept.const_data_ptr()));
  EXPECT_EQ(snapshot.blocks[0].origin->range, "aten::exp");
  ASSERT_EQ(snapshot.events.size(), 9u) << "five blocks, four of them freed";
  size_t held = 0;
  for (const Event& event : snapshot.events) {
    held = event.is_free ? held - event.block.bytes : held + event.block.bytes;
    EXPECT_EQ(event.total, held);
    EXPECT_GT(event.time_us, 0);
  }
  EXPECT_EQ(held, 4096u);
  EXPECT_EQ(snapshot.peak_bytes, 4096u + 2 * 8192u);
  size_t at_peak = 0;
  for (const PeakShare& share : snapshot.peak_by_range) at_peak += share.bytes;
  EXPECT_EQ(at_peak, snapshot.peak_bytes);
  const std::string table = snapshot.peak_table(1);
  EXPECT_NE(table.find("8.00 KB"), std::string::npos) << table;
  EXPECT_NE(table.find("Peak: 20.00 KB"), std::string::npos) << table;
}

TEST(MemoryHistory, IsBoundedAndWithoutStacksWhereAskedFor) {
  record_memory_history({.stacks = false, .max_entries = 3});
  for (int i = 0; i < 10; ++i) at::ones({2000});
  const Snapshot snapshot = memory::snapshot();
  stop_memory_history();
  EXPECT_EQ(snapshot.events.size(), 3u);
  for (const Event& event : snapshot.events) EXPECT_TRUE(event.block.origin->frames.empty());
  EXPECT_EQ(snapshot.peak_bytes, 8000u);
  EXPECT_TRUE(snapshot.blocks.empty());
}

TEST(MemoryHistory, SeesDevicesThatTellOfTheirs) {
  const c10::Device device(c10::kPrivateUse1, 1);
  int block = 0;
  record_memory_history();
  c10::reportMemoryUsageToProfiler(&block, 512, 512, 1024, device);
  Snapshot snapshot = memory::snapshot();
  c10::reportMemoryUsageToProfiler(&block, -512, 0, 1024, device);
  stop_memory_history();
  ASSERT_EQ(snapshot.blocks.size(), 1u);
  EXPECT_EQ(snapshot.blocks[0].device, device);
  EXPECT_EQ(snapshot.to_value().toGenericDict().at("device_traces").toListRef().size(), 3u);
  snapshot = memory::snapshot();
  EXPECT_TRUE(snapshot.blocks.empty());
  EXPECT_EQ(snapshot.peak_bytes, 512u);
}

TEST(MemoryHistory, ComesAndGoesWhileOthersAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&stop, n] {
      std::deque<Tensor> held;
      for (int64_t i = 0; !stop; ++i) {
        held.push_back(at::ones({1 + (i * 37 + n) % 5000}));
        if (held.size() > 20) held.pop_front();
      }
      for (const Tensor& tensor : held) EXPECT_EQ(at::sum(tensor).item<double>(), static_cast<double>(tensor.numel()));
    });
  }
  for (int i = 0; i < 50; ++i) {
    record_memory_history({.stacks = i % 5 == 0, .max_entries = 100});
    const Tensor mine = at::ones({100});
    EXPECT_GE(snapshot().peak_bytes, 400u);
    stop_memory_history();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(c10::GetCPUAllocator(), c10::GetDefaultCPUAllocator());
}

TEST(MemoryHistory, WritesThePickleOfTheViewer) {
  record_memory_history();
  const Tensor kept = named_function_of_the_test(1024);
  const std::string path = ::testing::TempDir() + "/memory.pickle";
  dump_snapshot(path);
  stop_memory_history();
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string text = bytes.str();
  const auto all = jit::unpickle(text.data(), text.size()).toGenericDict();
  ASSERT_EQ(all.at("segments").toListRef().size(), 1u);
  const auto segment = all.at("segments").toListRef()[0].toGenericDict();
  EXPECT_EQ(segment.at("total_size").toInt(), 4096);
  const auto block = segment.at("blocks").toListRef()[0].toGenericDict();
  EXPECT_EQ(block.at("state").toStringRef(), "active_allocated");
  bool is_named = false;
  for (const c10::IValue& frame : block.at("frames").toListRef()) {
    is_named |= frame.toGenericDict().at("name").toStringRef().find("named_function_of_the_test") != std::string::npos;
  }
  EXPECT_TRUE(is_named);
  std::vector<std::string> actions;
  for (const c10::IValue& entry : all.at("device_traces").toListRef()[0].toListRef()) {
    actions.push_back(entry.toGenericDict().at("action").toStringRef());
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"alloc", "alloc", "free_requested", "free_completed"}));
  EXPECT_THROW(memory::snapshot().save("/no/such/folder/m.pickle"), c10::Error);
  if (const char* copy = std::getenv("KINDLING_KEEP_SNAPSHOT")) std::ofstream(copy, std::ios::binary) << text;
  std::remove(path.c_str());
}

// As //utils/profiler:cuda_memory has them; with that one, //tests/cuda_on_host:profiler_test.
TEST(MemoryHistory, SegmentsOfDevices) {
  detail::segments = [] {
    Segment segment;
    segment.device = c10::Device(c10::kCUDA, 0);
    segment.address = 0x1000;
    segment.bytes = 0x600;
    segment.stream = 7;
    segment.blocks = {{0x1000, 0x200, 0x1f0, true, true},
                      {0x1200, 0x200, 0x200, false, true},
                      {0x1400, 0x200, 0, false, false}};
    return std::vector<Segment>{segment};
  };
  EXPECT_EQ(detail::segment_listener.load(), nullptr);
  record_memory_history();
  detail::segment_listener.load()({"segment_alloc", c10::Device(c10::kCUDA, 0), 0x1000, 0x600, 7});
  const Snapshot now = snapshot();
  stop_memory_history();
  detail::segments = nullptr;
  EXPECT_EQ(detail::segment_listener.load(), nullptr);
  const auto all = now.to_value().toGenericDict();
  const auto segment = all.at("segments").toListRef()[0].toGenericDict();
  EXPECT_EQ(segment.at("device").toInt(), 1);
  EXPECT_EQ(segment.at("allocated_size").toInt(), 0x200);
  EXPECT_EQ(segment.at("active_size").toInt(), 0x400);
  EXPECT_EQ(segment.at("requested_size").toInt(), 0x3f0);
  EXPECT_EQ(segment.at("segment_type").toStringRef(), "small");
  std::vector<std::string> states;
  for (const c10::IValue& block : segment.at("blocks").toListRef()) {
    states.push_back(block.toGenericDict().at("state").toStringRef());
  }
  EXPECT_EQ(states, (std::vector<std::string>{"active_allocated", "active_awaiting_free", "inactive"}));
  const auto entry = all.at("device_traces").toListRef()[1].toListRef()[0].toGenericDict();
  EXPECT_EQ(entry.at("action").toStringRef(), "segment_alloc");
  EXPECT_EQ(entry.at("size").toInt(), 0x600);
  EXPECT_EQ(entry.at("stream").toInt(), 7);
}

}  // namespace
}  // namespace torch::memory
