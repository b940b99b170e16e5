#include "distributed/process_group/process_group_wrapper.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d {
namespace {

// Of what ranks tell each other; more is cut off.
constexpr size_t kBytes = 1024;

std::string with_root(int64_t root) {
  return c10::str(" with root ", root);
}
std::string with(const ReduceOp& op) {
  return c10::str(" (", name_of(op.op_), ")");
}

}  // namespace

ProcessGroupWrapper::ProcessGroupWrapper(const c10::intrusive_ptr<Backend>& backend, c10::intrusive_ptr<Backend> helper)
    : Backend(backend->getRank(), backend->getSize()), backend_(backend), helper_(std::move(helper)) {
  TORCH_CHECK(helper_ && helper_->getRank() == rank_ && helper_->getSize() == size_,
              "ProcessGroupWrapper: the helper is not of rank ", rank_, " of ", size_);
}

void ProcessGroupWrapper::compare(OpType type, const std::vector<at::Tensor>& tensors, const std::string& details,
                                  std::chrono::milliseconds timeout, bool has_own_sizes) {
  std::string mine;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    mine = c10::str(opTypeToString(type), " number ", sequence_++);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& t = tensors[i];
    if (!t.defined()) continue;
    const std::string sizes = has_own_sizes ? "" : c10::str("[", c10::Join(", ", t.sizes()), "] ");
    mine += c10::str(i == 0 ? " of " : ", ", sizes, c10::toString(t.scalar_type()), " on ",
                     c10::DeviceTypeName(t.device().type(), true));
  }
  mine += details;
  if (mine.size() >= kBytes) mine.resize(kBytes - 1);
  std::vector<at::Tensor> own{at::zeros({static_cast<int64_t>(kBytes)}, at::kByte)};
  std::memcpy(own[0].mutable_data_ptr(), mine.data(), mine.size());
  std::vector<std::vector<at::Tensor>> all(1);
  for (int rank = 0; rank < size_; ++rank) all[0].push_back(at::empty_like(own[0]));
  AllgatherOptions options;
  options.timeout = timeout;
  helper_->allgather(all, own, options)->wait();
  std::map<std::string, std::vector<int>> calls;
  for (int rank = 0; rank < size_; ++rank) {
    const char* const text = static_cast<const char*>(all[0][static_cast<size_t>(rank)].const_data_ptr());
    calls[std::string(text, ::strnlen(text, kBytes))].push_back(rank);
  }
  if (calls.size() == 1) return;
  std::string differences;
  for (const auto& [call, ranks] : calls) {
    differences += c10::str(differences.empty() ? "" : "; ", call, ranks.size() == 1 ? " on rank " : " on ranks ",
                            c10::Join(", ", ranks));
  }
  TORCH_CHECK_WITH(DistBackendError, false, "process group ", getGroupUid(),
                   ": Detected mismatch between collectives on ranks: ", differences);
}

