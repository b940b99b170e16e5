#include "graph/passes/testing/programs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"

namespace torch::graph::testing {
namespace {

using c10::IValue;
using Kind = Node::Kind;
using Sizes = std::vector<int64_t>;

Callable find(std::string_view name) {
  const size_t dot = name.find('.');
  return Callable(c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + std::string(name.substr(0, dot)), dot == std::string_view::npos ? "" : name.substr(dot + 1)));
}

// Values that are known in a block, with their sizes.
struct Known {
  Value* value;
  Sizes sizes;
};

class Generator {
 public:
  Generator(unsigned seed, const RandomOptions& options)
      : random_(seed), options_(options), graph_(std::make_unique<Graph>("random")) {}

  RandomProgram run() {
    Block& block = graph_->block();
    std::vector<Known> known;
    c10::Stack inputs;
    at::manual_seed(random_());
    for (int i = 0; i < 3; ++i) {
      const Sizes sizes = i == 0 ? Sizes{3, 4} : i == 1 ? Sizes{4, 3} : Sizes{1, 4};
      known.push_back({block.add_input(c10::TensorType::get(), "x" + std::to_string(i)), sizes});
      inputs.emplace_back(at::randn(sizes));
    }
    condition_ = block.add_input(c10::BoolType::get(), "c");
    inputs.emplace_back(pick(2) == 0);
    constants_ = {at::randn({3, 4}), at::randn({4}), at::randn({4, 4})};
    fill(block, known, options_.nodes, 0);
    std::vector<Operand> outputs;
    for (int i = 0; i < 3; ++i) outputs.emplace_back(any(known).value);
    block.set_outputs(std::move(outputs));
    return {std::move(graph_), std::move(inputs)};
  }

 private:
  size_t pick(size_t n) { return random_() % n; }
  const Known& any(const std::vector<Known>& known) {
    // Later ones are more likely.
    const size_t n = known.size();
    return known[n - 1 - std::min(pick(n), pick(n))];
  }

  Node* call(Block& block, const char* name, std::vector<Operand> operands) {
    return block.append(graph_->call(find(name), std::move(operands)));
  }
  void add(std::vector<Known>& known, const Node* node, Sizes sizes) {
    known.push_back({node->result(0), std::move(sizes)});
  }

  void fill(Block& block, std::vector<Known>& known, int nodes, int depth) {
    for (int i = 0; i < nodes; ++i) {
      if (pick(6) == 0 && repeat(block, known)) continue;
      step(block, known, depth);
    }
  }

