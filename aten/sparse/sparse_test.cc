#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/sparse/order.h"
#include "aten/sparse/sparse_parts.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/sparse.h"
#include "c10/parallel/parallel.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::testing::message_of;

Tensor longs(std::vector<int64_t> numbers, at::IntArrayRef sizes) {
  return torch::tensor(numbers).reshape(sizes);
}

// (0, 1): 1 and 3, (2, 0): 2.
Tensor three() {
  return at::sparse_coo_tensor(longs({0, 2, 0, 1, 0, 1}, {2, 3}), torch::tensor({1.f, 2.f, 3.f}), {3, 2});
}
Tensor dense() {
  return at::arange(6, at::kFloat).reshape({3, 2});
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b)) << a << b;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// A seeded sparse tensor with repeated places, and what it is as a dense one, added up one by one.
struct Both {
  Tensor sparse, dense;
};
Both random(std::vector<int64_t> sizes, int64_t sparse_dim, int64_t nnz, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<int64_t> indices(static_cast<size_t>(sparse_dim * nnz)), value_sizes{nnz};
  for (int64_t d = 0; d < sparse_dim; ++d) {
    for (int64_t i = 0; i < nnz; ++i) indices[d * nnz + i] = static_cast<int64_t>(engine() % sizes[d]);
  }
  for (size_t d = static_cast<size_t>(sparse_dim); d < sizes.size(); ++d) value_sizes.push_back(sizes[d]);
  Tensor values = at::empty(value_sizes, at::kDouble);
  for (int64_t i = 0; i < values.numel(); ++i)
    values.data_ptr<double>()[i] = static_cast<double>(engine() % 1000) / 100 - 5;
  Tensor sum = at::zeros(sizes, at::kDouble);
  for (int64_t i = 0; i < nnz; ++i) {
    Tensor place = sum;
    for (int64_t d = 0; d < sparse_dim; ++d) place = place.select(0, indices[d * nnz + i]);
    place.add_(values.select(0, i));
  }
  return {at::sparse_coo_tensor(longs(indices, {sparse_dim, nnz}), values, sizes), sum};
}

struct Shape {
  std::vector<int64_t> sizes;
  int64_t sparse_dim;
  int64_t nnz;
};
const Shape kShapes[] = {{{5, 4}, 2, 9},    {{5, 4}, 1, 3},    {{7}, 1, 20},          {{3, 4, 5}, 2, 17},
                         {{3, 4, 5}, 3, 1}, {{4, 0, 2}, 1, 0}, {{2, 3, 2, 2}, 2, 30}, {{6, 6}, 2, 0}};

TEST(Sparse, IsMadeOfItsParts) {
  const Tensor t = three();
  EXPECT_EQ(t.layout(), at::kSparse);
  EXPECT_TRUE(t.is_sparse());
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(t._nnz(), 3);
  EXPECT_EQ(t.sparse_dim(), 2);
  EXPECT_EQ(t.dense_dim(), 0);
  EXPECT_FALSE(t.is_coalesced());
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.strides(), (std::vector<int64_t>{0, 0}));
  EXPECT_FALSE(t.has_storage());
  EXPECT_EQ(t.options().layout(), at::kSparse);
  expect_equal(t._values(), torch::tensor({1.f, 2.f, 3.f}));
  const Tensor inferred = at::sparse_coo_tensor(longs({0, 2, 0, 1, 0, 1}, {2, 3}), torch::tensor({1.f, 2.f, 3.f}));
  EXPECT_EQ(inferred.sizes(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(at::sparse_coo_tensor(longs({}, {2, 0}), at::ones({0, 3})).sizes(), (std::vector<int64_t>{0, 0, 3}));
  EXPECT_EQ(dense().sparse_dim(), 0);
  EXPECT_EQ(dense().dense_dim(), 2);
  // Shared, not copied.
  Tensor values = at::ones({1});
  const Tensor shared = at::sparse_coo_tensor(longs({0}, {1, 1}), values, {2});
  values.fill_(7);
  EXPECT_EQ(shared._values().item<float>(), 7);
}

TEST(Sparse, FactoriesTakeTheLayout) {
  for (const Tensor& t :
       {at::empty({2, 3}, at::kSparse), at::zeros({2, 3}, at::TensorOptions(at::kSparse).dtype(at::kFloat)),
        at::sparse_coo_tensor({2, 3}, at::kFloat)}) {
    EXPECT_TRUE(t.is_sparse());
    EXPECT_EQ(t._nnz(), 0);
    EXPECT_TRUE(t.is_coalesced());
    expect_equal(t.to_dense(), at::zeros({2, 3}));
  }
  EXPECT_EQ(at::empty(5, at::getDeprecatedTypeProperties(at::Backend::SparseCPU, at::kByte).options()).layout(),
            at::kSparse);
  const Tensor like = at::zeros_like(three(), at::kDouble);
  EXPECT_TRUE(like.is_sparse());
  EXPECT_EQ(like.scalar_type(), at::kDouble);
  EXPECT_FALSE(at::zeros_like(three(), at::kStrided).is_sparse());
  EXPECT_EQ(three().new_zeros({4}).sizes(), (std::vector<int64_t>{4}));
}

TEST(Sparse, PartsThatDoNotFitAreRefused) {
  const Tensor i = longs({0, 2, 0, 1, 0, 1}, {2, 3}), v = at::ones({3});
  const auto text = [](const auto& call) { return first_line(message_of(call)); };
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i.to(at::kInt), v); }), "expected scalar type Long but found Int");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i.to(at::kInt), v, {3, 2}); }), "indices must be an int64 tensor");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i[0], v); }), "indices must be sparse_dim x nnz, but got: [3]");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i, v, {3}); }),
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = 1, sparse_dim = 2, dense_dim = 0");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i, at::ones({2})); }),
            "indices and values must have same nnz, but got nnz from indices: 3, nnz from values: 2");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i, torch::tensor(1.f)); }),
            "indices and values must have same nnz, but got nnz from indices: 3, nnz from values: 1");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(-i, v); }), "found negative index -2 for dim 0");
  EXPECT_EQ(text([&] { at::sparse_coo_tensor(i, v, at::TensorOptions(at::kStrided)); }),
            "expected sparse layout, but got layout Strided");
  EXPECT_THROW(at::sparse_coo_tensor(i, at::ones({3, 2}), {3, 2, 3}), c10::Error);
  EXPECT_THROW(at::sparse_coo_tensor(i, v, {-3, 2}), c10::Error);
  EXPECT_THROW(at::sparse_coo_tensor(longs({INT64_MAX - 1, INT64_MAX - 1}, {2, 1}), at::ones({1})), c10::Error);
}

