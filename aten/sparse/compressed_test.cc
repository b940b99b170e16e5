#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/context.h"
#include "aten/core/printing.h"
#include "aten/sparse/compressed_parts.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Layout;
using at::Tensor;
using c10::testing::message_of;

constexpr Layout kLayouts[] = {at::kSparse, at::kSparseCsr, at::kSparseCsc, at::kSparseBsr, at::kSparseBsc};

Tensor longs(const std::vector<int64_t>& numbers) {
  return torch::tensor(numbers);
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-6, true)) << a << b;
}

Tensor whole(const Tensor& t) {
  return t.layout() == at::kStrided ? t : t.to_dense();
}

std::string text(const std::function<void()>& call) {
  const std::string message = message_of(call);
  return message.substr(0, message.find('\n'));
}

// About half zeros, and never an empty matrix.
Tensor holes(at::IntArrayRef sizes, int64_t seed = 1) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  const Tensor numbers = (at::arange(numel, at::kDouble) * 7 + seed * 5).remainder(11) - 4;
  const Tensor kept = (at::arange(numel, at::kLong) * 5 + seed).remainder(7) < 4;
  return (numbers * kept + 0.0).reshape(sizes);  // without -0
}

Tensor in_layout(const Tensor& t, Layout layout, int64_t dense_dim = 0) {
  const bool blocked = layout == at::kSparseBsr || layout == at::kSparseBsc;
  const std::vector<int64_t> block{2, 2};
  return t.to_sparse(layout, blocked ? at::OptionalIntArrayRef(block) : at::OptionalIntArrayRef(), dense_dim);
}

