#include "distributed/ddp/distributed_data_parallel.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/ddp/state_dict_names.h"
#include "nn/layers/embedding.h"

namespace torch::nn::parallel {
namespace {

using at::Tensor;
using torch::distributed::algorithms::Join;
using torch::distributed::algorithms::JoinHook;
using torch::distributed::algorithms::JoinOptions;

constexpr size_t kBroadcastBytes = size_t{250} << 20;

std::set<c10::TensorImpl*> sparse_weights(const Module& module) {
  std::set<c10::TensorImpl*> weights;
  for (const auto& part : module.modules()) {
    if (const auto* const embedding = part->as<Embedding>(); embedding != nullptr && embedding->options.sparse()) {
      weights.insert(embedding->weight.unsafeGetTensorImpl());
    }
    if (const auto* const bag = part->as<EmbeddingBag>(); bag != nullptr && bag->options.sparse()) {
      weights.insert(bag->weight.unsafeGetTensorImpl());
    }
  }
  return weights;
}

}  // namespace

DistributedDataParallelBase::DistributedDataParallelBase(DistributedDataParallelOptions options)
    : Module("DistributedDataParallel"), options_(std::move(options)) {
  options_.process_group(c10d::group_or_default(options_.process_group(), "DistributedDataParallel"));
  TORCH_CHECK_VALUE(options_.bucket_cap_mb() > 0, "DistributedDataParallel: bucket_cap_mb must be positive, but is ",
                    options_.bucket_cap_mb());
}

void DistributedDataParallelBase::wrap(const std::shared_ptr<Module>& module) {
  TORCH_CHECK(module != nullptr, "DistributedDataParallel: expected a module, but got an empty pointer");
  wrapped_ = register_module("module", module);
  const std::set<c10::TensorImpl*> sparse = sparse_weights(*module);
  const auto& ignored = options_.parameters_to_ignore();
  std::vector<std::string> names;
  std::vector<bool> expect_sparse;
  for (const auto& item : module->named_parameters()) {
    if (!item.value().requires_grad() || std::find(ignored.begin(), ignored.end(), item.key()) != ignored.end())
      continue;
    params_.push_back(item.value());
    names.push_back(item.key());
    expect_sparse.push_back(sparse.count(item.value().unsafeGetTensorImpl()) != 0);
  }
  for (const auto& item : module->named_buffers()) {
    if (std::find(ignored.begin(), ignored.end(), item.key()) == ignored.end()) buffers_.push_back(item.value());
  }
  TORCH_CHECK(
      !params_.empty(),
      "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.");
  if (options_.init_sync()) {
    c10d::verify_params_across_processes(process_group(), params_, {}, names);
    sync_module_states();
  }
  const auto cap = static_cast<int64_t>(options_.bucket_cap_mb() * 1024 * 1024);
  const int64_t first = std::min(cap, c10d::kDefaultFirstBucketBytes);
  // The last parameters' gradients come first.
  std::vector<int64_t> order;
  for (size_t i = params_.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      std::vector<Tensor>(params_.rbegin(), params_.rend()), {static_cast<size_t>(first), static_cast<size_t>(cap)},
      std::vector<bool>(expect_sparse.rbegin(), expect_sparse.rend()), order));
  std::unordered_map<size_t, std::string> by_number;
  for (size_t i = 0; i < names.size(); ++i) by_number[i] = names[i];
  reducer_ = std::make_shared<c10d::Reducer>(params_, std::move(buckets), process_group(), expect_sparse, cap,
                                             options_.find_unused_parameters(), options_.gradient_as_bucket_view(),
                                             std::move(by_number), first, options_.skip_all_reduce_unused_params());
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
  logger_->set_construction_data_and_log(module->name(), {}, -1, options_.broadcast_buffers(), false,
                                         options_.static_graph());
  if (options_.static_graph()) reducer_->set_static_graph();
  name_states_as_wrapped(*this, options_.state_dict_prefix());
}

void DistributedDataParallelBase::sync_module_states(int source) {
  std::vector<Tensor> tensors;
  const auto& ignored = options_.parameters_to_ignore();
  for (const auto& item : wrapped_->named_parameters()) {
    if (std::find(ignored.begin(), ignored.end(), item.key()) == ignored.end()) tensors.push_back(item.value());
  }
  tensors.insert(tensors.end(), buffers_.begin(), buffers_.end());
  c10d::broadcast_coalesced(process_group(), tensors, kBroadcastBytes, source);
}

