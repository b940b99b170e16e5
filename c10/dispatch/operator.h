#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "c10/core/dispatch_key_set.h"
#include "c10/core/thread_state.h"
#include "c10/macros/macros.h"

namespace c10 {

class IValue;
class OperatorEntry;
class OperatorHandle;
struct OperatorBase;

// How an operator's functions relate to the keys.
enum class Kernels : uint8_t {
  kPerBackend,  // a function for each backend that has one
  kAny,         // one function for all backends, below autograd; the CPU and Meta may have their own beside it
  kComposite,   // one function for all backends, above autograd: differentiable because all it calls is
};

// What an operator does where a gradient is recorded or an input has a tangent.
enum class Differentiation : uint8_t {
  kNone,    // nothing of its own: it is composed of others, or its result has no gradient
  kRecord,  // its derivative's function records
  kRefuse,  // it writes into a given tensor (out=), which is an error
};

namespace detail {
class SlowCall;
// A function of some operator's type; it is called as what it is.
using ErasedFunction = void (*)();
// The functions of an operator beyond those that each has room for, e.g. its kernels for sparse tensors; made when the first
// is set, or known when the program is built, for layers (c10/dispatch/more_kernels.h).
struct MoreKernels;
struct Slots;
}  // namespace detail

// A kernel that takes its arguments from a stack and leaves its results there: one function for operators of any type. It
// learns for which operator and with which keys it was called, its own key being the highest.
struct BoxedKernel {
  using Call = void (*)(void* functor, const OperatorHandle& op, DispatchKeySet keys, std::vector<IValue>* stack);
  Call call = nullptr;
  void* functor = nullptr;

  // Has nothing to do: the call goes on to the next key.
  constexpr bool is_fallthrough() const { return call == nullptr; }
};

// What joins calls with typed arguments and calls with arguments on a stack; one constant a signature.
struct Boxing {
  const char* signature;
  // Calls `op` with what is on the stack, which the results replace; decided by `keys` alone where they are given.
  void (*from_stack)(const OperatorBase& op, const DispatchKeySet* keys, std::vector<IValue>& stack);
};
template <class R, class... A>
struct TypedBoxing : Boxing {
  // Has the call's boxed kernel do the work.
  R (*to_stack)(const detail::SlowCall& call, A... args);
};

namespace detail {

inline constexpr uint32_t kDirectBackends =
    DispatchKeySet{DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta}.raw();
inline constexpr uint32_t kBelowAutograd = DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Autograd).raw();

// The keys for which an operator does the same as without them.
constexpr uint32_t passed_keys(Kernels kernels, Differentiation differentiation) {
  uint32_t passed = kDirectBackends;
  if (differentiation == Differentiation::kNone) passed |= kDerivativeKeys.raw();
  if (kernels == Kernels::kComposite) passed |= kBelowAutograd;
  return passed;
}

}  // namespace detail

// What all operators have in common, whatever their signature.
struct OperatorBase {
  const char* name;    // "add.Tensor"
  const char* family;  // "binary", the target //aten/ops/binary
  uint32_t passed_keys;
  Kernels kernels;
  Differentiation differentiation;
  // What the registry adds: null until its leaf is linked.
  const Boxing* boxing = nullptr;
  OperatorEntry* entry = nullptr;
  detail::MoreKernels* more;

  constexpr OperatorBase(const char* op_name, const char* op_family, Kernels kind, Differentiation derivative,
                         detail::MoreKernels* layers, DispatchKeySet taken_keys)
      : name(op_name),
        family(op_family),
        passed_keys(detail::passed_keys(kind, derivative) & ~taken_keys.raw()),
        kernels(kind),
        differentiation(derivative),
        more(layers) {}
};

