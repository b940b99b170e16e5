#include "aten/cpu/elementwise.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "aten/cpu/cast.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/loops/loops.h"
#include "gtest/gtest.h"

namespace at::cpu {
namespace {

using c10::ScalarType;

struct Array {
  std::vector<float> data;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  ElementArg arg() {
    return {{reinterpret_cast<char*>(data.data() + offset), sizes.data(), strides.data(), static_cast<int64_t>(sizes.size()), 4},
            ScalarType::Float, ScalarType::Float};
  }
};

Array make(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t storage, float start, int64_t offset = 0) {
  Array a{std::vector<float>(static_cast<size_t>(storage)), std::move(sizes), std::move(strides), offset};
  for (size_t i = 0; i < a.data.size(); ++i) a.data[i] = start + static_cast<float>(i);
  return a;
}

// out = a - b on every layout against plain index arithmetic.
void check_sub(Array out, Array a, Array b) {
  const Array before = out;
  ElementArg args[] = {out.arg(), a.arg(), b.arg()};
  elementwise(find_loop(loops::sub, ScalarType::Float), nullptr, args, 1, 3, 100);
  const auto at = [](const Array& t, const std::vector<int64_t>& index, size_t dims) {
    int64_t o = t.offset;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      const size_t i = dims - t.sizes.size() + d;
      if (t.sizes[d] != 1) o += index[i] * t.strides[d];
    }
    return o;
  };
  std::vector<float> expected = before.data;
  std::vector<int64_t> index(out.sizes.size(), 0);
  int64_t numel = 1;
  for (int64_t s : out.sizes) numel *= s;
  for (int64_t n = 0; n < numel; ++n) {
    expected[static_cast<size_t>(at(out, index, index.size()))] =
        a.data[static_cast<size_t>(at(a, index, index.size()))] - b.data[static_cast<size_t>(at(b, index, index.size()))];
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.sizes[d]) break;
      index[d] = 0;
    }
  }
  EXPECT_EQ(out.data, expected);
}

TEST(Elementwise, Contiguous) { check_sub(make({4, 5}, {5, 1}, 20, 0), make({4, 5}, {5, 1}, 20, 3), make({4, 5}, {5, 1}, 20, 9)); }
TEST(Elementwise, RowAndColumnAndScalarBroadcast) {
  check_sub(make({8, 8}, {8, 1}, 64, 0), make({8, 8}, {8, 1}, 64, 3), make({8}, {1}, 8, 9));
  check_sub(make({8, 8}, {8, 1}, 64, 0), make({8, 1}, {1, 1}, 8, 3), make({8, 8}, {8, 1}, 64, 9));
  check_sub(make({8, 8}, {8, 1}, 64, 0), make({8, 8}, {8, 1}, 64, 3), make({}, {}, 1, 9));
  check_sub(make({3, 700}, {700, 1}, 2100, 0), make({3, 1}, {1, 1}, 3, 3), make({700}, {1}, 700, 9));
}
TEST(Elementwise, TransposedAndStridedAndOffset) {
  check_sub(make({30, 40}, {40, 1}, 1200, 0), make({30, 40}, {1, 30}, 1200, 3), make({30, 40}, {80, 2}, 2400, 9));
  check_sub(make({30, 40}, {1, 30}, 1200, 0), make({30, 40}, {1, 30}, 1200, 3), make({30, 40}, {40, 1}, 1200, 9));
  check_sub(make({2, 3, 4, 5}, {60, 1, 15, 3}, 120, 0), make({3, 1, 5}, {10, 5, 2}, 40, 3, 4), make({2, 3, 4, 5}, {60, 20, 5, 1}, 120, 9));
  check_sub(make({5, 300}, {700, 2}, 3500, 0), make({5, 300}, {1, 5}, 1500, 3), make({5, 300}, {0, 1}, 300, 9));
}
TEST(Elementwise, ZeroSizedAndScalar) {
  check_sub(make({0, 5}, {5, 1}, 5, 0), make({0, 5}, {5, 1}, 5, 3), make({5}, {1}, 5, 9));
  check_sub(make({}, {}, 1, 0), make({}, {}, 1, 3), make({}, {}, 1, 9));
}
TEST(Elementwise, LargeContiguousIsStreamed) {
  const int64_t n = stream_threshold_bytes() / 4 + 1001;
  check_sub(make({n}, {1}, n, 0), make({n}, {1}, n, 3), make({1}, {1}, 1, 9));
}

TEST(Elementwise, DtypesMixThroughTheComputeType) {
  std::vector<int64_t> sizes = {5};
  std::vector<int64_t> strides = {1};
  int64_t a[] = {1, -2, 3, 4, 1LL << 40};
  uint8_t b[] = {200, 1, 2, 3, 4};
  uint16_t out[5];  // bfloat16
  ElementArg args[] = {
      {{reinterpret_cast<char*>(out), sizes.data(), strides.data(), 1, 2}, ScalarType::BFloat16, ScalarType::Float},
      {{reinterpret_cast<char*>(a), sizes.data(), strides.data(), 1, 8}, ScalarType::Long, ScalarType::Float},
      {{reinterpret_cast<char*>(b), sizes.data(), strides.data(), 1, 1}, ScalarType::Byte, ScalarType::Float}};
  elementwise(find_loop(loops::add, ScalarType::BFloat16), nullptr, args, 1, 3);
  const float expected[] = {201, -1, 5, 7, 1099511627776.0f};
  for (int i = 0; i < 5; ++i) {
    const uint32_t bits = static_cast<uint32_t>(out[i]) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    EXPECT_EQ(f, expected[i]);
  }
}

