#include "graph/passes/shape_propagation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/ir/text.h"
#include "graph/passes/fit.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
using Kind = Node::Kind;
using Symbols = std::map<std::string, int64_t>;

constexpr c10::Device kMeta(c10::DeviceType::Meta);
// Views that are one a slice are made of tensors with at most so many.
constexpr int64_t kMostSlices = int64_t{1} << 16;
// Of nodes in one run: bodies of loops are gone through again where carried values change.
constexpr int64_t kMostVisits = int64_t{1} << 22;

bool is_plain(const at::Tensor& t) {
  return t.defined() && t.layout() == c10::kStrided && !t.is_quantized() && !t.is_nested();
}

// The value with its tensors on meta; nothing where one has no strides.
std::optional<IValue> on_meta(const IValue& v) {
  if (v.isTensor()) {
    const at::Tensor t = v.toTensor();
    if (!is_plain(t)) return std::nullopt;
    if (t.device().type() == c10::DeviceType::Meta) return v;
    const at::Tensor moved = at::empty_with_strides(t.sizes(), t.strides(), t.scalar_type(), kMeta);
    // The dtype of a number gives way to those of tensors here too.
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) moved.unsafeGetTensorImpl()->set_wrapped_number(true);
    return IValue(moved);
  }
  if (v.isList()) {
    const auto type = v.type()->cast<c10::ListType>();
    const c10::impl::GenericList list(type->getElementType());
    for (const IValue& part : v.toListRef()) {
      const std::optional<IValue> moved = on_meta(part);
      if (!moved.has_value()) return std::nullopt;
      list.push_back(*moved);
    }
    return IValue(list);
  }
  if (v.isTuple()) {
    std::vector<IValue> parts;
    for (const IValue& part : v.toTupleRef().elements()) {
      const std::optional<IValue> moved = on_meta(part);
      if (!moved.has_value()) return std::nullopt;
      parts.push_back(*moved);
    }
    return IValue(c10::ivalue::Tuple::create(std::move(parts)));
  }
  if (v.isObject() || v.isGenericDict()) return std::nullopt;
  return v;
}

bool has_many_slices(const IValue& v) {
  if (!v.isTensor()) return false;
  const c10::IntArrayRef sizes = v.toTensor().sizes();
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > kMostSlices; });
}

// One run of a graph on meta: values that are not known are missing.
class MetaRun {
 public:
  explicit MetaRun(Symbols symbols) : symbols_(std::move(symbols)) {}

  void input(const Value* value, std::optional<IValue> v) { set(value, std::move(v)); }
  void block(const Block& b) {
    for (const Node* one : b) {
      TORCH_CHECK_VALUE(++visits_ <= kMostVisits, "loops in loops that are gone through more than ", kMostVisits,
                        " times");
      try {
        node(*one);
      } catch (const c10::Error& error) {
        stopped(*one, error.msg());
      } catch (const std::exception& error) {
        stopped(*one, error.what());
      }
    }
  }
  const std::map<const Value*, TensorInfo>& seen() const { return seen_; }
  const std::vector<std::pair<const Node*, std::string>>& stops() const { return stops_; }

 private:
  void stopped(const Node& node, const std::string& why) {
    stops_.emplace_back(&node, why);
    for (size_t i = 0; i < node.result_count(); ++i) set(node.result(i), std::nullopt);
  }
  void set(const Value* value, std::optional<IValue> v) {
    seen_.erase(value);
    values_.erase(value);
    if (!v.has_value()) return;
    if (v->isTensor()) seen_.insert_or_assign(value, info_of(v->toTensor()));
    values_.insert_or_assign(value, std::move(*v));
  }
  std::optional<IValue> get(const Operand& operand, const c10::TypePtr& wanted = nullptr) const {
    if (operand.is_value()) {
      const auto found = values_.find(operand.value());
      return found == values_.end() ? std::nullopt : std::optional<IValue>(found->second);
    }
    if (operand.is_expr()) return IValue(operand.expr().evaluate(symbols_));
    if (operand.is_constant()) return on_meta(operand.constant());
    c10::TypePtr element = c10::AnyType::get();
    if (wanted != nullptr) {
      const auto optional = wanted->cast<c10::OptionalType>();
      const auto list = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
      if (list != nullptr) element = list->getElementType();
    }
    const c10::impl::GenericList list(element);
    for (const Operand& part : operand.list()) {
      const std::optional<IValue> v = get(part, element);
      if (!v.has_value()) return std::nullopt;
      list.push_back(*v);
    }
    return IValue(list);
  }
  std::optional<std::vector<IValue>> get_all(c10::ArrayRef<Operand> operands) const {
    std::vector<IValue> all;
    for (const Operand& operand : operands) {
      std::optional<IValue> v = get(operand);
      if (!v.has_value()) return std::nullopt;
      all.push_back(std::move(*v));
    }
    return all;
  }

