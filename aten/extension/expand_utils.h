// Broadcasting, as operators of programs do it themselves.
//
//   auto [a, b] = at::expand_outplace(x, y);       // views of one shape
//   kernel(a->data_ptr<float>(), ...);
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/maybe_owned.h"
#include "c10/util/small_vector.h"

namespace at {

/// The shape that two broadcast to. Throws "The size of tensor a (2) must match the size of tensor b (3) at
/// non-singleton dimension 0".
std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b);
DimVector infer_size_dimvector(IntArrayRef a, IntArrayRef b);

/// Whether the first shape broadcasts to the second.
bool is_expandable_to(IntArrayRef shape, IntArrayRef desired);
/// Whether two shapes broadcast.
bool are_expandable(IntArrayRef shape1, IntArrayRef shape2);

/// `to_expand` in the shape of the tensor that is written to; borrowed where it has it.
c10::MaybeOwned<Tensor> expand_inplace(const Tensor& tensor, const Tensor& to_expand);
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_inplace(
    const Tensor& tensor, const Tensor& to_expand1, const Tensor& to_expand2);
/// Both, or all three, in their common shape; borrowed where they have it.
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(const Tensor& a, const Tensor& b);
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(
    const Tensor& a, const Tensor& b, const Tensor& c);
/// The same of any number; undefined ones stay.
std::vector<Tensor> expand_outplace(TensorList to_expand);
c10::MaybeOwned<Tensor> expand_size(const Tensor& to_expand, IntArrayRef sizes);

/// The sum over the dimensions in which `shape` was broadcast to the tensor's.
Tensor sum_to(Tensor tensor, IntArrayRef shape, bool always_return_non_view = false);

// None of these may be given a tensor that ends with the statement.
c10::MaybeOwned<Tensor> expand_inplace(const Tensor& tensor, Tensor&& to_expand) = delete;
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(Tensor&& a, const Tensor& b) = delete;
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(const Tensor& a, Tensor&& b) = delete;
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(Tensor&& a, Tensor&& b) = delete;
c10::MaybeOwned<Tensor> expand_size(Tensor&& to_expand, IntArrayRef sizes) = delete;

}  // namespace at
