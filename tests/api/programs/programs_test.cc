// Whole programs as people write them for libtorch, each in its own file, unchanged but for main(). expected/*.txt is
// what libtorch 2.15 printed for them, compiled by gcc; numbers with a fraction may differ in their last digits.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/api/programs/program.h"

namespace {

// Everything that `run` writes to std::cout, whose format flags are as at a program's start.
std::string output_of(void (*run)()) {
  std::ostringstream captured;
  std::ios untouched(nullptr);
  std::ios saved(nullptr);
  saved.copyfmt(std::cout);
  std::cout.copyfmt(untouched);
  std::streambuf* const before = std::cout.rdbuf(captured.rdbuf());
  std::string failure;
  try {
    run();
  } catch (const std::exception& e) {
    failure = std::string("thrown: ") + e.what();
  }
  std::cout.rdbuf(before);
  std::cout.copyfmt(saved);
  return captured.str() + failure;
}

// Words, and numbers with a fraction as such: two texts are the same where these are, whatever the spaces of a column.
struct Part {
  std::string text;
  bool real = false;
};

std::vector<Part> parts_of(const std::string& line) {
  std::vector<Part> parts;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    const bool digit = std::isdigit(static_cast<unsigned char>(line[i])) != 0;
    char* end = nullptr;
    if (digit) std::strtod(line.c_str() + i, &end);
    const size_t length = digit ? static_cast<size_t>(end - line.c_str()) - i : 1;
    parts.push_back({line.substr(i, length), digit && line.substr(i, length).find_first_of(".e") != std::string::npos});
    i += length;
  }
  return parts;
}

bool same(const std::string& a, const std::string& b) {
  const std::vector<Part> x = parts_of(a), y = parts_of(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].text == y[i].text) continue;
    if (!x[i].real && !y[i].real) return false;
    const double p = std::atof(x[i].text.c_str()), q = std::atof(y[i].text.c_str());
    if (!(std::fabs(p - q) <= 5e-4 * std::max(std::fabs(p), std::fabs(q)) + 1e-6)) return false;
  }
  return true;
}

class Programs : public testing::TestWithParam<std::string> {};

TEST_P(Programs, PrintWhatTheyPrintWithLibtorch) {
  std::ifstream file("tests/api/programs/expected/" + GetParam() + ".txt");
  ASSERT_TRUE(file) << "no expected text";
  std::istringstream printed(output_of(programs::all().at(GetParam())));
  std::string expected, line;
  for (int number = 1; std::getline(file, expected); ++number) {
    ASSERT_TRUE(std::getline(printed, line)) << "ends before line " << number << ": " << expected;
    EXPECT_TRUE(same(expected, line)) << "line " << number << ": " << line << "\nexpected: " << expected;
  }
  EXPECT_FALSE(std::getline(printed, line)) << "goes on: " << line;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& [name, run] : programs::all()) names.push_back(name);
  return names;
}

// gtest asks for the names when main() runs, after every program has been listed.
INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST(ProgramsTest, ComparisonSeesWhatDiffers) {
  EXPECT_TRUE(same("loss 0.12345 [2, 3]", "loss 0.12346 [2, 3]"));
  EXPECT_TRUE(same(" 1  0.5000", "1 0.5000"));
  EXPECT_FALSE(same("loss 0.123", "loss 0.125"));
  EXPECT_FALSE(same("[2, 3]", "[2, 4]"));
  EXPECT_FALSE(same("loss 1", "lost 1"));
  EXPECT_FALSE(same("1 2", "1 2 3"));
}

}  // namespace
