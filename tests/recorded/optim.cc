// torch.optim: parameters step by step, state dicts, averaged models.
#include <cstdio>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"
#include "tests/recorded/families.h"
#include "tests/recorded/optim_values.h"
#include "utils/averaged_model/averaged_model.h"

namespace recorded {
namespace {

using at::Tensor;

class OptimizerCase {
 public:
  OptimizerCase(const Json& c, Check& check) : case_(c), check_(check) {
    std::vector<std::vector<Tensor>> params;
    std::vector<Json> configs;
    for (const Json& group : read(c, "groups")) {
      params.emplace_back();
      for (const Json& p : group.at("parameters")) {
        params.back().push_back(check.recordings().tensor(p).set_requires_grad(true));
        params_.push_back(params.back().back());
      }
      configs.push_back(group.at("config"));
    }
    optimizer_ = make_optimizer(read(c, "optimizer"), read(c, "config"), params, configs);
  }

  void replay() {
    std::vector<std::vector<Tensor>> rows(params_.size());
    const bool sparse = has(case_, "sparse_gradients");
    std::vector<Tensor> gradients;
    if (!sparse) {
      for (const Json& g : read(case_, "gradients")) gradients.push_back(check_.recordings().tensor(g));
    }
    const int64_t steps =
        sparse ? static_cast<int64_t>(read(case_, "sparse_gradients").size()) : gradients.at(0).size(0);
    for (int64_t t = 0; t < steps; ++t) {
      for (size_t j = 0; j < params_.size(); ++j) {
        if (sparse) {
          const Json& g = read(case_, "sparse_gradients")[static_cast<size_t>(t)];
          optimizer_->add_row_gradient(
              {params_[j], check_.recordings().tensor(g.at("indices")), check_.recordings().tensor(g.at("values"))});
        } else {
          params_[j].mutable_grad() = without_gradient(t, j) ? Tensor() : at::clone(at::select(gradients[j], 0, t));
        }
      }
      optimizer_->step();
      for (size_t j = 0; j < params_.size(); ++j) rows[j].push_back(at::clone(at::detach(params_[j])));
    }
    for (size_t j = 0; j < params_.size(); ++j) {
      check_.tensor("parameter " + std::to_string(j), at::stack(rows[j]), read(case_, "trajectory")[j], 10);
    }
    if (has(case_, "state_dict")) {
      check_tree(check_, "state_dict", optimizer_->state_dict().tree(), read(case_, "state_dict"));
    }
  }

 private:
  bool without_gradient(int64_t step, size_t parameter) const {
    for (const Json& hole : has(case_, "without_gradient") ? read(case_, "without_gradient") : Json::array()) {
      if (hole[0] == step && hole[1] == parameter) return true;
    }
    return false;
  }

