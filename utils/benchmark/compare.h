#pragma once

#include <string>
#include <vector>

#include "utils/benchmark/timer.h"

// Measurements side by side: a table for each label, a row for each sub_label, threads and env, a column for each
// description.

namespace torch::utils::benchmark {

class Compare {
 public:
  explicit Compare(std::vector<Measurement> results) : results_(std::move(results)) {}
  /// More measurements. Those of a task that is there already join it.
  void extend_results(const std::vector<Measurement>& results);
  /// Digits that the spread of the times does not support are left out.
  void trim_significant_figures() { trim_ = true; }
  /// Best in green and bold, those far from it in red; in each row, or in the column of each group.
  void colorize(bool rowwise = false) { color_ = rowwise ? Color::kRows : Color::kColumns; }
  /// Behind a median: (! IQR in percent of it), where that is over 10.
  void highlight_warnings() { warnings_ = true; }
  std::string str() const;
  /// str() on the standard output.
  void print() const;

 private:
  enum class Color { kNone, kRows, kColumns };
  std::string table(const std::vector<const Measurement*>& results) const;
  std::vector<Measurement> results_;
  bool trim_ = false, warnings_ = false;
  Color color_ = Color::kNone;
};

}  // namespace torch::utils::benchmark
