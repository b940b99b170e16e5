#include "export/pt2/scalar_operators.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "graph/ir/int_expr.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using c10::Stack;
using graph::IntExpr;

bool is_whole(const IValue& v) {
  return v.isInt() || v.isBool();
}
int64_t whole(const IValue& v) {
  return v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt();
}
double real(const IValue& v) {
  TORCH_CHECK_TYPE(v.isDouble() || is_whole(v), "expected a number, but got ", v.tagKind());
  return v.isDouble() ? v.toDouble() : static_cast<double>(whole(v));
}

int64_t checked(bool overflows, int64_t value) {
  TORCH_CHECK_VALUE(!overflows, "a number of an exported program is beyond int64");
  return value;
}

// f for whole numbers, g for others.
template <class F, class G>
void arithmetic(Stack& stack, const F& f, const G& g) {
  if (is_whole(stack[0]) && is_whole(stack[1])) {
    stack = {f(whole(stack[0]), whole(stack[1]))};
  } else {
    stack = {g(real(stack[0]), real(stack[1]))};
  }
}
void nonzero(bool good) {
  TORCH_CHECK_VALUE(good, "a number of an exported program is divided by zero");
}

void add(Stack& s) {
  arithmetic(
      s,
      [](int64_t a, int64_t b) {
        int64_t c;
        return checked(__builtin_add_overflow(a, b, &c), c);
      },
      [](double a, double b) { return a + b; });
}
void sub(Stack& s) {
  arithmetic(
      s,
      [](int64_t a, int64_t b) {
        int64_t c;
        return checked(__builtin_sub_overflow(a, b, &c), c);
      },
      [](double a, double b) { return a - b; });
}
void mul(Stack& s) {
  arithmetic(
      s,
      [](int64_t a, int64_t b) {
        int64_t c;
        return checked(__builtin_mul_overflow(a, b, &c), c);
      },
      [](double a, double b) { return a * b; });
}
void floordiv(Stack& s) {
  arithmetic(
      s, [](int64_t a, int64_t b) { return floordiv(IntExpr(a), b).value(); },
      [](double a, double b) {
        nonzero(b != 0);
        return std::floor(a / b);
      });
}
void mod(Stack& s) {
  arithmetic(
      s, [](int64_t a, int64_t b) { return mod(IntExpr(a), b).value(); },
      [](double a, double b) {
        nonzero(b != 0);
        const double rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      });
}
void truediv(Stack& s) {
  const double a = real(s[0]), b = real(s[1]);
  nonzero(b != 0);
  s = {a / b};
}
void pow(Stack& s) {
  if (!is_whole(s[0]) || !is_whole(s[1]) || whole(s[1]) < 0) {
    s = {std::pow(real(s[0]), real(s[1]))};
    return;
  }
  int64_t base = whole(s[0]), result = 1;
  for (int64_t left = whole(s[1]); left > 0; left /= 2) {
    if (left % 2 == 1) checked(__builtin_mul_overflow(result, base, &result), 0);
    if (left > 1) checked(__builtin_mul_overflow(base, base, &base), 0);
  }
  s = {result};
}
void neg(Stack& s) {
  if (is_whole(s[0])) {
    checked(whole(s[0]) == INT64_MIN, 0);
    s = {-whole(s[0])};
  } else {
    s = {-real(s[0])};
  }
}
void pos(Stack& s) {
  if (s[0].isBool()) s = {whole(s[0])};
}
template <class F>
void compare(Stack& s, const F& f) {
  s = {is_whole(s[0]) && is_whole(s[1]) ? f(whole(s[0]), whole(s[1])) : f(real(s[0]), real(s[1]))};
}
void eq(Stack& s) {
  compare(s, [](auto a, auto b) { return a == b; });
}
void ne(Stack& s) {
  compare(s, [](auto a, auto b) { return a != b; });
}
void lt(Stack& s) {
  compare(s, [](auto a, auto b) { return a < b; });
}
void le(Stack& s) {
  compare(s, [](auto a, auto b) { return a <= b; });
}
void gt(Stack& s) {
  compare(s, [](auto a, auto b) { return a > b; });
}
void ge(Stack& s) {
  compare(s, [](auto a, auto b) { return a >= b; });
}
template <class F>
void bits(Stack& s, const F& f) {
  TORCH_CHECK_TYPE(is_whole(s[0]) && is_whole(s[1]), "expected whole numbers");
  const int64_t result = f(whole(s[0]), whole(s[1]));
  if (s[0].isBool() && s[1].isBool()) {
    s = {result != 0};
  } else {
    s = {result};
  }
}
void and_(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a & b; });
}
void or_(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a | b; });
}
int64_t shift(int64_t by) {
  TORCH_CHECK_VALUE(by >= 0 && by < 64, "a number of an exported program is shifted by ", by);
  return by;
}
void lshift(Stack& s) {
  const int64_t a = whole(s[0]), by = shift(whole(s[1])),
                shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << by);
  s = {checked(shifted >> by != a, shifted)};
}
void rshift(Stack& s) {
  s = {whole(s[0]) >> shift(whole(s[1]))};
}

