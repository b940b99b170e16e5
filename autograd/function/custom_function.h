#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
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
  // In backward: the tensors saved, in order. Throws where one was modified in place since, or was freed already.
  variable_list get_saved_variables() const;

  // In forward: these inputs were modified in place; each must be returned.
  void mark_dirty(const variable_list& inputs);
  // In forward: these results have no gradient.
  void mark_non_differentiable(const variable_list& outputs);
  // Whether backward gets zeros (default) or undefined tensors for results that nothing used.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }

  // In backward: whether the gradient of forward's argument `input_index` (context not counted) is wanted, or of any in
  // the ranges [first, last).
  bool needs_input_grad(size_t input_index) const;
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;

  const std::unordered_set<c10::TensorImpl*>& get_and_bump_dirty() const;
  const std::unordered_set<c10::TensorImpl*>& get_non_differentiable() const { return non_differentiable_; }

 private:
  friend class CustomNode;

  std::unordered_set<c10::TensorImpl*> non_differentiable_;
  std::unordered_set<c10::TensorImpl*> dirty_inputs_;
  std::vector<SavedVariable> saved_variables_;
  variable_list to_save_;
  bool materialize_grads_ = true;
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
  void start();
  // Gives the results their history and saves what forward asked to.
  variable_list finish(variable_list outputs);

  bool needs(size_t argument) const;

 protected:
  variable_list apply(variable_list&& grads) override;
  virtual variable_list run_backward(AutogradContext* ctx, variable_list grads) = 0;

 private:
  AutogradContext ctx_;
  std::vector<bool> is_tensor_;  // by argument, lists flattened
  variable_list inputs_;         // of the running call
  bool recorded_ = false;
};

template <class T>
class CppNode final : public CustomNode {
 protected:
  variable_list run_backward(AutogradContext* ctx, variable_list grads) override {
    return T::backward(ctx, std::move(grads));
  }
};

// An operation with a gradient of the user's own. Derive from Function<Self> and define
//   static Variable | variable_list forward(AutogradContext* ctx, arguments...);
//   static variable_list backward(AutogradContext* ctx, variable_list grad_outputs);
// backward returns one gradient an argument of forward, undefined tensors for those that are no tensors or need none. Tensor,
// std::optional<Tensor>, TensorList and std::vector<Tensor> arguments are differentiable. Forward runs unrecorded.
//
//   struct Square : torch::autograd::Function<Square> {
//     static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x) {
//       ctx->save_for_backward({x});
//       return x * x;
//     }
//     static variable_list backward(AutogradContext* ctx, variable_list grads) {
//       return {grads[0] * 2 * ctx->get_saved_variables()[0]};
//     }
//   };
//   auto y = Square::apply(x);
template <class T>
class Function {
 public:
  template <class X = T, class... Args>
  static auto apply(Args&&... args)
      -> std::decay_t<decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<Args>(args)...))> {
    using Result = std::decay_t<decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<Args>(args)...))>;
    auto node = c10::make_intrusive<CppNode<T>>();
    (note(*node, args), ...);
    node->start();
    const auto forward = [&] {
      c10::AutoGradMode no_recording(false);
      return X::forward(&node->context(), std::forward<Args>(args)...);
    };
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return std::move(node->finish({forward()})[0]);
    } else {
      static_assert(std::is_same_v<Result, variable_list>, "forward returns a Variable or a variable_list");
      return node->finish(forward());
    }
  }

 private:
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
