#include "c10/dispatch/function_schema.h"

#include <random>

#include "c10/util/exception.h"
#include "gtest/gtest.h"

namespace c10 {
namespace {

TEST(FunctionSchema, ParsesArgumentsAndResults) {
  const FunctionSchema schema = parse_schema(
      "aten::max.dim_max(Tensor self, int[2]? dim=None, *, Scalar? alpha=1.5, Tensor?[] rest, Tensor(a!) out) -> "
      "(Tensor(a!) values, Tensor[] indices)");
  EXPECT_EQ(schema.ns(), "aten");
  EXPECT_EQ(schema.name(), "aten::max");
  EXPECT_EQ(schema.base_name(), "max");
  EXPECT_EQ(toString(schema.operator_name()), "aten::max.dim_max");
  EXPECT_EQ(schema.overload_name(), "dim_max");
  EXPECT_EQ(schema.qualified_name(), "max.dim_max");
  ASSERT_EQ(schema.arguments().size(), 5u);
  const Argument& dim = schema.arguments()[1];
  EXPECT_EQ(dim.name(), "dim");
  EXPECT_EQ(dim.shape(), (ArgumentShape{.kind = TypeKind::IntType, .list = true, .optional = true, .list_size = 2}));
  EXPECT_EQ(dim.type()->str(), "int[]?");
  EXPECT_EQ(dim.N(), 2);
  EXPECT_EQ(dim.default_text(), "None");
  EXPECT_TRUE(dim.default_value()->isNone());
  EXPECT_EQ(schema.arguments()[2].default_value()->toDouble(), 1.5);
  EXPECT_FALSE(schema.arguments()[0].default_value().has_value());
  EXPECT_FALSE(dim.kwarg_only());
  EXPECT_TRUE(schema.arguments()[2].kwarg_only());
  EXPECT_TRUE(schema.arguments()[3].shape().element_optional);
  EXPECT_TRUE(schema.arguments()[4].is_out());
  EXPECT_EQ(schema.arguments()[4].alias(), "a");
  ASSERT_EQ(schema.returns().size(), 2u);
  EXPECT_TRUE(schema.returns()[0].is_write());
  EXPECT_EQ(schema.returns()[1].name(), "indices");
  EXPECT_TRUE(schema.returns()[1].shape().list);
  EXPECT_TRUE(schema.is_mutable());
  EXPECT_EQ(schema.argument_index("rest"), 3);
  EXPECT_EQ(schema.argument_index("absent"), std::nullopt);
}

TEST(FunctionSchema, TextIsStable) {
  for (const char* text : {
           "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           "aten::f() -> ()",
           "f(SymInt[2] x=[0, 1], str s=\"a, (b\", bool b=True, ScalarType? t=4) -> (Tensor, int)",
           "f_(Tensor(a!) self, Tensor(b!)[] x) -> Tensor(a!)",
           "f(Tensor(a)[](b!) x, Tensor(a -> *) y, Tensor(a! -> a|b) z, int[](c!) l) -> Tensor(a|b)",
           "f(Dict(str, Tensor[]) x, Future(Tensor) y, (Tensor, int[]?) z, t[] u, Union(int, NoneType) v) -> ((int, str))",
           "f(...) -> ...",
           "f(Tensor x, ...) -> (Tensor, ...)",
           "f(complex z=0.+1.j) -> ()",
           "f(Tensor? x=None, float[] s=[1., 2.5]) -> ()",
           "f(float a=1e+20, float b=0.10000000000000001, float c=3., int x=-3, Scalar s=1e-08, float g=123456789.125) -> ()",
           "f(bool[2] m=[True, False], float i=inf) -> ()",
       }) {
    const FunctionSchema schema = parse_schema(text);
    EXPECT_EQ(schema.str(), text);
    EXPECT_EQ(parse_schema(schema.str()), schema);
  }
}

// Defaults are values: what is written in another way prints the same. PyTorch 2.15 prints these.
TEST(FunctionSchema, DefaultsAreValues) {
  const FunctionSchema schema = parse_schema(
      "f(*, ScalarType? dtype=long, int reduction=Mean, float b=1, bool[2] m=True, int[2] k=1, int[2]? n=3, "
      "MemoryFormat mf=contiguous_format, Layout la=strided, str s='a') -> ()");
  EXPECT_EQ(schema.str(),
            "f(*, ScalarType? dtype=4, int reduction=1, float b=1., bool[2] m=[True, True], int[2] k=[1, 1], int[2]? n=[3, 3], "
            "MemoryFormat mf=0, Layout la=0, str s=\"a\") -> ()");
  EXPECT_EQ(schema.arguments()[0].default_text(), "long");
  EXPECT_EQ(schema.arguments()[0].type()->str(), "int?");
  EXPECT_EQ(schema.arguments()[0].real_type()->str(), "ScalarType?");
  EXPECT_EQ(schema.arguments()[4].default_value()->toIntVector(), (std::vector<int64_t>{1, 1}));
}

TEST(FunctionSchema, AliasAnnotations) {
  const FunctionSchema schema = parse_schema("f(Tensor(a!) x, Tensor(b!)[] y, Tensor(a|b -> *) z, Tensor w) -> Tensor(a!)");
  const AliasInfo& y = *schema.arguments()[1].alias_info();
  EXPECT_TRUE(y.isWrite());
  EXPECT_TRUE(y.beforeSets().empty());
  EXPECT_EQ(y.containedTypes()[0].beforeSets(), std::vector<std::string>{"b"});
  EXPECT_EQ(schema.arguments()[1].alias(), "b");
  EXPECT_TRUE(schema.arguments()[2].alias_info()->isWildcardAfter());
  EXPECT_FALSE(schema.is_mutable("z"));
  EXPECT_TRUE(schema.is_mutable(1));
  EXPECT_EQ(schema.arguments()[3].alias_info(), nullptr);
}

TEST(FunctionSchema, BackwardCompatibility) {
  const FunctionSchema old = parse_schema("a::f(Tensor x, int y, *, int z=1) -> Tensor");
  const auto compatible = [&](const char* text) {
    std::string why;
    const bool result = parse_schema(text).isBackwardCompatibleWith(old, &why);
    EXPECT_EQ(why.empty(), result) << why;
    return result;
  };
  EXPECT_TRUE(compatible("a::f(Tensor x, int y, *, int z=1) -> Tensor"));
  EXPECT_TRUE(compatible("a::f(Tensor? x, Scalar y, int w=3, *, str v=\"a\", int z=1) -> Tensor"));
  EXPECT_FALSE(compatible("a::f(Tensor x, int y, *, int z=2) -> Tensor"));
  EXPECT_FALSE(compatible("a::f(Tensor x, int y, int w, *, int z=1) -> Tensor"));
  EXPECT_FALSE(compatible("a::f(int y, Tensor x, *, int z=1) -> Tensor"));
  EXPECT_FALSE(compatible("a::f(Tensor(a!) x, int y, *, int z=1) -> Tensor"));
  EXPECT_FALSE(compatible("a::f(Tensor x, int y, *, int z=1) -> Tensor?"));
  EXPECT_FALSE(compatible("a::g(Tensor x, int y, *, int z=1) -> Tensor"));
}

TEST(FunctionSchema, IsMadeFromParts) {
  const FunctionSchema schema("a::f", "o", {Argument("x", TensorType::get()), Argument("k", ListType::ofInts(), 2, IValue(std::vector<int64_t>{1, 1}))},
                              {Argument("", IntType::get())});
  EXPECT_EQ(schema.str(), "a::f.o(Tensor x, int[2] k=[1, 1]) -> int");
  EXPECT_EQ(schema.cloneWithName("b::g", "").str(), "b::g(Tensor x, int[2] k=[1, 1]) -> int");
  EXPECT_THROW(FunctionSchema("f", "", {Argument("x"), Argument("x")}, {}), Error);
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
