// Groups give the bits that their operators give one by one: random ones, and those with a shape that is special.
#include "compile/tape/tape.h"

#include <cstring>
#include <map>
#include <random>

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
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/parallel/parallel.h"
#include "c10/testing/message_of.h"
#include "compile/group/fuse.h"
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

graph::Callable find(const std::string& name) {
  const size_t dot = name.find('.');
  return graph::Callable(c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)));
}

// Random graphs of what groups take, of all dtypes, with operands that are strided, permuted, expanded or broadcast.
class Generator {
 public:
  explicit Generator(unsigned seed, Sizes sizes, bool rows) : random_(seed), sizes_(std::move(sizes)), rows_(rows) {
    at::manual_seed(random_());
  }

  void run(int nodes) {
    for (int i = 0; i < 5; ++i) input();
    for (int tries = 0; nodes > 0 && tries < 1000; ++tries) nodes -= step();
    std::vector<Operand> outputs;
    for (Node* node : graph_.block()) {
      if (!node->has_uses() || pick(6) == 0) outputs.emplace_back(node->result());
    }
    graph_.block().set_outputs(std::move(outputs));
  }
  const Graph& graph() const { return graph_; }
  const Stack& inputs() const { return inputs_; }

 private:
  size_t pick(size_t n) { return random_() % n; }

  void input() {
    static constexpr ScalarType kDtypes[] = {ScalarType::Float,  ScalarType::Float,    ScalarType::Float,
                                             ScalarType::Double, ScalarType::BFloat16, ScalarType::BFloat16,
                                             ScalarType::Half,   ScalarType::Long,     ScalarType::Int,
                                             ScalarType::Bool,   ScalarType::Char,     ScalarType::Byte};
    const ScalarType dtype = kDtypes[pick(std::size(kDtypes))];
    Sizes sizes = sizes_;
    if (!inputs_.empty() && pick(2) == 0) {
      for (int64_t& size : sizes) size = pick(2) == 0 ? 1 : size;
      sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(pick(sizes.size() + 1)));
    }
    at::Tensor t;
    const auto values = [&](const Sizes& s) {
      at::Tensor v = at::mul(at::randn(s), 3);
      if (pick(3) == 0 && v.numel() > 2) {
        at::Tensor flat = at::reshape(v, {-1});
        at::Tensor first = at::select(flat, 0, 0), second = at::select(flat, 0, 1);
        at::fill_(first, std::numeric_limits<double>::infinity());
        at::fill_(second, std::numeric_limits<double>::quiet_NaN());
      }
      return isFloatingType(dtype) ? at::to(v, dtype) : at::to(at::nan_to_num(v, 1.0, 5.0, -5.0), dtype);
    };
    switch (sizes.empty() ? 0 : pick(4)) {
      case 1: {  // columns first
        Sizes turned(sizes.rbegin(), sizes.rend());
        std::vector<int64_t> order;
        for (size_t d = sizes.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
        t = at::permute(values(turned), order);
        break;
      }
      case 2: {  // every second
        Sizes wide = sizes;
        wide.back() *= 2;
        t = at::slice(values(wide), -1, 0, INT64_MAX, 2);
        break;
      }
      default:
        t = values(sizes);
    }
    Value* const value = graph_.block().add_input(c10::TensorType::get(), "x" + std::to_string(inputs_.size()));
    value->set_info(graph::TensorInfo());
    inputs_.emplace_back(t);
    known_.push_back(value);
    tensors_[value] = t;
  }

  // Calls an operator with these operands where it takes them, and returns how many nodes that are.
  int call(const std::string& name, std::vector<Operand> operands) {
    const graph::Callable callable = find(name);
    Stack stack;
    for (const Operand& o : operands) stack.push_back(o.is_value() ? IValue(tensors_.at(o.value())) : o.constant());
    try {
      callable.call(stack);
    } catch (const std::exception&) {
      return 0;
    }
    if (!stack[0].isTensor() || isComplexType(stack[0].toTensor().scalar_type())) return 0;
    Node* const node = graph_.block().append(graph_.call(callable, std::move(operands)));
    known_.push_back(node->result());
    tensors_[node->result()] = stack[0].toTensor();
    return 1;
  }
  Value* any() { return known_[known_.size() - 1 - std::min(pick(known_.size()), pick(known_.size()))]; }
  IValue number() {
    switch (pick(3)) {
      case 0:
        return static_cast<int64_t>(pick(5)) - 2;
      case 1:
        return static_cast<double>(pick(100)) / 16 - 3;
      default:
        return 0.1 * static_cast<double>(pick(30));
    }
  }

