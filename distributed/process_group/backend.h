// What carries out a process group's operations for tensors of some devices.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/ivalue_class.h"
#include "distributed/process_group/types.h"
#include "distributed/process_group/work.h"

namespace c10d {

/// Engines derive from it. Every rank calls the same operations in the same order, each with tensors of the same dtype
/// and sizes. Lists of tensors are libtorch's way to name those of several devices of a rank: they have one element,
/// where nothing else is said. Each function returns at once; what an operation has not got is an error that names it.
class Backend : public torch::CustomClassHolder {
 public:
  struct Options : torch::CustomClassHolder {
    explicit Options(std::string backend, std::chrono::milliseconds timeout = kBackendDefaultTimeout)
        : timeout(timeout), backend(std::move(backend)) {}
    std::chrono::milliseconds timeout;  // of each operation, from when it begins
    const std::string backend;
    std::string group_name, group_desc;
    std::vector<uint64_t> global_ranks_in_group;
  };

  Backend(int rank, int size);
  ~Backend() override;

  int getRank() const { return rank_; }
  int getSize() const { return size_; }
  virtual std::string getBackendName() const = 0;
  virtual c10::intrusive_ptr<Options> getBackendOptions();
  /// What the group is called, and what for.
  const std::string& getGroupUid() const { return group_uid_; }
  void setGroupUid(std::string uid) { group_uid_ = std::move(uid); }
  const std::string& getGroupDesc() const { return group_desc_; }
  void setGroupDesc(std::string description) { group_desc_ = std::move(description); }
  std::optional<at::Device> getBoundDeviceId() const { return bound_device_; }
  void setBoundDeviceId(std::optional<at::Device> device) { bound_device_ = device; }

  virtual bool supportsSplitting() const { return false; }
  virtual bool supportsShrinking() const { return false; }
  virtual bool supportsCoalescing() const { return false; }
  virtual bool supportsReconfigure() const { return false; }
  virtual bool supportsTimeEstimation() const { return false; }

  /// What is called between these is started together, where the backend supportsCoalescing(), and is done when the
  /// work is that endCoalescing() returns (null for nothing).
  virtual void startCoalescing();
  virtual c10::intrusive_ptr<Work> endCoalescing();

  virtual c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& opts = {});
  virtual c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts = {});
  virtual c10::intrusive_ptr<Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                    const AllreduceOptions& opts = {});
  /// Several tensors of one dtype as one.
  virtual c10::intrusive_ptr<Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                       const AllreduceCoalescedOptions& opts = {});
  virtual c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts = {});
  /// A list of getSize() outputs for each input.
  virtual c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                             std::vector<at::Tensor>& inputs, const AllgatherOptions& opts = {});
  /// The output has getSize() times the input's elements.
  virtual c10::intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                   const AllgatherOptions& opts = {});
  /// A list of outputs for each rank, one for each input.
  virtual c10::intrusive_ptr<Work> allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                                       std::vector<at::Tensor>& inputs,
                                                       const AllgatherOptions& opts = {});
  virtual c10::intrusive_ptr<Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                   std::vector<at::Tensor>& inputs,
                                                                   const AllgatherOptions& opts = {});
  /// On the root a list of getSize() outputs; no list elsewhere.
  virtual c10::intrusive_ptr<Work> gather(std::vector<std::vector<at::Tensor>>& outputs,
                                          std::vector<at::Tensor>& inputs, const GatherOptions& opts = {});
  /// On the root a list of getSize() inputs; no list elsewhere.
  virtual c10::intrusive_ptr<Work> scatter(std::vector<at::Tensor>& outputs,
                                           std::vector<std::vector<at::Tensor>>& inputs,
                                           const ScatterOptions& opts = {});
  /// A list of getSize() inputs for each output.
  virtual c10::intrusive_ptr<Work> reduce_scatter(std::vector<at::Tensor>& outputs,
                                                  std::vector<std::vector<at::Tensor>>& inputs,
                                                  const ReduceScatterOptions& opts = {});
  /// The input has getSize() times the output's elements.
  virtual c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                        const ReduceScatterOptions& opts = {});
  virtual c10::intrusive_ptr<Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                   std::vector<at::Tensor>& inputs,
                                                                   const ReduceScatterOptions& opts = {});
  /// Rows for each rank; as many for each where the sizes are empty.
  virtual c10::intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                                 std::vector<int64_t>& output_split_sizes,
                                                 std::vector<int64_t>& input_split_sizes,
                                                 const AllToAllOptions& opts = {});
  /// A tensor for each rank, of any sizes.
  virtual c10::intrusive_ptr<Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                            const AllToAllOptions& opts = {});
  virtual c10::intrusive_ptr<Work> send(std::vector<at::Tensor>& tensors, int to, int tag);
  virtual c10::intrusive_ptr<Work> recv(std::vector<at::Tensor>& tensors, int from, int tag);
  virtual c10::intrusive_ptr<Work> recvAnysource(std::vector<at::Tensor>& tensors, int tag);
  virtual c10::intrusive_ptr<Work> barrier(const BarrierOptions& opts = {});
  /// A barrier whose error on rank 0 names the rank that did not come, or, with `wait_all_ranks`, all that did not.
  virtual void monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks = false);

  /// Of operations that do not say another.
  virtual void setTimeout(std::chrono::milliseconds timeout);
  /// How many operations of all ranks have been started.
  virtual uint64_t getSequenceNumberForGroup();
  /// Ends what runs, on all ranks, with an error, and what is called later. Returns within a second.
  virtual void abort();
  /// The same, with a reason that all ranks are told where the backend can do that.
  virtual void abort_because(const std::string& /*reason*/) { abort(); }
  /// Waits for what runs, and gives back threads and connections.
  virtual void shutdown();

 protected:
  /// Says that the backend has not got an operation.
  [[noreturn]] void refuse(const char* operation) const;

  const int rank_, size_;

 private:
  std::string group_uid_, group_desc_;
  std::optional<at::Device> bound_device_;
};

}  // namespace c10d
