// Sparse tensors made of dense ones.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

Tensor from_dense(const char* name, const Tensor& self, Layout to, OptionalIntArrayRef blocksize,
                  std::optional<int64_t> dense_dim) {
  const std::string op = std::string("dense_") + name;
  const std::array<int64_t, 2> block = sparse::block_of(op.c_str(), self, to, blocksize);
  const int64_t rank = self.dim(), dense = dense_dim.value_or(0), least = to == Layout::Sparse ? 0 : 2;
  TORCH_CHECK(rank >= least, op, ": expected a tensor of at least ", least, " dimensions, but got ", rank);
  TORCH_CHECK(dense >= 0 && dense <= rank - least, op, ": dense_dim argument must be in [0,", rank - least,
              "] range, but ", dense, " is given");
  const Tensor elements = at::to_sparse(self, rank - dense);
  return to == Layout::Sparse ? elements : sparse::compress(op.c_str(), elements, to, block);
}

}  // namespace

Tensor to_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                 std::optional<int64_t> dense_dim) {
  return from_dense("to_sparse", self, layout.value_or(Layout::Sparse), blocksize, dense_dim);
}
Tensor to_sparse_csr(const Tensor& self, std::optional<int64_t> dense_dim) {
  return from_dense("to_sparse_csr", self, Layout::SparseCsr, std::nullopt, dense_dim);
}
Tensor to_sparse_csc(const Tensor& self, std::optional<int64_t> dense_dim) {
  return from_dense("to_sparse_csc", self, Layout::SparseCsc, std::nullopt, dense_dim);
}
Tensor to_sparse_bsr(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return from_dense("to_sparse_bsr", self, Layout::SparseBsr, blocksize, dense_dim);
}
Tensor to_sparse_bsc(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return from_dense("to_sparse_bsc", self, Layout::SparseBsc, blocksize, dense_dim);
}

Tensor _spdiags(const Tensor& diagonals, const Tensor& offsets, IntArrayRef shape, std::optional<Layout> layout) {
  const Tensor lines = diagonals.dim() == 1 ? at::unsqueeze(diagonals, 0) : diagonals;
  TORCH_CHECK(lines.dim() == 2, "Diagonals must be vector or matrix");
  TORCH_CHECK(shape.size() == 2, "Output shape must be 2d");
  TORCH_CHECK(offsets.dim() <= 1, "Offsets must be scalar or vector");
  TORCH_CHECK(lines.size(0) == offsets.numel(), "Number of diagonals (", lines.size(0),
              ") does not match the number of offsets (", offsets.numel(), ")");
  TORCH_CHECK(offsets.scalar_type() == ScalarType::Long, "Offset Tensor must have dtype Long but got ",
              offsets.scalar_type());
  const Layout to = layout.value_or(Layout::Sparse);
  TORCH_CHECK(to == Layout::Sparse || to == Layout::SparseCsr || to == Layout::SparseCsc,
              "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got ", to);
  c10::checked_numel(shape);
  // Where elements stand is found on the host.
  const Tensor by = dense(at::to(at::reshape(offsets, {-1}), Device(DeviceType::CPU), ScalarType::Long));
  const Device device = diagonals.device();
  const int64_t width = lines.size(1);
  std::vector<int64_t> seen(by.const_data_ptr<int64_t>(), by.const_data_ptr<int64_t>() + by.numel()), row, column, from;
  const std::vector<int64_t> offset = seen;
  std::sort(seen.begin(), seen.end());
  TORCH_CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "Offset tensor contains duplicate values");
  for (size_t d = 0; d < offset.size(); ++d) {
    // An offset beyond the matrix has no places.
    if (offset[d] >= shape[1] || offset[d] <= -shape[0]) continue;
    const int64_t begin = std::max<int64_t>(0, offset[d]), end = std::min({shape[1], shape[0] + offset[d], width});
    for (int64_t j = begin; j < end; ++j) {
      row.push_back(j - offset[d]);
      column.push_back(j);
      from.push_back(static_cast<int64_t>(d) * width + j);
    }
  }
  const std::vector<Tensor> indices{sparse::long_tensor(row, device), sparse::long_tensor(column, device)};
  const Tensor values = at::index_select(at::reshape(lines, {-1}), 0, sparse::long_tensor(from, device));
  const Tensor result = sparse::make_sparse(shape, at::stack(indices), values, false);
  return to == Layout::Sparse ? result : sparse::compress("spdiags", sparse::coalesced(result), to);
}

}  // namespace at::native
