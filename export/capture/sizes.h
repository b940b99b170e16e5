// Example inputs of export_() at other sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/stack.h"
#include "export/capture/dim.h"
#include "graph/ir/int_expr.h"

namespace torch::export_detail {

using Symbols = std::map<std::string, int64_t>;

/// The example's leaves (nested inputs taken apart), and which of their sizes may differ.
class Sizes {
 public:
  /// Throws ValueError where the dims do not fit the example or each other.
  Sizes(const std::vector<c10::IValue>& leaves, const std::vector<std::map<int64_t, Dim>>& dims);

  bool is_dynamic() const { return !bounds_.empty(); }
  const std::map<std::string, Dim::Bounds>& bounds() const { return bounds_; }
  /// The symbols' values in the example.
  const Symbols& example() const { return example_; }
  /// Sizes that may differ, by leaf and dimension.
  const std::map<std::pair<size_t, int64_t>, graph::IntExpr>& exprs() const { return exprs_; }
  /// Ranges of the symbols; where no minimum is given, `min`.
  std::map<std::string, graph::IntRange> ranges(int64_t min) const;

  /// Own copies of the leaves with those sizes: the example's elements repeated, or the first of them.
  std::vector<c10::IValue> at(const Symbols& symbols) const;
  /// How large the tensors are then; nothing where that is more than int64_t holds.
  std::optional<int64_t> bytes(const Symbols& symbols) const;

 private:
  void add(size_t leaf, int64_t dim, const Dim& given);
  const std::vector<c10::IValue>& leaves_;
  std::map<std::string, Dim::Bounds> bounds_;
  Symbols example_;
  std::map<std::pair<size_t, int64_t>, graph::IntExpr> exprs_;
};

/// "batch = 2, length = 5"
std::string text_of(const Symbols& symbols);

/// Sizes to compare the program at that are none of `points`: between them, and at the ends of the ranges.
std::vector<Symbols> held_out_points(const std::map<std::string, graph::IntRange>& ranges,
                                     const std::vector<Symbols>& points);

/// Empty where both have the same bits, else what differs.
std::string difference(const c10::IValue& a, const c10::IValue& b);

}  // namespace torch::export_detail
