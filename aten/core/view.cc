#include "aten/core/view.h"

namespace at {

std::optional<DimVector> view_strides(IntArrayRef old_sizes, IntArrayRef old_strides, IntArrayRef sizes) {
  DimVector strides(sizes.size());
  int64_t numel = 1;
  for (int64_t size : old_sizes) numel *= size;
  if (numel == 0) {
    // Where nothing is read every stride will do; those of the same shape stay, others are row-major.
    if (old_sizes == sizes) return DimVector(old_strides.begin(), old_strides.end());
    int64_t step = 1;
    for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
      strides[d] = step;
      step *= sizes[d] > 1 ? sizes[d] : 1;
    }
    return strides;
  }
  if (old_sizes.empty()) {
    for (auto& stride : strides) stride = 1;
    return strides;
  }
  // Old dimensions fall into chunks within which memory is evenly spaced; each chunk must be a product of new dimensions.
  int64_t d = static_cast<int64_t>(sizes.size()) - 1;
  int64_t chunk_stride = old_strides.back();
  int64_t old_numel = 1;
  int64_t new_numel = 1;
  for (int64_t old = static_cast<int64_t>(old_sizes.size()) - 1; old >= 0; --old) {
    old_numel *= old_sizes[old];
    const bool chunk_ends =
        old == 0 || (old_sizes[old - 1] != 1 && old_strides[old - 1] != old_numel * chunk_stride);
    if (!chunk_ends) continue;
    while (d >= 0 && (new_numel < old_numel || sizes[d] == 1)) {
      strides[d] = new_numel * chunk_stride;
      new_numel *= sizes[d];
      --d;
    }
    if (new_numel != old_numel) return std::nullopt;
    if (old > 0) {
      chunk_stride = old_strides[old - 1];
      old_numel = 1;
      new_numel = 1;
    }
  }
  if (d != -1) return std::nullopt;
  return strides;
}

DimVector infer_shape(IntArrayRef shape, int64_t numel) {
  DimVector result(shape.begin(), shape.end());
  int64_t known = 1;
  int64_t inferred = -1;
  bool overflow = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      TORCH_CHECK(inferred == -1, "only one dimension can be inferred");
      inferred = static_cast<int64_t>(d);
    } else {
      TORCH_CHECK(shape[d] >= 0, "invalid shape dimension ", shape[d], " at index ", d, " of shape ", shape);
      overflow |= __builtin_mul_overflow(known, shape[d], &known);
    }
  }
  const bool fits = !overflow &&
      (inferred == -1 ? known == numel : known > 0 && numel % known == 0);
  if (fits) {
    if (inferred != -1) result[inferred] = numel / known;
    if (C10_UNLIKELY(numel == 0)) checked_numel(result);  // the strides would overflow
    return result;
  }
  TORCH_CHECK(
      !(inferred != -1 && known == 0 && numel == 0 && !overflow),
      "cannot reshape tensor of 0 elements into shape ", shape,
      " because the unspecified dimension size -1 can be any value and is ambiguous");
  TORCH_CHECK(false, "shape '", shape, "' is invalid for input of size ", numel);
}

DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  DimVector result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t size_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    TORCH_CHECK(
        size_a == size_b || size_a == 1 || size_b == 1,
        "The size of tensor a (", size_a, ") must match the size of tensor b (", size_b,
        ") at non-singleton dimension ", rank - 1 - i);
    result[rank - 1 - i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

}  // namespace at
