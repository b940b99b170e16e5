#include "edge/xnnpack/xnnpack.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "export/pt2/pt2.h"
#include "graph/capture/capture.h"
#include "tests/fixtures/fixture.h"

namespace torch::edge {
namespace {

using at::Tensor;
using c10::IValue;
using nlohmann::json;
namespace fs = std::filesystem;

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// What a function does with these inputs; other tensors are constants.
ExportedProgram program_of(const Function& f, const std::vector<Tensor>& inputs) {
  const c10::NoGradGuard no_grad;
  c10::Stack stack(inputs.begin(), inputs.end());
  graph::Captured captured = graph::capture(
      [&](const c10::Stack& in) {
        std::vector<Tensor> tensors;
        for (const IValue& one : in) tensors.push_back(one.toTensor());
        return c10::Stack{f(tensors)};
      },
      stack);
  ExportedProgram program;
  program.graph = std::move(captured.graph);
  program.signature.inputs.resize(inputs.size());
  program.signature.outputs.resize(1);
  return program;
}

struct Ran {
  DelegateReport report;
  std::string difference;  // from eager; empty where there is none
};
Ran ran(const Function& f, const std::vector<Tensor>& inputs, size_t min_nodes = 1) {
  const c10::NoGradGuard no_grad;
  const XnnpackDelegate xnnpack;
  const DelegatedProgram program(program_of(f, inputs), {&xnnpack}, {.min_nodes = min_nodes});
  const Tensor wanted = f(inputs);
  Ran out{program.report(), ""};
  // Twice: the second run finds the part built.
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor got = program.run({inputs.begin(), inputs.end()}).at(0).toTensor();
    if (got.sizes() != wanted.sizes()) {
      out.difference = "other sizes";
    } else if (!at::allclose(got, wanted, 1e-4, 1e-5)) {
      out.difference = "by up to " + std::to_string((got - wanted).abs().max().item<double>());
    }
  }
  return out;
}
size_t delegated(const DelegateReport& report) {
  size_t nodes = 0;
  for (const auto& part : report.parts) nodes += part.nodes;
  return nodes;
}

TEST(Xnnpack, OperatorsOneByOne) {
  at::manual_seed(1);
  const Tensor x = at::randn({2, 6, 9, 8}), y = at::randn({2, 6, 9, 8}), m = at::randn({3, 5}), v = at::randn({7});
  const Tensor w = at::randn({4, 6, 3, 3}), b = at::randn({4}), dw = at::randn({6, 1, 3, 3}),
               gw = at::randn({8, 3, 1, 2});
  const Tensor l = at::randn({4, 5}), c = at::randn({1, 6, 1, 1}), r = at::randn({6, 1, 1}), slope = at::rand({6});
  const Tensor cube = at::randn({2, 3, 5});
  const std::vector<std::pair<const char*, std::pair<Function, std::vector<Tensor>>>> cases = {
      {"conv2d", {[&](auto& t) { return at::conv2d(t[0], w, b); }, {x}}},
      {"conv2d without bias",
       {[&](auto& t) {
          return at::conv2d(t[0], w, {}, 2, std::vector<int64_t>{1, 2}, 2);
        },
        {x}}},
      {"depthwise", {[&](auto& t) { return at::conv2d(t[0], dw, {}, 1, 1, 1, 6); }, {x}}},
      {"grouped",
       {[&](auto& t) {
          return at::conv2d(t[0], gw, {}, std::vector<int64_t>{1, 2}, std::vector<int64_t>{0}, 1, 2);
        },
        {x}}},
      {"linear", {[&](auto& t) { return at::linear(t[0], l, b); }, {m}}},
      {"linear of three dimensions", {[&](auto& t) { return at::linear(t[0], l); }, {cube}}},
      {"addmm", {[&](auto& t) { return at::addmm(b, t[0], l.t()); }, {m}}},
      {"max_pool2d", {[](auto& t) { return at::max_pool2d(t[0], 3, 2, 1); }, {x}}},
      {"max_pool2d with dilation",
       {[](auto& t) {
          return at::max_pool2d(t[0], {2, 3}, {}, 0, 2);
        },
        {x}}},
      {"avg_pool2d", {[](auto& t) { return at::avg_pool2d(t[0], 2); }, {x}}},
      {"avg_pool2d with padding", {[](auto& t) { return at::avg_pool2d(t[0], 3, 2, 1, false, false); }, {x}}},
      {"adaptive_avg_pool2d",
       {[](auto& t) {
          return at::adaptive_avg_pool2d(t[0], {1, 1});
        },
        {x}}},
      {"mean",
       {[](auto& t) {
          return at::mean(t[0], {2, 3}, true);
        },
        {x}}},
      {"mean without dimensions",
       {[](auto& t) {
          return at::mean(t[0], {-1, -2});
        },
        {x}}},
      {"softmax", {[](auto& t) { return at::softmax(t[0], -1); }, {m}}},
      {"softmax of channels", {[](auto& t) { return at::softmax(t[0], 1); }, {x}}},
      {"prelu", {[&](auto& t) { return at::prelu(t[0], slope); }, {x}}},
      {"constant_pad_nd",
       {[](auto& t) {
          return at::constant_pad_nd(t[0], {1, 2, 0, 3, 1, 0}, 0.5);
        },
        {x}}},
      {"constant_pad_nd of a matrix",
       {[](auto& t) {
          return at::constant_pad_nd(t[0], {1, 2});
        },
        {m}}},
      {"add", {[](auto& t) { return at::add(t[0], t[1]); }, {x, y}}},
      {"add of a number", {[](auto& t) { return at::add(t[0], 1.5); }, {x}}},
      {"add of a constant", {[&](auto& t) { return at::add(t[0], c); }, {x}}},
      {"mul of a constant with fewer dimensions", {[&](auto& t) { return at::mul(t[0], r); }, {x}}},
      {"sub", {[](auto& t) { return at::sub(t[0], t[1]); }, {x, y}}},
      {"div", {[](auto& t) { return at::div(t[0], 3.0); }, {v}}},
      {"maximum", {[](auto& t) { return at::maximum(t[0], t[1]); }, {x, y}}},
      {"minimum", {[](auto& t) { return at::minimum(t[0], t[1]); }, {x, y}}},
      {"relu", {[](auto& t) { return at::relu(t[0]); }, {x}}},
      {"hardtanh", {[](auto& t) { return at::hardtanh(t[0], -0.5, 0.7); }, {x}}},
      {"clamp", {[](auto& t) { return at::clamp(t[0], 0.1); }, {x}}},
      {"sigmoid", {[](auto& t) { return at::sigmoid(t[0]); }, {x}}},
      {"silu", {[](auto& t) { return at::silu(t[0]); }, {x}}},
      {"hardswish", {[](auto& t) { return at::hardswish(t[0]); }, {x}}},
      {"leaky_relu", {[](auto& t) { return at::leaky_relu(t[0], 0.2); }, {x}}},
      {"elu", {[](auto& t) { return at::elu(t[0], 0.5); }, {x}}},
      {"abs", {[](auto& t) { return at::abs(t[0]); }, {v}}},
      {"neg", {[](auto& t) { return at::neg(t[0]); }, {v}}},
      {"floor", {[](auto& t) { return at::floor(t[0] * 3); }, {v}}},
      {"ceil", {[](auto& t) { return at::ceil(t[0] * 3); }, {v}}},
      {"round", {[](auto& t) { return at::round(t[0] * 3); }, {v}}},
      {"sqrt", {[](auto& t) { return at::sqrt(at::abs(t[0])); }, {v}}},
      {"square", {[](auto& t) { return at::square(t[0]); }, {v}}},
      {"dropout", {[](auto& t) { return at::dropout(t[0], 0.5, false); }, {x}}},
  };
  for (const auto& [name, one] : cases) {
    SCOPED_TRACE(name);
    const Ran result = ran(one.first, one.second);
    EXPECT_EQ(result.difference, "");
    EXPECT_GE(delegated(result.report), 1u) << result.report.text();
    EXPECT_TRUE(result.report.left.empty()) << result.report.text();
  }
}

TEST(Xnnpack, SaysWhyNot) {
  const Tensor x = at::randn({1, 4, 6, 6}), w = at::randn({4, 4, 3, 3}), m = at::randn({3, 5});
  const std::vector<std::pair<std::string, std::pair<Function, std::vector<Tensor>>>> cases = {
      {"it has no such operator", {[](auto& t) { return at::erf(t[0]); }, {x}}},
      {"the input is no float32", {[](auto& t) { return at::relu(t[0]); }, {x.to(at::kDouble)}}},
      {"the weight is no constant", {[](auto& t) { return at::conv2d(t[0], t[1]); }, {x, w}}},
      {"it is over another dimension than the last, or the channels",
       {[](auto& t) { return at::softmax(t[0], 0); }, {m}}},
      {"count_include_pad is true", {[](auto& t) { return at::avg_pool2d(t[0], 3, 1, 1); }, {x}}},
      {"ceil_mode is true", {[](auto& t) { return at::max_pool2d(t[0], 2, 2, 0, 1, true); }, {x}}},
      {"the output is not one number a channel",
       {[](auto& t) {
          return at::adaptive_avg_pool2d(t[0], {2, 2});
        },
        {x}}},
      {"alpha is not 1", {[](auto& t) { return at::add(t[0], t[1], 2); }, {m, at::randn({3, 5})}}},
      {"an operand has fewer dimensions", {[](auto& t) { return at::add(t[0], t[1]); }, {x, at::randn({6})}}},
      {"its range is empty", {[](auto& t) { return at::clamp(t[0], 1, 0); }, {x}}},
      {"pictures lie channels-last", {[](auto& t) { return at::flatten(t[0], 1); }, {x}}},
      {"the input has no 1 to 4 dimensions", {[](auto& t) { return at::relu(t[0]); }, {at::randn({1, 1, 1, 1, 2})}}},
  };
  for (const auto& [why, one] : cases) {
    const Ran result = ran(one.first, one.second);
    EXPECT_EQ(result.difference, "");
    bool found = false;
    for (const auto& left : result.report.left) {
      for (const std::string& reason : left.reasons) found = found || reason == "xnnpack: " + why;
    }
    EXPECT_TRUE(found) << why << "\n" << result.report.text();
  }
  const Ran small = ran([](auto& t) { return at::relu(t[0]); }, {x}, 2);
  EXPECT_EQ(small.report.text(), "aten::relu: interpreter; xnnpack: its part would be too small\n");
}

// A network of residual blocks: one part, at several batches.
TEST(Xnnpack, ANetworkIsOnePart) {
  const c10::NoGradGuard no_grad;
  at::manual_seed(2);
  struct Block {
    Tensor w1 = at::randn({8, 8, 3, 3}) * 0.1, w2 = at::randn({8, 8, 3, 3}) * 0.1, g = at::rand({8}) + 0.5,
           b = at::randn({8}), mean = at::randn({8}), var = at::rand({8}) + 0.5;
  };
  const std::vector<Block> blocks(3);
  const Tensor stem = at::randn({8, 3, 3, 3}), head = at::randn({10, 8});
  const Function net = [&](const std::vector<Tensor>& t) {
    Tensor h = at::max_pool2d(at::relu(at::conv2d(t[0], stem, {}, 2, 1)), 2);
    for (const Block& k : blocks) {
      Tensor a = at::batch_norm(at::conv2d(h, k.w1, {}, 1, 1), k.g, k.b, k.mean, k.var, false, 0.1, 1e-5, false);
      h = at::relu(at::add(at::conv2d(at::relu(a), k.w2, {}, 1, 1), h));
    }
    return at::softmax(at::linear(at::flatten(at::adaptive_avg_pool2d(h, {1, 1}), 1), head), 1);
  };
  const Tensor x = at::randn({2, 3, 32, 32});
  const XnnpackDelegate xnnpack;
  const DelegatedProgram program(program_of(net, {x}), {&xnnpack});
  EXPECT_EQ(program.report().parts.size(), 1u) << program.report().text();
  EXPECT_TRUE(program.report().left.empty()) << program.report().text();
  for (const int64_t batch : {2, 1, 3, 2, 1}) {
    const Tensor one = at::randn({batch, 3, 32, 32});
    const Tensor got = program.run({one}).at(0).toTensor();
    EXPECT_TRUE(at::allclose(got, net({one}), 1e-4, 1e-5)) << batch;
  }
}

// Convolutions and pools with drawn sizes.
TEST(Xnnpack, DrawnConvolutions) {
  std::mt19937 random(3);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int i = 0; i < 60; ++i) {
    const int64_t groups = 1 + below(3), in = groups * (1 + below(4)), outs = groups * (1 + below(4));
    const int64_t kh = 1 + below(3), kw = 1 + below(4), dh = 1 + below(2), dw = 1 + below(2);
    const int64_t height = dh * (kh - 1) + 1 + below(6), width = dw * (kw - 1) + 1 + below(6);
    const std::vector<int64_t> stride{1 + below(3), 1 + below(2)}, padding{below(2), below(3)};
    const Tensor x = at::randn({1 + below(3), in, height, width}), w = at::randn({outs, in / groups, kh, kw}),
                 b = at::randn({outs});
    const Ran result = ran(
        [&](auto& t) {
          return at::conv2d(t[0], w, b, stride, padding, std::vector<int64_t>{dh, dw}, groups);
        },
        {x});
    ASSERT_EQ(result.difference, "") << i << ": " << x.sizes() << " " << w.sizes() << " groups " << groups;
    ASSERT_EQ(delegated(result.report), 1u);
  }
}

