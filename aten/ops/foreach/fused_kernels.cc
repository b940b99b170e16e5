// Optimizer steps over lists of parameters in one pass.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/optimizer/optimizer_step.h"
#include "aten/ops/foreach/fused_step.h"
#include "aten/ops/foreach/kernels.h"

namespace at::native {

using foreach::number_in;
using foreach::skips_step;
using foreach::StepOperands;
using foreach::StepTensors;

namespace {

// The numbers of a step, which depend on its count: mostly one count for all parameters.
template <class Step>
class StepPerCount {
 public:
  template <class Make>
  StepPerCount(const char* op, TensorList self, TensorList state_steps, const Make& make) {
    TORCH_CHECK(state_steps.size() == self.size(), op, "(): expected ", self.size(),
                " tensors in state_steps, but got ", state_steps.size());
    for (size_t i = 0; i < self.size(); ++i) {
      if (i > 0 && state_steps[i].is_same(state_steps[i - 1])) continue;
      const Step step = make(number_in(op, "state_steps", state_steps[i]));
      if (i == 0) {
        first_ = step;
      } else {
        others_.push_back({i, step});
      }
    }
  }
  const Step& operator[](size_t parameter) const {
    if (others_.empty() || parameter < others_[0].begin) return first_;
    const auto after = std::upper_bound(others_.begin(), others_.end(), parameter,
                                        [](size_t at, const Run& run) { return at < run.begin; });
    return std::prev(after)->step;
  }

 private:
  struct Run {
    size_t begin;  // the first parameter
    Step step;
  };
  Step first_;
  std::vector<Run> others_;
};

void adam(const char* op, bool decoupled, TensorList self, TensorList grads, TensorList exp_avgs,
          TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const StepPerCount<cpu::AdamStep> steps(op, self, state_steps, [&](double count) {
    return cpu::AdamStep{.lr = lr,
                         .beta1 = beta1,
                         .beta2 = beta2,
                         .eps = eps,
                         .weight_decay = weight_decay,
                         .bias_correction1 = 1 - std::pow(beta1, count),
                         .bias_correction2 = 1 - std::pow(beta2, count),
                         .decoupled = decoupled,
                         .maximize = maximize};
  });
  StepTensors tensors(
      op, self, grads,
      {{"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}, {"max_exp_avg_sqs", max_exp_avg_sqs, amsgrad}},
      grad_scale);
  if (skips_step(op, found_inf)) return;
  tensors.run([&](size_t i, const StepOperands& o) {
    cpu::adam_step(o.dtype, o.data[0], o.data[1], o.data[2], o.data[3], o.data[4], o.numel, steps[i]);
  });
}

}  // namespace

void _fused_adam_cpu(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                     TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                     double weight_decay, double eps, bool amsgrad, bool maximize,
                     const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
       weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adam_tensor_lr_cpu(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                               TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                               double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                               const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       number_in("_fused_adam_", "lr", lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_cpu(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                      TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                      double weight_decay, double eps, bool amsgrad, bool maximize,
                      const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
       weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_tensor_lr_cpu(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                                TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                                double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                                const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       number_in("_fused_adamw_", "lr", lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_sgd_cpu(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                    double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                    const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_sgd_";
  const cpu::SgdStep step{.lr = lr,
                          .momentum = momentum,
                          .dampening = dampening,
                          .weight_decay = weight_decay,
                          .nesterov = nesterov,
                          .maximize = maximize,
                          .first = is_first_step};
  StepTensors tensors(op, self, grads, {{"momentum_buffer_list", momentum_buffer_list, momentum != 0}}, grad_scale);
  if (skips_step(op, found_inf)) return;
  tensors.run(
      [&](size_t, const StepOperands& o) { cpu::sgd_step(o.dtype, o.data[0], o.data[1], o.data[2], o.numel, step); });
}

void _fused_sgd_tensor_lr_cpu(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                              double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
                              bool is_first_step, const std::optional<Tensor>& grad_scale,
                              const std::optional<Tensor>& found_inf) {
  _fused_sgd_cpu(self, grads, momentum_buffer_list, weight_decay, momentum, number_in("_fused_sgd_", "lr", lr),
                 dampening, nesterov, maximize, is_first_step, grad_scale, found_inf);
}

void _fused_adagrad_cpu(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr,
                        double lr_decay, double weight_decay, double eps, bool maximize,
                        const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_adagrad_";
  const StepPerCount<cpu::AdagradStep> steps(op, self, state_steps, [&](double count) {
    return cpu::AdagradStep{
        .lr = lr / (1 + (count - 1) * lr_decay), .eps = eps, .weight_decay = weight_decay, .maximize = maximize};
  });
  StepTensors tensors(op, self, grads, {{"state_sums", state_sums}}, grad_scale);
  if (skips_step(op, found_inf)) return;
  tensors.run([&](size_t i, const StepOperands& o) {
    cpu::adagrad_step(o.dtype, o.data[0], o.data[1], o.data[2], o.numel, steps[i]);
  });
}

void _fused_adagrad_tensor_lr_cpu(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                                  const Tensor& lr, double lr_decay, double weight_decay, double eps, bool maximize,
                                  const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  _fused_adagrad_cpu(self, grads, state_sums, state_steps, number_in("_fused_adagrad_", "lr", lr), lr_decay,
                     weight_decay, eps, maximize, grad_scale, found_inf);
}

void _fused_rmsprop_cpu(TensorList self, TensorList grads, TensorList square_avgs, TensorList grad_avgs,
                        TensorList momentum_buffer_list, double lr, double alpha, double eps, double weight_decay,
                        double momentum, bool centered, bool maximize, const std::optional<Tensor>& grad_scale,
                        const std::optional<Tensor>& found_inf) {
  const char* const op = "_fused_rmsprop_";
  const cpu::RmspropStep step{
      .lr = lr, .alpha = alpha, .eps = eps, .weight_decay = weight_decay, .momentum = momentum, .maximize = maximize};
  StepTensors tensors(op, self, grads,
                      {{"square_avgs", square_avgs},
                       {"grad_avgs", grad_avgs, centered},
                       {"momentum_buffer_list", momentum_buffer_list, momentum != 0}},
                      grad_scale);
  if (skips_step(op, found_inf)) return;
  tensors.run([&](size_t, const StepOperands& o) {
    cpu::rmsprop_step(o.dtype, o.data[0], o.data[1], o.data[2], o.data[3], o.data[4], o.numel, step);
  });
}

}  // namespace at::native