void DistributedDataParallelBase::sync_buffers() {
  if (requires_forward_sync_ && options_.broadcast_buffers() && !buffers_.empty()) {
    c10d::broadcast_coalesced(process_group(), buffers_, kBroadcastBytes, 0);
  }
}

void DistributedDataParallelBase::register_comm_hook(std::unique_ptr<c10d::CommHookInterface> hook,
                                                     const std::string& name) {
  reducer_->register_comm_hook(std::move(hook));
  logger_->set_comm_hook(name);
}

void DistributedDataParallelBase::register_builtin_comm_hook(c10d::BuiltinCommHookType type) {
  reducer_->register_builtin_comm_hook(type);
  logger_->set_comm_hook(type == c10d::BuiltinCommHookType::ALLREDUCE ? "ALLREDUCE" : "FP16_COMPRESS");
}

void DistributedDataParallelBase::set_static_graph() {
  options_.static_graph(true);
  reducer_->set_static_graph();
  logger_->set_static_graph();
}

// --- an iteration; ShadowHook does the same collectives in the same order ---

void DistributedDataParallelBase::before_forward() {
  const bool syncs = c10::GradMode::is_enabled() && requires_sync_;
  if (syncs) {
    reducer_->prepare_for_forward();
    reducer_->check_finalized();
  }
  if (auto work = Join::notify_join_context(*this)) {
    reducer_->set_forward_pass_work_handle(std::move(work), join_options().divide_by_initial_world_size);
  }
  if (c10::GradMode::is_enabled()) reducer_->rebuild_buckets();
  sync_buffers();
  if (is_joined()) is_another_syncing(syncs);
}

void DistributedDataParallelBase::after_forward(const std::vector<Tensor>& outputs, bool has_visible_outputs) {
  const bool syncs = c10::GradMode::is_enabled() && requires_sync_;
  requires_forward_sync_ = syncs;
  if (!syncs) return;
  TORCH_CHECK(has_visible_outputs || !(options_.find_unused_parameters() || options_.static_graph()),
              "DistributedDataParallel: forward of the module returns something that tensors cannot be found in, which "
              "find_unused_parameters and static_graph need: give its class a member for_each_tensor");
  reducer_->prepare_for_backward(outputs);
}

bool DistributedDataParallelBase::is_another_syncing(bool mine) {
  std::vector<Tensor> any{
      at::full({1}, static_cast<int64_t>(mine), at::TensorOptions().dtype(at::kLong).device(join_device()))};
  process_group()->allreduce(any)->wait();
  return any[0].item<int64_t>() > 0;
}

c10::Device DistributedDataParallelBase::join_device() const {
  return params_.at(0).device();
}

class DistributedDataParallelBase::ShadowHook final : public JoinHook {
 public:
  explicit ShadowHook(DistributedDataParallelBase& ddp) : ddp_(ddp) {}

  void main_hook() override {
    ddp_.reducer_->rebuild_buckets();
    ddp_.sync_buffers();
    ddp_.requires_forward_sync_ = ddp_.is_another_syncing(false);
    if (!ddp_.requires_forward_sync_) return;
    ddp_.reducer_->shadow_backward();
  }

  // The ranks that joined last have seen all iterations.
  void post_hook(bool is_last_joiner) override {
    const auto rank = static_cast<int64_t>(ddp_.process_group()->getRank());
    std::vector<Tensor> source{at::full({1}, is_last_joiner ? rank : int64_t{-1},
                                        at::TensorOptions().dtype(at::kLong).device(ddp_.join_device()))};
    c10d::AllreduceOptions max;
    max.reduceOp = c10d::ReduceOp::MAX;
    ddp_.process_group()->allreduce(source, max)->wait();
    ddp_.sync_module_states(static_cast<int>(source[0].item<int64_t>()));
  }

 private:
  DistributedDataParallelBase& ddp_;
};

std::unique_ptr<JoinHook> DistributedDataParallelBase::join_hook(const JoinOptions& /*options*/) {
  TORCH_CHECK(!options_.static_graph(), "Join: a DistributedDataParallel with static_graph cannot be joined");
  logger_->set_uneven_input_join();
  return std::make_unique<ShadowHook>(*this);
}

}  // namespace torch::nn::parallel
