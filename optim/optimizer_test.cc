// Optimizers step by step against PyTorch's (traces.h), and the base class.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"
#include "c10/util/string_utils.h"
#include "optim/optim.h"
#include "optim/traces.h"

namespace torch::optim {
namespace {

constexpr int kSteps = 6;

at::Tensor from_function(at::IntArrayRef sizes, at::ScalarType dtype, const std::function<double(int64_t)>& f) {
  at::Tensor t = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = f(i);
  return at::to(t, dtype);
}

std::vector<double> values_of(const at::Tensor& t) {
  const at::Tensor d = at::contiguous(at::to(at::detach(t), at::kDouble));
  return std::vector<double>(d.data_ptr<double>(), d.data_ptr<double>() + d.numel());
}

std::vector<at::Tensor> start(at::ScalarType dtype) {
  std::vector<at::Tensor> params = {from_function({3, 4}, dtype, [](int64_t i) { return std::sin(0.5 + static_cast<double>(i)); }),
                                    from_function({5}, dtype, [](int64_t i) { return std::sin(3.5 + static_cast<double>(i)); })};
  for (at::Tensor& p : params) p.requires_grad_(true);
  return params;
}

void set_gradients(std::vector<at::Tensor>& params, int t) {
  for (size_t k = 0; k < params.size(); ++k) {
    at::Tensor& p = params[k];
    p.mutable_grad() = k == 1 && t == 2 ? at::Tensor()
                                        : from_function(p.sizes(), p.scalar_type(), [&](int64_t i) {
                                            return std::cos(1.7 * static_cast<double>(i) + 0.9 * t + static_cast<double>(k));
                                          });
  }
}

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<at::Tensor>)>;

template <class O, class Options>
Make maker(Options options) {
  return [options](std::vector<at::Tensor> params) { return std::make_unique<O>(std::move(params), options); };
}

struct Case {
  std::string name;
  const double (*trace)[17];
  Make make;
};

std::vector<Case> cases() {
  using namespace traces;
  return {
      {"SgdPlain", kSgdPlain, maker<SGD>(SGDOptions(0.1))},
      {"SgdMomentum", kSgdMomentum, maker<SGD>(SGDOptions(0.1).momentum(0.9))},
      {"SgdDampening", kSgdDampening, maker<SGD>(SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.01))},
      {"SgdNesterov", kSgdNesterov, maker<SGD>(SGDOptions(0.05).momentum(0.8).weight_decay(0.1).nesterov(true))},
      {"AdamPlain", kAdamPlain, maker<Adam>(AdamOptions(0.01))},
      {"AdamAmsgrad", kAdamAmsgrad, maker<Adam>(AdamOptions(0.02).weight_decay(0.1).amsgrad(true))},
      {"AdamBetas", kAdamBetas, maker<Adam>(AdamOptions(0.01).betas({0.8, 0.95}).eps(1e-3))},
      {"AdamwPlain", kAdamwPlain, maker<AdamW>(AdamWOptions(0.01))},
      {"AdamwAmsgrad", kAdamwAmsgrad, maker<AdamW>(AdamWOptions(0.02).weight_decay(0.2).amsgrad(true))},
      {"AdagradPlain", kAdagradPlain, maker<Adagrad>(AdagradOptions(0.1))},
      {"AdagradDecay", kAdagradDecay,
       maker<Adagrad>(AdagradOptions(0.1).lr_decay(0.1).weight_decay(0.05).initial_accumulator_value(0.2))},
      {"RmspropPlain", kRmspropPlain, maker<RMSprop>(RMSpropOptions(0.01))},
      {"RmspropCentered", kRmspropCentered,
       maker<RMSprop>(RMSpropOptions(0.01).alpha(0.9).weight_decay(0.05).momentum(0.8).centered(true))},
  };
}

// Those, and the ones whose steps are recorded elsewhere.
std::vector<Case> all_cases() {
  std::vector<Case> all = cases();
  const auto add = [&](const char* name, Make make) { all.push_back({name, nullptr, std::move(make)}); };
  add("SgdMaximize", maker<SGD>(SGDOptions(0.1).momentum(0.5).maximize(true)));
  add("AdamDecoupled", maker<Adam>(AdamOptions(0.1).weight_decay(0.3).decoupled_weight_decay(true)));
  add("Adadelta", maker<Adadelta>(AdadeltaOptions().weight_decay(0.1)));
  add("Adamax", maker<Adamax>(AdamaxOptions(0.1)));
  add("ASGD", maker<ASGD>(ASGDOptions(0.1).t0(1)));
  add("NAdam", maker<NAdam>(NAdamOptions(0.1)));
  add("RAdam", maker<RAdam>(RAdamOptions(0.1).betas({0.5, 0.9})));
  add("Rprop", maker<Rprop>(RpropOptions(0.1)));
  return all;
}

