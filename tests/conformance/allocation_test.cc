// The checked-in recordings with an allocator that fails: of each call and each backward pass every allocation is refused once.
// It then throws OutOfMemoryError, gives back what it had allocated and leaves its arguments as they were: run again with
// memory, it gives what was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <string>

#include "c10/memory/cpu_allocator.h"
#include "c10/util/exception.h"
#include "tests/conformance/case_set.h"
#include "tests/conformance/replay.h"

namespace conformance {
namespace {

constexpr int64_t kAllocations = 500;

// Of this overload's calls and backward passes.
struct Tally {
  size_t runs = 0, refusals = 0;
};

// A run whose n-th allocation was refused, if it has as many.
struct Attempt {
  bool refused = false;
  bool threw = false;  // what works without the memory need not
  int64_t left = 0;    // bytes that stay allocated after an error
};
Attempt refuse(int64_t n, const std::function<void()>& body) {
  Attempt attempt;
  const c10::CPUMemoryStats before = c10::cpu_memory_stats();
  c10::fail_nth_cpu_allocation(n);
  try {
    body();
  } catch (const c10::OutOfMemoryError&) {
    attempt.threw = true;
  } catch (const std::exception& e) {
    attempt.threw = true;
    ADD_FAILURE() << "allocation " << n << ": another error: " << e.what();
  }
  c10::fail_nth_cpu_allocation(0);
  const c10::CPUMemoryStats after = c10::cpu_memory_stats();
  attempt.refused = after.out_of_memory != before.out_of_memory;
  if (attempt.threw) attempt.left = after.allocated_bytes - before.allocated_bytes;
  EXPECT_TRUE(attempt.refused || !attempt.threw) << "allocation " << n << ": an error without a reason";
  return attempt;
}

class Allocation : public testing::TestWithParam<std::string> {};

const CaseSet& first_families() {
  static const CaseSet set("tests/conformance/first_families.tar.gz");
  return set;
}

TEST_P(Allocation, EachIsRefusedOnce) {
  Tally tally;
  Options options;
  options.runner = [&](const std::function<void()>& body) {
    ++tally.runs;
    for (int64_t n = 1; n <= kAllocations; ++n) {
      Attempt attempt = refuse(n, body);
      if (!attempt.refused) return;
      // What a cache took, and the node that each leaf keeps for its gradient, stays once; a leak is there every time.
      for (int again = 0; again < 16 && attempt.left > 0; ++again) attempt = refuse(n, body);
      EXPECT_LE(attempt.left, 0) << "allocation " << n << ": bytes stay allocated";
      ++tally.refusals;
    }
    ADD_FAILURE() << "more than " << kAllocations << " allocations";
  };
  const OperatorReport report = replay_operator(first_families(), GetParam(), options);
  for (const CaseFailure& failure : report.failures) ADD_FAILURE() << GetParam() << ": " << failure.text();
  EXPECT_GE(tally.runs, report.passed);
  RecordProperty("refusals", static_cast<int>(tally.refusals));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '@', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(FirstFamilies, Allocation, testing::ValuesIn(first_families().names()), test_name);

}  // namespace
}  // namespace conformance
