// The rarer dtypes: which operators take them and what they give (PyTorch 2.15), conversions, copies, printing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/core/printing.h"
#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"
#include "c10/util/float8.h"
#include "gtest/gtest.h"

namespace at {
namespace {

using c10::testing::message_of;

const std::vector<ScalarType> kUnsigned = {kUInt16, kUInt32, kUInt64};
const std::vector<ScalarType> kFloat8 = {kFloat8_e5m2, kFloat8_e4m3fn, kFloat8_e5m2fnuz, kFloat8_e4m3fnuz,
                                         kFloat8_e8m0fnu};
// Bytes that are no numbers.
const std::vector<ScalarType> kOpaque = {kBits1x8, kBits2x4, kBits4x2, kBits8,
                                         kUInt1,   kUInt7,   kInt4,    kFloat4_e2m1fn_x2};
const std::vector<ScalarType> kCommon = {kByte,     kChar,  kShort,  kInt,          kLong,          kHalf,
                                         kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble, kBool};

std::vector<ScalarType> all_numbers() {
  std::vector<ScalarType> types = kCommon;
  types.insert(types.end(), kUnsigned.begin(), kUnsigned.end());
  types.insert(types.end(), kFloat8.begin(), kFloat8.end());
  types.push_back(kComplexHalf);
  types.push_back(kBComplex32);
  return types;
}

// 1, 2, 1, 2: what every type holds; bytes of the opaque ones.
Tensor sample(ScalarType type, IntArrayRef sizes = {4}) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  const bool opaque = std::find(kOpaque.begin(), kOpaque.end(), type) != kOpaque.end();
  Tensor t = at::empty({n}, kByte);
  for (int64_t i = 0; i < n; ++i) t.data_ptr<uint8_t>()[i] = static_cast<uint8_t>(i % 2 + 1);
  return at::reshape(opaque ? at::view(t, type) : at::to(t, type), sizes);
}

std::vector<double> doubles(const Tensor& t) {
  const Tensor d = at::contiguous(at::to(t.is_complex() ? at::real(at::to(t, kComplexDouble)) : t, kDouble));
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

enum class Takes { kNone, kUnsigned, kFloat8, kSignedFloat8, kBoth };
struct Row {
  const char* name;
  Takes takes;
  std::function<Tensor(const Tensor& x, const Tensor& y)> call;
  ScalarType result = ScalarType::Undefined;  // Undefined: the dtype of x
};
#define UNARY(name, takes, ...)                                                                    \
  {                                                                                                \
#name, Takes::takes, [](const Tensor& x, const Tensor&) { return at::name(x); }, ##__VA_ARGS__ \
  }
#define BINARY(name, takes, ...)                                                                        \
  {                                                                                                     \
#name, Takes::takes, [](const Tensor& x, const Tensor& y) { return at::name(x, y); }, ##__VA_ARGS__ \
  }
#define CALL(name, takes, expression, ...)     \
  {                                            \
    name, Takes::takes,                        \
        [](const Tensor& x, const Tensor& y) { \
          (void)y;                             \
          return Tensor(expression);           \
        },                                     \
        ##__VA_ARGS__                          \
  }

const std::vector<Row>& rows() {
  static const std::vector<Row> rows = {
      UNARY(neg, kNone),
      UNARY(abs, kSignedFloat8),
      UNARY(sign, kNone),
      UNARY(sgn, kNone),
      UNARY(frac, kNone),
      UNARY(square, kNone),
      UNARY(bitwise_not, kNone),
      UNARY(logical_not, kNone),
      UNARY(ceil, kUnsigned),
      UNARY(floor, kUnsigned),
      UNARY(round, kUnsigned),
      UNARY(trunc, kUnsigned),
      UNARY(relu, kUnsigned),
      UNARY(nan_to_num, kUnsigned),
      UNARY(isnan, kBoth, kBool),
      UNARY(isinf, kBoth, kBool),
      UNARY(isfinite, kBoth, kBool),
      UNARY(isposinf, kUnsigned, kBool),
      UNARY(isneginf, kUnsigned, kBool),
      UNARY(signbit, kUnsigned, kBool),
      UNARY(reciprocal, kUnsigned, kFloat),
      UNARY(sqrt, kUnsigned, kFloat),
      UNARY(rsqrt, kUnsigned, kFloat),
      UNARY(exp, kUnsigned, kFloat),
      UNARY(exp2, kUnsigned, kFloat),
      UNARY(log, kUnsigned, kFloat),
      UNARY(sin, kUnsigned, kFloat),
      UNARY(cos, kUnsigned, kFloat),
      UNARY(tanh, kUnsigned, kFloat),
      UNARY(sigmoid, kUnsigned, kFloat),
      UNARY(erf, kUnsigned, kFloat),
      UNARY(angle, kUnsigned, kFloat),
      UNARY(deg2rad, kUnsigned, kFloat),
      UNARY(lgamma, kUnsigned, kFloat),
      UNARY(digamma, kUnsigned, kFloat),
      UNARY(silu, kNone),
      UNARY(gelu, kNone),
      UNARY(hardswish, kNone),
      UNARY(softplus, kNone),
      UNARY(leaky_relu, kNone),
      UNARY(elu, kNone),
      BINARY(add, kNone),
      BINARY(sub, kNone),
      BINARY(mul, kBoth),
      BINARY(div, kUnsigned, kFloat),
      BINARY(floor_divide, kNone),
      BINARY(remainder, kNone),
      BINARY(fmod, kNone),
      BINARY(pow, kNone),
      BINARY(maximum, kUnsigned),
      BINARY(minimum, kUnsigned),
      BINARY(fmax, kUnsigned),
      BINARY(fmin, kUnsigned),
      BINARY(eq, kBoth, kBool),
      BINARY(ne, kBoth, kBool),
      BINARY(lt, kNone),
      BINARY(le, kNone),
      BINARY(gt, kNone),
      BINARY(ge, kNone),
      BINARY(logical_and, kNone),
      BINARY(logical_or, kNone),
      BINARY(logical_xor, kNone),
      BINARY(bitwise_and, kUnsigned),
      BINARY(bitwise_or, kUnsigned),
      BINARY(bitwise_xor, kUnsigned),
      BINARY(bitwise_left_shift, kNone),
      BINARY(bitwise_right_shift, kNone),
      BINARY(gcd, kNone),
      BINARY(lcm, kNone),
      BINARY(atan2, kUnsigned, kFloat),
      BINARY(copysign, kUnsigned, kFloat),
      BINARY(xlogy, kUnsigned, kFloat),
      BINARY(hypot, kNone),
      BINARY(nextafter, kNone),
      BINARY(heaviside, kNone),
      BINARY(logaddexp, kNone),
      BINARY(rsub, kNone),
      BINARY(dot, kNone),
      BINARY(isclose, kUnsigned, kBool),
      CALL("add number", kNone, at::add(x, 1)),
      CALL("mul number", kUnsigned, at::mul(x, 3)),
      CALL("sub number", kNone, at::sub(x, 1)),
      CALL("div number", kUnsigned, at::div(x, 2), kFloat),
      CALL("eq number", kBoth, at::eq(x, 1), kBool),
      CALL("lt number", kNone, at::lt(x, 1)),
      CALL("bitwise_and number", kUnsigned, at::bitwise_and(x, 3)),
      CALL("clamp", kUnsigned, at::clamp(x, 1, 1)),
      CALL("clamp_min", kUnsigned, at::clamp_min(x, 2)),
      CALL("clamp tensors", kUnsigned, at::clamp(x, y, y)),
      CALL("addcmul", kNone, at::addcmul(x, x, y)),
      CALL("lerp", kNone, at::lerp(x, y, 0.5)),
      CALL("add float", kUnsigned, at::add(x, at::ones({4})), kFloat),
      CALL("sum", kUnsigned, at::sum(x), kLong),
      CALL("nansum", kUnsigned, at::nansum(x), kLong),
      CALL("prod", kUnsigned, at::prod(x), kLong),
      CALL("sum as float", kBoth, at::sum(x, kFloat), kFloat),
      CALL("prod as float", kBoth, at::prod(x, kFloat), kFloat),
      CALL("sum into uint16", kNone, at::sum(x, kUInt16)),
      CALL("mean", kNone, at::mean(x)),
      CALL("max", kNone, at::max(x)),
      CALL("min", kNone, at::min(x)),
      CALL("amax", kNone, at::amax(x)),
      CALL("amin", kNone, at::amin(x)),
      CALL("argmax", kNone, at::argmax(x)),
      CALL("all", kBoth, at::all(x), kBool),
      CALL("any", kBoth, at::any(x), kBool),
      CALL("count_nonzero", kNone, at::count_nonzero(x)),
      CALL("std", kNone, at::std(x)),
      CALL("median", kNone, at::median(x)),
      CALL("logsumexp", kUnsigned, at::logsumexp(x, 0), kFloat),
      CALL("cumsum", kUnsigned, at::cumsum(x, 0), kLong),
      CALL("cumprod", kUnsigned, at::cumprod(x, 0), kLong),
      CALL("cumsum as float", kBoth, at::cumsum(x, 0, kFloat), kFloat),
      CALL("cummax", kNone, std::get<0>(at::cummax(x, 0))),
      CALL("logcumsumexp", kNone, at::logcumsumexp(x, 0)),
      CALL("sort", kUnsigned, std::get<0>(at::sort(x))),
      CALL("argsort", kUnsigned, at::argsort(x), kLong),
      CALL("msort", kUnsigned, at::msort(x)),
      CALL("unique", kUnsigned, std::get<0>(at::_unique2(x))),
      CALL("unique_consecutive", kUnsigned, std::get<0>(at::unique_consecutive(x))),
      CALL("unique_dim", kUnsigned, std::get<0>(at::unique_dim(x, 0))),
      CALL("topk", kNone, std::get<0>(at::topk(x, 2))),
      CALL("kthvalue", kNone, std::get<0>(at::kthvalue(x, 2))),
      CALL("histc", kNone, at::histc(x, 3, 0, 3)),
      CALL("scatter_add", kUnsigned, at::scatter_add(x, 0, at::zeros({4}, kLong), y)),
      CALL("foreach_add", kNone, at::_foreach_add(std::vector<Tensor>{x}, std::vector<Tensor>{y})[0]),
      CALL("foreach_mul", kUnsigned, at::_foreach_mul(std::vector<Tensor>{x}, 2)[0]),
      CALL("randint", kUnsigned, at::randint(0, 3, {3}, x.scalar_type())),
      CALL("random_", kNone, at::clone(x).random_()),
      CALL("arange", kNone, at::arange(3, x.scalar_type())),
      CALL("linspace", kNone, at::linspace(0, 2, 3, x.scalar_type())),
      CALL("ones", kBoth, at::ones({3}, x.scalar_type())),
      CALL("full", kBoth, at::full({3}, 1, x.scalar_type())),
  };
  return rows;
}

bool expected(Takes takes, ScalarType type) {
  const bool is_unsigned = isBarebonesUnsignedType(type) && isIntegralType(type, false);
  switch (takes) {
    case Takes::kNone:
      return false;
    case Takes::kUnsigned:
      return is_unsigned;
    case Takes::kFloat8:
      return isFloat8Type(type);
    case Takes::kSignedFloat8:
      return isFloat8Type(type) && type != kFloat8_e8m0fnu;
    case Takes::kBoth:
      return is_unsigned || isFloat8Type(type);
  }
  return false;
}

TEST(Dtypes, OperatorsTakeThemWherePyTorchDoes) {
  for (const std::vector<ScalarType>* group : {&kUnsigned, &kFloat8, &kOpaque}) {
    for (const ScalarType type : *group) {
      for (const Row& row : rows()) {
        const Tensor x = sample(type), y = sample(type);
        if (!expected(row.takes, type)) {
          EXPECT_THROW(row.call(x, y), c10::Error) << row.name << " " << type;
          continue;
        }
        Tensor got;
        ASSERT_NO_THROW(got = row.call(x, y)) << row.name << " " << type;
        EXPECT_EQ(got.scalar_type(), row.result == ScalarType::Undefined ? type : row.result)
            << row.name << " " << type;
        // As int64 has it.
        if (!isIntegralType(type, false) || std::string(row.name) == "randint") continue;
        EXPECT_EQ(doubles(got), doubles(row.call(sample(kLong), sample(kLong)))) << row.name << " " << type;
      }
    }
  }
}

TEST(Dtypes, RefusalsNameOperatorAndDtype) {
  EXPECT_EQ(message_of([] { at::add(sample(kUInt16), sample(kUInt16)); }), "\"add\" not implemented for 'UInt16'");
  EXPECT_EQ(message_of([] { at::lt(sample(kUInt64), 1); }), "\"lt\" not implemented for 'UInt64'");
  EXPECT_EQ(message_of([] { at::add(sample(kFloat8_e4m3fn), sample(kFloat8_e4m3fn)); }),
            "\"add\" not implemented for 'Float8_e4m3fn'");
  EXPECT_EQ(message_of([] { at::add(sample(kFloat8_e4m3fn), sample(kFloat)); }),
            "Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float");
  EXPECT_EQ(message_of([] { at::mul(sample(kUInt16), sample(kInt)); }),
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Int");
  EXPECT_EQ(message_of([] { at::to(sample(kByte), kBits8); }), "\"copy_\" not implemented for 'Bits8'");
  EXPECT_EQ(message_of([] { at::to(sample(kUInt4), kByte); }), "\"copy_\" not implemented for 'UInt4'");
  EXPECT_EQ(message_of([] { at::ones({2}, kBits8); }), "\"fill_cpu\" not implemented for 'Bits8'");
  EXPECT_EQ(message_of([] { at::item(at::zeros({1}, kInt4)); }),
            "\"_local_scalar_dense_cpu\" not implemented for 'Int4'");
  EXPECT_THROW(at::add(sample(kUInt16), sample(kUInt16)), c10::NotImplementedError);
  EXPECT_THROW(at::to(sample(kByte), kBits8), c10::NotImplementedError);
  EXPECT_EQ(message_of([] { at::full({2}, Scalar(~uint64_t{0}), kLong); }),
            "value cannot be converted to type int64_t without overflow");
  EXPECT_EQ(message_of([] { at::full({2}, 1e6, kFloat8_e4m3fn); }),
            "value cannot be converted to type c10::Float8_e4m3fn without overflow");
  EXPECT_EQ(message_of([] { sample(kUInt16).data_ptr<int16_t>(); }), "expected scalar type Short but found UInt16");
}

// --- values ---

Tensor of(std::initializer_list<uint64_t> values) {
  Tensor t = at::empty({static_cast<int64_t>(values.size())}, kUInt64);
  std::copy(values.begin(), values.end(), t.data_ptr<uint64_t>());
  return t;
}
std::vector<uint64_t> words(const Tensor& t) {
  const Tensor c = at::contiguous(t);
  return {c.data_ptr<uint64_t>(), c.data_ptr<uint64_t>() + c.numel()};
}
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max(), kTop = uint64_t{1} << 63;
using Words = std::vector<uint64_t>;

TEST(Dtypes, WholeRangeOfUnsignedNumbers) {
  const Tensor x = of({kMost, kTop, 5, kTop + 1}), y = of({2, kMost, kTop, 3});
  EXPECT_EQ(words(at::maximum(x, y)), (Words{kMost, kMost, kTop, kTop + 1}));
  EXPECT_EQ(words(at::minimum(x, y)), (Words{2, kTop, 5, 3}));
  EXPECT_EQ(words(at::fmax(x, y)), (Words{kMost, kMost, kTop, kTop + 1}));
  EXPECT_EQ(words(at::mul(x, y)), (Words{kMost - 1, kTop, kTop, kTop + 3}));
  EXPECT_EQ(words(at::bitwise_xor(x, y)), (Words{kMost - 2, kTop - 1, kTop + 5, kTop + 2}));
  EXPECT_EQ(words(at::clamp(x, 7, Scalar(kTop))), (Words{kTop, kTop, 7, kTop}));
  EXPECT_EQ(words(at::clamp_max(x, Scalar(kMost - 1))), (Words{kMost - 1, kTop, 5, kTop + 1}));
  EXPECT_EQ(words(std::get<0>(at::sort(x))), (Words{5, kTop, kTop + 1, kMost}));
  EXPECT_EQ(words(std::get<0>(at::sort(x, 0, /*descending=*/true))), (Words{kMost, kTop + 1, kTop, 5}));
  EXPECT_EQ(words(std::get<0>(at::_unique2(of({kMost, 1, kMost, kTop})))), (Words{1, kTop, kMost}));
  EXPECT_EQ(words(at::full({2}, Scalar(kMost), kUInt64)), (Words{kMost, kMost}));
  EXPECT_EQ(words(at::full({2}, -1, kUInt64)), (Words{kMost, kMost}));
  EXPECT_EQ(at::item(at::eq(of({kMost}), Scalar(kMost))).toBool(), true);
  EXPECT_EQ(at::item(at::eq(of({kMost}), -1)).toBool(), true);
  EXPECT_EQ(at::item(at::eq(at::full({1}, 4, kUInt16), 65540)).toBool(), true);
  EXPECT_EQ(at::item(at::eq(at::full({1}, 1, kFloat8_e4m3fn), 1.01)).toBool(), true);
  EXPECT_EQ(at::item(at::sum(at::full({2}, Scalar(kMost), kUInt64))).toLong(), -2);
  EXPECT_EQ(at::item(of({kMost})).toUInt64(), kMost);
  EXPECT_EQ(of({kMost}).item<uint64_t>(), kMost);
  EXPECT_EQ(at::item(at::mul(at::ones({1}, kLong), Scalar(kMost))).toLong(), -1);
  EXPECT_EQ(at::item(at::mul(at::ones({1}, kFloat), Scalar(kMost))).toDouble(), 18446744073709551616.0);
  const Tensor narrow = at::full({3}, 65535, kUInt16);
  EXPECT_EQ(doubles(at::mul(narrow, narrow)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(doubles(at::mul(narrow, -1)), (std::vector<double>{1, 1, 1}));
  const Tensor wide = at::full({3}, 4294967295, kUInt32);
  EXPECT_EQ(doubles(at::bitwise_or(at::zeros({3}, kUInt32), wide)), (std::vector<double>(3, 4294967295.0)));
  EXPECT_EQ(doubles(std::get<0>(at::sort(at::to(at::mul(at::arange(500), 131), kUInt16), 0, true)))[0], 65369);
}

TEST(Dtypes, ClampBoundsBeyondAnIntegerType) {
  const Tensor x = at::full({2}, 7, kUInt16), small = at::full({2}, 7, kChar);
  EXPECT_EQ(doubles(at::clamp_max(x, 70000)), (std::vector<double>{7, 7}));
  EXPECT_EQ(doubles(at::clamp_min(x, -1)), (std::vector<double>{7, 7}));
  EXPECT_EQ(doubles(at::clamp(small, -1000, 1000000)), (std::vector<double>{7, 7}));
  EXPECT_EQ(message_of([&] { at::clamp_max(x, -1); }),
            "Clamp max value -1 is outside the representable range of UInt16");
  EXPECT_EQ(message_of([&] { at::clamp_min(small, 1000000); }),
            "Clamp min value 1e+06 is outside the representable range of Char");
  EXPECT_EQ(message_of([&] { at::clamp_min(at::zeros({1}, kLong), Scalar(kTop)); }),
            "Clamp min value 9.22337e+18 is outside the representable range of Long");
}

// Every number type to every other: values that both hold arrive, in any layout.
TEST(Dtypes, ConversionsOfAllPairs) {
  const std::vector<ScalarType> types = all_numbers();
  for (const ScalarType from : types) {
    for (const ScalarType to : types) {
      const int64_t n = 600;  // more than a block
      Tensor x = at::empty({n}, kDouble);
      for (int64_t i = 0; i < n; ++i)
        x.data_ptr<double>()[i] = from == kBool || to == kBool ? 1.0 : static_cast<double>(1 << i % 4);
      const Tensor source = at::to(x, from);
      EXPECT_EQ(doubles(at::to(source, to)), doubles(x)) << from << " to " << to;
      const Tensor strided = at::slice(at::reshape(source, {30, 20}), 1, 0, 20, 3);
      Tensor target = at::transpose(at::zeros({7, 30}, to), 0, 1);
      at::copy_(target, strided);
      EXPECT_EQ(doubles(target), doubles(at::slice(at::reshape(x, {30, 20}), 1, 0, 20, 3))) << from << " to " << to;
    }
  }
}

struct Coded {
  float value;
  int codes[5];
};
#include "aten/ops/testdata/float8_codes.inc"

TEST(Dtypes, FloatsOfEightBitsAreCodedAsRecorded) {
  for (const Coded& c : kCoded) {
    for (size_t k = 0; k < kFloat8.size(); ++k) {
      if (c.codes[k] < 0) continue;
      for (const ScalarType from : {kFloat, kDouble}) {
        const Tensor got = at::to(at::full({3}, c.value, from), kFloat8[k]);
        EXPECT_EQ(static_cast<const uint8_t*>(got.const_data_ptr())[2], c.codes[k]) << c.value << " " << kFloat8[k];
      }
    }
  }
}

TEST(Dtypes, ConversionsOfUnsignedNumbers) {
  const Tensor x =
      of({kMost, kTop, kTop + 1025, (1 << 24) + 1, (uint64_t{1} << 53) + 1, (uint64_t{1} << 40) + (1 << 16) + 1});
  using Doubles = std::vector<double>;
  EXPECT_EQ(doubles(at::to(x, kFloat)), (Doubles{0x1p64, 0x1p63, 0x1p63, 16777216, 0x1p53, 1099511758848.0}));
  EXPECT_EQ(doubles(at::to(x, kDouble)), (Doubles{0x1p64, 0x1p63, 0x1p63 + 2048, 16777217, 0x1p53, 1099511693313.0}));
  EXPECT_EQ(doubles(at::to(x, kInt)), (Doubles{-1, 0, 1025, 16777217, 1, 65537}));
  EXPECT_EQ(doubles(at::to(x, kByte)), (Doubles{255, 0, 1, 1, 1, 1}));
  EXPECT_EQ(doubles(at::to(x, kUInt16)), (Doubles{65535, 0, 1025, 1, 1, 1}));
  EXPECT_EQ(doubles(at::to(x, kUInt32)), (Doubles{4294967295, 0, 1025, 16777217, 1, 65537}));
  EXPECT_EQ(doubles(at::to(x, kFloat8_e4m3fn)), Doubles(6, 448));
  EXPECT_EQ(doubles(at::to(x, kBool)), Doubles(6, 1));
  EXPECT_EQ(at::to(x, kLong).data_ptr<int64_t>()[1], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(words(at::to(at::full({1}, -1, kChar), kUInt64)), Words{kMost});
  EXPECT_EQ(words(at::to(at::full({1}, -2.5), kUInt64)), Words{kMost - 1});
  EXPECT_EQ(words(at::to(at::full({1}, 1e19, kDouble), kUInt64)), Words{10000000000000000000u});
  EXPECT_EQ(words(at::to(at::full({1}, 2e19, kDouble), kUInt64)), Words{0});
  EXPECT_EQ(words(at::to(at::full({1}, NAN), kUInt64)), Words{kTop});
  EXPECT_EQ(doubles(at::to(at::full({1}, 70000.0), kUInt16)), Doubles{4464});
  EXPECT_EQ(doubles(at::to(at::full({1}, -1.0), kUInt16)), Doubles{65535});
}

TEST(Dtypes, ComplexNumbersOfHalves) {
  const Tensor z = at::full({3}, c10::complex<double>(1.5, -2.0), kComplexDouble);
  for (const ScalarType type : {kComplexHalf, kBComplex32}) {
    const Tensor half = at::to(z, type);
    EXPECT_EQ(half.itemsize(), 4u);
    EXPECT_EQ(at::item(half[1]).toComplexDouble(), c10::complex<double>(1.5, -2.0));
    EXPECT_EQ(at::item(at::to(half, kComplexFloat)[2]).toComplexDouble(), c10::complex<double>(1.5, -2.0));
  }
}

TEST(Dtypes, DataMovesWhateverItMeans) {
  std::vector<ScalarType> types = all_numbers();
  types.insert(types.end(), kOpaque.begin(), kOpaque.end());
  for (const ScalarType type : types) {
    const Tensor x = sample(type), m = sample(type, {4, 4});
    const auto bytes = [](const Tensor& t) {
      const Tensor c = at::contiguous(t);
      const char* data = static_cast<const char*>(c.const_data_ptr());
      return std::string(data, data + c.nbytes());
    };
    const std::string twice = bytes(x) + bytes(x);
    EXPECT_EQ(bytes(at::clone(x)), bytes(x)) << type;
    EXPECT_EQ(bytes(at::cat({x, x})), twice) << type;
    EXPECT_EQ(bytes(at::stack({x, x})), twice) << type;
    EXPECT_EQ(bytes(at::repeat(x, {2})), twice) << type;
    EXPECT_EQ(bytes(at::reshape(at::transpose(m, 0, 1), {16})), bytes(at::transpose(m, 0, 1))) << type;
    EXPECT_EQ(bytes(at::index_select(x, 0, at::arange(4))), bytes(x)) << type;
    EXPECT_EQ(bytes(at::select(m, 0, 1)), bytes(x)) << type;
    EXPECT_EQ(bytes(at::flip(at::flip(x, {0}), {0})), bytes(x)) << type;
    EXPECT_EQ(bytes(at::where(at::ones({4}, kBool), x, x)), bytes(x)) << type;
    EXPECT_EQ(bytes(at::view(at::view(x, kByte), type)), bytes(x)) << type;
    EXPECT_EQ(bytes(at::zeros({4}, type)), std::string(4 * x.itemsize(), '\0')) << type;
    EXPECT_EQ(at::empty_like(x).scalar_type(), type);
    Tensor target = at::zeros({4}, type);
    at::copy_(target, x);
    EXPECT_EQ(bytes(target), bytes(x)) << type;
  }
  for (const ScalarType type : all_numbers()) {
    if (type != kComplexHalf && type != kBComplex32) EXPECT_TRUE(at::equal(sample(type), sample(type))) << type;
  }
}

TEST(Dtypes, QuantizedTensorsNeedAQuantizer) {
  for (const ScalarType type : {kQInt8, kQUInt8, kQInt32, kQUInt4x2, kQUInt2x4}) {
    EXPECT_THROW(at::empty({2}, type), c10::NotImplementedError);
    EXPECT_THROW(at::zeros({2}, type), c10::NotImplementedError);
    EXPECT_THROW(at::full({2}, 1, type), c10::NotImplementedError);
    EXPECT_THROW(at::empty_strided({2}, {1}, type), c10::NotImplementedError);
    EXPECT_THROW(at::empty_like(at::zeros({2}), type), c10::NotImplementedError);
    EXPECT_THROW(at::to(at::zeros({2}, kByte), type), c10::NotImplementedError);
    const Tensor bytes = at::view(at::zeros({8}, kByte), type);
    EXPECT_TRUE(bytes.is_quantized());
    EXPECT_THROW(at::add(bytes, bytes), c10::Error);
    EXPECT_THROW(at::item(bytes[0]), c10::Error);
  }
  EXPECT_EQ(message_of([] { at::empty({2}, kQInt8); }),
            "empty: a tensor of dtype QInt8 needs a quantizer, which this function does not make");
}

TEST(Dtypes, ResultsOfOtherKindsAreRefusedBeforeAnythingIsWritten) {
  const Tensor x = sample(kLong);
  Tensor values = at::zeros({4}, kBits8), indices = at::full({4}, 7, kLong);
  EXPECT_EQ(message_of([&] { at::sort_out(values, indices, x); }), "\"copy_\" not implemented for 'Bits8'");
  EXPECT_EQ(at::item(indices[3]).toLong(), 7);
  Tensor opaque = at::zeros({4}, kBits8);
  EXPECT_THROW(at::masked_fill_out(opaque, sample(kBits8), at::ones({4}, kBool), 1), c10::NotImplementedError);
  EXPECT_EQ(at::item(at::view(opaque, kByte)[1]).toLong(), 0);
}

TEST(Dtypes, ForgedNumbersAreNoDtypes) {
  for (const int forged : {-1, 47, 48, 77, 127}) {
    const ScalarType type = static_cast<ScalarType>(forged);
    EXPECT_THROW(at::empty({2}, type), c10::Error) << forged;
    EXPECT_THROW(at::zeros({2}).to(type), c10::Error) << forged;
    EXPECT_THROW(at::view(at::zeros({2}), type), c10::Error) << forged;
    EXPECT_THROW(at::sum(at::zeros({2}), type), c10::Error) << forged;
  }
}

TEST(Dtypes, Printing) {
  EXPECT_EQ(at::to_string(at::reshape(at::to(at::arange(6), kUInt16), {2, 3})),
            " 0  1  2\n 3  4  5\n[ CPUUInt16Type{2,3} ]");
  EXPECT_EQ(at::to_string(at::to(at::arange(3), kFloat8_e4m3fn)), " 0\n 1\n 2\n[ CPUFloat8_e4m3fnType{3} ]");
  EXPECT_EQ(at::to_string(at::to(at::add(at::mul(at::arange(3, kFloat), 0.3), 1), kFloat8_e5m2)),
            " 1.0000\n 1.2500\n 1.5000\n[ CPUFloat8_e5m2Type{3} ]");
  EXPECT_EQ(at::to_string(at::to(at::arange(3), kFloat8_e8m0fnu)),
            " 5.8775e-39\n 1.0000e+00\n 2.0000e+00\n[ CPUFloat8_e8m0fnuType{3} ]");
  EXPECT_EQ(at::to_string(at::full({2}, Scalar(kMost), kUInt64)), " 1.8447e+19\n 1.8447e+19\n[ CPUUInt64Type{2} ]");
  EXPECT_EQ(at::to_string(at::full({}, 123456789, kUInt32)), "123456789\n[ CPUUInt32Type{} ]");
  EXPECT_EQ(at::to_string(at::full({}, Scalar(kMost), kUInt64)), "18446744073709551615\n[ CPUUInt64Type{} ]");
  EXPECT_THROW(at::to_string(at::zeros({2}, kBits8)), c10::NotImplementedError);
  EXPECT_EQ(at::zeros({2}, kBits8).toString(), "CPUBits8Type");
}

}  // namespace
}  // namespace at
