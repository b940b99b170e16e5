// Gradients, functions with their own backward, hooks.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"

namespace {

using namespace torch::autograd;
class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0];
    auto weight = saved[1];
    auto bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output.mm(weight);
    auto grad_weight = grad_output.t().mm(input);
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_input, grad_weight, grad_bias};
  }
};
class MulConstant : public Function<MulConstant> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    ctx->saved_data["name"] = std::string("k");
    ctx->saved_data["dims"] = tensor.sizes();
    return tensor * constant;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    std::cout << "backward of " << ctx->saved_data["name"].toStringRef() << " " << ctx->saved_data["dims"].toIntVector()
              << std::endl;
    return {grad_outputs[0] * ctx->saved_data["constant"].toDouble(), torch::Tensor()};
  }
};
struct Inplace : Function<Inplace> {
  static variable_list forward(AutogradContext* ctx, Variable a, Variable b) {
    a.mul_(2);
    ctx->mark_dirty({a});
    auto m = (b > 0);
    ctx->mark_non_differentiable({m});
    ctx->set_materialize_grads(false);
    return {a, m, b * b};
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    std::cout << "defined " << g[0].defined() << g[1].defined() << g[2].defined() << " need "
              << ctx->needs_input_grad(0) << ctx->needs_input_grad(1) << "\n";
    return {g[0].defined() ? g[0] * 2 : g[0], g[2]};
  }
};
void run() {
  torch::manual_seed(1);
  auto x = torch::ones({2, 2}, torch::requires_grad());
  std::cout << x << std::endl;
  auto y = x + 2;
  std::cout << y << std::endl;
  std::cout << y.grad_fn()->name() << std::endl;
  auto z = y * y * 3;
  auto out = z.mean();
  std::cout << z << std::endl
            << z.grad_fn()->name() << std::endl
            << out << std::endl
            << out.grad_fn()->name() << std::endl;
  auto a = torch::randn({2, 2});
  a = ((a * 3) / (a - 1));
  std::cout << a.requires_grad() << std::endl;
  a.requires_grad_(true);
  auto b = (a * a).sum();
  std::cout << b.grad_fn()->name() << std::endl;
  out.backward();
  std::cout << x.grad() << std::endl;
  x = torch::randn(3, torch::requires_grad());
  y = x * 2;
  while (y.norm().item<double>() < 1000) y = y * 2;
  std::cout << y << std::endl << y.grad_fn()->name() << std::endl;
  auto v = torch::tensor({0.1, 1.0, 0.0001}, torch::kFloat);
  y.backward(v);
  std::cout << x.grad() << std::endl;
  {
    torch::NoGradGuard g;
    std::cout << x.pow(2).requires_grad() << std::endl;
  }
  y = x.detach();
  std::cout << y.requires_grad() << " " << x.eq(y).all().item<bool>() << std::endl;
  auto model = torch::nn::Linear(4, 3);
  auto input = torch::randn({3, 4}).requires_grad_(true);
  auto output = model(input);
  auto target = torch::randn({3, 3});
  auto loss = torch::nn::MSELoss()(output, target);
  auto grad_output = torch::ones_like(output);
  auto gradient =
      torch::autograd::grad({output}, {input}, {grad_output}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  auto gradient_penalty = torch::pow((gradient.norm(2, 1) - 1), 2).mean();
  auto combined = loss + gradient_penalty;
  combined.backward();
  std::cout << input.grad() << std::endl;
  auto xx = torch::randn({2, 3}).requires_grad_(), ww = torch::randn({4, 3}).requires_grad_();
  auto yy = LinearFunction::apply(xx, ww);
  yy.sum().backward();
  std::cout << xx.grad() << std::endl << ww.grad() << std::endl << yy.grad_fn()->name() << "\n";
  auto c = torch::randn({2}).requires_grad_();
  auto d = MulConstant::apply(c, 5.5);
  d.sum().backward();
  std::cout << c.grad() << std::endl;
  auto e = torch::randn({2}, torch::requires_grad());
  auto f = torch::tensor({-1.0f, 2.0f}).requires_grad_();
  auto r = Inplace::apply(e * 1, f);
  std::cout << r.size() << r[0].requires_grad() << r[1].requires_grad() << r[2].requires_grad() << r[1] << std::endl;
  r[0].sum().backward();
  std::cout << e.grad() << f.grad() << std::endl;
  try {
    out.backward();
  } catch (const std::exception& ex) {
    std::string s = ex.what();
    std::cout << s.substr(0, s.find('\n')) << std::endl;
  }
  auto h = torch::ones({3}, torch::requires_grad());
  auto id = h.register_hook([](torch::Tensor g) { return g * 10; });
  h.register_hook([](torch::Tensor g) { std::cout << "hook " << g << std::endl; });
  (h * 2).sum().backward();
  std::cout << h.grad() << std::endl;
  h.remove_hook(id);
  h.mutable_grad().reset();
  (h * 2).sum().backward();
  std::cout << h.grad() << std::endl;
  h.mutable_grad().zero_();
  auto t = h * 3;
  t.retain_grad();
  (t * t).sum().backward({}, true);
  std::cout << t.grad() << t.retains_grad() << t.is_leaf() << std::endl;
  std::cout << h.output_nr() << " " << h._version() << std::endl;
}

}  // namespace

KINDLING_PROGRAM(autograd, run);
