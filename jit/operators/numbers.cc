// Arithmetic of numbers: the same function for integers, floats and complex numbers, which it tells apart by the
// values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "c10/util/complex_math.h"
#include "c10/util/exception.h"
#include "jit/operators/operators.h"

namespace torch::jit::detail {
namespace {

using c10::IValue;
using c10::Stack;
using Complex = c10::complex<double>;

constexpr double kPi = 3.14159265358979323846;

double real(const IValue& v) {
  return v.toScalar().toDouble();
}
Complex to_complex(const IValue& v) {
  return v.isComplexDouble() ? v.toComplexDouble() : Complex(real(v), 0.0);
}
int64_t integer(const IValue& v) {
  return v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt();
}
bool is_whole(const IValue& v) {
  return v.isInt() || v.isBool();
}
// Integers wrap around at 64 bits.
int64_t wrapped(uint64_t v) {
  return static_cast<int64_t>(v);
}

template <class Int, class Real, class Cplx>
void binary(Stack& stack, const Int& of_integers, const Real& of_reals, const Cplx& of_complex) {
  const IValue b = pop(stack), a = pop(stack);
  if (is_whole(a) && is_whole(b)) {
    stack.emplace_back(of_integers(integer(a), integer(b)));
  } else if (a.isComplexDouble() || b.isComplexDouble()) {
    stack.emplace_back(of_complex(to_complex(a), to_complex(b)));
  } else {
    stack.emplace_back(of_reals(real(a), real(b)));
  }
}
Complex not_for_complex(Complex, Complex) {
  TORCH_CHECK_TYPE(false, "complex numbers have no order and no remainder");
}

void add(Stack& s) {
  binary(
      s, [](uint64_t a, uint64_t b) { return wrapped(a + b); }, [](double a, double b) { return a + b; },
      [](Complex a, Complex b) { return a + b; });
}
void sub(Stack& s) {
  binary(
      s, [](uint64_t a, uint64_t b) { return wrapped(a - b); }, [](double a, double b) { return a - b; },
      [](Complex a, Complex b) { return a - b; });
}
void mul(Stack& s) {
  binary(
      s, [](uint64_t a, uint64_t b) { return wrapped(a * b); }, [](double a, double b) { return a * b; },
      [](Complex a, Complex b) { return a * b; });
}
void div(Stack& s) {
  binary(
      s, [](double a, double b) { return a / b; }, [](double a, double b) { return a / b; },
      [](Complex a, Complex b) { return a / b; });
}
int64_t floor_quotient(int64_t a, int64_t b) {
  TORCH_CHECK(b != 0, "division by 0");
  if (b == -1) return wrapped(uint64_t{0} - static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
void floordiv(Stack& s) {
  binary(
      s, floor_quotient, [](double a, double b) { return std::floor(a / b); }, not_for_complex);
}
void remainder(Stack& s) {
  binary(
      s,
      [](int64_t a, int64_t b) {
        return wrapped(static_cast<uint64_t>(a) -
                       static_cast<uint64_t>(floor_quotient(a, b)) * static_cast<uint64_t>(b));
      },
      [](double a, double b) {
        const double rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      not_for_complex);
}
void power(Stack& s) {
  binary(
      s, [](double a, double b) { return std::pow(a, b); }, [](double a, double b) { return std::pow(a, b); },
      [](Complex a, Complex b) { return c10::pow(a, b); });
}
void atan2(Stack& s) {
  binary(
      s, [](double a, double b) { return std::atan2(a, b); }, [](double a, double b) { return std::atan2(a, b); },
      not_for_complex);
}
void fmod(Stack& s) {
  binary(
      s, [](double a, double b) { return std::fmod(a, b); }, [](double a, double b) { return std::fmod(a, b); },
      not_for_complex);
}
void divmod(Stack& s) {
  Stack copy = s;
  floordiv(copy);
  remainder(s);
  s.insert(s.begin(), copy[0]);
}

template <class Compare>
void compare(Stack& stack, const Compare& holds) {
  const IValue b = pop(stack), a = pop(stack);
  bool result;
  if (a.isString()) {
    result = holds(a.toStringRef(), b.toStringRef());
  } else if (is_whole(a) && is_whole(b)) {
    result = holds(integer(a), integer(b));
  } else {
    result = holds(real(a), real(b));
  }
  stack.emplace_back(result);
}
void lt(Stack& s) {
  compare(s, [](const auto& a, const auto& b) { return a < b; });
}
void le(Stack& s) {
  compare(s, [](const auto& a, const auto& b) { return a <= b; });
}
void gt(Stack& s) {
  compare(s, [](const auto& a, const auto& b) { return a > b; });
}
void ge(Stack& s) {
  compare(s, [](const auto& a, const auto& b) { return a >= b; });
}
bool equal(const IValue& a, const IValue& b) {
  if (a.isScalar() && b.isScalar() && !a.isComplexDouble() && !b.isComplexDouble())
    return is_whole(a) && is_whole(b) ? integer(a) == integer(b) : real(a) == real(b);
  if (a.isScalar() && b.isScalar()) return to_complex(a) == to_complex(b);
  return a == b;
}
void eq(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(equal(a, b));
}
void ne(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(!equal(a, b));
}

template <class Op>
void bits(Stack& stack, const Op& op) {
  const IValue b = pop(stack), a = pop(stack);
  if (a.isBool()) {
    stack.emplace_back(op(integer(a), integer(b)) != 0);
  } else {
    stack.emplace_back(op(a.toInt(), b.toInt()));
  }
}
void bit_and(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a & b; });
}
void bit_or(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a | b; });
}
void bit_xor(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a ^ b; });
}
void shift(Stack& stack, bool left) {
  const int64_t by = pop(stack).toInt(), value = pop(stack).toInt();
  TORCH_CHECK(by >= 0, "negative shift count");
  if (left) {
    stack.emplace_back(by > 63 ? int64_t{0} : wrapped(static_cast<uint64_t>(value) << by));
  } else {
    stack.emplace_back(value >> (by > 63 ? 63 : by));
  }
}
void left_shift(Stack& s) {
  shift(s, true);
}
void right_shift(Stack& s) {
  shift(s, false);
}

