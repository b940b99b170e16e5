#include "utils/plot/scatter_chart.h"

#include "c10/util/exception.h"
#include "utils/plot/svg.h"

namespace torch::utils::plot {

std::string to_svg(const ScatterChart& chart) {
  svg::Range xs, ys;
  for (const PointGroup& g : chart.groups) {
    TORCH_CHECK_VALUE(g.x.size() == g.y.size(), "ScatterChart: group \"", g.name, "\" has ", g.x.size(), " x and ",
                      g.y.size(), " y");
    TORCH_CHECK_VALUE(g.labels.empty() || g.labels.size() == g.x.size(), "ScatterChart: group \"", g.name, "\" has ",
                      g.x.size(), " points and ", g.labels.size(), " labels");
    for (size_t i = 0; i < g.x.size(); ++i) {
      if (!svg::is_drawn(g.x[i], g.y[i])) continue;
      xs.add(g.x[i]);
      ys.add(g.y[i]);
    }
  }
  const svg::Frame frame("ScatterChart", chart.width, chart.height, xs, ys);
  std::string out;
  frame.draw(out, chart.title, chart.x_label, chart.y_label);
  for (size_t k = 0; k < chart.groups.size(); ++k) {
    const PointGroup& g = chart.groups[k];
    for (size_t i = 0; i < g.x.size(); ++i) {
      if (!svg::is_drawn(g.x[i], g.y[i])) continue;
      const double x = frame.at_x(g.x[i]), y = frame.at_y(g.y[i]);
      svg::append(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y, svg::colour(k));
      if (!g.labels.empty()) svg::append_text(out, x + 5, y + 4, "start", g.labels[i]);
    }
    frame.draw_legend(out, k, g.name);
  }
  out += "</svg>\n";
  return out;
}

void write_svg(const std::string& path, const ScatterChart& chart) {
  svg::write(path, to_svg(chart));
}

}  // namespace torch::utils::plot
