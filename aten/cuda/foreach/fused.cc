// Optimizer steps over lists of CUDA tensors: one launch for some fifty tensors of one dtype. Learning rate, counts of
// steps, the gradients' scale and found_inf are read by the kernel where they lie on the device, so that nothing waits
// for it.
#include <array>
#include <optional>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/foreach/step_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/fused_step.h"
#include "aten/ops/foreach/kernels.h"
#include "aten/ops/foreach/multi_tensor.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace at::native {

using cuda::kStepChunk;
using cuda::kStepOperands;
using cuda::kStepTensors;
using cuda::StepCall;
using cuda::StepLauncher;
using cuda::StepNumber;
using cuda::StepOptions;
using foreach::StateList;

namespace {

StepNumber number(const char* op, const char* name, const Tensor& t, Device device) {
  if (t.defined() && t.numel() == 1 && t.device() == device) {
    TORCH_CHECK_NOT_IMPLEMENTED(!(t.requires_grad() && c10::GradMode::is_enabled()), op, "(): ", name,
                                " requires a gradient, but the step is not differentiable in it");
    return {.data = t.const_data_ptr(), .dtype = t.scalar_type()};
  }
  return {.value = foreach::number_in(op, name, t)};
}
StepNumber number(double value) {
  return {.value = value};
}

// Runs of memory in the order of the parameter's elements: those of tensors, or of copies that are written back.
class Runs {
 public:
  void* of(const Tensor& t, const Tensor& param, bool written) {
    if (foreach::is_run(t) && foreach::same_layout(t, param)) {
      return written ? t.mutable_data_ptr() : const_cast<void*>(t.const_data_ptr());
    }
    Tensor run = empty_with_strides(param.sizes(), strides_like(param), t.scalar_type(), t.device());
    at::copy_(run, t);
    copies_.push_back({run, written ? t : Tensor()});
    return run.mutable_data_ptr();
  }
  void write_back() {
    for (Copy& copy : copies_) {
      if (copy.to.defined()) at::copy_(copy.to, copy.from);
    }
  }

 private:
  struct Copy {
    Tensor from, to;
  };
  std::vector<Copy> copies_;
};

// Launches on all tensors, those of one dtype together; fill(i, entry) says what a tensor's entry is but for its size.
template <class Fill>
void launch_on_all(const char* op, StepLauncher launch, const StepOptions& options, TensorList tensors, Fill&& fill) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    StepCall call;
    call.options = options;
    call.tensors = 0;
    call.first_block[0] = 0;
    const auto flush = [&] {
      if (call.tensors > 0) launch(dtype, op, call);
      call.tensors = 0;
    };
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      if (toRealValueType(t.scalar_type()) != dtype || t.numel() == 0) continue;
      StepCall::Entry& entry = call.entries[call.tensors];
      entry = {};
      fill(i, entry);
      entry.numel = t.numel() * (t.is_complex() ? 2 : 1);
      const int64_t blocks = (entry.numel - 1) / kStepChunk + 1;
      TORCH_CHECK(blocks < (int64_t{1} << 30), op, "(): a tensor of ", entry.numel, " elements is too large");
      call.first_block[call.tensors + 1] = call.first_block[call.tensors] + static_cast<uint32_t>(blocks);
      if (++call.tensors == kStepTensors || call.first_block[call.tensors] > 1u << 30) flush();
    }
    flush();
  }
}

void check_devices(const char* op, const char* what, TensorList tensors, Device device) {
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.device() == device, op, "(): expected all ", what, " on ", device, ", but got one on ", t.device());
  }
}

struct Lists {
  TensorList self, grads;
  std::array<StateList, 3> states;
  const TensorList* counts;  // null: there are none
};

void run_step(const char* op, StepLauncher launch, const Lists& lists, StepOptions options,
              const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const TensorList self = lists.self;
  foreach::check_step(op, self, lists.grads, {lists.states[0], lists.states[1], lists.states[2]});
  if (lists.counts != nullptr) {
    TORCH_CHECK(lists.counts->size() == self.size(), op, "(): expected ", self.size(),
                " tensors in state_steps, but got ", lists.counts->size());
  }
  if (self.empty()) return;
  const Device device = self[0].device();
  check_devices(op, "parameters", self, device);
  std::vector<StepNumber> counts(self.size());
  for (size_t i = 0; lists.counts != nullptr && i < self.size(); ++i) {
    counts[i] = number(op, "state_steps", (*lists.counts)[i], device);
  }
  options.scaled = grad_scale.has_value() && grad_scale->defined();
  if (options.scaled) options.grad_scale = number(op, "grad_scale", *grad_scale, device);
  if (found_inf.has_value() && found_inf->defined()) options.found_inf = number(op, "found_inf", *found_inf, device);

  Runs runs;
  launch_on_all(op, launch, options, self, [&](size_t i, StepCall::Entry& entry) {
    const Tensor& param = self[i];
    entry.data[0] = runs.of(param, param, true);
    entry.data[1] = runs.of(lists.grads[i], param, options.scaled);
    for (size_t k = 0; k < lists.states.size(); ++k) {
      const StateList& state = lists.states[k];
      if (state.used) entry.data[2 + k] = runs.of(state.tensors[i], param, true);
    }
    entry.count = counts[i];
  });
  runs.write_back();
}

StateList unused() {
  return {"", {}, false};
}

