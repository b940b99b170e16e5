// Random programs of 50 operators, with gradients, give the same bits whichever way their calls go: plain, through every layer
// with a boxed handler that passes them on, observed, under a mode, on a plug-in device, and with wrapper tensors.
//
//   bazel run //tests/layers:programs_test -- --seed=7 --programs=500      more of them
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/flags.h"
#include "tests/layers/pass_through.h"
#include "tests/layers/wrappers.h"

namespace layers {
namespace {

using at::Tensor;

uint64_t first_seed = 1;
int program_count = 12;

constexpr int64_t kSize = 6;
constexpr int kOperators = 50;

// One call: the operator, which values of the pool are its tensors, and its other arguments. Results are kSize x kSize again.
struct Step {
  std::string op;
  std::vector<size_t> tensors;
  int64_t number = 0;
};

const std::vector<std::string>& unary() {
  static const std::vector<std::string> names{"sigmoid", "tanh", "sin", "cos", "neg", "relu", "atan", "erf", "t", "clone",
                                              "contiguous", "alias", "abs", "exp_of_tanh"};
  return names;
}
const std::vector<std::string>& binary() {
  static const std::vector<std::string> names{"add", "sub", "mul", "maximum", "minimum", "matmul", "atan2", "where", "lerp",
                                              "masked_fill", "cat", "add_", "mul_", "sub_", "copy_", "add_out", "index_add"};
  return names;
}
const std::vector<std::string>& numbered() {
  static const std::vector<std::string> names{"sum", "mean", "softmax", "cumsum", "select", "narrow", "roll", "flip", "split",
                                              "index_select", "transpose", "scalar_mul", "scalar_add_", "view", "unbind",
                                              "select_write", "amax", "gather", "to_double", "full_like", "layer_norm"};
  return names;
}

std::vector<Step> make_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Step> steps;
  for (int i = 0; i < kOperators; ++i) {
    const size_t pool = 3 + static_cast<size_t>(i);
    const size_t kind = below(unary().size() + binary().size() + numbered().size());
    // Mostly of what is recent.
    const auto value = [&] { return below(3) == 0 ? below(pool) : pool - 1 - below(std::min<size_t>(pool, 4)); };
    if (kind < unary().size()) {
      steps.push_back({unary()[kind], {value()}, 0});
    } else if (kind < unary().size() + binary().size()) {
      steps.push_back({binary()[kind - unary().size()], {value(), value()}, 0});
    } else {
      steps.push_back({numbered()[kind - unary().size() - binary().size()], {value()}, static_cast<int64_t>(below(kSize))});
    }
  }
  return steps;
}

Tensor bounded(const Tensor& t) { return at::tanh(t); }

Tensor run_step(const Step& step, const std::vector<Tensor>& pool) {
  const Tensor& a = pool[step.tensors[0]];
  const Tensor& b = pool[step.tensors.back()];
  const std::string& op = step.op;
  const int64_t n = step.number, dim = n % 2;
  static constexpr int64_t kSizes[] = {kSize, kSize};
  const at::IntArrayRef sizes(kSizes, 2);
  const auto in_place = [&] { return at::mul(a, 1); };  // not a leaf, and nobody else's
  if (op == "sigmoid") return at::sigmoid(a);
  if (op == "tanh") return at::tanh(a);
  if (op == "sin") return at::sin(a);
  if (op == "cos") return at::cos(a);
  if (op == "neg") return at::neg(a);
  if (op == "relu") return at::relu(a);
  if (op == "atan") return at::atan(a);
  if (op == "erf") return at::erf(a);
  if (op == "t") return at::t(a);
  if (op == "clone") return at::clone(a);
  if (op == "contiguous") return a.contiguous();
  if (op == "alias") return at::alias(a);
  if (op == "abs") return at::abs(a);
  if (op == "exp_of_tanh") return at::exp(at::tanh(a));
  if (op == "add") return at::add(a, b, 2);
  if (op == "sub") return at::sub(a, b);
  if (op == "mul") return bounded(at::mul(a, b));
  if (op == "maximum") return at::maximum(a, b);
  if (op == "minimum") return at::minimum(a, b);
  if (op == "matmul") return bounded(at::matmul(a, b));
  if (op == "atan2") return at::atan2(a, at::add(at::abs(b), 1));
  if (op == "where") return at::where(at::gt(a, 0), a, b);
  if (op == "lerp") return at::lerp(a, b, 0.25);
  if (op == "masked_fill") return at::masked_fill(a, at::lt(b, 0), 0.5);
  if (op == "cat") return at::narrow(at::cat({a, b}, dim), dim, 2, kSize);
  if (op == "add_") return in_place().add_(b);
  if (op == "mul_") return in_place().mul_(at::tanh(b));
  if (op == "sub_") return in_place().sub_(b, 0.5);
  if (op == "copy_") return in_place().copy_(b);
  if (op == "add_out") {
    const c10::NoGradGuard no_grad;
    Tensor out = at::empty_like(a);
    return at::add_out(out, a, b);
  }
  if (op == "index_add") {
    return at::index_add(a, dim, at::arange(kSize, a.options().dtype(at::kLong)), at::tanh(b));
  }
  if (op == "sum") return at::expand(bounded(at::sum(a, {dim}, true)), sizes);
  if (op == "mean") return at::expand(at::mean(a, {dim}, true), sizes);
  if (op == "amax") return at::expand(at::amax(a, {dim}, true), sizes);
  if (op == "softmax") return at::softmax(a, dim);
  if (op == "cumsum") return bounded(at::cumsum(a, dim));
  if (op == "select") return at::expand(at::unsqueeze(at::select(a, dim, n), dim), sizes);
  if (op == "narrow") return at::expand(at::narrow(a, dim, n, 1), sizes);
  if (op == "roll") return at::roll(a, {n}, {dim});
  if (op == "flip") return at::flip(a, {dim});
  if (op == "split") return at::cat(at::split(a, 1 + n, dim), dim);
  if (op == "unbind") return at::stack(at::unbind(a, dim), 1 - dim);
  if (op == "index_select") {
    return at::index_select(a, dim, at::remainder(at::arange(n, n + kSize, a.options().dtype(at::kLong)), kSize));
  }
  if (op == "gather") return at::gather(a, dim, at::full(sizes, n, a.options().dtype(at::kLong)));
  if (op == "transpose") return at::transpose(a, 0, 1);
  if (op == "scalar_mul") return at::mul(a, 0.5);
  if (op == "scalar_add_") return in_place().add_(static_cast<double>(n) / 8);
  if (op == "view") return at::reshape(at::reshape(a, {kSize * 2, kSize / 2}), sizes);
  if (op == "select_write") {
    Tensor copy = in_place();
    copy.select(dim, n).mul_(0.5);
    return copy;
  }
  if (op == "to_double") return a.to(at::kDouble).mul(0.75).to(at::kFloat);
  if (op == "full_like") return at::add(at::full_like(a, static_cast<double>(n)), a);
  if (op == "layer_norm") return at::layer_norm(a, {kSize});
  TORCH_CHECK(false, "no step ", op);
}

// What a program gives: every value that can be seen, then the gradients of its inputs.
using Wrap = Tensor (*)(const Tensor&);

std::vector<Tensor> run_program(const std::vector<Step>& steps, uint64_t seed, Wrap wrap) {
  std::vector<Tensor> inputs, pool;
  for (uint64_t i = 0; i < 3; ++i) {
    // Plain data, made outside of what is tried.
    std::mt19937 random(static_cast<uint32_t>(seed * 3 + i));
    Tensor data = at::empty({kSize, kSize});
    for (int64_t j = 0; j < data.numel(); ++j) {
      data.data_ptr<float>()[j] = static_cast<float>(random() % 4001) / 1000 - 2;
    }
    inputs.push_back(wrap(data));
    if (i != 1) inputs.back().requires_grad_();
    pool.push_back(inputs.back());
  }
  for (const Step& step : steps) pool.push_back(run_step(step, pool));
  Tensor loss = at::sum(pool.back());
  for (size_t i = pool.size() - 6; i + 1 < pool.size(); ++i) loss = at::add(loss, at::sum(pool[i]));
  std::vector<Tensor> results(pool.begin() + 3, pool.end());
  if (loss.requires_grad()) {
    loss.backward();
    for (const Tensor& input : inputs) results.push_back(input.grad());
  }
  return results;
}

// The first difference in bits; empty for none.
std::string difference(const std::vector<Step>& steps, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return "another number of results";
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string where = i < steps.size() ? "step " + std::to_string(i) + ", " + steps[i].op : "a gradient";
    if (a[i].defined() != b[i].defined()) return where + ": defined in one only";
    if (!a[i].defined()) continue;
    const Tensor x = unwrapped(a[i]).detach().cpu().contiguous(), y = unwrapped(b[i]).detach().cpu().contiguous();
    if (x.sizes() != y.sizes() || x.scalar_type() != y.scalar_type()) return where + ": another size or dtype";
    if (std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) != 0) return where + ": other bits";
    if (a[i].requires_grad() != b[i].requires_grad()) return where + ": requires_grad differs";
  }
  return "";
}

