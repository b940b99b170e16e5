// What factories, linear layers, queries and functions of complex numbers do with sparse tensors of all layouts.
#include <functional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Layout;
using at::Tensor;
using c10::testing::message_of;
using torch::autograd::variable_list;

constexpr Layout kLayouts[] = {at::kSparse, at::kSparseCsr, at::kSparseCsc, at::kSparseBsr, at::kSparseBsc};
constexpr Layout kCompressed[] = {at::kSparseCsr, at::kSparseCsc, at::kSparseBsr, at::kSparseBsc};

bool is_blocked(Layout layout) { return layout == at::kSparseBsr || layout == at::kSparseBsc; }
bool by_rows(Layout layout) { return layout == at::kSparseCsr || layout == at::kSparseBsr; }

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b)) << a << b;
}

std::string text(const std::function<void()>& call) {
  const std::string message = message_of(call);
  return message.substr(0, message.find('\n'));
}

// 4 x 4, of which each 2 x 2 block has an element.
Tensor matrix() {
  return torch::tensor({{0, 1, 2, 0}, {3, 0, 0, 0}, {0, 4, 0, 5}, {6, 0, 7, 8}}).to(at::kDouble);
}

// A vector of float64.
Tensor doubles(const std::vector<double>& numbers) { return torch::tensor(numbers, at::kDouble); }

Tensor in_layout(const Tensor& t, Layout layout) {
  const std::vector<int64_t> block{2, 2};
  return t.to_sparse(layout, is_blocked(layout) ? at::OptionalIntArrayRef(block) : at::OptionalIntArrayRef());
}

Tensor values_of(const Tensor& t) { return t.layout() == at::kSparse ? t._values() : t.values(); }
Tensor pointers_of(const Tensor& t) { return by_rows(t.layout()) ? t.crow_indices() : t.ccol_indices(); }
Tensor places_of(const Tensor& t) { return by_rows(t.layout()) ? t.col_indices() : t.row_indices(); }

// A tensor at the places of `like`, through which gradients flow to `values`.
Tensor with_values(const Tensor& like, const Tensor& values) {
  if (like.layout() == at::kSparse) return at::sparse_coo_tensor(like._indices(), values, like.sizes());
  return at::sparse_compressed_tensor(pointers_of(like), places_of(like), values, like.sizes(),
                                      at::TensorOptions().layout(like.layout()));
}

void expect_derivatives(const std::function<Tensor(const variable_list&)>& f, const variable_list& inputs) {
  const auto function = [&](const variable_list& v) -> variable_list { return {f(v)}; };
  const auto first = torch::autograd::gradcheck(function, inputs);
  EXPECT_TRUE(first) << first.message;
  const auto second = torch::autograd::gradgradcheck(function, inputs);
  EXPECT_TRUE(second) << second.message;
}

Tensor numbers(at::IntArrayRef sizes, at::ScalarType type = at::kDouble) {
  at::manual_seed(3);
  return at::randn(sizes, type).requires_grad_();
}

// --- gradients of masks and of complex factors ---
TEST(SparseMaskGradients, AreThoseOfThePlacesOfTheMask) {
  // Cotangents name all places, also those that the mask does not.
  const auto whole = [](const Tensor& t) { return t.to_dense(std::nullopt, false); };
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(c10::toString(layout));
    const Tensor mask = in_layout(matrix(), layout);
    const Tensor kept = with_values(mask, at::ones_like(values_of(mask))).to_dense();
    Tensor x = numbers({4, 4});
    (whole(x.sparse_mask(mask)) * matrix().add(1)).sum().backward();
    expect_equal(x.grad(), matrix().add(1) * kept);
    expect_derivatives([&](const variable_list& v) { return whole(v[0].sparse_mask(mask)).pow(2); }, {x});
  }
  // An element stands in the result as often as the mask names its place.
  const Tensor twice = at::sparse_coo_tensor(torch::tensor({{2, 0, 2}}), at::ones({3}), {4});
  Tensor x = doubles({1, 2, 3, 4}).requires_grad_();
  const Tensor grad = at::sparse_coo_tensor(torch::tensor({{0, 1, 2}}), doubles({10, 20, 30}), {4});
  expect_equal(torch::autograd::grad({x.sparse_mask(twice)}, {x}, {grad})[0], doubles({10, 0, 60, 0}));
  expect_derivatives([&](const variable_list& v) { return v[0].sparse_mask(twice).to_dense().pow(2); }, {x});
  // Of a sparse self too; the gradient has the places that mask and cotangent share.
  Tensor self = at::sparse_coo_tensor(torch::tensor({{1, 2}}), doubles({5, 7}), {4}).coalesce().requires_grad_();
  const Tensor of_self = torch::autograd::grad({self.sparse_mask(twice)}, {self}, {grad})[0];
  ASSERT_TRUE(of_self.is_sparse());
  expect_equal(of_self.to_dense(), doubles({10, 0, 60, 0}));
  // A mask takes no part.
  Tensor mask = in_layout(matrix(), at::kSparse).requires_grad_();
  x = numbers({4, 4});
  x.sparse_mask(mask).to_dense().sum().backward();
  EXPECT_FALSE(mask.grad().defined());
  expect_equal(x.grad(), matrix().ne(0).to(at::kDouble));
}

