#pragma once
// What the margin losses and their gradients make of their arguments: rows of classes.

#include "aten/core/tensor.h"

namespace at::native {

// x, [rows, classes], and for each row its class `target`, [rows, 1].
struct MarginRows {
  Tensor target;
  Tensor differences;  // margin - x[target] + x[i]
  Tensor weight;       // of the targets, [rows, 1]; undefined: all 1
  bool squared = false;
};
MarginRows margin_rows(const char* op, const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                       const std::optional<Tensor>& weight);

// x, [rows, classes], and for each row a list of classes that ends with the first negative one.
struct LabelRows {
  Tensor x;
  Tensor target;       // negative ones as 0
  Tensor valid;        // 1 up to the end of the list, in the dtype of x
  Tensor differences;  // 1 - x[target[j]] + x[i], [rows, j, i]
};
LabelRows label_rows(const char* op, const Tensor& self, const Tensor& target);

}  // namespace at::native