TEST(Compressed, IsMadeOfItsParts) {
  const Tensor t =
      torch::sparse_csr_tensor(longs({0, 2, 2, 3}), longs({0, 2, 1}), torch::tensor({1.f, 2.f, 3.f}), {3, 4});
  EXPECT_EQ(t.layout(), at::kSparseCsr);
  EXPECT_TRUE(t.is_sparse_csr());
  EXPECT_EQ(t._nnz(), 3);
  EXPECT_EQ(t.sparse_dim(), 2);
  EXPECT_EQ(t.dense_dim(), 0);
  EXPECT_EQ(t.numel(), 12);
  expect_equal(t.crow_indices(), longs({0, 2, 2, 3}));
  expect_equal(t.col_indices(), longs({0, 2, 1}));
  expect_equal(t.values(), torch::tensor({1.f, 2.f, 3.f}));
  expect_equal(t.to_dense(), torch::tensor({{1.f, 0.f, 2.f, 0.f}, {0.f, 0.f, 0.f, 0.f}, {0.f, 3.f, 0.f, 0.f}}));
  EXPECT_EQ(at::sparse_csr_tensor(longs({0, 1}), longs({4}), at::ones({1})).sizes(), (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(at::sparse_bsc_tensor(longs({0, 1}), longs({1}), at::ones({1, 2, 3})).sizes(),
            (std::vector<int64_t>{4, 3}));
  const Tensor narrow =
      at::sparse_csc_tensor(longs({0, 1, 1}).to(at::kInt), longs({1}).to(at::kInt), at::ones({1}), {2, 2});
  EXPECT_EQ(narrow.row_indices().scalar_type(), at::kInt);
  expect_equal(narrow.to_dense(), torch::tensor({{0.f, 0.f}, {1.f, 0.f}}));
  EXPECT_EQ(narrow.to_sparse_csr().col_indices().scalar_type(), at::kInt);
  EXPECT_EQ(at::empty({3, 4}, at::TensorOptions(at::kSparseCsr))._nnz(), 0);
  EXPECT_EQ(at::zeros_like(t)._nnz(), 0);
  expect_equal(at::zeros_like(t).to_dense(), at::zeros({3, 4}));
}

TEST(Compressed, PartsThatDoNotFitAreRefused) {
  const Tensor values = at::ones({3});
  const auto validate = [&](const Tensor& crow, const Tensor& col, const Tensor& v, at::IntArrayRef size) {
    return text([&] { at::_validate_sparse_csr_tensor_args(crow, col, v, size); });
  };
  EXPECT_EQ(validate(longs({0, 2, 3}), longs({0, 1, 1}), values, {2, 2}), "no error");
  EXPECT_EQ(validate(longs({1, 2, 3}), longs({0, 1, 1}), values, {2, 2}),
            "`crow_indices[..., 0] == 0` is not satisfied.");
  EXPECT_EQ(validate(longs({0, 2, 2}), longs({0, 1, 1}), values, {2, 2}),
            "`crow_indices[..., -1] == nnz` is not satisfied.");
  EXPECT_EQ(validate(longs({0, 3, 3}), longs({0, 1, 1}), values, {2, 2}),
            "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.");
  EXPECT_EQ(validate(longs({0, 2, 3}), longs({0, 2, 1}), values, {2, 2}),
            "`0 <= col_indices < ncols` is not satisfied.");
  EXPECT_EQ(validate(longs({0, 2, 3}), longs({1, 0, 1}), values, {2, 2}),
            "`col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1, ..., nrows are sorted and "
            "distinct "
            "along the last dimension values` is not satisfied.");
  EXPECT_EQ(validate(longs({0, 3}), longs({0, 1, 1}), values, {2, 2}),
            "crow_indices.shape[-1] must be equal to the number of rows + 1 (=3), but got 2");
  EXPECT_EQ(validate(longs({0, 2, 3}), longs({0, 1}), values, {2, 2}),
            "col_indices.shape[-1] must be equal to nnz (=3) as defined by values.shape[0], but got 2");
  EXPECT_EQ(validate(longs({0, 2, 3}), longs({0, 1, 1}).to(at::kInt), values, {2, 2}),
            "crow_indices and col_indices must have the same dtype, bot got Long and Int, respectively");
  EXPECT_EQ(text([&] {
              at::_validate_sparse_coo_tensor_args(longs({0, 5}).reshape({1, 2}), at::ones({2}), {3});
            }),
            "size is inconsistent with indices: for dim 0, size is 3 but found index 5");
  EXPECT_EQ(text([&] {
              at::_validate_sparse_coo_tensor_args(longs({0, -1}).reshape({1, 2}), at::ones({2}), {3});
            }),
            "found negative index -1 for dim 0");
  EXPECT_EQ(text([&] {
              holes({3, 4}).to_sparse_csr().ccol_indices();
            }),
            "ccol_indices expected sparse column compressed tensor layout but got SparseCsr");
  EXPECT_EQ(text([&] {
              holes({3, 4}).crow_indices();
            }),
            "crow_indices expected sparse row compressed tensor layout but got Strided");
  EXPECT_EQ(text([&] {
              holes({3, 4}).to_sparse_bsr({2, 2});
            }),
            "dense_to_sparse_bsr: tensor sparse size (3,4) must be divisible by given blocksize (2,2)");
  EXPECT_EQ(text([&] {
              at::stack({at::eye(2), at::ones({2, 2})}).to_sparse_csr();
            }),
            "Expect the same number of specified elements per batch.");
  // Unchecked parts reach no memory that is not theirs.
  for (const std::vector<int64_t>& crow : {std::vector<int64_t>{0, 9, 3}, {0, -4, 3}, {0, 2, 3}}) {
    const Tensor bad = at::_sparse_csr_tensor_unsafe(longs(crow), longs({0, 70, -1}), values, {2, 2});
    for (const auto& call :
         std::vector<std::function<void()>>{[&] { bad.to_dense(); }, [&] { bad.to_sparse_csc(); },
                                            [&] {
                                              at::mm(bad, at::ones({2, 2}));
                                            },
                                            [&] { at::add(bad, bad); },
                                            [&] {
                                              at::mul(bad, at::ones({2, 2}));
                                            },
                                            [&] {
                                              at::ones({2, 2}).sparse_mask(bad);
                                            },
                                            [&] { bad.select(0, 0); }, [&] { at::_sparse_csr_sum(bad, {0}, true); }}) {
      EXPECT_THROW(call(), c10::Error);
    }
  }
  at::globalContext().setCheckSparseTensorInvariants(true);
  EXPECT_EQ(text([&] {
              at::sparse_csr_tensor(longs({0, 2, 3}), longs({1, 0, 1}), values, {2, 2});
            }).substr(0, 16),
            "`col_indices[...");
  at::globalContext().setCheckSparseTensorInvariants(false);
}

TEST(Compressed, EachLayoutGoesIntoEachOther) {
  for (const at::ScalarType type : {at::kDouble, at::kLong, at::kBool, at::kComplexFloat, at::kBFloat16}) {
    const Tensor dense = holes({6, 4}).to(type);
    for (const Layout from : kLayouts) {
      const Tensor t = in_layout(dense, from);
      EXPECT_EQ(t.layout(), from);
      EXPECT_TRUE(at::equal(t.to_dense(), dense));
      EXPECT_TRUE(at::equal(t.clone().to_dense(), dense));
      for (const Layout to : kLayouts) {
        const Tensor other = in_layout(t, to);
        EXPECT_EQ(other.layout(), to);
        EXPECT_TRUE(at::equal(other.to_dense(), dense)) << from << to;
        if (to != at::kSparse)
          EXPECT_TRUE(at::equal(other.values(), in_layout(dense, to).values()) || from == at::kSparseBsr ||
                      from == at::kSparseBsc)
              << from << to;
      }
    }
  }
  // Batches, dense dimensions, nothing at all.
  const Tensor one = holes({4, 6, 3});
  const Tensor batch = at::stack({one, -one});
  for (const Layout layout : {at::kSparseCsr, at::kSparseCsc, at::kSparseBsr, at::kSparseBsc}) {
    const Tensor t = in_layout(batch, layout, 1);
    EXPECT_EQ(t.dense_dim(), 1);
    expect_equal(t.to_dense(), batch);
    expect_equal(t.transpose(1, 2).to_dense(), batch.transpose(1, 2));
    expect_equal(t.select(0, 1).to_dense(), -one);
    expect_equal(t.select(3, 2).to_dense(), batch.select(3, 2));
    expect_equal(t.to_sparse().to_dense(), batch);
    expect_equal((t * 2).to_dense(), batch * 2);
    EXPECT_EQ(in_layout(at::zeros({4, 2}), layout)._nnz(), 0);
    expect_equal(in_layout(at::zeros({4, 0}), layout).to_dense(), at::zeros({4, 0}));
  }
  expect_equal(at::_convert_indices_from_coo_to_csr(longs({0, 0, 2}), 4), longs({0, 2, 2, 3, 3}));
  expect_equal(at::_convert_indices_from_csr_to_coo(longs({0, 2, 2, 3}), longs({1, 2, 0})),
               longs({0, 0, 2, 1, 2, 0}).reshape({2, 3}));
}

// Long enough to be shared out among threads.
TEST(Compressed, ManyIndicesOfOneLayoutAsThoseOfAnother) {
  const int64_t count = 200000, size = 70000;
  const Tensor rows = at::randint(size, {count}, longs({}).options());
  const Tensor in_order = std::get<0>(at::sort(rows));
  const Tensor pointers = at::_convert_indices_from_coo_to_csr(in_order, size);
  expect_equal(pointers, at::searchsorted(in_order, at::arange(size + 1, longs({}).options())));
  expect_equal(at::_convert_indices_from_coo_to_csr(rows, size), pointers);
  expect_equal(at::_convert_indices_from_csr_to_coo(pointers, rows), at::stack({in_order, rows}));
  for (const int64_t wrong : {size, int64_t{-1}}) {
    const Tensor outside = in_order.clone();
    outside[count / 2].fill_(wrong);
    EXPECT_NE(message_of([&] { at::_convert_indices_from_coo_to_csr(outside, size); })
                  .find("index " + std::to_string(wrong) + " is out of bounds"),
              std::string::npos);
  }
  const Tensor falling = pointers.clone();
  falling[size / 2].fill_(0);
  EXPECT_NE(message_of([&] { at::_convert_indices_from_csr_to_coo(falling, rows); }).find("crow_indices fall"),
            std::string::npos);
}

TEST(Compressed, ElementByElement) {
  using Function = Tensor (*)(const Tensor&);
  const std::pair<const char*, Function> functions[] = {
      {"abs", at::abs},   {"asinh", at::asinh},     {"ceil", at::ceil},  {"erf", at::erf},   {"expm1", at::expm1},
      {"frac", at::frac}, {"isnan", at::isnan},     {"neg", at::neg},    {"relu", at::relu}, {"sgn", at::sgn},
      {"sign", at::sign}, {"signbit", at::signbit}, {"sin", at::sin},    {"sqrt", at::sqrt}, {"square", at::square},
      {"tan", at::tan},   {"tanh", at::tanh},       {"trunc", at::trunc}};
  const Tensor x = holes({4, 6}), y = holes({4, 6}, 3);
  for (const Layout layout : kLayouts) {
    const Tensor a = in_layout(x, layout), b = in_layout(y, layout);
    for (const auto& [name, function] : functions) {
      SCOPED_TRACE(name);
      const Tensor result = function(a);
      EXPECT_EQ(result.layout(), layout);
      expect_equal(result.to_dense(), function(x));
    }
    Tensor out = at::zeros_like(a), changed = a.clone();
    at::sin_out(out, a);
    expect_equal(out.to_dense(), x.sin());
    const Tensor values = layout == at::kSparse ? changed._values() : changed.values();
    changed.abs_();
    expect_equal(changed.to_dense(), x.abs());
    EXPECT_FALSE(at::any(values < 0).item<bool>());  // written where they are
    expect_equal((a + b).to_dense(), x + y);
    expect_equal(at::sub(a, b, 2).to_dense(), at::sub(x, y, 2));
    expect_equal((y + a), y + x);
    expect_equal((a * b).to_dense(), x * y);
    expect_equal((a * y).to_dense(), x * y);
    expect_equal((a * y.slice(0, 0, 1)).to_dense(), x * y.slice(0, 0, 1));
    expect_equal((a * torch::tensor(3.0)).to_dense(), x * 3);
    expect_equal((a / 4).to_dense(), x / 4);
    expect_equal(at::floor_divide(a, torch::tensor(2.0)).to_dense(), at::floor_divide(x, 2));
    expect_equal(a.pow(2).to_dense(), x.pow(2));
    expect_equal(a.sum(), x.sum());
    expect_equal(at::norm(a), at::norm(x));
    expect_equal(a.t().to_dense(), x.t());
    expect_equal(a.select(0, 2).to_dense(), x.select(0, 2));
    expect_equal(a.select(1, -1).to_dense(), x.select(1, -1));
    const Tensor stored = at::ones_like(x).sparse_mask(a).to_dense();
    expect_equal(y.sparse_mask(a).to_dense(), y * stored);
    expect_equal(b.sparse_mask(a).to_dense(), y * stored);
    EXPECT_EQ((a + b).layout(), layout);
    Tensor cleared = a.clone();
    cleared.zero_();
    expect_equal(cleared.to_dense(), at::zeros_like(x));
    Tensor target = a.clone();
    target.copy_(b);
    expect_equal(target.to_dense(), y);
  }
  EXPECT_EQ(text([&] { at::add(in_layout(x, at::kSparseCsr), in_layout(x, at::kSparseCsc)); }),
            "add: expected 'self' and 'other' to have the same layout, but got SparseCsr and SparseCsc");
  const Tensor twice = at::sparse_coo_tensor(longs({0, 0}).reshape({1, 2}), torch::tensor({-1.0, 3.0}), {2});
  expect_equal(twice.abs().to_dense(), torch::tensor({2.0, 0.0}));
  EXPECT_EQ(text([&] { twice.clone().abs_(); }), "abs_ requires coalesced input");
}

TEST(Compressed, Products) {
  const Tensor x = holes({4, 6}), y = holes({6, 8}, 2), v = holes({6}, 3), c = holes({4, 8}, 5);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kLong, at::kComplexDouble, at::kBFloat16}) {
    const Tensor a = x.to(type), b = y.to(type), w = v.to(type), add = c.to(type);
    const auto check = [&](const Tensor& actual, const Tensor& expected) {
      EXPECT_TRUE(at::allclose(whole(actual), expected, 0.02, 0.02)) << type;
    };
    for (const Layout layout : kLayouts) {
      const Tensor s = in_layout(a, layout), r = in_layout(b, layout);
      check(at::mm(s, b), at::mm(a, b));
      check(at::mm(s, b.t().contiguous().t()), at::mm(a, b));
      check(at::mm(a, r), at::mm(a, b));
      check(at::mm(s, r), at::mm(a, b));
      check(at::mv(s, w), at::mv(a, w));
      check(at::matmul(s, w), at::mv(a, w));
      check(at::addmm(add, s, b, 2, 3), at::addmm(add, a, b, 2, 3));
      check(at::addmm(add, s, b, 0, 3), at::addmm(add, a, b, 0, 3));
      check(at::addmv(at::select(add, 1, 0), s, w, 2, 3), at::addmv(at::select(add, 1, 0), a, w, 2, 3));
      Tensor out = at::empty({0}, a.options());
      at::mm_out(out, s, b);
      check(out, at::mm(a, b));
      Tensor sum = add.clone();
      sum.addmm_(s, b);
      check(sum, at::addmm(add, a, b));
      EXPECT_THROW(at::mm(s, a), c10::Error);
      const Tensor batch = at::stack({a, a * 2}), factors = at::stack({b, b * 3});
      if (layout == at::kSparse) {
        check(at::bmm(batch.to_sparse(), factors), at::bmm(batch, factors));
        check(at::bmm(batch, factors.to_sparse()), at::bmm(batch, factors));
        check(at::hspmm(s, b), at::mm(a, b));
        check(at::smm(s, b), at::mm(a, b));
        check(at::sspaddmm(add.to_sparse(), s, b, 2, 3), at::addmm(add, a, b, 2, 3));
      } else {
        check(at::bmm(in_layout(batch, layout), factors), at::bmm(batch, factors));
      }
    }
    EXPECT_EQ(at::mm(in_layout(a, at::kSparseCsc), in_layout(b, at::kSparseCsc)).layout(), at::kSparseCsr);
  }
  // Wide enough for whole tiles, and for several threads.
  const Tensor big = holes({300, 200}), wide = holes({200, 150}, 4);
  expect_equal(at::mm(big.to_sparse_csr(), wide), at::mm(big, wide));
  expect_equal(at::mm(wide.t(), big.to_sparse_csc().t()), at::mm(wide.t(), big.t()));

  const Tensor sampled = x.to_sparse_csr(), left = holes({4, 3}, 2), right = holes({3, 6}, 3);
  expect_equal(at::sparse_sampled_addmm(sampled, left, right, 2, 3).to_dense(),
               (x * 2 + at::mm(left, right) * 3) * x.ne(0));
  const Tensor triangle = (holes({5, 5}).triu() + at::eye(5, at::kDouble) * 5), b = holes({5, 2}, 4);
  for (const bool transpose : {false, true}) {
    const auto [solution, copy] = at::triangular_solve(b, triangle.to_sparse_csr(), true, transpose);
    expect_equal(solution, std::get<0>(at::triangular_solve(b, triangle, true, transpose)));
    EXPECT_EQ(copy.numel(), 0);
  }
  for (const char* reduce : {"sum", "mean", "amax", "amin"}) {
    const Tensor products = x.unsqueeze(2) * y.slice(1, 0, 2).unsqueeze(0), stored = x.ne(0).unsqueeze(2);
    const Tensor counts = at::clamp_min(x.ne(0).sum(1, true), 1);
    const std::string name = reduce;
    const Tensor expected = name == "sum"    ? products.sum(1)
                            : name == "mean" ? products.sum(1) / counts
                            : name == "amax" ? at::where(stored, products, -1e9).amax(1)
                                             : at::where(stored, products, 1e9).amin(1);
    expect_equal(at::_sparse_mm(x.to_sparse_csr(), y.slice(1, 0, 2), reduce), expected);
  }
}

