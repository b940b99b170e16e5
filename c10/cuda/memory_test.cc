#include "c10/cuda/memory.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "c10/cuda/allocator/testing.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

using CudaMemory = AllocatorTest;
namespace memory = torch::cuda::memory;

std::string actions(const std::vector<TraceEntry>& trace) {
  std::string text;
  for (const TraceEntry& entry : trace) text += std::string(text.empty() ? "" : " ") + action_name(entry.action_);
  return text;
}

// --- statistics ---

TEST_F(CudaMemory, StatisticsHaveTheirDocumentedNames) {
  void* small = raw_alloc(1000);
  void* large = raw_alloc(3 * kMiB);
  raw_delete(large);
  const auto stats = torch::cuda::memory_stats();
  for (const char* name : {"allocated", "allocation"}) {
    const std::string key = name;
    EXPECT_EQ(stats.at(key + ".all.current"), 1);
    EXPECT_EQ(stats.at(key + ".all.peak"), 2);
    EXPECT_EQ(stats.at(key + ".all.allocated"), 2);
    EXPECT_EQ(stats.at(key + ".all.freed"), 1);
    EXPECT_EQ(stats.at(key + ".small_pool.current"), 1);
    EXPECT_EQ(stats.at(key + ".large_pool.current"), 0);
  }
  EXPECT_EQ(stats.at("allocated_bytes.all.current"), 1024);
  EXPECT_EQ(stats.at("allocated_bytes.all.peak"), 1024 + (3 << 20));
  EXPECT_EQ(stats.at("allocated_bytes.large_pool.freed"), 3 << 20);
  EXPECT_EQ(stats.at("requested_bytes.small_pool.current"), 1000);
  EXPECT_EQ(stats.at("reserved_bytes.all.current"), 22 << 20);
  EXPECT_EQ(stats.at("segment.all.current"), 2);
  EXPECT_EQ(stats.at("active_bytes.all.current"), 1024);
  EXPECT_EQ(stats.at("active.all.current"), 1);
  EXPECT_EQ(stats.at("inactive_split.all.current"), 1);
  EXPECT_EQ(stats.at("inactive_split_bytes.all.current"), (2 << 20) - 1024);
  EXPECT_EQ(stats.at("num_alloc_retries"), 0);
  EXPECT_EQ(stats.at("num_ooms"), 0);
  EXPECT_EQ(stats.at("num_device_alloc"), 2);
  EXPECT_EQ(stats.at("max_split_size"), -1);
  EXPECT_EQ(stats.at("oversize_allocations.current"), 0);
  EXPECT_EQ(torch::cuda::memory_allocated(), 1024);
  EXPECT_EQ(torch::cuda::max_memory_allocated(), 1024 + (3 << 20));
  EXPECT_EQ(torch::cuda::memory_reserved(0), 22 << 20);
  EXPECT_EQ(torch::cuda::max_memory_reserved(0), 22 << 20);
  EXPECT_EQ(torch::cuda::memory_reserved(1), 0);
  torch::cuda::reset_peak_memory_stats();
  EXPECT_EQ(torch::cuda::max_memory_allocated(), 1024);
  torch::cuda::reset_accumulated_memory_stats();
  EXPECT_EQ(torch::cuda::memory_stats().at("allocated.all.allocated"), 0);
  EXPECT_EQ(torch::cuda::memory_stats().at("num_device_alloc"), 0);
  raw_delete(small);
  torch::cuda::empty_cache();
  EXPECT_EQ(torch::cuda::memory_reserved(), 0);
}

TEST_F(CudaMemory, TheSummaryIsATable) {
  void* a = raw_alloc(2 * kMiB);
  EXPECT_EQ(torch::cuda::memory_summary(0, true).substr(0, 78 * 8),
            "|===========================================================================|\n"
            "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
            "|---------------------------------------------------------------------------|\n"
            "|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |\n"
            "|===========================================================================|\n"
            "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
            "|---------------------------------------------------------------------------|\n"
            "| Allocated memory      |   2048 KiB |   2048 KiB |   2048 KiB |      0 B   |\n");
  EXPECT_NE(torch::cuda::memory_summary(0).find("|       from large pool |"), std::string::npos);
  raw_delete(a);
}

