#include "utils/plot/heat_map.h"

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

TEST(HeatMap, GoesFromWhiteToDark) {
  HeatMap map{"a & b", {"r0", "r1"}, {"c0", "<"}, {{0, 1}, {0.5, NAN}}};
  map.cell = 10;
  const std::string svg = to_svg(map);
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\"><title>0</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#0072b2\"><title>1</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#80b9d9\"><title>0.5</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr(">r1</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;</text>"));
}

TEST(HeatMap, WithoutLabelsAndEmpty) {
  EXPECT_THAT(to_svg(HeatMap{"", {}, {}, {{3, 3}}}), HasSubstr("<title>3</title>"));
  EXPECT_THAT(to_svg(HeatMap{}), HasSubstr("</svg>"));
}

TEST(HeatMap, RejectsBadInputAndIsWritten) {
  EXPECT_THROW(to_svg(HeatMap{"", {}, {}, {{1, 2}, {3}}}), c10::ValueError);
  EXPECT_THROW(to_svg(HeatMap{"", {"a"}, {}, {{1}, {3}}}), c10::ValueError);
  EXPECT_THROW(to_svg(HeatMap{"", {}, {"a", "b"}, {{1}, {3}}}), c10::ValueError);
  EXPECT_THROW(to_svg(HeatMap{"", {}, {}, {{1}}, 0}), c10::ValueError);
  const std::string path = c10::testing::fresh_folder() + "/map.svg";
  const HeatMap map{"", {}, {}, {{1, 2}}};
  write_svg(path, map);
  EXPECT_EQ(serialize::read_file(path), to_svg(map));
}

}  // namespace
}  // namespace torch::utils::plot