TEST(Xnnpack, ProgramsThatChangeSomethingAreRefused) {
  const XnnpackDelegate xnnpack;
  ExportedProgram program = program_of([](auto& t) { return at::relu(t[0]); }, {at::randn({2})});
  program.signature.outputs[0].kind = OutputSpec::Kind::kInputMutation;
  EXPECT_THROW(DelegatedProgram(program, {&xnnpack}), c10::ValueError);
  // One that writes without its signature saying so.
  const ExportedProgram writes =
      program_of([](const std::vector<Tensor>& t) { return t[0].mul_(2).relu(); }, {at::randn({2})});
  EXPECT_THROW(DelegatedProgram(writes, {&xnnpack}), c10::ValueError);
}

// Calls that write to what the program itself made become others.
TEST(Xnnpack, CallsThatWriteAreReplaced) {
  const Ran result =
      ran([](const std::vector<Tensor>& t) { return at::sigmoid(t[0]).mul_(3.0).relu_(); }, {at::randn({2, 3, 4, 4})});
  EXPECT_EQ(result.difference, "");
  EXPECT_EQ(result.report.text(), "part 0: 3 nodes, xnnpack\n");
}

// Programs of PyTorch, of which it runs what it can: the same results. KINDLING_FIXTURES names a folder with more.
TEST(Xnnpack, ProgramsOfFiles) {
  const XnnpackDelegate xnnpack;
  const std::string folder = fixtures::folder("export", "export/pt2/testdata");
  int programs = 0, with_parts = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const fixtures::Fixture fixture(entry.path().string());
    if (fixture.description().contains("programs")) continue;
    for (const json& file : fixture.description()["files"]) {
      const std::string path = (fs::path(folder) / file.get<std::string>()).string();
      if (!fs::exists(path)) continue;
      SCOPED_TRACE(path);
      std::optional<ExportedProgram> program;
      std::optional<DelegatedProgram> fast;
      try {
        program.emplace(load_exported(path));
        fast.emplace(*program, c10::ArrayRef<const Delegate*>({&xnnpack}));
      } catch (const c10::Error&) {
        continue;  // it changes buffers, or is no file of these versions
      }
      ++programs;
      with_parts += fast->report().parts.empty() ? 0 : 1;
      for (const json& call : fixture.description()["calls"]) {
        if (call.contains("manual_seed")) continue;
        std::vector<IValue> args;
        for (const json& one : call.value("args", json::array())) args.push_back(fixture.value(one));
        const c10::impl::GenericDict kwargs(c10::AnyType::get(), c10::AnyType::get());
        const json named = call.value("kwargs", json::object());
        for (const auto& [name, one] : named.items()) kwargs.insert_or_assign(name, fixture.value(one));
        const IValue all = c10::ivalue::Tuple::create(
            std::vector<IValue>{c10::ivalue::Tuple::create(std::move(args)), IValue(kwargs)});
        const std::vector<IValue> got = fast->run(program->in_spec.flatten(all, "the arguments"));
        EXPECT_EQ(fixture.difference(call["result"], program->out_spec.unflatten(got), "the result"), "");
      }
    }
  }
  std::cout << programs << " programs, " << with_parts << " with parts\n";
  EXPECT_GT(programs, 10);
  EXPECT_GT(with_parts, 2);
}

}  // namespace
}  // namespace torch::edge
