#include "c10/dispatch/registry.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "c10/core/tensor_impl.h"
#include "c10/util/exception.h"

namespace c10 {

// An operator that can be found by name. Its schema is parsed when somebody asks.
class OperatorEntry {
 public:
  OperatorEntry(std::string ns_name, const char* schema_text, OperatorBase* base, const Decomposition* parts)
      : ns(std::move(ns_name)), text(schema_text), op(base), own_boxing(base->boxing), decomposition(parts) {}

  const FunctionSchema& schema() { return parsed().schema; }
  const Stack& defaults() { return parsed().defaults; }

  ~OperatorEntry() { delete parsed_.load(); }

  std::string ns;
  const char* text;
  OperatorBase* op;
  const Boxing* const own_boxing;  // that the operator came with; null where a kernel's, or a caller's, is what it has
  const Decomposition* const decomposition;
  std::vector<at::Tag> tags;

 private:
  struct Parsed {
    FunctionSchema schema;
    Stack defaults;
  };

  const Parsed& parsed() {
    const Parsed* known = parsed_.load(std::memory_order_acquire);
    return known != nullptr ? *known : parse();
  }
  const Parsed& parse() {
    static std::mutex& mutex = *new std::mutex;
    const std::lock_guard lock(mutex);
    if (parsed_.load(std::memory_order_relaxed) == nullptr) {
      auto fresh = std::make_unique<Parsed>(Parsed{parse_schema(ns + "::" + text), {}});
      for (const Argument& argument : fresh->schema.arguments()) {
        fresh->defaults.push_back(argument.default_value().value_or(IValue()));
      }
      parsed_.store(fresh.release(), std::memory_order_release);
    }
    return *parsed_.load(std::memory_order_relaxed);
  }

  std::atomic<const Parsed*> parsed_{nullptr};
};

namespace {

// What an operator made at run time refers to. Such operators stay for good, since somebody may still hold a handle.
struct OwnText {
  std::string name;
  std::string ns;
  std::string schema;
};

using UntypedOperator = Operator<void()>;

// "ns::name.overload" of a schema's text, without parsing the rest.
std::string full_name(std::string_view ns, std::string_view schema) {
  std::string name(ns);
  name += "::";
  name += schema.substr(0, schema.find('('));
  return name;
}

struct WaitingKernel {
  KernelRegistration kernel;
  // What was there before, to be put back.
  detail::ErasedFunction function_before = nullptr;
  const BoxedKernel* boxed_before = nullptr;
  OperatorEntry* entry = nullptr;  // null while it waits
};

bool same_signature(const Boxing& a, const Boxing& b) {
  return &a == &b || std::string_view(a.signature) == b.signature;
}

}  // namespace

struct Dispatcher::State {
  std::recursive_mutex mutex;  // listeners may ask for operators
  std::unordered_map<std::string, std::unique_ptr<OperatorEntry>> entries;
  std::vector<std::unique_ptr<OperatorEntry>> retired;
  std::list<OwnText> texts;  // of removed operators, too
  std::list<WaitingKernel> kernels;
  std::map<DispatchKey, std::vector<std::shared_ptr<const BoxedKernel>>> fallbacks;
  std::list<std::unique_ptr<OpRegistrationListener>> listeners;
  std::map<std::string, std::string> reserved;
  bool observed = false;
  std::string key;  // scratch, so that a look-up does not allocate

  void check_is_new(const std::string& name) const {
    TORCH_CHECK(!entries.contains(name), "an operator named ", name, " is registered already");
  }

  OperatorEntry& add(const std::string& name, std::unique_ptr<OperatorEntry> entry) {
    OperatorEntry& added = *entry;
    check_is_new(name);
    entries.emplace(name, std::move(entry));
    added.op->entry = &added;
    if (observed) detail::set_observed(*added.op, true);
    try {
      for (WaitingKernel& waiting : kernels) {
        if (waiting.entry == nullptr && waiting.kernel.op == name) attach(waiting, added);
      }
    } catch (...) {
      remove(name);
      throw;
    }
    for (const auto& listener : listeners) listener->onOperatorRegistered(OperatorHandle(added));
    return added;
  }

