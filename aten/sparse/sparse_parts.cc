#include "aten/sparse/sparse_parts.h"

#include <algorithm>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/csr_loops.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
#include "c10/parallel/parallel.h"

namespace at::sparse {
namespace {

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

// Of each group of numbers the sum of their rows of `values`, in order; the type adds as the others do.
template <class T>
Tensor group_sums(const Tensor& values, const Order& order) {
  const Tensor from = native::dense(values);
  const int64_t groups = order.groups(), width = values.numel() / values.size(0);
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = groups;
  Tensor result = empty_contiguous(sizes, values.scalar_type());
  const T* rows = static_cast<const T*>(from.const_data_ptr());
  T* out = static_cast<T*>(result.mutable_data_ptr());
  at::parallel_for(0, groups, 1 + internal::GRAIN_SIZE / (width + 1), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      T* sum = out + g * width;
      std::copy_n(rows + order.numbers[order.starts[g]] * width, width, sum);
      for (int64_t i = order.starts[g] + 1; i < order.starts[g + 1]; ++i) {
        const T* row = rows + order.numbers[i] * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += row[j];
      }
    }
  });
  return result;
}

}  // namespace

void check_has_kernel(bool condition, const char* op, const Tensor& t) {
  TORCH_CHECK_NOT_IMPLEMENTED(condition, "Could not run '", op, "' with arguments from the '",
                              is_compressed(t) ? "SparseCsr" : "Sparse", t.is_cpu() ? "CPU" : "CUDA",
                              "' backend: there is no kernel for layout ", t.layout());
}

Tensor long_tensor(const std::vector<int64_t>& numbers, Device device) {
  Tensor result = empty_contiguous({static_cast<int64_t>(numbers.size())}, ScalarType::Long);
  std::copy(numbers.begin(), numbers.end(), static_cast<int64_t*>(result.data_ptr()));
  return device.is_cpu() ? result : at::to(result, device, ScalarType::Long);
}

Tensor coalesced(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("coalesce", t);
  if (impl.coalesced()) return t;
  const int64_t rows = impl.sparse_dim(), nnz = impl.nnz();
  if (nnz < 2) return make_sparse(t.sizes(), impl.indices(), impl.values(), true);
  if (!t.is_cpu()) return device::coalesced(t);
  const Order order = order_of(impl.indices());
  const int64_t count = order.groups();
  if (order.as_they_stand && count == nnz) {
    return make_sparse(t.sizes(), at::clone(impl.indices(), MemoryFormat::Contiguous), at::clone(impl.values()), true);
  }
  const Tensor from = native::dense(impl.indices());
  Tensor indices = empty_contiguous({rows, count}, ScalarType::Long);
  const int64_t* source = from.const_data_ptr<int64_t>();
  int64_t* out = indices.mutable_data_ptr<int64_t>();
  for (int64_t d = 0; d < rows; ++d) {
    for (int64_t g = 0; g < count; ++g) out[d * count + g] = source[d * nnz + order.numbers[order.starts[g]]];
  }
  const ScalarType type = impl.values().scalar_type();
  if (count < nnz && type == ScalarType::Float) {
    return make_sparse(t.sizes(), indices, group_sums<float>(impl.values(), order), true);
  }
  if (count < nnz && type == ScalarType::Double) {
    return make_sparse(t.sizes(), indices, group_sums<double>(impl.values(), order), true);
  }
  const Tensor sorted = at::index_select(impl.values(), 0, long_tensor(order.numbers));
  if (count == nnz) return make_sparse(t.sizes(), indices, sorted, true);
  std::vector<int64_t> groups(order.numbers.size());
  for (int64_t g = 0; g < count; ++g) {
    std::fill(groups.begin() + order.starts[g], groups.begin() + order.starts[g + 1], g);
  }
  return make_sparse(t.sizes(), indices, summed(sorted, long_tensor(groups), count), true);
}

