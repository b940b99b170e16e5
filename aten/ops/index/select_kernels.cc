// index_select, index_add, index_copy, index_fill, index_reduce, take, put.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/index/index.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

int64_t size_at(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[d]; }

bool is_integer_index(const Tensor& index) {
  return index.scalar_type() == ScalarType::Long || index.scalar_type() == ScalarType::Int;
}

void check_vector(const char* op, const Tensor& index) {
  const bool copies = std::string_view(op) == "index_copy_";
  TORCH_CHECK_INDEX(!copies || index.dim() <= 1, op, "(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  TORCH_CHECK_INDEX(index.dim() <= 1, op, "(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", toString(index.scalar_type()), " and size: ", index.sizes());
  TORCH_CHECK(!copies || is_integer_index(index), op, "(): Expected a long tensor for index, but got ",
              toString(index.scalar_type()));
  TORCH_CHECK(is_integer_index(index), op,
              "(): Expected dtype int32/int64 for index but got: ", toString(index.scalar_type()));
}

// The slices that `index` names along dim of dense tensors of the sizes of `place`.
struct Slices {
  Tensor index;
  std::vector<int64_t> offsets;
  cpu::SliceGeometry geometry;
};
Slices make_slices(const Tensor& place, int64_t dim, const Tensor& index) {
  Slices s{dense(index, ScalarType::Long), {}, {}};
  const DimSplit split = split_at_dim(place.sizes(), dim);
  const auto* p = static_cast<const int64_t*>(s.index.const_data_ptr());
  s.offsets.resize(static_cast<size_t>(index.numel()));
  for (size_t i = 0; i < s.offsets.size(); ++i) s.offsets[i] = p[i] * split.inner;
  s.geometry = {split.outer, split.size * split.inner, split.inner, s.offsets.data(), index.numel()};
  return s;
}

// The sizes without `dim`.
DimVector slice_shape(const Tensor& t, int64_t dim) {
  DimVector shape;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != dim) shape.push_back(t.sizes()[d]);
  }
  return shape;
}

// As PyTorch's errors show them.
std::string shape_text(const DimVector& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : " ") + std::to_string(size);
  return text;
}

// `source` has the sizes of self but along dim, where it has index's length; a 0-dim source counts as one element.
void check_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_vector(op, index);
  const bool adds = std::string_view(op) == "index_add_";
  TORCH_CHECK(!adds || self.scalar_type() == source.scalar_type(), op, "(): self (", toString(self.scalar_type()),
              ") and source (", toString(source.scalar_type()), ") must have the same scalar type");
  TORCH_CHECK(self.scalar_type() == source.scalar_type(), op,
              "(): self and source expected to have the same dtype, but got (self) ", toString(self.scalar_type()),
              " and (source) ", toString(source.scalar_type()));
  TORCH_CHECK_INDEX(
      source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0, op,
      "(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (",
      source.dim(), "), destination dimensionality (", self.dim(), ")");
  const int64_t slices = size_at(source, source.dim() == 0 ? 0 : dim);
  if (adds) {
    TORCH_CHECK(index.numel() == slices, op, "(): Number of indices (", index.numel(),
                ") should be equal to source.size(dim): (", slices, "), for dim: ", dim);
  }
  const DimVector own = slice_shape(self, dim), theirs = slice_shape(source, source.dim() == 0 ? 0 : dim);
  TORCH_CHECK(!adds || source.dim() != self.dim() || own == theirs,
              "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
              self.sizes(), " source.shape = ", source.sizes());
  const bool scalar = self.dim() == 0 || source.dim() == 0;
  const DimSplit split = split_at_dim(self.sizes(), dim);
  TORCH_CHECK(own == theirs || (scalar && source.numel() == index.numel() && split.outer * split.inner == 1), op,
              "(): Source/destination tensor must have same slice shapes. Destination slice shape: ",
              shape_text(own), " at dimension ", dim, " and source slice shape: ", shape_text(theirs),
              " at dimension 0.");
  TORCH_CHECK_INDEX(index.numel() == slices, op, "(): Number of indices (", index.numel(),
                    ") should be equal to source.size(dim) (", slices, ")");
  const std::optional<int64_t> outside = index_outside(
      index.scalar_type() == ScalarType::Long ? index : dense(index, ScalarType::Long), size_at(self, dim));
  if (!outside) return;
  TORCH_CHECK_INDEX(!adds || self.dim() > 1, "index out of range in self");
  const std::string text =
      str("index ", *outside, " is out of bounds for dimension ", dim, " with size ", size_at(self, dim));
  TORCH_CHECK(!adds, text);
  TORCH_CHECK_INDEX(false, op, "(): ", text);
}