TEST_F(CudaMemory, OtherNames) {
  EXPECT_EQ(torch::cuda::get_allocator_backend(), "native");
  torch::cuda::set_per_process_memory_fraction(0.5, 1);
  EXPECT_EQ(torch::cuda::get_per_process_memory_fraction(1), 0.5);
  EXPECT_EQ(torch::cuda::get_per_process_memory_fraction(), 1);
  const TestStream stream;
  void* a = torch::cuda::caching_allocator_alloc(512, 0, stream);
  void* b = torch::cuda::caching_allocator_alloc(512, 1);
  EXPECT_EQ(torch::cuda::memory_snapshot().size(), 2u);
  EXPECT_EQ(torch::cuda::memory_snapshot()[0].stream, static_cast<cudaStream_t>(stream));
  EXPECT_EQ(torch::cuda::memory_allocated(1), 512);
  torch::cuda::caching_allocator_delete(a);
  torch::cuda::caching_allocator_delete(b);
  torch::cuda::caching_allocator_enable(false);
  EXPECT_FALSE(isEnabled());
  torch::cuda::MemPool pool;
  const torch::cuda::use_mem_pool context(&pool);
  raw_delete(raw_alloc(1));
  emptyCache();
}

// --- snapshots ---

TEST_F(CudaMemory, SnapshotsShowSegmentsAndBlocks) {
  const TestStream other;
  void* a = raw_alloc(1000);
  void* b = raw_alloc(700);
  recordStream(DataPtr(b, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, 0)),
               getStreamFromExternal(other, 0));
  C10_CUDA_CHECK(cudaMemsetAsync(b, 0, 700, other));
  raw_delete(b);
  const SnapshotInfo info = snapshot();
  ASSERT_EQ(info.segments.size(), 1u);
  const SegmentInfo& segment = info.segments[0];
  EXPECT_EQ(segment.address, reinterpret_cast<size_t>(a));
  EXPECT_EQ(segment.total_size, 2 * kMiB);
  EXPECT_EQ(segment.allocated_size, 1024u);
  EXPECT_EQ(segment.active_size, 2048u);
  EXPECT_EQ(segment.requested_size, 1700u);
  EXPECT_FALSE(segment.is_large);
  ASSERT_EQ(segment.blocks.size(), 3u);
  EXPECT_TRUE(segment.blocks[0].allocated && segment.blocks[0].active);
  EXPECT_EQ(segment.blocks[0].requested_size, 1000u);
  EXPECT_TRUE(!segment.blocks[1].allocated && segment.blocks[1].active);
  EXPECT_TRUE(!segment.blocks[2].allocated && !segment.blocks[2].active);
  raw_delete(a);
}

TEST_F(CudaMemory, TheHistoryKeepsTheLastEventsInOrder) {
  recordHistory(true, nullptr, 100, RecordContext::NEVER);
  EXPECT_TRUE(isHistoryEnabled());
  void* a = raw_alloc(600);
  raw_delete(a);
  emptyCache();
  EXPECT_EQ(actions(snapshot().device_traces.at(0)), "segment_alloc alloc free_requested free_completed segment_free");
  const std::vector<TraceEntry> trace = snapshot().device_traces.at(0);
  EXPECT_EQ(actions(trace), "segment_alloc alloc free_requested free_completed segment_free snapshot");
  EXPECT_EQ(trace[1].addr_, reinterpret_cast<size_t>(a));
  EXPECT_EQ(trace[1].size_, 600u);
  EXPECT_EQ(trace[0].size_, 2 * kMiB);
  EXPECT_GT(trace[0].time_.t_, 0);
  EXPECT_LE(trace[0].time_.t_, trace[4].time_.t_);
  recordHistory(true, nullptr, 3, RecordContext::NEVER);
  for (int i = 0; i < 5; ++i) raw_delete(raw_alloc(static_cast<size_t>(100 + i)));
  const std::vector<TraceEntry> last = snapshot().device_traces.at(0);
  EXPECT_EQ(actions(last), "alloc free_requested free_completed");
  EXPECT_EQ(last[0].size_, 104u);
  recordHistory(false, nullptr, 0, RecordContext::NEVER, true);
  EXPECT_FALSE(isHistoryEnabled());
  raw_delete(raw_alloc(1));
  EXPECT_TRUE(snapshot().device_traces.at(0).empty());
}

