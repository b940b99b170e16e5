#include "aten/core/philox_engine.h"

#include <gtest/gtest.h>

namespace {

TEST(PhiloxEngine, KnownAnswers) {
  at::Philox4_32 zero(0);
  for (const uint32_t word : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) EXPECT_EQ(zero(), word);
  // The digits of pi, as the authors of the algorithm publish them.
  at::philox_engine pi(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
  for (const uint32_t word : {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}) EXPECT_EQ(pi(), word);
  EXPECT_EQ(pi.get_offset(), 0x85a308d3243f6a89u);
}

TEST(PhiloxEngine, SkipsBlocks) {
  at::philox_engine words(7, 3), ahead(7, 3, 2);
  for (int i = 0; i < 8; ++i) words();
  EXPECT_EQ(words(), ahead());
  words.reset_state(7, 3);
  words.incr();
  words.incr_n(1);
  ahead.reset_state(7, 3);
  ahead.set_offset(2);
  EXPECT_EQ(words(), ahead());
  // The counter goes on into the subsequence.
  at::philox_engine last(7, 3, ~uint64_t{0}), next(7, 4);
  for (int i = 0; i < 4; ++i) last();
  EXPECT_EQ(last(), next());
}

TEST(PhiloxEngine, NormalNumbers) {
  at::philox_engine words(1);
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double z = words.randn(10);
    sum += z, squares += z * z;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.05);
}

}  // namespace
