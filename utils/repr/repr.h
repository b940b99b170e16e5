// Tensors and small values as Python's repr() writes them, with Python's print options.
//
//   torch::repr(torch::tensor({1.5, -2.}))          // "tensor([ 1.5000, -2.0000])"
//   torch::set_printoptions({.precision = 2, .threshold = 100});
//   torch::repr(x > 0)                              // "tensor([[True, False], ...])"
//   torch::repr(x.sizes())                          // "torch.Size([2, 3])"
//
// `std::cout << tensor` is libtorch's form of it, which these options do not change.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "aten/core/tensor.h"

namespace torch {

struct PrintOptions {
  /// Digits behind the point.
  int precision = 4;
  /// Tensors of more elements are shown by their edges.
  int64_t threshold = 1000;
  /// How many elements of each end of a dimension are shown then.
  int64_t edgeitems = 3;
  /// Characters of a line.
  int64_t linewidth = 80;
  /// Whether numbers have an exponent; decided by their range where it is not given.
  std::optional<bool> sci_mode;

  /// The options of that name: "default", "short" (two digits, two edge items) or "full" (nothing is left out). Throws
  /// ValueError for another.
  static PrintOptions profile(std::string_view name);
};

/// For all threads from now on. Throws ValueError for a precision outside 0 to 100, a line of no characters, a negative
/// threshold or negative edge items.
void set_printoptions(const PrintOptions& options);
PrintOptions get_printoptions();

/// "tensor([[1., 2.]], dtype=torch.float64, grad_fn=<MulBackward0>)". Tensors of any device and dtype, dense or sparse
/// ("tensor(indices=tensor([[0]]),\n       values=tensor([1.]),\n       size=(2,), nnz=1, layout=torch.sparse_coo)"); those of
/// other devices are copied to the CPU, those without storage show "...". Throws NotImplementedError for other layouts.
std::string repr(const at::Tensor& tensor);
/// With options of its own.
std::string repr(const at::Tensor& tensor, const PrintOptions& options);

/// "torch.Size([2, 3])"
std::string repr(at::IntArrayRef sizes);
/// "torch.float32"
std::string repr(at::ScalarType dtype);
/// "device(type='cuda', index=1)"
std::string repr(const at::Device& device);
/// "torch.strided"
std::string repr(at::Layout layout);
/// "torch.channels_last"
std::string repr(at::MemoryFormat format);

}  // namespace torch