TEST_F(CudaMemory, FreesThatWaitAndExpandableSegmentsAndExhaustionAreEvents) {
  begin({.memory_bytes = 64 * kMiB});
  recordHistory(true, nullptr, 100, RecordContext::NEVER);
  setAllocatorSettings("expandable_segments:True");
  const TestStream own, other;
  void* a = raw_alloc_with_stream(512, own);
  recordStream(DataPtr(a, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, 0)),
               getStreamFromExternal(other, 0));
  C10_CUDA_CHECK(cudaMemsetAsync(a, 0, 512, other));
  raw_delete(a);
  EXPECT_EQ(actions(snapshot().device_traces.at(0)), "segment_map alloc free_requested");
  emptyCache();
  EXPECT_THROW(raw_alloc_with_stream(100 * kMiB, own), c10::OutOfMemoryError);
  const std::vector<TraceEntry> trace = snapshot().device_traces.at(0);
  EXPECT_EQ(actions(trace), "segment_map alloc free_requested snapshot free_completed segment_unmap oom");
  EXPECT_EQ(trace.back().addr_, 64 * kMiB);
  EXPECT_EQ(trace.back().size_, 100 * kMiB);
}

struct NumberContext final : GatheredContext {
  int number = 0;
};
int g_contexts = 0;
std::shared_ptr<GatheredContext> next_number() {
  auto context = std::make_shared<NumberContext>();
  context->number = ++g_contexts;
  return context;
}
int number_of(const std::shared_ptr<GatheredContext>& context) {
  const auto* number = dynamic_cast<const NumberContext*>(context.get());
  return number == nullptr ? 0 : number->number;
}

TEST_F(CudaMemory, ContextsAreRecordedForWhatWasAskedFor) {
  struct Case {
    RecordContext when;
    int of_block, of_alloc, of_free;
  };
  for (const Case& c : {Case{RecordContext::NEVER, 0, 0, 0}, Case{RecordContext::STATE, 1, 0, 0},
                        Case{RecordContext::ALLOC, 1, 1, 0}, Case{RecordContext::ALL, 1, 1, 2}}) {
    g_contexts = 0;
    recordHistory(true, &next_number, 10, c.when, true);
    void* a = raw_alloc(512);
    const SnapshotInfo info = snapshot();
    EXPECT_EQ(number_of(info.segments.at(0).blocks.at(0).context_when_allocated), c.of_block);
    EXPECT_EQ(number_of(info.segments.at(0).context_when_allocated), c.of_block);
    raw_delete(a);
    const std::vector<TraceEntry> trace = snapshot().device_traces.at(0);
    ASSERT_EQ(actions(trace), "segment_alloc alloc snapshot free_requested free_completed");
    EXPECT_EQ(number_of(trace[1].context_), c.of_alloc);
    EXPECT_EQ(number_of(trace[3].context_), c.of_free);
    EXPECT_EQ(number_of(trace[4].context_), c.of_free);
    EXPECT_EQ(number_of(snapshot().segments.at(0).blocks.at(0).context_when_allocated), 0);
    emptyCache();
  }
}

TEST_F(CudaMemory, TrackersAnnotationsAndMetadata) {
  static std::vector<TraceEntry> seen;
  static bool is_listening = false;
  static const bool is_attached = [] {
    attachAllocatorTraceTracker([](const TraceEntry& entry) {
      if (is_listening) seen.push_back(entry);
    });
    return true;
  }();
  EXPECT_TRUE(is_attached);
  is_listening = true;
  std::string context = "graph 7";
  pushCompileContext(context);
  setUserMetadata("step 3");
  EXPECT_EQ(getUserMetadata(), "step 3");
  raw_delete(raw_alloc(512));  // without a history
  popCompileContext();
  setUserMetadata("");
  is_listening = false;
  EXPECT_EQ(actions(seen), "segment_alloc alloc free_requested free_completed");
  EXPECT_EQ(seen[1].compile_context_, "graph 7");
  EXPECT_EQ(seen[1].user_metadata_, "step 3");
  EXPECT_TRUE(snapshot().device_traces.at(0).empty());
  recordAnnotation({{"stage", "not recorded"}});
  recordHistory(true, nullptr, 2, RecordContext::NEVER);
  for (const char* stage : {"one", "two", "three"}) recordAnnotation({{"stage", stage}});
  const auto annotations = snapshot().external_annotations;
  ASSERT_EQ(annotations.size(), 2u);
  EXPECT_EQ(annotations[0].metadata_[0].second, "two");
  EXPECT_EQ(annotations[1].metadata_[0].second, "three");
}