void check_coordinates(const Tensor& indices, const Tensor& values, IntArrayRef size, bool coalesced) {
  TORCH_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  TORCH_CHECK(indices.scalar_type() == ScalarType::Long, "indices must be an int64 tensor");
  TORCH_CHECK(indices.layout() == Layout::Strided && values.layout() == Layout::Strided,
              "expected indices and values to be dense tensors, but got ", indices.layout(), " and ", values.layout());
  TORCH_CHECK(values.dim() > 0, "values must have a dimension of the size of nnz, but got a tensor without dimensions");
  const int64_t sparse_dim = indices.size(0), dense_dim = values.dim() - 1;
  TORCH_CHECK(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim,
              "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.size(),
              ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  DimVector expected{indices.size(1)};
  for (int64_t d = sparse_dim; d < sparse_dim + dense_dim; ++d) expected.push_back(size[d]);
  TORCH_CHECK(values.sizes() == IntArrayRef(expected), "values has incorrect size, expected ", IntArrayRef(expected),
              ", got ", values.sizes());
  const Tensor rows = native::dense(at::to(indices, Device(DeviceType::CPU), ScalarType::Long));
  const int64_t* data = rows.const_data_ptr<int64_t>();
  const int64_t nnz = indices.size(1);
  for (int64_t d = 0; d < sparse_dim && nnz > 0; ++d) {
    const auto [least, most] = std::minmax_element(data + d * nnz, data + (d + 1) * nnz);
    TORCH_CHECK(*least >= 0, "found negative index ", *least, " for dim ", d);
    TORCH_CHECK(*most < size[d], "size is inconsistent with indices: for dim ", d, ", size is ", size[d],
                " but found index ", *most);
  }
  if (!coalesced) return;
  for (int64_t i = 1; i < nnz; ++i) {
    int64_t d = 0;
    while (d < sparse_dim && data[d * nnz + i - 1] == data[d * nnz + i]) ++d;
    TORCH_CHECK(d < sparse_dim && data[d * nnz + i - 1] < data[d * nnz + i],
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
  }
}

void check_places(const Tensor& indices, IntArrayRef sizes) {
  if (!indices.is_cpu()) return;
  const Tensor rows = native::dense(indices);
  const int64_t dims = indices.size(0), nnz = indices.size(1);
  TORCH_INTERNAL_ASSERT(static_cast<int64_t>(sizes.size()) >= dims);
  const int64_t* row = rows.const_data_ptr<int64_t>();
  for (int64_t d = 0; d < dims; ++d, row += nnz) {
    const int64_t size = sizes[d];
    if (are_in_range(row, nnz, size)) continue;
    const int64_t bad = *std::find_if(row, row + nnz, [&](int64_t i) { return i < 0 || i >= size; });
    TORCH_CHECK_INDEX(false, "index ", bad, " is out of bounds for dimension ", d, " with size ", size);
  }
}

Tensor flat_places(const Tensor& indices, IntArrayRef sizes) {
  if (!indices.is_cpu()) return device::flat_places(indices, sizes);
  check_places(indices, sizes);
  const Tensor rows = native::dense(indices);
  const int64_t dims = indices.size(0), nnz = indices.size(1);
  if (dims == 0) return at::zeros({nnz}, indices.options());
  Tensor result = empty_contiguous({nnz}, ScalarType::Long);
  int64_t* places = result.mutable_data_ptr<int64_t>();
  const int64_t* data = rows.const_data_ptr<int64_t>();
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t *row = data + d * nnz, size = sizes[d];
    if (d == 0) {
      std::copy_n(row, nnz, places);
    } else {
      for (int64_t i = 0; i < nnz; ++i) places[i] = places[i] * size + row[i];
    }
  }
  return result;
}

const Tensor& values_of(const Tensor& t) {
  if (is_compressed(t)) return compressed_impl_of("values", t).values();
  return impl_of("values", t).values();
}

Tensor with_values(const Tensor& t, const Tensor& values) {
  if (is_compressed(t)) {
    const SparseCsrTensorImpl& impl = compressed_impl_of("with_values", t);
    return make_compressed(t.layout(), t.sizes(), impl.compressed(), impl.plain(), values);
  }
  const SparseTensorImpl& impl = impl_of("with_values", t);
  return make_sparse(t.sizes(), impl.indices(), values, impl.coalesced());
}

void check_places_of(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("places_of", t);
  check_places(impl.indices(), sparse_sizes(t, impl));
}

Tensor places_of(const Tensor& t) {
  const SparseTensorImpl& impl = impl_of("places_of", t);
  return flat_places(impl.indices(), sparse_sizes(t, impl));
}

std::vector<int64_t> find_places(const Tensor& t, const Tensor& places) {
  const Tensor own = places_of(t);
  const int64_t *begin = own.const_data_ptr<int64_t>(), *end = begin + own.numel();
  const int64_t* wanted = places.const_data_ptr<int64_t>();
  std::vector<int64_t> found(static_cast<size_t>(places.numel()));
  // From where the last one was: places mostly go up, too.
  const int64_t* at = begin;
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t place = wanted[i];
    if (at != begin && at[-1] >= place) at = begin;
    int64_t step = 1;
    while (step < end - at && at[step] < place) {
      at += step;
      step *= 2;
    }
    at = std::lower_bound(at, at + std::min(step + 1, end - at), place);
    found[i] = at != end && *at == place ? at - begin : -1;
  }
  return found;
}

