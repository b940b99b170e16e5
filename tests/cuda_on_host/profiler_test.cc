// Profiles of programs with CUDA tensors: whose work is whose, backward threads, graphs, the trace.
#include "autograd/profiler/profiler.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "aten/cuda/graph.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/autograd.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/cupti/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "utils/memory/history.h"
#include "utils/profiler/emit_nvtx.h"

// A profiler in the program: NVTX asks this symbol for one.
extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
}

namespace {

using at::Tensor;
using namespace torch::autograd::profiler;

const at::TensorOptions kOnDevice = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);

void begin() {
  enableProfiler(ProfilerConfig(ProfilerState::KINETO), {ActivityType::CPU, ActivityType::CUDA});
}

std::map<uint64_t, const KinetoEvent*> ranges_of(const ProfilerResult& result) {
  std::map<uint64_t, const KinetoEvent*> ranges;
  for (const KinetoEvent& event : result.events()) {
    if (event.is_range() && event.deviceType() == at::kCPU) ranges[event.correlationId()] = &event;
  }
  return ranges;
}

std::vector<const KinetoEvent*> of_kind(const ProfilerResult& result, c10::ActivityKind kind) {
  std::vector<const KinetoEvent*> found;
  for (const KinetoEvent& event : result.events()) {
    if (!event.is_range() && event.activity() == kind) found.push_back(&event);
  }
  return found;
}

void in_profiles(const std::function<void()>& body) {
  c10::cuda::testing::in_all_orders([&] {
    cupti_standin::reset();
    body();
    EXPECT_EQ(cupti_standin::misuse(), "");
    EXPECT_EQ(cupti_standin::lent_buffers(), 0u);
    EXPECT_EQ(cupti_standin::open_ranges(), 0u);
  });
}

TEST(CudaProfile, KernelsBelongToTheInnermostOperator) {
  in_profiles([] {
    const Tensor x = at::ones({64, 32}, kOnDevice);
    begin();
    {
      RECORD_USER_SCOPE("step");
      at::exp(x);
      at::to(at::sum(at::mul(x, x)), at::kCPU, at::kFloat);
    }
    const auto result = disableProfiler();
    const auto ranges = ranges_of(*result);
    std::set<std::string> owners;
    for (const KinetoEvent* kernel : of_kind(*result, c10::ActivityKind::kKernel)) {
      EXPECT_EQ(kernel->deviceType(), at::kCUDA);
      ASSERT_TRUE(ranges.contains(kernel->linkedCorrelationId())) << kernel->name();
      owners.insert(ranges.at(kernel->linkedCorrelationId())->name());
    }
    EXPECT_TRUE(owners.contains("aten::exp") && owners.contains("aten::mul") && owners.contains("aten::sum"));
    EXPECT_FALSE(owners.contains("step"));
    const auto copies = of_kind(*result, c10::ActivityKind::kCopy);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0]->name(), "Memcpy DtoH (Device -> Pageable)");
    EXPECT_EQ(copies[0]->nBytes(), 4u);

    const KeyAverages averages = result->key_averages();
    const FunctionEventAvg* step = averages.find("step");
    ASSERT_NE(step, nullptr);
    EXPECT_DOUBLE_EQ(step->self_device_time_total, 0);
    EXPECT_NEAR(step->device_time_total, averages.self_device_time_total(), 1e-6) << "all work was asked for within";
    EXPECT_GT(averages.find("aten::mul")->device_time_total, 0);
    const std::string table = averages.table("cuda_time_total");
    EXPECT_NE(table.find("Self CUDA %"), std::string::npos) << table;
    EXPECT_NE(table.find("Self CUDA time total: "), std::string::npos) << table;
  });
}