  void call(const Node& node) {
    const std::vector<c10::Argument>& arguments = node.callable().schema().arguments();
    Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      std::optional<IValue> v = get(node.operand(i), i < arguments.size() ? arguments[i].type() : nullptr);
      if (!v.has_value()) return;
      stack.push_back(std::move(*v));
    }
    std::optional<Stack> results = call_on_meta(node.callable(), std::move(stack));
    if (!results.has_value() || results->size() != node.result_count())
      return stopped(node, "it refuses tensors on meta");
    for (size_t i = 0; i < node.result_count(); ++i) set(node.result(i), on_meta((*results)[i]));
  }

  // Both give the same kind of value: tensors of equal sizes, equal numbers.
  static bool same(const IValue& a, const IValue& b) {
    if (a.tag() != b.tag()) return false;
    if (a.isTensor()) return info_of(a.toTensor()) == info_of(b.toTensor());
    if (a.isInt()) return a.toInt() == b.toInt();
    if (a.isBool()) return a.toBool() == b.toBool();
    if (a.isDouble()) return a.toDouble() == b.toDouble();
    return a.isNone();
  }

  // Runs the body with the carried values; those that come out as others are not known in it, nor after it.
  void carried(const Node& node, const Block& body, size_t first, c10::ArrayRef<Operand> start, size_t first_out) {
    std::vector<std::optional<IValue>> values;
    for (const Operand& operand : start) values.push_back(get(operand));
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < values.size(); ++i) set(body.input(first + i), values[i]);
      block(body);
      for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i].has_value()) continue;
        const std::optional<IValue> after = get(body.outputs()[first_out + i]);
        if (after.has_value() && same(*values[i], *after)) continue;
        values[i].reset();
        changed = true;
      }
    }
    for (size_t i = 0; i < values.size(); ++i) set(node.result(i), values[i]);
  }
  void slices(const Block& body, size_t first, c10::ArrayRef<Operand> tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::optional<IValue> v = get(tensors[i]);
      const bool sliced = v.has_value() && v->isTensor() && v->toTensor().dim() > 0 && v->toTensor().size(0) > 0;
      set(body.input(first + i),
          sliced ? std::optional<IValue>(at::select(v->toTensor(), 0, 0)) : std::optional<IValue>());
    }
  }
  void others(const Block& body, size_t first, c10::ArrayRef<Operand> operands) {
    for (size_t i = 0; i < operands.size(); ++i) set(body.input(first + i), get(operands[i]));
  }
  // The results of slices as many as `along` has.
  void stacked(const Node& node, size_t first, const Block& body, size_t first_out, const Operand& along) {
    const std::optional<IValue> whole = get(along);
    for (size_t i = first; i < node.result_count(); ++i) {
      const std::optional<IValue> part = get(body.outputs()[first_out + i - first]);
      if (!whole.has_value() || !part.has_value() || !part->isTensor()) {
        set(node.result(i), std::nullopt);
        continue;
      }
      std::vector<int64_t> sizes = part->toTensor().sizes().vec();
      sizes.insert(sizes.begin(), whole->toTensor().size(0));
      set(node.result(i), IValue(at::empty_contiguous(sizes, part->toTensor().scalar_type(), kMeta)));
    }
  }

  void node(const Node& node) {
    // What it gave in another turn.
    for (size_t i = 0; i < node.result_count(); ++i) set(node.result(i), std::nullopt);
    switch (node.kind()) {
      case Kind::kCall:
        return call(node);
      case Kind::kTuple: {
        auto parts = get_all(node.operands());
        if (parts.has_value()) set(node.result(), IValue(c10::ivalue::Tuple::create(std::move(*parts))));
        return;
      }
      case Kind::kList: {
        const auto type = node.result()->type()->cast<c10::ListType>();
        const auto parts = get_all(node.operands());
        if (!parts.has_value() || type == nullptr) return;
        const c10::impl::GenericList list(type->getElementType());
        for (const IValue& part : *parts) list.push_back(part);
        return set(node.result(), IValue(list));
      }
      case Kind::kUnpack: {
        const std::optional<IValue> whole = get(node.operand(0));
        if (!whole.has_value() || !(whole->isTuple() || whole->isList())) return;
        const c10::ArrayRef<IValue> parts =
            whole->isTuple() ? whole->toTupleRef().elementsArrayRef() : whole->toListRef();
        if (parts.size() != node.result_count()) return;
        for (size_t i = 0; i < parts.size(); ++i) set(node.result(i), parts[i]);
        return;
      }
      case Kind::kCast:
        return set(node.result(), get(node.operand(0)));
      case Kind::kIf: {
        block(node.block(0));
        block(node.block(1));
        for (size_t i = 0; i < node.result_count(); ++i) {
          const std::optional<IValue> a = get(node.block(0).outputs()[i]), b = get(node.block(1).outputs()[i]);
          set(node.result(i), a.has_value() && b.has_value() && same(*a, *b) ? a : std::nullopt);
        }
        return;
      }
      case Kind::kScope: {
        // Autocast acts by the device, which is meta here.
        if (node.name() == "autocast") return;
        block(node.block(0));
        for (size_t i = 0; i < node.result_count(); ++i) set(node.result(i), get(node.block(0).outputs()[i]));
        return;
      }
      case Kind::kLoop:
        return carried(node, node.block(0), 1, node.operand(2).list(), 1);
      case Kind::kWhile: {
        const auto &start = node.operand(0).list(), &rest = node.operand(1).list();
        others(node.block(1), start.size(), rest);
        carried(node, node.block(1), 0, start, 0);
        for (size_t i = 0; i < start.size(); ++i) set(node.block(0).input(i), get(Operand(node.result(i))));
        others(node.block(0), start.size(), rest);
        return block(node.block(0));
      }
      case Kind::kMap: {
        const auto& mapped = node.operand(0).list();
        slices(node.block(0), 0, mapped);
        others(node.block(0), mapped.size(), node.operand(1).list());
        block(node.block(0));
        if (!mapped.empty()) stacked(node, 0, node.block(0), 0, mapped[0]);
        return;
      }
      case Kind::kScan: {
        const auto &start = node.operand(0).list(), &scanned = node.operand(1).list();
        slices(node.block(0), start.size(), scanned);
        others(node.block(0), start.size() + scanned.size(), node.operand(2).list());
        carried(node, node.block(0), 0, start, 0);
        if (!scanned.empty()) stacked(node, start.size(), node.block(0), start.size(), scanned[0]);
        return;
      }
      default:
        return;
    }
  }

  Symbols symbols_;
  int64_t visits_ = 0;
  std::map<const Value*, IValue> values_;
  std::map<const Value*, TensorInfo> seen_;
  std::vector<std::pair<const Node*, std::string>> stops_;
};

