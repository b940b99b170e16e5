// Nested tensors: batches of tensors that differ in size, as one tensor. Its first dimension counts the parts, and
// sizes in which these differ are -1 in sizes(); size(d) throws for them.
//
//   auto nt = torch::nested::nested_tensor({torch::ones({2, 3}), torch::ones({4, 3})});
//   nt.unbind();                                  // the two, over the memory of nt
//   torch::nested::to_padded_tensor(nt, 0.0);     // 2 x 4 x 3
#pragma once

#include <optional>

#include "aten/core/tensor.h"
#include "aten/core/tensor_literal.h"

namespace torch::nested {

/// A new leaf of copies of the tensors, which have equal numbers of dimensions; no gradient flows to them. The dtype is
/// that of `options`, else the first tensor's (of an empty list the default one). Throws c10::Error for tensors of
/// different numbers of dimensions and NotImplementedError for another layout than strided, another device than the CPU
/// and pinned memory.
at::Tensor nested_tensor(at::TensorList list, const at::TensorOptions& options = {});
/// The same of nested braces, each as torch::tensor takes it: nested_tensor({{1, 2}, {3}}).
at::Tensor nested_tensor(at::ArrayRef<torch::detail::TensorDataContainer> list, const at::TensorOptions& options = {});

/// The same, and gradients flow to the tensors.
at::Tensor as_nested_tensor(at::TensorList list, std::optional<at::ScalarType> dtype = std::nullopt,
                            std::optional<at::Device> device = std::nullopt);

/// The parts in one dense tensor, with `padding` behind them, as at::nested_to_padded_tensor.
at::Tensor to_padded_tensor(const at::Tensor& self, double padding, at::OptionalIntArrayRef output_size = std::nullopt);

}  // namespace torch::nested
