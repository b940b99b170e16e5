// Medians, quartiles, tables and instruction counts. Times themselves are only held against bounds that no machine
// misses.
#include "utils/benchmark/timer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "c10/parallel/parallel.h"
#include "utils/benchmark/callgrind.h"
#include "utils/benchmark/compare.h"
#include "utils/benchmark/roofline.h"

namespace {

using torch::utils::benchmark::CallgrindStats;
using torch::utils::benchmark::Compare;
using torch::utils::benchmark::FunctionCounts;
using torch::utils::benchmark::Measurement;
using torch::utils::benchmark::Roofline;
using torch::utils::benchmark::TaskSpec;
using torch::utils::benchmark::Timer;
using torch::utils::benchmark::TimerOptions;

TaskSpec task(const char* label, const char* sub_label, const char* description, int threads = 1,
              const char* env = "") {
  TaskSpec t;
  t.label = label, t.sub_label = sub_label, t.description = description, t.num_threads = threads, t.env = env;
  return t;
}

TEST(Measurement, StatisticsAreForOneRun) {
  const Measurement m(10, {30e-6, 10e-6, 20e-6, 12e-6, 11e-6}, task("L", "S", "D", 2));
  EXPECT_EQ(m.times(), (std::vector<double>{10e-6 / 10, 11e-6 / 10, 12e-6 / 10, 20e-6 / 10, 30e-6 / 10}));
  EXPECT_DOUBLE_EQ(m.median(), 1.2e-6);
  EXPECT_DOUBLE_EQ(m.mean(), 1.66e-6);
  EXPECT_DOUBLE_EQ(m.min(), 1e-6);
  EXPECT_NEAR(m.iqr(), 0.9e-6, 1e-15);
  EXPECT_TRUE(m.has_warnings());
  EXPECT_FALSE(m.meets_confidence());
  EXPECT_EQ(m.str(),
            "<torch::utils::benchmark::Measurement>\nL: S\nD\n  Median: 1.20 us\n  IQR:    0.90 us (1.10 to 2.00)\n"
            "  5 measurements, 10 runs per measurement, 2 threads\n"
            "  WARNING: Interquartile range is 75.0% of the median measurement.\n"
            "           This suggests significant environmental influence.");
  EXPECT_EQ(Measurement(3, {6e-3}, TaskSpec()).str(),
            "<torch::utils::benchmark::Measurement>\nstmt\n  2.00 ms\n  1 measurement, 3 runs, 1 thread");
  EXPECT_DOUBLE_EQ(Measurement(1, {1, 2, 3, 4}, TaskSpec()).median(), 2.5);
  EXPECT_DOUBLE_EQ(Measurement(1, {1, 2, 3, 4}, TaskSpec()).iqr(), 1.5);
  EXPECT_TRUE(std::isnan(Measurement(1, {}, TaskSpec()).median()));
  EXPECT_THROW(Measurement(0, {1}, TaskSpec()), std::invalid_argument);
}

TEST(Measurement, MergesEqualTasks) {
  const auto merged =
      Measurement::merge({Measurement(10, {10}, task("a", "", "")), Measurement(1, {7}, task("b", "", "")),
                          Measurement(2, {6}, task("a", "", "")), Measurement(1, {9}, task("a", "", "", 2))});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].times(), (std::vector<double>{1, 3}));
  EXPECT_EQ(merged[1].times(), std::vector<double>{7});
  EXPECT_EQ(merged[2].task_spec().num_threads, 2);
}

TEST(Measurement, FiguresThatTheSpreadSupports) {
  EXPECT_EQ(Measurement(1000, {1, 1, 1, 1}, TaskSpec()).significant_figures(), 5);
  EXPECT_EQ(Measurement(1, {1, 1.1, 1.2, 1.3}, TaskSpec()).significant_figures(),
            1 + static_cast<int>(std::log10(1.15 / (1.645 * 0.15 / 1.349 / 2))));
}

