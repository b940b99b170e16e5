// Calls an operator by name, without its decomposition.
#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"

int main() {
  const at::Tensor x = at::Tensor();
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::addcmul", "");
  return op.decomposition() == nullptr && !x.defined() ? 0 : 1;
}