Tensor spread(const Tensor& values, const std::vector<int64_t>& rows) {
  std::vector<int64_t> from, to;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    from.push_back(rows[i]);
    to.push_back(static_cast<int64_t>(i));
  }
  if (from.size() == rows.size()) return at::index_select(values, 0, long_tensor(from));
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = static_cast<int64_t>(rows.size());
  Tensor result = at::zeros(sizes, values.options());
  at::index_copy_(result, 0, long_tensor(to), at::index_select(values, 0, long_tensor(from)));
  return result;
}

Tensor values_at(const Tensor& t, const Tensor& places) {
  return t.is_cpu() ? spread(values_of(t), find_places(t, places)) : device::values_at(t, places);
}

Tensor in_coordinates(const Tensor& t) {
  return is_compressed(t) ? coordinates(t) : t;
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

// Of one matrix by rows; false for others.
template <class T>
bool add_rows(const Tensor& into, const Tensor& t) {
  if (t.layout() != Layout::SparseCsr || t.dim() != 2) return false;
  const Lines lines = lines_of(t);
  const Tensor values = native::dense(values_of(t), into.scalar_type());
  const T* value = values.const_data_ptr<T>();
  const int64_t *begin = lines.pointers(0), *place = lines.places(0), columns = t.size(1);
  T* out = into.mutable_data_ptr<T>();
  at::parallel_for(0, lines.count, 1 + internal::GRAIN_SIZE / (1 + lines.nnz / (lines.count + 1)),
                   [&](int64_t first, int64_t end) {
                     for (int64_t i = first; i < end; ++i) {
                       for (int64_t k = begin[i]; k < begin[i + 1]; ++k) out[i * columns + place[k]] += value[k];
                     }
                   });
  return true;
}

template <class T>
void add_at(const Tensor& into, const Tensor& places, const Tensor& values) {
  const Tensor from = native::dense(values);
  const int64_t n = places.numel();
  const int64_t* place = places.const_data_ptr<int64_t>();
  const T* value = from.const_data_ptr<T>();
  T* out = into.mutable_data_ptr<T>();
  for (int64_t i = 0; i < n; ++i) out[place[i]] += value[i];
}
}  // namespace

Tensor gather_flat(const Tensor& self, const Tensor& places, int64_t sparse_dim) {
  // A dimension that repeats one element is read as that element, not laid out.
  const auto repeats = [&](int64_t d) { return self.stride(d) == 0 && self.size(d) > 1; };
  Tensor part = self;
  for (int64_t d = 0; d < sparse_dim; ++d) {
    if (repeats(d)) part = at::narrow(part, d, 0, 1);
  }
  if (part.is_same(self) || !self.is_cpu()) return at::index_select(flattened(self, sparse_dim), 0, places);
  const Tensor own = empty_contiguous(places.sizes(), ScalarType::Long);
  const int64_t* from = places.const_data_ptr<int64_t>();
  int64_t* to = own.mutable_data_ptr<int64_t>();
  for (int64_t k = 0; k < places.numel(); ++k) {
    int64_t place = from[k], step = 1;
    to[k] = 0;
    for (int64_t d = sparse_dim - 1; d >= 0; --d) {
      to[k] += repeats(d) ? 0 : place % self.size(d) * step;
      place /= self.size(d);
      step *= part.size(d);
    }
  }
  return at::index_select(flattened(part, sparse_dim), 0, own);
}

Tensor gather_places(const Tensor& self, const Tensor& indices, int64_t sparse_dim) {
  return gather_flat(self, flat_places(indices, self.sizes()), sparse_dim);
}

