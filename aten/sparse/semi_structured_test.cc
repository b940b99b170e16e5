#include "aten/sparse/semi_structured_tensor.h"

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/core/cpu_generator.h"
#include "c10/parallel/parallel.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_close;
using c10::testing::message_of;
using torch::sparse::SparseSemiStructuredTensor;
using torch::sparse::to_sparse_semi_structured;

constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kHalf, at::kBFloat16, at::kChar};

bool is_pairs(at::ScalarType dtype) {
  return dtype == at::kFloat;
}

// Whether elements are kept, at random: in each group two of four or one of two, in some fewer.
Tensor random_mask(int64_t rows, int64_t columns, at::ScalarType dtype) {
  const int64_t group = is_pairs(dtype) ? 2 : 4;
  const Tensor order = at::argsort(at::rand({rows, columns / group, group}), -1);
  const Tensor fewer = at::rand({rows, columns / group, group}) < 0.8;
  return ((order < group / 2) & fewer).reshape({rows, columns});
}

// Small integers, so that products in 16 bits are exact.
Tensor integers(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randint(-3, 4, sizes).to(dtype);
}

Tensor pruned(int64_t rows, int64_t columns, at::ScalarType dtype) {
  return integers({rows, columns}, dtype) * random_mask(rows, columns, dtype).to(dtype);
}

Tensor wide(const Tensor& t) {
  return t.to(at::kDouble);
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::equal(a, b)) << a << b;
}

// --- kept elements ---
TEST(SemiStructured, EachPatternHasItsNumber) {
  struct Case {
    std::vector<double> group, kept;
    int64_t number;
  };
  const Case fours[] = {{{0, 0, 0, 0}, {0, 0}, 14}, {{1, 0, 0, 0}, {1, 0}, 8},  {{0, 2, 0, 0}, {2, 0}, 9},
                        {{0, 0, 3, 0}, {3, 0}, 14}, {{0, 0, 0, 4}, {0, 4}, 14}, {{1, 2, 0, 0}, {1, 2}, 4},
                        {{1, 0, 3, 0}, {1, 3}, 8},  {{1, 0, 0, 4}, {1, 4}, 12}, {{0, 2, 3, 0}, {2, 3}, 9},
                        {{0, 2, 0, 4}, {2, 4}, 13}, {{0, 0, 3, 4}, {3, 4}, 14}};
  const Case pairs[] = {{{0, 0}, {0}, 14}, {{1, 0}, {1}, 4}, {{0, 2}, {2}, 14}};
  const auto check = [](const Case& c, at::ScalarType dtype) {
    const Tensor dense = at::testing::tensor_of(c.group, {1, static_cast<int64_t>(c.group.size())}, dtype);
    const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(dense);
    EXPECT_EQ(at::testing::values(sparse.values()), c.kept) << dense;
    EXPECT_EQ(sparse.indices().item<int64_t>(), c.number) << dense;
    expect_equal(sparse.to_dense(), dense);
  };
  for (const Case& c : fours) {
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kChar}) check(c, dtype);
  }
  for (const Case& c : pairs) check(c, at::kFloat);
}

