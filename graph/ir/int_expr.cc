#include "graph/ir/int_expr.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"

namespace torch::graph {

struct IntExpr::Node {
  Kind kind;
  int64_t value = 0;
  std::string name;
  std::vector<IntExpr> operands;
  int64_t nodes = 1;  // of the whole tree
};

namespace {

int64_t plus(int64_t a, int64_t b) {
  int64_t c;
  TORCH_CHECK_VALUE(!__builtin_add_overflow(a, b, &c), "an integer expression is beyond int64: ", a, " + ", b);
  return c;
}
int64_t times(int64_t a, int64_t b) {
  int64_t c;
  TORCH_CHECK_VALUE(!__builtin_mul_overflow(a, b, &c), "an integer expression is beyond int64: ", a, " * ", b);
  return c;
}
int64_t floor_quotient(int64_t a, int64_t b) {
  TORCH_CHECK_VALUE(b != 0, "an integer expression divides by zero");
  TORCH_CHECK_VALUE(a != INT64_MIN || b != -1, "an integer expression is beyond int64: ", a, " // ", b);
  const int64_t q = a / b;
  return q - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_rest(int64_t a, int64_t b) {
  TORCH_CHECK_VALUE(b != 0, "an integer expression divides by zero");
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// With ends at the border for what int64_t does not hold.
int64_t clipped(__int128 v) {
  return v <= INT64_MIN ? INT64_MIN : v >= INT64_MAX ? INT64_MAX : static_cast<int64_t>(v);
}
bool open(int64_t end) {
  return end == INT64_MIN || end == INT64_MAX;
}

IntRange sum(IntRange a, IntRange b) {
  const auto end = [](int64_t x, int64_t y, int64_t border) {
    return x == border || y == border ? border : clipped(static_cast<__int128>(x) + y);
  };
  return {end(a.min, b.min, INT64_MIN), end(a.max, b.max, INT64_MAX)};
}
IntRange product(IntRange a, IntRange b) {
  // An open end times 0 is 0; times anything else it is open.
  const auto end = [](int64_t x, int64_t y) -> __int128 {
    if (x == 0 || y == 0) return 0;
    if (open(x) || open(y)) return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
    return static_cast<__int128>(x) * y;
  };
  const __int128 ends[] = {end(a.min, b.min), end(a.min, b.max), end(a.max, b.min), end(a.max, b.max)};
  return {clipped(*std::min_element(ends, ends + 4)), clipped(*std::max_element(ends, ends + 4))};
}
IntRange quotient(IntRange a, IntRange b) {
  if (b.min <= 0) return {};  // 0, or of either sign
  const auto end = [](int64_t x, int64_t y) -> int64_t {
    if (open(x)) return x;
    return y == INT64_MAX ? (x < 0 ? -1 : 0) : floor_quotient(x, y);
  };
  return {std::min(end(a.min, b.min), end(a.min, b.max)), std::max(end(a.max, b.min), end(a.max, b.max))};
}
IntRange rest(IntRange a, IntRange b) {
  if (b.min <= 0) return {};
  if (a.min >= 0 && a.max < b.min) return a;
  return {0, b.max == INT64_MAX ? (a.min >= 0 ? a.max : INT64_MAX) : b.max - 1};
}

// A term of a sum: a factor that is a constant, times the rest.
struct Term {
  int64_t factor;
  std::vector<IntExpr> rest;  // in order; none for a constant
};
Term term_of(const IntExpr& e) {
  if (e.is_constant()) return {e.value(), {}};
  if (e.kind() != IntExpr::Kind::kProduct) return {1, {e}};
  const auto all = e.operands();
  if (!all[0].is_constant()) return {1, {all.begin(), all.end()}};
  return {all[0].value(), {all.begin() + 1, all.end()}};
}

}  // namespace

IntExpr::IntExpr(int64_t value) : node_(std::make_shared<Node>(Node{Kind::kConstant, value, {}, {}})) {}
IntExpr IntExpr::symbol(std::string name) {
  return IntExpr(std::make_shared<const Node>(Node{Kind::kSymbol, 0, std::move(name), {}}));
}
IntExpr IntExpr::make(Kind kind, std::vector<IntExpr> operands) {
  Node node{kind, 0, {}, std::move(operands)};
  for (const IntExpr& e : node.operands) node.nodes += e.node_->nodes;
  TORCH_CHECK_VALUE(node.nodes <= kMostNodes, "an integer expression of more than ", kMostNodes, " parts");
  return IntExpr(std::make_shared<const Node>(std::move(node)));
}

IntExpr::Kind IntExpr::kind() const {
  return node_->kind;
}
int64_t IntExpr::value() const {
  return node_->value;
}
const std::string& IntExpr::name() const {
  return node_->name;
}
c10::ArrayRef<IntExpr> IntExpr::operands() const {
  return node_->operands;
}

int IntExpr::compare(const IntExpr& other) const {
  if (node_ == other.node_) return 0;
  const Node &a = *node_, &b = *other.node_;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.value != b.value) return a.value < b.value ? -1 : 1;
  if (const int order = a.name.compare(b.name); order != 0) return order;
  if (a.operands.size() != b.operands.size()) return a.operands.size() < b.operands.size() ? -1 : 1;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (const int order = a.operands[i].compare(b.operands[i]); order != 0) return order;
  }
  return 0;
}

IntExpr IntExpr::product_of(const std::vector<IntExpr>& factors) {
  int64_t constant = 1;
  std::vector<IntExpr> rest;
  const auto add = [&](const IntExpr& e) {
    if (e.is_constant()) {
      constant = times(constant, e.value());
    } else {
      rest.push_back(e);
    }
  };
  for (const IntExpr& e : factors) {
    if (e.kind() == Kind::kProduct) {
      for (const IntExpr& part : e.operands()) add(part);
    } else {
      add(e);
    }
  }
  if (constant == 0 || rest.empty()) return constant;
  // Sums are multiplied out.
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i].kind() != Kind::kSum) continue;
    const IntExpr many = rest[i];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    rest.push_back(constant);
    std::vector<IntExpr> terms;
    for (const IntExpr& term : many.operands()) {
      std::vector<IntExpr> one = rest;
      one.push_back(term);
      terms.push_back(product_of(one));
    }
    return sum_of(terms);
  }
  if (constant == 1 && rest.size() == 1) return rest[0];
  std::sort(rest.begin(), rest.end());
  if (constant != 1) rest.insert(rest.begin(), IntExpr(constant));
  return make(Kind::kProduct, std::move(rest));
}

