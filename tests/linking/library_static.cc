// Operators that a fully static program defines itself, linked with --icf=all, where functions of equal code have one address:
// what tells signatures apart may not be addresses.
#include <cstdio>

#include "aten/core/library.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"

namespace {

// Equal code, different types.
int64_t first(int64_t x, int64_t) { return x; }
c10::ScalarType other_first(c10::ScalarType x, int64_t) { return x; }

TORCH_LIBRARY(mine, m) {
  m.def("first(int x, int y) -> int", &first);
  m.def("twice", [](const at::Tensor& x) { return at::add(x, x); });
  m.def("kept(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(mine, CPU, m) {
  m.impl("kept", [](const at::Tensor& x) { return at::mul(x, 3); });
}

bool check(bool ok, const char* what) {
  if (!ok) std::printf("FAIL: %s\n", what);
  return ok;
}

template <class Signature>
bool refused(const char* name) {
  try {
    c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  auto& dispatcher = c10::Dispatcher::singleton();
  const at::Tensor x = at::full({1}, 5.0);
  bool ok = check(dispatcher.findSchemaOrThrow("mine::first", "").typed<int64_t(int64_t, int64_t)>().call(7, 8) == 7, "first");
  ok &= check(refused<c10::ScalarType(c10::ScalarType, int64_t)>("mine::first"), "another signature of the same code");
  ok &= check(other_first(c10::ScalarType::Long, 1) == c10::ScalarType::Long, "the other function");
  for (const auto& [name, value] : {std::pair<const char*, float>{"mine::twice", 10}, {"mine::kept", 15}}) {
    c10::Stack stack{x};
    dispatcher.findSchemaOrThrow(name, "").callBoxed(stack);
    ok &= check(stack[0].toTensor().data_ptr<float>()[0] == value, name);
    ok &= check(dispatcher.findSchemaOrThrow(name, "").typed<at::Tensor(const at::Tensor&)>().call(x).data_ptr<float>()[0] == value, name);
  }
  return ok ? 0 : 1;
}
