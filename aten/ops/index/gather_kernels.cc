// gather, the scatter forms, scatter_reduce, take_along_dim.
#include <limits>
#include <string_view>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/index/index.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using cpu::ScatterOp;

int64_t rank_of(const Tensor& t) { return t.dim() == 0 ? 1 : t.dim(); }
int64_t size_at(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[d]; }

// The loops read 64-bit indices.
Tensor long_index(const Tensor& index) {
  return index.scalar_type() == ScalarType::Long ? aligned(index) : at::_to_copy(index, TensorOptions().dtype(ScalarType::Long));
}

void check_index_shape(const char* op, const Tensor& self, const Tensor& index) {
  TORCH_CHECK(
      index.scalar_type() == ScalarType::Long || index.scalar_type() == ScalarType::Int, op, "(): Expected dtype int32/int64 for index");
  TORCH_CHECK(
      index.numel() == 0 || rank_of(index) == rank_of(self), "Index tensor must have the same number of dimensions as input tensor");
}

TensorSpec scatter_spec(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  dim = maybe_wrap_dim(dim, self.dim());
  if (src) {
    TORCH_CHECK(self.scalar_type() == src->scalar_type(), op, "(): Expected self.dtype to be equal to src.dtype");
  }
  if (index.numel() != 0) {
    check_index_shape(op, self, index);
    const std::optional<int64_t> outside = index_outside(long_index(index), size_at(self, dim));
    TORCH_CHECK(!outside, "index ", *outside, " is out of bounds for dimension ", dim, " with size ", size_at(self, dim));
    if (src) TORCH_CHECK(rank_of(*src) == rank_of(index), "Index tensor must have the same number of dimensions as src tensor");
    for (int64_t d = 0; d < rank_of(index); ++d) {
      TORCH_CHECK(
          (d == dim || size_at(index, d) <= size_at(self, d)) && (!src || size_at(index, d) <= size_at(*src, d)), "Expected index ",
          index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
          src ? " and to be no larger size than src " : "", src ? src->sizes() : IntArrayRef());
    }
  }
  return spec_like(self);
}

ScatterOp old_reduction(std::string_view reduce) {
  TORCH_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  return reduce == "add" ? ScatterOp::kAdd : ScatterOp::kMultiply;
}

// dst (which holds self already) takes src, a tensor or the bytes of one value.
void run_scatter(const Tensor& dst, int64_t dim, const Tensor& given, const Tensor* src, const void* value, ScatterOp op) {
  if (given.numel() == 0) return;
  if (C10_UNLIKELY(!is_aligned(dst) || (src && !is_aligned(*src)))) {
    Tensor target = dst;
    const Tensor work = aligned(dst), from = src ? aligned(*src) : Tensor();
    run_scatter(work, dim, given, src ? &from : nullptr, value, op);
    if (!work.is_same(dst)) at::copy_(target, work);
    return;
  }
  const Tensor index = long_index(given);
  dim = maybe_wrap_dim(dim, dst.dim());
  const int64_t rank = rank_of(index);
  const int64_t one = 1;
  DimVector zero(static_cast<size_t>(rank), 0), unit{0};
  const bool scalar_index = index.dim() == 0;
  cpu::GatherGeometry g;
  g.ndim = static_cast<int>(rank);
  g.dim = static_cast<int>(dim);
  g.sizes = scalar_index ? &one : index.sizes().data();
  g.index_strides = scalar_index ? unit.data() : index.strides().data();
  g.dst_strides = dst.dim() == 0 ? unit.data() : dst.strides().data();
  g.src_strides = !src ? zero.data() : src->dim() == 0 ? unit.data() : src->strides().data();
  g.size = size_at(dst, dim);
  cpu::scatter(
      dst.mutable_data_ptr(), src ? src->const_data_ptr() : value, static_cast<const int64_t*>(index.const_data_ptr()), g,
      dst.scalar_type(), op);
}

Tensor& scatter_inplace(
    const char* op, Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, const Scalar* value, ScatterOp how) {
  scatter_spec(op, self, dim, index, src);
  structured::check_no_internal_overlap(self);
  const Tensor at = apart_from(self, index);
  if (src) {
    const Tensor from = apart_from(self, *src);
    run_scatter(self, dim, at, &from, nullptr, how);
  } else {
    const ScalarBytes bytes = scalar_bytes(*value, self.scalar_type());
    run_scatter(self, dim, at, nullptr, bytes.bytes, how);
  }
  return self;
}

