// The cache of cuFFT's plans, which only programs with the CUDA backend have.
#include "aten/ops/fft/kernels.h"
#include "c10/util/exception.h"

namespace at::cuda::fft {
[[gnu::weak]] int64_t plan_cache_size(int64_t device);
[[gnu::weak]] int64_t plan_cache_max_size(int64_t device);
[[gnu::weak]] void set_plan_cache_max_size(int64_t device, int64_t max_size);
[[gnu::weak]] void clear_plan_cache(int64_t device);
}  // namespace at::cuda::fft

namespace at::native {
namespace {

void check_backend() {
  TORCH_CHECK(&cuda::fft::plan_cache_size != nullptr, "There are no plans of cuFFT: this program has no CUDA backend");
}

}  // namespace

int64_t _cufft_get_plan_cache_size(int64_t device_index) {
  check_backend();
  return cuda::fft::plan_cache_size(device_index);
}
int64_t _cufft_get_plan_cache_max_size(int64_t device_index) {
  check_backend();
  return cuda::fft::plan_cache_max_size(device_index);
}
void _cufft_set_plan_cache_max_size(int64_t device_index, int64_t max_size) {
  check_backend();
  cuda::fft::set_plan_cache_max_size(device_index, max_size);
}
void _cufft_clear_plan_cache(int64_t device_index) {
  check_backend();
  cuda::fft::clear_plan_cache(device_index);
}

}  // namespace at::native
