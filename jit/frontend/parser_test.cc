#include "jit/frontend/parser.h"

#include <gtest/gtest.h>

#include <random>

namespace torch::jit {
namespace {

std::shared_ptr<const Source> source(std::string text) {
  return std::make_shared<Source>(std::move(text));
}

std::string dump(const ExprPtr& node);
std::string dump(const std::vector<ExprPtr>& nodes) {
  std::string out;
  for (const ExprPtr& node : nodes) out += " " + dump(node);
  return out;
}
// A tree as nested lists.
std::string dump(const ExprPtr& node) {
  if (node == nullptr) return "-";
  if (const auto* e = node->as<NameExpr>()) return e->name;
  if (const auto* e = node->as<IntExpr>()) return std::to_string(e->value);
  if (const auto* e = node->as<FloatExpr>()) return std::to_string(e->value);
  if (const auto* e = node->as<ImaginaryExpr>()) return std::to_string(e->value) + "j";
  if (const auto* e = node->as<StringExpr>()) return "'" + e->value + "'";
  if (const auto* e = node->as<ConstantExpr>()) return std::string(e->range.text());
  if (const auto* e = node->as<ListExpr>()) return "(list" + dump(e->items) + ")";
  if (const auto* e = node->as<TupleExpr>()) return "(tuple" + dump(e->items) + ")";
  if (const auto* e = node->as<DictExpr>()) return "(dict" + dump(e->keys) + " :" + dump(e->values) + ")";
  if (const auto* e = node->as<AttributeExpr>()) return "(. " + dump(e->object) + " " + e->name + ")";
  if (const auto* e = node->as<SubscriptExpr>()) return "([] " + dump(e->value) + " " + dump(e->index) + ")";
  if (const auto* e = node->as<SliceExpr>())
    return "(: " + dump(e->start) + " " + dump(e->stop) + " " + dump(e->step) + ")";
  if (const auto* e = node->as<StarredExpr>()) return "(* " + dump(e->value) + ")";
  if (const auto* e = node->as<UnaryExpr>()) return "(" + e->op + " " + dump(e->operand) + ")";
  if (const auto* e = node->as<BinaryExpr>()) return "(" + e->op + " " + dump(e->left) + " " + dump(e->right) + ")";
  if (const auto* e = node->as<ChainExpr>()) {
    std::string out = "(chain" + dump(e->operands);
    for (const std::string& op : e->ops) out += " " + op;
    return out + ")";
  }
  if (const auto* e = node->as<ConditionalExpr>())
    return "(if " + dump(e->condition) + " " + dump(e->value) + " " + dump(e->other) + ")";
  if (const auto* e = node->as<ComprehensionExpr>()) {
    return "(for " + dump(e->key) + " " + dump(e->value) + " " + dump(e->target) + " " + dump(e->iterable) + " " +
           dump(e->condition) + ")";
  }
  const auto* e = node->as<CallExpr>();
  std::string out = "(call " + dump(e->function) + dump(e->arguments);
  for (const Keyword& keyword : e->keywords) out += " " + keyword.name + "=" + dump(keyword.value);
  return out + ")";
}

TEST(Expressions, AreReadAsPythonReadsThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"a + b * c - d", "(- (+ a (* b c)) d)"},
      {"-x ** 2", "(- (** x 2))"},
      {"2 ** -1 ** 3", "(** 2 (- (** 1 3)))"},
      {"not a == b and c or d", "(or (and (not (== a b)) c) d)"},
      {"a < b <= c", "(chain a b c < <=)"},
      {"a not in b is not c", "(chain a b c not in is not)"},
      {"a if b else c if d else e", "(if b a (if d c e))"},
      {"a | b ^ c & d << e", "(| a (^ b (& c (<< d e))))"},
      {"~a @ b // c % d", "(% (// (@ (~ a) b) c) d)"},
      {"f(a, *b, c=1, d=x == 2)(3).e[1:, ..., None, ::2]",
       "([] (. (call (call f a (* b) c=1 d=(== x 2)) 3) e) (tuple (: 1 - -) ... None (: - - 2)))"},
      {"(a,), (), (b)", "(tuple (tuple a) (tuple) b)"},
      {"[1, .5, 1e3, 0x1F, 2j, 'a' \"\\n\\x41\"]", "(list 1 0.500000 1000.000000 31 2.000000j 'a\nA')"},
      {"{'a': 1, b: [x for x in y if x > 0]}", "(dict 'a' b : 1 (for - x x y (> x 0)))"},
      {"{k: v for k, v in z}", "(for k v (tuple k v) z -)"},
      {"x[1, 2]", "([] x (tuple 1 2))"},
  };
  for (const auto& [text, tree] : cases) {
    const auto program = parse_program(source(std::string("def f():\n  return ") + text));
    const auto* def = program.at(0)->as<DefStmt>();
    EXPECT_EQ(dump(def->body.at(0)->as<ReturnStmt>()->value), tree) << text;
  }
}

