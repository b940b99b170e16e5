#include "compile/aot/runtime/tensor_face.h"

#include "aten/core/empty.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::aot {

at::Tensor dense_input(const char* program, const char* name, const at::Tensor& t, at::ScalarType dtype, int64_t dims) {
  TORCH_CHECK_VALUE(t.defined(), program, ": input '", name, "' is undefined");
  TORCH_CHECK_VALUE(t.scalar_type() == dtype, program, ": expected input '", name, "' of dtype ", dtype, ", but got ",
                    t.scalar_type());
  TORCH_CHECK_VALUE(t.device().is_cpu(), program, ": expected input '", name, "' on the CPU, but got one on ",
                    t.device());
  TORCH_CHECK_VALUE(t.dim() == dims, program, ": expected input '", name, "' of ", dims, " dimensions, but got sizes ",
                    t.sizes());
  return at::contiguous(t, at::MemoryFormat::Contiguous);
}

void check_sizes(const char* program, const char* name, const at::Tensor& t, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(t.sizes() == sizes, program, ": expected input '", name, "' of sizes ", sizes, ", but got ",
                    t.sizes());
}

void copy_back(const at::Tensor& input, const at::Tensor& dense) {
  if (input.is_same(dense)) {
    input.unsafeGetTensorImpl()->bump_version();
  } else {
    at::Tensor(input).copy_(dense);
  }
}

at::Tensor new_output(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty_contiguous(sizes, dtype);
}

}  // namespace torch::aot
