#include "graph/passes/functionalize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"
#include "graph/passes/fit.h"
#include "graph/passes/generalise.h"
#include "graph/passes/operands.h"
#include "graph/passes/relayout.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/specialise.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;
using Kind = Node::Kind;

template <class... Parts>
void check(bool good, const Node& node, const Parts&... parts) {
  if (!good) TORCH_CHECK_VALUE(false, parts..., " in\n  ", print_node(node));
}

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view base_name(const Node& node) {
  std::string_view name = node.callable().schema().name();
  const size_t at = name.rfind("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}

bool is_static(const TensorInfo& info) {
  const auto all = [](const std::vector<IntExpr>& list) {
    return std::all_of(list.begin(), list.end(), [](const IntExpr& e) { return e.is_constant(); });
  };
  return all(info.sizes) && all(info.strides);
}

Callable operator_named(const char* name, const char* overload) {
  return Callable(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

// Where `schema` has argument `i` of `other`: by name, but what a call writes in place comes first whatever its name.
std::optional<size_t> same_argument(const c10::FunctionSchema& schema, const c10::FunctionSchema& other, size_t i) {
  if (const std::optional<int> found = schema.argument_index(other.arguments()[i].name()))
    return static_cast<size_t>(*found);
  if (i == 0 && !schema.arguments().empty() && !other.argument_index(schema.arguments()[0].name()).has_value())
    return 0;
  return std::nullopt;
}

// The form of a call that writes which gives new tensors. Its arguments are those of the call but out= ones.
std::optional<Callable> functional_form(const Callable& writing) {
  const c10::FunctionSchema& schema = writing.schema();
  std::string name = schema.name();
  const bool out = std::any_of(schema.arguments().begin(), schema.arguments().end(),
                               [](const c10::Argument& a) { return a.is_out(); });
  if (!out) {
    if (name.back() != '_') return std::nullopt;
    name.pop_back();
  }
  const auto matches = [&](const c10::FunctionSchema& other) {
    if (other.is_mutable() || other.returns().size() != schema.returns().size()) return false;
    size_t expected = 0;
    for (size_t k = 0; k < schema.arguments().size(); ++k) {
      const c10::Argument& argument = schema.arguments()[k];
      if (argument.is_out()) continue;
      ++expected;
      const std::optional<size_t> i = same_argument(other, schema, k);
      if (!i.has_value() || !other.arguments()[*i].type()->equals(*argument.type())) return false;
    }
    // What else there is has defaults (dtype, layout ...).
    for (size_t i = 0; i < other.arguments().size(); ++i) {
      if (!same_argument(schema, other, i).has_value() && !other.arguments()[i].default_value().has_value())
        return false;
    }
    return other.arguments().size() >= expected;
  };
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (!out) {
    const auto op = dispatcher.findSchema(name, schema.overload_name());
    if (op.has_value() && matches(op->schema())) return Callable(*op);
  }
  for (const char* overload : {"", "Tensor", "Scalar", "dim", "Tensor_Scalar", "Tensor_Tensor", "default", "self",
                               "dim_IntList", "correction", "int"}) {
    const auto op = dispatcher.findSchema(name, overload);
    if (op.has_value() && matches(op->schema())) return Callable(*op);
  }
  return std::nullopt;
}

// What a call that writes becomes: which of the form's results each written argument then holds, and each result of the
// call that is not one of those.
struct Form {
  Callable callable;
  std::vector<size_t> written;
  std::vector<size_t> given;
};

// A batch norm that trains gives its new running statistics last.
std::optional<Form> functional_batch_norm(const Node& node) {
  const std::string_view name = node.callable().schema().name();
  if (!contains({"aten::batch_norm", "aten::native_batch_norm", "aten::_native_batch_norm_legit"}, name)) return {};
  std::vector<size_t> given{0};
  if (name != "aten::batch_norm") given = {0, 1, 2};
  return Form{operator_named("aten::_native_batch_norm_legit_functional", ""), {3, 4}, std::move(given)};
}

// A tensor's place: a tensor with memory of its own, and the views from there.
struct Step {
  const Node* node;  // the view
  size_t part = 0;   // of a list that it gives
  bool list = false;
};
struct Place {
  const Value* root = nullptr;
  std::vector<Step> views;
};

// How the tensors that a call gives lie: for each result, and each tensor of a list, the operand that it shows.
struct Shown {
  const Value* value = nullptr;  // null: memory of its own
  bool whole = false;            // with the same sizes, strides and offset
};

class Functionalizing {
 public:
  explicit Functionalizing(const Graph& graph)
      : from_(graph), aliases_(graph), to_(std::make_unique<Graph>(graph.name())) {
    to_->symbols() = graph.symbols();
  }

  Functionalized run() {
    const Block& block = from_.block();
    for (size_t i = 0; i < block.input_count(); ++i) {
      const Value* input = block.input(i);
      Value* twin = to_->block().add_input(input->type(), input->name());
      if (input->info() != nullptr) twin->set_info(*input->info());
      now_.insert_or_assign(input, Operand(twin));
      places_[input] = {Place{input, {}}};
    }
    for (const Node* one : block) node(*one);
    std::vector<Operand> outputs;
    for (size_t i = 0; i < block.input_count(); ++i) {
      if (versions_.count(block.input(i)) == 0) continue;
      result_.written_inputs.push_back(i);
      outputs.push_back(now_.at(block.input(i)));
    }
    for (const Operand& output : block.outputs()) outputs.push_back(current(output));
    to_->block().set_outputs(std::move(outputs));
    result_.graph = std::move(to_);
    return std::move(result_);
  }

 private:
  // --- values as they are now ---

  bool is_written(const Value* value) const {
    const int set = aliases_.of(value);
    return set != AliasSets::kNone && aliases_.is_written(set);
  }
  int version(const Value* root) const {
    const auto found = versions_.find(root);
    return found == versions_.end() ? 0 : found->second;
  }

  Operand current(const Operand& operand) {
    if (operand.is_value()) return current(operand.value());
    if (!operand.is_list()) return operand;
    std::vector<Operand> parts;
    for (const Operand& part : operand.list()) parts.push_back(current(part));
    return parts;
  }
  Operand current(const Value* value) {
    const auto place = places_.find(value);
    if (place == places_.end() || !is_written(value)) return now_.at(value);
    if (place->second.size() != 1 || is_list(value)) return current_list(value, place->second);
    const Place& at = place->second[0];
    if (at.views.empty()) return now_.at(at.root);
    const auto seen = seen_.find(value);
    if (seen != seen_.end() && seen->second == version(at.root)) return now_.at(value);
    Operand made = now_.at(at.root);
    for (const Step& step : at.views) made = again(step, made);
    remember(value, made, at);
    return made;
  }
  static bool is_list(const Value* value) {
    return value->type()->kind() == c10::TypeKind::ListType || value->type()->kind() == c10::TypeKind::TupleType;
  }
  Operand current_list(const Value* value, const std::vector<Place>& places) {
    const bool changed = std::any_of(places.begin(), places.end(),
                                     [&](const Place& p) { return p.root != nullptr && version(p.root) > 0; });
    if (!changed) return now_.at(value);
    TORCH_CHECK_VALUE(value->type()->kind() == c10::TypeKind::ListType,
                      "a tuple that is read after a tensor in it was written");
    std::vector<Operand> parts;
    for (const Place& place : places) {
      Operand made = now_.at(place.root);
      for (const Step& step : place.views) made = again(step, made);
      parts.push_back(std::move(made));
    }
    Node* const list = to_->block().append(to_->make(Kind::kList, std::move(parts)));
    return list->add_result(value->type());
  }
  void remember(const Value* value, const Operand& operand, const Place& at) {
    now_.insert_or_assign(value, operand);
    seen_[value] = version(at.root);
  }

  // A view of another base.
  Operand again(const Step& step, const Operand& base) {
    std::vector<Operand> operands;
    bool first = true;
    for (const Operand& operand : step.node->operands()) {
      operands.push_back(first && operand.is_value() ? base : current(operand));
      if (operand.is_value()) first = false;
    }
    Node* const view = to_->block().append(to_->call(step.node->callable(), std::move(operands)));
    if (!step.list) {
      copy_info(step.node->result(), view->result());
      return view->result();
    }
    Node* const unpack = to_->block().append(to_->make(Kind::kUnpack, {Operand(view->result())}));
    for (const TensorInfo& info : list_infos_.at(step.node->result())) {
      unpack->add_result(c10::TensorType::get())->set_info(info);
    }
    return unpack->result(step.part);
  }
  static void copy_info(const Value* from, Value* to) {
    if (from->info() != nullptr) to->set_info(*from->info());
  }

  // --- nodes ---

  void node(const Node& node) {
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (const Node* inner : node.block(b)) refuse_writes(*inner);
    }
    if (node.kind() == Kind::kCall && !written_operands(node).empty()) return write(node);
    std::vector<Operand> operands;
    for (const Operand& operand : node.operands()) operands.push_back(current(operand));
    // What inner blocks use is made before the node that has them.
    std::set<const Value*> outer;
    for (size_t b = 0; b < node.block_count(); ++b) outer_values(node.block(b), outer);
    std::map<const Value*, Operand> values;
    for (const Value* value : outer) values.emplace(value, current(value));
    std::unique_ptr<Node> made = node.kind() == Kind::kCall ? to_->call(node.callable(), std::move(operands))
                                                            : to_->make(node.kind(), std::move(operands));
    made->set_name(node.name());
    made->set_source(node.source());
    Node* const copy = to_->block().append(std::move(made));
    for (size_t i = 0; i < node.result_count(); ++i) {
      const Value* result = node.result(i);
      Value* const twin = i < copy->result_count() ? copy->result(i) : copy->add_result(result->type());
      twin->set_type(result->type());
      twin->set_name(result->name());
      copy_info(result, twin);
      now_.insert_or_assign(result, Operand(twin));
    }
    for (size_t b = 0; b < node.block_count(); ++b) copy_block(node.block(b), *copy, values);
    find_places(node);
  }
  static void refuse_writes(const Node& node) {
    check(written_operands(node).empty() && node.kind() != Kind::kSetAttr && node.kind() != Kind::kInvoke, node,
          "a call that writes, in an inner block,");
    for (size_t b = 0; b < node.block_count(); ++b) {
      for (const Node* inner : node.block(b)) refuse_writes(*inner);
    }
  }
  void outer_values(const Block& block, std::set<const Value*>& values) const {
    for (const Node* node = block.first();; node = node->next()) {
      for (const Operand& operand : node->operands()) {
        operand.for_values([&](const Value* v) {
          if (now_.count(v) > 0) values.insert(v);
        });
      }
      for (size_t b = 0; b < node->block_count(); ++b) outer_values(node->block(b), values);
      if (node == block.return_node()) return;
    }
  }
  static void copy_block(const Block& block, Node& owner, std::map<const Value*, Operand> values) {
    Block& copy = owner.add_block();
    for (size_t i = 0; i < block.input_count(); ++i) {
      Value* const input = copy.add_input(block.input(i)->type(), block.input(i)->name());
      copy_info(block.input(i), input);
      values.insert_or_assign(block.input(i), Operand(input));
    }
    copy.set_outputs(copy_nodes(block, copy, std::move(values)));
  }

  // Where the results of a node that writes nothing lie.
  void find_places(const Node& node) {
    bool matters = false;
    for (size_t i = 0; i < node.result_count(); ++i) matters = matters || is_written(node.result(i));
    if (!matters) return;
    switch (node.kind()) {
      case Kind::kCall:
        return find_places_of_call(node);
      case Kind::kTuple:
      case Kind::kList: {
        std::vector<Place>& all = places_[node.result()];
        for (const Operand& operand : node.operands()) {
          check(operand.is_value() && places_.count(operand.value()) > 0 && places_[operand.value()].size() == 1, node,
                "something other than a tensor, beside tensors that are written,");
          all.push_back(places_[operand.value()][0]);
        }
        return;
      }
      case Kind::kUnpack: {
        const auto whole = node.operand(0).is_value() ? places_.find(node.operand(0).value()) : places_.end();
        check(whole != places_.end() && whole->second.size() == node.result_count(), node,
              "nothing is known of the memory of what is taken apart");
        for (size_t i = 0; i < node.result_count(); ++i) {
          places_[node.result(i)] = {whole->second[i]};
          seen_[node.result(i)] = version(whole->second[i].root);
        }
        return;
      }
      case Kind::kCast:
        check(node.operand(0).is_value() && places_.count(node.operand(0).value()) > 0, node,
              "nothing is known of the memory");
        places_[node.result()] = places_[node.operand(0).value()];
        seen_[node.result()] = version(places_[node.result()][0].root);
        return;
      default:
        check(false, node, "memory that is written passes through a node of control flow");
    }
  }

  IValue stand_in(const Operand& operand, const c10::TypePtr& wanted, const Node& node,
                  std::vector<std::pair<at::Tensor, const Value*>>& tensors) {
    if (operand.is_value()) {
      const Value* value = operand.value();
      for (const auto& [t, known] : tensors) {
        if (known == value) return t;
      }
      check(value->info() != nullptr && is_static(*value->info()), node,
            "the sizes of a tensor that shares memory with one that is written are not known");
      tensors.emplace_back(meta_tensor(*value->info(), {}), value);
      return tensors.back().first;
    }
    if (operand.is_constant()) return operand.constant();
    if (operand.is_expr()) return operand.expr().value();
    c10::TypePtr element = c10::AnyType::get();
    const auto optional = wanted->cast<c10::OptionalType>();
    const auto type = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
    if (type != nullptr) element = type->getElementType();
    const c10::impl::GenericList list(element);
    for (const Operand& part : operand.list()) list.push_back(stand_in(part, element, node, tensors));
    return list;
  }

  void find_places_of_call(const Node& node) {
    std::vector<std::pair<at::Tensor, const Value*>> tensors;
    c10::Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      stack.push_back(stand_in(node.operand(i), node.callable().schema().arguments().at(i).type(), node, tensors));
    }
    const std::optional<c10::Stack> results = call_on_meta(node.callable(), stack);
    check(results.has_value(), node, "an operator that refuses tensors on meta, near memory that is written,");
    const auto place_of = [&](const at::Tensor& t, const Value* own, Step step) -> Place {
      for (const auto& [base, value] : tensors) {
        if (!base.storage().is_alias_of(t.storage())) continue;
        const auto known = places_.find(value);
        check(known != places_.end() && known->second.size() == 1, node, "nothing is known of the memory of its base");
        Place place = known->second[0];
        const bool whole = base.sizes() == t.sizes() && base.strides() == t.strides() &&
                           base.storage_offset() == t.storage_offset() && base.scalar_type() == t.scalar_type();
        if (!whole) {
          check(step.node->operand(0).is_value() && step.node->operand(0).value() == value, node,
                "a view of another argument than the first");
          place.views.push_back(step);
        }
        return place;
      }
      return {own, {}};
    };
    for (size_t i = 0; i < node.result_count(); ++i) {
      const Value* result = node.result(i);
      const IValue& v = results->at(i);
      if (v.isTensor()) {
        places_[result] = {place_of(v.toTensor(), result, {&node, 0, false})};
        seen_[result] = version(places_[result][0].root);
      } else if (v.isTensorList()) {
        const auto parts = v.toListRef();
        std::vector<Place> all;
        for (size_t k = 0; k < parts.size(); ++k) {
          TensorInfo info = info_of(parts[k].toTensor());
          info.device = node.operand(0).value()->info()->device;
          list_infos_[result].push_back(std::move(info));
          all.push_back(place_of(parts[k].toTensor(), nullptr, {&node, k, true}));
          check(all.back().root != nullptr, node, "a list of tensors that are no views, and are written,");
        }
        places_[result] = std::move(all);
      }
    }
  }

  // --- writes ---

  void write(const Node& node) {
    check(!contains({"t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "as_strided_", "resize_",
                     "resize_as_", "set_", "rename_", "requires_grad_", "resize_as_sparse_"},
                    base_name(node)),
          node, "a call that changes what its tensor is");
    std::optional<Form> form = functional_batch_norm(node);
    const std::vector<size_t> targets = written_operands(node);
    if (!form.has_value()) {
      const std::optional<Callable> callable = functional_form(node.callable());
      check(callable.has_value(), node, "a call that writes and has no functional form");
      form = Form{*callable, {}, {}};
      for (size_t k = 0; k < callable->schema().returns().size(); ++k) form->written.push_back(k);
    }
    const c10::FunctionSchema& schema = node.callable().schema();
    std::vector<Operand> operands;
    const c10::FunctionSchema& pure = form->callable.schema();
    for (size_t k = 0; k < pure.arguments().size(); ++k) {
      const std::optional<size_t> i = same_argument(schema, pure, k);
      operands.push_back(i.has_value() ? current(node.operand(*i)) : Operand(*pure.arguments()[k].default_value()));
    }
    check(targets.size() == form->written.size(), node, "a call that writes more or less than it gives");
    Node* const made = to_->block().append(to_->call(form->callable, std::move(operands)));
    for (size_t k = 0; k < form->given.size(); ++k) {
      const Value* result = node.result(k);
      Value* const twin = made->result(form->given[k]);
      twin->set_name(result->name());
      copy_info(result, twin);
      now_.insert_or_assign(result, Operand(twin));
      places_[result] = {Place{result, {}}};
    }
    describe(*made);
    ++result_.changes;
    for (size_t k = 0; k < targets.size(); ++k) {
      const Operand& target = node.operand(targets[k]);
      check(target.is_value(), node, "a call that writes to a constant");
      const Value* value = target.value();
      check(places_.count(value) > 0 && places_[value].size() == 1, node,
            "nothing is known of the memory of what is written");
      check(value->info() != nullptr && is_static(*value->info()), node, "the sizes of what is written are not known");
      const Place place = places_[value][0];
      check(aliases_.of(value) != aliases_.of_constants(), node, "a call that writes to a constant");
      store(node, place, fitted(made->result(form->written[k]), *value->info()));
      if (form->given.empty() && k < node.result_count()) {
        places_[node.result(k)] = {place};
        remember(node.result(k), current(value), place);
      }
    }
  }

  // Says of its results what is known.
  void describe(Node& node) const {
    c10::Stack stack;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      if (!known_stand_in(node.operand(i), node.callable().schema().arguments().at(i).type(), stack)) return;
    }
    std::optional<c10::Stack> results;
    try {
      results = call_on_meta(node.callable(), std::move(stack));
    } catch (const c10::Error&) {
    }
    c10::Device device(c10::DeviceType::CPU);
    for (const Operand& operand : node.operands()) {
      if (operand.is_value() && operand.value()->info() != nullptr) device = operand.value()->info()->device;
    }
    for (size_t i = 0; results.has_value() && i < node.result_count(); ++i) {
      if (node.result(i)->info() != nullptr || !(*results)[i].isTensor()) continue;
      TensorInfo info = info_of((*results)[i].toTensor());
      info.device = device;
      node.result(i)->set_info(std::move(info));
    }
  }

  // With the target's dtype and sizes, as a call in place leaves them.
  Operand fitted(Value* made, const TensorInfo& wanted) {
    check(made->info() != nullptr, *made->node(), "nothing is known of the sizes");
    std::optional<TensorInfo> info = *made->info();
    if (info->dtype != wanted.dtype) {
      static const Callable to_dtype = operator_named("aten::to", "dtype");
      made = append(to_dtype, {Operand(made), IValue(wanted.dtype), IValue(false), IValue(false), IValue()}, *info);
      info->dtype = wanted.dtype;
      made->set_info(info);
    }
    if (info->sizes != wanted.sizes) {
      static const Callable expand = operator_named("aten::expand", "");
      std::vector<int64_t> sizes;
      for (const IntExpr& e : wanted.sizes) sizes.push_back(e.value());
      made = append(expand, {Operand(made), IValue(sizes), IValue(false)}, wanted);
      info->strides.clear();
    }
    // Views of it are made again by the same calls, so that it lies as it lay.
    made->set_info(info);
    made = with_strides(made, wanted, to_->block().return_node());
    made->set_info(wanted);
    return made;
  }
  Value* append(const Callable& callable, std::vector<Operand> operands, const TensorInfo& info) {
    Value* const result = to_->block().append(to_->call(callable, std::move(operands)))->result();
    result->set_info(info);
    return result;
  }
  static bool known_stand_in(const Operand& operand, const c10::TypePtr& wanted, c10::Stack& stack) {
    if (operand.is_value()) {
      if (operand.value()->info() == nullptr) return false;
      stack.emplace_back(meta_tensor(*operand.value()->info(), {}));
    } else if (operand.is_constant()) {
      stack.push_back(operand.constant());
    } else if (operand.is_expr()) {
      if (!operand.expr().is_constant()) return false;
      stack.emplace_back(operand.expr().value());
    } else {
      c10::TypePtr element = c10::AnyType::get();
      const auto optional = wanted->cast<c10::OptionalType>();
      const auto type = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
      if (type != nullptr) element = type->getElementType();
      const c10::impl::GenericList list(element);
      c10::Stack parts;
      for (const Operand& part : operand.list()) {
        if (!known_stand_in(part, element, parts)) return false;
      }
      for (IValue& part : parts) list.push_back(std::move(part));
      stack.emplace_back(list);
    }
    return true;
  }

  // The tensor at `place` is `made` from now on.
  void store(const Node& node, const Place& place, Operand made) {
    for (size_t s = place.views.size(); s-- > 0;) {
      Operand parent = now_.at(place.root);
      for (size_t i = 0; i < s; ++i) parent = again(place.views[i], parent);
      made = scattered(node, place.views[s], parent, made);
    }
    now_.insert_or_assign(place.root, made);
    ++versions_[place.root];
  }

  // The view's base with `part` where the view shows it.
  Operand scattered(const Node& writer, const Step& step, const Operand& base, const Operand& part) {
    const Node& view = *step.node;
    const std::string_view name = base_name(view);
    const TensorInfo* info = view.operand(0).value()->info();
    check(info != nullptr, view, "nothing is known of the sizes of a base");
    const auto inverse = [&](const char* op, const char* overload, std::vector<Operand> operands) {
      return Operand(append(operator_named(op, overload), std::move(operands), *info));
    };
    if (contains({"alias", "detach", "view_as"}, name)) return part;
    if (name == "t" || contains({"transpose", "swapaxes", "swapdims"}, name)) {
      std::vector<Operand> operands{part};
      for (size_t i = 1; i < view.operands().size(); ++i) operands.push_back(current(view.operand(i)));
      return append(view.callable(), std::move(operands), *info);
    }
    if (name == "permute" && constant_ints(view.operand(1)).has_value()) {
      const std::vector<int64_t> dims = *constant_ints(view.operand(1));
      std::vector<int64_t> back(dims.size());
      for (size_t i = 0; i < dims.size(); ++i) {
        const int64_t d = dims[i] < 0 ? dims[i] + static_cast<int64_t>(dims.size()) : dims[i];
        back[static_cast<size_t>(d)] = static_cast<int64_t>(i);
      }
      return inverse("aten::permute", "", {part, IValue(back)});
    }
    if (name == "slice") {
      return inverse("aten::slice_scatter", "",
                     {base, part, current(view.operand(1)), current(view.operand(2)), current(view.operand(3)),
                      current(view.operand(4))});
    }
    if (name == "narrow" && view.operand(2).is_constant() && view.operand(2).constant().isInt() &&
        view.operand(3).is_constant()) {
      int64_t start = view.operand(2).constant().toInt();
      const int64_t length = view.operand(3).constant().toInt();
      if (start < 0) start += dim_size(*info, view.operand(1));
      return inverse("aten::slice_scatter", "",
                     {base, part, current(view.operand(1)), IValue(start), IValue(start + length), IValue(1)});
    }
    if (name == "select" && view.callable().schema().overload_name() == "int") {
      return inverse("aten::select_scatter", "", {base, part, current(view.operand(1)), current(view.operand(2))});
    }
    if (name == "diagonal" && view.callable().schema().overload_name().empty()) {
      return inverse("aten::diagonal_scatter", "",
                     {base, part, current(view.operand(1)), current(view.operand(2)), current(view.operand(3))});
    }
    if (name == "unbind") {
      return inverse("aten::select_scatter", "",
                     {base, part, current(view.operand(1)), IValue(static_cast<int64_t>(step.part))});
    }
    if (step.list && contains({"split", "chunk", "split_with_sizes"}, name)) {
      const Operand& dim = view.operand(2);
      const std::vector<TensorInfo>& parts = list_infos_.at(view.result());
      const int64_t length = dim_size(parts.at(step.part), dim);
      int64_t start = 0;
      for (size_t i = 0; i < step.part; ++i) start += dim_size(parts.at(i), dim);
      return inverse("aten::slice_scatter", "",
                     {base, part, current(dim), IValue(start), IValue(start + length), IValue(1)});
    }
    // The same elements in the same order.
    if (contains({"view", "reshape", "_unsafe_view", "_reshape_alias", "unsqueeze", "squeeze", "flatten", "unflatten",
                  "reshape_as"},
                 name)) {
      std::vector<int64_t> sizes;
      for (const IntExpr& e : info->sizes) sizes.push_back(e.value());
      return inverse("aten::reshape", "", {part, IValue(sizes)});
    }
    check(false, writer, "a write through '", name, "', which has no inverse,");
    return part;
  }
  static int64_t dim_size(const TensorInfo& info, const Operand& dim) {
    int64_t d = dim.constant().toInt();
    if (d < 0) d += static_cast<int64_t>(info.sizes.size());
    return info.sizes.at(static_cast<size_t>(d)).value();
  }

  const Graph& from_;
  const AliasSets aliases_;
  std::unique_ptr<Graph> to_;
  Functionalized result_;
  std::map<const Value*, Operand> now_;                         // of roots: what they hold now; of others: as of seen_
  std::map<const Value*, int> seen_;                            // the root's version
  std::map<const Value*, int> versions_;                        // of roots that were written
  std::map<const Value*, std::vector<Place>> places_;           // one a tensor, several a list
  std::map<const Value*, std::vector<TensorInfo>> list_infos_;  // of a list's tensors
};

// --- back ---

class Reinplacing {
 public:
  Reinplacing(Graph& graph, const std::function<bool(const Node&)>& wanted) : aliases_(graph), wanted_(wanted) {
    number(graph.block());
    for (size_t i = 0; i < graph.block().input_count(); ++i) made_in(graph.block().input(i));
    graph.for_nodes([&](const Node* node) {
      for (size_t i = 0; i < node->result_count(); ++i) made_in(node->result(i));
      for (size_t b = 0; b < node->block_count(); ++b) {
        for (size_t i = 0; i < node->block(b).input_count(); ++i) made_in(node->block(b).input(i));
      }
    });
  }

  int64_t block(const Block& block) {
    int64_t changes = 0;
    for (Node* node : block) {
      for (size_t b = 0; b < node->block_count(); ++b) changes += this->block(node->block(b));
      const std::optional<Callable> form = form_in_place(*node);
      if (!form.has_value() || (wanted_ && !wanted_(*node)) || !may_write(*node)) continue;
      std::vector<Operand> operands(node->operands().begin(), node->operands().end());
      auto made = node->graph().call(*form, std::move(operands));
      made->set_source(node->source());
      Value *const result = made->result(), *const old = node->result();
      result->set_name(old->name());
      result->set_info(*old->info());
      made.release()->move_before(node);
      const int set = set_of(node->operand(0).value()), of_result = set_of(old);
      last_.at(of_result) = std::max(last_.at(of_result), last_.at(set));
      merged_[set] = of_result;
      sets_[result] = of_result;
      old->replace_all_uses_with(result);
      node->erase();
      ++changes;
    }
    return changes;
  }

 private:
  // Nodes have numbers in order; those of an inner block come before the node that has it.
  void number(const Block& block) {
    for (const Node* node : block) {
      for (size_t b = 0; b < node->block_count(); ++b) number(node->block(b));
      numbers_[node] = ++next_;
      for (const Operand& operand : node->operands()) read(operand);
    }
    ++next_;
    for (const Operand& operand : block.outputs()) read(operand);
  }
  void read(const Operand& operand) {
    for (const int set : aliases_.of(operand)) last_[set] = next_;
  }
  void made_in(const Value* value) {
    const int set = aliases_.of(value);
    if (set == AliasSets::kNone) return;
    const auto [place, fresh] = blocks_.try_emplace(set, value->block());
    if (!fresh && place->second != value->block()) place->second = nullptr;
    last_.try_emplace(set, 0);
  }
  int find(int set) const {
    for (auto next = merged_.find(set); next != merged_.end(); next = merged_.find(set)) set = next->second;
    return set;
  }
  int set_of(const Value* value) const {
    const auto own = sets_.find(value);
    const int set = own != sets_.end() ? own->second : aliases_.of(value);
    return set == AliasSets::kNone ? set : find(set);
  }

  static std::optional<Callable> form_in_place(const Node& node) {
    if (node.kind() != Kind::kCall || node.callable().handle() == nullptr || node.result_count() != 1) return {};
    if (!written_operands(node).empty() || has_effects(node) || is_view(node)) return {};
    const c10::FunctionSchema& schema = node.callable().schema();
    const auto op = c10::Dispatcher::singleton().findSchema(schema.name() + "_", schema.overload_name());
    if (!op.has_value()) return {};
    const std::vector<c10::Argument>&own = schema.arguments(), &theirs = op->schema().arguments();
    if (own.empty() || own.size() != theirs.size() || !theirs[0].is_write()) return {};
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].name() != theirs[i].name() || !own[i].type()->equals(*theirs[i].type())) return {};
      if (i > 0 && theirs[i].is_write()) return {};
    }
    return Callable(*op);
  }

  static bool overlaps(const TensorInfo& info) {
    return info.strides.size() != info.sizes.size() ||
           std::any_of(info.strides.begin(), info.strides.end(), [](const IntExpr& e) { return e == IntExpr(0); });
  }

  bool may_write(const Node& node) const {
    if (!node.operand(0).is_value()) return false;
    const Value *self = node.operand(0).value(), *result = node.result();
    if (self->info() == nullptr || result->info() == nullptr) return false;
    const TensorInfo &from = *self->info(), &to = *result->info();
    if (from.dtype != to.dtype || from.sizes != to.sizes || from.strides != to.strides || overlaps(from)) return false;
    const int set = set_of(self);
    if (set == AliasSets::kNone || set == set_of(result)) return false;
    if (aliases_.enters(set) || aliases_.escapes(set)) return false;
    const auto block = blocks_.find(set);
    if (block == blocks_.end() || block->second != node.block()) return false;
    if (last_.at(set) > numbers_.at(&node)) return false;
    for (size_t i = 1; i < node.operands().size(); ++i) {
      bool same = false;
      node.operand(i).for_values([&](const Value* v) { same = same || set_of(v) == set; });
      if (same) return false;
    }
    return true;
  }

  AliasSets aliases_;
  const std::function<bool(const Node&)>& wanted_;
  std::map<const Node*, int64_t> numbers_;
  std::map<int, int64_t> last_;         // the number of the last node that reads memory of the set
  std::map<int, const Block*> blocks_;  // where all values of the set are made; null for several
  std::map<int, int> merged_;
  std::map<const Value*, int> sets_;  // of new values
  int64_t next_ = 0;
};

}  // namespace