c10::intrusive_ptr<Work> ProcessGroupWrapper::broadcast(std::vector<at::Tensor>& tensors,
                                                        const BroadcastOptions& opts) {
  compare(OpType::BROADCAST, tensors, with_root(opts.rootRank), opts.timeout);
  return backend_->broadcast(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allreduce(std::vector<at::Tensor>& tensors,
                                                        const AllreduceOptions& opts) {
  compare(OpType::ALLREDUCE, tensors, with(opts.reduceOp), opts.timeout);
  return backend_->allreduce(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                               const AllreduceOptions& opts) {
  compare(OpType::_ALLREDUCE_SPARSE, tensors, with(opts.reduceOp), opts.timeout);
  return backend_->allreduce_sparse(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                                  const AllreduceCoalescedOptions& opts) {
  compare(OpType::ALLREDUCE_COALESCED, tensors, with(opts.reduceOp), opts.timeout);
  return backend_->allreduce_coalesced(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts) {
  compare(OpType::REDUCE, tensors, with(opts.reduceOp) + with_root(opts.rootRank), opts.timeout);
  return backend_->reduce(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                        std::vector<at::Tensor>& inputs, const AllgatherOptions& opts) {
  compare(OpType::ALLGATHER, inputs, "", opts.timeout);
  return backend_->allgather(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                              const AllgatherOptions& opts) {
  compare(OpType::_ALLGATHER_BASE, {input}, "", opts.timeout);
  return backend_->_allgather_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                                                  std::vector<at::Tensor>& inputs,
                                                                  const AllgatherOptions& opts) {
  compare(OpType::ALLGATHER_COALESCED, inputs, "", opts.timeout);
  return backend_->allgather_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                              std::vector<at::Tensor>& inputs,
                                                                              const AllgatherOptions& opts) {
  compare(OpType::COALESCED, inputs, "", opts.timeout);
  return backend_->allgather_into_tensor_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs, const GatherOptions& opts) {
  compare(OpType::GATHER, inputs, with_root(opts.rootRank), opts.timeout);
  return backend_->gather(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::scatter(std::vector<at::Tensor>& outputs,
                                                      std::vector<std::vector<at::Tensor>>& inputs,
                                                      const ScatterOptions& opts) {
  compare(OpType::SCATTER, outputs, with_root(opts.rootRank), opts.timeout);
  return backend_->scatter(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::reduce_scatter(std::vector<at::Tensor>& outputs,
                                                             std::vector<std::vector<at::Tensor>>& inputs,
                                                             const ReduceScatterOptions& opts) {
  compare(OpType::REDUCE_SCATTER, outputs, with(opts.reduceOp), opts.timeout);
  return backend_->reduce_scatter(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                   const ReduceScatterOptions& opts) {
  compare(OpType::_REDUCE_SCATTER_BASE, {output}, with(opts.reduceOp), opts.timeout);
  return backend_->_reduce_scatter_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                              std::vector<at::Tensor>& inputs,
                                                                              const ReduceScatterOptions& opts) {
  compare(OpType::COALESCED, outputs, with(opts.reduceOp), opts.timeout);
  return backend_->reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                            std::vector<int64_t>& output_split_sizes,
                                                            std::vector<int64_t>& input_split_sizes,
                                                            const AllToAllOptions& opts) {
  compare(OpType::ALLTOALL_BASE, {input}, "", opts.timeout, /*has_own_sizes=*/true);
  return backend_->alltoall_base(output, input, output_split_sizes, input_split_sizes, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::alltoall(std::vector<at::Tensor>& outputs,
                                                       std::vector<at::Tensor>& inputs, const AllToAllOptions& opts) {
  compare(OpType::ALLTOALL, {inputs.begin(), inputs.begin() + std::min<ptrdiff_t>(1, std::ssize(inputs))}, "",
          opts.timeout, /*has_own_sizes=*/true);
  return backend_->alltoall(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::send(std::vector<at::Tensor>& tensors, int to, int tag) {
  return backend_->send(tensors, to, tag);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::recv(std::vector<at::Tensor>& tensors, int from, int tag) {
  return backend_->recv(tensors, from, tag);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::recvAnysource(std::vector<at::Tensor>& tensors, int tag) {
  return backend_->recvAnysource(tensors, tag);
}
c10::intrusive_ptr<Work> ProcessGroupWrapper::barrier(const BarrierOptions& opts) {
  compare(OpType::BARRIER, {}, "", opts.timeout);
  return backend_->barrier(opts);
}
void ProcessGroupWrapper::monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks) {
  helper_->monitoredBarrier(opts, wait_all_ranks);
}

void ProcessGroupWrapper::setTimeout(std::chrono::milliseconds timeout) {
  helper_->setTimeout(timeout);
  backend_->setTimeout(timeout);
}
void ProcessGroupWrapper::abort_because(const std::string& reason) {
  helper_->abort_because(reason);
  backend_->abort_because(reason);
}
void ProcessGroupWrapper::shutdown() {
  helper_->shutdown();
  backend_->shutdown();
}

}  // namespace c10d
