#include "func/batching.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "aten/codegen/batching_table.h"
#include "aten/decompositions/decompose.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

bool is_defined_tensor(const IValue& value) {
  return value.isTensor() && value.unsafe_tensor_impl() != nullptr;
}

// Whether some tensor among the values, in lists too, is batched at the level.
bool is_any_batched(c10::ArrayRef<IValue> values, const VmapLevel& level) {
  return std::any_of(values.begin(), values.end(), [&](const IValue& value) {
    if (value.isTensor()) return batched_of(value.toTensor(), level) != nullptr;
    return value.isList() && is_any_batched(value.toListRef(), level);
  });
}

void check_on_stack(const OperatorHandle& op, const IValue& value, const VmapLevel* level) {
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) check_on_stack(op, element, level);
  }
  if (!value.isTensor()) return;
  const BatchedTensorImpl* batched = batched_of(value.toTensor());
  if (batched == nullptr) return;
  const VmapLevel* own = level;
  while (own != nullptr && own->id != batched->level()) own = own->outer;
  TORCH_CHECK(
      own != nullptr, toString(op.operator_name()),
      ": a tensor from inside a vmap is used after that vmap has returned, or inside of another one that it was "
      "not given to; return it from the function instead");
}

// What the tables say by the name of a form.
struct TableEntry {
  std::string_view words;
  std::string_view functional;
};
const TableEntry* table_entry(const std::string& name) {
  static const auto& entries = *[] {
    auto* made = new std::unordered_map<std::string, TableEntry>;
    for (const at::BatchingEntry& entry : at::kBatchingTable) {
      made->emplace(std::string("aten::") + entry.name, TableEntry{entry.words, entry.functional});
    }
    return made;
  }();
  const auto found = entries.find(name);
  return found != entries.end() ? &found->second : nullptr;
}

std::string full_name(const OperatorHandle& op) {
  return toString(op.operator_name());
}

OperatorHandle operator_named(std::string_view name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot),
                                                        dot == name.npos ? "" : name.substr(dot + 1));
}

bool has_out(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) { return a.is_out(); });
}

Batching make_batching(const OperatorHandle& op) {
  using Kind = Batching::Kind;
  Batching batching;
  const TableEntry* entry = table_entry(full_name(op));
  const c10::FunctionSchema& schema = op.schema();
  const bool writes = schema.is_mutable();
  if (entry != nullptr && !entry->functional.empty() && has_out(schema)) {
    batching.kind = Kind::kOut;
    batching.functional = operator_named(entry->functional);
    return batching;
  }
  if (entry != nullptr && !entry->words.empty()) {
    const auto [word, parameters] = detail::words_of(entry->words);
    const detail::NamedRule* named = detail::named_rule(word);
    TORCH_INTERNAL_ASSERT(named != nullptr, full_name(op), ": the table names the batching rule '", word,
                          "', which does not exist");
    batching.parameters = parameters;
    if (writes && !named->in_place && !entry->functional.empty()) {
      batching.kind = Kind::kInPlace;
      batching.functional = operator_named(entry->functional);
      return batching;
    }
    batching.kind = named->kind;
    batching.rule = named->rule;
    return batching;
  }
  if (op.op().kernels == c10::Kernels::kComposite) {
    batching.kind = Kind::kComposed;
  } else if (writes && entry != nullptr && !entry->functional.empty()) {
    batching.kind = Kind::kInPlace;
    batching.functional = operator_named(entry->functional);
  } else if (at::has_decomposition(op)) {
    batching.kind = Kind::kDecomposed;
  } else if (op.op().kernels == c10::Kernels::kAny) {
    batching.kind = Kind::kComposed;
  } else {
    batching.rule = &detail::loop_rule;
  }
  return batching;
}