TensorSpec sourced_spec(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_source(op, self, maybe_wrap_dim(dim, self.dim()), index, source);
  return spec_like(self);
}

// Runs f(dense memory of self's sizes, slices) on a tensor that is changed in place.
template <class F>
void on_slices(const Tensor& self, int64_t dim, const Tensor& index, const F& f) {
  DenseInPlace work(self);
  const Slices s = make_slices(work.tensor(), maybe_wrap_dim(dim, self.dim()), index);
  f(work.tensor().mutable_data_ptr(), s.geometry);
  work.commit();
}

void add_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  const Tensor from = dense(apart_from(self, source));
  const bool integer = !alpha.isFloatingPoint() && !alpha.isComplex();
  const auto value = alpha.toComplexDouble();
  on_slices(self, dim, apart_from(self, index), [&](void* data, const cpu::SliceGeometry& g) {
    cpu::add_slices(
        data, from.const_data_ptr(), g, self.scalar_type(), value.real(), value.imag(),
        integer ? alpha.toLong() : 0);  // check_alpha: only integers scale integers
  });
}

void copy_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor from = dense(apart_from(self, source));
  on_slices(self, dim, apart_from(self, index), [&](void* data, const cpu::SliceGeometry& g) {
    cpu::put_slices(data, from.const_data_ptr(), g, static_cast<int64_t>(self.itemsize()));
  });
}

void fill_into(const Tensor& self, int64_t dim, const Tensor& index, const ScalarBytes& value) {
  const auto item = static_cast<int64_t>(self.itemsize());
  on_slices(self, dim, apart_from(self, index), [&](void* data, const cpu::SliceGeometry& g) {
    cpu::fill_slices(data, value.bytes, g, item);
  });
}

void check_alpha(const Tensor& self, const Scalar& alpha) {
  TORCH_CHECK(isComplexType(self.scalar_type()) || !alpha.isComplex(),
              "For non-complex input tensors, argument alpha must not be a complex number.");
  TORCH_CHECK(
      !isIntegralType(self.scalar_type(), true) || (!alpha.isFloatingPoint() && !alpha.isComplex()),
      "For integral input tensors, argument alpha must not be a floating point number.");
}

TensorSpec fill_spec(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(is_integer_index(index), "index_fill_(): Expected dtype int64 for index.");
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  // Negative indices count from the end here.
  check_index_range(dense(index, ScalarType::Long), dim, size_at(self, dim), true);
  return spec_like(self);
}

Tensor wrapped_index(const Tensor& self, int64_t dim, const Tensor& index) {
  const Tensor wrapped = at::clone(dense(index, ScalarType::Long), MemoryFormat::Contiguous);
  const int64_t size = size_at(self, maybe_wrap_dim(dim, self.dim()));
  auto* p = static_cast<int64_t*>(wrapped.mutable_data_ptr());
  for (int64_t i = 0; i < wrapped.numel(); ++i) p[i] += p[i] < 0 ? size : 0;
  return wrapped;
}

Scalar fill_value(const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  return at::item(value);
}

}  // namespace

TensorSpec index_select_meta(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  TORCH_CHECK(is_integer_index(index), "index_select(): Expected dtype int32 or int64 for index");
  DimVector sizes = sizes_of(self);
  if (!sizes.empty()) {
    sizes[static_cast<size_t>(dim)] = index.numel();
  } else {
    TORCH_CHECK_INDEX(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
                      " value(s)");
  }
  return {std::move(sizes), {}, self.scalar_type(), self.device()};
}

void index_select_cpu(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  dim = maybe_wrap_dim(dim, self.dim());
  check_index_in_self(dense(index, ScalarType::Long), size_at(self, dim));
  if (out.numel() == 0) return;
  const Tensor x = dense(self);
  const Slices s = make_slices(x, dim, index);
  DenseOut y(out);
  cpu::take_slices(y.tensor().mutable_data_ptr(), x.const_data_ptr(), s.geometry, static_cast<int64_t>(x.itemsize()));
  y.commit();
}