// Enough elements for several threads.
TEST(Compressed, MergesInStepWithAnyNumberOfThreads) {
  const Tensor x = holes({300, 200}), y = holes({300, 200}, 2);
  const int before = at::get_num_threads();
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    for (const Layout layout : {at::kSparse, at::kSparseCsr, at::kSparseCsc}) {
      const Tensor a = in_layout(x, layout), b = in_layout(y, layout);
      expect_equal(at::sub(a, b, 3).to_dense(), x - 3 * y);
      expect_equal((a * b).to_dense(), x * y);
      expect_equal(at::add(a.to(at::kFloat), b.to(at::kHalf)).to_dense(), x.to(at::kFloat) + y.to(at::kHalf));
      EXPECT_EQ(at::add(a, b)._nnz(), a._nnz() + b._nnz() - (a * b)._nnz());
      expect_equal(at::mm(a, b.transpose(0, 1)).to_dense(), at::mm(x, y.t()));
      EXPECT_TRUE(layout != at::kSparse || at::add(a, b).is_coalesced());
    }
  }
  at::set_num_threads(before);
}

// Places of 32 and of 64 bits, rows longer than what is looked through at a time, columns that leave a rest.
TEST(Compressed, ProductsOfEachWidthOfIndices) {
  const Tensor x = holes({9, 1500});
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const Tensor csr = in_layout(x.to(dtype), at::kSparseCsr);
    for (const at::ScalarType index : {at::kInt, at::kLong}) {
      const Tensor a = at::sparse_csr_tensor(csr.crow_indices().to(index), csr.col_indices().to(index), csr.values(),
                                             csr.sizes(), csr.options());
      for (const int64_t columns : {1, 2, 5, 16, 23, 70, 150}) {
        const Tensor right = (holes({1500, columns}, 3) / 4).to(dtype);
        expect_equal(at::mm(a, right), at::mm(x.to(dtype), right));
      }
      expect_equal(at::mv(a, holes({1500}, 2).to(dtype)), at::mv(x.to(dtype), holes({1500}, 2).to(dtype)));
    }
  }
  // Nothing is read at places that are out of range, in any row.
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const Tensor a = at::_sparse_csr_tensor_unsafe(longs({0, 1, 3}), longs({0, 1, bad}), at::ones({3}), {2, 4},
                                                   at::TensorOptions().dtype(at::kFloat).layout(at::kSparseCsr));
    const std::string message = text([&] { at::mv(a, at::ones({4})); });
    EXPECT_EQ(message, "`0 <= col_indices < ncols` is not satisfied.");
    EXPECT_EQ(text([&] { at::mm(a, at::ones({4, 20})); }), message);
  }
  const Tensor falls = at::_sparse_csr_tensor_unsafe(longs({0, 4, 3}), longs({0, 1, 2}), at::ones({3}), {2, 4},
                                                     at::TensorOptions().dtype(at::kFloat).layout(at::kSparseCsr));
  EXPECT_THROW(at::mv(falls, at::ones({4})), c10::Error);
}

