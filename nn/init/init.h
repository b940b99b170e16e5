// torch::nn::init: fills of parameters. Each works in place, outside autograd, and returns its argument. Random ones
// draw from `generator`, by default the device's, the numbers that PyTorch draws for the same seed.
//
//   torch::nn::init::trunc_normal_(net->weight, 0.0, 0.02);
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <variant>

#include "aten/core/tensor.h"
#include "c10/core/generator.h"
#include "c10/core/scalar.h"
#include "nn/options/enum.h"

namespace torch::nn::init {

using at::Tensor;

using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D, enumtype::kConvTranspose1D,
                 enumtype::kConvTranspose2D, enumtype::kConvTranspose3D, enumtype::kSigmoid, enumtype::kTanh,
                 enumtype::kReLU, enumtype::kLeakyReLU, enumtype::kSELU>;
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;

// The factor by which a nonlinearity changes the scale of what it is given: 1, 5/3 (tanh), sqrt 2 (relu), 3/4 (selu),
// sqrt(2 / (1 + param^2)) (leaky relu of slope param).
double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

Tensor constant_(Tensor tensor, at::Scalar value);
Tensor ones_(Tensor tensor);
Tensor zeros_(Tensor tensor);
// The identity of convolutions: 3, 4 or 5 dimensions; with groups, that of each group. Throws c10::ValueError unless
// groups divide the first size.
Tensor dirac_(Tensor tensor, int64_t groups = 1);
// The identity matrix: 2 dimensions.
Tensor eye_(Tensor matrix);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1, std::optional<at::Generator> generator = std::nullopt);
// Normal values, none outside [a, b].
Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                     std::optional<at::Generator> generator = std::nullopt);
Tensor uniform_(Tensor tensor, double low = 0, double high = 1, std::optional<at::Generator> generator = std::nullopt);
// A (semi-)orthogonal matrix of rows size(0) and the rest as columns, times gain (Saxe et al., 2013).
Tensor orthogonal_(Tensor tensor, double gain = 1.0, std::optional<at::Generator> generator = std::nullopt);
// Normal values with a fraction `sparsity` of each column of a matrix set to zero.
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01,
               std::optional<at::Generator> generator = std::nullopt);
// He et al., 2015: standard deviation gain / sqrt(fan), uniform bounds sqrt 3 of it.
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = torch::kFanIn,
                       NonlinearityType nonlinearity = torch::kLeakyReLU,
                       std::optional<at::Generator> generator = std::nullopt);
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = torch::kFanIn,
                        NonlinearityType nonlinearity = torch::kLeakyReLU,
                        std::optional<at::Generator> generator = std::nullopt);
// Glorot and Bengio, 2010: standard deviation gain * sqrt(2 / (fan_in + fan_out)).
Tensor xavier_normal_(Tensor tensor, double gain = 1.0, std::optional<at::Generator> generator = std::nullopt);
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0, std::optional<at::Generator> generator = std::nullopt);

// While one lives, the functions above leave tensors as they are and draw nothing, in this thread: for layers whose
// parameters are to be loaded (nn/utils/skip_init.h).
class SkipGuard {
 public:
  SkipGuard() : before_(skipping) { skipping = true; }
  ~SkipGuard() { skipping = before_; }
  SkipGuard(const SkipGuard&) = delete;
  SkipGuard& operator=(const SkipGuard&) = delete;
  static bool is_active() { return skipping; }

 private:
  static thread_local constinit bool skipping;
  bool before_;
};

// size(1) and size(0), each times the number of elements of a kernel; throws below two dimensions.
std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace torch::nn::init
