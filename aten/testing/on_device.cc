#include "aten/testing/on_device.h"

#include <gtest/gtest.h>

#include "aten/core/library.h"
#include "aten/testing/testing.h"
#include "c10/core/thread_state.h"

namespace at::testing {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr DispatchKey kLayer = DispatchKey::Tracer;

// What an operator calls in turn is left alone.
void on_the_tests_device(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto given = stack->end() - static_cast<ptrdiff_t>(arguments.size());
  const auto device_place = op.schema().argument_index("device");
  bool of_tensors = false;
  for (auto it = given; it != stack->end(); ++it) of_tensors = of_tensors || it->isTensor() || it->isTensorList();
  if (device_place.has_value() && !of_tensors && given[static_cast<ptrdiff_t>(*device_place)].isNone()) {
    given[static_cast<ptrdiff_t>(*device_place)] = c10::IValue(device());
  }
  const c10::ExcludeDispatchKeyGuard off{DispatchKeySet(kLayer)};
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, Tracer, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_tests_device>());
}

}  // namespace

int run_all_tests_on(Device device) {
  set_device(device);
  const c10::IncludeDispatchKeyGuard on{DispatchKeySet(kLayer)};
  return RUN_ALL_TESTS();
}

}  // namespace at::testing
