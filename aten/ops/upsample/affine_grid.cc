// affine_grid_generator and its gradient: products with the corners' coordinates.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// -1 to 1 at the centers of the outermost of `size` elements (align_corners), or at their outer edges.
Tensor line(int64_t size, const Tensor& like, bool align_corners) {
  const TensorOptions options = like.options();
  if (size <= 1) return at::zeros({size}, options);
  const Tensor even = at::linspace(-1, 1, size, options);
  return align_corners ? even : at::mul(even, Scalar(static_cast<double>(size - 1) / static_cast<double>(size)));
}

// [places, dims + 1]: the coordinates of each element, x first, and a 1.
Tensor base_grid(IntArrayRef size, const Tensor& like, bool align_corners) {
  const IntArrayRef spatial = size.slice(2);
  std::vector<Tensor> columns;
  for (size_t d = spatial.size(); d-- > 0;) {
    DimVector shape(spatial.size(), 1);
    shape[d] = spatial[d];
    columns.push_back(
        at::reshape(at::expand(at::reshape(line(spatial[d], like, align_corners), shape), spatial), {-1}));
  }
  columns.push_back(at::ones_like(columns[0]));
  return at::stack(columns, 1);
}

void check_affine(const char* op, const Tensor& t, IntArrayRef size) {
  TORCH_CHECK(size.size() == 4 || size.size() == 5, op,
              ": AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  for (int64_t n : size) TORCH_CHECK(n >= 0, op, ": expected sizes that are not negative, but got ", size);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(t.scalar_type()), "\"", op, "\" not implemented for '", t.scalar_type(),
                              "'");
  int64_t places = 1;
  for (int64_t n : size.slice(2)) {
    TORCH_CHECK(!__builtin_mul_overflow(places, n, &places), op, ": size ", size, " is too large");
  }
  TORCH_CHECK(places > 0, op, ": expected spatial sizes above 0, but got ", size);
}

}  // namespace

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  check_affine("affine_grid_generator", theta, size);
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  TORCH_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == dims && theta.size(2) == dims + 1,
              "affine_grid_generator: Expected a batch of ", dims, "D affine matrices of shape Nx", dims, "x", dims + 1,
              " for size ", size, ". Got ", theta.sizes(), ".");
  DimVector sizes{size[0]};
  for (int64_t n : size.slice(2)) sizes.push_back(n);
  sizes.push_back(dims);
  return at::reshape(at::matmul(base_grid(size, theta, align_corners), at::transpose(theta, 1, 2)), sizes);
}

Tensor affine_grid_generator_backward(const Tensor& grad, IntArrayRef size, bool align_corners) {
  check_affine("affine_grid_generator_backward", grad, size);
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  DimVector sizes{size[0]};
  for (int64_t n : size.slice(2)) sizes.push_back(n);
  sizes.push_back(dims);
  TORCH_CHECK(grad.sizes() == IntArrayRef(sizes), "affine_grid_generator_backward: expected grad of sizes ",
              IntArrayRef(sizes), ", but got ", grad.sizes());
  const Tensor places = at::reshape(grad, {size[0], grad.numel() / std::max<int64_t>(1, size[0] * dims), dims});
  return at::matmul(at::transpose(places, 1, 2), base_grid(size, grad, align_corners));
}

}  // namespace at::native
