// linear and its gradients.
#include <tuple>

#include "aten/core/tensor.h"
#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

TensorSpec linear_meta(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  TORCH_CHECK(input.dim() > 0 && weight.dim() > 0, "both arguments to linear need to be at least 1D, but they are ", input.dim(),
              "D and ", weight.dim(), "D");
  TORCH_CHECK(weight.dim() <= 2, "linear: weight must be a vector or a matrix, got ", weight.dim(), "-D tensor");
  const int64_t k = input.size(-1);
  const bool with_bias = bias.has_value() && bias->defined();
  if (weight.size(-1) != k) {
    TORCH_CHECK(weight.dim() == 2, "size mismatch, got input ", input.sizes(), ", weight ", weight.sizes());
    TORCH_CHECK(false, with_bias ? "addmm" : "mm", ": mat1 and mat2 shapes cannot be multiplied (", k == 0 ? 0 : input.numel() / k, "x", k, " and ",
                weight.size(1), "x", weight.size(0), ")");
  }
  check_same_device({&input, &weight, bias.has_value() ? &*bias : nullptr});
  if (with_bias) {
    check_factors_dtype(input, weight);
  } else {
    check_same_dtype(input, weight, "m1", "m2");
  }
  check_matrix_dtype("linear", input.scalar_type());
  TensorSpec spec = dense_spec(input.sizes().slice(0, static_cast<size_t>(input.dim() - 1)), input);
  if (weight.dim() == 2) spec.sizes.push_back(weight.size(0));
  if (with_bias) {
    check_same_dtype(*bias, input, "bias", "input");
    check_expands(*bias, spec.sizes);
  }
  return spec;
}

void linear_cpu(const Tensor& input_in, const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t k = input_in.size(-1), rank = input_in.dim();
  const int64_t n = weight.dim() == 2 ? weight.size(0) : 1;
  const int64_t rows = out.numel() / n;
  matrix::Gemm g;
  g.type = matrix_type(out.scalar_type());
  g.m = rows, g.n = n, g.k = k;
  // All rows of the input as one matrix, if their strides allow; a batch of matrices if not.
  Tensor input = input_in;
  const int64_t flat[] = {rows, k};
  std::optional<DimVector> strides = rank == 2 ? DimVector(input.strides().begin(), input.strides().end())
                                               : view_strides(input.sizes(), input.strides(), flat);
  const bool dense_out = out.is_contiguous();
  const bool plain_bias = !bias.has_value() || !bias->defined() || bias->dim() <= 1;
  if (!strides.has_value() || (rank > 2 && !dense_out)) {
    if (rank == 3 && weight.dim() == 2 && plain_bias) {
      g.m = out.size(1);
      g.batch[1] = out.size(0);
      g.a = {input.data_ptr(), input.stride(1), input.stride(2), {0, input.stride(0)}};
      g.c_row = out.stride(1), g.c_col = out.stride(2), g.c_batch[1] = out.stride(0);
    } else {
      input = at::contiguous(input, MemoryFormat::Contiguous);
      strides = DimVector{k, 1};
    }
  }
  const bool batched = g.batch[1] > 1 || g.a.data != nullptr;
  Tensor result = out;
  if (!batched) {
    g.a = {input.data_ptr(), (*strides)[0], (*strides)[1], {0, 0}};
    if (rank <= 2 && weight.dim() == 2) {
      g.c_row = rank == 2 ? out.stride(0) : n;
      g.c_col = out.stride(rank - 1);
    } else {
      if (!dense_out) result = at::empty_contiguous(out.sizes(), out.scalar_type());
      g.c_row = n;
    }
  }
  g.b = weight.dim() == 2 ? matrix::Operand{weight.data_ptr(), weight.stride(1), weight.stride(0), {0, 0}}
                          : matrix::Operand{weight.data_ptr(), weight.stride(0), 1, {0, 0}};
  g.c = result.data_ptr();
  Tensor wide_bias;
  if (bias.has_value() && bias->defined()) {
    if (plain_bias && weight.dim() == 2) {
      g.add = {bias->data_ptr(), 0, bias->dim() == 1 && bias->size(0) != 1 ? bias->stride(0) : 0, {0, 0}};
    } else {
      wide_bias = at::contiguous(at::expand(*bias, out.sizes(), false), MemoryFormat::Contiguous);
      g.add = {wide_bias.data_ptr(), n, 1, {0, 0}};
    }
  }
  matrix::gemm(g);
  if (!result.is_same(out)) at::copy_(out, result, false);
}

std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& self, const Tensor& grad_output, const Tensor& weight,
                                                   std::array<bool, 3> output_mask) {
  std::tuple<Tensor, Tensor, Tensor> result;
  const bool vector = weight.dim() == 1;
  const int64_t k = self.size(-1), n = vector ? 1 : weight.size(0);
  const int64_t rows = k == 0 ? (n == 0 ? 0 : grad_output.numel() / n) : self.numel() / k;
  const Tensor grad = at::reshape(grad_output, {rows, n});
  const Tensor matrix = vector ? at::unsqueeze(weight, 0) : weight;
  if (output_mask[0]) std::get<0>(result) = at::reshape(at::mm(grad, matrix), self.sizes());
  if (output_mask[1]) {
    const Tensor gradient = at::mm(at::t(grad), at::reshape(self, {rows, k}));
    std::get<1>(result) = vector ? at::squeeze(gradient, 0) : gradient;
  }
  if (output_mask[2]) std::get<2>(result) = vector ? grad_output : at::sum(grad, IntArrayRef{0}, false, std::nullopt);
  return result;
}

std::tuple<Tensor, Tensor> fused_linear_parameters_backward(const Tensor& grad_output, const Tensor& input) {
  return {at::mm(at::t(grad_output), input), at::sum(grad_output, IntArrayRef{0}, false, std::nullopt)};
}

}  // namespace at::native
