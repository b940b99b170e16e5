#pragma once
// Dimension bookkeeping of reductions, scans and gathers: a set of operands that walk the same index space, each with its
// own strides in bytes, brought to as few dimensions as possible.
//
// Why not LoopNest (aten/cpu/strided_loop.h), which drives pointwise loops: there operands are many, known at run time and broadcast
// to the first, and elements may come in any order. Here they are few, known at compile time, kept and reduced dimensions are
// sets of their own, and the order may have to stay the logical one (`keep_order`), because a result depends on positions.

#include <cstdint>

#include "c10/util/exception.h"

namespace at::cpu {

// No tensor has more dimensions than this (TensorImpl::kMaxDims).
inline constexpr int kMaxDims = 64;

// `sizes[d]` elements along dimension d, operand a moves `strides[a][d]` bytes per step. Dimension 0 is the innermost one
// after `normalize()`; before it the order is the caller's.
template <int kArgs>
struct StridedDims {
  StridedDims() {}  // leaves the arrays as they are
  int ndim = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kArgs][kMaxDims];

  void push(int64_t size, const int64_t (&arg_strides)[kArgs]) {
    TORCH_INTERNAL_ASSERT(ndim < kMaxDims, "a walk over more than ", kMaxDims, " dimensions");
    sizes[ndim] = size;
    for (int a = 0; a < kArgs; ++a) strides[a][ndim] = arg_strides[a];
    ++ndim;
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }

  // Drops dimensions of size 1 and, unless `keep_order`, sorts by the magnitude of operand 0's stride (ties: later operands),
  // smallest first; then merges neighbours that are one run for every operand. With `keep_order` dimension 0 must already be
  // the fastest in the caller's logical order, and stays so.
  void normalize(bool keep_order = false) {
    int kept = 0;
    for (int d = 0; d < ndim; ++d) {
      if (sizes[d] != 1) move(d, kept++);
    }
    ndim = kept;
    if (!keep_order) {
      for (int i = 1; i < ndim; ++i) {
        for (int j = i; j > 0 && before(j, j - 1); --j) swap(j, j - 1);
      }
    }
    if (ndim == 0) return;
    int last = 0;
    for (int d = 1; d < ndim; ++d) {
      bool mergeable = true;
      for (int a = 0; a < kArgs; ++a) mergeable &= strides[a][d] == strides[a][last] * sizes[last];
      if (mergeable) {
        sizes[last] *= sizes[d];
      } else {
        move(d, ++last);
      }
    }
    ndim = last + 1;
  }

 private:
  static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }
  bool before(int i, int j) const {
    for (int a = 0; a < kArgs; ++a) {
      const int64_t x = magnitude(strides[a][i]), y = magnitude(strides[a][j]);
      if (x != y) return x < y;
    }
    return false;
  }
  void move(int from, int to) {
    sizes[to] = sizes[from];
    for (int a = 0; a < kArgs; ++a) strides[a][to] = strides[a][from];
  }
  void swap(int i, int j) {
    const int64_t size = sizes[i];
    sizes[i] = sizes[j];
    sizes[j] = size;
    for (int a = 0; a < kArgs; ++a) {
      const int64_t stride = strides[a][i];
      strides[a][i] = strides[a][j];
      strides[a][j] = stride;
    }
  }
};

// Walks the index space of dimensions [first, ndim) of a StridedDims, keeping one byte offset per operand.
//   StridedWalk<2> w(dims, 1); for (int64_t i = w.total(); i > 0; --i, w.next()) use(w.offset[0], w.offset[1]);
template <int kArgs>
class StridedWalk {
 public:
  StridedWalk(const StridedDims<kArgs>& dims, int first, int64_t start = 0) : dims_(dims), first_(first) {
    for (int a = 0; a < kArgs; ++a) offset[a] = 0;
    left_ = 1;
    for (int d = first; d < dims.ndim; ++d) {
      left_ *= dims.sizes[d];
      if (dims.sizes[d] == 0) continue;
      index_[d] = start % dims.sizes[d];
      start /= dims.sizes[d];
      for (int a = 0; a < kArgs; ++a) offset[a] += index_[d] * dims.strides[a][d];
    }
  }
  // Number of points of the whole space walked over.
  int64_t total() const { return left_; }
  void next() {
    for (int d = first_; d < dims_.ndim; ++d) {
      if (++index_[d] < dims_.sizes[d]) {
        for (int a = 0; a < kArgs; ++a) offset[a] += dims_.strides[a][d];
        return;
      }
      index_[d] = 0;
      for (int a = 0; a < kArgs; ++a) offset[a] -= (dims_.sizes[d] - 1) * dims_.strides[a][d];
    }
  }
  int64_t index(int d) const { return index_[d]; }

  int64_t offset[kArgs];

 private:
  const StridedDims<kArgs>& dims_;
  int first_;
  int64_t left_;
  int64_t index_[kMaxDims];
};

}  // namespace at::cpu