namespace detail {

// The keys of one argument: those of a tensor, an optional tensor or any sequence of them; none for everything else.
template <class T>
C10_ALWAYS_INLINE uint32_t keys_of(const T& argument) {
  if constexpr (requires { argument.unsafeGetTensorImpl(); }) {
    const auto* impl = argument.unsafeGetTensorImpl();
    return impl != nullptr ? impl->key_set().raw() : 0;
  } else if constexpr (requires { argument->unsafeGetTensorImpl(); argument.has_value(); }) {
    return argument.has_value() ? keys_of(*argument) : 0;
  } else if constexpr (requires { argument.begin()->unsafeGetTensorImpl(); } ||
                       requires { (*argument.begin())->unsafeGetTensorImpl(); }) {
    uint32_t keys = 0;
    for (const auto& element : argument) keys |= keys_of(element);
    return keys;
  } else {
    return 0;
  }
}

// TensorOptions, which ask for a device and a layout.
template <class T>
concept AsksForKeys = requires(const T& argument) { factory_keys(argument); };

// The keys that TensorOptions ask for; none for other arguments.
template <class T>
uint32_t factory_keys_of(const T& argument) {
  if constexpr (AsksForKeys<T>) {
    return factory_keys(argument);
  } else {
    return 0;
  }
}

// One call off the fast path: finds who handles it, a function of the operator's own type or a boxed kernel. A profiler's range
// lasts as long as the object.
class SlowCall {
 public:
  // Decided by `keys` alone (redispatch), or also by what the thread includes and excludes.
  SlowCall(const OperatorBase& op, uint32_t keys, bool with_thread);
  ~SlowCall() {
    if (C10_UNLIKELY(observed_)) end_range();
  }
  SlowCall(const SlowCall&) = delete;
  SlowCall& operator=(const SlowCall&) = delete;

  const OperatorBase& op() const { return op_; }
  // Null where a boxed kernel handles the call.
  ErasedFunction function() const { return function_; }
  const BoxedKernel* boxed() const { return boxed_; }
  // The keys that are left for the handler, its own being the highest.
  DispatchKeySet keys() const { return DispatchKeySet::from_raw(keys_); }
  // Throws where the operator's boxed form is not linked.
  const Boxing& boxing() const;

 private:
  bool open_range(uint32_t active);
  void find(uint32_t active);
  void find_backend(uint32_t active);
  bool take(DispatchKey key, uint32_t active);
  bool take(const BoxedKernel* kernel, uint32_t active);
  void end_range();

  const OperatorBase& op_;
  ErasedFunction function_ = nullptr;
  const BoxedKernel* boxed_ = nullptr;
  void* range_ = nullptr;
  uint32_t keys_ = 0;
  bool observed_ = false;
};

// The kernels of an operator by key, whatever its signature; nullptr takes one away. The names CompositeImplicitAutograd and
// CompositeExplicitAutograd stand for the function of all backends. Plug-ins and user-registered kernels come through
// torch::Library. Not to be called by two threads at once; calls may go on meanwhile.
void set_function(OperatorBase& op, DispatchKey key, ErasedFunction function);
void set_boxed(OperatorBase& op, DispatchKey key, const BoxedKernel* kernel);
ErasedFunction get_function(const OperatorBase& op, DispatchKey key);
const BoxedKernel* get_boxed(const OperatorBase& op, DispatchKey key);
// What handles a key for all operators that have no kernel of their own for it.
void set_fallback(DispatchKey key, const BoxedKernel* kernel);
const BoxedKernel* get_fallback(DispatchKey key);

// Ranges around calls: those of threads that include DispatchKey::Profiler, and all calls of operators that set_observed()
// keeps off the fast path. Installed by whoever observes operators.
struct RangeHooks {
  // Whether arguments and results are wanted; then `boxed` handles the call.
  bool (*wants_values)();
  const BoxedKernel* boxed;
  void* (*begin)(const OperatorBase& op);
  void (*end)(void* range) noexcept;
};
void set_range_hooks(const RangeHooks* hooks);
void set_observed(OperatorBase& op, bool on);

}  // namespace detail