Tensor gather_expanded(const Tensor& self, IntArrayRef sizes, const Tensor& indices) {
  const int64_t sparse_dim = indices.size(0), rank = static_cast<int64_t>(sizes.size()), lead = rank - self.dim();
  check_places(indices, sizes);
  // Of the sparse dimensions those that self has, at the index of the element or the only one there is.
  DimVector own;
  std::vector<Tensor> rows;
  for (int64_t d = lead; d < sparse_dim; ++d) {
    own.push_back(self.size(d - lead));
    const Tensor row = at::select(indices, 0, d);
    rows.push_back(own.back() == sizes[d] ? row : at::zeros_like(row));
  }
  DimVector shape{indices.size(1)};
  shape.append(sizes.begin() + sparse_dim, sizes.end());
  if (rows.empty()) return at::expand(self, shape);
  const Tensor found = gather_places(self, at::stack(rows), static_cast<int64_t>(own.size()));
  return at::expand(found, shape);
}

void add_elements(const Tensor& into, const Tensor& t, const Scalar& alpha) {
  const ScalarType type = into.scalar_type();
  // What is read is not written meanwhile.
  if (values_of(t).is_alias_of(into)) return add_elements(into, with_values(t, at::clone(values_of(t))), alpha);
  if (is_compressed(t) && (type == ScalarType::Bool || compressed_impl_of("add", t).dense_dim() != 0)) {
    return add_elements(into, coordinates(t), alpha);
  }
  if (type == ScalarType::Bool) {
    // A sum of bools is their or.
    const Tensor once = coalesced(t);
    const SparseTensorImpl& parts = impl_of("add", once);
    Tensor flat = flattened(into, parts.sparse_dim());
    const Tensor at_places = flat_places(parts.indices(), t.sizes());
    const Tensor sum = at::add(at::index_select(flat, 0, at_places), parts.values(), alpha);
    at::index_copy_(flat, 0, at_places, sum);
    return;
  }
  if (into.is_cpu() && alpha.equal(1) && native::is_aligned(into)) {
    if (type == ScalarType::Float && add_rows<float>(into, t)) return mark_written(into);
    if (type == ScalarType::Double && add_rows<double>(into, t)) return mark_written(into);
  }
  const Tensor places = is_compressed(t) ? element_places(t) : places_of(t);
  const Tensor values = at::to(is_compressed(t) ? element_values(t) : impl_of("add", t).values(), type);
  if (into.is_cpu() && values.dim() == 1 && alpha.equal(1) && native::is_aligned(into) &&
      (type == ScalarType::Float || type == ScalarType::Double)) {
    type == ScalarType::Float ? add_at<float>(into, places, values) : add_at<double>(into, places, values);
    mark_written(into);
    return;
  }
  Tensor flat = flattened(into, into.dim() - (values.dim() - 1));
  at::index_add_(flat, 0, places, values, alpha);
}

void assign(Tensor& self, const Tensor& result) {
  TORCH_CHECK(canCast(result.scalar_type(), self.scalar_type()), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", self.scalar_type());
  TORCH_CHECK(self.layout() == result.layout(), "expected a tensor of the layout ", result.layout(), ", but got ",
              self.layout());
  const Tensor values = at::to(plain(values_of(result)), self.scalar_type());
  if (is_compressed(self)) {
    const SparseCsrTensorImpl& from = compressed_impl_of("copy_", result);
    compressed_impl_of("copy_", self)
        .set_elements(result.sizes(), plain(from.compressed()), plain(from.plain()), values);
  } else {
    const SparseTensorImpl& from = impl_of("copy_", result);
    impl_of("copy_", self).set_elements(result.sizes(), plain(from.indices()), values, from.coalesced());
  }
  mark_written(self);
}

Tensor& write_out(const char* op, Tensor& out, const Tensor& result) {
  TORCH_CHECK(out.layout() == result.layout(), op, ": expected an output of layout ", result.layout(), ", but got ",
              out.layout());
  if (out.layout() != Layout::Strided) {
    assign(out, result);
    return out;
  }
  TORCH_CHECK(canCast(result.scalar_type(), out.scalar_type()), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", out.scalar_type());
  resize_output(out, result.sizes());
  return at::copy_(out, result);
}

}  // namespace at::sparse
