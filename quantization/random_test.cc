// Random networks through 8 bits: what is converted stays within the error that its scales allow, and so do kernels.
//
//   bazel run //quantization:random_test -- --networks=2000 --seed=1      a longer run
#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"
#include "quantization/quantization.h"
#include "quantization/testing/programs.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using c10::ScalarType;
using testing::program_of;
using testing::run;

int64_t networks = 16;
uint64_t first_seed = 0;

struct Layer {
  enum Kind { kConv, kLinear, kRelu, kClamp, kAdd, kMaxPool, kAvgPool, kCat, kFlatten } kind;
  // Of values: 0 is the input, i + 1 the result of layer i.
  std::vector<size_t> inputs;
  std::string name;
  bool bias = false;
  int64_t stride = 1, padding = 0, groups = 1, window = 2;
};

using Weights = std::map<std::string, Tensor>;

Tensor apply(const Layer& l, Weights& w, const std::vector<Tensor>& x) {
  switch (l.kind) {
    case Layer::kConv:
      return at::conv2d(x[0], w.at(l.name + ".weight"), l.bias ? w.at(l.name + ".bias") : Tensor(),
                        {l.stride, l.stride}, {l.padding, l.padding}, {1, 1}, l.groups);
    case Layer::kLinear:
      return at::linear(x[0], w.at(l.name + ".weight"), l.bias ? w.at(l.name + ".bias") : Tensor());
    case Layer::kRelu:
      return at::relu(x[0]);
    case Layer::kClamp:
      return at::hardtanh(x[0], -2, 3);
    case Layer::kAdd:
      return at::add(x[0], x[1]);
    case Layer::kMaxPool:
      return at::max_pool2d(x[0], {l.window, l.window}, {l.stride, l.stride}, {0, 0});
    case Layer::kAvgPool:
      return at::adaptive_avg_pool2d(x[0], {l.window, l.window});
    case Layer::kCat:
      return at::cat({x[0], x[1]}, 1);
    case Layer::kFlatten:
      return at::flatten(x[0], 1);
  }
  return {};
}

struct Network {
  std::vector<Layer> layers;
  testing::State state;
  std::vector<Tensor> batches;

  Tensor forward(Weights& w, const Tensor& input) const {
    std::vector<Tensor> values{input};
    for (const Layer& l : layers) {
      std::vector<Tensor> x;
      for (const size_t i : l.inputs) x.push_back(values[i]);
      values.push_back(apply(l, w, x));
    }
    return values.back();
  }
};

