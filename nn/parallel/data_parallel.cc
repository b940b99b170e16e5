#include "nn/parallel/data_parallel.h"

#include <exception>
#include <thread>

#include "aten/core/thread_local_state.h"
#include "aten/ops/copy/ops.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/core/accelerator.h"
#include "c10/core/device_guard.h"

namespace torch::nn::parallel::detail {
namespace {

// Takes the gradients of one tensor's copies.
class ReplicaGrad final : public autograd::Node {
 public:
  explicit ReplicaGrad(const at::Tensor& original)
      : Node(autograd::edge_list{autograd::gradient_edge(original)}), device_(original.device()) {}
  std::string name() const override { return "ReduceAddBackward0"; }
  autograd::variable_list apply(autograd::variable_list&& grads) override { return {comm::reduce_add(grads, device_)}; }

 private:
  at::Device device_;
};

void join(const OrderedDict<std::string, at::Tensor>& originals,
          const std::vector<OrderedDict<std::string, at::Tensor>>& copies) {
  for (const auto& original : originals) {
    if (!original.value().requires_grad()) continue;
    const auto node = c10::make_intrusive<ReplicaGrad>(original.value());
    for (const auto& of_replica : copies) {
      const at::Tensor& copy = of_replica[original.key()];
      const uint32_t number = node->add_input_metadata(copy);
      autograd::set_gradient_edge(copy, autograd::Edge(node, number));
    }
  }
}

// Those of the calling thread.
std::vector<c10::Stream> current_streams(const std::vector<at::Tensor>& inputs,
                                         const std::optional<std::vector<at::Device>>& devices) {
  std::vector<c10::Stream> streams;
  const auto add = [&](const at::Device& device) {
    if (!device.is_cpu()) streams.push_back(c10::impl::getDeviceGuardImpl(device.type())->getStream(device));
  };
  for (const at::Tensor& input : inputs) add(input.device());
  if (devices.has_value()) {
    for (const at::Device& device : *devices) add(device);
  }
  return streams;
}

}  // namespace

void replicate_grad_edges(Module& module, const std::vector<std::shared_ptr<Module>>& replicas,
                          const std::vector<at::Device>& devices) {
  TORCH_CHECK(replicas.size() == devices.size(), "replicate: ", replicas.size(), " replicas for ", devices.size(),
              " devices");
  std::vector<OrderedDict<std::string, at::Tensor>> parameters, buffers;
  for (const auto& replica : replicas) {
    parameters.push_back(replica->named_parameters());
    buffers.push_back(replica->named_buffers());
  }
  join(module.named_parameters(), parameters);
  join(module.named_buffers(), buffers);
}

std::vector<at::Device> all_devices() {
  const auto type = at::getAccelerator();
  const int count = type.has_value() ? at::accelerator::deviceCount() : 0;
  TORCH_CHECK(count > 0,
              "data_parallel: expected at least one device of an accelerator to be available; name the "
              "devices to use others");
  std::vector<at::Device> devices;
  for (int i = 0; i < count; ++i) devices.emplace_back(*type, static_cast<c10::DeviceIndex>(i));
  return devices;
}

void run_all(const std::vector<at::Tensor>& inputs, const std::optional<std::vector<at::Device>>& devices,
             const std::function<void(size_t)>& run) {
  const size_t n = inputs.size();
  const at::ThreadLocalState state;
  const std::vector<c10::Stream> streams = current_streams(inputs, devices);
  std::vector<std::exception_ptr> errors(n);
  const auto guarded = [&](size_t i) {
    try {
      const c10::OptionalDeviceGuard guard(inputs[i].is_cpu() ? std::nullopt : std::optional(inputs[i].device()));
      run(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < n; ++i) {
    threads.emplace_back([&, i] {
      const at::ThreadLocalStateGuard as_caller(state);
      for (const c10::Stream& stream : streams) {
        c10::impl::getDeviceGuardImpl(stream.device_type())->exchangeStream(stream);
      }
      guarded(i);
    });
  }
  // The first in this thread.
  if (n > 0) guarded(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

void check_counts(size_t modules, size_t inputs, const std::optional<std::vector<at::Device>>& devices) {
  TORCH_CHECK(modules == inputs, "Must have as many inputs as modules");
  TORCH_CHECK(!devices.has_value() || devices->size() == modules, "Must have as many devices as modules");
}

at::Tensor moved(const at::Tensor& t, const at::Device& device) {
  return t.device() == device ? t : at::to(t, t.options().device(device), false, false, std::nullopt);
}

}  // namespace torch::nn::parallel::detail