  int step() {
    static const char* const kUnary[] = {
        "neg",         "abs",       "sign",        "ceil",       "floor",   "round", "trunc",  "frac",     "reciprocal",
        "square",      "sqrt",      "rsqrt",       "exp",        "exp2",    "expm1", "log",    "log2",     "log10",
        "log1p",       "sin",       "cos",         "tan",        "asin",    "acos",  "atan",   "sinh",     "cosh",
        "tanh",        "asinh",     "acosh",       "atanh",      "erf",     "erfc",  "erfinv", "sinc",     "lgamma",
        "digamma",     "angle",     "sigmoid",     "rad2deg",    "deg2rad", "relu",  "relu6",  "silu",     "mish",
        "hardsigmoid", "hardswish", "log_sigmoid", "selu",       "sgn",     "isnan", "isinf",  "isfinite", "isposinf",
        "isneginf",    "signbit",   "logical_not", "bitwise_not"};
    static const char* const kBinary[] = {"mul.Tensor",
                                          "div.Tensor",
                                          "maximum",
                                          "minimum",
                                          "fmax",
                                          "fmin",
                                          "atan2",
                                          "copysign.Tensor",
                                          "hypot",
                                          "logaddexp",
                                          "logaddexp2",
                                          "xlogy.Tensor",
                                          "heaviside",
                                          "gcd",
                                          "lcm",
                                          "bitwise_and.Tensor",
                                          "bitwise_or.Tensor",
                                          "bitwise_xor.Tensor",
                                          "bitwise_left_shift.Tensor",
                                          "bitwise_right_shift.Tensor",
                                          "eq.Tensor",
                                          "ne.Tensor",
                                          "lt.Tensor",
                                          "le.Tensor",
                                          "gt.Tensor",
                                          "ge.Tensor",
                                          "logical_and",
                                          "logical_or",
                                          "logical_xor",
                                          "floor_divide",
                                          "fmod.Tensor",
                                          "remainder.Tensor",
                                          "pow.Tensor_Tensor",
                                          "clamp_min.Tensor",
                                          "clamp_max.Tensor",
                                          "sigmoid_backward",
                                          "tanh_backward",
                                          "silu_backward",
                                          "prelu"};
    static const char* const kWithNumber[] = {"mul.Scalar",        "div.Scalar",          "pow.Tensor_Scalar",
                                              "eq.Scalar",         "ne.Scalar",           "lt.Scalar",
                                              "le.Scalar",         "gt.Scalar",           "ge.Scalar",
                                              "clamp_min",         "clamp_max",           "fmod.Scalar",
                                              "remainder.Scalar",  "floor_divide.Scalar", "leaky_relu",
                                              "hardshrink",        "softshrink",          "celu",
                                              "copysign.Scalar",   "xlogy.Scalar_Other",  "bitwise_and.Scalar",
                                              "bitwise_or.Scalar", "bitwise_xor.Scalar"};
    Value *const a = any(), *const b = any(), *const c = any();
    switch (pick(rows_ ? 22 : 20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return call(kUnary[pick(std::size(kUnary))], {a});
      case 4:
      case 5:
      case 6:
        return call(kBinary[pick(std::size(kBinary))], {a, b});
      case 7:
      case 8:
        return call(pick(2) == 0   ? "add.Tensor"
                    : pick(2) == 0 ? "sub.Tensor"
                                   : "rsub.Tensor",
                    {a, b, pick(2) == 0 ? IValue(1) : number()});
      case 9:
      case 10:
        return call(kWithNumber[pick(std::size(kWithNumber))], {a, number()});
      case 11:
        return call(pick(2) == 0 ? "add.Scalar" : "rsub.Scalar", {a, number(), pick(2) == 0 ? IValue(1) : number()});
      case 12:
        return call("clamp", {a, pick(3) == 0 ? IValue() : number(), pick(3) == 0 ? IValue() : number()});
      case 13:
        return call("where.self", {a, b, c});
      case 14:
        return call(pick(2) == 0 ? "addcmul" : "addcdiv", {a, b, c, number()});
      case 15:
        return pick(2) == 0 ? call("lerp.Scalar", {a, b, number()}) : call("lerp.Tensor", {a, b, c});
      case 16: {
        static const char* const kModes[] = {"trunc", "floor"};
        return call(pick(2) == 0 ? "div.Tensor_mode" : "div.Scalar_mode", {a, Operand(b), IValue(kModes[pick(2)])});
      }
      case 17:
        return pick(2) == 0 ? call("gelu", {a, IValue(pick(2) == 0 ? "none" : "tanh")})
                            : call("gelu_backward", {a, b, IValue(pick(2) == 0 ? "none" : "tanh")});
      case 18:
        switch (pick(6)) {
          case 0:
            return call("softplus", {a, number(), number()});
          case 1:
            return call("elu", {a, number(), number(), number()});
          case 2:
            return call("threshold", {a, number(), number()});
          case 3:
            return call("threshold_backward", {a, b, number()});
          case 4:
            return call("nan_to_num", {a, IValue(), IValue(2.5), IValue()});
          default:
            return call("hardtanh", {a, IValue(-1.5), IValue(0.75)});
        }
      case 19: {
        static constexpr ScalarType kTo[] = {ScalarType::Float,  ScalarType::BFloat16, ScalarType::Half,
                                             ScalarType::Double, ScalarType::Int,      ScalarType::Long,
                                             ScalarType::Bool,   ScalarType::Char,     ScalarType::Byte};
        if (pick(2) == 0) return call("masked_fill.Scalar", {a, b, number()});
        return call("_to_copy",
                    {a, IValue(kTo[pick(std::size(kTo))]), IValue(), IValue(), IValue(), IValue(false), IValue()});
      }
      case 20:
        return call(pick(2) == 0 ? "softmax.int" : "log_softmax.int",
                    {a, IValue(static_cast<int64_t>(-1)), pick(2) == 0 ? IValue() : IValue(ScalarType::Float)});
      default: {
        const at::Tensor& t = tensors_.at(a);
        if (t.dim() == 0) return 0;
        const Sizes shape{t.size(-1)};
        return call("layer_norm", {a, IValue(shape), pick(2) == 0 ? IValue() : IValue(at::randn(shape)),
                                   pick(2) == 0 ? IValue() : IValue(at::randn(shape)), IValue(1e-5), IValue(true)});
      }
    }
  }

  std::mt19937 random_;
  Sizes sizes_;
  bool rows_;
  Graph graph_{"random"};
  Stack inputs_;
  std::vector<Value*> known_;
  std::map<const Value*, at::Tensor> tensors_;
};

const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> all{{},         {1},    {7},       {64},        {200},
                                      {1000},     {3, 5}, {5, 64},   {4, 300},    {2, 3, 4},
                                      {3, 70, 6}, {0, 4}, {1, 1, 9}, {6, 1, 130}, {2, 3, 4, 5}};
  return all;
}

TEST(Tape, RandomGroups) {
  size_t parts = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Generator program(seed, shapes()[seed % shapes().size()], /*rows=*/false);
    program.run(12);
    parts += expect_equal(program.graph(), program.inputs());
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parts, 300u);
}
TEST(Tape, RandomGroupsWithRows) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Generator program(seed, shapes()[seed % shapes().size()], /*rows=*/true);
    program.run(8);
    expect_equal(program.graph(), program.inputs());
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
      Generator program(seed, shapes()[seed % shapes().size()], /*rows=*/isa == at::cpu::Isa::kAvx2);
      program.run(10);
      expect_equal(program.graph(), program.inputs());
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