  void remove(const std::string& name) {
    const auto found = entries.find(name);
    if (found == entries.end()) return;
    OperatorEntry& entry = *found->second;
    for (const auto& listener : listeners) listener->onOperatorDeregistered(OperatorHandle(entry));
    for (auto place = kernels.begin(); place != kernels.end(); ++place) {
      if (place->entry == &entry) detach(place);
    }
    entry.op->entry = nullptr;
    retired.push_back(std::move(found->second));
    entries.erase(found);
  }

  // Where the function's C++ types are the operator's it is called directly; else through its boxed form.
  static void attach(WaitingKernel& waiting, OperatorEntry& entry) {
    const KernelRegistration& kernel = waiting.kernel;
    OperatorBase& op = *entry.op;
    if (kernel.check) kernel.check(entry.schema());
    if (op.boxing == nullptr && kernel.boxing != nullptr) op.boxing = kernel.boxing;
    waiting.function_before = detail::get_function(op, kernel.key);
    waiting.boxed_before = detail::get_boxed(op, kernel.key);
    const bool writes = kernel.writing != nullptr && entry.schema().is_mutable();
    const bool direct = !writes && kernel.function != nullptr && same_signature(*op.boxing, *kernel.boxing);
    TORCH_CHECK(direct || kernel.boxed != nullptr, entry.ns, "::", op.name, ": the function's C++ types are ",
                kernel.boxing->signature, ", the operator's ", op.boxing->signature);
    waiting.entry = &entry;
    detail::set_boxed(op, kernel.key, direct ? nullptr : writes ? kernel.writing.get() : kernel.boxed.get());
    detail::set_function(op, kernel.key, direct ? kernel.function : nullptr);
  }

  // What stands in for the boxed form of a kernel whose library may be about to be closed.
  const Boxing* remaining_boxing(const OperatorEntry& entry) const {
    if (entry.own_boxing != nullptr) return entry.own_boxing;
    for (const WaitingKernel& kernel : kernels) {
      if (kernel.entry == &entry && kernel.kernel.boxing != nullptr) return kernel.kernel.boxing;
    }
    return nullptr;
  }

  // The kernel that came last is the one that is called: taken away before a later one of its key, it leaves what it had found to
  // that.
  void detach(std::list<WaitingKernel>::iterator place) {
    OperatorEntry* const entry = std::exchange(place->entry, nullptr);
    if (entry == nullptr) return;
    if (entry->op->boxing == place->kernel.boxing) entry->op->boxing = remaining_boxing(*entry);
    const DispatchKey key = place->kernel.key;
    const auto later = std::find_if(std::next(place), kernels.end(), [&](const WaitingKernel& other) {
      return other.entry == entry && other.kernel.key == key;
    });
    if (later != kernels.end()) {
      later->function_before = place->function_before;
      later->boxed_before = place->boxed_before;
      return;
    }
    detail::set_boxed(*entry->op, key, place->boxed_before);
    detail::set_function(*entry->op, key, place->function_before);
  }
};

Dispatcher::Dispatcher() : state_(new State) {}

Dispatcher& Dispatcher::singleton() {
  static Dispatcher& instance = *new Dispatcher;
  return instance;
}

void Dispatcher::register_operators(std::string_view ns, const RegisteredOperator* operators, size_t count) {
  const std::lock_guard lock(state_->mutex);
  for (size_t i = 0; i < count; ++i) {
    const auto& [schema, op, boxing, decomposition] = operators[i];
    op->boxing = boxing;
    state_->add(full_name(ns, schema), std::make_unique<OperatorEntry>(std::string(ns), schema, op, decomposition));
  }
}

void Dispatcher::deregister_operators(std::string_view ns, const RegisteredOperator* operators, size_t count) {
  const std::lock_guard lock(state_->mutex);
  for (size_t i = 0; i < count; ++i) state_->remove(full_name(ns, operators[i].schema));
}

RegistrationHandleRAII Dispatcher::define(std::string ns, std::string schema, std::vector<at::Tag> tags) {
  const std::lock_guard lock(state_->mutex);
  const std::string name = full_name(ns, schema);
  state_->check_is_new(name);  // before what lives as long as the program is made
  auto& text = state_->texts.emplace_back(OwnText{schema.substr(0, schema.find('(')), std::move(ns), std::move(schema)});
  auto* op = new UntypedOperator(text.name.c_str(), text.ns.c_str(), Kernels::kPerBackend, Differentiation::kNone, {});
  auto entry = std::make_unique<OperatorEntry>(text.ns, text.schema.c_str(), op, nullptr);
  entry->tags = std::move(tags);
  state_->add(name, std::move(entry));
  return RegistrationHandleRAII([this, name] {
    const std::lock_guard guard(state_->mutex);
    state_->remove(name);
  });
}

RegistrationHandleRAII Dispatcher::implement(KernelRegistration kernel) {
  const std::lock_guard lock(state_->mutex);
  const std::string name = kernel.op;
  const auto place = state_->kernels.insert(state_->kernels.end(), WaitingKernel{std::move(kernel)});
  const auto found = state_->entries.find(name);
  if (found != state_->entries.end()) {
    try {
      State::attach(*place, *found->second);
    } catch (...) {
      state_->kernels.erase(place);
      throw;
    }
  }
  return RegistrationHandleRAII([this, place] {
    const std::lock_guard guard(state_->mutex);
    state_->detach(place);
    state_->kernels.erase(place);
  });
}

RegistrationHandleRAII Dispatcher::fallback(DispatchKey key, std::shared_ptr<const BoxedKernel> kernel) {
  const std::lock_guard lock(state_->mutex);
  const BoxedKernel* raw = kernel.get();
  detail::set_fallback(key, raw);
  auto& stack = state_->fallbacks[key];
  stack.push_back(std::move(kernel));
  return RegistrationHandleRAII([this, key, raw] {
    const std::lock_guard guard(state_->mutex);
    auto& kernels = state_->fallbacks[key];
    kernels.erase(std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.get() == raw; }));
    detail::set_fallback(key, kernels.empty() ? nullptr : kernels.back().get());
  });
}

