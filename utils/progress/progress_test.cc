#include "utils/progress/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace torch::utils {
namespace {

using ::testing::HasSubstr;

// What a piece of code writes to a file.
template <typename F>
std::string written(F f) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = ::open_memstream(&text, &size);
  f(file);
  std::fclose(file);
  std::string out(text, size);
  std::free(text);
  return out;
}

TEST(FormatDuration, Forms) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(7.4), "0:07");
  EXPECT_EQ(format_duration(123), "2:03");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(-1), "?");
}

TEST(FormatBar, FitsTheColumns) {
  EXPECT_EQ(format_bar(5, 10, "loss 1", 7, 40), "[=====>     ]  50% 5/10 loss 1 0:07 left");
  for (int columns = 0; columns < 120; ++columns) {
    for (int64_t done : {0, 3, 10, 12}) {
      EXPECT_LE(format_bar(done, 10, "loss 1.2345", 7, columns).size(), static_cast<size_t>(columns));
    }
  }
  EXPECT_THAT(format_bar(10, 10, "", -1, 80), HasSubstr("==]"));
  EXPECT_THAT(format_bar(0, 10, "", -1, 80), HasSubstr("[> "));
  EXPECT_THAT(format_bar(0, 0, "", -1, 80), HasSubstr("100% 0/0"));
}

TEST(Progress, PlainLines) {
  const std::string text = written([](std::FILE* out) {
    Progress progress(10, out, 0, 4);
    EXPECT_FALSE(progress.is_terminal());
    for (int64_t i = 1; i <= 10; ++i) progress.update(i, "x");
    progress.update(10, "x", true);
  });
  EXPECT_EQ(text, "4/10 x 0:00 left\n8/10 x 0:00 left\n10/10 x 0:00 left\n");
}

TEST(Progress, ABarIsRedrawnInPlace) {
  const std::string text = written([](std::FILE* out) {
    Progress progress(1000, out, 0, 1, 1);
    for (int64_t i = 1; i <= 1000; ++i) progress.update(i, "x");
    progress.line("note");
  });
  size_t draws = 0;
  for (const char c : text) draws += c == '\r';
  EXPECT_GE(draws, 3u);
  EXPECT_LT(draws, 100u) << "a bar is drawn at most ten times a second";
  EXPECT_THAT(text, HasSubstr("1000/1000 x"));
  EXPECT_THAT(text, HasSubstr("\r\x1b[Knote\n"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, TimeLeftOfAResumedLoop) {
  written([](std::FILE* out) {
    Progress progress(100, out, 50);
    EXPECT_EQ(progress.seconds_left(), -1);
    progress.update(50, "");
    EXPECT_EQ(progress.seconds_left(), -1);
    progress.update(100, "");
    EXPECT_EQ(progress.seconds_left(), 0);
  });
}

}  // namespace
}  // namespace torch::utils
