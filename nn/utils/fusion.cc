#include "nn/utils/fusion.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/linear.h"
#include "nn/module/module_access.h"

namespace torch::nn::utils {
namespace {

using at::Tensor;

// `rows`: the dimension of the weight that the norm's channels are.
std::pair<Tensor, Tensor> fused(const Tensor& w, const Tensor& b, const Tensor& mean, const Tensor& var, double eps,
                                const Tensor& bn_w, const Tensor& bn_b, int64_t rows) {
  TORCH_CHECK(mean.defined() && var.defined(), "fusion: the batch norm has no running statistics");
  TORCH_CHECK(w.dim() > rows && mean.sizes() == at::IntArrayRef(w.size(rows)), "fusion: the batch norm has ",
              mean.sizes(), " channels, but the weight ", w.sizes());
  c10::NoGradGuard no_grad;
  Tensor scale = at::rsqrt(at::add(var, eps));
  if (bn_w.defined()) scale = at::mul(scale, bn_w);
  std::vector<int64_t> along(static_cast<size_t>(w.dim()), 1);
  along[static_cast<size_t>(rows)] = -1;
  const Tensor weight = at::to(at::mul(w, at::reshape(scale, along)), w.scalar_type());
  Tensor bias = at::mul(b.defined() ? at::sub(b, mean) : at::neg(mean), scale);
  if (bn_b.defined()) bias = at::add(bias, bn_b);
  bias = at::to(bias, b.defined() ? b.scalar_type() : w.scalar_type());
  const auto trained = [](Tensor t, bool on) { return at::detach(t).set_requires_grad(on); };
  return {trained(weight, w.requires_grad()), trained(bias, b.defined() ? b.requires_grad() : w.requires_grad())};
}

}  // namespace

std::pair<Tensor, Tensor> fuse_conv_bn_weights(const Tensor& conv_w, const Tensor& conv_b, const Tensor& bn_rm,
                                               const Tensor& bn_rv, double bn_eps, const Tensor& bn_w,
                                               const Tensor& bn_b, bool transpose) {
  return fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose ? 1 : 0);
}

std::pair<Tensor, Tensor> fuse_linear_bn_weights(const Tensor& linear_w, const Tensor& linear_b, const Tensor& bn_rm,
                                                 const Tensor& bn_rv, double bn_eps, const Tensor& bn_w,
                                                 const Tensor& bn_b) {
  return fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0);
}

void detail::fuse(Module& layer, const nn::detail::BatchNormState& bn, bool linear, bool transpose) {
  TORCH_CHECK(!layer.is_training() && !bn.is_training(), "Fusion only for eval!");
  if (linear) {
    const int64_t out = tensor_member(layer, "weight").size(0);
    TORCH_CHECK(bn.options.num_features() == out || bn.options.num_features() == 1,
                "To fuse, linear.out_features == bn.num_features or bn.num_features == 1");
  }
  Tensor &weight = tensor_member(layer, "weight"), &bias = tensor_member(layer, "bias");
  Tensor mean = bn.running_mean, var = bn.running_var, bn_w = bn.weight, bn_b = bn.bias;
  if (linear && mean.defined() && mean.numel() == 1) {
    for (Tensor* t : {&mean, &var, &bn_w, &bn_b}) {
      if (t->defined()) *t = at::expand(*t, {weight.size(0)});
    }
  }
  const auto [w, b] = fused(weight, bias, mean, var, bn.options.eps(), bn_w, bn_b, transpose ? 1 : 0);
  weight = layer.replace_parameter("weight", w);
  bias = layer.replace_parameter("bias", b);
}

}  // namespace torch::nn::utils
