#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "c10/util/hash.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/util/irange.h"
#include "c10/util/optional_array_ref.h"
#include "c10/util/safe_numerics.h"
#include "c10/util/small_vector.h"

namespace c10 {
namespace {

std::vector<int64_t> values_of(IntArrayRef a) {
  return a.vec();
}

TEST(ArrayRef, ImplicitForms) {
  EXPECT_EQ(values_of(5), (std::vector<int64_t>{5}));
  EXPECT_EQ(values_of({1, 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(values_of({}).empty());
  EXPECT_EQ(values_of(std::vector<int64_t>{3}), (std::vector<int64_t>{3}));
  EXPECT_EQ(values_of(std::array<int64_t, 2>{3, 4}), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(values_of(DimVector{7, 8}), (std::vector<int64_t>{7, 8}));
  const int64_t c[] = {1, 2, 3};
  EXPECT_EQ(values_of(c), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(values_of({c, 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(values_of({c + 1, c + 3}), (std::vector<int64_t>{2, 3}));
  static_assert(!std::is_convertible_v<std::vector<int>, IntArrayRef>);
  static_assert(!std::is_assignable_v<IntArrayRef&, std::initializer_list<int64_t>>);
}

TEST(ArrayRef, Access) {
  const std::vector<int64_t> v{1, 2, 3, 4};
  const IntArrayRef a(v);
  EXPECT_EQ(a.front(), 1);
  EXPECT_EQ(a.back(), 4);
  EXPECT_EQ(a.slice(1, 2), IntArrayRef({2, 3}));
  EXPECT_EQ(a.slice(3), IntArrayRef({4}));
  EXPECT_TRUE(a == v && v == a && a.equals(v));
  EXPECT_FALSE(a == a.slice(1));
  EXPECT_THROW(a.slice(3, 2), Error);
  EXPECT_THROW(a.slice(5), Error);
  EXPECT_THROW(a.slice(1, SIZE_MAX), Error);
  EXPECT_THROW(IntArrayRef().front(), Error);
  EXPECT_THROW(IntArrayRef().back(), Error);
  try {
    IntArrayRef({1, 2, 3}).at(5);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.msg(), "ArrayRef: invalid index Index = 5; Length = 3");
  }
  std::ostringstream out;
  out << a.slice(0, 2) << IntArrayRef();
  EXPECT_EQ(out.str(), "[1, 2][]");
  EXPECT_EQ(str(a), "[1, 2, 3, 4]");
  EXPECT_EQ(std::accumulate(a.rbegin(), a.rend(), int64_t{0}), 10);
}

std::string describe(OptionalIntArrayRef a) {
  return a.has_value() ? str(*a) : "none";
}
TEST(OptionalArrayRef, Forms) {
  EXPECT_EQ(describe(std::nullopt), "none");
  EXPECT_EQ(describe({}), "none");
  EXPECT_EQ(describe(3), "[3]");
  EXPECT_EQ(describe({1, 2}), "[1, 2]");
  EXPECT_EQ(describe(std::vector<int64_t>{4}), "[4]");
  EXPECT_EQ(describe(IntArrayRef({4, 5})), "[4, 5]");
  EXPECT_EQ(describe(std::optional<IntArrayRef>()), "none");
  EXPECT_EQ(describe(DimVector{9}), "[9]");
  EXPECT_THROW(OptionalIntArrayRef().value(), std::bad_optional_access);
}

// Random operations against std::vector.
TEST(OptionalArrayRef, Emplace) {
  const std::vector<int64_t> v{1, 2, 3};
  OptionalIntArrayRef a;
  EXPECT_EQ(a.emplace(v), IntArrayRef({1, 2, 3}));
  EXPECT_EQ(a.emplace(v.data() + 1, size_t{2}), IntArrayRef({2, 3}));
  EXPECT_EQ(*a, IntArrayRef({2, 3}));
  const std::initializer_list<int64_t> list{4, 5};
  a.emplace(list);
  EXPECT_EQ(*a, IntArrayRef({4, 5}));
}

struct Counted : intrusive_ptr_target {};

TEST(IntrusivePtr, IsMadeFromAndComparedWithNull) {
  intrusive_ptr<Counted> p = nullptr;
  EXPECT_FALSE(p.defined());
  EXPECT_TRUE(p == nullptr);
  p = make_intrusive<Counted>();
  EXPECT_TRUE(p != nullptr);
  EXPECT_TRUE(nullptr != p);
  p = nullptr;
  EXPECT_FALSE(p);
}

TEST(SmallVector, BehavesLikeAVector) {
  uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int round = 0; round < 200; ++round) {
    SmallVector<int64_t, 4> a;
    std::vector<int64_t> b;
    for (int step = 0; step < 60; ++step) {
      const int64_t x = next();
      const size_t at = b.empty() ? 0 : next() % (b.size() + 1);
      switch (next() % 9) {
        case 0:
        case 1:
          a.push_back(x);
          b.push_back(x);
          break;
        case 2:
          a.insert(a.begin() + at, x);
          b.insert(b.begin() + at, x);
          break;
        case 3:
          if (at < b.size()) {
            a.erase(a.begin() + at);
            b.erase(b.begin() + at);
          }
          break;
        case 4:
          a.resize(at, x);
          b.resize(at, x);
          break;
        case 5:
          a.append(a.begin(), a.end());
          for (size_t i = 0, n = b.size(); i < n; ++i) b.push_back(b[i]);
          break;
        case 6: {
          SmallVector<int64_t, 4> moved(std::move(a));
          EXPECT_TRUE(a.empty());
          a = std::move(moved);
          break;
        }
        case 7: {
          SmallVector<int64_t, 4> copy(a);
          a.clear();
          a = copy;
          break;
        }
        default:
          if (!b.empty()) {
            a.pop_back();
            b.pop_back();
          }
      }
      if (a.size() > 100) {
        a.truncate(10);
        b.resize(10);
      }
      ASSERT_EQ(a.vec(), b);
    }
  }
}

TEST(SmallVector, AppendingItselfWhileGrowing) {
  SmallVector<int64_t, 4> a{1, 2, 3};
  a.append(a.begin(), a.end());
  EXPECT_EQ(a, IntArrayRef({1, 2, 3, 1, 2, 3}));
}

TEST(SmallVector, Checks) {
  DimVector d(3, 7);
  EXPECT_EQ(d, IntArrayRef({7, 7, 7}));
  EXPECT_THROW(d.at(3), Error);
  EXPECT_THROW(d.reserve(size_t{1} << 40), Error);
  EXPECT_EQ(d.size(), 3u);
  EXPECT_EQ(sizeof(DimVector), 64u);
  EXPECT_EQ(DimVector(IntArrayRef({1, 2})), DimVector({1, 2}));
}

TEST(Irange, Values) {
  std::vector<int> seen;
  for (const auto i : irange(3)) seen.push_back(i);
  for (const auto i : irange(5, 7)) seen.push_back(i);
  for (const auto i : irange(7, 5)) seen.push_back(i);
  for (const auto i : irange(-3)) seen.push_back(i);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 5, 6}));
  static_assert(std::is_same_v<decltype(*irange(int64_t{3}).begin()), int64_t>);
}

TEST(SafeNumerics, Overflow) {
  int64_t out = 0;
  EXPECT_FALSE(safe_multiplies({2, 3, 4}, &out));
  EXPECT_EQ(out, 24);
  EXPECT_TRUE(safe_multiplies({int64_t{1} << 40, int64_t{1} << 40}, &out));
  EXPECT_FALSE(safe_multiplies({int64_t{1} << 40, int64_t{1} << 40, 0}, &out));
  EXPECT_EQ(out, 0);
  EXPECT_TRUE(mul_overflows<int64_t>(INT64_MAX, 2, &out));
  EXPECT_TRUE(add_overflows<int64_t>(INT64_MAX, 1, &out));
  EXPECT_EQ(multiply_integers(std::vector<int64_t>{2, 5}), 10);
  EXPECT_EQ(sum_integers(IntArrayRef({2, 5})), 7);
}

TEST(Hash, OrderAndValueMatter) {
  EXPECT_NE(get_hash(1, 2), get_hash(2, 1));
  EXPECT_EQ(get_hash(1, std::string("a")), get_hash(1, std::string("a")));
  EXPECT_NE(get_hash(std::vector<int>{1}), get_hash(std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace c10
