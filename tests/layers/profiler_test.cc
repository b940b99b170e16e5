// What a profile says of a program: its operators, the nodes of its backward passes, its own ranges and its threads.
#include "autograd/profiler/profiler.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
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
  EXPECT_THROW(enableProfiler(ProfilerConfig(ProfilerState::CPU), {ActivityType::CUDA}), c10::NotImplementedError);
  EXPECT_THROW(enableProfiler(ProfilerConfig(ProfilerState::CPU, false, true), {}), c10::NotImplementedError);
}

}  // namespace
}  // namespace layers