void to_int(Stack& s) {
  if (is_whole(s[0])) {
    s = {whole(s[0])};
    return;
  }
  const double v = std::trunc(real(s[0]));
  checked(!(v >= -0x1p63 && v < 0x1p63), 0);
  s = {static_cast<int64_t>(v)};
}
void to_float(Stack& s) {
  s = {real(s[0])};
}
bool truth(const IValue& v) {
  return v.isBool() ? v.toBool() : real(v) != 0;
}
void negated(Stack& s) {
  s = {!truth(s[0])};
}
void either(Stack& s) {
  s = {truth(s[0]) ? s[1] : s[2]};
}
void largest(Stack& s) {
  arithmetic(
      s, [](int64_t a, int64_t b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); });
}
void smallest(Stack& s) {
  arithmetic(
      s, [](int64_t a, int64_t b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); });
}
void root(Stack& s) {
  s = {std::sqrt(real(s[0]))};
}

struct Entry {
  const char* target;
  const char* arguments;
  graph::Callable::Function function;
};
constexpr Entry kEntries[] = {
    {"_operator.add", "Any a, Any b", add},
    {"_operator.sub", "Any a, Any b", sub},
    {"_operator.mul", "Any a, Any b", mul},
    {"_operator.floordiv", "Any a, Any b", floordiv},
    {"_operator.mod", "Any a, Any b", mod},
    {"_operator.truediv", "Any a, Any b", truediv},
    {"_operator.pow", "Any a, Any b", pow},
    {"_operator.neg", "Any a", neg},
    {"_operator.pos", "Any a", pos},
    {"_operator.eq", "Any a, Any b", eq},
    {"_operator.ne", "Any a, Any b", ne},
    {"_operator.lt", "Any a, Any b", lt},
    {"_operator.le", "Any a, Any b", le},
    {"_operator.gt", "Any a, Any b", gt},
    {"_operator.ge", "Any a, Any b", ge},
    {"_operator.and_", "Any a, Any b", and_},
    {"_operator.or_", "Any a, Any b", or_},
    {"_operator.lshift", "Any a, Any b", lshift},
    {"_operator.rshift", "Any a, Any b", rshift},
    {"math.trunc", "Any x", to_int},
    {"torch.sym_int", "Any a", to_int},
    {"torch.sym_float", "Any a", to_float},
    {"torch.sym_not", "Any a", negated},
    {"torch.sym_ite", "Any b, Any t, Any f", either},
    {"torch.sym_max", "Any a, Any b", largest},
    {"torch.sym_min", "Any a, Any b", smallest},
    {"torch.sym_sqrt", "Any a", root},
    {"torch._sym_sqrt", "Any a", root},
};

}  // namespace

std::optional<graph::Callable> scalar_operator(std::string_view target) {
  static const std::map<std::string_view, std::pair<c10::FunctionSchema, graph::Callable::Function>>& all = *[] {
    auto* made = new std::map<std::string_view, std::pair<c10::FunctionSchema, graph::Callable::Function>>;
    for (const Entry& e : kEntries) {
      const std::string name(e.target);
      const size_t dot = name.rfind('.');
      made->emplace(e.target, std::pair(c10::parse_schema(name.substr(0, dot) + "::" + name.substr(dot + 1) + "(" +
                                                          e.arguments + ") -> Any"),
                                        e.function));
    }
    return made;
  }();
  const auto found = all.find(target);
  if (found == all.end()) return std::nullopt;
  return graph::Callable(found->second.first, found->second.second);
}

graph::Callable wrapped_number() {
  static const c10::FunctionSchema schema = c10::parse_schema("torch::wrapped_number(Any a) -> Tensor");
  return graph::Callable(schema, [](Stack& s) { s = {at::wrapped_scalar_tensor(s[0].toScalar())}; });
}

}  // namespace torch::pt2
