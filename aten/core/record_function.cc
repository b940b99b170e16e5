#include "aten/core/record_function.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>

#include "aten/core/range_hooks.h"
#include "aten/core/sequence_number.h"
#include "aten/core/thread_local_state.h"
#include "c10/util/exception.h"

namespace at {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

struct Registered {
  CallbackHandle handle;
  RecordFunctionCallback callback;
  bool enabled = true;
};
using Callbacks = std::vector<Registered>;

struct Global {
  std::mutex mutex;
  std::shared_ptr<const Callbacks> callbacks = std::make_shared<Callbacks>();
  std::atomic<bool> any{false};
  std::atomic<CallbackHandle> next_handle{1};
  std::atomic<RecordFunctionHandle> next_range{1};
  std::atomic<uint64_t> next_thread{1};
};

Global& global() {
  static Global& instance = *new Global;
  return instance;
}

thread_local Callbacks t_callbacks;
thread_local bool t_enabled = true;
thread_local uint64_t t_thread_id = 0;
// Set while callbacks run: what they call is not observed.
thread_local bool t_inside = false;

std::shared_ptr<const Callbacks> global_callbacks() {
  const std::lock_guard lock(global().mutex);
  return global().callbacks;
}

template <class F>
void change_global(const F& change) {
  const std::lock_guard lock(global().mutex);
  auto fresh = std::make_shared<Callbacks>(*global().callbacks);
  change(*fresh);
  const bool any = !fresh->empty();
  global().callbacks = std::move(fresh);
  global().any = any;
  c10::Dispatcher::singleton().setObserved(any);
}

template <class F>
void change_local(const F& change) {
  change(t_callbacks);
  c10::impl::tls_set_dispatch_key_included(DispatchKey::Profiler, !t_callbacks.empty());
}

// Applies `change` to the callback of that handle, wherever it is registered.
template <class F>
void change(CallbackHandle handle, const F& change) {
  const auto apply = [&](Callbacks& callbacks) {
    const auto found =
        std::find_if(callbacks.begin(), callbacks.end(), [&](const Registered& r) { return r.handle == handle; });
    if (found == callbacks.end()) return false;
    change(callbacks, found);
    return true;
  };
  bool done = false;
  change_local([&](Callbacks& callbacks) { done = apply(callbacks); });
  if (!done) change_global(apply);
}

bool chosen(double probability) {
  if (probability >= 1.0) return true;
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>()(generator) < probability;
}

// Whether a callback wants ranges of operators, and more than their names.
bool wants_values_of(const Callbacks& callbacks) {
  return std::any_of(callbacks.begin(), callbacks.end(), [](const Registered& r) {
    return r.enabled && r.callback.checkScope(RecordScope::FUNCTION) && (r.callback.needsInputs() || r.callback.needsOutputs());
  });
}

bool observing() { return t_enabled && !t_inside && (global().any.load(std::memory_order_relaxed) || !t_callbacks.empty()); }

bool wants_values() {
  return observing() && (wants_values_of(t_callbacks) || wants_values_of(*global_callbacks()));
}

void* begin(const c10::OperatorBase& op) {
  if (!observing()) return nullptr;
  auto range = std::make_unique<RecordFunction>(RecordScope::FUNCTION);
  if (!range->isActive()) return nullptr;
  range->before(op);
  return range.release();
}

void end(void* range) noexcept { delete static_cast<RecordFunction*>(range); }

void handle_with_values(void*, const c10::OperatorHandle& op, DispatchKeySet keys, c10::Stack* stack) {
  RecordFunction range(RecordScope::FUNCTION);
  if (range.isActive()) range.before(op, range.needsInputs() ? *stack : c10::Stack());
  op.redispatchBoxed(keys.remove(DispatchKey::Profiler), stack);
  if (range.needsOutputs()) range.setOutputs(*stack);
}

constexpr c10::BoxedKernel kHandler{&handle_with_values, nullptr};
constexpr c10::detail::RangeHooks kHooks{&wants_values, &kHandler, &begin, &end};

static_assert(impl::kBackwardScope == static_cast<uint8_t>(RecordScope::BACKWARD_FUNCTION));

void* open_range(uint8_t scope) {
  if (!observing()) return nullptr;
  auto range = std::make_unique<RecordFunction>(static_cast<RecordScope>(scope));
  return range->isActive() ? range.release() : nullptr;
}
bool range_needs_inputs(const void* range) { return static_cast<const RecordFunction*>(range)->needsInputs(); }
void begin_range(void* range, std::string_view name, std::vector<c10::IValue> inputs, int64_t sequence_nr) {
  static_cast<RecordFunction*>(range)->before(name, std::move(inputs), sequence_nr);
}

constexpr impl::RangeHooks kRangeHooks{&open_range, &range_needs_inputs, &begin_range, &end};

void install() {
  c10::detail::set_range_hooks(&kHooks);
  impl::set_range_hooks(&kRangeHooks);
}

// What another thread that works for this one is given; the key of the thread-local callbacks goes with the thread's keys.
struct CarriedObservers final : c10::intrusive_ptr_target {
  Callbacks callbacks;
  bool enabled = true;
  bool inside = false;
};

impl::ThreadLocalPart::Value carried_observers() {
  if (t_callbacks.empty() && t_enabled && !t_inside) return {};
  auto carried = c10::make_intrusive<CarriedObservers>();
  carried->callbacks = t_callbacks;
  carried->enabled = t_enabled;
  carried->inside = t_inside;
  return carried;
}

void set_carried_observers(const impl::ThreadLocalPart::Value& value) {
  const auto* carried = static_cast<const CarriedObservers*>(value.get());
  t_callbacks = carried == nullptr ? Callbacks() : carried->callbacks;
  t_enabled = carried == nullptr || carried->enabled;
  t_inside = carried != nullptr && carried->inside;
}

[[maybe_unused]] const bool registered =
    impl::register_thread_local_part({carried_observers, set_carried_observers});

}  // namespace