// Where a value will be: where its call is told to put it, else where the tensors are that it comes from.
class Devices {
 public:
  explicit Devices(const Graph& graph) {
    for (size_t i = 0; i < graph.block().input_count(); ++i) {
      const Value* input = graph.block().input(i);
      if (input->info() != nullptr) devices_.emplace(input, input->info()->device);
    }
    graph.for_nodes([&](const Node* node) { place(*node); });
  }
  c10::Device of(const Value* value) const {
    const auto found = devices_.find(value);
    return found == devices_.end() ? c10::Device(c10::DeviceType::CPU) : found->second;
  }

 private:
  void place(const Node& node) {
    std::optional<c10::Device> device;
    if (node.kind() == Kind::kCall) {
      const std::optional<int> i = node.callable().schema().argument_index("device");
      if (i.has_value()) {
        const Operand& operand = node.operand(static_cast<size_t>(*i));
        if (operand.is_constant() && operand.constant().isDevice()) device = operand.constant().toDevice();
      }
    }
    for (const Operand& operand : node.operands()) {
      if (!device.has_value()) device = of_operand(operand);
    }
    for (size_t b = 0; b < node.block_count() && !device.has_value(); ++b) {
      for (const Operand& operand : node.block(b).outputs()) {
        if (!device.has_value()) device = of_operand(operand);
      }
    }
    if (!device.has_value()) return;
    for (size_t i = 0; i < node.result_count(); ++i) devices_.emplace(node.result(i), *device);
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (size_t i = 0; i < node.block(b).input_count(); ++i) devices_.emplace(node.block(b).input(i), *device);
    }
  }
  std::optional<c10::Device> of_operand(const Operand& operand) const {
    std::optional<c10::Device> device;
    operand.for_values([&](const Value* v) {
      const auto found = devices_.find(v);
      if (!device.has_value() && found != devices_.end()) device = found->second;
    });
    return device;
  }
  std::map<const Value*, c10::Device> devices_;
};

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> names;
  for (size_t i = 0; i < graph.block().input_count(); ++i) {
    const TensorInfo* info = graph.block().input(i)->info();
    if (info == nullptr) continue;
    for (const auto* list : {&info->sizes, &info->strides}) {
      for (const IntExpr& e : *list) e.collect_symbols(names);
    }
  }
  return names;
}

}  // namespace