void neg(Stack& s) {
  const IValue v = pop(s);
  if (v.isInt()) {
    s.emplace_back(wrapped(uint64_t{0} - static_cast<uint64_t>(v.toInt())));
  } else if (v.isComplexDouble()) {
    s.emplace_back(-v.toComplexDouble());
  } else {
    s.emplace_back(-real(v));
  }
}
void invert(Stack& s) {
  s.back() = IValue(~integer(s.back()));
}
void absolute(Stack& s) {
  const IValue v = pop(s);
  if (v.isInt()) {
    s.emplace_back(v.toInt() < 0 ? wrapped(uint64_t{0} - static_cast<uint64_t>(v.toInt())) : v.toInt());
  } else if (v.isComplexDouble()) {
    s.emplace_back(std::hypot(v.toComplexDouble().real(), v.toComplexDouble().imag()));
  } else {
    s.emplace_back(std::abs(real(v)));
  }
}
void logical_not(Stack& s) {
  s.back() = IValue(!s.back().toBool());
}
int64_t to_integer(double v, const char* what) {
  TORCH_CHECK_VALUE(v >= -0x1p63 && v < 0x1p63, what, " does not fit into an integer: ", v);
  return static_cast<int64_t>(v);
}
void floor(Stack& s) {
  if (!s.back().isInt()) s.back() = IValue(to_integer(std::floor(real(s.back())), "floor"));
}
void ceil(Stack& s) {
  if (!s.back().isInt()) s.back() = IValue(to_integer(std::ceil(real(s.back())), "ceil"));
}
void round(Stack& s) {
  s.back() = IValue(std::nearbyint(real(s.back())));
}
template <double (*f)(double)>
void of_real(Stack& s) {
  s.back() = IValue(f(real(s.back())));
}
template <bool (*f)(double)>
void test_real(Stack& s) {
  s.back() = IValue(f(real(s.back())));
}
bool is_nan(double v) {
  return std::isnan(v);
}
bool is_inf(double v) {
  return std::isinf(v);
}
bool is_finite(double v) {
  return std::isfinite(v);
}

double degrees(double v) {
  return v * (180.0 / kPi);
}
double radians(double v) {
  return v * (kPi / 180.0);
}
void gcd(Stack& s) {
  const auto magnitude = [](int64_t v) {
    return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  };
  const uint64_t b = magnitude(pop(s).toInt()), a = magnitude(pop(s).toInt());
  s.emplace_back(wrapped(std::gcd(a, b)));
}
void factorial(Stack& s) {
  const int64_t n = s.back().toInt();
  TORCH_CHECK_VALUE(n >= 0, "factorial() not defined for negative values");
  TORCH_CHECK_VALUE(n <= 20, "factorial(", n, ") does not fit into an integer of 64 bits");
  int64_t result = 1;
  for (int64_t i = 2; i <= n; ++i) result *= i;
  s.back() = IValue(result);
}
template <double (*f)(double, double)>
void of_reals(Stack& s) {
  const double b = real(pop(s)), a = real(pop(s));
  s.emplace_back(f(a, b));
}
void ldexp(Stack& s) {
  const int64_t exponent = pop(s).toInt();
  s.back() = IValue(std::ldexp(real(s.back()), static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000))));
}
void frexp(Stack& s) {
  int exponent = 0;
  s.back() = IValue(std::frexp(real(s.back()), &exponent));
  s.emplace_back(static_cast<int64_t>(exponent));
}
void modf(Stack& s) {
  double whole = 0;
  s.back() = IValue(std::modf(real(s.back()), &whole));
  s.emplace_back(whole);
}