TEST(SemiStructured, NumbersStandInWordsFromTheLowestBitsOn) {
  const std::vector<double> row{0, 0, 1, 2, 3, 0, 4, 0, 5, 6, 0, 0, 0, 7, 8, 0, 9, 0, 0, 10};
  const SparseSemiStructuredTensor half = to_sparse_semi_structured(at::testing::tensor_of(row, {1, 20}, at::kHalf));
  EXPECT_EQ(at::testing::values(half.values()), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(half.indices().scalar_type(), at::kShort);
  EXPECT_EQ(at::testing::values(half.indices()), (std::vector<double>{static_cast<int16_t>(0x948e), 12}));
  const SparseSemiStructuredTensor bytes = to_sparse_semi_structured(at::testing::tensor_of(row, {1, 20}, at::kChar));
  EXPECT_EQ(bytes.indices().scalar_type(), at::kInt);
  EXPECT_EQ(at::testing::values(bytes.indices()), (std::vector<double>{0xc948e}));
  const SparseSemiStructuredTensor floats =
      to_sparse_semi_structured(at::testing::tensor_of({1, 0, 0, 2, 0, 3, 4, 0, 0, 0}, {1, 10}));
  EXPECT_EQ(at::testing::values(floats.values()), (std::vector<double>{1, 2, 3, 4, 0}));
  EXPECT_EQ(at::testing::values(floats.indices()), (std::vector<double>{0x4ee4, 14}));
}

TEST(SemiStructured, IsWhatWasConverted) {
  at::manual_seed(1);
  for (const at::ScalarType dtype : kDtypes) {
    for (const auto& [rows, columns] :
         std::vector<std::tuple<int64_t, int64_t>>{{1, 4}, {3, 36}, {64, 128}, {513, 260}, {0, 8}, {5, 0}}) {
      const Tensor dense = pruned(rows, columns, dtype);
      const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(dense);
      expect_equal(sparse.to_dense(), dense);
      expect_equal(sparse.t().to_dense(), dense.t());
      EXPECT_EQ(sparse.values().sizes(), at::IntArrayRef({rows, columns / 2}));
      EXPECT_EQ(sparse.size(0), rows);
      EXPECT_EQ(sparse.size(-1), columns);
      EXPECT_EQ(sparse.t().size(0), columns);
      EXPECT_EQ(sparse.t().size(1), rows);
      expect_equal(SparseSemiStructuredTensor(sparse.values(), sparse.indices()).to_dense(), dense);
    }
  }
  // Strides may be any, and what is not 0 is a NaN, too, but not -0.
  const Tensor strided = pruned(8, 12, at::kHalf).t().contiguous().t().slice(1, 4, 12);
  expect_equal(to_sparse_semi_structured(strided).to_dense(), strided);
  const Tensor odd = at::testing::tensor_of({NAN, -0.0, INFINITY, -0.0}, {1, 4}, at::kBFloat16);
  EXPECT_EQ(to_sparse_semi_structured(odd).indices().item<int64_t>(), 8);
  EXPECT_TRUE(to_sparse_semi_structured(odd).to_dense().isnan()[0][0].item<bool>());
}

TEST(SemiStructured, TakesLittleMoreThanHalfTheMemory) {
  for (const at::ScalarType dtype : kDtypes) {
    const Tensor dense = at::zeros({128, 128}, dtype);
    const double share =
        static_cast<double>(to_sparse_semi_structured(dense).nbytes()) / static_cast<double>(dense.nbytes());
    EXPECT_EQ(share, dtype == at::kChar ? 10.0 / 16 : 9.0 / 16);
  }
}

TEST(SemiStructured, OtherTensorsAreErrors) {
  Tensor dense = at::zeros({5, 16}, at::kHalf);
  dense[3].slice(0, 9, 12).fill_(1);
  EXPECT_EQ(
      message_of([&] { to_sparse_semi_structured(dense); }),
      "to_sparse_semi_structured: row 3, group 2 (columns 8 to 11) has 3 elements that are not 0, at most 2 may be");
  Tensor many = at::ones({1000, 64});  // in several threads, and still the first
  many.slice(0, 0, 700).fill_(0);
  many[700].slice(0, 0, 30).fill_(0);
  EXPECT_EQ(message_of([&] { to_sparse_semi_structured(many); }),
            "to_sparse_semi_structured: row 700, group 15 (columns 30 to 31) has 2 elements that are not 0, at most 1 "
            "may be");
  EXPECT_EQ(message_of([] { to_sparse_semi_structured(at::zeros({4})); }),
            "to_sparse_semi_structured: expected the tensor to be a matrix, but got 1 dimensions");
  EXPECT_EQ(message_of([] {
              to_sparse_semi_structured(at::zeros({4, 4}, at::kDouble));
            }),
            "to_sparse_semi_structured: expected a matrix of dtype Half, BFloat16, Float or Char, but got Double");
  EXPECT_EQ(message_of([] {
              to_sparse_semi_structured(at::zeros({4, 6}, at::kChar));
            }),
            "to_sparse_semi_structured: expected a multiple of 4 columns, but got 6");
  const Tensor values = at::zeros({2, 4}, at::kHalf), words = at::zeros({2, 1}, at::kShort);
  EXPECT_EQ(message_of([&] { SparseSemiStructuredTensor(values, words.slice(0, 0, 1)); }),
            "SparseSemiStructuredTensor: expected values and indices to be matrices of as many rows, but got [2, 4] "
            "and [1, 1]");
  EXPECT_NE(message_of([&] {
              SparseSemiStructuredTensor(values, words.to(at::kInt));
            }).find("expected metadata of dtype Short"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { SparseSemiStructuredTensor(values.slice(1, 0, 3), words); }).find("2 elements of each group"),
      std::string::npos);
  // Words of 0 name no places; they are looked at where they are read.
  const SparseSemiStructuredTensor nameless(values, words);
  for (const std::string& message : {message_of([&] { nameless.to_dense(); }), message_of([&] {
                                       torch::sparse::mm(nameless, at::ones({8, 1}, at::kHalf));
                                     }),
                                     message_of([&] {
                                       at::_semi_structured_gather(at::zeros({2, 8}, at::kHalf), words);
                                     })}) {
    EXPECT_NE(message.find("the metadata hold numbers that name no places of a group, as 0"), std::string::npos)
        << message;
  }
}

// --- products ---
TEST(SemiStructuredProducts, AreThoseOfTheDenseMatrix) {
  at::manual_seed(2);
  for (const at::ScalarType dtype : kDtypes) {
    SCOPED_TRACE(c10::toString(dtype));
    const auto type = dtype == at::kChar ? std::optional(at::kInt) : std::nullopt;
    const auto same = [&](const Tensor& actual, const Tensor& expected) {
      EXPECT_EQ(actual.scalar_type(), type.value_or(dtype));
      expect_equal(actual, expected.to(actual.scalar_type()));
    };
    // The greatest needs several panels, also of columns.
    for (const auto& [m, k, n] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
             {1, 4, 1}, {5, 8, 3}, {33, 36, 17}, {0, 8, 3}, {4, 0, 3}, {4, 8, 0}, {900, 1300, 5}}) {
      const Tensor a = pruned(m, k, dtype), b = integers({k, n}, dtype), c = integers({n, m}, dtype);
      const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(a);
      same(torch::sparse::mm(sparse, b, type), wide(a).mm(wide(b)));
      same(torch::sparse::mm(c, sparse, type), wide(c).mm(wide(a)));
      same(torch::sparse::mm(b.t(), sparse.t(), type), wide(b).t().mm(wide(a).t()));
      same(torch::sparse::mm(sparse.t(), c.t(), type), wide(a).t().mm(wide(c).t()));
      same(torch::sparse::mm(sparse, b.t().contiguous().t(), type), wide(a).mm(wide(b)));
      const Tensor x = integers({2, n, k}, dtype), bias = integers({m}, type.value_or(dtype));
      same(torch::sparse::linear(x, sparse, bias, type), wide(x).matmul(wide(a).t()) + wide(bias));
      same(torch::sparse::linear(x, sparse, std::nullopt, type), wide(x).matmul(wide(a).t()));
      if (k > 0) same(torch::sparse::linear(c, sparse.t(), std::nullopt, type), wide(c).mm(wide(a)));
    }
  }
}

