// Integers wrap at their extremes, predicates and minima are exact: every dtype, all pairs of special values.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "c10/dispatch/registry.h"

namespace at::accuracy {
namespace {

Tensor call(const std::string& name, const std::vector<Tensor>& tensors, const std::vector<c10::IValue>& rest = {}) {
  const size_t dot = name.find('.');
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
  c10::Stack stack;
  for (const Tensor& t : tensors) stack.emplace_back(t);
  for (const c10::IValue& v : rest) stack.push_back(v);
  op.callBoxed(stack);
  return stack.at(0).toTensor();
}

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  Tensor t =
      at::empty({static_cast<int64_t>(values.size())}, TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  std::memcpy(t.data_ptr(), values.data(), values.size() * sizeof(T));
  return t;
}

using Wide = __int128;
Wide floor_of(Wide a, Wide b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

struct IntegerCase {
  const char* op;
  bool zero_divides;  // the second operand may not be 0
  Wide (*exact)(Wide, Wide);
};
const IntegerCase kBinary[] = {
    {"add.Tensor", false, [](Wide a, Wide b) { return a + b; }},
    {"sub.Tensor", false, [](Wide a, Wide b) { return a - b; }},
    {"rsub.Tensor", false, [](Wide a, Wide b) { return b - a; }},
    {"mul.Tensor", false,
     [](Wide a, Wide b) {
       return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
     }},
    {"maximum", false, [](Wide a, Wide b) { return a > b ? a : b; }},
    {"minimum", false, [](Wide a, Wide b) { return a < b ? a : b; }},
    {"fmax", false, [](Wide a, Wide b) { return a > b ? a : b; }},
    {"fmin", false, [](Wide a, Wide b) { return a < b ? a : b; }},
    {"clamp_min.Tensor", false, [](Wide a, Wide b) { return a > b ? a : b; }},
    {"clamp_max.Tensor", false, [](Wide a, Wide b) { return a < b ? a : b; }},
    {"floor_divide", true, floor_of},
    {"remainder.Tensor", true, [](Wide a, Wide b) { return a - b * floor_of(a, b); }},
    {"fmod.Tensor", true, [](Wide a, Wide b) { return a % b; }},
    {"bitwise_and.Tensor", false, [](Wide a, Wide b) { return a & b; }},
    {"bitwise_or.Tensor", false, [](Wide a, Wide b) { return a | b; }},
    {"bitwise_xor.Tensor", false, [](Wide a, Wide b) { return a ^ b; }},
    {"heaviside", false, [](Wide a, Wide b) { return a == 0  ? b
                                                     : a > 0 ? Wide(1)
                                                             : Wide(0); }},
};
struct IntegerUnary {
  const char* op;
  Wide (*exact)(Wide);
};
const IntegerUnary kUnary[] = {
    {"neg", [](Wide a) { return -a; }},
    {"abs", [](Wide a) { return a < 0 ? -a : a; }},
    {"sign", [](Wide a) { return Wide((a > 0) - (a < 0)); }},
    {"sgn", [](Wide a) { return Wide((a > 0) - (a < 0)); }},
    {"square", [](Wide a) { return a * a; }},
    {"bitwise_not", [](Wide a) { return ~a; }},
    {"ceil", [](Wide a) { return a; }},
    {"floor", [](Wide a) { return a; }},
    {"round", [](Wide a) { return a; }},
    {"trunc", [](Wide a) { return a; }},
    {"relu", [](Wide a) { return a < 0 ? Wide(0) : a; }},
    {"positive", [](Wide a) { return a; }},
    {"conj_physical", [](Wide a) { return a; }},
    {"nan_to_num", [](Wide a) { return a; }},
};

template <class T>
class IntegerExtremes : public testing::Test {};
using Integers = testing::Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerExtremes, Integers);

template <class T>
std::vector<T> integer_specials() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  std::vector<T> x = {low,
                      static_cast<T>(low + 1),
                      0,
                      1,
                      2,
                      3,
                      7,
                      100,
                      static_cast<T>(high / 2),
                      static_cast<T>(high / 2 + 1),
                      static_cast<T>(high - 1),
                      high};
  if (low < 0) x.insert(x.end(), {static_cast<T>(-1), static_cast<T>(-2), static_cast<T>(-7), static_cast<T>(low / 2)});
  return x;
}

TYPED_TEST(IntegerExtremes, WrapAsTwosComplement) {
  using T = TypeParam;
  const std::vector<T> s = integer_specials<T>();
  for (const IntegerCase& c : kBinary) {
    std::vector<T> a, b;
    for (T x : s) {
      for (T y : s) {
        if (c.zero_divides && y == 0) continue;
        a.push_back(x), b.push_back(y);
      }
    }
    const Tensor y = call(c.op, {tensor_of(a), tensor_of(b)});
    ASSERT_EQ(y.scalar_type(), c10::CppTypeToScalarType<T>::value) << c.op;
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(y.data_ptr<T>()[i], static_cast<T>(c.exact(a[i], b[i]))) << c.op << " of " << +a[i] << " and " << +b[i];
    }
  }
  for (const IntegerUnary& c : kUnary) {
    const Tensor y = call(c.op, {tensor_of(s)});
    ASSERT_EQ(y.scalar_type(), c10::CppTypeToScalarType<T>::value) << c.op;
    for (size_t i = 0; i < s.size(); ++i)
      EXPECT_EQ(y.data_ptr<T>()[i], static_cast<T>(c.exact(s[i]))) << c.op << " of " << +s[i];
  }
}

