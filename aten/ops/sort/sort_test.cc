#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/parallel/parallel.h"

namespace at::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr ScalarType kTypes[] = {ScalarType::Byte, ScalarType::Char,  ScalarType::Short,  ScalarType::Int,  ScalarType::Long,
                                 ScalarType::Half, ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::BFloat16};

// The stable order of a row.
std::vector<int64_t> plain_order(const std::vector<double>& row, bool descending) {
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    const bool less = !(x != x) && (y != y || x < y), greater = !(y != y) && (x != x || x > y);
    if (less || greater) return descending ? greater : less;
    return a < b;
  });
  return order;
}

TEST(Sort, StableInAllLayoutsDtypesAndLengths) {
  for (ScalarType type : kTypes) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{1}, {3, 9}, {2, 500}, {700, 3}, {0, 3}, {3, 0}}) {
      for (const Tensor& t : layouts(sample(shape, type, 31))) {
        for (int64_t dim = 0; dim < t.dim(); ++dim) {
          for (bool descending : {false, true}) {
            const auto [v, i] = at::sort(t, dim, descending);
            const auto tv = values(t), vv = values(v), iv = values(i);
            int64_t inner = 1;
            for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.sizes()[d];
            const int64_t n = t.sizes()[dim];
            for (int64_t start = 0; n > 0 && start < t.numel(); start += n * inner) {
              for (int64_t k = 0; k < inner; ++k) {
                std::vector<double> row;
                for (int64_t j = 0; j < n; ++j) row.push_back(tv[static_cast<size_t>(start + j * inner + k)]);
                const auto order = plain_order(row, descending);
                for (int64_t j = 0; j < n; ++j) {
                  const auto at = static_cast<size_t>(start + j * inner + k);
                  ASSERT_EQ(iv[at], order[static_cast<size_t>(j)]);
                  ASSERT_EQ(vv[at], row[static_cast<size_t>(order[static_cast<size_t>(j)])]);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Sort, LongRowsBySeveralThreads) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  constexpr int64_t kSize = 100'003;
  std::vector<double> few, far;
  for (int64_t i = 0; i < kSize; ++i) {
    few.push_back(static_cast<double>(i * 7919 % 1009 - 500));
    far.push_back(few.back() * 0x1p40);
  }
  for (const auto& [numbers, type] : {std::pair(&few, ScalarType::Float), std::pair(&few, ScalarType::Long),
                                      std::pair(&far, ScalarType::Long), std::pair(&far, ScalarType::Double)}) {
    for (bool descending : {false, true}) {
      const auto [v, i] = at::sort(tensor_of(*numbers, {kSize}, type), 0, descending);
      const auto order = plain_order(*numbers, descending);
      ASSERT_EQ(elements<int64_t>(i), order) << type;
      const auto sorted = values(v);
      for (size_t k = 0; k < order.size(); ++k) ASSERT_EQ(sorted[k], (*numbers)[static_cast<size_t>(order[k])]);
    }
  }
  const Tensor x = sample({300'000});
  const Tensor counts = at::histc(x, 1000, Scalar(-1), Scalar(1));
  at::set_num_threads(1);
  EXPECT_EQ(values(counts), values(at::histc(x, 1000, Scalar(-1), Scalar(1))));
  at::set_num_threads(threads);
}

TEST(Sort, NanIsLargestAndZerosAreEqual) {
  const Tensor t = tensor_of({2, kNan, -0.0, 0.0, -1, INFINITY}, {6});
  expect_close(std::get<1>(at::sort(t)), {4, 2, 3, 0, 5, 1});
  expect_close(std::get<1>(at::sort(t, 0, true)), {1, 5, 0, 2, 3, 4});
  EXPECT_TRUE(std::signbit(values(std::get<0>(at::sort(t)))[1]));
}

TEST(Sort, TopkIsTheHeadOfTheSortAndKthvalueItsEnd) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {1, 10, 5000}) {
      const Tensor t = sample({2, n}, type, 32);
      for (int64_t k : {int64_t{0}, int64_t{1}, std::min<int64_t>(n, 7), n}) {
        for (bool largest : {false, true}) {
          const auto [v, i] = at::topk(t, k, 1, largest);
          const auto tv = values(t), iv = values(i);
          for (int64_t r = 0; r < 2; ++r) {
            const std::vector<double> row(tv.begin() + r * n, tv.begin() + (r + 1) * n);
            const auto order = plain_order(row, largest);
            for (int64_t j = 0; j < k; ++j) ASSERT_EQ(iv[static_cast<size_t>(r * k + j)], order[static_cast<size_t>(j)]);
          }
        }
        if (k == 0) continue;
        const auto [kth, place] = at::kthvalue(t, k, 1);
        for (int64_t r = 0; r < 2; ++r) {
          const auto tv = values(t);
          const std::vector<double> row(tv.begin() + r * n, tv.begin() + (r + 1) * n);
          const double position = values(place)[static_cast<size_t>(r)];
          ASSERT_EQ(position, plain_order(row, false)[static_cast<size_t>(k - 1)]);
          ASSERT_EQ(values(kth)[static_cast<size_t>(r)], row[static_cast<size_t>(position)]);
        }
      }
    }
  }
}

TEST(Sort, TopkOfANumberIsTheNumber) {
  for (int64_t k : {0, 1}) {
    const auto [v, i] = at::topk(tensor_of({7}, {}), k);
    EXPECT_EQ(v.dim(), 0);
    expect_close(v, {7});
    expect_close(i, {0});
  }
}

TEST(Sort, Relatives) {
  const Tensor t = tensor_of({3, 1, 2, 9, 7, 8}, {2, 3});
  expect_close(at::argsort(t), {1, 2, 0, 1, 2, 0});
  expect_close(at::msort(t), {3, 1, 2, 9, 7, 8});
  const auto [v, i] = at::kthvalue(t, 2, 1);
  expect_close(v, {2, 8});
  expect_close(i, {2, 2});
  expect_close(std::get<0>(at::sort(tensor_of({4}, {}))), {4});
}

// Long rows, of which few values are many times.
TEST(Sort, ElementsOfLongRows) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Long,
                                ScalarType::Int, ScalarType::Short, ScalarType::Byte}) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < 5000; ++i) numbers.push_back(static_cast<double>(i * i % 101));
    const Tensor t = tensor_of(numbers, {5000}, type);
    const auto order = plain_order(numbers, false);
    for (const int64_t k : {1, 2, 77, 2500, 4999, 5000}) {
      const auto [kth, place] = at::kthvalue(t, k);
      EXPECT_EQ(values(place)[0], static_cast<double>(order[static_cast<size_t>(k - 1)]));
      EXPECT_EQ(values(kth)[0], numbers[static_cast<size_t>(order[static_cast<size_t>(k - 1)])]);
    }
    const auto [v, inverse, counts] = at::_unique2(t, true, true, true);
    const auto of = values(v), at = values(inverse), many = values(counts);
    EXPECT_TRUE(std::is_sorted(of.begin(), of.end()));
    EXPECT_EQ(std::accumulate(many.begin(), many.end(), 0.0), 5000);
    for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(of[static_cast<size_t>(at[i])], numbers[i]);
    const auto [c, ci, cc] = at::unique_consecutive(t, true, true);
    const auto groups = values(c), group = values(ci);
    for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(groups[static_cast<size_t>(group[i])], numbers[i]);
    EXPECT_EQ(values(cc).size(), groups.size());
  }
}

