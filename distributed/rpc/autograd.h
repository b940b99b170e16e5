// Gradients through remote calls.
//
//   torch::distributed::autograd::context context;                                // what follows is recorded
//   at::Tensor y = rpc_sync<at::Tensor>("worker1", "layer", {x});
//   torch::distributed::autograd::backward(context.id(), {loss(y)});
//   at::Tensor g = torch::distributed::autograd::get_gradients(context.id()).at(w);   // of a leaf of this worker
//
// Calls that are made in a context are recorded on both sides, and so are those that the called function makes.
// backward() takes gradients back the same way. They are kept in the context on the worker that has the leaf, not in
// its grad(), so that many contexts may go on at once. A context ends everywhere with its guard.
//
// As PyTorch's FAST mode, backward() takes it that all tensors that were sent in the context take part in the loss.
// Where a gradient has come in part, and the rest would come through a tensor that was sent and not used, backward() on
// the worker that calls it, and get_gradients() on the others, throw.
#pragma once

#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"

namespace torch::distributed::autograd {

/// A context, of the calling thread from here to the end of its scope. Throws c10::Error where the thread has one
/// already, or where init_rpc was not called.
class context {
 public:
  context();
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  int64_t id() const { return id_; }

 private:
  int64_t id_;
};

/// Computes the gradients of the sum of `roots` on all workers that took part, and returns when they are there. Each
/// root is a tensor of one element that requires a gradient (else c10::ValueError). Saved tensors are freed unless
/// `retain_graph`. Gradients of several calls add up. Throws what a node throws on any worker, with the worker's name,
/// and c10::DistNetworkError where a worker does not answer within the timeout of the options.
void backward(int64_t context_id, const std::vector<at::Tensor>& roots, bool retain_graph = false);

/// backward() by libtorch's name.
class DistEngine {
 public:
  static DistEngine& getInstance();
  void execute(int64_t context_id, const std::vector<at::Tensor>& roots, bool retain_graph) {
    backward(context_id, roots, retain_graph);
  }
};

/// The gradients of this worker's leaves, by leaf. Throws c10::Error where there is no such context, or where gradients
/// are not whole (see above).
c10::Dict<at::Tensor, at::Tensor> get_gradients(int64_t context_id);

}  // namespace torch::distributed::autograd
