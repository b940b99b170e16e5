// Scripts about gradient and inference mode.
#include "aten/aten.h"
#include "aten/core/tensor_literal.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/core/grad_mode.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

using at::Tensor;

template <class Mode>
void log_mode(ScriptRun& r, const Tensor& x, const char* name, bool value) {
  Tensor y, v, e, d;
  {
    const Mode mode(value);
    y = x * 2;
    v = at::slice(x, 0, 0, 1);
    e = torch::ones({2}, at::TensorOptions().requires_grad(true));
    d = x.detach();
  }
  r.log(name, "| y.requires_grad", y.requires_grad(), "| y.is_leaf", y.is_leaf(), "| y.grad_fn", y.grad_fn() != nullptr,
        "| view requires_grad", v.requires_grad(), "| new leaf requires_grad", e.requires_grad(), "| y.is_inference",
        y.is_inference(), "| view is_inference", v.is_inference(), "| detach is_inference", d.is_inference());
}

void grad_modes_table(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  log_mode<c10::AutoGradMode>(r, x, "default", true);
  log_mode<c10::AutoGradMode>(r, x, "no_grad", false);
  log_mode<c10::InferenceMode>(r, x, "inference", true);
  log_mode<c10::AutoGradMode>(r, x, "set_grad_enabled(False)", false);
  {
    const c10::NoGradGuard no_grad;
    const c10::AutoGradMode enable_grad(true);
    r.log("enable_grad inside no_grad", (x * 2).requires_grad(), c10::GradMode::is_enabled());
  }
  const c10::InferenceMode inference;
  {
    const c10::AutoGradMode enable_grad(true);
    r.log("enable_grad inside inference_mode", (x * 2).requires_grad(), c10::GradMode::is_enabled(),
          c10::InferenceMode::is_enabled());
  }
  const c10::InferenceMode off(false);
  r.log("inference_mode(False) inside", (x * 2).requires_grad(), c10::InferenceMode::is_enabled());
}

void inference_tensor_errors(ScriptRun& r) {
  Tensor i, j;
  {
    const c10::InferenceMode inference;
    i = doubles({1, 1});
    j = at::slice(i, 0, 0, 1);
  }
  const Tensor x = r.leaf({1, 2});
  r.log(caught([&] { i.add_(1); }));
  r.log(caught([&] { (void)(x * i); }), (x + i).requires_grad());
  r.log(caught([&] { j.add_(1); }));
  r.log(caught([&] { (void)i._version(); }));
  r.log(i.clone().is_inference(), i.view({2, 1}).is_inference());
  r.log(caught([&] { i.requires_grad_(); }));
  const c10::InferenceMode inference;
  Tensor x2 = at::ones({2});
  x2.add_(1);
  r.log(x2, caught([&] { (void)x2._version(); }));
}

void requires_grad_rules(ScriptRun& r) {
  r.log(caught([&] { (void)torch::tensor({1, 2}, at::TensorOptions().requires_grad(true)); }));
  const Tensor x = r.leaf({1, 2});
  Tensor y = x * 2;
  r.log(caught([&] { y.requires_grad_(false); }));
  r.log.not_in_cpp("mutable_grad() is a reference: what is assigned is not looked at");
  r.log.not_in_cpp("mutable_grad() is a reference: what is assigned is not looked at");
  const Tensor condition = x > 1;
  r.log(condition.requires_grad(), x.argmax().requires_grad(), (x.detach() * x).requires_grad(),
        at::where(condition, 1.0, 2.0).requires_grad());
  r.log.not_in_cpp("numpy() is Python's own");
  r.log(x.variable_data().requires_grad(), x.detach().data_ptr() == x.data_ptr());
  const Tensor z = y.detach_();
  r.log(z.is_leaf(), z.requires_grad());
}

}  // namespace

const std::map<std::string, Script>& mode_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(grad_modes_table),
      SCRIPT(inference_tensor_errors),
      SCRIPT(requires_grad_rules),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