RecordFunctionCallback& RecordFunctionCallback::samplingProb(double probability) {
  TORCH_CHECK(probability >= 0.0 && probability <= 1.0, "Invalid sampling probability: expected a number in [0, 1], got ",
              probability);
  sampling_probability_ = probability;
  return *this;
}

RecordFunctionCallback& RecordFunctionCallback::scopes(const std::vector<RecordScope>& scopes) {
  scopes_ = scopes.empty() ? ~uint32_t{0} : 0;
  for (RecordScope scope : scopes) scopes_ |= uint32_t{1} << static_cast<int>(scope);
  return *this;
}

CallbackHandle addGlobalCallback(RecordFunctionCallback callback) {
  install();
  const CallbackHandle handle = global().next_handle++;
  change_global([&](Callbacks& callbacks) { callbacks.push_back({handle, callback}); });
  return handle;
}

CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback) {
  install();
  const CallbackHandle handle = global().next_handle++;
  change_local([&](Callbacks& callbacks) { callbacks.push_back({handle, callback}); });
  return handle;
}

void removeCallback(CallbackHandle handle) {
  change(handle, [](Callbacks& callbacks, Callbacks::iterator found) { callbacks.erase(found); });
}
void disableCallback(CallbackHandle handle) {
  change(handle, [](Callbacks&, Callbacks::iterator found) { found->enabled = false; });
}
void reenableCallback(CallbackHandle handle) {
  change(handle, [](Callbacks&, Callbacks::iterator found) { found->enabled = true; });
}

bool hasGlobalCallbacks() { return global().any; }
bool hasThreadLocalCallbacks() { return !t_callbacks.empty(); }
bool hasCallbacks() { return hasGlobalCallbacks() || hasThreadLocalCallbacks(); }
void clearGlobalCallbacks() {
  change_global([](Callbacks& callbacks) { callbacks.clear(); });
}
void clearThreadLocalCallbacks() {
  change_local([](Callbacks& callbacks) { callbacks.clear(); });
}
void clearCallbacks() {
  clearGlobalCallbacks();
  clearThreadLocalCallbacks();
}

bool isRecordFunctionEnabled() { return t_enabled; }
void enableRecordFunction(bool enable) { t_enabled = enable; }

RecordFunction::RecordFunction(RecordScope scope) : scope_(scope) {
  if (!observing()) return;
  bool ids = false;
  const auto take = [&](const Callbacks& callbacks) {
    for (const Registered& registered : callbacks) {
      const RecordFunctionCallback& callback = registered.callback;
      if (!registered.enabled || !callback.checkScope(scope) || !chosen(callback.samplingProb())) continue;
      called_.push_back({callback, nullptr});
      needs_inputs_ |= callback.needsInputs();
      needs_outputs_ |= callback.needsOutputs();
      ids |= callback.needsIds();
    }
  };
  take(t_callbacks);
  if (hasGlobalCallbacks()) take(*global_callbacks());
  if (ids) handle_ = global().next_range++;
}

void RecordFunction::before(std::string_view name, int64_t sequence_nr) {
  if (!isActive()) return;
  name_ = name;
  sequence_nr_ = sequence_nr;
  start();
}

void RecordFunction::before(std::string_view name, std::vector<c10::IValue> inputs, int64_t sequence_nr) {
  inputs_ = std::move(inputs);
  before(name, sequence_nr);
}

void RecordFunction::before(const c10::OperatorBase& op) {
  op_ = &op;
  const std::string_view name(op.name);
  const bool known = op.entry != nullptr;
  const int64_t number = c10::thread_state().grad_enabled ? static_cast<int64_t>(sequence_number::peek()) : -1;
  before(
      known ? c10::OperatorHandle(*op.entry).operator_name().name : "aten::" + std::string(name.substr(0, name.find('.'))),
      number);
}

void RecordFunction::before(const c10::OperatorHandle& op, std::vector<c10::IValue> inputs) {
  inputs_ = std::move(inputs);
  before(op.op());
}

void RecordFunction::start() {
  thread_id_ = currentThreadId();
  t_inside = true;
  try {
    for (Called& called : called_) {
      if (called.callback.start() != nullptr) called.context = called.callback.start()(*this);
    }
  } catch (...) {
    t_inside = false;
    throw;
  }
  t_inside = false;
}

void RecordFunction::end() noexcept {
  if (called_.empty() || thread_id_ == 0) return;
  t_inside = true;
  for (Called& called : called_) {
    if (called.callback.end() != nullptr) called.callback.end()(*this, called.context.get());
  }
  t_inside = false;
  called_.clear();
}

std::optional<c10::OperatorName> RecordFunction::operator_name() const {
  if (op_ == nullptr || op_->entry == nullptr) return std::nullopt;
  return c10::OperatorHandle(*op_->entry).operator_name();
}

uint64_t RecordFunction::currentThreadId() {
  if (t_thread_id == 0) t_thread_id = global().next_thread++;
  return t_thread_id;
}

}  // namespace at
