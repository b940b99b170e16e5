#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// Instructions by function, most first. Names are "file:function [library]", as far as callgrind knows them.
class FunctionCounts {
 public:
  FunctionCounts() = default;
  /// Counts of equal names are added up. `inclusive`: that each has what the functions which it called cost.
  explicit FunctionCounts(std::vector<FunctionCount> counts, bool inclusive = false);
  const std::vector<FunctionCount>& counts() const { return counts_; }
  bool inclusive() const { return inclusive_; }
  size_t size() const { return counts_.size(); }
  /// Throws std::out_of_range.
  const FunctionCount& operator[](size_t i) const { return counts_.at(i); }
  int64_t sum() const;
  /// Without what CPython executes to look up names, which differs from run to run where a program runs Python.
  FunctionCounts denoise() const;
  /// Those for whose name `keep` is true.
  FunctionCounts filter(const std::function<bool(const std::string&)>& keep) const;
  /// Under other names: to join, for example, instances of one template.
  FunctionCounts transform(const std::function<std::string(const std::string&)>& rename) const;
  /// What this has more than `other`; what is equal is left out. Most first, less than none last. Throws
  /// std::invalid_argument for inclusive and exclusive counts together, operator+ too.
  FunctionCounts minus(const FunctionCounts& other) const;
  FunctionCounts operator-(const FunctionCounts& other) const { return minus(other); }
  FunctionCounts operator+(const FunctionCounts& other) const;
  /// The first `lines` of them with their counts, the others as dots, and the sum.
  std::string str(int lines = 18) const;

 private:
  FunctionCounts merged(const FunctionCounts& other, int sign) const;

  std::vector<FunctionCount> counts_;
  bool inclusive_ = false;
};

/// What callgrind counted of a statement.
///
///   const auto before = old_timer.collect_callgrind(), after = new_timer.collect_callgrind();
///   std::cout << after.as_standardized().delta(before.as_standardized()).str();
class CallgrindStats {
 public:
  /// Instructions of all runs: each function's own, and with those of the functions that it called.
  struct Profile {
    FunctionCounts exclusive, inclusive;
  };
  CallgrindStats(TaskSpec task_spec, int64_t number_per_run, Profile stmt, Profile baseline = {},
                 std::optional<std::string> stmt_callgrind_out = std::nullopt)
      : task_spec_(std::move(task_spec)),
        number_per_run_(number_per_run),
        stmt_(std::move(stmt)),
        baseline_(std::move(baseline)),
        stmt_callgrind_out_(std::move(stmt_callgrind_out)) {}
  const TaskSpec& task_spec() const { return task_spec_; }
  int64_t number_per_run() const { return number_per_run_; }
  /// By function; inclusive ones find what is slow, exclusive ones are better to compare.
  const FunctionCounts& stats(bool inclusive = false) const { return inclusive ? stmt_.inclusive : stmt_.exclusive; }
  /// The same of an empty statement, which stats() and counts() contain; empty if it was not collected.
  const FunctionCounts& baseline_stats(bool inclusive = false) const {
    return inclusive ? baseline_.inclusive : baseline_.exclusive;
  }
  /// All instructions; with `denoise` those of FunctionCounts::denoise().
  int64_t counts(bool denoise = false) const { return denoise ? stats().denoise().sum() : stats().sum(); }
  /// What this costs more than `other`, by function.
  FunctionCounts delta(const CallgrindStats& other, bool inclusive = false) const {
    return stats(inclusive) - other.stats(inclusive);
  }
  /// With names that do not depend on where a program was built: without libraries and without the folders above the
  /// source tree.
  CallgrindStats as_standardized() const;
  /// What callgrind wrote, where it was to be retained.
  const std::optional<std::string>& stmt_callgrind_out() const { return stmt_callgrind_out_; }
  std::string str() const;

 private:
  TaskSpec task_spec_;
  int64_t number_per_run_;
  Profile stmt_, baseline_;
  std::optional<std::string> stmt_callgrind_out_;
};

namespace internal {

/// In the second program, under valgrind: nothing is timed.
bool counts_only();
/// What callgrind counts. Not inlined, so that it has a name.
void counted_region(const std::function<void(int64_t)>& loop, int64_t number);
CallgrindStats collect(const std::function<void(int64_t)>& run, int64_t number, const TaskSpec& task_spec,
                       const CallgrindStats::Profile& baseline, bool retain_out_file);
/// Of an empty statement; collected once for each number.
const CallgrindStats::Profile& baseline_of(int64_t number);
/// The instructions in the text that callgrind writes. Throws std::runtime_error if it is another format. What a
/// function costs by calling itself is counted once.
CallgrindStats::Profile parse_callgrind(const std::string& text);

}  // namespace internal
}  // namespace torch::utils::benchmark
