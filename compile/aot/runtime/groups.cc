#include "compile/aot/runtime/groups.h"

#include <cstring>

namespace torch::aot {
namespace {

constexpr int64_t kTile = 1024;  // elements of rows that are in the first-level cache together

// f(data, n) of the runs, or what of them is in [begin, end) of all elements.
template <class F>
void for_runs(char* const* data, const GroupNest& nest, int64_t begin, int64_t end, const F& f) {
  const int last = nest.dims - 1;
  const int64_t* const steps = nest.strides + last * nest.operands;
  const int64_t run = nest.sizes[last];
  int64_t index[kMostGroupDims], left = begin / run, from = begin % run;
  char* row[kMostGroupOperands + 1];
  char* at[kMostGroupOperands + 1];
  for (int k = 0; k < nest.operands; ++k) row[k] = data[k];
  for (int d = last; d-- > 0;) {
    index[d] = left % nest.sizes[d];
    left /= nest.sizes[d];
    for (int k = 0; k < nest.operands; ++k) row[k] += index[d] * nest.strides[d * nest.operands + k];
  }
  for (int64_t i = begin; i < end;) {
    const int64_t n = run - from < end - i ? run - from : end - i;
    if (from == 0) {
      f(row, n);
    } else {
      for (int k = 0; k < nest.operands; ++k) at[k] = row[k] + from * steps[k];
      f(at, n);
      from = 0;
    }
    i += n;
    for (int d = last; d-- > 0;) {
      const int64_t* const strides = nest.strides + d * nest.operands;
      const bool ends = ++index[d] == nest.sizes[d];
      const int64_t by = ends ? 1 - nest.sizes[d] : 1;
      for (int k = 0; k < nest.operands; ++k) row[k] += by * strides[k];
      if (!ends) break;
      index[d] = 0;
    }
  }
}

template <class T>
void gather_items(char* to, const char* from, int64_t step, int64_t n, int64_t whole) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), from + i * step, sizeof(T));
  for (int64_t i = n; i < whole; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), from, sizeof(T));
}
template <class T>
void scatter_items(char* to, int64_t step, const char* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * step, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

}  // namespace

namespace detail {

int64_t numel(const GroupNest& nest) {
  int64_t n = 1;
  for (int d = 0; d < nest.dims; ++d) n *= nest.sizes[d];
  return n;
}

void run_elements(const GroupTable& kernel, char* const* data, const GroupNest& nest, int64_t begin, int64_t end) {
  if (begin == end) return;
  const int64_t* const steps = nest.strides + (nest.dims - 1) * nest.operands;
  const GroupKernel run = kernel.get();
  for_runs(data, nest, begin, end, [&](char* const* at, int64_t n) { run(at, steps, n); });
}

void run_some_rows(const RowGroup& group, char* const* data, const GroupNest& nest, int64_t begin, int64_t end) {
  if (begin == end) return;
  const int64_t* const steps = nest.strides + (nest.dims - 1) * nest.operands;
  const int64_t row = group.row, tile = row < kTile ? kTile / row * row : row;
  const GroupKernel before = group.before == nullptr ? nullptr : group.before->get();
  const GroupKernel after = group.after == nullptr ? nullptr : group.after->get();
  for_runs(data, nest, begin * row, end * row, [&](char* const* run, int64_t count) {
    for (int64_t i = 0; i < count; i += tile) {
      const int64_t n = count - i < tile ? count - i : tile;
      char* at[kMostGroupOperands + 1];
      for (int k = 0; k < nest.operands; ++k) at[k] = run[k] + i * steps[k];
      if (before != nullptr) before(at, steps, n);
      group.function(at[group.source], at[group.target], n / row, row, group.context);
      if (after != nullptr) after(at, steps, n);
    }
  });
}

}  // namespace detail

void run_group_alone(const GroupTable& kernel, char* const* data, const GroupNest& nest) {
  detail::run_elements(kernel, data, nest, 0, detail::numel(nest));
}
void run_rows_alone(const RowGroup& group, char* const* data, const GroupNest& nest) {
  const int64_t elements = detail::numel(nest);
  if (elements > 0) detail::run_some_rows(group, data, nest, 0, elements / group.row);
}

void gather(char* to, const char* from, int64_t step, int64_t n, int64_t whole, int64_t item) {
  switch (item) {
    case 1:
      return gather_items<uint8_t>(to, from, step, n, whole);
    case 2:
      return gather_items<uint16_t>(to, from, step, n, whole);
    case 4:
      return gather_items<uint32_t>(to, from, step, n, whole);
    default:
      return gather_items<uint64_t>(to, from, step, n, whole);
  }
}
void scatter(char* to, int64_t step, const char* from, int64_t n, int64_t item) {
  switch (item) {
    case 1:
      return scatter_items<uint8_t>(to, step, from, n);
    case 2:
      return scatter_items<uint16_t>(to, step, from, n);
    case 4:
      return scatter_items<uint32_t>(to, step, from, n);
    default:
      return scatter_items<uint64_t>(to, step, from, n);
  }
}

}  // namespace torch::aot
