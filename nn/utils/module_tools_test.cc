// What changes a module's tensors: normalization, parametrizations, pruning, fusion, calls with other parameters.
// Numbers are compared with PyTorch's in //tests/recorded; here is what holds around them.
#include <gtest/gtest.h>

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"
#include "nn/utils/utils.h"

namespace torch::nn {
namespace {

using at::Tensor;
using c10::testing::message_of;
namespace parametrize = utils::parametrize;
namespace parametrizations = utils::parametrizations;
namespace prune = utils::prune;

bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  return at::allclose(a, b, tolerance, tolerance);
}
template <typename F>
bool says(F&& f, const char* what) {
  return message_of(f).find(what) != std::string::npos;
}
Tensor adjoint_times(const Tensor& q) {
  return at::matmul(at::t(q), q);
}

TEST(WeightNorm, IsComputedBeforeEachCall) {
  Linear linear = utils::weight_norm(Linear(3, 2));
  EXPECT_EQ(linear->named_parameters().keys(), (std::vector<std::string>{"bias", "weight_g", "weight_v"}));
  const Tensor x = at::randn({4, 3});
  const Tensor before = at::detach(linear(x));
  {
    c10::NoGradGuard no_grad;
    at::mul_(linear->get_parameter("weight_g"), 2);
  }
  const Tensor after = linear(x);
  EXPECT_TRUE(close(at::sub(after, linear->bias), at::mul(at::sub(before, linear->bias), 2)));
  EXPECT_TRUE(
      says([&] { utils::weight_norm(linear); }, "Cannot register two weight_norm hooks on the same parameter weight"));
  utils::remove_weight_norm(linear);
  EXPECT_EQ(linear->named_parameters().keys(), (std::vector<std::string>{"bias", "weight"}));
  EXPECT_TRUE(linear->weight.is_leaf() && linear->weight.requires_grad());
  EXPECT_TRUE(close(linear(x), after));
  EXPECT_TRUE(says([&] { utils::remove_weight_norm(linear); }, "weight_norm of 'weight' not found in"));
}

TEST(WeightNorm, OfARecurrentLayer) {
  at::manual_seed(0);
  LSTM lstm(2, 3);
  const Tensor x = at::randn({4, 1, 2});
  const Tensor before = at::detach(std::get<0>(lstm(x)));
  utils::weight_norm(lstm, "weight_hh_l0");
  const Tensor y = std::get<0>(lstm(x));
  EXPECT_TRUE(close(y, before));
  at::sum(y).backward();
  EXPECT_TRUE(lstm->get_parameter("weight_hh_l0_g").grad().defined());
  utils::remove_weight_norm(lstm, "weight_hh_l0");
  EXPECT_TRUE(close(std::get<0>(lstm(x)), before));
  EXPECT_EQ(lstm->parameters().size(), 4u);
}

// As in adversarial training: two calls, each with another weight, and then one backward pass through both.
TEST(SpectralNorm, TwoCallsBeforeOneBackward) {
  at::manual_seed(0);
  Linear linear = parametrizations::spectral_norm(Linear(4, 3));
  const Tensor x = at::randn({2, 4});
  const Tensor first = linear(x), w1 = linear->weight;
  const Tensor second = linear(x), w2 = linear->weight;
  EXPECT_FALSE(w1.is_same(w2));
  at::sum(at::add(first, second)).backward();
  EXPECT_TRUE(linear->get_parameter("parametrizations.weight.original").grad().defined());
}

TEST(SpectralNorm, BringsTheLargestSingularValueToOne) {
  at::manual_seed(0);
  Conv2d conv = parametrizations::spectral_norm(Conv2d(3, 5, 3), "weight", 20);
  for (int i = 0; i < 5; ++i) conv(at::randn({1, 3, 4, 4}));
  conv->eval();
  const Tensor m = at::detach(at::reshape(parametrize::get(conv, "weight"), {5, -1}));
  Tensor v = at::randn({27});
  for (int i = 0; i < 100; ++i) {
    v = at::mv(at::t(m), at::mv(m, v));
    v = at::div(v, at::norm(v));
  }
  EXPECT_NEAR(at::item(at::norm(at::mv(m, v))).to<double>(), 1.0, 1e-3);
  EXPECT_THROW(parametrizations::spectral_norm(Linear(2, 2), "weight", 0), c10::ValueError);
  EXPECT_THROW(parametrizations::spectral_norm(Linear(2, 2), "nothing"), c10::ValueError);
}

TEST(Orthogonal, EachMapGivesOrthogonalMatrices) {
  at::manual_seed(0);
  for (const char* map : {"matrix_exp", "cayley", "householder"}) {
    for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{5, 5}, {3, 6}, {6, 3}}) {
      Linear linear = parametrizations::orthogonal(Linear(in, out), "weight", map);
      c10::NoGradGuard no_grad;
      Tensor original = linear->get_parameter("parametrizations.weight.original");
      if (std::string(map) != "householder") at::add_(original, at::randn_like(original));
      const Tensor w = parametrize::get(linear, "weight");
      const Tensor product = adjoint_times(out >= in ? w : at::t(w));
      EXPECT_TRUE(close(product, at::eye(std::min(in, out)), 1e-4)) << map << " " << in << " " << out;
    }
  }
  EXPECT_THROW(parametrizations::orthogonal(Linear(2, 2), "weight", "svd"), c10::ValueError);
  EXPECT_THROW(parametrizations::orthogonal(Linear(2, 2), "bias"), c10::ValueError);
}

