#include "utils/plot/scatter_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScatterChart, ScalesAndNamesPoints) {
  ScatterChart chart;
  chart.width = chart.height = 190;  // 100 pixels of plot a side
  chart.groups = {{"animals", {0, 10}, {0, 2}, {"cat", "<dog>"}}, {"things", {5}, {1}}};
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"70.0\" cy=\"140.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"120.0\" cy=\"90.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"170.0\" cy=\"40.0\""));
  EXPECT_THAT(svg, HasSubstr(">cat</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;dog&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">things</text>"));
}

TEST(ScatterChart, LeavesOutWhatCannotBeDrawn) {
  ScatterChart chart;
  chart.groups = {{"a", {0, NAN, 1}, {0, 1, INFINITY}, {"x", "y", "z"}}};
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr(">x</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">y</text>")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(ScatterChart, RejectsBadInputAndIsWritten) {
  ScatterChart chart;
  chart.groups = {{"a", {0, 1}, {0}}};
  EXPECT_THROW(to_svg(chart), c10::ValueError);
  chart.groups = {{"a", {0, 1}, {0, 1}, {"one"}}};
  EXPECT_THROW(to_svg(chart), c10::ValueError);
  chart.groups = {{"a", {0, 1}, {0, 1}}};
  const std::string path = c10::testing::fresh_folder() + "/chart.svg";
  write_svg(path, chart);
  EXPECT_EQ(serialize::read_file(path), to_svg(chart));
  chart.height = 10;
  EXPECT_THROW(to_svg(chart), c10::ValueError);
}

}  // namespace
}  // namespace torch::utils::plot
