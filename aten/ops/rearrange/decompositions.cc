#include "aten/ops/rearrange/decompositions.h"

#include "aten/ops/join/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::decompositions {

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  if (dims.empty()) return at::reshape(decompositions::roll(at::reshape(self, {-1}), shifts, 0), self.sizes());
  Tensor result = self;
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t size = self.size(dims[k]), shift = size == 0 ? 0 : (shifts[k] % size + size) % size;
    if (shift == 0) continue;
    result = at::cat({at::narrow(result, dims[k], size - shift, shift), at::narrow(result, dims[k], 0, size - shift)},
                     dims[k]);
  }
  return result.is_same(self) ? at::clone(self) : result;
}

}  // namespace at::decompositions
