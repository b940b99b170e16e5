#include "aten/sparse/csr_rows.h"

#include <algorithm>
#include <atomic>
#include <bit>
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
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
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

// Of float or double numbers, places as they are. False where one is out of range.
template <class T, class Index>
bool multiply_as_is(const Rows& a, const T* dense, int64_t columns, T* out) {
  const RowsMemory<T, Index> memory{a.begin(), static_cast<const Index*>(a.places.const_data_ptr()),
                                    static_cast<const T*>(a.values.const_data_ptr())};
  std::atomic<bool> good{true};
  for_rows(a, columns, [&](int64_t first, int64_t end) {
    if (!multiply_rows(memory, dense, a.columns, columns, first, end, out)) good = false;
  });
  return good;
}

template <class T>
void multiply(const Rows& a, const T* dense, int64_t columns, T* out) {
  using A = typename Accumulator<T>::type;
  const int64_t *begin = a.begin(), *place = a.place();
  const T* values = static_cast<const T*>(a.values.const_data_ptr());
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const bool good = multiply_as_is<T, int64_t>(a, dense, columns, out);
    TORCH_INTERNAL_ASSERT(good, "places of rows are in range");
  } else {
    for_rows(a, columns, [&](int64_t first, int64_t end) {
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
}

}  // namespace

Rows rows_of(const char* op, const Tensor& t, bool transposed) {
  if (!t.is_cpu()) return device::rows_of(op, t, transposed);
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
    if (batch == 0) return flat_places(at::slice(impl.indices(), 0, dim, dim + 1), sizes);
    return flat_places(at::index_select(impl.indices(), 0, long_tensor(which)), sizes);
  };
  return grouped(matrices * t.size(row), matrices * t.size(column), numbers(row), numbers(column), impl.values());
}

Tensor times_dense(const char* op, const Rows& a, const Tensor& dense) {
  if (!dense.is_cpu()) return device::times_dense(op, a, dense);
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

Tensor times_dense(const char* op, const Tensor& sparse, const Tensor& dense) {
  const ScalarType type = dense.scalar_type();
  if (!sparse.is_cpu() || sparse.layout() != Layout::SparseCsr || sparse.dim() != 2 ||
      (type != ScalarType::Float && type != ScalarType::Double)) {
    return times_dense(op, rows_of(op, sparse), dense);
  }
  // Places are looked through where they are used.
  const SparseCsrTensorImpl& impl = compressed_impl_of(op, sparse);
  const int64_t columns = dense.size(1);
  const Rows a{sparse.size(0), sparse.size(1), native::dense(impl.compressed(), ScalarType::Long),
               native::dense(impl.plain()), native::dense(impl.values())};
  check_pointers(true, a.pointers, a.rows, a.columns, a.nnz());
  Tensor result = empty_contiguous({a.rows, columns}, type);
  const Tensor right = native::dense(dense);
  const bool narrow = a.places.scalar_type() == ScalarType::Int;
  bool good = true;
  cpu::visit_float_double(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = right.const_data_ptr<T>();
    T* to = result.mutable_data_ptr<T>();
    good = narrow ? multiply_as_is<T, int32_t>(a, from, columns, to) : multiply_as_is<T, int64_t>(a, from, columns, to);
  });
  if (!good) lines_of(sparse);  // throws, and says what is wrong
  return result;
}

Rows ordered_rows(const char* op, const Tensor& t) {
  Rows rows = rows_of(op, t);
  return go_up(rows.rows, rows.begin(), rows.place()) ? rows : rows_of(op, coalesced(in_coordinates(t)));
}

