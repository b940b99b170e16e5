#include "utils/plot/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

TEST(Ticks, AreRound) {
  EXPECT_THAT(ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(ticks(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(ticks(1.3, 4.2, 6), ElementsAre(1.5, 2, 2.5, 3, 3.5, 4));
  EXPECT_THAT(ticks(1, 1, 5), ElementsAre());
  for (double scale = 1e-12; scale < 1e12; scale *= 3.7) {
    const std::vector<double> t = ticks(0.2 * scale, 1.9 * scale, 6);
    EXPECT_GE(t.size(), 3u) << scale;
    EXPECT_LE(t.size(), 12u) << scale;
  }
}

TEST(LineChart, ScalesToTheFrame) {
  LineChart chart;
  chart.width = 190;   // 100 pixels of plot
  chart.height = 190;  // 100 pixels of plot
  chart.series = {{"a", {0, 5, 10}, {0, 1, 2}}};
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr("d=\"M70.0 140.0h0L120.0 90.0L170.0 40.0\""));
}

TEST(LineChart, HasLegendLabelsAndEscapes) {
  LineChart chart;
  chart.title = "a < b & \"c\"";
  chart.x_label = "step";
  chart.y_label = "loss";
  chart.series = {{"train", {0, 1}, {3, 2}}, {"validation", {0, 1}, {3.5, 2.5}}};
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr(">train</text>"));
  EXPECT_THAT(svg, HasSubstr(">validation</text>"));
  EXPECT_THAT(svg, HasSubstr(">step</text>"));
  EXPECT_THAT(svg, HasSubstr(">loss</text>"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "<g"), count(svg, "</g>"));
}

TEST(LineChart, GapsSinglePointsAndNothing) {
  LineChart chart;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  chart.series = {{"a", {0, 1, 2, 3, 4}, {1, nan, 2, inf, 3}}};
  std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "h0"), 3u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  chart.series = {{"a", {7}, {7}}, {"b", {}, {}}, {"c", {0}, {nan}}};
  svg = to_svg(chart);
  EXPECT_EQ(count(svg, "h0"), 1u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  chart.series = {};
  EXPECT_THAT(to_svg(chart), HasSubstr("</svg>"));
  chart.series = {{"a", {-1e308, 1e308}, {0, 1}}};
  EXPECT_THAT(to_svg(chart), Not(HasSubstr("nan")));
}

TEST(LineChart, RejectsBadInput) {
  LineChart chart;
  chart.series = {{"a", {0, 1}, {0}}};
  EXPECT_THROW(to_svg(chart), c10::ValueError);
  chart.series = {};
  chart.width = 10;
  EXPECT_THROW(to_svg(chart), c10::ValueError);
  EXPECT_THROW(write_svg("/no/such/folder/a.svg", LineChart()), serialize::IoError);
}

TEST(LineChart, IsWritten) {
  const std::string path = c10::testing::fresh_folder() + "/chart.svg";
  LineChart chart;
  chart.series = {{"a", {0, 1}, {0, 1}}};
  write_svg(path, chart);
  EXPECT_EQ(serialize::read_file(path), to_svg(chart));
}

}  // namespace
}  // namespace torch::utils::plot
