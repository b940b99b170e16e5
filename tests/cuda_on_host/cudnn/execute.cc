// cudnnBackendExecute: what it checks, and the work that it queues.
#include "tests/cuda_on_host/cudnn/convolution.h"
#include "tests/cuda_on_host/cudnn/state.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cudnn_standin {
namespace {

struct Memory {
  char* begin;
  size_t bytes;
  bool writes;
};

size_t span_of(const Descriptor& tensor) {
  const auto sizes = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return static_cast<size_t>(last + 1) * bytes_of(tensor.get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
}

// What is wrong with the pack for the graph, "" if nothing.
std::string wrong_pack(const Descriptor& graph, const Descriptor& pack, std::map<int64_t, void*>& data,
                       uint64_t& moved_bytes) {
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i) data[ids[i]] = pointers[i];
  std::map<int64_t, Memory> used;
  for (const auto& operation : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts) {
    for (const Operand& operand : operands_of(*operation)) {
      const Descriptor& tensor = *operand.tensor;
      if (tensor.get(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)) continue;
      const auto id = tensor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
      const auto place = data.find(id);
      if (place == data.end()) return "no memory for tensor " + std::to_string(id);
      const size_t bytes = span_of(tensor);
      if (!cuda_standin::device_accessible(place->second, bytes))
        return "tensor " + std::to_string(id) + " leaves the device's memory";
      const auto alignment = static_cast<uintptr_t>(tensor.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1));
      if (reinterpret_cast<uintptr_t>(place->second) % alignment != 0)
        return "tensor " + std::to_string(id) + " is aligned to fewer bytes than its descriptor says";
      used[id] = {static_cast<char*>(place->second), bytes, operand.writes};
    }
  }
  if (used.size() != data.size()) return "memory for a tensor that the graph has not";
  for (const auto& [id, a] : used) {
    moved_bytes += a.bytes;
    for (const auto& [other, b] : used) {
      if (id != other && a.writes && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes)
        return "the result overlaps tensor " + std::to_string(other);
    }
  }
  return "";
}

cudnnStatus_t execute(Handle& handle, Descriptor& plan, const Descriptor& pack) {
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  const auto misuse = [](const std::string& why) {
    report("cudnnBackendExecute: " + why);
    return refuse(CUDNN_STATUS_BAD_PARAM, why);
  };
  if (device != handle.device) return misuse("the handle is another device's");
  const Busy handle_is_busy(handle.running, "one handle"), plan_is_busy(plan.running, "one plan");
  std::map<int64_t, void*> data;
  uint64_t moved_bytes = 0;
  if (const std::string why = wrong_pack(*plan.graph, pack, data, moved_bytes); !why.empty()) return misuse(why);
  void* const workspace = pack.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  const auto bytes = static_cast<size_t>(plan.engine.workspace);
  if (bytes != 0 &&
      (!cuda_standin::device_accessible(workspace, bytes) || reinterpret_cast<uintptr_t>(workspace) % 256 != 0))
    return misuse("the workspace is no device memory at a multiple of 256 bytes, or too small");
  for (const auto& [id, pointer] : data) {
    if (bytes != 0 && pointer >= workspace && pointer < static_cast<char*>(workspace) + bytes)
      return misuse("the workspace overlaps tensor " + std::to_string(id));
  }
  const uint64_t run = count_execution(plan.engine.notes);
  const cudaError_t status = cuda_standin::enqueue(
      handle.stream, "cudnnBackendExecute",
      [graph = plan.graph, engine = plan.engine, data, run, workspace, bytes] {
        if (bytes != 0) overwrite(workspace, bytes);
        compute(*graph, engine, data, run);
      },
      moved_bytes);
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace cudnn_standin

extern "C" cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                             cudnnBackendDescriptor_t pack) {
  using namespace cudnn_standin;
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  Handle* const owner = find_handle(handle);
  const std::shared_ptr<Descriptor> p = find_descriptor(plan), v = find_descriptor(pack);
  if (owner == nullptr || p == nullptr || v == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM, "a null argument");
  if (!p->finalized || !v->finalized) return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalized");
  if (p->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || v->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return refuse(CUDNN_STATUS_BAD_PARAM, "another descriptor than a plan and a pack");
  return execute(*owner, *p, *v);
}
