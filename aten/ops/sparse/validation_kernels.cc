// What the parts of a sparse tensor must be, and index lists of one layout as those of another.
#include <algorithm>
#include <array>
#include <atomic>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/sparse_parts.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 32768;  // indices worth a thread

}  // namespace

void _validate_sparse_coo_tensor_args(const Tensor& indices, const Tensor& values, IntArrayRef size,
                                      std::optional<bool> is_coalesced, std::optional<bool>) {
  sparse::check_coordinates(indices, values, size, is_coalesced.value_or(false));
}

// --- compressed ---
namespace {

struct Names {
  const char *compressed, *plain, *line;
};
Names names_of(Layout layout) {
  if (sparse::by_rows(layout)) return {"crow_indices", "col_indices", "row"};
  return {"ccol_indices", "row_indices", "column"};
}

// All but what the indices say.
void check_shapes(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size,
                  Layout layout) {
  TORCH_CHECK(sparse::is_compressed(layout), "expected sparse compressed tensor layout but got ", layout);
  const Names names = names_of(layout);
  const auto strided = [](const char* name, const Tensor& t) {
    TORCH_CHECK(t.layout() == Layout::Strided, "expected ", name, " to be a strided tensor but got ", t.layout(),
                " tensor");
  };
  strided(names.compressed, compressed);
  strided(names.plain, plain);
  strided("values", values);
  const int64_t batch = compressed.dim() - 1, block = SparseCsrTensorImpl::is_blocked(layout) ? 2 : 0;
  TORCH_CHECK(batch >= 0, names.compressed, " must have dimensionality >= 1 but got ", compressed.dim());
  TORCH_CHECK(compressed.dim() == plain.dim(), names.compressed, " and ", names.plain,
              " dimensionalities must be equal but got ", compressed.dim(), " and ", plain.dim(), ", respectively");
  const int64_t dense_dim = values.dim() - batch - block - 1;
  TORCH_CHECK(dense_dim >= 0, "values must have dimensionality > sum of batch and block dimensionalities (=", batch,
              " + ", block, ") but got ", values.dim());
  TORCH_CHECK(static_cast<int64_t>(size.size()) == batch + 2 + dense_dim,
              "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=", batch, " + 2 + ",
              dense_dim, ") but got ", size.size());
  const auto dims = static_cast<size_t>(batch);
  const IntArrayRef batch_sizes = size.slice(0, dims);
  TORCH_CHECK(compressed.sizes().slice(0, dims) == batch_sizes && plain.sizes().slice(0, dims) == batch_sizes &&
                  values.sizes().slice(0, dims) == batch_sizes,
              "all batch dimensions of ", names.compressed, " (=", compressed.sizes().slice(0, dims), "), ",
              names.plain, " (=", plain.sizes().slice(0, dims), "), and values (=", values.sizes().slice(0, dims),
              ") must be equal to tensor batch dimensions (=", batch_sizes, ")");
  std::array<int64_t, 2> blocks{1, 1};
  for (int64_t d = 0; d < block; ++d) {
    blocks[d] = values.size(batch + 1 + d);
    TORCH_CHECK(blocks[d] > 0 && size[batch + d] % blocks[d] == 0, "tensor shape[", batch + d, "] (=", size[batch + d],
                ") must be divisible with blocksize[", d, "] (=", blocks[d], ") as defined by values shape");
  }
  const int64_t line = sparse::by_rows(layout) ? 0 : 1, count = size[batch + line] / blocks[line];
  TORCH_CHECK(compressed.size(-1) == count + 1, names.compressed, ".shape[-1] must be equal to the number of ",
              names.line, "s + 1 (=", count + 1, "), but got ", compressed.size(-1));
  TORCH_CHECK(plain.size(-1) == values.size(batch), names.plain,
              ".shape[-1] must be equal to nnz (=", values.size(batch), ") as defined by values.shape[", batch,
              "], but got ", plain.size(-1));
  for (int64_t d = 0; d < dense_dim; ++d) {
    TORCH_CHECK(values.size(batch + 1 + block + d) == size[batch + 2 + d], "values.shape[", batch + 1 + block + d,
                "] must be equal to the dense dimension size (=", size[batch + 2 + d], ") but got ",
                values.size(batch + 1 + block + d));
  }
  TORCH_CHECK(compressed.scalar_type() == plain.scalar_type(), names.compressed, " and ", names.plain,
              " must have the same dtype, bot got ", compressed.scalar_type(), " and ", plain.scalar_type(),
              ", respectively");
  TORCH_CHECK(plain.scalar_type() == ScalarType::Int || plain.scalar_type() == ScalarType::Long, names.compressed,
              " and ", names.plain, " dtype must be Int or Long, but got ", plain.scalar_type());
  TORCH_CHECK(compressed.device() == values.device() && plain.device() == values.device(), "device of ",
              names.compressed, " (=", compressed.device(), ") and ", names.plain, " (=", plain.device(),
              ") must match device of values (=", values.device(), ")");
}

void check_all(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size, Layout layout) {
  check_shapes(compressed, plain, values, size, layout);
  const auto batch = static_cast<size_t>(compressed.dim() - 1);
  const bool blocked = SparseCsrTensorImpl::is_blocked(layout), rows = sparse::by_rows(layout);
  const int64_t row_count = size[batch] / (blocked ? values.size(static_cast<int64_t>(batch) + 1) : 1),
                column_count = size[batch + 1] / (blocked ? values.size(static_cast<int64_t>(batch) + 2) : 1);
  sparse::check_indices(rows, compressed, plain, rows ? row_count : column_count, rows ? column_count : row_count,
                        plain.size(-1), true);
}

}  // namespace

