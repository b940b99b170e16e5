// What exported programs assert about values and sizes.
#include <iostream>
#include <limits>
#include <string>

#include "aten/core/tensor.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

bool is_true(const Scalar& value) {
  return value.isComplex() ? value.toComplexDouble() != c10::complex<double>(0) : value.toDouble() != 0;
}

void check_range(const Scalar& size, std::optional<int64_t> min, std::optional<int64_t> max) {
  TORCH_CHECK(size.isIntegral(/*includeBool=*/false), "Constraining SymFloat or Symbool is nyi");
  const int64_t low = min.value_or(std::numeric_limits<int64_t>::min()),
                high = max.value_or(std::numeric_limits<int64_t>::max());
  TORCH_CHECK(high >= low, "Max must be greater than or equal to min, but got min=", low, " and max=", high);
  const int64_t value = size.toLong();
  TORCH_CHECK(value >= low && value <= high, "Invalid value range for ", value, " between [", low, ", ", high, "].");
}

}  // namespace

void assert_async(const Tensor& self) {
  TORCH_CHECK(at::is_nonzero(self), "Expected Tensor with single nonzero value, but got zero");
}
void assert_async_msg(const Tensor& self, std::string_view assert_msg) {
  TORCH_CHECK(at::is_nonzero(self), assert_msg.empty() ? std::string_view("Assertion is failed") : assert_msg);
}
void assert_scalar(const Scalar& self, std::string_view assert_msg) {
  TORCH_CHECK(is_true(self), assert_msg.empty() ? std::string_view("Assertion is failed") : assert_msg);
}
Tensor functional_assert_scalar(const Scalar& self, std::string_view assert_msg, const Tensor& dep_token) {
  assert_scalar(self, assert_msg);
  return at::clone(dep_token);
}
Tensor functional_assert_async_msg(const Tensor& self, std::string_view assert_msg, const Tensor& dep_token) {
  assert_async_msg(self, assert_msg);
  return at::clone(dep_token);
}

void assert_tensor_metadata(const Tensor& a, OptionalIntArrayRef size, OptionalIntArrayRef stride,
                            std::optional<ScalarType> dtype, std::optional<Device> device,
                            std::optional<Layout> layout) {
  TORCH_CHECK(!size.has_value() || a.sizes() == *size, "Tensor sizes mismatch! Expected: ", *size,
              ", Got: ", a.sizes());
  TORCH_CHECK(!stride.has_value() || a.strides() == *stride, "Tensor strides mismatch! Expected: ", *stride,
              ", Got: ", a.strides());
  TORCH_CHECK(!dtype.has_value() || a.scalar_type() == *dtype, "Tensor dtype mismatch! Expected: ", *dtype,
              ", Got: ", a.scalar_type());
  TORCH_CHECK(!device.has_value() || a.device() == *device, "Tensor device mismatch! Expected: ", *device,
              ", Got: ", a.device());
  TORCH_CHECK(!layout.has_value() || a.layout() == *layout, "Tensor layout mismatch!");
}

void print_text(std::string_view s) {
  std::cout << s << std::endl;
}

void sym_constrain_range(const Scalar& size, std::optional<int64_t> min, std::optional<int64_t> max) {
  check_range(size, min, max);
}
void sym_constrain_range_for_size(const Scalar& size, std::optional<int64_t> min, std::optional<int64_t> max) {
  TORCH_CHECK(!max.has_value() || *max > 2,
              "Max value to constrain_range_for_size must be greater than 2. got: ", max.value_or(0));
  check_range(size, std::max<int64_t>(min.value_or(0), 0), max);
}
Tensor functional_sym_constrain_range(const Scalar& size, std::optional<int64_t> min, std::optional<int64_t> max,
                                      const Tensor& dep_token) {
  check_range(size, min, max);
  return at::clone(dep_token);
}
Tensor functional_sym_constrain_range_for_size(const Scalar& size, std::optional<int64_t> min,
                                               std::optional<int64_t> max, const Tensor& dep_token) {
  sym_constrain_range_for_size(size, min, max);
  return at::clone(dep_token);
}

Tensor make_dep_token(TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return at::empty(IntArrayRef(), options, memory_format);
}

}  // namespace at::native