namespace {

// The columns that a product may have, where they are few among many: by number.
struct Columns {
  std::vector<int64_t> used;  // in order; none: all
  Tensor number;              // of each element of the right factor
  int64_t count;
};
Columns columns_of(const Rows& b) {
  if (b.columns / 4 <= b.nnz() + 1024) return {{}, b.places, b.columns};
  const Order order = order_of(b.place(), b.nnz(), b.columns);
  Columns columns{{}, empty_contiguous({b.nnz()}, ScalarType::Long), order.groups()};
  int64_t* number = columns.number.mutable_data_ptr<int64_t>();
  for (int64_t g = 0; g < order.groups(); ++g) {
    columns.used.push_back(b.place()[order.numbers[order.starts[g]]]);
    for (int64_t i = order.starts[g]; i < order.starts[g + 1]; ++i) number[order.numbers[i]] = g;
  }
  return columns;
}

// A row's columns in order; `marks` has a bit for each column, all 0 before and after.
void sort_columns(int64_t* columns, int64_t n, std::vector<uint64_t>& marks) {
  if (static_cast<int64_t>(marks.size()) > 4 * n) {
    std::sort(columns, columns + n);
    return;
  }
  for (int64_t j = 0; j < n; ++j) marks[columns[j] / 64] |= uint64_t{1} << columns[j] % 64;
  for (size_t word = 0; word < marks.size(); ++word) {
    uint64_t left = marks[word];
    for (; left != 0; left &= left - 1) {
      *columns++ = static_cast<int64_t>(word) * 64 + std::countr_zero(left);
    }
    marks[word] = 0;
  }
}

}  // namespace

Rows times_sparse(const char* op, const Rows& a, const Rows& b, bool in_order) {
  TORCH_INTERNAL_ASSERT(a.columns == b.rows && a.values.scalar_type() == b.values.scalar_type());
  const Columns columns = columns_of(b);
  const int64_t *begin_a = a.begin(), *inner = a.place(), *begin_b = b.begin();
  const int64_t* outer = columns.number.const_data_ptr<int64_t>();
  const int64_t work = 1 + b.nnz() / std::max<int64_t>(b.rows, 1);
  Rows result{a.rows, b.columns, empty_contiguous({a.rows + 1}, ScalarType::Long), Tensor(), Tensor()};
  int64_t* pointers = result.pointers.mutable_data_ptr<int64_t>();
  // How many places each row has. `seen` has the last row that a column was named in.
  pointers[0] = 0;
  for_rows(a, work, [&](int64_t first, int64_t end) {
    std::vector<int64_t> seen(static_cast<size_t>(columns.count), -1);
    for (int64_t i = first; i < end; ++i) {
      int64_t count = 0;
      for (int64_t k = begin_a[i]; k < begin_a[i + 1]; ++k) {
        for (int64_t l = begin_b[inner[k]]; l < begin_b[inner[k] + 1]; ++l) {
          count += seen[outer[l]] != i;
          seen[outer[l]] = i;
        }
      }
      pointers[i + 1] = count;
    }
  });
  std::partial_sum(pointers, pointers + a.rows + 1, pointers);
  result.places = empty_contiguous({pointers[a.rows]}, ScalarType::Long);
  result.values = empty_contiguous({pointers[a.rows]}, a.values.scalar_type());
  int64_t* places = result.places.mutable_data_ptr<int64_t>();
  cpu::visit_all(a.values.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, cpu::Boolean>) {
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", op, "\" not implemented for 'Bool'");
    }
    using A = typename Accumulator<T>::type;
    const T *of_a = static_cast<const T*>(a.values.const_data_ptr()),
            *of_b = static_cast<const T*>(b.values.const_data_ptr());
    T* values = static_cast<T*>(result.values.mutable_data_ptr());
    for_rows(a, work, [&](int64_t first, int64_t end) {
      std::vector<int64_t> seen(static_cast<size_t>(columns.count), -1);
      std::vector<A> sums(seen.size());
      std::vector<uint64_t> marks(in_order ? seen.size() / 64 + 1 : 0);
      for (int64_t i = first; i < end; ++i) {
        int64_t *const to = places + pointers[i], *next = to;
        for (int64_t k = begin_a[i]; k < begin_a[i + 1]; ++k) {
          const A weight = static_cast<A>(of_a[k]);
          for (int64_t l = begin_b[inner[k]]; l < begin_b[inner[k] + 1]; ++l) {
            const int64_t column = outer[l];
            const A term = times(weight, static_cast<A>(of_b[l]));
            if (seen[column] != i) {
              seen[column] = i;
              sums[column] = plus(A{}, term);
              *next++ = column;
            } else {
              sums[column] = plus(sums[column], term);
            }
          }
        }
        if (in_order) sort_columns(to, next - to, marks);
        for (int64_t j = 0; j < next - to; ++j) {
          values[pointers[i] + j] = static_cast<T>(sums[to[j]]);
          if (!columns.used.empty()) to[j] = columns.used[to[j]];
        }
      }
    });
  });
  return result;
}

}  // namespace at::sparse