void _validate_sparse_compressed_tensor_args(const Tensor& compressed_indices, const Tensor& plain_indices,
                                             const Tensor& values, IntArrayRef size, Layout layout,
                                             std::optional<bool>) {
  check_all(compressed_indices, plain_indices, values, size, layout);
}
#define VALIDATE_LAYOUT(name, Name)                                                                               \
  void _validate_sparse_##name##_tensor_args(const Tensor& compressed, const Tensor& plain, const Tensor& values, \
                                             IntArrayRef size, std::optional<bool>) {                             \
    check_all(compressed, plain, values, size, Layout::Sparse##Name);                                             \
  }
VALIDATE_LAYOUT(csr, Csr)
VALIDATE_LAYOUT(csc, Csc)
VALIDATE_LAYOUT(bsr, Bsr)
VALIDATE_LAYOUT(bsc, Bsc)
#undef VALIDATE_LAYOUT

void _validate_compressed_sparse_indices(bool is_crow, const Tensor& compressed_idx, const Tensor& plain_idx,
                                         int64_t cdim, int64_t dim, int64_t nnz) {
  TORCH_CHECK(
      compressed_idx.dim() > 0 && compressed_idx.dim() == plain_idx.dim() && cdim >= 0 && cdim < INT64_MAX && nnz >= 0,
      "_validate_compressed_sparse_indices: expected indices of one number of dimensions, at least 1, and sizes");
  TORCH_CHECK(compressed_idx.scalar_type() == plain_idx.scalar_type() &&
                  (plain_idx.scalar_type() == ScalarType::Int || plain_idx.scalar_type() == ScalarType::Long),
              "_validate_compressed_sparse_indices: expected indices of one dtype, Int or Long");
  const auto batch = static_cast<size_t>(plain_idx.dim() - 1);
  TORCH_CHECK(compressed_idx.size(-1) == cdim + 1 && plain_idx.size(-1) == nnz &&
                  compressed_idx.sizes().slice(0, batch) == plain_idx.sizes().slice(0, batch),
              "_validate_compressed_sparse_indices: expected indices of sizes ", cdim + 1, " and ", nnz, ", but got ",
              compressed_idx.sizes(), " and ", plain_idx.sizes());
  sparse::check_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz, true);
}

