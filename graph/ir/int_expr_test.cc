#include "graph/ir/int_expr.h"

#include <random>

#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using c10::testing::message_of;
using torch::graph::IntExpr;
using torch::graph::IntRange;

const IntExpr s = IntExpr::symbol("s0"), t = IntExpr::symbol("t");

TEST(IntExpr, SumsAndProductsHaveOneForm) {
  EXPECT_EQ((2 * s + 1 + s).str(), "3*s0 + 1");
  EXPECT_EQ((s - t).str(), "s0 - t");
  EXPECT_EQ((t - s - s + 4).str(), "-2*s0 + t + 4");
  EXPECT_EQ((s * t * 2 - t * s).str(), "s0*t");
  EXPECT_EQ(((s + 1) * (s - 1)).str(), "s0*s0 - 1");
  EXPECT_EQ(s - s, IntExpr(0));
  EXPECT_EQ(0 * s, IntExpr(0));
  EXPECT_EQ(-1 * (s + t), -1 * t - s);
}

TEST(IntExpr, DivisionAndTheRest) {
  EXPECT_EQ(floordiv(4 * s, 2), 2 * s);
  EXPECT_EQ(floordiv(4 * s + 5, 2).str(), "2*s0 + 2");
  EXPECT_EQ(floordiv(4 * s + t, 2).str(), "2*s0 + t // 2");
  EXPECT_EQ(floordiv(s, 1), s);
  EXPECT_EQ(floordiv(s, s), IntExpr(1));
  EXPECT_EQ(floordiv(IntExpr(-7), 2), IntExpr(-4));
  EXPECT_EQ(mod(IntExpr(-7), 2), IntExpr(1));
  EXPECT_EQ(mod(IntExpr(7), -2), IntExpr(-1));
  EXPECT_EQ(mod(6 * s, 3), IntExpr(0));
  EXPECT_EQ(mod(s, 4).str(), "s0 % 4");
  EXPECT_EQ(message_of([] { floordiv(s, 0); }), "an integer expression divides by zero");
  EXPECT_EQ(message_of([] { mod(s, 0); }), "an integer expression divides by zero");
}

TEST(IntExpr, TextThereAndBack) {
  for (const IntExpr& e : {s, 3 * s - t + 2, floordiv(s + t, 2) * t - 5, mod(floordiv(s, 3), t), max(s, 1),
                           min(max(t, 2 * s), 7), IntExpr(INT64_MIN), IntExpr(-3), floordiv(IntExpr(-3) * s, t),
                           mod(s, floordiv(t, 2)), -1 * s * t, (s + 1) * floordiv(t, s)}) {
    EXPECT_EQ(IntExpr::parse(e.str()), e) << e.str();
  }
  EXPECT_EQ(IntExpr::parse("2 * (s0 + t)**2"), 2 * s * s + 4 * s * t + 2 * t * t);
  EXPECT_EQ(IntExpr::parse("-2**2 - -3"), IntExpr(-1));
  EXPECT_EQ(IntExpr::parse("max(1, s0, t)"), max(max(1, s), t));
  EXPECT_EQ(IntExpr::parse("s0//2*2"), floordiv(s, 2) * 2);
  EXPECT_NE(message_of([] { IntExpr::parse("2 * + 3"); }).find("column 5"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse("(s0"); }).find("expected ')'"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse("s0 s0"); }).find("expected an operator"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse(""); }).find("expected a number"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse("9223372036854775808"); }).find("64 bits"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse(std::string(100000, '(')); }).find("fewer"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse(std::string(100000, '-') + "s"); }).find("fewer"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse("(a+b+c+d+e+f+g+h)**64"); }).find("more than"), std::string::npos);
  EXPECT_NE(message_of([] { IntExpr::parse("9**9**9"); }).find("expected"), std::string::npos);
}