TEST(Compressed, Reductions) {
  const Tensor x = holes({4, 6});
  const Tensor csr = x.to_sparse_csr();
  for (const int64_t dim : {0, 1}) {
    expect_equal(at::_sparse_csr_sum(csr, {dim}, true).to_dense(), x.sum(dim, true));
    expect_equal(csr.sum(std::vector<int64_t>{dim}, true).to_dense(), x.sum(dim, true));
    const Tensor products = at::where(x.ne(0), x, 1.0).prod(dim, true);
    expect_equal(at::_sparse_csr_prod(csr, {dim}, true).to_dense(), products * x.ne(0).any(dim, true));
    const Tensor softmax = at::softmax(at::where(x.ne(0), x, -INFINITY), dim);
    expect_equal(at::_sparse_softmax(x.to_sparse(), dim).to_dense(), softmax);
    expect_equal(at::_sparse_log_softmax(x.to_sparse(), dim).to_dense(), at::where(x.ne(0), softmax.log(), 0.0));
    expect_equal(at::_sparse_sum(x.to_sparse(), {dim}).to_dense(), x.sum(dim));
  }
  expect_equal(at::_sparse_csr_sum(csr, {0, 1}, true).to_dense(), x.sum().reshape({1, 1}));
  EXPECT_TRUE(at::any(x.to_sparse()).item<bool>());
  EXPECT_EQ(text([&] { at::_sparse_csr_sum(csr, {0}, false); }),
            "reduction operations on CSR tensors with keepdim=False is unsupported");
  EXPECT_EQ(
      text([&] { at::norm(x.to_sparse(), 2, std::vector<int64_t>{0}); }),
      "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of "
      "the input");
}