  const Json& case_;
  Check& check_;
  std::vector<Tensor> params_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

Tensor objective(const std::string& name, const Tensor& p) {
  if (name == "rosenbrock") {
    const int64_t n = p.numel();
    const Tensor low = at::narrow(p, 0, 0, n - 1), high = at::narrow(p, 0, 1, n - 1);
    const Tensor valley = at::sub(high, at::mul(low, low)), rest = at::sub(at::ones_like(low), low);
    return at::sum(at::add(at::mul(rest, rest), at::mul(valley, valley), 100));
  }
  if (name == "quadratic") {
    Tensor weights = at::arange(1, p.numel() + 1, p.options().requires_grad(false));
    const Tensor off = at::sub(p, 0.5);
    return at::add(at::sum(at::mul(weights, at::mul(off, off))),
                   at::mul(at::select(p, 0, 0), at::select(p, 0, p.numel() - 1)));
  }
  if (name != "logcosh") refuse_value("objective", name);
  return at::add(at::sum(at::log(at::cosh(at::sub(p, 0.3)))), at::sum(at::mul(p, p)), 0.1);
}

void replay_lbfgs(const Json& c, Check& check) {
  Tensor p = check.recordings().tensor(read(c, "start")).set_requires_grad(true);
  const auto optimizer = make_optimizer("LBFGS", read(c, "config"), {{p}}, {Json::object()});
  std::vector<Tensor> rows;
  int64_t calls = 0;
  for (size_t t = 0; t < read(c, "losses").size(); ++t) {
    const Tensor loss = optimizer->step([&] {
      ++calls;
      optimizer->zero_grad();
      Tensor l = objective(read(c, "objective"), p);
      torch::autograd::backward({l});
      return l;
    });
    const double tolerance = read(c, "dtype") == "float64" ? 1e-6 : 1e-4;
    check.number("loss " + std::to_string(t), at::item(loss).toDouble(), read(c, "losses")[t], tolerance);
    check.equal("calls until " + std::to_string(t), calls, read(c, "closure_calls")[t]);
    rows.push_back(at::clone(at::detach(p)));
  }
  check.tensor("trajectory", at::stack(rows), read(c, "trajectory"), 100);
  const torch::optim::StateDict state = optimizer->state_dict();
  for (const auto& [name, recorded] : read(c, "state").items()) {
    const std::string path = "state.0." + name;
    if (conformance::is_tensor(recorded) && !state.at(path).isTensor()) {
      const double value = at::item(check.recordings().tensor(recorded)).toDouble();
      check.number(path, state.number(path), value, 1e-5);
    } else if (conformance::is_tensor(recorded)) {
      check.tensor(path, state.tensor(path), recorded, 100);
    } else {
      check.number(path, state.number(path), recorded, 1e-5);
    }
  }
}

torch::optim::AverageFunction average_function(const std::string& name) {
  if (name == "swa" || name.rfind("ema ", 0) == 0) return nullptr;
  double of_average = 0, of_parameter = 0;
  char rest = 0;
  if (std::sscanf(name.c_str(), "avg_fn %lf a + %lf p%c", &of_average, &of_parameter, &rest) != 2)
    refuse_value("average", name);
  return [of_average, of_parameter](const Tensor& a, const Tensor& p, int64_t) {
    return at::add(at::mul(a, of_average), at::mul(p, of_parameter));
  };
}

torch::optim::MultiAverageFunction multi_average_function(const std::string& name) {
  if (name.rfind("ema ", 0) != 0) return nullptr;
  return torch::optim::get_ema_multi_avg_fn(std::stod(name.substr(4)));
}

void set_state(torch::nn::Module& module, const Json& recorded, const Check& check) {
  torch::nn::StateDict state = module.state_dict();
  const c10::NoGradGuard no_grad;
  for (const auto& [name, value] : recorded.items()) at::copy_(state[name], check.recordings().tensor(value));
}

void check_state(Check& check, const torch::nn::Module& module, const Json& recorded) {
  torch::nn::StateDict state = module.state_dict();
  for (const auto& [name, value] : recorded.items()) check.tensor(name, state[name], value, 10);
}

void replay_averaged(const Json& c, Check& check) {
  using namespace torch::nn;
  Sequential model(Linear(2, 3), BatchNorm1d(3), Linear(3, 1));
  set_state(*model, read(c, "start"), check);
  const std::string average = read(c, "average");
  torch::optim::AveragedModel<Sequential> averaged(model, std::nullopt, average_function(average),
                                                   multi_average_function(average), read(c, "use_buffers"));
  for (const Json& step : read(c, "steps")) {
    set_state(*model, step.at("model"), check);
    averaged.update_parameters(model);
    Check::Scope scope(check, "after " + step.at("n_averaged").dump());
    check_state(check, *averaged.module, step.at("averaged"));
    check.equal("n_averaged", at::item(averaged.n_averaged).toLong(), step.at("n_averaged"));
  }
  check.equal("state_dict keys", averaged.state_dict().keys(), read(c, "state_dict_keys"));
  std::vector<Tensor> batches;
  for (const Json& batch : read(c, "update_bn_batches")) batches.push_back(check.recordings().tensor(batch));
  torch::optim::update_bn(batches, averaged);
  check_state(check, *averaged.module, read(c, "after_update_bn"));
}

}  // namespace

void replay_optim(const Json& one, Check& check) {
  if (text_of(one, "kind", "") == "AveragedModel") {
    replay_averaged(one, check);
  } else if (has(one, "objective")) {
    replay_lbfgs(one, check);
  } else {
    OptimizerCase(one, check).replay();
  }
  // Optimizers look for settings that they do not know themselves.
  check_all_read(one, "field", {"id", "config", "dtype", "groups", "model", "largest_difference", "optimizer"});
}

}  // namespace recorded
