// Collectives and messages of tensors, over the default group or another.
//
//   torch::distributed::all_reduce(gradient, c10d::ReduceOp::AVG);
//   auto work = torch::distributed::broadcast(weight, /*src=*/0, std::nullopt, /*async_op=*/true);
//   work->wait();
//
// What they have in common: `group` as in init.h; on a rank that is not in the group they do nothing and
// return null. Ranks in arguments (src, dst) are those of the default group. With async_op the call returns at once,
// and tensors must not be touched before the work is done; without, it returns when it is, and throws its error. Errors
// are Backend's, and c10::ValueError for ranks that are not in the group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/process_group/init.h"
#include "distributed/process_group/types.h"
#include "distributed/process_group/work.h"

namespace torch::distributed {

using c10d::GroupArg;
using c10d::ReduceOp;
using c10d::Work;
using WorkPtr = c10::intrusive_ptr<Work>;

/// `tensor` becomes the reduction of all ranks', on each.
WorkPtr all_reduce(const at::Tensor& tensor, const ReduceOp& op = ReduceOp::SUM, const GroupArg& group = std::nullopt,
                   bool async_op = false);
/// The same for several tensors of one dtype, at once.
WorkPtr all_reduce_coalesced(const std::vector<at::Tensor>& tensors, const ReduceOp& op = ReduceOp::SUM,
                             const GroupArg& group = std::nullopt, bool async_op = false);
/// `tensor` becomes that of rank `src`.
WorkPtr broadcast(const at::Tensor& tensor, int64_t src, const GroupArg& group = std::nullopt, bool async_op = false);
/// `tensor` becomes the reduction on rank `dst`; what it is on others is not defined.
WorkPtr reduce(const at::Tensor& tensor, int64_t dst, const ReduceOp& op = ReduceOp::SUM,
               const GroupArg& group = std::nullopt, bool async_op = false);
/// One output of the input's sizes for each rank.
WorkPtr all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input,
                   const GroupArg& group = std::nullopt, bool async_op = false);
/// The output has the input's elements of each rank, in the order of ranks: (world * n, ...) or (world, n, ...).
WorkPtr all_gather_into_tensor(const at::Tensor& output, const at::Tensor& input, const GroupArg& group = std::nullopt,
                               bool async_op = false);
/// The reduction of the inputs of this rank's place; one input for each rank.
WorkPtr reduce_scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                       const ReduceOp& op = ReduceOp::SUM, const GroupArg& group = std::nullopt, bool async_op = false);
/// The same of one input with the elements for each rank, in the order of ranks.
WorkPtr reduce_scatter_tensor(const at::Tensor& output, const at::Tensor& input, const ReduceOp& op = ReduceOp::SUM,
                              const GroupArg& group = std::nullopt, bool async_op = false);
/// A tensor to and from each rank.
WorkPtr all_to_all(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs,
                   const GroupArg& group = std::nullopt, bool async_op = false);
/// Rows to and from each rank, as many as the sizes say; equally many where they are empty.
WorkPtr all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                          const std::vector<int64_t>& output_split_sizes = {},
                          const std::vector<int64_t>& input_split_sizes = {}, const GroupArg& group = std::nullopt,
                          bool async_op = false);
/// On rank `dst` an output of the tensor's sizes for each rank; no outputs elsewhere.
WorkPtr gather(const at::Tensor& tensor, const std::vector<at::Tensor>& outputs = {}, int64_t dst = 0,
               const GroupArg& group = std::nullopt, bool async_op = false);
/// On rank `src` an input of the tensor's sizes for each rank; no inputs elsewhere.
WorkPtr scatter(const at::Tensor& tensor, const std::vector<at::Tensor>& inputs = {}, int64_t src = 0,
                const GroupArg& group = std::nullopt, bool async_op = false);
/// Returns when all ranks have called.
WorkPtr barrier(const GroupArg& group = std::nullopt, bool async_op = false,
                const std::vector<int64_t>& device_ids = {});
/// The same; where a rank has not called within the timeout (none: the group's), the error of rank 0 names it, or with
/// `wait_all_ranks` all that have not.
void monitored_barrier(const GroupArg& group = std::nullopt,
                       const std::optional<std::chrono::milliseconds>& timeout = std::nullopt,
                       bool wait_all_ranks = false);

/// To rank `dst`, from rank `src` (none: whoever sends first). Messages between two ranks with one tag arrive in order.
void send(const at::Tensor& tensor, int64_t dst, const GroupArg& group = std::nullopt, int tag = 0);
/// Returns who sent; -1 where this rank is not in the group.
int64_t recv(const at::Tensor& tensor, std::optional<int64_t> src = std::nullopt, const GroupArg& group = std::nullopt,
             int tag = 0);
/// The same, which return at once. The sourceRank() of the work is the group's.
WorkPtr isend(const at::Tensor& tensor, int64_t dst, const GroupArg& group = std::nullopt, int tag = 0);
WorkPtr irecv(const at::Tensor& tensor, std::optional<int64_t> src = std::nullopt, const GroupArg& group = std::nullopt,
              int tag = 0);

/// A message of a batch.
struct P2POp {
  enum Kind { ISEND, IRECV };
  Kind op = ISEND;
  at::Tensor tensor;
  int64_t peer = 0;
  GroupArg group = std::nullopt;
  int tag = 0;
};
/// Starts all, in this order, of which every rank's must fit the others'; all are of one group. Throws c10::ValueError
/// for none. There is a work for each, or one for all where the engine starts them together.
std::vector<WorkPtr> batch_isend_irecv(const std::vector<P2POp>& ops);

}  // namespace torch::distributed
