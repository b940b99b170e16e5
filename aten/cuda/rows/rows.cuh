// How a kernel for rows is made of a function of one row.
#pragma once

#include <algorithm>
#include <type_traits>

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/load_elements.cuh"
#include "aten/cuda/rows/row_functions.cuh"
#include "aten/cuda/rows/rows_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

/// A row of tensors. Pieces are not single elements where rows are kept.
template <class Compute, int kLanes, bool kHolds>
struct Row : RowThread<Row<Compute, kLanes, kHolds>, Compute, kLanes, kHolds> {
  const RowsCall& call;
  int64_t index;

  __device__ __forceinline__ Row(const RowsCall& call, int64_t index, int lane, char* scratch)
      : RowThread<Row, Compute, kLanes, kHolds>(lane, scratch), call(call), index(index) {}

  __device__ __forceinline__ int piece() const { return call.piece; }
  /// A number of the row, and its writing.
  template <int k>
  __device__ __forceinline__ Compute number() const {
    return static_cast<const Compute*>(call.numbers[k])[index];
  }
  template <int k>
  __device__ __forceinline__ void set_number(Compute value) const {
    if (this->lane == 0) static_cast<Compute*>(call.numbers[k])[index] = value;
  }
  __device__ __forceinline__ Compute element(int input, int64_t k) const {
    Compute x[1] = {};
    const char* from[1] = {at(input, k)};
    load_each_as(from, call.in_dtype[input], x);
    return x[0];
  }

  template <int kInput>
  __device__ __forceinline__ void load_input(Compute (&x)[kRowVector], int n, int u) const {
#pragma unroll
    for (int j = 0; j < kRowVector; ++j) x[j] = 0;
    const char* from = at(kInput, this->place(u, 0));
    const int64_t step = kLanes * (kInput >= call.of_columns ? 1 : call.inner);
    visit_stored<Compute>(call.in_dtype[kInput], [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      in_pieces<Stored>([&](auto piece) { load_pieces<piece.value, Stored>(from, step, x, n); });
    });
  }
  __device__ __forceinline__ void store(const Compute (&y)[kRowVector], int n, int u) const {
    const int64_t first = begin() + this->place(u, 0) * call.inner, step = kLanes * call.inner;
    visit_stored<Compute>(call.out_dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      Stored* to = reinterpret_cast<Stored*>(call.out) + first;
      in_pieces<Stored>([&](auto piece) { store_pieces<piece.value>(to, step, y, n); });
    });
  }

 private:
  __device__ __forceinline__ int64_t begin() const {
    return call.inner == 1 ? index * call.size : index / call.inner * call.size * call.inner + index % call.inner;
  }
  __device__ __forceinline__ const char* at(int input, int64_t k) const {
    const int64_t place = input >= call.of_columns ? k : begin() + k * call.inner;
    return call.in[input] + place * item_size(call.in_dtype[input]);
  }
  static __device__ __forceinline__ int64_t item_size(ScalarType dtype) {
    return dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
  }

  // Calls f(number of neighbours in a piece, as a constant).
  template <class Stored, class F>
  __device__ __forceinline__ void in_pieces(const F& f) const {
    if constexpr (!kHolds) {
      if (call.piece == 1) return f(std::integral_constant<int, 1>());
    }
    if constexpr (sizeof(Compute) == 4 && sizeof(Stored) == 2) {
      if (call.piece == 8) return f(std::integral_constant<int, 8>());
    }
    f(std::integral_constant<int, kPieceOf<Compute>>());
  }

  // The first n elements of a unit, in pieces of kPiece.
  template <int kPiece, class Stored>
  __device__ __forceinline__ void load_pieces(const char* from, int64_t step, Compute (&x)[kRowVector], int n) const {
#pragma unroll
    for (int j = 0; j < kRowVector; j += kPiece) {
      if (j >= n) continue;
      if constexpr (kPiece == 1) {
        x[j] = convert<Compute>(at::cuda::load<Stored>(from + j * step * static_cast<int64_t>(sizeof(Stored))));
      } else {
        Compute piece[kPiece];
        load_vector<Compute, Stored>(from + j * kLanes * static_cast<int>(sizeof(Stored)), piece);
#pragma unroll
        for (int i = 0; i < kPiece; ++i) x[j + i] = piece[i];
      }
    }
  }
  template <int kPiece, class Stored>
  __device__ __forceinline__ void store_pieces(Stored* to, int64_t step, const Compute (&y)[kRowVector], int n) const {
    struct alignas(sizeof(Stored) * kPiece) Vector {
      Stored v[kPiece];
    };
#pragma unroll
    for (int j = 0; j < kRowVector; j += kPiece) {
      if (j >= n) continue;
      if constexpr (kPiece == 1) {
        to[j * step] = convert<Stored>(y[j]);
      } else {
        Vector vector;
#pragma unroll
        for (int i = 0; i < kPiece; ++i) vector.v[i] = convert<Stored>(y[j + i]);
        c10::cuda::store_aligned(to + j * kLanes, vector);
      }
    }
  }
};

// `Fn` is a function of a row:
//     static constexpr bool kAnyInner;  // whether rows may lie across each other
//     template <class R> static __device__ void run(const R& row);
template <class Fn, class Compute, int kLanes, bool kHolds>
__global__ void __launch_bounds__(kThreadsPerBlock, sizeof(Compute) > 4 ? 1 : 2)
    each_row(const __grid_constant__ RowsCall call) {
  constexpr int kRows = static_cast<int>(kThreadsPerBlock) / kLanes;
  const int place = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t row = int64_t{blockIdx.x} * kRows + place; row < call.rows; row += int64_t{gridDim.x} * kRows) {
    Fn::run(Row<Compute, kLanes, kHolds>(call, row, lane, c10::cuda::dynamic_shared<char>()));
  }
}

template <class Fn, class Compute, int kLanes, bool kHolds>
void launch_rows_of(const RowsCall& call) {
  constexpr int64_t kRows = kThreadsPerBlock / kLanes;
  const auto blocks = static_cast<uint32_t>(std::min<int64_t>((call.rows - 1) / kRows + 1, int64_t{1} << 30));
  c10::cuda::launch_or_throw(
      call.name, each_row<Fn, Compute, kLanes, kHolds>,
      {.grid = blocks, .block = kThreadsPerBlock, .shared_bytes = 16 * 8, .stream = c10::cuda::getCurrentCUDAStream()},
      call);
}

template <class Fn, class Compute>
void launch_rows(const RowsCall& call) {
  if constexpr (Fn::kAnyInner) {
    if (call.lanes == 1) return launch_rows_of<Fn, Compute, 1, false>(call);
  }
  constexpr int kBlock = static_cast<int>(kThreadsPerBlock);
  if (call.lanes == 32)
    call.holds ? launch_rows_of<Fn, Compute, 32, true>(call) : launch_rows_of<Fn, Compute, 32, false>(call);
  else
    call.holds ? launch_rows_of<Fn, Compute, kBlock, true>(call) : launch_rows_of<Fn, Compute, kBlock, false>(call);
}

template <class Fn>
constexpr RowsLaunchers rows_launchers() {
  return {&launch_rows<Fn, float>, &launch_rows<Fn, double>};
}

}  // namespace at::cuda
