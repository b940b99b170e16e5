// How results are compared: same dtype, same size, values within the tolerance of their dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aten/core/tensor.h"

namespace conformance {

// The first thing that differs.
struct Mismatch {
  std::string where;  // "result 0", "gradient 1"
  int64_t index = -1;  // of the element, in row-major order; -1 where the whole differs
  std::string got, expected;

  std::string text() const;
};

// | dtype                | rtol   | atol |
// | float64, complex128  | 1e-7   | 1e-7 |
// | float32, complex64   | 1.3e-5 | 2e-5 |
// | bfloat16             | 1.6e-2 | 1e-2 |
// | float16, complex32   | 1e-3   | 1e-3 |
// times `factor`; |got - expected| <= atol + rtol |expected|, NaN equals NaN, and infinities are equal. Complex numbers are
// compared part by part. Integers and booleans are equal; those of quantized tensors differ by at most `slack`, and
// their quantizers are equal.
std::optional<Mismatch> difference(const at::Tensor& got, const at::Tensor& expected, double factor = 1,
                                   int64_t slack = 0);

// The same of dtypes and sizes only.
std::optional<Mismatch> kind_difference(const at::Tensor& got, const at::Tensor& expected);

// The same for indices that may name any of several equal elements: got[i] is right where `source` holds the same value there
// as at expected[i], and the indices along the dimension are distinct. `dim` counts in `source`; without it in the indices
// (keepdim=False) they have one dimension less.
std::optional<Mismatch> index_difference(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& source, int64_t dim);

// Whether two elements along the dimension are equal.
bool has_ties(const at::Tensor& source, int64_t dim);

}  // namespace conformance