TEST(SemiStructuredProducts, HaveAddends) {
  at::manual_seed(3);
  const Tensor a = pruned(6, 8, at::kFloat), b = integers({8, 5}, at::kFloat), d = integers({3, 8}, at::kFloat);
  const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(a);
  const Tensor rows = integers({5}, at::kFloat), whole = integers({6, 5}, at::kFloat),
               lines = integers({6}, at::kFloat);
  expect_equal(torch::sparse::addmm(rows, sparse, b, 2, 3), at::addmm(rows, a, b, 2, 3));
  expect_equal(torch::sparse::addmm(whole, sparse, b), at::addmm(whole, a, b));
  expect_equal(torch::sparse::addmm(lines, d, sparse.t(), 2, 3), at::addmm(lines, d, a.t(), 2, 3));
  const Tensor nothing = at::full({5}, NAN);
  expect_equal(torch::sparse::addmm(nothing, sparse, b, 0), a.mm(b));
  EXPECT_NE(message_of([&] { torch::sparse::addmm(at::zeros({2, 6, 5}), sparse, b); }), "no error");
}

TEST(SemiStructuredProducts, OfBytesAreCutOrWide) {
  const Tensor a = at::testing::tensor_of({100, 100, 0, 0}, {1, 4}, at::kChar), b = at::full({4, 2}, 2, at::kChar);
  const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(a);
  expect_equal(torch::sparse::mm(sparse, b), at::full({1, 2}, 127, at::kChar));
  expect_equal(torch::sparse::mm(sparse, -b), at::full({1, 2}, -128, at::kChar));
  expect_equal(torch::sparse::mm(sparse, b, at::kInt), at::full({1, 2}, 400, at::kInt));
}

