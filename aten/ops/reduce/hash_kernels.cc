// hash_tensor: the exclusive or of all elements' bits.
#include <algorithm>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// An element as the 64 bits that count: of its value as double or int64.
Tensor bits_of(const Tensor& self) {
  return self.is_floating_point() ? at::view(dense(self, ScalarType::Double), ScalarType::Long)
                                  : dense(self, ScalarType::Long);
}

}  // namespace

TensorSpec hash_tensor_meta(const Tensor& self, IntArrayRef dim, bool keepdim, int64_t mode) {
  TORCH_CHECK(mode == 0, "hash_tensor: expected mode 0, the exclusive or of all elements, but got ", mode);
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex() && !isQIntType(self.scalar_type()),
                              "\"hash_tensor\" not implemented for '", self.scalar_type(), "'");
  return {reduced_sizes(self, make_dim_mask(dim, self.dim()), keepdim), {}, ScalarType::UInt64, self.device()};
}

void hash_tensor_cpu(const Tensor& self, IntArrayRef dim, bool, int64_t, Tensor& out) {
  if (out.numel() == 0) return;
  const DimMask mask = make_dim_mask(dim, self.dim());
  DimVector order;
  for (const bool reduced : {false, true}) {
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (mask[d] == reduced) order.push_back(d);
    }
  }
  const Tensor bits = bits_of(at::permute(self, order));
  const auto* from = static_cast<const uint64_t*>(bits.const_data_ptr());
  DenseOut to(out);
  auto* result = to.data<uint64_t>();
  const int64_t rows = out.numel(), width = self.numel() / rows;
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t hash = 0;
      for (int64_t k = 0; k < width; ++k) hash ^= from[i * width + k];
      result[i] = hash;
    }
  });
  to.commit();
}

}  // namespace at::native
