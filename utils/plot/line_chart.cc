#include "utils/plot/line_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

// Distinguishable with the common forms of colour blindness (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr int kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

template <typename... Args>
void append(std::string& out, const char* format, Args... args) {
  char line[256];
  std::snprintf(line, sizeof line, format, args...);
  out += line;
}

struct Range {
  double low = INFINITY, high = -INFINITY;

  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  // Never empty, so that a single point and a constant line have a scale too.
  void widen() {
    if (low > high) low = 0, high = 1;
    if (high - low < 1e-12 * std::max(std::abs(low), std::abs(high)) || high == low) {
      const double margin = high == 0 ? 1 : std::abs(high) * 0.05;
      low -= margin;
      high += margin;
    }
  }
};

bool is_drawn(double x, double y) { return std::isfinite(x) && std::isfinite(y) && std::abs(x) < 1e300 && std::abs(y) < 1e300; }

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> out;
  if (!(high > low) || count < 1) return out;
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough < 1.5 * power ? 1 : rough < 3.5 * power ? 2 : rough < 7.5 * power ? 5 : 10);
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * step && out.size() < 100; ++i) out.push_back(i == 0 ? 0 : i * step);
  return out;
}

std::string to_svg(const LineChart& chart) {
  TORCH_CHECK_VALUE(chart.width >= 100 && chart.height >= 100, "LineChart: a size of ", chart.width, " by ", chart.height);
  Range xs, ys;
  for (const Series& s : chart.series) {
    TORCH_CHECK_VALUE(s.x.size() == s.y.size(), "LineChart: series \"", s.name, "\" has ", s.x.size(), " x and ", s.y.size(), " y");
    for (size_t i = 0; i < s.x.size(); ++i) {
      if (!is_drawn(s.x[i], s.y[i])) continue;
      xs.add(s.x[i]);
      ys.add(s.y[i]);
    }
  }
  xs.widen();
  ys.widen();
  const double plot_width = chart.width - kLeft - kRight, plot_height = chart.height - kTop - kBottom;
  const auto at_x = [&](double v) { return kLeft + (v - xs.low) / (xs.high - xs.low) * plot_width; };
  const auto at_y = [&](double v) { return kTop + (ys.high - v) / (ys.high - ys.low) * plot_height; };

  std::string out;
  append(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ", chart.width,
         chart.height, chart.width, chart.height);
  out += "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += "<g stroke=\"#dddddd\">\n";
  const std::vector<double> x_ticks = ticks(xs.low, xs.high, 8), y_ticks = ticks(ys.low, ys.high, 6);
  const double bottom = kTop + plot_height, right = kLeft + plot_width;
  for (const double t : x_ticks) append(out, "<path d=\"M%.1f %d V%.1f\"/>\n", at_x(t), kTop, bottom);
  for (const double t : y_ticks) append(out, "<path d=\"M%d %.1f H%.1f\"/>\n", kLeft, at_y(t), right);
  append(out, "</g>\n<path d=\"M%d %d V%.1f H%.1f\" fill=\"none\" stroke=\"black\"/>\n", kLeft, kTop, bottom, right);
  for (const double t : x_ticks) {
    append(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g</text>\n", at_x(t), bottom + 18, t);
  }
  for (const double t : y_ticks) {
    append(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", kLeft - 8, at_y(t) + 4, t);
  }
  append(out, "<text x=\"%.1f\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">", kLeft + plot_width / 2);
  out += escaped(chart.title) + "</text>\n";
  append(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", kLeft + plot_width / 2, chart.height - 10);
  out += escaped(chart.x_label) + "</text>\n";
  append(out, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">", kTop + plot_height / 2);
  out += escaped(chart.y_label) + "</text>\n";

  for (size_t k = 0; k < chart.series.size(); ++k) {
    const Series& s = chart.series[k];
    const char* colour = kColours[k % std::size(kColours)];
    append(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" stroke-linecap=\"round\" d=\"", colour);
    bool pen_down = false;
    for (size_t i = 0; i < s.x.size(); ++i) {
      const bool drawn = is_drawn(s.x[i], s.y[i]);
      // A lone point is a line of length zero, which a round cap shows as a dot.
      if (drawn) append(out, pen_down ? "L%.1f %.1f" : "M%.1f %.1fh0", at_x(s.x[i]), at_y(s.y[i]));
      pen_down = drawn;
    }
    out += "\"/>\n";
    const double y = kTop + 14 + 18.0 * static_cast<double>(k);
    append(out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%.1f %.1fh20\"/>", colour, right - 130, y - 4);
    append(out, "<text x=\"%.1f\" y=\"%.1f\">", right - 104, y);
    out += escaped(s.name) + "</text>\n";
  }
  out += "</svg>\n";
  return out;
}

void write_svg(const std::string& path, const LineChart& chart) {
  const std::string svg = to_svg(chart);
  serialize::AtomicFile file(path);
  file.write(svg);
  file.commit();
}

}  // namespace torch::utils::plot
