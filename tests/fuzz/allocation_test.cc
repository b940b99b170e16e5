// Every operator with an allocator that fails: each allocation of a call that works is refused once. The call then throws
// an error of this library, its arguments are as they were, and what it had allocated is given back.
//
//   bazel run //tests/fuzz:allocation_test -- --op='addmm*'
#include <gtest/gtest.h>

#include <string>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/flags.h"
#include "c10/util/exception.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

std::string operators = "*";

constexpr int kCalls = 12;
constexpr int kAllocations = 60;

struct Outcome {
  bool refused = false;  // an allocation was
  bool threw = false;
  std::string problem;
  int64_t left = 0;
};

// The call, its `n`-th allocation refused (0: none).
Outcome call(const c10::OperatorHandle& op, uint64_t number, int64_t n) {
  Outcome outcome;
  const int64_t allocated = c10::cpu_memory_stats().allocated_bytes;
  {
    c10::set_cpu_memory_limit(0);
    const c10::Stack arguments = generate_call(op.schema(), 1, number, Temper::kTame);
    const Snapshot before(op.schema(), arguments);
    c10::Stack stack = arguments;
    limit_memory();
    const int64_t refusals = c10::cpu_memory_stats().out_of_memory;
    c10::fail_nth_cpu_allocation(n);
    try {
      op.callBoxed(stack);
      c10::fail_nth_cpu_allocation(0);
    } catch (const c10::Error& e) {
      c10::fail_nth_cpu_allocation(0);
      outcome.threw = true;
      if (std::string(e.what()).find("INTERNAL ASSERT") != std::string::npos) outcome.problem = e.what_without_backtrace();
    } catch (const std::exception& e) {
      c10::fail_nth_cpu_allocation(0);
      outcome.threw = true;
      outcome.problem = std::string("an exception that is not of this library: ") + e.what();
    }
    outcome.refused = c10::cpu_memory_stats().out_of_memory != refusals;
    if (outcome.problem.empty() && outcome.threw) outcome.problem = before.difference(true);
  }
  outcome.left = c10::cpu_memory_stats().allocated_bytes - allocated;
  return outcome;
}

std::string check(const c10::OperatorHandle& op, uint64_t number) {
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    if (call(op, number, 0).threw) return "";  // not a call that works
  }
  for (int n = 1; n <= kAllocations; ++n) {
    Outcome outcome = call(op, number, n);
    // What a cache took stays once; a leak is there every time.
    for (int again = 0; again < 2 && outcome.problem.empty() && outcome.left > 0; ++again) outcome = call(op, number, n);
    if (outcome.problem.empty() && outcome.left > 0) outcome.problem = std::to_string(outcome.left) + " bytes stay allocated";
    if (!outcome.problem.empty()) return "allocation " + std::to_string(n) + " refused: " + outcome.problem.substr(0, 600);
    if (!outcome.refused) break;
  }
  return "";
}

class AllocationTest : public testing::Test {
 public:
  explicit AllocationTest(const c10::OperatorHandle& op) : op_(op) {}
  void TestBody() override {
    const auto body = [this](int number) { return check(op_, static_cast<uint64_t>(number)); };
    for (const Finding& finding : run_isolated(0, kCalls, 2, body)) {
      ADD_FAILURE() << "FINDING " << op_.schema().qualified_name() << " call " << finding.number << ": " << finding.what << "\n"
                    << describe(op_.schema(), generate_call(op_.schema(), 1, static_cast<uint64_t>(finding.number), Temper::kTame));
    }
  }

 private:
  c10::OperatorHandle op_;
};

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const auto status = c10::testing::parse_flags(argc, argv, {{"op", &fuzz::operators}})) return *status;
  for (const std::string& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.rfind("aten::", 0) != 0 || !fuzz::matches(fuzz::operators, name.substr(6))) continue;
    const size_t dot = name.find('.');
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
    std::string test = name.substr(6);
    for (char& c : test) c = c == '.' ? '@' : c;
    testing::RegisterTest("Allocation", test.c_str(), nullptr, nullptr, __FILE__, __LINE__, [op]() -> fuzz::AllocationTest* { return new fuzz::AllocationTest(op); });
  }
  return RUN_ALL_TESTS();
}
