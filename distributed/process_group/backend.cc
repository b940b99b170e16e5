#include "distributed/process_group/backend.h"

#include "c10/util/exception.h"

namespace c10d {

Backend::Backend(int rank, int size) : rank_(rank), size_(size) {
  TORCH_CHECK(size > 0 && rank >= 0 && rank < size, "a process group of ", size, " ranks has no rank ", rank);
}
Backend::~Backend() = default;

void Backend::refuse(const char* operation) const {
  TORCH_CHECK_WITH(NotImplementedError, false, "Backend ", getBackendName(), " does not support ", operation);
}

c10::intrusive_ptr<Backend::Options> Backend::getBackendOptions() {
  refuse("getBackendOptions");
}

c10::intrusive_ptr<Work> Backend::broadcast(std::vector<at::Tensor>&, const BroadcastOptions&) {
  refuse("broadcast");
}
c10::intrusive_ptr<Work> Backend::allreduce(std::vector<at::Tensor>&, const AllreduceOptions&) {
  refuse("allreduce");
}
c10::intrusive_ptr<Work> Backend::allreduce_sparse(std::vector<at::Tensor>&, const AllreduceOptions&) {
  refuse("allreduce_sparse");
}
c10::intrusive_ptr<Work> Backend::allreduce_coalesced(std::vector<at::Tensor>&, const AllreduceCoalescedOptions&) {
  refuse("allreduce_coalesced");
}
c10::intrusive_ptr<Work> Backend::reduce(std::vector<at::Tensor>&, const ReduceOptions&) {
  refuse("reduce");
}
c10::intrusive_ptr<Work> Backend::allgather(std::vector<std::vector<at::Tensor>>&, std::vector<at::Tensor>&,
                                            const AllgatherOptions&) {
  refuse("allgather");
}
c10::intrusive_ptr<Work> Backend::_allgather_base(at::Tensor&, at::Tensor&, const AllgatherOptions&) {
  refuse("_allgather_base");
}
c10::intrusive_ptr<Work> Backend::allgather_coalesced(std::vector<std::vector<at::Tensor>>&, std::vector<at::Tensor>&,
                                                      const AllgatherOptions&) {
  refuse("allgather_coalesced");
}
c10::intrusive_ptr<Work> Backend::allgather_into_tensor_coalesced(std::vector<at::Tensor>&, std::vector<at::Tensor>&,
                                                                  const AllgatherOptions&) {
  refuse("allgather_into_tensor_coalesced");
}
c10::intrusive_ptr<Work> Backend::gather(std::vector<std::vector<at::Tensor>>&, std::vector<at::Tensor>&,
                                         const GatherOptions&) {
  refuse("gather");
}
c10::intrusive_ptr<Work> Backend::scatter(std::vector<at::Tensor>&, std::vector<std::vector<at::Tensor>>&,
                                          const ScatterOptions&) {
  refuse("scatter");
}
c10::intrusive_ptr<Work> Backend::reduce_scatter(std::vector<at::Tensor>&, std::vector<std::vector<at::Tensor>>&,
                                                 const ReduceScatterOptions&) {
  refuse("reduce_scatter");
}
c10::intrusive_ptr<Work> Backend::_reduce_scatter_base(at::Tensor&, at::Tensor&, const ReduceScatterOptions&) {
  refuse("_reduce_scatter_base");
}
c10::intrusive_ptr<Work> Backend::reduce_scatter_tensor_coalesced(std::vector<at::Tensor>&, std::vector<at::Tensor>&,
                                                                  const ReduceScatterOptions&) {
  refuse("reduce_scatter_tensor_coalesced");
}
c10::intrusive_ptr<Work> Backend::alltoall_base(at::Tensor&, at::Tensor&, std::vector<int64_t>&, std::vector<int64_t>&,
                                                const AllToAllOptions&) {
  refuse("alltoall_base");
}
c10::intrusive_ptr<Work> Backend::alltoall(std::vector<at::Tensor>&, std::vector<at::Tensor>&, const AllToAllOptions&) {
  refuse("alltoall");
}
c10::intrusive_ptr<Work> Backend::send(std::vector<at::Tensor>&, int, int) {
  refuse("send");
}
c10::intrusive_ptr<Work> Backend::recv(std::vector<at::Tensor>&, int, int) {
  refuse("recv");
}
c10::intrusive_ptr<Work> Backend::recvAnysource(std::vector<at::Tensor>&, int) {
  refuse("recvAnysource");
}
c10::intrusive_ptr<Work> Backend::barrier(const BarrierOptions&) {
  refuse("barrier");
}
void Backend::monitoredBarrier(const BarrierOptions&, bool) {
  refuse("monitoredBarrier");
}

void Backend::setTimeout(std::chrono::milliseconds) {
  refuse("setTimeout");
}
uint64_t Backend::getSequenceNumberForGroup() {
  refuse("getSequenceNumberForGroup");
}
void Backend::abort() {
  refuse("abort");
}
void Backend::startCoalescing() {
  refuse("startCoalescing");
}
c10::intrusive_ptr<Work> Backend::endCoalescing() {
  refuse("endCoalescing");
}
void Backend::shutdown() {
  refuse("shutdown");
}

}  // namespace c10d
