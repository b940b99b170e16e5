#include "aten/ops/matmul/ops.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace {

using namespace at;
using namespace at::matrix_testing;

constexpr ScalarType kTypes[] = {kFloat, kDouble, kHalf, kBFloat16,     kByte,         kChar,
                                 kShort, kInt,    kLong, kComplexFloat, kComplexDouble};

// a [b, m, k] times b [b, k, n] in the order of the result.
std::vector<Number> product(const Tensor& a, const Tensor& b) {
  const std::vector<Number> x = values(a), y = values(b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1), batch = a.dim() == 3 ? a.size(0) : 1;
  std::vector<Number> c(static_cast<size_t>(batch * m * n));
  for (int64_t p = 0; p < batch; ++p)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l) c[(p * m + i) * n + j] += x[(p * m + i) * k + l] * y[(p * k + l) * n + j];
  return c;
}

// What a byte or a char keeps of a sum.
std::vector<Number> wrapped(std::vector<Number> v, ScalarType t) {
  for (Number& x : v) {
    if (t == kByte) x = static_cast<double>(static_cast<uint8_t>(static_cast<int64_t>(x.real())));
    if (t == kChar) x = static_cast<double>(static_cast<int8_t>(static_cast<int64_t>(x.real())));
  }
  return v;
}

struct Sizes {
  int64_t m, n, k;
};
constexpr Sizes kSizes[] = {{1, 1, 1}, {2, 3, 4}, {5, 1, 3},   {1, 5, 3},   {0, 3, 2},
                            {3, 0, 2}, {3, 2, 0}, {17, 33, 9}, {70, 65, 66}};

TEST(Matmul, MmOfEveryDtypeLayoutAndSize) {
  for (ScalarType t : kTypes) {
    for (const Sizes& s : kSizes)
      for (Arrangement a : kLayouts)
        for (Arrangement b : {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kExpanded}) {
          const Tensor x = random_tensor({s.m, s.k}, t, a), y = random_tensor({s.k, s.n}, t, b);
          const Tensor c = at::mm(x, y);
          EXPECT_EQ(c.scalar_type(), t);
          expect_values(c, {s.m, s.n}, wrapped(product(x, y), t), toString(t));
        }
  }
}

TEST(Matmul, BmmOfEveryDtypeAndLayout) {
  for (ScalarType t : kTypes) {
    for (const Sizes& s : kSizes)
      for (Arrangement a : {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kExpanded}) {
        const Tensor x = random_tensor({3, s.m, s.k}, t, a),
                     y = random_tensor({3, s.k, s.n}, t, Arrangement::kTransposed);
        expect_values(at::bmm(x, y), {3, s.m, s.n}, wrapped(product(x, y), t), toString(t));
      }
  }
}

TEST(Matmul, OutFormsOfEveryLayout) {
  const Tensor x = random_tensor({4, 5}), y = random_tensor({5, 6});
  for (Arrangement l : kLayouts) {
    Tensor out = random_tensor({4, 6}, kFloat, l);
    const void* memory = out.data_ptr();
    at::mm_out(out, x, y);
    EXPECT_EQ(out.data_ptr(), memory);
    expect_values(out, {4, 6}, product(x, y), "mm_out");
  }
  Tensor wrong = random_tensor({2, 2});
  at::mm_out(wrong, x, y);
  expect_values(wrong, {4, 6}, product(x, y), "mm_out resizes");
  Tensor wide = random_tensor({4, 6}, kDouble);
  at::mm_out(wide, x, y);
  expect_same(wide, at::to(at::mm(x, y), kDouble), "mm_out of another dtype");
  Tensor integers = random_tensor({4, 6}, kLong);
  KINDLING_EXPECT_ERROR(at::mm_out(integers, x, y), "can't be cast");
  // The output is an input.
  Tensor square = random_tensor({5, 5});
  const std::vector<Number> want = product(square, square);
  at::mm_out(square, square, square);
  expect_values(square, {5, 5}, want, "mm_out onto its input");
}

