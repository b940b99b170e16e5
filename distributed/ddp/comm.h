// What data-parallel training sends: tensors from one rank to all, and gradients by buckets and hooks.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"
#include "c10/value/ivalue.h"
#include "distributed/process_group/process_group.h"

namespace c10d {

/// The group, or, where none is given, the default group. Throws, in the name of `operation`, where there is none.
c10::intrusive_ptr<ProcessGroup> group_or_default(c10::intrusive_ptr<ProcessGroup> group, const char* operation);

/// Where numbers of the host are sent from: the host, where the group has a backend of CPU tensors, or else the first
/// type of device that it has one for.
c10::Device device_of_messages(const ProcessGroup& process_group);

/// Gives the tensors of rank `rank` to all ranks of the group, in place. Tensors of one dtype and device travel
/// together, at most `buffer_size` bytes at a time (a tensor that is larger travels alone), and two such messages are
/// on their way at once. Every rank calls it with tensors of the same sizes and dtypes in the same order.
void broadcast_coalesced(const c10::intrusive_ptr<ProcessGroup>& process_group, at::TensorList tensors,
                         size_t buffer_size, int rank = 0);

/// The sum over all ranks of a sparse tensor (COO, of any numbers of elements), coalesced. Waits for it.
at::Tensor all_reduce_sparse(const c10::intrusive_ptr<ProcessGroup>& process_group, const at::Tensor& tensor);

/// Gradients that are reduced together, as a hook sees them.
class GradBucket {
 public:
  /// `tensor` holds the gradient of parameters[i] from offsets[i] on, lengths[i] elements of the sizes sizes_vec[i]. Of
  /// a sparse gradient, which is alone in its bucket, it is that gradient.
  explicit GradBucket(size_t index, size_t bucket_count, at::Tensor tensor, std::vector<size_t> offsets,
                      std::vector<size_t> lengths, std::vector<c10::IntArrayRef> sizes_vec,
                      std::vector<at::Tensor> parameters, std::optional<at::Tensor> sparse_grad_indices = std::nullopt)
      : index_(index),
        bucket_count_(bucket_count),
        buffer_(std::move(tensor)),
        offsets_(std::move(offsets)),
        lengths_(std::move(lengths)),
        sizes_vec_(std::move(sizes_vec)),
        parameters_(std::move(parameters)),
        sparse_grad_indices_(std::move(sparse_grad_indices)) {}

  /// Buckets are reduced in the order of their numbers.
  size_t getIndex() const { return index_; }
  /// All gradients of the bucket, one after the other: one dimension.
  const at::Tensor& getBuffer() const { return buffer_; }
  at::Tensor& getBufferRef() { return buffer_; }
  void setBuffer(at::Tensor& buffer) { buffer_ = buffer; }
  /// Views of the buffer, one a parameter, of the parameter's sizes.
  std::vector<at::Tensor> getGradients() const;
  std::vector<at::Tensor> getParameters() const { return parameters_; }
  /// Whether no bucket comes after it in this backward pass.
  bool isLast() const { return index_ + 1 == bucket_count_; }
  std::optional<at::Tensor>& getSparseGradIndices() { return sparse_grad_indices_; }

 private:
  size_t index_;
  size_t bucket_count_;
  at::Tensor buffer_;
  std::vector<size_t> offsets_;
  std::vector<size_t> lengths_;
  std::vector<c10::IntArrayRef> sizes_vec_;
  std::vector<at::Tensor> parameters_;
  std::optional<at::Tensor> sparse_grad_indices_;
};

/// How the ranks' gradients become one. Called once for each bucket and backward pass, on all ranks in the same order,
/// when the bucket's gradients are there; gradients are as backward made them, so a hook that wants their mean divides
/// by the number of ranks itself.
///
/// Collectives must be started by runHook() itself: a callback of a future runs on a thread of the process group at a
/// time that differs from rank to rank, and what it starts would not come in one order. PowerSGDCommHook shows how
/// several rounds are done. Callbacks must not own the process group, which they could be the last to let go of.
class CommHookInterface {
 public:
  virtual ~CommHookInterface() = default;

  /// Starts the reduction. The future is of the reduced buffer (a tensor, or a list of one) of the bucket's size and
  /// dtype; the bucket's own buffer may be that tensor. Backward waits for it.
  virtual c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) = 0;

  /// Called at the end of each backward pass, after the last bucket and before futures are waited for: for hooks that
  /// have several rounds, to do those that are left.
  virtual void finishRounds() {}

  /// The tensor in what the future gave.
  virtual at::Tensor parseHookResult(const c10::IValue& result) = 0;
};

namespace detail {
/// A tensor, or the only one of a list. Throws for anything else.
at::Tensor parseCppCommHookResult(const c10::IValue& result);
}  // namespace detail

/// A hook with a state: derive from it and write runHook().
///
///   struct Half : c10d::CppCommHookInterface<double> {
///     using CppCommHookInterface::CppCommHookInterface;
///     c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
///   };
///   ddp->register_comm_hook(std::make_unique<Half>(0.5));
template <typename T>
class CppCommHookInterface : public CommHookInterface {
 public:
  explicit CppCommHookInterface(T state) : state_(std::move(state)) {}
  ~CppCommHookInterface() override = default;

  at::Tensor parseHookResult(const c10::IValue& result) override { return detail::parseCppCommHookResult(result); }

 protected:
  T state_;
};

}  // namespace c10d