void scatter_into(Tensor& out, const Tensor& self, int64_t dim, const Tensor& given, const Tensor* src, const Scalar* value, ScatterOp how) {
  // Before anything is written.
  const Tensor index = long_index(given);
  const ScalarBytes bytes = value ? scalar_bytes(*value, self.scalar_type()) : ScalarBytes{};
  at::copy_(out, self);
  run_scatter(out, dim, index, src, src ? nullptr : bytes.bytes, how);
}

}  // namespace

TensorSpec gather_meta(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  dim = maybe_wrap_dim(dim, self.dim());
  if (index.numel() != 0) {
    check_index_shape("gather", self, index);
    for (int64_t d = 0; d < rank_of(index); ++d) {
      TORCH_CHECK(
          d == dim || size_at(index, d) <= size_at(self, d), "Size does not match at dimension ", d, " expected index ",
          index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim);
    }
  }
  return {sizes_of(index), {}, self.scalar_type(), self.device()};
}

void gather_cpu(const Tensor& self, int64_t dim, const Tensor& given, bool sparse_grad, Tensor& out) {
  if (given.numel() == 0) return;
  if (C10_UNLIKELY(!is_aligned(self) || !is_aligned(out))) {
    Tensor work = aligned(out);
    gather_cpu(aligned(self), dim, given, sparse_grad, work);
    if (!work.is_same(out)) at::copy_(out, work);
    return;
  }
  const Tensor index = long_index(given);
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t one = 1;
  DimVector unit{0};
  cpu::GatherGeometry g;
  g.ndim = static_cast<int>(rank_of(index));
  g.dim = static_cast<int>(dim);
  g.sizes = index.dim() == 0 ? &one : index.sizes().data();
  g.index_strides = index.dim() == 0 ? unit.data() : index.strides().data();
  g.dst_strides = index.dim() == 0 ? unit.data() : out.strides().data();
  g.src_strides = self.dim() == 0 ? unit.data() : self.strides().data();
  g.size = size_at(self, dim);
  cpu::gather(
      out.mutable_data_ptr(), self.const_data_ptr(), static_cast<const int64_t*>(index.const_data_ptr()), g,
      static_cast<int64_t>(self.itemsize()));
}

// gather_cpu finds a bad index when it comes to it. What the caller gave must not be half written by then.
Tensor& gather_out(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad, Tensor& out) {
  const TensorSpec spec = gather_meta(self, dim, index, sparse_grad);
  TORCH_CHECK(index.device() == self.device(), "gather(): expected index on device ", self.device(), ", got ", index.device());
  if (index.numel() != 0) {
    const int64_t d = maybe_wrap_dim(dim, self.dim());
    check_index_range(dense_index("gather", index), d, size_at(self, d), false);
  }
  structured::Target target("gather", out, spec, structured::overlap(out, self, index), false, false);
  gather_cpu(self, dim, index, sparse_grad, target.tensor());
  target.commit();
  return out;
}

TensorSpec scatter_src_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec("scatter", self, dim, index, &src);
}
void scatter_src_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into(out, self, dim, index, &src, nullptr, ScatterOp::kAssign);
}
Tensor& scatter_src_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_inplace("scatter", self, dim, index, &src, nullptr, ScatterOp::kAssign);
}

TensorSpec scatter_value_meta(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  return scatter_spec("scatter", self, dim, index, nullptr);
}
void scatter_value_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  scatter_into(out, self, dim, index, nullptr, &value, ScatterOp::kAssign);
}
Tensor& scatter_value_inplace(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_inplace("scatter", self, dim, index, nullptr, &value, ScatterOp::kAssign);
}

TensorSpec scatter_src_reduce_meta(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  old_reduction(reduce);
  return scatter_spec("scatter", self, dim, index, &src);
}
void scatter_src_reduce_cpu(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, Tensor& out) {
  scatter_into(out, self, dim, index, &src, nullptr, old_reduction(reduce));
}
Tensor& scatter_src_reduce_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  return scatter_inplace("scatter", self, dim, index, &src, nullptr, old_reduction(reduce));
}

TensorSpec scatter_value_reduce_meta(
    const Tensor& self, int64_t dim, const Tensor& index, const Scalar&, std::string_view reduce) {
  old_reduction(reduce);
  return scatter_spec("scatter", self, dim, index, nullptr);
}
void scatter_value_reduce_cpu(
    const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce, Tensor& out) {
  scatter_into(out, self, dim, index, nullptr, &value, old_reduction(reduce));
}
Tensor& scatter_value_reduce_inplace(
    Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return scatter_inplace("scatter", self, dim, index, nullptr, &value, old_reduction(reduce));
}