TEST(Matmul, AddmmBroadcastsItsAddend) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16, kInt, kComplexDouble}) {
    const Tensor x = random_tensor({4, 5}, t), y = random_tensor({5, 6}, t);
    const std::vector<Number> p = product(x, y);
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{}, {6}, {1}, {4, 1}, {1, 6}, {4, 6}}) {
      const Tensor add = random_tensor(sizes, t);
      const std::vector<Number> e = values(at::expand(add, {4, 6}, false));
      std::vector<Number> want = p, plain = p;
      for (size_t i = 0; i < p.size(); ++i) want[i] = 2.0 * p[i] + 3.0 * e[i], plain[i] = p[i] + e[i];
      expect_values(at::addmm(add, x, y, 3, 2), {4, 6}, want, toString(t));
      expect_values(at::addmm(add, x, y), {4, 6}, plain, toString(t));
    }
    Tensor self = random_tensor({4, 6}, t);
    const std::vector<Number> before = values(self);
    std::vector<Number> want = p;
    for (size_t i = 0; i < p.size(); ++i) want[i] += before[i];
    at::addmm_(self, x, y);
    expect_values(self, {4, 6}, want, "addmm_");
  }
}

TEST(Matmul, BaddbmmAndAddbmm) {
  for (ScalarType t : {kFloat, kDouble, kBFloat16, kLong, kComplexFloat}) {
    const Tensor x = random_tensor({3, 4, 5}, t), y = random_tensor({3, 5, 6}, t), add = random_tensor({4, 1}, t);
    const std::vector<Number> p = product(x, y), e = values(at::expand(add, {3, 4, 6}, false));
    std::vector<Number> want(p.size()), sum(24);
    for (size_t i = 0; i < p.size(); ++i) want[i] = 2.0 * p[i] + 3.0 * e[i], sum[i % 24] += 2.0 * p[i];
    for (size_t i = 0; i < 24; ++i) sum[i] += 3.0 * e[i];
    expect_values(at::baddbmm(add, x, y, 3, 2), {3, 4, 6}, want, "baddbmm");
    expect_values(at::addbmm(add, x, y, 3, 2), {4, 6}, sum, "addbmm");
  }
  const Tensor none = random_tensor({0, 4, 5}), other = random_tensor({0, 5, 6}), add = random_tensor({4, 6});
  expect_same(at::addbmm(add, none, other), add, "addbmm of an empty batch");
}

TEST(Matmul, VectorForms) {
  for (ScalarType t : kTypes) {
    if (t == kByte || t == kChar) continue;
    for (Arrangement l : {Arrangement::kContiguous, Arrangement::kStrided}) {
      for (int64_t k : {0, 1, 7, 100}) {
        const Tensor m = random_tensor({9, k}, t, l), v = random_tensor({k}, t, l), w = random_tensor({9}, t, l),
                     u = random_tensor({k}, t);
        const std::vector<Number> p = product(m, at::unsqueeze(v, 1));
        expect_values(at::mv(m, v), {9}, p, "mv");
        std::vector<Number> sum = p, e = values(w);
        for (size_t i = 0; i < 9; ++i) sum[i] = 2.0 * p[i] + 3.0 * e[i];
        expect_values(at::addmv(w, m, v, 3, 2), {9}, sum, "addmv");
        Number inner = 0, conjugated = 0;
        for (int64_t i = 0; i < k; ++i)
          inner += values(v)[i] * values(u)[i], conjugated += std::conj(values(v)[i]) * values(u)[i];
        expect_values(at::dot(v, u), {}, {inner}, "dot");
        expect_values(at::vdot(v, u), {}, {conjugated}, "vdot");
      }
    }
    const Tensor x = random_tensor({3}, t), y = random_tensor({4}, t), s = random_tensor({3, 4}, t);
    std::vector<Number> outer, sum;
    for (int i = 0; i < 12; ++i)
      outer.push_back(values(x)[i / 4] * values(y)[i % 4]), sum.push_back(2.0 * outer.back() + 3.0 * values(s)[i]);
    expect_values(at::outer(x, y), {3, 4}, outer, "outer");
    expect_values(at::ger(x, y), {3, 4}, outer, "ger");
    expect_values(at::addr(s, x, y, 3, 2), {3, 4}, sum, "addr");
  }
  const Tensor yes = at::to(random_tensor({3}, kInt), kBool), bits = at::addr(yes, yes, yes);
  EXPECT_EQ(bits.scalar_type(), kBool);
  for (int i = 0; i < 9; ++i) {
    const bool want = values(yes)[i % 3] != 0.0 || (values(yes)[i / 3] != 0.0 && values(yes)[i % 3] != 0.0);
    EXPECT_EQ(values(bits)[i] != 0.0, want);
  }
}

