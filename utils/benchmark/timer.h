#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// How long a statement takes, and how many instructions: what Python's torch.utils.benchmark offers, for C++ callables.
//
//   namespace bench = torch::utils::benchmark;
//   const at::Tensor x = torch::rand({1 << 20});
//   std::vector<bench::Measurement> results;
//   for (int threads : {1, 2}) {
//     bench::TimerOptions options;
//     options.label = "softmax", options.sub_label = "1 Mi", options.description = "along the last",
//     options.num_threads = threads; results.push_back(bench::Timer([&] { return at::softmax(x, -1); },
//     options).blocked_autorange());
//   }
//   bench::Compare(results).print();    // utils/benchmark/compare.h

namespace torch::utils::benchmark {

/// Keeps the compiler from leaving out what computes `value`.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// What is measured, in words, and under what circumstances.
struct TaskSpec {
  std::string stmt = "stmt";  // how the statement reads, where there is no label
  std::string label;          // what rows of one table have in common, such as the operator
  std::string sub_label;      // the row: what distinguishes inputs
  std::string description;    // the column: what is compared
  std::string env;            // the build or machine, where several are compared
  int num_threads = 1;        // at::set_num_threads during the measurement

  /// "label: sub_label", or the statement.
  std::string title() const;
  friend bool operator==(const TaskSpec&, const TaskSpec&) = default;
};

/// Seconds since some moment: of the clock on the wall, and of this process on processors, all threads together. The
/// latter says more about one thread on a machine that does other things too.
double wall_time();
double processor_time();

struct TimerOptions : TaskSpec {
  std::function<void()> setup;    // before each measurement, not counted
  double (*timer)() = wall_time;  // the clock
};

/// The times of one task. Statistics are of seconds for one run of the statement.
class Measurement {
 public:
  /// `raw_times` are seconds for `number_per_run` runs each. Throws std::invalid_argument if number_per_run is not
  /// positive.
  Measurement(int64_t number_per_run, std::vector<double> raw_times, TaskSpec task_spec);

  int64_t number_per_run() const { return number_per_run_; }
  const std::vector<double>& raw_times() const { return raw_times_; }
  const TaskSpec& task_spec() const { return task_spec_; }

  /// Sorted, for one run each. Of no times the median, mean and IQR are NaN.
  const std::vector<double>& times() const { return times_; }
  double median() const;
  double mean() const;
  double min() const;
  /// Distance between the quartiles: times that other programs disturbed weigh little in it.
  double iqr() const;
  /// How many digits of the median the IQR supports; at least 1.
  int significant_figures() const;
  /// At least three times, and an IQR below `threshold` of the median.
  bool meets_confidence(double threshold = 0.1) const;
  /// That the IQR is over 10% of the median.
  bool has_warnings() const;

  std::string title() const { return task_spec_.title(); }
  /// "sub_label", else the statement: the row of a table.
  std::string as_row_name() const;
  /// Median, IQR, counts and threads, and a warning where the times vary much.
  std::string str() const;

  /// Measurements of equal tasks as one each, in the order in which they first occur, as runs of one statement.
  static std::vector<Measurement> merge(const std::vector<Measurement>& measurements);

 private:
  double quantile(double q) const;
  int64_t number_per_run_;
  std::vector<double> raw_times_, times_;
  TaskSpec task_spec_;
};

/// A unit for a time of about `seconds`: {"us", 1e-6}.
std::pair<const char*, double> select_unit(double seconds);

class CallgrindStats;

/// How often Timer::collect_callgrind counts.
struct Repeats {
  int64_t count;
};

/// Measures a statement: anything callable without arguments. What it returns is computed, however little it is used.
/// The statement runs without anything between its runs, so that calls of nanoseconds can be measured.
class Timer {
 public:
  template <class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
  explicit Timer(F stmt, TimerOptions options = {})
      : Timer(std::function<void(int64_t)>([stmt = std::move(stmt)](int64_t n) mutable {
                for (int64_t i = 0; i < n; ++i) {
                  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
                    stmt();
                    asm volatile("" : : : "memory");
                  } else {
                    keep(stmt());
                  }
                }
              }),
              std::move(options), Loop()) {}

  /// The seconds of `number` runs after one uncounted hundredth of them, as one measurement.
  Measurement timeit(int64_t number = 1000000);

  /// Blocks of runs until min_run_time seconds of them are counted. A block is so long that reading the clock costs
  /// less than a ten-thousandth of it, and at least a thousandth of min_run_time. `callback(number, seconds)` after
  /// each block.
  Measurement blocked_autorange(double min_run_time = 0.2, const std::function<void(int64_t, double)>& callback = {});

  /// The same until the IQR is below `threshold` of the median, for at least min_run_time and at most max_run_time
  /// seconds.
  Measurement adaptive_autorange(double threshold = 0.1, double min_run_time = 0.01, double max_run_time = 10.0,
                                 const std::function<void(int64_t, double)>& callback = {});

  /// How many instructions the calling thread executes in `number` runs, by function, as valgrind's callgrind counts
  /// them: the same number on a busy machine as on an idle one. The program starts itself once more under valgrind,
  /// with the same arguments and no input, and there runs up to this call; what Timers measure on the way takes one run
  /// of each statement. So the calls before must come in the same order every time. Throws std::runtime_error, with the
  /// last lines that the second program wrote, if valgrind is not installed or the statement was not reached.
  /// Processors look poorer under valgrind (AVX2).
  ///
  /// `collect_baseline`: counts the runs of an empty statement too, once for each `number`
  /// (CallgrindStats::baseline_stats). `retain_out_file` keeps the text that callgrind wrote.
  CallgrindStats collect_callgrind(int64_t number = 100, bool collect_baseline = true, bool retain_out_file = false);
  /// `repeats` times, to see what varies: timer.collect_callgrind(100, Repeats{3}). Throws std::invalid_argument where
  /// it is not positive.
  std::vector<CallgrindStats> collect_callgrind(int64_t number, Repeats repeats, bool collect_baseline = true,
                                                bool retain_out_file = false);

 private:
  struct Loop {};
  Timer(std::function<void(int64_t)> loop, TimerOptions options, Loop);
  double seconds_of(int64_t number);
  int64_t block_size(double min_run_time);
  Measurement measure(double min_run_time, double max_run_time, double threshold,
                      const std::function<void(int64_t, double)>& callback);

  std::function<void(int64_t)> loop_;
  TimerOptions options_;
};

}  // namespace torch::utils::benchmark
