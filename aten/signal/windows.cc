#include "aten/signal/windows.h"

#include <cmath>
#include <numbers>

#include "aten/core/empty.h"
#include "aten/cpu/special/special.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/default_dtype.h"

namespace torch::signal::windows {
namespace {

using at::Tensor;
using at::TensorOptions;

// The numbers value(n) for n < M, with the span N = M - 1 or M.
struct Window {
  Window(const char* name, int64_t M, bool sym, TensorOptions options)
      : size(M), span(sym || M == 1 ? M - 1 : M), options(options) {
    TORCH_CHECK_VALUE(M >= 0, name, " requires non-negative window length, got M=", M);
    type = options.has_dtype() ? c10::typeMetaToScalarType(options.dtype()) : c10::get_default_dtype_as_scalartype();
    TORCH_CHECK_VALUE(type == at::kFloat || type == at::kDouble, name,
                      " expects float32 or float64 dtypes, got: ", type);
  }

  template <class Value>
  Tensor of(const Value& value) const {
    Tensor numbers = at::empty_contiguous({size}, at::kDouble);
    double* at = numbers.data_ptr<double>();
    for (int64_t n = 0; n < size; ++n) at[n] = value(static_cast<double>(n));
    return at::to(numbers, options.dtype(type).requires_grad(std::nullopt));
  }
  // In terms of n / N; a window of one number is 1.
  template <class Value>
  Tensor of_part(const Value& value) const {
    return of([&](double n) { return size == 1 ? 1 : value(n / static_cast<double>(span)); });
  }

  int64_t size, span;
  TensorOptions options;
  at::ScalarType type;
};

Tensor cosines(const Window& window, at::ArrayRef<double> a) {
  return window.of_part([&](double part) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double term = a[i] * std::cos(2 * std::numbers::pi * static_cast<double>(i) * part);
      sum += i % 2 == 0 ? term : -term;
    }
    return sum;
  });
}

}  // namespace

Tensor bartlett(int64_t M, bool sym, TensorOptions options) {
  return Window("bartlett", M, sym, options).of_part([](double part) { return 1 - std::abs(2 * part - 1); });
}

Tensor blackman(int64_t M, bool sym, TensorOptions options) {
  return cosines(Window("blackman", M, sym, options), {0.42, 0.5, 0.08});
}

Tensor cosine(int64_t M, bool sym, TensorOptions options) {
  const Window window("cosine", M, sym, options);
  const double step = std::numbers::pi / static_cast<double>(window.span + 1);
  return window.of([&](double n) { return std::sin((n + 0.5) * step); });
}

Tensor exponential(int64_t M, std::optional<double> center, double tau, bool sym, TensorOptions options) {
  const Window window("exponential", M, sym, options);
  TORCH_CHECK_VALUE(tau > 0, "Tau must be positive, got: ", tau, " instead.");
  TORCH_CHECK_VALUE(!sym || !center, "Center must be None for symmetric windows");
  const double middle = center.value_or(static_cast<double>(window.span) / 2);
  return window.of([&](double n) { return std::exp(-std::abs(n - middle) / tau); });
}

Tensor gaussian(int64_t M, double std, bool sym, TensorOptions options) {
  const Window window("gaussian", M, sym, options);
  TORCH_CHECK_VALUE(std > 0, "Standard deviation must be positive, got: ", std, " instead.");
  const double middle = static_cast<double>(window.span) / 2;
  return window.of([&](double n) {
    const double x = (n - middle) / std;
    return std::exp(-x * x / 2);
  });
}

Tensor general_cosine(int64_t M, at::ArrayRef<double> a, bool sym, TensorOptions options) {
  const Window window("general_cosine", M, sym, options);
  TORCH_CHECK_VALUE(!a.empty(), "Coefficients cannot be empty");
  return cosines(window, a);
}

Tensor general_hamming(int64_t M, double alpha, bool sym, TensorOptions options) {
  return cosines(Window("general_hamming", M, sym, options), {alpha, 1 - alpha});
}

Tensor hamming(int64_t M, bool sym, TensorOptions options) {
  return cosines(Window("hamming", M, sym, options), {0.54, 0.46});
}

Tensor hann(int64_t M, bool sym, TensorOptions options) {
  return cosines(Window("hann", M, sym, options), {0.5, 0.5});
}

Tensor kaiser(int64_t M, double beta, bool sym, TensorOptions options) {
  const Window window("kaiser", M, sym, options);
  TORCH_CHECK_VALUE(beta >= 0, "beta must be non-negative, got: ", beta, " instead.");
  const auto i0 = [](double x) { return at::cpu::special::bessel_i(0, x, false); };
  return window.of_part([&](double part) {
    const double x = 2 * part - 1;
    return i0(beta * std::sqrt(std::max(0.0, 1 - x * x))) / i0(beta);
  });
}

Tensor nuttall(int64_t M, bool sym, TensorOptions options) {
  return cosines(Window("nuttall", M, sym, options), {0.3635819, 0.4891775, 0.1365995, 0.0106411});
}

}  // namespace torch::signal::windows
