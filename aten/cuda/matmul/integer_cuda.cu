// Products of integer matrices, which cuBLASLt has of few dtypes only. A block makes a square of the result from
// squares of the factors in shared memory.
#include <type_traits>

#include "aten/cuda/matmul/integer_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int kSide = 16;

template <class T>
__global__ void integer_product(const __grid_constant__ IntegerProduct p) {
  // Sums wrap, which signed numbers may not do.
  using Sum = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  __shared__ Sum left[kSide][kSide + 1], right[kSide][kSide + 1];
  const int x = static_cast<int>(threadIdx.x) % kSide, y = static_cast<int>(threadIdx.x) / kSide;
  const int64_t i = int64_t{blockIdx.y} * kSide + y, j = int64_t{blockIdx.x} * kSide + x;
  const T* const a = static_cast<const T*>(p.a.data) + int64_t{blockIdx.z} * p.a.batch + i * p.a.row;
  const T* const b = static_cast<const T*>(p.b.data) + int64_t{blockIdx.z} * p.b.batch + j * p.b.column;
  Sum sum = 0;
  for (int64_t k = 0; k < p.k; k += kSide) {
    left[y][x] = i < p.m && k + x < p.k ? static_cast<Sum>(a[(k + x) * p.a.column]) : 0;
    right[y][x] = j < p.n && k + y < p.k ? static_cast<Sum>(b[(k + y) * p.b.row]) : 0;
    __syncthreads();
    for (int d = 0; d < kSide; ++d) sum += left[y][d] * right[d][x];
    __syncthreads();
  }
  if (i < p.m && j < p.n) static_cast<T*>(p.out)[(int64_t{blockIdx.z} * p.m + i) * p.n + j] = static_cast<T>(sum);
}

template <class T>
void launch(const IntegerProduct& p) {
  const auto squares = [](int64_t size) { return static_cast<uint32_t>((size - 1) / kSide + 1); };
  const c10::cuda::Launch shape{.grid = dim3(squares(p.n), squares(p.m), static_cast<uint32_t>(p.batches)),
                                .block = kSide * kSide,
                                .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw("integer_product", integer_product<T>, shape, p);
}

}  // namespace

void launch_integer_product(const IntegerProduct& product) {
  switch (product.dtype) {
    case c10::ScalarType::Byte:
      return launch<uint8_t>(product);
    case c10::ScalarType::Char:
      return launch<int8_t>(product);
    case c10::ScalarType::Short:
      return launch<int16_t>(product);
    case c10::ScalarType::Int:
      return launch<int32_t>(product);
    default:
      return launch<int64_t>(product);
  }
}

}  // namespace at::cuda
