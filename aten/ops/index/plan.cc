#include "aten/ops/index/plan.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "aten/core/overlap.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

bool is_mask(const Tensor& t) {
  return t.scalar_type() == ScalarType::Bool || t.scalar_type() == ScalarType::Byte;
}

std::vector<Tensor> expand_masks(const Tensor& self, const IndexList& indices) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<Tensor> given = indices.get(i);
    if (!given || !given->defined()) {
      result.emplace_back();
      continue;
    }
    const Tensor& t = *given;
    TORCH_CHECK_INDEX(is_mask(t) || t.scalar_type() == ScalarType::Long || t.scalar_type() == ScalarType::Int,
                      "tensors used as indices must be long, int, byte or bool tensors");
    if (!is_mask(t)) {
      result.push_back(t);
      continue;
    }
    if (t.scalar_type() == ScalarType::Byte) {
      TORCH_WARN_DEPRECATION(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
    }
    const auto at = static_cast<int64_t>(result.size());
    TORCH_CHECK_INDEX(at + t.dim() <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      TORCH_CHECK_INDEX(t.sizes()[d] == self.sizes()[at + d], "The shape of the mask ", t.sizes(), " at index ", d,
                        " does not match the shape of the indexed tensor ", self.sizes(), " at index ", at + d);
    }
    TORCH_CHECK_INDEX(t.dim() > 0,
                      "a 0-dim mask selects no dimension of the indexed tensor; unsqueeze the tensor first");
    const Tensor places = at::nonzero(t);
    for (int64_t d = 0; d < t.dim(); ++d) result.push_back(at::select(places, 1, d));
  }
  TORCH_CHECK_INDEX(static_cast<int64_t>(result.size()) <= self.dim(), "too many indices for tensor of dimension ",
                    self.dim(), " (got ", result.size(), ")");
  return result;
}

IndexPlan make_index_plan(const Tensor& self, const std::vector<Tensor>& indices) {
  IndexPlan p;
  const int64_t rank = self.dim(), given = static_cast<int64_t>(indices.size());
  DimVector& indexed = p.indexed_dims;
  bool first_shape = true;
  for (int64_t d = 0; d < given; ++d) {
    const Tensor& index = indices[static_cast<size_t>(d)];
    if (!index.defined()) continue;
    indexed.push_back(d);
    if (first_shape) {
      p.index_sizes = DimVector(index.sizes().begin(), index.sizes().end());
      first_shape = false;
      continue;
    }
    bool fits = true;
    const int64_t a = static_cast<int64_t>(p.index_sizes.size()), b = index.dim();
    for (int64_t k = 1; k <= std::min(a, b); ++k) {
      const int64_t x = p.index_sizes[static_cast<size_t>(a - k)], y = index.sizes()[b - k];
      fits &= x == y || x == 1 || y == 1;
    }
    TORCH_CHECK_INDEX(fits, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                      p.index_sizes, ", ", index.sizes());
    p.index_sizes = broadcast_shapes(p.index_sizes, index.sizes());
  }
  bool adjacent = true;
  for (size_t k = 1; k < indexed.size(); ++k) adjacent &= indexed[k] == indexed[k - 1] + 1;
  const int64_t start = adjacent && !indexed.empty() ? indexed.front() : 0;

  const auto is_indexed = [&](int64_t d) { return std::find(indexed.begin(), indexed.end(), d) != indexed.end(); };
  for (int64_t d = 0; d < start; ++d) {
    p.order.push_back(d);
    p.outer *= self.sizes()[d];
    p.result_sizes.push_back(self.sizes()[d]);
  }
  for (int64_t n : p.index_sizes) p.result_sizes.push_back(n);
  for (int64_t d : indexed) {
    p.order.push_back(d);
    p.indexed *= self.sizes()[d];
  }
  for (int64_t d = start; d < rank; ++d) {
    if (is_indexed(d)) continue;
    p.order.push_back(d);
    p.inner *= self.sizes()[d];
    p.result_sizes.push_back(self.sizes()[d]);
  }
  for (int64_t d = 0; d < rank; ++d) p.permuted |= p.order[static_cast<size_t>(d)] != d;
  return p;
}