void smaller(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.push_back(real(b) < real(a) ? b : a);
}
void larger(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.push_back(real(b) > real(a) ? b : a);
}
// Where one is a float, the result is.
void smaller_float(Stack& s) {
  smaller(s);
  s.back() = IValue(real(s.back()));
}
void larger_float(Stack& s) {
  larger(s);
  s.back() = IValue(real(s.back()));
}

void to_int(Stack& s) {
  const IValue& v = s.back();
  s.back() = is_whole(v) ? IValue(integer(v)) : IValue(to_integer(std::trunc(real(v)), "int"));
}
void to_float(Stack& s) {
  s.back() = IValue(real(s.back()));
}
void to_bool(Stack& s) {
  const IValue& v = s.back();
  s.back() = IValue(v.isComplexDouble() ? v.toComplexDouble() != Complex(0.0, 0.0)
                    : is_whole(v)       ? integer(v) != 0
                                        : real(v) != 0);
}
void make_complex(Stack& s) {
  const IValue imaginary = pop(s), v = pop(s);
  s.emplace_back(to_complex(v) + to_complex(imaginary) * Complex(0.0, 1.0));
}

void identical(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(a.is(b));
}
void different(Stack& s) {
  identical(s);
  logical_not(s);
}

// "aten::add.int(int a, int b) -> int" for each type; the result's is that of the arguments where `result` is empty.
void add_all(BuiltinOperators& all, std::initializer_list<const char*> names,
             std::initializer_list<Callable::Function> calls, std::initializer_list<const char*> types,
             const std::string& arguments, const std::string& result) {
  for (const char* type : types) {
    const auto with_type = [&](std::string text) {
      for (size_t at; (at = text.find('$')) != std::string::npos;) text.replace(at, 1, type);
      return text;
    };
    auto call = calls.begin();
    for (const char* name : names) {
      const std::string overload = std::string(type) == "Scalar" ? "" : "." + std::string(type);
      all.push_back(
          {c10::str("aten::", name, overload, "(", with_type(arguments), ") -> ", with_type(result)), *call++});
    }
  }
}

}  // namespace

namespace {

// Of numbers of two types: before those of Scalar, which tell less of their results.
void add_mixed_operators(BuiltinOperators& all) {
  const std::pair<const char*, Callable::Function> of_reals[] = {{"aten::add", add},
                                                                 {"aten::sub", sub},
                                                                 {"aten::mul", mul},
                                                                 {"aten::div", div},
                                                                 {"aten::pow", power},
                                                                 {"aten::floordiv", floordiv},
                                                                 {"aten::remainder", remainder},
                                                                 {"prim::min", smaller_float},
                                                                 {"prim::max", larger_float}};
  const std::pair<const char*, Callable::Function> of_complex[] = {
      {"aten::add", add}, {"aten::sub", sub}, {"aten::mul", mul}, {"aten::div", div}, {"aten::pow", power}};
  const auto put = [&](const auto& operators, const char* a, const char* b, const char* result) {
    for (const auto& [name, call] : operators) {
      all.push_back({c10::str(name, ".", a, "_", b, "(", a, " a, ", b, " b) -> ", result), call});
      all.push_back({c10::str(name, ".", b, "_", a, "(", b, " a, ", a, " b) -> ", result), call});
    }
  };
  put(of_reals, "int", "float", "float");
  put(of_complex, "int", "complex", "complex");
  put(of_complex, "float", "complex", "complex");
}

}  // namespace

