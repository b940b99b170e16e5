// What a profile says of a program: its operators, the nodes of its backward passes, its own ranges and its threads.
#include "autograd/profiler/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "c10/core/device_activity.h"
#include "c10/memory/allocation_observer.h"
#include "c10/memory/allocator.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"
#include "gtest/gtest.h"

namespace layers {
namespace {

using at::Tensor;
using c10::testing::message_of;
using namespace torch::autograd::profiler;

const KinetoEvent* find(const ProfilerResult& result, const std::string& name) {
  const auto found = std::find_if(
      result.events().begin(), result.events().end(), [&](const KinetoEvent& e) { return e.name() == name; });
  return found == result.events().end() ? nullptr : &*found;
}

void begin(bool shapes = false, const std::set<at::RecordScope>& scopes = {}) {
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, shapes), {ActivityType::CPU}, scopes);
}

TEST(Profiler, TimesOperatorsNodesAndRanges) {
  Tensor w = at::ones({2, 3}).requires_grad_();
  begin(/*shapes=*/true);
  EXPECT_TRUE(isProfilerEnabledInThread());
  {
    RECORD_USER_SCOPE("step");
    at::sum(at::mul(w, w)).backward();
  }
  const auto result = disableProfiler();
  EXPECT_FALSE(isProfilerEnabledInThread());
  at::neg(w);
  EXPECT_FALSE(at::hasCallbacks());
  const KinetoEvent *step = find(*result, "step"), *mul = find(*result, "aten::mul"),
                    *node = find(*result, "MulBackward0");
  ASSERT_TRUE(step != nullptr && mul != nullptr && node != nullptr);
  EXPECT_EQ(find(*result, "aten::neg"), nullptr);
  EXPECT_EQ(&result->events().front(), step);
  for (const KinetoEvent& event : result->events()) {
    EXPECT_GE(event.startNs(), result->trace_start_ns());
    EXPECT_GE(event.startNs(), step->startNs()) << event.name();
    EXPECT_LE(event.endNs(), step->endNs()) << event.name();
    EXPECT_EQ(event.startThreadId(), at::RecordFunction::currentThreadId());
  }
  EXPECT_LE(mul->endNs(), node->startNs());
  EXPECT_EQ(mul->sequenceNr(), node->sequenceNr());
  EXPECT_EQ(node->scope(), static_cast<uint8_t>(at::RecordScope::BACKWARD_FUNCTION));
  const std::vector<std::vector<int64_t>> sizes{{2, 3}, {2, 3}};
  EXPECT_EQ(mul->shapes(), sizes);
}

TEST(Profiler, FollowsTheThreadsThatWorkForItsOwn) {
  begin();
  std::thread([state = at::ThreadLocalState()] {
    const at::ThreadLocalStateGuard guard(state);
    at::exp(at::ones({2}));
  }).join();
  std::thread([] { at::neg(at::ones({2})); }).join();
  const auto result = disableProfiler();
  ASSERT_NE(find(*result, "aten::exp"), nullptr);
  EXPECT_NE(find(*result, "aten::exp")->startThreadId(), at::RecordFunction::currentThreadId());
  EXPECT_EQ(find(*result, "aten::neg"), nullptr);
}