TEST(Statements, NestByIndentationFromTheFirstLineOn) {
  const Block program = parse_program(source(R"(
      # a comment
      def first(a, b: Optional[int] = None,
                *, c: str = 'x') -> Tensor:
        """What it does."""
        while a: # why

            a += 1; b: int = 2
            if a == b: break
            elif c:
              continue
          # deeper or shallower comments do not matter
            else:
              x, (y) = z = \
                4
        return a
      def second(a, b):
        # type: (int, List[Tensor]) -> Tuple[int, int]
        x = []  # type: List[int]
        pass
    )"));
  ASSERT_EQ(program.size(), 2);
  const auto& first = *program[0]->as<DefStmt>();
  EXPECT_EQ(first.name, "first");
  ASSERT_EQ(first.parameters.size(), 3);
  EXPECT_FALSE(first.parameters[1].keyword_only);
  EXPECT_TRUE(first.parameters[2].keyword_only);
  EXPECT_EQ(dump(first.parameters[1].type), "([] Optional int)");
  ASSERT_EQ(first.body.size(), 3);
  const auto& loop = *first.body[1]->as<WhileStmt>();
  ASSERT_EQ(loop.body.size(), 3);
  const auto& branch = *loop.body[2]->as<IfStmt>();
  EXPECT_EQ(branch.body.at(0)->kind, Stmt::Kind::kBreak);
  const auto& inner = *branch.other.at(0)->as<IfStmt>();
  EXPECT_EQ(inner.other.at(0)->as<AssignStmt>()->targets.size(), 2);
  const auto& second = *program[1]->as<DefStmt>();
  EXPECT_EQ(dump(second.parameters.at(1).type), "([] List Tensor)");
  EXPECT_EQ(dump(second.return_type), "([] Tuple (tuple int int))");
  EXPECT_EQ(dump(second.body.at(0)->as<AssignStmt>()->type), "([] List int)");
}

TEST(Statements, KnowTheirPlaces) {
  const Block program = parse_program(source("def f(a):\n  if a:\n    return a * c\n  return 1\n"));
  const auto& branch = *program[0]->as<DefStmt>()->body[0]->as<IfStmt>();
  const SourceRange& range = branch.body[0]->as<ReturnStmt>()->value->range;
  EXPECT_EQ(range.text(), "a * c");
  EXPECT_EQ(range.line(), 3);
  EXPECT_EQ(
      range.str(),
      "  File \"<string>\", line 3\ndef f(a):\n  if a:\n    return a * c\n           ~~~~~ <--- HERE\n  return 1\n");
}

std::string error_of(const std::string& text) {
  try {
    parse_program(source(text));
  } catch (const ErrorReport& error) {
    return error.what();
  }
  return "no error";
}

TEST(Errors, ShowTheLine) {
  EXPECT_EQ(error_of("def f(a):\n  return (a\n"),
            "expected ) but found 'eof' here:\n  File \"<string>\", line 3\ndef f(a):\n  return (a\n\n~ <--- HERE\n");
  EXPECT_EQ(error_of("x = 1\n"),
            "expected def but found 'ident' here:\n  File \"<string>\", line 1\nx = 1\n~ <--- HERE\n");
  EXPECT_EQ(error_of("def f(a):\n  return a\n    b = 1\n").substr(0, 36), "expected newline but found 'indent' ");
}

TEST(Errors, NameWhatTheLanguageHasNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"x = lambda y: y", "'lambda' expressions are not supported"},
      {"yield a", "'yield' expressions are not supported"},
      {"try:\n    pass", "'try' statements are not supported"},
      {"import torch", "'import' statements are not supported"},
      {"x = f'{a}'", "strings with the prefix 'f' are not supported"},
      {"x = {1, 2}", "sets are not supported"},
      {"x = f(y for y in z)", "generator expressions are not supported"},
      {"x = [y for y in z for w in y]", "comprehensions with several 'for' or 'if' are not supported"},
      {"x = f(**a)", "keyword arguments from a dictionary are not supported"},
      {"f(a=1, 2)", "a positional argument follows a keyword argument"},
      {"for i in a:\n    pass\n  else:\n    pass", "'else' branches of loops are not supported"},
      {"x = 99999999999999999999", "no number that fits is written like this"},
      {"x = 'abc", "expected a string with a closing quote here"},
      {"x = '\\xg'", "unknown escape sequence in a string"},
      {"x = a ? b", "expected a valid token but found '?' here"},
      {"if a:\n    b\n   c", "invalid indent level 3"},
      {"x = )", "expected an expression but found ')' here"},
      {"a[1,,2]", "expected an index but found ',' here"},
      {"a[]", "expected an index but found ']' here"},
  };
  for (const auto& [text, message] : cases) {
    const std::string error = error_of(std::string("def f(a):\n  ") + text + "\n");
    EXPECT_EQ(error.substr(0, std::string(message).size()), message) << text;
    EXPECT_NE(error.find("<--- HERE"), std::string::npos) << text;
  }
  EXPECT_EQ(error_of("def f(*a):\n  pass").substr(0, 55), "functions with a variable number of arguments are not s");
  EXPECT_NE(error_of("def f(a):\n  # type: (int, int) -> int\n  pass").find("Number of type annotations"),
            std::string::npos);
}

