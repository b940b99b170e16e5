// Every status of the CUDA runtime is checked:
//
//   C10_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
//   c10::cuda::launch_or_throw("scale", scale_kernel, {.grid = blocks, .block = 256, .stream = stream}, x, a, n);
//
// A failed call throws c10::AcceleratorError: get_error_code() is the cudaError_t, the message begins with "CUDA error:
// " and the runtime's text and names the call, its place and the calling thread's current device; for launches kernel
// and stream.
#pragma once

#include <driver_types.h>

#include <string>

#include "c10/macros/macros.h"

namespace std {
class mutex;
}

namespace c10 {

class AcceleratorError;
/// What a failed call of CUDA throws.
using CUDAError = AcceleratorError;

namespace cuda {

/// Throws the c10::AcceleratorError of a failed call and forgets the error, so that no later call reports it again.
[[noreturn]] C10_COLD void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line);
/// The same as a warning ("CUDA warning: ...").
C10_COLD void warn_cuda_error(cudaError_t status, const char* call, const char* file, int line);
/// Throws for a status that was kept, of `call`.
inline void check_status(cudaError_t status, const char* call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  if (C10_UNLIKELY(status != cudaSuccess)) throw_cuda_error(status, call, file, line);
}
/// The error of a launch, with the names of kernel and stream.
[[noreturn]] C10_COLD void throw_launch_error(cudaError_t status, const char* kernel, cudaStream_t stream,
                                              const char* file, int line);

/// Throws the error of a launch unless it succeeded.
inline void check_launch(const char* kernel, cudaError_t status, cudaStream_t stream,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (C10_UNLIKELY(status != cudaSuccess)) throw_launch_error(status, kernel, stream, file, line);
}

/// The status of the calling thread's last launch, which it clears.
cudaError_t last_launch_status();

/// What messages say behind an error: that an error of a kernel comes out of a later call, unless CUDA_LAUNCH_BLOCKING
/// is set.
const char* get_cuda_check_suffix() noexcept;
/// The same, for one error: nothing for errors that kernels do not cause.
std::string get_cuda_error_help(cudaError_t error) noexcept;

/// Held while device memory is given back to the driver, and by who must not wait for that in the middle of something.
std::mutex* getFreeMutex();

}  // namespace cuda
}  // namespace c10

#define C10_CUDA_CHECK(call)                                                                                         \
  do {                                                                                                               \
    const cudaError_t kd_status = (call);                                                                            \
    if (C10_UNLIKELY(kd_status != cudaSuccess)) ::c10::cuda::throw_cuda_error(kd_status, #call, __FILE__, __LINE__); \
  } while (0)

/// Warns where C10_CUDA_CHECK throws: for destructors.
#define C10_CUDA_CHECK_WARN(call)                                                                                   \
  do {                                                                                                              \
    const cudaError_t kd_status = (call);                                                                           \
    if (C10_UNLIKELY(kd_status != cudaSuccess)) ::c10::cuda::warn_cuda_error(kd_status, #call, __FILE__, __LINE__); \
  } while (0)

/// The status of a call whose failure the code around handles; who does so calls C10_CUDA_CLEAR_ERROR().
#define C10_CUDA_ERROR_HANDLED(call) (call)

/// libtorch's name of C10_CUDA_CHECK.
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)

/// Makes a call whose failure does not matter.
#define C10_CUDA_IGNORE_ERROR(call)                                                   \
  do {                                                                                \
    if (C10_UNLIKELY((call) != cudaSuccess)) (void)::c10::cuda::last_launch_status(); \
  } while (0)

/// Forgets the calling thread's last error. Errors that ended the device's context stay.
#define C10_CUDA_CLEAR_ERROR() ((void)::c10::cuda::last_launch_status())

/// Checks the calling thread's last launch, for kernels that were not launched by launch_or_throw.
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(::c10::cuda::last_launch_status())