TEST(SemiStructuredProducts, BadArguments) {
  const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(at::zeros({6, 8}));
  EXPECT_EQ(message_of([&] {
              torch::sparse::mm(sparse, at::zeros({7, 2}));
            }),
            "_semi_structured_addmm: mat1 and mat2 shapes cannot be multiplied (6x8 and 7x2)");
  EXPECT_EQ(message_of([&] {
              torch::sparse::mm(at::zeros({2, 7}), sparse);
            }),
            "_semi_structured_mm_left: mat1 and mat2 shapes cannot be multiplied (2x7 and 6x8)");
  EXPECT_EQ(message_of([&] { torch::sparse::mm(sparse, at::zeros({8})); }),
            "mm: expected the dense factor to be a matrix, but got 1 dimensions");
  EXPECT_EQ(message_of([&] {
              torch::sparse::mm(sparse, at::zeros({8, 2}, at::kHalf));
            }),
            "_semi_structured_addmm: expected factors of one dtype, but got Float and Half");
  EXPECT_EQ(
      message_of([&] {
        torch::sparse::mm(sparse, at::zeros({8, 2}), at::kInt);
      }),
      "_semi_structured_addmm: out_dtype is only supported as Int for factors of dtype Char, but got Int for Float");
  EXPECT_EQ(message_of([&] { torch::sparse::linear(at::zeros({}), sparse); }),
            "linear: expected an input of at least 1 dimension, but got 0");
  EXPECT_EQ(message_of([&] {
              torch::sparse::linear(at::zeros({2, 8}), sparse, at::zeros({5}));
            }),
            "_semi_structured_addmm: expected an addend for each of 6 rows, but got one of size [5]");
}

TEST(SemiStructuredProducts, HaveTheSameBitsWithAnyNumberOfThreads) {
  at::manual_seed(4);
  const Tensor a = at::randn({300, 256}) * random_mask(300, 256, at::kFloat).to(at::kFloat), b = at::randn({256, 130});
  const SparseSemiStructuredTensor sparse = to_sparse_semi_structured(a);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Tensor one = torch::sparse::mm(sparse, b);
  at::set_num_threads(4);
  expect_equal(torch::sparse::mm(sparse, b), one);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::allclose(one, a.mm(b), 1e-4, 1e-4));
}

