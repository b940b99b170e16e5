// The tests of operator families on the shadow device: what they make without naming a device is made there.
#include <gtest/gtest.h>

#include <cstdio>

#include "aten/core/library.h"
#include "aten/testing/testing.h"
#include "c10/core/thread_state.h"
#include "tests/plugin_device/shadow.h"

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr DispatchKey kLayer = DispatchKey::Tracer;

// A factory that is called without tensors and without a device gets the device of the tests. What an operator calls in turn is
// left alone.
void on_the_tests_device(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto given = stack->end() - static_cast<ptrdiff_t>(arguments.size());
  const auto device = op.schema().argument_index("device");
  bool of_tensors = false;
  for (auto it = given; it != stack->end(); ++it) of_tensors = of_tensors || it->isTensor() || it->isTensorList();
  if (device.has_value() && !of_tensors && given[static_cast<ptrdiff_t>(*device)].isNone()) {
    given[static_cast<ptrdiff_t>(*device)] = c10::IValue(at::testing::device());
  }
  const c10::ExcludeDispatchKeyGuard off{DispatchKeySet(kLayer)};
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, Tracer, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_tests_device>()); }

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::testing::set_device("shadow:0");
  const c10::IncludeDispatchKeyGuard on{DispatchKeySet(kLayer)};
  const int status = RUN_ALL_TESTS();
  if (shadow::counts().own > 0) return status;
  std::fprintf(stderr, "nothing ran on the device\n");
  return 1;
}
