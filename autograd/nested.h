// Nested tensors: batches of tensors that differ in size, as one tensor. Its first dimension counts the parts, and
// sizes in which these differ are -1 in sizes(); size(d) throws for them.
//
//   auto nt = torch::nested::nested_tensor({torch::ones({2, 3}), torch::ones({4, 3})});
//   nt.unbind();                                  // the two, over the memory of nt
//   torch::nested::to_padded_tensor(nt, 0.0);     // 2 x 4 x 3
//
// There are two layouts. Of torch::kStrided, the default, parts differ in any dimension. Of torch::kJagged they differ
// in one, the ragged dimension, whose size is always -1; their elements are the values, one tensor, in which the ragged
// dimensions of all parts lie one behind the other, and the offsets say where each begins. Operators work on the
// values, so that a jagged tensor costs what a dense one of as many elements does.
//
//   auto nt = torch::nested::nested_tensor({torch::ones({2, 3}), torch::ones({4, 3})}, torch::kJagged);
//   nt.values();                                  // 6 x 3
//   torch::nested::offsets(nt);                   // 0, 2, 6
//
// Jagged tensors go together in a call where they were made with the same tensor of offsets (and of lengths), as the
// results of operators are; others are different even where the numbers are equal:
//
//   auto other = torch::nested::nested_tensor_from_jagged(torch::ones({6, 3}), torch::nested::offsets(nt));
//   nt + other;                                   // nt + (another of equal parts) throws c10::Error
#pragma once

#include <optional>
#include <type_traits>

#include "aten/core/tensor.h"
#include "aten/core/tensor_literal.h"

namespace torch::nested {

namespace detail {
at::Tensor as_nested_batch(const at::Tensor& t, std::optional<at::ScalarType> dtype, std::optional<at::Device> device,
                           at::Layout layout);
}  // namespace detail

/// A new leaf of copies of the tensors, which have equal numbers of dimensions; no gradient flows to them. The dtype is
/// that of `options`, else the first tensor's (of an empty list the default one). The layout is that of `options`: for
/// kJagged the tensors differ in one dimension (or none: the first is the ragged one then).
/// Throws c10::Error for tensors of different numbers of dimensions, and of the jagged layout for none, for those that
/// have no dimension, differ in dtype, or in several dimensions; NotImplementedError for other layouts, another device
/// than the CPU and pinned memory.
at::Tensor nested_tensor(at::TensorList list, const at::TensorOptions& options = {});
/// The same of nested braces, each as torch::tensor takes it: nested_tensor({{1, 2}, {3}}).
at::Tensor nested_tensor(at::ArrayRef<torch::detail::TensorDataContainer> list, const at::TensorOptions& options = {});

/// The same, and gradients flow to the tensors.
at::Tensor as_nested_tensor(at::TensorList list, std::optional<at::ScalarType> dtype = std::nullopt,
                            std::optional<at::Device> device = std::nullopt, at::Layout layout = at::kStrided);
/// A nested tensor as it is or of that dtype. A dense one is a batch of parts of equal size, in its own memory where it
/// is contiguous; it has more than one dimension. Throws c10::Error for a nested tensor of another layout.
template <class T>
requires std::is_same_v<T, at::Tensor>  // {t} is a list of one tensor
    at::Tensor as_nested_tensor(const T& t, std::optional<at::ScalarType> dtype = std::nullopt,
                                std::optional<at::Device> device = std::nullopt, at::Layout layout = at::kStrided) {
  return detail::as_nested_batch(t, dtype, device, layout);
}

/// A jagged tensor over the memory of `values`, to which gradients flow. Its first dimension, of B parts, is new;
/// before `jagged_dim`, 1 where it is not given, lies in `values` the dimension of all parts one behind the other.
/// `offsets`, of B + 1 numbers int64 or int32, are where each part begins, and behind the last one its end. `lengths`,
/// of B numbers, leave holes between the parts; without offsets the parts of these lengths have none. `min_seqlen` and
/// `max_seqlen` bound the lengths: to_padded_tensor() pads to `max_seqlen`.
///
///   auto values = torch::arange(10).reshape({5, 2});
///   nested_tensor_from_jagged(values, torch::tensor({0, 2, 5}));  // parts of 2 x 2 and 3 x 2
///
/// Throws c10::Error where both are missing, ValueError where they are not of one dimension, negative, decreasing, of
/// different numbers of parts or beyond the values, TypeError for numbers of another dtype, and IndexError where
/// `values` have no such dimension. Offsets and lengths are read once and must not be changed afterwards.
at::Tensor nested_tensor_from_jagged(const at::Tensor& values, const std::optional<at::Tensor>& offsets = std::nullopt,
                                     const std::optional<at::Tensor>& lengths = std::nullopt,
                                     std::optional<int64_t> jagged_dim = std::nullopt,
                                     std::optional<int64_t> min_seqlen = std::nullopt,
                                     std::optional<int64_t> max_seqlen = std::nullopt);

/// Of each element of the first dimension of a dense tensor the part [start, start + length) along `dim`. Of the
/// strided layout a copy. Of the jagged layout a view with holes, for dim 1 alone; `start` and `length` may have a
/// number for each part (int64, one dimension).
///
///   narrow(torch::ones({3, 5}), 1, 0, torch::tensor({3, 2, 5}), torch::kJagged);  // parts of 3, 2 and 5 elements
///
/// Throws c10::Error for another dim, tensors of numbers that do not broadcast to the parts or beside the strided
/// layout, and where the first two dimensions cannot be viewed as one; ValueError for parts that reach out of the
/// tensor.
at::Tensor narrow(const at::Tensor& tensor, int64_t dim, int64_t start, int64_t length,
                  at::Layout layout = at::kStrided);
at::Tensor narrow(const at::Tensor& tensor, int64_t dim, const at::Tensor& start, const at::Tensor& length,
                  at::Layout layout = at::kStrided);
at::Tensor narrow(const at::Tensor& tensor, int64_t dim, int64_t start, const at::Tensor& length,
                  at::Layout layout = at::kStrided);
at::Tensor narrow(const at::Tensor& tensor, int64_t dim, const at::Tensor& start, int64_t length,
                  at::Layout layout = at::kStrided);

/// A jagged tensor of the elements of a dense one where `mask`, which broadcasts to it, is set: a part for each row
/// along the last dimension.
///
///   masked_select(torch::arange(6).reshape({2, 3}), torch::tensor({{true, false, true}, {false, false, true}}));
///   // parts {0, 2} and {5}
///
/// Throws c10::Error for another layout of the tensor and another dtype of the mask than bool.
at::Tensor masked_select(const at::Tensor& tensor, const at::Tensor& mask);

/// The parts in one dense tensor, with `padding` behind them, as at::nested_to_padded_tensor.
at::Tensor to_padded_tensor(const at::Tensor& self, double padding, at::OptionalIntArrayRef output_size = std::nullopt);

/// The offsets of a jagged tensor, and its lengths, undefined where it was made without: the tensors given. Throw for
/// other tensors.
at::Tensor offsets(const at::Tensor& self);
at::Tensor lengths(const at::Tensor& self);

}  // namespace torch::nested
