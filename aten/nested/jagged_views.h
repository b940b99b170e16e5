#pragma once

#include <vector>

#include "aten/core/tensor.h"

// Other geometries of jagged tensors: those of their values, with the ragged dimension carried along. Differentiable.
namespace at::nested {

Tensor transpose_jagged(const Tensor& self, int64_t dim0, int64_t dim1);
/// `dim` is wrapped and not that of the parts.
Tensor select_jagged(const Tensor& self, int64_t dim, int64_t index);
Tensor squeeze_jagged(const Tensor& self, IntArrayRef dim);
/// `dim` is wrapped.
Tensor unsqueeze_jagged(const Tensor& self, int64_t dim);
std::vector<Tensor> split_jagged(const Tensor& self, IntArrayRef split_sizes, int64_t dim);
/// Along the first dimension, too.
std::vector<Tensor> chunk_jagged(const Tensor& self, int64_t chunks, int64_t dim);
/// `size` begins with the number of parts and has -1 for the ragged dimension, in whose front the product of the sizes
/// is kept; another -1 stands for the size that is there or, behind the ragged dimension and alone, for what is left.
Tensor view_jagged(const Tensor& self, IntArrayRef size);
Tensor reshape_jagged(const Tensor& self, IntArrayRef shape);
Tensor cat_jagged(TensorList tensors, int64_t dim);

}  // namespace at::nested