// What is known, by the operator. Every call inside vmap asks, so that finding takes no lock: places of a table are
// filled once, and a table that gets full stays where it is, behind a larger one.
class KnownBatchings {
 public:
  const Batching& of(const OperatorHandle& op) {
    const Known* known = find(*table_.load(std::memory_order_acquire), &op.op());
    return known != nullptr ? known->batching : add(op);
  }

 private:
  struct Known {
    const c10::OperatorBase* op;
    Batching batching;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), places(size) {}
    const size_t mask;  // the size, a power of two, less one
    std::vector<std::atomic<const Known*>> places;
  };

  // The place that has the operator, or the empty one where it belongs.
  static std::atomic<const Known*>& place(Table& table, const c10::OperatorBase* op) {
    size_t i = std::hash<const c10::OperatorBase*>()(op) / alignof(c10::OperatorBase);
    for (;; ++i) {
      std::atomic<const Known*>& at = table.places[i & table.mask];
      const Known* known = at.load(std::memory_order_acquire);
      if (known == nullptr || known->op == op) return at;
    }
  }
  static const Known* find(Table& table, const c10::OperatorBase* op) {
    return place(table, op).load(std::memory_order_acquire);
  }

  const Batching& add(const OperatorHandle& op) {
    const std::lock_guard lock(mutex_);
    Table* table = table_.load(std::memory_order_relaxed);
    if (const Known* known = find(*table, &op.op())) return known->batching;
    known_.push_back(std::make_unique<const Known>(Known{&op.op(), make_batching(op)}));
    if (known_.size() * 2 > table->places.size()) {
      tables_.push_back(std::make_unique<Table>(table->places.size() * 2));
      table = tables_.back().get();
      for (const auto& known : known_) place(*table, known->op).store(known.get(), std::memory_order_relaxed);
      table_.store(table, std::memory_order_release);
    } else {
      place(*table, &op.op()).store(known_.back().get(), std::memory_order_release);
    }
    return known_.back()->batching;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Known>> known_;
  std::vector<std::unique_ptr<Table>> tables_ = [] {
    std::vector<std::unique_ptr<Table>> first;
    first.push_back(std::make_unique<Table>(256));
    return first;
  }();
  std::atomic<Table*> table_ = tables_.back().get();
};

Tensor wrapped(const Tensor& t, const VmapLevel& level) {
  if (!t.defined()) return t;
  // What was not asked for has size [0] whatever the samples are.
  const bool absent = t.dim() == 1 && t.size(0) == 0 && level.batch_size > 0;
  return make_batched(absent ? at::unsqueeze(t, 0).expand({level.batch_size, 0}) : t, 0, level);
}

IValue wrapped(const IValue& value, const VmapLevel& level) {
  if (value.isTensor()) return IValue(wrapped(value.toTensor(), level));
  if (!value.isList()) return value;
  const auto elements = value.toListRef();
  if (std::none_of(elements.begin(), elements.end(), [](const IValue& e) { return e.isTensor(); })) return value;
  c10::impl::GenericList list(value.toList().elementType());
  for (const IValue& element : elements) list.push_back(wrapped(element, level));
  return IValue(list);
}

// What was written to stands for itself among the results.
void keep_written(const c10::FunctionSchema& schema, const Stack& arguments, Stack& results) {
  for (size_t i = 0; i < schema.returns().size() && i < results.size(); ++i) {
    const c10::Argument& result = schema.returns()[i];
    if (!result.is_write()) continue;
    for (size_t j = 0; j < schema.arguments().size(); ++j) {
      if (schema.arguments()[j].alias() == result.alias()) results[i] = arguments[j];
    }
  }
}

// The arguments of the functional form, by name.
Stack functional_arguments(const c10::FunctionSchema& functional, const c10::FunctionSchema& schema,
                           const Stack& stack) {
  Stack arguments;
  for (const c10::Argument& argument : functional.arguments()) {
    const auto index = schema.argument_index(argument.name());
    arguments.push_back(index ? stack[*index] : argument.default_value().value_or(IValue()));
  }
  return arguments;
}