bool none_defined(const std::vector<Tensor>& indices) {
  return std::none_of(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); });
}

void check_index_number(const Tensor& self, const IndexList& given) {
  TORCH_CHECK_INDEX(given.size() <= static_cast<size_t>(self.dim()), "too many indices for tensor of dimension ",
                    self.dim(), " (got ", given.size(), ")");
}

void check_index_put(const Tensor& self, const IndexList& given, const Tensor& values) {
  check_index_number(self, given);
  TORCH_CHECK(self.scalar_type() == values.scalar_type(),
              "Index put requires the source and destination dtypes match, got ", toString(self.scalar_type()),
              " for the destination and ", toString(values.scalar_type()), " for the source.");
  structured::check_no_internal_overlap(self);
}

void check_indexed_values(const Tensor& values, IntArrayRef sizes) {
  bool fits = values.dim() <= static_cast<int64_t>(sizes.size());
  for (int64_t k = 1; fits && k <= values.dim(); ++k) {
    const int64_t n = values.sizes()[values.dim() - k];
    fits = n == 1 || n == sizes[sizes.size() - static_cast<size_t>(k)];
  }
  TORCH_CHECK(fits, "shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", sizes);
}

void check_mask(const char* op, const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool || mask.scalar_type() == ScalarType::Byte, op,
              " only supports boolean masks, but got mask with dtype ",
              std::string_view(op) == "masked_fill_" ? std::string(mask.dtype().name()) : toString(mask.scalar_type()));
  if (mask.scalar_type() == ScalarType::Byte) {
    KD_WARN_DEPRECATION_ONCE(
        op,
        " received a mask with dtype torch.uint8, this behavior is now deprecated, please use a mask with "
        "dtype torch.bool instead.");
  }
}

void check_inplace_mask(const char* op, const Tensor& self, const Tensor& mask) {
  check_mask(op, mask);
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes());
  TORCH_CHECK(self.sizes() == IntArrayRef(shape), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", shape);
  structured::check_no_internal_overlap(self);
}

void check_select_mask(const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool || mask.scalar_type() == ScalarType::Byte,
              "masked_select: expected BoolTensor for mask");
  if (mask.scalar_type() == ScalarType::Byte) {
    KD_WARN_DEPRECATION_ONCE(
        "masked_select received a mask with dtype torch.uint8, this behavior is now deprecated, please use a "
        "mask with dtype torch.bool instead.");
  }
}

std::vector<int64_t> segment_bounds(const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets,
                                    int64_t rows, int64_t segments, int64_t size, bool unsafe) {
  const bool by_length = lengths.has_value() && lengths->defined();
  const Tensor numbers = dense(at::to(by_length ? *lengths : *offsets, Device(DeviceType::CPU)), ScalarType::Long);
  const int64_t* from = numbers.const_data_ptr<int64_t>();
  std::vector<int64_t> bounds;
  bounds.reserve(static_cast<size_t>(rows * (segments + 1)));
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    if (by_length) {
      bounds.push_back(0);
      for (int64_t s = 0; s < segments; ++s) {
        const int64_t length = *from++;
        TORCH_CHECK(length >= 0, "lengths contains negative value!");
        TORCH_CHECK(length <= size - at, "segment_reduce(): Expected all rows of lengths along axis to sum to at most ",
                    "data.size(lengths.dim()-1) = ", size);
        bounds.push_back(at += length);
      }
    } else {
      for (int64_t s = 0; s <= segments; ++s) {
        const int64_t next = *from++;
        TORCH_CHECK(next >= at && next <= size,
                    "segment_reduce(): Expected offsets that do not decrease, from 0 to at most ", size, ", but got ",
                    next, " after ", at);
        bounds.push_back(at = next);
      }
    }
    TORCH_CHECK(
        unsafe || at == size || !by_length,
        "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.");
  }
  return bounds;
}

}  // namespace at::native
