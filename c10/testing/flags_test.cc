#include "c10/testing/flags.h"

#include <gtest/gtest.h>

#include <vector>

namespace c10::testing {
namespace {

struct Values {
  std::string text = "none";
  int number = 1;
  int64_t wide = 2;
  uint64_t seed = 3;
  bool on = false;

  std::optional<int> parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "folder/program");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    return parse_flags(static_cast<int>(argv.size()), argv.data(),
                       {{"text", &text}, {"number", &number}, {"wide", &wide}, {"seed", &seed}, {"on", &on}});
  }
};

TEST(Flags, Fill) {
  Values v;
  EXPECT_EQ(v.parse({}), std::nullopt);
  EXPECT_EQ(v.text, "none");
  EXPECT_EQ(v.parse({"--text=a=b", "--number=-7", "--wide=10000000000", "--seed=18446744073709551615", "--on"}), std::nullopt);
  EXPECT_EQ(v.text, "a=b");
  EXPECT_EQ(v.number, -7);
  EXPECT_EQ(v.wide, 10000000000);
  EXPECT_EQ(v.seed, ~uint64_t{0});
  EXPECT_TRUE(v.on);
  EXPECT_EQ(v.parse({"--text="}), std::nullopt);
  EXPECT_EQ(v.text, "");
}

TEST(Flags, RefuseWhatTheyAreNot) {
  for (const char* argument : {"--numbers=1", "number=1", "--number", "--number=", "--number=1x", "--number=9999999999",
                               "--seed=-1", "--text", "--on=1", "stray"}) {
    Values v;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(v.parse({argument}), 2) << argument;
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("program: "), 0u) << text;
    EXPECT_NE(text.find(argument), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1);
  }
}

TEST(Flags, Help) {
  Values v;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(v.parse({"--help"}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "usage: program [--text=TEXT] [--number=N] [--wide=N] [--seed=N] [--on]\n");
}

}  // namespace
}  // namespace c10::testing
