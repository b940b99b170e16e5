// Several dimensions at once, counted from the end where they are negative.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"

namespace at {

constexpr size_t dim_bitset_size = 64;

/// Makes all dimensions those of a tensor with `rank` of them. Throws IndexError for one outside [-rank, rank - 1]; a tensor
/// without dimensions has, with wrap_scalars, dimension 0.
inline void maybe_wrap_dims_n(int64_t* dims, int64_t count, int64_t rank, bool wrap_scalars = true) {
  for (int64_t i = 0; i < count; ++i) dims[i] = maybe_wrap_dim(dims[i], rank, wrap_scalars);
}
template <class Dims>
void maybe_wrap_dims(Dims& dims, int64_t rank, bool wrap_scalars = true) {
  maybe_wrap_dims_n(dims.data(), static_cast<int64_t>(dims.size()), rank, wrap_scalars);
}

/// Which dimensions the list names: all of them without a list (and, with allow_empty_dims, not for an empty one). Throws
/// c10::Error for one that is named twice and for tensors of more than 64 dimensions.
inline std::bitset<dim_bitset_size> dim_list_to_bitset(OptionalIntArrayRef dims, size_t rank, bool allow_empty_dims = false) {
  TORCH_CHECK(rank <= dim_bitset_size, "only tensors with up to ", dim_bitset_size, " dims are supported");
  std::bitset<dim_bitset_size> seen;
  if (!dims.has_value() || (dims->empty() && !allow_empty_dims)) {
    for (size_t d = 0; d < rank; ++d) seen[d] = true;
    return seen;
  }
  for (int64_t d : *dims) {
    const auto dim = static_cast<size_t>(maybe_wrap_dim(d, static_cast<int64_t>(rank)));
    TORCH_CHECK(!seen[dim], "dim ", dim, " appears multiple times in the list of dims");
    seen[dim] = true;
  }
  return seen;
}

/// The dimension that tensors are joined along, counted in the first that is not the empty vector of older programs.
template <class Tensors>
int64_t legacy_cat_wrap_dim(int64_t dim, const Tensors& tensors) {
  for (const Tensor& t : tensors) {
    if (t.dim() != 1 || t.size(0) != 0) return maybe_wrap_dim(dim, t.dim());
  }
  return dim;
}

/// Makes the list's dimensions those of the tensor.
inline void wrap_all_dims(std::vector<int64_t>& dims, int64_t rank) { maybe_wrap_dims(dims, rank); }

}  // namespace at
