#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "autograd/engine/node.h"
#include "autograd/engine/saved_variable.h"

namespace torch::autograd {

class GenericNode;

// What sets one operator's node apart from another's; one constexpr object an operator.
//
// `apply` reads node.num_inputs() gradients of the results and writes node.num_outputs() gradients, one an edge; it skips
// those for which node.needs(i) is false. A gradient of a result that nothing used is undefined; `apply` is never called
// with all of them undefined. A gradient that it writes may have any shape that broadcasts from the input's, any dtype of
// the same kind, and be complex for a real input: the engine sums, casts and takes the real part. Undefined means zero.
// `drop` destroys the extra blob; null where it is trivially destructible or absent.
struct NodeKind {
  const char* name;
  void (*apply)(GenericNode& node, const at::Tensor* grad_outputs, at::Tensor* grad_inputs);
  void (*drop)(void* extra);
};

// How many of what a node carries.
struct NodeShape {
  uint32_t edges = 0;        // differentiable arguments; each element of a tensor list counts
  uint32_t saved = 0;        // tensors kept
  uint32_t results = 1;      // forward results; each element of a list counts
  uint32_t extra_bytes = 0;  // of other values kept (alignment up to 16)
};

// The node of every generated derivative: header, edges, result metadata, saved tensors and other values in one pooled
// block.
//
//   auto node = GenericNode::make(kMulTensor, {.edges = 2, .saved = 2});
//   node->set_edge(0, self);
//   node->set_edge(1, other);
//   if (node->needs(1)) node->save(0, self);
//   if (node->needs(0)) node->save(1, other);
class GenericNode final : public Node {
 public:
  using Ptr = c10::intrusive_ptr<GenericNode>;

  static Ptr make(const NodeKind& kind, NodeShape shape);

  // Makes edge `i` lead to where the gradient of `t` goes; nothing for a tensor that requires none or is undefined.
  void set_edge(size_t i, const at::Tensor& t);
  bool needs(size_t i) const noexcept { return edges_[i].is_valid(); }

  void save(size_t i, const at::Tensor& t) { saved_[i].save(t); }
  void save_output(size_t i, const at::Tensor& result, uint32_t output_nr) { saved_[i].save_output(result, output_nr); }
  // The tangent of result `output_nr`, where that is kept.
  void set_output_tangent(uint32_t output_nr, const at::Tensor& tangent) {
    for (uint32_t i = 0; i < num_saved_; ++i) saved_[i].set_output_tangent(output_nr, tangent);
  }
  // The i-th saved tensor, undefined where none was; throws where it was modified since or was freed. Bind it as
  //   const SavedRef self_ref = node.saved(0);  const Tensor& self = self_ref;
  SavedRef saved(size_t i) { return saved_[i].get(this); }
  uint32_t num_saved() const noexcept { return num_saved_; }

  // The other kept values: constructed once after make(), destroyed by NodeKind::drop.
  template <class Extra, class... Args>
  Extra& emplace_extra(Args&&... args) {
    static_assert(alignof(Extra) <= 16);
    Extra* extra = ::new (extra_) Extra{std::forward<Args>(args)...};
    has_extra_ = true;
    return *extra;
  }
  template <class Extra>
  Extra& extra() noexcept {
    return *std::launder(reinterpret_cast<Extra*>(extra_));
  }
  // For NodeKind::drop.
  template <class Extra>
  static void drop_extra(void* extra) {
    static_cast<Extra*>(extra)->~Extra();
  }

  // grads[i], or zeros of the result's shape where it is undefined.
  at::Tensor grad_or_zeros(const at::Tensor* grads, size_t i) const {
    return grads[i].defined() ? grads[i] : metadata_[i].zeros();
  }

  // Called once by set_history for each result, in order.
  void set_result_metadata(uint32_t i, const at::Tensor& result) { metadata_[i].set(result); }

  std::string name() const override;
  void release_variables() override;
  void keep_past_of(const c10::TensorImpl& t) override;
  void evaluate(at::Tensor* grad_inputs_of_node, at::Tensor* grad_outputs_of_node) override {
    kind_->apply(*this, grad_inputs_of_node, grad_outputs_of_node);
  }
  const NodeKind& kind() const noexcept { return *kind_; }
  ~GenericNode() override;

 private:
  GenericNode(const NodeKind& kind, NodeShape shape, uint32_t block_bytes, char* block) noexcept;

  const NodeKind* kind_;
  SavedVariable* saved_;
  void* extra_;
  uint32_t num_saved_;
  bool has_extra_ = false;
};

}  // namespace torch::autograd
