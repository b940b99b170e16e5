// Optimizers, schedules, clipping.
#include <torch/torch.h>

#include <iomanip>
#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using namespace torch::optim;
template <class O, class Opt>
void train(const char* n, Opt opt) {
  torch::manual_seed(0);
  torch::nn::Linear l(3, 1);
  {
    torch::NoGradGuard g;
    l->weight.copy_(torch::tensor({{.5, -.3, .2}}));
    l->bias.fill_(.1);
  }
  std::vector<OptimizerParamGroup> gs;
  gs.emplace_back(std::vector<torch::Tensor>{l->weight});
  gs.emplace_back(std::vector<torch::Tensor>{l->bias}, std::make_unique<decltype(opt)>(opt));
  O o(gs, opt);
  auto x = torch::arange(12, torch::kFloat).view({4, 3}) / 10, y = torch::tensor({{1.f}, {2.f}, {0.f}, {-1.f}});
  for (int i = 0; i < 6; i++) {
    o.zero_grad();
    auto loss = torch::mse_loss(l(x), y);
    loss.backward();
    o.step();
  }
  std::cout << n << " " << std::setprecision(6) << l->weight.view(-1) << l->bias << o.state().size()
            << o.param_groups().size() << o.size() << "\n";
}
void run() {
  train<SGD>("sgd", SGDOptions(.1));
  train<SGD>("mom", SGDOptions(.1).momentum(.9).nesterov(true).weight_decay(.01));
  train<Adam>("adam", AdamOptions(.05).amsgrad(true));
  train<AdamW>("adamw", AdamWOptions(.05));
  train<RMSprop>("rms", RMSpropOptions(.02).centered(true).momentum(.5));
  train<Adagrad>("adagrad", AdagradOptions(.1).lr_decay(.01));
  {
    torch::nn::Linear l(2, 1);
    torch::nn::init::constant_(l->weight, .3);
    torch::nn::init::zeros_(l->bias);
    LBFGS o(l->parameters(), LBFGSOptions(1).max_iter(10).line_search_fn("strong_wolfe"));
    auto x = torch::tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, -6.f}}), y = torch::tensor({{1.f}, {-1.f}, {2.f}});
    auto c = [&] {
      o.zero_grad();
      auto s = torch::mse_loss(l(x), y);
      s.backward();
      return s;
    };
    for (int i = 0; i < 3; i++) std::cout << o.step(c).item<float>() << " ";
    std::cout << l->weight << "\n";

    REFUSED(LBFGS({torch::ones(1)}, LBFGSOptions().line_search_fn("x")).step([&] {
      return torch::ones(1, torch::requires_grad()).sum();
    }));
  }
  {
    torch::Tensor p = torch::ones(2, torch::requires_grad());
    SGD o({p}, .1);
    StepLR s(o, 2, .5);
    for (int i = 0; i < 6; i++) {
      std::cout << o.param_groups()[0].options().get_lr() << " ";
      o.step();
      s.step();
    }
    std::cout << "\n";
    ReduceLROnPlateauScheduler r(o, ReduceLROnPlateauScheduler::min, .1, 1, 1e-4, ReduceLROnPlateauScheduler::rel, 0,
                                 {}, 1e-8, true);
    for (float m : {1.f, .9f, .95f, .95f, .95f, .5f, .6f, .6f, .6f}) {
      r.step(m);
      std::cout << o.param_groups()[0].options().get_lr() << " ";
    }
    std::cout << "\n";
    o.param_groups()[0].options().set_lr(.7);
    std::cout << o.defaults().get_lr() << o.param_groups()[0].options().get_lr() << "\n";
    for (auto& g : o.param_groups()) static_cast<SGDOptions&>(g.options()).lr(.3).momentum(.5);
    std::cout << o.param_groups()[0].options().get_lr() << "\n";
    o.add_param_group({{torch::ones(1)}});
    std::cout << o.param_groups().size() << o.param_groups()[1].has_options() << "\n";

    REFUSED(o.step([&]() -> torch::Tensor { throw std::runtime_error("closure"); }));

    REFUSED(SGD(std::vector<torch::Tensor>{}, .1));

    REFUSED({
      SGD e(std::vector<torch::Tensor>{torch::ones(1)}, .1);
      e.step();
    });
    Adam unused({p});
    auto& st = unused.state();
    std::cout << st.size() << "\n";
    Adam ad({p}, AdamOptions(.1));
    (p * p).sum().backward();
    ad.step();
    auto& as = static_cast<AdamParamState&>(*ad.state().at(p.unsafeGetTensorImpl()));
    std::cout << as.step() << as.exp_avg() << as.exp_avg_sq() << "\n";
    ad.zero_grad();
    std::cout << p.grad().defined();
    ad.zero_grad(false);
    (p * p).sum().backward();
    ad.zero_grad(false);
    std::cout << p.grad() << "\n";
    std::cout << ad.parameters().size() << "\n";
    struct L : LRScheduler {
      L(Optimizer& o) : LRScheduler(o) {}
      std::vector<double> get_lrs() override {
        auto l = get_current_lrs();
        for (auto& x : l) x *= .9;
        return l;
      }
    };
    L ls(ad);
    ls.step();
    ls.step();
    std::cout << ad.param_groups()[0].options().get_lr() << "\n";
  }
  {
    auto p = torch::nn::utils::parameters_to_vector({torch::ones(2), torch::zeros({2, 2})});
    std::cout << p << "\n";
    auto a = torch::ones(3, torch::requires_grad());
    (a * torch::tensor({3., 4., 0.})).sum().backward();
    std::cout << torch::nn::utils::clip_grad_norm_({a}, 1.) << a.grad() << "\n";
    torch::nn::utils::clip_grad_value_({a}, .5);
    std::cout << a.grad() << "\n";
    a.mutable_grad()[0] = NAN;
  }
}
}  // namespace

KINDLING_PROGRAM(optimizers, run);