std::optional<Stack> call_on_meta(const Callable& callable, Stack arguments) {
  const std::vector<c10::Argument>& declared = callable.schema().arguments();
  const bool lists = std::any_of(callable.schema().returns().begin(), callable.schema().returns().end(),
                                 [](const c10::Argument& r) { return r.type()->kind() == c10::TypeKind::ListType; });
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::optional<IValue> moved = on_meta(arguments[i]);
    if (!moved.has_value() || (lists && has_many_slices(*moved))) return std::nullopt;
    arguments[i] = std::move(*moved);
    if (i >= declared.size() || callable.handle() == nullptr) continue;
    if (declared[i].name() == "device") arguments[i] = IValue(kMeta);
    if (declared[i].name() == "pin_memory") arguments[i] = IValue();
  }
  const c10::NoGradGuard no_grad;
  try {
    callable.call(arguments);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
  return arguments;
}

PassResult propagate_shapes(Graph& graph, c10::ArrayRef<IValue> examples) {
  const Block& block = graph.block();
  TORCH_CHECK_VALUE(examples.empty() || examples.size() == block.input_count(), "expected ", block.input_count(),
                    " examples, one for each input of graph ", graph.name(), ", but got ", examples.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].isTensor()) block.input(i)->set_info(info_of(examples[i].toTensor()));
  }
  const std::vector<Symbols> points = sample_points(symbols_of(graph), graph.symbols());
  std::vector<MetaRun> runs;
  for (const Symbols& symbols : points) {
    MetaRun& run = runs.emplace_back(symbols);
    for (size_t i = 0; i < block.input_count(); ++i) {
      const TensorInfo* info = block.input(i)->info();
      if (info != nullptr && info->layout == c10::kStrided) {
        run.input(block.input(i), meta_tensor(*info, symbols));
      } else if (!examples.empty() && !examples[i].isTensor()) {
        run.input(block.input(i), on_meta(examples[i]));
      }
    }
    run.block(block);
  }

  PassResult result;
  for (const auto& [node, why] : runs.front().stops()) result.notes.push_back(print_node(*node) + ": " + why);
  const Devices devices(graph);
  const auto describe = [&](Value* value) {
    std::optional<TensorInfo> info;
    std::vector<Symbols> at;
    std::vector<TensorInfo> seen;
    for (size_t p = 0; p < points.size(); ++p) {
      const auto found = runs[p].seen().find(value);
      if (found == runs[p].seen().end()) continue;
      at.push_back(points[p]);
      seen.push_back(found->second);
    }
    const bool enough = at.size() == points.size() || at.size() >= kFewestPoints;
    if (enough && !seen.empty()) info = fit_info(seen, at);
    if (info.has_value()) info->device = devices.of(value);
    value->set_info(std::move(info));
    result.changes += value->info() != nullptr;
  };
  graph.for_nodes([&](Node* node) {
    for (size_t i = 0; i < node->result_count(); ++i) describe(node->result(i));
    for (size_t b = 0; b < node->block_count(); ++b) {
      for (size_t i = 0; i < node->block(b).input_count(); ++i) describe(node->block(b).input(i));
    }
  });
  return result;
}

}  // namespace torch::graph
