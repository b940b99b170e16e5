#include "aten/ops/reduce/reduction.h"

#include "aten/core/empty.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/alignment.h"
#include "aten/cuda/reduce/reduce.h"

namespace at::cuda {

// There in programs that link //aten/cuda.
[[gnu::weak]] void reduce(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, ScalarType in_dtype,
                          const ScalarType (&out_dtypes)[2], const cpu::ReduceParams& params);

}  // namespace at::cuda

namespace at::native {

DimMask make_dim_mask(OptionalIntArrayRef dims, int64_t rank, bool empty_is_none) {
  TORCH_CHECK(rank <= TensorImpl::kMaxDims, "only tensors with up to ", TensorImpl::kMaxDims, " dims are supported, got ", rank);
  DimMask mask;
  if (!dims.has_value() || (dims->empty() && !empty_is_none)) {
    for (int64_t d = 0; d < rank; ++d) mask.reduced[d] = true;
    return mask;
  }
  for (int64_t dim : *dims) {
    const int64_t d = maybe_wrap_dim(dim, rank);
    TORCH_CHECK(!mask.reduced[d], "dim ", d, " appears multiple times in the list of dims");
    mask.reduced[d] = true;
  }
  return mask;
}

DimVector reduced_sizes(const TensorBase& self, const DimMask& mask, bool keepdim) {
  DimVector sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!mask[d]) {
      sizes.push_back(self.sizes()[d]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

int64_t reduced_count(const TensorBase& self, const DimMask& mask) {
  int64_t n = 1;
  for (int64_t d = 0; d < self.dim(); ++d) n *= mask[d] ? self.sizes()[d] : 1;
  return n;
}

void check_nonempty_dims(const char* op, const TensorBase& self, const DimMask& mask) {
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCH_CHECK_INDEX(!mask[d] || self.sizes()[d] != 0, op, "(): Expected reduction dim ", d, " to have non-zero size.");
  }
}

void throw_not_implemented(const char* op, ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", op, "\" not implemented for '", toString(type), "'");
}

namespace {

// A copy in aligned memory of a tensor in foreign memory that is not; without `copies` only its room.
Tensor aligned_copy(const TensorBase& t, bool copies) {
  Tensor copy = empty_contiguous(t.sizes(), t.scalar_type());
  if (copies) cpu::copy(pointwise::operand_of(copy), t.scalar_type(), pointwise::operand_of(t), t.scalar_type());
  return copy;
}
bool is_aligned(const TensorBase& t) {
  return !t.defined() || cpu::is_aligned(t.const_data_ptr(), static_cast<int64_t>(t.itemsize()));
}

}  // namespace

void run_reduction(const char* op, const cpu::ReduceKernel* kernel, const TensorBase& self, const DimMask& mask,
                   const TensorBase& out0, const TensorBase& out1, const cpu::ReduceParams& params) {
  if (!kernel) throw_not_implemented(op, self.scalar_type());
  const bool on_cpu = self.is_cpu();
  TORCH_CHECK_NOT_IMPLEMENTED(on_cpu || (self.is_cuda() && kernel->cuda != nullptr), op, ": no kernel for tensors on ",
                              self.device(), " is linked");
  if (C10_UNLIKELY(on_cpu && !is_aligned(self)))
    return run_reduction(op, kernel, aligned_copy(self, true), mask, out0, out1, params);
  if (C10_UNLIKELY(on_cpu && (!is_aligned(out0) || !is_aligned(out1)))) {
    const Tensor first = out0.defined() ? aligned_copy(out0, false) : Tensor();
    const Tensor second = out1.defined() ? aligned_copy(out1, false) : Tensor();
    run_reduction(op, kernel, self, mask, first, second, params);
    if (first.defined()) cpu::copy(pointwise::operand_of(out0), out0.scalar_type(), pointwise::operand_of(first), out0.scalar_type());
    if (second.defined()) cpu::copy(pointwise::operand_of(out1), out1.scalar_type(), pointwise::operand_of(second), out1.scalar_type());
    return;
  }
  const int64_t rank = self.dim();
  const auto item = static_cast<int64_t>(self.itemsize());
  bool all = on_cpu && self.is_contiguous();
  for (int64_t d = 0; all && d < rank; ++d) all = mask[d];
  if (all) {
    return cpu::reduce_all(
        *kernel, self.const_data_ptr(), self.numel(), item, out0.defined() ? out0.mutable_data_ptr() : nullptr,
        out1.defined() ? out1.mutable_data_ptr() : nullptr, params);
  }
  DimVector strides;
  // Those of nothing may be anything.
  for (int64_t s : self.strides()) strides.push_back(self.numel() == 0 ? 0 : s * item);
  cpu::ReduceArgs args{self.const_data_ptr(), static_cast<int>(rank), self.sizes().data(), strides.data(), mask.reduced, {}, {}};
  DimVector out_strides[2];
  const TensorBase* outs[2] = {&out0, &out1};
  for (int k = 0; k < 2; ++k) {
    const TensorBase& out = *outs[k];
    args.out[k] = nullptr;
    if (!out.defined()) continue;
    const auto size = static_cast<int64_t>(out.itemsize());
    const bool kept = out.dim() == rank;
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      out_strides[k].push_back(mask[d] ? 0 : out.strides()[kept ? d : at] * size);
      if (!mask[d]) ++at;
    }
    args.out[k] = out.mutable_data_ptr();
    args.out_strides[k] = out_strides[k].data();
  }
  if (on_cpu) return cpu::reduce(*kernel, args, params);
  const ScalarType out_dtypes[2] = {out0.defined() ? out0.scalar_type() : ScalarType::Undefined,
                                    out1.defined() ? out1.scalar_type() : ScalarType::Undefined};
  cuda::reduce(op, kernel->cuda, args, self.scalar_type(), out_dtypes, params);
}

}  // namespace at::native
