// How a kernel for rows is made of a function of one row.
#pragma once

#include <algorithm>
#include <cmath>

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "aten/cuda/rows/rows_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

/// A row as one of its kLanes threads sees it. All of them call the same functions in the same order. A thread has
/// kRowVector elements of each unit of kLanes * kRowVector: pieces of call.piece neighbours, so that what the threads
/// read at once lies together. With kHeld > 0 a row has at most so many units, and a thread keeps its elements; pieces
/// are not single elements then.
template <class Compute, int kLanes, int kHeld>
struct Row {
  const RowsCall& call;
  int64_t index;
  int lane;
  char* scratch;  // of the block

  /// The thread's elements of the inputs kWhich; read when they are used where kHeld is 0.
  template <int... kWhich>
  struct Elements {
    Compute x[kHeld > 0 ? kHeld : 1][sizeof...(kWhich)][kRowVector];
  };

  template <int... kWhich>
  __device__ __forceinline__ Elements<kWhich...> elements() const {
    Elements<kWhich...> e;
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int u = 0; u < kHeld; ++u) load<kWhich...>(e.x[u], u);
    }
    return e;
  }

  /// Calls f(x, count, unit) for each unit: x[i][j] is the j-th of this thread's `count` elements of the i-th input.
  template <int... kWhich, class F>
  __device__ __forceinline__ void each(const Elements<kWhich...>& e, const F& f) const {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int u = 0; u < kHeld; ++u) f(e.x[u], count(u), u);
    } else {
      const auto units = static_cast<int>((call.size - 1) / kUnit + 1);
      for (int u = 0; u < units; ++u) {
        Compute x[sizeof...(kWhich)][kRowVector];
        load<kWhich...>(x, u);
        f(x, count(u), u);
      }
    }
  }

  /// Writes the result's elements, f(k, v) for place k, with v[i] of the i-th of the inputs kWhich and then kMore.
  template <int... kMore, int... kWhich, class F>
  __device__ __forceinline__ void map(const Elements<kWhich...>& e, const F& f) const {
    constexpr int kInputs = sizeof...(kWhich);
    each(e, [&](const auto& x, int n, int u) {
      Compute more[sizeof...(kMore) + 1][kRowVector];
      if constexpr (sizeof...(kMore) > 0) load<kMore...>(more, u);
      Compute y[kRowVector];
#pragma unroll
      for (int j = 0; j < kRowVector; ++j) {
        Compute v[kInputs + sizeof...(kMore)];
#pragma unroll
        for (int i = 0; i < kInputs; ++i) v[i] = x[i][j];
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof...(kMore)); ++i) v[kInputs + i] = more[i][j];
        y[j] = f(place(u, j), v);
      }
      store(y, n, u);
    });
  }

  /// The column inputs kWhich of a unit.
  template <int... kWhich, int kRows>
  __device__ __forceinline__ void load(Compute (&x)[kRows][kRowVector], int u) const {
    constexpr int which[] = {kWhich...};
    const int n = count(u);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof...(kWhich)); ++i) load_input(which[i], x[i], n, u);
  }

  /// How many elements of a unit this thread has: those with the lowest places.
  __device__ __forceinline__ int count(int u) const {
    const int64_t left = call.size - place(u, 0);
    if (left <= 0) return 0;
    const int64_t step = int64_t{kLanes} * call.piece;
    const int all = kRowVector / call.piece;
    return (left > (all - 1) * step ? all : static_cast<int>((left - 1) / step) + 1) * call.piece;
  }
  __device__ __forceinline__ int64_t place(int u, int j) const {
    return u * int64_t{kUnit} + (j & ~(call.piece - 1)) * kLanes + lane * call.piece + (j & (call.piece - 1));
  }

  /// What all threads of the row have together, for each of them; join(into, from).
  template <class T, class Join>
  __device__ __forceinline__ T together(T value, const Join& join) const {
    if constexpr (kLanes == 32) {
      join_lanes(value, 32, join);
      return shuffle_from(value, 0);
    } else if constexpr (kLanes > 32) {
      T* room = reinterpret_cast<T*>(scratch);
      join_block(value, lane, kLanes, room, join);
      if (lane == 0) room[0] = value;
      __syncthreads();
      value = room[0];
      __syncthreads();
      return value;
    } else {
      return value;
    }
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
  /// The element of an input at a place.
  __device__ __forceinline__ Compute element(int input, int64_t k) const {
    Compute x[1] = {};
    const char* from[1] = {at(input, k)};
    load_each_as(from, call.in_dtype[input], x);
    return x[0];
  }

 private:
  static constexpr int kUnit = kLanes * kRowVector;

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
  __device__ __forceinline__ void load_input(int input, Compute (&x)[kRowVector], int n, int u) const {
#pragma unroll
    for (int j = 0; j < kRowVector; ++j) x[j] = 0;
    const char* from = at(input, place(u, 0));
    const int64_t step = kLanes * (input >= call.of_columns ? 1 : call.inner);
    visit_stored<Compute>(call.in_dtype[input], [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      if constexpr (kHeld == 0) {
        if (call.piece == 1) return load_pieces<1, Stored>(from, step, x, n);
      }
      if constexpr (sizeof(Stored) == 2) {
        if (call.piece == 8) return load_pieces<8, Stored>(from, step, x, n);
      }
      load_pieces<kPieceOf<Compute>, Stored>(from, step, x, n);
    });
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
  __device__ __forceinline__ void store(const Compute (&y)[kRowVector], int n, int u) const {
    const int64_t first = begin() + place(u, 0) * call.inner, step = kLanes * call.inner;
    visit_stored<Compute>(call.out_dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      Stored* to = reinterpret_cast<Stored*>(call.out) + first;
      if constexpr (kHeld == 0) {
        if (call.piece == 1) return store_pieces<1>(to, step, y, n);
      }
      if constexpr (sizeof(Stored) == 2) {
        if (call.piece == 8) return store_pieces<8>(to, step, y, n);
      }
      store_pieces<kPieceOf<Compute>>(to, step, y, n);
    });
  }
};