// Bins of equal width are found by arithmetic, and are those of the edges.
// Of rows whose elements lie far apart, as of the same rows where they lie together.
TEST(Sort, ElementsFarFromEachOther) {
  for (const ScalarType type : {kFloat, kDouble, ScalarType::Short, kBool}) {
    const Tensor x = sample({2, 150, 20}, type, 33), rows = at::clone(at::transpose(x, 1, 2), MemoryFormat::Contiguous);
    const auto same = [](const std::tuple<Tensor, Tensor>& far, const std::tuple<Tensor, Tensor>& near) {
      expect_close(at::transpose(std::get<0>(far), 1, 2), std::get<0>(near));
      expect_close(at::transpose(std::get<1>(far), 1, 2), std::get<1>(near));
    };
    same(at::sort(x, 1, true), at::sort(rows, 2, true));
    same(at::topk(x, 7, 1, true, true), at::topk(rows, 7, 2, true, true));
    same(at::kthvalue(x, 40, 1, true), at::kthvalue(rows, 40, 2, true));
  }
}

TEST(Sort, HistogramsOfEqualBinsFollowTheEdges) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const Tensor x = sample({4000}, type, 7);
    const auto [counts, edges] = at::histogram(x, 37);
    const auto [by_edges, same] = at::histogram(x, edges);
    expect_close(counts, by_edges, 0, 0);
    // The edges themselves open their bins, but for the last.
    const auto [of_edges, again] = at::histogram(edges, edges);
    const double range[] = {values(edges).front(), values(edges).back()};
    expect_close(std::get<0>(at::histogram(edges, 37, ArrayRef<double>(range))), of_edges, 0, 0);
  }
}

