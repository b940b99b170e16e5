#pragma once
// Window functions of signal processing, torch.signal.windows in Python.

#include <optional>

#include "aten/core/tensor.h"

namespace torch::signal::windows {

// Each is a vector of M numbers: float32 or float64 as `options` say, without a dtype the default one; empty where M is
// 0. `sym`: symmetric, with N = M - 1; else periodic, the first M numbers of the symmetric window of M + 1, with N = M.
// `requires_grad` of the options has no effect. All throw ValueError for a negative M and for another dtype. For
// example:
//
//   torch::Tensor s = torch::stft(x, 512, 128, 512, torch::signal::windows::hann(512, /*sym=*/false), ...);

/// 1 - |2 n / N - 1|.
at::Tensor bartlett(int64_t M, bool sym = true, at::TensorOptions options = {});
/// 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).
at::Tensor blackman(int64_t M, bool sym = true, at::TensorOptions options = {});
/// sin(pi (n + 0.5) / (N + 1)).
at::Tensor cosine(int64_t M, bool sym = true, at::TensorOptions options = {});
/// exp(-|n - center| / tau); the center is N / 2 unless given, which a symmetric window refuses. Throws ValueError
/// unless tau > 0.
at::Tensor exponential(int64_t M, std::optional<double> center = std::nullopt, double tau = 1, bool sym = true,
                       at::TensorOptions options = {});
/// exp(-((n - N / 2) / std)^2 / 2). Throws ValueError unless std > 0.
at::Tensor gaussian(int64_t M, double std = 1, bool sym = true, at::TensorOptions options = {});
/// The sum over i of (-1)^i a[i] cos(2 pi i n / N). Throws ValueError where `a` is empty.
at::Tensor general_cosine(int64_t M, at::ArrayRef<double> a, bool sym = true, at::TensorOptions options = {});
/// alpha - (1 - alpha) cos(2 pi n / N).
at::Tensor general_hamming(int64_t M, double alpha = 0.54, bool sym = true, at::TensorOptions options = {});
/// 0.54 - 0.46 cos(2 pi n / N).
at::Tensor hamming(int64_t M, bool sym = true, at::TensorOptions options = {});
/// (1 - cos(2 pi n / N)) / 2.
at::Tensor hann(int64_t M, bool sym = true, at::TensorOptions options = {});
/// i0(beta sqrt(1 - (2 n / N - 1)^2)) / i0(beta). Throws ValueError for a negative beta.
at::Tensor kaiser(int64_t M, double beta = 12, bool sym = true, at::TensorOptions options = {});
/// The four cosines of Nuttall's window with the weights 0.3635819, 0.4891775, 0.1365995 and 0.0106411.
at::Tensor nuttall(int64_t M, bool sym = true, at::TensorOptions options = {});

}  // namespace torch::signal::windows