IntExpr IntExpr::sum_of(const std::vector<IntExpr>& terms) {
  std::map<std::vector<IntExpr>, int64_t> factors;
  const auto add = [&](const IntExpr& e) {
    Term term = term_of(e);
    int64_t& factor = factors[std::move(term.rest)];
    factor = plus(factor, term.factor);
  };
  for (const IntExpr& e : terms) {
    if (e.kind() == Kind::kSum) {
      for (const IntExpr& part : e.operands()) add(part);
    } else {
      add(e);
    }
  }
  std::vector<IntExpr> all;
  int64_t constant = 0;
  for (const auto& [rest, factor] : factors) {
    if (rest.empty()) {
      constant = factor;
    } else if (factor != 0) {
      std::vector<IntExpr> parts = rest;
      if (factor != 1) parts.insert(parts.begin(), IntExpr(factor));
      all.push_back(parts.size() == 1 ? parts[0] : make(Kind::kProduct, std::move(parts)));
    }
  }
  if (constant != 0 || all.empty()) all.push_back(constant);
  return all.size() == 1 ? all[0] : make(Kind::kSum, std::move(all));
}

IntExpr operator+(const IntExpr& a, const IntExpr& b) {
  return IntExpr::sum_of({a, b});
}
IntExpr operator*(const IntExpr& a, const IntExpr& b) {
  return IntExpr::product_of({a, b});
}
IntExpr operator-(const IntExpr& a, const IntExpr& b) {
  return a + IntExpr(-1) * b;
}

IntExpr floordiv(const IntExpr& a, const IntExpr& b) {
  if (b.is_constant()) {
    const int64_t divisor = b.value();
    TORCH_CHECK_VALUE(divisor != 0, "an integer expression divides by zero");
    if (a.is_constant()) return floor_quotient(a.value(), divisor);
    if (divisor == 1) return a;
    // Terms whose factor is a multiple leave the quotient whole.
    std::vector<IntExpr> whole, broken;
    const auto sort_out = [&](const IntExpr& e) {
      Term term = term_of(e);
      if (divisor != -1 && term.factor % divisor != 0) return broken.push_back(e);
      term.rest.push_back(floor_quotient(term.factor, divisor));
      whole.push_back(IntExpr::product_of(term.rest));
    };
    if (a.kind() == IntExpr::Kind::kSum) {
      for (const IntExpr& e : a.operands()) sort_out(e);
    } else {
      sort_out(a);
    }
    if (broken.empty()) return IntExpr::sum_of(whole);
    if (!whole.empty()) {
      whole.push_back(floordiv(IntExpr::sum_of(broken), b));
      return IntExpr::sum_of(whole);
    }
  }
  if (a == b) return 1;
  return IntExpr::make(IntExpr::Kind::kFloorDiv, {a, b});
}
IntExpr mod(const IntExpr& a, const IntExpr& b) {
  if (b.is_constant()) {
    if (a.is_constant()) return floor_rest(a.value(), b.value());
    TORCH_CHECK_VALUE(b.value() != 0, "an integer expression divides by zero");
    if (b.value() == 1) return 0;
    const IntExpr quotient = floordiv(a, b);
    if (quotient * b == a) return 0;
  }
  if (a == b) return 0;
  return IntExpr::make(IntExpr::Kind::kMod, {a, b});
}
IntExpr min(const IntExpr& a, const IntExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.value(), b.value());
  if (a == b) return a;
  return IntExpr::make(IntExpr::Kind::kMin, a < b ? std::vector<IntExpr>{a, b} : std::vector<IntExpr>{b, a});
}
IntExpr max(const IntExpr& a, const IntExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.value(), b.value());
  if (a == b) return a;
  return IntExpr::make(IntExpr::Kind::kMax, a < b ? std::vector<IntExpr>{a, b} : std::vector<IntExpr>{b, a});
}