// --- gradients ---
TEST(SemiStructuredGradients, AreThoseOfTheDenseProductWhereElementsAreKept) {
  at::manual_seed(5);
  const Tensor mask = random_mask(6, 8, at::kFloat);
  Tensor weight = (at::randn({6, 8}) * mask.to(at::kFloat)).requires_grad_(), x = at::randn({3, 8}).requires_grad_(),
         bias = at::randn({6}).requires_grad_();
  Tensor same_weight = weight.detach().clone().requires_grad_(), same_x = x.detach().clone().requires_grad_(),
         same_bias = bias.detach().clone().requires_grad_();
  const auto sparse = [&] { return to_sparse_semi_structured(weight); };
  const Tensor kept = to_sparse_semi_structured(at::ones({6, 8}) * mask.to(at::kFloat)).to_dense(),
               g = at::randn({3, 6});
  // A place without an element is kept, too, where its group has none.
  const Tensor places = at::_semi_structured_expand(at::ones({6, 4}), sparse().indices());
  EXPECT_TRUE(at::equal(places * kept, kept));
  const auto compare = [&](const Tensor& y, const Tensor& expected) {
    expect_close(y, expected, 1e-4, 1e-5);
    y.backward(g);
    expected.backward(g);
    expect_close(weight.grad(), same_weight.grad() * places, 1e-4, 1e-5);
    expect_close(x.grad(), same_x.grad(), 1e-4, 1e-5);
    for (Tensor* t : {&weight, &x, &same_weight, &same_x}) t->mutable_grad().reset();
  };
  compare(torch::sparse::linear(x, sparse(), bias), at::linear(same_x, same_weight, same_bias));
  expect_close(bias.grad(), same_bias.grad(), 1e-4, 1e-5);
  compare(torch::sparse::mm(x, sparse().t()), same_x.mm(same_weight.t()));
  compare(torch::sparse::mm(sparse(), x.t()).t(), same_weight.mm(same_x.t()).t());
  compare(torch::sparse::mm(sparse().t().t(), x.t()).t(), same_weight.mm(same_x.t()).t());
  // And of the other factor order, and without a history.
  const Tensor left = at::randn({2, 6});
  torch::sparse::mm(left, sparse()).sum().backward();
  left.mm(same_weight).sum().backward();
  expect_close(weight.grad(), same_weight.grad() * places, 1e-4, 1e-5);
  EXPECT_FALSE(torch::sparse::mm(left, sparse().detach()).requires_grad());
}

// --- the operators of PyTorch: recorded from its reference conversion ---
TEST(SemiStructuredOperators, MetadataHaveTheOrderOfDevices) {
  for (const at::ScalarType dtype : {at::kHalf, at::kFloat, at::kChar}) {
    const int64_t columns = dtype == at::kHalf ? 64 : dtype == at::kFloat ? 32 : 128, rows = 64;
    const SparseSemiStructuredTensor plain = to_sparse_semi_structured([&] {
      at::manual_seed(6);
      return pruned(rows, columns, dtype);
    }());
    const auto [values, meta] = at::_to_sparse_semi_structured(plain.to_dense());
    expect_equal(values, plain.values());
    EXPECT_EQ(meta.sizes(), at::IntArrayRef({rows, 4}));
    const Tensor words = plain.indices(), ordered = meta.reshape({-1});
    // Where the words of a row went.
    const auto place = [&](int64_t row, int64_t column) { return ordered[row * 4 + column].item<int64_t>(); };
    const auto word = [&](int64_t row, int64_t column) { return words[row][column].item<int64_t>(); };
    struct Move {
      int64_t row, column, to;
    };
    const std::vector<Move> sixteen{{0, 0, 0},    {0, 1, 2},  {0, 2, 128}, {0, 3, 130}, {1, 0, 8},
                                    {7, 3, 186},  {8, 0, 1},  {8, 1, 3},   {9, 3, 139}, {16, 0, 4},
                                    {17, 2, 140}, {24, 1, 7}, {32, 0, 64}};
    const std::vector<Move> thirty_two{{0, 0, 0}, {0, 1, 2},   {0, 2, 128},  {1, 0, 4},   {7, 1, 30}, {8, 0, 1},
                                       {8, 1, 3}, {9, 2, 133}, {15, 3, 159}, {16, 0, 32}, {17, 1, 38}};
    for (const Move& m : dtype == at::kChar ? thirty_two : sixteen) {
      EXPECT_EQ(place(m.to / 4, m.to % 4), word(m.row, m.column)) << m.row << " " << m.column;
    }
    EXPECT_EQ(std::get<0>(at::sort(ordered)).equal(std::get<0>(at::sort(words.reshape({-1})))), true);
  }
}