RegistrationHandleRAII Dispatcher::reserve_namespace(std::string ns, std::string where) {
  const std::lock_guard lock(state_->mutex);
  const auto [place, fresh] = state_->reserved.try_emplace(ns, where);
  TORCH_CHECK(fresh, "Only a single TORCH_LIBRARY can be used to register the namespace ", ns,
              "; please put all of your definitions in a single TORCH_LIBRARY block. If you were trying to specify "
              "implementations, consider using TORCH_LIBRARY_IMPL (which can be duplicated). If you really intended to define "
              "operators for a single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly "
              "indicate this. Previous registration of TORCH_LIBRARY was at ", place->second, "; latest at ", where);
  return RegistrationHandleRAII([this, ns] {
    const std::lock_guard guard(state_->mutex);
    state_->reserved.erase(ns);
  });
}

void Dispatcher::setObserved(bool on) {
  const std::lock_guard lock(state_->mutex);
  if (state_->observed == on) return;
  state_->observed = on;
  for (const auto& [name, entry] : state_->entries) detail::set_observed(*entry->op, on);
}

RegistrationHandleRAII Dispatcher::addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener) {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, entry] : state_->entries) listener->onOperatorRegistered(OperatorHandle(*entry));
  const auto place = state_->listeners.insert(state_->listeners.end(), std::move(listener));
  return RegistrationHandleRAII([this, place] {
    const std::lock_guard guard(state_->mutex);
    state_->listeners.erase(place);
  });
}

std::optional<OperatorHandle> Dispatcher::findSchema(std::string_view name, std::string_view overload_name) {
  const std::lock_guard lock(state_->mutex);
  std::string& key = state_->key;
  key.assign(name);
  if (!overload_name.empty()) {
    key += '.';
    key += overload_name;
  }
  const auto found = state_->entries.find(key);
  if (found == state_->entries.end()) return std::nullopt;
  return OperatorHandle(*found->second);
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) {
  return findSchema(name.name, name.overload_name);
}

OperatorHandle Dispatcher::findSchemaOrThrow(std::string_view name, std::string_view overload_name) {
  const std::optional<OperatorHandle> handle = findSchema(name, overload_name);
  TORCH_CHECK(handle.has_value(), "Could not find schema for ", name, overload_name.empty() ? "" : ".", overload_name,
              ".", name.substr(0, 6) == "aten::" ? " Operators of a table come with //aten/ops:registry." : "");
  return *handle;
}