TEST(Profiler, WritesChromesTraceFormat) {
  std::ostringstream text;
  {
    const RecordProfile profile(text);
    RECORD_USER_SCOPE("a \"quoted\"\nname\\");
    at::exp(at::ones({2}));
  }
  EXPECT_EQ(text.str().find("{\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": "), 0u) << text.str();
  EXPECT_NE(text.str().find("\"cat\": \"user_annotation\", \"name\": \"a \\\"quoted\\\"\\u000aname\\\\\""),
            std::string::npos);
  EXPECT_NE(text.str().find("\"cat\": \"cpu_op\", \"name\": \"aten::exp\""), std::string::npos);
  const std::string path = ::testing::TempDir() + "/profile.json";
  {
    const RecordProfile profile(path);
    at::exp(at::ones({2}));
  }
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  EXPECT_NE(file.str().find("aten::exp"), std::string::npos);
  std::remove(path.c_str());
  begin();
  EXPECT_NE(message_of([&] { disableProfiler()->save("/no/such/folder/profile.json"); }).find("could not be written"),
            std::string::npos);
}

TEST(Profiler, ScopesAndErrors) {
  begin(false, {at::RecordScope::BACKWARD_FUNCTION});
  EXPECT_EQ(message_of([] { begin(); }), "Profiler is already enabled on this thread");
  Tensor w = at::ones({2}).requires_grad_();
  at::sum(w).backward();
  const auto result = disableProfiler();
  EXPECT_NE(find(*result, "SumBackward0"), nullptr);
  EXPECT_EQ(find(*result, "aten::sum"), nullptr);
  EXPECT_THROW(disableProfiler(), c10::Error);
  EXPECT_THROW(enableProfiler(ProfilerConfig(ProfilerState::CUDA), {}), c10::NotImplementedError);
}

// A backend whose devices do what the test says.
struct FakeSource final : c10::DeviceActivitySource {
  bool start() override {
    TORCH_CHECK(!on, "busy");
    return on = can_start;
  }
  void push_range(uint64_t range) noexcept override {
    const std::lock_guard lock(mutex);
    open[std::this_thread::get_id()].push_back(range);
  }
  void pop_range(uint64_t range) noexcept override {
    const std::lock_guard lock(mutex);
    std::vector<uint64_t>& ranges = open[std::this_thread::get_id()];
    EXPECT_EQ(ranges.back(), range);
    ranges.pop_back();
  }
  std::vector<c10::DeviceActivity> stop() override {
    EXPECT_TRUE(std::exchange(on, false));
    return std::exchange(found, {});
  }

  // A call of 1 us in this thread that makes the device work for `us` microseconds, 5 us later.
  void work(const std::string& name, uint64_t us, int64_t stream = 7,
            c10::ActivityKind kind = c10::ActivityKind::kKernel) {
    const std::lock_guard lock(mutex);
    const std::vector<uint64_t>& ranges = open[std::this_thread::get_id()];
    const uint64_t range = ranges.empty() ? 0 : ranges.back(), correlation = ++last;
    const auto now = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
    c10::DeviceActivity call;
    call.kind = c10::ActivityKind::kCall;
    call.name = "launch";
    call.start_ns = now;
    call.end_ns = now + 1000;
    call.resource = ::gettid();
    c10::DeviceActivity work;
    work.kind = kind;
    work.name = name;
    work.start_ns = now + 5000;
    work.end_ns = now + 5000 + us * 1000;
    work.device = c10::Device(c10::kPrivateUse1, 1);
    work.resource = stream;
    work.details.emplace_back("grid", "[1, 2, 3]");
    for (c10::DeviceActivity* one : {&call, &work}) {
      one->correlation = correlation;
      one->range = range;
      found.push_back(*one);
    }
  }

  std::mutex mutex;
  std::map<std::thread::id, std::vector<uint64_t>> open;
  std::vector<c10::DeviceActivity> found;
  uint64_t last = 0;
  bool on = false, can_start = true;
};

struct Warnings final : c10::WarningHandler {
  Warnings() : guard(this) {}
  using WarningHandler::process;
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
  c10::WarningUtils::WarningHandlerGuard guard;
};

class DeviceProfile : public ::testing::Test {
 protected:
  DeviceProfile() { c10::register_device_activity_source(c10::kPrivateUse1, &source_); }
  ~DeviceProfile() override { c10::register_device_activity_source(c10::kPrivateUse1, nullptr); }
  static void begin(const std::set<ActivityType>& activities = {ActivityType::CPU, ActivityType::PrivateUse1}) {
    enableProfiler(ProfilerConfig(ProfilerState::KINETO), activities);
  }
  FakeSource source_;
};

TEST_F(DeviceProfile, CountsWorkToTheRangesThatAskedForIt) {
  begin();
  {
    RECORD_USER_SCOPE("outer");
    source_.work("first", 10);
    {
      RECORD_USER_SCOPE("inner");
      source_.work("second", 20);
      source_.work("copy", 5, 9, c10::ActivityKind::kCopy);
    }
    std::thread([&, state = at::ThreadLocalState()] {
      const at::ThreadLocalStateGuard guard(state);
      RECORD_USER_SCOPE("elsewhere");
      source_.work("first", 40);
    }).join();
  }
  source_.work("outside", 100);
  source_.work("wait", 1000, 7, c10::ActivityKind::kWait);
  const auto result = disableProfiler();

  const KinetoEvent* first = find(*result, "first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->deviceType(), c10::kPrivateUse1);
  EXPECT_EQ(first->deviceIndex(), 1);
  EXPECT_EQ(first->deviceResourceId(), 7);
  EXPECT_EQ(first->linkedCorrelationId(), find(*result, "outer")->correlationId());
  EXPECT_STREQ(first->category(), "kernel");
  const KinetoEvent* inner = find(*result, "inner");
  EXPECT_EQ(inner->linkedCorrelationId(), find(*result, "outer")->correlationId());
  for (const KinetoEvent& event : result->events()) {
    if (event.name() == "launch")
      EXPECT_EQ(event.startThreadId() != at::RecordFunction::currentThreadId(),
                event.linkedCorrelationId() == find(*result, "elsewhere")->correlationId());
  }

  const KeyAverages averages = result->key_averages();
  const FunctionEventAvg *outer_row = averages.find("outer"), *inner_row = averages.find("inner"),
                         *elsewhere = averages.find("elsewhere"), *kernel = averages.find("first"),
                         *calls = averages.find("launch");
  ASSERT_TRUE(outer_row != nullptr && inner_row != nullptr && elsewhere != nullptr && kernel != nullptr &&
              calls != nullptr);
  EXPECT_DOUBLE_EQ(outer_row->self_device_time_total, 10);
  EXPECT_DOUBLE_EQ(outer_row->device_time_total, 35);
  EXPECT_DOUBLE_EQ(inner_row->self_cuda_time_total(), 25);
  EXPECT_DOUBLE_EQ(elsewhere->device_time_total, 40) << "threads' ranges are their own";
  EXPECT_EQ(kernel->count, 2);
  EXPECT_DOUBLE_EQ(kernel->device_time_total, 50);
  EXPECT_DOUBLE_EQ(kernel->device_time(), 25);
  EXPECT_DOUBLE_EQ(kernel->cpu_time_total, 0);
  EXPECT_EQ(calls->count, 6);
  EXPECT_DOUBLE_EQ(calls->self_cpu_time_total, 6);
  EXPECT_EQ(averages.find("wait"), nullptr);
  EXPECT_DOUBLE_EQ(averages.self_device_time_total(), 175);
  const double outer_us = static_cast<double>(find(*result, "outer")->durationNs()) / 1e3;
  const double inner_us = static_cast<double>(inner->durationNs()) / 1e3;
  EXPECT_NEAR(outer_row->self_cpu_time_total, std::max(0.0, outer_us - inner_us - 1), 1e-6);

  const std::string table = averages.table("self_cuda_time_total", 3);
  EXPECT_LT(table.find("outside"), table.find("first")) << table;
  EXPECT_EQ(table.find("copy"), std::string::npos) << table;
  EXPECT_NE(table.find("Self PRIVATEUSEONE time total: 175.000us"), std::string::npos) << table;
  EXPECT_NE(table.find("57.14%"), std::string::npos) << table;
  EXPECT_THROW(averages.table("speed"), c10::ValueError);
}

TEST_F(DeviceProfile, ShowsProgramsRangesOnStreams) {
  begin();
  {
    RECORD_USER_SCOPE("step");
    source_.work("a", 10);
    RECORD_USER_SCOPE("part");
    source_.work("b", 10);
    source_.work("c", 10, 9);
  }
  const auto result = disableProfiler();
  std::map<std::pair<std::string, int64_t>, std::pair<uint64_t, uint64_t>> spans;
  for (const KinetoEvent& event : result->events()) {
    if (std::string(event.category()) == "gpu_user_annotation")
      spans[{event.name(), event.deviceResourceId()}] = {event.startNs(), event.endNs()};
  }
  ASSERT_EQ(spans.size(), 4u);
  const std::pair<uint64_t, uint64_t> step{find(*result, "a")->startNs(), find(*result, "b")->endNs()};
  EXPECT_EQ((spans[{"step", 7}]), step);
  EXPECT_EQ((spans[{"part", 9}].first), find(*result, "c")->startNs());
  EXPECT_DOUBLE_EQ(result->key_averages().self_device_time_total(), 30);
}

TEST_F(DeviceProfile, WritesDevicesAsProcessesAndArrowsFromCallsToWork) {
  begin();
  {
    RECORD_USER_SCOPE("step");
    source_.work("a", 10);
    source_.work("b", 10, 9);
  }
  const auto result = disableProfiler();
  std::ostringstream text;
  result->write(text);
  const auto trace = nlohmann::json::parse(text.str());
  std::map<int, std::pair<nlohmann::json, nlohmann::json>> arrows;
  std::set<std::string> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "s") arrows[event["id"]].first = event;
    if (event["ph"] == "f") arrows[event["id"]].second = event;
    if (event["ph"] == "M" && event["name"] == "thread_name") names.insert(event["args"]["name"]);
    if (event["ph"] != "X" || event["cat"] != "kernel") continue;
    EXPECT_EQ(event["pid"], 1);
    EXPECT_EQ(event["tid"], event["name"] == "a" ? 7 : 9);
    EXPECT_EQ(event["args"]["External id"], find(*result, "step")->correlationId());
    EXPECT_EQ(event["args"]["grid"], nlohmann::json({1, 2, 3}));
    EXPECT_EQ(event["args"]["device"], 1);
  }
  ASSERT_EQ(arrows.size(), 2u);
  for (const auto& [id, arrow] : arrows) {
    EXPECT_EQ(arrow.first["cat"], "ac2g");
    EXPECT_EQ(arrow.first["pid"], ::getpid());
    EXPECT_EQ(arrow.first["tid"], at::RecordFunction::currentThreadId());
    EXPECT_EQ(arrow.second["pid"], 1);
    EXPECT_EQ(arrow.second["bp"], "e");
    EXPECT_LT(arrow.first["ts"].get<double>(), arrow.second["ts"].get<double>());
  }
  EXPECT_TRUE(names.contains("stream 7") && names.contains("stream 9"));
}

TEST_F(DeviceProfile, OfTheDeviceAloneOrWithoutIt) {
  begin({torch::profiler::ProfilerActivity::PrivateUse1});
  {
    RECORD_USER_SCOPE("step");
    source_.work("a", 10);
  }
  auto result = disableProfiler();
  for (const KinetoEvent& event : result->events()) EXPECT_STRNE(event.category(), "user_annotation");
  EXPECT_EQ(result->key_averages().size(), 2u) << "the call and the kernel";

  source_.can_start = false;
  begin();
  { RECORD_USER_SCOPE("step"); }
  result = disableProfiler();
  ASSERT_EQ(result->events().size(), 1u);
  EXPECT_EQ(result->key_averages().table().find("PRIVATEUSEONE"), std::string::npos);

  source_.can_start = source_.on = true;
  EXPECT_EQ(message_of([] { begin(); }).find("busy"), 0u);
  EXPECT_FALSE(isProfilerEnabledInThread());

  const Warnings warnings;
  begin({ActivityType::CPU, ActivityType::CUDA});
  at::exp(at::ones({2}));
  result = disableProfiler();
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("the work of cuda devices"), std::string::npos) << warnings.texts[0];
  EXPECT_NE(find(*result, "aten::exp"), nullptr);
}

