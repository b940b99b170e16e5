// Groups give the bits that their operators give one by one: random ones, and those with a shape that is special.
#include "compile/tape/tape.h"

#include <cstring>
#include <map>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/isa.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"
#include "c10/testing/message_of.h"
#include "compile/group/fuse.h"
#include "compile/group/testing/random_groups.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::compiler {
namespace {

using c10::IValue;
using c10::ScalarType;
using c10::Stack;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;
using graph::testing::parse;
using Sizes = std::vector<int64_t>;

// Empty where both have the same elements, bit for bit, but for which NaN they are.
std::string difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type()) return "other dtypes";
  if (a.sizes() != b.sizes()) return "other sizes";
  if (a.strides() != b.strides()) return c10::str("strides ", a.strides(), " and ", b.strides());
  at::Tensor x = at::clone(a, c10::MemoryFormat::Contiguous), y = at::clone(b, c10::MemoryFormat::Contiguous);
  if (x.is_floating_point()) {
    const at::Tensor p = at::isnan(x), q = at::isnan(y);
    if (!at::all(at::eq(p, q)).item().toBool()) return "other places of NaN";
    x = at::masked_fill(x, p, 0);
    y = at::masked_fill(y, q, 0);
  }
  if (x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) return "";
  const at::Tensor other = at::ne(x, y);
  return c10::str(at::sum(other).item(), " of ", x.numel(), " elements of ", x.scalar_type(), " differ");
}
std::string difference(const Stack& a, const Stack& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string found = difference(a[i].toTensor(), b.at(i).toTensor());
    if (!found.empty()) return c10::str("output ", i, ": ", found);
  }
  return "";
}

enum class How { kNodes, kLoops, kRegisters };

at::Tensor made(const graph::TensorInfo& info) {
  Sizes sizes, strides;
  for (const graph::IntExpr& e : info.sizes) sizes.push_back(e.value());
  for (const graph::IntExpr& e : info.strides) strides.push_back(e.value());
  return at::empty_with_strides(sizes, strides, info.dtype, c10::Device(c10::DeviceType::CPU));
}

// The graph with its parts run in one way.
Stack run_parts(const Graph& graph, const std::vector<FusedPart>& parts, How how, const Stack& inputs) {
  graph::Surroundings surroundings;
  surroundings.function = [&](const Node& node) -> std::function<void(Stack&)> {
    for (const FusedPart& part : parts) {
      if (part.graph->name() != node.name()) continue;
      if (how == How::kNodes) {
        return [run = std::make_shared<graph::Interpreter>(*part.graph)](Stack& stack) { (*run)(stack); };
      }
      auto tape =
          std::make_shared<Tape>(part.group, std::map<std::string, int64_t>{}, TapeOptions{how == How::kRegisters});
      return [tape, &part](Stack& stack) {
        std::vector<const void*> from;
        std::vector<void*> to;
        Stack results;
        for (const IValue& v : stack) from.push_back(v.toTensor().const_data_ptr());
        for (const GroupOutput& output : part.group.outputs) {
          results.emplace_back(made(output.info));
          to.push_back(results.back().toTensor().data_ptr());
        }
        tape->run(from, to);
        stack = std::move(results);
      };
    }
    return nullptr;
  };
  Stack stack = inputs;
  graph::Interpreter(graph, surroundings)(stack);
  return stack;
}

// Interpreted, its parts interpreted, and its parts as tapes in two ways; returns how many parts there were.
size_t expect_equal(const Graph& graph, const Stack& inputs, const FuseOptions& options = {.min_nodes = 1}) {
  Stack want = inputs;
  graph::Interpreter run(graph);
  run(want);
  const std::unique_ptr<Graph> fused = graph.clone();
  graph::propagate_shapes(*fused, inputs);
  const std::vector<FusedPart> parts = fuse(*fused, options);
  graph::verify(*fused);
  for (const How how : {How::kNodes, How::kLoops, How::kRegisters}) {
    const std::string found = difference(want, run_parts(*fused, parts, how, inputs));
    if (found.empty()) continue;
    ADD_FAILURE() << (how == How::kNodes   ? "parts: "
                      : how == How::kLoops ? "loops: "
                                           : "registers: ")
                  << found << "\n"
                  << graph::print(graph);
    for (const FusedPart& part : parts) std::printf("%s\n", print(part.group).c_str());
    break;
  }
  return parts.size();
}

using testing::find;
using testing::random_group;
using testing::RandomGroup;
using testing::shapes;

