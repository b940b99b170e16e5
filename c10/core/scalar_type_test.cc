#include "c10/core/scalar_type.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "c10/core/default_dtype.h"
#include "c10/core/memory_format.h"
#include "c10/core/type_meta.h"
#include "c10/core/type_promotion.h"
#include "c10/util/float8.h"

namespace c10 {
namespace {

struct PairTypes {
  ScalarType a, b, result;
};
struct PairFlag {
  ScalarType a, b;
  bool result;
};
struct ResultType {
  ScalarType a;
  int ca;
  ScalarType b;
  int cb;
  ScalarType result;
};
struct FormatCase {
  int64_t sizes[4], strides[4];
  bool last;
};
#include "c10/core/testdata/promotions.inc"
#include "c10/core/testdata/tables.inc"

TEST(ScalarType, PromotesAsRecorded) {
  int n = 0;
  for (const PairTypes& c : kPromoted) {
    EXPECT_EQ(promoteTypes(c.a, c.b), c.result) << c.a << " " << c.b;
    ++n;
  }
  EXPECT_EQ(n, 13 * 13);
  EXPECT_EQ(promoteTypes(kQInt8, kQInt8), kQInt8);
  EXPECT_THROW(promoteTypes(kQInt8, kFloat), Error);
  EXPECT_EQ(promoteTypes(ScalarType::Undefined, kFloat), ScalarType::Undefined);
}

TEST(ScalarType, AllPairsPromoteAndCastAsRecorded) {
  static_assert(std::size(kPromotions) == NumScalarTypes - 1 && std::size(kCasts) == NumScalarTypes - 1);
  for (int a = 0; a + 1 < NumScalarTypes; ++a) {
    for (int b = 0; b + 1 < NumScalarTypes; ++b) {
      const ScalarType x = ScalarType(a), y = ScalarType(b);
      const std::string recorded(kPromotions[a] + 2 * b, 2);
      if (recorded == "--") {
        EXPECT_THROW(promoteTypes(x, y), Error) << x << " " << y;
      } else {
        EXPECT_EQ(promoteTypes(x, y), ScalarType(std::stoi(recorded))) << x << " " << y;
      }
      EXPECT_EQ(canCast(x, y), kCasts[a][b] == '1') << x << " " << y;
    }
  }
}

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.msg();
  }
  return "";
}

TEST(ScalarType, RefusedPromotionsSayWhy) {
  EXPECT_EQ(message_of([] { promoteTypes(kFloat8_e4m3fn, kFloat); }),
            "Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float");
  EXPECT_EQ(message_of([] { promoteTypes(kUInt16, kInt); }),
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Int");
  EXPECT_EQ(message_of([] { promoteTypes(kFloat, kBits8); }), "Promotion from Float and Bits8 is unsupported.");
  EXPECT_EQ(message_of([] { toComplexType(kFloat8_e5m2); }), "Unknown Complex ScalarType for Float8_e5m2");
  EXPECT_EQ(message_of([] { isSignedType(kBits16); }), "Bits types are undefined");
}

TEST(ScalarType, CastsAsRecorded) {
  for (const PairFlag& c : kCanCast) EXPECT_EQ(canCast(c.a, c.b), c.result) << c.a << " " << c.b;
}

// A number has one of four types.
ScalarType number_type(ScalarType kind) {
  if (isComplexType(kind)) return kComplexDouble;
  if (isFloatingType(kind)) return kDouble;
  return kind == kBool ? kBool : kLong;
}

TEST(TypePromotion, ResultTypesAsRecorded) {
  int n = 0;
  for (const ResultType& c : kResultTypes) {
    const ScalarType a = c.ca == 2 ? number_type(c.a) : c.a;
    const ScalarType b = c.cb == 2 ? number_type(c.b) : c.b;
    EXPECT_EQ(result_type(a, ArgumentCategory(c.ca), b, ArgumentCategory(c.cb)), c.result)
        << c.a << " " << c.ca << " " << c.b << " " << c.cb;
    ++n;
  }
  EXPECT_EQ(n, 13 * 13 * 9);
}

TEST(TypePromotion, ManyArgumentsAndDefaults) {
  TypePromotion p;
  EXPECT_EQ(p.result(), ScalarType::Undefined);
  p.add_tensor(kInt, 2, false);
  p.add(Scalar(2.5));
  EXPECT_EQ(p.result(), kFloat);
  p.add_tensor(kDouble, 0, false);
  EXPECT_EQ(p.result(), kDouble);
  p.add_tensor(kHalf, 1, false);
  EXPECT_EQ(p.result(), kHalf);
  set_default_dtype(kDouble);
  TypePromotion q;
  q.add_tensor(kLong, 3, false);
  q.add(Scalar(1.0));
  EXPECT_EQ(q.result(), kDouble);
  q.add(Scalar(complex<double>(0, 1)));
  EXPECT_EQ(q.result(), kComplexDouble);
  set_default_dtype(kFloat);
}

TEST(MemoryFormat, ChannelsLastAsRecorded) {
  for (const FormatCase& c : kFormats) {
    EXPECT_EQ(is_channels_last_strides_2d(c.sizes, c.strides), c.last)
        << IntArrayRef(c.sizes) << IntArrayRef(c.strides);
  }
}

TEST(MemoryFormat, Strides) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), IntArrayRef({12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), IntArrayRef({4, 4, 1}));
  EXPECT_EQ(contiguous_strides({}).size(), 0u);
  EXPECT_THROW(contiguous_strides({4, int64_t{1} << 62, 4}), Error);
  EXPECT_EQ(get_channels_last_strides_2d({2, 3, 4, 5}), IntArrayRef({60, 1, 15, 3}));
  EXPECT_EQ(get_channels_last_strides_2d({3, 4, 5}), IntArrayRef({1, 15, 3}));
  EXPECT_EQ(get_channels_last_strides_3d({2, 3, 4, 5, 6}), IntArrayRef({360, 1, 90, 18, 3}));
  EXPECT_THROW(get_channels_last_strides_2d({2, 3}), Error);
  EXPECT_THROW(strides_for_format({2, 3}, MemoryFormat::ChannelsLast), Error);
  EXPECT_THROW(strides_for_format({2, 3}, MemoryFormat::Preserve), Error);
  const int64_t sizes[] = {2, 3, 4, 5, 6};
  EXPECT_TRUE(is_channels_last_strides_3d(sizes, get_channels_last_strides_3d(sizes)));
  EXPECT_FALSE(is_channels_last_strides_3d(sizes, contiguous_strides(sizes)));
  EXPECT_FALSE(is_channels_last_strides_2d(sizes, contiguous_strides(sizes)));
}