void become(const Tensor& target, const Tensor& result, const OperatorHandle& op) {
  BatchedTensorImpl* to = batched_of(target);
  const BatchedTensorImpl* from = batched_of(result);
  TORCH_CHECK(to != nullptr && from != nullptr && to->level() == from->level(), "vmap: ", full_name(op),
              ": a tensor that is not batched cannot take over a batched result");
  to->replace(from->value(), from->batch_dim());
}

void run_functional(const OperatorHandle& op, const Batching& batching, Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  const c10::FunctionSchema& functional = batching.functional->schema();
  Stack results = functional_arguments(functional, schema, stack);
  batching.functional->callBoxed(results);
  const bool view = !functional.returns().empty() && !functional.returns()[0].alias().empty();
  size_t next = 0;
  Stack written;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (!schema.arguments()[i].is_write()) continue;
    const auto assign = [&](const Tensor& target, const Tensor& result) {
      Tensor to = target;
      if (view || (batching.kind == Batching::Kind::kOut && to.sizes() != result.sizes())) {
        become(to, result, op);
      } else {
        at::copy_(to, result, false);
      }
    };
    if (stack[i].isList()) {
      const auto targets = stack[i].toTensorVector(), list = results.at(next).toTensorVector();
      for (size_t k = 0; k < targets.size() && k < list.size(); ++k) assign(targets[k], list[k]);
    } else {
      assign(stack[i].toTensor(), results.at(next).toTensor());
    }
    ++next;
    written.push_back(stack[i]);
  }
  stack = std::move(written);
  if (schema.returns().empty()) stack.clear();
}

// Autocast casts the arguments of a composed operator before its parts see them.
bool has_autocast(const OperatorHandle& op, DispatchKeySet keys) {
  for (const DispatchKey key : keys & c10::kAutocastKeys) {
    if (c10::detail::get_function(op.op(), key) != nullptr) return true;
  }
  return false;
}

void handle(void*, const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  constexpr DispatchKey kKey = DispatchKey::FuncTorchBatched;
  const VmapLevel* level = current_level();
  if (level == nullptr) {
    for (const IValue& value : *stack) check_on_stack(op, value, level);
    return op.redispatchBoxed(keys.remove(kKey), stack);
  }
  const Batching& batching = batching_of(op);
  const bool composite = batching.kind == Batching::Kind::kComposed && op.op().kernels == c10::Kernels::kComposite &&
                         c10::detail::get_function(op.op(), DispatchKey::CPU) == nullptr;
  const bool batched = is_any_batched(*stack, *level);
  if (!batched && !composite && batching.kind != Batching::Kind::kRandom) {
    for (const IValue& value : *stack) check_on_stack(op, value, level);
    const AtLevel outside(level->outer);
    return level->outer == nullptr ? op.redispatchBoxed(keys.remove(kKey), stack) : op.callBoxed(*stack);
  }
  switch (batching.kind) {
    case Batching::Kind::kComposed:
      if (has_autocast(op, keys)) return op.redispatchBoxed(keys.remove(kKey), stack);
      // XPU: a backend that no operator has a kernel for, so that the function of all backends is called.
      return op.redispatchBoxed(DispatchKeySet(DispatchKey::XPU), stack);
    case Batching::Kind::kDecomposed:
      return at::decompose(op, *stack);
    case Batching::Kind::kOut:
    case Batching::Kind::kInPlace:
      return run_functional(op, batching, *stack);
    case Batching::Kind::kRule:
    case Batching::Kind::kRefused:
    case Batching::Kind::kRandom:
    case Batching::Kind::kLoop:
      break;
  }
  const c10::FunctionSchema& schema = op.schema();
  const Stack originals = schema.is_mutable() ? *stack : Stack();
  BatchedCall call(op, *level, std::move(*stack), batching.parameters);
  for (size_t i = 0; i < originals.size() && batching.kind != Batching::Kind::kRandom; ++i) {
    TORCH_CHECK(
        !schema.arguments()[i].is_write() || !is_defined_tensor(originals[i]) || call.batched(i),
        "vmap: ", full_name(op),
        "(self, *extra_args) is not possible because a tensor among extra_args has a value for each "
        "sample, but '",
        schema.arguments()[i].name(),
        "', which is written to, is the same for all: it is not mapped over. Use the form that returns a new tensor");
  }
  {
    const AtLevel outside(level->outer);
    batching.rule(call);
  }
  if (!call.same_for_all) {
    for (IValue& result : call.results) result = wrapped(result, *level);
  }
  *stack = std::move(call.results);
  if (!originals.empty()) keep_written(schema, originals, *stack);
}

