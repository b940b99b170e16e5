// The elements of one tensor at the places of another.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

// What `self`, dense or sparse, has at flat places of its first `sparse_dim` dimensions: places x the dense sizes.
Tensor elements_at(const Tensor& self, const Tensor& places, int64_t sparse_dim) {
  if (self.layout() == Layout::Strided) return sparse::gather_flat(self, places, sparse_dim);
  const Tensor elements = sparse::coalesced(sparse::in_coordinates(self));
  const SparseTensorImpl& impl = sparse::impl_of("sparse_mask", elements);
  TORCH_CHECK(impl.sparse_dim() == sparse_dim,
              "sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
              "`self.sparse_dim() == ",
              impl.sparse_dim(), "` != `mask.sparse_dim() == ", sparse_dim, "`.");
  return sparse::values_at(elements, places);
}

}  // namespace

Tensor sparse_mask_sparse(const Tensor& self, const Tensor& mask) {
  TORCH_CHECK(mask.layout() != Layout::Strided, "sparse_mask(): expected a sparse mask, but got a tensor of layout ",
              mask.layout());
  TORCH_CHECK(self.sizes() == mask.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
              self.sizes(), " but mask has size ", mask.sizes());
  if (self.is_same(mask)) return sparse::plain(self);
  if (sparse::is_compressed(mask)) {
    const int64_t sparse_dim = sparse::compressed_impl_of("sparse_mask", mask).batch_dim() + 2;
    const Tensor elements = elements_at(self, sparse::element_places(mask), sparse_dim);
    return sparse::with_values(mask, sparse::values_from_elements(mask, elements));
  }
  const SparseTensorImpl& impl = sparse::impl_of("sparse_mask", mask);
  return sparse::with_values(mask, elements_at(self, sparse::places_of(mask), impl.sparse_dim()));
}

// Those elements of self whose place the mask names, 0 for the others; as often as it is named where that is asked for.
Tensor _sparse_mask_projection_sparse(const Tensor& self, const Tensor& mask, bool accumulate_matches) {
  TORCH_CHECK(self.sizes() == mask.sizes(),
              "_sparse_mask_projection(): operands have incompatible sizes; self has size ", self.sizes(),
              " but mask has size ", mask.sizes());
  const SparseTensorImpl &x = sparse::impl_of("_sparse_mask_projection", self),
                         &y = sparse::impl_of("_sparse_mask_projection", mask);
  TORCH_CHECK(x.sparse_dim() == y.sparse_dim(),
              "_sparse_mask_projection(): expected operands with the same number of sparse dimensions, but got ",
              x.sparse_dim(), " and ", y.sparse_dim());
  const Tensor places = sparse::places_of(self), named = sparse::places_of(mask);
  if (!self.is_cpu()) {
    DimVector ones(static_cast<size_t>(x.values().dim()), 1);
    ones[0] = x.nnz();
    const Tensor times = at::reshape(sparse::device::times_named(places, named), ones);
    const Tensor factors = accumulate_matches ? times : at::to(times, ScalarType::Bool);
    return sparse::with_values(self, at::mul(x.values(), at::to(factors, x.values().scalar_type())));
  }
  std::vector<int64_t> sorted(named.const_data_ptr<int64_t>(), named.const_data_ptr<int64_t>() + named.numel());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> rows, times;
  for (int64_t i = 0; i < places.numel(); ++i) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), places.const_data_ptr<int64_t>()[i]);
    rows.push_back(begin == end ? -1 : i);
    times.push_back(end - begin);
  }
  Tensor values = sparse::spread(x.values(), rows);
  if (accumulate_matches) {
    DimVector ones(static_cast<size_t>(values.dim()), 1);
    ones[0] = values.size(0);
    values = at::mul(values, at::to(at::reshape(sparse::long_tensor(times), ones), values.scalar_type()));
  }
  return sparse::with_values(self, values);
}

}  // namespace at::native