TEST(Matmul, MatmulOfEveryRank) {
  struct Case {
    std::vector<int64_t> a, b, result;
  };
  const Case cases[] = {{{3}, {3}, {}},
                        {{2, 3}, {3}, {2}},
                        {{3}, {3, 2}, {2}},
                        {{2, 3}, {3, 4}, {2, 4}},
                        {{5, 2, 3}, {3}, {5, 2}},
                        {{5, 2, 3}, {3, 4}, {5, 2, 4}},
                        {{3}, {5, 3, 4}, {5, 4}},
                        {{2, 3}, {5, 3, 4}, {5, 2, 4}},
                        {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
                        {{1, 2, 3}, {5, 3, 4}, {5, 2, 4}},
                        {{6, 1, 2, 3}, {5, 3, 4}, {6, 5, 2, 4}},
                        {{2, 2, 2, 3}, {2, 2, 3, 2}, {2, 2, 2, 2}},
                        {{0, 2, 3}, {3, 4}, {0, 2, 4}},
                        {{2, 0, 3}, {2, 3, 4}, {2, 0, 4}},
                        {{2, 2, 0}, {2, 0, 4}, {2, 2, 4}},
                        {{3, 2, 3, 4}, {4}, {3, 2, 3}}};
  for (const Case& c : cases) {
    for (Arrangement l : kLayouts) {
      const Tensor a = random_tensor(c.a, kDouble, l), b = random_tensor(c.b, kDouble, l);
      Tensor x = c.a.size() == 1 ? at::unsqueeze(a, 0) : a, y = c.b.size() == 1 ? at::unsqueeze(b, -1) : b;
      DimVector batch = broadcast_shapes(x.sizes().slice(0, x.dim() - 2), y.sizes().slice(0, y.dim() - 2));
      int64_t n = 1;
      for (int64_t s : batch) n *= s;
      DimVector xs = batch, ys = batch;
      for (int64_t d : {-2, -1}) xs.push_back(x.size(d)), ys.push_back(y.size(d));
      x = at::reshape(at::expand(x, xs, false), {n, x.size(-2), x.size(-1)});
      y = at::reshape(at::expand(y, ys, false), {n, y.size(-2), y.size(-1)});
      expect_values(at::matmul(a, b), c.result, product(x, y), "matmul");
    }
  }
}

TEST(Matmul, LinearOfEveryRankLayoutAndBias) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16, kLong}) {
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{5}, {3, 5}, {2, 3, 5}, {2, 2, 3, 5}, {0, 5}, {2, 0, 5}}) {
      for (Arrangement l :
           {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided, Arrangement::kExpanded}) {
        if (l == Arrangement::kExpanded && sizes.size() < 2) continue;
        const Tensor x = random_tensor(sizes, t, l),
                     w = random_tensor({6, 5}, t, l == Arrangement::kExpanded ? Arrangement::kContiguous : l);
        const Tensor want = at::matmul(x, at::t(w));
        expect_same(at::linear(x, w), want, "linear");
        for (const std::vector<int64_t>& bias_sizes : std::vector<std::vector<int64_t>>{{6}, {1}, {}}) {
          const Tensor bias = random_tensor(bias_sizes, t);
          if (isIntegralType(t, false) || t == kFloat || t == kDouble) {
            expect_same(at::linear(x, w, bias), at::add(want, bias), "linear with bias");
          } else {
            const Tensor wide =
                at::add(at::matmul(at::to(x, kDouble), at::t(at::to(w, kDouble))), at::to(bias, kDouble));
            expect_same(at::linear(x, w, bias), wide, "linear with bias");
          }
        }
        Tensor out =
            random_tensor(std::vector<int64_t>(want.sizes().begin(), want.sizes().end()), t, Arrangement::kStrided);
        at::linear_out(out, x, w);
        expect_same(out, want, "linear_out");
        const Tensor v = random_tensor({5}, t);
        expect_same(at::linear(x, v), at::matmul(x, v), "linear with a vector");
      }
    }
  }
}

