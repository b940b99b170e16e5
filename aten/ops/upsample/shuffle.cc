// pixel_shuffle, pixel_unshuffle, channel_shuffle: rearrangements by views.
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/view/ops.h"
#include "c10/util/safe_numerics.h"

namespace at::native {
namespace {

// a * b of sizes of a tensor that may be empty.
int64_t product(int64_t a, int64_t b) {
  int64_t c = 0;
  TORCH_CHECK(!__builtin_mul_overflow(a, b, &c), "the size of the result, ", a, " * ", b, ", is too large");
  return c;
}

// The dimensions before the last three, then `rest`.
DimVector with_batch(const Tensor& self, IntArrayRef rest) {
  DimVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return sizes;
}
Tensor permuted_tail(const Tensor& t, int64_t batch_dims, IntArrayRef tail) {
  DimVector order;
  for (int64_t d = 0; d < batch_dims; ++d) order.push_back(d);
  for (int64_t d : tail) order.push_back(batch_dims + d);
  return at::permute(t, order);
}

}  // namespace

// [*, C r^2, H, W] to [*, C, H r, W r].
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  TORCH_CHECK(self.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TORCH_CHECK(upscale_factor > 0, "pixel_shuffle expects a positive upscale_factor, but got ", upscale_factor);
  const int64_t r = upscale_factor, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  int64_t square = 0;
  TORCH_CHECK(!c10::mul_overflows(r, r, &square), "pixel_shuffle: upscale_factor ", r, " is too large");
  TORCH_CHECK(
      c % square == 0,
      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
      "input.size(-3)=",
      c, " is not divisible by ", square);
  const Tensor parts = at::reshape(self, with_batch(self, {c / square, r, r, h, w}));
  return at::reshape(permuted_tail(parts, self.dim() - 3, {0, 3, 1, 4, 2}),
                     with_batch(self, {c / square, product(h, r), product(w, r)}));
}

// [*, C, H r, W r] to [*, C r^2, H, W].
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  TORCH_CHECK(self.dim() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TORCH_CHECK(downscale_factor > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", downscale_factor);
  const int64_t r = downscale_factor, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  TORCH_CHECK(h % r == 0, "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=", h,
              " is not divisible by ", r);
  TORCH_CHECK(w % r == 0, "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=", w,
              " is not divisible by ", r);
  const Tensor parts = at::reshape(self, with_batch(self, {c, h / r, r, w / r, r}));
  return at::reshape(permuted_tail(parts, self.dim() - 3, {0, 2, 4, 1, 3}),
                     with_batch(self, {product(product(c, r), r), h / r, w / r}));
}

// [N, C, *]: channel g (C / groups) + i becomes i groups + g.
Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  TORCH_CHECK(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ", self.sizes());
  TORCH_CHECK(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:", groups);
  const int64_t c = self.size(1);
  TORCH_CHECK(c % groups == 0, "Number of channels must be divisible by groups. Got ", c, " channels and ", groups,
              " groups.");
  if (self.numel() == 0) return at::alias(self);
  const Tensor parts = at::reshape(self, {self.size(0), groups, c / groups, -1});
  return at::reshape(at::transpose(parts, 1, 2), self.sizes());
}

}  // namespace at::native