void expect_row(const std::vector<at::Tensor>& params, const double* row, double tolerance, const std::string& what) {
  for (const at::Tensor& p : params)
    for (double x : values_of(p)) {
      ASSERT_NEAR(x, *row, tolerance * std::max(1.0, std::abs(*row))) << what;
      ++row;
    }
}

TEST(Traces, EveryOptimizerStepsAsRecorded) {
  const std::pair<at::ScalarType, double> dtypes[] = {
      {at::kDouble, 1e-12}, {at::kFloat, 2e-6}, {at::kHalf, 1e-2}, {at::kBFloat16, 6e-2}};
  for (const Case& c : cases()) {
    for (auto [dtype, tolerance] : dtypes) {
      std::vector<at::Tensor> params = start(dtype);
      auto optimizer = c.make(params);
      for (int t = 0; t < kSteps; ++t) {
        set_gradients(params, t);
        EXPECT_FALSE(optimizer->step().defined());
        expect_row(params, c.trace[t], tolerance, c10::str(c.name, " ", c10::toString(dtype), " step ", t));
      }
    }
  }
}

TEST(Traces, LayoutOfParameterAndGradientDoesNotMatter) {
  for (const Case& c : cases()) {
    for (int layout = 0; layout < 3; ++layout) {
      std::vector<at::Tensor> params = start(at::kDouble);
      // 0: a transposed (dense) parameter; 1: every second column of a wider one; 2: a transposed gradient.
      if (layout == 0) params[0] = at::detach(at::t(at::contiguous(at::t(at::detach(params[0])))));
      if (layout == 1) {
        at::Tensor wide = at::zeros({3, 8}, at::TensorOptions().dtype(at::kDouble));
        at::Tensor strided = at::as_strided(wide, {3, 4}, {8, 2});
        at::copy_(strided, at::detach(params[0]));
        params[0] = strided;
      }
      auto optimizer = c.make(params);
      for (int t = 0; t < kSteps; ++t) {
        set_gradients(params, t);
        if (layout == 2) params[0].mutable_grad() = at::t(at::contiguous(at::t(params[0].grad())));
        optimizer->step();
        expect_row(params, c.trace[t], 1e-12, c10::str(c.name, " layout ", layout, " step ", t));
      }
    }
  }
}

TEST(Traces, StateSavedAndLoadedContinuesWithTheSameBits) {
  for (const Case& c : all_cases()) {
    std::vector<at::Tensor> params = start(at::kFloat);
    auto optimizer = c.make(params);
    for (int t = 0; t < 3; ++t) {
      set_gradients(params, t);
      optimizer->step();
    }
    const StateDict saved = optimizer->state_dict().clone();
    std::vector<at::Tensor> others;
    for (const at::Tensor& p : params) others.push_back(at::clone(at::detach(p)).requires_grad_(true));
    auto other = c.make(others);
    other->load_state_dict(saved);
    for (int t = 3; t < kSteps; ++t) {
      set_gradients(params, t);
      optimizer->step();
      set_gradients(others, t);
      other->step();
    }
    for (size_t k = 0; k < params.size(); ++k) ASSERT_EQ(values_of(params[k]), values_of(others[k])) << c.name;
  }
}

TEST(Fused, ResultDoesNotDependOnThreadsOrOnHowParametersAreCut) {
  const int before = at::get_num_threads();
  for (const Case& c : all_cases()) {
    std::vector<std::vector<double>> results;
    for (int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      std::vector<at::Tensor> params;
      for (int64_t n : {1, 40001, 7, 0, 33333})
        params.push_back(from_function({n}, at::kFloat, [](int64_t i) { return std::sin(static_cast<double>(i)); }).requires_grad_(true));
      auto optimizer = c.make(params);
      for (int t = 0; t < 3; ++t) {
        for (at::Tensor& p : params)
          p.mutable_grad() = from_function(p.sizes(), at::kFloat, [&](int64_t i) { return std::cos(static_cast<double>(i) + t); });
        optimizer->step();
      }
      std::vector<double> all;
      for (const at::Tensor& p : params)
        for (double x : values_of(p)) all.push_back(x);
      results.push_back(all);
    }
    EXPECT_EQ(results[0], results[1]) << c.name;
    EXPECT_EQ(results[0], results[2]) << c.name;
  }
  at::set_num_threads(before);
}

TEST(Fused, ComplexParametersAreSteppedAsPairsOfReals) {
  for (const Case& c : all_cases()) {
    at::Tensor z = at::zeros({4}, at::TensorOptions().dtype(at::kComplexDouble)).requires_grad_(true);
    at::Tensor x = at::zeros({8}, at::TensorOptions().dtype(at::kDouble)).requires_grad_(true);
    auto a = c.make({z});
    auto b = c.make({x});
    for (int t = 0; t < 3; ++t) {
      at::Tensor gx = from_function({8}, at::kDouble, [&](int64_t i) { return std::sin(static_cast<double>(i) + t); });
      at::Tensor gz = at::zeros({4}, at::TensorOptions().dtype(at::kComplexDouble));
      std::copy_n(gx.data_ptr<double>(), 8, static_cast<double*>(gz.mutable_data_ptr()));
      z.mutable_grad() = gz;
      x.mutable_grad() = gx;
      a->step();
      b->step();
    }
    for (int i = 0; i < 8; ++i) ASSERT_EQ(static_cast<double*>(z.mutable_data_ptr())[i], x.data_ptr<double>()[i]) << c.name;
  }
}