Tensor plain(const Tensor& t) { return t; }

template <class F>
void compare(Wrap wrap, const F& surround, bool writes_to_views = true) {
  for (int i = 0; i < program_count; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    std::vector<Step> steps = make_program(seed);
    for (Step& step : steps) {
      if (step.op == "select_write" && !writes_to_views) step.op = "scalar_mul";
    }
    const std::vector<Tensor> expected = run_program(steps, seed, plain);
    std::vector<Tensor> actual;
    surround([&] { actual = run_program(steps, seed, wrap); });
    EXPECT_EQ(difference(steps, expected, actual), "") << "--seed=" << seed << " --programs=1";
  }
}

class Layer : public testing::TestWithParam<std::string> {};

TEST_P(Layer, PassesProgramsOn) {
  const int64_t before = PassThrough::calls();
  compare(plain, [](const auto& run) {
    const PassThrough on(GetParam());
    run();
  });
  // This one acts on tensors of its device only.
  if (GetParam() == "AutocastPrivateUse1") return;
  EXPECT_GT(PassThrough::calls() - before, program_count * kOperators);
}

INSTANTIATE_TEST_SUITE_P(All, Layer, testing::ValuesIn(pass_through_names()), [](const auto& info) { return info.param; });

Tensor on_shadow(const Tensor& t) { return t.to("shadow"); }

TEST(Programs, OnAPluginDevice) {
  compare(on_shadow, [](const auto& run) { run(); });
}

TEST(Programs, OnAPluginDeviceThroughAllLayers) {
  compare(on_shadow, [](const auto& run) {
    const PassThrough on("all");
    run();
  });
}

TEST(Programs, WithLoggingTensors) {
  compare(logging, [](const auto& run) { run(); });
}

TEST(Programs, WithTensorsInTwoHalves) {
  // A view of both halves is a copy.
  compare(halves, [](const auto& run) { run(); }, /*writes_to_views=*/false);
}

}  // namespace
}  // namespace layers

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto status = c10::testing::parse_flags(
      argc, argv, {{"seed", &layers::first_seed}, {"programs", &layers::program_count}});
  if (status.has_value()) return *status;
  return RUN_ALL_TESTS();
}