Tensor _sparse_compressed_tensor_unsafe(const Tensor& compressed_indices, const Tensor& plain_indices,
                                        const Tensor& values, IntArrayRef size, TensorOptions options) {
  TORCH_CHECK(options.has_layout() && sparse::is_compressed(options.layout()),
              "sparse_compressed_tensor_unsafe expected sparse compressed tensor layout but got ",
              options.has_layout() ? toString(options.layout()) : "none");
  c10::checked_numel(size);
  TORCH_CHECK(!options.has_dtype() || options.scalar_type() == values.scalar_type(), "dtype of values (",
              values.scalar_type(), ") must match dtype of sparse tensor (", options.scalar_type(), ")");
  if (globalContext().checkSparseTensorInvariants()) {
    check_all(compressed_indices, plain_indices, values, size, options.layout());
  } else {
    check_shapes(compressed_indices, plain_indices, values, size, options.layout());
  }
  return sparse::make_compressed(options.layout(), size, compressed_indices, plain_indices, values);
}

// --- index lists ---
namespace {

ScalarType index_type(bool out_int32) {
  return out_int32 ? ScalarType::Int : ScalarType::Long;
}

void check_index_list(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.scalar_type() == ScalarType::Int || t.scalar_type() == ScalarType::Long, op, ": expected ", name,
              " of dtype Int or Long, but got ", t.scalar_type());
}

template <class F>
void with_index(ScalarType type, const F& f) {
  if (type == ScalarType::Int) {
    f(int32_t{});
  } else {
    f(int64_t{});
  }
}

}  // namespace

TensorSpec convert_coo_to_csr_meta(const Tensor& self, int64_t size, bool out_int32) {
  TORCH_CHECK(self.dim() <= 1, "Input is supposed to be a vector, but got ", self.dim(), " dimensional tensor.");
  check_index_list("_convert_indices_from_coo_to_csr", "indices", self);
  TORCH_CHECK(size >= 0 && size < INT64_MAX,
              "_convert_indices_from_coo_to_csr: expected a size of at least 0, but got ", size);
  return TensorSpec{DimVector{size + 1}, {}, index_type(out_int32), self.device()};
}

void convert_coo_to_csr_cpu(const Tensor& self, int64_t size, bool, Tensor& out) {
  const Tensor rows = dense(self, ScalarType::Long);
  DenseOut result(out);
  with_index(out.scalar_type(), [&]<class Index>(Index) {
    Index* pointers = result.data<Index>();
    const int64_t* row = rows.const_data_ptr<int64_t>();
    const int64_t n = rows.numel();
    // In order a row begins where its number, or a greater one, comes first. Out of order, threads may meet at one
    // place.
    std::atomic<bool> in_order = true;
    at::parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
      int64_t last = begin == 0 ? -1 : row[begin - 1];
      bool rising = last >= -1 && last < size;
      // The rows of a piece are looked at first, so that the loop that writes has nothing else to do.
      constexpr int64_t kPiece = 2048;
      for (int64_t first = begin; first < end && rising; first += kPiece) {
        const int64_t behind = std::min(first + kPiece, end);
        rising = row[first] >= std::max<int64_t>(last, 0) && row[behind - 1] < size;
        for (int64_t i = first + 1; i < behind; ++i) rising &= row[i] >= row[i - 1];
        for (int64_t i = first; i < behind && rising; ++i) {
          for (; last < row[i]; ++last) {
            std::atomic_ref<Index>(pointers[last + 1]).store(static_cast<Index>(i), std::memory_order_relaxed);
          }
        }
      }
      if (!rising) in_order = false;
    });
    if (in_order) {
      std::fill(pointers + (n == 0 ? 0 : row[n - 1] + 1), pointers + size + 1, static_cast<Index>(n));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      TORCH_CHECK_INDEX(row[i] >= 0 && row[i] < size, "_convert_indices_from_coo_to_csr: index ", row[i],
                        " is out of bounds for size ", size);
    }
    result.clear();
    for (int64_t i = 0; i < n; ++i) ++pointers[row[i] + 1];
    for (int64_t i = 0; i < size; ++i) pointers[i + 1] = static_cast<Index>(pointers[i + 1] + pointers[i]);
  });
  result.commit();
}

