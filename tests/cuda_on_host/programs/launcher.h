// What `kernel<<<...>>>` becomes where a program's kernels run on the host: see launch_syntax.cc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "c10/cuda/launch.h"

namespace simt {

// Every thread calls the kernel as a function: so it may be a template whose arguments follow from those of the call.
template <class Kernel, class... Values>
__global__ void call(Kernel kernel, Values... values) {
  kernel(values...);
}

template <class Kernel>
struct Launcher {
  const char* name;
  Kernel kernel;
  c10::cuda::Launch shape;

  // The status is the runtime's last error, as on a device.
  template <class... Values>
  void operator()(Values... values) const {
    (void)c10::cuda::launch(name, call<Kernel, Values...>, shape, kernel, values...);
  }
};

template <class Kernel>
Launcher<Kernel> launcher(const char* name, Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes = 0,
                          cudaStream_t stream = nullptr) {
  return {name, kernel, {.grid = grid, .block = block, .shared_bytes = shared_bytes, .stream = stream}};
}

}  // namespace simt
