// Scripts about modules: hooks, their states, registration.
#include <sstream>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "nn/layers/activation.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace nn = torch::nn;
using at::Tensor;
using Tensors = std::vector<Tensor>;

std::string shape(const Tensor& t) {
  return c10::str(t.sizes());
}

std::string text(const nn::IncompatibleKeys& keys) {
  std::ostringstream stream;
  stream << keys;
  return stream.str();
}

void module_hooks_order(ScriptRun& r) {
  nn::Linear linear(2, 2);
  nn::ReLU relu;
  nn::Sequential m(linear, relu);
  const auto says = [&](const char* text) { return [&r, text](nn::Module&, const Tensors&) { r.log(text); }; };
  const auto said = [&](const char* text) {
    return [&r, text](nn::Module&, const Tensors&, const Tensors&) { r.log(text); };
  };
  const auto sizes = [&](const char* text) {
    return [&r, text](nn::Module&, const Tensors& gi, const Tensors& go) { r.log(text, shape(gi[0]), shape(go[0])); };
  };
  m->register_forward_pre_hook(says("outer forward pre"));
  m->register_forward_hook(said("outer forward"));
  linear->register_forward_pre_hook(says("linear forward pre"));
  linear->register_forward_hook(said("linear forward 1"));
  linear->register_forward_hook(said("linear forward 2, prepended"), /*prepend=*/true);
  linear->register_full_backward_hook(sizes("linear backward"));
  relu->register_full_backward_hook(sizes("relu backward"));
  m->register_full_backward_pre_hook(
      [&](nn::Module&, const Tensors& go) { r.log("outer backward pre", shape(go[0])); });
  m->register_full_backward_hook(sizes("outer backward"));
  m(at::ones({3, 2}).set_requires_grad(true)).sum().backward();
}

void module_forward_hook_changes_output(ScriptRun& r) {
  nn::Identity m;
  m->register_forward_pre_hook([](nn::Module&, const Tensors& args) { return Tensors{args[0] + 1}; });
  m->register_forward_pre_hook([](nn::Module&, const Tensors& args) { return args[0] * 2; });
  m->register_forward_hook([](nn::Module&, const Tensors&, const Tensor& out) { return out * 10; });
  m->register_forward_hook(
      [&](nn::Module&, const Tensors& args, const Tensor& out) { r.log("with_kwargs sees", args[0], out); });
  r.log(m(r.leaf({1, 2})));
}

void module_backward_hook_changes_gradient(ScriptRun& r) {
  nn::Identity m;
  m->register_full_backward_pre_hook([](nn::Module&, const Tensors& go) { return go[0] * 2; });
  m->register_full_backward_hook([](nn::Module&, const Tensors& gi, const Tensors&) { return gi[0] + 5; });
  const Tensor x = r.leaf({1, 2});
  m(x).sum().backward();
  r.log(x.grad());
}

struct FailsImpl : nn::Module {
  Tensor forward(const Tensor&) { TORCH_CHECK(false, "forward failed"); }
};

void module_always_call_hook(ScriptRun& r) {
  FailsImpl m;
  m.register_forward_hook([&](nn::Module&, const Tensors&, const Tensors&) { r.log("plain hook"); });
  m.register_forward_hook(
      [&](nn::Module&, const Tensors&, const Tensors& out) {
        r.log("always_call hook, output", out.empty() ? Tensor() : out[0]);
      },
      /*prepend=*/false, /*always_call=*/true);
  r.log(caught([&] { nn::call_module(m, r.leaf({1})); }));
}

void global_module_hooks(ScriptRun& r) {
  auto a = nn::modules::register_module_forward_pre_hook(
      [&](nn::Module& m, const Tensors&) { r.log("global pre", nn::detail::class_name(m)); });
  auto b = nn::modules::register_module_forward_hook(
      [&](nn::Module& m, const Tensors&, const Tensors&) { r.log("global post", nn::detail::class_name(m)); });
  nn::Sequential m{nn::Identity(), nn::ReLU()};
  m->register_forward_hook([&](nn::Module&, const Tensors&, const Tensors&) { r.log("own post"); });
  m(r.leaf({1, -9}));
  a.remove(), b.remove();
  m(r.leaf({1, -9}));
}

