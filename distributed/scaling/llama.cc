#include "distributed/scaling/llama.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/process_group/process_group.h"
#include "distributed/tensor/device_mesh.h"

namespace torch::distributed::scaling {

LlamaUnitImpl::LlamaUnitImpl(Kind kind, const LlamaSizes& sizes)
    : kind_(kind), repeats_(sizes.width / sizes.key_width) {
  if (kind == Kind::kEmbedding) {
    embedding = make("embedding", {sizes.vocabulary, sizes.width});
  } else if (kind == Kind::kHead) {
    norm = make("norm", {sizes.width});
    head = make("head", {sizes.vocabulary, sizes.width});
  } else {
    attention_norm = make("attention_norm", {sizes.width});
    query = make("query", {sizes.width, sizes.width});
    key = make("key", {sizes.key_width, sizes.width});
    value = make("value", {sizes.key_width, sizes.width});
    output = make("output", {sizes.width, sizes.width});
    norm = make("norm", {sizes.width});
    gate = make("gate", {sizes.hidden, sizes.width});
    up = make("up", {sizes.hidden, sizes.width});
    down = make("down", {sizes.width, sizes.hidden});
  }
}

at::Tensor LlamaUnitImpl::make(const std::string& name, at::IntArrayRef sizes) {
  return register_parameter(name, at::empty(sizes, at::TensorOptions().device(c10::DeviceType::Meta)));
}

at::Tensor LlamaUnitImpl::forward(const at::Tensor& x) {
  if (kind_ == Kind::kEmbedding) return at::embedding(embedding, x);
  if (kind_ == Kind::kHead) return at::linear(x * norm, head);
  const at::Tensor n = x * attention_norm;
  const at::Tensor shared = at::linear(n, key) + at::linear(n, value);
  const std::vector<at::Tensor> heads(static_cast<size_t>(repeats_), shared);
  const at::Tensor y = x + at::linear(at::linear(n, query) + at::cat(heads, -1), output);
  const at::Tensor m = y * norm;
  return y + at::linear(at::sigmoid(at::linear(m, gate)) * at::linear(m, up), down);
}

int64_t LlamaUnitImpl::elements() const {
  int64_t sum = 0;
  for (const at::Tensor& p : parameters()) sum += p.numel();
  return sum;
}

LlamaImpl::LlamaImpl(const LlamaSizes& sizes) {
  using Kind = LlamaUnitImpl::Kind;
  units.push_back(register_module("embedding", LlamaUnit(Kind::kEmbedding, sizes)));
  for (int64_t i = 0; i < sizes.layers; ++i) {
    units.push_back(register_module("layer" + std::to_string(i), LlamaUnit(Kind::kLayer, sizes)));
  }
  units.push_back(register_module("head", LlamaUnit(Kind::kHead, sizes)));
}

at::Tensor LlamaImpl::forward(const at::Tensor& tokens) {
  at::Tensor x = tokens;
  for (LlamaUnit& unit : units) x = unit(x);
  return at::sum(x);
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

namespace {

using Kind = ShardedPlan::Kind;

// Done when the work is, and notes who waits for it.
class NotingWork final : public c10d::Work {
 public:
  NotingWork(c10::intrusive_ptr<c10d::Work> work, ShardedPlan& plan, size_t collective)
      : work_(std::move(work)), plan_(plan), collective_(collective) {}
  bool wait(std::chrono::milliseconds timeout) override {
    plan_.events.push_back({.kind = Kind::kWait, .collective = collective_});
    return work_->wait(timeout);
  }

 private:
  const c10::intrusive_ptr<c10d::Work> work_;
  ShardedPlan& plan_;
  const size_t collective_;
};

// The group of one unit, whose ranks are those of all others.
class NotingGroup final : public c10d::FakeProcessGroup {
 public:
  NotingGroup(int64_t ranks, size_t unit, double elements, ShardedPlan& plan)
      : FakeProcessGroup(0, static_cast<int>(ranks)), unit_(unit), elements_(elements), plan_(plan) {}

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    return note(Kind::kGather, {output}, FakeProcessGroup::_allgather_base(output, input, options));
  }
  c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                 std::vector<at::Tensor>& inputs,
                                                                 const c10d::AllgatherOptions& options) override {
    return note(Kind::kGather, outputs, FakeProcessGroup::allgather_into_tensor_coalesced(outputs, inputs, options));
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override {
    return note(Kind::kScatter, {input}, FakeProcessGroup::_reduce_scatter_base(output, input, options));
  }
  c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                 std::vector<at::Tensor>& inputs,
                                                                 const c10d::ReduceScatterOptions& options) override {
    return note(Kind::kScatter, inputs, FakeProcessGroup::reduce_scatter_tensor_coalesced(outputs, inputs, options));
  }

 private:
  c10::intrusive_ptr<c10d::Work> note(Kind kind, const std::vector<at::Tensor>& wholes,
                                      c10::intrusive_ptr<c10d::Work> work) {
    const size_t number = plan_.collectives++;
    double elements = 0;
    for (const at::Tensor& whole : wholes) elements += static_cast<double>(whole.numel());
    plan_.events.push_back({kind, unit_, number, elements / elements_});
    return c10::make_intrusive<NotingWork>(std::move(work), plan_, number);
  }

  const size_t unit_;
  const double elements_;
  ShardedPlan& plan_;
};

}  // namespace

ShardedPlan sharded_plan(int64_t ranks, const LlamaSizes& sizes) {
  ShardedPlan plan;
  Llama model(sizes);
  const fsdp::MixedPrecisionPolicy precision =
      fsdp::MixedPrecisionPolicy().param_dtype(at::kBFloat16).reduce_dtype(at::kFloat);
  std::vector<fsdp::FSDPModule> units;
  const auto mesh_of = [&](size_t unit) {
    const auto elements = static_cast<double>(model->units[unit]->elements());
    const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, static_cast<int>(ranks));
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM,
                      c10::make_intrusive<NotingGroup>(ranks, unit, elements, plan));
    return tensor::DeviceMesh::from_group(group, c10::DeviceType::CPU);
  };
  for (size_t i = 0; i < model->units.size(); ++i) {
    const bool is_last = i + 1 == model->units.size();
    units.push_back(fsdp::fully_shard(
        model->units[i], fsdp::FullyShardOptions(mesh_of(i)).mp_policy(precision).reshard_after_forward(!is_last)));
  }
  fsdp::fully_shard(model, {mesh_of(0)});  // has no parameters of its own
  for (size_t i = 0; i + 1 < units.size(); ++i) units[i].set_modules_to_forward_prefetch({units[i + 1]});
  model->to_empty(c10::DeviceType::CPU);
  {
    const c10::NoGradGuard no_grad;
    for (at::Tensor p : model->parameters()) p.zero_();
  }
  // Behind what fully_shard() has registered: when the parameters are there.
  for (size_t i = 0; i < units.size(); ++i) {
    model->units[i]->register_forward_pre_hook([&plan, i](nn::Module&, const std::vector<at::Tensor>&) {
      plan.events.push_back({.kind = Kind::kForward, .unit = i});
    });
    model->units[i]->register_forward_hook(
        [&plan, i](nn::Module&, const std::vector<at::Tensor>&, const std::vector<at::Tensor>& outputs) {
          outputs[0].register_hook(
              [&plan, i](const at::Tensor&) { plan.events.push_back({.kind = Kind::kBackward, .unit = i}); });
        });
  }
  model(at::zeros({1, 1}, c10::kLong)).backward();
  return plan;
}

}  // namespace torch::distributed::scaling
