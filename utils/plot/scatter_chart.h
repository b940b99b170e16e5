// Points in the plane as SVG, each with a name beside it where it has one: embeddings, clusters.
//
//   torch::utils::plot::ScatterChart chart;
//   chart.groups = {{"animals", {0.1, 0.2}, {1.5, 1.4}, {"cat", "dog"}}};
//   write_svg("words.svg", chart);
#pragma once

#include <string>
#include <vector>

namespace torch::utils::plot {

// Points of one colour; those whose x or y is not finite are left out. `labels` is empty or has one a point.
struct PointGroup {
  std::string name;
  std::vector<double> x, y;
  std::vector<std::string> labels{};
};

struct ScatterChart {
  std::string title, x_label, y_label;
  std::vector<PointGroup> groups;
  int width = 800, height = 600;  // pixels
};

// The chart as an SVG document. Throws c10::ValueError where x, y and labels of a group differ in length or the size is
// below 100 by 100.
std::string to_svg(const ScatterChart& chart);

// Replaces the file in one step. Throws torch::serialize::IoError where it cannot be written.
void write_svg(const std::string& path, const ScatterChart& chart);

}  // namespace torch::utils::plot
