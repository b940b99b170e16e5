#include "utils/serialize/optimizer_archive.h"

#include <gtest/gtest.h>

#include <sstream>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/testing/message_of.h"
#include "optim/adafactor.h"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/lbfgs.h"
#include "optim/sgd.h"

// An optimizer as programs for libtorch write theirs.
namespace mine {

struct SignumOptions : public torch::optim::OptimizerCloneableOptions<SignumOptions> {
  SignumOptions(double lr) : lr_(lr) {}
  typedef std::tuple<double, double> betas_t;
  TORCH_ARG(double, lr) = 1e-3;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.99);
  TORCH_ARG(bool, loud) = false;
  TORCH_ARG(std::optional<int64_t>, max_iter);

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(betas_t, betas);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, loud);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_OPTIONAL(int64_t, max_iter);
  }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(betas);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(loud);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(max_iter);
  }
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { this->lr(lr); }
};

struct SignumParamState : public torch::optim::OptimizerCloneableParamState<SignumParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, average);
  TORCH_ARG(at::Tensor, never);
  TORCH_ARG(std::deque<at::Tensor>, past);

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(int64_t, step);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, average);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, never);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_DEQUE(at::Tensor, past);
  }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(step);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(average);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(never);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG_DEQUE(past);
  }
};

class Signum : public torch::optim::Optimizer {
 public:
  explicit Signum(std::vector<at::Tensor> params, SignumOptions defaults)
      : Optimizer(std::move(params), std::make_unique<SignumOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override {
    at::Tensor loss = closure ? closure() : at::Tensor();
    for (auto& group : param_groups()) {
      for (auto& p : group.params()) {
        if (!p.grad().defined()) continue;
        if (state_.find(p.unsafeGetTensorImpl()) == state_.end()) {
          state_[p.unsafeGetTensorImpl()] = std::make_unique<SignumParamState>();
        }
        auto& state = static_cast<SignumParamState&>(*state_[p.unsafeGetTensorImpl()]);
        state.step(state.step() + 1);
        state.average(p.grad());
        state.past().push_back(p.grad());
      }
    }
    return loss;
  }
  void save(torch::serialize::OutputArchive& archive) const override { serialize(*this, archive); }
  void load(torch::serialize::InputArchive& archive) override { serialize(*this, archive); }

 private:
  template <typename Self, typename Archive>
  static void serialize(Self& self, Archive& archive) {
    _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(Signum);
  }
};

}  // namespace mine