int64_t IntExpr::evaluate(const std::map<std::string, int64_t>& symbols) const {
  const auto at = [&](size_t i) { return node_->operands[i].evaluate(symbols); };
  switch (kind()) {
    case Kind::kConstant:
      return value();
    case Kind::kSymbol: {
      const auto found = symbols.find(name());
      TORCH_CHECK_INDEX(found != symbols.end(), "the size ", name(), " is not known");
      return found->second;
    }
    case Kind::kSum: {
      int64_t total = 0;
      for (const IntExpr& e : operands()) total = plus(total, e.evaluate(symbols));
      return total;
    }
    case Kind::kProduct: {
      int64_t total = 1;
      for (const IntExpr& e : operands()) total = times(total, e.evaluate(symbols));
      return total;
    }
    case Kind::kFloorDiv:
      return floor_quotient(at(0), at(1));
    case Kind::kMod:
      return floor_rest(at(0), at(1));
    case Kind::kMin:
      return std::min(at(0), at(1));
    case Kind::kMax:
      return std::max(at(0), at(1));
  }
  return 0;
}

IntRange IntExpr::range(const std::map<std::string, IntRange>& symbols) const {
  const auto at = [&](size_t i) { return node_->operands[i].range(symbols); };
  switch (kind()) {
    case Kind::kConstant:
      return {value(), value()};
    case Kind::kSymbol: {
      const auto found = symbols.find(name());
      return found == symbols.end() ? IntRange{} : found->second;
    }
    case Kind::kSum: {
      IntRange total{0, 0};
      for (const IntExpr& e : operands()) total = sum(total, e.range(symbols));
      return total;
    }
    case Kind::kProduct: {
      IntRange total{1, 1};
      for (const IntExpr& e : operands()) total = product(total, e.range(symbols));
      return total;
    }
    case Kind::kFloorDiv:
      return quotient(at(0), at(1));
    case Kind::kMod:
      return rest(at(0), at(1));
    case Kind::kMin:
      return {std::min(at(0).min, at(1).min), std::min(at(0).max, at(1).max)};
    case Kind::kMax:
      return {std::max(at(0).min, at(1).min), std::max(at(0).max, at(1).max)};
  }
  return {};
}

IntExpr IntExpr::substitute(const std::map<std::string, IntExpr>& symbols) const {
  switch (kind()) {
    case Kind::kConstant:
      return *this;
    case Kind::kSymbol: {
      const auto found = symbols.find(name());
      return found == symbols.end() ? *this : found->second;
    }
    default:
      break;
  }
  std::vector<IntExpr> parts;
  for (const IntExpr& e : operands()) parts.push_back(e.substitute(symbols));
  switch (kind()) {
    case Kind::kSum:
      return sum_of(parts);
    case Kind::kProduct:
      return product_of(parts);
    case Kind::kFloorDiv:
      return floordiv(parts[0], parts[1]);
    case Kind::kMod:
      return mod(parts[0], parts[1]);
    case Kind::kMin:
      return min(parts[0], parts[1]);
    default:
      return max(parts[0], parts[1]);
  }
}

void IntExpr::collect_symbols(std::set<std::string>& names) const {
  if (kind() == Kind::kSymbol) names.insert(name());
  for (const IntExpr& e : operands()) e.collect_symbols(names);
}

// --- text ---

namespace {
// How tightly operators bind.
constexpr int kSumLevel = 1, kProductLevel = 2, kAtomLevel = 3;
}  // namespace

