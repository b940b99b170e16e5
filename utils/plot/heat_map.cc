#include "utils/plot/heat_map.h"

#include <algorithm>
#include <cmath>

#include "c10/util/exception.h"
#include "utils/plot/svg.h"

namespace torch::utils::plot {
namespace {

constexpr int kTop = 40, kMargin = 20, kLetter = 7;  // pixels; a letter's width, about

int label_width(const std::vector<std::string>& labels) {
  size_t longest = 0;
  for (const std::string& label : labels) longest = std::max(longest, label.size());
  return static_cast<int>(longest) * kLetter;
}

svg::Range check(const HeatMap& map) {
  TORCH_CHECK_VALUE(map.cell > 0, "HeatMap: cells of ", map.cell, " pixels");
  const size_t rows = map.values.size(), columns = rows == 0 ? 0 : map.values[0].size();
  svg::Range range;
  for (const std::vector<double>& row : map.values) {
    TORCH_CHECK_VALUE(row.size() == columns, "HeatMap: rows of ", columns, " and of ", row.size(), " values");
    for (const double v : row) {
      if (svg::is_drawn(v, v)) range.add(v);
    }
  }
  TORCH_CHECK_VALUE(map.row_labels.empty() || map.row_labels.size() == rows, "HeatMap: ", rows, " rows and ",
                    map.row_labels.size(), " labels");
  TORCH_CHECK_VALUE(map.column_labels.empty() || map.column_labels.size() == columns, "HeatMap: ", columns,
                    " columns and ", map.column_labels.size(), " labels");
  range.widen();
  return range;
}

// From white to the charts' first colour.
void append_colour(std::string& out, double part) {
  const auto channel = [&](double end) { return static_cast<int>(std::lround(255 + (end - 255) * part)); };
  svg::append(out, "#%02x%02x%02x", channel(0), channel(0x72), channel(0xb2));
}

}  // namespace

std::string to_svg(const HeatMap& map) {
  const svg::Range range = check(map);
  const size_t rows = map.values.size(), columns = rows == 0 ? 0 : map.values[0].size();
  const int left = kMargin + label_width(map.row_labels), below = label_width(map.column_labels);
  const int title_width = static_cast<int>(map.title.size()) * (kLetter + 1) + 2 * kMargin;
  const int right = left + static_cast<int>(columns) * map.cell, bottom = kTop + static_cast<int>(rows) * map.cell;
  std::string out;
  svg::begin(out, std::max(right + kMargin, title_width), bottom + below + kMargin);
  svg::append(out, "<text x=\"%d\" y=\"24\" font-size=\"15\">", kMargin);
  out += svg::escaped(map.title) + "</text>\n";
  for (size_t i = 0; i < rows; ++i) {
    const int y = kTop + static_cast<int>(i) * map.cell;
    if (!map.row_labels.empty()) svg::append_text(out, left - 6, y + map.cell / 2 + 4, "end", map.row_labels[i]);
    for (size_t j = 0; j < columns; ++j) {
      const double v = map.values[i][j];
      if (!svg::is_drawn(v, v)) continue;
      svg::append(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"",
                  left + static_cast<int>(j) * map.cell, y, map.cell, map.cell);
      append_colour(out, (v - range.low) / (range.high - range.low));
      svg::append(out, "\"><title>%.4g</title></rect>\n", v);
    }
  }
  for (size_t j = 0; j < map.column_labels.size(); ++j) {
    const int x = left + static_cast<int>(j) * map.cell + map.cell / 2 + 4;
    svg::append(out, "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"end\">", x, bottom + 6);
    out += svg::escaped(map.column_labels[j]) + "</text>\n";
  }
  svg::append(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"black\"/>\n</svg>\n",
              left, kTop, right - left, bottom - kTop);
  return out;
}

void write_svg(const std::string& path, const HeatMap& map) {
  svg::write(path, to_svg(map));
}

}  // namespace torch::utils::plot