Network random_network(uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  const auto pick = [&](int64_t n) {
    return static_cast<int64_t>(at::testing::values(at::randint(0, n, {1}, generator))[0]);
  };
  Network net;
  const int64_t channels = 1 + pick(6), batch = 1 + pick(3);
  for (int i = 0; i < 2; ++i) net.batches.push_back(at::randn({batch, channels, 11, 13}, generator));
  Weights none;
  std::vector<Tensor> values{net.batches[0]};  // for their sizes
  const auto weights = [&](const std::string& name, at::IntArrayRef sizes, bool bias) {
    net.state.emplace_back(name + ".weight", at::randn(sizes, generator));
    none[name + ".weight"] = net.state.back().second;
    if (!bias) return;
    net.state.emplace_back(name + ".bias", at::randn({sizes[0]}, generator));
    none[name + ".bias"] = net.state.back().second;
  };
  const auto add = [&](Layer l) {
    std::vector<Tensor> x;
    for (const size_t i : l.inputs) x.push_back(values[i]);
    values.push_back(apply(l, none, x));
    net.layers.push_back(std::move(l));
  };
  const int64_t depth = 3 + pick(6);
  for (int64_t i = 0; i < depth; ++i) {
    Layer l;
    l.name = "l" + std::to_string(i);
    const size_t at = values.size() - 1;
    const Tensor x = values[at];
    l.inputs = {at};
    // Another value of the same places, for what takes two.
    std::vector<size_t> same, beside;
    for (size_t k = 0; k < at; ++k) {
      if (values[k].sizes() == x.sizes()) same.push_back(k);
      if (values[k].sizes().slice(2) == x.sizes().slice(2)) beside.push_back(k);
    }
    const int64_t kind = i == 0 ? 0 : pick(9);
    if (kind <= 2) {
      const int64_t k = 1 + pick(std::min<int64_t>(3, std::min(x.size(2), x.size(3))));
      l.kind = Layer::kConv;
      l.groups = pick(4) == 0 ? x.size(1) : 1;
      l.stride = 1 + pick(2);
      l.padding = pick(k);
      l.bias = pick(2) == 0;
      weights(l.name, {l.groups * (1 + pick(l.groups > 1 ? 2 : 9)), x.size(1) / l.groups, k, k}, l.bias);
    } else if (kind <= 4) {
      l.kind = kind == 3 ? Layer::kRelu : Layer::kClamp;
    } else if (kind == 5 && !same.empty()) {
      l.kind = Layer::kAdd;
      l.inputs.push_back(same[static_cast<size_t>(pick(static_cast<int64_t>(same.size())))]);
    } else if (kind == 6 && !beside.empty()) {
      l.kind = Layer::kCat;
      l.inputs.push_back(beside[static_cast<size_t>(pick(static_cast<int64_t>(beside.size())))]);
    } else if (kind == 7 && std::min(x.size(2), x.size(3)) >= 3) {
      l.kind = Layer::kMaxPool;
      l.window = 2 + pick(2);
      l.stride = 1 + pick(2);
    } else if (kind == 8 && std::min(x.size(2), x.size(3)) >= 3) {
      l.kind = Layer::kAvgPool;
      l.window = 1 + pick(3);
    } else {
      l.kind = Layer::kRelu;
    }
    add(std::move(l));
  }
  if (pick(2) == 0) {
    Layer flat;
    flat.kind = Layer::kFlatten;
    flat.inputs = {values.size() - 1};
    add(flat);
    Layer fc;
    fc.kind = Layer::kLinear;
    fc.inputs = {values.size() - 1};
    fc.name = "fc";
    fc.bias = pick(2) == 0;
    weights("fc", {1 + pick(7), values.back().size(1)}, fc.bias);
    add(fc);
  }
  return net;
}

// Bounds of errors, element by element. Every tensor may be rounded to its bytes, as often as `roundings` says, by a
// step of its range over 255; `rounded_weights`: so are the weights, by half a step of a channel's range. Where the
// range of a value is exceeded by its error alone, cutting it off brings it nearer.
Tensor error_bound(const Network& net, const Tensor& input, double roundings, bool rounded_weights) {
  const auto step = [&](const Tensor& x) {
    const double least = std::min(0.0, at::testing::values(at::min(x))[0]),
                 most = std::max(0.0, at::testing::values(at::max(x))[0]);
    return roundings * std::max((most - least) / 255, 0x1p-12);
  };
  Weights w(net.state.begin(), net.state.end());
  std::vector<Tensor> values{input}, errors{at::full_like(input, step(input))};
  for (const Layer& l : net.layers) {
    std::vector<Tensor> x, e;
    for (const size_t i : l.inputs) x.push_back(values[i]), e.push_back(errors[i]);
    const Tensor y = apply(l, w, x);
    Tensor error;
    switch (l.kind) {
      case Layer::kConv:
      case Layer::kLinear: {
        const Tensor weight = w.at(l.name + ".weight"), size = at::abs(weight);
        Weights sizes{{l.name + ".weight", size}};
        Layer plain = l;
        plain.bias = false;
        error = apply(plain, sizes, {e[0]});
        if (rounded_weights) {
          const std::vector<int64_t> column =
              l.kind == Layer::kConv ? std::vector<int64_t>{-1, 1, 1, 1} : std::vector<int64_t>{-1, 1};
          const Tensor half = at::div(at::amax(at::flatten(size, 1), {1}), 254);
          Weights rest{
              {l.name + ".weight", at::expand(at::reshape(at::clamp_min(half, 0x1p-13), column), weight.sizes())}};
          error = at::add(error, apply(plain, rest, {at::add(at::abs(x[0]), e[0])}));
        }
        break;
      }
      case Layer::kAdd:
        error = at::add(e[0], e[1]);
        break;
      case Layer::kCat:
        // One scale for all parts.
        error = at::add(at::cat({e[0], e[1]}, 1), step(y));
        break;
      case Layer::kRelu:
      case Layer::kClamp:
        error = e[0];
        break;
      default:
        error = apply(l, w, {e[0]});
    }
    values.push_back(y);
    errors.push_back(at::add(error, step(y)));
  }
  return errors.back();
}