constexpr c10::BoxedKernel kHandler{&handle, nullptr};

}  // namespace

BatchedCall::BatchedCall(const OperatorHandle& op, const VmapLevel& level, Stack arguments, std::string_view parameters)
    : op_(op), level_(level), parameters_(parameters), arguments_(std::move(arguments)) {
  const AtLevel outside(level.outer);
  batched_.resize(arguments_.size(), false);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    IValue& value = arguments_[i];
    check_on_stack(op, value, &level);
    if (is_defined_tensor(value)) {
      const Tensor tensor = value.toTensor();
      if (batched_of(tensor, level) == nullptr) continue;
      value = IValue(samples_first(tensor, level));
      batched_[i] = any_batched_ = true;
    } else if (value.isList() && is_any_batched(value.toListRef(), level)) {
      std::vector<bool> elements;
      c10::impl::GenericList list(value.toList().elementType());
      for (const IValue& element : value.toListRef()) {
        elements.push_back(is_defined_tensor(element) && batched_of(element.toTensor(), level) != nullptr);
        list.push_back(elements.back() ? IValue(samples_first(element.toTensor(), level)) : element);
      }
      value = IValue(list);
      lists_.emplace_back(i, std::move(elements));
      batched_[i] = any_batched_ = true;
    } else if (value.isInt() && op.schema().arguments()[i].name() == "memory_format" &&
               value.toInt() >= static_cast<int64_t>(at::MemoryFormat::ChannelsLast)) {
      // An order of a sample's dimensions, which there is none of for as many.
      value = IValue(static_cast<int64_t>(at::MemoryFormat::Contiguous));
    }
  }
}

int BatchedCall::index(std::string_view name) const {
  return schema().argument_index(name).value_or(-1);
}

const IValue& BatchedCall::named(std::string_view name) const {
  const int i = index(name);
  TORCH_INTERNAL_ASSERT(i >= 0, full_name(op_), " has no argument '", name, "'");
  return arguments_[static_cast<size_t>(i)];
}

bool BatchedCall::batched(size_t i, size_t element) const {
  for (const auto& [argument, elements] : lists_) {
    if (argument == i) return elements[element];
  }
  return false;
}

bool BatchedCall::is_tensor_list(size_t i) const {
  if (!arguments_[i].isList()) return false;
  const auto elements = arguments_[i].toListRef();
  return std::any_of(elements.begin(), elements.end(), [](const IValue& e) { return e.isTensor(); });
}

std::vector<Tensor> BatchedCall::tensors(size_t i) const {
  std::vector<Tensor> tensors;
  for (const IValue& element : arguments_[i].toListRef()) {
    tensors.push_back(element.isTensor() ? element.toTensor() : Tensor());
  }
  return tensors;
}

Tensor BatchedCall::every_sample(const Tensor& tensor, bool batched) const {
  if (batched) return tensor;
  c10::DimVector sizes{batch_size()};
  sizes.append(tensor.sizes().begin(), tensor.sizes().end());
  return at::expand(tensor, sizes);
}

Tensor BatchedCall::padded(const Tensor& tensor, bool batched, int64_t rank) const {
  const int64_t own = tensor.dim() - (batched ? 1 : 0);
  if (!batched || own >= rank) return tensor;
  c10::DimVector sizes{tensor.size(0)};
  sizes.resize(static_cast<size_t>(rank - own + 1), 1);
  sizes.append(tensor.sizes().begin() + 1, tensor.sizes().end());
  return at::view(tensor, sizes);
}

