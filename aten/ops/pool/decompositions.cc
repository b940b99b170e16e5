#include "aten/ops/pool/decompositions.h"

#include "aten/ops/index/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::decompositions {
namespace {

// Each element to its index in a flattened block of zeros.
Tensor unpooled(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  const auto kept = static_cast<size_t>(self.dim()) - output_size.size();
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().begin() + static_cast<int64_t>(kept)), flat = sizes,
                                                                                                       from = sizes;
  int64_t block = 1, elements = 1;
  for (const int64_t size : output_size) {
    sizes.push_back(size);
    block *= size;
  }
  for (const int64_t size : self.sizes().slice(kept)) elements *= size;
  flat.push_back(block);
  from.push_back(elements);
  return at::reshape(at::scatter(filled(flat, 0, self), -1, at::reshape(indices, from), at::reshape(self, from)),
                     sizes);
}

}  // namespace

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  return unpooled(self, indices, output_size);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntArrayRef output_size, IntArrayRef, IntArrayRef) {
  return unpooled(self, indices, output_size);
}

}  // namespace at::decompositions