TEST(SparseGradients, OfAComplexBetaAreConjugated) {
  const c10::complex<double> beta(2, 3), alpha(1, -2);
  const Tensor places = matrix().to_sparse_csr();
  const Tensor left = numbers({4, 2}, at::kComplexDouble), right = numbers({2, 4}, at::kComplexDouble);
  Tensor values = numbers({8}, at::kComplexDouble);
  expect_derivatives(
      [&](const variable_list& v) {
        return at::sparse_sampled_addmm(with_values(places, v[0]), v[1], v[2], beta, alpha).to_dense();
      },
      {values, left, right});
  expect_derivatives(
      [&](const variable_list& v) { return at::_sparse_addmm(v[0], with_values(places, v[1]), v[2], beta, alpha); },
      {numbers({4, 3}, at::kComplexDouble), values, numbers({4, 3}, at::kComplexDouble)});
  Tensor self = at::ones({2, 2}, at::kComplexDouble).requires_grad_();
  const Tensor eye = at::eye(2, at::kComplexDouble);
  const Tensor y = at::_sparse_addmm(self, eye.to_sparse(), eye, beta);
  expect_equal(torch::autograd::grad({y}, {self}, {eye})[0], eye * c10::complex<double>(2, -3));
}

// --- layers ---
TEST(SparseLinear, HasTheProductsAndGradientsOfADenseWeight) {
  const Tensor bias = doubles({1, -2, 3, -4}).requires_grad_();
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(c10::toString(layout));
    const Tensor weight = in_layout(matrix(), layout);
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{4}, {3, 4}, {2, 3, 4}}) {
      Tensor input = numbers(sizes);
      const Tensor y = at::linear(input, weight);
      EXPECT_EQ(y.layout(), at::kStrided);
      expect_equal(y, at::linear(input, matrix()));
      Tensor values = values_of(weight).clone().requires_grad_();
      expect_derivatives([&](const variable_list& v) { return at::linear(v[0], with_values(weight, v[1])); },
                         {input, values});
      expect_equal(at::linear(input, weight, bias), at::linear(input, matrix(), bias));
      expect_derivatives([&](const variable_list& v) { return at::linear(v[0], with_values(weight, v[1]), v[2]); },
                         {input, values, bias});
    }
    // A sparse input.
    const Tensor dense = numbers({3, 4}), input = in_layout(matrix(), layout);
    Tensor values = values_of(input).clone().requires_grad_();
    expect_equal(at::linear(input, dense), at::linear(matrix(), dense));
    expect_derivatives(
        [&](const variable_list& v) { return at::linear(with_values(input, v[0]), v[1], v[2]); },
        {values, dense, doubles({1, 2, 3}).requires_grad_()});
  }
  // The gradient of a sparse weight is dense, as that of the product.
  Tensor leaf = matrix().to_sparse_csr().requires_grad_();
  at::linear(numbers({3, 4}), leaf).sum().backward();
  EXPECT_EQ(leaf.grad().sizes(), leaf.sizes());
  // A vector in coordinates as weight.
  const Tensor vector = doubles({0, 2, 0, 3});
  expect_equal(at::linear(matrix(), vector.to_sparse()), at::linear(matrix(), vector));
  const Tensor places = vector.to_sparse();
  for (const bool linear : {false, true}) {
    expect_derivatives(
        [&](const variable_list& v) {
          const Tensor t = with_values(places, v[1]);
          return linear ? at::linear(v[0], t) : at::mv(v[0], t);
        },
        {numbers({3, 4}), numbers({2})});
  }
  // Two sparse ones.
  const Tensor product = at::linear(matrix().to_sparse(), matrix().to_sparse());
  EXPECT_TRUE(product.is_sparse());
  expect_equal(product.to_dense(), at::mm(matrix(), matrix().t()));
}

