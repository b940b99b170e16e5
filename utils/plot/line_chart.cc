#include "utils/plot/line_chart.h"

#include "c10/util/exception.h"
#include "utils/plot/svg.h"

namespace torch::utils::plot {

std::string to_svg(const LineChart& chart) {
  svg::Range xs, ys;
  for (const Series& s : chart.series) {
    TORCH_CHECK_VALUE(s.x.size() == s.y.size(), "LineChart: series \"", s.name, "\" has ", s.x.size(), " x and ",
                      s.y.size(), " y");
    for (size_t i = 0; i < s.x.size(); ++i) {
      if (!svg::is_drawn(s.x[i], s.y[i])) continue;
      xs.add(s.x[i]);
      ys.add(s.y[i]);
    }
  }
  const svg::Frame frame("LineChart", chart.width, chart.height, xs, ys);
  std::string out;
  frame.draw(out, chart.title, chart.x_label, chart.y_label);
  for (size_t k = 0; k < chart.series.size(); ++k) {
    const Series& s = chart.series[k];
    svg::append(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" stroke-linecap=\"round\" d=\"",
                svg::colour(k));
    bool pen_down = false;
    for (size_t i = 0; i < s.x.size(); ++i) {
      const bool drawn = svg::is_drawn(s.x[i], s.y[i]);
      // A lone point is a line of length zero, which a round cap shows as a dot.
      if (drawn) svg::append(out, pen_down ? "L%.1f %.1f" : "M%.1f %.1fh0", frame.at_x(s.x[i]), frame.at_y(s.y[i]));
      pen_down = drawn;
    }
    out += "\"/>\n";
    frame.draw_legend(out, k, s.name);
  }
  out += "</svg>\n";
  return out;
}

void write_svg(const std::string& path, const LineChart& chart) {
  svg::write(path, to_svg(chart));
}

}  // namespace torch::utils::plot
