#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"
#include "autograd/engine/saved_variable.h"
#include "autograd/function/batching.h"
#include "c10/core/grad_mode.h"
#include "c10/value/ivalue.h"

namespace torch::autograd {

class CustomNode;
using IndexRange = std::pair<size_t, size_t>;

// A few tensors, found by their address.
class TensorImplSet {
 public:
  void insert(c10::TensorImpl* impl) {
    if (count(impl) == 0) impls_.push_back(impl);
  }
  size_t count(const c10::TensorImpl* impl) const {
    for (const c10::TensorImpl* other : impls_) {
      if (other == impl) return 1;
    }
    return 0;
  }
  size_t size() const { return impls_.size(); }
  void clear() { impls_.clear(); }
  auto begin() const { return impls_.begin(); }
  auto end() const { return impls_.end(); }

 private:
  std::vector<c10::TensorImpl*> impls_;
};

// What a Function's forward hands to its backward. Made by Function::apply, one a call.
class AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  // Anything that is no tensor of the graph; tensors saved here are not checked and may form cycles.
  std::unordered_map<std::string, at::IValue> saved_data;

  // Keeps inputs, results or other tensors for backward. To be called at most once, in forward.
  void save_for_backward(variable_list to_save);
  // Keeps tensors for jvp. To be called at most once, in forward or setup_context.
  void save_for_forward(variable_list to_save);
  // In backward: the tensors saved for it, in order. Throws where one was modified in place since, or was freed already. In
  // jvp: those saved for forward.
  variable_list get_saved_variables() const;

  // In forward: these inputs were modified in place; each must be returned.
  void mark_dirty(const variable_list& inputs);
  // In forward: these results have no gradient.
  void mark_non_differentiable(const variable_list& outputs);
  // Whether backward gets zeros (default) or undefined tensors for results that nothing used, and jvp for arguments that have
  // no tangent.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }

  // Whether the gradient of forward's argument `input_index` (context not counted) is wanted, or of any in
  // the ranges [first, last).
  bool needs_input_grad(size_t input_index) const;
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;

  const TensorImplSet& get_and_bump_dirty() const;
  const TensorImplSet& get_non_differentiable() const { return non_differentiable_; }

 private:
  friend class CustomNode;

  TensorImplSet non_differentiable_;
  TensorImplSet dirty_inputs_;
  std::vector<SavedVariable> saved_variables_;
  variable_list to_save_;
  variable_list saved_for_forward_;
  bool materialize_grads_ = true;
  bool in_jvp_ = false;
  // Its owner.
  CustomNode* node_ = nullptr;
};

// The node of a Function: everything that does not depend on the user's type. It records tensors in memory. Inside of
// vmap, forward, backward and jvp compute with the tensors of a sample that these hold.
class CustomNode : public Node {
 public:
  // `transformable`: vmap may call what the node calls with batched tensors, in backward inside of levels of its own.
  explicit CustomNode(bool transformable = false);
  ~CustomNode() override;
  AutogradContext& context() { return ctx_; }
  void release_variables() override;
  void keep_past_of(const c10::TensorImpl& t) override;

  // Notes an argument of forward.
  void add_argument(const at::Tensor& t);
  void add_argument(const std::optional<at::Tensor>& t) { t.has_value() ? add_argument(*t) : add_other(); }
  void add_argument(at::TensorList tensors);
  void add_argument(const variable_list& tensors) { add_argument(at::TensorList(tensors)); }
  void add_other() { is_tensor_.push_back(false); }

  // Where some vmap has a batched argument: at the innermost of these levels until the end of the scope. Null outside
  // of vmap.
  std::unique_ptr<detail::Batching::Scope> at_level() const;
  // Whether an argument is batched at the level that the thread is at.
  bool is_batched() const;
  // Throws Error where one is: the Function says nothing of vmap.
  void refuse_batched() const;
  // Where the samples of that level stand in each argument, lists flattened.
  VmapDims argument_dims() const;

  // Whether the call is to be recorded; to be asked after the arguments are noted.
  bool is_recorded() const { return recorded_; }
  // Whether an argument has a tangent: forward is to ignore it, and finish() calls jvp.
  bool has_tangents() const { return !tangents_.empty(); }
  void start();
  // Gives the results their history and saves what forward asked to.
  variable_list finish(variable_list outputs);

