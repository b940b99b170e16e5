// What a call costs: small tensors, so that the kernel is not what is measured.
#include <memory>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

auto inference() { return std::make_shared<c10::InferenceMode>(); }

void add_rows(bench::Program& p) {
  p.call("empty", [] { return [guard = inference()] { return at::empty({8}); }; });
  p.call("view", [] { return [guard = inference(), a = at::ones({8})] { return at::view(a, {2, 4}); }; });
  p.call("add_inference", [] {
    return [guard = inference(), a = at::ones({8}), b = at::ones({8})] { return at::add(a, b); };
  });
  p.call("add_out", [] {
    return [guard = inference(), a = at::ones({8}), b = at::ones({8}), out = at::empty({8})]() mutable {
      at::add_out(out, a, b);
    };
  });
  p.call("add_in_place", [] {
    return [guard = std::make_shared<c10::NoGradGuard>(), a = at::ones({8}), b = at::ones({8})]() mutable {
      at::add_(a, b);
    };
  });
  p.call("add_recording", [] {
    at::Tensor a = at::ones({8});
    a.requires_grad_();
    return [a, b = at::ones({8})] { return at::add(a, b); };
  });
  p.call("add_boxed", [] {
    return [guard = inference(), a = at::ones({8}), b = at::ones({8}), stack = c10::Stack(),
            add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor")]() mutable {
      stack.clear();
      stack.emplace_back(a);
      stack.emplace_back(b);
      stack.emplace_back(1);
      add.callBoxed(stack);
    };
  });
  p.call("look_up_by_name", [] {
    return [] { return c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor").op().name; };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("dispatch");
  add_rows(program);
  return program.run(argc, argv);
}
