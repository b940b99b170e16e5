// Comparisons and norms of whole tensors, sums to a size: differentiable through what they call.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return at::item(at::all(at::isclose(self, other, rtol, atol, equal_nan))).toBool();
}
bool equal(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.device() == other.device(), "equal: expected both tensors on one device, got ", self.device(), " and ",
              other.device());
  if (self.sizes() != other.sizes()) return false;
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ", self.scalar_type(),
              " but got data type ", other.scalar_type(), " for argument #2 'other' in call to equal");
  if (self.numel() == 0) return true;
  return at::item(at::all(at::eq(self, other))).toBool();
}

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  const int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  bool fits = lead >= 0;
  DimVector dims;
  for (int64_t d = 0; fits && d < self.dim(); ++d) {
    if (d < lead) {
      dims.push_back(d);
    } else if (size[d - lead] != self.size(d)) {
      fits = size[d - lead] == 1;
      dims.push_back(d);
    }
  }
  TORCH_CHECK(fits, "size {", size, "} is not expandable to size {", self.sizes(), "}.");
  if (size.empty()) return at::sum(self);
  if (dims.empty()) return self;
  Tensor sum = at::sum(self, dims, /*keepdim=*/true);
  return lead > 0 ? at::view(sum, size) : sum;
}

// The norm of v over all dimensions but one, which keeps its place.
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return at::norm(v, Scalar(pow));
  dim = maybe_wrap_dim(dim, v.dim());
  TORCH_CHECK(v.dim() > 0, "norm_except_dim: expected a tensor of at least one dimension");
  DimVector sizes(static_cast<size_t>(v.dim()), 1);
  sizes[static_cast<size_t>(dim)] = v.size(dim);
  const Tensor rows = at::reshape(at::transpose(v, 0, dim), {v.size(dim), -1});
  return at::reshape(at::norm(rows, Scalar(pow), IntArrayRef{1}), sizes);
}

}  // namespace at::native
