#include "distributed/ddp/sync_batch_norm.h"

#include <utility>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/functional/normalization.h"
#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

using at::Tensor;
using autograd::AutogradContext;
using autograd::variable_list;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// All dimensions but the channels.
std::vector<int64_t> others(const Tensor& t) {
  std::vector<int64_t> dims{0};
  for (int64_t d = 2; d < t.dim(); ++d) dims.push_back(d);
  return dims;
}
// Of channels, so that it fits the input.
Tensor along(const Tensor& channels, const Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = channels.numel();
  return at::view(channels, sizes);
}
Tensor wide(const Tensor& t) {
  return t.scalar_type() == c10::kHalf || t.scalar_type() == c10::kBFloat16 ? at::to(t, c10::kFloat) : t;
}

// Mean and variance of all ranks' elements, and how many there are.
struct Statistics {
  Tensor mean, var;
  double count = 0;
};
Statistics gathered(const Tensor& x, c10d::ProcessGroup& group) {
  const int64_t channels = x.size(1);
  const int64_t count = channels == 0 ? 0 : x.numel() / channels;
  const auto options = x.options().requires_grad(false);
  Tensor mean = at::zeros({channels}, options), var = at::zeros({channels}, options);
  if (count > 0) {
    mean = at::mean(x, others(x));
    const Tensor away = at::sub(x, along(mean, x));
    var = at::mean(at::mul(away, away), others(x));
  }
  std::vector<Tensor> mine{at::cat({mean, var, at::full({1}, count, options)})};
  std::vector<std::vector<Tensor>> all(1);
  for (int i = 0; i < group.getSize(); ++i) all[0].push_back(at::empty({2 * channels + 1}, options));
  group.allgather(all, mine)->wait();
  Statistics total{at::zeros({channels}, options), at::zeros({channels}, options)};
  std::vector<double> counts;
  for (const Tensor& t : all[0]) {
    counts.push_back(at::narrow(t, 0, 2 * channels, 1).item<double>());
    total.count += counts.back();
  }
  TORCH_CHECK_VALUE(total.count > 1, "Expected more than 1 value per channel when training, got ", total.count,
                    " on all ranks for an input of size ", x.sizes());
  for (size_t i = 0; i < counts.size(); ++i) {
    total.mean.add_(at::narrow(all[0][i], 0, 0, channels), counts[i] / total.count);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const Tensor away = at::sub(at::narrow(all[0][i], 0, 0, channels), total.mean);
    total.var.add_(at::add(at::narrow(all[0][i], 0, channels, channels), at::mul(away, away)), counts[i] / total.count);
  }
  return total;
}

void move_running(const Tensor& running, const Tensor& fresh, double momentum) {
  if (running.defined()) running.copy_(at::add(at::mul(running, 1 - momentum), fresh, momentum));
}

