// Apart from init.cc: layers draw no truncated normals, and should not link what these need.
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/init/init.h"

namespace torch::nn::init {

namespace {

// Uniform in what the distribution function makes of [a, b], then through its inverse.
void fill_by_inverse(Tensor& t, double mean, double std, double a, double b, const std::optional<at::Generator>& g) {
  const auto below = [&](double x) { return (1 + std::erf((x - mean) / std / std::sqrt(2.0))) / 2; };
  at::uniform_(t, 2 * below(a) - 1, 2 * below(b) - 1, g);
  at::erfinv_(t);
  at::mul_(t, std * std::sqrt(2.0));
  at::add_(t, mean);
}

}  // namespace

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b,
                     std::optional<at::Generator> generator) {
  c10::NoGradGuard no_grad;
  if (SkipGuard::is_active()) return tensor;
  TORCH_CHECK_VALUE(a <= b, "trunc_normal_: expected a <= b, but got a=", a, " and b=", b);
  if (mean < a - 2 * std || mean > b + 2 * std) {
    TORCH_WARN(
        "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.");
  }
  if (tensor.numel() == 0) return tensor;
  at::normal_(tensor, mean, std, generator);
  // What lies outside is drawn anew, all elements at once, as PyTorch does; after so many rounds the interval is a rare
  // one.
  constexpr int kRounds = 100;
  for (int round = 1;; ++round) {
    const Tensor outside = at::logical_or(at::lt(tensor, a), at::gt(tensor, b));
    if (!at::item(at::any(outside)).toBool()) return tensor;
    Tensor fresh = at::empty_like(tensor);
    if (round < kRounds) {
      at::normal_(fresh, mean, std, generator);
    } else {
      fill_by_inverse(fresh, mean, std, a, b, generator);
      // Rounding may leave it.
      at::clamp_(fresh, std::optional<at::Scalar>(a), std::optional<at::Scalar>(b));
    }
    at::copy_(tensor, at::where(outside, fresh, tensor));
    if (round == kRounds) return tensor;
  }
}

}  // namespace torch::nn::init