void module_state_dict_hooks(ScriptRun& r) {
  nn::Linear m(nn::LinearOptions(2, 1).bias(false));
  m->register_state_dict_pre_hook(
      [&](nn::Module&, const std::string& prefix, bool) { r.log("state_dict pre", "'" + prefix + "'"); });
  m->register_state_dict_post_hook(
      [&](nn::Module&, nn::StateDict& state, const std::string&) { r.log("state_dict post", state.keys()); });
  m->register_load_state_dict_pre_hook([&](nn::Module&, nn::StateDict& state, const std::string&, bool strict,
                                           auto&&...) { r.log("load pre", state.keys(), strict); });
  m->register_load_state_dict_post_hook(
      [&](nn::Module&, nn::IncompatibleKeys& keys) { r.log("load post", keys.missing_keys, keys.unexpected_keys); });
  nn::Sequential net(m);
  r.log(text(net->load_state_dict(net->state_dict())));
}

void zero_grad_and_freeze(ScriptRun& r) {
  at::manual_seed(2);
  nn::Linear first(2, 2), last(2, 1);
  nn::Sequential m(first, last);
  for (Tensor& p : first->parameters()) p.requires_grad_(false);
  m(at::ones({1, 2})).sum().backward();
  const auto each = [&](const auto& show) {
    std::string all;
    for (const Tensor& p : m->parameters()) all += (all.empty() ? "" : ", ") + show(p);
    r.log("[" + all + "]");
  };
  const auto magnitude = [](const Tensor& p) {
    return ScriptLog::text(p.grad().defined() ? p.grad().abs().sum() : Tensor());
  };
  each([](const Tensor& p) { return ScriptLog::text(!p.grad().defined()); });
  m->zero_grad(/*set_to_none=*/false);
  each(magnitude);
  m->zero_grad(/*set_to_none=*/true);
  each(magnitude);
}

void batch_norm_modes(ScriptRun& r) {
  nn::BatchNorm1d bn(nn::BatchNormOptions(2).momentum(std::nullopt));
  const Tensor x = at::to(at::reshape(doubles({1, 2, 3, 6}), {2, 2}), at::kFloat);
  bn(x);
  bn(x + 1);
  r.log(bn->running_mean, bn->running_var, bn->num_batches_tracked);
  bn->eval();
  r.log("torch.Size(" + c10::str(bn(x).sizes()) + ")");
  r.log(caught([&] { nn::BatchNorm1d(2)(at::slice(x, 0, 0, 1)); }));
  r.log(caught([&] { nn::BatchNorm2d(2)(x); }));
}

void load_state_dict_report(ScriptRun& r) {
  nn::Sequential m(nn::Linear(2, 3), nn::BatchNorm1d(3));
  nn::StateDict state = m->state_dict();
  state.insert("extra", at::ones({1}));
  state.erase("0.bias");
  r.log(caught([&] { m->load_state_dict(state); }));
  r.log(text(m->load_state_dict(state, /*strict=*/false)));
  state["0.weight"] = at::ones({2, 2});
  r.log(caught([&] { m->load_state_dict(state, /*strict=*/false); }));
}

void module_registration(ScriptRun& r) {
  nn::Module m;
  r.log(caught([&] { m.register_parameter("a.b", at::ones({1})); }));
  r.log(caught([&] { m.register_parameter("", at::ones({1})); }));
  r.log.not_in_cpp("every tensor can be a parameter");
  r.log.not_in_cpp("a text is no tensor");
  r.log.not_in_cpp("a tensor is no module");
  m.register_buffer("kept", at::ones({1}));
  m.register_buffer("hidden", at::ones({1}), /*persistent=*/false);
  m.register_parameter("none", Tensor());
  r.log(m.state_dict().keys(), m.named_buffers().keys(), m.named_parameters().keys());
  r.log.not_in_cpp("a number is no tensor");
  r.log.not_in_cpp("a member that is not there");
  r.log.not_in_cpp("a buffer that is there is refused, as by libtorch");
  r.log(caught([&] { m.get_submodule("x.y"); }), caught([&] { m.get_parameter("q"); }));
}

}  // namespace

const std::map<std::string, Script>& module_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(module_hooks_order),
      SCRIPT(module_forward_hook_changes_output),
      SCRIPT(module_backward_hook_changes_gradient),
      SCRIPT(module_always_call_hook),
      SCRIPT(global_module_hooks),
      SCRIPT(module_state_dict_hooks),
      SCRIPT(zero_grad_and_freeze),
      SCRIPT(batch_norm_modes),
      SCRIPT(load_state_dict_report),
      SCRIPT(module_registration),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
