#include "aten/sparse/compressed_parts.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/csr_loops.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
#include "aten/sparse/sparse_parts.h"

namespace at::sparse {
namespace {

int64_t product(IntArrayRef sizes) {
  int64_t result = 1;
  for (const int64_t size : sizes) result *= size;
  return result;
}

const char* compressed_name(bool rows) {
  return rows ? "crow_indices" : "ccol_indices";
}
const char* plain_name(bool rows) {
  return rows ? "col_indices" : "row_indices";
}

// Without places: pointers only.
template <class Index>
void check_indices_of(bool rows, const Index* pointers, const Index* places, int64_t count, int64_t width, int64_t nnz,
                      bool sorted) {
  const char *compressed = compressed_name(rows), *plain = plain_name(rows);
  const char *lines = rows ? "nrows" : "ncols", *others = rows ? "ncols" : "nrows";
  TORCH_CHECK(pointers[0] == 0, "`", compressed, "[..., 0] == 0` is not satisfied.");
  TORCH_CHECK(pointers[count] == nnz, "`", compressed, "[..., -1] == nnz` is not satisfied.");
  // A fault shows in a sign, or is counted; a loop that finds its place follows where there is one.
  Index signs = 0;
  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto length = static_cast<Index>(static_cast<std::make_unsigned_t<Index>>(pointers[i + 1]) -
                                           static_cast<std::make_unsigned_t<Index>>(pointers[i]));
    signs |= pointers[i + 1] | length;
  }
  for (int64_t i = 0; sorted && i < count; ++i) {
    longest = std::max(longest, static_cast<int64_t>(pointers[i + 1]) - static_cast<int64_t>(pointers[i]));
  }
  for (int64_t i = 0; (signs < 0 || (sorted && longest > width)) && i < count; ++i) {
    const int64_t length = static_cast<int64_t>(pointers[i + 1]) - static_cast<int64_t>(pointers[i]);
    TORCH_CHECK(pointers[i] >= 0 && length >= 0 && (!sorted || length <= width) && pointers[i + 1] <= nnz,
                "`0 <= ", compressed, "[..., 1:] - ", compressed, "[..., :-1] <= ", others, "` is not satisfied.");
  }
  if (places == nullptr) return;
  TORCH_CHECK(are_in_range(places, nnz, width), "`0 <= ", plain, " < ", others, "` is not satisfied.");
  TORCH_CHECK(!sorted || go_up(count, pointers, places), "`", plain, "[..., ", compressed, "[..., i - 1]:", compressed,
              "[..., i]] for all i = 1, ..., ", lines,
              " are sorted and distinct along the last dimension values` is not satisfied.");
}

Tensor as_long(const Tensor& t) {
  return native::dense(t, ScalarType::Long);
}

// Puts `order` in the order of the keys that it names, those of one key as they stand.
void order_by(const std::vector<int64_t>& keys, int64_t range, std::vector<int64_t>& order) {
  const auto before = [&](int64_t a, int64_t b) { return keys[a] < keys[b]; };
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  const int64_t n = static_cast<int64_t>(keys.size());
  if (range / 4 > n + 1024) {
    std::vector<int64_t> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : position[a] < position[b]; });
    return;
  }
  std::vector<int64_t> next(static_cast<size_t>(range) + 1), sorted(order.size());
  for (const int64_t key : keys) ++next[key + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (const int64_t i : order) sorted[next[keys[i]]++] = i;
  order.swap(sorted);
}

}  // namespace

void check_indices(bool rows, const Tensor& compressed, const Tensor& plain, int64_t count, int64_t width, int64_t nnz,
                   bool sorted) {
  const Device host(DeviceType::CPU);
  const Tensor pointers = native::dense(at::to(compressed, host, compressed.scalar_type())),
               places = native::dense(at::to(plain, host, plain.scalar_type()));
  const int64_t batch = product(compressed.sizes().slice(0, static_cast<size_t>(compressed.dim() - 1)));
  const auto check = [&]<class Index>(Index) {
    for (int64_t b = 0; b < batch; ++b) {
      check_indices_of(rows, pointers.const_data_ptr<Index>() + b * (count + 1),
                       places.const_data_ptr<Index>() + b * nnz, count, width, nnz, sorted);
    }
  };
  if (compressed.scalar_type() == ScalarType::Int) {
    check(int32_t{});
  } else {
    check(int64_t{});
  }
}

void check_pointers(bool rows, const Tensor& compressed, int64_t count, int64_t width, int64_t nnz) {
  TORCH_CHECK(compressed.dim() == 1 && compressed.size(0) == count + 1, compressed_name(rows),
              ".shape[-1] must be equal to the number of ", rows ? "row" : "column", "s + 1 (=", count + 1,
              "), but got ", compressed.size(-1));
  check_indices_of<int64_t>(rows, compressed.const_data_ptr<int64_t>(), nullptr, count, width, nnz, false);
}