TEST(Orthogonal, TakesAssignmentsWhereItCan) {
  at::manual_seed(0);
  const Tensor q = at::detach(at::clone(parametrizations::orthogonal(Linear(4, 4))->weight));
  Linear linear = parametrizations::orthogonal(Linear(4, 4));
  parametrize::assign(linear, "weight", q);
  EXPECT_TRUE(close(parametrize::get(linear, "weight"), q, 1e-4));
  Linear fixed = parametrizations::orthogonal(Linear(4, 4), "weight", "cayley", /*use_trivialization=*/false);
  EXPECT_THROW(parametrize::assign(fixed, "weight", q), c10::NotImplementedError);
  Linear reflected = parametrizations::orthogonal(Linear(4, 4), "weight", "householder", false);
  parametrize::assign(reflected, "weight", q);
  EXPECT_TRUE(close(parametrize::get(reflected, "weight"), q, 1e-4));
}

struct SquareImpl : Cloneable<SquareImpl> {
  SquareImpl() { reset(); }
  void reset() override { scale = register_parameter("scale", at::ones({})); }
  Tensor forward(const Tensor& x) { return at::mul(at::mul(x, x), scale); }
  TORCH_MODULE_TENSORS(scale)
  Tensor scale;
};
TORCH_MODULE(Square);

struct SplitImpl : Cloneable<SplitImpl> {
  void reset() override {}
  Tensor forward(const Tensor& a, const Tensor& b) { return at::cat({a, b}); }
  std::vector<Tensor> right_inverse(const Tensor& t) { return at::split(t, 1); }
};
struct CastImpl : Module {
  Tensor forward(const Tensor& x) { return at::to(x, at::kDouble); }
};
struct OwnTensorImpl : Module {
  OwnTensorImpl() { w = register_parameter("w", at::ones({2})); }
  Tensor forward(const Tensor& x) { return at::mul(x, w); }
  Tensor w;
};

TEST(Parametrize, TrainsTheOriginal) {
  Linear linear(2, 2);
  const Tensor weight = linear->weight;
  parametrize::register_parametrization(linear, "weight", Square());
  // Without a right_inverse the tensor that an optimizer may have is the original.
  EXPECT_TRUE(linear->get_parameter("parametrizations.weight.original").is_same(weight));
  EXPECT_TRUE(close(linear->weight, at::mul(weight, weight)));
  EXPECT_TRUE(parametrize::is_parametrized(linear) && parametrize::is_parametrized(linear, "weight"));
  EXPECT_FALSE(parametrize::is_parametrized(linear, "bias"));
  at::sum(linear(at::ones({1, 2}))).backward();
  EXPECT_TRUE(close(weight.grad(), at::mul(weight, 2)));
  EXPECT_TRUE(linear->get_parameter("parametrizations.weight.0.scale").grad().defined());
  parametrize::remove_parametrizations(linear, "weight", /*leave_parametrized=*/false);
  EXPECT_TRUE(linear->weight.is_same(weight));
  EXPECT_TRUE(linear->children().empty());
}