TEST(Matmul, Compositions) {
  const Tensor a = random_tensor({2, 3, 4}, kDouble), b = random_tensor({4, 3, 5}, kDouble);
  // tensordot over (1, 2) and (1, 0).
  std::vector<Number> want(10);
  const auto x = values(a), y = values(b);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j)
      for (int p = 0; p < 3; ++p)
        for (int q = 0; q < 4; ++q) want[i * 5 + j] += x[(i * 3 + p) * 4 + q] * y[(q * 3 + p) * 5 + j];
  expect_values(at::tensordot(a, b, {1, 2}, {1, 0}), {2, 5}, want, "tensordot");
  // A dimension of size 1 stands for each of the other's.
  const Tensor one = random_tensor({2, 3, 1}, kDouble);
  expect_same(at::tensordot(one, b, {1, 2}, {1, 0}), at::tensordot(at::expand(one, a.sizes()), b, {1, 2}, {1, 0}),
              "tensordot of a dimension of size 1");
  expect_same(at::tensordot(a, b, {-2, -1}, {1, 0}), at::tensordot(a, b, {1, 2}, {1, 0}),
              "tensordot with negative dims");

  const Tensor u = random_tensor({2, 4}, kDouble), v = random_tensor({3, 4}, kDouble);
  expect_same(at::inner(u, v), at::mm(u, at::t(v)), "inner");

  const Tensor k = at::kron(random_tensor({2, 3}, kDouble), random_tensor({4}, kDouble));
  EXPECT_EQ(k.sizes(), IntArrayRef({2, 12}));
  const Tensor left = random_tensor({2, 2}, kLong), right = random_tensor({3, 2}, kLong);
  std::vector<Number> blocks;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) blocks.push_back(values(left)[i / 3 * 2 + j / 2] * values(right)[i % 3 * 2 + j % 2]);
  expect_values(at::kron(left, right), {6, 4}, blocks, "kron");

  const Tensor m[] = {random_tensor({3, 7}, kDouble), random_tensor({7, 2}, kDouble), random_tensor({2, 9}, kDouble),
                      random_tensor({9, 4}, kDouble)};
  expect_same(at::chain_matmul(m), at::mm(at::mm(at::mm(m[0], m[1]), m[2]), m[3]), "chain_matmul");

  const Tensor i1 = random_tensor({5, 3}, kDouble), i2 = random_tensor({5, 4}, kDouble),
               w = random_tensor({2, 3, 4}, kDouble), bias = random_tensor({2}, kDouble);
  std::vector<Number> bl(10);
  for (int n = 0; n < 5; ++n)
    for (int o = 0; o < 2; ++o) {
      bl[n * 2 + o] = values(bias)[o];
      for (int p = 0; p < 3; ++p)
        for (int q = 0; q < 4; ++q)
          bl[n * 2 + o] += values(i1)[n * 3 + p] * values(w)[(o * 3 + p) * 4 + q] * values(i2)[n * 4 + q];
    }
  expect_values(at::bilinear(i1, i2, w, bias), {5, 2}, bl, "bilinear");
}