  bool needs(size_t argument) const;

 protected:
  variable_list apply(variable_list&& grads) override;
  virtual variable_list run_backward(AutogradContext* ctx, variable_list grads) = 0;
  virtual bool has_jvp() const { return false; }
  virtual variable_list run_jvp(AutogradContext* /*ctx*/, variable_list /*tangents*/) { return {}; }
  using Run = variable_list (*)(CustomNode& self, variable_list grads);
  // `run`, with the gradients of samples where the call was inside of vmap.
  variable_list run_at_levels(variable_list grads, Run run);
  // The same unrecorded; differentiating its results throws.
  variable_list run_once_differentiable(const variable_list& grads, Run run);

 private:
  friend class AutogradContext;
  // What a call inside of vmap keeps: its levels, and where the samples stand in the tensors.
  struct Batch;

  void note_tangents();
  void set_tangents(variable_list& outputs);
  void save(const at::Tensor& t, const variable_list& outputs);
  at::Tensor at_levels_of_run(at::Tensor saved, size_t place) const;

  AutogradContext ctx_;
  std::unique_ptr<Batch> batch_;
  const bool transformable_;
  std::vector<bool> is_tensor_;  // by argument, lists flattened
  variable_list inputs_;         // of the running call, in memory
  variable_list tangents_;       // of these, where one has any
  int tangent_level_ = 0;        // what these are tangents of
  bool recorded_ = false;
};

// Where `some`, operators ignore tangents until the end of the scope.
class IgnoreTangents {
 public:
  explicit IgnoreTangents(bool some) {
    if (some) guard_.emplace(c10::kForwardKey);
  }

 private:
  std::optional<c10::ExcludeDispatchKeyGuard> guard_;
};

namespace detail {

template <class T>
constexpr bool is_once_differentiable() {
  if constexpr (requires { T::once_differentiable; }) {
    return T::once_differentiable;
  } else {
    return false;
  }
}
template <class T>
constexpr bool generates_vmap_rule() {
  if constexpr (requires { T::generate_vmap_rule; }) {
    return T::generate_vmap_rule;
  } else {
    return false;
  }
}

// Arguments as vmap() of a Function gets them: what lies behind those that are batched.
inline at::Tensor behind(const at::Tensor& t) { return t.defined() ? batching().behind(t) : t; }
inline std::optional<at::Tensor> behind(const std::optional<at::Tensor>& t) {
  return t.has_value() ? std::optional(behind(*t)) : std::nullopt;
}
variable_list behind(at::TensorList tensors);
inline variable_list behind(const variable_list& tensors) { return behind(at::TensorList(tensors)); }
template <class Arg>
const Arg& behind(const Arg& arg) {
  return arg;
}
// And its results as those of a sample. Throw Error where the dimensions are not those of as many results.
at::Tensor batched_result(const at::Tensor& output, std::optional<int64_t> dim);
variable_list batched_result(const variable_list& outputs, const VmapDims& dims);

}  // namespace detail

template <class T>
class CppNode final : public CustomNode {
 public:
  CppNode() : CustomNode(detail::generates_vmap_rule<T>()) {}

 protected:
  variable_list run_backward(AutogradContext* /*ctx*/, variable_list grads) override {
    const Run run = [](CustomNode& self, variable_list given) {
      return T::backward(&self.context(), std::move(given));
    };
    if constexpr (detail::is_once_differentiable<T>()) {
      return run_once_differentiable(grads, run);
    } else {
      return run_at_levels(std::move(grads), run);
    }
  }
  bool has_jvp() const override {
    return requires(AutogradContext* ctx, variable_list tangents) { T::jvp(ctx, tangents); };
  }
  variable_list run_jvp(AutogradContext* ctx, variable_list tangents) override {
    if constexpr (requires { T::jvp(ctx, tangents); }) {
      return as_list(T::jvp(ctx, std::move(tangents)));
    } else {
      return {};
    }
  }

 private:
  static variable_list as_list(variable_list tangents) { return tangents; }
  static variable_list as_list(at::Tensor tangent) { return {std::move(tangent)}; }
};