namespace torch::optim {
namespace {

using c10::testing::message_of;

at::Tensor parameter(double gradient) {
  at::Tensor p = at::ones({2});
  p.set_requires_grad(true);
  p.mutable_grad() = at::full({2}, gradient);
  return p;
}

TEST(OptimizerArchive, OptimizersOfOnesOwn) {
  const std::vector<at::Tensor> params = {parameter(3), parameter(4)};
  mine::Signum optimizer(params, mine::SignumOptions(0.5).betas({0.1, 0.2}).loud(true).max_iter(7));
  optimizer.step();
  optimizer.step();
  std::stringstream stream;
  torch::save(optimizer, stream);

  const std::vector<at::Tensor> others = {parameter(0), parameter(0)};
  mine::Signum again(others, mine::SignumOptions(1));
  torch::load(again, stream);
  const auto& options = static_cast<const mine::SignumOptions&>(again.param_groups()[0].options());
  EXPECT_EQ(options.lr(), 0.5);
  EXPECT_EQ(options.betas(), std::make_tuple(0.1, 0.2));
  EXPECT_TRUE(options.loud());
  EXPECT_EQ(options.max_iter(), 7);
  ASSERT_EQ(again.state().size(), 2u);
  const auto& state = static_cast<const mine::SignumParamState&>(*again.state().at(others[1].unsafeGetTensorImpl()));
  EXPECT_EQ(state.step(), 2);
  EXPECT_TRUE(at::equal(state.average(), at::full({2}, 4.0)));
  EXPECT_FALSE(state.never().defined());
  EXPECT_EQ(state.past().size(), 2u);

  mine::Signum fewer({parameter(0)}, mine::SignumOptions(1));
  stream.clear();
  stream.seekg(0);
  EXPECT_EQ(message_of([&] { torch::load(fewer, stream); }).rfind("loaded state dict contains a parameter group", 0),
            0u);
  EXPECT_TRUE(fewer.state().empty());
}

TEST(OptimizerArchive, OursCanBeSerializedFieldByField) {
  const std::vector<at::Tensor> params = {parameter(3)};
  Adam adam(params, AdamOptions(0.5).betas({0.1, 0.2}).amsgrad(true));
  adam.step();
  torch::serialize::OutputArchive out;
  serialize<AdamParamState, AdamOptions>(out, adam);
  const std::string bytes = out.to_bytes();
  torch::serialize::InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  const std::vector<at::Tensor> others = {parameter(3)};
  Adam again(others, AdamOptions(1));
  serialize<AdamParamState, AdamOptions>(in, again);
  EXPECT_EQ(static_cast<AdamOptions&>(again.param_groups()[0].options()),
            AdamOptions(0.5).betas({0.1, 0.2}).amsgrad(true));
  auto& state = static_cast<AdamParamState&>(*again.state()[others[0].unsafeGetTensorImpl()]);
  EXPECT_EQ(state.step(), 1);
  EXPECT_TRUE(state.max_exp_avg_sq().defined());
  adam.step();
  again.step();
}

TEST(OptimizerArchive, SavesAndLoads) {
  const std::vector<at::Tensor> params = {parameter(3)};
  SGD sgd(params, SGDOptions(0.5).momentum(0.9));
  sgd.step();
  std::stringstream stream;
  torch::save(sgd, stream);
  SGD again({parameter(3)}, SGDOptions(1));
  torch::load(again, stream);
  EXPECT_EQ(static_cast<SGDOptions&>(again.param_groups()[0].options()).momentum(), 0.9);
  EXPECT_EQ(again.state().size(), 1u);
}

// All of `a` is in `b`, which may know more settings: dicts and lists by their parts, tensors by values.
void expect_same(const c10::IValue& a, const c10::IValue& b, const std::string& what) {
  const std::vector<std::string> names = names_of_parts(a);
  if (!names.empty()) {
    EXPECT_LE(names.size(), names_of_parts(b).size()) << what;
    for (const std::string& name : names) {
      c10::IValue x, y;
      find_part(a, name, &x);
      ASSERT_TRUE(find_part(b, name, &y)) << what << "." << name;
      expect_same(x, y, what + "." + name);
    }
    return;
  }
  if (a.isTensor()) {
    EXPECT_TRUE(b.isTensor() && at::equal(a.toTensor(), b.toTensor())) << what;
  } else if (a.isInt() || a.isDouble()) {
    EXPECT_EQ(a.toScalar().toDouble(), b.toScalar().toDouble()) << what;
  } else if (!a.isGenericDict() && !a.isList() && !a.isTuple()) {
    EXPECT_TRUE(a == b) << what;
  }
}

std::vector<at::Tensor> parameters_of_fixture() {
  std::vector<at::Tensor> params;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{4, 1, 3, 3}, {4}, {4}, {4}, {10, 64}, {10}}) {
    params.push_back(at::ones(sizes).set_requires_grad(true));
    params.back().mutable_grad() = at::ones(sizes);
  }
  return params;
}

TEST(OptimizerArchive, ReadsThoseOfPython) {
  for (const char* version : {"1.13.1", "2.2.2", "2.7.1", "2.15.0"}) {
    const std::string path =
        c10::str("utils/pickle/testdata/save/optimizer_sgd_momentum_groups@", version, ".pt");
    const std::vector<at::Tensor> params = parameters_of_fixture();
    SGD sgd({OptimizerParamGroup({params[0], params[1]}),
             OptimizerParamGroup(std::vector<at::Tensor>(params.begin() + 2, params.end()))},
            SGDOptions(1));
    torch::load(sgd, path);
    c10::IValue stored;
    torch::load(stored, path);
    const StateDict dict = sgd.state_dict();
    expect_same(stored, dict.tree(), version);
    EXPECT_EQ(dict.number("param_groups.1.weight_decay"), 0.1);
    EXPECT_EQ(dict.tensor("state.4.momentum_buffer").numel(), 640);
    sgd.step();
    Adam adam({OptimizerParamGroup({params[0], params[1]}),
               OptimizerParamGroup(std::vector<at::Tensor>(params.begin() + 2, params.end()))});
    EXPECT_THROW(torch::load(adam, path), c10::ValueError);
    EXPECT_TRUE(adam.state().empty());
  }
}

