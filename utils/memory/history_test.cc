// Histories of memory, and checkpoints of the files that PyTorch's viewer reads.
#include "utils/memory/history.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "aten/aten.h"
#include "c10/memory/allocation_observer.h"
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

}  // namespace
}  // namespace torch::memory
