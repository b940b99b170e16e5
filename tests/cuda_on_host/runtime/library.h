// Libraries of kernels that are alive.
#pragma once

#include <cstddef>

namespace cuda_standin {

/// Of cudaLibraryLoadData, not unloaded, since reset().
size_t live_libraries();

}  // namespace cuda_standin