TEST(Sparse, IndicesOutOfRangeNeverReachMemory) {
  for (const int64_t bad : {int64_t{-1}, int64_t{5}, INT64_MAX, INT64_MIN}) {
    const Tensor t = at::sparse_coo_tensor(longs({0, bad}, {1, 2}), at::ones({2}), {5});
    EXPECT_THROW(t.to_dense(), c10::IndexError);
    EXPECT_THROW(at::ones({5}) + t, c10::IndexError);
    EXPECT_THROW(at::ones({5}).add_(t), c10::IndexError);
    EXPECT_THROW(at::ones({5}).sparse_mask(t), c10::IndexError);
    EXPECT_THROW(t * at::ones({5}), c10::IndexError);
    EXPECT_THROW(t * t, c10::IndexError);
    EXPECT_EQ(t.coalesce()._nnz(), 2);
    EXPECT_EQ((t + t)._nnz(), 2);
  }
  const Tensor matrix = at::sparse_coo_tensor(longs({0, 9, 0, 1}, {2, 2}), at::ones({2}), {2, 2});
  EXPECT_THROW(at::mm(matrix, at::ones({2, 2})), c10::IndexError);
  EXPECT_THROW(at::mm(at::ones({2, 2}), matrix), c10::IndexError);
  EXPECT_THROW(at::mm(matrix, matrix), c10::IndexError);
}

TEST(Sparse, CoalesceAndToDenseAddWhatIsAtOnePlace) {
  unsigned seed = 1;
  for (const Shape& shape : kShapes) {
    const Both both = random(shape.sizes, shape.sparse_dim, shape.nnz, seed++);
    expect_equal(both.sparse.to_dense(), both.dense);
    const Tensor once = both.sparse.coalesce();
    EXPECT_TRUE(once.is_coalesced());
    EXPECT_TRUE(once.coalesce().is_same(once));
    expect_equal(once.to_dense(), both.dense);
    const Tensor places = at::sparse::flat_places(once.indices(), once.sizes());
    for (int64_t i = 1; i < places.numel(); ++i) EXPECT_LT(places[i - 1].item<int64_t>(), places[i].item<int64_t>());
    // There and back.
    if (both.dense.numel() > 0) expect_equal(both.dense.to_sparse(shape.sparse_dim).to_dense(), both.dense);
    expect_equal(both.sparse.clone().to_dense(), both.dense);
    expect_equal(both.sparse.to(at::kFloat).to_dense(), both.dense.to(at::kFloat));
    expect_equal(both.dense.sparse_mask(once).to_dense(), both.dense);
  }
  const Tensor bools = at::sparse_coo_tensor(longs({1, 1}, {1, 2}), torch::tensor({true, true}), {2});
  expect_equal(bools.to_dense(), torch::tensor({false, true}));
  expect_equal(bools.coalesce().values(), torch::tensor({true}));
  expect_equal(torch::tensor(3.f).to_sparse().to_dense(), torch::tensor(3.f));
  EXPECT_EQ(dense().to_sparse()._nnz(), 5);
  EXPECT_EQ(dense().to_sparse(1)._nnz(), 3);
}

TEST(Sparse, SumsAndProductsAreThoseOfDenseTensors) {
  unsigned seed = 100;
  for (const Shape& shape : kShapes) {
    const Both a = random(shape.sizes, shape.sparse_dim, shape.nnz, seed++);
    const Both b = random(shape.sizes, shape.sparse_dim, shape.nnz + 2 * (a.dense.numel() > 0), seed++);
    expect_equal((a.sparse + b.sparse).to_dense(), a.dense + b.dense);
    expect_equal(at::sub(a.sparse, b.sparse.coalesce(), 3).to_dense(), at::sub(a.dense, b.dense, 3));
    expect_equal(at::add(a.dense, b.sparse, 2), at::add(a.dense, b.dense, 2));
    expect_equal(a.dense - b.sparse, a.dense - b.dense);
    expect_equal((a.sparse * b.sparse).to_dense(), a.dense * b.dense);
    expect_equal((a.sparse * b.dense).to_dense(), a.dense * b.dense);
    expect_equal((a.dense * b.sparse).to_dense(), a.dense * b.dense);
    expect_equal((a.sparse * 2.5).to_dense(), a.dense * 2.5);
    expect_equal((a.sparse / 4).to_dense(), a.dense / 4);
    expect_equal((-a.sparse).to_dense(), -a.dense);
    expect_equal(a.sparse.sum(), a.dense.sum());
    for (int64_t d = 0; d < a.dense.dim(); ++d) {
      for (const bool keep : {false, true}) {
        const Tensor sum = a.sparse.sum(std::vector<int64_t>{d}, keep);
        expect_equal(sum.is_sparse() ? sum.to_dense() : sum, a.dense.sum(std::vector<int64_t>{d}, keep));
      }
    }
    Tensor into = a.dense.clone();
    into.add_(b.sparse);
    expect_equal(into, a.dense + b.dense);
    Tensor strided = a.dense.dim() == 2 ? a.dense.t().contiguous().t() : a.dense.clone();
    strided.add_(b.sparse);
    expect_equal(strided, a.dense + b.dense);
    Tensor sum = a.sparse.clone();
    sum.add_(b.sparse).mul_(3).sub_(b.sparse).div_(2).neg_();
    expect_equal(sum.to_dense(), -((a.dense + b.dense) * 3 - b.dense) / 2);
  }
  // One by one in step, as long as both are coalesced.
  const Tensor once = three().coalesce();
  EXPECT_TRUE((once + once).is_coalesced());
  EXPECT_EQ((once + once)._nnz(), 2);
  EXPECT_FALSE((three() + once).is_coalesced());
  expect_equal(at::add(three(), once, 2)._values(), torch::tensor({9.f, 6.f, 3.f}));
}

