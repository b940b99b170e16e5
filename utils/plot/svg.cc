#include "utils/plot/svg.h"

#include <algorithm>
#include <iterator>

#include "c10/util/exception.h"
#include "utils/plot/ticks.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot::svg {

const char* colour(size_t k) {
  // Okabe and Ito.
  static constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
  return kColours[k % std::size(kColours)];
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

void append_text(std::string& out, double x, double y, const char* anchor, std::string_view text) {
  append(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  out += escaped(text) + "</text>\n";
}

void begin(std::string& out, int width, int height) {
  append(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ", width,
         height, width, height);
  out += "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
}

bool is_drawn(double x, double y) {
  return std::isfinite(x) && std::isfinite(y) && std::abs(x) < 1e300 && std::abs(y) < 1e300;
}

void Range::add(double v) {
  low = std::min(low, v);
  high = std::max(high, v);
}

void Range::widen() {
  if (low > high) low = 0, high = 1;
  if (high - low < 1e-12 * std::max(std::abs(low), std::abs(high)) || high == low) {
    const double margin = high == 0 ? 1 : std::abs(high) * 0.05;
    low -= margin;
    high += margin;
  }
}

Frame::Frame(const char* name, int width, int height, Range xs, Range ys)
    : width_(width), height_(height), xs_(xs), ys_(ys) {
  TORCH_CHECK_VALUE(width >= 100 && height >= 100, name, ": a size of ", width, " by ", height);
  xs_.widen();
  ys_.widen();
  plot_width_ = width - kLeft - kRight;
  plot_height_ = height - kTop - kBottom;
}

void Frame::draw(std::string& out, std::string_view title, std::string_view x_label, std::string_view y_label) const {
  begin(out, width_, height_);
  out += "<g stroke=\"#dddddd\">\n";
  const std::vector<double> x_ticks = ticks(xs_.low, xs_.high, 8), y_ticks = ticks(ys_.low, ys_.high, 6);
  const double bottom = kTop + plot_height_, right = kLeft + plot_width_;
  for (const double t : x_ticks) append(out, "<path d=\"M%.1f %d V%.1f\"/>\n", at_x(t), kTop, bottom);
  for (const double t : y_ticks) append(out, "<path d=\"M%d %.1f H%.1f\"/>\n", kLeft, at_y(t), right);
  append(out, "</g>\n<path d=\"M%d %d V%.1f H%.1f\" fill=\"none\" stroke=\"black\"/>\n", kLeft, kTop, bottom, right);
  for (const double t : x_ticks) {
    append(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g</text>\n", at_x(t), bottom + 18, t);
  }
  for (const double t : y_ticks) {
    append(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", kLeft - 8, at_y(t) + 4, t);
  }
  append(out, "<text x=\"%.1f\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">", kLeft + plot_width_ / 2);
  out += escaped(title) + "</text>\n";
  append(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", kLeft + plot_width_ / 2, height_ - 10);
  out += escaped(x_label) + "</text>\n";
  append(out, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">", kTop + plot_height_ / 2);
  out += escaped(y_label) + "</text>\n";
}

void Frame::draw_legend(std::string& out, size_t k, std::string_view name) const {
  const double x = kLeft + plot_width_, y = kTop + 14 + 18.0 * static_cast<double>(k);
  append(out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%.1f %.1fh20\"/>", colour(k), x - 130, y - 4);
  append(out, "<text x=\"%.1f\" y=\"%.1f\">", x - 104, y);
  out += escaped(name) + "</text>\n";
}

void write(const std::string& path, std::string_view document) {
  serialize::write_file(path, document);
}

}  // namespace torch::utils::plot::svg
