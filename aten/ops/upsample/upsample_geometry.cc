#include "aten/ops/upsample/upsample_geometry.h"

#include <string>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "c10/core/memory_format.h"

namespace at::native {
namespace {

bool is_dense_in(const Tensor& t, MemoryFormat format) {
  return t.is_contiguous(format) && is_aligned(t);
}

std::string named_sizes(IntArrayRef spatial) {
  static constexpr const char* kNames[] = {"D: ", "H: ", "W: "};
  std::string text = "(";
  for (size_t d = 0; d < spatial.size(); ++d) {
    text += d == 0 ? "" : ", ";
    text += kNames[3 - spatial.size() + d] + std::to_string(spatial[d]);
  }
  return text + ")";
}

// The sizes of the result of an input of `input_size`.
DimVector checked_sizes(const char* op, int dims, IntArrayRef input_size, IntArrayRef output_size) {
  TORCH_CHECK(output_size.size() == static_cast<size_t>(dims), op, ": It is expected output_size equals to ", dims,
              ", but got size ", output_size.size());
  TORCH_CHECK(input_size.size() == static_cast<size_t>(dims) + 2, op, ": It is expected input_size equals to ",
              dims + 2, ", but got size ", input_size.size());
  bool positive = true;
  for (int64_t n : output_size) positive = positive && n > 0;
  for (int64_t n : input_size.slice(2)) positive = positive && n > 0;
  TORCH_CHECK(positive, op, ": Input and output sizes should be greater than 0, but got input ",
              named_sizes(input_size.slice(2)), " output ", named_sizes(output_size));
  TORCH_CHECK(input_size[0] >= 0 && input_size[1] > 0, op, ": Non-empty ", dims + 2,
              "D data tensor expected but got a tensor with sizes ", input_size);
  DimVector sizes{input_size[0], input_size[1]};
  sizes.insert(sizes.end(), output_size.begin(), output_size.end());
  return sizes;
}

TensorSpec spec_of(DimVector sizes, const Tensor& like) {
  const MemoryFormat format = like.suggest_memory_format();
  DimVector strides;
  if (format != MemoryFormat::Contiguous) strides = c10::strides_for_format(sizes, format);
  return {sizes, strides, like.scalar_type(), like.device()};
}

}  // namespace

UpsampleGeometry upsample_geometry(const Tensor& walked, int dims, IntArrayRef sizes_in, IntArrayRef sizes_out) {
  UpsampleGeometry g;
  g.format = walked.suggest_memory_format();
  g.planes = sizes_in[0];
  (g.format == MemoryFormat::Contiguous ? g.planes : g.channels) *= sizes_in[1];
  for (int d = 0; d < dims; ++d) {
    g.in[static_cast<size_t>(3 - dims + d)] = sizes_in[static_cast<size_t>(d + 2)];
    g.out[static_cast<size_t>(3 - dims + d)] = sizes_out[static_cast<size_t>(d + 2)];
  }
  return g;
}

NearestRule nearest_rule(int dims, const UpsampleGeometry& g, ScalarType type) {
  if (g.channels >= 4 || (dims == 2 && g.out[1] + g.out[2] <= 128)) return NearestRule::kSizesFirst;
  return type == kDouble ? NearestRule::kDouble : NearestRule::kFloat;
}

TensorSpec upsample_spec(const char* op, int dims, const Tensor& self, IntArrayRef output_size) {
  return spec_of(checked_sizes(op, dims, self.sizes(), output_size), self);
}

TensorSpec upsample_backward_spec(const char* op, int dims, const Tensor& grad_output, IntArrayRef output_size,
                                  IntArrayRef input_size) {
  const DimVector sizes = checked_sizes(op, dims, input_size, output_size);
  TORCH_CHECK(grad_output.dim() == dims + 2, op, ": Expected grad_output to be a tensor of dimension ", dims + 2,
              " but got: dimension ", grad_output.dim());
  for (int64_t d = 0; d < dims + 2; ++d) {
    TORCH_CHECK(grad_output.size(d) == sizes[static_cast<size_t>(d)], op,
                ": Expected grad_output to have the same shape as output; output.size(", d,
                ") = ", sizes[static_cast<size_t>(d)], " but got grad_output.size(", d, ") = ", grad_output.size(d));
  }
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(grad_output.scalar_type()), "\"", op, "\" not implemented for '",
                              grad_output.scalar_type(), "'");
  return spec_of(DimVector(input_size.begin(), input_size.end()), grad_output);
}

Tensor dense_in(const Tensor& t, MemoryFormat format) {
  return is_dense_in(t, format) ? t : at::clone(t, format);
}

FormattedOut::FormattedOut(Tensor& out, MemoryFormat format) : out_(out) {
  if (!is_dense_in(out, format)) {
    temporary_ =
        empty_with_strides(out.sizes(), c10::strides_for_format(out.sizes(), format), out.scalar_type(), out.device());
  }
}
void FormattedOut::commit() {
  if (temporary_.defined()) at::copy_(out_, temporary_);
}

}  // namespace at::native