std::vector<std::string> Dispatcher::getAllOpNames() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  names.reserve(state_->entries.size());
  for (const auto& [name, entry] : state_->entries) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Dispatcher::findDanglingImpls() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const WaitingKernel& kernel : state_->kernels) {
    if (kernel.entry == nullptr) names.push_back(kernel.kernel.op);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

const FunctionSchema& OperatorHandle::schema() const { return entry_->schema(); }
OperatorBase& OperatorHandle::op() const { return *entry_->op; }
const Decomposition* OperatorHandle::decomposition() const { return entry_->decomposition; }
const std::vector<at::Tag>& OperatorHandle::getTags() const { return entry_->tags; }

OperatorName OperatorHandle::operator_name() const {
  const std::string_view name = op().name;
  const size_t dot = name.find('.');
  return OperatorName(entry_->ns + "::" + std::string(name.substr(0, dot)),
                      dot == std::string_view::npos ? std::string() : std::string(name.substr(dot + 1)));
}

bool OperatorHandle::hasTag(at::Tag tag) const {
  return std::find(entry_->tags.begin(), entry_->tags.end(), tag) != entry_->tags.end();
}

bool OperatorHandle::hasKernelForDispatchKey(DispatchKey key) const {
  return detail::get_function(op(), key) != nullptr || detail::get_boxed(op(), key) != nullptr;
}

bool OperatorHandle::hasKernelForAnyDispatchKey(DispatchKeySet keys) const {
  for (DispatchKey key : keys) {
    if (hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

bool OperatorHandle::hasComputedKernelForDispatchKey(DispatchKey key) const {
  return hasKernelForDispatchKey(key) || hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
}

void OperatorHandle::fill_defaults(Stack& stack) const {
  const std::vector<Argument>& arguments = schema().arguments();
  const size_t expected = arguments.size();
  TORCH_CHECK_TYPE(stack.size() <= expected, op().name, "(): expected at most ", expected, " arguments, got ", stack.size());
  for (size_t i = stack.size(); i < expected; ++i) {
    TORCH_CHECK_TYPE(arguments[i].default_value().has_value() || arguments[i].shape().optional, op().name,
                     "(): missing argument '", arguments[i].name(), "'");
    stack.push_back(entry_->defaults()[i]);
  }
}

void OperatorHandle::use_signature(const Boxing& boxing) const {
  OperatorBase& base = op();
  const Boxing* known = nullptr;
  __atomic_compare_exchange_n(&base.boxing, &known, &boxing, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  TORCH_CHECK(known == nullptr || same_signature(*known, boxing), "Tried to access or call the operator ", toString(operator_name()),
              " with a wrong signature: its C++ types are ", known->signature, ", the call's ", boxing.signature);
}

namespace {

uint32_t keys_of_value(const IValue& value) {
  if (value.isTensor()) return value.unsafe_tensor_impl()->key_set().raw();
  uint32_t keys = 0;
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) keys |= keys_of_value(element);
  }
  return keys;
}

// For operators that have boxed kernels only.
void call_untyped(const OperatorBase& op, const DispatchKeySet* keys, Stack& stack) {
  uint32_t all = keys != nullptr ? keys->raw() : 0;
  if (keys == nullptr) {
    for (const IValue& value : stack) all |= keys_of_value(value);
  }
  const detail::SlowCall call(op, all, keys == nullptr);
  TORCH_INTERNAL_ASSERT(call.boxed() != nullptr);
  detail::call_boxed(call, stack);
}

}  // namespace

void OperatorHandle::callBoxed(Stack& stack) const {
  if (stack.size() != schema().arguments().size()) fill_defaults(stack);
  const Boxing* boxing = op().boxing;
  boxing != nullptr ? boxing->from_stack(op(), nullptr, stack) : call_untyped(op(), nullptr, stack);
}

void OperatorHandle::redispatchBoxed(DispatchKeySet keys, Stack* stack) const {
  const Boxing* boxing = op().boxing;
  boxing != nullptr ? boxing->from_stack(op(), &keys, *stack) : call_untyped(op(), &keys, *stack);
}

namespace detail {

void call_boxed(const SlowCall& call, Stack& stack) {
  TORCH_CHECK(call.op().entry != nullptr, call.op().name, ": the operator's library was unloaded");
  call.boxed()->call(call.boxed()->functor, OperatorHandle(*call.op().entry), call.keys(), &stack);
}

}  // namespace detail
}  // namespace c10
