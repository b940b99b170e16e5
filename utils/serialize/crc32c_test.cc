#include "utils/serialize/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace torch::serialize {
namespace detail {
uint32_t crc32c_by_tables(uint32_t crc, const void* data, size_t bytes);
}
namespace {

TEST(Crc32c, KnownValues) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, MatchesTheDefinitionForEveryLengthAndSplit) {
  std::string text;
  for (int i = 0; i < 70; ++i) text += static_cast<char>(i * 37 + 11);
  for (size_t n = 0; n <= text.size(); ++n) {
    uint32_t expected = ~0u;  // bit by bit
    for (size_t i = 0; i < n; ++i) {
      expected ^= static_cast<unsigned char>(text[i]);
      for (int bit = 0; bit < 8; ++bit) expected = (expected & 1) != 0 ? expected >> 1 ^ 0x82f63b78u : expected >> 1;
    }
    expected = ~expected;
    for (size_t split = 0; split <= n; split += 7) {
      EXPECT_EQ(crc32c(crc32c(0, text.data(), split), text.data() + split, n - split), expected);
      EXPECT_EQ(detail::crc32c_by_tables(crc32c(0, text.data(), split), text.data() + split, n - split), expected);
    }
  }
}

}  // namespace
}  // namespace torch::serialize