TensorSpec index_add_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                          const Scalar& alpha) {
  check_alpha(self, alpha);
  return sourced_spec("index_add_", self, dim, index, source);
}
void index_add_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
                   Tensor& out) {
  at::copy_(out, self);
  add_into(out, dim, index, source, alpha);
}
Tensor& index_add_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  index_add_meta(self, dim, index, source, alpha);
  structured::check_no_internal_overlap(self);
  add_into(self, dim, index, source, alpha);
  return self;
}

TensorSpec index_copy_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return sourced_spec("index_copy_", self, dim, index, source);
}
void index_copy_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out) {
  at::copy_(out, self);
  copy_into(out, dim, index, source);
}
Tensor& index_copy_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  index_copy_meta(self, dim, index, source);
  structured::check_no_internal_overlap(self);
  copy_into(self, dim, index, source);
  return self;
}

TensorSpec index_fill_meta(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  return fill_spec(self, dim, index);
}
void index_fill_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  // All memory is there, and the value fits, before what the caller gave is written.
  const ScalarBytes bytes = scalar_bytes(value, out.scalar_type());
  const Tensor places = wrapped_index(self, dim, index);
  DenseOut result(out);
  at::copy_(result.tensor(), self);
  fill_into(result.tensor(), dim, places, bytes);
  result.commit();
}
Tensor& index_fill_inplace(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  fill_spec(self, dim, index);
  structured::check_no_internal_overlap(self);
  if (self.numel() == 0) return self;
  fill_into(self, dim, wrapped_index(self, dim, index), scalar_bytes(value, self.scalar_type()));
  return self;
}
TensorSpec index_fill_tensor_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  return fill_spec(self, dim, index);
}
void index_fill_tensor_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value, Tensor& out) {
  index_fill_cpu(self, dim, index, fill_value(value), out);
}
Tensor& index_fill_tensor_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  return index_fill_inplace(self, dim, index, fill_value(value));
}

// As a scatter_reduce with the index spread over the slices.
TensorSpec index_reduce_meta(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool) {
  TORCH_CHECK(
      reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
      "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  TORCH_CHECK_NOT_IMPLEMENTED(!isFloat8Type(self.scalar_type()), "\"index_func_\" not implemented for '",
                              self.scalar_type(), "'");
  return sourced_spec("index_reduce", self, dim, index, source);
}
namespace {
void reduce_into(
    Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
    bool include_self) {
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor places = dense(index, ScalarType::Long);
  DimVector shape(static_cast<size_t>(self.dim()), 1);
  const Tensor from = source.dim() == self.dim() ? source : at::reshape(source, shape);
  // The index is checked already, and every slice goes to one place.
  if (include_self && reduce != "mean" && self.dim() > 0 && !self.is_complex() && is_aligned(out)) {
    if (!out.is_same(self)) at::copy_(out, self);
    if (from.numel() == 0) return;
    const Tensor values = aligned(from);
    DimVector steps(static_cast<size_t>(self.dim()), 0);
    steps[static_cast<size_t>(dim)] = 1;
    cpu::GatherGeometry g;
    g.ndim = static_cast<int>(self.dim());
    g.dim = static_cast<int>(dim);
    g.sizes = values.sizes().data();
    g.index_strides = steps.data();
    g.dst_strides = out.strides().data();
    g.src_strides = values.strides().data();
    g.size = size_at(self, dim);
    cpu::scatter(out.mutable_data_ptr(), values.const_data_ptr(), static_cast<const int64_t*>(places.const_data_ptr()),
                 g, out.scalar_type(),
                 reduce == "prod"   ? cpu::ScatterOp::kMultiply
                 : reduce == "amax" ? cpu::ScatterOp::kMax
                                    : cpu::ScatterOp::kMin);
    return;
  }
  if (self.dim() > 0) shape[static_cast<size_t>(dim)] = index.numel();
  const Tensor spread = at::expand(at::reshape(places, shape), from.sizes());
  at::scatter_reduce_out(out, self, dim, spread, from, reduce, include_self);
}
}  // namespace
void index_reduce_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self, Tensor& out) {
  reduce_into(out, self, dim, index, source, reduce, include_self);
}
Tensor& index_reduce_inplace(
    Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) {
  index_reduce_meta(self, dim, index, source, reduce, include_self);
  structured::check_no_internal_overlap(self);
  reduce_into(self, self, dim, apart_from(self, index), apart_from(self, source), reduce, include_self);
  return self;
}