// `Fn` is a function of a row:
//     static constexpr bool kAnyInner;  // whether rows may lie across each other
//     static constexpr int kHeld;       // units of float elements that a thread keeps
//     template <class Row, class Compute> static __device__ void run(const Row&, Compute tag);
template <class Fn, class Compute, int kLanes, int kHeld>
__global__ void __launch_bounds__(kThreadsPerBlock, sizeof(Compute) > 4 ? 1 : 2)
    each_row(const __grid_constant__ RowsCall call) {
  constexpr int kRows = static_cast<int>(kThreadsPerBlock) / kLanes;
  const int place = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t row = int64_t{blockIdx.x} * kRows + place; row < call.rows; row += int64_t{gridDim.x} * kRows) {
    Fn::run(Row<Compute, kLanes, kHeld>{call, row, lane, c10::cuda::dynamic_shared<char>()}, Compute());
  }
}

template <class Fn, class Compute, int kLanes, int kHeld>
void launch_rows_of(const RowsCall& call) {
  constexpr int64_t kRows = kThreadsPerBlock / kLanes;
  const auto blocks = static_cast<uint32_t>(std::min<int64_t>((call.rows - 1) / kRows + 1, int64_t{1} << 30));
  c10::cuda::launch_or_throw(
      call.name, each_row<Fn, Compute, kLanes, kHeld>,
      {.grid = blocks, .block = kThreadsPerBlock, .shared_bytes = 16 * 8, .stream = c10::cuda::getCurrentCUDAStream()},
      call);
}

template <class Fn, class Compute>
void launch_rows(const RowsCall& call) {
  constexpr int kHeld = held_units<Compute>(Fn::kHeld);
  if constexpr (Fn::kAnyInner) {
    if (call.lanes == 1) return launch_rows_of<Fn, Compute, 1, 0>(call);
  }
  if (call.lanes == 32)
    call.held ? launch_rows_of<Fn, Compute, 32, kHeld>(call) : launch_rows_of<Fn, Compute, 32, 0>(call);
  else
    call.held ? launch_rows_of<Fn, Compute, kThreadsPerBlock, kHeld>(call)
              : launch_rows_of<Fn, Compute, kThreadsPerBlock, 0>(call);
}

template <class Fn>
constexpr RowsLaunchers rows_launchers() {
  return {&launch_rows<Fn, float>, &launch_rows<Fn, double>, Fn::kHeld};
}

}  // namespace at::cuda
