// The indices of rows, as pointers and one by one.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {

void convert_coo_to_csr_cuda(const Tensor& self, int64_t size, bool out_int32, Tensor& out) {
  // A row begins where its number, or a greater one, comes first.
  const Tensor rows = at::reshape(self, {-1}), numbers = at::arange(size + 1, rows.options());
  at::copy_(out, at::searchsorted(rows, numbers, out_int32));
}

void convert_csr_to_coo_cuda(const Tensor& crow_indices, const Tensor& col_indices, bool out_int32, bool transpose,
                             Tensor& out) {
  const int64_t dims = crow_indices.dim() - 1, nnz = col_indices.size(-1);
  if (out.numel() == 0) return;
  const Tensor places = at::expand(at::arange(nnz, crow_indices.options()), col_indices.sizes());
  // The row of a place is the last one that begins there or before.
  const Tensor behind =
      at::searchsorted(at::contiguous(crow_indices), at::contiguous(places), out_int32, /*right=*/true);
  const auto write = [&](int64_t row, const Tensor& indices) {
    Tensor to = at::select(out, 0, row);
    at::copy_(to, at::reshape(indices, {-1}));
  };
  write(transpose ? dims + 1 : dims, at::sub(behind, 1));
  write(transpose ? dims : dims + 1, col_indices);
  for (int64_t d = 0; d < dims; ++d) {
    DimVector shape(static_cast<size_t>(dims + 1), 1);
    shape[static_cast<size_t>(d)] = crow_indices.size(d);
    const Tensor numbers = at::view(at::arange(crow_indices.size(d), crow_indices.options()), shape);
    write(d, at::expand(numbers, col_indices.sizes()));
  }
}

}  // namespace at::native