TensorSpec take_meta(const Tensor& self, const Tensor& index) {
  TORCH_CHECK(index.scalar_type() == ScalarType::Long, "take(): Expected a long tensor for index, but got ",
              toString(index.scalar_type()));
  TORCH_CHECK_INDEX(!(self.numel() == 0 && index.numel() != 0), "take(): tried to take from an empty tensor");
  return {sizes_of(index), {}, self.scalar_type(), self.device()};
}

namespace {

// Offsets of flat indices, negative ones from the end; the indices themselves where none is negative.
const int64_t* flat_offsets(const Tensor& index, int64_t n, std::vector<int64_t>& offsets) {
  const auto* p = static_cast<const int64_t*>(index.const_data_ptr());
  if (cpu::find_out_of_range(p, index.numel(), 1, 0, n) < 0) return p;
  offsets.resize(static_cast<size_t>(index.numel()));
  for (size_t i = 0; i < offsets.size(); ++i) {
    TORCH_CHECK_INDEX(
        p[i] >= -n && p[i] < n, "out of range: tried to access index ", p[i], " on a tensor of ", n, " elements.");
    offsets[i] = p[i] < 0 ? p[i] + n : p[i];
  }
  return offsets.data();
}

void check_put(const Tensor& self, const Tensor& index, const Tensor& source) {
  TORCH_CHECK_INDEX(index.scalar_type() == ScalarType::Long, "put_(): Expected a long tensor for index, but got ",
                    toString(index.scalar_type()));
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "put_(): self and source expected to have the same dtype, but got self.dtype = ",
              toString(self.scalar_type()), " and source.dtype = ", toString(source.scalar_type()));
  TORCH_CHECK_INDEX(index.numel() == source.numel(),
                    "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
                    source.numel(), ", index.numel() = ", index.numel());
  TORCH_CHECK_INDEX(!(self.numel() == 0 && index.numel() != 0), "put_(): Tried to put elements into an empty tensor");
}

void put_at(const Tensor& self, const int64_t* offsets, const Tensor& source, bool accumulate) {
  const Tensor from = dense(apart_from(self, source));
  DenseInPlace work(self);
  const cpu::SliceGeometry g{1, 0, 1, offsets, source.numel()};
  if (accumulate) {
    cpu::add_slices(work.tensor().mutable_data_ptr(), from.const_data_ptr(), g, self.scalar_type(), 1, 0, 1);
  } else {
    cpu::put_slices(work.tensor().mutable_data_ptr(), from.const_data_ptr(), g, static_cast<int64_t>(self.itemsize()));
  }
  work.commit();
}

}  // namespace

void take_cpu(const Tensor& self, const Tensor& index, Tensor& out) {
  if (index.numel() == 0) return;
  const Tensor x = dense(self);
  std::vector<int64_t> wrapped;
  const Tensor places = dense(index);
  const int64_t* offsets = flat_offsets(places, x.numel(), wrapped);
  DenseOut y(out);
  cpu::take_slices(y.tensor().mutable_data_ptr(), x.const_data_ptr(), {1, 0, 1, offsets, index.numel()},
                   static_cast<int64_t>(x.itemsize()));
  y.commit();
}

TensorSpec put_meta(const Tensor& self, const Tensor& index, const Tensor& source, bool) {
  check_put(self, index, source);
  return spec_like(self);
}
void put_cpu(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Tensor& out) {
  // A bad index is found before what the caller gave is written.
  std::vector<int64_t> wrapped;
  const Tensor places = dense(index);
  const int64_t* offsets = flat_offsets(places, self.numel(), wrapped);
  at::copy_(out, self);
  put_at(out, offsets, source, accumulate);
}
Tensor& put_inplace(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put(self, index, source);
  structured::check_no_internal_overlap(self);
  std::vector<int64_t> wrapped;
  const Tensor places = dense(apart_from(self, index));
  put_at(self, flat_offsets(places, self.numel(), wrapped), source, accumulate);
  return self;
}

}  // namespace at::native
