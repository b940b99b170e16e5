#include "aten/ops/rearrange/ops.h"

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;

Tensor range(int64_t rows, int64_t columns) {
  return at::reshape(at::arange(rows * columns, at::kFloat), {rows, columns});
}

double at_index(const Tensor& t, std::vector<int64_t> index) {
  int64_t offset = t.storage_offset();
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
  return at::item(at::make_view(t, {}, {}, offset)).toDouble();
}

TEST(Rearrange, RepeatTileFlipRoll) {
  const Tensor a = range(2, 3);
  const Tensor r = at::repeat(a, {2, 1, 2});
  EXPECT_EQ(r.sizes(), at::IntArrayRef({2, 2, 6}));
  EXPECT_EQ(at_index(r, {1, 1, 4}), at_index(a, {1, 1}));
  EXPECT_THROW(at::repeat(a, {2}), c10::Error);
  EXPECT_EQ(at::tile(a, {2}).sizes(), at::IntArrayRef({2, 6}));
  const Tensor f = at::flip(a, {0, -1});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(at_index(f, {i, j}), at_index(a, {1 - i, 2 - j}));
  }
  EXPECT_THROW(at::flip(a, {0, 0}), c10::Error);
  const Tensor rolled = at::roll(a, {1, -1}, {0, 1});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(at_index(rolled, {i, j}), at_index(a, {1 - i, (j + 1) % 3}));
  }
  EXPECT_EQ(at_index(at::roll(a, 1), {0, 0}), 5);
  const Tensor turned = at::rot90(a, 1, {0, 1});
  EXPECT_EQ(turned.sizes(), at::IntArrayRef({3, 2}));
  EXPECT_EQ(at_index(turned, {0, 0}), 2);
  const Tensor each = at::repeat_interleave(a, 2, 1);
  EXPECT_EQ(each.sizes(), at::IntArrayRef({2, 6}));
  EXPECT_EQ(at_index(each, {1, 3}), at_index(a, {1, 1}));
}

}  // namespace
