#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

TEST(Join, CatGivesBackItsParts) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Bool, ScalarType::ComplexDouble, ScalarType::Half}) {
    for (int64_t dim = 0; dim < 3; ++dim) {
      std::vector<std::vector<int64_t>> shapes(3, {3, 4, 5});
      shapes[1][static_cast<size_t>(dim)] = 1;
      shapes[2][static_cast<size_t>(dim)] = 0;
      const std::vector<Tensor> bases = {sample(shapes[0], type, 1), sample(shapes[1], type, 2), sample(shapes[2], type, 3)};
      for (size_t l = 0; l < 4; ++l) {
        std::vector<Tensor> parts;
        for (const Tensor& b : bases) parts.push_back(layouts(b)[l]);
        const Tensor joined = at::cat(parts, dim - 3);
        int64_t start = 0;
        for (const Tensor& p : parts) {
          expect_close(at::narrow(joined, dim, start, p.sizes()[dim]), p, 0, 0);
          start += p.sizes()[dim];
        }
        EXPECT_EQ(start, joined.sizes()[dim]);
      }
    }
  }
}

TEST(Join, StackAndRelatives) {
  const Tensor a = tensor_of({1, 2}, {2}), b = tensor_of({3, 4}, {2});
  expect_close(at::stack({a, b}), {1, 2, 3, 4});
  const Tensor columns = at::stack({a, b}, -1);
  EXPECT_EQ(sizes(columns), (std::vector<int64_t>{2, 2}));
  expect_close(columns, {1, 3, 2, 4});
  expect_close(at::hstack({a, b}), {1, 2, 3, 4});
  EXPECT_EQ(sizes(at::vstack({a, b})), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(sizes(at::dstack({a, b})), (std::vector<int64_t>{1, 2, 2}));
  expect_close(at::column_stack({a, b}), {1, 3, 2, 4});
  expect_close(at::pad_sequence({a, tensor_of({5}, {1})}, true, 9), {1, 2, 5, 9});
  for (const Tensor& t : layouts(sample({2, 3, 4}))) {
    const Tensor s = at::stack({t, t}, 1);
    expect_close(at::select(s, 1, 1), t, 0, 0);
  }
}

TEST(Join, PromotesAndSkipsEmptyVectors) {
  EXPECT_EQ(at::cat({sample({1}, ScalarType::Int), sample({1}, ScalarType::Half)}).scalar_type(), ScalarType::Half);
  const Tensor m = sample({2, 3});
  expect_close(at::cat({sample({0}), m}, 1), m, 0, 0);
  Tensor out = blank({0}, ScalarType::Float);
  at::cat_out(out, {m, m}, 0);
  EXPECT_EQ(sizes(out), (std::vector<int64_t>{4, 3}));
}

TEST(Join, BadArguments) {
  expect_error<Error>([] { at::cat(std::vector<Tensor>{}); }, "expected a non-empty list of Tensors");
  expect_error<Error>([] { at::cat({sample({2, 3}), sample({2, 4})}, 0); }, "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.");
  expect_error<Error>([] { at::cat({sample({2, 3}), sample({2})}, 0); }, "Tensors must have same number of dimensions: got 2 and 1");
  expect_error<Error>([] { at::cat({sample({}), sample({})}); }, "zero-dimensional tensor (at position 0) cannot be concatenated");
  expect_error<IndexError>([] { at::cat({sample({2})}, 1); }, "Dimension out of range");
  expect_error<Error>([] { at::stack({sample({2}), sample({3})}); }, "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1");
}

}  // namespace
}  // namespace at::testing