TEST(Errors, DepthIsBounded) {
  const std::string refused = "more than 200 levels inside each other";
  const auto repeat = [](const std::string& part, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += part;
    return all;
  };
  for (const std::string& text :
       {repeat("(", 100000), repeat("[", 100000), repeat("{1:", 100000), repeat("f(", 100000), repeat("-", 100000),
        repeat("not ", 100000), "a" + repeat(" + a", 100000), "a" + repeat(".b", 100000), "a" + repeat("()", 100000),
        "a" + repeat("[0]", 100000), "a" + repeat(" ** a", 100000), "a" + repeat(" if a else a", 100000)}) {
    EXPECT_EQ(error_of("def f(a):\n  return " + text).substr(0, refused.size()), refused) << text.substr(0, 20);
  }
  EXPECT_EQ(error_of("def f(a):\n  if a: pass\n" + repeat("  elif a: pass\n", 100000)).substr(0, refused.size()),
            refused);
  std::string nested = "def f(a):\n";
  for (size_t i = 1; i < 400; ++i) nested += std::string(i, ' ') + "if a:\n";
  EXPECT_EQ(error_of(nested).substr(0, refused.size()), refused);
}

// Whatever the text, parsing ends with a tree or an ErrorReport.
TEST(Mutations, NeverCrash) {
  const std::string base = R"(
def f(a, b: Dict[str, List[int]] = {}, *, c=1) -> Tuple[int, Tensor]:
  # type: (int, int, int) -> Tuple[int, Tensor]
  x, y = [i for i in a if i], (1, 'te\x41xt', 2.5e-3)
  while x < y <= 2 and not a[1:, ..., None]:
    x += -y ** 2 @ a; z: int = 3  # type: int
    if a is not None: break
    elif b not in c:
      continue
    else:
      raise ValueError("a" 'b')
  with torch.no_grad() as g:
    for i, (j, k) in enumerate(zip(a, b)):
      assert a, "no"
  del a[0]
  return f(a, *b, c=3) if a else {1: 2}
class M(Module):
  __parameters__ = ["a", ]
  a : Tensor
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    return (self).g(x, )
)";
  ASSERT_EQ(error_of(base), "no error");
  std::mt19937 random(7);
  const std::string letters = "()[]{}:;,.'\"\\#\n \t=+-*/%<>!@&|^~0123456789abcdefjx_\r\0\xff";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = base;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text[at] = letters[random() % letters.size()];
          break;
        case 1:
          text.insert(at, 1, letters[random() % letters.size()]);
          break;
        case 2:
          text.erase(at, 1 + random() % 8);
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text.resize(at + 1);
      }
      if (text.empty()) text = "d";
    }
    accepted += error_of(text) == "no error" ? 1 : 0;
  }
  EXPECT_GT(accepted, 200);
}

}  // namespace
}  // namespace torch::jit
