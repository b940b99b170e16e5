#include "utils/averaged_model/averaged_model.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/normalization.h"

namespace torch::optim {
namespace {

bool is_real(const at::Tensor& t) {
  return t.is_floating_point() || t.is_complex();
}

// average + (current - average) * weight. Integers lose their fractions.
at::Tensor towards(const at::Tensor& average, const at::Tensor& current, double weight) {
  if (is_real(average)) return at::lerp(average, current, weight);
  const at::Tensor real = at::to(average, at::kDouble);
  return at::add(real, at::sub(at::to(current, at::kDouble), real), weight);
}

MultiAverageFunction each_towards(std::function<double(int64_t)> weight) {
  return [weight](const std::vector<at::Tensor>& averaged, const std::vector<at::Tensor>& current, int64_t count) {
    std::vector<at::Tensor> real, real_current;
    for (size_t i = 0; i < averaged.size(); ++i) {
      if (is_real(averaged[i])) {
        real.push_back(averaged[i]);
        real_current.push_back(current[i]);
      } else {
        at::Tensor average = averaged[i];
        at::copy_(average, towards(average, current[i], weight(count)));
      }
    }
    if (!real.empty()) at::_foreach_lerp_(real, real_current, weight(count));
  };
}

double checked_decay(double decay) {
  TORCH_CHECK_VALUE(decay >= 0 && decay <= 1, "Invalid decay value ", decay,
                    " provided. Please provide a value in [0,1] range.");
  return decay;
}

double part_of_mean(int64_t count) {
  return 1 / static_cast<double>(count + 1);
}

std::vector<at::Tensor> averaged_tensors(const nn::Module& module, bool use_buffers) {
  std::vector<at::Tensor> all = module.parameters();
  if (!use_buffers) return all;
  for (const at::Tensor& buffer : module.buffers()) all.push_back(buffer);
  return all;
}

void check_same(const char* what, const std::vector<at::Tensor>& averaged, const std::vector<at::Tensor>& current) {
  TORCH_CHECK_VALUE(averaged.size() == current.size(), "update_parameters: the model has ", current.size(), " ", what,
                    ", its average ", averaged.size());
  for (size_t i = 0; i < averaged.size(); ++i) {
    TORCH_CHECK_VALUE(averaged[i].sizes() == current[i].sizes(), "update_parameters: one of the model's ", what,
                      " has size ", current[i].sizes(), ", its average ", averaged[i].sizes());
  }
}

}  // namespace

AverageFunction get_swa_avg_fn() {
  return [](const at::Tensor& averaged, const at::Tensor& current, int64_t count) {
    return towards(averaged, current, part_of_mean(count));
  };
}

MultiAverageFunction get_swa_multi_avg_fn() {
  return each_towards(part_of_mean);
}

AverageFunction get_ema_avg_fn(double decay) {
  const double weight = 1 - checked_decay(decay);
  return [weight](const at::Tensor& averaged, const at::Tensor& current, int64_t) {
    return towards(averaged, current, weight);
  };
}

MultiAverageFunction get_ema_multi_avg_fn(double decay) {
  const double weight = 1 - checked_decay(decay);
  return each_towards([weight](int64_t) { return weight; });
}

AveragedModule::AveragedModule(std::shared_ptr<nn::Module> copy, AverageFunction avg_fn,
                               MultiAverageFunction multi_avg_fn, bool use_buffers)
    : nn::Module("AveragedModel"),
      copy_(std::move(copy)),
      average_(std::move(avg_fn)),
      multi_average_(std::move(multi_avg_fn)),
      use_buffers_(use_buffers) {
  TORCH_CHECK_VALUE(average_ == nullptr || multi_average_ == nullptr,
                    "Only one of avg_fn and multi_avg_fn should be provided");
  if (average_ == nullptr && multi_average_ == nullptr) multi_average_ = get_swa_multi_avg_fn();
  n_averaged = register_buffer("n_averaged", at::zeros({}, at::TensorOptions().dtype(at::kLong)));
  register_module("module", copy_);
}

void AveragedModule::update_parameters(const nn::Module& model) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> averaged = averaged_tensors(*copy_, use_buffers_);
  std::vector<at::Tensor> buffers = use_buffers_ ? std::vector<at::Tensor>() : copy_->buffers();
  const std::vector<at::Tensor> model_buffers = use_buffers_ ? std::vector<at::Tensor>() : model.buffers();
  std::vector<at::Tensor> current;
  for (const at::Tensor& t : averaged_tensors(model, use_buffers_)) {
    current.push_back(current.size() < averaged.size() ? at::to(t, averaged[current.size()].device()) : t);
  }
  check_same("parameters", averaged, current);
  check_same("buffers", buffers, model_buffers);
  const int64_t count = at::item(n_averaged).toLong();
  if (count == 0) {
    for (size_t i = 0; i < averaged.size(); ++i) at::copy_(averaged[i], current[i]);
  } else if (multi_average_ != nullptr) {
    multi_average_(averaged, current, count);
  } else {
    for (size_t i = 0; i < averaged.size(); ++i) at::copy_(averaged[i], average_(averaged[i], current[i], count));
  }
  for (size_t i = 0; i < buffers.size(); ++i) at::copy_(buffers[i], model_buffers[i]);
  at::fill_(n_averaged, count + 1);
}

namespace detail {

BatchNormUpdate::BatchNormUpdate(nn::Module& model) : model_(model), was_training_(model.is_training()) {
  const auto visit = [&](nn::Module& m) {
    auto* const norm = dynamic_cast<nn::detail::BatchNormState*>(&m);
    if (norm == nullptr) return;
    momenta_.emplace_back(&m, norm->options.momentum());
    norm->options.momentum(std::nullopt);
    norm->reset_running_stats();
  };
  for (const auto& m : model.modules(/*include_self=*/false)) visit(*m);
  visit(model);
  if (needed()) model.train();
}

BatchNormUpdate::~BatchNormUpdate() {
  for (const auto& [m, momentum] : momenta_) dynamic_cast<nn::detail::BatchNormState&>(*m).options.momentum(momentum);
  if (needed()) model_.train(was_training_);
}

at::Tensor moved(const at::Tensor& tensor, std::optional<c10::Device> device) {
  return device.has_value() ? at::to(tensor, *device) : tensor;
}

}  // namespace detail

}  // namespace torch::optim
