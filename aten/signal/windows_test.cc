#include "aten/signal/windows.h"

#include <cmath>

#include "aten/testing/testing.h"

namespace {

using namespace at::testing;
namespace windows = torch::signal::windows;

const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

TEST(WindowsTest, SymmetricAndPeriodic) {
  expect_close(windows::hann(5, true, kDoubles), {0, 0.5, 1, 0.5, 0}, 1e-15, 1e-15);
  expect_close(windows::hann(4, false, kDoubles), {0, 0.5, 1, 0.5}, 1e-15, 1e-15);
  expect_close(windows::bartlett(5), {0, 0.5, 1, 0.5, 0});
  expect_close(windows::blackman(3, true, kDoubles), {0, 1, 0}, 1e-15, 1e-15);
  expect_close(windows::hamming(3), {0.08, 1, 0.08});
  expect_close(windows::general_hamming(3, 0.7), {0.4, 1, 0.4});
  expect_close(windows::general_cosine(3, {0.5, 0.2, 0.1}), {0.4, 0.8, 0.4});
  expect_close(windows::nuttall(3), {0.0003628, 1, 0.0003628}, 1e-5, 1e-7);
  expect_close(windows::cosine(2, true), {std::sqrt(0.5), std::sqrt(0.5)});
  expect_close(windows::cosine(2, false), {0.5, 1});
  expect_close(windows::gaussian(3, 0.5), {std::exp(-2.), 1, std::exp(-2.)});
  expect_close(windows::exponential(3, std::nullopt, 2), {std::exp(-0.5), 1, std::exp(-0.5)});
  expect_close(windows::exponential(3, 2, 1, false), {std::exp(-2.), std::exp(-1.), 1});
  expect_close(windows::kaiser(3, 2), {1 / 2.2795853, 1, 1 / 2.2795853});
}

TEST(WindowsTest, ShortOnesAndOptions) {
  for (bool sym : {true, false}) {
    EXPECT_EQ(sizes(windows::hann(0, sym)), (std::vector<int64_t>{0}));
    EXPECT_EQ(values(windows::kaiser(1, 12, sym)), (std::vector<double>{1}));
    EXPECT_EQ(values(windows::cosine(1, sym)), (std::vector<double>{1}));
    EXPECT_EQ(values(windows::gaussian(1, 1, sym)), (std::vector<double>{1}));
  }
  EXPECT_EQ(windows::hann(4).scalar_type(), at::kFloat);
  EXPECT_EQ(windows::hann(4, true, kDoubles).scalar_type(), at::kDouble);
}

TEST(WindowsTest, BadArguments) {
  using at::ValueError;
  expect_error<ValueError>([] { windows::hann(-1); }, "hann requires non-negative window length, got M=-1");
  expect_error<ValueError>([] { windows::hann(4, true, at::TensorOptions().dtype(at::kHalf)); },
                           "hann expects float32 or float64 dtypes, got: Half");
  expect_error<ValueError>([] { windows::kaiser(5, -1); }, "beta must be non-negative, got: -1 instead.");
  expect_error<ValueError>([] { windows::gaussian(5, 0); }, "Standard deviation must be positive, got: 0 instead.");
  expect_error<ValueError>([] { windows::exponential(5, std::nullopt, 0); }, "Tau must be positive, got: 0 instead.");
  expect_error<ValueError>([] { windows::exponential(5, 1); }, "Center must be None for symmetric windows");
  expect_error<ValueError>([] { windows::general_cosine(5, {}); }, "Coefficients cannot be empty");
}

}  // namespace
