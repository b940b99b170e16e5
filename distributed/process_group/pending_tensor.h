// Results of collectives that are not there yet.
#pragma once

#include <mutex>

#include "aten/core/tensor.h"
#include "aten/core/wrapper_tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/work.h"

namespace c10d {

/// A tensor that an operation of a process group is still writing. The first operator that uses its values waits for
/// the operation, and throws its error; every later one throws it again. Views, detach() and sizes need no values: what
/// they give is pending, too. It lies below autograd, and one that is dropped unused costs nothing.
///
/// It has no storage of its own until waited_tensor() has been called: data_ptr() throws before. Several threads may
/// use one at once.
class PendingTensor final : public at::WrapperTensorImpl {
 public:
  class Operation;

  PendingTensor(at::Tensor tensor, c10::intrusive_ptr<Operation> operation);

  /// The plain tensor, once its values are there.
  const at::Tensor& wait() const;
  /// Has data_ptr() give the data, which must be there. To be called like an operator that writes to the tensor: while
  /// no other thread uses it.
  void attach_storage();

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "result of a collective that wait_tensor() has not been called for"; }

 private:
  // Over the same memory, with its data_ptr() where this one has it.
  c10::intrusive_ptr<PendingTensor> another(at::Tensor tensor) const;

  at::Tensor tensor_;  // no other tensor's handle: its geometry changes with this one's
  c10::intrusive_ptr<Operation> operation_;
};

/// What `work` writes into `result`, whose geometry is known. `input` is what it reads: to write to that before the
/// result is used is an error, which the use throws; undefined where the operation has a copy. `name` is the
/// operator's, for errors.
at::Tensor pending_tensor(const char* name, const at::Tensor& result, c10::intrusive_ptr<Work> work,
                          const at::Tensor& input = {});

/// A plain tensor, in no graph: that of a pending one, with which it shares memory and versions, once its values are
/// there; any other tensor as it is.
at::Tensor waited_tensor(const at::Tensor& tensor);

}  // namespace c10d
