// A group of ranks that work together.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/ivalue_class.h"
#include "distributed/process_group/backend.h"
#include "distributed/process_group/types.h"
#include "distributed/process_group/work.h"
#include "distributed/store/store.h"

namespace c10d {

/// One backend for each type of device, which an operation finds by its tensors: the first tensor's.
///
///   auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
///   group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::GLOO,
///                     c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size));
///   std::vector<at::Tensor> t{torch::ones({4})};
///   group->allreduce(t)->wait();
///
/// Operations are Backend's; what they take and give is said there.
class ProcessGroup : public torch::CustomClassHolder {
 public:
  /// What programs from before PyTorch 1.10 call it.
  using Work = c10d::Work;

  enum BackendType : uint8_t { UNDEFINED = 0, GLOO = 1, NCCL = 2, UCC = 3, MPI = 4, XCCL = 5, CUSTOM = 6 };
  /// "gloo", ...; "undefined", "custom".
  static std::string backendTypeToString(BackendType type);
  /// CUSTOM for a name that is no engine's here.
  static BackendType strToBackendType(const std::string& name);

  ProcessGroup(int rank, int size);
  ProcessGroup(c10::intrusive_ptr<Store> store, int rank, int size);
  ~ProcessGroup() override;

  int getRank() const { return rank_; }
  int getSize() const { return size_; }
  c10::intrusive_ptr<Store> getStore() const { return store_; }
  const std::string& getGroupName() const { return name_; }
  void setGroupName(std::string name) { name_ = std::move(name); }
  const std::string& getGroupDesc() const { return description_; }
  void setGroupDesc(std::string description) { description_ = std::move(description); }

  /// Throws where the type of device has one already, or where a backend is not of this rank and size. One backend may
  /// serve several types.
  void setBackend(c10::DeviceType device, BackendType type, const std::optional<c10::intrusive_ptr<Backend>>& backend);
  /// Throws, naming the type of device, where there is none.
  c10::intrusive_ptr<Backend> getBackend(c10::DeviceType device) const;
  bool hasBackends() const { return !backends_.empty(); }
  std::vector<c10::Device> getDeviceTypes() const;
  /// Which backend barriers, and what has no tensors, go to; that of the first type of device where nothing is said.
  void setDefaultBackend(BackendType type);
  c10::intrusive_ptr<Backend> getDefaultBackend() const;
  std::string getBackendName() const { return getDefaultBackend()->getBackendName(); }

  c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& opts = {});
  c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts = {});
  c10::intrusive_ptr<Work> allreduce_sparse(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts = {});
  c10::intrusive_ptr<Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                               const AllreduceCoalescedOptions& opts = {});
  c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts = {});
  c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                     const AllgatherOptions& opts = {});
  c10::intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input, const AllgatherOptions& opts = {});
  c10::intrusive_ptr<Work> all_gather_single(at::Tensor& output, at::Tensor& input, const AllgatherOptions& opts = {});
  c10::intrusive_ptr<Work> allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                               std::vector<at::Tensor>& inputs, const AllgatherOptions& opts = {});
  c10::intrusive_ptr<Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const AllgatherOptions& opts = {});
  c10::intrusive_ptr<Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                  const GatherOptions& opts = {});
  c10::intrusive_ptr<Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                   const ScatterOptions& opts = {});
  c10::intrusive_ptr<Work> reduce_scatter(std::vector<at::Tensor>& outputs,
                                          std::vector<std::vector<at::Tensor>>& inputs,
                                          const ReduceScatterOptions& opts = {});
  c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                const ReduceScatterOptions& opts = {});
  c10::intrusive_ptr<Work> reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                                 const ReduceScatterOptions& opts = {});
  c10::intrusive_ptr<Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const ReduceScatterOptions& opts = {});
  c10::intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                         std::vector<int64_t>& output_split_sizes,
                                         std::vector<int64_t>& input_split_sizes, const AllToAllOptions& opts = {});
  c10::intrusive_ptr<Work> all_to_all_single(at::Tensor& output, at::Tensor& input,
                                             std::vector<int64_t>& output_split_sizes,
                                             std::vector<int64_t>& input_split_sizes, const AllToAllOptions& opts = {});
  c10::intrusive_ptr<Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                    const AllToAllOptions& opts = {});
  c10::intrusive_ptr<Work> send(std::vector<at::Tensor>& tensors, int to, int tag);
  c10::intrusive_ptr<Work> recv(std::vector<at::Tensor>& tensors, int from, int tag);
  c10::intrusive_ptr<Work> recvAnysource(std::vector<at::Tensor>& tensors, int tag);
  c10::intrusive_ptr<Work> barrier(const BarrierOptions& opts = {});
  void monitoredBarrier(const BarrierOptions& opts = {}, bool wait_all_ranks = false);

  uint64_t getSequenceNumberForGroup();
  /// Of all its backends.
  void setTimeout(std::chrono::milliseconds timeout);
  /// Ends what runs, on all ranks, with an error that says why, and what is called later. Returns within a second.
  void abort(const std::string& reason = "");
  void shutdown();

 private:
  c10::intrusive_ptr<Backend> backend_of(const at::Tensor& tensor) const { return getBackend(tensor.device().type()); }
  c10::intrusive_ptr<Backend> backend_of(const char* operation, const std::vector<at::Tensor>& tensors) const;
  template <class Call>
  void for_each_backend(const Call& call) const;

  const c10::intrusive_ptr<Store> store_;
  const int rank_, size_;
  std::string name_, description_;
  std::map<c10::DeviceType, c10::intrusive_ptr<Backend>> backends_;
  std::map<c10::DeviceType, BackendType> types_;
  std::optional<BackendType> default_;
};

}  // namespace c10d