TYPED_TEST(IntegerExtremes, ShiftsOfEveryWidth) {
  using T = TypeParam;
  const std::vector<T> s = integer_specials<T>();
  std::vector<T> a, b;
  constexpr int bits = static_cast<int>(sizeof(T)) * 8;
  for (T x : s) {
    for (int n = 0; n < bits; ++n) a.push_back(x), b.push_back(static_cast<T>(n));
  }
  const Tensor left = call("bitwise_left_shift.Tensor", {tensor_of(a), tensor_of(b)});
  const Tensor right = call("bitwise_right_shift.Tensor", {tensor_of(a), tensor_of(b)});
  for (size_t i = 0; i < a.size(); ++i) {
    const Wide wide =
        static_cast<Wide>(static_cast<unsigned __int128>(static_cast<Wide>(a[i])) << static_cast<int>(b[i]));
    EXPECT_EQ(left.data_ptr<T>()[i], static_cast<T>(wide)) << +a[i] << " << " << +b[i];
    EXPECT_EQ(right.data_ptr<T>()[i], static_cast<T>(static_cast<Wide>(a[i]) >> static_cast<int>(b[i])))
        << +a[i] << " >> " << +b[i];
  }
}

TYPED_TEST(IntegerExtremes, GreatestCommonDivisorsAndPowers) {
  using T = TypeParam;
  const std::vector<T> s = integer_specials<T>();
  const auto gcd_of = [](Wide a, Wide b) {
    a = a < 0 ? -a : a, b = b < 0 ? -b : b;
    while (b != 0) std::swap(a %= b, b);
    return a;
  };
  std::vector<T> a, b;
  for (T x : s) {
    for (T y : s) a.push_back(x), b.push_back(y);
  }
  const Tensor gcd = call("gcd", {tensor_of(a), tensor_of(b)}), lcm = call("lcm", {tensor_of(a), tensor_of(b)});
  for (size_t i = 0; i < a.size(); ++i) {
    const Wide g = gcd_of(a[i], b[i]);
    EXPECT_EQ(gcd.data_ptr<T>()[i], static_cast<T>(g)) << +a[i] << " and " << +b[i];
    const Wide product = g == 0 ? Wide(0) : static_cast<Wide>(a[i]) / g * b[i];
    const T wrapped = static_cast<T>(product < 0 ? -product : product);
    if (product <= std::numeric_limits<T>::max() && product >= -Wide(std::numeric_limits<T>::max())) {
      EXPECT_EQ(lcm.data_ptr<T>()[i], wrapped) << +a[i] << " and " << +b[i];
    }
  }
  for (int64_t exponent : {0, 1, 2, 3, 5, 31}) {
    const Tensor y = call("pow.Tensor_Scalar", {tensor_of(s)}, {c10::IValue(c10::Scalar(exponent))});
    for (size_t i = 0; i < s.size(); ++i) {
      uint64_t power = 1;
      for (int64_t k = 0; k < exponent; ++k) power *= static_cast<uint64_t>(s[i]);
      EXPECT_EQ(y.data_ptr<T>()[i], static_cast<T>(power)) << +s[i] << " ** " << exponent;
    }
  }
}

TYPED_TEST(IntegerExtremes, DivisionByZeroIsAnError) {
  using T = TypeParam;
  const Tensor a = tensor_of(std::vector<T>{1, 2}), zero = tensor_of(std::vector<T>{1, 0});
  for (const char* op : {"floor_divide", "remainder.Tensor", "fmod.Tensor"})
    EXPECT_THROW(call(op, {a, zero}), c10::Error) << op;
}

