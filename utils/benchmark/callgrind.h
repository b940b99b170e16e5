#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "utils/benchmark/timer.h"

// Instruction counts of a statement, from Timer::collect_callgrind.

namespace torch::utils::benchmark {

struct FunctionCount {
  int64_t count;
  std::string function;
  friend bool operator==(const FunctionCount&, const FunctionCount&) = default;
};

/// Instructions by function, most first.
class FunctionCounts {
 public:
  FunctionCounts() = default;
  /// Counts of equal names are added up.
  explicit FunctionCounts(std::vector<FunctionCount> counts);
  const std::vector<FunctionCount>& counts() const { return counts_; }
  int64_t sum() const;
  /// Those for whose name `keep` is true.
  FunctionCounts filter(const std::function<bool(const std::string&)>& keep) const;
  /// Under other names: to join, for example, instances of one template.
  FunctionCounts transform(const std::function<std::string(const std::string&)>& rename) const;
  /// What this has more than `other`; what is equal is left out. Most first, less than none last.
  FunctionCounts minus(const FunctionCounts& other) const;
  /// The first `lines` of them with their counts, the others as dots, and the sum.
  std::string str(int lines = 18) const;

 private:
  std::vector<FunctionCount> counts_;
};

class CallgrindStats {
 public:
  CallgrindStats(TaskSpec task_spec, int64_t number_per_run, FunctionCounts stats)
      : task_spec_(std::move(task_spec)), number_per_run_(number_per_run), stats_(std::move(stats)) {}
  const TaskSpec& task_spec() const { return task_spec_; }
  int64_t number_per_run() const { return number_per_run_; }
  /// Instructions of all runs, each function's own.
  const FunctionCounts& stats() const { return stats_; }
  int64_t counts() const { return stats_.sum(); }
  /// What this costs more than `other`, by function.
  FunctionCounts delta(const CallgrindStats& other) const { return stats_.minus(other.stats_); }
  std::string str() const;

 private:
  TaskSpec task_spec_;
  int64_t number_per_run_;
  FunctionCounts stats_;
};

namespace internal {

/// In the second program, under valgrind: nothing is timed.
bool counts_only();
/// What callgrind counts. Not inlined, so that it has a name.
void counted_region(const std::function<void(int64_t)>& loop, int64_t number);
CallgrindStats collect(const std::function<void(int64_t)>& run, int64_t number, const TaskSpec& task_spec);
/// Each function's own instructions in the text that callgrind writes. Throws std::runtime_error if it is another
/// format.
FunctionCounts parse_callgrind(const std::string& text);

}  // namespace internal
}  // namespace torch::utils::benchmark
