#pragma once
// Loops that move elements to or from computed places, without Tensor. Elements are moved by their size; only additions and
// reductions look at them. Offsets are valid when they arrive: callers check indices first.

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cpu {

// The position of the first of n indices (element stride `stride`) outside [low, high), or -1.
int64_t find_out_of_range(const int64_t* index, int64_t n, int64_t stride, int64_t low, int64_t high);

// A block of slices: dense memory seen as [outer][count][inner] on one side and, on the other, slices that start at
// outer * outer_stride + offsets[i] (in elements), each of `inner` dense elements.
struct SliceGeometry {
  int64_t outer = 1;
  int64_t outer_stride = 0;
  int64_t inner = 1;
  const int64_t* offsets = nullptr;
  int64_t count = 0;
};

// dense[o][i][k] = place[o * outer_stride + offsets[i] + k]
void take_slices(void* dense, const void* place, const SliceGeometry& g, int64_t item_size);

// place[o * outer_stride + offsets[i] + k] = dense[o][i][k], later i win.
void put_slices(void* place, const void* dense, const SliceGeometry& g, int64_t item_size);

// place[o * outer_stride + offsets[i] + k] = *item
void fill_slices(void* place, const void* item, const SliceGeometry& g, int64_t item_size);

// place[...] += alpha * dense[o][i][k] in the order of i; bool: logical or. For integer types alpha is truncated.
void add_slices(void* place, const void* dense, const SliceGeometry& g, c10::ScalarType type, double alpha_re, double alpha_im,
                int64_t alpha_integer);

// What a scatter does with an element that is there.
enum class ScatterOp : uint8_t { kAssign, kAdd, kMultiply, kMax, kMin };

// Elementwise gather and scatter along a dimension of strided arrays. Every array has `ndim` dimensions; sizes are those of
// index. Strides in elements.
//   gather:  dst[p] = src[p with p[dim] = index[p]]
//   scatter: dst[p with p[dim] = index[p]] op= src[p]       (src_strides all 0: a single value)
// `size` is the extent of the indexed array along dim. gather throws IndexError for an element of index outside [0, size);
// scatter's caller has checked it, since it may not write before. Places that are written more than once are written in the
// logical order of p.
struct GatherGeometry {
  int ndim = 0;
  int dim = 0;
  const int64_t* sizes = nullptr;
  const int64_t* index_strides = nullptr;
  const int64_t* dst_strides = nullptr;
  const int64_t* src_strides = nullptr;
  int64_t size = 0;
};
void gather(void* dst, const void* src, const int64_t* index, const GatherGeometry& g, int64_t item_size);
void scatter(void* dst, const void* src, const int64_t* index, const GatherGeometry& g, c10::ScalarType type, ScatterOp op);

}  // namespace at::cpu
