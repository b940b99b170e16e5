#include "quantization/testing/programs.h"

#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "graph/capture/capture.h"

namespace torch::quantization::testing {

using at::Tensor;

namespace {
bool is_buffer(const std::string& name) {
  return name.ends_with("running_mean") || name.ends_with("running_var");
}
}  // namespace

ExportedProgram program_of(const Function& function, const State& state, const std::vector<Tensor>& inputs) {
  graph::CaptureOptions options;
  options.state = state;
  std::map<std::string, Tensor> by_name(state.begin(), state.end());
  c10::Stack stack;
  for (const Tensor& x : inputs) stack.emplace_back(x);
  auto captured = graph::capture(
      [&](const c10::Stack& in) {
        std::vector<Tensor> x;
        for (const auto& one : in) x.push_back(one.toTensor());
        return c10::Stack{function(by_name, x)};
      },
      stack, options);
  ExportedProgram program;
  for (const std::string& name : captured.state) {
    InputSpec spec;
    spec.kind = is_buffer(name) ? InputSpec::Kind::kBuffer : InputSpec::Kind::kParameter;
    spec.target = name;
    program.signature.inputs.push_back(spec);
    program.state_dict[name] = by_name.at(name);
  }
  for (size_t i = 0; i < inputs.size(); ++i) program.signature.inputs.push_back({});
  program.signature.outputs.push_back({});
  program.graph = std::move(captured.graph);
  return program;
}

Tensor run(const ExportedProgram& program, const std::vector<Tensor>& inputs) {
  std::vector<c10::IValue> values;
  for (const Tensor& x : inputs) values.emplace_back(x);
  return program.run(std::move(values)).at(0).toTensor();
}

int64_t count(const ExportedProgram& program, const std::string& op) {
  int64_t n = 0;
  program.graph->for_nodes([&](const graph::Node* node) { n += node->calls(op); });
  return n;
}

namespace {
Tensor conv_bn(std::map<std::string, Tensor>& s, const std::string& name, const Tensor& x, int64_t stride,
               int64_t padding, bool training) {
  const Tensor y = at::conv2d(x, s.at(name + ".weight"), {}, {stride, stride}, {padding, padding});
  return at::batch_norm(y, s.at(name + ".bn.weight"), s.at(name + ".bn.bias"), s.at(name + ".bn.running_mean"),
                        s.at(name + ".bn.running_var"), training, 0.1, 1e-5, false);
}
bool halves(int block) {
  return block % 2 == 1;
}
}  // namespace

std::vector<Tensor> images(int count, at::IntArrayRef sizes, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) all.push_back(at::randn(sizes, generator));
  return all;
}

double relative_error(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = at::testing::values(got), b = at::testing::values(want);
  TORCH_CHECK_VALUE(a.size() == b.size(), "relative_error: ", a.size(), " and ", b.size(), " elements");
  double difference = 0, whole = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    whole += b[i] * b[i];
  }
  return std::sqrt(difference / whole);
}

Function small_resnet(int blocks, bool training) {
  return [=](std::map<std::string, Tensor>& s, const std::vector<Tensor>& inputs) {
    Tensor x = at::relu(conv_bn(s, "stem", inputs.at(0), 1, 1, training));
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (int b = 0; b < blocks; ++b) {
      const std::string name = "block" + std::to_string(b);
      const int64_t stride = halves(b) ? 2 : 1;
      Tensor y = at::relu(conv_bn(s, name + ".conv1", x, stride, 1, training));
      y = conv_bn(s, name + ".conv2", y, 1, 1, training);
      const Tensor skip = halves(b) ? conv_bn(s, name + ".down", x, stride, 0, training) : x;
      x = at::relu(at::add(y, skip));
    }
    x = at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1);
    return at::linear(x, s.at("fc.weight"), s.at("fc.bias"));
  };
}

State small_resnet_state(int blocks, int64_t channels, int64_t classes, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  State state;
  const auto add = [&](const std::string& name, int64_t out, int64_t in, int64_t k) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(in * k * k));
    state.emplace_back(name + ".weight", at::mul(at::randn({out, in, k, k}, generator), deviation));
    state.emplace_back(name + ".bn.weight", at::add(at::rand({out}, generator), 0.5));
    state.emplace_back(name + ".bn.bias", at::mul(at::randn({out}, generator), 0.1));
    state.emplace_back(name + ".bn.running_mean", at::mul(at::randn({out}, generator), 0.1));
    state.emplace_back(name + ".bn.running_var", at::add(at::rand({out}, generator), 0.5));
  };
  add("stem", channels, 3, 3);
  int64_t width = channels;
  for (int b = 0; b < blocks; ++b) {
    const std::string name = "block" + std::to_string(b);
    const int64_t out = halves(b) ? 2 * width : width;
    add(name + ".conv1", out, width, 3);
    add(name + ".conv2", out, out, 3);
    if (halves(b)) add(name + ".down", out, width, 1);
    width = out;
  }
  state.emplace_back("fc.weight", at::mul(at::randn({classes, width}, generator), 0.3));
  state.emplace_back("fc.bias", at::randn({classes}, generator));
  return state;
}

}  // namespace torch::quantization::testing
