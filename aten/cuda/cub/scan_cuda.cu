#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "aten/cuda/cub.h"
#include "c10/cuda/launch.h"

namespace at::cuda::cub {
namespace {

struct Widen {
  __host__ __device__ int64_t operator()(uint8_t element) const { return element; }
};
struct IsSet {
  __host__ __device__ bool operator()(uint8_t flag) const { return flag != 0; }
};

// CUB's policy for its own sum of 64-bit integers spills registers; for one that it does not know it takes another.
struct Sum {
  __host__ __device__ int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

template <class Elements>
cudaError_t scan(void* scratch, size_t& scratch_bytes, Elements elements, int64_t* sums, int64_t n, bool inclusive,
                 cudaStream_t stream) {
  return inclusive
             ? ::cub::DeviceScan::InclusiveScan(scratch, scratch_bytes, elements, sums, Sum{}, n, stream)
             : ::cub::DeviceScan::ExclusiveScan(scratch, scratch_bytes, elements, sums, Sum{}, int64_t{0}, n, stream);
}

}  // namespace

cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const uint8_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream) {
  c10::cuda::register_kernels();
  return scan(scratch, scratch_bytes, thrust::make_transform_iterator(elements, Widen{}), sums, n, inclusive, stream);
}
cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const int64_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream) {
  c10::cuda::register_kernels();
  return scan(scratch, scratch_bytes, elements, sums, n, inclusive, stream);
}

cudaError_t select_flagged(void* scratch, size_t& scratch_bytes, const uint8_t* flags, int64_t* selected,
                           int64_t* count, int64_t n, cudaStream_t stream) {
  c10::cuda::register_kernels();
  return ::cub::DeviceSelect::Flagged(scratch, scratch_bytes, thrust::counting_iterator<int64_t>(0),
                                      thrust::make_transform_iterator(flags, IsSet{}), selected, count, n, stream);
}

}  // namespace at::cuda::cub