TensorSpec convert_csr_to_coo_meta(const Tensor& crow_indices, const Tensor& col_indices, bool out_int32, bool) {
  check_index_list("_convert_indices_from_csr_to_coo", "crow_indices", crow_indices);
  TORCH_CHECK(crow_indices.scalar_type() == col_indices.scalar_type(),
              "_convert_indices_from_csr_to_coo: expected indices of one dtype, but got ", crow_indices.scalar_type(),
              " and ", col_indices.scalar_type());
  TORCH_CHECK(crow_indices.dim() > 0 && crow_indices.dim() == col_indices.dim() && crow_indices.size(-1) > 0 &&
                  crow_indices.sizes().slice(0, crow_indices.sizes().size() - 1) ==
                      col_indices.sizes().slice(0, col_indices.sizes().size() - 1),
              "crow_indices and col_indices are supposed to have the same dimensionality and batch sizes, but got ",
              crow_indices.sizes(), " and ", col_indices.sizes());
  return TensorSpec{
      DimVector{crow_indices.dim() + 1, col_indices.numel()}, {}, index_type(out_int32), crow_indices.device()};
}

void convert_csr_to_coo_cpu(const Tensor& crow_indices, const Tensor& col_indices, bool, bool transpose, Tensor& out) {
  const Tensor pointers = dense(crow_indices, ScalarType::Long), places = dense(col_indices, ScalarType::Long);
  const int64_t dims = crow_indices.dim() - 1, count = crow_indices.size(-1) - 1, nnz = col_indices.size(-1),
                total = col_indices.numel();
  DenseOut result(out);
  with_index(out.scalar_type(), [&]<class Index>(Index) {
    Index* to = result.data<Index>();
    Index *lines = to + (transpose ? dims + 1 : dims) * total, *others = to + (transpose ? dims : dims + 1) * total;
    for (int64_t b = 0; b * nnz < total; ++b) {
      const int64_t *begin = pointers.const_data_ptr<int64_t>() + b * (count + 1),
                    *place = places.const_data_ptr<int64_t>() + b * nnz;
      TORCH_CHECK(begin[0] == 0 && begin[count] == nnz,
                  "_convert_indices_from_csr_to_coo: expected crow_indices from 0 to ", nnz, ", but got ", begin[0],
                  " and ", begin[count]);
      at::parallel_for(0, count, kGrain, [&](int64_t first, int64_t last) {
        bool rising = true;
        for (int64_t i = first; i < last; ++i) {
          rising &= begin[i] >= 0 && begin[i] <= begin[i + 1] && begin[i + 1] <= nnz;
        }
        TORCH_CHECK(rising, "_convert_indices_from_csr_to_coo: crow_indices fall");
        for (int64_t i = first; i < last; ++i) {
          std::fill(lines + b * nnz + begin[i], lines + b * nnz + begin[i + 1], static_cast<Index>(i));
        }
      });
      at::parallel_for(0, nnz, 4 * kGrain, [&](int64_t first, int64_t last) {
        std::copy(place + first, place + last, others + b * nnz + first);
      });
      int64_t rest = b;
      for (int64_t d = dims - 1; d >= 0; --d) {
        std::fill_n(to + d * total + b * nnz, nnz, static_cast<Index>(rest % crow_indices.size(d)));
        rest /= crow_indices.size(d);
      }
    }
  });
  result.commit();
}

}  // namespace at::native
