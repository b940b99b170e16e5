#pragma once

#include <complex>
#include <random>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

// What the tests of the matrix families share: random tensors in several layouts, and values as plain numbers.

namespace at::matrix_testing {

using Number = std::complex<double>;

enum class Arrangement { kContiguous, kTransposed, kStrided, kExpanded };
inline constexpr Arrangement kLayouts[] = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided};

inline std::mt19937& random_bits() {
  static std::mt19937 bits(3);
  return bits;
}

/// Random values (small integers for integer dtypes) with the given sizes. Transposed exchanges the memory order of the last
/// two dimensions, strided leaves gaps, expanded repeats the first dimension with stride 0.
inline Tensor random_tensor(std::vector<int64_t> sizes, ScalarType dtype = kFloat, Arrangement layout = Arrangement::kContiguous) {
  const size_t rank = sizes.size();
  std::vector<int64_t> memory = sizes;
  if (layout == Arrangement::kTransposed && rank >= 2) std::swap(memory[rank - 1], memory[rank - 2]);
  if (layout == Arrangement::kStrided && rank >= 1) memory[rank - 1] *= 2;
  if (layout == Arrangement::kExpanded && rank >= 1) memory[0] = 1;
  Tensor wide = at::empty_contiguous(memory, kComplexDouble);
  std::uniform_real_distribution<double> uniform(-1, 1);
  auto* p = wide.data_ptr<c10::complex<double>>();
  const bool whole = isIntegralType(dtype, true);
  for (int64_t i = 0; i < wide.numel(); ++i)
    p[i] = whole ? c10::complex<double>(static_cast<double>(random_bits()() % (dtype == kByte ? 5 : 7)) - (dtype == kByte ? 0 : 3), 0)
                 : c10::complex<double>(uniform(random_bits()), isComplexType(dtype) ? uniform(random_bits()) : 0);
  Tensor t = at::to(wide, at::testing::device(), dtype);
  DimVector strides(t.strides().begin(), t.strides().end());
  if (layout == Arrangement::kTransposed && rank >= 2) std::swap(strides[rank - 1], strides[rank - 2]);
  if (layout == Arrangement::kStrided && rank >= 1) strides[rank - 1] = 2;
  if (layout == Arrangement::kExpanded && rank >= 1) strides[0] = 0;
  return layout == Arrangement::kContiguous ? t : at::make_view(t, sizes, strides, t.storage_offset());
}

/// The values in index order.
inline std::vector<Number> values(const Tensor& t) {
  const Tensor wide = at::contiguous(at::to(at::testing::on_cpu(t), kComplexDouble));
  const auto* p = wide.data_ptr<c10::complex<double>>();
  std::vector<Number> v;
  for (int64_t i = 0; i < wide.numel(); ++i) v.emplace_back(p[i].real(), p[i].imag());
  return v;
}

inline double tolerance_of(ScalarType dtype) {
  switch (dtype) {
    case kHalf: return 4e-3;
    case kBFloat16: return 3e-2;
    case kFloat:
    case kComplexFloat: return 2e-5;
    case kDouble:
    case kComplexDouble: return 1e-12;
    default: return 0;
  }
}

/// Sizes, and values to the dtype's tolerance relative to 1 + |want|.
inline void expect_values(const Tensor& got, const std::vector<int64_t>& sizes, const std::vector<Number>& want, const std::string& what) {
  ASSERT_EQ(std::vector<int64_t>(got.sizes().begin(), got.sizes().end()), sizes) << what;
  const std::vector<Number> v = matrix_testing::values(got);
  ASSERT_EQ(v.size(), want.size()) << what;
  for (size_t i = 0; i < v.size(); ++i)
    ASSERT_LE(std::abs(v[i] - want[i]), tolerance_of(got.scalar_type()) * (1 + std::abs(want[i]))) << what << " at " << i << ": got " << v[i] << ", expected " << want[i];
}

inline void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  expect_values(got, std::vector<int64_t>(want.sizes().begin(), want.sizes().end()),
                matrix_testing::values(want), what);
}

/// The message of the exception that `f` throws; empty if none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

#define KINDLING_EXPECT_ERROR(expression, text) \
  EXPECT_NE(at::matrix_testing::error_of([&] { (void)(expression); }).find(text), std::string::npos) \
      << #expression << " gave: " << at::matrix_testing::error_of([&] { (void)(expression); })

}  // namespace at::matrix_testing