QuantizationConfig extremes(bool is_signed) {
  const auto integers = is_signed ? ObserverOptions().dtype(ScalarType::Char).quant_min(-128).quant_max(127)
                                  : ObserverOptions().dtype(ScalarType::Byte).quant_min(0).quant_max(255);
  QuantizationConfig config;
  config.input_activation = QuantizationSpec{with_args<MinMaxObserver>(ObserverOptions(integers).eps(0x1p-12))};
  config.output_activation = config.input_activation;
  config.weight = weight_spec(ObserverOptions()
                                  .dtype(ScalarType::Char)
                                  .quant_min(is_signed ? -127 : -128)
                                  .quant_max(127)
                                  .qscheme(c10::kPerChannelSymmetric)
                                  .eps(0x1p-12),
                              /*is_qat=*/false);
  return config;
}

void expect_within(const Tensor& got, const Tensor& want, const Tensor& bound, const char* what) {
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  // Sums of floats have last bits.
  const Tensor slack = at::add(at::mul(bound, 1.001), at::mul(at::max(at::abs(want)), 1e-4));
  const Tensor excess = at::max(at::sub(at::abs(at::sub(got, want)), slack));
  EXPECT_LE(at::testing::values(excess)[0], 0) << what;
}

int64_t integers_of(const ExportedProgram& program) {
  int64_t n = 0;
  program.graph->for_nodes([&](const graph::Node* node) {
    n += node->kind() == graph::Node::Kind::kCall && node->callable().schema().name().starts_with("onednn::");
  });
  return n;
}

TEST(RandomNetworks, StayWithinWhatTheirScalesAllow) {
  int64_t layers = 0, integers = 0;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(networks); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Network net = random_network(seed);
    const auto make = [&] {
      return program_of([&](Weights& w, const std::vector<Tensor>& x) { return net.forward(w, x[0]); }, net.state,
                        {net.batches[0]});
    };
    for (const bool is_signed : {false, true}) {
      SCOPED_TRACE(is_signed ? "signed" : "unsigned");
      X86InductorQuantizer unsigned_ones;
      XNNPACKQuantizer signed_ones;
      unsigned_ones.set_global(extremes(false));
      signed_ones.set_global(extremes(true));
      Quantizer& quantizer = is_signed ? static_cast<Quantizer&>(signed_ones) : unsigned_ones;
      // Calibrated with what is compared: nothing lies outside the ranges.
      const Tensor x = net.batches[0];
      ExportedProgram program = make();
      const Tensor want = run(program, {x});
      ExportedProgram prepared = prepare_pt2e(std::move(program), quantizer);
      EXPECT_TRUE(at::equal(run(prepared, {x}), want));
      program = convert_pt2e(std::move(prepared));
      const Tensor reference = run(program, {x});
      expect_within(reference, want, error_bound(net, x, 1, true), "converted");
      LoweringOptions all;
      all.use_cost_model = false;
      layers += lower_to_integers(program, all).changes;
      integers += integers_of(program);
      // A sum that lies between two bytes may be rounded to either.
      expect_within(run(program, {x}), reference, error_bound(net, x, 1, false), "lowered");
    }
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GE(layers, networks);
  EXPECT_GE(integers, layers);
  std::cout << networks << " networks, " << layers << " layers in bytes\n";
}

}  // namespace
}  // namespace torch::quantization

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--networks=")) torch::quantization::networks = std::stoll(argument.substr(11));
    if (argument.starts_with("--seed=")) torch::quantization::first_seed = std::stoull(argument.substr(7));
  }
  return RUN_ALL_TESTS();
}