TEST(Optimizer, StepBumpsTheVersionAndReturnsTheClosuresLoss) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1));
  const int64_t version = params[0]._version();
  int calls = 0;
  at::Tensor loss = sgd.step([&] {
    ++calls;
    EXPECT_TRUE(c10::GradMode::is_enabled());
    set_gradients(params, 0);
    return at::zeros({});
  });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(loss.defined());
  EXPECT_GT(params[0]._version(), version);
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

TEST(Optimizer, ZeroGrad) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1));
  set_gradients(params, 0);
  const at::Tensor kept = params[0].grad();
  sgd.zero_grad(false);
  EXPECT_TRUE(params[0].grad().is_same(kept));
  for (double x : values_of(kept)) EXPECT_EQ(x, 0);
  sgd.zero_grad();
  EXPECT_FALSE(params[0].grad().defined());
}

TEST(Optimizer, GroupsHaveTheirOwnOptions) {
  std::vector<at::Tensor> params = start(at::kDouble);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{params[0]});
  groups.emplace_back(std::vector<at::Tensor>{params[1]}, std::make_unique<SGDOptions>(1.0));
  SGD sgd(groups, SGDOptions(0.5));
  const std::vector<double> a = values_of(params[0]), b = values_of(params[1]);
  set_gradients(params, 0);
  sgd.step();
  EXPECT_NEAR(values_of(params[0])[1], a[1] - 0.5 * std::cos(1.7), 1e-12);
  EXPECT_NEAR(values_of(params[1])[1], b[1] - 1.0 * std::cos(2.7), 1e-12);
  EXPECT_EQ(sgd.param_groups().size(), 2u);
  EXPECT_EQ(static_cast<SGDOptions&>(sgd.param_groups()[0].options()), SGDOptions(0.5));
  EXPECT_FALSE(static_cast<SGDOptions&>(sgd.param_groups()[1].options()) == SGDOptions(0.5));
  EXPECT_EQ(sgd.parameters().size(), 1u);
  EXPECT_EQ(sgd.size(), 2u);
  at::Tensor more = at::zeros({2}).requires_grad_(true);
  sgd.add_parameters({more});
  EXPECT_EQ(sgd.parameters().size(), 2u);
  EXPECT_EQ(sgd.size(), 3u);
  EXPECT_EQ(sgd.param_groups().size(), 2u);
}

// What a group's options leave as a new object of their class has it is the optimizer's.
TEST(Optimizer, OptionsOfGroupsInheritWhatTheyDoNotSet) {
  std::vector<at::Tensor> params = start(at::kDouble);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{params[0]},
                      std::make_unique<AdamOptions>(AdamOptions().weight_decay(0.1)));
  groups.emplace_back(std::vector<at::Tensor>{params[1]},
                      std::make_unique<AdamOptions>(AdamOptions(1).betas({0.5, 0.6}).eps(1e-3)));
  Adam adam(groups, AdamOptions(0.01).weight_decay(0.05).betas({0.8, 0.9}).amsgrad(true));
  EXPECT_EQ(static_cast<AdamOptions&>(adam.param_groups()[0].options()),
            AdamOptions(0.01).weight_decay(0.1).betas({0.8, 0.9}).amsgrad(true));
  EXPECT_EQ(static_cast<AdamOptions&>(adam.param_groups()[1].options()),
            AdamOptions(1).weight_decay(0.05).betas({0.5, 0.6}).eps(1e-3).amsgrad(true));
  // A rate of 1e-3 counts as not set where the class has no default for it.
  SGD sgd({params[0]}, SGDOptions(0.1).momentum(0.9).nesterov(true));
  sgd.add_param_group(OptimizerParamGroup({params[1]}, std::make_unique<SGDOptions>(SGDOptions(1e-3).weight_decay(2))));
  EXPECT_EQ(static_cast<SGDOptions&>(sgd.param_groups()[1].options()),
            SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(2));
  static_cast<SGDOptions&>(sgd.defaults()).momentum(0.2).nesterov(false);
  at::Tensor more = at::zeros({2}).requires_grad_(true);
  sgd.add_param_group(OptimizerParamGroup({more}, std::make_unique<SGDOptions>(0.7)));
  EXPECT_EQ(static_cast<SGDOptions&>(sgd.param_groups()[2].options()), SGDOptions(0.7).momentum(0.2));
}

template <class E, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const E& e) {
    return e.msg();
  }
  return "nothing was thrown";
}

