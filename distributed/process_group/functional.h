// Collectives that give new tensors and that autograd differentiates.
//
//   at::Tensor sum = c10d::all_reduce(x, "sum", group->getGroupName());
//   sum.sum().backward();   // x.grad() is the sum of all ranks' gradients
//
// The group is a name of the registry (group_registry.h), or a group itself. Reductions are "sum", "avg", "product",
// "min", "max", "band", "bor" and "bxor". The same are operators, `_c10d_functional::all_reduce` and so on, for
// programs that call by name.
//
// A call starts the operation and returns. Its result is pending (pending_tensor.h): the first operator that uses the
// values waits for them, and throws the operation's error. Two calls in a row thus overlap:
//
//   at::Tensor a = c10d::all_reduce(x, "sum", group), b = c10d::all_gather_into_tensor(y, size, group);
//   a + 1;                                  // waits for a
//   c10d::wait_tensor(b).data_ptr();        // a pending tensor itself has no data_ptr() before
//
// Views and detach() do not wait. To write to the input before the result was used throws c10::Error at that use, where
// the operation reads it (those that all_reduce and broadcast take may be written to). The forms with _ and _out wait.
//
// Gradients are collectives, too: every rank that took part in the forward pass must run the backward pass, in the same
// order. Those that go on in the graph are pending, grad() of a leaf is not.
//
//   all_reduce(sum)       <-> all_reduce(sum)           all_reduce(avg) <-> all_reduce(avg)
//   all_gather            <-> reduce_scatter(sum)
//   all_to_all            <-> all_to_all with the sizes swapped
//   broadcast             <-> a sum on the root, zeros elsewhere
//
// They can be differentiated any number of times; other reductions throw c10::NotImplementedError in the backward pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/array_ref.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/process_group.h"

namespace c10d {

/// A group, or what it is called.
class GroupOrName {
 public:
  GroupOrName(c10::intrusive_ptr<ProcessGroup> group);               // NOLINT(google-explicit-constructor)
  GroupOrName(const std::string& name);                              // NOLINT(google-explicit-constructor)
  GroupOrName(const char* name) : GroupOrName(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  const c10::intrusive_ptr<ProcessGroup>& get() const { return group_; }

 private:
  c10::intrusive_ptr<ProcessGroup> group_;
};

/// The reduction of all ranks' inputs, element by element.
at::Tensor all_reduce(const at::Tensor& input, const std::string& reduce_op, const GroupOrName& group);
/// The same in `input`, which must not require a gradient.
at::Tensor& all_reduce_(at::Tensor& input, const std::string& reduce_op, const GroupOrName& group);
/// Several, one after the other.
std::vector<at::Tensor> all_reduce_coalesced(const std::vector<at::Tensor>& inputs, const std::string& reduce_op,
                                             const GroupOrName& group);
std::vector<at::Tensor> all_reduce_coalesced_(std::vector<at::Tensor> inputs, const std::string& reduce_op,
                                              const GroupOrName& group);

/// (n, ...) -> (group_size * n, ...): the ranks' inputs one after the other. `group_size` must be the group's.
at::Tensor all_gather_into_tensor(const at::Tensor& input, int64_t group_size, const GroupOrName& group);
std::vector<at::Tensor> all_gather_into_tensor_coalesced(const std::vector<at::Tensor>& inputs, int64_t group_size,
                                                         const GroupOrName& group);
/// The same into `output`; without gradients.
at::Tensor& all_gather_into_tensor_out(const at::Tensor& input, int64_t group_size, const GroupOrName& group,
                                       at::Tensor& output);

/// (group_size * n, ...) -> (n, ...): this rank's part of the reduction.
at::Tensor reduce_scatter_tensor(const at::Tensor& input, const std::string& reduce_op, int64_t group_size,
                                 const GroupOrName& group);
std::vector<at::Tensor> reduce_scatter_tensor_coalesced(const std::vector<at::Tensor>& inputs,
                                                        const std::string& reduce_op, int64_t group_size,
                                                        const GroupOrName& group);

/// Rows for each rank; `output_split_sizes` are those from each. Both empty: equally many.
at::Tensor all_to_all_single(const at::Tensor& input, c10::IntArrayRef output_split_sizes,
                             c10::IntArrayRef input_split_sizes, const GroupOrName& group);

/// The input of rank `src` of the group.
at::Tensor broadcast(const at::Tensor& input, int64_t src, const GroupOrName& group);
at::Tensor& broadcast_(at::Tensor& input, int64_t src, const GroupOrName& group);

/// A plain tensor that shares memory with `tensor`, once its values are there. Differentiable. `tensor` may be used as
/// before; its data_ptr() is there, too. One that is not pending is returned as it is.
at::Tensor wait_tensor(const at::Tensor& tensor);

}  // namespace c10d