TEST(Coordinates, OtherShapesAndParts) {
  for (const int64_t sparse_dim : {1, 2, 3}) {
    const Tensor x = holes({3, 4, 5}), a = x.to_sparse(sparse_dim), b = at::cat({a, a}, 0);
    expect_equal(b.to_dense(), at::cat({x, x}, 0));
    expect_equal(at::cat({a, a}, 2).to_dense(), at::cat({x, x}, 2));
    expect_equal(at::stack({a, a}, 1).to_dense(), at::stack({x, x}, 1));
    for (const int64_t dim : {0, 1, 2, 3}) expect_equal(a.unsqueeze(dim).to_dense(), x.unsqueeze(dim));
    for (const int64_t dim : {0, 1, 2}) {
      expect_equal(whole(a.select(dim, -1)), x.select(dim, -1));
      expect_equal(a.narrow_copy(dim, 1, 2).to_dense(), x.narrow_copy(dim, 1, 2));
      expect_equal(at::slice(a, dim, 0, 3, 2).to_dense(), at::slice(x, dim, 0, 3, 2));
      expect_equal(a.index_select(dim, longs({2, 0, 2})).to_dense(), x.index_select(dim, longs({2, 0, 2})));
      expect_equal(a.unsqueeze(dim).squeeze(dim).to_dense(), x);
    }
    EXPECT_THROW(a.index_select(0, longs({3})), c10::IndexError);
  }
  const Tensor x = holes({3, 4, 5}), a = x.to_sparse(2);
  expect_equal(a.transpose(0, 1).to_dense(), x.transpose(0, 1));
  expect_equal(a.permute({1, 0, 2}).to_dense(), x.permute({1, 0, 2}));
  EXPECT_EQ(text([&] { a.transpose(0, 2); }),
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: 2, d0: 0, d1: 2");
  Tensor changed = x.to_sparse(3).clone();
  changed.transpose_(0, 2);
  expect_equal(changed.to_dense(), x.transpose(0, 2));
  expect_equal(at::_sparse_broadcast_to(x.slice(1, 0, 1).to_sparse(), {2, 3, 4, 5}).to_dense(),
               x.slice(1, 0, 1).expand({2, 3, 4, 5}));
  Tensor resized = a.clone();
  resized.sparse_resize_({4, 6, 5}, 2, 1);
  expect_equal(resized.to_dense().slice(0, 0, 3).slice(1, 0, 4), x);
  EXPECT_EQ(
      text([&] {
        resized.sparse_resize_({2, 6, 5}, 2, 1);
      }),
      "shrinking the size of sparse dimensions (from [4, 6] to [2, 6]) on a non-empty sparse tensor is not supported.");
  const Tensor mask = at::sparse_coo_tensor(longs({0, 0, 1, 1}).reshape({2, 2}), at::ones({2}, at::kDouble), {2, 2});
  const Tensor full = (at::arange(4, at::kDouble) + 1).reshape({2, 2}).to_sparse();
  const Tensor projected = torch::tensor({{0.0, 2.0}, {0.0, 0.0}}).to(at::kDouble);
  expect_equal(full._sparse_mask_projection(mask).to_dense(), projected);
  expect_equal(full._sparse_mask_projection(mask, true).to_dense(), projected * 2);
  // Products keep the places of a factor that is not coalesced.
  const Tensor twice = at::sparse_coo_tensor(longs({1, 1, 2}).reshape({1, 3}), torch::tensor({5.0, 6.0, 7.0}), {4});
  const Tensor once = at::sparse_coo_tensor(longs({0, 1}).reshape({1, 2}), torch::tensor({2.0, 3.0}), {4}).coalesce();
  for (const Tensor& product : {twice * once, once * twice}) {
    expect_equal(product._indices(), twice._indices());
    expect_equal(product._values(), torch::tensor({15.0, 18.0, 0.0}));
  }
  EXPECT_EQ((once * once)._nnz(), 2);
  expect_equal(at::_spdiags(torch::tensor({{1, 2, 3}, {4, 5, 6}}), longs({0, 1}), {3, 3}).to_dense(),
               torch::tensor({{1, 5, 0}, {0, 2, 6}, {0, 0, 3}}));
}

// 10^12 elements, of which some are stored: what is done with them takes memory for those.
TEST(Coordinates, TakeMemoryForWhatIsStored) {
  const int64_t n = 1000000;
  const Tensor indices = longs({0, 999999, 5, 5, 7, 999999, 3, 3}).reshape({2, 4});
  const Tensor a = at::sparse_coo_tensor(indices, torch::tensor({1.0, 2.0, 3.0, 4.0}), {n, n});
  const Tensor b = at::sparse_coo_tensor(indices.flip(0), torch::tensor({1.0, 2.0, 3.0, 4.0}), {n, n});
  EXPECT_EQ(a.numel(), n * n);
  const Tensor once = a.coalesce();
  EXPECT_EQ(once._nnz(), 3);
  expect_equal(once.values(), torch::tensor({1.0, 7.0, 2.0}));
  EXPECT_EQ((a + b).coalesce()._nnz(), 5);
  EXPECT_EQ((once * b.coalesce())._nnz(), 1);
  expect_equal((a * at::ones({1, 1}, at::kFloat)).coalesce().values(), once.values());
  expect_equal(a.sin().values(), once.values().sin());
  expect_equal(a.sum(), torch::tensor(10.0));
  expect_equal(at::_sparse_sum(a, {0}).values(), torch::tensor({7.0, 1.0, 2.0}));
  expect_equal(at::_sparse_softmax(a, 1).values(), at::ones({3}, at::kFloat));
  expect_equal(a.transpose(0, 1).coalesce().values(), torch::tensor({7.0, 1.0, 2.0}));
  expect_equal(a.select(0, 5).coalesce().values(), torch::tensor({7.0}));
  expect_equal(a.index_select(0, longs({5, 0})).coalesce().values(), torch::tensor({7.0, 1.0}));
  expect_equal(a.narrow_copy(1, 4, 10).coalesce().values(), torch::tensor({1.0}));
  EXPECT_EQ(at::cat({a, b}, 1).coalesce()._nnz(), 6);
  expect_equal(b.sparse_mask(once).values(), torch::tensor({0.0, 0.0, 2.0}));
  expect_equal(at::mm(a, b).coalesce().values(), torch::tensor({1.0, 49.0, 4.0}));
  expect_equal(at::norm(a), once.values().norm());
  EXPECT_EQ(at::stack({a, b})._nnz(), 8);
  const Tensor csr = a.to_sparse_csr();
  EXPECT_EQ(csr.values().numel(), 3);
  expect_equal((csr + csr).values(), once.values() * 2);
  expect_equal(at::mv(csr, at::ones({n}, at::kFloat)).sum(), torch::tensor(10.0));
  expect_equal(csr.to_sparse_csc().values(), torch::tensor({7.0, 1.0, 2.0}));
  // One line of 10^12 places.
  const Tensor line =
      at::sparse_coo_tensor(longs({0, 0, 999999999999, 4}).reshape({2, 2}), torch::tensor({1.0, 2.0}), {1, n * n});
  expect_equal(line.to_sparse_csr().values(), torch::tensor({2.0, 1.0}));
  expect_equal(at::mm(line, line.t()).to_dense(), torch::tensor({{5.0}}));
}

TEST(Compressed, PrintsItsParts) {
  EXPECT_EQ(at::to_string(at::sparse_csr_tensor(longs({0, 1, 2}), longs({1, 0}), torch::tensor({1.5f, 2.f}), {2, 3})),
            "[ SparseCsrCPUFloatType{}\ncrow_indices:\n 0\n 1\n 2\n[ CPULongType{3} ]\ncol_indices:\n 1\n 0\n[ "
            "CPULongType{2} ]\n"
            "values:\n 1.5000\n 2.0000\n[ CPUFloatType{2} ]\nsize:\n[2, 3]\n]");
}

// --- gradients ---
// The gradient of a function of a sparse tensor at its places is that of the same function of a dense one.
void expect_gradient(const std::function<Tensor(const Tensor&)>& f, Layout layout) {
  const Tensor x = holes({4, 6}) + 0.25 * holes({4, 6}).ne(0);
  Tensor leaf = in_layout(x, layout).requires_grad_(), dense = x.clone().requires_grad_();
  const auto weighted = [](const Tensor& y) {
    return (y * (at::arange(y.numel(), y.options()).reshape(y.sizes()) + 1)).sum();
  };
  weighted(whole(f(leaf))).backward();
  weighted(f(dense)).backward();
  const Tensor grad = whole(leaf.grad());
  const Tensor stored =
      at::ones_like(x).sparse_mask(layout == at::kSparse ? leaf.detach().coalesce() : leaf.detach()).to_dense();
  expect_equal(grad * stored, dense.grad() * stored);
}

TEST(CompressedGradients, AreThoseOfDenseOnesAtThePlaces) {
  const Tensor right = holes({6, 3}, 2), vector = holes({6}, 3), added = holes({4, 3}, 4);
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(c10::toString(layout));
    expect_gradient([](const Tensor& t) { return whole(t); }, layout);
    expect_gradient([&](const Tensor& t) { return at::mm(t, right); }, layout);
    expect_gradient([&](const Tensor& t) { return at::mv(t, vector); }, layout);
    expect_gradient([&](const Tensor& t) { return at::addmm(added, t, right, 2, 3); }, layout);
    expect_gradient([&](const Tensor& t) { return t.sum(); }, layout);
    expect_gradient([&](const Tensor& t) { return t.layout() == at::kStrided ? t * 3 : (t * 3).to_dense(); }, layout);
    if (layout == at::kSparse || layout == at::kSparseCsr) {
      expect_gradient(
          [&](const Tensor& t) { return t.layout() == at::kStrided ? at::mm(t, right) : at::_sparse_mm(t, right); },
          layout);
    }
  }
  Tensor values = torch::tensor({1.0, 2.0}).requires_grad_();
  const Tensor t = at::sparse_csr_tensor(longs({0, 1, 2}), longs({1, 0}), values, {2, 2});
  EXPECT_TRUE(t.requires_grad());
  (t.to_dense() * torch::tensor({{1.0, 2.0}, {3.0, 4.0}})).sum().backward();
  expect_equal(values.grad(), torch::tensor({2.0, 3.0}));
  Tensor leaf = holes({4, 6}).requires_grad_();
  leaf.to_sparse_csr().values().pow(2).sum().backward();
  expect_equal(leaf.grad(), 2 * holes({4, 6}));
  Tensor dense = holes({6, 3}, 2).requires_grad_();
  at::mm(holes({4, 6}).to_sparse_csc(), dense).sum().backward();
  expect_equal(dense.grad(), holes({4, 6}).sum(0).unsqueeze(1).expand({6, 3}));
}