TEST(Optimizer, RefusesBadSettings) {
  std::vector<at::Tensor> params = start(at::kFloat);
  EXPECT_EQ(message<c10::ValueError>([&] { SGD o(params, SGDOptions(-1)); }), "Invalid learning rate: -1");
  EXPECT_EQ(message<c10::ValueError>([&] { SGD o(params, SGDOptions(1).momentum(-1)); }), "Invalid momentum value: -1");
  EXPECT_EQ(message<c10::ValueError>([&] { SGD o(params, SGDOptions(1).nesterov(true)); }),
            "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_EQ(message<c10::ValueError>([&] { Adam o(params, AdamOptions(1).betas({1.5, 0.9})); }),
            "Invalid beta parameter at index 0: 1.5");
  EXPECT_EQ(message<c10::ValueError>([&] { AdamW o(params, AdamWOptions(1).betas({0.5, 1.0})); }),
            "Invalid beta parameter at index 1: 1");
  EXPECT_EQ(message<c10::ValueError>([&] { AdamW o(params, AdamWOptions(std::nan(""))); }), "Invalid learning rate: nan");
  EXPECT_EQ(message<c10::ValueError>([&] { RMSprop o(params, RMSpropOptions(1).alpha(-1)); }), "Invalid alpha value: -1");
}

TEST(Optimizer, RefusesBadParameters) {
  std::vector<at::Tensor> params = start(at::kFloat);
  EXPECT_EQ(message<c10::ValueError>([&] { SGD o({at::Tensor()}, SGDOptions(1)); }), "can't optimize an undefined Tensor");
  EXPECT_THROW(SGD({at::zeros({2}, at::kLong)}, SGDOptions(1)), c10::TypeError);
  SGD sgd({params[0]}, SGDOptions(1));
  EXPECT_EQ(message<c10::ValueError>([&] { sgd.add_param_group(OptimizerParamGroup({params[0]})); }),
            "some parameters appear in more than one parameter group");
  EXPECT_EQ(sgd.param_groups().size(), 1u);
  // Twice in one group: once.
  SGD twice({params[0], params[0]}, SGDOptions(1));
  EXPECT_EQ(twice.size(), 1u);
}

TEST(Optimizer, RefusesBadGradientsAndChangesNothing) {
  std::vector<at::Tensor> params = start(at::kFloat);
  Adam adam(params, AdamOptions(0.1));
  set_gradients(params, 0);
  adam.step();
  const std::vector<double> before = values_of(params[0]);
  set_gradients(params, 1);
  *const_cast<at::Tensor*>(&params[1].grad()) = at::zeros({4});
  EXPECT_THROW(adam.step(), c10::Error);
  EXPECT_EQ(values_of(params[0]), before);
  params[1].mutable_grad() = at::zeros({5}, at::kDouble);
  EXPECT_THROW(adam.step(), c10::Error);
  EXPECT_EQ(values_of(params[0]), before);
  EXPECT_EQ(adam.state_dict().integer("state.0.step"), 1);
}

TEST(Optimizer, LoadChecksEverythingFirst) {
  std::vector<at::Tensor> params = start(at::kFloat);
  Adam adam(params, AdamOptions(0.1));
  set_gradients(params, 0);
  adam.step();
  const StateDict good = adam.state_dict();
  const at::Tensor average = good.tensor("state.0.exp_avg");
  EXPECT_TRUE(good.contains("state.1.exp_avg_sq"));
  EXPECT_EQ(good.number("param_groups.0.lr"), 0.1);
  EXPECT_FALSE(good.contains("state.7.exp_avg"));
  auto refused = [&](auto change) {
    StateDict bad = good.clone();
    change(bad);
    EXPECT_THROW(adam.load_state_dict(bad), c10::ValueError);
    EXPECT_EQ(adam.state_dict().integer("state.0.step"), 1);
    EXPECT_TRUE(adam.state_dict().tensor("state.0.exp_avg").is_same(average));
  };
  refused([](StateDict& d) { d.erase("param_groups"); });
  refused([](StateDict& d) { d.set("param_groups.0", d.at("state")); });
  refused([](StateDict& d) { d.set("surprise", 1); });
  refused([](StateDict& d) { d.set("state.0.surprise", 1); });
  refused([](StateDict& d) { d.set("state.9", d.at("state.0")); });
  refused([](StateDict& d) { d.erase("state.0.step"); });
  refused([](StateDict& d) { d.set("state.1.exp_avg", at::zeros({6})); });
  refused([](StateDict& d) { d.set("state.1.exp_avg", at::zeros({5}, at::kComplexFloat)); });
  refused([](StateDict& d) { d.set("state.1.exp_avg", 3); });
  refused([](StateDict& d) { d.set("param_groups.0.lr", -1.0); });
  refused([](StateDict& d) { d.set("param_groups.0.lr", "much"); });
  refused([](StateDict& d) { d.set("param_groups.0.betas", 0.9); });
  refused([](StateDict& d) { d.set("param_groups.0.params", std::vector<int64_t>{0, 1, 2}); });
  refused([](StateDict& d) { d.set("param_groups.0.params", std::vector<int64_t>{0, 0}); });
  adam.load_state_dict(good);
}

