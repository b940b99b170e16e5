// gradient: second-order differences inside, first- or second-order ones at the edges.
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/scan/kernels.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check(const Tensor& self, IntArrayRef dims, size_t spacings, int64_t edge_order) {
  TORCH_CHECK(self.scalar_type() != ScalarType::Byte, "torch.gradient does not support uint8 input.");
  TORCH_CHECK(edge_order == 1 || edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
  TORCH_CHECK(spacings == dims.size(),
              "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'dim' (",
              dims.size(), "), but got ", spacings);
  TORCH_CHECK(dims.empty() || self.dim() > 0, "torch.gradient expected a tensor of at least one dimension");
  std::vector<bool> seen(static_cast<size_t>(self.dim()));
  for (int64_t dim : dims) {
    const int64_t d = maybe_wrap_dim(dim, self.dim());
    TORCH_CHECK(!seen[static_cast<size_t>(d)], "dim ", d, " appears multiple times in the list of dims");
    seen[static_cast<size_t>(d)] = true;
    TORCH_CHECK(self.size(d) >= edge_order + 1,
                "torch.gradient expected each dimension size to be at least edge_order+1");
  }
}

DimVector dims_of(const Tensor& self, std::optional<int64_t> dim) {
  DimVector dims;
  if (dim.has_value()) {
    dims.push_back(*dim);
  } else {
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  }
  return dims;
}

// Of equal steps.
Tensor along(const Tensor& f, const Scalar& step, int64_t dim, int64_t edge_order) {
  const int64_t n = f.size(dim);
  const auto at = [&](int64_t i) { return at::narrow(f, dim, i, 1); };
  Tensor first, last;
  if (edge_order == 1) {
    first = at::div(at::sub(at(1), at(0)), step);
    last = at::div(at::sub(at(n - 1), at(n - 2)), step);
  } else {
    const auto edge = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      return at::sub(at::add(at::mul(a, Scalar(-1.5)), at::mul(b, Scalar(2.0))), at::mul(c, Scalar(0.5)));
    };
    first = at::div(edge(at(0), at(1), at(2)), step);
    last = at::neg(at::div(edge(at(n - 1), at(n - 2), at(n - 3)), step));
  }
  if (n == 2) return at::cat({first, last}, dim);
  const Tensor inner =
      at::div(at::div(at::sub(at::narrow(f, dim, 2, n - 2), at::narrow(f, dim, 0, n - 2)), Scalar(2)), step);
  return at::cat({first, inner, last}, dim);
}

// Of given coordinates, one for each element along dim.
Tensor along(const Tensor& f, const Tensor& x, int64_t dim, int64_t edge_order) {
  const int64_t n = f.size(dim);
  TORCH_CHECK(x.dim() == 1 && x.size(0) == n,
              "torch.gradient expected each element of `spacing` to have the same length as the input "
              "along its dimension, got sizes ",
              x.sizes(), " for length ", n);
  DimVector shape(static_cast<size_t>(f.dim()), 1);
  shape[static_cast<size_t>(dim)] = n - 1;
  const Tensor steps = at::reshape(at::sub(at::narrow(x, 0, 1, n - 1), at::narrow(x, 0, 0, n - 1)), shape);
  const auto at = [&](int64_t i) { return at::narrow(f, dim, i, 1); };
  const auto step = [&](int64_t i) { return at::narrow(steps, dim, i, 1); };
  Tensor first, last;
  if (edge_order == 1) {
    first = at::div(at::sub(at(1), at(0)), step(0));
    last = at::div(at::sub(at(n - 1), at(n - 2)), step(n - 2));
  } else {
    // The parabola through three points, h and k apart, at the first.
    const auto edge = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& h, const Tensor& k) {
      const Tensor both = at::add(h, k);
      const Tensor of_a = at::neg(at::div(at::add(h, both), at::mul(h, both)));
      const Tensor of_b = at::div(both, at::mul(h, k)), of_c = at::neg(at::div(h, at::mul(k, both)));
      return at::add(at::add(at::mul(of_a, a), at::mul(of_b, b)), at::mul(of_c, c));
    };
    first = edge(at(0), at(1), at(2), step(0), step(1));
    last = at::neg(edge(at(n - 1), at(n - 2), at(n - 3), step(n - 2), step(n - 3)));
  }
  if (n == 2) return at::cat({first, last}, dim);
  const Tensor h = at::narrow(steps, dim, 0, n - 2), k = at::narrow(steps, dim, 1, n - 2), both = at::add(h, k);
  const Tensor of_before = at::neg(at::div(k, at::mul(h, both))), of_here = at::div(at::sub(k, h), at::mul(h, k)),
               of_after = at::div(h, at::mul(k, both));
  const Tensor inner =
      at::add(at::add(at::mul(of_before, at::narrow(f, dim, 0, n - 2)), at::mul(of_here, at::narrow(f, dim, 1, n - 2))),
              at::mul(of_after, at::narrow(f, dim, 2, n - 2)));
  return at::cat({first, inner, last}, dim);
}

template <class Spacings>
std::vector<Tensor> gradients(const Tensor& self, IntArrayRef dims, const Spacings& spacings, int64_t edge_order) {
  check(self, dims, spacings.size(), edge_order);
  std::vector<Tensor> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(along(self, spacings[i], maybe_wrap_dim(dims[i], self.dim()), edge_order));
  return results;
}

}  // namespace

std::vector<Tensor> gradient_scalarint(const Tensor& self, const std::optional<Scalar>& spacing,
                                       std::optional<int64_t> dim, int64_t edge_order) {
  const DimVector dims = dims_of(self, dim);
  return gradients(self, dims, std::vector<Scalar>(dims.size(), spacing.value_or(Scalar(1))), edge_order);
}
std::vector<Tensor> gradient_scalararray(const Tensor& self, const Scalar& spacing, IntArrayRef dim,
                                         int64_t edge_order) {
  return gradients(self, dim, std::vector<Scalar>(dim.size(), spacing), edge_order);
}
std::vector<Tensor> gradient_array(const Tensor& self, IntArrayRef dim, int64_t edge_order) {
  return gradients(self, dim, std::vector<Scalar>(dim.size(), Scalar(1)), edge_order);
}
std::vector<Tensor> gradient_scalarrayint(const Tensor& self, ArrayRef<Scalar> spacing, std::optional<int64_t> dim,
                                          int64_t edge_order) {
  return gradients(self, dims_of(self, dim), spacing, edge_order);
}
std::vector<Tensor> gradient_scalarrayarray(const Tensor& self, ArrayRef<Scalar> spacing, IntArrayRef dim,
                                            int64_t edge_order) {
  return gradients(self, dim, spacing, edge_order);
}
std::vector<Tensor> gradient_tensorarrayint(const Tensor& self, TensorList spacing, std::optional<int64_t> dim,
                                            int64_t edge_order) {
  return gradients(self, dims_of(self, dim), spacing, edge_order);
}
std::vector<Tensor> gradient_tensorarray(const Tensor& self, TensorList spacing, IntArrayRef dim, int64_t edge_order) {
  return gradients(self, dim, spacing, edge_order);
}

}  // namespace at::native
