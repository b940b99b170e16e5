#include "aten/sparse/csr_rows.h"

#include <numeric>
#include <vector>

#include "aten/core/empty.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/csr_loops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::sparse {
namespace {

// Elements at (line, place), by line.
Rows grouped(int64_t lines, int64_t width, const Tensor& line, const Tensor& place, const Tensor& values) {
  const int64_t n = line.numel();
  const int64_t* number = line.const_data_ptr<int64_t>();
  Rows result{lines, width, at::zeros({lines + 1}, TensorOptions().dtype(ScalarType::Long)), place, values};
  int64_t* pointers = result.pointers.mutable_data_ptr<int64_t>();
  bool in_order = true;
  for (int64_t i = 0; i < n; ++i) {
    ++pointers[number[i] + 1];
    in_order &= i == 0 || number[i - 1] <= number[i];
  }
  std::partial_sum(pointers, pointers + lines + 1, pointers);
  if (!in_order) {
    std::vector<int64_t> next(pointers, pointers + lines);
    Tensor order = empty_contiguous({n}, ScalarType::Long);
    int64_t* to = order.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < n; ++i) to[next[number[i]]++] = i;
    result.places = at::index_select(place, 0, order);
    result.values = at::index_select(values, 0, order);
  }
  result.places = native::dense(result.places);
  result.values = native::dense(result.values);
  return result;
}

template <class T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<c10::Half> {
  using type = float;
};
template <>
struct Accumulator<c10::BFloat16> {
  using type = float;
};

// Integers wrap around.
template <>
struct Accumulator<int64_t> {
  using type = uint64_t;
};
template <>
struct Accumulator<int32_t> {
  using type = uint32_t;
};

constexpr int64_t kTile = 64;  // columns of the product that are summed up at a time

template <class T>
void multiply(const Rows& a, const T* dense, int64_t columns, T* out) {
  using A = typename Accumulator<T>::type;
  const int64_t *begin = a.begin(), *place = a.place();
  const T* values = static_cast<const T*>(a.values.const_data_ptr());
  for_rows(a, columns, [&](int64_t first, int64_t end) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      return multiply_rows(begin, place, values, dense, columns, first, end, out);
    }
    for (int64_t i = first; i < end; ++i) {
      T* row = out + i * columns;
      for (int64_t from = 0; from < columns; from += kTile) {
        const int64_t width = std::min(columns - from, kTile);
        A sum[kTile] = {};
        if (width == kTile) {
          for (int64_t k = begin[i]; k < begin[i + 1]; ++k) {
            const A weight = static_cast<A>(values[k]);
            const T* other = dense + place[k] * columns + from;
            for (int64_t j = 0; j < kTile; ++j) sum[j] += weight * static_cast<A>(other[j]);
          }
        } else {
          for (int64_t k = begin[i]; k < begin[i + 1]; ++k) {
            const A weight = static_cast<A>(values[k]);
            const T* other = dense + place[k] * columns + from;
            for (int64_t j = 0; j < width; ++j) sum[j] += weight * static_cast<A>(other[j]);
          }
        }
        for (int64_t j = 0; j < width; ++j) row[from + j] = static_cast<T>(sum[j]);
      }
    }
  });
}

}  // namespace

Rows rows_of(const char* op, const Tensor& t, bool transposed) {
  if (t.layout() == (transposed ? Layout::SparseCsc : Layout::SparseCsr) && t.dim() == 2) {
    const Lines lines = lines_of(t);
    return {lines.count, lines.width, lines.compressed, lines.plain, native::dense(values_of(t))};
  }
  const Tensor elements = in_coordinates(t);
  const SparseTensorImpl& impl = impl_of(op, elements);
  const int64_t dims = impl.sparse_dim();
  TORCH_CHECK(impl.dense_dim() == 0 && dims >= 2, op, ": expected a sparse matrix of two sparse dimensions, got ", dims,
              " and ", impl.dense_dim(), " dense ones");
  const int64_t batch = dims - 2, row = transposed ? batch + 1 : batch, column = transposed ? batch : batch + 1;
  const int64_t matrices = c10::checked_numel(t.sizes().slice(0, static_cast<size_t>(batch)));
  // The number of a line among those of all matrices, and of a place.
  const auto numbers = [&](int64_t dim) {
    DimVector sizes(t.sizes().begin(), t.sizes().begin() + batch);
    sizes.push_back(t.size(dim));
    std::vector<int64_t> which;
    for (int64_t d = 0; d < batch; ++d) which.push_back(d);
    which.push_back(dim);
    return flat_places(at::index_select(impl.indices(), 0, long_tensor(which)), sizes);
  };
  return grouped(matrices * t.size(row), matrices * t.size(column), numbers(row), numbers(column), impl.values());
}

Tensor times_dense(const char* op, const Rows& a, const Tensor& dense) {
  const int64_t columns = dense.size(1);
  Tensor result = empty_contiguous({a.rows, columns}, dense.scalar_type());
  if (result.numel() == 0) return result;
  TORCH_INTERNAL_ASSERT(dense.size(0) == a.columns && dense.scalar_type() == a.values.scalar_type());
  const Tensor right = native::dense(dense);
  cpu::visit_all(dense.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, cpu::Boolean>) {
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", op, "\" not implemented for 'Bool'");
    } else {
      multiply(a, static_cast<const T*>(right.const_data_ptr()), columns, static_cast<T*>(result.mutable_data_ptr()));
    }
  });
  return result;
}

}  // namespace at::sparse