PassResult reinplace(Graph& graph, const std::function<bool(const Node&)>& wanted) {
  return {Reinplacing(graph, wanted).block(graph.block()), {}};
}

namespace {

std::set<std::string> symbols_in(const Graph& graph) {
  std::set<std::string> names;
  const auto add = [&](const Value* value) {
    if (value->info() == nullptr) return;
    for (const auto* list : {&value->info()->sizes, &value->info()->strides}) {
      for (const IntExpr& e : *list) e.collect_symbols(names);
    }
  };
  for (size_t i = 0; i < graph.block().input_count(); ++i) add(graph.block().input(i));
  graph.for_nodes([&](const Node* node) {
    for (size_t i = 0; i < node->result_count(); ++i) add(node->result(i));
  });
  return names;
}
bool writes(const Graph& graph) {
  bool any = false;
  graph.for_nodes([&](const Node* node) { any = any || !written_operands(*node).empty(); });
  return any;
}

}  // namespace

Functionalized functionalize(const Graph& graph) {
  const std::set<std::string> names = symbols_in(graph);
  if (names.empty() || !writes(graph)) return Functionalizing(graph).run();
  // For several sizes, of which one graph is made again.
  const auto points = sample_points(names, graph.symbols());
  std::vector<Functionalized> all;
  std::vector<const Graph*> graphs;
  for (const auto& symbols : points) {
    const std::unique_ptr<Graph> one = specialise(graph, symbols);
    graphs.push_back(all.emplace_back(Functionalizing(*one).run()).graph.get());
    TORCH_CHECK_VALUE(all.back().written_inputs == all[0].written_inputs,
                      "the graph writes to other inputs at other sizes");
  }
  return {generalise(graphs, points, graph.symbols()), all[0].written_inputs, all[0].changes};
}

}  // namespace torch::graph