void adam(const char* op, bool decoupled, TensorList self, TensorList grads, TensorList exp_avgs,
          TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps, StepNumber lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  StepOptions options;
  options.lr = lr;
  options.maximize = maximize;
  options.decoupled = decoupled;
  options.beta1 = beta1;
  options.beta2 = beta2;
  options.eps = eps;
  options.weight_decay = weight_decay;
  run_step(
      op, cuda::launch_adam,
      {self,
       grads,
       {StateList{"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}, {"max_exp_avg_sqs", max_exp_avg_sqs, amsgrad}},
       &state_steps},
      options, grad_scale, found_inf);
}
StepNumber rate(const char* op, TensorList self, const Tensor& lr) {
  return self.empty() ? number(0) : number(op, "lr", lr, self[0].device());
}

void sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum,
         StepNumber lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
         const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  StepOptions options;
  options.lr = lr;
  options.maximize = maximize;
  options.nesterov = nesterov;
  options.first = is_first_step;
  options.beta1 = momentum;
  options.beta2 = dampening;
  options.weight_decay = weight_decay;
  run_step("_fused_sgd_", cuda::launch_sgd,
           {self,
            grads,
            {StateList{"momentum_buffer_list", momentum_buffer_list, momentum != 0}, unused(), unused()},
            nullptr},
           options, grad_scale, found_inf);
}

void adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, StepNumber lr,
             double lr_decay, double weight_decay, double eps, bool maximize, const std::optional<Tensor>& grad_scale,
             const std::optional<Tensor>& found_inf) {
  StepOptions options;
  options.lr = lr;
  options.maximize = maximize;
  options.beta2 = lr_decay;
  options.eps = eps;
  options.weight_decay = weight_decay;
  run_step("_fused_adagrad_", cuda::launch_adagrad,
           {self, grads, {StateList{"state_sums", state_sums}, unused(), unused()}, &state_steps}, options, grad_scale,
           found_inf);
}

}  // namespace

void _fused_adam_cuda(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                      TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                      double weight_decay, double eps, bool amsgrad, bool maximize,
                      const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number(lr), beta1,
       beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}
void _fused_adam_tensor_lr_cuda(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                                TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                                double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                                const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adam_", false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       rate("_fused_adam_", self, lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}
void _fused_adamw_cuda(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                       TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                       double weight_decay, double eps, bool amsgrad, bool maximize,
                       const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number(lr), beta1,
       beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}
void _fused_adamw_tensor_lr_cuda(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                                 TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                                 double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                                 const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adam("_fused_adamw_", true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       rate("_fused_adamw_", self, lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_sgd_cuda(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                     double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                     const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  sgd(self, grads, momentum_buffer_list, weight_decay, momentum, number(lr), dampening, nesterov, maximize,
      is_first_step, grad_scale, found_inf);
}
void _fused_sgd_tensor_lr_cuda(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                               double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
                               bool is_first_step, const std::optional<Tensor>& grad_scale,
                               const std::optional<Tensor>& found_inf) {
  sgd(self, grads, momentum_buffer_list, weight_decay, momentum, rate("_fused_sgd_", self, lr), dampening, nesterov,
      maximize, is_first_step, grad_scale, found_inf);
}

void _fused_adagrad_cuda(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr,
                         double lr_decay, double weight_decay, double eps, bool maximize,
                         const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adagrad(self, grads, state_sums, state_steps, number(lr), lr_decay, weight_decay, eps, maximize, grad_scale,
          found_inf);
}
void _fused_adagrad_tensor_lr_cuda(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                                   const Tensor& lr, double lr_decay, double weight_decay, double eps, bool maximize,
                                   const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  adagrad(self, grads, state_sums, state_steps, rate("_fused_adagrad_", self, lr), lr_decay, weight_decay, eps,
          maximize, grad_scale, found_inf);
}

void _amp_foreach_non_finite_check_and_unscale_cuda(TensorList self, Tensor& found_inf, const Tensor& inv_scale) {
  constexpr const char* kOp = "_amp_foreach_non_finite_check_and_unscale_";
  foreach::check_scaled_gradients(self, found_inf, inv_scale);
  check_devices(kOp, "gradients", self, found_inf.device());
  StepOptions options;
  options.lr = number(kOp, "inv_scale", inv_scale, found_inf.device());
  options.non_finite = found_inf.mutable_data_ptr<float>();
  Runs runs;
  launch_on_all(kOp, cuda::launch_unscale, options, self,
                [&](size_t i, StepCall::Entry& entry) { entry.data[0] = runs.of(self[i], self[i], true); });
  runs.write_back();
}

Tensor& _amp_update_scale_cuda_(Tensor& self, Tensor& growth_tracker, const Tensor& found_inf,
                                double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
  foreach::check_scale(self, growth_tracker, found_inf);
  for (const Tensor& t : {growth_tracker, found_inf}) {
    TORCH_CHECK(t.device() == self.device(), "_amp_update_scale_(): expected all tensors on ", self.device(),
                ", but got one on ", t.device());
  }
  cuda::launch_update_scale(self.mutable_data_ptr<float>(), growth_tracker.mutable_data_ptr<int32_t>(),
                            found_inf.const_data_ptr<float>(), scale_growth_factor, scale_backoff_factor,
                            growth_interval);
  return self;
}

}  // namespace at::native