// A mark that is wrong makes no row of a thread reach over others.
TEST(Sparse, ThreadsShareWhatIsWronglyMarkedAsCoalesced) {
  const int64_t nnz = 60000;
  const Tensor down = at::arange(nnz - 1, -1, -1, at::kLong).reshape({1, nnz});
  const Tensor a = at::sparse_coo_tensor(down, at::ones({nnz}), {nnz})._coalesced_(true);
  const Tensor b = at::sparse_coo_tensor(down, at::full({nnz}, 2.f), {nnz})._coalesced_(true);
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3, 5}) {
    at::set_num_threads(threads);
    const Tensor sum = a + b;
    EXPECT_LE(sum._nnz(), 2 * nnz);
    expect_equal(sum.to_dense(), at::full({nnz}, 3.f));
    EXPECT_LE((a * b)._nnz(), nnz);
  }
  at::set_num_threads(before);
}

TEST(Sparse, SizesThatCannotBeCountedAreRefused) {
  const int64_t many = int64_t{1} << 40;
  const Tensor left = at::sparse_coo_tensor(longs({1, 0}, {2, 1}), at::ones({1}), {many, 1});
  const Tensor right = at::sparse_coo_tensor(longs({0, 3}, {2, 1}), at::ones({1}), {1, many});
  for (const auto& make : std::vector<std::function<Tensor()>>{
           [&] { return at::mm(left, right); },
           [&] { return at::_sparse_coo_tensor_unsafe(longs({1, 3}, {2, 1}), at::ones({1}), {many, many}); }}) {
    EXPECT_NE(message_of([&] { make(); }).find("numel: integer multiplication overflow"), std::string::npos);
  }
}

// Ranges that fit a word beside the numbers, and those that do not.
TEST(Sparse, OrderIsStable) {
  for (const int64_t range : {int64_t{3}, int64_t{5000}, int64_t{1} << 40, INT64_MAX}) {
    std::mt19937_64 engine(7);
    std::vector<int64_t> keys(3000);
    const uint64_t step = static_cast<uint64_t>(range) / 2000 + 1;
    for (int64_t& key : keys) key = static_cast<int64_t>(engine() % 2000 * step % static_cast<uint64_t>(range));
    const at::sparse::Order order = at::sparse::order_of(keys.data(), 3000, range);
    std::vector<int64_t> expected(keys.size());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i);
    std::sort(expected.begin(), expected.end(),
              [&](int64_t i, int64_t j) { return keys[i] != keys[j] ? keys[i] < keys[j] : i < j; });
    EXPECT_EQ(order.numbers, expected);
    int64_t groups = 0;
    for (size_t i = 0; i < 3000; ++i) groups += i == 0 || keys[expected[i]] != keys[expected[i - 1]];
    EXPECT_EQ(order.groups(), groups);
    EXPECT_EQ(order.starts.back(), 3000);
    std::sort(keys.begin(), keys.end());
    EXPECT_TRUE(at::sparse::order_of(keys.data(), 3000, range).as_they_stand);
  }
  // Indices that make no keys of 64 bits.
  const Tensor wide = longs({INT64_MAX, INT64_MIN, INT64_MAX, 0, 2, 1, 1, -3}, {2, 4});
  EXPECT_EQ(at::sparse::order_of(wide).numbers, (std::vector<int64_t>{1, 3, 2, 0}));
  const auto [a, b] = at::sparse::common_keys(wide, longs({INT64_MAX, 0, 1, -3}, {2, 2}));
  EXPECT_TRUE(at::equal(b, a.index_select(0, longs({2, 3}, {2}))));
}

TEST(Sparse, ProductsOfMatrices) {
  unsigned seed = 300;
  for (const int64_t nnz : {0, 1, 7, 40}) {
    const Both a = random({5, 4}, 2, nnz, seed++), b = random({4, 6}, 2, nnz, seed++);
    expect_equal(at::mm(a.sparse, b.dense), at::mm(a.dense, b.dense));
    expect_equal(at::mm(a.dense, b.sparse), at::mm(a.dense, b.dense));
    expect_equal(at::mm(a.sparse, b.sparse).to_dense(), at::mm(a.dense, b.dense));
    expect_equal(at::_sparse_mm(a.sparse, b.dense), at::mm(a.dense, b.dense));
    const Tensor c = at::ones({5, 6}, at::kDouble);
    expect_equal(at::addmm(c, a.sparse, b.dense, 2, 3), at::addmm(c, a.dense, b.dense, 2, 3));
    expect_equal(at::_sparse_addmm(c, a.sparse, b.dense, 2, 3), at::addmm(c, a.dense, b.dense, 2, 3));
  }
  EXPECT_EQ(first_line(message_of([] {
              at::mm(at::eye(9).to_sparse(), at::ones({3, 2}));
            })),
            "addmm: Argument #3 (dense): Expected dim 0 size 9, got 3");
}

