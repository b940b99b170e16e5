#include "aten/testing/testing.h"

#include <cmath>
#include <random>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"

namespace at::testing {
namespace {

Device& the_device() {
  static Device device(DeviceType::CPU);
  return device;
}

// A tensor filled on the CPU, as the tests get it.
Tensor finished(const Tensor& t, ScalarType dtype) { return at::_to_copy(t, TensorOptions().dtype(dtype).device(device())); }

}  // namespace

const Device& device() { return the_device(); }
void set_device(Device device) { the_device() = device; }
Tensor on_cpu(const Tensor& t) { return at::to(t, Device(DeviceType::CPU)); }
Tensor blank(IntArrayRef sizes, ScalarType dtype) { return empty_contiguous(sizes, dtype, device()); }

Tensor sample(IntArrayRef sizes, ScalarType dtype, unsigned seed) {
  std::mt19937 gen(seed);
  Tensor t = empty_contiguous(sizes, ScalarType::Double);
  double* p = t.data_ptr<double>();
  double last = 9;
  for (int64_t i = 0; i < t.numel(); ++i) {
    double v = 0;
    do {
      if (isIntegralType(dtype, true)) {
        v = static_cast<double>(gen() % 11) - (dtype == ScalarType::Byte || dtype == ScalarType::Bool ? 0 : 5);
      } else {
        v = static_cast<double>(gen() % 4001) / 1000 - 2;
      }
    } while (v == last);
    p[i] = last = v;
  }
  if (dtype == ScalarType::Bool) {
    for (int64_t i = 0; i < t.numel(); ++i) p[i] = p[i] > 4;
  }
  return finished(t, dtype);
}

Tensor tensor_of(const std::vector<double>& values, IntArrayRef sizes, ScalarType dtype) {
  Tensor t = empty_contiguous(sizes, ScalarType::Double);
  TORCH_CHECK(t.numel() == 0 || !values.empty(), "no values");
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = values[static_cast<size_t>(i) % values.size()];
  return finished(t, dtype);
}

Tensor indices_of(const std::vector<int64_t>& values, IntArrayRef sizes) {
  Tensor t = empty_contiguous(sizes, ScalarType::Long);
  TORCH_CHECK(t.numel() == static_cast<int64_t>(values.size()), "wrong number of values");
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return finished(t, ScalarType::Long);
}

std::vector<double> values(const Tensor& t) {
  const Tensor wide = at::_to_copy(
      t.is_complex() ? at::select(at::view_as_real(t), -1, 0) : t,
      TensorOptions().dtype(ScalarType::Double).device(DeviceType::CPU), false, MemoryFormat::Contiguous);
  const double* p = wide.data_ptr<double>();
  return std::vector<double>(p, p + wide.numel());
}

std::vector<int64_t> sizes(const Tensor& t) { return std::vector<int64_t>(t.sizes().begin(), t.sizes().end()); }

std::vector<Tensor> layouts(const Tensor& t) {
  std::vector<Tensor> result{t};
  const int64_t rank = t.dim();
  if (rank == 0) return result;
  DimVector reversed, order;
  for (int64_t d = rank - 1; d >= 0; --d) {
    reversed.push_back(t.sizes()[d]);
    order.push_back(d);
  }
  Tensor transposed = at::permute(blank(reversed, t.scalar_type()), order);
  at::copy_(transposed, t);
  result.push_back(transposed);
  DimVector doubled(t.sizes().begin(), t.sizes().end());
  doubled[0] *= 2;
  Tensor spread = at::slice(blank(doubled, t.scalar_type()), 0, 0, std::nullopt, 2);
  at::copy_(spread, t);
  result.push_back(spread);
  doubled = DimVector(t.sizes().begin(), t.sizes().end());
  doubled[static_cast<size_t>(rank) - 1] += 3;
  Tensor shifted = at::narrow(blank(doubled, t.scalar_type()), rank - 1, 2, t.sizes()[rank - 1]);
  at::copy_(shifted, t);
  result.push_back(shifted);
  if (rank == 4) result.push_back(at::clone(t, MemoryFormat::ChannelsLast));
  return result;
}

void expect_close(const Tensor& actual, const std::vector<double>& expected, double rtol, double atol) {
  const std::vector<double> got = values(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i] << ", not NaN";
    } else if (std::isinf(expected[i])) {
      ASSERT_EQ(got[i], expected[i]) << "element " << i;
    } else {
      ASSERT_NEAR(got[i], expected[i], atol + rtol * std::fabs(expected[i])) << "element " << i;
    }
  }
}

void expect_close(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  ASSERT_EQ(sizes(actual), sizes(expected));
  expect_close(actual, values(expected), rtol, atol);
}

double tolerance(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half: return 2e-3;
    case ScalarType::BFloat16: return 1.6e-2;
    case ScalarType::Double: return 1e-12;
    default: return 2e-6;
  }
}

}  // namespace at::testing
