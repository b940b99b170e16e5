#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {

cudaError_t break_capture(Capture& capture, cudaError_t why) {
  capture.broken = true;
  return why;
}
cudaError_t check_unsafe() { return cudaSuccess; }
cudaError_t check_device_wait(int) { return cudaSuccess; }
cudaError_t check_stream_wait(Stream&) { return cudaSuccess; }
cudaError_t check_legacy(Stream&) { return cudaSuccess; }
cudaError_t add_node(Stream&, Work, cudaGraphNodeType) { return cudaErrorNotSupported; }
Capture* find_capture(uint64_t) { return nullptr; }
void leave_capture(Stream&) {}
void clear_graphs() {}
void make_default_pools() {}
void trim_pools(int) {}
cudaError_t release_pool_memory(Allocation& memory) {
  delete_memory(memory);
  return cudaSuccess;
}

}  // namespace cuda_standin
