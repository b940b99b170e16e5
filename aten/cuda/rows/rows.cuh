// How a kernel for rows is made of a function of one row.
#pragma once

#include <algorithm>
#include <cmath>

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "aten/cuda/rows/row_functions.cuh"
#include "aten/cuda/rows/rows_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

inline constexpr int kRowVector = 8;

/// A row as one of its kLanes threads sees it. All of them call the same functions in the same order.
template <class Compute, int kLanes>
struct Row {
  using Number = Compute;

  const RowsCall& call;
  int64_t index;
  int lane;
  char* scratch;  // of the block

  /// Calls f(k, x) for the elements of this thread, which begin with the one at k: x[i][j] is of the j-th element, of
  /// the i-th of the inputs kWhich.
  template <int... kWhich, class F>
  __device__ __forceinline__ void each(const F& f) const {
    constexpr int kInputs = sizeof...(kWhich);
    constexpr int which[kInputs] = {kWhich...};
    const int64_t first = begin();
    if (call.vectors) {
      for (int64_t k = lane * kRowVector; k < call.size; k += kLanes * kRowVector) {
        Compute x[kInputs][kRowVector] = {};
#pragma unroll
        for (int i = 0; i < kInputs; ++i) load_vector_as(at(which[i], first, k), call.in_dtype[which[i]], x[i]);
        f(k, x);
      }
    } else {
      for (int64_t k = lane; k < call.size; k += kLanes) {
        Compute x[kInputs][1] = {};
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          const char* from[1] = {at(which[i], first, k)};
          load_each_as(from, call.in_dtype[which[i]], x[i]);
        }
        f(k, x);
      }
    }
  }

  /// The result's elements: f(k, v) with v[i] of the i-th of the inputs kWhich.
  template <int... kWhich, class F>
  __device__ __forceinline__ void map(const F& f) const {
    constexpr int kInputs = sizeof...(kWhich);
    const int64_t first = begin();
    each<kWhich...>([&](int64_t k, const auto& x) {
      constexpr int kCount = static_cast<int>(sizeof(x[0]) / sizeof(Compute));
      Compute y[kCount];
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        Compute v[kInputs];
#pragma unroll
        for (int i = 0; i < kInputs; ++i) v[i] = x[i][j];
        y[j] = f(k + j, v);
      }
      visit_stored<Compute>(call.out_dtype, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        auto* to = reinterpret_cast<Stored*>(call.out) + first + k * call.inner;
        if constexpr (kCount == 1) {
          *to = convert<Stored>(y[0]);
        } else {
          constexpr int kTogether = sizeof(Stored) * kCount <= 16 ? kCount : static_cast<int>(16 / sizeof(Stored));
          struct alignas(sizeof(Stored) * kTogether) Vector {
            Stored v[kTogether];
          };
#pragma unroll
          for (int j = 0; j < kCount; j += kTogether) {
            Vector vector;
#pragma unroll
            for (int i = 0; i < kTogether; ++i) vector.v[i] = convert<Stored>(y[j + i]);
            c10::cuda::store_aligned(to + j, vector);
          }
        }
      });
    });
  }

  /// What all threads of the row have together, for each of them; join(into, from).
  template <class T, class Join>
  __device__ __forceinline__ T together(T value, const Join& join) const {
    return at::cuda::together<kLanes>(value, lane, scratch, join);
  }
  __device__ __forceinline__ Compute sum(Compute value) const {
    return together(value, [](Compute& into, const Compute& from) { into += from; });
  }

  /// A number of the row, and its writing.
  template <int k>
  __device__ __forceinline__ Compute number() const {
    return static_cast<const Compute*>(call.numbers[k])[index];
  }
  template <int k>
  __device__ __forceinline__ void set_number(Compute value) const {
    if (lane == 0) static_cast<Compute*>(call.numbers[k])[index] = value;
  }
  __device__ __forceinline__ Compute first_of(int input) const {
    Compute x[1] = {};
    const char* from[1] = {at(input, begin(), 0)};
    load_each_as(from, call.in_dtype[input], x);
    return x[0];
  }

 private:
  __device__ __forceinline__ int64_t begin() const {
    return call.inner == 1 ? index * call.size : index / call.inner * call.size * call.inner + index % call.inner;
  }
  __device__ __forceinline__ const char* at(int input, int64_t first, int64_t k) const {
    const int64_t place = input >= call.of_columns ? k : first + k * call.inner;
    return call.in[input] + place * item_size(call.in_dtype[input]);
  }
  static __device__ __forceinline__ int64_t item_size(ScalarType dtype) {
    return dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
  }
};

// `Fn` is a function of a row: template <class Compute, int kLanes> static __device__ void run(const Row<Compute,
// kLanes>&).
template <class Fn, class Compute, int kLanes>
__global__ void __launch_bounds__(kThreadsPerBlock, sizeof(Compute) > 4 ? 1 : 3)
    each_row(const __grid_constant__ RowsCall call) {
  constexpr int kRows = static_cast<int>(kThreadsPerBlock) / kLanes;
  const int place = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t row = int64_t{blockIdx.x} * kRows + place; row < call.rows; row += int64_t{gridDim.x} * kRows) {
    Fn::run(Row<Compute, kLanes>{call, row, lane, c10::cuda::dynamic_shared<char>()});
  }
}

template <class Fn, class Compute, int kLanes>
void launch_rows_of(const RowsCall& call) {
  constexpr int64_t kRows = kThreadsPerBlock / kLanes;
  const auto blocks = static_cast<uint32_t>(std::min<int64_t>((call.rows - 1) / kRows + 1, int64_t{1} << 30));
  c10::cuda::launch_or_throw(
      call.name, each_row<Fn, Compute, kLanes>,
      {.grid = blocks, .block = kThreadsPerBlock, .shared_bytes = 16 * 8, .stream = c10::cuda::getCurrentCUDAStream()},
      call);
}

template <class Fn, class Compute>
void launch_rows(const RowsCall& call) {
  if (call.lanes == 32) return launch_rows_of<Fn, Compute, 32>(call);
  if (call.lanes != 1) return launch_rows_of<Fn, Compute, kThreadsPerBlock>(call);
  if constexpr (Fn::kAnyInner) launch_rows_of<Fn, Compute, 1>(call);
}

template <class Fn>
constexpr RowsLaunchers rows_launchers() {
  return {&launch_rows<Fn, float>, &launch_rows<Fn, double>};
}

}  // namespace at::cuda