TEST(SparseLinear, RefusesWhatDoesNotFit) {
  const Tensor input = at::ones({3, 4}, at::kDouble), weight = matrix().to_sparse_csr();
  EXPECT_EQ(text([&] { at::linear(input, matrix(), at::ones({4}, at::kDouble).to_sparse()); }),
            "linear: expand is unsupported for Sparse tensors");
  EXPECT_THROW(at::linear(at::ones({3, 5}, at::kDouble), weight), c10::Error);
  EXPECT_THROW(at::linear(at::ones({3, 4}), weight), c10::Error);
  EXPECT_THROW(at::linear(at::ones({}, at::kDouble), weight), c10::Error);
  EXPECT_THROW(at::linear(input, at::stack({matrix(), matrix()}).to_sparse_csr()), c10::Error);
  EXPECT_THROW(at::linear(input, weight, at::ones({3}, at::kDouble)), c10::Error);
}

TEST(SparseEmbedding, GivesRowsOfATableInCoordinates) {
  const Tensor table = matrix().to_sparse(), rows = at::embedding(table, torch::tensor({3, 0, 3}));
  EXPECT_TRUE(rows.is_sparse());
  expect_equal(rows.to_dense(), at::embedding(matrix(), torch::tensor({3, 0, 3})));
  EXPECT_EQ(at::embedding(table, at::empty({0}, at::kLong)).sizes(), (std::vector<int64_t>{0, 4}));
  EXPECT_THROW(at::embedding(table, torch::tensor({4})), c10::IndexError);
  EXPECT_THROW(at::embedding(table, torch::tensor({{0, 1}})), c10::NotImplementedError);
  EXPECT_THROW(at::embedding(table, torch::tensor({0.5})), c10::Error);
  EXPECT_THROW(at::embedding(table.to_sparse_csr(), torch::tensor({1})), c10::NotImplementedError);
  EXPECT_THROW(at::embedding(at::ones({3}).to_sparse(), torch::tensor({1})), c10::Error);
  Tensor leaf = matrix().to_sparse().requires_grad_();
  EXPECT_THROW(at::embedding(leaf, torch::tensor({1})).to_dense().sum().backward(), c10::NotImplementedError);
}

// --- factories ---
TEST(SparseFactories, LikeATensorOfEachLayout) {
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(c10::toString(layout));
    const Tensor t = in_layout(matrix(), layout);
    const Tensor zeros = at::zeros_like(t, at::kFloat);
    EXPECT_EQ(zeros.layout(), layout);
    EXPECT_EQ(zeros.scalar_type(), at::kFloat);
    EXPECT_EQ(zeros._nnz(), 0);
    EXPECT_EQ(zeros.sizes(), t.sizes());
    const Tensor empty = at::empty_like(t);
    EXPECT_EQ(empty.layout(), layout);
    if (layout == at::kSparse) {
      EXPECT_EQ(empty._nnz(), 0);
      EXPECT_THROW(at::ones_like(t), c10::NotImplementedError);
      EXPECT_THROW(at::full_like(t, 2), c10::NotImplementedError);
      EXPECT_THROW(at::randn_like(t), c10::NotImplementedError);
      EXPECT_EQ(text([&] { at::empty_like(t, at::TensorOptions(), at::MemoryFormat::Contiguous); }),
                "memory format option is only supported by strided tensors");
      expect_equal(at::ones_like(t, at::kStrided), at::ones({4, 4}, at::kDouble));
      continue;
    }
    // A compressed one keeps its places.
    EXPECT_EQ(empty.values().sizes(), t.values().sizes());
    expect_equal(pointers_of(empty), pointers_of(t));
    expect_equal(places_of(empty), places_of(t));
    EXPECT_NE(places_of(empty).data_ptr(), places_of(t).data_ptr());
    expect_equal(at::ones_like(t).values(), at::ones_like(t.values()));
    const Tensor fives = at::full_like(t, 5, at::kLong);
    EXPECT_EQ(fives.layout(), layout);
    expect_equal(fives.values(), at::full_like(t.values(), 5, at::kLong));
    at::manual_seed(7);
    const Tensor drawn = at::randn_like(t);
    at::manual_seed(7);
    expect_equal(drawn.values(), at::randn_like(t.values()));
    EXPECT_THROW(at::rand_like(t), c10::NotImplementedError);
    EXPECT_THROW(at::randint_like(t, 3), c10::NotImplementedError);
    EXPECT_THROW(at::empty_like(t, at::kStrided), c10::Error);
    EXPECT_THROW(at::ones_like(t, at::kStrided), c10::Error);
    EXPECT_THROW(at::zeros_like(t, at::kStrided), c10::Error);
    EXPECT_EQ(at::zeros_like(t, at::kSparse).layout(), at::kSparse);
  }
  EXPECT_EQ(text([] { at::empty_like(at::eye(2).to_sparse_csr(), at::kSparseCsc); }),
            "empty_like with different sparse layout is not supported (self is SparseCsr but you requested SparseCsc)");
}

