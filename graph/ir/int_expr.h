// Whole numbers that are known when a graph runs: sizes, strides and what is computed from them.
//
//   IntExpr s = IntExpr::symbol("s0");
//   (2 * s + 1 + s).str();                        // "3*s0 + 1"
//   floordiv(s * 4, 2) == 2 * s;                  // true
//   IntExpr::parse("max(1, s0 // 2)").evaluate({{"s0", 7}});   // 3
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "c10/util/array_ref.h"

namespace torch::graph {

/// The values that a number may take, both ends included. An end at the border of int64_t says nothing.
struct IntRange {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
  bool contains(int64_t value) const { return value >= min && value <= max; }
  friend bool operator==(const IntRange&, const IntRange&) = default;
};

/// Immutable and cheap to copy. Sums and products are kept in one form, in which equal ones are the same: terms in
/// order, like ones collected, factors multiplied out.
class IntExpr {
 public:
  enum class Kind : uint8_t { kConstant, kSymbol, kSum, kProduct, kFloorDiv, kMod, kMin, kMax };

  IntExpr(int64_t value = 0);
  static IntExpr symbol(std::string name);
  /// Reads what str() writes; also `a - b`, `-a`, `a**n` and parentheses. Throws ValueError that names the column. At
  /// most kMostNodes parts.
  static IntExpr parse(std::string_view text);
  static constexpr int64_t kMostNodes = 10000;

  Kind kind() const;
  bool is_constant() const { return kind() == Kind::kConstant; }
  /// Of a constant.
  int64_t value() const;
  /// Of a symbol.
  const std::string& name() const;
  c10::ArrayRef<IntExpr> operands() const;

  /// Its value where the symbols have those. Throws IndexError for a symbol that has none, ValueError for a division by
  /// 0 and for what int64_t does not hold.
  int64_t evaluate(const std::map<std::string, int64_t>& symbols) const;
  /// A range that holds all its values where the symbols are in theirs; symbols without one may be anything.
  IntRange range(const std::map<std::string, IntRange>& symbols) const;
  /// With the symbols of the map replaced.
  IntExpr substitute(const std::map<std::string, IntExpr>& symbols) const;
  void collect_symbols(std::set<std::string>& names) const;

  /// As Python writes it: "3*s0 + 1", "s0 // 2", "s0 % 2", "max(1, s0)".
  std::string str() const;

  friend IntExpr operator+(const IntExpr& a, const IntExpr& b);
  friend IntExpr operator-(const IntExpr& a, const IntExpr& b);
  friend IntExpr operator*(const IntExpr& a, const IntExpr& b);
  /// Rounded down, as Python's // and %. A constant divisor of 0 throws ValueError.
  friend IntExpr floordiv(const IntExpr& a, const IntExpr& b);
  friend IntExpr mod(const IntExpr& a, const IntExpr& b);
  friend IntExpr min(const IntExpr& a, const IntExpr& b);
  friend IntExpr max(const IntExpr& a, const IntExpr& b);
  /// The same form, not merely the same values.
  friend bool operator==(const IntExpr& a, const IntExpr& b) { return a.compare(b) == 0; }
  friend bool operator<(const IntExpr& a, const IntExpr& b) { return a.compare(b) < 0; }

 private:
  struct Node;
  explicit IntExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static IntExpr make(Kind kind, std::vector<IntExpr> operands);
  static IntExpr sum_of(const std::vector<IntExpr>& terms);
  static IntExpr product_of(const std::vector<IntExpr>& factors);
  int compare(const IntExpr& other) const;
  void write(std::string& out, int level) const;

  std::shared_ptr<const Node> node_;
};

}  // namespace torch::graph