TEST(Sparse, WhatIsNotDefinedIsRefusedByName) {
  const Tensor t = three();
  const auto text = [](const auto& call) { return first_line(message_of(call)); };
  EXPECT_EQ(text([&] { t.indices(); }), "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  EXPECT_EQ(text([&] { t.values(); }), "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  EXPECT_EQ(text([&] { dense().coalesce(); }), "coalesce expected sparse coordinate tensor layout but got Strided");
  EXPECT_EQ(text([&] { dense().indices(); }), "indices expected sparse coordinate tensor layout but got Strided");
  EXPECT_EQ(text([&] { dense().values(); }), "values expected sparse tensor layout but got Strided");
  EXPECT_EQ(text([&] { dense().to_sparse(3); }),
            "dense_to_sparse: sparse_dim argument must be in [0,2] range, but 3 is given");
  EXPECT_EQ(text([&] { t + dense(); }), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  EXPECT_EQ(text([&] { t / dense(); }),
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape [3, 2] for divisor)");
  EXPECT_EQ(text([&] { dense().copy_(t); }),
            "copy_() between dense and sparse Tensors is not implemented! Found self type = CPUFloatType and src type "
            "= SparseCPUFloatType");
  EXPECT_EQ(text([&] { t.data_ptr(); }),
            "Cannot access data pointer of Tensor that doesn't have storage (a SparseTensorImpl)");
  EXPECT_THROW(dense()._nnz(), c10::NotImplementedError);
  // No kernel: the operator and the backend.
  const auto refused = [&](const char* op, const auto& call) {
    try {
      call();
      ADD_FAILURE() << op;
    } catch (const c10::NotImplementedError& error) {
      const std::string expected =
          std::string("Could not run '") + op + "' with arguments from the 'SparseCPU' backend";
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused("sigmoid", [&] { t.sigmoid(); });
  refused("fill_.Scalar", [&] { t.clone().fill_(1); });
  refused("view", [&] { t.view({6}); });
  refused("as_strided", [&] { at::as_strided(t, {2}, {1}); });
  refused("exp_", [&] { t.clone().exp_(); });
}

TEST(Sparse, FactorsAndDtypesThatDoNotFitAreRefused) {
  const Tensor b = torch::tensor({true, false}), i = longs({3, 0}, {2}), s = b.to_sparse();
  const auto text = [](const auto& call) { return message_of(call); };
  for (const auto& call : std::vector<std::function<void()>>{[&] { s - s; }, [&] { b - s; }, [&] { b.clone().sub_(s); },
                                                             [&] { s - i.to_sparse(); }}) {
    EXPECT_EQ(text(call).find("Subtraction, the `-` operator, with "), 0);
    EXPECT_THROW(call(), c10::NotImplementedError);
  }
  const std::string fraction = "For integral input tensors, argument alpha must not be a floating point number.";
  EXPECT_EQ(first_line(text([&] { at::add(i.to_sparse(), i.to_sparse(), 1.5); })), fraction);
  EXPECT_EQ(first_line(text([&] { at::sub(i, i.to_sparse(), 1.5); })), fraction);
  EXPECT_EQ(first_line(text([&] { i.clone().add_(i.to_sparse(), 1.5); })), fraction);
  const Tensor strided = at::sparse_coo_tensor(longs({0, 1}, {1, 2}), at::ones({3, 2}, at::kLong).t(), {2, 3});
  EXPECT_EQ(first_line(text([&] { at::add(strided, strided, 1.5); })), fraction);
  EXPECT_EQ(first_line(text([&] { at::add(three(), three(), c10::complex<double>(0, 1)); })),
            "For non-complex input tensors, argument alpha must not be a complex number.");
  expect_equal(at::add(three(), at::to(three(), at::kLong), 1.5).to_dense(), 2.5 * three().to_dense());
  // The elements of an integer product have no fraction, nor have its factors.
  const Tensor m = longs({2, 0, 0, 0}, {2, 2}), ones = at::ones({2, 2}, at::kLong);
  expect_equal(at::addmm(ones, m.to_sparse(), ones, 1.5, 1.5), longs({3, 3, 1, 1}, {2, 2}));
  EXPECT_EQ(first_line(text([&] { at::sspaddmm(m.to_sparse(), m.to_sparse(), ones, 1.5, 1.5); })),
            "result type Float can't be cast to the desired output type Long");
  // Products of 16-bit numbers are added up in float.
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const Tensor row = at::ones({1, 4096}, type);
    EXPECT_EQ(at::mm(row.to_sparse(), row.t().to_sparse()).to_dense().item<float>(), 4096);
    EXPECT_EQ(at::mm(row.to_sparse_csr(), row.t().contiguous().to_sparse_csr()).to_dense().item<float>(), 4096);
  }
  const Tensor eye = at::eye(2, at::kBool).to_sparse();
  EXPECT_THROW(at::mm(eye, eye), c10::NotImplementedError);
  EXPECT_THROW(at::mm(eye.to_sparse_csr(), eye.to_sparse_csr()), c10::NotImplementedError);
  EXPECT_EQ(first_line(text([&] {
              Tensor out = at::zeros({3, 3}).to_sparse_csr();
              at::mm_out(out, three(), three().t());
            })),
            "addmm: computation on CPU is not implemented for SparseCsr + Sparse @ Sparse");
  // Gradients of another size, or of other dimensions.
  const Tensor t = three();
  EXPECT_THROW(at::_sparse_sum_backward(at::ones({5}), t, {0}), c10::Error);
  EXPECT_THROW(at::_sparse_sum_backward(at::ones({5}).to_sparse(), t, {0}), c10::Error);
  EXPECT_THROW(at::_sparse_sum_backward(at::ones({2, 1}).to_sparse(), t, {0}), c10::Error);
  const Tensor two = at::ones({3, 2, 2}).to_sparse(2), one = at::ones({3, 2, 2}).to_sparse(1);
  EXPECT_EQ(first_line(text([&] {
              at::_sparse_sum_backward(at::ones({2, 2}).to_sparse(2), two, {0});
            })),
            "_sparse_sum_backward: expected 'grad' of 1 sparse dimensions");
  EXPECT_EQ(first_line(text([&] { at::threshold_backward(one, two, 0); })),
            "threshold_backward: expected a gradient of as many sparse dimensions as self, 2, but got 1");
}

TEST(Sparse, ResultsHaveMemoryOfTheirOwn) {
  const Tensor s = at::sparse_coo_tensor(longs({1, 0}, {2, 1}), torch::tensor({5.f}), {2, 2});
  for (const Tensor& result : {at::_sparse_sum(s, {0}), at::_sparse_sum(s, {1}), s.sum(at::IntArrayRef({0})), s.t(),
                               s.transpose(0, 1), s.transpose(0, 0)}) {
    Tensor(result).neg_();
    EXPECT_EQ(s._values().item<float>(), 5);
  }
  s.permute({1, 0}).neg_();  // but this is a view
  EXPECT_EQ(s._values().item<float>(), -5);
}

TEST(Sparse, AreAddedToTheMemoryOfTheirValues) {
  for (const at::ScalarType type : {at::kFloat, at::kLong}) {
    for (const int64_t first : {0, 1}) {
      Tensor v = longs({1, 2}, {2}).to(type);
      v.add_(at::sparse_coo_tensor(longs({first, 1 - first}, {1, 2}), v, {2}));
      expect_equal(v, longs(first == 1 ? std::vector<int64_t>{3, 3} : std::vector<int64_t>{2, 4}, {2}).to(type));
    }
  }
  Tensor m = torch::tensor({{1.f, 2.f, 4.f}});
  m.add_(at::sparse_csr_tensor(longs({0, 2}, {2}), longs({1, 2}, {2}), m.view({3}).slice(0, 0, 2), {1, 3}));
  expect_equal(m, torch::tensor({{1.f, 3.f, 6.f}}));
}

TEST(Sparse, ProductsOfDenseOnesInPlaceAndOfNumbers) {
  Tensor d = dense() + 1, row = dense() + 1;
  d.mul_(three());
  expect_equal(d, (dense() + 1) * three().to_dense());
  row.mul_(at::ones({1, 2}).to_sparse());
  expect_equal(row, dense() + 1);
  Tensor narrow = at::ones({1, 2}), whole = at::ones({3, 2}, at::kLong);
  EXPECT_THROW(narrow.mul_(three()), c10::Error);
  EXPECT_THROW(whole.mul_(three()), c10::Error);
  const Tensor number = at::sparse_coo_tensor(longs({}, {0, 2}), torch::tensor({1., 2.}), at::IntArrayRef());
  expect_equal((three() * number).to_dense(), three().to_dense() * 3);
  expect_equal((number * three()).to_dense(), three().to_dense() * 3);
}

TEST(Sparse, ExpandedOnesAreNotLaidOut) {
  const int64_t n = 1000000;
  const Tensor s = at::sparse_coo_tensor(longs({1, n - 1, 0, 7}, {2, 2}), torch::tensor({2.f, 3.f}), {n, n});
  expect_equal((s * at::ones({1, 1}).expand({n, n}))._values(), s._values());
  expect_equal(at::arange(n, at::kFloat).unsqueeze(1).expand({n, n}).sparse_mask(s)._values(),
               torch::tensor({1.f, 999999.f}));
  expect_equal(at::arange(n, at::kFloat).expand({n, n}).sparse_mask(s)._values(), torch::tensor({0.f, 7.f}));
  const Tensor cube = at::arange(3, at::kFloat).unsqueeze(1).expand({4, 3, 2});
  expect_equal(cube.sparse_mask(at::ones({4, 3, 2}).to_sparse()).to_dense(), cube.contiguous());
}

TEST(Sparse, WritesAreCounted) {
  Tensor t = three(), d = dense();
  const int64_t before = t._version();
  t.mul_(2);
  t.zero_();
  EXPECT_EQ(t._version(), before + 2);
  EXPECT_EQ(t._nnz(), 0);
  d.add_(three());
  EXPECT_EQ(d._version(), 1);
  Tensor copy = at::zeros({3, 2}, at::kSparse);
  copy.copy_(three());
  expect_equal(copy.to_dense(), three().to_dense());
  EXPECT_THROW(copy.copy_(at::zeros({2}, at::kSparse)), c10::Error);
}

// --- gradients ---
TEST(SparseGradients, FlowThroughPartsAndConversions) {
  const Tensor weight = dense();
  Tensor values = torch::tensor({1.f, 2.f, 3.f}).requires_grad_();
  Tensor t = at::sparse_coo_tensor(longs({0, 2, 0, 1, 0, 1}, {2, 3}), values, {3, 2});
  EXPECT_TRUE(t.requires_grad());
  (t.to_dense() * weight).sum().backward();
  expect_equal(values.grad(), torch::tensor({1.f, 4.f, 1.f}));

  values = torch::tensor({1.f, 2.f, 3.f}).requires_grad_();
  t = at::sparse_coo_tensor(longs({0, 2, 0, 1, 0, 1}, {2, 3}), values, {3, 2}).coalesce();
  t.values().pow(2).sum().backward();
  expect_equal(values.grad(), torch::tensor({8.f, 4.f, 8.f}));

  Tensor leaf = dense().requires_grad_();
  (leaf.to_sparse() * 2).to_dense().pow(2).sum().backward();
  expect_equal(leaf.grad(), 8 * dense());

  leaf = dense().requires_grad_();
  leaf.to_sparse(1).values().pow(2).sum().backward();
  expect_equal(leaf.grad(), 2 * dense());

  leaf = dense().requires_grad_();
  leaf.sparse_mask(three().coalesce()).to_dense().pow(2).sum().backward();
  expect_equal(leaf.grad(), torch::tensor({{0.f, 2.f}, {0.f, 0.f}, {8.f, 0.f}}));
}

TEST(SparseGradients, OfSparseLeaves) {
  Tensor t = three().requires_grad_();
  t.to_dense().pow(2).sum().backward();
  ASSERT_TRUE(t.grad().is_sparse());
  EXPECT_EQ(t.grad()._nnz(), 2);
  expect_equal(t.grad().to_dense(), torch::tensor({{0.f, 8.f}, {0.f, 0.f}, {4.f, 0.f}}));

  t = three().coalesce().requires_grad_();
  Tensor right = dense().t().contiguous().requires_grad_();
  at::_sparse_mm(t, right).sum().backward();
  ASSERT_TRUE(t.grad().is_sparse());
  expect_equal(t.grad().to_dense(), torch::tensor({{0.f, 9.f}, {0.f, 0.f}, {6.f, 0.f}}));
  expect_equal(right.grad(), torch::tensor({{2.f, 2.f, 2.f}, {4.f, 4.f, 4.f}}));

  t = three().requires_grad_();
  Tensor d = dense().requires_grad_();
  (d + t).pow(2).sum().backward();
  EXPECT_FALSE(t.grad().is_sparse());
  expect_equal(t.grad(), d.grad());
}

TEST(SparseGradients, TakeMemoryForWhatIsStored) {
  const int64_t n = 1000000;
  const Tensor places = longs({1, n - 1, 1, 0, 7, 0}, {2, 3});
  Tensor values = torch::tensor({2.f, 3.f, 4.f}).requires_grad_();
  const Tensor t = at::sparse_coo_tensor(places, values, {n, n});
  const auto of_values = [&](const Tensor& grad) {
    return torch::autograd::grad({t}, {values}, {grad}, true, true)[0];
  };
  const Tensor grad = at::sparse_coo_tensor(longs({1, 0, 1, 0, 3, 0}, {2, 3}), torch::tensor({5.f, 6.f, 7.f}), {n, n});
  expect_equal(of_values(grad), torch::tensor({12.f, 0.f, 12.f}));
  Tensor leaf = grad.coalesce().detach().requires_grad_();
  of_values(leaf).pow(2).sum().backward();
  expect_equal(leaf.grad().coalesce()._values(), torch::tensor({0.f, 48.f}));
  expect_equal(of_values(at::arange(n, at::kFloat).expand({n, n})), torch::tensor({0.f, 7.f, 0.f}));
}

TEST(SparseGradients, OfFactorsAreMadeAtTheirPlaces) {
  const int64_t n = 1000000;
  const Tensor places = longs({1, n - 1, 1, 0, 7, 0}, {2, 3});
  Tensor leaf = at::sparse_coo_tensor(places, torch::tensor({2.f, 3.f, 4.f}), {n, n}).coalesce().requires_grad_();
  Tensor right = at::ones({n, 2}).requires_grad_();
  at::_sparse_mm(leaf, right).pow(2).sum().backward();
  expect_equal(leaf.grad()._values(), torch::tensor({24.f, 12.f}));
  for (const bool rows : {false, true}) {
    leaf = three().to(at::kDouble).coalesce();
    leaf = (rows ? leaf.to_sparse_csr() : leaf).requires_grad_();
    Tensor x = leaf.detach().to_dense().requires_grad_();
    Tensor left = at::arange(12, at::kDouble).reshape({4, 3}).requires_grad_();
    at::_sparse_mm(left, leaf).pow(2).sum().backward();
    const Tensor of_left = left.grad().clone();
    left.mutable_grad() = Tensor();
    at::mm(left, x).pow(2).sum().backward();
    expect_equal(of_left, left.grad());
    expect_equal(leaf.grad().to_dense(), x.grad() * x.ne(0));
  }
}

TEST(SparseGradients, ConjugateComplexFactors) {
  const c10::complex<double> alpha(2, 3);
  Tensor m = at::eye(2, at::kComplexDouble).to_sparse().requires_grad_();
  Tensor r = at::eye(2, at::kComplexDouble).requires_grad_();
  const Tensor y = at::_sparse_addmm(at::zeros({2, 2}, at::kComplexDouble), m, r, 1, alpha);
  const auto grads = torch::autograd::grad({y}, {m, r}, {at::eye(2, at::kComplexDouble)});
  expect_equal(grads[0].to_dense(), at::eye(2, at::kComplexDouble) * c10::complex<double>(2, -3));
  expect_equal(grads[1], at::eye(2, at::kComplexDouble) * c10::complex<double>(2, -3));
}

TEST(SparseGradients, SecondOrder) {
  Tensor values = torch::tensor({1.f, 2.f, 3.f}).requires_grad_();
  const Tensor y = at::sparse_coo_tensor(longs({0, 2, 0, 1, 0, 1}, {2, 3}), values, {3, 2}).to_dense().pow(3).sum();
  const Tensor first = torch::autograd::grad({y}, {values}, {}, true, true)[0];
  first.sum().backward();
  // 6 (v0 + v2) for each of the two, twice; 6 v1.
  expect_equal(values.grad(), torch::tensor({48.f, 12.f, 48.f}));
  // Through the sampled product: (values @ w)^2 has the gradient 2 (values @ w) @ w^T.
  for (const bool rows : {false, true}) {
    Tensor leaf = three().to(at::kDouble).coalesce(), w = at::arange(6, at::kDouble).reshape({2, 3}).requires_grad_();
    leaf = (rows ? leaf.to_sparse_csr() : leaf).requires_grad_();
    Tensor x = leaf.detach().to_dense().requires_grad_();
    const Tensor of_leaf = torch::autograd::grad({at::_sparse_mm(leaf, w).pow(2).sum()}, {leaf}, {}, true, true)[0];
    const Tensor of_w = torch::autograd::grad({of_leaf.to_dense().pow(2).sum()}, {w})[0];
    const Tensor of_x = torch::autograd::grad({at::mm(x, w).pow(2).sum()}, {x}, {}, true, true)[0] * x.detach().ne(0);
    expect_equal(of_w, torch::autograd::grad({of_x.pow(2).sum()}, {w})[0]);
  }
}

// The gradient of a table of rows, of which `indices` names some, weighted 0, 1, 2, ...
Tensor table_gradient(Tensor& weight, const Tensor& indices, bool sparse, int64_t padding = -1) {
  const Tensor rows = at::embedding(weight, indices, padding, false, sparse);
  (rows * at::arange(rows.numel(), rows.options()).reshape(rows.sizes())).sum().backward();
  return weight.grad();
}

TEST(SparseGradients, OfEmbeddings) {
  const Tensor indices = longs({1, 2, 1, 4}, {2, 2});
  for (const int64_t padding : {-1, 1}) {
    Tensor a = at::ones({5, 2}).requires_grad_(), b = at::ones({5, 2}).requires_grad_();
    const Tensor grad = table_gradient(a, indices, true, padding);
    ASSERT_TRUE(grad.is_sparse());
    EXPECT_EQ(grad._nnz(), padding < 0 ? 4 : 2);
    EXPECT_EQ(grad.sparse_dim(), 1);
    expect_equal(grad.to_dense(), table_gradient(b, indices, false, padding));
    // Twice: the sum.
    table_gradient(a, indices, true, padding);
    ASSERT_TRUE(a.grad().is_sparse());
    expect_equal(a.grad().to_dense(), table_gradient(b, indices, false, padding));
  }
  Tensor weight = at::ones({5, 2}).requires_grad_();
  EXPECT_EQ(first_line(message_of([&] { at::embedding(weight, indices, -1, true, true).sum().backward(); })),
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  // Second order.
  const Tensor y = at::embedding(weight, indices, -1, false, true).pow(3).sum();
  torch::autograd::grad({y}, {weight}, {}, true, true)[0].to_dense().sum().backward();
  expect_equal(weight.grad().is_sparse() ? weight.grad().to_dense() : weight.grad(),
               torch::tensor({{0.f, 0.f}, {12.f, 12.f}, {6.f, 6.f}, {0.f, 0.f}, {6.f, 6.f}}));
}

TEST(SparseGradients, AddUpWithDenseOnes) {
  const Tensor indices = longs({1, 2}, {2});
  const Tensor both = torch::tensor({{2.f, 2.f}, {3.f, 3.f}, {3.f, 3.f}, {2.f, 2.f}, {2.f, 2.f}});
  const auto sparse = [&](const Tensor& w) { return at::embedding(w, indices, -1, false, true).sum(); };
  const auto dense_one = [](const Tensor& w) { return (w * 2).sum(); };
  Tensor w = at::ones({5, 2}).requires_grad_();
  (sparse(w) + dense_one(w)).backward();
  expect_equal(w.grad(), both);
  w = at::ones({5, 2}).requires_grad_();
  (dense_one(w) + sparse(w)).backward();
  expect_equal(w.grad(), both);
  w = at::ones({5, 2}).requires_grad_();
  sparse(w).backward();
  dense_one(w).backward();
  EXPECT_FALSE(w.grad().is_sparse());
  expect_equal(w.grad(), both);
  w = at::ones({5, 2}).requires_grad_();
  dense_one(w).backward();
  sparse(w).backward();
  expect_equal(w.grad(), both);
  // What is inside is not the gradient's alone.
  w = at::ones({5, 2}).requires_grad_();
  (sparse(w) + sparse(w)).backward();
  ASSERT_TRUE(w.grad().is_sparse());
  expect_equal(w.grad().to_dense(), 2 * (both - 2));
}

TEST(SparseGradients, OfEmbeddingBags) {
  const Tensor indices = longs({1, 2, 1, 4}, {4}), offsets = longs({0, 2}, {2});
  for (const int64_t mode : {0, 1}) {
    Tensor grads[2];
    for (const bool sparse : {false, true}) {
      Tensor weight = at::ones({5, 2}).requires_grad_();
      const Tensor bags = std::get<0>(at::embedding_bag(weight, indices, offsets, false, mode, sparse));
      (bags * at::arange(4, at::kFloat).reshape({2, 2})).sum().backward();
      EXPECT_EQ(weight.grad().is_sparse(), sparse);
      grads[sparse] = sparse ? weight.grad().to_dense() : weight.grad();
    }
    expect_equal(grads[0], grads[1]);
  }
}

TEST(SparseGradients, OfBagsByName) {
  const Tensor grad = at::arange(6, at::kFloat).reshape({2, 3}) + 1, none = at::zeros({0}, at::kLong);
  const Tensor indices = longs({1, 4, 1, 2}, {4}), offsets = longs({0, 3}, {2}), sizes = longs({3, 1}, {2});
  for (const int64_t mode : {0, 1}) {
    for (const Tensor& bags : {longs({0, 0, 0, 1}, {4}), none}) {
      const auto backward = [&](bool sparse) {
        return at::_embedding_bag_backward(grad, indices, offsets, bags, sizes, none, 5, false, mode, sparse, {}, 4);
      };
      const Tensor rows = backward(true), dense = backward(false);
      EXPECT_TRUE(rows.is_sparse());
      expect_equal(rows.to_dense(), dense);
      const float first = mode == 1 ? 3.f : 1.f;
      expect_equal(dense.select(0, 1), 2 / first * grad[0]);
      expect_equal(dense.select(0, 4), at::zeros({3}));
    }
  }
  EXPECT_EQ(
      first_line(message_of(
          [&] { at::_embedding_bag_sparse_backward(grad, indices, offsets, none, sizes, 5, false, 0, {}); })),
      "_embedding_bag_sparse_backward: expected a matrix and as many bags as indices, but got [2, 3], [0] and [4]");
}

TEST(SparseFunctions, AreThoseOfDenseTensors) {
  const Tensor dense = torch::tensor({{0.0, 2.0, 0.0}, {3.0, 0.0, -1.0}}, at::kDouble);
  const Tensor other = torch::tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, at::kDouble),
               square = at::ones({2, 2}, at::kDouble);
  const Tensor coo = dense.to_sparse(), csr = dense.to_sparse_csr();
  for (const Tensor& sparse : {coo, csr}) {
    expect_equal(torch::sparse::mm(sparse, other), dense.mm(other));
    expect_equal(torch::sparse::addmm(square, sparse, other, 2, 3), 2 * square + 3 * dense.mm(other));
  }
  expect_equal(torch::sparse::mm(csr, other, "amax"), torch::tensor({{6.0, 8.0}, {3.0, 6.0}}, at::kDouble));
  expect_equal(torch::sparse::sum(coo), dense.sum());
  expect_equal(torch::sparse::sum(coo, 0).to_dense(), dense.sum(0));
  expect_equal(torch::sparse::sum(coo, 1, at::kFloat).to_dense(), dense.sum(1).to(at::kFloat));
  const Tensor hidden = dense.masked_fill(dense == 0, -std::numeric_limits<double>::infinity());
  expect_equal(torch::sparse::softmax(coo, 1).to_dense(), hidden.softmax(1));
  expect_equal(torch::sparse::log_softmax(coo, 1).to_dense(), hidden.log_softmax(1).masked_fill(dense == 0, 0));
  const Tensor pattern = square.to_sparse_csr();
  expect_equal(torch::sparse::sampled_addmm(pattern, dense, other).to_dense(), dense.mm(other) + 1);
  expect_equal(torch::sparse::spdiags(torch::tensor({{1.0, 2.0}}, at::kDouble), torch::tensor({1}), {2, 3}).to_dense(),
               torch::tensor({{0.0, 2.0, 0.0}, {0.0, 0.0, 0.0}}, at::kDouble));
}

TEST(SparseFunctions, ChecksOfTensorsAndGradients) {
  using torch::sparse::check_sparse_tensor_invariants;
  const auto bad = [] { at::sparse_coo_tensor(longs({5}, {1, 1}), torch::tensor({1.f}), {3}, at::TensorOptions()); };
  EXPECT_FALSE(check_sparse_tensor_invariants::is_enabled());
  {
    const check_sparse_tensor_invariants guard;
    EXPECT_TRUE(check_sparse_tensor_invariants::is_enabled());
    EXPECT_THROW(bad(), c10::Error);
    const check_sparse_tensor_invariants off(false);
    EXPECT_FALSE(check_sparse_tensor_invariants::is_enabled());
  }
  EXPECT_FALSE(check_sparse_tensor_invariants::is_enabled());

  const auto check = torch::sparse::as_sparse_gradcheck(torch::autograd::gradcheck);
  const auto check_twice = torch::sparse::as_sparse_gradcheck(torch::autograd::gradgradcheck);
  const Tensor dense = torch::tensor({{0.0, 2.0, 0.0}, {3.0, 0.0, -1.0}}, at::kDouble),
               other = at::randn({3, 2}, at::kDouble);
  const auto product = [](const torch::autograd::variable_list& x) -> torch::autograd::variable_list {
    return {torch::sparse::mm(x[0], x[1]), x[0] * 2};
  };
  for (const Tensor& sparse : {dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()}) {
    const auto result = check(product, {sparse.requires_grad_(), other.clone().requires_grad_()}, {});
    EXPECT_TRUE(result.ok) << sparse.layout() << result.message;
  }
  const auto squared = [](const torch::autograd::variable_list& x) -> torch::autograd::variable_list {
    return {x[0] * x[0]};
  };
  const auto second = check_twice(squared, {dense.to_sparse().requires_grad_()}, {});
  EXPECT_TRUE(second.ok) << second.message;
  const auto wrong = [](const torch::autograd::variable_list& x) -> torch::autograd::variable_list {
    return {x[0].to_dense() * x[0].detach().to_dense()};
  };
  EXPECT_FALSE(check(wrong, {dense.to_sparse().requires_grad_()}, {}).ok);
}

TEST(Sparse, PrintsItsParts) {
  EXPECT_EQ(at::to_string(at::sparse_coo_tensor(longs({0, 1, 2, 0}, {2, 2}), torch::tensor({1.5f, 2.f}), {2, 3})),
            "[ SparseCPUFloatType{}\nindices:\n 0  1\n 2  0\n[ CPULongType{2,2} ]\nvalues:\n 1.5000\n 2.0000\n"
            "[ CPUFloatType{2} ]\nsize:\n[2, 3]\n]");
}

}  // namespace
