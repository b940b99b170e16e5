#include "nn/init/init.h"

#include <cmath>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::init {
namespace {

double fan_of(const Tensor& tensor, FanModeType mode) {
  const auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  return static_cast<double>(std::holds_alternative<enumtype::kFanIn>(mode) ? fan_in : fan_out);
}

double kaiming_std(const Tensor& tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  return calculate_gain(nonlinearity, a) / std::sqrt(fan_of(tensor, mode));
}

double xavier_std(const Tensor& tensor, double gain) {
  const auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fan_in + fan_out));
}

// Element by element on the host; `value(row, column)` over a matrix of rows x columns in row-major order.
void write_rows(Tensor& tensor, const std::vector<double>& values) {
  Tensor host = at::empty(tensor.sizes(), at::TensorOptions(at::kDouble));
  double* out = host.data_ptr<double>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  at::copy_(tensor, host);
}

// Householder QR of `a` (rows >= columns, row-major): overwrites it with Q, whose columns have the sign that makes R's
// diagonal positive.
void orthonormalize(std::vector<double>& a, size_t rows, size_t columns) {
  std::vector<double> reflectors(rows * columns, 0.0);
  std::vector<double> diagonal(columns, 0.0);
  const auto at = [columns](std::vector<double>& m, size_t r, size_t c) -> double& { return m[r * columns + c]; };
  for (size_t k = 0; k < columns; ++k) {
    double norm = 0;
    for (size_t r = k; r < rows; ++r) norm += at(a, r, k) * at(a, r, k);
    norm = std::sqrt(norm);
    const double alpha = at(a, k, k) > 0 ? -norm : norm;
    diagonal[k] = alpha;
    double length = 0;
    for (size_t r = k; r < rows; ++r) {
      const double v = at(a, r, k) - (r == k ? alpha : 0.0);
      at(reflectors, r, k) = v;
      length += v * v;
    }
    if (length == 0) continue;
    for (size_t c = k; c < columns; ++c) {
      double dot = 0;
      for (size_t r = k; r < rows; ++r) dot += at(reflectors, r, k) * at(a, r, c);
      const double scale = 2 * dot / length;
      for (size_t r = k; r < rows; ++r) at(a, r, c) -= scale * at(reflectors, r, k);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) at(a, r, c) = r == c ? 1.0 : 0.0;
  }
  for (size_t k = columns; k-- > 0;) {
    double length = 0;
    for (size_t r = k; r < rows; ++r) length += at(reflectors, r, k) * at(reflectors, r, k);
    if (length == 0) continue;
    for (size_t c = 0; c < columns; ++c) {
      double dot = 0;
      for (size_t r = k; r < rows; ++r) dot += at(reflectors, r, k) * at(a, r, c);
      const double scale = 2 * dot / length;
      for (size_t r = k; r < rows; ++r) at(a, r, c) -= scale * at(reflectors, r, k);
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    if (diagonal[c] < 0) {
      for (size_t r = 0; r < rows; ++r) at(a, r, c) = -at(a, r, c);
    }
  }
}

std::vector<double> read_rows(const Tensor& tensor) {
  const Tensor host =
      at::contiguous(at::to(tensor, at::TensorOptions(at::kDouble).device(at::kCPU), false, false, std::nullopt));
  const double* data = host.data_ptr<double>();
  return std::vector<double>(data, data + host.numel());
}

}  // namespace

thread_local constinit bool SkipGuard::skipping = false;

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3.0;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity)) return std::sqrt(2.0 / (1 + param * param));
  if (std::holds_alternative<enumtype::kSELU>(nonlinearity)) return 3.0 / 4.0;
  return 1.0;
}

Tensor constant_(Tensor tensor, at::Scalar value) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  return at::fill_(tensor, value);
}

Tensor ones_(Tensor tensor) {
  return constant_(std::move(tensor), 1);
}

Tensor zeros_(Tensor tensor) {
  return constant_(std::move(tensor), 0);
}