// An operator: its name and one function pointer for each common backend and for autograd. Operators are
// constant-initialised globals of their family's library, so that an operator's symbol is its own link dependency and
// nothing runs before main. Slots are read and filled (by plug-ins) with relaxed atomics.
//
// A call takes the keys of the tensor arguments and of the thread. If no layer (autograd, autocast, ...) and no other backend
// has anything to do, which is one mask test, it goes to the backend's function; where only gradients are recorded, to the
// derivative's; else to the highest key that has a handler, which calls on below itself.
template <class Signature>
class Operator;

template <class R, class... A>
class Operator<R(A...)> : public OperatorBase {
 public:
  using Function = R (*)(A...);

  // The functions known when the program is built, by name:
  //   {.cpu = &add_cpu, .meta = &add_meta, .autograd = &autograd_kernels::add}
  struct Functions {
    Function cpu = nullptr;
    Function cuda = nullptr;
    Function meta = nullptr;
    Function autograd = nullptr;
    Function forward = nullptr;
  };

  // `taken_keys`: keys that operators of this kind pass on, but for which `layers` has a function.
  constexpr Operator(const char* op_name, const char* op_family, Kernels kernels, Differentiation differentiation,
                     Functions functions, detail::MoreKernels* layers = nullptr, DispatchKeySet taken_keys = {})
      : OperatorBase(op_name, op_family, kernels, differentiation, layers, taken_keys),
        slots_{functions.cpu, functions.cuda, functions.meta, functions.autograd, functions.forward} {}

  C10_ALWAYS_INLINE R operator()(A... args) const {
    return call((uint32_t{0} | ... | detail::keys_of(args)), std::forward<A>(args)...);
  }

  // A call of known keys, for operators whose arguments carry none (factories).
  C10_ALWAYS_INLINE R call(uint32_t keys, A... args) const {
    const ThreadState& thread = thread_state();
    const uint32_t active = (keys | thread.included.raw()) & ~thread.excluded.raw() &
                            ~__atomic_load_n(&passed_keys, __ATOMIC_RELAXED);
    Function function = nullptr;
    if (C10_LIKELY(active == 0)) {
      function = __atomic_load_n(&slots_[31 - __builtin_clz((keys & detail::kDirectBackends) | 1)], __ATOMIC_RELAXED);
    } else if (active == kAutogradKey.raw()) {
      function = __atomic_load_n(&slots_[kAutogradSlot], __ATOMIC_RELAXED);
    }
    if (C10_UNLIKELY(function == nullptr)) return slow_call(std::forward<A>(args)..., *this, keys, true);
    return function(std::forward<A>(args)...);
  }

  // A call that makes a tensor by its TensorOptions, of whatever device and layout.
  R call_by_options(A... args) const { return factory_call(std::forward<A>(args)..., *this); }

  // A call that only `keys` decide, whatever the thread includes or excludes: how a handler calls on below itself.
  R redispatch(DispatchKeySet keys, A... args) const {
    return slow_call(std::forward<A>(args)..., *this, keys.raw(), false);
  }

 private:
  friend struct detail::Slots;
  static constexpr int kAutogradSlot = 3;

  // What it needs comes after the arguments, so that these stay in their registers on the fast path.
  [[gnu::cold]] C10_NOINLINE static R slow_call(A... args, const Operator& op, uint32_t keys, bool with_thread) {
    const detail::SlowCall call(op, keys, with_thread);
    if (call.function() != nullptr) return reinterpret_cast<Function>(call.function())(std::forward<A>(args)...);
    return static_cast<const TypedBoxing<R, A...>&>(call.boxing()).to_stack(call, std::forward<A>(args)...);
  }

  [[gnu::cold]] C10_NOINLINE static R factory_call(A... args, const Operator& op) {
    return op.call((uint32_t{0} | ... | detail::factory_keys_of(args)), std::forward<A>(args)...);
  }

  Function slots_[5];  // CPU, CUDA, Meta, Autograd, ForwardAD
};

}  // namespace c10
