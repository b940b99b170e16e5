// What runs printed groups: the elements of some tensors gone through in one order, the same for all of them.
#pragma once

#include <cstdint>

#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/integer.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/rows/rows.h"

namespace torch::aot {

/// n elements of each operand, from data[k] on. steps[k]: the bytes from one to the next, read of operands for which
/// the kernel does not know them.
using GroupKernel = void (*)(char* const* data, const int64_t* steps, int64_t n);
using GroupTable = at::cpu::IsaTable<GroupKernel>;

/// The most tensors that a group reads and writes.
constexpr int kMostGroupOperands = 31;

constexpr int kMostGroupDims = 64;

/// Outermost dimension first.
struct GroupNest {
  int dims, operands;
  const int64_t* sizes;
  const int64_t* strides;  ///< bytes: of all operands along the first dimension, of all along the second, ...
};

/// The kernel on all elements, on several threads where it is worth it.
void run_group(const GroupTable& kernel, char* const* data, const GroupNest& nest);
/// The same in the calling thread: links no others.
void run_group_alone(const GroupTable& kernel, char* const* data, const GroupNest& nest);

/// y = f(x) of rows one after the other; x may be y.
using FunctionOfRows = void (*)(const char* x, char* y, int64_t rows, int64_t n, const void* context);

struct RowGroup {
  const GroupTable* before;  ///< what is computed before the row and written; null for nothing
  FunctionOfRows function;
  const void* context;
  const GroupTable* after;  ///< of the row, which it reads where `target` is; null for nothing
  int source, target;       ///< the operands that the row is read from and written to: dense
  int64_t row;              ///< elements; a run of the nest has whole rows
};
void run_rows(const RowGroup& group, char* const* data, const GroupNest& nest);
void run_rows_alone(const RowGroup& group, char* const* data, const GroupNest& nest);

/// Elements that are not worth a second thread.
constexpr int64_t kFewElements = 32768;
constexpr int64_t kFewElementsOfRows = 16384;

template <class T>
void softmax_of_rows(const char* x, char* y, int64_t rows, int64_t n, const void*) {
  at::cpu::softmax_rows(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), rows, n);
}
template <class T>
void log_softmax_of_rows(const char* x, char* y, int64_t rows, int64_t n, const void*) {
  at::cpu::log_softmax_rows(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), rows, n);
}

struct NormContext {
  const char *weight, *bias;  ///< n elements of T, or null
  double eps;
};
template <class T>
void layer_norm_of_rows(const char* x, char* y, int64_t rows, int64_t n, const void* context) {
  const NormContext& c = *static_cast<const NormContext*>(context);
  for (int64_t r = 0; r < rows; ++r) {
    T mean, rstd;
    at::cpu::layer_norm_row(reinterpret_cast<const T*>(x) + r * n, reinterpret_cast<const T*>(c.weight),
                            reinterpret_cast<const T*>(c.bias), reinterpret_cast<T*>(y) + r * n, n, c.eps, &mean,
                            &rstd);
  }
}

namespace detail {

int64_t numel(const GroupNest& nest);
/// The elements [begin, end) of all, the rows [begin, end).
void run_elements(const GroupTable& kernel, char* const* data, const GroupNest& nest, int64_t begin, int64_t end);
void run_some_rows(const RowGroup& group, char* const* data, const GroupNest& nest, int64_t begin, int64_t end);

}  // namespace detail

/// to[i] (contiguous) = the item at from + i * step, i < n; the first again for n <= i < whole.
void gather(char* to, const char* from, int64_t step, int64_t n, int64_t whole, int64_t item);
/// The item at to + i * step = from[i] (contiguous), i < n.
void scatter(char* to, int64_t step, const char* from, int64_t n, int64_t item);

}  // namespace torch::aot
