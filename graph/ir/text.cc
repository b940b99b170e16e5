#include "graph/ir/text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/text_cursor.h"
#include "c10/value/type_parser.h"

namespace torch::graph {
namespace {

using Kind = Node::Kind;

struct KindName {
  Kind kind;
  const char* name;
};
// What nodes other than calls are written as.
constexpr KindName kKindNames[] = {
    {Kind::kTuple, "tuple"},   {Kind::kList, "list"},   {Kind::kDict, "dict"},
    {Kind::kUnpack, "unpack"}, {Kind::kGetAttr, "get"}, {Kind::kSetAttr, "set"},
    {Kind::kInvoke, "invoke"}, {Kind::kCast, "cast"},   {Kind::kIsInstance, "isinstance"},
    {Kind::kIf, "if"},         {Kind::kLoop, "loop"},   {Kind::kWhile, "while"},
    {Kind::kMap, "map"},       {Kind::kScan, "scan"},   {Kind::kScope, "scope"},
    {Kind::kRaise, "raise"}};

const char* kind_name(Kind kind) {
  for (const KindName& k : kKindNames) {
    if (k.kind == kind) return k.name;
  }
  return "return";
}

std::string in_quotes(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + '"';
}

// As short as a double can be written, and never like an int.
std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), v);
  std::string out(text, end.ptr);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

bool is_name(const std::string& text) {
  if (text.empty() || c10::detail::TextCursor::is_digit(text[0])) return false;
  for (const char c : text) {
    if (!c10::detail::TextCursor::is_letter(c) && !c10::detail::TextCursor::is_digit(c)) return false;
  }
  return true;
}

// --- to text ---

class Printer {
 public:
  // `loose`: says "..." where something has no text.
  Printer(std::vector<c10::IValue>* tensors, bool loose) : tensors_(tensors), loose_(loose) {}

  std::string run(const Graph& graph) {
    out_ = "graph " + graph.name() + "(";
    inputs(graph.block());
    out_ += ") {\n";
    for (const auto& [name, range] : graph.symbols()) {
      const auto end = [](int64_t v, int64_t open) { return v == open ? std::string("*") : std::to_string(v); };
      out_ += "  where " + name + " in [" + end(range.min, INT64_MIN) + ", " + end(range.max, INT64_MAX) + "]\n";
    }
    block(graph.block(), 1, "return");
    out_ += "}\n";
    return std::move(out_);
  }
  std::string run(const Node& node) {
    line(node, false);
    return std::move(out_);
  }

 private:
  void block(const Block& b, size_t depth, const char* end) {
    const std::string indent(2 * depth, ' ');
    for (const Node* node : b) {
      out_ += indent;
      line(*node, true);
      for (size_t i = 0; i < node->block_count(); ++i) {
        const Block& inner = node->block(i);
        out_ += " {";
        if (inner.input_count() > 0) {
          out_ += " |";
          inputs(inner);
          out_ += "|";
        }
        out_ += '\n';
        block(inner, depth + 1, "yield");
        out_ += indent + "}";
      }
      out_ += '\n';
    }
    out_ += indent + end;
    if (!b.outputs().empty()) out_ += ' ';
    operands(b.outputs());
    out_ += '\n';
  }

  void line(const Node& node, bool whole) {
    for (size_t i = 0; i < node.result_count(); ++i) {
      if (i > 0) out_ += ", ";
      definition(*node.result(i), whole);
    }
    if (node.result_count() > 0) out_ += " = ";
    if (node.kind() == Kind::kCall) {
      out_ += toString(node.callable().schema().operator_name());
    } else {
      out_ += kind_name(node.kind());
      if (!node.name().empty()) out_ += "[" + in_quotes(node.name()) + "]";
      if (node.tested_type() != nullptr) out_ += "[" + node.tested_type()->str() + "]";
    }
    out_ += '(';
    operands(node.operands());
    out_ += ')';
  }