TEST(ScalarType, NamesSizesAndKinds) {
  EXPECT_EQ(static_cast<int>(kBFloat16), 15);
  EXPECT_EQ(static_cast<int>(ScalarType::Undefined), 47);
  const char* names[] = {"Byte",
                         "Char",
                         "Short",
                         "Int",
                         "Long",
                         "Half",
                         "Float",
                         "Double",
                         "ComplexHalf",
                         "ComplexFloat",
                         "ComplexDouble",
                         "Bool",
                         "QInt8",
                         "QUInt8",
                         "QInt32",
                         "BFloat16",
                         "QUInt4x2",
                         "QUInt2x4",
                         "Bits1x8",
                         "Bits2x4",
                         "Bits4x2",
                         "Bits8",
                         "Bits16",
                         "Float8_e5m2",
                         "Float8_e4m3fn",
                         "Float8_e5m2fnuz",
                         "Float8_e4m3fnuz",
                         "UInt16",
                         "UInt32",
                         "UInt64",
                         "UInt1",
                         "UInt2",
                         "UInt3",
                         "UInt4",
                         "UInt5",
                         "UInt6",
                         "UInt7",
                         "Int1",
                         "Int2",
                         "Int3",
                         "Int4",
                         "Int5",
                         "Int6",
                         "Int7",
                         "Float8_e8m0fnu",
                         "Float4_e2m1fn_x2",
                         "BComplex32",
                         "Undefined"};
  const size_t sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1,
                          1, 1, 1, 2, 4, 8, 1, 1, 1, 1, 1,  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4};
  static_assert(std::size(names) == NumScalarTypes && std::size(sizes) == NumScalarTypes - 1);
  for (int i = 0; i < 47; ++i) {
    EXPECT_STREQ(toString(ScalarType(i)), names[i]);
    EXPECT_EQ(elementSize(ScalarType(i)), sizes[i]) << names[i];
  }
  EXPECT_THROW(elementSize(ScalarType::Undefined), Error);
  for (const int forged : {-1, 48, 77, 127, -128}) {
    EXPECT_THROW(elementSize(ScalarType(forged)), Error) << forged;
    EXPECT_FALSE(isFloatingType(ScalarType(forged))) << forged;
    EXPECT_THROW(isSignedType(ScalarType(forged)), Error) << forged;
    EXPECT_EQ(TypeMeta(ScalarType(forged)).name(), "nullptr (uninitialized)");
    EXPECT_EQ(TypeMeta(ScalarType(forged)).itemsize(), 0u);
  }
  EXPECT_TRUE(isIntegralType(kInt, false));
  EXPECT_FALSE(isIntegralType(kBool, false));
  EXPECT_TRUE(isIntegralType(kBool, true));
  EXPECT_TRUE(isFloatingType(kBFloat16));
  EXPECT_FALSE(isFloatingType(kComplexFloat));
  EXPECT_TRUE(isQIntType(kQUInt4x2));
  EXPECT_TRUE(isSignedType(kChar));
  EXPECT_FALSE(isSignedType(kByte));
  EXPECT_FALSE(isSignedType(kBool));
  EXPECT_THROW(isSignedType(kQInt8), Error);
  EXPECT_EQ(toComplexType(kBFloat16), kBComplex32);
  EXPECT_EQ(toRealValueType(kBComplex32), kBFloat16);
  EXPECT_TRUE(isIntegralType(kUInt64, false));
  EXPECT_FALSE(isIntegralType(kUInt4, true));
  EXPECT_TRUE(isBarebonesUnsignedType(kUInt16));
  EXPECT_TRUE(isBarebonesUnsignedType(kUInt1));
  EXPECT_FALSE(isBarebonesUnsignedType(kByte));
  EXPECT_TRUE(isFloat8Type(kFloat8_e8m0fnu));
  EXPECT_FALSE(isFloat8Type(kFloat4_e2m1fn_x2));
  EXPECT_TRUE(isFloatingType(kFloat4_e2m1fn_x2));
  EXPECT_TRUE(isReducedFloatingType(kFloat8_e4m3fn));
  EXPECT_FALSE(isReducedFloatingType(kFloat));
  EXPECT_TRUE(isBitsType(kBits1x8));
  EXPECT_FALSE(isSignedType(kFloat8_e8m0fnu));
  EXPECT_TRUE(isSignedType(kFloat8_e4m3fn));
  EXPECT_FALSE(isSignedType(kUInt64));
  EXPECT_TRUE(isSignedType(kInt4));
  EXPECT_EQ(kU16, kUInt16);
  EXPECT_EQ(toComplexType(kHalf), kComplexHalf);
  EXPECT_THROW(toComplexType(kInt), Error);
  EXPECT_EQ(toRealValueType(kComplexDouble), kDouble);
  EXPECT_EQ(toUnderlying(kQInt32), kInt);
  EXPECT_EQ(toQIntType(kByte), kQUInt8);
  EXPECT_EQ(str(kFloat), "Float");
}