int64_t BatchedCall::shifted(int64_t dim, int64_t rank) {
  return at::maybe_wrap_dim(dim, rank) + 1;
}

void BatchedCall::run(std::string_view name, std::string_view overload, Stack arguments) {
  run(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload), std::move(arguments));
}
void BatchedCall::run(const OperatorHandle& op, Stack arguments) {
  op.callBoxed(arguments);
  results = std::move(arguments);
}

const Batching& batching_of(const OperatorHandle& op) {
  static KnownBatchings& known = *new KnownBatchings;
  return known.of(op);
}

namespace detail {

void install_batching() {
  static const bool done = [] {
    c10::detail::set_fallback(DispatchKey::FuncTorchBatched, &kHandler);
    install_function_batching();
    return true;
  }();
  (void)done;
}

const NamedRule* named_rule(std::string_view name) {
  for (const auto rules : {pointwise_rules(), dimension_rules(), sample_rules(), product_rules(), index_rules(),
                           layer_rules(), value_rules()}) {
    for (const NamedRule& rule : rules) {
      if (rule.name == name) return &rule;
    }
  }
  return nullptr;
}

std::pair<std::string_view, std::string_view> words_of(std::string_view text) {
  const size_t open = text.find('(');
  if (open == text.npos) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

void loop_rule(BatchedCall& call) {
  static std::mutex& mutex = *new std::mutex;
  static auto& warned = *new std::set<const c10::OperatorBase*>;
  {
    const std::lock_guard lock(mutex);
    if (warned.insert(&call.op().op()).second) {
      TORCH_WARN("There is a performance drop because ", full_name(call.op()),
                 " has no batching rule: vmap calls it for one sample after the other.");
    }
  }
  TORCH_CHECK(call.batch_size() > 0, "vmap: ", full_name(call.op()), " without samples");
  std::vector<Stack> all;
  for (int64_t b = 0; b < call.batch_size(); ++b) {
    Stack arguments = call.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!call.batched(i)) continue;
      if (call.is_tensor(i)) {
        arguments[i] = IValue(at::select(call.tensor(i), 0, b));
        continue;
      }
      c10::impl::GenericList list(arguments[i].toList().elementType());
      size_t k = 0;
      for (const IValue& element : arguments[i].toListRef()) {
        list.push_back(call.batched(i, k++) ? IValue(at::select(element.toTensor(), 0, b)) : element);
      }
      arguments[i] = IValue(list);
    }
    call.op().callBoxed(arguments);
    all.push_back(std::move(arguments));
  }
  const auto stacked = [&](const auto& part) {
    std::vector<Tensor> parts;
    for (const Stack& results : all) parts.push_back(part(results));
    if (!parts[0].defined()) return parts[0];
    for (const Tensor& one : parts) {
      TORCH_CHECK(one.sizes() == parts[0].sizes(),
                  "vmap: We do not support batching operators that can output dynamic "
                  "shape. Attempted to vmap over ",
                  full_name(call.op()), ", whose results have sizes ", parts[0].sizes(), " and ", one.sizes());
    }
    return at::stack(parts);
  };
  call.results = all[0];
  for (size_t k = 0; k < call.results.size(); ++k) {
    IValue& result = call.results[k];
    if (result.isTensor()) {
      result = IValue(stacked([&](const Stack& results) { return results[k].toTensor(); }));
    } else if (result.isTensorList()) {
      std::vector<Tensor> list;
      for (size_t e = 0; e < all[0][k].toListRef().size(); ++e) {
        list.push_back(stacked([&](const Stack& results) { return results[k].toTensorVector().at(e); }));
      }
      result = IValue(list);
    }
  }
}

}  // namespace detail
}  // namespace torch::func
