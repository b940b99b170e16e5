// Sizes that may differ from run to run.
//
//   const torch::Dim batch("batch", 1, 64);
//   torch::export_(net, std::tuple(x, mask), {.dynamic_shapes = {{{0, batch}}, {{0, 2 * batch}}}});
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "graph/ir/int_expr.h"

namespace torch {

class Dim {
 public:
  struct Bounds {
    std::optional<int64_t> min, max;
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };

  /// A size by its name, a word of letters, digits and '_': wherever it stands it has the same value, from `min` to
  /// `max`. Without a `min` it is 1 where the program turns out to allow that, else 2. Throws ValueError for another
  /// name, and for bounds that are negative or hold nothing.
  explicit Dim(std::string name, std::optional<int64_t> min = std::nullopt, std::optional<int64_t> max = std::nullopt);
  /// A size of its own wherever it stands.
  static const Dim DYNAMIC;

  /// a*dim + b: a size that follows from another. `a` is at least 1.
  friend Dim operator+(const Dim& dim, int64_t b);
  friend Dim operator-(const Dim& dim, int64_t b);
  friend Dim operator*(int64_t a, const Dim& dim);
  friend Dim operator*(const Dim& dim, int64_t a) { return a * dim; }

  /// Empty: DYNAMIC.
  const std::string& name() const { return name_; }
  const Bounds& bounds() const { return bounds_; }
  int64_t factor() const { return factor_; }
  int64_t offset() const { return offset_; }
  graph::IntExpr expr() const { return factor_ * graph::IntExpr::symbol(name_) + offset_; }

 private:
  Dim() = default;
  std::string name_;
  Bounds bounds_;
  int64_t factor_ = 1;
  int64_t offset_ = 0;
};

}  // namespace torch