TEST(Optimizer, ParametersOfAGroupMayLieOnSeveralDevices) {
  const at::Device meta(at::DeviceType::Meta);
  for (const Case& c : all_cases()) {
    std::vector<at::Tensor> params = start(at::kDouble), alone = start(at::kDouble);
    params.insert(params.begin() + 1, at::empty({2, 3}, at::TensorOptions().device(meta)).requires_grad_(true));
    auto optimizer = c.make(params), plain = c.make(alone);
    for (int t = 0; t < 3; ++t) {
      set_gradients(alone, t);
      plain->step();
      for (size_t k = 0; k < 2; ++k) params[2 * k].mutable_grad() = alone[k].grad();
      params[1].mutable_grad() = at::empty({2, 3}, at::TensorOptions().device(meta));
      optimizer->step();
    }
    for (size_t k = 0; k < 2; ++k) EXPECT_EQ(values_of(params[2 * k]), values_of(alone[k])) << c.name;
    params[1].mutable_grad() = at::empty({2}, at::TensorOptions().device(meta));
    EXPECT_THROW(optimizer->step(), c10::Error) << c.name;
    params[0].mutable_grad() = params[1];
    EXPECT_THROW(optimizer->step(), c10::Error) << c.name;
  }
}

TEST(Optimizer, GradientsAreLetGoAfterTheStep) {
  for (const Case& c : all_cases()) {
    std::vector<at::Tensor> params = start(at::kFloat);
    auto optimizer = c.make(params);
    set_gradients(params, 0);
    optimizer->step();
    EXPECT_EQ(params[0].grad().use_count(), 1u) << c.name;
  }
}

TEST(Optimizer, HooksRunAroundTheStep) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1));
  std::string log;
  const size_t pre = sgd.register_step_pre_hook([&](Optimizer&) { log += "a"; });
  sgd.register_step_post_hook([&](Optimizer& o) {
    EXPECT_EQ(&o, &sgd);
    log += "b";
  });
  sgd.step();
  sgd.remove_hook(pre);
  sgd.step();
  EXPECT_EQ(log, "abb");
}

TEST(Optimizer, CountersFromAFileAreChecked) {
  const auto trained = [](Optimizer& optimizer, at::Tensor& p) {
    p.mutable_grad() = at::ones({3});
    optimizer.step();
    return optimizer.state_dict();
  };
  const auto refuses = [&](Optimizer& optimizer, at::Tensor& p, const char* what) {
    const StateDict good = trained(optimizer, p);
    for (const at::Scalar& count : {at::Scalar(INT64_MAX), at::Scalar(INT64_MIN), at::Scalar(int64_t{-1}), at::Scalar((int64_t{1} << 53) + 1), at::Scalar(2.5)}) {
      StateDict bad = good.clone();
      bad.set("state.0.step", count);
      EXPECT_THROW(optimizer.load_state_dict(bad), c10::ValueError) << what << " " << count.toDouble();
    }
    StateDict most = good.clone();
    most.set("state.0.step", int64_t{1} << 53);
    optimizer.load_state_dict(most);
    trained(optimizer, p);
  };
  at::Tensor p = at::zeros({3}).set_requires_grad(true);
  Adam adam({p}, AdamOptions(0.1));
  AdamW adamw({p}, AdamWOptions(0.1));
  Adagrad adagrad({p}, AdagradOptions(0.1));
  RMSprop rmsprop({p}, RMSpropOptions(0.1));
  refuses(adam, p, "Adam");
  refuses(adamw, p, "AdamW");
  refuses(adagrad, p, "Adagrad");
  refuses(rmsprop, p, "RMSprop");
}

TEST(Optimizer, TheLastStepThereIsStays) {
  at::Tensor p = at::zeros({3}).set_requires_grad(true);
  Adam adam({p}, AdamOptions(0.1));
  p.mutable_grad() = at::ones({3});
  adam.step();
  auto& state = static_cast<AdamParamState&>(*adam.state().at(p.unsafeGetTensorImpl()));
  state.step(INT64_MAX);
  adam.step();
  EXPECT_EQ(state.step(), INT64_MAX);
  for (const double x : values_of(p)) EXPECT_TRUE(std::isfinite(x));
}

