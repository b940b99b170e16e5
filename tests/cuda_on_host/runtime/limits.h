// An H100's numbers (compute capability 9.0).
#pragma once

#include <cstddef>

namespace cuda_standin {

constexpr int kProcessors = 132, kThreadsPerProcessor = 2048, kBlocksPerProcessor = 32;
constexpr int kThreadsPerBlock = 1024, kBlockZ = 64, kWarp = 32;
constexpr int kGridX = 2147483647, kGridYZ = 65535;
constexpr int kRegisters = 65536;  // of a processor and of a block
constexpr size_t kSharedPerBlock = 48 << 10, kSharedPerBlockOptin = 227 << 10, kSharedPerProcessor = 228 << 10,
                 kSharedReserved = 1 << 10;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;

}  // namespace cuda_standin
