// Device memory for other processes.
//
// The sender keeps memory until every process that got it has let it go; collect() says so. A handle is plain bytes,
// which travel by any means, once for each receiver: a handle is received once.
//
//   auto handles = c10::cuda::ipc::send(std::move(data), base, bytes, stream, /*receivers=*/1);
//   ... the other process: c10::DataPtr data = c10::cuda::ipc::receive(handle);
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "c10/core/device.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"

namespace c10::cuda::ipc {

/// Memory of another process.
struct MemoryHandle {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t ready;
  int64_t offset;  // of the data in what `memory` opens
  uint64_t bytes;
  char receivers[48];  // the name of the memory that counts them
  cudaUUID_t device;   // processes number devices as their environment says
};

/// Collects, and gives the device memory of `data`, `bytes` long, to `receivers` other processes, who wait for the work
/// that `stream` has now. `base` is the start of what cudaMalloc gave and the data lie in. Takes `data` over.
MemoryHandle send(DataPtr data, const void* base, size_t bytes, const CUDAStream& stream, int receivers = 1);

/// The memory of a handle, on its device; throws c10::Error where this process does not have that. The current stream
/// of that device waits until the data are there; what other streams do with them comes behind that. Released, the
/// DataPtr waits for the current stream and lets the memory go.
DataPtr receive(const MemoryHandle& handle);

/// Gives back what all receivers have let go, and says how many pieces of memory others still have. send() does it
/// first, and so does the caching allocator before it takes more memory from a device.
size_t collect();
/// How many pieces of memory are kept for others, or may be given back.
size_t pending();

/// What a memory handle opens, on `device`: once in this process while anybody holds it.
std::shared_ptr<void> open_memory(DeviceIndex device, const cudaIpcMemHandle_t& memory);

}  // namespace c10::cuda::ipc
