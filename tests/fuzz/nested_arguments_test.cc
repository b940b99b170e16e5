// Every operator with nested tensors in the place of dense ones: it has a kernel for them, or is made of operators that
// have, or it throws an error; it never reads beyond a tensor's memory.
//
//   bazel run //tests/fuzz:nested_arguments_test -- --op='arange*'
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/testing/flags.h"
#include "c10/util/exception.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

using at::Tensor;
using c10::IValue;

constexpr int kCallsEach = 40;

std::string g_ops = "*";

// The slices of `t` as parts, the last one shorter than the others; a tensor that has none is itself. Those of a jagged one
// are equally long.
Tensor nested(const Tensor& t, bool jagged) {
  if (!t.defined() || !t.is_cpu() || t.layout() != at::kStrided || t.is_quantized() || t.dim() == 0 || t.size(0) == 0)
    return t;
  const at::NoGradGuard no_grad;
  std::vector<Tensor> parts = at::unbind(t);
  if (t.dim() > 1 && t.size(1) > 1) parts.back() = at::slice(parts.back(), 0, 0, t.size(1) - 1);
  Tensor result;
  if (jagged && t.dim() > 1) {
    // One tensor of offsets for all, so that arguments go together.
    static std::map<std::pair<int64_t, int64_t>, Tensor> offsets;
    const int64_t count = t.size(0), length = t.size(1);
    Tensor& places = offsets[{count, length}];
    if (!places.defined()) places = at::mul(at::arange(count + 1, at::kLong), length);
    result = at::_nested_view_from_jagged(at::clone(at::flatten(t, 0, 1)), places, places, {}, 1);
  } else {
    result = at::_nested_tensor_from_tensor_list(parts);
  }
  if (t.requires_grad()) result.set_requires_grad(true);
  return result;
}

IValue nested(const IValue& value, bool jagged) {
  if (value.isTensor()) return IValue(nested(value.toTensor(), jagged));
  if (!value.isList()) return value;
  c10::impl::GenericList result(value.toList().elementType());
  for (const IValue& element : value.toListRef()) result.push_back(nested(element, jagged));
  return IValue(std::move(result));
}

// Call number `number`: all arguments are nested, or the first, or one of the others; every third time jagged.
c10::Stack arguments(const c10::OperatorHandle& op, uint64_t number) {
  c10::Stack stack = generate_call(op.schema(), 1, number, number % 2 == 0 ? Temper::kTame : Temper::kMixed);
  const size_t choice = number / 2 % 4;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (choice == 0 || i + 1 == choice) stack[i] = nested(stack[i], number % 3 == 0);
  }
  return stack;
}

std::string call(const c10::OperatorHandle& op, uint64_t number) {
  try {
    limit_memory();
    c10::Stack stack = arguments(op, number);
    op.callBoxed(stack);
    return check_results(stack);
  } catch (const c10::Error& e) {
    const std::string text = e.what_without_backtrace();
    return text.find("INTERNAL ASSERT") == std::string::npos ? "" : text;
  }
}

TEST(NestedArguments, GiveResultsOrErrors) {
  const Quiet quiet;
  std::vector<c10::OperatorHandle> ops;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const std::string& name : dispatcher.getAllOpNames()) {
    if (name.rfind("aten::", 0) != 0 || !matches(g_ops, name.substr(6))) continue;
    const size_t dot = name.find('.');
    ops.push_back(
        dispatcher.findSchemaOrThrow(name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)));
  }
  ASSERT_GE(ops.size(), g_ops == "*" ? 1000u : 1u);
  const auto body = [&](int number) {
    return call(ops[static_cast<size_t>(number / kCallsEach)], static_cast<uint64_t>(number % kCallsEach));
  };
  for (const Finding& finding : run_isolated(0, static_cast<int>(ops.size()) * kCallsEach, 200, body)) {
    const c10::OperatorHandle& op = ops[static_cast<size_t>(finding.number / kCallsEach)];
    const uint64_t number = static_cast<uint64_t>(finding.number % kCallsEach);
    ADD_FAILURE() << op.schema().qualified_name() << " --call=" << number << ": " << finding.what;
  }
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const auto status = c10::testing::parse_flags(argc, argv, {{"op", &fuzz::g_ops}})) return *status;
  return RUN_ALL_TESTS();
}