  void inputs(const Block& b) {
    for (size_t i = 0; i < b.input_count(); ++i) {
      if (i > 0) out_ += ", ";
      definition(*b.input(i), true);
    }
  }
  void definition(const Value& value, bool whole) {
    out_ += name_of(value);
    out_ += ": ";
    out_ += value.type() == nullptr ? "?" : value.type()->str();
    if (whole && value.info() != nullptr) info(*value.info());
    if (whole && value.expr() != nullptr) out_ += " {" + value.expr()->str() + "}";
  }
  void info(const TensorInfo& info) {
    out_ += std::string("<") + c10::toString(info.dtype) + ", " + info.device.str();
    if (info.layout != c10::Layout::Strided) out_ += std::string(", ") + std::to_string(static_cast<int>(info.layout));
    exprs(info.sizes);
    exprs(info.strides);
    if (!(info.storage_offset == IntExpr(0))) out_ += ", offset " + info.storage_offset.str();
    if (info.requires_grad) out_ += ", grad";
    out_ += '>';
  }
  void exprs(const std::vector<IntExpr>& all) {
    out_ += ", [";
    for (size_t i = 0; i < all.size(); ++i) out_ += (i > 0 ? ", " : "") + all[i].str();
    out_ += ']';
  }

  void operands(c10::ArrayRef<Operand> all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ += ", ";
      operand(all[i]);
    }
  }
  void operand(const Operand& o) {
    if (o.is_value()) {
      out_ += o.value() == nullptr ? "?" : name_of(*o.value());
    } else if (o.is_expr()) {
      out_ += "{" + o.expr().str() + "}";
    } else if (o.is_list()) {
      out_ += '[';
      operands(o.list());
      out_ += ']';
    } else {
      constant(o.constant());
    }
  }
  void constants(c10::ArrayRef<c10::IValue> all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ += ", ";
      constant(all[i]);
    }
  }
  void constant(const c10::IValue& v) {
    if (v.isNone()) {
      out_ += "None";
    } else if (v.isBool()) {
      out_ += v.toBool() ? "True" : "False";
    } else if (v.isInt()) {
      out_ += std::to_string(v.toInt());
    } else if (v.isDouble()) {
      out_ += number(v.toDouble());
    } else if (v.isComplexDouble()) {
      const auto c = v.toComplexDouble();
      out_ += "complex(" + number(c.real()) + ", " + number(c.imag()) + ")";
    } else if (v.isString()) {
      out_ += in_quotes(v.toStringRef());
    } else if (v.isDevice()) {
      out_ += "device(" + in_quotes(v.toDevice().str()) + ")";
    } else if (v.isTensor()) {
      if (tensors_ != nullptr) {
        out_ += "@" + std::to_string(tensors_->size());
        tensors_->push_back(v);
      } else {
        out_ += "@";
      }
    } else if (v.isList()) {
      out_ += v.type()->str() + "{";
      constants(v.toListRef());
      out_ += '}';
    } else if (v.isGenericDict()) {
      out_ += v.type()->str() + "{";
      bool first = true;
      for (const auto& entry : v.toGenericDict()) {
        if (!first) out_ += ", ";
        first = false;
        constant(entry.key());
        out_ += ": ";
        constant(entry.value());
      }
      out_ += '}';
    } else if (v.isTuple()) {
      out_ += "tuple{";
      constants(v.toTupleRef().elementsArrayRef());
      out_ += '}';
    } else {
      TORCH_CHECK_VALUE(loose_, "a graph with a constant of type ", v.tagKind(), " has no text");
      out_ += "...";
    }
  }

  // Its own name where that is one, and nobody else has it; else a number.
  const std::string& name_of(const Value& value) {
    const auto [at, fresh] = names_.try_emplace(&value);
    if (fresh) {
      std::string name = "%" + value.name();
      if (!is_name(value.name()) || !taken_.insert(name).second) name = "%" + std::to_string(next_++);
      at->second = std::move(name);
    }
    return at->second;
  }

  std::vector<c10::IValue>* tensors_;
  bool loose_;
  std::string out_;
  std::map<const Value*, std::string> names_;
  std::set<std::string> taken_;
  size_t next_ = 0;
};

// --- from text ---

class Parser {
 public:
  Parser(std::string_view text, const TextNames& names) : in_(text, "graph"), text_(text), names_(names) {}

  std::unique_ptr<Graph> run() {
    std::string name;
    want_word("graph");
    while (TextCursor::is_letter(in_.next()) || TextCursor::is_digit(in_.next()) || in_.next() == '.' ||
           in_.peek("_")) {
      name += in_.next();
      in_.advance();
    }
    if (name.empty()) fail("a name");
    graph_ = std::make_unique<Graph>(name);
    want("(");
    if (!in_.accept(")")) inputs(graph_->block(), ")");
    want("{");
    while (in_.accept_word("where")) {
      const std::string symbol = word("a symbol");
      want_word("in");
      want("[");
      const int64_t low = in_.accept("*") ? INT64_MIN : whole_number();
      want(",");
      const int64_t high = in_.accept("*") ? INT64_MAX : whole_number();
      want("]");
      graph_->symbols()[symbol] = {low, high};
    }
    block(graph_->block(), "return", 0);
    if (!in_.at_end()) fail("the end");
    verify(*graph_);
    return std::move(graph_);
  }