struct Predicate {
  const char* op;
  bool (*exact)(double, double);
};
const Predicate kComparisons[] = {
    {"eq.Tensor", [](double a, double b) { return a == b; }},
    {"ne.Tensor", [](double a, double b) { return a != b; }},
    {"lt.Tensor", [](double a, double b) { return a < b; }},
    {"le.Tensor", [](double a, double b) { return a <= b; }},
    {"gt.Tensor", [](double a, double b) { return a > b; }},
    {"ge.Tensor", [](double a, double b) { return a >= b; }},
    {"logical_and", [](double a, double b) { return a != 0 && b != 0; }},
    {"logical_or", [](double a, double b) { return a != 0 || b != 0; }},
    {"logical_xor", [](double a, double b) { return (a != 0) != (b != 0); }},
};
const Predicate kClasses[] = {
    {"isnan", [](double a, double) { return std::isnan(a); }},
    {"isinf", [](double a, double) { return std::isinf(a); }},
    {"isfinite", [](double a, double) { return std::isfinite(a); }},
    {"isposinf", [](double a, double) { return std::isinf(a) && a > 0; }},
    {"isneginf", [](double a, double) { return std::isinf(a) && a < 0; }},
    {"signbit", [](double a, double) { return std::signbit(a); }},
    {"logical_not", [](double a, double) { return a == 0; }},
    {"isreal", [](double, double) { return true; }},
};

template <class T>
class Predicates : public testing::Test {};
using Elements = testing::Types<float, double, c10::Half, c10::BFloat16, uint8_t, int8_t, int16_t, int32_t, bool>;
TYPED_TEST_SUITE(Predicates, Elements);

template <class T>
std::vector<T> element_specials() {
  std::vector<T> x;
  if constexpr (std::is_same_v<T, bool>) {
    // Not a vector of bools, which has no elements.
  } else if constexpr (std::is_integral_v<T>) {
    x = integer_specials<T>();
  } else {
    for (double v : {0.0, 1.0, 0.5, 2.0, 1.0000001, 65504.0, 6e-8, 1e-40, 5e-324, 1e30, 1e300,
                     static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
      x.push_back(static_cast<T>(v)), x.push_back(static_cast<T>(-v));
    }
  }
  return x;
}

TYPED_TEST(Predicates, AreExact) {
  using T = TypeParam;
  Tensor a, b;
  std::vector<double> p, q;
  if constexpr (std::is_same_v<T, bool>) {
    a = at::empty({4}, TensorOptions().dtype(kBool)), b = at::empty({4}, TensorOptions().dtype(kBool));
    for (int i = 0; i < 4; ++i) {
      a.data_ptr<bool>()[i] = (i & 1) != 0, b.data_ptr<bool>()[i] = (i & 2) != 0;
      p.push_back(i & 1), q.push_back((i & 2) / 2);
    }
  } else {
    std::vector<T> x, y;
    for (T v : element_specials<T>()) {
      for (T w : element_specials<T>()) {
        x.push_back(v), y.push_back(w);
        p.push_back(static_cast<double>(v)), q.push_back(static_cast<double>(w));
      }
    }
    a = tensor_of(x), b = tensor_of(y);
  }
  const auto check = [&](const Predicate& c, const Tensor& y) {
    ASSERT_EQ(y.scalar_type(), kBool) << c.op;
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_EQ(y.data_ptr<bool>()[i], c.exact(p[i], q[i])) << c.op << " of " << p[i] << " and " << q[i];
    }
  };
  for (const Predicate& c : kComparisons) check(c, call(c.op, {a, b}));
  for (const Predicate& c : kClasses) check(c, call(c.op, {a}));
}

// The neighbours in every direction.
template <class T>
void check_neighbours() {
  std::vector<T> x, y;
  for (T v : element_specials<T>()) {
    for (T w : element_specials<T>()) x.push_back(v), y.push_back(w);
  }
  const Tensor got = call("nextafter", {tensor_of(x), tensor_of(y)});
  for (size_t i = 0; i < x.size(); ++i) {
    const T exact = std::nextafter(x[i], y[i]), value = got.data_ptr<T>()[i];
    EXPECT_TRUE((std::isnan(exact) && std::isnan(value)) ||
                (exact == value && std::signbit(exact) == std::signbit(value)))
        << x[i] << " to " << y[i] << ": " << value;
  }
}
TEST(Exactness, Neighbours) {
  check_neighbours<float>();
  check_neighbours<double>();
}

// self = mantissa 2^exponent to the bit.
TEST(Exactness, MantissaAndExponent) {
  for (ScalarType dtype : {kFloat, kDouble}) {
    const Tensor x = at::to(tensor_of(element_specials<double>()), dtype);
    const auto [mantissa, exponent] = at::frexp(x);
    const Tensor m = at::to(mantissa, kDouble), whole = at::to(x, kDouble);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double v = whole.data_ptr<double>()[i], part = m.data_ptr<double>()[i];
      const int e = exponent.data_ptr<int32_t>()[i];
      if (std::isnan(v)) {
        EXPECT_TRUE(std::isnan(part));
      } else {
        EXPECT_EQ(std::ldexp(part, e), v);
        if (v != 0 && std::isfinite(v)) EXPECT_TRUE(std::fabs(part) >= 0.5 && std::fabs(part) < 1) << v;
      }
    }
  }
}

}  // namespace
}  // namespace at::accuracy