TEST(ScalarType, CppTypes) {
  static_assert(CppTypeToScalarType<int64_t>::value == kLong);
  static_assert(CppTypeToScalarType<complex<float>>::value == kComplexFloat);
  static_assert(std::is_same_v<impl::ScalarTypeToCPPTypeT<kBFloat16>, BFloat16>);
#define CHECK_SIZE(type, name) EXPECT_EQ(sizeof(type), elementSize(k##name));
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(CHECK_SIZE)
#undef CHECK_SIZE
#define NAME(type, name) names.push_back(#name);
  std::vector<std::string> names;
  AT_FORALL_SCALAR_TYPES_AND2(Bool, BFloat16, NAME)
  EXPECT_EQ(names, (std::vector<std::string>{"Byte", "Char", "Short", "Int", "Long", "Float", "Double", "Bool", "BFloat16"}));
  names.clear();
  AT_FORALL_SCALAR_TYPES_AND7(Bool, Half, BFloat16, ComplexFloat, ComplexDouble, UInt16, UInt32, NAME)
  EXPECT_EQ(names.size(), 14u);
#undef NAME
#define ADD_UP(type, name) bytes += sizeof(type);
  size_t bytes = 0;
  AT_FORALL_SCALAR_TYPES_AND3(Half, Bool, ComplexDouble, ADD_UP)
  EXPECT_EQ(bytes, 1u + 1 + 2 + 4 + 8 + 4 + 8 + 2 + 1 + 16);
#undef ADD_UP
}

TEST(TypeMeta, NamesAndComparisons) {
  const caffe2::TypeMeta t = scalarTypeToTypeMeta(kFloat);
  EXPECT_TRUE(t == kFloat);
  EXPECT_TRUE(t != kDouble);
  EXPECT_TRUE(t == caffe2::TypeMeta::Make<float>());
  EXPECT_TRUE(t.Match<float>());
  EXPECT_EQ(t.itemsize(), 4u);
  std::ostringstream out;
  out << t << " " << TypeMeta(kLong) << " " << TypeMeta(kByte) << " " << TypeMeta(kHalf) << " "
      << TypeMeta(kComplexFloat);
  EXPECT_EQ(out.str(), "float long int unsigned char c10::Half c10::complex<float>");
  EXPECT_EQ(TypeMeta::Make<uint16_t>().name(), "short unsigned int");
  EXPECT_EQ(TypeMeta(kUInt64).name(), "long unsigned int");
  EXPECT_EQ(TypeMeta(kFloat8_e8m0fnu).name(), "c10::Float8_e8m0fnu");
  EXPECT_EQ(TypeMeta(kInt7).name(), "c10::dummy_int1_7_t<7>");
  EXPECT_EQ(TypeMeta(kBComplex32).name(), "c10::complex<c10::BFloat16>");
}

TEST(DefaultDtype, IsWhatWasSet) {
  EXPECT_EQ(get_default_dtype_as_scalartype(), kFloat);
  EXPECT_EQ(get_default_complex_dtype(), kComplexFloat);
  set_default_dtype(kInt);
  EXPECT_EQ(get_default_dtype(), kInt);
  EXPECT_EQ(get_default_complex_dtype(), kComplexFloat);
  set_default_dtype(kDouble);
  EXPECT_EQ(get_default_dtype(), kDouble);
  EXPECT_EQ(get_default_complex_dtype(), kComplexDouble);
  set_default_dtype(kFloat);
}

}  // namespace
}  // namespace c10