TEST(Tape, RandomGroups) {
  size_t parts = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGroup program = random_group(seed, shapes()[seed % shapes().size()], {.nodes = 12});
    parts += expect_equal(*program.graph, program.inputs);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parts, 300u);
}
TEST(Tape, RandomGroupsWithRows) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGroup program = random_group(seed, shapes()[seed % shapes().size()], {.nodes = 8, .rows = true});
    expect_equal(*program.graph, program.inputs);
    if (::testing::Test::HasFailure()) return;
  }
}
// All instruction sets, each against eager on the same.
TEST(Tape, InstructionSets) {
  for (const at::cpu::Isa isa : {at::cpu::Isa::kAvx2, at::cpu::Isa::kSse4, at::cpu::Isa::kBaseline}) {
    at::cpu::limit_isa(isa);
    for (unsigned seed = 1000; seed < 1060; ++seed) {
      SCOPED_TRACE(seed);
      // Rows of half with infinities need the conversions of newer processors.
      const RandomGroup program =
          random_group(seed, shapes()[seed % shapes().size()], {.nodes = 10, .rows = isa == at::cpu::Isa::kAvx2});
      expect_equal(*program.graph, program.inputs);
    }
    if (::testing::Test::HasFailure()) break;
  }
  at::cpu::limit_isa(at::cpu::Isa::kAvx512);
}

Stack chain(const Sizes& sizes, ScalarType dtype) {
  const Sizes row{sizes.back()};
  return {at::to(at::randn(sizes), dtype), at::to(at::randn(row), dtype), at::to(at::randn(row), dtype),
          at::to(at::randn(sizes), dtype)};
}
const char* const kGeluChain = R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
  %0: Tensor = aten::mul.Tensor(%x, %w)
  %1: Tensor = aten::add.Tensor(%0, %b, 1)
  %2: Tensor = aten::gelu(%1, "none")
  %3: Tensor = aten::add.Tensor(%2, %r, 1)
  return %3
})";

TEST(Tape, LargeChainsOnSeveralThreads) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Half}) {
    EXPECT_EQ(expect_equal(*parse(kGeluChain), chain({130, 1030}, dtype)), 1u);
    EXPECT_EQ(expect_equal(*parse(kGeluChain), chain({3000, 65}, dtype)), 1u);
    const auto softmax = parse(R"(graph f(%x: Tensor, %m: Tensor) {
      %0: Tensor = aten::mul.Scalar(%x, 0.125)
      %1: Tensor = aten::add.Tensor(%0, %m, 1)
      %2: Tensor = aten::softmax.int(%1, -1, None)
      %3: Tensor = aten::mul.Tensor(%2, %x)
      return %3, %2
    })");
    for (const Sizes& sizes : {Sizes{4, 50, 333}, Sizes{700, 64}, Sizes{9, 4000}, Sizes{5000, 7}}) {
      EXPECT_EQ(expect_equal(*softmax, {at::to(at::randn(sizes), dtype), at::to(at::randn({sizes.back()}), dtype)}),
                1u);
    }
  }
  at::set_num_threads(threads);
}

TEST(Tape, RowsOfSeveralDimensions) {
  const auto norm = parse(R"(graph f(%x: Tensor, %r: Tensor, %w: Tensor, %b: Tensor) {
    %0: Tensor = aten::add.Tensor(%x, %r, 1)
    %1: Tensor = aten::layer_norm(%0, [5, 40], %w, %b, 1e-05, True)
    %2: Tensor = aten::relu(%1)
    return %2, %0
  })");
  const at::Tensor w = at::randn({5, 40}), b = at::permute(at::randn({40, 5}), {1, 0});
  const at::Tensor x = at::randn({6, 5, 40}), turned = at::permute(at::randn({6, 40, 5}), {0, 2, 1});
  EXPECT_EQ(expect_equal(*norm, {x, at::randn({6, 5, 40}), w, at::randn({5, 40})}), 1u);
  EXPECT_EQ(expect_equal(*norm, {turned, at::randn({6, 5, 1}), w, b}), 1u);
}

// One after the other where a group has room.
TEST(Fuse, KeepsLimits) {
  Graph graph("long");
  Value* x = graph.block().add_input(c10::TensorType::get(), "x");
  for (int i = 0; i < 150; ++i) x = graph.block().append(graph.call(find(i % 2 == 0 ? "neg" : "sin"), {x}))->result();
  graph.block().set_outputs({x});
  EXPECT_EQ(expect_equal(graph, {at::randn({40})}), 3u);
}

TEST(Tape, RefusesWhatIsNoGroup) {
  const auto graph = parse(kGeluChain);
  const Stack inputs = chain({3, 4}, ScalarType::Float);
  graph::propagate_shapes(*graph, inputs);
  const Group good = describe(*graph);
  using c10::testing::message_of;
  Group bad = good;
  bad.operations[2].operands[0] = {Ref::Kind::kOperation, 3};
  EXPECT_NE(message_of<c10::ValueError>([&] { Tape tape(bad); }), "");
  bad = good;
  bad.operations[0].operands.pop_back();
  EXPECT_NE(message_of<c10::ValueError>([&] { Tape tape(bad); }).find("mul"), std::string::npos);
  bad = good;
  bad.inputs[1].info.sizes = {5};
  EXPECT_NE(message_of<c10::ValueError>([&] { Tape tape(bad); }).find("broadcast"), std::string::npos);
  const Tape tape(good);
  EXPECT_NE(message_of<c10::Error>([&] { tape.run({}, {}); }), "");
}

}  // namespace
}  // namespace torch::compiler
