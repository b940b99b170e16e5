// One module on several devices, each with a part of the batch.
//
//   torch::Tensor y = torch::nn::parallel::data_parallel(net, x);      // on all devices of the accelerator
//   loss(y).backward();                                                // gradients are in net's parameters
//
// Devices are those given, or all of the accelerator. Modules are cloned, so they are Cloneable. Each replica runs in a
// thread of its own, with the caller's gradient mode, autocast state and so on, on the input's device and on the
// streams that are the caller's current ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "nn/module/module.h"
#include "nn/parallel/comm.h"

namespace torch::nn::parallel {

namespace detail {

// Gradients of the replicas' parameters go to the module's, summed.
void replicate_grad_edges(Module& module, const std::vector<std::shared_ptr<Module>>& replicas,
                          const std::vector<at::Device>& devices);
// All devices of the accelerator; throws where there is none.
std::vector<at::Device> all_devices();
// Calls run(0) ... run(n - 1), each in a thread where the device of inputs[i] is current, and on the devices of the
// inputs and results the streams that are current here; rethrows the first exception after all have ended.
void run_all(const std::vector<at::Tensor>& inputs, const std::optional<std::vector<at::Device>>& devices,
             const std::function<void(size_t)>& run);
void check_counts(size_t modules, size_t inputs, const std::optional<std::vector<at::Device>>& devices);
at::Tensor moved(const at::Tensor& t, const at::Device& device);

}  // namespace detail

// A clone of the module on each device. What the clones compute has derivatives for the module's own parameters.
template <typename M>
requires std::is_base_of_v<Module, M> std::vector<std::shared_ptr<M>> replicate(
    const std::shared_ptr<M>& module, const std::vector<at::Device>& devices) {
  std::vector<std::shared_ptr<M>> replicas;
  std::vector<std::shared_ptr<Module>> bases;
  for (const at::Device& device : devices) {
    replicas.push_back(std::dynamic_pointer_cast<M>(module->clone(device)));
    bases.push_back(replicas.back());
  }
  detail::replicate_grad_edges(*module, bases, devices);
  return replicas;
}
template <typename M>
std::vector<ModuleHolder<M>> replicate(const ModuleHolder<M>& module, const std::vector<at::Device>& devices) {
  std::vector<ModuleHolder<M>> replicas;
  for (auto& replica : replicate(module.ptr(), devices)) replicas.emplace_back(std::move(replica));
  return replicas;
}

// Calls modules[i] with inputs[i], all at the same time; results are moved to devices[i], or to the input's device.
// Throws what a module throws.
template <typename ModuleType>
std::vector<at::Tensor> parallel_apply(std::vector<ModuleType>& modules, const std::vector<at::Tensor>& inputs,
                                       const std::optional<std::vector<at::Device>>& devices = std::nullopt) {
  detail::check_counts(modules.size(), inputs.size(), devices);
  std::vector<at::Tensor> outputs(inputs.size());
  detail::run_all(inputs, devices, [&](size_t i) {
    const at::Tensor output = call_module(*modules[i], inputs[i]);
    outputs[i] = detail::moved(output, devices.has_value() ? (*devices)[i] : inputs[i].device());
  });
  return outputs;
}

// Splits the input along `dim` over the devices, calls a replica of the module on each, and joins the results on
// `output_device`, by default the first of the devices. With one device the module itself is moved there and called.
template <typename ModuleType>
at::Tensor data_parallel(ModuleType module, at::Tensor input,
                         std::optional<std::vector<at::Device>> devices = std::nullopt,
                         std::optional<at::Device> output_device = std::nullopt, int64_t dim = 0) {
  if (!devices.has_value()) devices = detail::all_devices();
  TORCH_CHECK(!devices->empty(), "data_parallel: expected at least one device");
  if (!output_device.has_value()) output_device = devices->front();
  if (devices->size() == 1) {
    module->to(devices->front());
    input = detail::moved(input, devices->front());
    return detail::moved(call_module(*module, std::move(input)), *output_device);
  }
  autograd::Scatter scatter(*devices, std::nullopt, dim);
  const std::vector<at::Tensor> inputs = scatter.apply({std::move(input)});
  // A small batch does not reach all of them.
  devices->erase(devices->begin() + static_cast<std::ptrdiff_t>(inputs.size()), devices->end());
  auto replicas = replicate(module, *devices);
  return autograd::Gather(*output_device, dim).apply(parallel_apply(replicas, inputs, *devices)).front();
}

}  // namespace torch::nn::parallel
