#include "c10/value/type.h"

#include "c10/util/exception.h"
#include "c10/value/class_type.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/type_parser.h"
#include "gtest/gtest.h"

namespace c10 {
namespace {

std::string text_of(const Type& type) {
  std::string text;
  to_text(text, type);
  return text;
}

struct Written {
  const char* text;
  const char* str;
  const char* annotation;
  const char* kind;
};

// The right-hand sides are what PyTorch 2.15 prints for the real type of an argument.
TEST(Type, IsReadAndWrittenAsPyTorchDoes) {
  for (const Written& w : {
           Written{"Tensor", "Tensor", "Tensor", "TensorType"},
           {"Scalar", "Scalar", "number", "NumberType"},
           {"NoneType", "NoneType", "NoneType", "NoneType"},
           {"Device", "Device", "Device", "DeviceObjType"},
           {"Stream", "Stream", "Stream", "StreamObjType"},
           {"Generator", "Generator", "Generator", "GeneratorType"},
           {"Storage", "Storage", "Storage", "StorageType"},
           {"QScheme", "QScheme", "QScheme", "QSchemeType"},
           {"Layout", "Layout", "Layout", "LayoutType"},
           {"MemoryFormat", "MemoryFormat", "MemoryFormat", "MemoryFormatType"},
           {"DeviceIndex", "int", "int", "IntType"},
           {"ScalarType", "ScalarType", "ScalarType", "ScalarTypeType"},
           {"Any", "Any", "Any", "AnyType"},
           {"SymInt", "SymInt", "int", "SymIntType"},
           {"SymBool", "SymBool", "bool", "SymBoolType"},
           {"Capsule", "Capsule", "Capsule", "CapsuleType"},
           {"Quantizer", "Quantizer", "Quantizer", "QuantizerType"},
           {"AnyEnumType", "AnyEnumType", "AnyEnumType", "AnyEnumType"},
           {"int[2]", "int[]", "List[int]", "ListType"},
           {"Tensor?", "Tensor?", "Optional[Tensor]", "OptionalType"},
           {"Tensor?[]", "Tensor?[]", "List[Optional[Tensor]]", "ListType"},
           {"Tensor[]?", "Tensor[]?", "Optional[List[Tensor]]", "OptionalType"},
           {"Dict(str, Tensor[])", "Dict(str, Tensor[])", "Dict[str, List[Tensor]]", "DictType"},
           {"(Tensor, int[]?)", "(Tensor, int[]?)", "Tuple[Tensor, Optional[List[int]]]", "TupleType"},
           {"(int)", "(int)", "Tuple[int]", "TupleType"},
           {"()", "()", "Tuple[()]", "TupleType"},
           {"Future(Tensor)", "Future[Tensor]", "Future[Tensor]", "FutureType"},
           {"RRef(Tensor)", "RRef[Tensor]", "RRef[Tensor]", "RRefType"},
           {"Await(int)", "Await(int)", "Await[int]", "AwaitType"},
           {"Union(int, str, NoneType)", "Union(int, NoneType, str)", "Union[int, NoneType, str]", "UnionType"},
           {"Union(int,float,complex)", "Union(Scalar)", "Union[number]", "UnionType"},
           {"t[]", "t[]", "List[t]", "ListType"},
           {"Dict(int, Dict(str, Tensor?))[]", "Dict(int, Dict(str, Tensor?))[]",
            "List[Dict[int, Dict[str, Optional[Tensor]]]]", "ListType"},
           {"Tensor(a!)[]", "Tensor[]", "List[Tensor]", "ListType"},
       }) {
    std::string error;
    const TypePtr type = try_parse_type(w.text, &error);
    ASSERT_NE(type, nullptr) << error;
    EXPECT_EQ(type->str(), w.str);
    EXPECT_EQ(type->annotation_str(), w.annotation);
    EXPECT_STREQ(typeKindToString(type->kind()), w.kind);
    EXPECT_EQ(*try_parse_type(text_of(*type), nullptr), *type) << text_of(*type);
  }
  EXPECT_EQ(parseType("Dict(str, ScalarType?)[]")->str(), "Dict(str, int?)[]");
  EXPECT_EQ(text_of(*try_parse_type("Future(int)", nullptr)), "Future(int)");
}

TEST(Type, MistakesNameTheColumn) {
  for (const auto& [text, expected] : {
           std::pair{"", "column 1: expected a type, got the end"},
           {"Tensr", "column 1: expected a type, got 'Tensr'"},
           {"int[", "column 5: expected ']', got the end"},
           {"Dict(int[], str)", "column 6: expected a type that keys may have, got 'int[], str)'"},
           {"Dict(int)", "column 9: expected ',', got ')'"},
           {"__torch__.Absent", "column 1: expected a class that is registered, got '__torch__.Ab"},
           {"int int", "column 5: expected the end of the type, got 'int'"},
           {"int(a)", "column 5: expected no alias annotation on this type"},
       }) {
    std::string error;
    EXPECT_EQ(try_parse_type(text, &error), nullptr) << text;
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += '(';
  EXPECT_EQ(try_parse_type(deep.substr(0, 60000), nullptr), nullptr);
  std::string suffixes = "int";
  for (int i = 0; i < 20000; ++i) suffixes += "[]";
  EXPECT_EQ(try_parse_type(suffixes, nullptr), nullptr);
  EXPECT_THROW(parseType("Tensr"), Error);
}

struct Relation {
  const char* a;
  const char* b;
  bool subtype;
};

// As PyTorch 2.15 says.
TEST(Type, Subtypes) {
  for (const Relation& r : {
           Relation{"int", "Scalar", true}, {"int", "float", false}, {"int", "SymInt", false}, {"SymInt", "int", false},
           {"bool", "Scalar", false}, {"int", "int?", true}, {"NoneType", "int?", true}, {"int", "Any", true}, {"int[]", "Any", true},
           {"int[]", "Scalar[]", false}, {"int[]", "int[]?", true}, {"(int, int)", "(Scalar, Scalar)", true},
           {"(int, int)", "(int)", false}, {"Dict(str, int)", "Dict(str, Scalar)", false}, {"Future(int)", "Future(Scalar)", true},
           {"Await(int)", "Await(Scalar)", true}, {"RRef(int)", "RRef(Scalar)", false}, {"int?", "Scalar?", true},
           {"int?", "int", false}, {"Union(int, str)", "Union(int, str, float)", true}, {"int", "Union(int, str)", true},
           {"Union(int, float)", "Scalar", true}, {"Scalar", "Union(int, float, complex)", true},
           {"Union(int, float, complex)", "Scalar", true}, {"int?", "Union(int, NoneType)", true},
           {"Union(int, NoneType)", "int?", true}, {"Tensor?", "Any", true}, {"t", "int", false}, {"int", "t", false},
           {"Layout", "int", false}, {"NoneType", "Any", true}, {"Any", "Any?", true}, {"int[]", "list", true},
           {"(int, str)", "tuple", true},
       }) {
    const TypePtr a = try_parse_type(r.a, nullptr), b = try_parse_type(r.b, nullptr);
    EXPECT_EQ(a->isSubtypeOf(b), r.subtype) << r.a << " <: " << r.b;
  }
}

TEST(Type, PartsAndCasts) {
  EXPECT_EQ(TensorType::get(), TensorType::get());
  EXPECT_EQ(*ListType::create(IntType::get()), *ListType::ofInts());
  EXPECT_NE(*ListType::ofInts(), *ListType::ofFloats());
  EXPECT_EQ(*OptionalType::create(OptionalType::create(IntType::get())), *OptionalType::create(IntType::get()));
  const TypePtr dict = parseType("Dict(str, t[])");
  EXPECT_TRUE(dict->hasFreeVariables());
  EXPECT_EQ(dict->cast<DictType>()->getKeyType(), StringType::get());
  EXPECT_EQ(dict->cast<ListType>(), nullptr);
  EXPECT_THROW(dict->expect<ListType>(), Error);
  EXPECT_EQ(dict->withContained({IntType::get(), ListType::ofInts()})->str(), "Dict(int, int[])");
  EXPECT_THROW(dict->withContained({IntType::get()}), Error);
  const TypePtr kept = ListType::create(dict)->containedType(0);
  EXPECT_EQ(kept, dict);
  EXPECT_THROW(DictType::create(ListType::ofInts(), IntType::get()), Error);
}

TEST(Type, NamedTuplesEnumsAndClasses) {
  const auto point = TupleType::createNamed("__torch__.Pt", {"x", "y"}, {IntType::get(), TensorType::get()});
  EXPECT_EQ(point->str(), "NamedTuple(x : int, y : Tensor)");
  EXPECT_EQ(point->annotation_str(), "__torch__.Pt");
  EXPECT_EQ(text_of(*point), "__torch__.Pt");
  const auto plain = TupleType::create({IntType::get(), TensorType::get()});
  EXPECT_TRUE(point->isSubtypeOf(plain));
  EXPECT_FALSE(plain->isSubtypeOf(point));
  EXPECT_NE(*point, *plain);

  const auto color = EnumType::create("__torch__.Col", IntType::get(), {{"R", IValue(1)}, {"G", IValue(2)}});
  EXPECT_EQ(color->str(), "Enum<__torch__.Col>");
  EXPECT_EQ(color->annotation_str(), "__torch__.Col");
  EXPECT_TRUE(color->isSubtypeOf(AnyEnumType::get()));
  EXPECT_THROW(EnumType::create("__torch__.E", TensorType::get(), {}), Error);

  const auto thing = ClassType::create("__torch__.K");
  EXPECT_EQ(thing->addAttribute("a", IntType::get()), 0u);
  EXPECT_EQ(thing->addAttribute("b", TensorType::get(), /*is_parameter=*/true), 1u);
  EXPECT_EQ(thing->getAttributeSlot("b"), 1u);
  EXPECT_TRUE(thing->is_parameter(1));
  EXPECT_THROW(thing->addAttribute("a", IntType::get()), Error);
  EXPECT_THROW(thing->getAttribute("c"), Error);
  EXPECT_EQ(thing->addOrCheckAttribute("a", IntType::get()), 0u);
  EXPECT_EQ(thing->str(), "__torch__.K");
  EXPECT_EQ(thing->basename(), "K");
  thing->addConstant("c", IValue(3));
  EXPECT_EQ(thing->getConstant("c").toInt(), 3);
  EXPECT_TRUE(thing->isSubtypeOf(AnyClassType::get()));
  const auto interface = InterfaceType::create("__torch__.I");
  EXPECT_TRUE(thing->isSubtypeOf(*interface));
  interface->addMethod("forward");
  EXPECT_FALSE(thing->isSubtypeOf(*interface));
  EXPECT_EQ(interface->str(), "InterfaceType<I>");
}

TEST(Type, OfCppTypes) {
  EXPECT_EQ((getTypePtr<std::vector<std::optional<at::Tensor>>>()->str()), "Tensor?[]");
  EXPECT_EQ((getTypePtr<std::tuple<int64_t, std::string, Dict<std::string, std::vector<double>>>>()->str()),
            "(int, str, Dict(str, float[]))");
  EXPECT_EQ(getRealTypePtr<std::optional<ScalarType>>()->str(), "ScalarType?");
  EXPECT_EQ(getTypePtr<std::optional<ScalarType>>()->str(), "int?");
  EXPECT_EQ(getTypePtr<ArrayRef<SymInt>>()->str(), "int[]");
}

}  // namespace
}  // namespace c10
