#include "utils/benchmark/timer.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "c10/parallel/parallel.h"
#include "utils/benchmark/callgrind.h"

namespace torch::utils::benchmark {
namespace {

double read_clock(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// at::set_num_threads for a while.
class ThreadsGuard {
 public:
  explicit ThreadsGuard(int threads) : before_(at::get_num_threads()) {
    if (threads != before_) at::set_num_threads(threads);
  }
  ~ThreadsGuard() {
    if (at::get_num_threads() != before_) at::set_num_threads(before_);
  }
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  int before_;
};

// What reading the clock around a block costs.
double clock_seconds(double (*timer)()) {
  double best = 1;
  for (int i = 0; i < 100; ++i) {
    const double start = timer();
    best = std::min(best, timer() - start);
  }
  return best;
}

std::string format(const char* pattern, double x) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, x);
  return text;
}

constexpr double kWarningShare = 0.1;

}  // namespace

double wall_time() { return read_clock(CLOCK_MONOTONIC); }
double processor_time() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::string TaskSpec::title() const {
  if (label.empty()) return sub_label.empty() ? stmt : stmt + ": " + sub_label;
  return sub_label.empty() ? label : label + ": " + sub_label;
}

Measurement::Measurement(int64_t number_per_run, std::vector<double> raw_times, TaskSpec task_spec)
    : number_per_run_(number_per_run), raw_times_(std::move(raw_times)), task_spec_(std::move(task_spec)) {
  if (number_per_run < 1)
    throw std::invalid_argument("Measurement: number_per_run must be positive, but got " +
                                std::to_string(number_per_run));
  for (double t : raw_times_) times_.push_back(t / static_cast<double>(number_per_run));
  std::sort(times_.begin(), times_.end());
}

