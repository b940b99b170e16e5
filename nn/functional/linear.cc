#include "nn/functional/linear.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::linear(input, weight, nn::detail::if_defined(bias));
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return at::bilinear(input1, input2, weight, nn::detail::if_defined(bias));
}
namespace {

Tensor grouped_product(const Tensor& a, const Tensor& b, const Tensor& offs) {
  if (!offs.defined()) {
    TORCH_CHECK(a.dim() == 3 && b.dim() == 3, "grouped_mm: expected offs for a or b of two dimensions, but got sizes ",
                a.sizes(), " and ", b.sizes());
    return at::bmm(a, b);
  }
  TORCH_CHECK(offs.dim() == 1 && (a.dim() == 2 || b.dim() == 2), "grouped_mm: expected offs of one dimension and a or b of two, but got sizes ",
              offs.sizes(), ", ", a.sizes(), " and ", b.sizes());
  const int64_t groups = offs.numel(), dim = a.dim() == 2 && b.dim() == 3 ? 0 : 1;
  TORCH_CHECK((a.dim() == 2 || a.size(0) == groups) && (b.dim() == 2 || b.size(0) == groups), "grouped_mm: expected ", groups,
              " matrices, as offs has elements, but got sizes ", a.sizes(), " and ", b.sizes());
  const Tensor ends = at::_to_copy(offs, at::TensorOptions(at::kLong));
  const int64_t size = a.dim() == 2 ? a.size(dim) : b.size(1);
  std::vector<Tensor> products;
  int64_t begin = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t end = at::select(ends, 0, g).item().toLong();
    TORCH_CHECK(begin <= end && end <= size, "grouped_mm: offs must ascend up to ", size, ", but offs[", g, "] is ", end);
    const Tensor x = a.dim() == 3 ? at::select(a, 0, g) : at::narrow(a, dim, begin, end - begin);
    const Tensor y = b.dim() == 3 ? at::select(b, 0, g) : at::narrow(b, a.dim() == 3 ? 1 : 0, begin, end - begin);
    products.push_back(at::mm(x, y));
    begin = end;
  }
  if (a.dim() == 2 && b.dim() == 2) return at::stack(products);
  if (begin < size) {
    const Tensor& first = products.at(0);
    products.push_back(dim == 0 ? at::zeros({size - begin, first.size(1)}, first.options())
                                : at::zeros({first.size(0), size - begin}, first.options()));
  }
  return at::cat(products, dim);
}

}  // namespace

Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& offs, const Tensor& bias,
                  std::optional<at::ScalarType> out_dtype) {
  TORCH_CHECK(!out_dtype.has_value() || *out_dtype == a.scalar_type(),
              "grouped_mm: Grouped gemm output dtype must match `mat_a` dtype, ", a.scalar_type(),
              ", but got out_dtype ", out_dtype.value_or(a.scalar_type()));
  const Tensor product = grouped_product(a, b, offs);
  return bias.defined() ? at::add(product, bias) : product;
}

}  // namespace torch::nn::functional