TEST(Optimizer, HooksOfStateDictsMayChangeThem) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1));
  std::string log;
  sgd.register_state_dict_pre_hook([&](Optimizer&) { log += "a"; });
  const size_t id = sgd.register_state_dict_post_hook([&](Optimizer&, StateDict& dict) {
    log += "b";
    dict.set("param_groups.0.lr", 0.5);
  });
  sgd.register_state_dict_post_hook([&](Optimizer&, StateDict&) { log += "c"; }, /*prepend=*/true);
  const StateDict changed = sgd.state_dict();
  EXPECT_EQ(log, "acb");
  EXPECT_EQ(changed.number("param_groups.0.lr"), 0.5);
  sgd.remove_hook(id);
  EXPECT_EQ(sgd.state_dict().number("param_groups.0.lr"), 0.1);
  sgd.register_load_state_dict_pre_hook([&](Optimizer&, StateDict& dict) { dict.set("param_groups.0.momentum", 0.25); });
  sgd.register_load_state_dict_post_hook([&](Optimizer&) { log += "d"; });
  sgd.load_state_dict(changed);
  EXPECT_EQ(log.back(), 'd');
  const auto& options = static_cast<const SGDOptions&>(sgd.param_groups()[0].options());
  EXPECT_EQ(options.lr(), 0.5);
  EXPECT_EQ(options.momentum(), 0.25);
  EXPECT_EQ(changed.number("param_groups.0.momentum"), 0) << "the hook changed the caller's dict";
}

TEST(Optimizer, HooksOfAllOptimizersRunOutside) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1));
  LBFGS lbfgs(params, LBFGSOptions(0.1).max_iter(1));
  std::string log;
  sgd.register_step_pre_hook([&](Optimizer&) { log += "b"; });
  sgd.register_step_post_hook([&](Optimizer&) { log += "c"; });
  const size_t before = register_optimizer_step_pre_hook([&](Optimizer&) { log += "a"; });
  const size_t after = register_optimizer_step_post_hook([&](Optimizer&) { log += "d"; });
  sgd.step();
  lbfgs.step([] { return at::zeros({}); });
  remove_optimizer_step_hook(before);
  remove_optimizer_step_hook(after);
  sgd.step();
  EXPECT_EQ(log, "abcdadbc");
}

TEST(Optimizer, NamedParameters) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd({OptimizerParamGroup::named({{"weight", params[0]}, {"bias", params[1]}})}, SGDOptions(0.1));
  const StateDict dict = sgd.state_dict();
  EXPECT_EQ(dict.at("param_groups.0.param_names.1").toStringRef(), "bias");
  sgd.load_state_dict(dict);
  EXPECT_EQ(sgd.param_groups()[0].param_names()[0], "weight");
  EXPECT_THROW(sgd.add_param_group(OptimizerParamGroup({at::zeros({1})})), c10::TypeError);
}

TEST(Optimizer, WhatElseStandsInAGroupIsKept) {
  std::vector<at::Tensor> params = start(at::kFloat);
  SGD sgd(params, SGDOptions(0.1)), other(params, SGDOptions(0.1));
  sgd.param_groups()[0].set_extra("initial_lr", 0.7);
  other.load_state_dict(sgd.state_dict());
  ASSERT_NE(other.param_groups()[0].extra("initial_lr"), nullptr);
  EXPECT_EQ(other.param_groups()[0].extra("initial_lr")->toDouble(), 0.7);
}

TEST(Optimizer, StatesAreFoundByAddressAndByItsText) {
  std::vector<at::Tensor> params = start(at::kFloat);
  Adam adam(params, AdamOptions(0.1));
  set_gradients(params, 0);
  adam.step();
  const ska::flat_hash_map<std::string, std::unique_ptr<OptimizerParamState>>& by_text = adam.state();
  const ska::flat_hash_map<void*, std::unique_ptr<OptimizerParamState>>& by_address = adam.state();
  const std::string text = c10::guts::to_string(params[1].unsafeGetTensorImpl());
  EXPECT_EQ(by_text.at(text), by_address.at(params[1].unsafeGetTensorImpl()));
  EXPECT_THROW((void)by_text.count(std::string("weight")), c10::ValueError);
}

TEST(Differentiable, AStepIsRecorded) {
  // p - lr * g, with momentum twice: d(sum p)/dg of the first gradient is -lr * (1 + momentum).
  const auto check = [](auto make, double tolerance) {
    at::Tensor leaf = from_function({3}, at::kDouble, [](int64_t i) { return 0.5 + static_cast<double>(i); });
    const auto run = [&](const at::Tensor& gradient) {
      at::Tensor p = at::clone(leaf);
      auto optimizer = make(std::vector<at::Tensor>{p});
      for (int t = 0; t < 2; ++t) {
        p.mutable_grad() = t == 0 ? gradient : at::ones({3}, at::kDouble);
        optimizer->step();
      }
      return at::sum(at::mul(p, p));
    };
    at::Tensor gradient = from_function({3}, at::kDouble, [](int64_t i) { return 0.3 - 0.7 * static_cast<double>(i); });
    gradient.requires_grad_(true);
    const at::Tensor result = run(gradient);
    ASSERT_TRUE(result.requires_grad());
    const at::Tensor derivative = torch::autograd::grad({result}, {gradient})[0];
    for (int64_t i = 0; i < 3; ++i) {
      const auto moved = [&](double by) {
        const at::Tensor other = at::clone(at::detach(gradient));
        other.data_ptr<double>()[i] += by;
        const c10::NoGradGuard no_grad;
        return values_of(run(other))[0];
      };
      EXPECT_NEAR(values_of(derivative)[static_cast<size_t>(i)], (moved(1e-5) - moved(-1e-5)) / 2e-5, tolerance);
    }
  };
  const auto with = [](auto options) { return options.differentiable(true); };
  check(maker<SGD>(with(SGDOptions(0.1).momentum(0.9))), 1e-6);
  check(maker<Adam>(with(AdamOptions(0.1).eps(0.1).amsgrad(true))), 1e-6);
  check(maker<AdamW>(with(AdamWOptions(0.1).eps(0.1))), 1e-6);
  check(maker<Adagrad>(with(AdagradOptions(0.1).eps(0.1))), 1e-6);
  check(maker<RMSprop>(with(RMSpropOptions(0.1).eps(0.1).momentum(0.5).centered(true))), 1e-6);
  check(maker<Adadelta>(with(AdadeltaOptions().eps(0.1))), 1e-6);
  check(maker<Adamax>(with(AdamaxOptions(0.1).eps(0.1))), 1e-6);
  check(maker<ASGD>(with(ASGDOptions(0.1))), 1e-6);
  check(maker<NAdam>(with(NAdamOptions(0.1).eps(0.1))), 1e-6);
  check(maker<RAdam>(with(RAdamOptions(0.1).betas({0.3, 0.5}).eps(0.1))), 1e-6);
}