Lines lines_of(const Tensor& t) {
  const SparseCsrTensorImpl& impl = compressed_impl_of("lines_of", t);
  const int64_t dims = impl.batch_dim();
  const std::array<int64_t, 2> block = impl.block();
  const int64_t rows = t.size(dims) / std::max<int64_t>(block[0], 1),
                columns = t.size(dims + 1) / std::max<int64_t>(block[1], 1);
  const bool by_row = by_rows(t.layout());
  Lines lines{product(t.sizes().slice(0, static_cast<size_t>(dims))),
              by_row ? rows : columns,
              by_row ? columns : rows,
              impl.nnz(),
              as_long(impl.compressed()),
              as_long(impl.plain())};
  TORCH_CHECK(lines.compressed.size(-1) == lines.count + 1 &&
                  lines.compressed.numel() == lines.batch * (lines.count + 1) &&
                  lines.plain.numel() == lines.batch * lines.nnz,
              compressed_name(by_row), ".shape[-1] must be equal to the number of ", by_row ? "row" : "column",
              "s + 1 (=", lines.count + 1, "), but got ", lines.compressed.size(-1));
  check_indices(by_row, lines.compressed, lines.plain, lines.count, lines.width, lines.nnz, false);
  return lines;
}

Tensor element_places(const Tensor& t) {
  if (!t.is_cpu()) return device::element_places(t);
  const SparseCsrTensorImpl& impl = compressed_impl_of("element_places", t);
  const Lines lines = lines_of(t);
  const std::array<int64_t, 2> block = impl.block();
  const int64_t columns = t.size(impl.batch_dim() + 1), per_matrix = t.size(impl.batch_dim()) * columns;
  const bool by_row = by_rows(t.layout());
  Tensor result = empty_contiguous({lines.batch * lines.nnz * block[0] * block[1]}, ScalarType::Long);
  auto* next = static_cast<int64_t*>(result.mutable_data_ptr());
  for (int64_t b = 0; b < lines.batch; ++b) {
    const int64_t *pointers = lines.pointers(b), *places = lines.places(b);
    for (int64_t i = 0; i < lines.count; ++i) {
      for (int64_t k = pointers[i]; k < pointers[i + 1]; ++k) {
        const int64_t row = (by_row ? i : places[k]) * block[0], column = (by_row ? places[k] : i) * block[1];
        for (int64_t r = 0; r < block[0]; ++r) {
          for (int64_t c = 0; c < block[1]; ++c) *next++ = b * per_matrix + (row + r) * columns + column + c;
        }
      }
    }
  }
  return result;
}

Tensor element_values(const Tensor& t) {
  const SparseCsrTensorImpl& impl = compressed_impl_of("element_values", t);
  const Tensor& values = impl.values();
  const auto first_dense = static_cast<size_t>(impl.batch_dim() + 1 + impl.block_dim());
  DimVector sizes{product(values.sizes().slice(0, first_dense))};
  for (const int64_t size : values.sizes().slice(first_dense)) sizes.push_back(size);
  return at::reshape(values, sizes);
}

Tensor values_from_elements(const Tensor& t, const Tensor& elements) {
  return at::reshape(elements, compressed_impl_of("values_from_elements", t).values().sizes());
}

namespace {

// Of one matrix without blocks: its lines, element by element, and its places.
Tensor matrix_coordinates(const Tensor& t) {
  const Lines lines = lines_of(t);
  const bool by_row = by_rows(t.layout());
  Tensor indices = empty_contiguous({2, lines.nnz}, ScalarType::Long);
  int64_t *rows = indices.mutable_data_ptr<int64_t>(), *columns = rows + lines.nnz;
  int64_t *line = by_row ? rows : columns, *place = by_row ? columns : rows;
  const int64_t* pointers = lines.pointers(0);
  for (int64_t i = 0; i < lines.count; ++i) std::fill(line + pointers[i], line + pointers[i + 1], i);
  std::copy_n(lines.places(0), lines.nnz, place);
  bool coalesced = by_row && go_up(lines.count, pointers, lines.places(0));
  if (!by_row) {
    // Columns, one after the other, are rows only where each row is in one column.
    coalesced = true;
    for (int64_t i = 1; i < lines.nnz && coalesced; ++i) {
      coalesced = rows[i - 1] < rows[i] || (rows[i - 1] == rows[i] && columns[i - 1] < columns[i]);
    }
  }
  return make_sparse(t.sizes(), indices, element_values(t), coalesced);
}

}  // namespace

