// What histograms of CUDA tensors are made of: //aten/ops/sort names these functions weakly.
#pragma once

#include "aten/core/tensor.h"

namespace at::cuda {

/// The least and the greatest element of each column of [n, dims] points with n > 0, NaN where there is one: [2, dims]
/// of double on the CPU. Waits.
Tensor column_extremes(const Tensor& points);

/// How many of [n, dims] points lie in each bin of a grid of `sizes`, whose dimension d has the edges edges[d], or their
/// weights together where `weights` [n] is defined; with `density` over their sum and the bin's volume. In the points'
/// dtype; added up in double, in an order that the points alone decide.
Tensor histogram(const Tensor& points, TensorList edges, IntArrayRef sizes, const Tensor& weights, bool density);

}  // namespace at::cuda
