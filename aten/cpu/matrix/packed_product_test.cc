#include "aten/cpu/matrix/packed_product.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "aten/cpu/isa.h"
#include "c10/parallel/parallel.h"
#include "gtest/gtest.h"

namespace at::matrix {
namespace {

constexpr cpu::Isa kIsas[] = {cpu::Isa::kAvx512, cpu::Isa::kAvx2, cpu::Isa::kSse4, cpu::Isa::kBaseline};

template <class T>
class PackedProductOf : public testing::Test {
 protected:
  ~PackedProductOf() override { cpu::limit_isa(cpu::Isa::kAvx512); }
};
using Types = testing::Types<float, c10::BFloat16, c10::Half, int8_t>;
TYPED_TEST_SUITE(PackedProductOf, Types);

std::vector<float> random_floats(std::mt19937& bits, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& v : values) v = uniform(bits);
  return values;
}

// y = x w^T + bias + add, of rows.
template <class T>
struct Case {
  int64_t m, n, k;
  std::vector<float> x, scale, bias, add, expected;
  std::vector<T> weight;

  Case(std::mt19937& bits, int64_t rows, int64_t columns, int64_t depth) : m(rows), n(columns), k(depth) {
    x = random_floats(bits, m * k), bias = random_floats(bits, n), add = random_floats(bits, m * n);
    constexpr bool kBytes = std::is_same_v<T, int8_t>;
    for (const float v : random_floats(bits, n * k)) weight.push_back(static_cast<T>(kBytes ? std::round(v * 127) : v));
    if (kBytes) scale = random_floats(bits, n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += static_cast<double>(x[static_cast<size_t>(i * k + p)]) *
                 static_cast<double>(static_cast<float>(weight[static_cast<size_t>(j * k + p)]));
        }
        if (kBytes) sum *= scale[static_cast<size_t>(j)];
        expected.push_back(
            static_cast<float>(sum + bias[static_cast<size_t>(j)] + add[static_cast<size_t>(i * n + j)]));
      }
    }
  }
  PackedProduct<T> packed() const { return {n, k, weight.data(), scale.empty() ? nullptr : scale.data(), bias.data()}; }
};

// In the calling thread, on several, and one row alone: the same bits for each.
TYPED_TEST(PackedProductOf, MultipliesRows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::mt19937 bits(9);
  const int threads = at::get_num_threads();
  for (const cpu::Isa isa : kIsas) {
    cpu::limit_isa(isa);
    for (const int64_t n : {1, 10, 32, 48, 64, 130, 512}) {
      for (const int64_t m : {1, 2, 3, 5, 6, 8, 9, 10, 15, 49}) {
        const Case<TypeParam> c(bits, m, n, 37);
        const PackedProduct<TypeParam> packed = c.packed();
        std::vector<float> all = c.add, alone = c.add, one(static_cast<size_t>(n));
        at::set_num_threads(3);
        packed.run(m, c.x.data(), all.data(), -kInfinity, kInfinity, all.data());
        at::set_num_threads(threads);
        for (size_t i = 0; i < all.size(); ++i) {
          const double tolerance = std::is_same_v<TypeParam, int8_t> ? 1e-3 : 1e-5;
          ASSERT_NEAR(all[i], c.expected[i], tolerance) << m << " x " << n;
        }
        packed.run_alone(m, c.x.data(), alone.data(), -kInfinity, kInfinity, alone.data());
        ASSERT_EQ(alone, all);
        for (int64_t row = 0; row < m; ++row) {
          packed.run_alone(1, c.x.data() + row * c.k, c.add.data() + row * n, -kInfinity, kInfinity, one.data());
          for (int64_t j = 0; j < n; ++j) ASSERT_EQ(one[static_cast<size_t>(j)], all[static_cast<size_t>(row * n + j)]);
        }
      }
    }
  }
}

TYPED_TEST(PackedProductOf, LimitsAndKeepsNan) {
  std::mt19937 bits(4);
  for (const cpu::Isa isa : kIsas) {
    cpu::limit_isa(isa);
    Case<TypeParam> c(bits, 7, 21, 5);
    c.bias[3] = std::nanf("");
    const PackedProduct<TypeParam> packed = c.packed();
    std::vector<float> y(c.expected.size());
    packed.run(c.m, c.x.data(), c.add.data(), 0.25f, 0.5f, y.data());
    for (int64_t i = 0; i < c.m * c.n; ++i) {
      const float want = c.expected[static_cast<size_t>(i)], got = y[static_cast<size_t>(i)];
      if (i % c.n == 3)
        ASSERT_TRUE(std::isnan(got));
      else
        ASSERT_NEAR(got, std::fmin(std::fmax(want, 0.25f), 0.5f), 1e-3);
    }
  }
}

// Also the least and the largest numbers of 16 bits, which products with 1 show as they are.
TYPED_TEST(PackedProductOf, ReadsEveryWeight) {
  std::vector<TypeParam> weight;
  if constexpr (sizeof(TypeParam) == 2) {
    for (uint32_t i = 0; i < 65536; ++i) weight.push_back(TypeParam(static_cast<uint16_t>(i), TypeParam::from_bits()));
  } else {
    for (int i = -128; i < 128; ++i) weight.push_back(static_cast<TypeParam>(i));
  }
  const int64_t n = static_cast<int64_t>(weight.size());
  const std::vector<float> scale(weight.size(), 1.0f);
  const float one = 1;
  for (const cpu::Isa isa : kIsas) {
    cpu::limit_isa(isa);
    const PackedProduct<TypeParam> packed(n, 1, weight.data(), scale.data(), nullptr);
    std::vector<float> y(weight.size());
    const float infinity = std::numeric_limits<float>::infinity();
    packed.run(1, &one, nullptr, -infinity, infinity, y.data());
    for (size_t i = 0; i < weight.size(); ++i) {
      const float want = static_cast<float>(weight[i]);
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(y[i])) << i;
      else
        ASSERT_EQ(y[i], want) << i;
    }
  }
}

}  // namespace
}  // namespace at::matrix