TEST(Sort, UniqueInItsForms) {
  const Tensor t = tensor_of({3, 1, 3, 2, 1, 1}, {2, 3});
  const auto [v, inverse, counts] = at::_unique2(t, true, true, true);
  expect_close(v, {1, 2, 3});
  expect_close(inverse, {2, 0, 2, 1, 0, 0});
  EXPECT_EQ(sizes(inverse), (std::vector<int64_t>{2, 3}));
  expect_close(counts, {3, 1, 2});
  const auto [c, ci, cc] = at::unique_consecutive(t, true, true);
  expect_close(c, {3, 1, 3, 2, 1});
  expect_close(ci, {0, 1, 2, 3, 4, 4});
  expect_close(cc, {1, 1, 1, 1, 2});
  const auto [slices, no_inverse, no_counts] = at::unique_consecutive(tensor_of({1, 1, 2}, {3}), false, false, 0);
  expect_close(slices, {1, 2});
  EXPECT_EQ(no_inverse.numel() + no_counts.numel(), 0);
  const Tensor rows = tensor_of({2, 1, 0, 5, 2, 1}, {3, 2});
  const auto [r, ri, rc] = at::unique_dim(rows, 0, true, true, true);
  expect_close(r, {0, 5, 2, 1});
  expect_close(ri, {1, 0, 1});
  expect_close(rc, {1, 2});
  // The slices [[0, 2], [0, 1]] and [[0, 1], [1, 1]] differ first where rows go before columns: at 2 and 1.
  const auto [deep, di, dc] = at::unique_dim(tensor_of({0, 0, 2, 1, 0, 1, 1, 1}, {2, 2, 2}), 2, true, true, true);
  expect_close(deep, {0, 0, 1, 2, 1, 0, 1, 1});
  expect_close(di, {1, 0});
  EXPECT_EQ(std::get<0>(at::_unique2(tensor_of({kNan, kNan}, {2}))).numel(), 2);
}