/// An operation with a derivative of one's own: T has a static forward, `forward(AutogradContext*, args...)`, or
/// `forward(args...)` with `setup_context(AutogradContext*, std::tuple<args...> inputs, output)`, that returns a tensor
/// or a variable_list, and a static `backward(AutogradContext*, variable_list grads)` that returns a gradient an
/// argument, undefined for what is no tensor. What else T may have:
///
/// - `static variable_list jvp(AutogradContext*, variable_list tangents)`, for forward mode: a tangent a result.
/// - `static constexpr bool once_differentiable = true`: second derivatives throw Error.
/// - `static constexpr bool generate_vmap_rule = true`: forward, backward and jvp are made of operators and other
///   Functions, so that vmap may call them with the tensors of a sample. These methods must not use tensors that are
///   neither arguments nor saved for backward.
/// - `static std::pair<output, dims> vmap(VmapInfo, VmapDims in_dims, args...)` in its place: what vmap calls, with a
///   dimension of the samples at in_dims[i] of argument i (lists count tensor by tensor). `dims` is an
///   std::optional<int64_t> for a tensor, VmapDims for a list: where the samples stand in the results, nullopt where
///   all have the same.
///
///   struct Cube : Function<Cube> {
///     static constexpr bool generate_vmap_rule = true;
///     static Tensor forward(AutogradContext* ctx, const Tensor& x) {
///       ctx->save_for_backward({x});
///       return x * x * x;
///     }
///     static variable_list backward(AutogradContext* ctx, variable_list grads) {
///       const Tensor x = ctx->get_saved_variables()[0];
///       return {grads[0] * 3 * x * x};
///     }
///   };
///   Tensor y = Cube::apply(x);
template <class T>
class Function {
 public:
  /// Throws what forward throws, Error inside of a vmap that T says nothing of, and where T says both or vmap's results
  /// have other dims; NotImplementedError where an argument has a tangent and T no jvp.
  template <class X = T, class... Args>
  static auto apply(Args&&... args) {
    auto node = c10::make_intrusive<CppNode<T>>();
    (note(*node, args), ...);
    const auto level = node->at_level();
    constexpr bool kHasVmap = requires(VmapInfo info, VmapDims dims) {
      X::vmap(info, dims, detail::behind(std::as_const(args))...);
    };
    constexpr bool kGenerates = detail::generates_vmap_rule<T>();
    static_assert(!kHasVmap || !kGenerates, "a Function has either vmap() or generate_vmap_rule");
    const auto recorded = [&] {
      node->start();
      const auto run = [&] {
        c10::AutoGradMode no_recording(false);
        const IgnoreTangents ignored(node->has_tangents());
        AutogradContext* ctx = &node->context();
        if constexpr (requires { X::setup_context(ctx, inputs_of(args...), X::forward(args...)); }) {
          auto output = X::forward(args...);
          X::setup_context(ctx, inputs_of(args...), output);
          return output;
        } else {
          return X::forward(ctx, std::forward<Args>(args)...);
        }
      };
      using Result = std::decay_t<decltype(run())>;
      if constexpr (std::is_same_v<Result, at::Tensor>) {
        return std::move(node->finish({run()})[0]);
      } else {
        static_assert(std::is_same_v<Result, variable_list>, "forward returns a Variable or a variable_list");
        return node->finish(run());
      }
    };
    if constexpr (kHasVmap) {
      return node->is_batched() ? vmapped<X>(*node, std::as_const(args)...) : recorded();
    } else {
      if constexpr (!kGenerates) node->refuse_batched();
      return recorded();
    }
  }

 private:
  template <class... Args>
  static std::tuple<std::decay_t<Args>...> inputs_of(const Args&... args) {
    return {args...};
  }
  template <class Arg>
  static void note(CustomNode& node, const Arg& arg) {
    if constexpr (requires { node.add_argument(arg); }) {
      node.add_argument(arg);
    } else {
      node.add_other();
    }
  }
  template <class X, class... Args>
  static auto vmapped(const CustomNode& node, const Args&... args) {
    const auto [output, dims] = [&] {
      const VmapInfo info = detail::batching().levels().back();
      const VmapDims in_dims = node.argument_dims();
      const std::tuple behind(detail::behind(args)...);
      const auto outside = detail::batching().outside();
      return std::apply([&](const auto&... arg) { return X::vmap(info, in_dims, arg...); }, behind);
    }();
    return detail::batched_result(output, dims);
  }
};

}  // namespace torch::autograd