TEST(Matmul, Einsum) {
  const Tensor a = random_tensor({2, 3}, kDouble), b = random_tensor({3, 4}, kDouble),
               c = random_tensor({4, 5}, kDouble), s = random_tensor({3, 3}, kDouble);
  const Tensor p = random_tensor({2, 2, 3}, kDouble), q = random_tensor({2, 3, 4}, kDouble),
               v = random_tensor({3}, kDouble);
  expect_same(at::einsum("ij,jk->ik", {a, b}), at::mm(a, b), "mm");
  expect_same(at::einsum("ij, jk", {a, b}), at::mm(a, b), "implicit result");
  expect_same(at::einsum("ij,jk->ki", {a, b}), at::t(at::mm(a, b)), "transposed result");
  expect_same(at::einsum("ij,jk,kl->il", {a, b, c}), at::mm(at::mm(a, b), c), "chain");
  const int64_t order[] = {1, 2, 0, 1};
  expect_same(at::einsum("ij,jk,kl->il", {a, b, c}, IntArrayRef(order)), at::mm(at::mm(a, b), c), "chain by a path");
  expect_same(at::einsum("bij,bjk->bik", {p, q}), at::bmm(p, q), "bmm");
  expect_same(at::einsum("...ij,...jk->...ik", {p, q}), at::bmm(p, q), "ellipsis");
  expect_same(at::einsum("...ij,jk->...ik", {p, b}), at::matmul(p, b), "broadcast ellipsis");
  expect_same(at::einsum("i,j->ij", {v, v}), at::outer(v, v), "outer");
  expect_same(at::einsum("i,i->", {v, v}), at::dot(v, v), "dot");
  expect_same(at::einsum("ij->ji", {a}), at::t(a), "transpose");
  const auto x = values(s);
  expect_values(at::einsum("ii->i", {s}), {3}, {x[0], x[4], x[8]}, "diagonal");
  expect_values(at::einsum("ii", {s}), {}, {x[0] + x[4] + x[8]}, "trace");
  Number all = 0;
  for (const Number& y : x) all += y;
  expect_values(at::einsum("ij->", {s}), {}, {all}, "sum");
  expect_same(at::einsum("ij,ij->ij", {s, s}), at::mul(s, s), "product");
  KINDLING_EXPECT_ERROR(at::einsum("ij,jk->ik", {a}), "fewer operands were provided than specified");
  KINDLING_EXPECT_ERROR(at::einsum("i->i", {a}), "does not match the number of dimensions");
  KINDLING_EXPECT_ERROR(at::einsum("ij->ik", {a}), "output subscript k does not appear");
  KINDLING_EXPECT_ERROR(at::einsum("ij->ii", {a}), "appears more than once in the output");
  KINDLING_EXPECT_ERROR(at::einsum("i1->i", {a}),
                        "invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]");
  KINDLING_EXPECT_ERROR(at::einsum("ij,jk->ik", {a, c}), "which does not broadcast with previously seen size");
  KINDLING_EXPECT_ERROR(at::einsum("ii->i", {a}), "subscript i is repeated for operand 0 but the sizes don't match");
  KINDLING_EXPECT_ERROR(at::einsum("i.j->i", {a}), "found '.' for operand 0 that is not part of any ellipsis");
}