  // Calls once more what was called in this block.
  bool repeat(Block& block, std::vector<Known>& known) {
    std::vector<Node*> calls;
    for (Node* node : block) {
      if (node->kind() == Kind::kCall && node->result_count() == 1) calls.push_back(node);
    }
    if (calls.empty()) return false;
    const Node* chosen = calls[pick(calls.size())];
    const auto of =
        std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.value == chosen->result(0); });
    if (of == known.end()) return false;
    Sizes sizes = of->sizes;
    std::vector<Operand> operands(chosen->operands().begin(), chosen->operands().end());
    add(known, block.append(graph_->call(chosen->callable(), std::move(operands))), std::move(sizes));
    return true;
  }

  static bool broadcast(const Sizes& a, const Sizes& b, Sizes* out) {
    *out = Sizes(std::max(a.size(), b.size()), 1);
    for (size_t i = 0; i < out->size(); ++i) {
      const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (x != y && x != 1 && y != 1) return false;
      (*out)[out->size() - 1 - i] = x == 1 ? y : x;
    }
    return true;
  }

  void step(Block& block, std::vector<Known>& known, int depth) {
    const Known a = any(known);
    const auto dims = static_cast<int64_t>(a.sizes.size());
    switch (pick(20)) {
      case 0:
      case 1: {
        static constexpr const char* kUnary[] = {"neg", "tanh", "relu", "sigmoid", "exp", "abs"};
        return add(known, call(block, kUnary[pick(std::size(kUnary))], {a.value}), a.sizes);
      }
      case 2:
      case 3:
      case 4: {
        const Known b = any(known);
        Sizes sizes;
        if (!broadcast(a.sizes, b.sizes, &sizes)) return;
        if (pick(3) == 0) return add(known, call(block, "mul.Tensor", {a.value, b.value}), sizes);
        return add(known, call(block, pick(2) == 0 ? "add.Tensor" : "sub.Tensor", {a.value, b.value, IValue(1)}),
                   sizes);
      }
      case 5:
        return add(known, call(block, "add.Scalar", {a.value, IValue(static_cast<int64_t>(pick(3))), IValue(1)}),
                   a.sizes);
      case 6: {
        const at::Tensor& constant = constants_[pick(constants_.size())];
        Sizes sizes;
        if (!broadcast(a.sizes, constant.sizes().vec(), &sizes)) return;
        if (pick(2) == 0) return add(known, call(block, "add.Tensor", {a.value, IValue(constant), IValue(1)}), sizes);
        const Node* made = call(block, "tanh", {Operand(IValue(constant))});
        return add(known, made, constant.sizes().vec());
      }
      case 7: {
        if (dims < 2) return;
        Sizes sizes = a.sizes;
        std::swap(sizes[0], sizes[static_cast<size_t>(dims) - 1]);
        return add(known, call(block, "transpose.int", {a.value, IValue(0), IValue(dims - 1)}), sizes);
      }
      case 8: {
        if (dims == 0) return;
        Sizes sizes(a.sizes.begin() + 1, a.sizes.end());
        return add(known,
                   call(block, "select.int",
                        {a.value, IValue(0), IValue(static_cast<int64_t>(pick(static_cast<size_t>(a.sizes[0]))))}),
                   sizes);
      }
      case 9: {
        if (dims == 0 || a.sizes.back() < 2) return;
        Sizes sizes = a.sizes;
        sizes.back() = sizes.back() - 1;
        return add(known, call(block, "slice.Tensor", {a.value, IValue(-1), IValue(1), IValue(), IValue(1)}), sizes);
      }
      case 10: {
        if (dims > 3) return;
        Sizes sizes = a.sizes;
        sizes.insert(sizes.begin(), 1);
        return add(known, call(block, "unsqueeze", {a.value, IValue(0)}), sizes);
      }
      case 11: {
        int64_t count = 1;
        for (const int64_t size : a.sizes) count *= size;
        return add(known, call(block, "reshape", {a.value, IValue(Sizes{count})}), {count});
      }
      case 12: {
        const Known b = any(known);
        if (dims != 2 || b.sizes.size() != 2 || a.sizes[1] != b.sizes[0]) return;
        return add(known, call(block, "mm", {a.value, b.value}), {a.sizes[0], b.sizes[1]});
      }
      case 13: {
        if (dims == 0) return;
        Sizes sizes(a.sizes.begin() + 1, a.sizes.end());
        const IValue dim = Sizes{0};
        return add(known, call(block, "sum.dim_IntList", {a.value, dim, IValue(false), IValue()}), sizes);
      }
      case 14: {
        if (dims == 0 || a.sizes[0] > 8) return;
        Sizes sizes = a.sizes;
        sizes[0] *= 2;
        return add(known, call(block, "cat", {std::vector<Operand>{a.value, a.value}, IValue(0)}), sizes);
      }
      case 15: {
        if (dims == 0 || a.sizes[0] % 2 != 0) return;
        Sizes sizes = a.sizes;
        sizes[0] /= 2;
        Node* const list = call(block, "split.Tensor", {a.value, IValue(sizes[0]), IValue(0)});
        Node* const parts = block.append(graph_->make(Kind::kUnpack, {Operand(list->result())}));
        for (int i = 0; i < 2; ++i) known.push_back({parts->add_result(c10::TensorType::get()), sizes});
        return;
      }
      case 16: {
        const IValue sizes = Sizes{3, 4};
        if (options_.draws && pick(2) == 0) {
          return add(known, call(block, "rand", {sizes, IValue(), IValue(), IValue(), IValue()}), {3, 4});
        }
        return add(known, call(block, pick(2) == 0 ? "ones" : "zeros", {sizes, IValue(), IValue(), IValue(), IValue()}),
                   {3, 4});
      }
      case 17:
      case 18:
        if (options_.writes) write(block, known, a);
        return;
      default:
        if (options_.control && depth < 2) control(block, known, a, depth);
    }
  }

  void write(Block& block, std::vector<Known>& known, const Known& a) {
    switch (pick(4)) {
      case 0:
        return add(known, call(block, "mul_.Scalar", {a.value, IValue(0.5)}), a.sizes);
      case 1:
        return add(known, call(block, "relu_", {a.value}), a.sizes);
      case 2:
        return add(known, call(block, "fill_.Scalar", {a.value, IValue(0.25)}), a.sizes);
      default: {
        const Known b = any(known);
        Sizes sizes;
        if (!broadcast(a.sizes, b.sizes, &sizes) || sizes != a.sizes) return;
        // Of overlapping memory nothing is promised: what is added is a copy.
        const Node* copy = call(block, "clone", {b.value, IValue()});
        return add(known, call(block, "add_.Tensor", {a.value, copy->result(0), IValue(1)}), a.sizes);
      }
    }
  }

  void control(Block& block, std::vector<Known>& known, const Known& a, int depth) {
    if (pick(2) == 0) {
      Node* const node = block.append(graph_->make(Kind::kIf, {Operand(condition_)}));
      for (int b = 0; b < 2; ++b) {
        Block& inner = node->add_block();
        std::vector<Known> inside = known;
        fill(inner, inside, 3, depth + 1);
        Value* last = a.value;
        for (const Known& k : inside) {
          if (k.sizes == a.sizes) last = k.value;
        }
        inner.set_outputs({last});
      }
      known.push_back({node->add_result(c10::TensorType::get()), a.sizes});
      return;
    }
    Node* const node = block.append(
        graph_->make(Kind::kLoop, {Operand(IValue(3)), Operand(IValue(true)), std::vector<Operand>{a.value}}));
    Block& inner = node->add_block();
    inner.add_input(c10::IntType::get());
    std::vector<Known> inside = known;
    inside.push_back({inner.add_input(c10::TensorType::get()), a.sizes});
    fill(inner, inside, 3, depth + 1);
    Value* last = inner.input(1);
    for (const Known& k : inside) {
      if (k.sizes == a.sizes) last = k.value;
    }
    inner.set_outputs({Operand(IValue(true)), last});
    known.push_back({node->add_result(c10::TensorType::get()), a.sizes});
  }

  std::mt19937 random_;
  RandomOptions options_;
  std::unique_ptr<Graph> graph_;
  Value* condition_ = nullptr;
  std::vector<at::Tensor> constants_;
};

