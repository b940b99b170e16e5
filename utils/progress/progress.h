// Progress of a long loop: a bar that is redrawn in place on a terminal, plain lines elsewhere.
//
//   torch::utils::Progress progress(steps, stdout);
//   for (int64_t i = 1; i <= steps; ++i) { ...; progress.update(i, "loss 2.31"); }
//   progress.finish();
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace torch::utils {

// "1:02:03", "2:03" or "0:07".
std::string format_duration(double seconds);
// One line of at most `columns` bytes: "[=====>    ]  50% 500/1000 text 0:12 left". `seconds_left` < 0 is unknown.
std::string format_bar(int64_t done, int64_t total, std::string_view text, double seconds_left, int columns);

class Progress {
 public:
  // Counts to `total`; `start` is where the count begins (a resumed loop). Plain lines come every `plain_every` steps and
  // at the end; a bar is redrawn at most ten times a second. `terminal`: -1 asks isatty.
  Progress(int64_t total, std::FILE* out, int64_t start = 0, int64_t plain_every = 100, int terminal = -1);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps are done. `force` draws or prints now.
  void update(int64_t done, std::string_view text, bool force = false);
  // A line of its own, above the bar.
  void line(std::string_view text);
  // Ends the bar's line. Also done by the destructor.
  void finish();

  bool is_terminal() const { return terminal_; }
  // From the pace since the start; -1 where nothing is known yet.
  double seconds_left() const;

 private:
  void draw();

  std::FILE* out_;
  int64_t total_, start_, done_, plain_every_;
  bool terminal_, on_line_ = false;
  double began_, drawn_ = -1;
  int64_t printed_ = -1;
  std::string text_;
};

}  // namespace torch::utils