TEST(Matmul, BadArguments) {
  auto r = [](std::vector<int64_t> sizes, ScalarType t = kFloat) { return random_tensor(std::move(sizes), t); };
  KINDLING_EXPECT_ERROR(at::mm(r({2, 3}), r({2, 3})), "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  KINDLING_EXPECT_ERROR(at::mm(r({2}), r({2, 3})), "self must be a matrix");
  KINDLING_EXPECT_ERROR(at::mm(r({2, 3}), r({3})), "mat2 must be a matrix");
  KINDLING_EXPECT_ERROR(at::mm(r({2, 3}), r({3, 2}, kDouble)),
                        "expected m1 and m2 to have the same dtype, but got: float != double");
  KINDLING_EXPECT_ERROR(at::mm(r({2, 2}, kBool), r({2, 2}, kBool)), "not implemented for 'Bool'");
  KINDLING_EXPECT_ERROR(at::bmm(r({2, 3}), r({2, 3})), "batch1 must be a 3D tensor");
  KINDLING_EXPECT_ERROR(at::bmm(r({2, 3, 4}), r({2, 3})), "batch2 must be a 3D tensor");
  KINDLING_EXPECT_ERROR(at::bmm(r({2, 3, 4}), r({3, 4, 4})),
                        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].");
  KINDLING_EXPECT_ERROR(at::addmm(r({5}), r({2, 3}), r({3, 4})),
                        "The expanded size of the tensor (4) must match the existing size (5) at non-singleton "
                        "dimension 1.  Target sizes: [2, 4].  Tensor sizes: [5]");
  KINDLING_EXPECT_ERROR(at::addmm(r({2, 2, 2}), r({2, 3}), r({3, 4})),
                        "must be greater or equal to the number of dimensions");
  KINDLING_EXPECT_ERROR(at::addmm(r({4}, kDouble), r({2, 3}), r({3, 4})), "self and mat2 must have the same dtype");
  KINDLING_EXPECT_ERROR(at::dot(r({2}), r({3})), "inconsistent tensor size, expected tensor [2] and src [3]");
  KINDLING_EXPECT_ERROR(at::dot(r({2, 2}), r({3})), "1D tensors expected, but got 2D and 1D tensors");
  KINDLING_EXPECT_ERROR(at::dot(r({2}), r({2}, kDouble)), "expected both vectors to have same dtype");
  KINDLING_EXPECT_ERROR(at::mv(r({2, 3}), r({2})), "size mismatch");
  KINDLING_EXPECT_ERROR(at::mv(r({2}), r({2})), "vector + matrix @ vector expected, got 1, 1, 1");
  KINDLING_EXPECT_ERROR(at::addmv(r({3}), r({2, 3}), r({3})), "size mismatch");
  KINDLING_EXPECT_ERROR(at::addr(r({3}), r({2, 2}), r({4})), "addr: Expected 1-D argument vec1, but got 2-D");
  KINDLING_EXPECT_ERROR(at::outer(r({2, 2}), r({2})), "outer: Expected 1-D argument self, but got 2-D");
  KINDLING_EXPECT_ERROR(at::matmul(r({}), r({2})),
                        "both arguments to matmul need to be at least 1D, but they are 0D and 1D");
  KINDLING_EXPECT_ERROR(at::matmul(r({2, 3, 4}), r({3, 4, 4})),
                        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
  KINDLING_EXPECT_ERROR(at::matmul(r({2, 2, 3}), r({2, 2})),
                        "mm: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x2)");
  KINDLING_EXPECT_ERROR(at::linear(r({2, 3}), r({4, 2})),
                        "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x4)");
  KINDLING_EXPECT_ERROR(at::linear(r({2, 3}), r({4, 3}), r({5})),
                        "The expanded size of the tensor (4) must match the existing size (5)");
  KINDLING_EXPECT_ERROR(
      at::tensordot(r({2, 3}), r({2, 3}), {1}, {0}),
      "contracted dimensions need to match, but first has size 3 in dim 1 and second has size 2 in dim 0");
  KINDLING_EXPECT_ERROR(at::inner(r({2, 3}), r({2, 4})),
                        "inner() the last dimension must match on both input tensors but got shapes [2, 3] and [2, 4]");
  KINDLING_EXPECT_ERROR(at::addmm(r({4}), r({2, 3}), r({3, 4}), c10::complex<double>(0, 1)), "");
  KINDLING_EXPECT_ERROR(at::mm(r({2, 3}), at::to(r({3, 2}), Device(DeviceType::Meta), kFloat)),
                        "Expected all tensors to be on the same device");
}

// Sums of many products are made of parts.
TEST(Matmul, LongDotProducts) {
  for (const int64_t n : {int64_t{1} << 19, (int64_t{1} << 19) + 3}) {
    for (const ScalarType type : {kFloat, kBFloat16, kLong, kComplexDouble}) {
      const Tensor a = at::select(random_tensor({n, 2}, type), 1, 1), b = random_tensor({n}, type);
      const std::vector<Number> x = values(a), y = values(b);
      Number want = 0;
      for (size_t i = 0; i < x.size(); ++i) want += x[i] * y[i];
      const double error = 50 * tolerance_of(type);
      EXPECT_LE(std::abs(values(at::dot(a, b))[0] - want), error * (1 + std::abs(want))) << n << " " << type;
    }
  }
}

TEST(Matmul, MetaTensorsHaveTheShape) {
  const Tensor a = at::to(random_tensor({2, 3}), Device(DeviceType::Meta), kFloat),
               b = at::to(random_tensor({3, 4}), Device(DeviceType::Meta), kFloat);
  const Tensor c = at::mm(a, b);
  EXPECT_TRUE(c.is_meta());
  EXPECT_EQ(c.sizes(), IntArrayRef({2, 4}));
}

}  // namespace
