#include "export/pt2/expr.h"

#include <charconv>
#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace torch::pt2 {
namespace {

using graph::IntExpr;

constexpr int kDeepest = 200;

struct Malformed {
  std::string what;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<IntExpr> run() {
    const std::optional<IntExpr> e = expr(0);
    skip();
    if (at_ != text_.size()) fail("the end");
    return e;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw Malformed{std::string("expected ") + expected + " at column " + std::to_string(at_ + 1) + " of '" +
                    std::string(text_.substr(0, 120)) + "'"};
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void want(char c, const char* what) {
    if (!take(c)) fail(what);
  }
  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  int64_t whole_number() {
    skip();
    int64_t v = 0;
    const std::from_chars_result end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (end.ec != std::errc()) fail("a whole number of 64 bits");
    at_ = static_cast<size_t>(end.ptr - text_.data());
    return v;
  }
  // What stands in Float('0.5', precision=53) and Rational(1, 2).
  void number() {
    constexpr std::string_view kDigits = "0123456789+-.e', ", kPrecision = "precision=";
    while (at_ < text_.size() && text_[at_] != ')') {
      if (text_.substr(at_, kPrecision.size()) == kPrecision) {
        at_ += kPrecision.size();
      } else if (kDigits.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        fail("a number");
      }
    }
  }
  std::string quoted() {
    want('\'', "a name in quotes");
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    if (at_ == begin) fail("a name");
    std::string name(text_.substr(begin, at_ - begin));
    want('\'', "'");
    return name;
  }
  // name=True, ...
  void assumptions() {
    while (take(',')) {
      if (word().empty()) fail("an assumption");
      want('=', "'='");
      const std::string_view value = word();
      if (value != "True" && value != "False") fail("True or False");
    }
  }

  std::optional<IntExpr> expr(int depth) {
    if (depth > kDeepest) fail("fewer expressions in each other");
    const std::string_view name = word();
    if (name.empty()) return whole_number();
    if (name == "true" || name == "false") return std::nullopt;
    want('(', "'('");
    if (name == "Integer") {
      const int64_t v = whole_number();
      want(')', "')'");
      return v;
    }
    if (name == "Symbol") {
      IntExpr symbol = IntExpr::symbol(quoted());
      assumptions();
      want(')', "')'");
      return symbol;
    }
    if (name == "Float" || name == "Rational") {
      quotient_.reset();
      number();
      want(')', "')'");
      return std::nullopt;
    }
    std::vector<IntExpr> parts;
    bool whole = true;
    size_t count = 0;
    if (!take(')')) {
      do {
        std::optional<IntExpr> part = expr(depth + 1);
        ++count;
        if (part.has_value()) {
          parts.push_back(std::move(*part));
        } else {
          whole = false;
        }
      } while (take(','));
      want(')', "')'");
    }
    return applied(name, whole, count, parts);
  }

  std::optional<IntExpr> applied(std::string_view name, bool whole, size_t count, const std::vector<IntExpr>& parts) {
    const auto quotient = std::exchange(quotient_, std::nullopt);
    const auto takes = [&](size_t least, size_t most) {
      if (count < least || count > most) fail("another number of arguments before this");
    };
    const auto joined = [&](const auto& f) -> std::optional<IntExpr> {
      takes(1, 1000);
      if (!whole) return std::nullopt;
      IntExpr e = parts[0];
      for (size_t i = 1; i < parts.size(); ++i) e = f(e, parts[i]);
      return e;
    };
    const auto two = [&](const auto& f) -> std::optional<IntExpr> {
      takes(2, 2);
      if (!whole) return std::nullopt;
      return f(parts[0], parts[1]);
    };
    if (name == "Add") return joined([](const IntExpr& a, const IntExpr& b) { return a + b; });
    if (name == "Mul") return joined([](const IntExpr& a, const IntExpr& b) { return a * b; });
    if (name == "Max") return joined([](const IntExpr& a, const IntExpr& b) { return max(a, b); });
    if (name == "Min") return joined([](const IntExpr& a, const IntExpr& b) { return min(a, b); });
    if (name == "FloorDiv" || name == "CleanDiv") {
      return two([](const IntExpr& a, const IntExpr& b) { return floordiv(a, b); });
    }
    if (name == "CeilDiv") {
      return two([](const IntExpr& a, const IntExpr& b) { return IntExpr(0) - floordiv(IntExpr(0) - a, b); });
    }
    if (name == "Mod" || name == "PythonMod") {
      return two([](const IntExpr& a, const IntExpr& b) { return mod(a, b); });
    }
    if (name == "ModularIndexing") {
      takes(3, 3);
      if (!whole) return std::nullopt;
      return mod(floordiv(parts[0], parts[1]), parts[2]);
    }
    if (name == "IntTrueDiv") {
      takes(2, 2);
      if (whole) quotient_.emplace(parts[0], parts[1]);
      return std::nullopt;
    }
    // Of a quotient of whole numbers; sizes are not negative.
    if (count == 1 && quotient.has_value()) {
      const auto& [a, b] = *quotient;
      if (name == "TruncToInt" || name == "FloorToInt") return floordiv(a, b);
      if (name == "CeilToInt") return IntExpr(0) - floordiv(IntExpr(0) - a, b);
    }
    if (name == "Identity") {
      takes(1, 1);
      return whole ? std::optional<IntExpr>(parts[0]) : std::nullopt;
    }
    if (name == "Pow") {
      takes(2, 2);
      if (!whole || !parts[1].is_constant() || parts[1].value() < 0) return std::nullopt;
      if (parts[1].value() > 64) fail("a power of at most 64 before this");
      IntExpr e = 1;
      for (int64_t i = 0; i < parts[1].value(); ++i) e = e * parts[0];
      return e;
    }
    // Numbers that are not whole, and truth values.
    for (const char* known : {"FloatTrueDiv",
                              "ToFloat",
                              "TruncToInt",
                              "FloorToInt",
                              "CeilToInt",
                              "RoundToInt",
                              "RoundDecimal",
                              "TruncToFloat",
                              "PowByNatural",
                              "FloatPow",
                              "Where",
                              "Piecewise",
                              "ExprCondPair",
                              "GreaterThan",
                              "LessThan",
                              "StrictGreaterThan",
                              "StrictLessThan",
                              "Equality",
                              "Unequality",
                              "And",
                              "Or",
                              "Not",
                              "OpaqueUnaryFn_sqrt",
                              "LShift",
                              "RShift",
                              "BitwiseFn_bitwise_and",
                              "BitwiseFn_bitwise_or"}) {
      if (name == known) return std::nullopt;
    }
    fail("a function that is known before this");
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view text_;
  size_t at_ = 0;
  // What was read last, where that is an IntTrueDiv.
  std::optional<std::pair<IntExpr, IntExpr>> quotient_;
};

}  // namespace

std::optional<IntExpr> parse_sympy(std::string_view text, std::string* error) {
  error->clear();
  try {
    return Parser(text).run();
  } catch (const Malformed& malformed) {
    *error = malformed.what;
  } catch (const c10::Error& e) {
    *error = e.msg();
  }
  return std::nullopt;
}

namespace {

bool is_numbered(std::string_view symbol, std::string_view prefix) {
  return symbol.size() > prefix.size() && symbol.substr(0, prefix.size()) == prefix &&
         symbol.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

}  // namespace

bool is_unbacked(std::string_view symbol) {
  return is_numbered(symbol, "u");
}
bool is_float_symbol(std::string_view symbol) {
  return is_numbered(symbol, "zuf");
}

std::string sympy_symbol(const std::string& name) {
  const char* assumptions = is_float_symbol(name) ? ""
                            : is_unbacked(name)   ? ", integer=True"
                                                  : ", positive=True, integer=True";
  return "Symbol('" + name + "'" + assumptions + ")";
}

std::string sympy_of(const IntExpr& e, const std::map<std::string, graph::IntRange>& ranges,
                     const OpaqueSizes& opaque) {
  const auto applied = [&](const char* function) {
    std::string text = function;
    text += '(';
    for (const IntExpr& part : e.operands()) {
      if (text.back() != '(') text += ", ";
      text += sympy_of(part, ranges, opaque);
    }
    return text + ")";
  };
  switch (e.kind()) {
    case IntExpr::Kind::kConstant:
      return "Integer(" + std::to_string(e.value()) + ")";
    case IntExpr::Kind::kSymbol: {
      const auto found = opaque.find(e.name());
      return found == opaque.end() ? sympy_symbol(e.name()) : found->second;
    }
    case IntExpr::Kind::kSum:
      return applied("Add");
    case IntExpr::Kind::kProduct:
      return applied("Mul");
    case IntExpr::Kind::kFloorDiv:
      return applied("FloorDiv");
    case IntExpr::Kind::kMod:
      // PyTorch's Mod is for numbers that are not negative.
      return applied(e.operands()[0].range(ranges).min >= 0 && e.operands()[1].range(ranges).min >= 0 ? "Mod"
                                                                                                      : "PythonMod");
    case IntExpr::Kind::kMin:
      return applied("Min");
    case IntExpr::Kind::kMax:
      return applied("Max");
  }
  return "";
}

}  // namespace torch::pt2
