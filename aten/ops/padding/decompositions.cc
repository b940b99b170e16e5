#include "aten/ops/padding/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

// Where the elements of a padded dimension come from.
using Source = Tensor (*)(const Tensor& place, int64_t size);

Tensor reflected(const Tensor& place, int64_t size) {
  return at::add(at::neg(at::abs(at::add(at::neg(at::abs(place)), size - 1))), size - 1);
}
Tensor nearest(const Tensor& place, int64_t size) {
  return at::clamp(place, 0, size - 1);
}

// The source of each element of the dimension that pair `d` of the paddings is for, counted from the last one.
Tensor source_of(const Tensor& self, IntArrayRef padding, size_t d, Source source) {
  const int64_t size = self.size(-1 - static_cast<int64_t>(d)), before = padding[2 * d], after = padding[2 * d + 1];
  return source(at::sub(places(size + before + after, self), before), size);
}

Tensor padded(const Tensor& self, IntArrayRef padding, Source source) {
  Tensor result = self;
  for (size_t d = 0; 2 * d < padding.size(); ++d) {
    result = at::index_select(result, -1 - static_cast<int64_t>(d), source_of(self, padding, d, source));
  }
  return result;
}

// Each element of self gets the sum over the places that it went to.
Tensor gathered(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Source source) {
  Tensor grad = widened(grad_output);
  for (size_t d = 0; 2 * d < padding.size(); ++d) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(d);
    std::vector<int64_t> sizes = grad.sizes().vec();
    sizes[static_cast<size_t>(dim)] = self.size(dim);
    grad = at::index_add(filled(sizes, 0, grad), dim, source_of(self, padding, d, source), grad);
  }
  return cast(grad, self.scalar_type());
}

}  // namespace

Tensor reflection_pad(const Tensor& self, IntArrayRef padding) {
  return padded(self, padding, reflected);
}
Tensor reflection_pad_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef padding) {
  return gathered(grad_output, self, padding, reflected);
}
Tensor replication_pad(const Tensor& self, IntArrayRef padding) {
  return padded(self, padding, nearest);
}

}  // namespace at::decompositions
