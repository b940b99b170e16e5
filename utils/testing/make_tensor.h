// torch::testing::make_tensor: tensors of random values for tests.
#pragma once

#include <optional>

#include "aten/core/tensor.h"
#include "c10/core/memory_format.h"

namespace torch::testing {

struct MakeTensorOptions {
  /// Values are at least `low` and below `high`, as far as the dtype reaches. Default: [0, 2) for bool, [0, 10) for
  /// uint8, [-9, 10) for other integers, [-9, 9) for floating-point numbers and the parts of complex ones.
  std::optional<double> low = std::nullopt;
  std::optional<double> high = std::nullopt;
  /// Every second element of a tensor twice as wide; as it is where there is one element at most.
  bool noncontiguous = false;
  /// One, or the smallest normal number, instead of zeros.
  bool exclude_zero = false;
  bool requires_grad = false;
  std::optional<at::MemoryFormat> memory_format = std::nullopt;
};

/// Draws from the device's default generator; the values are PyTorch's for the same seed.
///
///   auto x = torch::testing::make_tensor({3, 4}, torch::kFloat, torch::kCPU, {.low = 0, .high = 1});
///
/// Throws ValueError where low is not below high, one of them is NaN, the dtype has no value between them,
/// `noncontiguous` and `memory_format` are both given, or a gradient is asked for integers; TypeError for other dtypes.
at::Tensor make_tensor(at::IntArrayRef shape, at::ScalarType dtype, at::Device device = at::kCPU,
                       const MakeTensorOptions& options = {});

}  // namespace torch::testing