 private:
  using TextCursor = c10::detail::TextCursor;
  static constexpr int kDeepest = 500;

  [[noreturn]] void fail(const std::string& expected) {
    size_t line = 1, column = 1;
    for (const char c : text_.substr(0, in_.position())) {
      if (c == '\n') {
        ++line, column = 1;
      } else {
        ++column;
      }
    }
    TORCH_CHECK_VALUE(false, "graph text, line ", line, ", column ", column, ": expected ", expected, ", got '",
                      text_.substr(std::min(in_.position(), text_.size()), 12), "'");
    __builtin_unreachable();
  }
  void want(std::string_view token) {
    if (!in_.accept(token)) fail("'" + std::string(token) + "'");
  }
  void want_word(std::string_view token) {
    if (!in_.accept_word(token)) fail("'" + std::string(token) + "'");
    in_.skip_space();
  }
  std::string word(const char* what) {
    std::string name;
    in_.skip_space();
    if (!TextCursor::is_letter(in_.next())) fail(what);
    while (TextCursor::is_letter(in_.next()) || TextCursor::is_digit(in_.next())) {
      name += in_.next();
      in_.advance();
    }
    return name;
  }
  int64_t whole_number() {
    in_.skip_space();
    const size_t begin = in_.position();
    in_.accept("-");
    if (!in_.digits()) fail("a whole number");
    int64_t v = 0;
    const std::string_view digits = in_.since(begin);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), v).ec != std::errc()) {
      in_.go_back(begin);
      fail("a number of 64 bits");
    }
    return v;
  }
  std::string string() {
    want("\"");
    std::string out;
    for (;; in_.advance()) {
      const char c = in_.next();
      if (c == '"') break;
      if (c == '\0' || c == '\n') fail("'\"'");
      if (c != '\\') {
        out += c;
        continue;
      }
      in_.advance();
      if (in_.next() != 'x') {
        if (in_.next() == '\0') fail("a character");
        out += in_.next();
        continue;
      }
      int value = 0;
      for (int i = 0; i < 2; ++i) {
        in_.advance();
        const char h = in_.next();
        const int digit = h >= '0' && h <= '9' ? h - '0' : h >= 'a' && h <= 'f' ? h - 'a' + 10 : -1;
        if (digit < 0) fail("a hexadecimal digit");
        value = value * 16 + digit;
      }
      out += static_cast<char>(value);
    }
    in_.advance();
    return out;
  }

  std::string value_name() {
    want("%");
    std::string name;
    while (TextCursor::is_letter(in_.next()) || TextCursor::is_digit(in_.next())) {
      name += in_.next();
      in_.advance();
    }
    if (name.empty()) fail("a value's name");
    return name;
  }
  c10::TypePtr type() {
    const size_t begin = in_.position();
    c10::detail::ParsedType parsed;
    if (!c10::detail::parse_type(in_, &parsed)) {
      if (in_.position() < begin) in_.go_back(begin);
      fail("a type");
    }
    return parsed.type;
  }
  IntExpr expr(const char* ends) {
    in_.skip_space();
    const size_t begin = in_.position();
    int open = 0;
    while (in_.next() != '\0' && in_.next() != '\n') {
      const char c = in_.next();
      if (open == 0 && std::string_view(ends).find(c) != std::string_view::npos) break;
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      in_.advance();
    }
    return IntExpr::parse(in_.since(begin));
  }
  std::vector<IntExpr> exprs() {
    std::vector<IntExpr> all;
    want("[");
    while (!in_.accept("]")) {
      if (!all.empty()) want(",");
      all.push_back(expr(",]"));
    }
    return all;
  }
  TensorInfo info() {
    TensorInfo info;
    const std::string dtype = word("a dtype");
    bool known = false;
    for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions) && !known; ++i) {
      info.dtype = static_cast<c10::ScalarType>(i);
      known = dtype == c10::toString(info.dtype);
    }
    if (!known) fail("a dtype before this");
    want(",");
    in_.skip_space();
    const size_t begin = in_.position();
    while (TextCursor::is_letter(in_.next()) || TextCursor::is_digit(in_.next()) || in_.next() == ':') in_.advance();
    info.device = c10::Device(std::string(in_.since(begin)));
    want(",");
    if (!in_.peek("[")) {
      info.layout = static_cast<c10::Layout>(whole_number());
      want(",");
    }
    info.sizes = exprs();
    want(",");
    info.strides = exprs();
    while (in_.accept(",")) {
      if (in_.accept_word("offset")) {
        info.storage_offset = expr(",>");
      } else {
        want_word("grad");
        info.requires_grad = true;
      }
    }
    want(">");
    return info;
  }

  struct Definition {
    std::string name;
    c10::TypePtr type;
    std::optional<TensorInfo> info;
    std::optional<IntExpr> expr;
  };
  Definition definition() {
    Definition d;
    d.name = value_name();
    want(":");
    d.type = type();
    if (in_.accept("<")) d.info = info();
    if (in_.accept("{")) {
      d.expr = expr("}");
      want("}");
    }
    return d;
  }
  void define(Definition d, Value* value) {
    if (TextCursor::is_letter(d.name[0])) value->set_name(d.name);
    value->set_type(std::move(d.type));
    value->set_info(std::move(d.info));
    value->set_expr(std::move(d.expr));
    if (!values_.emplace(d.name, value).second) fail("another name than %" + d.name + " before this");
  }
  void inputs(Block& b, const char* end) {
    for (;;) {
      Definition d = definition();
      Value* input = b.add_input(d.type);
      define(std::move(d), input);
      if (in_.accept(end)) return;
      want(",");
    }
  }

  void block(Block& b, const char* end, int depth) {
    if (depth > kDeepest) fail("fewer blocks in each other");
    while (!in_.accept_word(end)) node(b, depth);
    std::vector<Operand> outputs;
    if (!in_.peek("}")) outputs = operands("}");
    b.set_outputs(std::move(outputs));
    want("}");
  }

  void node(Block& b, int depth) {
    std::vector<Definition> definitions;
    if (in_.peek("%")) {
      do {
        definitions.push_back(definition());
      } while (in_.accept(","));
      want("=");
    }
    in_.skip_space();
    const size_t begin = in_.position();
    while (in_.next() != '(' && in_.next() != '[' && in_.next() != '\n' && in_.next() != '\0') in_.advance();
    const std::string name(in_.since(begin));
    std::unique_ptr<Node> made;
    if (name.find("::") != std::string::npos) {
      const std::optional<Callable> callable = names_.callable ? names_.callable(name) : std::nullopt;
      if (!callable.has_value()) {
        in_.go_back(begin);
        fail("an operator that is known");
      }
      want("(");
      std::vector<Operand> arguments;
      if (!in_.accept(")")) {
        arguments = operands(")");
        want(")");
      }
      made = graph_->call(*callable, std::move(arguments));
    } else {
      const KindName* kind = nullptr;
      for (const KindName& k : kKindNames) {
        if (name == k.name) kind = &k;
      }
      if (kind == nullptr) {
        in_.go_back(begin);
        fail("an operator or a kind of node");
      }
      std::string own;
      c10::TypePtr tested;
      if (in_.accept("[")) {
        if (kind->kind == Kind::kIsInstance) {
          tested = type();
        } else {
          own = string();
        }
        want("]");
      }
      want("(");
      std::vector<Operand> arguments;
      if (!in_.accept(")")) {
        arguments = operands(")");
        want(")");
      }
      made = graph_->make(kind->kind, std::move(arguments));
      made->set_name(std::move(own));
      made->set_tested_type(std::move(tested));
    }
    Node* const node = b.append(std::move(made));
    // Inner blocks do not see the results.
    while (in_.accept("{")) {
      Block& inner = node->add_block();
      if (in_.accept("|")) inputs(inner, "|");
      block(inner, "yield", depth + 1);
    }
    if (node->kind() == Kind::kCall && definitions.size() != node->result_count()) {
      while (node->result_count() > definitions.size()) node->erase_result(node->result_count() - 1);
    }
    for (size_t i = 0; i < definitions.size(); ++i) {
      Value* result = i < node->result_count() ? node->result(i) : node->add_result(definitions[i].type);
      define(std::move(definitions[i]), result);
    }
  }

  // Up to, and without, `end`.
  std::vector<Operand> operands(std::string_view end) {
    std::vector<Operand> all;
    for (;;) {
      all.push_back(operand(0));
      if (in_.peek(end)) return all;
      want(",");
    }
  }
  Operand operand(int depth) {
    if (depth > kDeepest) fail("fewer lists in each other");
    if (in_.peek("%")) {
      const std::string name = value_name();
      const auto found = values_.find(name);
      if (found == values_.end()) fail("a value that is known before this");
      return found->second;
    }
    if (in_.accept("{")) {
      IntExpr e = expr("}");
      want("}");
      return e;
    }
    if (in_.accept("[")) {
      std::vector<Operand> parts;
      while (!in_.accept("]")) {
        if (!parts.empty()) want(",");
        parts.push_back(operand(depth + 1));
      }
      return parts;
    }
    return constant(depth);
  }

  double real() {
    in_.skip_space();
    const size_t begin = in_.position();
    in_.accept("-");
    if (in_.accept_word("inf")) return text_[begin] == '-' ? -INFINITY : INFINITY;
    if (in_.accept_word("nan")) return NAN;
    while (TextCursor::is_digit(in_.next()) || in_.next() == '.' || in_.next() == 'e' ||
           ((in_.next() == '-' || in_.next() == '+') && text_[in_.position() - 1] == 'e')) {
      in_.advance();
    }
    const std::string_view digits = in_.since(begin);
    double v = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) {
      in_.go_back(begin);
      fail("a number");
    }
    return v;
  }
  std::vector<c10::IValue> constants(int depth) {
    std::vector<c10::IValue> all;
    while (!in_.accept("}")) {
      if (!all.empty()) want(",");
      all.push_back(constant(depth + 1));
    }
    return all;
  }
  c10::IValue constant(int depth) {
    if (depth > kDeepest) fail("fewer constants in each other");
    if (in_.accept_word("None")) return {};
    if (in_.accept_word("True")) return true;
    if (in_.accept_word("False")) return false;
    if (in_.peek("\"")) return string();
    if (in_.accept("@")) {
      const int64_t i = whole_number();
      if (i < 0 || static_cast<size_t>(i) >= names_.tensors.size()) fail("a tensor that is given before this");
      return names_.tensors[static_cast<size_t>(i)];
    }
    if (in_.accept("complex(")) {
      const double re = real();
      want(",");
      const double im = real();
      want(")");
      return c10::complex<double>(re, im);
    }
    if (in_.accept("device(")) {
      const std::string name = string();
      want(")");
      return c10::Device(name);
    }
    if (in_.accept("tuple{")) return c10::ivalue::Tuple::create(constants(depth));
    in_.skip_space();
    if (in_.next() == '-' || TextCursor::is_digit(in_.next()) || in_.peek("inf") || in_.peek("nan")) {
      const size_t begin = in_.position();
      in_.accept("-");
      if (in_.digits() && in_.next() != '.' && in_.next() != 'e') {
        in_.go_back(begin);
        return whole_number();
      }
      in_.go_back(begin);
      return real();
    }
    const c10::TypePtr t = type();
    if (const auto list = t->cast<c10::ListType>()) {
      want("{");
      const c10::impl::GenericList values(list->getElementType());
      for (c10::IValue& v : constants(depth)) values.push_back(std::move(v));
      return values;
    }
    if (const auto dict = t->cast<c10::DictType>()) {
      want("{");
      const c10::impl::GenericDict values(dict->getKeyType(), dict->getValueType());
      for (bool first = true; !in_.accept("}"); first = false) {
        if (!first) want(",");
        const c10::IValue key = constant(depth + 1);
        want(":");
        values.insert(key, constant(depth + 1));
      }
      return values;
    }
    fail("a constant");
  }

  TextCursor in_;
  std::string_view text_;
  const TextNames& names_;
  std::unique_ptr<Graph> graph_;
  std::map<std::string, Value*> values_;
};

}  // namespace

std::string print(const Graph& graph, std::vector<c10::IValue>* tensors) {
  return Printer(tensors, false).run(graph);
}
std::string print_node(const Node& node) {
  return Printer(nullptr, true).run(node);
}
std::unique_ptr<Graph> parse_graph(std::string_view text, const TextNames& names) {
  return Parser(text, names).run();
}

}  // namespace torch::graph
