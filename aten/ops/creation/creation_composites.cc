// Tensors put together from others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"

namespace at::native {
namespace {

// The result of complex and polar: the broadcast shape, the complex dtype of two equal real ones.
TensorSpec complex_spec(const char* name, const Tensor& a, const Tensor& b) {
  const ScalarType dtype = a.scalar_type();
  TORCH_CHECK(
      (dtype == ScalarType::Float || dtype == ScalarType::Double) &&
          (b.scalar_type() == ScalarType::Float || b.scalar_type() == ScalarType::Double),
      "Expected both inputs to be Half, Float or Double tensors but got ", toString(dtype), " and ",
      toString(b.scalar_type()));
  TORCH_CHECK(
      dtype == b.scalar_type(), "Expected object of scalar type ", toString(dtype), " but got scalar type ",
      toString(b.scalar_type()), " for second argument");
  TORCH_CHECK(a.device() == b.device(), name, ": expected all tensors on one device");
  return {broadcast_shapes(a.sizes(), b.sizes()), {}, toComplexType(dtype), a.device()};
}

}  // namespace

TensorSpec complex_meta(const Tensor& real, const Tensor& imag) {
  return complex_spec("complex", real, imag);
}

void complex_cpu(const Tensor& real, const Tensor& imag, Tensor& out) {
  Tensor parts = at::view_as_real(out);
  Tensor real_part = at::select(parts, -1, 0);
  Tensor imag_part = at::select(parts, -1, 1);
  at::copy_(real_part, at::expand(real, out.sizes()));
  at::copy_(imag_part, at::expand(imag, out.sizes()));
}

TensorSpec polar_meta(const Tensor& abs, const Tensor& angle) {
  return complex_spec("polar", abs, angle);
}

void polar_cpu(const Tensor& abs, const Tensor& angle, Tensor& out) {
  complex_cpu(at::mul(abs, at::cos(angle)), at::mul(abs, at::sin(angle)), out);
}

Tensor block_diag(TensorList tensors) {
  int64_t rows = 0;
  int64_t cols = 0;
  TypePromotion promotion;
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(
        tensor.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Got a tensor with ",
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
        tensor.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", tensor.dim(), "D");
    TORCH_CHECK(
        tensor.scalar_type() == inputs[0].scalar_type(), "torch.meshgrid expects all tensors to have the same dtype");
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

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.dim() == 1, "Expect a 1D vector, but got shape ", tensor.sizes());
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = at::meshgrid(tensors, "ij");
  for (Tensor& column : columns) column = at::reshape(column, {-1});
  return at::stack(columns, 1);
}

namespace {

// How many rows of r elements out of n there are: n over r, with replacement n + r - 1 over r. Throws ValueError where their
// elements overflow.
int64_t number_of_combinations(int64_t n, int64_t r, bool with_replacement) {
  using Wide = unsigned __int128;
  const Wide of = Wide(n) + (with_replacement ? Wide(r) - 1 : 0);
  const Wide chosen = std::min(Wide(r), of - Wide(r));
  Wide count = 1;
  for (Wide i = 1; i <= chosen; ++i) {
    count = count * (of - chosen + i) / i;
    TORCH_CHECK_VALUE(count <= Wide(std::numeric_limits<int64_t>::max()) / Wide(r), "combinations: the number of combinations of ",
                      r, " out of ", n, " elements overflows");
  }
  return static_cast<int64_t>(count);
}

}  // namespace

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TORCH_CHECK(self.dim() == 1, "Expect a 1D vector, but got shape ", self.sizes());
  TORCH_CHECK(r >= 0, "Expect a non-negative number, but got ", r);
  if (r == 0) return at::slice(self, 0, 0, 0);
  const int64_t n = self.numel();
  if (n == 0 || (!with_replacement && r > n)) return at::expand(at::slice(at::unsqueeze(self, 1), 0, 0, 0), {0, r});
  // Index tuples in lexicographic order: strictly increasing, or not decreasing with replacement.
  const int64_t count = number_of_combinations(n, r, with_replacement);
  const Tensor index = empty_contiguous({count * r}, ScalarType::Long);
  int64_t* row = index.data_ptr<int64_t>();
  for (int64_t i = 0; i < r; ++i) row[i] = with_replacement ? 0 : i;
  for (int64_t k = 1; k < count; ++k, row += r) {
    int64_t i = r - 1;
    while (row[i] == (with_replacement ? n - 1 : n - r + i)) --i;
    std::copy(row, row + i, row + r);
    for (int64_t j = i; j < r; ++j) row[r + j] = row[i] + 1 + (with_replacement ? 0 : j - i);
  }
  return at::reshape(at::index_select(self, 0, at::to(index, self.device(), ScalarType::Long)), {count, r});
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  TORCH_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  const int64_t count = N.value_or(x.size(0));
  TORCH_CHECK(count >= 0, "N must be non-negative.");
  const Tensor powers = increasing ? at::arange(count, TensorOptions(kLong).device(x.device()))
                                   : at::arange(count - 1, -1, -1, TensorOptions(kLong).device(x.device()));
  return at::pow(at::unsqueeze(x, 1), powers);
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TORCH_CHECK(
      self.scalar_type() == ScalarType::Long, "one_hot is only applicable to index tensor of type LongTensor, but got ",
      toString(self.scalar_type()));
  TORCH_CHECK(
      self.numel() != 0 || num_classes > 0, "Can not infer total number of classes from empty tensor.");
  TORCH_CHECK(self.numel() == 0 || at::item(at::min(self)).toLong() >= 0, "Class values must be non-negative.");
  const int64_t largest = self.numel() == 0 ? -1 : at::item(at::max(self)).toLong();
  TORCH_CHECK(largest < std::numeric_limits<int64_t>::max(), "Class values must be smaller than num_classes.");
  const int64_t least = largest + 1;
  if (num_classes == -1) num_classes = least;
  TORCH_CHECK(num_classes > 0, "num_classes should be positive");
  TORCH_CHECK(num_classes >= least, "Class values must be smaller than num_classes.");
  DimVector sizes(self.sizes().begin(), self.sizes().end());
  sizes.push_back(num_classes);
  Tensor result = empty_contiguous(sizes, ScalarType::Long, self.device());
  at::zero_(result);
  at::scatter_(result, -1, at::unsqueeze(self, -1), Scalar(1));
  return result;
}

namespace {

// f(i) of a window of `length` points; a periodic one is the longer symmetric one without its last point.
template <class F>
Tensor window(const char* name, int64_t length, bool periodic, const TensorOptions& options, const F& f) {
  TORCH_CHECK(length >= 0, name, " requires non-negative window_length, got window_length=", length);
  const ScalarType dtype = options.scalar_type();
  TORCH_CHECK(isFloatingType(dtype), name, " expects floating point dtypes, got: ", toString(dtype));
  Tensor values = empty_contiguous({length}, ScalarType::Double);
  double* data = values.data_ptr<double>();
  const double last = static_cast<double>(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i) data[i] = length == 1 ? 1.0 : f(static_cast<double>(i) / last);
  Tensor result = empty_contiguous({length}, dtype, options.device());
  at::copy_(result, values);
  return result;
}

constexpr double kTwoPi = 6.283185307179586476925286766559;

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
  return window("hamming_window", window_length, periodic, options,
                [=](double t) { return alpha - beta * std::cos(kTwoPi * t); });
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
  return window("blackman_window", window_length, periodic, options, [](double t) {
    return 0.42 - 0.5 * std::cos(kTwoPi * t) + 0.08 * std::cos(2 * kTwoPi * t);
  });
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

}  // namespace at::native
