// Batch normalization by its other names, which say in the schema what they write; weight normalization.
#include <tuple>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// What a device may keep for the backward pass: nothing.
Tensor empty_reserve(const Tensor& input) {
  return at::empty({0}, TensorOptions().dtype(kByte).device(input.device()));
}

// Made first: the statistics change last.
Four with_reserve(Tensor reserve, const Three& results) {
  const auto& [result, mean, invstd] = results;
  return {result, mean, invstd, std::move(reserve)};
}

Tensor in_float(const Tensor& t) {
  return t.scalar_type() == kHalf || t.scalar_type() == kBFloat16 ? at::to(t, kFloat) : t;
}

}  // namespace

Three native_batch_norm_legit(const Tensor& input, const std::optional<Tensor>& weight,
                              const std::optional<Tensor>& bias, Tensor& running_mean, Tensor& running_var,
                              bool training, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
std::tuple<Tensor&, Tensor&, Tensor&> native_batch_norm_legit_out(const Tensor& input,
                                                                  const std::optional<Tensor>& weight,
                                                                  const std::optional<Tensor>& bias,
                                                                  Tensor& running_mean, Tensor& running_var,
                                                                  bool training, double momentum, double eps,
                                                                  Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  return at::native_batch_norm_outf(input, weight, bias, running_mean, running_var, training, momentum, eps, out,
                                    save_mean, save_invstd);
}
Three native_batch_norm_no_stats(const Tensor& input, const std::optional<Tensor>& weight,
                                 const std::optional<Tensor>& bias, bool training, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, std::nullopt, std::nullopt, training, momentum, eps);
}
Three native_batch_norm_no_training(const Tensor& input, const std::optional<Tensor>& weight,
                                    const std::optional<Tensor>& bias, const Tensor& running_mean,
                                    const Tensor& running_var, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> native_batch_norm_legit_functional(
    const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const Tensor& running_mean, const Tensor& running_var, bool training, double momentum, double eps) {
  const Tensor new_mean = at::clone(running_mean), new_var = at::clone(running_var);
  auto [result, mean, invstd] = at::native_batch_norm(input, weight, bias, new_mean, new_var, training, momentum, eps);
  return {result, mean, invstd, new_mean, new_var};
}

Four batch_norm_with_update(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                            Tensor& running_mean, Tensor& running_var, double momentum, double eps) {
  Tensor reserve = empty_reserve(input);
  return with_reserve(std::move(reserve),
                      at::native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps));
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_with_update_functional(
    const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  const Tensor new_mean = at::clone(running_mean), new_var = at::clone(running_var);
  const auto [result, mean, invstd] =
      at::native_batch_norm(input, weight, bias, new_mean, new_var, true, momentum, eps);
  return {result, mean, invstd, empty_reserve(input), new_mean, new_var};
}
Four batch_norm_no_update(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                          const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                          double momentum, double eps) {
  return with_reserve(empty_reserve(input),
                      at::native_batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps));
}

Tensor weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  return at::mul(v, at::div(g, at::norm_except_dim(v, 2, dim)));
}

// The norms, too, which no gradient goes through.
std::tuple<Tensor, Tensor> weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim) {
  TORCH_CHECK(dim == 0 || dim == v.dim() - 1, "fused kernels can only be applied for first or last dim");
  const Tensor wide = in_float(v);
  const Tensor norms = at::norm_except_dim(wide, 2, dim);
  return {at::to(at::mul(wide, at::div(in_float(g), norms)), v.scalar_type()), at::detach(norms)};
}

}  // namespace at::native