TEST(Profiler, CountsMemoryByRanges) {
  ProfilerConfig config(ProfilerState::KINETO, false, /*profile_memory=*/true);
  const Tensor before = at::ones({256});
  Tensor kept;
  enableProfiler(config, {ActivityType::CPU});
  {
    RECORD_USER_SCOPE("step");
    const Tensor gone = at::ones({1024});
    kept = at::exp(gone);
  }
  const Tensor apart = at::from_blob(c10::GetCPUAllocator()->allocate(64).get(), {1});
  auto result = disableProfiler();
  const KeyAverages averages = result->key_averages();
  EXPECT_EQ(averages.find("step")->cpu_memory_usage, 4096);
  EXPECT_EQ(averages.find("step")->self_cpu_memory_usage, -4096) << "what went with the scope";
  EXPECT_EQ(averages.find("aten::exp")->cpu_memory_usage, 4096);
  EXPECT_EQ(averages.find("[memory]")->count, 2);
  EXPECT_EQ(averages.find("[memory]")->cpu_memory_usage, 0);
  EXPECT_NE(averages.table().find("-4.00 KB"), std::string::npos) << averages.table();
  EXPECT_EQ(c10::GetCPUAllocator(), c10::GetDefaultCPUAllocator());
  EXPECT_FALSE(c10::memoryProfilingEnabled());
  // A block that outlives the profile is freed as what it is; one that began before is not counted.
  kept = Tensor();
  enableProfiler(config, {ActivityType::CPU});
  { const Tensor last = std::move(const_cast<Tensor&>(before)); }
  result = disableProfiler();
  EXPECT_TRUE(result->memory_events().empty());
}

