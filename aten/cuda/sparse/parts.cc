// What kernels of sparse tensors do with indices, of CUDA tensors.
#include "aten/sparse/device_parts.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/cuda/sparse/rows_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/sparse_parts.h"
#include "c10/cuda/guard.h"

namespace at::sparse::device {
namespace {

Tensor count_up(int64_t n, const Tensor& like) {
  return at::arange(n, TensorOptions(like.device()).dtype(ScalarType::Long));
}

// Of numbers in order, which differ from the one before.
Tensor begins(const Tensor& sorted) {
  const int64_t n = sorted.numel();
  if (n < 2) return at::ones({n}, sorted.options().dtype(ScalarType::Bool));
  const Tensor first = at::ones({1}, sorted.options().dtype(ScalarType::Bool));
  return at::cat({first, at::ne(at::slice(sorted, 0, 1), at::slice(sorted, 0, 0, n - 1))});
}

// The numbers of true elements. Waits for the device.
Tensor numbers_of(const Tensor& flags) {
  return at::reshape(at::nonzero(flags), {-1});
}

// What each number is the number of: of those that begin a group 0, 1, ...
Tensor groups_of(const Tensor& begin) {
  return at::sub(at::cumsum(begin, 0), 1);
}

std::pair<Tensor, Tensor> sorted(const Tensor& keys) {
  auto [values, order] = at::sort(keys, /*stable=*/true, 0, /*descending=*/false);
  return {values, order};
}

Tensor divided(const Tensor& t, int64_t by) {
  return by == 1 ? t : at::floor_divide(t, by);
}
Tensor rest_of(const Tensor& t, int64_t by) {
  return at::remainder(t, by);
}

// Where `count` lines begin, and the last one ends, among elements whose lines go up.
Tensor pointers_of(const Tensor& lines, int64_t count) {
  return at::searchsorted(lines, count_up(count + 1, lines));
}

int64_t product(IntArrayRef sizes) {
  int64_t result = 1;
  for (const int64_t size : sizes) result *= size;
  return result;
}

// Of each element of compressed matrices its line: matrices x elements.
Tensor lines_of_elements(const Tensor& pointers, int64_t nnz) {
  const Tensor numbers = at::contiguous(at::expand(count_up(nnz, pointers), {pointers.size(0), nnz}));
  return at::sub(at::searchsorted(pointers, numbers, /*out_int32=*/false, /*right=*/true), 1);
}

// The numbers begin[i], begin[i] + 1, ... of each i, as many as lengths[i], one after the other, and these i. Waits for
// the device.
std::pair<Tensor, Tensor> expanded(const Tensor& begin, const Tensor& lengths) {
  const Tensor own = at::repeat_interleave(lengths);
  const Tensor before = at::sub(at::cumsum(lengths, 0), lengths);
  const Tensor inside = at::sub(count_up(own.numel(), own), at::index_select(before, 0, own));
  return {at::add(inside, at::index_select(begin, 0, own)), own};
}

// The group of each key, those of equal ones being one, and how many there are. Waits for the device.
std::pair<Tensor, int64_t> grouped(const Tensor& keys) {
  const auto [in_order, order] = sorted(keys);
  const Tensor begin = begins(in_order);
  Tensor groups = at::zeros_like(order);
  at::index_copy_(groups, 0, order, groups_of(begin));
  return {groups, keys.numel() == 0 ? 0 : at::item(at::sum(begin)).toLong()};
}

// As groups x positions what `values` has, an element a row.
Tensor by_rows_of(const Tensor& values) {
  return at::reshape(values, {values.size(0), -1});
}

// The sum of rows of `values` of a group.
Tensor summed(const Tensor& values, const Tensor& groups, int64_t count) {
  // Of bools counted: 256 times true is true.
  const bool boolean = values.scalar_type() == ScalarType::Bool;
  const Tensor source = boolean ? at::to(values, ScalarType::Long) : values;
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = count;
  Tensor sums = at::zeros(sizes, source.options());
  at::index_add_(sums, 0, groups, source);
  return boolean ? at::to(sums, ScalarType::Bool) : sums;
}

}  // namespace

Tensor coalesced(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("coalesce", t);
  const auto [places, order] = sorted(flat_places(impl.indices(), sparse_sizes(t, impl)));
  const Tensor begin = begins(places), first = numbers_of(begin);
  const int64_t count = first.numel();
  const Tensor indices = at::index_select(impl.indices(), 1, at::index_select(order, 0, first));
  const Tensor values = at::index_select(impl.values(), 0, order);
  return make_sparse(t.sizes(), indices, count == impl.nnz() ? values : summed(values, groups_of(begin), count), true);
}

Tensor flat_places(const Tensor& indices, IntArrayRef sizes) {
  const int64_t dims = indices.size(0);
  if (dims == 0) return at::zeros({indices.size(1)}, indices.options());
  Tensor places = at::select(indices, 0, 0);
  if (dims == 1) return at::clone(places, MemoryFormat::Contiguous);
  for (int64_t d = 1; d < dims; ++d) places = at::add(at::mul(places, sizes[d]), at::select(indices, 0, d));
  return places;
}

Tensor element_places(const Tensor& t) {
  const SparseCsrTensorImpl& impl = compressed_impl_of("element_places", t);
  const std::array<int64_t, 2> block = impl.block();
  const bool by_row = by_rows(t.layout());
  const int64_t batch = impl.batch_dim(), matrices = product(t.sizes().slice(0, static_cast<size_t>(batch))),
                columns = t.size(batch + 1), nnz = impl.nnz();
  const auto matrix_by = [&](const Tensor& indices, int64_t size) {
    return at::contiguous(at::reshape(at::to(indices, ScalarType::Long), {matrices, size}));
  };
  const Tensor line = lines_of_elements(matrix_by(impl.compressed(), impl.compressed().size(-1)), nnz),
               place = matrix_by(impl.plain(), nnz);
  const Tensor row = at::mul(by_row ? line : place, block[0]), column = at::mul(by_row ? place : line, block[1]);
  Tensor result = at::add(at::mul(row, columns), column);
  if (matrices > 1) {
    result = at::add(result, at::unsqueeze(at::mul(count_up(matrices, result), t.size(batch) * columns), 1));
  }
  if (impl.block_dim() != 0) {
    const Tensor inside =
        at::add(at::unsqueeze(at::mul(count_up(block[0], result), columns), 1), count_up(block[1], result));
    result = at::add(at::unsqueeze(at::unsqueeze(result, -1), -1), inside);
  }
  return at::reshape(result, {-1});
}

Tensor coordinates(const Tensor& t) {
  const int64_t dims = compressed_impl_of("to_sparse", t).batch_dim() + 2;
  const Tensor places = element_places(t);
  const int64_t n = places.numel();
  std::vector<Tensor> rows(static_cast<size_t>(dims));
  Tensor rest = places;
  for (int64_t d = dims; d-- > 0;) {
    const int64_t size = std::max<int64_t>(t.size(d), 1);
    rows[static_cast<size_t>(d)] = d == 0 ? rest : rest_of(rest, size);
    if (d > 0) rest = divided(rest, size);
  }
  const bool goes_up =
      n < 2 || at::item(at::all(at::gt(at::slice(places, 0, 1), at::slice(places, 0, 0, n - 1)))).toBool();
  return make_sparse(t.sizes(), at::stack(rows), element_values(t), goes_up);
}

Compressed compress(const Tensor& from, Layout layout, std::array<int64_t, 2> block) {
  const SparseTensorImpl& impl = impl_of("compress", from);
  const int64_t batch_dim = impl.sparse_dim() - 2, rows = from.size(batch_dim), columns = from.size(batch_dim + 1);
  const bool by_row = by_rows(layout), blocked = SparseCsrTensorImpl::is_blocked(layout);
  const IntArrayRef batch_sizes = from.sizes().slice(0, static_cast<size_t>(batch_dim));
  const int64_t batch = product(batch_sizes), line_block = by_row ? block[0] : block[1],
                place_block = by_row ? block[1] : block[0];
  const int64_t count = (by_row ? rows : columns) / line_block,
                width = std::max<int64_t>((by_row ? columns : rows) / place_block, 1);
  const Tensor matrix = flat_places(at::slice(impl.indices(), 0, 0, batch_dim), batch_sizes);
  const Tensor row = at::select(impl.indices(), 0, batch_dim), column = at::select(impl.indices(), 0, batch_dim + 1);
  Tensor line = at::add(at::mul(matrix, count), divided(by_row ? row : column, line_block));
  Tensor place = divided(by_row ? column : row, place_block), values = impl.values();
  if (!by_row || blocked) {
    // By line and place; each pair is a block.
    const auto [keys, order] = sorted(at::add(at::mul(line, width), place));
    Tensor stored = keys;
    values = at::index_select(values, 0, order);
    if (blocked) {
      const Tensor begin = begins(keys);
      stored = at::index_select(keys, 0, numbers_of(begin));
      const auto inside = [&](const Tensor& of, int64_t size) { return rest_of(at::index_select(of, 0, order), size); };
      const Tensor to = at::add(at::mul(at::add(at::mul(groups_of(begin), block[0]), inside(row, block[0])), block[1]),
                                inside(column, block[1]));
      DimVector sizes(values.sizes().begin(), values.sizes().end());
      sizes[0] = stored.numel() * block[0] * block[1];
      Tensor blocks = at::zeros(sizes, values.options());
      values = at::index_copy_(blocks, 0, to, values);
    }
    line = divided(stored, width);
    place = rest_of(stored, width);
  }
  const int64_t per_matrix = batch == 0 ? 0 : place.numel() / batch;
  // The last line of a matrix ends where the first one of the next begins.
  const Tensor wanted = at::add(at::unsqueeze(at::mul(count_up(batch, line), count), 1), count_up(count + 1, line));
  const Tensor pointers = at::sub(at::searchsorted(at::contiguous(line), at::contiguous(wanted)),
                                  at::unsqueeze(at::mul(count_up(batch, line), per_matrix), 1));
  if (batch > 1) {
    const Tensor ends = at::select(pointers, 1, count);
    TORCH_CHECK(at::item(at::all(at::eq(ends, per_matrix))).toBool(),
                "Expect the same number of specified elements per batch.");
  }
  return {pointers, at::contiguous(place), values};
}

Rows rows_of(const char* op, const Tensor& t, bool transposed) {
  const auto whole = [](const Tensor& indices) { return at::contiguous(at::to(indices, ScalarType::Long)); };
  if (t.layout() == (transposed ? Layout::SparseCsc : Layout::SparseCsr) && t.dim() == 2) {
    const SparseCsrTensorImpl& impl = compressed_impl_of(op, t);
    return {t.size(transposed ? 1 : 0), t.size(transposed ? 0 : 1), whole(impl.compressed()), whole(impl.plain()),
            at::contiguous(impl.values())};
  }
  const Tensor elements = in_coordinates(t);
  const SparseTensorImpl& impl = impl_of(op, elements);
  const int64_t dims = impl.sparse_dim();
  TORCH_CHECK(impl.dense_dim() == 0 && dims >= 2, op, ": expected a sparse matrix of two sparse dimensions, got ", dims,
              " and ", impl.dense_dim(), " dense ones");
  const int64_t batch = dims - 2, row = transposed ? batch + 1 : batch, column = transposed ? batch : batch + 1;
  const int64_t matrices = product(t.sizes().slice(0, static_cast<size_t>(batch)));
  const Tensor matrix =
      flat_places(at::slice(impl.indices(), 0, 0, batch), t.sizes().slice(0, static_cast<size_t>(batch)));
  // The number of a line among those of all matrices, and of a place.
  const auto numbers = [&](int64_t dim) {
    const Tensor own = at::select(impl.indices(), 0, dim);
    return batch == 0 ? at::contiguous(own) : at::add(at::mul(matrix, t.size(dim)), own);
  };
  const Tensor place = numbers(column);
  if (impl.coalesced() && !transposed) {
    const Tensor line = numbers(row);
    return {matrices * t.size(row), matrices * t.size(column), pointers_of(line, matrices * t.size(row)), place,
            at::contiguous(impl.values())};
  }
  const auto [line, order] = sorted(numbers(row));
  return {matrices * t.size(row), matrices * t.size(column), pointers_of(line, matrices * t.size(row)),
          at::index_select(place, 0, order), at::index_select(impl.values(), 0, order)};
}

Tensor times_dense(const char* op, const Rows& a, const Tensor& dense) {
  TORCH_CHECK(dense.device() == a.values.device(), op, ": expected tensors of one device, but got ", a.values.device(),
              " and ", dense.device());
  TORCH_CHECK_NOT_IMPLEMENTED(dense.scalar_type() != ScalarType::Bool, "\"", op, "\" not implemented for 'Bool'");
  TORCH_INTERNAL_ASSERT(dense.size(0) == a.columns && dense.scalar_type() == a.values.scalar_type());
  Tensor result = empty_contiguous({a.rows, dense.size(1)}, dense.scalar_type(), dense.device());
  if (result.numel() == 0) return result;
  const Tensor right = at::contiguous(dense);
  const c10::cuda::CUDAGuard guard(dense.device());
  cuda::SparseRowsCall call{};
  call.name = op;
  call.dtype = result.scalar_type();
  call.rows = result.size(0), call.columns = result.size(1);
  call.pointers = a.begin(), call.places = a.place();
  call.values = static_cast<const char*>(a.values.const_data_ptr());
  call.dense = static_cast<const char*>(right.const_data_ptr());
  call.out = static_cast<char*>(result.mutable_data_ptr());
  cuda::launch_sparse_rows(call);
  return result;
}

Rows times_sparse(const Tensor& left, const Tensor& right, bool in_order) {
  const Rows b = rows_of("mm", right, false);
  const Tensor a = sparse::coalesced(left);
  const SparseTensorImpl& x = impl_of("mm", a);
  // Each element of the left meets those of one row of the right.
  const Tensor row = at::select(x.indices(), 0, 0), met = at::select(x.indices(), 0, 1);
  const Tensor begin = at::index_select(b.pointers, 0, met),
               lengths = at::sub(at::index_select(b.pointers, 0, at::add(met, 1)), begin);
  const auto [other, own] = expanded(begin, lengths);
  const Tensor values = at::mul(at::index_select(x.values(), 0, own), at::index_select(b.values, 0, other));
  const std::vector<Tensor> indices{at::index_select(row, 0, own), at::index_select(b.places, 0, other)};
  const DimVector sizes{left.size(0), right.size(1)};
  const auto [places, order] = sorted(flat_places(at::stack(indices), sizes));
  const Tensor begin_group = begins(places);
  Tensor first = at::index_select(order, 0, numbers_of(begin_group));
  Tensor sums = summed(at::index_select(values, 0, order), groups_of(begin_group), first.numel());
  if (!in_order) {
    const auto [as_they_come, which] = sorted(first);
    first = as_they_come;
    sums = at::index_select(sums, 0, which);
  }
  return {sizes[0], sizes[1], pointers_of(at::index_select(indices[0], 0, first), sizes[0]),
          at::index_select(indices[1], 0, first), sums};
}

Tensor sampled_products(const char* op, const Rows& a, const Tensor& left, const Tensor& right) {
  TORCH_CHECK(left.device() == a.places.device() && right.device() == left.device(), op,
              ": expected tensors of one device, but got ", a.places.device(), ", ", left.device(), " and ",
              right.device());
  Tensor result = empty_contiguous({a.nnz()}, left.scalar_type(), left.device());
  if (result.numel() == 0) return result;
  const Tensor lines = at::contiguous(at::select(lines_of_elements(at::unsqueeze(a.pointers, 0), a.nnz()), 0, 0)),
               x = at::contiguous(left), y = at::contiguous(right);
  const c10::cuda::CUDAGuard guard(left.device());
  cuda::SampledRowsCall call{};
  call.name = op;
  call.dtype = result.scalar_type();
  call.elements = a.nnz(), call.inner = x.size(1);
  call.lines = lines.const_data_ptr<int64_t>(), call.places = a.place();
  call.left = static_cast<const char*>(x.const_data_ptr()), call.right = static_cast<const char*>(y.const_data_ptr());
  call.out = static_cast<char*>(result.mutable_data_ptr());
  cuda::launch_sampled_rows(call);
  return result;
}

void solve_triangular(const char* op, const Rows& a, const Tensor& x, bool upper, bool unit) {
  TORCH_CHECK(x.device() == a.values.device(), op, ": expected tensors of one device, but got ", a.values.device(),
              " and ", x.device());
  if (x.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(x.device());
  cuda::SparseRowsCall call{};
  call.name = op;
  call.dtype = x.scalar_type();
  call.rows = x.size(0), call.columns = x.size(1);
  call.pointers = a.begin(), call.places = a.place();
  call.values = static_cast<const char*>(a.values.const_data_ptr());
  call.out = static_cast<char*>(x.mutable_data_ptr());
  cuda::launch_triangular_rows(call, upper, unit);
}

std::pair<Rows, Tensor> stored_rows(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("stored_rows", t);
  const Tensor row = at::select(impl.indices(), 0, 0), first = numbers_of(begins(row));
  const Tensor end = at::full({1}, impl.nnz(), first.options());
  return {Rows{first.numel(), t.size(1), at::cat({first, end}), at::contiguous(at::select(impl.indices(), 0, 1)),
               at::contiguous(impl.values())},
          at::index_select(row, 0, first)};
}

namespace {
// The group of each element among those that have all indices but one in common.
std::pair<Tensor, int64_t> pools(const Tensor& t, int64_t dim) {
  const SparseTensorImpl& impl = impl_of("softmax", t);
  DimVector sizes;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (d == dim) continue;
    sizes.push_back(t.size(d));
    rows.push_back(at::select(impl.indices(), 0, d));
  }
  if (rows.empty()) return {at::zeros({impl.nnz()}, impl.indices().options()), impl.nnz() == 0 ? 0 : 1};
  return grouped(flat_places(at::stack(rows), sizes));
}
}  // namespace

Tensor softmax(const Tensor& t, int64_t dim, const Tensor& values, bool log) {
  if (values.numel() == 0) return values;
  const auto [pool, count] = pools(t, dim);
  const Tensor x = by_rows_of(values);
  Tensor most = at::full({count, x.size(1)}, -std::numeric_limits<double>::infinity(), x.options());
  at::index_reduce_(most, 0, pool, x, "amax");
  const Tensor lowered = at::sub(x, at::index_select(most, 0, pool)), powers = at::exp(lowered);
  const Tensor sums = at::index_select(summed(powers, pool, count), 0, pool);
  return at::reshape(log ? at::sub(lowered, at::log(sums)) : at::div(powers, sums), values.sizes());
}

Tensor softmax_backward(const Tensor& t, int64_t dim, const Tensor& grad, const Tensor& values, bool log) {
  if (values.numel() == 0) return grad;
  const auto [pool, count] = pools(t, dim);
  const Tensor g = by_rows_of(grad), y = by_rows_of(values);
  const Tensor sums = at::index_select(summed(log ? g : at::mul(g, y), pool, count), 0, pool);
  return at::reshape(log ? at::sub(g, at::mul(at::exp(y), sums)) : at::mul(y, at::sub(g, sums)), values.sizes());
}

Tensor reduce_csr(const Tensor& t, bool rows_become_one, bool columns_become_one, const Tensor& values,
                  bool multiplies) {
  const Tensor elements = sparse::coordinates(t);
  const SparseTensorImpl& impl = impl_of("reduce_csr", elements);
  const Tensor row = at::select(impl.indices(), 0, 0), column = at::select(impl.indices(), 0, 1);
  const std::vector<Tensor> indices{rows_become_one ? at::zeros_like(row) : row,
                                    columns_become_one ? at::zeros_like(column) : column};
  const DimVector sizes{rows_become_one ? 1 : t.size(0), columns_become_one ? 1 : t.size(1)};
  const Tensor places = flat_places(at::stack(indices), sizes);
  const auto [in_order, order] = sorted(places);
  const Tensor begin = begins(in_order), first = numbers_of(begin);
  const Tensor source = at::index_select(values, 0, order), group = groups_of(begin);
  Tensor reduced;
  if (multiplies) {
    reduced = at::ones({first.numel()}, source.options());
    at::index_reduce_(reduced, 0, group, source, "prod");
  } else {
    reduced = summed(source, group, first.numel());
  }
  const Tensor kept = at::index_select(at::stack(indices), 1, at::index_select(order, 0, first));
  return sparse::compress("reduce_csr", make_sparse(sizes, kept, reduced, true), Layout::SparseCsr);
}

namespace {

Tensor elements_by_row(const Rows& a) {
  return at::contiguous(at::select(lines_of_elements(at::unsqueeze(a.pointers, 0), a.nnz()), 0, 0));
}
// 1 / the number of elements of each row that has any.
Tensor shares_of(const Rows& a, ScalarType type) {
  const Tensor counts = at::sub(at::slice(a.pointers, 0, 1), at::slice(a.pointers, 0, 0, a.rows));
  return at::unsqueeze(at::reciprocal(at::to(at::clamp_min(counts, 1), type)), 1);
}
ScalarType wide_of(ScalarType type) {
  return type == ScalarType::Double ? type : ScalarType::Float;
}

}  // namespace

std::pair<Tensor, Tensor> reduce_rows(const char* op, const Rows& a, const Tensor& dense, RowReduction kind) {
  const ScalarType type = dense.scalar_type(), wide = wide_of(type);
  const Tensor right = at::to(dense, wide);
  const Rows wider{a.rows, a.columns, a.pointers, a.places, at::to(a.values, wide)};
  const TensorOptions longs = TensorOptions(dense.device()).dtype(ScalarType::Long);
  if (kind == RowReduction::kSum || kind == RowReduction::kMean) {
    Tensor sums = device::times_dense(op, wider, right);
    if (kind == RowReduction::kMean) sums = at::mul(sums, shares_of(a, wide));
    return {at::to(sums, type), at::empty({0}, longs)};
  }
  const bool most = kind == RowReduction::kMost;
  const Tensor row = elements_by_row(a);
  const Tensor products = at::mul(at::unsqueeze(wider.values, 1), at::index_select(right, 0, a.places));
  Tensor result = at::zeros({a.rows, dense.size(1)}, right.options());
  at::index_reduce_(result, 0, row, products, most ? "amax" : "amin", /*include_self=*/false);
  // The first element that is as great, or little.
  const Tensor is_it = at::logical_or(at::eq(products, at::index_select(result, 0, row)), at::isnan(products));
  const Tensor numbers = at::where(is_it, at::unsqueeze(count_up(a.nnz(), row), 1), at::full({}, a.nnz(), longs));
  Tensor argument = at::full(result.sizes(), a.nnz(), longs);
  at::index_reduce_(argument, 0, row, numbers, "amin");
  return {at::to(result, type), at::where(at::lt(argument, a.nnz()), argument, at::full({}, -1, longs))};
}

std::pair<Tensor, Tensor> reduce_rows_backward(const char*, const Rows& a, const Tensor& dense, const Tensor& grad,
                                               RowReduction kind, const Tensor& argument) {
  const ScalarType type = dense.scalar_type(), wide = wide_of(type);
  const Tensor right = at::to(dense, wide), values = at::to(a.values, wide);
  Tensor cotangents = at::to(grad, wide), of_values, of_dense = at::zeros(dense.sizes(), right.options());
  if (kind == RowReduction::kSum || kind == RowReduction::kMean) {
    if (kind == RowReduction::kMean) cotangents = at::mul(cotangents, shares_of(a, wide));
    const Tensor of_row = at::index_select(cotangents, 0, elements_by_row(a));
    of_values = at::sum(at::mul(of_row, at::index_select(right, 0, a.places)), IntArrayRef{1});
    at::index_add_(of_dense, 0, a.places, at::mul(of_row, at::unsqueeze(values, 1)));
  } else {
    // Of each element of the result the one element of a that it came from.
    const Tensor which = at::reshape(argument, {-1}), some = numbers_of(at::ge(which, 0));
    const Tensor element = at::index_select(which, 0, some),
                 column = rest_of(some, std::max<int64_t>(dense.size(1), 1));
    const Tensor place = at::add(at::mul(at::index_select(a.places, 0, element), dense.size(1)), column);
    const Tensor g = at::index_select(at::reshape(cotangents, {-1}), 0, some);
    of_values = at::zeros({a.nnz()}, right.options());
    at::index_add_(of_values, 0, element, at::mul(g, at::index_select(at::reshape(right, {-1}), 0, place)));
    Tensor flat = at::reshape(of_dense, {-1});
    at::index_add_(flat, 0, place, at::mul(g, at::index_select(values, 0, element)));
    of_dense = at::reshape(flat, dense.sizes());
  }
  return {at::to(of_values, type), at::to(of_dense, type)};
}

Tensor times_named(const Tensor& places, const Tensor& named) {
  const Tensor in_order = sorted(named).first, wanted = at::contiguous(places);
  return at::sub(at::searchsorted(in_order, wanted, /*out_int32=*/false, /*right=*/true),
                 at::searchsorted(in_order, wanted));
}

Found find(const Tensor& places, const Tensor& wanted) {
  const int64_t n = places.numel();
  if (n == 0) {
    return {at::zeros_like(wanted), at::zeros(wanted.sizes(), wanted.options().dtype(ScalarType::Bool))};
  }
  const Tensor behind = at::searchsorted(at::contiguous(places), at::contiguous(wanted));
  const Tensor numbers = at::where(at::lt(behind, n), behind, at::zeros_like(behind));
  return {numbers, at::eq(at::index_select(places, 0, numbers), wanted)};
}

Tensor values_at(const Tensor& t, const Tensor& places) {
  const Tensor& values = values_of(t);
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = places.numel();
  if (values.size(0) == 0) return at::zeros(sizes, values.options());
  const Found found = find(places_of(t), places);
  DimVector ones(sizes.size(), 1);
  ones[0] = sizes[0];
  const Tensor chosen = at::index_select(values, 0, found.numbers);
  return at::where(at::reshape(found.found, ones), chosen, at::zeros({}, values.options()));
}

std::pair<Tensor, Tensor> common(const Tensor& a, const Tensor& b) {
  const Found in_b = find(b, a);
  const Tensor of_a = numbers_of(in_b.found);
  return {of_a, at::index_select(in_b.numbers, 0, of_a)};
}

std::pair<Tensor, Tensor> in_slice(const Tensor& row, int64_t from, int64_t to, int64_t step) {
  const Tensor distance = at::sub(row, from);
  Tensor inside = at::logical_and(at::ge(distance, 0), at::lt(row, to));
  if (step > 1) inside = at::logical_and(inside, at::eq(rest_of(distance, step), 0));
  const Tensor which = numbers_of(inside);
  return {which, divided(at::index_select(distance, 0, which), step)};
}

std::pair<Tensor, Tensor> selected(const Tensor& row, const Tensor& wanted, int64_t size) {
  const Tensor own = at::where(at::lt(wanted, 0), at::add(wanted, size), wanted);
  const auto [indices, order] = sorted(row);
  const Tensor begin = at::searchsorted(indices, own),
               lengths = at::sub(at::searchsorted(indices, own, /*out_int32=*/false, /*right=*/true), begin);
  const auto [which, number] = expanded(begin, lengths);
  return {at::index_select(order, 0, which), number};
}

void shift(const Tensor& indices, int64_t dim, int64_t first, int64_t count, int64_t by) {
  Tensor part = at::narrow(at::select(indices, 0, dim), 0, first, count);
  at::add_(part, by);
}

}  // namespace at::sparse::device
