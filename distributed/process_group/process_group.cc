#include "distributed/process_group/process_group.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "c10/util/exception.h"

namespace c10d {
namespace {

constexpr const char* kNames[] = {"undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "custom"};

}  // namespace

std::string ProcessGroup::backendTypeToString(BackendType type) {
  return kNames[type];
}

ProcessGroup::BackendType ProcessGroup::strToBackendType(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::find(std::begin(kNames), std::end(kNames), lower);
  return found == std::end(kNames) ? CUSTOM : static_cast<BackendType>(found - std::begin(kNames));
}

ProcessGroup::ProcessGroup(int rank, int size) : ProcessGroup(nullptr, rank, size) {}
ProcessGroup::ProcessGroup(c10::intrusive_ptr<Store> store, int rank, int size)
    : store_(std::move(store)), rank_(rank), size_(size) {
  TORCH_CHECK(size > 0 && rank >= 0 && rank < size, "a process group of ", size, " ranks has no rank ", rank);
}
ProcessGroup::~ProcessGroup() = default;

// --- backends ---

void ProcessGroup::setBackend(c10::DeviceType device, BackendType type,
                              const std::optional<c10::intrusive_ptr<Backend>>& backend) {
  TORCH_CHECK(backend.has_value() && *backend, "setBackend: expected a backend for ", device);
  TORCH_CHECK((*backend)->getRank() == rank_ && (*backend)->getSize() == size_, "setBackend: the backend is of rank ",
              (*backend)->getRank(), " of ", (*backend)->getSize(), ", but the group of rank ", rank_, " of ", size_);
  TORCH_CHECK(backends_.emplace(device, *backend).second, "setBackend: the group has a backend for ", device);
  types_[device] = type;
}

c10::intrusive_ptr<Backend> ProcessGroup::getBackend(c10::DeviceType device) const {
  const auto found = backends_.find(device);
  TORCH_CHECK(found != backends_.end(), "No backend type associated with device type ", device);
  return found->second;
}

std::vector<c10::Device> ProcessGroup::getDeviceTypes() const {
  std::vector<c10::Device> devices;
  for (const auto& [device, backend] : backends_) devices.emplace_back(device);
  return devices;
}

void ProcessGroup::setDefaultBackend(BackendType type) {
  default_ = type;
}

c10::intrusive_ptr<Backend> ProcessGroup::getDefaultBackend() const {
  TORCH_CHECK(!backends_.empty(), "the process group ", name_, " has no backend");
  if (!default_.has_value()) return backends_.begin()->second;
  for (const auto& [device, type] : types_) {
    if (type == *default_) return backends_.at(device);
  }
  TORCH_CHECK(false, "Could not find the default backend type ", backendTypeToString(*default_),
              " of the process group ", name_);
}

c10::intrusive_ptr<Backend> ProcessGroup::backend_of(const char* operation,
                                                     const std::vector<at::Tensor>& tensors) const {
  TORCH_CHECK(!tensors.empty() && tensors[0].defined(), operation, ": expected one tensor or more");
  return backend_of(tensors[0]);
}

template <class Call>
void ProcessGroup::for_each_backend(const Call& call) const {
  std::set<Backend*> done;
  for (const auto& [device, backend] : backends_) {
    if (done.insert(backend.get()).second) call(*backend);
  }
}

// --- operations ---

c10::intrusive_ptr<Work> ProcessGroup::broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& opts) {
  return backend_of("broadcast", tensors)->broadcast(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts) {
  return backend_of("allreduce", tensors)->allreduce(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                        const AllreduceOptions& opts) {
  return backend_of("allreduce_sparse", tensors)->allreduce_sparse(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                           const AllreduceCoalescedOptions& opts) {
  return backend_of("allreduce_coalesced", tensors)->allreduce_coalesced(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts) {
  return backend_of("reduce", tensors)->reduce(tensors, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                 std::vector<at::Tensor>& inputs, const AllgatherOptions& opts) {
  return backend_of("allgather", inputs)->allgather(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                       const AllgatherOptions& opts) {
  return backend_of(input)->_allgather_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::all_gather_single(at::Tensor& output, at::Tensor& input,
                                                         const AllgatherOptions& opts) {
  return _allgather_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const AllgatherOptions& opts) {
  return backend_of("allgather_coalesced", inputs)->allgather_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                       std::vector<at::Tensor>& inputs,
                                                                       const AllgatherOptions& opts) {
  return backend_of("allgather_into_tensor_coalesced", inputs)->allgather_into_tensor_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                              std::vector<at::Tensor>& inputs, const GatherOptions& opts) {
  return backend_of("gather", inputs)->gather(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::scatter(std::vector<at::Tensor>& outputs,
                                               std::vector<std::vector<at::Tensor>>& inputs,
                                               const ScatterOptions& opts) {
  return backend_of("scatter", outputs)->scatter(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::reduce_scatter(std::vector<at::Tensor>& outputs,
                                                      std::vector<std::vector<at::Tensor>>& inputs,
                                                      const ReduceScatterOptions& opts) {
  return backend_of("reduce_scatter", outputs)->reduce_scatter(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                            const ReduceScatterOptions& opts) {
  return backend_of(output)->_reduce_scatter_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                                             const ReduceScatterOptions& opts) {
  return _reduce_scatter_base(output, input, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                       std::vector<at::Tensor>& inputs,
                                                                       const ReduceScatterOptions& opts) {
  return backend_of("reduce_scatter_tensor_coalesced", outputs)->reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                     std::vector<int64_t>& output_split_sizes,
                                                     std::vector<int64_t>& input_split_sizes,
                                                     const AllToAllOptions& opts) {
  return backend_of(input)->alltoall_base(output, input, output_split_sizes, input_split_sizes, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::all_to_all_single(at::Tensor& output, at::Tensor& input,
                                                         std::vector<int64_t>& output_split_sizes,
                                                         std::vector<int64_t>& input_split_sizes,
                                                         const AllToAllOptions& opts) {
  return alltoall_base(output, input, output_split_sizes, input_split_sizes, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                                const AllToAllOptions& opts) {
  return backend_of("alltoall", inputs)->alltoall(outputs, inputs, opts);
}
c10::intrusive_ptr<Work> ProcessGroup::send(std::vector<at::Tensor>& tensors, int to, int tag) {
  return backend_of("send", tensors)->send(tensors, to, tag);
}
c10::intrusive_ptr<Work> ProcessGroup::recv(std::vector<at::Tensor>& tensors, int from, int tag) {
  return backend_of("recv", tensors)->recv(tensors, from, tag);
}
c10::intrusive_ptr<Work> ProcessGroup::recvAnysource(std::vector<at::Tensor>& tensors, int tag) {
  return backend_of("recvAnysource", tensors)->recvAnysource(tensors, tag);
}
c10::intrusive_ptr<Work> ProcessGroup::barrier(const BarrierOptions& opts) {
  return (opts.device.has_value() ? getBackend(opts.device->type()) : getDefaultBackend())->barrier(opts);
}
void ProcessGroup::monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks) {
  getDefaultBackend()->monitoredBarrier(opts, wait_all_ranks);
}

uint64_t ProcessGroup::getSequenceNumberForGroup() {
  return getDefaultBackend()->getSequenceNumberForGroup();
}
void ProcessGroup::setTimeout(std::chrono::milliseconds timeout) {
  for_each_backend([&](Backend& backend) { backend.setTimeout(timeout); });
}
void ProcessGroup::abort(const std::string& reason) {
  for_each_backend([&](Backend& backend) { backend.abort_because(reason); });
}
void ProcessGroup::shutdown() {
  for_each_backend([](Backend& backend) { backend.shutdown(); });
}

}  // namespace c10d
