#include "aten/ops/view/decompositions.h"

#include <algorithm>

#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace at::decompositions {

Tensor detach(const Tensor& self) {
  const c10::NoGradGuard nothing_recorded;
  return at::alias(self);
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "split(): expected self to have a dimension");
  const int64_t size = self.size(dim);
  TORCH_CHECK(split_size > 0 || (split_size == 0 && size == 0),
              "split(): expected a split_size above 0 for a dimension of ", size, ", but got ", split_size);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < size; i += split_size) sizes.push_back(std::min(split_size, size - i));
  if (sizes.empty()) sizes.push_back(0);
  return at::split_with_sizes(self, sizes, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  std::vector<Tensor> slices;
  for (int64_t i = 0, size = self.size(dim); i < size; ++i) slices.push_back(at::select(self, dim, i));
  return slices;
}

Tensor squeeze(const Tensor& self) {
  std::vector<int64_t> ones;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 1) ones.push_back(d);
  }
  return at::squeeze(self, ones);
}
Tensor squeeze(const Tensor& self, int64_t dim) {
  return at::squeeze(self, IntArrayRef(dim));
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t d = maybe_wrap_dim(dimension, self.dim()), available = self.dim() == 0 ? 1 : self.size(d);
  TORCH_CHECK(size >= 0 && size <= available, "unfold(): expected a size from 0 to ", available, ", but got ", size);
  TORCH_CHECK(step > 0, "unfold(): expected a step above 0, but got ", step);
  std::vector<int64_t> sizes = self.sizes().vec(), strides = self.strides().vec();
  const int64_t stride = self.dim() == 0 ? 1 : self.stride(d);
  if (self.dim() > 0) {
    sizes[static_cast<size_t>(d)] = (available - size) / step + 1;
    strides[static_cast<size_t>(d)] = stride * step;
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return at::as_strided(self, sizes, strides, self.storage_offset());
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = maybe_wrap_dim(dim0, self.dim()), b = maybe_wrap_dim(dim1, self.dim());
  std::vector<int64_t> order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d == a ? b : d == b ? a : d);
  return at::permute(self, order);
}

Tensor t(const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return self.dim() < 2 ? at::alias(self) : at::permute(self, {1, 0});
}

}  // namespace at::decompositions
