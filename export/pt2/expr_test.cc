#include "export/pt2/expr.h"

#include <string>

#include "gtest/gtest.h"

namespace torch::pt2 {
namespace {

// What is read, "?" for what is no whole number, or the error.
std::string read(const std::string& text) {
  std::string error;
  const std::optional<graph::IntExpr> e = parse_sympy(text, &error);
  return e.has_value() ? e->str() : error.empty() ? "?" : error;
}

TEST(Sympy, WholeNumbers) {
  EXPECT_EQ(read("Integer(-7)"), "-7");
  EXPECT_EQ(read("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(read("Add(Mul(Integer(2), Symbol('s0')), Integer(-1))"), "2*s0 - 1");
  EXPECT_EQ(read("Pow(Symbol('s0'), Integer(2))"), "s0*s0");
  EXPECT_EQ(read("FloorDiv(Symbol('s0'), Integer(2))"), "s0 // 2");
  EXPECT_EQ(read("PythonMod(Symbol('s0'), Integer(3))"), "s0 % 3");
  EXPECT_EQ(read("CeilDiv(Symbol('s0'), Integer(2))"), "-((-s0) // 2)");
  EXPECT_EQ(read("Max(Integer(1), Symbol('u0', integer=True))"), "max(1, u0)");
  EXPECT_EQ(read("ModularIndexing(Symbol('s0'), Integer(2), Integer(3))"), "(s0 // 2) % 3");
  EXPECT_EQ(read("Identity(Symbol('s0'))"), "s0");
  EXPECT_EQ(read("TruncToInt(IntTrueDiv(Symbol('s0'), Integer(2)))"), "s0 // 2");
  EXPECT_EQ(read("CeilToInt(IntTrueDiv(Symbol('s0'), Integer(2)))"), "-((-s0) // 2)");
  EXPECT_EQ(read("TruncToInt(FloatPow(IntTrueDiv(Symbol('s0'), Integer(2)), Float('0.5', precision=53)))"), "?");
  EXPECT_EQ(read("TruncToInt(Float('0.5', precision=53))"), "?");
  EXPECT_EQ(
      read("Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0'), Integer(1))), ExprCondPair(Integer(0), true))"),
      "?");
}

TEST(Sympy, OtherNumbers) {
  for (const char* text : {"IntTrueDiv(Symbol('s0'), Integer(2))", "Float('0.5', precision=53)", "true",
                           "GreaterThan(Symbol('s0'), Integer(2))", "Add(Integer(1), ToFloat(Symbol('s0')))",
                           "Pow(Symbol('s0'), Integer(-1))"}) {
    EXPECT_EQ(read(text), "?") << text;
  }
}

TEST(Sympy, Malformed) {
  for (const std::string text :
       {std::string(""), std::string("Integer("), std::string("Integer(1"), std::string("Integer(1))"),
        std::string("Symbol('s0').__class__"), std::string("__import__('os')"), std::string("Symbol(\"s0\")"),
        std::string("Symbol('a b')"), std::string("Integer(99999999999999999999)"), std::string("Mod(Symbol('s0'))"),
        std::string("Pow(Integer(9), Integer(999))"), std::string("FloorDiv(Integer(1), Integer(0))"),
        std::string("Pow(Pow(Integer(9), Integer(9)), Integer(9))"), std::string("Add()")}) {
    EXPECT_GT(read(text).size(), 20u) << text << " is read as " << read(text);
  }
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "Add(Integer(1), ";
  EXPECT_NE(read(deep).find("fewer expressions"), std::string::npos);
}

}  // namespace
}  // namespace torch::pt2
