// What modules print, against what libtorch prints for the same expressions (testdata/record_texts.cc).
#include <gtest/gtest.h>

#include <sstream>

#include "nn/layers/layers.h"
#include "nn/module/module_list.h"
#include "nn/module/sequential.h"

namespace torch {
using std::nullopt;
}

namespace torch::nn {
namespace {

const char* const kExpected[] = {
#include "nn/layers/testdata/expected_texts.inc"
};

TEST(Text, AsRecorded) {
  size_t i = 0;
  const auto check = [&](const char* expression, const auto& module) {
    ASSERT_LT(i, std::size(kExpected));
    std::ostringstream out;
    out << module;
    EXPECT_EQ(out.str(), kExpected[i]) << expression;
    ++i;
  };
#define X(...) check(#__VA_ARGS__, __VA_ARGS__);
#include "nn/layers/testdata/text_cases.inc"
#undef X
  EXPECT_EQ(i, std::size(kExpected));
}

}  // namespace
}  // namespace torch::nn