IValue copied(const IValue& v) {
  if (v.isTensor()) return at::clone(v.toTensor());
  if (!v.isList()) return v;
  const c10::impl::GenericList list(v.type()->cast<c10::ListType>()->getElementType());
  for (const IValue& part : v.toListRef()) list.push_back(copied(part));
  return list;
}

}  // namespace

std::unique_ptr<Graph> parse(std::string_view text, std::vector<IValue> tensors) {
  TextNames names;
  names.callable = [](std::string_view name) -> std::optional<Callable> {
    const size_t overload = name.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        name.substr(0, overload), overload == std::string_view::npos ? "" : name.substr(overload + 1));
    return op.has_value() ? std::optional<Callable>(Callable(*op)) : std::nullopt;
  };
  names.tensors = std::move(tensors);
  return parse_graph(text, names);
}

RandomProgram random_program(unsigned seed, const RandomOptions& options) {
  return Generator(seed, options).run();
}

c10::Stack run(const Graph& graph, const c10::Stack& inputs) {
  c10::Stack own;
  for (const IValue& input : inputs) own.push_back(copied(input));
  c10::Stack stack = own;
  at::manual_seed(7);
  const Interpreter interpreter(graph);
  interpreter(stack);
  stack.insert(stack.end(), own.begin(), own.end());
  return stack;
}

std::string difference(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return std::string(a.tag_name()) + " and " + std::string(b.tag_name());
  if (a.isTensor()) {
    const at::Tensor x = a.toTensor(), y = b.toTensor();
    if (x.scalar_type() != y.scalar_type()) return "tensors of other dtypes";
    if (x.sizes() != y.sizes()) return c10::str("tensors of sizes ", x.sizes(), " and ", y.sizes());
    if (x.layout() != c10::kStrided || x.is_nested() || x.is_quantized()) return "";
    const at::Tensor p = at::clone(x, c10::MemoryFormat::Contiguous), q = at::clone(y, c10::MemoryFormat::Contiguous);
    if (p.nbytes() > 0 && std::memcmp(p.data_ptr(), q.data_ptr(), p.nbytes()) != 0) return "tensors of other elements";
    return "";
  }
  if (a.isList() || a.isTuple()) {
    const auto x = a.isList() ? a.toListRef() : a.toTupleRef().elementsArrayRef();
    const auto y = b.isList() ? b.toListRef() : b.toTupleRef().elementsArrayRef();
    return difference(c10::Stack(x.begin(), x.end()), c10::Stack(y.begin(), y.end()));
  }
  if (a.isInt()) return a.toInt() == b.toInt() ? "" : "other integers";
  if (a.isBool()) return a.toBool() == b.toBool() ? "" : "other truth values";
  if (a.isDouble()) {
    const double x = a.toDouble(), y = b.toDouble();
    return std::memcmp(&x, &y, sizeof(x)) == 0 ? "" : "other numbers";
  }
  return "";
}

std::string difference(const c10::Stack& a, const c10::Stack& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values";
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string found = difference(a[i], b[i]);
    if (!found.empty()) return "value " + std::to_string(i) + ": " + found;
  }
  return "";
}

std::string functional_difference(const Graph& graph, const Graph& functional,
                                  const std::vector<size_t>& written_inputs, const c10::Stack& inputs) {
  const c10::Stack want = run(graph, inputs), made = run(functional, inputs);
  // Mutations, outputs, inputs; against outputs, inputs.
  const size_t outputs = graph.block().outputs().size(), written = written_inputs.size();
  c10::Stack got(made.begin() + static_cast<std::ptrdiff_t>(written), made.end());
  for (size_t i = 0; i < written; ++i) got.at(outputs + written_inputs[i]) = made[i];
  return difference(got, want);
}

}  // namespace torch::graph::testing
