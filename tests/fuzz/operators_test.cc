// Generated calls of every operator that is callable by name, and a backward pass from what they give. Each gives a result that
// lies within its storage or an error of this library that leaves every argument as it was; never a crash, a hang, an internal assertion, std::bad_alloc or any other
// exception, and nothing stays allocated.
//
//   bazel run //tests/fuzz:operators_test -- --op='index_*' --seed=3 --calls=5000      more calls of some operators
//   bazel run //tests/fuzz:operators_test -- --op=add.out --call=17 --verbose           one call, in this process
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "autograd/autograd.h"
#include "c10/dispatch/registry.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/flags.h"
#include "c10/util/exception.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

struct Flags {
  std::string op = "*";
  uint64_t seed = 1;
  int calls = 200;
  int call = -1;
  bool verbose = false;
  size_t findings = 3;
} flags;

c10::OperatorHandle find(const std::string& name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
}

// Goes back from the results of a call that worked to the arguments that want a gradient: empty, or what is wrong with these.
std::string backward_problem(const c10::Stack& arguments, const c10::Stack& results) {
  torch::autograd::variable_list outputs, inputs, cotangents;
  each_tensor(results, [&](const at::Tensor& t) {
    if (t.requires_grad()) outputs.push_back(t);
  });
  each_tensor(arguments, [&](const at::Tensor& t) {
    if (t.requires_grad() && t.is_leaf()) inputs.push_back(t);
  });
  if (outputs.empty() || inputs.empty()) return "";
  for (const at::Tensor& t : outputs) cotangents.push_back(at::ones_like(t));
  const torch::autograd::variable_list grads = torch::autograd::grad(outputs, inputs, cotangents, {}, false, /*allow_unused=*/true);
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) continue;
    if (grads[i].sizes() != inputs[i].sizes() || grads[i].scalar_type() != inputs[i].scalar_type()) return "a gradient of another size or dtype";
    const std::string problem = check_results({c10::IValue(grads[i])});
    if (!problem.empty()) return "a gradient: " + problem;
  }
  return "";
}

// Runs f, which says what is wrong (empty: nothing). An error of this library is how it may end, and comes back in `error`.
template <class F>
std::string guarded(std::string& error, const F& f) {
  try {
    return f();
  } catch (const c10::Error& e) {
    error = e.what_without_backtrace();
    if (flags.verbose) std::printf("%s\n", e.what());
    return error.find("INTERNAL ASSERT") != std::string::npos ? "an internal assertion" : "";
  } catch (const std::exception& e) {
    error = e.what();
    return "an exception that is not of this library";
  }
}

// Empty, or what is wrong with how the call ended.
std::string problem_of(const c10::OperatorHandle& op, const c10::Stack& arguments) {
  const Snapshot before(op.schema(), arguments);
  c10::Stack stack = arguments;
  limit_memory();
  std::string error;
  std::string problem = guarded(error, [&] {
    op.callBoxed(stack);
    return check_results(stack);
  });
  if (problem.empty()) problem = before.difference(!error.empty());
  if (flags.verbose && error.empty()) std::printf("a result\n");
  if (problem.empty() && error.empty()) {
    problem = guarded(error, [&] { return backward_problem(arguments, stack); });
    if (problem.empty()) problem = before.difference(false);
  }
  if (problem.empty()) return "";
  return problem + (error.empty() ? "" : " (" + error.substr(0, 600) + ")");
}

std::string run_call(const c10::OperatorHandle& op, uint64_t number) {
  // What is cached at a call's first time stays allocated, and what a thread of the pool keeps for its next call counts as
  // allocated until that: in each of them once for each size. A leak is there every time.
  constexpr int kAttempts = 24;
  int64_t left = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    c10::set_cpu_memory_limit(0);
    const int64_t allocated = c10::cpu_memory_stats().allocated_bytes;
    const std::string problem = problem_of(op, generate_call(op.schema(), flags.seed, number));
    if (!problem.empty()) return problem;
    left = c10::cpu_memory_stats().allocated_bytes - allocated;
    if (left <= 0) return "";
  }
  return std::to_string(left) + " bytes stay allocated";
}

class OperatorTest : public testing::Test {
 public:
  explicit OperatorTest(std::string name) : name_(std::move(name)) {}

  void TestBody() override {
    const c10::OperatorHandle op = find(name_);
    const Quiet quiet;
    if (flags.call >= 0) {
      const c10::Stack arguments = generate_call(op.schema(), flags.seed, static_cast<uint64_t>(flags.call));
      std::printf("%s\n", describe(op.schema(), arguments).c_str());
      std::fflush(stdout);
      EXPECT_EQ(problem_of(op, arguments), "");
      return;
    }
    const auto body = [&](int number) { return run_call(op, static_cast<uint64_t>(number)); };
    for (const Finding& finding : run_isolated(0, flags.calls, flags.findings, body)) {
      ADD_FAILURE() << "FINDING " << name_ << " --call=" << finding.number << " --seed=" << flags.seed << ": " << finding.what << "\n"
                    << describe(op.schema(), generate_call(op.schema(), flags.seed, static_cast<uint64_t>(finding.number)));
    }
  }

 private:
  std::string name_;
};

void register_tests() {
  for (const std::string& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!matches(flags.op, name.substr(6)) || name.rfind("aten::", 0) != 0) continue;
    std::string test = name.substr(6);
    for (char& c : test) c = c == '.' ? '@' : c;
    testing::RegisterTest("Operators", test.c_str(), nullptr, nullptr, __FILE__, __LINE__, [name]() -> OperatorTest* { return new OperatorTest(name); });
  }
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  using fuzz::flags;
  testing::InitGoogleTest(&argc, argv);  // for --help it prints GoogleTest's flags
  const auto status = c10::testing::parse_flags(argc, argv,
                                                {{"op", &flags.op},
                                                 {"seed", &flags.seed},
                                                 {"calls", &flags.calls},
                                                 {"call", &flags.call},
                                                 {"findings", &flags.findings},
                                                 {"verbose", &flags.verbose}});
  if (status.has_value()) return *status;
  fuzz::register_tests();
  return RUN_ALL_TESTS();
}
