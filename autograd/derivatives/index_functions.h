#pragma once
// Formulas of indexing and joining.

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/small_vector.h"

namespace torch::autograd::generated {
using namespace at;

Tensor embedding_dense_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq);

// `indices` as index() takes them; undefined tensors stand for whole dimensions.
Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const std::vector<Tensor>& indices);
Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices, bool accumulate);
Tensor index_put_values_backward(const Tensor& grad, const std::vector<Tensor>& indices, IntArrayRef value_sizes);

Tensor masked_fill_value_backward(const Tensor& grad, const Tensor& mask);
Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask);

Tensor put_self_backward(const Tensor& grad, const Tensor& index, bool accumulate);
Tensor take_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& index);

Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes);
Tensor index_add_source_backward(
    const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes, const Scalar& alpha);
std::tuple<Tensor, Tensor> index_reduce_backward(
    const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
    bool include_self, const Tensor& result);

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef src_sizes);
// Of scatter with a number and "add" or "multiply": the factors that self was multiplied by.
Tensor scatter_value_reduce_backward(
    const Tensor& grad, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce);
std::tuple<Tensor, Tensor> scatter_reduce_backward(
    const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
    bool include_self, const Tensor& result);

// The pieces of grad that belong to the concatenated tensors.
std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim);

}  // namespace torch::autograd::generated