struct SyncNormalize : autograd::Function<SyncNormalize> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, double eps, double momentum,
                        const Group& group) {
    const Tensor x = wide(input);
    const Statistics all = gathered(x, *group);
    move_running(running_mean, all.mean, momentum);
    move_running(running_var, at::mul(all.var, all.count / (all.count - 1)), momentum);
    const Tensor inverse = at::rsqrt(at::add(all.var, eps));
    Tensor y = at::mul(at::sub(x, along(all.mean, x)), along(inverse, x));
    if (weight.defined()) y = at::mul(y, along(wide(weight), x));
    if (bias.defined()) y = at::add(y, along(wide(bias), x));
    context->save_for_backward({input, weight, all.mean, inverse});
    context->saved_data["count"] = all.count;
    context->saved_data["bias"] = bias.defined();
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    return at::to(y, input.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    TORCH_CHECK(!c10::GradMode::is_enabled(), "sync_batch_norm: its backward cannot be differentiated again");
    const variable_list saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const Tensor x = wide(input), grad = wide(grads[0]);
    const int64_t channels = x.size(1);
    const Tensor normal = at::mul(at::sub(x, along(mean, x)), along(inverse, x));
    const Tensor sum = at::sum(grad, others(x)), sum_normal = at::sum(at::mul(grad, normal), others(x));
    std::vector<Tensor> sums{at::cat({sum, sum_normal})};
    const auto group = context->saved_data["group"].toCapsule();
    static_cast<c10d::ProcessGroup&>(*group).allreduce(sums)->wait();
    sums[0].div_(context->saved_data["count"].toDouble());
    Tensor of_input = at::sub(at::sub(grad, along(at::narrow(sums[0], 0, 0, channels), x)),
                              at::mul(normal, along(at::narrow(sums[0], 0, channels, channels), x)));
    const Tensor factor = weight.defined() ? at::mul(inverse, wide(weight)) : inverse;
    of_input = at::to(at::mul(of_input, along(factor, x)), input.scalar_type());
    const bool has_bias = context->saved_data["bias"].toBool();
    return {of_input,
            weight.defined() ? at::to(sum_normal, weight.scalar_type()) : Tensor(),
            has_bias ? at::to(sum, weight.defined() ? weight.scalar_type() : input.scalar_type()) : Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

at::Tensor functional::sync_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                       const Tensor& running_mean, const Tensor& running_var, double eps,
                                       double momentum, const Group& process_group) {
  TORCH_CHECK(process_group, "sync_batch_norm: expected a process group");
  TORCH_CHECK_VALUE(input.dim() >= 2, "expected at least 2D input (got ", input.dim(), "D input)");
  for (const Tensor* const t : {&weight, &bias, &running_mean, &running_var}) {
    TORCH_CHECK_VALUE(!t->defined() || t->numel() == input.size(1),
                      "sync_batch_norm: weight, bias and running statistics must "
                      "have an element for each of the ",
                      input.size(1), " channels, but one has ", t->numel());
  }
  return SyncNormalize::apply(input, weight, bias, running_mean, running_var, eps, momentum, process_group);
}

namespace parallel {

void SyncBatchNormImpl::_check_input_dim(const Tensor& input) {
  TORCH_CHECK_VALUE(input.dim() >= 2, "expected at least 2D input (got ", input.dim(), "D input)");
}

Tensor SyncBatchNormImpl::forward(const Tensor& input) {
  const bool uses_batch = is_training() || !options.track_running_stats();
  if (!process_group || !is_training() || !uses_batch) return BatchNormState::forward(input);
  _check_input_dim(input);
  double momentum = options.momentum().value_or(0.0);
  if (options.track_running_stats() && num_batches_tracked.defined()) {
    const c10::NoGradGuard no_grad;
    at::add_(num_batches_tracked, 1);
    if (!options.momentum().has_value()) momentum = 1.0 / num_batches_tracked.item<double>();
  }
  return functional::sync_batch_norm(input, weight, bias, running_mean, running_var, options.eps(), momentum,
                                     process_group);
}

std::shared_ptr<Module> SyncBatchNormImpl::convert_sync_batchnorm(
    const std::shared_ptr<Module>& module, const c10::intrusive_ptr<c10d::ProcessGroup>& process_group) {
  TORCH_CHECK(module != nullptr, "convert_sync_batchnorm: expected a module, but got an empty pointer");
  auto* const bn = dynamic_cast<nn::detail::BatchNormState*>(module.get());
  if (bn != nullptr && module->as<SyncBatchNormImpl>() == nullptr) {
    auto sync = std::make_shared<SyncBatchNormImpl>(bn->options, process_group);
    sync->weight = sync->replace_parameter("weight", bn->weight);
    sync->bias = sync->replace_parameter("bias", bn->bias);
    sync->running_mean = sync->replace_buffer("running_mean", bn->running_mean);
    sync->running_var = sync->replace_buffer("running_var", bn->running_var);
    sync->num_batches_tracked = sync->replace_buffer("num_batches_tracked", bn->num_batches_tracked);
    sync->train(bn->is_training());
    return sync;
  }
  for (const auto& child : module->named_children()) {
    if (child.value() == nullptr) continue;
    const std::shared_ptr<Module> fresh = convert_sync_batchnorm(child.value(), process_group);
    if (fresh == child.value()) continue;
    if (auto* const sequence = module->as<SequentialImpl>()) {
      sequence->replace_module(child.key(), std::dynamic_pointer_cast<SyncBatchNormImpl>(fresh));
    } else {
      module->set_submodule(child.key(), fresh);
    }
  }
  return module;
}

}  // namespace parallel
}  // namespace torch::nn
