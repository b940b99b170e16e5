#pragma once
// What the reductions' shape rules and kernels share: which dimensions, which sizes, and the call of the engine.

#include "aten/core/tensor_base.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/reduce/reduce.h"
#include "c10/util/optional_array_ref.h"

namespace at::native {

// The dimensions of a reduction, one flag each.
struct DimMask {
  bool reduced[TensorImpl::kMaxDims] = {};
  bool operator[](int64_t d) const { return reduced[d]; }
};

// `dims` of a tensor of `rank` dimensions. No dims, or (unless `empty_is_none`) an empty list, are all of them. Throws IndexError
// for a dimension out of range and Error "dim 1 appears multiple times in the list of dims".
DimMask make_dim_mask(OptionalIntArrayRef dims, int64_t rank, bool empty_is_none = false);

// The sizes that are left; reduced dimensions become 1 with `keepdim` and go without.
DimVector reduced_sizes(const TensorBase& self, const DimMask& mask, bool keepdim);

// The number of elements that each result takes.
int64_t reduced_count(const TensorBase& self, const DimMask& mask);

// Throws IndexError where a dimension to reduce is empty: "amax(): Expected reduction dim 0 to have non-zero size."
void check_nonempty_dims(const char* op, const TensorBase& self, const DimMask& mask);

// The name of a dtype that is not taken, as an error: "max" not implemented for 'ComplexFloat'.
[[noreturn]] void throw_not_implemented(const char* op, ScalarType type);

// Runs the engine over `self`. `out0`, `out1` may be undefined; they have the reduced sizes, with or without the kept dimensions.
void run_reduction(const char* op, const cpu::ReduceKernel* kernel, const TensorBase& self, const DimMask& mask,
                   const TensorBase& out0, const TensorBase& out1, const cpu::ReduceParams& params);

}  // namespace at::native