TEST(IntExpr, Values) {
  const std::map<std::string, int64_t> at{{"s0", 7}, {"t", -3}};
  EXPECT_EQ((3 * s + t).evaluate(at), 18);
  EXPECT_EQ(floordiv(t, 2).evaluate(at), -2);
  EXPECT_EQ(mod(t, 2).evaluate(at), 1);
  EXPECT_EQ(max(s, t).evaluate(at), 7);
  EXPECT_EQ(min(s, t).evaluate(at), -3);
  EXPECT_EQ(message_of<c10::IndexError>([&] { IntExpr::symbol("u").evaluate(at); }), "the size u is not known");
  EXPECT_NE(message_of([&] { (s * s).evaluate({{"s0", INT64_MAX}}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([&] { (s + 1).evaluate({{"s0", INT64_MAX}}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([&] {
              floordiv(s, t).evaluate({{"s0", INT64_MIN}, {"t", -1}});
            }).find("beyond int64"),
            std::string::npos);
  EXPECT_EQ(mod(s, t).evaluate({{"s0", INT64_MIN}, {"t", -1}}), 0);
  EXPECT_NE(message_of([&] {
              floordiv(s, t).evaluate({{"s0", 1}, {"t", 0}});
            }).find("divides by zero"),
            std::string::npos);
}

TEST(IntExpr, Substitution) {
  EXPECT_EQ((3 * s + t).substitute({{"s0", 2 * t}}), 7 * t);
  EXPECT_EQ(max(floordiv(s, 4), mod(t, 3)).substitute({{"s0", 4 * t}, {"t", 5}}).str(), "max(2, t)");
  std::set<std::string> names;
  max(floordiv(s, 4), t).collect_symbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"s0", "t"}));
}

// Of random expressions: what is simplified has the same values, the text is read back, and ranges hold all values.
TEST(IntExpr, RandomExpressionsAgreeWithPlainArithmetic) {
  std::mt19937 random(1);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto floor_of = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  for (int round = 0; round < 3000; ++round) {
    const std::map<std::string, int64_t> at{{"s0", pick(-9, 9)}, {"t", pick(1, 9)}};
    const std::map<std::string, IntRange> ranges{{"s0", {-9, 9}}, {"t", {1, 9}}};
    std::vector<std::pair<IntExpr, int64_t>> made{{s, at.at("s0")}, {t, at.at("t")}, {pick(-4, 4), 0}};
    made[2].second = made[2].first.value();
    for (int step = 0; step < 8; ++step) {
      const auto [a, x] = made[static_cast<size_t>(pick(0, static_cast<int64_t>(made.size()) - 1))];
      const auto [b, y] = made[static_cast<size_t>(pick(0, static_cast<int64_t>(made.size()) - 1))];
      const int64_t which = pick(0, 6);
      if ((which == 3 || which == 4) && (y == 0 || b == IntExpr(0))) continue;
      if (std::abs(x) > 100000 || std::abs(y) > 100000) continue;
      switch (which) {
        case 0:
          made.emplace_back(a + b, x + y);
          break;
        case 1:
          made.emplace_back(a - b, x - y);
          break;
        case 2:
          made.emplace_back(a * b, x * y);
          break;
        // a // a is 1, which a of 0 contradicts: there the plain division fails.
        case 3:
          made.emplace_back(floordiv(a, b), floor_of(x, y));
          break;
        case 4:
          made.emplace_back(mod(a, b), x - floor_of(x, y) * y);
          break;
        case 5:
          made.emplace_back(min(a, b), std::min(x, y));
          break;
        default:
          made.emplace_back(max(a, b), std::max(x, y));
          break;
      }
      const auto& [e, value] = made.back();
      // Parts that divide by zero at other values may be folded away, but here they have values.
      ASSERT_EQ(e.evaluate(at), value) << e.str();
      ASSERT_EQ(IntExpr::parse(e.str()), e) << e.str();
      const IntRange range = e.range(ranges);
      ASSERT_TRUE(range.contains(value)) << e.str() << " is " << value << ", not in " << range.min << ", " << range.max;
    }
  }
}

TEST(IntExpr, Ranges) {
  const std::map<std::string, IntRange> ranges{{"s0", {2, 128}}, {"t", {0, INT64_MAX}}};
  EXPECT_EQ((2 * s + 1).range(ranges), (IntRange{5, 257}));
  EXPECT_EQ((s - 200).range(ranges), (IntRange{-198, -72}));
  EXPECT_EQ(floordiv(s, 3).range(ranges), (IntRange{0, 42}));
  EXPECT_EQ(mod(s, 3).range(ranges), (IntRange{0, 2}));
  EXPECT_EQ(mod(s, 300).range(ranges), (IntRange{2, 128}));
  EXPECT_EQ((t * s).range(ranges), (IntRange{0, INT64_MAX}));
  EXPECT_EQ((-1 * t).range(ranges), (IntRange{INT64_MIN, 0}));
  EXPECT_EQ(max(t, s).range(ranges), (IntRange{2, INT64_MAX}));
  EXPECT_EQ(IntExpr::symbol("u").range(ranges), IntRange{});
}

}  // namespace
