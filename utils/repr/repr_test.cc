#include "utils/repr/repr.h"

#include <gtest/gtest.h>

#include "aten/core/tensor_literal.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/sparse/ops.h"
#include "autograd/factories.h"
#include "autograd/nested.h"

namespace torch {
namespace {

TEST(Repr, OptionsAreForAllThatFollowsAndChecked) {
  const at::Tensor x = torch::tensor({1.5, -2.});
  EXPECT_EQ(repr(x), "tensor([ 1.5000, -2.0000])");
  PrintOptions two;
  two.precision = 2;
  EXPECT_EQ(repr(x, two), "tensor([ 1.50, -2.00])");
  set_printoptions(two);
  EXPECT_EQ(get_printoptions().precision, 2);
  EXPECT_EQ(repr(x), "tensor([ 1.50, -2.00])");
  set_printoptions(PrintOptions::profile("default"));
  EXPECT_EQ(repr(x), "tensor([ 1.5000, -2.0000])");

  for (auto spoil : {+[](PrintOptions& o) { o.precision = 101; }, +[](PrintOptions& o) { o.threshold = -1; },
                     +[](PrintOptions& o) { o.edgeitems = -1; }, +[](PrintOptions& o) { o.linewidth = 0; }}) {
    PrintOptions bad;
    spoil(bad);
    EXPECT_THROW(set_printoptions(bad), c10::ValueError);
  }
  EXPECT_THROW(PrintOptions::profile("long"), c10::ValueError);
  EXPECT_EQ(get_printoptions().precision, 4);
}

TEST(Repr, NothingOfATensorNeedBeThere) {
  EXPECT_EQ(repr(at::Tensor()), "None");
  EXPECT_EQ(repr(at::empty({2, 0})), "tensor([], size=(2, 0))");
  PrintOptions none;
  none.threshold = 1;
  none.edgeitems = 0;
  EXPECT_EQ(repr(torch::tensor({1, 2, 3}), none), "tensor([...])");
}

TEST(Repr, SparseTensorsShowTheirParts) {
  const at::Tensor t = at::sparse_coo_tensor(torch::tensor({{0, 1}, {2, 0}}), torch::tensor({1.5, 2.}), {2, 3});
  EXPECT_EQ(repr(t), "tensor(indices=tensor([[0, 1],\n                       [2, 0]]),\n       values=tensor([1.5000, 2.0000]),\n"
                     "       size=(2, 3), nnz=2, layout=torch.sparse_coo)");
  EXPECT_EQ(repr(at::zeros({2, 3}, at::TensorOptions(at::kSparse).dtype(at::kDouble))),
            "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n"
            "       size=(2, 3), nnz=0, dtype=torch.float64, layout=torch.sparse_coo)");
  EXPECT_EQ(repr(at::kSparse), "torch.sparse_coo");
}

TEST(Repr, NestedTensorsShowTheirParts) {
  const at::Tensor t = torch::nested::nested_tensor({torch::tensor({{1., 2.}, {3., 4.}}), torch::tensor({{5., 6.}})});
  EXPECT_EQ(repr(t), "nested_tensor([\n  tensor([[1., 2.],\n          [3., 4.]]),\n  tensor([[5., 6.]])\n])");
  const at::Tensor leaf = torch::nested::nested_tensor({torch::tensor({1.})}, at::TensorOptions().requires_grad(true));
  EXPECT_EQ(repr(leaf), "nested_tensor([\n  tensor([1.], requires_grad=True)\n], requires_grad=True)");
  EXPECT_EQ(repr(torch::nested::nested_tensor(std::vector<at::Tensor>())), "nested_tensor([\n\n])");
  // Of the jagged layout their size and where they begin; the ragged dimension has a number.
  const at::Tensor jagged = torch::nested::nested_tensor({{1., 2.}, {3.}}, torch::kJagged);
  const std::string text = repr(jagged), behind = ", offsets=tensor([0, 2, 3]), contiguous=True)";
  EXPECT_EQ(text.substr(0, 23), "NestedTensor(size=(2, j");
  EXPECT_EQ(text.substr(text.find(')') + 1), behind);
  EXPECT_EQ(repr(jagged.clone()), text);
}

TEST(Repr, ZerosAloneHaveNoExponents) {
  PrintOptions options;
  options.sci_mode = true;
  EXPECT_EQ(repr(torch::tensor({-0.0, 0.0}), options), "tensor([-0., 0.])");
  EXPECT_EQ(repr(torch::tensor({0.0, 1.0}), options), "tensor([0.0000e+00, 1.0000e+00])");
}

TEST(Repr, CompressedSparseTensors) {
  const at::Tensor t = torch::tensor({{1., 0., 2., 0.}, {0., 0., 3., 0.}, {0., 4., 0., 0.}, {5.5, 0., 0., 6.}});
  EXPECT_EQ(repr(at::to_sparse_csr(t)),
            "tensor(crow_indices=tensor([0, 2, 3, 4, 6]),\n       col_indices=tensor([0, 2, 2, 1, 0, 3]),\n"
            "       values=tensor([1.0000, 2.0000, 3.0000, 4.0000, 5.5000, 6.0000]),\n"
            "       size=(4, 4), nnz=6, layout=torch.sparse_csr)");
  EXPECT_EQ(repr(at::to_sparse_csc(t.to(at::kDouble)).set_requires_grad(true)),
            "tensor(ccol_indices=tensor([0, 2, 3, 5, 6]),\n       row_indices=tensor([0, 3, 2, 0, 1, 3]),\n"
            "       values=tensor([1.0000, 5.5000, 4.0000, 2.0000, 3.0000, 6.0000]),\n"
            "       size=(4, 4), nnz=6, dtype=torch.float64, layout=torch.sparse_csc,\n       requires_grad=True)");
  EXPECT_EQ(repr(at::to_sparse_bsr(torch::tensor({{1., 0.}, {0., 0.}}), {2, 2})),
            "tensor(crow_indices=tensor([0, 1]),\n       col_indices=tensor([0]),\n"
            "       values=tensor([[[1., 0.],\n                       [0., 0.]]]), size=(2, 2), nnz=1,\n"
            "       layout=torch.sparse_bsr)");
}

TEST(Repr, NumbersAtTheEndsOfTheirTypes) {
  EXPECT_EQ(repr(torch::tensor({std::numeric_limits<int64_t>::min()})), "tensor([-9223372036854775808])");
  EXPECT_EQ(repr(at::full({1}, std::numeric_limits<double>::max(), at::TensorOptions(at::kDouble))),
            "tensor([1.7977e+308], dtype=torch.float64)");
}

}  // namespace
}  // namespace torch