TEST(Parametrize, OfSeveralTensors) {
  Linear linear(3, 2);
  const Tensor before = at::detach(at::clone(linear->weight));
  parametrize::register_parametrization(linear, "weight", std::make_shared<SplitImpl>());
  EXPECT_EQ(linear->state_dict().keys(), (std::vector<std::string>{"bias", "parametrizations.weight.original0",
                                                                   "parametrizations.weight.original1"}));
  EXPECT_TRUE(close(linear->weight, before));
  EXPECT_THROW(parametrize::remove_parametrizations(linear, "weight", false), c10::ValueError);
  parametrize::remove_parametrizations(linear, "weight");
  EXPECT_TRUE(close(linear->weight, before) && linear->weight.requires_grad() && linear->weight.is_leaf());
}

TEST(Parametrize, RefusesWhatDoesNotFit) {
  Linear linear(2, 2);
  EXPECT_THROW(parametrize::register_parametrization(linear, "nothing", Square()), c10::ValueError);
  EXPECT_THROW(parametrize::register_parametrization(linear, "weight", std::make_shared<CastImpl>()), c10::ValueError);
  EXPECT_EQ(linear->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  auto own = std::make_shared<OwnTensorImpl>();
  EXPECT_TRUE(says([&] { parametrize::register_parametrization(own, "w", Square()); },
                   "add TORCH_MODULE_TENSORS(w, ..) to the class"));
  EXPECT_EQ(own->parameters().size(), 1u);
  EXPECT_THROW(parametrize::remove_parametrizations(linear, "weight"), c10::ValueError);
}

TEST(Parametrize, SeveralOfOneTensorAndTheCache) {
  Linear linear(2, 2);
  const Tensor original = linear->weight;
  parametrize::register_parametrization(linear, "weight", Square());
  parametrize::register_parametrization(linear, "weight", Square());
  EXPECT_TRUE(close(parametrize::get(linear, "weight"), at::pow(original, 4)));
  EXPECT_EQ(parametrize::parametrizations(linear, "weight")->size(), 2u);
  {
    const parametrize::CachedGuard cached;
    linear(at::ones({1, 2}));
    const Tensor kept = linear->weight;
    linear(at::ones({1, 2}));
    EXPECT_TRUE(linear->weight.is_same(kept));
  }
  const Tensor kept = linear->weight;
  linear(at::ones({1, 2}));
  EXPECT_FALSE(linear->weight.is_same(kept));
}

TEST(Parametrize, ClonesStatesAndDtypes) {
  at::manual_seed(0);
  Sequential net(parametrizations::orthogonal(Linear(3, 3)), utils::spectral_norm(Linear(3, 2)));
  prune::l1_unstructured(net->get_submodule("1"), "bias", 1);
  const Tensor x = at::randn({2, 3});
  net->eval();
  const Tensor y = net->forward(x);
  const auto copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  EXPECT_EQ(copy->state_dict().keys(), net->state_dict().keys());
  EXPECT_TRUE(close(copy->forward(x), y));
  // The copy's own tensors.
  {
    c10::NoGradGuard no_grad;
    for (Tensor& p : copy->parameters()) at::zero_(p);
    for (Tensor& b : copy->buffers()) at::zero_(b);
  }
  EXPECT_TRUE(close(net->forward(x), y));
  copy->load_state_dict(net->state_dict());
  EXPECT_TRUE(close(copy->forward(x), y));
  copy->to(at::kDouble);
  EXPECT_TRUE(close(at::to(copy->forward(at::to(x, at::kDouble)), at::kFloat), y));
  at::sum(copy->forward(at::to(x, at::kDouble))).backward();
  EXPECT_TRUE(copy->get_parameter("1.weight_orig").grad().defined());
}

TEST(Parametrize, Transfers) {
  Linear from(2, 2), to(2, 2);
  parametrize::register_parametrization(from, "weight", Square());
  parametrize::transfer_parametrizations_and_params(from, to);
  EXPECT_TRUE(close(to->weight, from->weight));
  EXPECT_FALSE(to->get_parameter("parametrizations.weight.original")
                   .is_same(from->get_parameter("parametrizations.weight.original")));
}

TEST(Prune, GoesOnAmongWhatIsLeft) {
  at::manual_seed(0);
  Linear linear(4, 4);
  const Tensor weight = at::detach(at::clone(linear->weight));
  prune::l1_unstructured(linear, "weight", 0.5);
  EXPECT_EQ(at::item(at::sum(linear->get_buffer("weight_mask"))).to<int>(), 8);
  prune::ln_structured(linear, "weight", 1, 2.0, 0);
  const Tensor mask = at::clone(linear->get_buffer("weight_mask"));
  EXPECT_TRUE(close(linear->weight, at::mul(mask, weight)));
  EXPECT_TRUE(prune::is_pruned(linear));
  prune::remove(linear, "weight");
  EXPECT_FALSE(prune::is_pruned(linear));
  EXPECT_TRUE(close(linear->weight, at::mul(mask, weight)));
  EXPECT_TRUE(linear->buffers().empty());
  EXPECT_THROW(prune::remove(linear, "weight"), c10::ValueError);
}

TEST(Prune, RefusesAmountsAndShapes) {
  Linear linear(2, 3);
  EXPECT_THROW(prune::l1_unstructured(linear, "weight", 1.5), c10::ValueError);
  EXPECT_THROW(prune::l1_unstructured(linear, "weight", -1), c10::ValueError);
  EXPECT_THROW(prune::random_unstructured(linear, "weight", 7), c10::ValueError);
  EXPECT_THROW(prune::random_unstructured(linear, "nothing", 1), c10::ValueError);
  EXPECT_THROW(prune::random_structured(linear, "bias", 1, 0), c10::ValueError);
  EXPECT_THROW(prune::l1_unstructured(linear, "weight", 1, at::ones({2, 2})), c10::ValueError);
  EXPECT_THROW(prune::global_unstructured({{linear, "weight"}}, prune::LnStructured(1, 2, 0)), c10::TypeError);
  EXPECT_EQ(linear->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
}

TEST(Prune, AMethodOfOnesOwn) {
  struct EverySecond : prune::BasePruningMethod {
    Tensor compute_mask(const Tensor&, const Tensor& default_mask) const override {
      Tensor mask = at::clone(default_mask, at::MemoryFormat::Contiguous);
      Tensor odd = at::slice(at::view(mask, {-1}), 0, 1, std::nullopt, 2);
      at::zero_(odd);
      return mask;
    }
  };
  Linear linear(2, 2);
  prune::apply(linear, "weight", std::make_shared<EverySecond>());
  EXPECT_TRUE(close(linear->get_buffer("weight_mask"), at::reshape(at::arange(1.0, -1.0, -1.0), {2})  // 1, 0
                                                           .repeat({2, 1})));
}

TEST(Fusion, OnlyInEvaluation) {
  Conv2d conv(2, 3, 2);
  BatchNorm2d norm(3);
  EXPECT_TRUE(says([&] { utils::fuse_conv_bn_eval(conv, norm); }, "Fusion only for eval!"));
  conv->eval();
  norm->eval();
  const Tensor x = at::randn({1, 2, 4, 4});
  EXPECT_TRUE(close(utils::fuse_conv_bn_eval(conv, norm)(x), norm(conv(x))));
  EXPECT_EQ(conv->parameters().size(), 2u);
}

TEST(SkipInit, DrawsNothing) {
  at::manual_seed(3);
  const Tensor a = at::randn({1});
  at::manual_seed(3);
  const Linear linear = utils::skip_init<Linear>(100, 100);
  EXPECT_TRUE(linear->weight.requires_grad());
  EXPECT_TRUE(at::equal(at::randn({1}), a));
}

TEST(FunctionalCall, LeavesTheModuleAsItWas) {
  at::manual_seed(0);
  Sequential net(Linear(2, 3), BatchNorm1d(3), Linear(3, 1));
  const Tensor x = at::randn({4, 2}), weight = at::randn({3, 2}).set_requires_grad(true);
  const Tensor own = net->get_parameter("0.weight");
  OrderedDict<std::string, Tensor> given = {{"0.weight", weight}};
  const Tensor y = func::functional_call(net, given, x);
  EXPECT_TRUE(net->get_parameter("0.weight").is_same(own));
  EXPECT_TRUE(net->ptr<LinearImpl>(0)->weight.is_same(own));
  at::sum(y).backward();
  EXPECT_TRUE(weight.grad().defined());
  EXPECT_FALSE(own.grad().defined());
  // Also after an exception.
  EXPECT_ANY_THROW(func::functional_call(net, given, at::randn({4, 5})));
  EXPECT_TRUE(net->ptr<LinearImpl>(0)->weight.is_same(own));
}

// A step of gradient descent inside the function that is differentiated.
TEST(FunctionalCall, GradientsThroughAnUpdate) {
  at::manual_seed(0);
  Linear net(1, 1);
  const Tensor x = at::ones({1, 1});
  const Tensor w = net->weight;
  const Tensor loss = at::sum(at::pow(net(x), 2));
  const Tensor g = torch::autograd::grad({loss}, {w}, {}, true, /*create_graph=*/true)[0];
  OrderedDict<std::string, Tensor> updated = {{"weight", at::sub(w, at::mul(g, 0.1))}};
  at::sum(func::functional_call(net, updated, x)).backward();
  // d/dw (w - 0.1 * 2 (w + b) + b)
  EXPECT_NEAR(at::item(w.grad()).to<double>(), 0.8, 1e-5);
}

TEST(FunctionalCall, TiedNamesAndStrictness) {
  struct TiedImpl : Module {
    TiedImpl() {
      a = register_module("a", Linear(2, 2));
      b = register_module("b", Linear(2, 2));
      b->weight = b->replace_parameter("weight", a->weight);
    }
    Tensor forward(const Tensor& x) { return b(a(x)); }
    Linear a{nullptr}, b{nullptr};
  };
  const auto net = std::make_shared<TiedImpl>();
  const Tensor x = at::ones({1, 2}), zero = at::zeros({2, 2});
  OrderedDict<std::string, Tensor> given = {{"a.weight", zero}};
  EXPECT_TRUE(close(func::functional_call(net, given, x), at::reshape(net->b->bias, {1, 2})));
  const func::FunctionalCallOptions untied{.tie_weights = false}, strict{.strict = true};
  EXPECT_FALSE(close(func::functional_call(net, given, untied, x), at::reshape(net->b->bias, {1, 2})));
  OrderedDict<std::string, Tensor> both = {{"a.weight", zero}, {"b.weight", at::ones({2, 2})}};
  EXPECT_THROW(func::functional_call(net, both, x), c10::ValueError);
  EXPECT_TRUE(says([&] { func::functional_call(net, given, strict, x); }, "Missing key(s): 'a.bias', 'b.bias'"));
  OrderedDict<std::string, Tensor> other = {{"c.weight", zero}};
  EXPECT_TRUE(close(func::functional_call(net, other, x), net->forward(x)));
}

TEST(PackPaddedSequence, RefusesEmptyTensorsFirst) {
  EXPECT_EQ(message_of([] {
              utils::rnn::pack_padded_sequence(at::empty({0, 0}), at::empty({0}));
            }),
            "Cannot pack empty tensors.");
}

TEST(ClipGrad, ByAKnownNorm) {
  Tensor a = at::zeros({2}).set_requires_grad(true), b = at::zeros({1}).set_requires_grad(true);
  a.mutable_grad() = at::full({2}, 3.0);
  b.mutable_grad() = at::full({1}, 4.0);
  const Tensor total = utils::get_total_norm({a.grad(), b.grad()});
  EXPECT_NEAR(at::item(total).to<double>(), std::sqrt(34.0), 1e-5);
  utils::clip_grads_with_norm_({a, b}, 1.0, total);
  EXPECT_NEAR(at::item(utils::get_total_norm({a.grad(), b.grad()})).to<double>(), 1.0, 1e-5);
  EXPECT_EQ(at::item(utils::get_total_norm({})).to<double>(), 0.0);
}

}  // namespace
}  // namespace torch::nn