TEST(Sort, SearchesAndCounts) {
  const Tensor edges = tensor_of({1, 3, 5}, {3});
  for (const Tensor& x : layouts(tensor_of({0, 1, 4, 5, 6, kNan}, {2, 3}))) {
    expect_close(at::searchsorted(edges, x), {0, 0, 2, 2, 3, 3});
    expect_close(at::bucketize(x, edges, false, true), {0, 1, 2, 3, 3, 3});
  }
  // Compared in the dtype that both promote to.
  expect_close(at::bucketize(Scalar(2.5), indices_of({1, 2, 3}, {3})), {2});
  expect_close(at::searchsorted(indices_of({1, 2, 3}, {3}), tensor_of({2.5, 3.5}, {2})), {2, 3});
  EXPECT_EQ(at::searchsorted(edges, Scalar(4), true).scalar_type(), ScalarType::Int);
  expect_close(at::searchsorted(tensor_of({5, 1, 3}, {3}), tensor_of({4}, {1}), false, false, std::nullopt, indices_of({1, 2, 0}, {3})), {2});
  EXPECT_THROW(at::searchsorted(tensor_of({5, 1, 3}, {3}), tensor_of({4}, {1}), false, false, std::nullopt,
                                indices_of({1, 3, 0}, {3})),
               c10::IndexError);
  expect_close(at::searchsorted(tensor_of({1, 2, 5, 6}, {2, 2}), tensor_of({2, 6}, {2, 1})), {1, 1});
  expect_close(at::isin(tensor_of({1, 2, 3, kNan}, {4}), tensor_of({3, 1, kNan}, {3})), {1, 0, 1, 0});
  expect_close(at::isin(tensor_of({1, 2}, {2}), Scalar(2), false, true), {1, 0});
  expect_close(at::bincount(indices_of({1, 3, 1}, {3})), {0, 2, 0, 1});
  expect_close(at::bincount(indices_of({1, 1}, {2}), tensor_of({0.5, 2}, {2}), 3), {0, 2.5, 0});
  {
    // Every step in float32, elements at the edges, beyond them and NaN; the range's ends are no float32 numbers.
    std::vector<double> numbers;
    for (int i = 0; i < 3001; ++i) numbers.push_back(static_cast<float>(-1.5 + i * 0.001));
    numbers.insert(numbers.end(), {NAN, INFINITY, -INFINITY, 0.7, -0.1});
    const float low = -0.1f, width = 0.7f - low;
    std::vector<double> counts(37);
    for (double v : numbers) {
      if (!(static_cast<float>(v) >= -0.1 && static_cast<float>(v) <= 0.7)) continue;
      const float place = (static_cast<float>(v) - low) * 37 / width;
      ++counts[std::clamp<size_t>(static_cast<size_t>(std::max(place, 0.f)), 0, 36)];
    }
    const auto n = static_cast<int64_t>(numbers.size());
    EXPECT_EQ(values(at::histc(tensor_of(numbers, {n}), 37, Scalar(-0.1), Scalar(0.7))), counts);
  }
  expect_close(at::histc(tensor_of({0, 1, 2, 4, 9}, {5}), 4, Scalar(0), Scalar(4)), {1, 1, 1, 1});
  // (-6.3125 + 10) * 100 / 10, each step rounded, is 36.75.
  EXPECT_EQ(testing::values(at::histc(tensor_of({-6.3125}, {1}, kBFloat16), 100, Scalar(-10), Scalar(0)))[36], 1);
  expect_error<Error>([] { at::bincount(indices_of({-1}, {1})); }, "bincount only supports 1-d non-negative integral inputs.");
  expect_error<Error>([] { at::histc(sample({3}), 0); }, "torch.histogram(): bins must be > 0, but got 0 for dimension 0");
  const double inf = std::numeric_limits<double>::infinity();
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    for (double special : {kNan, inf, -inf}) {
      const Tensor x = tensor_of({0, 1, special, 3}, {4}, type);
      expect_error<Error>([&] { at::histc(x, 3); }, "is not finite");
      expect_close(at::histc(x, 4, Scalar(0), Scalar(4)), {1, 1, 0, 1});
    }
    // The width of this range is beyond half's largest number.
    expect_close(at::histc(tensor_of({-60000, 0, 60000}, {3}, type), 2, Scalar(-65000), Scalar(65000)), {1, 2});
    const auto [hist, edges] = at::histogram(tensor_of({0, 1, 1, 3}, {4}, type), 3);
    EXPECT_EQ(hist.scalar_type(), type);
    expect_close(hist, {1, 2, 1});
    expect_close(edges, {0, 1, 2, 3});
    const Tensor half_weights = tensor_of({0.5, 1, 2, 4}, {4}, type);
    expect_close(std::get<0>(at::histogram(tensor_of({0, 1, 1, 3}, {4}, type), edges, half_weights)), {0.5, 3, 4});
  }
  for (const Tensor& unique : {std::get<0>(at::_unique2(tensor_of({kNan, 1, inf, kNan}, {4}))),
                               std::get<0>(at::unique_dim(tensor_of({kNan, 1, inf, kNan}, {4}), 0))}) {
    expect_close(unique, {1, inf, kNan, kNan});
  }
}

TEST(Sort, BadArguments) {
  const Tensor t = sample({3});
  expect_error<Error>([&] { at::topk(t, 4); }, "selected index k out of range");
  expect_error<Error>([&] { at::topk(t, -1); }, "selected index k out of range");
  expect_error<Error>([&] { at::kthvalue(t, 0); }, "kthvalue(): selected number k out of range for dimension 0");
  expect_error<IndexError>([&] { at::sort(t, 1); }, "Dimension out of range");
  expect_error<c10::TypeError>([&] { at::sort(sample({3}, ScalarType::ComplexFloat)); },
                               " Sort does not support complex dtypes on CPU");
}

}  // namespace
}  // namespace at::testing
