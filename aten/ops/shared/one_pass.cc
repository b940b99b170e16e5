#include "aten/ops/shared/one_pass.h"

#include "aten/core/empty.h"

namespace at::native {

bool are_alike(const TensorBase& a, const TensorBase& b) {
  const ScalarType dtype = a.scalar_type();
  return dtype == b.scalar_type() && isFloatingType(dtype) && !c10::isFloat8Type(dtype);
}

Tensor one_pass(const char* name, const cpu::ElementOp& op, const Tensor& like, pointwise::Inputs inputs,
                std::initializer_list<Scalar> numbers) {
  for (const pointwise::Input& input : inputs) {
    const TensorBase& t = *input.tensor();
    if (!are_alike(t, like) || t.device() != like.device()) return {};
    if (t.sizes() != like.sizes() && (t.numel() != 1 || t.dim() > like.dim())) return {};
  }
  const ScalarType dtype = like.scalar_type();
  const pointwise::Params params(cpu::compute_type(dtype), numbers);
  const Tensor out = fresh(empty_with_strides(like.sizes(), strides_like(like), dtype, like.device()));
  pointwise::run(name, op, dtype, params.get(), out, inputs);
  return out;
}

}  // namespace at::native
