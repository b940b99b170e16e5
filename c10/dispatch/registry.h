#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/core/compute_dispatch_key.h"
#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/operator.h"
#include "c10/value/ivalue.h"

namespace at {

/// What is known of an operator beyond its schema, as PyTorch's documents name it.
enum class Tag {
  core,
  cudagraph_unsafe,
  data_dependent_output,
  dynamic_output_shape,
  flexible_layout,
  generated,
  inplace_view,
  maybe_aliasing_or_mutating,
  needs_contiguous_strides,
  needs_exact_strides,
  needs_fixed_stride_order,
  nondeterministic_bitwise,
  nondeterministic_seeded,
  out_variant,
  pointwise,
  pt2_compliant_tag,
  reduction,
  view_copy,
};

}  // namespace at

namespace c10 {

/// What computes the same as an operator from others. The objects are constants of the leaf of decompositions, which
/// registries name by weak symbols. One stands for all forms of an operator: aten/decompositions/decompose.h.
struct Decomposition {
  const OperatorBase& op;
  // Replaces the arguments of `op`, without out= ones, by the results.
  void (*from_stack)(const Decomposition& decomposition, Stack& stack);
};
template <class R, class... A>
struct TypedDecomposition : Decomposition {
  R (*function)(A...);
};

/// What makes an operator callable by name. The objects are constants of the registry leaves.
struct RegisteredOperator {
  const char* schema;
  OperatorBase* op;
  const Boxing* boxing;
  const Decomposition* decomposition = nullptr;
};

template <class Signature>
class TypedOperatorHandle;

/// An operator found by name. Cheap to copy, valid for the life of the program; calls of one whose library was unloaded throw.
class OperatorHandle {
 public:
  explicit OperatorHandle(OperatorEntry& entry) : entry_(&entry) {}
  const FunctionSchema& schema() const;
  bool hasSchema() const { return true; }
  OperatorName operator_name() const;
  OperatorBase& op() const;
  /// Null where the operator's table names none, and in programs that do not link //aten/decompositions.
  const Decomposition* decomposition() const;
  /// What the library that defined it said of it.
  const std::vector<at::Tag>& getTags() const;
  bool hasTag(at::Tag tag) const;
  /// Whether there is a kernel for the key itself; fallbacks do not count.
  bool hasKernelForDispatchKey(DispatchKey key) const;
  bool hasKernelForAnyDispatchKey(DispatchKeySet keys) const;
  /// Whether a call with that backend's key finds a function.
  bool hasComputedKernelForDispatchKey(DispatchKey key) const;

  /// Appends the defaults of the arguments that are missing at the end; too many or too few throw TypeError.
  void fill_defaults(Stack& stack) const;
  /// Replaces the arguments on the stack by the results. Arguments that are missing at the end take their defaults; too many
  /// or too few, and values of the wrong type, throw TypeError that names the operator and the argument.
  void callBoxed(Stack& stack) const;
  void callBoxed(Stack* stack) const { callBoxed(*stack); }
  /// The same, decided by `keys` alone: how a boxed kernel calls on below itself.
  ///
  ///   op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key), stack);
  void redispatchBoxed(DispatchKeySet keys, Stack* stack) const;

  /// The operator with its C++ types, e.g. typed<at::Tensor(const at::Tensor&, double)>(). Throws Error where they are others.
  /// Defined in aten/core/boxing.h.
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const;

  friend bool operator==(const OperatorHandle& a, const OperatorHandle& b) { return a.entry_ == b.entry_; }

 private:
  friend class Dispatcher;
  // Throws unless calls take `boxing`'s signature; makes it so where none is known yet.
  void use_signature(const Boxing& boxing) const;
  OperatorEntry* entry_;
};

template <class R, class... A>
class TypedOperatorHandle<R(A...)> final : public OperatorHandle {
 public:
  explicit TypedOperatorHandle(const OperatorHandle& handle) : OperatorHandle(handle) {}
  /// By the keys of the tensors, and where there is none by the device and layout that TensorOptions ask for.
  R call(A... args) const {
    if constexpr ((detail::AsksForKeys<std::remove_cvref_t<A>> || ...)) {
      if ((uint32_t{0} | ... | detail::keys_of(args)) == 0) return typed_op().call_by_options(std::forward<A>(args)...);
    }
    return typed_op()(std::forward<A>(args)...);
  }
  R operator()(A... args) const { return call(std::forward<A>(args)...); }
  /// Decided by `keys` alone.
  R redispatch(DispatchKeySet keys, A... args) const { return typed_op().redispatch(keys, std::forward<A>(args)...); }