TEST_F(CudaMemory, FilesHoldTheSnapshot) {
  memory::_record_memory_history("all", "all", 50);
  setAllocatorSettings("max_split_size_mb:64");
  void* a = raw_alloc(1000);
  raw_delete(raw_alloc(5000));
  recordAnnotation({{"stage", "a \"quoted\"\nline"}});
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/snapshot.json";
  memory::_dump_snapshot(path);
  const auto json = nlohmann::json::parse(std::ifstream(path));
  const auto& segment = json.at("segments").at(0);
  EXPECT_EQ(segment.at("address"), reinterpret_cast<size_t>(a));
  EXPECT_EQ(segment.at("total_size"), 2 << 20);
  EXPECT_EQ(segment.at("segment_type"), "small");
  EXPECT_EQ(segment.at("allocated_size"), 1024);
  EXPECT_EQ(segment.at("active_size"), 1024);
  EXPECT_EQ(segment.at("stream"), 0);
  EXPECT_EQ(segment.at("blocks").size(), 2u);
  EXPECT_EQ(segment.at("blocks").at(0).at("state"), "active_allocated");
  EXPECT_EQ(segment.at("blocks").at(0).at("requested_size"), 1000);
  EXPECT_FALSE(segment.at("blocks").at(0).at("frames").empty());
  EXPECT_EQ(segment.at("blocks").at(1).at("state"), "inactive");
  EXPECT_EQ(segment.at("blocks").at(1).at("address"), reinterpret_cast<size_t>(a) + 1024);
  const auto& trace = json.at("device_traces").at(0);
  EXPECT_EQ(trace.size(), 5u);
  EXPECT_EQ(trace.at(1).at("action"), "alloc");
  EXPECT_EQ(trace.at(1).at("size"), 1000);
  EXPECT_EQ(trace.at(1).at("addr"), reinterpret_cast<size_t>(a));
  EXPECT_FALSE(trace.at(1).at("frames").at(0).at("name").get<std::string>().empty());
  EXPECT_EQ(json.at("external_annotations").at(0).at("stage"), "a \"quoted\"\nline");
  EXPECT_EQ(json.at("allocator_settings").at("max_split_size"), 64 << 20);
  EXPECT_THROW(memory::_dump_snapshot("/no/such/folder/file"), c10::Error);
  raw_delete(a);
}

TEST_F(CudaMemory, WordsOfTheHistory) {
  EXPECT_THROW(memory::_record_memory_history("some"), c10::ValueError);
  EXPECT_THROW(memory::_record_memory_history("all", "frees"), c10::ValueError);
  memory::_record_memory_history("state", "alloc");
  void* a = raw_alloc(512);
  EXPECT_TRUE(memory::_snapshot().device_traces.at(0).empty());
  const auto context = memory::_snapshot().segments.at(0).blocks.at(0).context_when_allocated;
  const auto* stack = dynamic_cast<const StackContext*>(context.get());
  ASSERT_NE(stack, nullptr);
  EXPECT_FALSE(stack->frames.empty());
  EXPECT_NE(stack->text().find("frame #0"), std::string::npos) << stack->text();
  memory::_record_memory_history("all", std::nullopt);
  raw_delete(a);
  EXPECT_EQ(actions(memory::_snapshot().device_traces.at(0)), "free_requested free_completed");
  memory::_record_memory_history(std::nullopt);
  EXPECT_FALSE(isHistoryEnabled());
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