double Measurement::quantile(double q) const {
  if (times_.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = q * static_cast<double>(times_.size() - 1);
  const size_t below = static_cast<size_t>(place), above = std::min(below + 1, times_.size() - 1);
  return times_[below] + (times_[above] - times_[below]) * (place - static_cast<double>(below));
}

double Measurement::median() const { return quantile(0.5); }
double Measurement::min() const { return quantile(0); }
double Measurement::iqr() const { return quantile(0.75) - quantile(0.25); }

double Measurement::mean() const {
  if (times_.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (double t : times_) sum += t;
  return sum / static_cast<double>(times_.size());
}

int Measurement::significant_figures() const {
  // The upper end of the deviation of the median that quartiles of so many times speak for.
  const double count = static_cast<double>(std::max<size_t>(times_.size(), 1));
  const double deviation = std::max(
      {1.645 * (iqr() / 1.349) / std::sqrt(count), median() * 1e-4, 1e-9 / static_cast<double>(number_per_run_)});
  if (!(deviation > 0) || !(median() > 0)) return 1;
  return std::max(1, static_cast<int>(std::floor(std::log10(median() / deviation))) + 1);
}

bool Measurement::meets_confidence(double threshold) const {
  return times_.size() >= 3 && iqr() / median() < threshold;
}
bool Measurement::has_warnings() const { return times_.size() > 1 && iqr() / median() >= kWarningShare; }
std::string Measurement::as_row_name() const {
  return task_spec_.sub_label.empty() ? task_spec_.stmt : task_spec_.sub_label;
}

std::string Measurement::str() const {
  std::string s = "<torch::utils::benchmark::Measurement>\n" + title() + "\n";
  if (!task_spec_.description.empty()) s += task_spec_.description + "\n";
  const auto [unit, scale] = select_unit(median());
  const auto in_unit = [&, scale = scale](double t) { return format("%.2f", t / scale); };
  const size_t n = times_.size();
  if (n == 1) {
    s += "  " + in_unit(median()) + " " + unit + "\n";
  } else {
    s += "  Median: " + in_unit(median()) + " " + unit + "\n";
    if (n > 2)
      s += "  IQR:    " + in_unit(iqr()) + " " + unit + " (" + in_unit(quantile(0.25)) + " to " +
           in_unit(quantile(0.75)) + ")\n";
  }
  s += "  " + std::to_string(n) + (n == 1 ? " measurement, " : " measurements, ") + std::to_string(number_per_run_) +
       (n == 1 ? " runs, " : " runs per measurement, ") + std::to_string(task_spec_.num_threads) +
       (task_spec_.num_threads == 1 ? " thread" : " threads");
  if (has_warnings()) {
    s += "\n  WARNING: Interquartile range is " + format("%.1f", iqr() / median() * 100) +
         "% of the median measurement.\n" + "           This suggests significant environmental influence.";
  }
  return s;
}

std::vector<Measurement> Measurement::merge(const std::vector<Measurement>& measurements) {
  std::vector<Measurement> merged;
  for (const Measurement& m : measurements) {
    const auto same =
        std::find_if(merged.begin(), merged.end(), [&](const Measurement& k) { return k.task_spec_ == m.task_spec_; });
    if (same == merged.end()) {
      merged.push_back(m);
      continue;
    }
    std::vector<double> times = same->times_;
    times.insert(times.end(), m.times_.begin(), m.times_.end());
    *same = Measurement(1, std::move(times), m.task_spec_);
  }
  return merged;
}

std::pair<const char*, double> select_unit(double seconds) {
  if (!(seconds >= 1e-6)) return {"ns", 1e-9};
  if (seconds < 1e-3) return {"us", 1e-6};
  return seconds < 1 ? std::pair{"ms", 1e-3} : std::pair{"s", 1.0};
}

Timer::Timer(std::function<void(int64_t)> loop, TimerOptions options, Loop)
    : loop_(std::move(loop)), options_(std::move(options)) {
  if (options_.num_threads < 1)
    throw std::invalid_argument("Timer: num_threads must be positive, but got " + std::to_string(options_.num_threads));
}

double Timer::seconds_of(int64_t number) {
  const double start = options_.timer();
  loop_(number);
  return std::max(options_.timer() - start, 1e-9);
}

Measurement Timer::timeit(int64_t number) {
  if (number < 1)
    throw std::invalid_argument("Timer::timeit: number must be positive, but got " + std::to_string(number));
  if (internal::counts_only()) number = 1;
  const ThreadsGuard threads(options_.num_threads);
  if (options_.setup) options_.setup();
  loop_(std::max<int64_t>(number / 100, 2));
  return Measurement(number, {seconds_of(number)}, options_);
}

int64_t Timer::block_size(double min_run_time) {
  const double clock = clock_seconds(options_.timer);
  loop_(1);  // what is made at the first call
  for (int64_t number = 1;; number *= 10) {
    const double taken = seconds_of(number);
    const bool fits = clock / taken <= 1e-4 && taken >= min_run_time / 1000;
    if (fits || taken > min_run_time || number >= std::numeric_limits<int64_t>::max() / 10) return number;
  }
}

Measurement Timer::measure(double min_run_time, double max_run_time, double threshold,
                           const std::function<void(int64_t, double)>& callback) {
  const ThreadsGuard threads(options_.num_threads);
  if (options_.setup) options_.setup();
  if (internal::counts_only()) return Measurement(1, {seconds_of(1)}, options_);
  const int64_t number = block_size(min_run_time);
  std::vector<double> times;
  for (double total = 0;;) {
    times.push_back(seconds_of(number));
    total += times.back();
    if (callback) callback(number, times.back());
    if (total >= max_run_time) break;
    if (total >= min_run_time && (threshold <= 0 || Measurement(number, times, options_).meets_confidence(threshold)))
      break;
  }
  return Measurement(number, std::move(times), options_);
}

Measurement Timer::blocked_autorange(double min_run_time, const std::function<void(int64_t, double)>& callback) {
  return measure(min_run_time, std::numeric_limits<double>::infinity(), 0, callback);
}

Measurement Timer::adaptive_autorange(double threshold, double min_run_time, double max_run_time,
                                      const std::function<void(int64_t, double)>& callback) {
  return measure(min_run_time, max_run_time, threshold, callback);
}

std::vector<CallgrindStats> Timer::collect_callgrind(int64_t number, Repeats repeats, bool collect_baseline,
                                                     bool retain_out_file) {
  if (repeats.count < 1)
    throw std::invalid_argument("Timer::collect_callgrind: repeats must be positive, but got " +
                                std::to_string(repeats.count));
  std::vector<CallgrindStats> out;
  for (int64_t i = 0; i < repeats.count; ++i)
    out.push_back(collect_callgrind(number, collect_baseline, retain_out_file));
  return out;
}

CallgrindStats Timer::collect_callgrind(int64_t number, bool collect_baseline, bool retain_out_file) {
  if (number < 1)
    throw std::invalid_argument("Timer::collect_callgrind: number must be positive, but got " + std::to_string(number));
  const CallgrindStats::Profile baseline =
      collect_baseline ? internal::baseline_of(number) : CallgrindStats::Profile();
  const ThreadsGuard threads(options_.num_threads);
  return internal::collect(
      [&](int64_t n) {
        if (options_.setup) options_.setup();
        loop_(2);
        internal::counted_region(loop_, n);
      },
      number, options_, baseline, retain_out_file);
}

}  // namespace torch::utils::benchmark
