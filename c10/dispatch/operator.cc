#include "c10/dispatch/operator.h"

#include <iterator>
#include <string_view>

#include "c10/dispatch/more_kernels.h"
#include "c10/util/exception.h"

namespace c10::detail {

// The functions of an operator whose type is not known.
struct Slots {
  static ErasedFunction* of(const OperatorBase& op) {
    return const_cast<ErasedFunction*>(static_cast<const Operator<void()>&>(op).slots_);
  }
};

namespace {

// The slots, in order.
constexpr DispatchKey kSlotKeys[] = {DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta, DispatchKey::Autograd,
                                     DispatchKey::ForwardAD};
constexpr int kBackendSlots = 3;
// Of an operator with one function for all backends: that function. The CPU and Meta may have others in theirs.
constexpr int kSharedSlot = 1;
constexpr uint32_t kProfiler = DispatchKeySet(DispatchKey::Profiler).raw();
// The backends that the function of all backends stands for: tensors of other layouts have kernels of their own or none.
constexpr DispatchKeySet kAnyBackends = kBackendKeys - sparse_ks - sparse_csr_ks - nested_ks;
// The key that the function of all backends is kept under.
constexpr DispatchKey kAnyBackend = DispatchKey::CompositeExplicitAutograd;

const BoxedKernel* g_fallbacks[MoreKernels::kCount];
const RangeHooks* g_range_hooks;

template <class T>
T load(const T& place) {
  return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
}
template <class T>
void store(T& place, T value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

int slot_of(DispatchKey key) {
  for (int i = 0; i < static_cast<int>(std::size(kSlotKeys)); ++i) {
    if (kSlotKeys[i] == key) return i;
  }
  return -1;
}

bool is_composite_name(DispatchKey key) {
  return key >= DispatchKey::CompositeImplicitAutograd && key <= DispatchKey::CompositeImplicitAutogradNestedTensor;
}

bool is_autograd_name(DispatchKey key) { return key >= DispatchKey::AutogradOther && key <= DispatchKey::AutogradMTIA; }

DispatchKey kept_under(DispatchKey key) { return is_composite_name(key) ? kAnyBackend : key; }

// With the functions of the slots: until then only the slots have them.
MoreKernels& more_of(OperatorBase& op) {
  if (op.more != nullptr && op.more->has_slots) return *op.more;
  auto* more = op.more != nullptr ? op.more : new TypedKernels<ErasedFunction>;
  const ErasedFunction* slots = Slots::of(op);
  const bool shared = op.kernels != Kernels::kPerBackend;
  for (int i = 0; i < static_cast<int>(std::size(kSlotKeys)); ++i) {
    const bool own = !shared || i >= kBackendSlots || slots[i] != slots[kSharedSlot];
    if (own) store(more->function(kSlotKeys[i]), slots[i]);
  }
  if (shared) store(more->function(kAnyBackend), slots[kSharedSlot]);
  store(more->has_slots, true);
  store(op.more, more);
  return *more;
}

bool has_kernel(MoreKernels& more, DispatchKey key) {
  return more.function(key) != nullptr || more.kernel(key) != nullptr;
}

bool has_autograd_names(MoreKernels& more) {
  for (int key = 0; key < MoreKernels::kCount; ++key) {
    if (is_autograd_name(static_cast<DispatchKey>(key)) && has_kernel(more, static_cast<DispatchKey>(key))) return true;
  }
  return false;
}

bool has_slots(const MoreKernels* more) {
  return more != nullptr && load(more->has_slots);
}

// The function of all backends; null where it is boxed or each backend has its own.
ErasedFunction any_function(const OperatorBase& op) {
  if (MoreKernels* more = load(op.more); has_slots(more)) return load(more->function(kAnyBackend));
  return op.kernels != Kernels::kPerBackend ? load(Slots::of(op)[kSharedSlot]) : nullptr;
}

bool is_observed(const OperatorBase& op) { return (load(op.passed_keys) & kDirectBackends) == 0; }

// Brings the slots and the passed keys of the fast path in line with `more`. A slot that is empty leaves the choice to
// SlowCall.
void update_fast_path(OperatorBase& op, MoreKernels& more) {
  ErasedFunction* slots = Slots::of(op);
  const bool by_backend = has_autograd_names(more);
  uint32_t passed = passed_keys(op.kernels, op.differentiation);
  for (int i = 0; i < static_cast<int>(std::size(kSlotKeys)); ++i) {
    const DispatchKey key = kSlotKeys[i];
    ErasedFunction function = more.kernel(key) != nullptr ? nullptr : more.function(key);
    if (i < kBackendSlots) {
      if (!has_kernel(more, key)) function = more.function(kAnyBackend);
      if (has_kernel(more, key)) passed &= ~kBackendKeys.raw() | kDirectBackends;
    } else if (key == DispatchKey::Autograd && by_backend) {
      function = nullptr;
    }
    store(slots[i], function);
  }
  for (uint32_t key = 0; key < static_cast<uint32_t>(DispatchKey::EndOfRuntimeKeys); ++key) {
    const uint32_t bit = uint32_t{1} << key;
    if ((bit & kDirectBackends) == 0 && has_kernel(more, static_cast<DispatchKey>(key))) passed &= ~bit;
  }
  if (by_backend) passed &= ~kAutogradKey.raw();
  if (is_observed(op)) passed &= ~kDirectBackends;
  store(op.passed_keys, passed);
}

// An autocast key acts where an argument is on its device.
bool acts(DispatchKey key, uint32_t active) {
  const DispatchKeySet keys = DispatchKeySet::from_raw(active);
  switch (key) {
    case DispatchKey::AutocastCPU: return keys.has_any({DispatchKey::CPU, DispatchKey::QuantizedCPU});
    case DispatchKey::AutocastCUDA: return keys.has_any({DispatchKey::CUDA, DispatchKey::QuantizedCUDA});
    case DispatchKey::AutocastPrivateUse1: return keys.has(DispatchKey::PrivateUse1);
    default: return true;
  }
}

[[noreturn]] void throw_missing(const OperatorBase& op, DispatchKey key) {
  if (kDerivativeKeys.has(key)) {
    if (op.differentiation == Differentiation::kRefuse) {
      const std::string_view name(op.name);
      TORCH_CHECK(false, name.substr(0, name.find('.')),
                  "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                  "requires grad.");
    }
    TORCH_CHECK_NOT_IMPLEMENTED(key != DispatchKey::Autograd, op.name,
                                ": an input requires a gradient, but no derivative is linked; add //autograd");
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, op.name, ": an input has a tangent, but no forward-mode derivative is linked; add //autograd:forward_ad");
  }
  TORCH_CHECK_NOT_IMPLEMENTED(key != DispatchKey::Wrapper, op.name,
                              ": an argument is a wrapper tensor, but nothing that handles those is linked; add "
                              "//aten/core:wrapper_tensor");
  TORCH_CHECK_NOT_IMPLEMENTED(
      key != DispatchKey::CUDA, op.name,
      ": no kernel for CUDA tensors is linked; where //aten/cuda has one, add that, built with --config=cuda");
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.name, "' with arguments from the '", toString(key),
                              "' backend: //aten/ops/", op.family, " has no kernel for it and none was registered");
}

}  // namespace

SlowCall::SlowCall(const OperatorBase& op, uint32_t keys, bool with_thread) : op_(op) {
  uint32_t active = keys;
  if (with_thread) {
    const ThreadState& thread = thread_state();
    active = (keys | thread.included.raw()) & ~thread.excluded.raw();
    if (open_range(active)) return;
  }
  find(active);
}

// Whether the observers' boxed kernel handles the call.
bool SlowCall::open_range(uint32_t active) {
  const RangeHooks* hooks = load(g_range_hooks);
  if (hooks == nullptr || !((active & kProfiler) != 0 || is_observed(op_))) return false;
  ThreadState& thread = thread_state();
  if (thread.recorded_operator == &op_) {
    thread.recorded_operator = nullptr;
    return false;
  }
  if (load(op_.boxing) != nullptr && hooks->wants_values()) return take(hooks->boxed, active | kProfiler);
  range_ = hooks->begin(op_);
  observed_ = range_ != nullptr;
  return false;
}

void SlowCall::find(uint32_t active) {
  active &= (~load(op_.passed_keys) | kDirectBackends) & ~kProfiler;
  while ((active & ~kBackendKeys.raw()) != 0) {
    const DispatchKey key = DispatchKeySet::from_raw(active).highest();
    if (acts(key, active) && take(key, active)) {
      // A derivative's function calls the operator again; the function of all backends does not.
      const bool again = boxed_ != nullptr || function_ != any_function(op_);
      if (kDerivativeKeys.has(key) && load(g_range_hooks) != nullptr && again) {
        observed_ = true;
        thread_state().recorded_operator = &op_;
      }
      return;
    }
    active &= ~DispatchKeySet(key).raw();
  }
  find_backend(active);
}

void SlowCall::find_backend(uint32_t active) {
  MoreKernels* more = load(op_.more);
  for (uint32_t left = active != 0 ? active : 1; left != 0;) {
    const DispatchKey key = DispatchKeySet::from_raw(left).highest();
    if (take(key, active)) return;
    const bool given_up = more != nullptr && more->kernel(key) != nullptr;  // a fallthrough of its own
    const BoxedKernel* fallback = load(g_fallbacks[static_cast<int>(key)]);
    if (!given_up && (fallback == nullptr || !fallback->is_fallthrough())) throw_missing(op_, key);
    left &= ~DispatchKeySet(key).raw();
  }
  throw_missing(op_, DispatchKeySet::from_raw(active).highestPriorityTypeId());
}

// Whether a kernel of the operator's own, or what stands in for it, handles `key`.
bool SlowCall::take(DispatchKey key, uint32_t active) {
  keys_ = active;
  const int slot = slot_of(key);
  MoreKernels* more = load(op_.more);
  DispatchKey name = key;
  if (key == DispatchKey::Autograd) {
    const DispatchKeySet backends = DispatchKeySet::from_raw(active) & kBackendKeys;
    name = autograd_key_of(backends.empty() ? DispatchKey::CPU : backends.highest());
  }
  if (more != nullptr) {
    if (name != key) {
      function_ = load(more->function(name));
      if (function_ != nullptr || take(load(more->kernel(name)), active)) return true;
    }
    const BoxedKernel* own = load(more->kernel(key));
    if (own != nullptr) return take(own, active);
    function_ = load(more->function(key));
  }
  if (slot >= 0 && !has_slots(more)) function_ = load(Slots::of(op_)[slot]);
  if (function_ != nullptr) return true;
  if (kAnyBackends.has(key)) {
    function_ = any_function(op_);
    if (function_ != nullptr) return true;
    if (more != nullptr && take(load(more->kernel(kAnyBackend)), active)) return true;
  }
  const BoxedKernel* fallback = load(g_fallbacks[static_cast<int>(name)]);
  if (fallback == nullptr) fallback = load(g_fallbacks[static_cast<int>(key)]);
  if (take(fallback, active)) return true;
  const bool needed = kDerivativeKeys.has(key) && op_.differentiation != Differentiation::kNone;
  if ((needed || key == DispatchKey::Wrapper) && fallback == nullptr) throw_missing(op_, key);
  return false;
}

bool SlowCall::take(const BoxedKernel* kernel, uint32_t active) {
  if (kernel == nullptr || kernel->is_fallthrough()) return false;
  boxed_ = kernel;
  keys_ = active;
  return true;
}

const Boxing& SlowCall::boxing() const {
  const Boxing* boxing = load(op_.boxing);
  TORCH_CHECK_NOT_IMPLEMENTED(boxing != nullptr, op_.name, ": the handler of ", toString(keys().highestPriorityTypeId()),
                              " takes its arguments on a stack, but the operator's boxed form is not linked; add //aten/ops/",
                              op_.family, ":registry");
  return *boxing;
}

void SlowCall::end_range() {
  // Still set where the derivative's function threw before it called the operator.
  ThreadState& thread = thread_state();
  if (thread.recorded_operator == &op_) thread.recorded_operator = nullptr;
  if (range_ != nullptr) load(g_range_hooks)->end(range_);
}

void set_function(OperatorBase& op, DispatchKey key, ErasedFunction function) {
  MoreKernels& more = more_of(op);
  if (is_composite_name(key) && function != nullptr) {
    op.kernels = key == DispatchKey::CompositeImplicitAutograd ? Kernels::kComposite : Kernels::kAny;
  }
  store(more.function(kept_under(key)), function);
  update_fast_path(op, more);
}

void set_boxed(OperatorBase& op, DispatchKey key, const BoxedKernel* kernel) {
  MoreKernels& more = more_of(op);
  if (is_composite_name(key) && kernel != nullptr) {
    op.kernels = key == DispatchKey::CompositeImplicitAutograd ? Kernels::kComposite : Kernels::kAny;
  }
  store(more.kernel(kept_under(key)), kernel);
  update_fast_path(op, more);
}

ErasedFunction get_function(const OperatorBase& op, DispatchKey key) {
  key = kept_under(key);
  MoreKernels* more = load(op.more);
  if (has_slots(more)) return load(more->function(key));
  if (more != nullptr && kAutocastKeys.has(key)) return load(more->function(key));
  if (key == kAnyBackend) return any_function(op);
  const int slot = slot_of(key);
  const ErasedFunction function = slot >= 0 ? load(Slots::of(op)[slot]) : nullptr;
  return kBackendKeys.has(key) && function == any_function(op) ? nullptr : function;
}

const BoxedKernel* get_boxed(const OperatorBase& op, DispatchKey key) {
  MoreKernels* more = load(op.more);
  return more != nullptr ? load(more->kernel(kept_under(key))) : nullptr;
}

void set_fallback(DispatchKey key, const BoxedKernel* kernel) {
  TORCH_CHECK(key < DispatchKey::EndOfRuntimeKeys || is_autograd_name(key), "there can be no fallback for ", toString(key),
              ", which stands for other keys");
  store(g_fallbacks[static_cast<int>(key)], kernel);
}

const BoxedKernel* get_fallback(DispatchKey key) {
  return load(g_fallbacks[static_cast<int>(key)]);
}

void set_range_hooks(const RangeHooks* hooks) { store(g_range_hooks, hooks); }

void set_observed(OperatorBase& op, bool on) {
  const uint32_t passed = load(op.passed_keys);
  store(op.passed_keys, on ? passed & ~kDirectBackends : passed | kDirectBackends);
}

}  // namespace c10::detail
