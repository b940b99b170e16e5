#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
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

// The node of a Function: everything that does not depend on the user's type.
class CustomNode : public Node {
 public:
  CustomNode();
  AutogradContext& context() { return ctx_; }
  void release_variables() override;
  void keep_past_of(const c10::TensorImpl& t) override;

  // Notes an argument of forward.
  void add_argument(const at::Tensor& t);
  void add_argument(const std::optional<at::Tensor>& t) { t.has_value() ? add_argument(*t) : add_other(); }
  void add_argument(at::TensorList tensors);
  void add_argument(const variable_list& tensors) { add_argument(at::TensorList(tensors)); }
  void add_other() { is_tensor_.push_back(false); }

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
  // `run` unrecorded; differentiating its results throws.
  variable_list run_once_differentiable(
      const variable_list& grads, variable_list (*run)(CustomNode& self, variable_list grads));

 private:
  void note_tangents();
  void set_tangents(const variable_list& outputs);
  void save(const at::Tensor& t, const variable_list& outputs);

  AutogradContext ctx_;
  std::vector<bool> is_tensor_;  // by argument, lists flattened
  variable_list inputs_;         // of the running call
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

template <class T>
class CppNode final : public CustomNode {
 protected:
  variable_list run_backward(AutogradContext* ctx, variable_list grads) override {
    if constexpr (is_once_differentiable()) {
      return run_once_differentiable(grads, [](CustomNode& self, variable_list given) {
        return T::backward(&self.context(), std::move(given));
      });
    } else {
      return T::backward(ctx, std::move(grads));
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
  static constexpr bool is_once_differentiable() {
    if constexpr (requires { T::once_differentiable; }) {
      return T::once_differentiable;
    } else {
      return false;
    }
  }
  static variable_list as_list(variable_list tangents) { return tangents; }
  static variable_list as_list(at::Tensor tangent) { return {std::move(tangent)}; }
};

template <class T>
class Function {
 public:
  template <class X = T, class... Args>
  static auto apply(Args&&... args) {
    auto node = c10::make_intrusive<CppNode<T>>();
    (note(*node, args), ...);
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
};

}  // namespace torch::autograd