TEST(Cast, EveryPairOfTypesCarriesSmallNumbers) {
  const ScalarType types[] = {ScalarType::Byte,  ScalarType::Char,         ScalarType::Short,         ScalarType::Int,
                              ScalarType::Long,  ScalarType::Half,         ScalarType::Float,         ScalarType::Double,
                              ScalarType::Bool,  ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::BFloat16};
  const double values[] = {0, 1, 2, 100, 127};
  for (ScalarType from : types) {
    char source[5 * 16], back[5 * 16], target[5 * 16];
    convert(find_conversion(from, ScalarType::Double), source, values, 5);
    for (ScalarType to : types) {
      convert(find_conversion(to, from), target, source, 5);
      convert(find_conversion(ScalarType::Double, to), back, target, 5);
      for (int i = 0; i < 5; ++i) {
        double got;
        std::memcpy(&got, back + 8 * i, 8);
        const bool boolean = to == ScalarType::Bool || from == ScalarType::Bool;
        EXPECT_EQ(got, boolean ? (values[i] != 0) : values[i]) << c10::toString(from) << " to " << c10::toString(to);
      }
    }
  }
}

TEST(Cast, HalfRoundsToNearestEvenOverItsWholeRange) {
  // Every half survives the way to float and back.
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const uint16_t bits = static_cast<uint16_t>(h);
    float f;
    uint16_t again;
    convert(find_conversion(ScalarType::Float, ScalarType::Half), &f, &bits, 1);
    convert(find_conversion(ScalarType::Half, ScalarType::Float), &again, &f, 1);
    if ((h & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(f));
      EXPECT_GT(again & 0x7fff, 0x7c00);
    } else {
      EXPECT_EQ(again, bits);
    }
  }
  const float in[] = {65504, 65519.9f, 65520, 1e9f, 5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f, 2049, 2051, -0.0f};
  const uint16_t want[] = {0x7bff, 0x7bff, 0x7c00, 0x7c00, 1, 0, 1, 0x6800, 0x6802, 0x8000};
  uint16_t got[10];
  convert(find_conversion(ScalarType::Half, ScalarType::Float), got, in, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(got[i], want[i]) << in[i];
}

TEST(Cast, OutOfRangeAndNan) {
  const double in[] = {NAN, 1e300, -1e300, 3e9, -1.9, 300};
  int32_t i32[6];
  int64_t i64[6];
  uint8_t u8[6];
  bool b[6];
  convert(find_conversion(ScalarType::Int, ScalarType::Double), i32, in, 6);
  convert(find_conversion(ScalarType::Long, ScalarType::Double), i64, in, 6);
  convert(find_conversion(ScalarType::Byte, ScalarType::Double), u8, in, 6);
  convert(find_conversion(ScalarType::Bool, ScalarType::Double), b, in, 6);
  EXPECT_EQ(i32[0], INT32_MIN);
  EXPECT_EQ(i32[3], INT32_MIN);
  EXPECT_EQ(i32[4], -1);
  EXPECT_EQ(i64[1], INT64_MIN);
  EXPECT_EQ(i64[3], 3000000000);
  EXPECT_EQ(u8[4], 255);
  EXPECT_EQ(u8[5], 44);
  for (bool v : b) EXPECT_TRUE(v);
}

// A float that int32 does not hold has zeros where the byte is taken from.
TEST(Cast, BytesOfFloats) {
  const float in[] = {-1,  255.9f, 256,    300.7f,   -129, 2147483648.0f, 2147483904.0f, -2147484160.0f,
                      3e9f, 1e19f, -1e30f, INFINITY, NAN};
  for (const int64_t n : {1, 7, 8, 13}) {
    uint8_t bytes[14];
    bytes[n] = 77;
    convert(find_conversion(ScalarType::Byte, ScalarType::Float), bytes, in + 13 - n, n);
    for (int64_t i = 0; i < n; ++i) {
      const float x = in[13 - n + i];
      EXPECT_EQ(bytes[i], std::fabs(x) < 1e18f ? static_cast<uint8_t>(static_cast<int64_t>(x)) : 0) << x;
    }
    EXPECT_EQ(bytes[n], 77);
  }
}

// Contiguous elements, a few and as many as go past the caches; also at addresses that are no multiples of the item.
TEST(Copy, ConvertsAndFillsContiguousElements) {
  const int64_t many = stream_threshold_bytes() / 2 + 1003;
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{77}, int64_t{100001}, many}) {
    for (const int64_t shift : {0, 1}) {
      std::vector<char> source(static_cast<size_t>(4 * n + 1)), target(static_cast<size_t>(2 * n + 2), 0x55);
      for (int64_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(i % 509) - 254;
        std::memcpy(source.data() + shift + 4 * i, &x, 4);
      }
      const int64_t sizes[] = {n}, strides[] = {1};
      copy({target.data() + shift, sizes, strides, 1, 2}, ScalarType::Short,
           {source.data() + shift, sizes, strides, 1, 4}, ScalarType::Float);
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        int16_t y;
        std::memcpy(&y, target.data() + shift + 2 * i, 2);
        wrong += y != i % 509 - 254;
      }
      EXPECT_EQ(wrong, 0) << n << " elements, shifted by " << shift;
      EXPECT_EQ(target[static_cast<size_t>(2 * n + shift)], 0x55);
      const int16_t item = 0x1234;
      fill({target.data() + shift, sizes, strides, 1, 2}, &item);
      for (int64_t i = 0; i < n; ++i) wrong += std::memcmp(target.data() + shift + 2 * i, &item, 2) != 0;
      EXPECT_EQ(wrong, 0) << n << " elements filled, shifted by " << shift;
      EXPECT_EQ(target[static_cast<size_t>(2 * n + shift)], 0x55);
    }
  }
}

}  // namespace
}  // namespace at::cpu