TEST(CudaProfile, FollowsBackwardThreads) {
  in_profiles([] {
    const Tensor w = at::ones({8, 8}, kOnDevice).requires_grad_();
    begin();
    at::sum(at::mul(at::exp(w), w)).backward();
    const auto result = disableProfiler();
    const auto ranges = ranges_of(*result);
    const uint64_t here = at::RecordFunction::currentThreadId();
    std::set<std::string> nodes;
    size_t elsewhere = 0;
    for (const KinetoEvent* kernel : of_kind(*result, c10::ActivityKind::kKernel)) {
      ASSERT_TRUE(ranges.contains(kernel->linkedCorrelationId())) << kernel->name();
      const KinetoEvent* range = ranges.at(kernel->linkedCorrelationId());
      elsewhere += range->startThreadId() != here;
      for (; range != nullptr;
           range = ranges.contains(range->linkedCorrelationId()) ? ranges.at(range->linkedCorrelationId()) : nullptr) {
        if (range->scope() == static_cast<uint8_t>(at::RecordScope::BACKWARD_FUNCTION)) nodes.insert(range->name());
      }
    }
    EXPECT_TRUE(nodes.contains("MulBackward0") && nodes.contains("ExpBackward0"));
    EXPECT_GT(elsewhere, 0u) << "a device has a thread of its own";
    for (const KinetoEvent* call : of_kind(*result, c10::ActivityKind::kCall)) {
      if (call->linkedCorrelationId() == 0) continue;
      EXPECT_EQ(call->startThreadId(), ranges.at(call->linkedCorrelationId())->startThreadId()) << call->name();
    }
    const KeyAverages averages = result->key_averages();
    EXPECT_GT(averages.find("MulBackward0")->device_time_total, 0);
  });
}

TEST(CudaProfile, StreamsAndGraphsAndTheTrace) {
  in_profiles([] {
    const Tensor x = at::ones({16}, kOnDevice);
    std::vector<c10::cuda::CUDAStream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(c10::cuda::getStreamFromPool());
    c10::cuda::device_synchronize();
    at::cuda::CUDAGraph graph;
    {
      const c10::cuda::CUDAStreamGuard guard(streams[0]);
      graph.capture_begin();
      at::exp_(const_cast<Tensor&>(x));
      at::neg_(const_cast<Tensor&>(x));
      graph.capture_end();
    }
    begin();
    for (const auto& stream : streams) {
      const c10::cuda::CUDAStreamGuard guard(stream);
      at::exp(x);
    }
    for (int i = 0; i < 2; ++i) {
      const c10::cuda::CUDAStreamGuard guard(streams[0]);
      RECORD_USER_SCOPE("replay");
      graph.replay();
    }
    const auto result = disableProfiler();
    const auto ranges = ranges_of(*result);
    std::set<int64_t> resources;
    std::map<uint64_t, int> replays;
    for (const KinetoEvent* kernel : of_kind(*result, c10::ActivityKind::kKernel)) {
      resources.insert(kernel->deviceResourceId());
      const auto& details = kernel->details();
      const bool in_graph =
          std::any_of(details.begin(), details.end(), [](const auto& d) { return d.first == "graph node id"; });
      const std::string owner = ranges.at(kernel->linkedCorrelationId())->name();
      EXPECT_EQ(owner, in_graph ? "replay" : "aten::exp");
      if (in_graph) ++replays[kernel->linkedCorrelationId()];
    }
    EXPECT_EQ(resources.size(), 3u);
    ASSERT_EQ(replays.size(), 2u);
    for (const auto& [range, count] : replays) EXPECT_EQ(count, 2);
    EXPECT_GT(result->key_averages().find("replay")->self_device_time_total, 0);

    std::ostringstream text;
    result->write(text);
    const auto trace = nlohmann::json::parse(text.str());
    std::multiset<int> begun, ended, kernels;
    size_t annotations = 0;
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "s") begun.insert(event["id"].get<int>());
      if (event["ph"] == "f") ended.insert(event["id"].get<int>());
      if (event["ph"] != "X") continue;
      if (event["cat"] == "kernel") {
        kernels.insert(event["args"]["correlation"].get<int>());
        EXPECT_EQ(event["pid"], 0);
        EXPECT_EQ(event["args"]["block"].size(), 3u);
      }
      annotations += event["cat"] == "gpu_user_annotation";
    }
    EXPECT_EQ(annotations, 2u);
    EXPECT_EQ(kernels.size(), 7u);
    EXPECT_TRUE(std::includes(ended.begin(), ended.end(), kernels.begin(), kernels.end()))
        << "every kernel has its arrow";
    for (const int id : ended) EXPECT_EQ(begun.count(id), 1u);
  });
}

TEST(CudaMemory, IsCountedToTheOperatorsThatAskForIt) {
  const Tensor before = at::ones({256}, kOnDevice);
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, false, /*profile_memory=*/true), {ActivityType::CPU});
  Tensor kept;
  {
    RECORD_USER_SCOPE("step");
    const Tensor gone = at::ones({1024}, kOnDevice);
    kept = at::exp(gone);
  }
  const auto result = disableProfiler();
  const KeyAverages averages = result->key_averages();
  EXPECT_EQ(averages.find("aten::exp")->device_memory_usage, 4096);
  EXPECT_EQ(averages.find("step")->device_memory_usage, 4096);
  EXPECT_EQ(averages.find("step")->self_device_memory_usage, -4096);
  EXPECT_NE(averages.table("self_cuda_memory_usage", 1).find("CUDA Mem"), std::string::npos) << averages.table();
}