TEST(Profiler, CountsFlops) {
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, false, false, false, /*with_flops=*/true), {ActivityType::CPU});
  const Tensor a = at::ones({4, 5}), b = at::ones({5, 6});
  at::mm(a, b);
  at::addmm(at::ones({6}), a, b);
  at::bmm(at::ones({2, 3, 4}), at::ones({2, 4, 5}));
  at::baddbmm(at::ones({2, 3, 5}), at::ones({2, 3, 4}), at::ones({2, 4, 5}));
  at::mul(a, a);
  at::add(a, 1);
  at::conv2d(at::ones({1, 2, 5, 5}), at::ones({4, 1, 3, 3}), {}, 2, 1, 1, 2);
  const auto result = disableProfiler();
  // PyTorch's numbers for the same program.
  const std::map<std::string, uint64_t> expected{{"aten::mm", 240},      {"aten::addmm", 240}, {"aten::bmm", 240},
                                                 {"aten::baddbmm", 240}, {"aten::mul", 20},    {"aten::add", 20},
                                                 {"aten::conv2d", 648}};
  for (const auto& [name, flops] : expected) {
    ASSERT_NE(find(*result, name), nullptr) << name;
    EXPECT_EQ(find(*result, name)->flops(), flops) << name;
  }
  const std::string table = result->key_averages().table("flops", 1);
  EXPECT_NE(table.find("Total FLOPs"), std::string::npos) << table;
  EXPECT_NE(table.find("648.000"), std::string::npos) << table;
}

