// What the charts share: the frame with title, axes, ticks and grid, and text that is safe in SVG. For utils/plot only.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace torch::utils::plot::svg {

// The k-th colour, again from the first after six: distinguishable with the common forms of colour blindness.
const char* colour(size_t k);

std::string escaped(std::string_view text);

template <typename... Args>
void append(std::string& out, const char* format, Args... args) {
  char line[256];
  std::snprintf(line, sizeof line, format, args...);
  out += line;
}

// <text> at a place, anchored at its "start", "middle" or "end".
void append_text(std::string& out, double x, double y, const char* anchor, std::string_view text);

// Opens the document with a white ground.
void begin(std::string& out, int width, int height);

// Whether a point can be drawn at all.
bool is_drawn(double x, double y);

struct Range {
  double low = INFINITY, high = -INFINITY;

  void add(double v);
  // Never empty, so that a single point and a constant line have a scale too.
  void widen();
};

// Where the values of a chart are on the picture.
class Frame {
 public:
  static constexpr int kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;

  // `name` is the chart's, for errors. Throws c10::ValueError for a size below 100 by 100.
  Frame(const char* name, int width, int height, Range xs, Range ys);

  double at_x(double v) const { return kLeft + (v - xs_.low) / (xs_.high - xs_.low) * plot_width_; }
  double at_y(double v) const { return kTop + (ys_.high - v) / (ys_.high - ys_.low) * plot_height_; }

  // Opens the document and draws grid, ticks, title and labels.
  void draw(std::string& out, std::string_view title, std::string_view x_label, std::string_view y_label) const;
  // The k-th line of the legend.
  void draw_legend(std::string& out, size_t k, std::string_view name) const;

 private:
  int width_, height_;
  Range xs_, ys_;
  double plot_width_, plot_height_;
};

// Replaces the file in one step. Throws torch::serialize::IoError where it cannot be written.
void write(const std::string& path, std::string_view document);

}  // namespace torch::utils::plot::svg
