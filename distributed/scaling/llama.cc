#include "distributed/scaling/llama.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::scaling {

at::Tensor LlamaImpl::make(const std::string& name, at::IntArrayRef sizes) {
  return register_parameter(name, at::empty(sizes, at::TensorOptions().device(c10::DeviceType::Meta)));
}

LlamaImpl::LlamaImpl(const LlamaSizes& sizes) : sizes_(sizes) {
  embedding_ = make("embedding", {sizes.vocabulary, sizes.width});
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const auto own = [&](const char* name) { return "layer" + std::to_string(i) + "_" + name; };
    Layer layer;
    layer.attention_norm = make(own("attention_norm"), {sizes.width});
    layer.query = make(own("query"), {sizes.width, sizes.width});
    layer.key = make(own("key"), {sizes.key_width, sizes.width});
    layer.value = make(own("value"), {sizes.key_width, sizes.width});
    layer.output = make(own("output"), {sizes.width, sizes.width});
    layer.norm = make(own("norm"), {sizes.width});
    layer.gate = make(own("gate"), {sizes.hidden, sizes.width});
    layer.up = make(own("up"), {sizes.hidden, sizes.width});
    layer.down = make(own("down"), {sizes.width, sizes.hidden});
    layers_.push_back(std::move(layer));
  }
  norm_ = make("norm", {sizes.width});
  head_ = make("head", {sizes.vocabulary, sizes.width});
}

at::Tensor LlamaImpl::forward(const at::Tensor& tokens) {
  at::Tensor x = at::embedding(embedding_, tokens);
  for (const Layer& layer : layers_) {
    const at::Tensor n = x * layer.attention_norm;
    const at::Tensor shared = at::linear(n, layer.key) + at::linear(n, layer.value);
    const std::vector<at::Tensor> heads(static_cast<size_t>(sizes_.width / sizes_.key_width), shared);
    x = x + at::linear(at::linear(n, layer.query) + at::cat(heads, -1), layer.output);
    const at::Tensor m = x * layer.norm;
    x = x + at::linear(at::sigmoid(at::linear(m, layer.gate)) * at::linear(m, layer.up), layer.down);
  }
  return at::sum(at::linear(x * norm_, head_));
}

std::vector<int64_t> LlamaImpl::units() const {
  int64_t layer = 0;
  for (const auto& item : named_parameters()) {
    if (item.key().rfind("layer0_", 0) == 0) layer += item.value().numel();
  }
  return {embedding_.numel(), layer, norm_.numel() + head_.numel()};
}

namespace {

// What the reducer asks for, bucket by bucket.
struct Started {
  std::vector<std::vector<at::Tensor>> parameters;
  std::vector<double> bytes;
};

class NotingHook final : public c10d::CppCommHookInterface<std::shared_ptr<Started>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    state_->parameters.push_back(bucket.getParameters());
    state_->bytes.push_back(static_cast<double>(bucket.getBuffer().nbytes()));
    return c10d::NoopCommHook().runHook(bucket);
  }
};

}  // namespace

DataParallelPlan data_parallel_plan(int64_t ranks) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(0, static_cast<int>(ranks));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM,
                    c10::make_intrusive<c10d::FakeProcessGroup>(0, static_cast<int>(ranks)));
  const auto started = std::make_shared<Started>();
  Llama model;
  nn::parallel::DistributedDataParallelOptions options(group);
  nn::parallel::DistributedDataParallel ddp(model, options.init_sync(false));
  ddp->register_comm_hook(std::make_unique<NotingHook>(started));

  // The order of gradients, and how far backward is with each: a product of a matrix takes time by its elements.
  double elements = 0, all = 0;
  std::unordered_map<const c10::TensorImpl*, double> arrived;
  for (const at::Tensor& p : model->parameters()) {
    all += static_cast<double>(p.numel());
    p.register_post_accumulate_grad_hook([&](const at::Tensor& leaf) {
      elements += static_cast<double>(leaf.numel());
      arrived[leaf.unsafeGetTensorImpl()] = elements;
    });
  }
  const at::Tensor tokens = at::empty({1, 1}, at::TensorOptions().dtype(c10::kLong).device(c10::DeviceType::Meta));
  for (int iteration = 0; iteration < 2; ++iteration) {  // buckets are made anew after the first
    *started = {};
    elements = 0;
    ddp(tokens).backward();
    ddp->zero_grad();
  }
  DataParallelPlan plan;
  for (size_t i = 0; i < started->bytes.size(); ++i) {
    double last = plan.buckets.empty() ? 0 : plan.buckets.back().backward * all;
    for (const at::Tensor& p : started->parameters[i]) last = std::max(last, arrived.at(p.unsafeGetTensorImpl()));
    plan.buckets.push_back({started->bytes[i], last / all});
  }
  return plan;
}

}  // namespace torch::distributed::scaling