TEST(Timer, TimesWhatSleeps) {
  TimerOptions options;
  options.num_threads = 2;
  const int threads = at::get_num_threads();
  int seen = 0, runs = 0, set_up = 0;
  options.setup = [&] { ++set_up; };
  Timer timer([&] { std::this_thread::sleep_for(std::chrono::milliseconds(2)), seen = at::get_num_threads(), ++runs; },
              options);
  const Measurement one = timer.timeit(5);
  EXPECT_EQ(one.number_per_run(), 5);
  EXPECT_EQ(one.times().size(), 1u);
  EXPECT_GE(one.median(), 2e-3);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_EQ(runs, 5 + 2);
  EXPECT_EQ(set_up, 1);
  double counted = 0;
  const Measurement blocked = timer.blocked_autorange(0.02, [&](int64_t number, double seconds) {
    counted += seconds;
    EXPECT_GE(number, 1);
  });
  EXPECT_GE(blocked.median(), 2e-3);
  EXPECT_GE(counted, 0.02);
  EXPECT_EQ(set_up, 2);
  EXPECT_LE(timer.adaptive_autorange(1e-9, 0.01, 0.03).times().size(), 15u);
  EXPECT_THROW(timer.timeit(0), std::invalid_argument);
  options.timer = torch::utils::benchmark::processor_time;
  EXPECT_LT(Timer([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, options).timeit(1).median(),
            0.01);
  options.num_threads = 0;
  EXPECT_THROW(Timer([] {}, options), std::invalid_argument);
}

TEST(Timer, BlocksOfShortStatementsAreLong) {
  int64_t x = 0;
  const Measurement m = Timer([&] { return ++x; }).blocked_autorange(0.02);
  EXPECT_GE(m.number_per_run(), 100);
  EXPECT_LT(m.median(), 1e-5);
  EXPECT_GE(x, m.number_per_run() * static_cast<int64_t>(m.times().size()));
}

TEST(Compare, Table) {
  Compare c({Measurement(1, {1e-6}, task("x", "a", "one")), Measurement(1, {1.14e-6}, task("x", "a", "two")),
             Measurement(1, {3e-6}, task("x", "bb", "one")), Measurement(1, {2e-6}, task("x", "bb", "two")),
             Measurement(1, {123.4e-6}, task("x", "bb", "two", 2)), Measurement(1, {9e-3}, task("y", "", "one"))});
  EXPECT_EQ(c.str(),
            "[----------- x ------------]\n"
            "          |  one  |   two   \n"
            "1 threads: -----------------\n"
            "      a   |  1.0  |    1.1  \n"
            "      bb  |  3.0  |    2.0  \n"
            "2 threads: -----------------\n"
            "      bb  |       |  123.4  \n"
            "\nTimes are in microseconds (us).\n"
            "[------- y --------]\n"
            "            |  one  \n"
            "1 threads: ---------\n"
            "      stmt  |  9.0  \n"
            "\nTimes are in milliseconds (ms).\n");
}

TEST(Compare, DigitsWarningsAndColors) {
  const std::vector<double> spread = {1e-6, 1.5e-6, 2e-6, 2.5e-6};
  Compare c({Measurement(1, spread, task("x", "a", "one")), Measurement(1, {4e-6}, task("x", "b", "one")),
             Measurement(1, {4e-6}, task("x", "b", "one", 1, "new"))});
  c.highlight_warnings();
  EXPECT_NE(c.str().find("1.8 (! 43%)"), std::string::npos) << c.str();
  EXPECT_NE(c.str().find("(! XX%) Measurement has high variance, where XX is the IQR / median * 100."),
            std::string::npos);
  EXPECT_NE(c.str().find("(new) b"), std::string::npos);
  c.trim_significant_figures();
  EXPECT_NE(c.str().find(" 2 (! 43%)"), std::string::npos) << c.str();
  c.colorize();
  EXPECT_NE(c.str().find("\033[92m\033[1m"), std::string::npos);
  EXPECT_NE(c.str().find("\033[31m\033[1m"), std::string::npos);
  c.extend_results({Measurement(1, {1e-3}, task("x", "a", "one"))});
  EXPECT_NE(c.str().find("2 (!"), std::string::npos) << c.str();
}

TEST(Callgrind, ReadsItsFiles) {
  const auto profile = torch::utils::benchmark::internal::parse_callgrind(
      "# callgrind format\nversion: 1\npositions: line\nevents: Ir\n\nfn=(1) main\n1 3\n+2 4\ncfn=(2) f(int)\ncalls=2 "
      "7\n* 100\n4 1\n"
      "\nfn=(2)\n7 90\n* 10\n\nfn=(3) g\ncfn=(1)\ncalls=1 1\n3 50\n9 2\ntotals: 110\n");
  const FunctionCounts& counts = profile.exclusive;
  EXPECT_EQ(profile.inclusive.str(), "         108  main\n         100  f(int)\n          52  g\nTotal: 260\n");
  EXPECT_THROW(counts - profile.inclusive, std::invalid_argument);
  EXPECT_EQ((counts + counts).sum(), 220);
  EXPECT_EQ((profile.inclusive - profile.inclusive).size(), 0u);
  ASSERT_EQ(counts.counts().size(), 3u);
  EXPECT_EQ(counts.counts()[0], (torch::utils::benchmark::FunctionCount{100, "f(int)"}));
  EXPECT_EQ(counts.counts()[1], (torch::utils::benchmark::FunctionCount{8, "main"}));
  EXPECT_EQ(counts.counts()[2], (torch::utils::benchmark::FunctionCount{2, "g"}));
  EXPECT_EQ(counts.sum(), 110);
  EXPECT_EQ(counts.minus(FunctionCounts({{8, "main"}, {3, "h"}})).str(),
            "         100  f(int)\n           2  g\n          -3  h\nTotal: 99\n");
  EXPECT_EQ(counts.filter([](const std::string& s) { return s == "g"; }).sum(), 2);
  EXPECT_EQ(counts.transform([](const std::string&) { return "all"; }).str(1), "         110  all\nTotal: 110\n");
  EXPECT_THROW(torch::utils::benchmark::internal::parse_callgrind("events: Cycles\n"), std::runtime_error);
}

// Names with files and libraries, which hold until the next; a function that calls itself.
TEST(Callgrind, NamesFilesAndLibraries) {
  auto profile = torch::utils::benchmark::internal::parse_callgrind(
      "events: Ir\nob=(1) /lib/x.so\nfl=(1) /a/build/aten/x.cc\nfn=(1) f()\n1 5\nfi=(2) /b/execroot/_main/y.h\n2 1\n"
      "cfn=(1)\ncalls=3 1\n* 9\ncob=(2) /lib/y.so\ncfi=(3) dictobject.c\ncfn=(2) lookdict_unicode\ncalls=1 1\n* 4\n"
      "\nfn=(3) g\n3 2\n\nob=(2)\nfl=(3)\nfn=(2)\n1 4\n");
  const CallgrindStats stats(TaskSpec(), 2, profile, {FunctionCounts({{3, "loop"}}), {}});
  EXPECT_EQ(stats.stats().str(),
            "           6  /a/build/aten/x.cc:f() [/lib/x.so]\n           4  "
            "dictobject.c:lookdict_unicode [/lib/y.so]\n           2  "
            "/b/execroot/_main/y.h:g [/lib/x.so]\nTotal: 12\n");
  EXPECT_EQ(stats.stats(/*inclusive=*/true)[0].count, 10);
  EXPECT_EQ(stats.counts(), 12);
  EXPECT_EQ(stats.counts(/*denoise=*/true), 8);
  const CallgrindStats standard = stats.as_standardized();
  EXPECT_EQ(standard.stats()[0].function, "build/aten/x.cc:f()");
  EXPECT_EQ(standard.stats()[2].function, "y.h:g");
  EXPECT_EQ(standard.delta(standard).size(), 0u);
  EXPECT_EQ(stats.delta(standard, /*inclusive=*/true)[0].count, 10);
  EXPECT_NE(stats.str().find("Baseline:     3\n"), std::string::npos) << stats.str();
}

[[gnu::noinline]] int64_t sum_of(const volatile int64_t* x, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

TEST(Callgrind, CountsWhatAStatementExecutes) {
  int64_t x[100] = {};
  Timer small([&] { return sum_of(x, 10); }), large([&] { return sum_of(x, 100); });
  if (std::system("valgrind --version > /dev/null 2>&1") != 0) {
    EXPECT_THROW(small.collect_callgrind(10), std::runtime_error);
    return;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    (defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)))
  GTEST_SKIP() << "valgrind and sanitizers exclude each other";
#endif
  const CallgrindStats a = small.collect_callgrind(10), b = large.collect_callgrind(10),
                       again = small.collect_callgrind(10);
  const std::vector<CallgrindStats> twice =
      small.collect_callgrind(10, torch::utils::benchmark::Repeats{2}, /*collect_baseline=*/false, true);
  EXPECT_EQ(a.counts(), again.counts());
  EXPECT_GE(a.counts(), 10 * 10);
  EXPECT_GE(b.counts() - a.counts(), 10 * 90 / 2);
  EXPECT_EQ(b.delta(a).sum(), b.counts() - a.counts());
  EXPECT_NE(b.delta(a).str().find("sum_of"), std::string::npos) << b.delta(a).str();
  EXPECT_NE(a.str().find("10 runs, 1 thread"), std::string::npos);
  EXPECT_GT(a.baseline_stats().sum(), 0);
  EXPECT_LT(a.baseline_stats().sum(), a.counts());
  EXPECT_GE(a.stats(/*inclusive=*/true)[0].count, a.counts());
  ASSERT_EQ(twice.size(), 2u);
  EXPECT_EQ(twice[1].counts(), a.counts());
  EXPECT_EQ(twice[1].baseline_stats().size(), 0u);
  EXPECT_NE(twice[1].stmt_callgrind_out()->find("events: Ir"), std::string::npos);
  EXPECT_FALSE(a.stmt_callgrind_out().has_value());
  EXPECT_THROW(small.collect_callgrind(10, torch::utils::benchmark::Repeats{0}), std::invalid_argument);
}

TEST(Roofline, TheNearerLimitCounts) {
  const Roofline r{1e9, 1e8};
  EXPECT_DOUBLE_EQ(r.floor(1e8, 1e8), 1);
  EXPECT_DOUBLE_EQ(r.floor(1e8, 3e9), 3);
  EXPECT_DOUBLE_EQ(Roofline().floor(1, 1), 0);
}

}  // namespace
