// Noise schedules and a small U-shaped net with embeddings of time.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

#include "tests/api/programs/program.h"

namespace {

using torch::Tensor;
namespace F = torch::nn::functional;
using torch::indexing::None;
using torch::indexing::Slice;
class DDPMScheduler {
 public:
  DDPMScheduler(int n, double b0 = 1e-4, double b1 = 0.02, std::string schedule = "linear") : n_(n) {
    if (schedule == "linear")
      betas = torch::linspace(b0, b1, n, torch::TensorOptions().dtype(torch::kFloat64));
    else if (schedule == "cosine") {
      auto t = torch::linspace(0, n, n + 1, torch::kFloat64);
      auto f = torch::cos((t / n + 0.008) / 1.008 * M_PI * 0.5).pow(2);
      f = f / f[0].clone();
      betas = torch::clip(1 - f.index({Slice(1)}) / f.index({Slice(0, -1)}), 0.0001, 0.9999);
    } else
      throw std::invalid_argument("unknown " + schedule);
    alphas = 1.0 - betas;
    ac = torch::cumprod(alphas, 0);
    prev = F::pad(ac.slice(0, 0, -1), F::PadFuncOptions({1, 0}).value(1.0));
    var = betas * (1. - prev) / (1. - ac);
  }
  Tensor extract(const Tensor& a, const Tensor& t, at::IntArrayRef shape) {
    auto o = a.gather(-1, t).to(torch::kFloat);
    std::vector<int64_t> s(shape.size(), 1);
    s[0] = t.size(0);
    return o.reshape(s);
  }
  Tensor add_noise(const Tensor& x, const Tensor& t, const Tensor& e) {
    return extract(ac.sqrt(), t, x.sizes()) * x + extract((1 - ac).sqrt(), t, x.sizes()) * e;
  }
  Tensor step(const Tensor& eps, int64_t t, const Tensor& x) {
    auto at = alphas[t].item<double>(), abar = ac[t].item<double>();
    auto mean = (x - (1 - at) / std::sqrt(1 - abar) * eps) / std::sqrt(at);
    if (t == 0) return mean;
    return mean + torch::sqrt(var[t]).to(torch::kFloat) * torch::randn_like(x);
  }
  Tensor ddim(const Tensor& eps, int64_t t, int64_t p, const Tensor& x) {
    auto a = ac[t], b = p >= 0 ? ac[p] : torch::ones({}, ac.options());
    auto x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1);
    return b.sqrt() * x0 + (1 - b).sqrt() * eps;
  }
  Tensor betas, alphas, ac, prev, var;
  int n_;
};
struct TimeEmb : torch::nn::Module {
  int d;
  TimeEmb(int d) : d(d) {}
  Tensor forward(Tensor t) {
    auto half = d / 2;
    auto e = torch::exp(torch::arange(half) * -(std::log(10000.0) / (half - 1)));
    auto a = t.index({Slice(), None}) * e.index({None, Slice()});
    return torch::cat({a.sin(), a.cos()}, -1);
  }
};
struct ResImpl : torch::nn::Module {
  ResImpl(int i, int o, int e) {
    gn1 = register_module("gn1", torch::nn::GroupNorm(i % 2 == 0 ? 2 : 1, i));
    gn2 = register_module("gn2", torch::nn::GroupNorm(torch::nn::GroupNormOptions(2, o).affine(false)));
    c1 = register_module("c1", torch::nn::Conv2d(torch::nn::Conv2dOptions(i, o, 3).padding(1)));
    c2 = register_module(
        "c2", torch::nn::Conv2d(torch::nn::Conv2dOptions(o, o, {3, 3}).padding({1, 1}).padding_mode(torch::kReflect)));
    l = register_module("l", torch::nn::Linear(e, o));
    if (i != o) sc = register_module("sc", torch::nn::Conv2d(i, o, 1));
  }
  Tensor forward(Tensor x, Tensor t) {
    auto h = c1(F::silu(gn1(x)));
    h = h + l(F::silu(t)).unsqueeze(-1).unsqueeze(-1);
    h = c2(F::silu(gn2(h)));
    return h + (sc.is_empty() ? x : sc(x));
  }
  torch::nn::GroupNorm gn1{nullptr}, gn2{nullptr};
  torch::nn::Conv2d c1{nullptr}, c2{nullptr}, sc{nullptr};
  torch::nn::Linear l{nullptr};
};
TORCH_MODULE(Res);
struct UNetImpl : torch::nn::Module {
  UNetImpl() : te(std::make_shared<TimeEmb>(8)), d(1, 4, 8), m(4, 8, 8), u(12, 4, 8), o(4, 1, 1) {
    register_module("te", te);
    register_module("d", d);
    register_module("m", m);
    register_module("u", u);
    register_module("o", o);
  }
  Tensor forward(Tensor x, Tensor t) {
    auto e = te->forward(t);
    auto a = d(x, e);
    auto b = m(F::avg_pool2d(a, F::AvgPool2dFuncOptions(2)), e);
    b = F::interpolate(b, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kNearest));
    return o(u(torch::cat({b, a}, 1), e));
  }
  std::shared_ptr<TimeEmb> te;
  Res d, m, u;
  torch::nn::Conv2d o;
};
TORCH_MODULE(UNet);
void run() {
  torch::manual_seed(0);
  DDPMScheduler s(50), c(20, 0, 0, "cosine");
  std::cout << s.ac.index({Slice(0, 5)}) << c.betas.index({Slice(None, None, 5)}) << s.var[49] << "\n";
  try {
    DDPMScheduler x(3, 0, 0, "foo");
  } catch (std::invalid_argument& e) {
    std::cout << e.what() << "\n";
  }
  UNet net;
  std::cout << net << "\n";
  torch::optim::AdamW opt(net->parameters(), 1e-3);
  for (int i = 0; i < 4; ++i) {
    auto x = torch::rand({4, 1, 8, 8}) * 2 - 1;
    auto t = torch::randint(0, 50, {4}, torch::kLong);
    auto e = torch::randn_like(x);
    auto xt = s.add_noise(x, t, e);
    auto loss = F::mse_loss(net(xt, t), e, F::MSELossFuncOptions(torch::kSum));
    opt.zero_grad();
    loss.backward();
    opt.step();
    std::cout << loss.item<float>() << "\n";
  }
  net->eval();
  torch::NoGradGuard g;
  auto x = torch::randn({1, 1, 8, 8});
  for (int64_t t = 49; t >= 45; --t) x = s.step(net(x, torch::full({1}, t, torch::kLong)), t, x);
  std::cout << x.sum() << x.dtype() << "\n";
  for (int64_t t = 40; t >= 0; t -= 20) {
    x = s.ddim(net(x.to(torch::kFloat), torch::tensor({t})), t, t - 20, x);
  }
  std::cout << x.mean() << x.dtype() << x[0][0].slice(1, 0, 2).slice(0, 0, 2) << "\n";
  UNet ema;
  for (size_t i = 0; i < ema->parameters().size(); ++i) ema->parameters()[i].mul_(0.9).add_(net->parameters()[i], 0.1);
  std::cout << torch::allclose(ema->parameters()[3], net->parameters()[3]) << "\n";
}

}  // namespace

KINDLING_PROGRAM(diffusion, run);
