#include "c10/dispatch/function_schema.h"

#include <random>

#include "c10/util/exception.h"
#include "gtest/gtest.h"

namespace c10 {
namespace {

using Kind = SchemaType::Kind;

TEST(FunctionSchema, ParsesArgumentsAndResults) {
  const FunctionSchema schema = parse_schema(
      "aten::max.dim_max(Tensor self, int[2]? dim=None, *, Scalar? alpha=1.5, Tensor?[] rest, Tensor(a!) out) -> "
      "(Tensor(a!) values, Tensor[] indices)");
  EXPECT_EQ(schema.ns(), "aten");
  EXPECT_EQ(schema.name(), "max");
  EXPECT_EQ(schema.overload_name(), "dim_max");
  EXPECT_EQ(schema.qualified_name(), "max.dim_max");
  ASSERT_EQ(schema.arguments().size(), 5u);
  const Argument& dim = schema.arguments()[1];
  EXPECT_EQ(dim.name(), "dim");
  EXPECT_EQ(dim.type(), (SchemaType{.kind = Kind::Int, .list = true, .optional = true, .list_size = 2}));
  EXPECT_EQ(dim.default_text(), "None");
  EXPECT_FALSE(dim.kwarg_only());
  EXPECT_TRUE(schema.arguments()[2].kwarg_only());
  EXPECT_TRUE(schema.arguments()[3].type().element_optional);
  EXPECT_TRUE(schema.arguments()[4].is_out());
  EXPECT_EQ(schema.arguments()[4].alias(), "a");
  ASSERT_EQ(schema.returns().size(), 2u);
  EXPECT_TRUE(schema.returns()[0].is_write());
  EXPECT_EQ(schema.returns()[1].name(), "indices");
  EXPECT_TRUE(schema.returns()[1].type().list);
  EXPECT_TRUE(schema.is_mutable());
  EXPECT_EQ(schema.argument_index("rest"), 3);
  EXPECT_EQ(schema.argument_index("absent"), std::nullopt);
}

TEST(FunctionSchema, TextIsStable) {
  for (const char* text : {
           "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           "aten::f() -> ()",
           "f(SymInt[2] x=[0, 1], str s='a, (b', bool b=True, ScalarType? t=long) -> (Tensor, int)",
           "f_(Tensor(a!) self, Tensor(b!)[] x) -> Tensor(a!)",
       }) {
    EXPECT_EQ(parse_schema(text).str(), text);
  }
}

TEST(FunctionSchema, ErrorsNameTheColumn) {
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "column 1: expected the operator's name, got the end"},
           {"f(Tensr x) -> Tensor", "column 3: expected a type, got 'Tensr x) -> '"},
           {"f(Tensor x", "column 11: expected ')', got the end"},
           {"f(Tensor x) Tensor", "column 13: expected '->', got 'Tensor'"},
           {"f(int x=abc) -> ()", "column 9: expected a default of type int"},
           {"f(int x=None) -> ()", "column 9: expected a default of type int"},
           {"f(Tensor x, int x) -> ()", "another name than 'x'"},
           {"f(*, *, int x) -> ()", "one '*' only"},
           {"f(int[99999999999] x) -> ()", "a smaller list size"},
           {"f(int(a!) x) -> ()", "no alias annotation"},
           {"f() -> Tensor named rest", "expected the end"},
       }) {
    std::string error;
    EXPECT_FALSE(try_parse_schema(c.text, &error).has_value()) << c.text;
    EXPECT_NE(error.find(c.expected), std::string::npos) << error;
  }
  EXPECT_THROW(parse_schema("f("), Error);
}

// Whatever the text, the parser returns, and what it accepts it can read again.
TEST(FunctionSchema, SurvivesMutations) {
  const std::string seed =
      "ns::max.dim(Tensor(a -> *) self, int[2]? dim=[0, 1], *, str s=\"x\", float e=1e-05, Tensor(a!) out) -> (Tensor(a!) v, "
      "Tensor[])";
  const std::string alphabet = "()[]{}?!*=->,.:'\"0123 abTensorintSymIntNoneTrue\0\xff";
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed;
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int k = 0; k < edits && !text.empty(); ++k) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.erase(at, 1 + random() % 6); break;
        default: text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    std::string error;
    if (auto schema = try_parse_schema(text, &error)) {
      ++accepted;
      const std::string printed = schema->str();
      const auto again = try_parse_schema(printed, &error);
      ASSERT_TRUE(again.has_value()) << text << "\n" << printed << "\n" << error;
      EXPECT_EQ(again->str(), printed);
    } else {
      EXPECT_FALSE(error.empty());
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace c10