TEST(SemiStructuredOperators, ProductsAreThoseOfTheDenseMatrix) {
  at::manual_seed(7);
  for (const at::ScalarType dtype : kDtypes) {
    SCOPED_TRACE(c10::toString(dtype));
    const bool bytes = dtype == at::kChar;
    const auto type = bytes ? std::optional(at::kInt) : std::nullopt;
    const at::ScalarType result = type.value_or(dtype);
    const Tensor a = pruned(96, 128, dtype), b = integers({128, 7}, dtype), x = integers({2, 5, 128}, dtype),
                 bias = integers({96}, result);
    const auto [values, meta] = at::_to_sparse_semi_structured(a);
    expect_equal(at::_sparse_semi_structured_mm(values, meta, b, type), wide(a).mm(wide(b)).to(result));
    expect_equal(at::_sparse_semi_structured_addmm(bias, values, meta, b, 2, 3, type),
                 (wide(a).mm(wide(b)) * 2 + wide(bias).unsqueeze(1) * 3).to(result));
    const Tensor expected = (wide(x).matmul(wide(a).t()) + wide(bias)).to(result);
    expect_equal(at::_sparse_semi_structured_linear(x, values, meta, bias, std::nullopt, type), expected);
    expect_equal(at::_sparse_semi_structured_linear(x, values, meta, bias, "relu", type), at::relu(expected));
    if (!bytes)
      expect_equal(at::_sparse_semi_structured_linear(x, values, meta, bias, "silu", type), at::silu(expected));
    expect_equal(at::_sparse_semi_structured_linear(x[0], values, meta, {}, std::nullopt, type),
                 wide(x[0]).mm(wide(a).t()).to(result));
    EXPECT_EQ(at::_sparse_semi_structured_linear(x[0], values, meta, {}, std::nullopt, type).strides(),
              at::IntArrayRef({1, 5}));
  }
}

TEST(SemiStructuredOperators, TilesArePrunedInBothDirections) {
  // The example of PyTorch's documents.
  Tensor tile = at::zeros({32, 32}, at::kHalf);
  tile.slice(0, 0, 4).slice(1, 0, 4).copy_(torch::tensor({{9, 1, 7, 4}, {1, 2, 3, 0}, {8, 3, 5, 4}, {1, 2, 6, 2}}));
  const auto [packed, meta, packed_t, meta_t, masks] = at::_sparse_semi_structured_tile(tile);
  const auto dense_of = [](const Tensor& values, const Tensor& meta) {
    return at::_sparse_semi_structured_mm(values, meta, at::eye(32, at::kHalf));
  };
  const Tensor kept = dense_of(packed, meta);
  expect_equal(kept.slice(0, 0, 4).slice(1, 0, 4),
               torch::tensor({{9, 0, 7, 0}, {0, 2, 0, 0}, {8, 0, 0, 4}, {0, 2, 6, 0}}).to(at::kHalf));
  expect_equal(dense_of(packed_t, meta_t), kept.t());
  // Bits of the first tile: two rows a byte.
  EXPECT_EQ(masks.sizes(), at::IntArrayRef({4, 4, 4, 2}));
  const Tensor bits = masks[0][0][0];
  EXPECT_EQ(bits[0].item<int64_t>() & 0x2f, 0x25);
  at::manual_seed(8);
  for (const std::string_view algorithm : {"", "largest_abs_values_greedy", "largest_values_greedy"}) {
    const Tensor input = at::randn({64, 96}, at::kBFloat16);
    const auto [values, words, values_t, words_t, bytes] = at::_sparse_semi_structured_tile(input, algorithm);
    const Tensor dense = at::_sparse_semi_structured_apply_dense(input, bytes);
    const Tensor counts = dense.ne(0).reshape({16, 4, 24, 4}).sum(1), along = dense.ne(0).reshape({64, 24, 4}).sum(2);
    EXPECT_TRUE(counts.le(2).all().item<bool>() && along.le(2).all().item<bool>());
    EXPECT_TRUE(at::equal(dense, at::where(dense.ne(0), input, 0)));
    // The greatest of each tile is kept.
    const Tensor tiles =
        (algorithm == "largest_values_greedy" ? input : input.abs()).reshape({16, 4, 24, 4}).amax({1, 3});
    const Tensor left = (algorithm == "largest_values_greedy" ? at::where(dense.ne(0), input, -INFINITY) : dense.abs());
    EXPECT_TRUE(at::equal(tiles, left.reshape({16, 4, 24, 4}).amax({1, 3})));
    const auto [again, again_t] = at::_sparse_semi_structured_apply(input, bytes);
    expect_equal(again, values);
    expect_equal(again_t, values_t);
    expect_equal(at::_sparse_semi_structured_mm(values, words, at::eye(96, at::kBFloat16)), dense);
    expect_equal(at::_sparse_semi_structured_mm(values_t, words_t, at::eye(64, at::kBFloat16)), dense.t());
  }
  // Each element's bit: bytes of the first row and column of squares of 8 x 8.
  Tensor one = at::zeros({32, 32}, at::kHalf);
  one[5][6] = 1;
  const auto only = std::get<4>(at::_sparse_semi_structured_tile(one, "largest_abs_values_greedy"));
  EXPECT_EQ(only[0][0][3][0].item<int64_t>() & 64, 64);
}