TEST(CudaMemory, SnapshotsHaveItsSegments) {
  torch::memory::record_memory_history();
  const Tensor small = at::ones({256}, kOnDevice);
  Tensor large = at::ones({3 << 20}, kOnDevice);
  large = Tensor();
  const torch::memory::Snapshot snapshot = torch::memory::snapshot();
  torch::memory::stop_memory_history();
  ASSERT_FALSE(snapshot.segments.empty());
  for (const torch::memory::Segment& segment : snapshot.segments) {
    uintptr_t end = segment.address;
    for (const torch::memory::SegmentBlock& block : segment.blocks) {
      EXPECT_EQ(block.address, end);
      end += block.bytes;
    }
    EXPECT_EQ(end, segment.address + segment.bytes);
  }
  const auto value = snapshot.to_value().toGenericDict();
  bool has_small = false, has_free = false;
  for (const c10::IValue& item : value.at("segments").toListRef()) {
    const auto segment = item.toGenericDict();
    if (segment.at("device").toInt() != 1) continue;
    for (const c10::IValue& part : segment.at("blocks").toListRef()) {
      const auto block = part.toGenericDict();
      const std::string& state = block.at("state").toStringRef();
      if (block.at("address").toInt() == static_cast<int64_t>(reinterpret_cast<uintptr_t>(small.data_ptr()))) {
        has_small = true;
        EXPECT_EQ(state, "active_allocated");
        EXPECT_EQ(segment.at("segment_type").toStringRef(), "small");
        EXPECT_FALSE(block.at("frames").toListRef().empty());
      }
      has_free |= segment.at("segment_type").toStringRef() == "large" && state == "inactive" &&
                  block.at("size").toInt() >= 12 << 20;
    }
  }
  EXPECT_TRUE(has_small && has_free);
  std::vector<std::string> actions;
  for (const c10::IValue& entry : value.at("device_traces").toListRef()[1].toListRef()) {
    actions.push_back(entry.toGenericDict().at("action").toStringRef());
  }
  EXPECT_NE(std::find(actions.begin(), actions.end(), "segment_alloc"), actions.end());
  EXPECT_NE(std::find(actions.begin(), actions.end(), "free_completed"), actions.end());
}

std::vector<std::string>& nvtx_ranges() {
  static std::vector<std::string> all;
  return all;
}
int on_push(const char* text) {
  nvtx_ranges().push_back(text);
  return 0;
}
int on_pop() {
  nvtx_ranges().emplace_back("pop");
  return 0;
}
int listen(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 1) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(on_push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(on_pop);
  return 1;
}
struct Listening {
  Listening() { InitializeInjectionNvtx2_fnptr = &listen; }
} g_listening;

TEST(EmitNvtx, TellsOperatorsNodesAndRanges) {
  const Tensor x = at::ones({2, 3}).requires_grad_();
  Tensor y;
  {
    const emit_nvtx on(true, /*record_shapes=*/true);
    EXPECT_THROW(emit_nvtx(), c10::Error);
    RECORD_USER_SCOPE("step");
    y = at::mul(x, x);
    at::sum(y).backward();
  }
  at::neg(x);
  const std::vector<std::string>& ranges = nvtx_ranges();
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges[0], "step");
  EXPECT_EQ(std::count(ranges.begin(), ranges.end(), "pop") * 2, static_cast<ptrdiff_t>(ranges.size()));
  const auto starting = [&](const std::string& name) {
    for (const std::string& range : ranges) {
      if (range.starts_with(name)) return range;
    }
    return std::string();
  };
  const std::string mul = starting("aten::mul, seq = "), node = starting("MulBackward0, seq = ");
  EXPECT_NE(node.find(", sizes = [[2, 3]]"), std::string::npos) << node;
  const auto number = [](const std::string& text) { return std::stoi(text.substr(text.find("seq = ") + 6)); };
  EXPECT_EQ(number(mul), number(node));
  EXPECT_EQ(starting("aten::neg"), "");
  const emit_nvtx off(false);
  const emit_nvtx again(false);
}

}  // namespace
