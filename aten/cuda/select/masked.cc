// where, the masked operators, nonzero.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/elementwise.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/index/move.h"
#include "aten/cuda/select/select.h"
#include "aten/cuda/select/select_call.h"
#include "aten/cuda/select/where.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/index/plan.h"
#include "aten/ops/pointwise/kernels.h"
#include "aten/ops/view/ops.h"

namespace at {
namespace cuda {

Tensor positions_of(const Tensor& flags) {
  const int64_t n = flags.numel();
  const Tensor selected = empty_contiguous({n}, ScalarType::Long, flags.device());
  if (n == 0) return selected;
  const Tensor count = empty_contiguous({}, ScalarType::Long, flags.device());
  cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cub::select_flagged(scratch, bytes, static_cast<const uint8_t*>(flags.const_data_ptr()),
                               static_cast<int64_t*>(selected.mutable_data_ptr()),
                               static_cast<int64_t*>(count.mutable_data_ptr()), n, stream);
  });
  return at::narrow(selected, 0, 0, at::item(count).toLong());
}

void write_coordinates(const Tensor& to, const Tensor& positions, IntArrayRef sizes) {
  CoordinatesCall call{};
  call.to = static_cast<int64_t*>(to.mutable_data_ptr());
  call.positions = static_cast<const int64_t*>(positions.const_data_ptr());
  call.count = positions.numel();
  call.rank = static_cast<int>(sizes.size());
  if (call.count == 0 || call.rank == 0) return;
  TORCH_CHECK(sizes.size() <= std::extent_v<decltype(call.sizes)>,
              "nonzero: CUDA tensors of more than 64 dimensions are not supported");
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  call.small = numel < int64_t{1} << 31;
  for (size_t d = 0; d < sizes.size(); ++d) {
    call.sizes[d] = sizes[d];
    if (call.small) call.divisors[d] = FastDivisor(static_cast<uint32_t>(sizes[d]));
  }
  launch_coordinates(call);
}

void take_flagged(const Tensor& to, const Tensor& flags, const Tensor& ranks, const Tensor& from) {
  launch_take_flagged(static_cast<char*>(to.mutable_data_ptr()), static_cast<const uint8_t*>(flags.const_data_ptr()),
                      static_cast<const int64_t*>(ranks.const_data_ptr()),
                      static_cast<const char*>(from.const_data_ptr()), from.numel(), to.numel(),
                      static_cast<int>(to.itemsize()));
}

}  // namespace cuda

namespace native {
namespace {

void choose(const char* name, const Tensor& out, pointwise::Input condition, pointwise::Input a, pointwise::Input b) {
  cuda::elementwise(name, cuda::kWhereKernels, cpu::compute_type(out.scalar_type()), nullptr, out, {condition, a, b});
}

Tensor expanded(const Tensor& t, IntArrayRef sizes) {
  return dense(t.sizes() == sizes ? t : at::expand(t, sizes));
}

// Whether elements are not 0, in a contiguous tensor.
Tensor flags_of(const Tensor& t) {
  if (t.scalar_type() == ScalarType::Bool) return dense(t);
  return dense(at::ne(t, Scalar(0)));
}

Tensor apart_from(const Tensor& self, const Tensor& other) {
  return other.is_alias_of(self) ? at::clone(other, MemoryFormat::Contiguous) : other;
}

// A number must fit the dtype; an element in device memory is not looked at.
void check_value(const Tensor& value, ScalarType dtype) {
  if (!value.is_cpu()) return;
  alignas(16) char element[16];
  pointwise::store_element(at::item(value), dtype, element);
}

void scatter_masked(const Tensor& self, const Tensor& given_mask, const Tensor& source) {
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "masked_scatter: expected self and source to have same dtypes but got ", toString(self.scalar_type()),
              " and ", toString(source.scalar_type()));
  if (self.numel() == 0) return;
  const Tensor flags = flags_of(expanded(apart_from(self, given_mask), self.sizes())),
               from = dense(apart_from(self, source));
  const Tensor ranks = empty_contiguous({flags.numel()}, ScalarType::Long, self.device());
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sum_scan(scratch, bytes, static_cast<const uint8_t*>(flags.const_data_ptr()),
                               static_cast<int64_t*>(ranks.mutable_data_ptr()), flags.numel(), false, stream);
  });
  cuda::DenseInPlace work(self);
  cuda::take_flagged(work.tensor(), flags, ranks, from);
  work.commit();
}

}  // namespace

