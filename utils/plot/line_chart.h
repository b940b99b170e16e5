// Line charts as SVG, readable in any browser: axes, ticks, a grid, a legend.
//
//   torch::utils::plot::LineChart chart;
//   chart.title = "loss";
//   chart.series = {{"train", steps, losses}, {"validation", eval_steps, eval_losses}};
//   write_svg("loss.svg", chart);
#pragma once

#include <string>
#include <vector>

#include "utils/plot/ticks.h"

namespace torch::utils::plot {

// Points in order; where x or y is not finite the line has a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;
};

struct LineChart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  int width = 800, height = 480;  // pixels
};

// The chart as an SVG document. Throws c10::ValueError where x and y of a series differ in length or the size is below
// 100 by 100.
std::string to_svg(const LineChart& chart);

// Replaces the file in one step. Throws torch::serialize::IoError where it cannot be written.
void write_svg(const std::string& path, const LineChart& chart);

}  // namespace torch::utils::plot
