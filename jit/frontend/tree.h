// The syntax tree of a program in TorchScript. Every node knows its place in the source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/frontend/source_range.h"

namespace torch::jit {

struct Expr {
  enum class Kind {
    kName,
    kInt,
    kFloat,
    kImaginary,
    kString,
    kConstant,
    kList,
    kTuple,
    kDict,
    kAttribute,
    kCall,
    kSubscript,
    kSlice,
    kStarred,
    kUnary,
    kBinary,
    kChain,
    kConditional,
    kComprehension,
  };
  Expr(Kind kind, SourceRange range) : kind(kind), range(std::move(range)) {}
  virtual ~Expr() = default;
  // This node as a T, or null.
  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
  Kind kind;
  SourceRange range;
  int depth = 1;  // of the tree below, which the parser bounds
};
using ExprPtr = std::unique_ptr<Expr>;

struct NameExpr final : Expr {
  static constexpr Kind kKind = Kind::kName;
  NameExpr(SourceRange range, std::string name) : Expr(kKind, std::move(range)), name(std::move(name)) {}
  std::string name;
};
struct IntExpr final : Expr {
  static constexpr Kind kKind = Kind::kInt;
  IntExpr(SourceRange range, int64_t value) : Expr(kKind, std::move(range)), value(value) {}
  int64_t value;
};
struct FloatExpr final : Expr {
  static constexpr Kind kKind = Kind::kFloat;
  FloatExpr(SourceRange range, double value) : Expr(kKind, std::move(range)), value(value) {}
  double value;
};
// 2j
struct ImaginaryExpr final : Expr {
  static constexpr Kind kKind = Kind::kImaginary;
  ImaginaryExpr(SourceRange range, double value) : Expr(kKind, std::move(range)), value(value) {}
  double value;
};
// What the quotes stand for.
struct StringExpr final : Expr {
  static constexpr Kind kKind = Kind::kString;
  StringExpr(SourceRange range, std::string value) : Expr(kKind, std::move(range)), value(std::move(value)) {}
  std::string value;
};
struct ConstantExpr final : Expr {
  static constexpr Kind kKind = Kind::kConstant;
  enum class Value { kTrue, kFalse, kNone, kEllipsis };
  ConstantExpr(SourceRange range, Value value) : Expr(kKind, std::move(range)), value(value) {}
  Value value;
};
struct ListExpr final : Expr {
  static constexpr Kind kKind = Kind::kList;
  ListExpr(SourceRange range, std::vector<ExprPtr> items) : Expr(kKind, std::move(range)), items(std::move(items)) {}
  std::vector<ExprPtr> items;
};
struct TupleExpr final : Expr {
  static constexpr Kind kKind = Kind::kTuple;
  TupleExpr(SourceRange range, std::vector<ExprPtr> items) : Expr(kKind, std::move(range)), items(std::move(items)) {}
  std::vector<ExprPtr> items;
};
struct DictExpr final : Expr {
  static constexpr Kind kKind = Kind::kDict;
  explicit DictExpr(SourceRange range) : Expr(kKind, std::move(range)) {}
  std::vector<ExprPtr> keys;
  std::vector<ExprPtr> values;
};
// object.name
struct AttributeExpr final : Expr {
  static constexpr Kind kKind = Kind::kAttribute;
  AttributeExpr(SourceRange range, ExprPtr object, std::string name)
      : Expr(kKind, std::move(range)), object(std::move(object)), name(std::move(name)) {}
  ExprPtr object;
  std::string name;
};
struct Keyword {
  SourceRange range;
  std::string name;
  ExprPtr value;
};
struct CallExpr final : Expr {
  static constexpr Kind kKind = Kind::kCall;
  CallExpr(SourceRange range, ExprPtr function) : Expr(kKind, std::move(range)), function(std::move(function)) {}
  ExprPtr function;
  std::vector<ExprPtr> arguments;
  std::vector<Keyword> keywords;
};
// value[index]; several indices are a tuple.
struct SubscriptExpr final : Expr {
  static constexpr Kind kKind = Kind::kSubscript;
  SubscriptExpr(SourceRange range, ExprPtr value, ExprPtr index)
      : Expr(kKind, std::move(range)), value(std::move(value)), index(std::move(index)) {}
  ExprPtr value;
  ExprPtr index;
};
// start:stop:step, null where left out.
struct SliceExpr final : Expr {
  static constexpr Kind kKind = Kind::kSlice;
  explicit SliceExpr(SourceRange range) : Expr(kKind, std::move(range)) {}
  ExprPtr start;
  ExprPtr stop;
  ExprPtr step;
};
// *value, among the arguments of a call.
struct StarredExpr final : Expr {
  static constexpr Kind kKind = Kind::kStarred;
  StarredExpr(SourceRange range, ExprPtr value) : Expr(kKind, std::move(range)), value(std::move(value)) {}
  ExprPtr value;
};
// "-", "+", "~", "not"
struct UnaryExpr final : Expr {
  static constexpr Kind kKind = Kind::kUnary;
  UnaryExpr(SourceRange range, std::string op, ExprPtr operand)
      : Expr(kKind, std::move(range)), op(std::move(op)), operand(std::move(operand)) {}
  std::string op;
  ExprPtr operand;
};
// Arithmetic, comparisons ("<", "in", "not in", "is", "is not" ...), "and" and "or".
struct BinaryExpr final : Expr {
  static constexpr Kind kKind = Kind::kBinary;
  BinaryExpr(SourceRange range, std::string op, ExprPtr left, ExprPtr right)
      : Expr(kKind, std::move(range)), op(std::move(op)), left(std::move(left)), right(std::move(right)) {}
  std::string op;
  ExprPtr left;
  ExprPtr right;
};
// a < b <= c: one operator fewer than operands.
struct ChainExpr final : Expr {
  static constexpr Kind kKind = Kind::kChain;
  explicit ChainExpr(SourceRange range) : Expr(kKind, std::move(range)) {}
  std::vector<std::string> ops;
  std::vector<ExprPtr> operands;
};
// value if condition else other
struct ConditionalExpr final : Expr {
  static constexpr Kind kKind = Kind::kConditional;
  ConditionalExpr(SourceRange range, ExprPtr condition, ExprPtr value, ExprPtr other)
      : Expr(kKind, std::move(range)),
        condition(std::move(condition)),
        value(std::move(value)),
        other(std::move(other)) {}
  ExprPtr condition;
  ExprPtr value;
  ExprPtr other;
};
// [value for target in iterable if condition], or {key: value for ...} where key is not null.
struct ComprehensionExpr final : Expr {
  static constexpr Kind kKind = Kind::kComprehension;
  explicit ComprehensionExpr(SourceRange range) : Expr(kKind, std::move(range)) {}
  ExprPtr key;
  ExprPtr value;
  ExprPtr target;
  ExprPtr iterable;
  ExprPtr condition;  // may be null
};

struct Stmt {
  enum class Kind {
    kAssign,
    kAugmented,
    kExpression,
    kReturn,
    kIf,
    kWhile,
    kFor,
    kAssert,
    kRaise,
    kDelete,
    kWith,
    kPass,
    kBreak,
    kContinue,
    kDef,
    kClass,
  };
  Stmt(Kind kind, SourceRange range) : kind(kind), range(std::move(range)) {}
  virtual ~Stmt() = default;
  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
  Kind kind;
  SourceRange range;  // of a statement with blocks, its first line
};
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

// target = target = value; or target: type [= value], with one target.
struct AssignStmt final : Stmt {
  static constexpr Kind kKind = Kind::kAssign;
  explicit AssignStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  std::vector<ExprPtr> targets;
  ExprPtr type;   // may be null
  ExprPtr value;  // null in "name: type"
};
// target op= value; op is "+" ...
struct AugmentedStmt final : Stmt {
  static constexpr Kind kKind = Kind::kAugmented;
  AugmentedStmt(SourceRange range, ExprPtr target, std::string op, ExprPtr value)
      : Stmt(kKind, std::move(range)), target(std::move(target)), op(std::move(op)), value(std::move(value)) {}
  ExprPtr target;
  std::string op;
  ExprPtr value;
};
struct ExpressionStmt final : Stmt {
  static constexpr Kind kKind = Kind::kExpression;
  ExpressionStmt(SourceRange range, ExprPtr value) : Stmt(kKind, std::move(range)), value(std::move(value)) {}
  ExprPtr value;
};
struct ReturnStmt final : Stmt {
  static constexpr Kind kKind = Kind::kReturn;
  ReturnStmt(SourceRange range, ExprPtr value) : Stmt(kKind, std::move(range)), value(std::move(value)) {}
  ExprPtr value;  // may be null
};
// elif is an if in the other block.
struct IfStmt final : Stmt {
  static constexpr Kind kKind = Kind::kIf;
  explicit IfStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  ExprPtr condition;
  Block body;
  Block other;
};
struct WhileStmt final : Stmt {
  static constexpr Kind kKind = Kind::kWhile;
  explicit WhileStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  ExprPtr condition;
  Block body;
};
struct ForStmt final : Stmt {
  static constexpr Kind kKind = Kind::kFor;
  explicit ForStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  ExprPtr target;
  ExprPtr iterable;
  Block body;
};
struct AssertStmt final : Stmt {
  static constexpr Kind kKind = Kind::kAssert;
  explicit AssertStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  ExprPtr condition;
  ExprPtr message;  // may be null
};
struct RaiseStmt final : Stmt {
  static constexpr Kind kKind = Kind::kRaise;
  RaiseStmt(SourceRange range, ExprPtr value) : Stmt(kKind, std::move(range)), value(std::move(value)) {}
  ExprPtr value;
};
struct DeleteStmt final : Stmt {
  static constexpr Kind kKind = Kind::kDelete;
  explicit DeleteStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  std::vector<ExprPtr> targets;
};
struct WithStmt final : Stmt {
  static constexpr Kind kKind = Kind::kWith;
  explicit WithStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  std::vector<ExprPtr> contexts;
  std::vector<ExprPtr> targets;  // one a context, null without "as"
  Block body;
};
struct PlainStmt final : Stmt {  // pass, break, continue
  PlainStmt(Kind kind, SourceRange range) : Stmt(kind, std::move(range)) {}
};
struct Parameter {
  SourceRange range;
  std::string name;
  ExprPtr type;           // may be null
  ExprPtr default_value;  // may be null
  bool keyword_only = false;
};
struct DefStmt final : Stmt {
  static constexpr Kind kKind = Kind::kDef;
  explicit DefStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  std::string name;
  SourceRange name_range;
  std::vector<Parameter> parameters;
  ExprPtr return_type;  // may be null
  Block body;
  SourceRange body_range;  // from its first statement to the end of its last
};
struct ClassStmt final : Stmt {
  static constexpr Kind kKind = Kind::kClass;
  explicit ClassStmt(SourceRange range) : Stmt(kKind, std::move(range)) {}
  std::string name;
  ExprPtr base;  // may be null
  Block body;
};

}  // namespace torch::jit