__attribute__((noinline)) void named_function_of_the_test() {
  at::exp(at::ones({2}));
  at::neg(at::ones({300000}));
}

TEST(Profiler, KnowsWhereRangesBegan) {
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, false, false, /*with_stack=*/true), {ActivityType::CPU});
  named_function_of_the_test();
  const auto result = disableProfiler();
  const std::vector<std::string> stack = find(*result, "aten::exp")->stack();
  const auto named = std::find_if(stack.begin(), stack.end(), [](const std::string& line) {
    return line.find("named_function_of_the_test") != std::string::npos;
  });
  ASSERT_NE(named, stack.end()) << (stack.empty() ? "" : stack[0]);
  EXPECT_LT(named - stack.begin(), 4) << "observers are left out";
  const std::string table = result->key_averages(false, 5).table("", -1);
  EXPECT_NE(table.find("Source Location"), std::string::npos) << table;
  const std::string path = ::testing::TempDir() + "/stacks.txt";
  result->export_stacks(path);
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  EXPECT_NE(file.str().find("named_function_of_the_test"), std::string::npos) << file.str();
  EXPECT_EQ(file.str().find("  "), std::string::npos);
  EXPECT_THROW(result->export_stacks(path, "count"), c10::ValueError);
  std::remove(path.c_str());
}

