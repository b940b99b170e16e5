// CrossMapLRN2d's sums over channels, forwards and backwards, are those of Torch 7 and PyTorch: not quite each other's
// derivative.
#include <algorithm>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "nn/layers/normalization.h"

namespace torch::nn {
namespace {

using at::Tensor;

Tensor channel(const Tensor& t, int64_t c) {
  return at::select(t, 1, c);
}

// The sum of squares that each channel is divided by, before alpha, size and k.
Tensor sums_of_squares(const Tensor& input, int64_t size) {
  const Tensor squares = at::mul(input, input);
  const int64_t channels = input.size(1), reach = (size - 1) / 2 + 1;
  std::vector<Tensor> sums;
  sums.push_back(at::sum(at::slice(squares, 1, 0, std::min(reach, channels)), {1}));
  for (int64_t c = 1; c < channels; ++c) {
    Tensor sum = sums.back();
    if (c + reach - 1 < channels) sum = at::add(sum, channel(squares, c + reach - 1));
    if (c > reach) sum = at::sub(sum, channel(squares, c - reach));
    sums.push_back(sum);
  }
  return at::stack(sums, 1);
}

struct Lrn : public autograd::Function<Lrn> {
  static constexpr bool generate_vmap_rule = true;
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& input, int64_t size, double alpha, double beta,
                        int64_t k) {
    const Tensor scale =
        at::add(at::mul(sums_of_squares(input, size), alpha / static_cast<double>(size)), static_cast<double>(k));
    const Tensor output = at::mul(input, at::pow(scale, -beta));
    ctx->save_for_backward({input, output, scale});
    ctx->saved_data["size"] = size;
    ctx->saved_data["alpha"] = alpha;
    ctx->saved_data["beta"] = beta;
    return output;
  }

  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &input = saved[0], &output = saved[1], &scale = saved[2];
    const int64_t size = ctx->saved_data["size"].toInt();
    const double alpha = ctx->saved_data["alpha"].toDouble(), beta = ctx->saved_data["beta"].toDouble();
    const int64_t channels = input.size(1), before = size - size / 2;
    const Tensor ratio = at::div(at::mul(grads[0], output), scale);
    const Tensor padded = at::constant_pad_nd(ratio, {0, 0, 0, 0, before, std::max<int64_t>(size - 1 - before, 0)}, 0);
    std::vector<Tensor> sums;
    for (int64_t c = 0; c < channels; ++c) sums.push_back(at::sum(at::slice(padded, 1, c, c + size), {1}));
    const Tensor shared = at::mul(at::mul(input, at::stack(sums, 1)), 2 * alpha * beta / static_cast<double>(size));
    return {at::sub(at::mul(grads[0], at::pow(scale, -beta)), shared), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor functions::CrossMapLRN2d::apply(const Tensor& input, int64_t size, double alpha, double beta, int64_t k) {
  TORCH_CHECK(input.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", input.dim(), "D instead.");
  TORCH_CHECK(size > 0, "CrossMapLRN2d: size must be positive, but got ", size);
  if (input.numel() == 0) return input;
  return Lrn::apply(input, size, alpha, beta, k);
}

}  // namespace torch::nn
