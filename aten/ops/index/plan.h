// Indexing by tensors: what the kernels for all devices share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/list.h"

namespace at::native {

using IndexList = c10::List<std::optional<Tensor>>;

// Whether an index of this dtype selects the places where it is true.
bool is_mask(const Tensor& t);

// The indices, one a dimension from the first on, undefined where the dimension is taken whole. Masks are replaced by
// the positions of their true elements, one index tensor a dimension of the mask.
std::vector<Tensor> expand_masks(const Tensor& self, const IndexList& indices);
bool none_defined(const std::vector<Tensor>& indices);

// The tensor seen as [outer][indexed dimensions][inner] in the order `order` of its dimensions.
struct IndexPlan {
  DimVector order;         // dimensions of self: those before, the indexed ones, those after
  bool permuted = false;   // whether `order` is not self's own
  DimVector result_sizes;  // of index(): index's broadcast shape stands where the indexed dimensions were
  DimVector index_sizes;
  DimVector indexed_dims;
  int64_t outer = 1, indexed = 1, inner = 1;
};
IndexPlan make_index_plan(const Tensor& self, const std::vector<Tensor>& indices);

void check_index_number(const Tensor& self, const IndexList& given);
void check_index_put(const Tensor& self, const IndexList& given, const Tensor& values);
// Whether `values` can be broadcast to what is indexed.
void check_indexed_values(const Tensor& values, IntArrayRef sizes);

// The dtype of a mask, which a message says comes to `op`; of one that an in-place form takes also its size.
void check_mask(const char* op, const Tensor& mask);
void check_inplace_mask(const char* op, const Tensor& self, const Tensor& mask);
void check_select_mask(const Tensor& mask);

// Where the segments of each row of [rows, size] begin and the last ends; checked.
std::vector<int64_t> segment_bounds(const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets,
                                    int64_t rows, int64_t segments, int64_t size, bool unsafe);

}  // namespace at::native
