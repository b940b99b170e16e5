// Indexing by names that promise what others check, all of which are checked here; embedding_bag with a number for no
// padding.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "c10/value/list.h"

namespace at::native {
namespace {

using IndexList = c10::List<std::optional<Tensor>>;

// Positions outside a dimension become its nearest ones.
IndexList clamped(const Tensor& self, const IndexList& indices) {
  TORCH_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(), "too many indices for tensor of dimension ",
                    self.dim(), " (got ", indices.size(), ")");
  IndexList result;
  for (size_t d = 0; d < indices.size(); ++d) {
    const std::optional<Tensor> index = indices.get(d);
    if (!index.has_value() || !index->defined()) {
      result.push_back(index);
      continue;
    }
    TORCH_CHECK_INDEX(index->scalar_type() == kLong || index->scalar_type() == kInt,
                      "tensors used as indices must be long or int tensors");
    const int64_t size = self.size(static_cast<int64_t>(d));
    result.push_back(at::clamp(*index, Scalar(-size), Scalar(size - 1)));
  }
  return result;
}

// The sizes that index() gives where nothing can be looked up: those of the mask, which broadcasts with them.
Tensor masked_out(const Tensor& self, const Tensor& mask, const Scalar& fill) {
  return at::full(mask.sizes(), fill, self.options());
}

void check_mask(const char* op, const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == kBool, op, ": expected a bool mask, but got ", mask.scalar_type());
}

}  // namespace

Tensor unsafe_masked_index(const Tensor& self, const Tensor& mask, const IndexList& indices, const Scalar& fill) {
  check_mask("_unsafe_masked_index", mask);
  if (self.numel() == 0) return masked_out(self, mask, fill);
  return at::masked_fill(at::index(self, clamped(self, indices)), at::eq(mask, Scalar(false)), fill);
}

Tensor unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask, const IndexList& indices,
                                          const Tensor& values) {
  check_mask("_unsafe_masked_index_put_accumulate", mask);
  if (self.numel() == 0) return at::clone(self);
  // Under autocast index_put promotes, this does not.
  const Tensor kept = at::masked_fill(values, at::eq(mask, Scalar(false)), Scalar(0));
  return at::to(at::index_put(self, clamped(self, indices), kept, /*accumulate=*/true), self.scalar_type());
}

// The rows that the mask keeps, and where each row of the whole went; -1 for those that are gone.
std::tuple<Tensor, Tensor> rowwise_prune(const Tensor& weight, const Tensor& mask,
                                         ScalarType compressed_indices_dtype) {
  TORCH_CHECK(weight.dim() == 2, "'weight' should have 2 dimensions, but got ", weight.sizes());
  TORCH_CHECK(mask.dim() == 1 && mask.numel() == weight.size(0),
              "Number of elements in 'mask' should be equivalent to the number of rows in 'weight', but got ",
              mask.sizes(), " and ", weight.sizes());
  TORCH_CHECK(mask.scalar_type() == kBool, "'mask' should be of type bool, but got ", mask.scalar_type());
  TORCH_CHECK(compressed_indices_dtype == kInt || compressed_indices_dtype == kLong,
              "compressed_indices_dtype should be either int(int32) or long(int64), but got ",
              compressed_indices_dtype);
  // The size of a result depends on it: whatever the device, it is read.
  const Tensor keeps = dense(at::to(mask, Device(DeviceType::CPU)));
  const bool* keep = keeps.const_data_ptr<bool>();
  const int64_t rows = weight.size(0), kept = std::count(keep, keep + rows, true);
  const Tensor chosen = empty_contiguous({kept}, kLong), place = empty_contiguous({rows}, kLong);
  int64_t *from = chosen.data_ptr<int64_t>(), *to = place.data_ptr<int64_t>();
  for (int64_t i = 0, next = 0; i < rows; ++i) {
    to[i] = keep[i] ? next : -1;
    if (keep[i]) from[next++] = i;
  }
  const auto there = [&](const Tensor& t) { return at::to(t, weight.device()); };
  return {at::index_select(weight, 0, there(chosen)), there(at::to(place, compressed_indices_dtype))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_of_index(const Tensor& weight, const Tensor& indices,
                                                                  const Tensor& offsets, bool scale_grad_by_freq,
                                                                  int64_t mode, bool sparse,
                                                                  const std::optional<Tensor>& per_sample_weights,
                                                                  bool include_last_offset, int64_t padding_idx) {
  const std::optional<int64_t> padding = padding_idx < 0 ? std::nullopt : std::optional(padding_idx);
  return at::embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                           include_last_offset, padding);
}

}  // namespace at::native
