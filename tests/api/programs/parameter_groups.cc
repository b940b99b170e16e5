// Options of parameter groups.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"

namespace {

using namespace torch::optim;
template <class O, class Opt>
O& o(Opt& x, int g) {
  return static_cast<O&>(x.param_groups()[g].options());
}
void run() {
  auto p = [] { return std::vector<torch::Tensor>{torch::ones(2, torch::requires_grad())}; };
  {
    std::vector<OptimizerParamGroup> g;
    g.emplace_back(p());
    g.emplace_back(p(), std::make_unique<SGDOptions>(SGDOptions(0.3)));
    g.emplace_back(p(), std::make_unique<SGDOptions>(SGDOptions(0.1).momentum(0).weight_decay(0.5)));
    g.emplace_back(p(), std::make_unique<SGDOptions>(SGDOptions(1e-3).nesterov(true).momentum(.7)));
    SGD s(g, SGDOptions(0.1).momentum(0.9).dampening(0.0).weight_decay(0.01).nesterov(true));
    for (int i = 0; i < 4; ++i) {
      auto& x = o<SGDOptions>(s, i);
      std::cout << x.lr() << " " << x.momentum() << " " << x.dampening() << " " << x.weight_decay() << " "
                << x.nesterov() << "\n";
    }
    s.add_param_group(OptimizerParamGroup(p(), std::make_unique<SGDOptions>(SGDOptions(0.7))));
    auto& x = o<SGDOptions>(s, 4);
    std::cout << x.lr() << " " << x.momentum() << "\n";
    static_cast<SGDOptions&>(s.defaults()).momentum(0.2);
    s.add_param_group(p());
    std::cout << o<SGDOptions>(s, 5).momentum() << "\n";
  }
  {
    std::vector<OptimizerParamGroup> g;
    g.emplace_back(p(), std::make_unique<AdamOptions>(AdamOptions().weight_decay(0.1)));
    g.emplace_back(p(), std::make_unique<AdamOptions>(0.001));
    g.emplace_back(p(), std::make_unique<AdamOptions>(AdamOptions(1).betas({0.5, 0.6}).amsgrad(true).eps(1e-3)));
    Adam a(g, AdamOptions(0.01).weight_decay(0.05).betas({0.8, 0.9}).eps(1e-6).amsgrad(true));
    for (int i = 0; i < 3; ++i) {
      auto& x = o<AdamOptions>(a, i);
      std::cout << x.lr() << " " << std::get<0>(x.betas()) << " " << x.eps() << " " << x.weight_decay() << " "
                << x.amsgrad() << "\n";
    }
  }
  {
    std::vector<OptimizerParamGroup> g;
    g.emplace_back(p(), std::make_unique<AdamWOptions>(AdamWOptions().lr(0.1)));
    AdamW a(g, AdamWOptions(0.01).weight_decay(0.05));
    auto& x = o<AdamWOptions>(a, 0);
    std::cout << x.lr() << " " << x.weight_decay() << "\n";
  }
  {
    std::vector<OptimizerParamGroup> g;
    g.emplace_back(p(), std::make_unique<RMSpropOptions>(RMSpropOptions().lr(0.1)));
    RMSprop a(g, RMSpropOptions(0.5).alpha(0.5).centered(true).momentum(0.1).eps(1e-3));
    auto& x = o<RMSpropOptions>(a, 0);
    std::cout << x.lr() << " " << x.alpha() << x.centered() << x.momentum() << x.eps() << "\n";
  }
  {
    std::vector<OptimizerParamGroup> g;
    g.emplace_back(p(), std::make_unique<AdagradOptions>(AdagradOptions().lr_decay(0.1)));
    Adagrad a(g, AdagradOptions(0.5).weight_decay(0.5).initial_accumulator_value(2));
    auto& x = o<AdagradOptions>(a, 0);
    std::cout << x.lr() << " " << x.lr_decay() << x.weight_decay() << x.initial_accumulator_value() << "\n";
  }
}

}  // namespace

KINDLING_PROGRAM(parameter_groups, run);