TEST(Compressed, ResizingToTheSameChangesNothing) {
  Tensor t = at::eye(2).to_sparse_csr();
  at::resize_as_sparse_(t, torch::tensor({{0.f, 3.f}, {1.f, 0.f}}).to_sparse_csr());
  expect_equal(t.to_dense(), at::eye(2));
  at::resize_as_sparse_(t, at::ones({3, 2}).to_sparse_csr());
  EXPECT_EQ(t._nnz(), 6);
}

TEST(CompressedGradients, HaveTheBlocksOfTheLeaf) {
  Tensor leaf = at::ones({4, 4}).to_sparse_bsr({2, 2}).requires_grad_();
  leaf.to_sparse_bsr({1, 4}).values().sum().backward();
  EXPECT_EQ(leaf.grad().values().sizes(), leaf.values().sizes());
}

TEST(CompressedGradients, OfSampledProductsSumsAndSoftmax) {
  const Tensor x = holes({4, 6}), kept = x.ne(0);
  Tensor self = x.to_sparse_csr().requires_grad_(), left = holes({4, 3}, 2).requires_grad_(),
         right = holes({3, 6}, 3).requires_grad_();
  at::sparse_sampled_addmm(self, left, right, 2, 3).to_dense().pow(2).sum().backward();
  Tensor p = left.detach().clone().requires_grad_(), q = right.detach().clone().requires_grad_();
  ((x * 2 + at::mm(p, q) * 3) * kept).pow(2).sum().backward();
  expect_equal(left.grad(), p.grad());
  expect_equal(right.grad(), q.grad());
  for (const int64_t dim : {0, 1}) {
    for (const bool log : {false, true}) {
      Tensor a = x.to_sparse().requires_grad_(), b = x.clone().requires_grad_();
      (log ? at::_sparse_log_softmax(a, dim) : at::_sparse_softmax(a, dim)).to_dense().pow(2).sum().backward();
      const Tensor masked = at::where(kept, b, -INFINITY);
      (log ? at::where(kept, at::log_softmax(masked, dim), 0.0) : at::softmax(masked, dim)).pow(2).sum().backward();
      expect_equal(a.grad().to_dense(), b.grad());
    }
    Tensor a = x.to_sparse().requires_grad_();
    at::_sparse_sum(a, {dim}).to_dense().pow(2).sum().backward();
    expect_equal(a.grad().to_dense(), (2 * x.sum(dim, true)).expand_as(x) * kept);
  }
  for (const char* reduce : {"sum", "mean", "amax", "amin"}) {
    Tensor a = x.to_sparse_csr().requires_grad_(), b = holes({6, 2}, 2).requires_grad_();
    at::_sparse_mm(a, b, reduce).pow(2).sum().backward();
    Tensor c = x.clone().requires_grad_(), d = b.detach().clone().requires_grad_();
    const Tensor products = c.unsqueeze(2) * d.unsqueeze(0), stored = kept.unsqueeze(2);
    const std::string name = reduce;
    (name == "sum"    ? products.sum(1)
     : name == "mean" ? products.sum(1) / at::clamp_min(kept.sum(1, true), 1)
     : name == "amax" ? at::where(stored, products, -1e9).amax(1)
                      : at::where(stored, products, 1e9).amin(1))
        .pow(2)
        .sum()
        .backward();
    if (name == "sum" || name == "mean") {
      expect_equal(a.grad().to_dense(), c.grad() * kept);
      expect_equal(b.grad(), d.grad());
    } else {
      // Of several equal products one is chosen: the sums stay.
      expect_equal((a.grad().to_dense() * x).sum(), (c.grad() * x).sum());
    }
  }
  Tensor diagonals = holes({2, 4}).requires_grad_();
  const Tensor weights = holes({4, 5}, 6);
  (at::_spdiags(diagonals, longs({-1, 2}), {4, 5}).to_dense() * weights).sum().backward();
  const Tensor zeros = at::zeros({2, 4}, at::kDouble);
  for (int64_t d = 0; d < 2; ++d) {
    const int64_t offset = d == 0 ? -1 : 2;
    for (int64_t j = std::max<int64_t>(0, offset); j < 4 && j - offset < 4; ++j)
      zeros.select(0, d).select(0, j).copy_(weights.select(0, j - offset).select(0, j));
  }
  expect_equal(diagonals.grad(), zeros);
}

}  // namespace
