#include "compile/group/testing/random_groups.h"

#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"

namespace torch::compiler::testing {

using c10::IValue;
using c10::ScalarType;
using c10::Stack;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;
using Sizes = std::vector<int64_t>;

graph::Callable find(const std::string& name) {
  const size_t dot = name.find('.');
  return graph::Callable(c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)));
}

namespace {

// Random graphs of what groups take, of all dtypes, with operands that are strided, permuted, expanded or broadcast.
class Generator {
 public:
  Generator(unsigned seed, Sizes sizes, const RandomGroupOptions& options)
      : random_(seed), sizes_(std::move(sizes)), options_(options), graph_(std::make_unique<Graph>("random")) {
    at::manual_seed(random_());
  }

  RandomGroup run() {
    for (int i = 0; i < 5; ++i) input();
    int nodes = options_.nodes;
    for (int tries = 0; nodes > 0 && tries < 1000; ++tries) nodes -= step();
    std::vector<Operand> outputs;
    for (Node* node : graph_->block()) {
      if (views_.count(node) == 0 && (!node->has_uses() || pick(6) == 0)) outputs.emplace_back(node->result());
    }
    graph_->block().set_outputs(std::move(outputs));
    return {std::move(graph_), std::move(inputs_)};
  }

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
        Sizes order;
        for (size_t d = sizes.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
        return view(values(Sizes(sizes.rbegin(), sizes.rend())), "permute", {IValue(order)});
      }
      case 2: {  // every second
        Sizes wide = sizes;
        wide.back() *= 2;
        return view(values(wide), "slice.Tensor", {IValue(-1), IValue(0), IValue(INT64_MAX), IValue(2)});
      }
      default:
        add_input(values(sizes));
    }
  }
  Value* add_input(const at::Tensor& t) {
    Value* const value = graph_->block().add_input(c10::TensorType::get(), "x" + std::to_string(inputs_.size()));
    value->set_info(graph::TensorInfo());
    inputs_.emplace_back(t);
    known_.push_back(value);
    tensors_[value] = t;
    return value;
  }
  // An input that is a view, or one that a view is taken of.
  void view(const at::Tensor& t, const char* name, std::vector<IValue> arguments) {
    const graph::Callable callable = find(name);
    Stack stack{t};
    stack.insert(stack.end(), arguments.begin(), arguments.end());
    callable.call(stack);
    if (!options_.dense_inputs) {
      add_input(stack[0].toTensor());
      return;
    }
    std::vector<Operand> operands{add_input(t)};
    known_.pop_back();
    for (IValue& argument : arguments) operands.emplace_back(std::move(argument));
    Node* const node = graph_->block().append(graph_->call(callable, std::move(operands)));
    views_.insert(node);
    known_.push_back(node->result());
    tensors_[node->result()] = stack[0].toTensor();
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
    Node* const node = graph_->block().append(graph_->call(callable, std::move(operands)));
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
    switch (pick(options_.rows ? 22 : 20)) {
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
  const RandomGroupOptions& options_;
  std::unique_ptr<Graph> graph_;
  Stack inputs_;
  std::vector<Value*> known_;
  std::set<const Node*> views_;
  std::map<const Value*, at::Tensor> tensors_;
};

}  // namespace

RandomGroup random_group(unsigned seed, const Sizes& sizes, const RandomGroupOptions& options) {
  return Generator(seed, sizes, options).run();
}

const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> all{{},         {1},    {7},       {64},        {200},
                                      {1000},     {3, 5}, {5, 64},   {4, 300},    {2, 3, 4},
                                      {3, 70, 6}, {0, 4}, {1, 1, 9}, {6, 1, 130}, {2, 3, 4, 5}};
  return all;
}

}  // namespace torch::compiler::testing