TEST(SparseFactories, ZerosOfAnotherLayoutKeepTheDenseDimensions) {
  const Tensor hybrid = at::ones({4, 6, 3}, at::kDouble).to_sparse(2);
  const Tensor csr = at::zeros_like(hybrid, at::kSparseCsr);
  EXPECT_EQ(csr.crow_indices().sizes(), (std::vector<int64_t>{5}));
  EXPECT_EQ(csr.values().sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(at::zeros_like(csr, at::kSparseCsc).ccol_indices().sizes(), (std::vector<int64_t>{7}));
  EXPECT_EQ(at::zeros_like(csr, at::kSparse).sparse_dim(), 2);
  const Tensor blocks = at::ones({4, 6}).to_sparse_bsr({2, 3});
  EXPECT_EQ(at::zeros_like(blocks, at::kSparseBsc).values().sizes(), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_THROW(at::zeros_like(csr, at::kSparseBsr), c10::Error);
  EXPECT_THROW(at::zeros_like(blocks, at::kSparseCsr), c10::Error);
  EXPECT_THROW(at::zeros_like(at::ones({3}).to_sparse(), at::kSparseCsr), c10::Error);
  EXPECT_EQ(at::zeros_like(at::ones({2, 3}), at::kSparseCsr).layout(), at::kSparseCsr);
  EXPECT_THROW(at::ones_like(at::ones({2, 3}), at::kSparse), c10::NotImplementedError);
}

TEST(SparseFactories, OfASize) {
  for (const Layout layout : {at::kSparseCsr, at::kSparseCsc}) {
    const Tensor dense = at::ones({2}), coo = at::eye(2).to_sparse();
    for (const Tensor& t :
         {at::zeros({3, 5}, layout), at::empty({3, 5}, layout), at::ones({3, 5}, layout), at::full({3, 5}, 2.0, layout),
          at::randn({3, 5}, layout), dense.new_zeros({3, 5}, layout), dense.new_ones({3, 5}, layout),
          coo.new_full({3, 5}, 2, layout)}) {
      EXPECT_EQ(t.layout(), layout);
      EXPECT_EQ(t._nnz(), 0);
      EXPECT_EQ(t.scalar_type(), at::kFloat);
      EXPECT_EQ(t.sizes(), (std::vector<int64_t>{3, 5}));
    }
    EXPECT_EQ(at::ones({2, 3, 4}, layout).values().sizes(), (std::vector<int64_t>{2, 0}));
    EXPECT_THROW(at::rand({3, 5}, layout), c10::NotImplementedError);
    EXPECT_THROW(at::randint(4, {3, 5}, layout), c10::NotImplementedError);
    EXPECT_THROW(at::ones({3}, layout), c10::Error);
    EXPECT_THROW(at::ones({-1, 2}, layout), c10::Error);
    EXPECT_THROW(at::empty_strided({3, 5}, {5, 1}, layout), c10::NotImplementedError);
  }
  EXPECT_THROW(at::ones({4, 4}, at::kSparseBsr), c10::Error);
  EXPECT_EQ(text([] { at::full({2}, 1, at::kSparse); }), "full(...) is not implemented for sparse layout");
  EXPECT_EQ(text([] { at::ones({2}, at::kSparse); }), "full(...) is not implemented for sparse layout");
  EXPECT_THROW(at::randn({2}, at::kSparse), c10::NotImplementedError);
  EXPECT_EQ(at::ones({2}).new_empty({4}, at::kSparse).layout(), at::kSparse);
  EXPECT_THROW(at::ones({2}).new_ones({4}, at::kSparse), c10::NotImplementedError);
  EXPECT_EQ(at::scalar_tensor(2, at::kSparse).layout(), at::kStrided);
  EXPECT_EQ(at::eye(2).to_sparse_csr().new_ones({3, 3}).layout(), at::kSparseCsr);
}

TEST(SparseFactories, WritesToAllValues) {
  for (const Layout layout : kCompressed) {
    SCOPED_TRACE(c10::toString(layout));
    Tensor t = in_layout(matrix(), layout);
    const auto version = t._version();
    EXPECT_TRUE(t.fill_(3).is_same(t));
    EXPECT_GT(t._version(), version);
    expect_equal(t.values(), at::full_like(t.values(), 3));
    const Tensor filled = at::fill(t, 4);
    expect_equal(filled.values(), at::full_like(t.values(), 4));
    expect_equal(t.values(), at::full_like(t.values(), 3));
    at::manual_seed(5);
    t.normal_(1, 2);
    at::manual_seed(5);
    expect_equal(t.values(), at::empty_like(t.values()).normal_(1, 2));
    EXPECT_THROW(t.uniform_(), c10::NotImplementedError);
    EXPECT_THROW(t.fill_(torch::tensor(1.0)), c10::NotImplementedError);
  }
  Tensor t = matrix().to_sparse();
  EXPECT_THROW(t.fill_(3), c10::NotImplementedError);
  EXPECT_THROW(at::fill(t, 3), c10::NotImplementedError);
  EXPECT_THROW(t.normal_(), c10::NotImplementedError);
}

TEST(SparseFactories, CopiesOfOtherSizesAndNumbersOfElements) {
  Tensor t = matrix().to_sparse();
  const Tensor larger = at::arange(30, at::kDouble).reshape({5, 6}).to_sparse();
  t.copy_(larger);
  expect_equal(t.to_dense(), larger.to_dense());
  EXPECT_THROW(t.copy_(matrix().to_sparse()), c10::Error);
  EXPECT_THROW(t.copy_(larger.to_dense().to_sparse(1)), c10::Error);
  Tensor empty = at::zeros({3}, at::TensorOptions(at::kSparse).dtype(at::kDouble));
  empty.copy_(matrix().to_sparse(1));
  EXPECT_EQ(empty.sparse_dim(), 1);
  expect_equal(empty.to_dense(), matrix());
  Tensor csr = matrix().to_sparse_csr();
  csr.copy_((matrix() * 2).to_sparse_csr());
  expect_equal(csr.to_dense(), matrix() * 2);
  EXPECT_EQ(text([&] { csr.copy_(at::eye(4, at::kDouble).to_sparse_csr()); }),
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported.");
  EXPECT_THROW(csr.copy_(matrix().to_sparse_csc()), c10::Error);
}

TEST(SparseFactories, Resized) {
  const Tensor from = torch::tensor({{0, 1, 2}, {3, 0, 0}, {0, 0, 4}}).to(at::kDouble);
  Tensor t = from.to_sparse_csr();
  EXPECT_TRUE(t.resize_({4, 5}).is_same(t));
  expect_equal(t.crow_indices(), torch::tensor({0, 2, 3, 4, 4}));
  Tensor wide = at::zeros({4, 5}, at::kDouble);
  wide.narrow(0, 0, 3).narrow(1, 0, 3).copy_(from);
  expect_equal(t.to_dense(), wide);
  // Rows that go leave their elements to the last one.
  t = from.to_sparse_csr();
  t.resize_({2, 4});
  expect_equal(t.crow_indices(), torch::tensor({0, 2, 4}));
  expect_equal(t.values(), doubles({1, 2, 3, 4}));
  t = from.to_sparse_csc();
  t.resize_({4, 5});
  expect_equal(t.to_dense(), wide);
  t = from.to_sparse_csr();
  t.resize_({2, 3, 3});
  expect_equal(at::select(t, 0, 0).to_dense(), from);
  EXPECT_EQ(t.values().sizes(), (std::vector<int64_t>{2, 4}));
  t.resize_({3, 4});
  expect_equal(t.to_dense().narrow(1, 0, 3), from);
  EXPECT_EQ(text([&] { t.resize_({3, 2}); }),
            "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original "
            "number of columns is 4 while the requested new number of columns is 2.");
  EXPECT_EQ(text([&] { t.resize_({4}); }),
            "torch.resize_: Only batched sparse CSR matrices are supported, but got size [4]");
  EXPECT_THROW(t.resize_({-1, 4}), c10::Error);
  Tensor columns = from.to_sparse_csc();
  EXPECT_THROW(columns.resize_({2, 3}), c10::Error);
  Tensor blocks = at::ones({2, 2}).to_sparse_bsr({1, 2});
  EXPECT_THROW(blocks.resize_({4, 4}), c10::Error);
  Tensor none = at::zeros({2, 2}, at::kSparseCsr);
  none.resize_({3, 5});
  expect_equal(none.to_dense(), at::zeros({3, 5}));
  Tensor coo = from.to_sparse();
  EXPECT_THROW(coo.resize_({4, 4}), c10::NotImplementedError);
  // To the size of another tensor.
  coo.resize_as_(at::zeros({4, 5}, at::kSparse));
  expect_equal(coo.to_dense(), wide);
  EXPECT_THROW(coo.resize_as_(at::ones({4, 5})), c10::NotImplementedError);
  EXPECT_THROW(coo.resize_as_(at::zeros({2, 2}, at::kSparse)), c10::Error);
  t = from.to_sparse_csr();
  expect_equal(t.resize_as_(at::ones({4, 5})).to_dense(), wide);
  EXPECT_EQ(at::ones({1}).resize_as_(t).sizes(), (std::vector<int64_t>{4, 5}));
}

// --- queries ---
TEST(SparseQueries, ThoseOfAnyTensor) {
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(c10::toString(layout));
    const Tensor t = in_layout(matrix(), layout);
    EXPECT_EQ(at::size(t, 0), 4);
    EXPECT_THROW(at::size(t, 2), c10::IndexError);
    EXPECT_FALSE(t.is_pinned());
    EXPECT_FALSE(at::is_distributed(t));
    EXPECT_TRUE(at::is_same_size(t, matrix()));
    EXPECT_EQ(at::result_type(t, matrix().to(at::kFloat)), at::kDouble);
    EXPECT_EQ(at::result_type(t.to(at::kLong), 2.5), at::kFloat);
    EXPECT_EQ(at::result_type(2, t), at::kDouble);
    expect_equal(at::_shape_as_tensor(t), torch::tensor({4, 4}));
    EXPECT_THROW(at::equal(t, t), c10::NotImplementedError);
    EXPECT_EQ(at::sym_numel(t), 16);
    EXPECT_EQ(at::sym_size(t, 1), 4);
    EXPECT_EQ(at::sym_storage_offset(t), 0);
    if (layout == at::kSparse) {
      EXPECT_EQ(at::stride(t, 1), 0);
      EXPECT_FALSE(at::sym_is_contiguous(t));
    } else {
      EXPECT_THROW(at::stride(t, 1), c10::Error);
      EXPECT_THROW(at::sym_is_contiguous(t), c10::Error);
    }
  }
  const Tensor nested = at::_nested_tensor_from_tensor_list({at::ones({2, 3}), at::ones({4, 3})});
  EXPECT_FALSE(nested.is_pinned());
  EXPECT_FALSE(at::is_distributed(nested));
  EXPECT_TRUE(at::sym_is_contiguous(nested));
  EXPECT_TRUE(at::sym_is_contiguous(at::ones({2, 3})));
  EXPECT_FALSE(at::sym_is_contiguous(at::ones({2, 3}).t()));
  EXPECT_TRUE(at::sym_is_contiguous(at::ones({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast),
                                    at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(at::result_type(nested, 2.5), at::kFloat);
  EXPECT_EQ(at::result_type(nested, at::ones({1}, at::kDouble)), at::kDouble);
}

TEST(SparseQueries, Unbind) {
  for (const Layout layout : kLayouts) {
    if (is_blocked(layout)) continue;
    const Tensor t = in_layout(matrix(), layout);
    for (const int64_t dim : {0, 1, -1}) {
      const std::vector<Tensor> parts = at::unbind(t, dim), expected = at::unbind(matrix(), dim);
      ASSERT_EQ(parts.size(), 4u);
      for (size_t i = 0; i < 4; ++i) expect_equal(parts[i].to_dense(), expected[i]);
    }
  }
  const Tensor vector = torch::tensor({1.0, 0.0, 3.0}).to_sparse();
  expect_equal(at::unbind(vector)[2], torch::tensor(3.0));
  EXPECT_THROW(at::unbind(vector, 1), c10::IndexError);
  const Tensor places = matrix().to_sparse();
  expect_derivatives(
      [&](const variable_list& v) {
        const std::vector<Tensor> rows = at::unbind(with_values(places, v[0]));
        return rows[0].to_dense() * 2 + rows[3].to_dense().pow(2);
      },
      {numbers({8})});
  expect_derivatives(
      [&](const variable_list& v) {
        const Tensor t = with_values(places, v[0]);
        return at::stack({t, t}).to_dense().pow(2);
      },
      {numbers({8})});
}

TEST(SparseGradients, OfPartsStandAtTheirPlaces) {
  const Tensor places = matrix().to_sparse(), hybrid = at::ones({4, 3, 4}, at::kDouble).to_sparse(1);
  using Function = std::function<Tensor(const Tensor&)>;
  for (const Function& f : std::vector<Function>{
           [](const Tensor& t) { return t.select(0, 2); }, [](const Tensor& t) { return t.select(-1, -2); },
           [](const Tensor& t) { return t.slice(0, 1, 3); }, [](const Tensor& t) { return t.slice(1, -3); },
           [](const Tensor& t) { return t.narrow(-1, 1, 2); }}) {
    expect_derivatives([&](const variable_list& v) { return f(with_values(places, v[0])).to_dense().pow(2); },
                       {numbers({8})});
    expect_derivatives([&](const variable_list& v) { return f(with_values(hybrid, v[0])).to_dense().pow(2); },
                       {numbers({4, 3, 4})});
  }
  Tensor leaf = matrix().to_sparse().requires_grad_();
  EXPECT_THROW(leaf.slice(0, 0, 4, 2).to_dense().sum().backward(), c10::NotImplementedError);
  Tensor batch = at::stack({matrix(), matrix()}).to_sparse_csr().requires_grad_();
  EXPECT_THROW(batch.select(0, 1).values().sum().backward(), c10::Error);
}

// --- complex numbers ---
TEST(SparseComplex, PartsOfTensorsInCoordinates) {
  const Tensor values = at::complex(doubles({1, -2, 3}), doubles({4, 5, -6}));
  const Tensor t = at::sparse_coo_tensor(torch::tensor({{0, 1, 0}, {1, 0, 1}}), values, {2, 3}), dense = t.to_dense();
  const Tensor pairs = at::view_as_real(t);
  EXPECT_EQ(pairs.sparse_dim(), 2);
  EXPECT_EQ(pairs.dense_dim(), 1);
  EXPECT_FALSE(pairs.is_coalesced());
  expect_equal(pairs.to_dense(), at::view_as_real(dense));
  expect_equal(at::real(t).to_dense(), at::real(dense));
  expect_equal(at::imag(t).to_dense(), at::imag(dense));
  expect_equal(at::conj(t).to_dense(), at::conj(dense));
  expect_equal(at::abs(t).to_dense(), at::abs(dense));
  expect_equal(at::sgn(t).to_dense(), at::sgn(dense));
  expect_equal(at::angle(t).to_dense(), at::angle(dense));
  // The memory is that of the values.
  pairs._values().fill_(1);
  expect_equal(t._values(), at::full({3}, c10::complex<double>(1, 1), at::kComplexDouble));
  EXPECT_THROW(at::view_as_real(matrix().to_sparse()), c10::TypeError);
  EXPECT_THROW(at::imag(matrix().to_sparse()), c10::Error);
  EXPECT_THROW(at::view_as_real(dense.to_sparse_csr()), c10::NotImplementedError);
  // Of real numbers the conjugate is themselves, also where places stand twice.
  Tensor real = at::sparse_coo_tensor(torch::tensor({{0, 0}}), doubles({1, 2}), {2});
  EXPECT_TRUE(at::conj_physical_(real).is_same(real));
  EXPECT_EQ(real._nnz(), 2);
  Tensor twice = at::sparse_coo_tensor(torch::tensor({{0, 0}}), values.narrow(0, 0, 2), {2});
  EXPECT_THROW(at::conj_physical_(twice), c10::Error);
}

TEST(SparseComplex, Gradients) {
  const Tensor places = matrix().to_sparse();
  const Tensor values = numbers({8}, at::kComplexDouble);
  for (const auto& f : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& t) { return at::conj(t); }, [](const Tensor& t) { return at::real(t); },
           [](const Tensor& t) { return at::imag(t); }}) {
    expect_derivatives([&](const variable_list& v) { return f(with_values(places, v[0])).to_dense(); }, {values});
  }
  const auto magnitudes = [&](const variable_list& v) -> variable_list {
    return {at::abs(with_values(places, v[0])).to_dense()};
  };
  EXPECT_TRUE(torch::autograd::gradcheck(magnitudes, {values}));
  for (const Layout layout : {at::kSparse, at::kSparseCsr}) {
    const Tensor like = in_layout(matrix(), layout);
    for (const at::ScalarType type : {at::kDouble, at::kComplexDouble}) {
      expect_derivatives([&](const variable_list& v) { return at::log1p(with_values(like, v[0].pow(2))).to_dense(); },
                         {numbers({8}, type)});
    }
  }
  // Of a sparse gradient only the places count, whatever the sizes are.
  const Tensor wide = at::sparse_coo_tensor(torch::tensor({{3, 7}}), torch::tensor({1.0, 3.0}), {int64_t{1} << 40});
  const Tensor leaf = wide.coalesce().requires_grad_();
  const Tensor seed = at::sparse_coo_tensor(torch::tensor({{5, 7}}), torch::tensor({2.0, 8.0}), wide.sizes());
  const Tensor grad = torch::autograd::grad({at::log1p(leaf)}, {leaf}, {seed})[0].coalesce();
  EXPECT_TRUE(at::equal(grad.indices(), torch::tensor({{5, 7}})));
  EXPECT_TRUE(at::equal(grad.values(), torch::tensor({2.0, 2.0})));
  // A cast to complex numbers gives the real part back.
  expect_derivatives(
      [&](const variable_list& v) { return with_values(places, v[0]).to(at::kComplexDouble).to_dense(); },
      {numbers({8})});
}

TEST(SparseOperators, ArePaddedWithZerosThatAreNotStored) {
  const Tensor dense = matrix();
  for (const int64_t sparse_dim : {2, 1}) {
    const Tensor t = dense.to_sparse(sparse_dim);
    for (const std::vector<int64_t>& pad : std::vector<std::vector<int64_t>>{
             {1, 2}, {0, 0, 3, 0}, {2, 0, 0, 1}, {-1, 2}, {-2, -1, 1, -3}, {0, 0}}) {
      const Tensor padded = at::constant_pad_nd(t, pad);
      EXPECT_EQ(padded.sparse_dim(), sparse_dim);
      EXPECT_LE(padded._nnz(), t._nnz());
      expect_equal(padded.to_dense(), at::constant_pad_nd(dense, pad));
    }
  }
  const Tensor t = dense.to_sparse(), wide = at::constant_pad_nd(t, {0, int64_t{1} << 50});
  EXPECT_EQ(wide.size(1), 4 + (int64_t{1} << 50));
  EXPECT_THROW(at::constant_pad_nd(t, {1, 1}, 2), c10::NotImplementedError);
  EXPECT_THROW(at::constant_pad_nd(t, {-3, -2}), c10::Error);
  EXPECT_THROW(at::constant_pad_nd(t, {1}), c10::Error);
}

}  // namespace
