// Tensors put together from others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/parallel/parallel.h"

namespace at::native {
Tensor block_diag(TensorList tensors) {
  int64_t rows = 0;
  int64_t cols = 0;
  TypePromotion promotion;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    TORCH_CHECK(tensor.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ",
                tensor.dim(), " dimensions");
    rows += tensor.dim() == 2 ? tensor.size(0) : 1;
    cols += tensor.dim() == 0 ? 1 : tensor.size(-1);
    promotion.add_tensor(tensor.scalar_type(), tensor.dim() == 0 ? 1 : tensor.dim(), false);
  }
  if (tensors.empty()) return empty_contiguous({1, 0}, get_default_dtype_as_scalartype());
  Tensor result = empty_contiguous({rows, cols}, promotion.result(), tensors[0].device());
  at::zero_(result);
  int64_t row = 0;
  int64_t col = 0;
  for (const Tensor& tensor : tensors) {
    const Tensor block = at::atleast_2d(tensor);
    Tensor place = at::slice(at::slice(result, 0, row, row + block.size(0)), 1, col, col + block.size(1));
    at::copy_(place, block);
    row += block.size(0);
    col += block.size(1);
  }
  return result;
}

std::vector<Tensor> meshgrid_indexing(TensorList tensors, std::string_view indexing) {
  TORCH_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  TORCH_CHECK(
      indexing == "ij" || indexing == "xy",
      "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  std::vector<Tensor> inputs(tensors.begin(), tensors.end());
  const bool swap = indexing == "xy" && inputs.size() >= 2;
  if (swap) std::swap(inputs[0], inputs[1]);
  DimVector shape;
  for (const Tensor& tensor : inputs) {
    TORCH_CHECK(
        tensor.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of sizes ", tensor.sizes(), " (",
        tensor.dim(), "D)");
    TORCH_CHECK(
        tensor.scalar_type() == inputs[0].scalar_type(), "meshgrid expects all tensors to have the same dtype");
    TORCH_CHECK(tensor.device() == inputs[0].device(), "torch.meshgrid expects all tensors to have the same device");
    shape.push_back(tensor.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    DimVector own(inputs.size(), 1);
    own[i] = -1;
    grids.push_back(at::expand(at::reshape(inputs[i], own), shape));
  }
  if (swap) std::swap(grids[0], grids[1]);
  return grids;
}

std::vector<Tensor> meshgrid(TensorList tensors) {
  TORCH_WARN_ONCE("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.");
  return meshgrid_indexing(tensors, "ij");
}

namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// The number of steps from f(0) to f(1): a periodic window of `length` points is the longer symmetric one without its
// last point.
double steps_of(const char* name, int64_t length, bool periodic, const TensorOptions& options) {
  TORCH_CHECK(length >= 0, name, " requires non-negative window_length, got window_length=", length);
  const ScalarType dtype = options.scalar_type();
  TORCH_CHECK(isFloatingType(dtype), name, " expects floating point dtypes, got: ", toString(dtype));
  return static_cast<double>(periodic ? length : length - 1);
}

Tensor placed(const Tensor& values, const TensorOptions& options) {
  if (values.scalar_type() == options.scalar_type() && options.device().is_cpu()) return values;
  Tensor result = empty_contiguous(values.sizes(), options.scalar_type(), options.device());
  return at::copy_(result, values);
}

// f(0) to f(1) at the points of a window.
template <class F>
Tensor window(const char* name, int64_t length, bool periodic, const TensorOptions& options, const F& f) {
  const double steps = steps_of(name, length, periodic, options);
  const Tensor values = empty_contiguous({length}, ScalarType::Double);
  double* data = values.data_ptr<double>();
  for (int64_t i = 0; i < length; ++i) data[i] = length == 1 ? 1.0 : f(static_cast<double>(i) / steps);
  return placed(values, options);
}

// f(cosine) at the points of a whole turn. In float, blocks of them come from one by the sum of angles.
template <class F>
Tensor cosine_window(const char* name, int64_t length, bool periodic, const TensorOptions& options, const F& f) {
  constexpr int64_t kBlock = 64;
  if (options.scalar_type() != ScalarType::Float || length < kBlock) {
    return window(name, length, periodic, options, [&](double t) { return f(std::cos(kTwoPi * t)); });
  }
  const double step = kTwoPi / steps_of(name, length, periodic, options);
  double cosines[kBlock], sines[kBlock];
  for (int64_t k = 0; k < kBlock; ++k) {
    cosines[k] = std::cos(step * static_cast<double>(k));
    sines[k] = std::sin(step * static_cast<double>(k));
  }
  const Tensor values = empty_contiguous({length}, ScalarType::Float);
  float* to = values.data_ptr<float>();
  const int64_t blocks = (length + kBlock - 1) / kBlock;
  at::parallel_for(0, blocks, at::internal::GRAIN_SIZE / kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kBlock; i < std::min(end * kBlock, length); i += kBlock) {
      const double c = std::cos(step * static_cast<double>(i)), s = std::sin(step * static_cast<double>(i));
      float block[kBlock];
      for (int64_t k = 0; k < kBlock; ++k) block[k] = static_cast<float>(f(c * cosines[k] - s * sines[k]));
      std::copy(block, block + std::min(kBlock, length - i), to + i);
    }
  });
  return placed(values, options);
}

// The modified Bessel function of order zero by its power series, which converges for every argument.
double bessel_i0(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

}  // namespace

Tensor hamming_window_alpha_beta(int64_t window_length, bool periodic, double alpha, double beta, TensorOptions options) {
  return cosine_window("hamming_window", window_length, periodic, options, [=](double c) { return alpha - beta * c; });
}

Tensor hamming_window_alpha(int64_t window_length, bool periodic, double alpha, TensorOptions options) {
  return hamming_window_alpha_beta(window_length, periodic, alpha, 0.46, options);
}

Tensor hamming_window_periodic(int64_t window_length, bool periodic, TensorOptions options) {
  return hamming_window_alpha_beta(window_length, periodic, 0.54, 0.46, options);
}

Tensor hamming_window(int64_t window_length, TensorOptions options) {
  return hamming_window_periodic(window_length, true, options);
}

Tensor hann_window_periodic(int64_t window_length, bool periodic, TensorOptions options) {
  return hamming_window_alpha_beta(window_length, periodic, 0.5, 0.5, options);
}

Tensor hann_window(int64_t window_length, TensorOptions options) {
  return hann_window_periodic(window_length, true, options);
}

Tensor blackman_window_periodic(int64_t window_length, bool periodic, TensorOptions options) {
  // cos(2 t) = 2 cos(t)^2 - 1
  return cosine_window("blackman_window", window_length, periodic, options,
                       [](double c) { return 0.42 - 0.5 * c + 0.08 * (2 * c * c - 1); });
}

Tensor blackman_window(int64_t window_length, TensorOptions options) {
  return blackman_window_periodic(window_length, true, options);
}

Tensor bartlett_window_periodic(int64_t window_length, bool periodic, TensorOptions options) {
  return window("bartlett_window", window_length, periodic, options,
                [](double t) { return 1 - std::fabs(2 * t - 1); });
}

Tensor bartlett_window(int64_t window_length, TensorOptions options) {
  return bartlett_window_periodic(window_length, true, options);
}

Tensor kaiser_window_beta(int64_t window_length, bool periodic, double beta, TensorOptions options) {
  return window("kaiser_window", window_length, periodic, options, [=](double t) {
    const double centred = 2 * t - 1;
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - centred * centred))) / bessel_i0(beta);
  });
}

Tensor kaiser_window_periodic(int64_t window_length, bool periodic, TensorOptions options) {
  return kaiser_window_beta(window_length, periodic, 12.0, options);
}

Tensor kaiser_window(int64_t window_length, TensorOptions options) {
  return kaiser_window_periodic(window_length, true, options);
}

Tensor dim_arange(const Tensor& like, int64_t dim) {
  return at::arange(Scalar(like.size(dim)), like.options().dtype(ScalarType::Long));
}

Tensor select_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t index) {
  return at::select_scatter(at::new_zeros(grad_output, input_sizes), grad_output, dim, index);
}
Tensor slice_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t start, int64_t end,
                      int64_t step) {
  return at::slice_scatter(at::new_zeros(grad_output, input_sizes), grad_output, dim, start, end, step);
}
Tensor diagonal_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  return at::diagonal_scatter(at::new_zeros(grad_output, input_sizes), grad_output, offset, dim1, dim2);
}

}  // namespace at::native
