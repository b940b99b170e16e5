#pragma once
// What the operators of interpolation check of their arguments, and the memory that their kernels walk.

#include <array>
#include <cstdint>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/ops/upsample/axis_formulas.h"

namespace at::native {

// `planes` times [in[0], in[1], in[2], channels] become [out[0], out[1], out[2], channels], dimensions that an operator
// lacks being 1. Channels are innermost (channels last) or else part of the planes.
struct UpsampleGeometry {
  int64_t planes = 1, channels = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  MemoryFormat format = MemoryFormat::Contiguous;
};

// `self` is [N, C, ...] with `dims` dimensions behind; `sizes_in` and `sizes_out` are those of the whole input and
// result.
UpsampleGeometry upsample_geometry(const Tensor& walked, int dims, IntArrayRef sizes_in, IntArrayRef sizes_out);

// How the nearest elements of an input of `type` are found.
NearestRule nearest_rule(int dims, const UpsampleGeometry& g, ScalarType type);

TensorSpec upsample_spec(const char* op, int dims, const Tensor& self, IntArrayRef output_size);
TensorSpec upsample_backward_spec(const char* op, int dims, const Tensor& grad_output, IntArrayRef output_size,
                                  IntArrayRef input_size);

// `t`, or a copy, dense in `format`.
Tensor dense_in(const Tensor& t, MemoryFormat format);

// Where a kernel writes a result dense in `format`: `out`, or a temporary that commit() copies.
class FormattedOut {
 public:
  FormattedOut(Tensor& out, MemoryFormat format);
  Tensor& tensor() { return temporary_.defined() ? temporary_ : out_; }
  void commit();

 private:
  Tensor& out_;
  Tensor temporary_;
};

}  // namespace at::native
