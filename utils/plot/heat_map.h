// A matrix as squares, the darker the larger, with names for its rows and columns: attention, confusion.
//
//   write_svg("attention.svg", HeatMap{"attention", {"1", "9"}, {"m", "a", "y"}, {{0.1, 0.2, 0.7}, {0.9, 0, 0.1}}});
#pragma once

#include <string>
#include <vector>

namespace torch::utils::plot {

struct HeatMap {
  std::string title;
  std::vector<std::string> row_labels, column_labels;  // empty: none
  std::vector<std::vector<double>> values;             // rows of one length; what is not finite is left white
  int cell = 24;                                       // pixels a side
};

// The map as an SVG document, from the smallest value (white) to the largest. Throws c10::ValueError where rows differ
// in length, there are more or fewer labels than rows or columns, or `cell` is not positive.
std::string to_svg(const HeatMap& map);

// Replaces the file in one step. Throws torch::serialize::IoError where it cannot be written.
void write_svg(const std::string& path, const HeatMap& map);

}  // namespace torch::utils::plot
