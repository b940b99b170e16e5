// What kernels of programs call by libtorch's names.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "c10/cuda/device_code_test_kernel.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/testing.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace c10::cuda {
namespace {

// `values` after f(their copy on the device).
template <class T, class F>
std::vector<T> on_device(std::vector<T> values, F f) {
  T* memory = nullptr;
  const size_t bytes = values.size() * sizeof(T);
  C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&memory), bytes));
  C10_CUDA_CHECK(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyDefault));
  f(memory);
  C10_CUDA_CHECK(cudaMemcpy(values.data(), memory, bytes, cudaMemcpyDefault));
  C10_CUDA_CHECK(cudaFree(memory));
  return values;
}

template <class T>
struct DeviceCode : ::testing::Test {};
using Numbers = ::testing::Types<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, Half, BFloat16,
                                 complex<float>, complex<double>>;
TYPED_TEST_SUITE(DeviceCode, Numbers);

TYPED_TEST(DeviceCode, AddsAtomically) {
  using T = TypeParam;
  testing::in_all_orders([] {
    std::vector<T> memory(16, static_cast<T>(1));
    memory = on_device(memory, [](T* data) { add_from_threads(data, 96); });
    for (size_t i = 0; i < 16; ++i) {
      const int added = i < 12 ? 24 * static_cast<int>(i / 4 + 1) : 0;
      EXPECT_EQ(memory[i], static_cast<T>(static_cast<float>(1 + added))) << i;
    }
  });
}

template <class T>
struct Extremes : ::testing::Test {};
using Ordered = ::testing::Types<uint8_t, int16_t, int64_t, float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Extremes, Ordered);

TYPED_TEST(Extremes, AreKeptAtomically) {
  using T = TypeParam;
  testing::in_all_orders([] {
    std::vector<T> memory(16, static_cast<T>(50));
    memory = on_device(memory, [](T* data) { extremes_from_threads(data, 96); });
    for (size_t i = 0; i < 16; ++i) {
      const int expected = i < 4 ? 92 + static_cast<int>(i) : i < 8 ? static_cast<int>(i) - 4 : 50;
      EXPECT_EQ(memory[i], static_cast<T>(static_cast<float>(expected))) << i;
    }
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
      memory.assign(16, std::numeric_limits<T>::quiet_NaN());
      memory = on_device(memory, [](T* data) { extremes_from_threads(data, 96); });
      for (const T value : memory) EXPECT_NE(value, value);
    }
  });
}

TEST(DeviceCodeOfPrograms, MultipliesAndSetsAtomically) {
  testing::in_all_orders([] {
    const auto products =
        on_device(std::vector<double>(16, 1.0), [](double* data) { multiply_from_threads(data, 20); });
    EXPECT_EQ(products[0], 1024.0);
    EXPECT_EQ(products[1], 1024.0);
    EXPECT_EQ(products[2], 1.0);
    const auto flags =
        on_device(std::vector<char>(16, 0), [](char* data) { set_from_threads(reinterpret_cast<bool*>(data), 64); });
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(flags[i], i == 5) << i;
  });
}

template <class T>
void check_exchange() {
  const auto out = on_device(std::vector<T>(160, T(0)), [](T* data) { exchange_lanes(data); });
  const auto number = [](int n) { return static_cast<T>(static_cast<float>(n)); };
  for (int lane = 0; lane < 32; ++lane) {
    const auto at = [&](int row) { return out[static_cast<size_t>(32 * row + lane)]; };
    EXPECT_EQ(at(0), number(3));
    EXPECT_EQ(at(1), number(lane ^ 1));
    EXPECT_EQ(at(2), number(lane < 2 ? lane : lane - 2));
    EXPECT_EQ(at(3), number(lane % 16 < 14 ? lane + 2 : lane));
    EXPECT_EQ(at(4), number(1));
  }
}

TEST(DeviceCodeOfPrograms, ExchangesWithinAWarp) {
  testing::in_all_orders([] {
    check_exchange<int>();
    check_exchange<double>();
    check_exchange<Half>();
    check_exchange<BFloat16>();
    check_exchange<complex<float>>();
  });
}

TEST(DeviceCodeOfPrograms, LoopsOverElements) {
  testing::in_all_orders([] {
    const auto numbers = on_device(std::vector<int>(1000, -1), [](int* data) { number(data, 1000); });
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(numbers[static_cast<size_t>(i)], i);
  });
}

}  // namespace
}  // namespace c10::cuda
