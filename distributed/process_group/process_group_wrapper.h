// A backend whose collectives are compared among all ranks before data moves.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/process_group/backend.h"

namespace c10d {

/// What all ranks call is told all ranks over `helper`, a backend of CPU tensors between the same ranks that nothing
/// else uses: the operation, its number, dtypes, devices, sizes, root and reduction. Where they differ, every rank
/// throws DistBackendError, which says what each rank calls, and nothing has moved; where a rank does not come, the
/// helper's error names it. Messages between two ranks go to `backend` as they are.
///
///     Detected mismatch between collectives on ranks: ALLREDUCE number 4 of [2] Float on cpu (SUM) on ranks 0, 2;
///     BARRIER number 4 on rank 1
///
/// init_process_group and new_group wrap all backends so where debug_level() is Detail.
class ProcessGroupWrapper : public Backend {
 public:
  ProcessGroupWrapper(const c10::intrusive_ptr<Backend>& backend, c10::intrusive_ptr<Backend> helper);

  c10::intrusive_ptr<Backend> getWrappedPg() const { return backend_; }
  std::string getBackendName() const override { return backend_->getBackendName(); }
  c10::intrusive_ptr<Options> getBackendOptions() override { return backend_->getBackendOptions(); }

  c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                            const AllreduceOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                               const AllreduceCoalescedOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                     const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                           const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                               std::vector<at::Tensor>& inputs,
                                               const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                  const GatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                   const ScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce_scatter(std::vector<at::Tensor>& outputs,
                                          std::vector<std::vector<at::Tensor>>& inputs,
                                          const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                         std::vector<int64_t>& output_split_sizes,
                                         std::vector<int64_t>& input_split_sizes,
                                         const AllToAllOptions& opts = {}) override;
  c10::intrusive_ptr<Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                    const AllToAllOptions& opts = {}) override;
  c10::intrusive_ptr<Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override;
  c10::intrusive_ptr<Work> recv(std::vector<at::Tensor>& tensors, int from, int tag) override;
  c10::intrusive_ptr<Work> recvAnysource(std::vector<at::Tensor>& tensors, int tag) override;
  c10::intrusive_ptr<Work> barrier(const BarrierOptions& opts = {}) override;
  void monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks = false) override;

  bool supportsCoalescing() const override { return backend_->supportsCoalescing(); }
  void startCoalescing() override { backend_->startCoalescing(); }
  c10::intrusive_ptr<Work> endCoalescing() override { return backend_->endCoalescing(); }

  void setTimeout(std::chrono::milliseconds timeout) override;
  uint64_t getSequenceNumberForGroup() override { return backend_->getSequenceNumberForGroup(); }
  void abort() override { abort_because(""); }
  void abort_because(const std::string& reason) override;
  void shutdown() override;

 private:
  // Throws unless all ranks call the same.
  void compare(OpType type, const std::vector<at::Tensor>& tensors, const std::string& details,
               std::chrono::milliseconds timeout, bool has_own_sizes = false);

  const c10::intrusive_ptr<Backend> backend_, helper_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
};

}  // namespace c10d