Tensor coordinates(const Tensor& t) {
  if (!t.is_cpu()) return device::coordinates(t);
  const SparseCsrTensorImpl& impl = compressed_impl_of("to_sparse", t);
  if (impl.batch_dim() == 0 && impl.block_dim() == 0) return matrix_coordinates(t);
  const Tensor flat = element_places(t);
  const int64_t dims = impl.batch_dim() + 2, count = flat.numel();
  Tensor indices = empty_contiguous({dims, count}, ScalarType::Long);
  const int64_t* places = flat.const_data_ptr<int64_t>();
  auto* out = static_cast<int64_t*>(indices.mutable_data_ptr());
  bool coalesced = true;
  for (int64_t i = 0; i < count; ++i) {
    coalesced &= i == 0 || places[i - 1] < places[i];
    int64_t rest = places[i];
    for (int64_t d = dims - 1; d >= 0; --d) {
      out[d * count + i] = rest % t.size(d);
      rest /= t.size(d);
    }
  }
  return make_sparse(t.sizes(), indices, element_values(t), coalesced);
}

Tensor compress(const char* op, const Tensor& from, Layout layout, std::array<int64_t, 2> block) {
  const SparseTensorImpl& impl = impl_of(op, from);
  const int64_t batch_dim = impl.sparse_dim() - 2, nnz = impl.nnz();
  TORCH_INTERNAL_ASSERT(batch_dim >= 0 && impl.coalesced());
  const int64_t rows = from.size(batch_dim), columns = from.size(batch_dim + 1);
  const bool by_row = by_rows(layout), blocked = SparseCsrTensorImpl::is_blocked(layout);
  TORCH_CHECK(block[0] > 0 && block[1] > 0 && rows % block[0] == 0 && columns % block[1] == 0, op,
              ": tensor sparse size (", rows, ",", columns, ") must be divisible by given blocksize (", block[0], ",",
              block[1], ")");
  const IntArrayRef batch_sizes = from.sizes().slice(0, static_cast<size_t>(batch_dim));
  const int64_t batch = c10::checked_numel(batch_sizes), line_block = by_row ? block[0] : block[1],
                place_block = by_row ? block[1] : block[0];
  const int64_t count = (by_row ? rows : columns) / line_block, width = (by_row ? columns : rows) / place_block;

  DimVector index_sizes(batch_sizes.begin(), batch_sizes.end()), pointer_sizes = index_sizes;
  pointer_sizes.push_back(count + 1);
  const auto made = [&](const Tensor& pointers, const Tensor& places, const Tensor& values) {
    index_sizes.push_back(batch == 0 ? 0 : places.numel() / batch);
    DimVector value_sizes = index_sizes;
    if (blocked) value_sizes.append(block.begin(), block.end());
    for (int64_t d = 1; d < impl.values().dim(); ++d) value_sizes.push_back(impl.values().size(d));
    return make_compressed(layout, from.sizes(), at::reshape(pointers, pointer_sizes),
                           at::reshape(places, index_sizes), at::reshape(values, value_sizes));
  };
  if (!from.is_cpu()) {
    const device::Compressed parts = device::compress(from, layout, block);
    return made(parts.pointers, parts.places, parts.values);
  }

  const Tensor indices = native::dense(impl.indices());
  const Tensor matrices = flat_places(at::slice(indices, 0, 0, batch_dim), batch_sizes);
  const Tensor checked[] = {flat_places(at::slice(indices, 0, batch_dim, batch_dim + 1), IntArrayRef(rows)),
                            flat_places(at::slice(indices, 0, batch_dim + 1, batch_dim + 2), IntArrayRef(columns))};
  const int64_t *matrix = matrices.const_data_ptr<int64_t>(), *row = checked[0].const_data_ptr<int64_t>(),
                *column = checked[1].const_data_ptr<int64_t>();
  // Of each element its line, over all matrices, and its place in the line; sorted by both.
  std::vector<int64_t> line(static_cast<size_t>(nnz)), place(line.size()), order(line.size());
  for (int64_t i = 0; i < nnz; ++i) {
    line[i] = matrix[i] * count + (by_row ? row[i] / block[0] : column[i] / block[1]);
    place[i] = by_row ? column[i] / block[1] : row[i] / block[0];
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!by_row || blocked) {
    order_by(place, width, order);
    order_by(line, batch * count, order);
  }
  // A block for each pair of line and place.
  std::vector<int64_t> stored_place, stored_in(line.size());
  Tensor compressed = at::zeros({batch, count + 1}, TensorOptions().dtype(ScalarType::Long));
  int64_t* pointers = static_cast<int64_t*>(compressed.mutable_data_ptr());
  for (size_t k = 0; k < order.size(); ++k) {
    const int64_t i = order[k];
    const bool first = k == 0 || line[order[k - 1]] != line[i] || place[order[k - 1]] != place[i];
    if (first || !blocked) {
      stored_place.push_back(place[i]);
      ++pointers[line[i] / count * (count + 1) + line[i] % count + 1];
    }
    stored_in[i] = static_cast<int64_t>(stored_place.size()) - 1;
  }
  const int64_t stored = static_cast<int64_t>(stored_place.size()), per_matrix = batch == 0 ? 0 : stored / batch;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t* own = pointers + b * (count + 1);
    std::partial_sum(own, own + count + 1, own);
    TORCH_CHECK(own[count] == per_matrix, "Expect the same number of specified elements per batch.");
  }
  Tensor values = impl.values();
  if (blocked) {
    DimVector sizes{stored * block[0] * block[1]};
    for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
    std::vector<int64_t> to(line.size());
    for (int64_t i = 0; i < nnz; ++i) {
      to[i] = (stored_in[i] * block[0] + row[i] % block[0]) * block[1] + column[i] % block[1];
    }
    Tensor blocks = at::zeros(sizes, values.options());
    values = at::index_copy_(blocks, 0, long_tensor(to), values);
  } else if (!by_row) {
    values = at::index_select(values, 0, long_tensor(order));
  }
  return made(compressed, long_tensor(stored_place), values);
}

