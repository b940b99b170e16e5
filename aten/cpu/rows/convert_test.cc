#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "aten/cpu/isa.h"
#include "aten/cpu/rows/rows.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "gtest/gtest.h"

namespace at::cpu {
namespace {

template <class T>
class Convert : public testing::Test {
 protected:
  ~Convert() override { limit_isa(Isa::kAvx512); }
};
using Types = testing::Types<c10::Half, c10::BFloat16>;
TYPED_TEST_SUITE(Convert, Types);

// Every number of two bytes, infinities and NaNs among them, becomes what the type itself says.
TYPED_TEST(Convert, EveryNumber) {
  std::vector<TypeParam> all;
  for (uint32_t i = 0; i < 65536; ++i) all.push_back(TypeParam(static_cast<uint16_t>(i), TypeParam::from_bits()));
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kSse4, Isa::kBaseline}) {
    limit_isa(isa);
    std::vector<float> floats(all.size());
    convert_row(all.data(), floats.data(), static_cast<int64_t>(all.size()));
    for (size_t i = 0; i < all.size(); ++i) {
      const float want = static_cast<float>(all[i]);
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(floats[i])) << i;
      else
        ASSERT_EQ(std::memcmp(&floats[i], &want, sizeof(float)), 0) << i << ": " << floats[i] << ", not " << want;
    }
  }
}

}  // namespace
}  // namespace at::cpu