void where_cuda(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  choose("where", out, condition, self, other);
}

void masked_fill_cuda(const Tensor& self, const Tensor& mask, const Scalar& value, Tensor& out) {
  alignas(16) char element[16];
  pointwise::store_element(value, out.scalar_type(), element);  // throws before anything is written
  choose("masked_fill", out, mask, pointwise::load_element(element, out.scalar_type()), self);
}
Tensor& masked_fill_cuda_(Tensor& self, const Tensor& mask, const Scalar& value) {
  check_inplace_mask("masked_fill_", self, mask);
  Tensor out = self;
  masked_fill_cuda(self, apart_from(self, mask), value, out);
  return self;
}
void masked_fill_tensor_cuda(const Tensor& self, const Tensor& mask, const Tensor& value, Tensor& out) {
  check_value(value, out.scalar_type());
  choose("masked_fill", out, mask, value, self);
}
Tensor& masked_fill_tensor_cuda_(Tensor& self, const Tensor& mask, const Tensor& value) {
  masked_fill_tensor_meta(self, mask, value);
  check_inplace_mask("masked_fill_", self, mask);
  check_value(value, self.scalar_type());
  choose("masked_fill_", self, apart_from(self, mask), apart_from(self, value), self);
  return self;
}

Tensor masked_scatter_cuda(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  Tensor out = at::clone(at::expand(self, broadcast_shapes(mask.sizes(), self.sizes())), MemoryFormat::Contiguous);
  scatter_masked(out, mask, source);
  return out;
}
Tensor& masked_scatter_cuda_(Tensor& self, const Tensor& mask, const Tensor& source) {
  masked_scatter_meta_(self, mask, source);
  scatter_masked(self, mask, source);
  return self;
}

Tensor masked_select_cuda(const Tensor& self, const Tensor& mask) {
  check_select_mask(mask);
  const DimVector shape = broadcast_shapes(mask.sizes(), self.sizes());
  const Tensor flags = expanded(mask, shape);
  const Tensor x = expanded(self, shape), positions = cuda::positions_of(flags);
  Tensor out = empty_contiguous(positions.sizes(), self.scalar_type(), self.device());
  const DimVector zero{0};
  const cuda::Places places = cuda::places_of(positions, std::max<int64_t>(x.numel(), 1), 1, false);
  cuda::take("masked_select", pointwise::operand_of(out), cuda::operand_like(x, out.sizes(), zero), &places);
  return out;
}

Tensor nonzero_cuda(const Tensor& self) {
  const Tensor positions = cuda::positions_of(flags_of(self));
  Tensor out = empty_contiguous({positions.numel(), self.dim()}, ScalarType::Long, self.device());
  cuda::write_coordinates(out, positions, self.sizes());
  return out;
}

void nonzero_static_cuda(const Tensor& self, int64_t size, int64_t fill_value, Tensor& out) {
  const Tensor positions = cuda::positions_of(flags_of(self));
  const int64_t count = std::min(size, positions.numel());
  cuda::DenseInPlace work(out, /*reads=*/false);
  Tensor all = work.tensor();
  at::fill_(all, Scalar(fill_value));
  cuda::write_coordinates(all, at::narrow(positions, 0, 0, count), self.sizes());
  work.commit();
}

}  // namespace native
}  // namespace at
