#include "aten/cpu/strided_loop.h"

#include <utility>

#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::cpu {

LoopNest::LoopNest(const Operand* operands, int count) : count_(count), dim_(0), numel_(1) {
  TORCH_INTERNAL_ASSERT(count >= 1 && count <= kMaxOperands, "a loop over ", count, " operands");
  const Operand& shape = operands[0];
  for (int k = 0; k < count; ++k) data_[k] = operands[k].data;

  // Innermost first; dimensions of size one carry nothing.
  for (int64_t d = shape.dim - 1; d >= 0; --d) {
    const int64_t size = shape.sizes[d];
    numel_ *= size;
    const int64_t from_last = shape.dim - 1 - d;
    if (size == 1) {
      for (int k = 1; k < count; ++k) {
        const int64_t own = operands[k].dim - 1 - from_last;
        TORCH_INTERNAL_ASSERT(own < 0 || operands[k].sizes[own] == 1, "operand ", k, " does not broadcast");
      }
      continue;
    }
    TORCH_CHECK(dim_ < kMaxLoopDims, "tensors with more than ", kMaxLoopDims, " dimensions are not supported here");
    sizes_[dim_] = size;
    for (int k = 0; k < count; ++k) {
      const Operand& op = operands[k];
      const int64_t own = op.dim - 1 - from_last;
      if (own < 0 || (op.sizes[own] == 1 && size != 1)) {
        strides_[dim_][k] = 0;
      } else {
        TORCH_INTERNAL_ASSERT(op.sizes[own] == size, "operand ", k, " has size ", op.sizes[own], ", the loop ", size);
        strides_[dim_][k] = op.strides[own] * op.item_size;
      }
    }
    ++dim_;
  }
  for (int k = 1; k < count; ++k) {
    for (int64_t d = 0; d < operands[k].dim - shape.dim; ++d) {
      TORCH_INTERNAL_ASSERT(operands[k].sizes[d] == 1, "operand ", k, " has more dimensions than the loop");
    }
  }
  if (dim_ == 0) {
    sizes_[0] = 1;
    for (int k = 0; k < count; ++k) strides_[0][k] = operands[k].item_size;
    dim_ = 1;
    return;
  }

  // Order by strides, operand 0 first; an operand that repeats has no say. Insertion keeps the order of equals.
  const auto goes_outside = [&](int inner, int outer) {
    for (int k = 0; k < count; ++k) {
      const int64_t a = strides_[inner][k], b = strides_[outer][k];
      if (a == 0 || b == 0) continue;
      if (a != b) return a > b;
      if (sizes_[inner] != sizes_[outer]) return sizes_[inner] > sizes_[outer];
    }
    return false;
  };
  for (int i = 1; i < dim_; ++i) {
    for (int j = i; j > 0 && goes_outside(j - 1, j); --j) {
      std::swap(sizes_[j], sizes_[j - 1]);
      for (int k = 0; k < count; ++k) std::swap(strides_[j][k], strides_[j - 1][k]);
    }
  }

  int last = 0;
  for (int d = 1; d < dim_; ++d) {
    bool merges = true;
    for (int k = 0; k < count && merges; ++k) merges = strides_[d][k] == strides_[last][k] * sizes_[last];
    if (merges) {
      sizes_[last] *= sizes_[d];
    } else {
      ++last;
      sizes_[last] = sizes_[d];
      for (int k = 0; k < count; ++k) strides_[last][k] = strides_[d][k];
    }
  }
  dim_ = last + 1;
}

LoopCursor::LoopCursor(const LoopNest& nest, int64_t linear_index) : nest_(nest) {
  for (int k = 0; k < nest.operands(); ++k) data_[k] = nest.data(k);
  for (int d = 0; d < nest.dim(); ++d) {
    const int64_t size = nest.size(d);
    const int64_t i = d + 1 == nest.dim() ? linear_index : linear_index % size;
    linear_index /= size;
    index_[d] = i;
    if (i == 0) continue;
    for (int k = 0; k < nest.operands(); ++k) data_[k] += i * nest.byte_stride(k, d);
  }
}

void LoopCursor::advance(int64_t n) {
  const int count = nest_.operands();
  index_[0] += n;
  for (int k = 0; k < count; ++k) data_[k] += n * nest_.byte_stride(k, 0);
  for (int d = 0; index_[d] == nest_.size(d) && d + 1 < nest_.dim(); ++d) {
    const int64_t size = nest_.size(d);
    for (int k = 0; k < count; ++k) data_[k] += nest_.byte_stride(k, d + 1) - size * nest_.byte_stride(k, d);
    index_[d] = 0;
    ++index_[d + 1];
  }
}

void LoopNest::run_range(int64_t begin, int64_t end, InnerLoop loop, const void* context) const {
  if (begin >= end) return;
  LoopCursor cursor(*this, begin);
  for (int64_t left = end - begin; left > 0;) {
    const int64_t n = cursor.run_length() < left ? cursor.run_length() : left;
    char* data[kMaxOperands];
    for (int k = 0; k < count_; ++k) data[k] = cursor.data(k);
    loop(data, strides_[0], n, context);
    left -= n;
    if (left > 0) cursor.advance(n);
  }
}

void LoopNest::run(InnerLoop loop, const void* context, int64_t grain) const {
  if (numel_ <= grain) {
    run_range(0, numel_, loop, context);
    return;
  }
  at::parallel_for(0, numel_, grain, [&](int64_t begin, int64_t end) { run_range(begin, end, loop, context); });
}

}  // namespace at::cpu