TensorSpec scatter_add_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec("scatter_add", self, dim, index, &src);
}
void scatter_add_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into(out, self, dim, index, &src, nullptr, ScatterOp::kAdd);
}
Tensor& scatter_add_inplace(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_inplace("scatter_add", self, dim, index, &src, nullptr, ScatterOp::kAdd);
}

// scatter_reduce: without include_self the places that are hit start from the reduction's neutral element.
TensorSpec scatter_reduce_meta(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool) {
  TORCH_CHECK(
      reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
      "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  if (isComplexType(self.scalar_type())) {
    TORCH_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean", "scatter_reduce(): ", reduce, " is not supported for complex");
  }
  return scatter_spec("scatter_reduce", self, dim, index, &src);
}
void scatter_reduce_cpu(
    const Tensor& self, int64_t dim, const Tensor& given, const Tensor& src, std::string_view reduce, bool include_self,
    Tensor& target) {
  if (given.numel() == 0) {
    at::copy_(target, self);
    return;
  }
  // All memory is there before the target, which may be self, is written.
  const Tensor index = long_index(given);
  const bool mean = reduce == "mean";
  Tensor out = mean ? empty_contiguous(self.sizes(), self.scalar_type()) : target;
  at::copy_(out, self);
  const ScalarType type = self.scalar_type();
  const bool floating = isFloatingType(type);
  if (!include_self) {
    Scalar neutral(int64_t{0});
    if (reduce == "prod") {
      neutral = Scalar(int64_t{1});
    } else if (reduce == "amax" || reduce == "amin") {
      const bool max = reduce == "amax";
      if (floating) {
        neutral = Scalar(max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
      } else if (type == ScalarType::Bool) {
        neutral = Scalar(int64_t{!max});
      } else {
        const int bits = 8 * static_cast<int>(elementSize(type)) - (isSignedType(type) ? 1 : 0);
        const uint64_t top = std::numeric_limits<uint64_t>::max() >> (64 - bits);
        if (!max) {
          neutral = Scalar(top);
        } else if (isSignedType(type)) {
          neutral = Scalar(-static_cast<int64_t>(top) - 1);
        }
      }
    }
    const ScalarBytes bytes = scalar_bytes(neutral, type);
    run_scatter(out, dim, index, nullptr, bytes.bytes, ScatterOp::kAssign);
  }
  const ScatterOp op = reduce == "prod" ? ScatterOp::kMultiply
      : reduce == "amax"                ? ScatterOp::kMax
      : reduce == "amin"                ? ScatterOp::kMin
                                        : ScatterOp::kAdd;
  run_scatter(out, dim, index, &src, nullptr, op);
  if (mean) {
    Tensor count = empty_contiguous(self.sizes(), ScalarType::Long, self.device());
    at::fill_(count, Scalar(int64_t{include_self}));
    const int64_t one = 1;
    run_scatter(count, dim, index, nullptr, &one, ScatterOp::kAdd);
    const Tensor divisor = at::clamp_min(count, Scalar(int64_t{1}));
    at::copy_(target, floating || isComplexType(type) ? at::div(out, divisor) : at::div(out, divisor, std::optional<std::string_view>("floor")));
  }
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  TORCH_CHECK(indices.scalar_type() == ScalarType::Long, "torch.take_along_dim(): dtype of indices should be Long but got ",
              toString(indices.scalar_type()));
  if (!dim) return at::gather(at::reshape(self, IntArrayRef(-1)), 0, at::reshape(indices, IntArrayRef(-1)));
  TORCH_CHECK(
      self.dim() == indices.dim(), "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
      self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const int64_t d = maybe_wrap_dim(*dim, self.dim());
  DimVector a = sizes_of(self), b = sizes_of(indices);
  if (!a.empty()) a[static_cast<size_t>(d)] = b[static_cast<size_t>(d)] = 1;
  const DimVector common = broadcast_shapes(a, b);
  DimVector self_sizes = common, index_sizes = common;
  if (!a.empty()) {
    self_sizes[static_cast<size_t>(d)] = self.sizes()[d];
    index_sizes[static_cast<size_t>(d)] = indices.sizes()[d];
  }
  // Negative indices count from the end.
  const int64_t size = size_at(self, d);
  // Inside vmap only gather sees what stands there.
  if (!indices.key_set().has(DispatchKey::FuncTorchBatched)) check_index_range(indices, d, size, true);
  const Tensor from_start = at::where(at::lt(indices, Scalar(int64_t{0})), at::add(indices, Scalar(size)), indices);
  return at::gather(at::expand(self, self_sizes), d, at::expand(from_start, index_sizes));
}

}  // namespace at::native
