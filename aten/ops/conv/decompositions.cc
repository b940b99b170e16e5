#include "aten/ops/conv/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::decompositions {
namespace {

// One direction: element k + kernel * i of the blocks lies at place k * dilation + i * stride of the padded input.
struct Blocks {
  int64_t kernel, dilation, padding, stride, size;
  int64_t padded() const { return size + 2 * padding; }
  int64_t count() const { return (padded() - dilation * (kernel - 1) - 1) / stride + 1; }
  // [kernel * count].
  Tensor place(const Tensor& like) const {
    const Tensor first = at::mul(places(count(), like), stride), within = at::mul(places(kernel, like), dilation);
    return at::reshape(at::add(at::unsqueeze(within, 1), first), {-1});
  }
};

Blocks blocks_of(size_t d, int64_t size, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                 IntArrayRef stride) {
  const auto of = [d](IntArrayRef list) { return list[list.size() == 1 ? 0 : d]; };
  return {of(kernel_size), of(dilation), of(padding), of(stride), size};
}

}  // namespace

Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  const Tensor x = self.dim() == 3 ? at::unsqueeze(self, 0) : self;
  const Blocks h = blocks_of(0, x.size(2), kernel_size, dilation, padding, stride);
  const Blocks w = blocks_of(1, x.size(3), kernel_size, dilation, padding, stride);
  const Tensor padded = at::constant_pad_nd(x, {w.padding, w.padding, h.padding, h.padding}, 0);
  const Tensor rows = at::index_select(padded, 2, h.place(x)), all = at::index_select(rows, 3, w.place(x));
  const int64_t n = x.size(0), c = x.size(1), lines = c * h.kernel * w.kernel, columns = h.count() * w.count();
  const Tensor blocks =
      at::permute(at::reshape(all, {n, c, h.kernel, h.count(), w.kernel, w.count()}), {0, 1, 2, 4, 3, 5});
  return self.dim() == 3 ? at::reshape(blocks, {lines, columns}) : at::reshape(blocks, {n, lines, columns});
}

Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
  const Blocks h = blocks_of(0, output_size[0], kernel_size, dilation, padding, stride);
  const Blocks w = blocks_of(1, output_size[output_size.size() - 1], kernel_size, dilation, padding, stride);
  const Tensor x = widened(self.dim() == 2 ? at::unsqueeze(self, 0) : self);
  const int64_t n = x.size(0), c = x.size(1) / (h.kernel * w.kernel);
  const Tensor blocks =
      at::permute(at::reshape(x, {n, c, h.kernel, w.kernel, h.count(), w.count()}), {0, 1, 2, 4, 3, 5});
  const Tensor all = at::reshape(blocks, {n, c, h.kernel * h.count(), w.kernel * w.count()});
  const Tensor rows = at::index_add(filled({n, c, all.size(2), w.padded()}, 0, x), 3, w.place(x), all);
  const Tensor sum = at::index_add(filled({n, c, h.padded(), w.padded()}, 0, x), 2, h.place(x), rows);
  const Tensor image = at::narrow(at::narrow(sum, 2, h.padding, h.size), 3, w.padding, w.size);
  const Tensor result = at::clone(cast(image, self.scalar_type()), MemoryFormat::Contiguous);
  return self.dim() == 2 ? at::squeeze(result, 0) : result;
}

}  // namespace at::decompositions