TEST(OptimizerArchive, WritesWhatPythonWrites) {
  const std::vector<at::Tensor> params = {parameter(3)};
  Adam adam(params, AdamOptions(0.5));
  adam.step();
  std::stringstream stream;
  torch::save(adam, stream);
  c10::IValue value;
  torch::load(value, stream);
  const StateDict dict(value);
  EXPECT_EQ(names_of_parts(value), (std::vector<std::string>{"state", "param_groups"}));
  EXPECT_EQ(dict.tensor("state.0.step").scalar_type(), at::kFloat);
  EXPECT_TRUE(dict.at("state").toGenericDict().contains(c10::IValue(int64_t{0}))) << "numbers are the keys";
  EXPECT_TRUE(dict.at("param_groups").isList());
  EXPECT_TRUE(dict.at("param_groups.0.betas").isTuple());
  EXPECT_TRUE(dict.at("param_groups.0.foreach").isNone());
  expect_same(adam.state_dict().tree(), value, "adam");
}

TEST(OptimizerArchive, SafetensorsHoldStatesUnderDottedNames) {
  const std::vector<at::Tensor> params = {parameter(3), parameter(4)};
  Adafactor adafactor(params, AdafactorOptions(0.5));
  LBFGS lbfgs(params, LBFGSOptions(0.1).max_iter(4));
  adafactor.step();
  const auto closure = [&] {
    const at::Tensor loss = at::full({}, 2.0);
    for (const at::Tensor& p : params) p.mutable_grad() = at::full({2}, 2.0);
    return loss;
  };
  lbfgs.step(closure);
  const auto through_file = [](const Optimizer& from, Optimizer& to) {
    torch::serialize::OutputArchive out;
    out << from;
    const std::string bytes = out.use_format("safetensors").to_bytes();
    torch::serialize::InputArchive in;
    in.load_from(bytes.data(), bytes.size());
    in >> to;
  };
  Adafactor again({parameter(0), parameter(0)}, AdafactorOptions(1));
  through_file(adafactor, again);
  expect_same(adafactor.state_dict().tree(), again.state_dict().tree(), "adafactor");
  LBFGS other({parameter(0), parameter(0)}, LBFGSOptions(1));
  through_file(lbfgs, other);
  expect_same(lbfgs.state_dict().tree(), other.state_dict().tree(), "lbfgs");
}

TEST(OptimizerArchive, ReadsWhatLibtorchWroteBefore15) {
  torch::serialize::OutputArchive out;
  const auto list = [&](const std::string& name, const at::Tensor& tensor) {
    out.write(name + "/size", at::full({}, 1, at::kLong));
    out.write(name + "/0", tensor, /*is_buffer=*/true);
  };
  list("step_buffers", at::full({}, 7, at::kLong));
  list("sum_buffers", at::full({2}, 9.0));
  const std::string bytes = out.to_bytes();
  const std::vector<at::Tensor> params = {parameter(3), parameter(4)};
  Adagrad adagrad(params, AdagradOptions(0.25));
  torch::load(adagrad, bytes.data(), bytes.size());
  const StateDict dict = adagrad.state_dict();
  EXPECT_EQ(dict.integer("state.0.step"), 7);
  EXPECT_TRUE(at::equal(dict.tensor("state.0.sum"), at::full({2}, 9.0)));
  EXPECT_EQ(dict.number("param_groups.0.lr"), 0.25);
}

}  // namespace
}  // namespace torch::optim