TEST(Profiler, WritesPyTorchsTable) {
  // What torch.profiler (2.15) prints for the same numbers.
  FunctionEventAvg outer, inner;
  outer.key = "outer";
  outer.count = 1;
  outer.cpu_time_total = 4000;
  outer.self_cpu_time_total = 1000;
  outer.cpu_memory_usage = 2304;
  inner.key = "aten::mm";
  inner.count = 2;
  inner.cpu_time_total = inner.self_cpu_time_total = 3000;
  inner.cpu_memory_usage = inner.self_cpu_memory_usage = 2304;
  inner.is_top_level = false;
  inner.flops = 4608;
  const KeyAverages averages({outer, inner}, c10::kCPU, /*profile_memory=*/true, /*with_flops=*/true);
  const std::string rule =
      "------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  "
      "------------  ------------  \n";
  EXPECT_EQ(
      averages.table("self_cpu_time_total", 1, {.header = "HDR"}),
      std::string(rule.size() - 3, '=') + "\nHDR\n" + rule +
          "        Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg       CPU Mem  Self CPU "
          "Mem    # of Calls  Total KFLOPs  \n" +
          rule +
          "    aten::mm        75.00%       3.000ms        75.00%       3.000ms       1.500ms       2.25 KB       2.25 "
          "KB             2         4.608  \n" +
          rule + "Self CPU time total: 4.000ms\n");
  EXPECT_EQ(averages.table("", -1, {.top_level_events_only = true}).find("aten::mm"), std::string::npos);
  EXPECT_NE(averages.table("", -1, {.time_unit = "us"}).find("4000.000us"), std::string::npos);
  EXPECT_NE(averages.table("", -1, {.max_name_column_width = 7}).find("aten..."), std::string::npos);
  EXPECT_EQ(averages.total_average().count, 3);
  EXPECT_EQ(KeyAverages({}, c10::kCPU, false, false).table(), "");
}

TEST(Profiler, TracesSayWhatOperatorsWereGiven) {
  enableProfiler(ProfilerConfig(ProfilerState::KINETO, true, true), {ActivityType::CPU});
  const Tensor w = at::ones({2, 3}).requires_grad_();
  at::sum(w, {0}, true).sum().backward();
  const auto result = disableProfiler();
  std::ostringstream text;
  result->write(text, {{"run", "\"a\""}});
  const auto trace = nlohmann::json::parse(text.str());
  EXPECT_EQ(trace["run"], "a");
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["profile_memory"], 1);
  bool has_sum = false;
  int64_t held = 0;
  std::map<int, int> arrows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "[memory]") held += event["args"]["Bytes"].get<int64_t>();
    if (event.value("cat", "") == "fwdbwd") arrows[event["id"].get<int>()] += event["ph"] == "s" ? 1 : 10;
    if (event["name"] != "aten::sum" || event["args"]["Input Dims"].size() < 3) continue;
    has_sum = true;
    EXPECT_EQ(event["args"]["Input Dims"][0], nlohmann::json({2, 3}));
    EXPECT_EQ(event["args"]["Input Strides"][0], nlohmann::json({3, 1}));
    EXPECT_EQ(event["args"]["Input type"][0], "float");
    EXPECT_EQ(event["args"]["Input type"][1], "ScalarList");
    EXPECT_EQ(event["args"]["Concrete Inputs"][1], "[0]");
    EXPECT_EQ(event["args"]["Concrete Inputs"][2], "True");
  }
  EXPECT_TRUE(has_sum);
  EXPECT_GE(held, 2 * 3 * 4 * 2) << "the leaf and its gradient";
  EXPECT_GE(arrows.size(), 2u);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, 11) << id;
}

TEST(Profiler, GroupsByShapesWhereAskedFor) {
  begin(/*shapes=*/true);
  at::exp(at::ones({2}));
  at::exp(at::ones({3, 4}));
  at::exp(at::ones({3, 4}));
  const auto result = disableProfiler();
  EXPECT_EQ(result->key_averages().find("aten::exp")->count, 3);
  const KeyAverages averages = result->key_averages(/*group_by_input_shape=*/true);
  const auto rows =
      std::count_if(averages.begin(), averages.end(), [](const auto& row) { return row.key == "aten::exp"; });
  EXPECT_EQ(rows, 2);
  EXPECT_NE(averages.table("count", -1).find("[[3, 4]]"), std::string::npos) << averages.table();
}

}  // namespace
}  // namespace layers
