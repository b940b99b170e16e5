// Sizes as expressions of symbols, from their values at several points.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/int_expr.h"

namespace torch::graph {

/// A fit is made from at least so many points.
inline constexpr size_t kFewestPoints = 6;

/// Values of the symbols, each in its range (from 2 on where it has none): the least ones, some in between, and large
/// ones. One empty point where there are no symbols.
std::vector<std::map<std::string, int64_t>> sample_points(const std::set<std::string>& symbols,
                                                          const std::map<std::string, IntRange>& ranges);

/// An expression with those values at those points: a number, `a*m + c` of a product m of at most three symbols, or
/// `(s + c)//k`, if there is exactly one of its form. Nothing otherwise.
///
///   fit({4, 6, 10}, {{{"s", 2}}, {{"s", 3}}, {{"s", 5}}});    // 2*s
std::optional<IntExpr> fit(const std::vector<int64_t>& values,
                           const std::vector<std::map<std::string, int64_t>>& points);

/// One info of a tensor's infos at those points, which have numbers alone. Nothing where a size has no expression, or
/// the infos differ otherwise.
std::optional<TensorInfo> fit_info(const std::vector<TensorInfo>& infos,
                                   const std::vector<std::map<std::string, int64_t>>& points);

}  // namespace torch::graph