void IntExpr::write(std::string& out, int level) const {
  const auto divided = [&](const char* between) {
    if (kProductLevel < level) out += '(';
    operands()[0].write(out, kAtomLevel);
    out += between;
    operands()[1].write(out, kAtomLevel);
    if (kProductLevel < level) out += ')';
  };
  switch (kind()) {
    case Kind::kConstant:
      if (value() < 0 && level > kSumLevel) {
        out += '(' + std::to_string(value()) + ')';
      } else {
        out += std::to_string(value());
      }
      return;
    case Kind::kSymbol:
      out += name();
      return;
    case Kind::kSum: {
      if (kSumLevel < level) out += '(';
      bool first = true;
      for (const IntExpr& e : operands()) {
        std::string text;
        e.write(text, kSumLevel);
        const bool negative = text[0] == '-';
        if (!first) out += negative ? " - " : " + ";
        out += !first && negative ? text.substr(1) : text;
        first = false;
      }
      if (kSumLevel < level) out += ')';
      return;
    }
    case Kind::kProduct: {
      if (kProductLevel < level) out += '(';
      bool first = true;
      for (const IntExpr& e : operands()) {
        if (first && e.is_constant() && e.value() == -1) {
          out += '-';
          continue;
        }
        if (!first) out += '*';
        e.write(out, first && e.is_constant() ? kSumLevel : kAtomLevel);
        first = false;
      }
      if (kProductLevel < level) out += ')';
      return;
    }
    case Kind::kFloorDiv:
      return divided(" // ");
    case Kind::kMod:
      return divided(" % ");
    case Kind::kMin:
    case Kind::kMax:
      out += kind() == Kind::kMin ? "min(" : "max(";
      operands()[0].write(out, 0);
      out += ", ";
      operands()[1].write(out, 0);
      out += ')';
      return;
  }
}
std::string IntExpr::str() const {
  std::string out;
  write(out, 0);
  return out;
}

namespace {

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}
  IntExpr run() {
    IntExpr e = sum();
    skip();
    if (at_ != text_.size()) fail("an operator");
    return e;
  }

 private:
  static constexpr int kDeepest = 200;

  [[noreturn]] void fail(const char* expected) const {
    TORCH_CHECK_VALUE(false, "expected ", expected, " at column ", at_ + 1, " of the integer expression '",
                      text_.substr(0, 200), "'");
    __builtin_unreachable();
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void want(std::string_view token, const char* what) {
    if (!take(token)) fail(what);
  }
  IntExpr sum() {
    if (++depth_ > kDeepest) fail("fewer parentheses");
    IntExpr e = product();
    for (;;) {
      if (take("+")) {
        e = e + product();
      } else if (take("-")) {
        e = e - product();
      } else {
        --depth_;
        return e;
      }
    }
  }
  IntExpr product() {
    IntExpr e = factor();
    for (;;) {
      if (take("//")) {
        e = floordiv(e, factor());
      } else if (take("%")) {
        e = mod(e, factor());
      } else if (text_.substr(at_, 2) != "**" && take("*")) {
        e = e * factor();
      } else {
        return e;
      }
    }
  }
  IntExpr factor() {
    if (take("-")) {
      skip();
      if (at_ < text_.size() && is_digit(text_[at_])) {
        const IntExpr negative = number(true);
        skip();
        return text_.substr(at_, 2) == "**" ? IntExpr(-1) * power_of(IntExpr(-1) * negative) : negative;
      }
      if (++depth_ > kDeepest) fail("fewer signs");
      const IntExpr e = IntExpr(-1) * factor();
      --depth_;
      return e;
    }
    return power_of(atom());
  }
  IntExpr power_of(const IntExpr& base) {
    if (!take("**")) return base;
    const IntExpr power = atom();
    if (!power.is_constant() || power.value() < 0 || power.value() > 64) fail("a power of 0 to 64");
    IntExpr e = 1;
    for (int64_t i = 0; i < power.value(); ++i) e = e * base;
    return e;
  }
  IntExpr atom() {
    skip();
    if (take("(")) {
      IntExpr e = sum();
      want(")", "')'");
      return e;
    }
    const size_t begin = at_;
    if (at_ < text_.size() && is_digit(text_[at_])) return number(false);
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_letter(text_[at_]))) ++at_;
    if (begin == at_) fail("a number, a name or '('");
    const std::string name(text_.substr(begin, at_ - begin));
    if ((name != "min" && name != "max") || !take("(")) return IntExpr::symbol(name);
    IntExpr e = sum();
    while (take(",")) e = name == "min" ? min(e, sum()) : max(e, sum());
    want(")", "')'");
    return e;
  }
  int64_t number(bool negative) {
    __int128 v = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      v = v * 10 + (negative ? '0' - text_[at_] : text_[at_] - '0');
      if (v > INT64_MAX || v < INT64_MIN) fail("a number of 64 bits");
    }
    return static_cast<int64_t>(v);
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

IntExpr IntExpr::parse(std::string_view text) {
  return ExprParser(text).run();
}

}  // namespace torch::graph
