// Optimizer steps composed of operators on lists: for devices without a kernel for the step.
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/fused_step.h"
#include "aten/ops/foreach/kernels.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using foreach::check_step;
using foreach::number_in;
using foreach::skips_step;
using foreach::StateList;

namespace {

using Tensors = std::vector<Tensor>;

// The tensors, complex ones as pairs of reals.
Tensors as_reals(TensorList list) {
  Tensors reals;
  reals.reserve(list.size());
  for (const Tensor& t : list) reals.push_back(t.is_complex() ? at::view_as_real(t) : t);
  return reals;
}

// The gradients, in place without their scale, with the sign and the weight decay of the step.
Tensors step_gradients(const char* op, const Tensors& params, TensorList grads, double weight_decay, bool maximize,
                       const std::optional<Tensor>& grad_scale) {
  Tensors result = as_reals(grads);
  if (grad_scale.has_value() && grad_scale->defined()) {
    at::_foreach_div_(result, number_in(op, "grad_scale", *grad_scale));
  }
  if (maximize) result = at::_foreach_neg(result);
  if (weight_decay != 0) result = at::_foreach_add(result, params, weight_decay);
  return result;
}

Tensors copies(TensorList list) {
  Tensors result;
  result.reserve(list.size());
  for (const Tensor& t : list) result.push_back(at::clone(t));
  return result;
}

void overwrite(TensorList list, const Tensors& values) {
  if (!list.empty()) at::_foreach_copy_(list, values);
}

// Whether there is anything to compute.
bool has_work(const char* op, TensorList self, const std::optional<Tensor>& found_inf) {
  return !self.empty() && !self[0].is_meta() && !skips_step(op, found_inf);
}

double rate(const char* op, const Tensor& lr) {
  return lr.is_meta() ? 0 : number_in(op, "lr", lr);
}

std::vector<double> counts_of(const char* op, TensorList self, TensorList state_steps) {
  TORCH_CHECK(state_steps.size() == self.size(), op, "(): expected ", self.size(), " tensors in state_steps, but got ",
              state_steps.size());
  std::vector<double> counts;
  counts.reserve(self.size());
  if (self.empty() || self[0].is_meta()) return counts;
  for (size_t i = 0; i < state_steps.size(); ++i) {
    const bool same = i > 0 && state_steps[i].is_same(state_steps[i - 1]);
    counts.push_back(same ? counts.back() : number_in(op, "state_steps", state_steps[i]));
  }
  return counts;
}

void adam(const char* op, bool decoupled, TensorList self, TensorList grads, TensorList exp_avgs,
          TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  check_step(op, self, grads,
             {{"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}, {"max_exp_avg_sqs", max_exp_avg_sqs, amsgrad}});
  const std::vector<double> counts = counts_of(op, self, state_steps);
  if (!has_work(op, self, found_inf)) return;
  const Tensors params = as_reals(self), m = as_reals(exp_avgs), v = as_reals(exp_avg_sqs);
  const Tensors g = step_gradients(op, params, grads, decoupled ? 0 : weight_decay, maximize, grad_scale);
  if (decoupled) at::_foreach_mul_(params, 1 - lr * weight_decay);
  at::_foreach_lerp_(m, g, 1 - beta1);
  at::_foreach_mul_(v, beta2);
  at::_foreach_addcmul_(v, g, g, 1 - beta2);
  Tensors denominators;
  if (amsgrad) {
    const Tensors most = as_reals(max_exp_avg_sqs);
    const Tensors largest = at::_foreach_maximum(at::_foreach_clone(most), v);
    at::_foreach_copy_(most, largest);
    denominators = at::_foreach_sqrt(largest);
  } else {
    denominators = at::_foreach_sqrt(v);
  }
  std::vector<Scalar> roots, sizes;
  for (const double count : counts) {
    roots.push_back(std::sqrt(1 - std::pow(beta2, count)));
    sizes.push_back(-lr / (1 - std::pow(beta1, count)));
  }
  // Not in place: a recorded step keeps the roots, and the largest ones from before.
  denominators = at::_foreach_add(at::_foreach_div(denominators, roots), eps);
  at::_foreach_addcdiv_(params, m, denominators, sizes);
}

}  // namespace

void _fused_adam_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                          TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                          double weight_decay, double eps, bool amsgrad, bool maximize,
                          const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
       weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adam_tensor_lr_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                                    TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                                    double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                                    const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       rate("_fused_adam_", lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                           TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                           double weight_decay, double eps, bool amsgrad, bool maximize,
                           const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
       weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_tensor_lr_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                                     TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                                     double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                                     const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       rate("_fused_adamw_", lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_sgd_composed(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                         double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                         const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_sgd_";
  check_step(op, self, grads, {{"momentum_buffer_list", momentum_buffer_list, momentum != 0}});
  if (!has_work(op, self, found_inf)) return;
  const Tensors params = as_reals(self);
  Tensors g = step_gradients(op, params, grads, weight_decay, maximize, grad_scale);
  if (momentum != 0) {
    const Tensors buffers = as_reals(momentum_buffer_list);
    if (is_first_step) {
      at::_foreach_copy_(buffers, g);
    } else {
      at::_foreach_mul_(buffers, momentum);
      at::_foreach_add_(buffers, g, 1 - dampening);
    }
    g = nesterov ? at::_foreach_add(g, buffers, momentum) : buffers;
  }
  at::_foreach_add_(params, g, -lr);
}

void _fused_sgd_tensor_lr_composed(TensorList self, TensorList grads, TensorList momentum_buffer_list,
                                   double weight_decay, double momentum, const Tensor& lr, double dampening,
                                   bool nesterov, bool maximize, bool is_first_step,
                                   const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  _fused_sgd_composed(self, grads, momentum_buffer_list, weight_decay, momentum, rate("_fused_sgd_", lr), dampening,
                      nesterov, maximize, is_first_step, grad_scale, found_inf);
}

void _fused_adagrad_composed(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                             double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                             const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_adagrad_";
  check_step(op, self, grads, {{"state_sums", state_sums}});
  const std::vector<double> counts = counts_of(op, self, state_steps);
  if (!has_work(op, self, found_inf)) return;
  const Tensors params = as_reals(self), sums = as_reals(state_sums);
  const Tensors g = step_gradients(op, params, grads, weight_decay, maximize, grad_scale);
  at::_foreach_addcmul_(sums, g, g, 1);
  const Tensors denominators = at::_foreach_add(at::_foreach_sqrt(sums), eps);
  std::vector<Scalar> sizes;
  for (const double count : counts) sizes.push_back(-lr / (1 + (count - 1) * lr_decay));
  at::_foreach_addcdiv_(params, g, denominators, sizes);
}

void _fused_adagrad_tensor_lr_composed(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                                       const Tensor& lr, double lr_decay, double weight_decay, double eps,
                                       bool maximize, const std::optional<Tensor>& grad_scale,
                                       const std::optional<Tensor>& found_inf) {
  _fused_adagrad_composed(self, grads, state_sums, state_steps, rate("_fused_adagrad_", lr), lr_decay, weight_decay,
                          eps, maximize, grad_scale, found_inf);
}

void _fused_rmsprop_composed(TensorList self, TensorList grads, TensorList square_avgs, TensorList grad_avgs,
                             TensorList momentum_buffer_list, double lr, double alpha, double eps, double weight_decay,
                             double momentum, bool centered, bool maximize, const std::optional<Tensor>& grad_scale,
                             const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_rmsprop_";
  check_step(op, self, grads,
             {{"square_avgs", square_avgs},
              {"grad_avgs", grad_avgs, centered},
              {"momentum_buffer_list", momentum_buffer_list, momentum != 0}});
  if (!has_work(op, self, found_inf)) return;
  const Tensors params = as_reals(self), squares = as_reals(square_avgs);
  const Tensors g = step_gradients(op, params, grads, weight_decay, maximize, grad_scale);
  at::_foreach_mul_(squares, alpha);
  at::_foreach_addcmul_(squares, g, g, 1 - alpha);
  Tensors denominators = squares;
  if (centered) {
    const Tensors averages = as_reals(grad_avgs);
    at::_foreach_lerp_(averages, g, 1 - alpha);
    denominators = at::_foreach_addcmul(squares, averages, averages, -1);
  }
  denominators = at::_foreach_add(at::_foreach_sqrt(denominators), eps);
  if (momentum == 0) return at::_foreach_addcdiv_(params, g, denominators, -lr);
  const Tensors buffers = as_reals(momentum_buffer_list);
  at::_foreach_mul_(buffers, momentum);
  at::_foreach_addcdiv_(buffers, g, denominators, 1);
  at::_foreach_add_(params, buffers, -lr);
}

// --- the functional and out= forms of steps ---

namespace {

// A step on copies of the lists it writes to, which are its results.
template <size_t N, class Step>
auto on_copies(const std::array<TensorList, N>& lists, const Step& step) {
  std::array<Tensors, N> fresh;
  for (size_t i = 0; i < N; ++i) fresh[i] = copies(lists[i]);
  std::apply(step, fresh);
  return std::apply([](auto&... list) { return std::make_tuple(std::move(list)...); }, fresh);
}

// The first result goes to `out`, the others back to the lists they were made from.
template <class Results, size_t N>
void write_results(const char* op, TensorList out, const std::array<TensorList, N>& rest, const Results& results) {
  structured::assign_out(op, out, std::get<0>(results));
  [&]<size_t... I>(std::index_sequence<I...>) {
    (overwrite(rest[I], std::get<I + 1>(results)), ...);
  }(std::make_index_sequence<N>());
}

// `rate` is the learning rate, a number or a tensor of one.
template <class Rate, class Step>
auto adam_on_copies(const Step& step, TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                    TensorList max_exp_avg_sqs, TensorList state_steps, const Rate& rate, double beta1, double beta2,
                    double weight_decay, double eps, bool amsgrad, bool maximize,
                    const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  return on_copies(std::array{self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs},
                   [&](Tensors& p, Tensors& g, Tensors& m, Tensors& v, Tensors& most) {
                     step(p, g, m, v, most, state_steps, rate, beta1, beta2, weight_decay, eps, amsgrad, maximize,
                          grad_scale, found_inf);
                   });
}

constexpr auto kAdam = [](const auto&... arguments) { at::_fused_adam_(arguments...); };
constexpr auto kAdamW = [](const auto&... arguments) { at::_fused_adamw_(arguments...); };

}  // namespace

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>>
_fused_adam(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  return adam_on_copies(kAdam, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adam_out(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adam", out, std::array{grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs},
                at::_fused_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                               weight_decay, eps, amsgrad, maximize, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>>
_fused_adam_tensor_lr(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  return adam_on_copies(kAdam, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adam_tensor_lr_out(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adam", out, std::array{grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs},
                at::_fused_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                               weight_decay, eps, amsgrad, maximize, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>>
_fused_adamw(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  return adam_on_copies(kAdamW, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_out(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adamw", out, std::array{grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs},
                at::_fused_adamw(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                               weight_decay, eps, amsgrad, maximize, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>>
_fused_adamw_tensor_lr(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  return adam_on_copies(kAdamW, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_tensor_lr_out(
    TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
    TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
    bool maximize, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adamw", out, std::array{grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs},
                at::_fused_adamw(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                               weight_decay, eps, amsgrad, maximize, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>> _fused_sgd(
    TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, double lr,
    double dampening, bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  return on_copies(std::array{self, grads, momentum_buffer_list}, [&](Tensors& p, Tensors& g, Tensors& buffers) {
    at::_fused_sgd_(p, g, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, grad_scale,
                    found_inf);
  });
}

void _fused_sgd_out(
    TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, double lr,
    double dampening, bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_sgd", out, std::array{grads, momentum_buffer_list},
                at::_fused_sgd(self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov,
                               maximize, is_first_step, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>> _fused_sgd_tensor_lr(
    TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, const Tensor& lr,
    double dampening, bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  return on_copies(std::array{self, grads, momentum_buffer_list}, [&](Tensors& p, Tensors& g, Tensors& buffers) {
    at::_fused_sgd_(p, g, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, grad_scale,
                    found_inf);
  });
}

void _fused_sgd_tensor_lr_out(
    TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, const Tensor& lr,
    double dampening, bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_sgd", out, std::array{grads, momentum_buffer_list},
                at::_fused_sgd(self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov,
                               maximize, is_first_step, grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>> _fused_adagrad(
    TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr, double lr_decay,
    double weight_decay, double eps, bool maximize, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  return on_copies(std::array{self, grads, state_sums, state_steps}, [&](Tensors& p, Tensors& g, Tensors& sums, Tensors& steps) {
    at::_fused_adagrad_(p, g, sums, steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale, found_inf);
  });
}

void _fused_adagrad_out(
    TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr, double lr_decay,
    double weight_decay, double eps, bool maximize, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adagrad", out, std::array{grads, state_sums, state_steps},
                at::_fused_adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize,
                                   grad_scale, found_inf));
}

std::tuple<std::vector<Tensor>, std::vector<Tensor>, std::vector<Tensor>> _fused_adagrad_tensor_lr(
    TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, const Tensor& lr, double lr_decay,
    double weight_decay, double eps, bool maximize, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  return on_copies(std::array{self, grads, state_sums}, [&](Tensors& p, Tensors& g, Tensors& sums) {
    at::_fused_adagrad_(p, g, sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale, found_inf);
  });
}

void _fused_adagrad_tensor_lr_out(
    TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, const Tensor& lr, double lr_decay,
    double weight_decay, double eps, bool maximize, const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf, TensorList out) {
  write_results("_fused_adagrad", out, std::array{grads, state_sums},
                at::_fused_adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize,
                                   grad_scale, found_inf));
}

}  // namespace at::native