Tensor dirac_(Tensor tensor, int64_t groups) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  TORCH_CHECK_VALUE(tensor.dim() >= 3 && tensor.dim() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported");
  TORCH_CHECK_VALUE(groups > 0 && tensor.size(0) % groups == 0, "dim 0 must be divisible by groups");
  const int64_t of_group = tensor.size(0) / groups;
  const int64_t channels = std::min(of_group, tensor.size(1));
  int64_t kernel = 1;
  int64_t centre = 0;
  for (int64_t d = 2; d < tensor.dim(); ++d) {
    centre = centre * tensor.size(d) + tensor.size(d) / 2;
    kernel *= tensor.size(d);
  }
  std::vector<double> values(static_cast<size_t>(tensor.numel()), 0.0);
  if (kernel > 0) {
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t c = 0; c < channels; ++c)
        values[static_cast<size_t>(((g * of_group + c) * tensor.size(1) + c) * kernel + centre)] = 1.0;
    }
  }
  write_rows(tensor, values);
  return tensor;
}

Tensor eye_(Tensor matrix) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return matrix;
  TORCH_CHECK_VALUE(matrix.dim() == 2, "Only tensors with 2 dimensions are supported");
  return at::eye_out(matrix, matrix.size(0), matrix.size(1));
}

Tensor normal_(Tensor tensor, double mean, double std, std::optional<at::Generator> generator) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  return at::normal_(tensor, mean, std, std::move(generator));
}

Tensor uniform_(Tensor tensor, double low, double high, std::optional<at::Generator> generator) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  return at::uniform_(tensor, low, high, std::move(generator));
}

Tensor orthogonal_(Tensor tensor, double gain, std::optional<at::Generator> generator) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  TORCH_CHECK_VALUE(tensor.dim() >= 2, "Only tensors with 2 or more dimensions are supported");
  const auto rows = static_cast<size_t>(tensor.size(0));
  const auto columns = rows == 0 ? 0 : static_cast<size_t>(tensor.numel()) / rows;
  Tensor drawn = at::empty({static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                           tensor.options().memory_format(std::nullopt));
  at::normal_(drawn, 0, 1, std::move(generator));
  std::vector<double> values = read_rows(drawn);
  const auto transpose = [](const std::vector<double>& m, size_t r, size_t c) {
    std::vector<double> out(m.size());
    for (size_t i = 0; i < r; ++i) {
      for (size_t j = 0; j < c; ++j) out[j * r + i] = m[i * c + j];
    }
    return out;
  };
  if (rows < columns) {
    values = transpose(values, rows, columns);
    orthonormalize(values, columns, rows);
    values = transpose(values, columns, rows);
  } else {
    orthonormalize(values, rows, columns);
  }
  for (double& v : values) v *= gain;
  write_rows(tensor, values);
  return tensor;
}

Tensor sparse_(Tensor tensor, double sparsity, double std, std::optional<at::Generator> generator) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  TORCH_CHECK_VALUE(tensor.dim() == 2, "Only tensors with 2 dimensions are supported");
  const int64_t rows = tensor.size(0);
  const int64_t columns = tensor.size(1);
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  TORCH_CHECK(zeros >= 0 && zeros <= rows, "sparsity has to be between 0 and 1, but got ", sparsity);
  at::normal_(tensor, 0, std, std::move(generator));
  std::vector<double> values = read_rows(tensor);
  for (int64_t c = 0; c < columns; ++c) {
    const Tensor order = at::randperm(rows);
    const int64_t* row = order.data_ptr<int64_t>();
    for (int64_t i = 0; i < zeros; ++i) values[static_cast<size_t>(row[i] * columns + c)] = 0.0;
  }
  write_rows(tensor, values);
  return tensor;
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity,
                       std::optional<at::Generator> generator) {
  return init::normal_(tensor, 0, kaiming_std(tensor, a, mode, nonlinearity), std::move(generator));
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity,
                        std::optional<at::Generator> generator) {
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return init::uniform_(tensor, -bound, bound, std::move(generator));
}

Tensor xavier_normal_(Tensor tensor, double gain, std::optional<at::Generator> generator) {
  return init::normal_(tensor, 0, xavier_std(tensor, gain), std::move(generator));
}

Tensor xavier_uniform_(Tensor tensor, double gain, std::optional<at::Generator> generator) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return init::uniform_(tensor, -bound, bound, std::move(generator));
}

std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.dim() >= 2, "Fan in and fan out cannot be computed for tensor with fewer than 2 dimensions");
  int64_t kernel = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) kernel *= tensor.size(d);
  return {tensor.size(1) * kernel, tensor.size(0) * kernel};
}

}  // namespace torch::nn::init
