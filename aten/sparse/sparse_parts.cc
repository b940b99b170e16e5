#include "aten/sparse/sparse_parts.h"

#include <algorithm>
#include <numeric>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at::sparse {
namespace {

// The order of columns of `indices` (rows x nnz, row-major), first row first, those of one place as they stand.
struct ByPlace {
  const int64_t* indices;
  int64_t rows;
  int64_t nnz;

  bool same(int64_t a, int64_t b) const {
    for (int64_t d = 0; d < rows; ++d) {
      if (indices[d * nnz + a] != indices[d * nnz + b]) return false;
    }
    return true;
  }
  bool operator()(int64_t a, int64_t b) const {
    for (int64_t d = 0; d < rows; ++d) {
      const int64_t x = indices[d * nnz + a], y = indices[d * nnz + b];
      if (x != y) return x < y;
    }
    return a < b;
  }
};

// The sum of rows of `values` by group.
Tensor summed(const Tensor& values, const Tensor& groups, int64_t count) {
  const bool boolean = values.scalar_type() == ScalarType::Bool;
  const Tensor source = boolean ? at::_to_copy(values, TensorOptions().dtype(ScalarType::Byte)) : values;
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = count;
  if (!boolean) {
    Tensor result = at::zeros(sizes, source.options());
    return fresh(at::index_add_(result, 0, groups, source));
  }
  // Counted in int64: 256 times true is true.
  Tensor counts = at::zeros(sizes, source.options().dtype(ScalarType::Long));
  at::index_add_(counts, 0, groups, at::_to_copy(source, TensorOptions().dtype(ScalarType::Long)));
  return at::_to_copy(counts, TensorOptions().dtype(ScalarType::Bool));
}

}  // namespace

Tensor long_tensor(const std::vector<int64_t>& numbers) {
  Tensor result = empty_contiguous({static_cast<int64_t>(numbers.size())}, ScalarType::Long);
  std::copy(numbers.begin(), numbers.end(), static_cast<int64_t*>(result.data_ptr()));
  return result;
}

Tensor coalesced(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("coalesce", t);
  if (impl.coalesced()) return t;
  const int64_t rows = impl.sparse_dim(), nnz = impl.nnz();
  if (nnz < 2) return make_sparse(t.sizes(), impl.indices(), impl.values(), true);
  const Tensor indices = native::dense(impl.indices());
  const ByPlace by_place{indices.data_ptr<int64_t>(), rows, nnz};
  std::vector<int64_t> order(static_cast<size_t>(nnz));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), by_place);
  // The number of each place, and its first element.
  std::vector<int64_t> groups(order.size()), firsts;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !by_place.same(order[i - 1], order[i])) firsts.push_back(order[i]);
    groups[i] = static_cast<int64_t>(firsts.size()) - 1;
  }
  const Tensor sorted = at::index_select(impl.values(), 0, long_tensor(order));
  const int64_t count = static_cast<int64_t>(firsts.size());
  return make_sparse(t.sizes(), at::index_select(indices, 1, long_tensor(firsts)),
                     count == nnz ? sorted : summed(sorted, long_tensor(groups), count), true);
}

Tensor flat_places(const Tensor& indices, IntArrayRef sizes) {
  const Tensor rows = native::dense(indices);
  const int64_t nnz = indices.size(1);
  Tensor result = at::zeros({nnz}, indices.options());
  int64_t* places = result.data_ptr<int64_t>();
  const int64_t* data = rows.data_ptr<int64_t>();
  for (int64_t d = 0; d < indices.size(0); ++d) {
    for (int64_t i = 0; i < nnz; ++i) {
      const int64_t index = data[d * nnz + i];
      TORCH_CHECK_INDEX(index >= 0 && index < sizes[d], "index ", index, " is out of bounds for dimension ", d,
                        " with size ", sizes[d]);
      places[i] = places[i] * sizes[d] + index;
    }
  }
  return fresh(result);
}

Tensor with_values(const Tensor& t, const Tensor& values) {
  const SparseTensorImpl& impl = impl_of("with_values", t);
  return make_sparse(t.sizes(), impl.indices(), values, impl.coalesced());
}

namespace {
// `dense` with its first `sparse_dim` dimensions as one.
Tensor flattened(const Tensor& dense, int64_t sparse_dim) {
  DimVector sizes{1};
  for (int64_t d = 0; d < dense.dim(); ++d) {
    if (d < sparse_dim) {
      sizes[0] *= dense.size(d);
    } else {
      sizes.push_back(dense.size(d));
    }
  }
  return at::reshape(dense, sizes);
}
}  // namespace

Tensor gather_places(const Tensor& self, const Tensor& indices, int64_t sparse_dim) {
  return at::index_select(flattened(self, sparse_dim), 0, flat_places(indices, self.sizes()));
}

void add_elements(const Tensor& into, const Tensor& t, const Scalar& alpha) {
  const SparseTensorImpl& impl = impl_of("add", t);
  const Tensor places = flat_places(impl.indices(), t.sizes());
  if (into.scalar_type() == ScalarType::Bool) {
    // A sum of bools is their or.
    const Tensor once = coalesced(t);
    const SparseTensorImpl& parts = impl_of("add", once);
    Tensor flat = flattened(into, impl.sparse_dim());
    const Tensor at_places = flat_places(parts.indices(), t.sizes());
    const Tensor sum = at::add(at::index_select(flat, 0, at_places), parts.values(), alpha);
    at::index_copy_(flat, 0, at_places, sum);
    return;
  }
  Tensor flat = flattened(into, impl.sparse_dim());
  at::index_add_(flat, 0, places, at::to(impl.values(), into.scalar_type()), alpha);
}

void assign(Tensor& self, const Tensor& result) {
  TORCH_CHECK(canCast(result.scalar_type(), self.scalar_type()), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", self.scalar_type());
  const SparseTensorImpl& from = impl_of("copy_", result);
  impl_of("copy_", self)
      .set_elements(result.sizes(), plain(from.indices()), at::to(plain(from.values()), self.scalar_type()),
                    from.coalesced());
  mark_written(self);
}

}  // namespace at::sparse
