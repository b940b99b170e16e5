#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "utils/benchmark/timer.h"

// A program of benchmarks: rows with what they must move and compute, timed with one and two threads beside the
// roofline of the same run.
//
//   void softmax(bench::Program& p) {
//     p.row("softmax", {.bytes = 2 * 4 * n}, [] {
//       return [x = torch::randn({n / 1024, 1024})] { return at::softmax(x, -1); };   // made when the row's turn comes
//     });
//   }
//   int main(int argc, char** argv) { bench::Program p("kernels"); softmax(p); return p.run(argc, argv); }

namespace torch::utils::benchmark {

/// What a run cannot do without: each operand read once, each result written once, the multiply-adds of the definition
/// (two each). Zero where a row is about something else.
struct Work {
  double bytes = 0, flops = 0;
};

class Program {
 public:
  explicit Program(std::string name) : name_(std::move(name)) {}

  /// What the rows from here on have in common.
  void section(std::string title) { section_ = std::move(title); }

  /// `make()` gives the statement, with what it works on.
  template <class Make>
  void row(std::string name, Work work, Make make) {
    row(std::move(name), [work, make = std::move(make)] { return std::pair(make(), work); });
  }
  /// For work that is known once the statement is made: `make()` gives both.
  template <class Make>
  void row(std::string name, Make make) {
    rows_.push_back({std::move(name),
                     [make = std::move(make)](const TimerOptions& o, Work* work) {
                       auto made = make();
                       *work = made.second;
                       return std::make_unique<Timer>(std::move(made.first), o);
                     },
                     true, section_});
  }
  /// For calls so short that threads play no part.
  template <class Make>
  void call(std::string name, Make make) {
    row(std::move(name), {}, std::move(make));
    rows_.back().threads = false;
  }

  /// Measures and prints. Arguments: --filter=REGEX, --threads=1,2, --min_time=SECONDS a row (0.2), --json=FILE for the
  /// times as one JSON object, --processor_time for the time of all threads on processors, --callgrind for instructions
  /// a run instead of times, --list for the names, below those of their sections. Returns main's result.
  int run(int argc, char** argv);

 private:
  struct Row {
    std::string name;
    std::function<std::unique_ptr<Timer>(const TimerOptions&, Work*)> make;
    bool threads;
    std::string section;
  };
  std::string name_, section_;
  std::vector<Row> rows_;
};

}  // namespace torch::utils::benchmark