TEST(Differentiable, IsNotFused) {
  std::vector<at::Tensor> params = start(at::kFloat);
  EXPECT_EQ(message<c10::Error>([&] { Adam o(params, AdamOptions(1).differentiable(true).fused(true)); }),
            "`fused` does not support `differentiable`");
  EXPECT_EQ(message<c10::Error>([&] { SGD o(params, SGDOptions(1).foreach(true).fused(true)); }),
            "`fused` and `foreach` cannot be `True` together.");
}

TEST(SparseGradients, AreStepped) {
  at::Tensor indices = at::zeros({1, 3}, at::kLong);
  indices.data_ptr<int64_t>()[1] = 2;
  const auto stepped = [&](auto make) {
    at::Tensor p = at::ones({4, 2}).requires_grad_(true);
    auto optimizer = make(p);
    p.mutable_grad() = at::sparse_coo_tensor(indices, at::ones({3, 2}), {4, 2});
    optimizer.step();
    optimizer.step();
    return values_of(p);
  };
  const auto near = [](const std::vector<double>& found, double first, double third) {
    const std::vector<double> expected{first, first, 1, 1, third, third, 1, 1};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  };
  // What PyTorch gives for the same.
  near(stepped([](at::Tensor& p) { return SGD({p}, SGDOptions(0.1)); }), 0.6, 0.8);
  near(stepped([](at::Tensor& p) { return SGD({p}, SGDOptions(0.1).maximize(true)); }), 1.4, 1.2);
  near(stepped([](at::Tensor& p) { return SGD({p}, SGDOptions(0.1).momentum(0.9)); }), 0.42, 0.71);
  near(stepped([](at::Tensor& p) { return Adagrad({p}, AdagradOptions(0.1)); }), 0.8293, 0.8293);
  near(stepped([](at::Tensor& p) { return SparseAdam({p}, SparseAdamOptions(0.1)); }), 0.8, 0.8);
  const auto refused = [&](auto make) { return message<c10::Error>([&] { stepped(make); }); };
  EXPECT_EQ(refused([](at::Tensor& p) { return AdamW({p}, AdamWOptions(0.1)); }),
            "Adam does not support sparse gradients, please consider SparseAdam instead");
  EXPECT_EQ(refused([](at::Tensor& p) { return Rprop({p}, RpropOptions(0.1)); }), "Rprop does not support sparse gradients");
  EXPECT_EQ(refused([](at::Tensor& p) { return SGD({p}, SGDOptions(0.1).weight_decay(0.1)); }),
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  // Zeroed, not dropped: still sparse, without elements.
  at::Tensor p = at::ones({4, 2}).requires_grad_(true);
  SGD sgd({p}, SGDOptions(0.1));
  p.mutable_grad() = at::sparse_coo_tensor(indices, at::ones({3, 2}), {4, 2});
  sgd.zero_grad(/*set_to_none=*/false);
  EXPECT_TRUE(p.grad().is_sparse());
  EXPECT_EQ(at::_nnz(p.grad()), 0);
}

TEST(RowGradients, StepTheirRowsAlone) {
  at::Tensor p = at::ones({4, 2}).requires_grad_(true);
  SGD sgd({p}, SGDOptions(0.5));
  at::Tensor indices = at::zeros({3}, at::kLong);
  indices.data_ptr<int64_t>()[1] = 2;
  sgd.add_row_gradient({p, indices, at::ones({3, 2})});
  sgd.step();
  EXPECT_EQ(values_of(p), (std::vector<double>{0, 0, 1, 1, 0.5, 0.5, 1, 1}));
  sgd.step();
  EXPECT_EQ(values_of(p)[0], 0) << "a row gradient is of one step";
  sgd.add_row_gradient({p, indices, at::ones({3, 2})});
  sgd.zero_grad();
  sgd.step();
  EXPECT_EQ(values_of(p)[0], 0);

  const auto refused = [&](auto& optimizer) {
    optimizer.add_row_gradient({p, indices, at::ones({3, 2})});
    return message<c10::Error>([&] { optimizer.step(); });
  };
  Adam adam({p}, AdamOptions(0.5));
  EXPECT_EQ(refused(adam), "Adam does not support sparse gradients, please consider SparseAdam instead");
  RMSprop rmsprop({p}, RMSpropOptions(0.5));
  EXPECT_EQ(refused(rmsprop), "RMSprop does not support sparse gradients");
  Adagrad decaying({p}, AdagradOptions(0.5).weight_decay(0.1));
  EXPECT_EQ(refused(decaying), "weight_decay option is not compatible with sparse gradients");
  SparseAdam sparse({p}, SparseAdamOptions());
  p.mutable_grad() = at::ones({4, 2});
  EXPECT_EQ(message<c10::Error>([&] { sparse.step(); }),
            "SparseAdam does not support dense gradients, please consider Adam instead");
  EXPECT_EQ(values_of(p), (std::vector<double>{0, 0, 1, 1, 0.5, 0.5, 1, 1}));

  indices.data_ptr<int64_t>()[1] = 4;
  sgd.add_row_gradient({p, indices, at::ones({3, 2})});
  EXPECT_THROW(sgd.step(), c10::IndexError);
  EXPECT_THROW(sgd.add_row_gradient({p, indices, at::ones({2, 2})}), c10::ValueError);
  EXPECT_THROW(sgd.add_row_gradient({p, indices, at::ones({3, 2}, at::kDouble)}), c10::TypeError);
  EXPECT_THROW(sgd.add_row_gradient({p, at::zeros({3}), at::ones({3, 2})}), c10::TypeError);
}

TEST(Settings, OfNewOptimizersAreChecked) {
  std::vector<at::Tensor> params = start(at::kFloat);
  const auto refused = [&](auto make) { return message<c10::ValueError>([&] { make(); }); };
  EXPECT_EQ(refused([&] { Rprop o(params, RpropOptions().etas({1.5, 1.2})); }), "Invalid eta values: 1.5, 1.2");
  EXPECT_EQ(refused([&] { Adadelta o(params, AdadeltaOptions().rho(1.5)); }), "Invalid rho value: 1.5");
  EXPECT_EQ(refused([&] { ASGD o(params, ASGDOptions().lambd(-1)); }), "Invalid lambd value: -1");
  EXPECT_EQ(refused([&] { NAdam o(params, NAdamOptions().momentum_decay(-1)); }), "Invalid momentum_decay value: -1");
  EXPECT_EQ(refused([&] { SparseAdam o(params, SparseAdamOptions(0)); }), "Invalid learning rate: 0");
  EXPECT_EQ(refused([&] { Adafactor o(params, AdafactorOptions().d(0.5)); }),
            "Clipping threshold d should be >= 1 but is: 0.5");
  EXPECT_EQ(refused([&] { Adafactor o(params, AdafactorOptions().beta2_decay(1)); }),
            "beta2_decay should be <= 0 but is: 1");
  EXPECT_EQ(refused([&] { Muon o(params, MuonOptions()); }),
            "Muon only supports 2D parameters whereas we found a parameter with size: [5]");
  EXPECT_EQ(refused([&] { Muon o({params[0]}, MuonOptions().adjust_lr_fn("x")); }),
            "Adjust learning rate function x is not supported");
  EXPECT_EQ(refused([&] {
              LBFGS o({OptimizerParamGroup({params[0]}), OptimizerParamGroup({params[1]})}, LBFGSOptions());
            }),
            "LBFGS doesn't support per-parameter options (parameter groups)");
  LBFGS lbfgs({params[0]}, LBFGSOptions().line_search_fn("x"));
  params[0].mutable_grad() = at::ones_like(params[0]);
  EXPECT_EQ(message<c10::Error>([&] { lbfgs.step([] { return at::zeros({}); }); }), "only 'strong_wolfe' is supported");
  EXPECT_EQ(message<c10::Error>([&] { lbfgs.step(nullptr); }), "LBFGS requires a closure function");
}

TEST(Lbfgs, MaximizesToo) {
  at::Tensor p = at::zeros({2}, at::kDouble).requires_grad_(true);
  LBFGS lbfgs({p}, LBFGSOptions(1).line_search_fn("strong_wolfe").maximize(true));
  lbfgs.step([&] {
    lbfgs.zero_grad();
    const at::Tensor off = at::sub(p, 0.5);
    at::Tensor height = at::neg(at::sum(at::mul(off, off)));
    torch::autograd::backward({height});
    return height;
  });
  for (const double x : values_of(p)) EXPECT_NEAR(x, 0.5, 1e-6);
}

}  // namespace
}  // namespace torch::optim