void add_number_operators(BuiltinOperators& all) {
  add_mixed_operators(all);
  const auto order = {"int", "float", "str", "Scalar"};
  add_all(all, {"add", "sub", "mul"}, {add, sub, mul}, {"int", "float", "complex", "Scalar"}, "$ a, $ b", "$");
  add_all(all, {"div"}, {div}, {"int", "float"}, "$ a, $ b", "float");
  add_all(all, {"div"}, {div}, {"complex", "Scalar"}, "$ a, $ b", "$");
  add_all(all, {"pow"}, {power}, {"int", "float"}, "$ a, $ b", "float");
  add_all(all, {"pow"}, {power}, {"complex", "Scalar"}, "$ a, $ b", "$");
  add_all(all, {"floordiv", "remainder"}, {floordiv, remainder}, {"int", "float", "Scalar"}, "$ a, $ b", "$");
  add_all(all, {"fmod", "atan2"}, {fmod, atan2}, {"int", "float", "Scalar"}, "$ a, $ b", "float");
  add_all(all, {"divmod"}, {divmod}, {"int", "float"}, "$ a, $ b", "($, $)");
  add_all(all, {"lt", "le", "gt", "ge"}, {lt, le, gt, ge}, order, "$ a, $ b", "bool");
  add_all(all, {"eq", "ne"}, {eq, ne}, {"int", "float", "str", "bool", "complex", "Device", "Scalar", "AnyEnumType"},
          "$ a, $ b", "bool");
  add_all(all, {"__and__", "__or__", "__xor__"}, {bit_and, bit_or, bit_xor}, {"int", "bool"}, "$ a, $ b", "$");
  add_all(all, {"__lshift__", "__rshift__"}, {left_shift, right_shift}, {"int"}, "$ a, $ b", "$");
  add_all(all, {"neg"}, {neg}, {"int", "float", "complex", "Scalar"}, "$ a", "$");
  add_all(all, {"bitwise_not"}, {invert}, {"int"}, "$ a", "$");
  add_all(all, {"abs"}, {absolute}, {"complex"}, "$ a", "float");
  add_all(all, {"abs"}, {absolute}, {"int", "float", "Scalar"}, "$ a", "$");
  add_all(all, {"floor", "ceil"}, {floor, ceil}, {"int", "float", "Scalar"}, "$ a", "int");
  add_all(all, {"round", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh"},
          {round, of_real<std::sqrt>, of_real<std::exp>, of_real<std::log>, of_real<std::sin>, of_real<std::cos>,
           of_real<std::tan>, of_real<std::tanh>},
          {"int", "float", "Scalar"}, "$ a", "float");
  add_all(all, {"log1p", "log2", "log10", "expm1", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"},
          {of_real<std::log1p>, of_real<std::log2>, of_real<std::log10>, of_real<std::expm1>, of_real<std::asin>,
           of_real<std::acos>, of_real<std::atan>, of_real<std::sinh>, of_real<std::cosh>, of_real<std::asinh>,
           of_real<std::acosh>, of_real<std::atanh>},
          {"int", "float", "Scalar"}, "$ a", "float");
  add_all(all, {"erf", "erfc", "gamma", "lgamma", "degrees", "radians", "fabs"},
          {of_real<std::erf>, of_real<std::erfc>, of_real<std::tgamma>, of_real<std::lgamma>, of_real<degrees>,
           of_real<radians>, of_real<std::fabs>},
          {"int", "float", "Scalar"}, "$ a", "float");
  add_all(all, {"copysign", "mathremainder"}, {of_reals<std::copysign>, of_reals<std::remainder>},
          {"int", "float", "Scalar"}, "$ a, $ b", "float");
  all.push_back({"aten::gcd.int(int a, int b) -> int", gcd});
  all.push_back({"aten::factorial.int(int a) -> int", factorial});
  all.push_back({"aten::ldexp(float x, int i) -> float", ldexp});
  all.push_back({"aten::frexp(float a) -> (float, int)", frexp});
  all.push_back({"aten::modf(float a) -> (float, float)", modf});
  add_all(all, {"isnan", "isinf", "isfinite"}, {test_real<is_nan>, test_real<is_inf>, test_real<is_finite>},
          {"int", "float"}, "$ a", "bool");
  for (const char* type : {"bool", "int", "float", "Scalar"}) {
    all.push_back({c10::str("aten::Int.", type, "(", type, " a) -> int"), to_int});
    all.push_back({c10::str("aten::Float.", type, "(", type, " a) -> float"), to_float});
    all.push_back({c10::str("aten::Bool.", type, "(", type, " a) -> bool"), to_bool});
  }
  all.push_back({"prim::abs.complex(complex a) -> float", absolute});
  for (const char* type : {"int", "float", "Scalar"})
    all.push_back({c10::str("prim::abs.", type, "(", type, " a) -> ", type), absolute});
  all.push_back({"aten::Bool.complex(complex a) -> bool", to_bool});
  all.push_back({"aten::Complex.Scalar(Scalar a, Scalar b=0) -> complex", make_complex});
  all.push_back({"aten::__not__(bool a) -> bool", logical_not});
  all.push_back({"aten::__is__(Any a, Any b) -> bool", identical});
  all.push_back({"aten::__isnot__(Any a, Any b) -> bool", different});
  all.push_back({"prim::min.int(int a, int b) -> int", smaller});
  all.push_back({"prim::max.int(int a, int b) -> int", larger});
  all.push_back({"prim::min.float(float a, float b) -> float", smaller_float});
  all.push_back({"prim::max.float(float a, float b) -> float", larger_float});
  all.push_back({"prim::min(Scalar a, Scalar b) -> Scalar", smaller});
  all.push_back({"prim::max(Scalar a, Scalar b) -> Scalar", larger});
}

}  // namespace torch::jit::detail
