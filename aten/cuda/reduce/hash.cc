// hash_tensor of CUDA tensors.
#include "aten/cuda/reduce/hash.h"

#include "aten/core/tensor.h"
#include "aten/cuda/reduce/reduce.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/view/ops.h"

namespace at::native {

void hash_tensor_cuda(const Tensor& self, IntArrayRef dim, bool, int64_t, Tensor& out) {
  if (out.numel() == 0) return;
  // An element as the 64 bits that count: of its value as double or int64.
  const Tensor bits = self.is_floating_point() ? at::view(dense(self, ScalarType::Double), ScalarType::Long)
                                               : dense(self, ScalarType::Long);
  cpu::ReduceKernel kernel{};
  kernel.cuda = &cuda::exclusive_or;
  run_reduction("hash_tensor", &kernel, bits, make_dim_mask(dim, bits.dim()), out, Tensor(), {});
}

}  // namespace at::native
