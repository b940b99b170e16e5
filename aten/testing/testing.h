#pragma once
// What the tests of operator families share.

#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "gtest/gtest.h"

namespace at::testing {

// Where the tests of operator families make their tensors: the CPU, or the device that a program runs them on once more
// (//tests/plugin_device:operators_test). A test looks at elements through values() and on_cpu(), never at memory.
const Device& device();
void set_device(Device device);
Tensor on_cpu(const Tensor& t);

// An uninitialised contiguous tensor.
Tensor blank(IntArrayRef sizes, ScalarType dtype = ScalarType::Float);
// Reproducible values between -2 and 2 (integers: -5 to 5, unsigned: 0 to 10), no two neighbours equal.
Tensor sample(IntArrayRef sizes, ScalarType dtype = ScalarType::Float, unsigned seed = 1);
// The given values as a tensor of `sizes`, again from the first on where there are too few.
Tensor tensor_of(const std::vector<double>& values, IntArrayRef sizes, ScalarType dtype = ScalarType::Float);
Tensor indices_of(const std::vector<int64_t>& values, IntArrayRef sizes);

// All elements in logical order; of complex tensors the real parts.
std::vector<double> values(const Tensor& t);
// The same as they are stored: T is the type of the dtype.
template <class T>
std::vector<T> elements(const Tensor& t) {
  const Tensor c = on_cpu(t).contiguous();
  return std::vector<T>(c.data_ptr<T>(), c.data_ptr<T>() + c.numel());
}
std::vector<int64_t> sizes(const Tensor& t);

// The same values in other memory: contiguous; transposed storage; every second element of a larger one along the first
// dimension; at an offset; for four dimensions channels-last.
std::vector<Tensor> layouts(const Tensor& t);

// Elements equal to |a - e| <= atol + rtol |e|, NaN to NaN, infinities to themselves.
void expect_close(const Tensor& actual, const std::vector<double>& expected, double rtol = 1e-5, double atol = 1e-6);
void expect_close(const Tensor& actual, const Tensor& expected, double rtol = 1e-5, double atol = 1e-6);

// rtol for results of a dtype.
double tolerance(ScalarType dtype);

// Runs f and expects an error of type E whose text contains `text`.
template <class E, class F>
void expect_error(const F& f, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an error of another type: " << e.what();
  }
}

}  // namespace at::testing
