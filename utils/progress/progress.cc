#include "utils/progress/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace torch::utils {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int columns_of(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  const long long s = std::llround(std::min(seconds, 1e9));
  char text[48];
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
  }
  return text;
}

std::string format_bar(int64_t done, int64_t total, std::string_view text, double seconds_left, int columns) {
  const double part = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1.0;
  char counts[80];
  std::snprintf(counts, sizeof counts, " %3d%% %lld/%lld ", static_cast<int>(part * 100), static_cast<long long>(done),
                static_cast<long long>(total));
  std::string tail = counts + std::string(text);
  if (seconds_left >= 0) tail += " " + format_duration(seconds_left) + " left";
  const int room = columns - static_cast<int>(tail.size()) - 2;
  std::string out;
  if (room >= 5) {
    const int cells = std::min(room, 40);
    const int filled = static_cast<int>(part * cells);
    out = "[" + std::string(static_cast<size_t>(filled), '=');
    if (filled < cells) out += ">" + std::string(static_cast<size_t>(cells - filled - 1), ' ');
    out += "]";
  }
  out += tail;
  if (static_cast<int>(out.size()) > columns) out.resize(static_cast<size_t>(std::max(columns, 0)));
  return out;
}

Progress::Progress(int64_t total, std::FILE* out, int64_t start, int64_t plain_every, int terminal)
    : out_(out),
      total_(total),
      start_(start),
      done_(start),
      plain_every_(std::max<int64_t>(1, plain_every)),
      terminal_(terminal < 0 ? ::isatty(::fileno(out)) == 1 : terminal != 0),
      began_(now()) {}

Progress::~Progress() { finish(); }

double Progress::seconds_left() const {
  if (done_ <= start_) return -1;
  return (now() - began_) / static_cast<double>(done_ - start_) * static_cast<double>(total_ - done_);
}

void Progress::draw() {
  // Back to the line's start; clear to its end after writing.
  std::fprintf(out_, "\r%s\x1b[K", format_bar(done_, total_, text_, seconds_left(), columns_of(out_) - 1).c_str());
  std::fflush(out_);
  on_line_ = true;
}

void Progress::update(int64_t done, std::string_view text, bool force) {
  done_ = done;
  text_ = text;
  if (terminal_) {
    const double t = now();
    if (!force && done < total_ && drawn_ >= 0 && t - drawn_ < kSecondsBetweenDraws) return;
    drawn_ = t;
    draw();
    return;
  }
  if (!force && done % plain_every_ != 0 && done < total_) return;
  if (printed_ == done) return;
  printed_ = done;
  const double left = seconds_left();
  std::fprintf(out_, "%lld/%lld %s%s\n", static_cast<long long>(done), static_cast<long long>(total_), text_.c_str(),
               left < 0 ? "" : (" " + format_duration(left) + " left").c_str());
  std::fflush(out_);
}

void Progress::line(std::string_view text) {
  std::fprintf(out_, "%s%.*s\n", on_line_ ? "\r\x1b[K" : "", static_cast<int>(text.size()), text.data());
  on_line_ = false;
  if (terminal_ && drawn_ >= 0) draw();
  std::fflush(out_);
}

void Progress::finish() {
  if (on_line_) std::fputc('\n', out_);
  on_line_ = false;
  std::fflush(out_);
}

}  // namespace torch::utils