TEST(SemiStructuredOperators, BadArguments) {
  const auto [values, meta] = at::_to_sparse_semi_structured(at::zeros({32, 64}, at::kHalf));
  const Tensor b = at::zeros({64, 8}, at::kHalf), x = at::zeros({8, 64}, at::kHalf);
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(message_of([&] { at::_to_sparse_semi_structured(at::zeros({30, 64}, at::kHalf)); }), "a multiple of 32 rows");
  has(message_of([&] { at::_to_sparse_semi_structured(at::zeros({32, 16}, at::kHalf)); }), "an even number of words");
  has(message_of([&] { at::_to_sparse_semi_structured(at::ones({32, 64}, at::kHalf)); }), "row 0, group 0");
  has(message_of([&] { at::_sparse_semi_structured_mm(values, meta.to(at::kLong), b); }),
      "metadata of dtype Short or Int");
  has(message_of([&] { at::_sparse_semi_structured_mm(values, meta[0], b); }), "the metadata to be a matrix");
  has(message_of([&] { at::_sparse_semi_structured_mm(values, meta, x); }), "cannot be multiplied (32x64 and 8x64)");
  has(message_of([&] { at::_sparse_semi_structured_addmm(b, values, meta, b); }), "an addend for each of 32 rows");
  has(message_of([&] { at::_sparse_semi_structured_linear(x, values, meta, {}, "gelu"); }),
      "relu or silu, but got gelu");
  has(message_of([&] { at::_sparse_semi_structured_linear(x, values, meta, {}, {}, at::kInt); }),
      "out_dtype is only supported");
  has(message_of([&] { at::_sparse_semi_structured_tile(at::zeros({32, 32})); }), "dtype Half or BFloat16");
  has(message_of([&] { at::_sparse_semi_structured_tile(at::zeros({32, 40}, at::kHalf)); }), "multiples of 32");
  has(message_of([&] {
        at::_sparse_semi_structured_tile(at::zeros({32, 64}, at::kHalf), "smallest");
      }),
      "but got smallest");
  EXPECT_NE(message_of<c10::NotImplementedError>([&] {
              at::_sparse_semi_structured_tile(at::zeros({32, 32}, at::kHalf), "", false);
            }),
            "no error");
  has(message_of([&] {
        at::_sparse_semi_structured_apply(at::zeros({32, 32}, at::kHalf), at::zeros({4, 4}, at::kByte));
      }),
      "thread_masks of dtype Byte and size [4, 4, 4, 2]");
}

}  // namespace
