// Profiles of programs with CUDA tensors: whose work is whose, backward threads, graphs, the trace.
#include "autograd/profiler/profiler.h"

#include <gtest/gtest.h>

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

}  // namespace