 private:
  const Operator<R(A...)>& typed_op() const { return static_cast<const Operator<R(A...)>&>(op()); }
};

/// Hears of every operator that becomes callable by name, or stops being so.
class OpRegistrationListener {
 public:
  virtual ~OpRegistrationListener() = default;
  virtual void onOperatorRegistered(const OperatorHandle& op) = 0;
  virtual void onOperatorDeregistered(const OperatorHandle& op) = 0;
};

/// Takes back at its end what it was returned for.
class RegistrationHandleRAII {
 public:
  explicit RegistrationHandleRAII(std::function<void()> undo) : undo_(std::move(undo)) {}
  ~RegistrationHandleRAII() {
    if (undo_) undo_();
  }
  RegistrationHandleRAII(RegistrationHandleRAII&& other) noexcept : undo_(std::exchange(other.undo_, nullptr)) {}
  RegistrationHandleRAII& operator=(RegistrationHandleRAII&& other) noexcept {
    std::swap(undo_, other.undo_);
    return *this;
  }

 private:
  std::function<void()> undo_;
};

/// A kernel on its way to an operator: the function and its signature, or a boxed kernel.
struct KernelRegistration {
  std::string op;  // "mine::scale.out"
  DispatchKey key;
  detail::ErasedFunction function = nullptr;  // of the type that `boxing` stands for
  const Boxing* boxing = nullptr;
  std::shared_ptr<const BoxedKernel> boxed;
  // Stands in for all of these where the operator writes to arguments. May be null.
  std::shared_ptr<const BoxedKernel> writing;
  // Throws where the function cannot be called with what the schema says.
  std::function<void(const FunctionSchema&)> check;
};

/// The operators that are linked with a registry leaf (//aten/ops/<family>:registry, or //aten/ops:registry for all) or that
/// the program registered itself. Thread-safe.
///
///   c10::Stack stack{a, b, 1};
///   c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor").callBoxed(stack);
///   at::Tensor sum = stack[0].toTensor();
class Dispatcher {
 public:
  static Dispatcher& singleton();

  std::optional<OperatorHandle> findSchema(const OperatorName& name);
  std::optional<OperatorHandle> findOp(const OperatorName& name) { return findSchema(name); }
  std::optional<OperatorHandle> findSchema(std::string_view name, std::string_view overload_name);
  /// Throws Error where there is none: "Could not find schema for aten::foo. ...".
  OperatorHandle findSchemaOrThrow(std::string_view name, std::string_view overload_name);
  /// The names ("aten::add.Tensor") in alphabetical order.
  std::vector<std::string> getAllOpNames();
  /// The names for which kernels were registered, but which nobody defined.
  std::vector<std::string> findDanglingImpls();
  bool hasBackendFallbackForDispatchKey(DispatchKey key) { return detail::get_fallback(key) != nullptr; }
  /// Keeps the calls of all operators off the fast path, so that observers see them on every thread.
  void setObserved(bool on);

  /// The handle's own calls, under libtorch's names.
  template <class R, class... A>
  R call(const TypedOperatorHandle<R(A...)>& op, std::type_identity_t<A>... args) const {
    return op.call(std::forward<A>(args)...);
  }
  template <class R, class... A>
  R redispatch(const TypedOperatorHandle<R(A...)>& op, DispatchKeySet keys, std::type_identity_t<A>... args) const {
    return op.redispatch(keys, std::forward<A>(args)...);
  }
  void callBoxed(const OperatorHandle& op, Stack* stack) const { op.callBoxed(stack); }
  void redispatchBoxed(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) const { op.redispatchBoxed(keys, stack); }

  /// Calls it for every operator there is and for every later one.
  RegistrationHandleRAII addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener);

  /// Makes operators callable under `ns`. The array lives as long as the program. A name that is taken throws.
  void register_operators(std::string_view ns, const RegisteredOperator* operators, size_t count);
  /// Takes the operators of the array away again.
  void deregister_operators(std::string_view ns, const RegisteredOperator* operators, size_t count);

  /// An operator made at run time, without kernels; `schema` without namespace.
  RegistrationHandleRAII define(std::string ns, std::string schema, std::vector<at::Tag> tags);
  /// A kernel for an operator that exists, or waits for one that will be defined.
  RegistrationHandleRAII implement(KernelRegistration kernel);
  RegistrationHandleRAII fallback(DispatchKey key, std::shared_ptr<const BoxedKernel> kernel);
  /// Reserves a namespace for the one TORCH_LIBRARY block that may name it.
  RegistrationHandleRAII reserve_namespace(std::string ns, std::string where);

 private:
  struct State;
  Dispatcher();
  ~Dispatcher() = delete;
  State* state_;
};

/// Registers a constant array before main.
class OperatorRegistration {
 public:
  template <size_t N>
  OperatorRegistration(const char* ns, const RegisteredOperator (&operators)[N]) {
    Dispatcher::singleton().register_operators(ns, operators, N);
  }
};

namespace detail {
// Has the call's boxed kernel handle what is on the stack.
void call_boxed(const SlowCall& call, Stack& stack);
}  // namespace detail

}  // namespace c10
