#include <algorithm>
#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/sparse/rows_call.h"

namespace at::cuda {
namespace {

// Below so many columns a warp shares the elements of a row, and not its columns.
constexpr int64_t kFewColumns = 4;

// A thread an element of the result; neighbours have neighbouring columns.
template <class C>
__global__ void rows_by_columns(const __grid_constant__ SparseRowsCall call, int64_t item) {
  const int64_t numel = call.rows * call.columns, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    const int64_t row = i / call.columns, column = i - row * call.columns;
    C sum = C(0);
    for (int64_t k = call.pointers[row]; k < call.pointers[row + 1]; ++k) {
      sum = sum + load_as<C>(call.values + k * item, call.dtype) *
                      load_as<C>(call.dense + (call.places[k] * call.columns + column) * item, call.dtype);
    }
    store_as(call.out + i * item, call.dtype, sum);
  }
}

// A warp an element of the result.
template <class C>
__global__ void rows_by_elements(const __grid_constant__ SparseRowsCall call, int64_t item) {
  const int64_t numel = call.rows * call.columns, step = int64_t{gridDim.x} * blockDim.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < numel; i += step) {
    const int64_t row = i / call.columns, column = i - row * call.columns;
    C sum = C(0);
    for (int64_t k = call.pointers[row] + lane; k < call.pointers[row + 1]; k += 32) {
      sum = sum + load_as<C>(call.values + k * item, call.dtype) *
                      load_as<C>(call.dense + (call.places[k] * call.columns + column) * item, call.dtype);
    }
    join_lanes(sum, 32, [](C& into, const C& from) { into = into + from; });
    if (lane == 0) store_as(call.out + i * item, call.dtype, sum);
  }
}

template <class C>
__global__ void triangular_rows(const __grid_constant__ SparseRowsCall call, bool upper, bool unit) {
  const auto* const values = reinterpret_cast<const C*>(call.values);
  auto* const x = reinterpret_cast<C*>(call.out);
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < call.columns; c += stride) {
    for (int64_t step = 0; step < call.rows; ++step) {
      const int64_t i = upper ? call.rows - 1 - step : step;
      C diagonal = C(unit ? 1 : 0), rest = x[i * call.columns + c];
      for (int64_t k = call.pointers[i]; k < call.pointers[i + 1]; ++k) {
        const int64_t j = call.places[k];
        if (j == i) {
          if (!unit) diagonal = diagonal + values[k];
        } else if ((j > i) == upper) {
          rest = rest - values[k] * x[j * call.columns + c];
        }
      }
      x[i * call.columns + c] = rest / diagonal;
    }
  }
}

template <class C>
void launch_triangular(const SparseRowsCall& call, bool upper, bool unit) {
  const auto columns = static_cast<uint32_t>(std::min<int64_t>(call.columns, INT32_MAX));
  c10::cuda::launch_or_throw(call.name, triangular_rows<C>, shape_for(columns, 1, c10::cuda::getCurrentCUDAStream()),
                             call, upper, unit);
}

// A warp an element.
template <class C>
__global__ void sampled_rows(const __grid_constant__ SampledRowsCall call, int64_t item) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int64_t k = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; k < call.elements; k += step) {
    const char *left = call.left + call.lines[k] * call.inner * item,
               *right = call.right + call.places[k] * call.inner * item;
    C sum = C(0);
    for (int64_t l = lane; l < call.inner; l += 32)
      sum = sum + load_as<C>(left + l * item, call.dtype) * load_as<C>(right + l * item, call.dtype);
    join_lanes(sum, 32, [](C& into, const C& from) { into = into + from; });
    if (lane == 0) store_as(call.out + k * item, call.dtype, sum);
  }
}

template <class C>
void launch(const SampledRowsCall& call) {
  c10::cuda::launch_or_throw(call.name, sampled_rows<C>,
                             shape_for(static_cast<uint32_t>(std::min<int64_t>(call.elements * 32, INT32_MAX)), 1,
                                       c10::cuda::getCurrentCUDAStream()),
                             call, static_cast<int64_t>(c10::elementSize(call.dtype)));
}

template <class C>
void launch(const SparseRowsCall& call) {
  const auto item = static_cast<int64_t>(c10::elementSize(call.dtype));
  const bool few = call.columns < kFewColumns;
  const int64_t threads = call.rows * call.columns * (few ? 32 : 1);
  c10::cuda::launch_or_throw(
      call.name, few ? rows_by_elements<C> : rows_by_columns<C>,
      shape_for(static_cast<uint32_t>(std::min<int64_t>(threads, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream()),
      call, item);
}

}  // namespace

namespace {
template <class Call>
void launch_in_dtype(const Call& call) {
  switch (call.dtype) {
    case ScalarType::Double:
      return launch<double>(call);
    case ScalarType::ComplexFloat:
    case ScalarType::ComplexHalf:
      return launch<c10::complex<float>>(call);
    case ScalarType::ComplexDouble:
      return launch<c10::complex<double>>(call);
    default:
      return c10::isIntegralType(call.dtype, true) ? launch<int64_t>(call) : launch<float>(call);
  }
}
}  // namespace

void launch_sparse_rows(const SparseRowsCall& call) {
  launch_in_dtype(call);
}
void launch_triangular_rows(const SparseRowsCall& call, bool upper, bool unit) {
  switch (call.dtype) {
    case ScalarType::Float:
      return launch_triangular<float>(call, upper, unit);
    case ScalarType::Double:
      return launch_triangular<double>(call, upper, unit);
    case ScalarType::ComplexFloat:
      return launch_triangular<c10::complex<float>>(call, upper, unit);
    default:
      return launch_triangular<c10::complex<double>>(call, upper, unit);
  }
}
void launch_sampled_rows(const SampledRowsCall& call) {
  launch_in_dtype(call);
}

}  // namespace at::cuda