Tensor to_compressed(const char* op, const Tensor& t, Layout layout, std::array<int64_t, 2> block) {
  if (t.layout() == layout && compressed_impl_of(op, t).block() == block) return t;
  return with_index_type(compress(op, coalesced(coordinates(t)), layout, block),
                         compressed_impl_of(op, t).plain().scalar_type());
}

Tensor with_index_type(const Tensor& t, ScalarType type) {
  const SparseCsrTensorImpl& impl = compressed_impl_of("with_index_type", t);
  if (impl.plain().scalar_type() == type) return t;
  return make_compressed(t.layout(), t.sizes(), at::to(impl.compressed(), type), at::to(impl.plain(), type),
                         impl.values());
}

Tensor empty_compressed(Layout layout, IntArrayRef sizes, std::array<int64_t, 2> block, int64_t dense_dim,
                        ScalarType index_type, const TensorOptions& options) {
  const size_t batch_dim = sizes.size() - 2 - static_cast<size_t>(dense_dim);
  const bool blocked = SparseCsrTensorImpl::is_blocked(layout);
  const int64_t lines = by_rows(layout) ? sizes[batch_dim] / block[0] : sizes[batch_dim + 1] / block[1];
  DimVector pointer_sizes(sizes.begin(), sizes.begin() + batch_dim), index_sizes = pointer_sizes;
  pointer_sizes.push_back(lines + 1);
  index_sizes.push_back(0);
  DimVector value_sizes = index_sizes;
  if (blocked) value_sizes.append(block.begin(), block.end());
  value_sizes.append(sizes.begin() + batch_dim + 2, sizes.end());
  const TensorOptions strided = options.layout(Layout::Strided), index = strided.dtype(index_type);
  return make_compressed(layout, sizes, at::zeros(pointer_sizes, index), at::empty(index_sizes, index),
                         at::empty(value_sizes, strided));
}

std::array<int64_t, 2> block_of(const char* op, const Tensor& self, Layout to, OptionalIntArrayRef blocksize) {
  TORCH_CHECK(to == Layout::Sparse || is_compressed(to), op, ": conversion from ", self.layout(), " to ", to,
              " is not supported");
  if (!SparseCsrTensorImpl::is_blocked(to)) {
    TORCH_CHECK(!blocksize.has_value(), op, ": conversion from ", self.layout(), " to ", to,
                " with blocksize argument given is not supported");
    return {1, 1};
  }
  if (!blocksize.has_value() && SparseCsrTensorImpl::is_blocked(self.layout())) {
    return compressed_impl_of(op, self).block();
  }
  TORCH_CHECK(blocksize.has_value(), op, ": conversion from ", self.layout(), " to ", to,
              " without blocksize argument given is not supported");
  TORCH_CHECK(blocksize->size() == 2, op, ": blocksize needs to be a tuple of size 2, but got ", blocksize->size());
  TORCH_CHECK((*blocksize)[0] > 0 && (*blocksize)[1] > 0, op, ": blocksize needs to be positive, but got ", *blocksize);
  return {(*blocksize)[0], (*blocksize)[1]};
}

}  // namespace at::sparse
