#include "distributed/fsdp/fully_sharded_data_parallel.h"

#include <algorithm>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/ddp/comm.h"
#include "distributed/ddp/reducer.h"
#include "distributed/ddp/state_dict_names.h"
#include "distributed/fsdp/clip_grad.h"
#include "distributed/fsdp/param_group.h"
#include "distributed/fsdp/state.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using tensor::DeviceMesh;

constexpr size_t kBroadcastBytes = size_t{250} << 20;

bool is_hybrid(ShardingStrategy strategy) {
  return strategy == ShardingStrategy::HYBRID_SHARD || strategy == ShardingStrategy::_HYBRID_SHARD_ZERO2;
}

int64_t numel_of(const nn::Module& module) {
  int64_t numel = 0;
  for (const Tensor& p : module.parameters()) numel += tensor::DTensor::is(p) ? 0 : p.numel();
  return numel;
}

}  // namespace

AutoWrapPolicy size_based_auto_wrap_policy(int64_t min_num_params) {
  return [min_num_params](nn::Module& module) { return numel_of(module) >= min_num_params; };
}

FullyShardedDataParallelBase::FullyShardedDataParallelBase(FullyShardedDataParallelOptions options)
    : Module("FullyShardedDataParallel"), options_(std::move(options)) {
  const ShardingStrategy strategy = options_.sharding_strategy();
  TORCH_CHECK_VALUE(!options_.process_group() || !options_.device_mesh(),
                    "FullyShardedDataParallel: process_group and device_mesh exclude each other");
  mesh_ = options_.device_mesh();
  if (!mesh_) {
    mesh_ = DeviceMesh::from_group(c10d::group_or_default(options_.process_group(), "FullyShardedDataParallel"),
                                   c10::DeviceType::CPU);
  }
  const int64_t dims = is_hybrid(strategy) ? 2 : 1;
  TORCH_CHECK_VALUE(mesh_->ndim() == dims, "FullyShardedDataParallel: ",
                    dims == 2 ? "the hybrid strategies need a device_mesh of two dimensions"
                              : "expected a device_mesh of one dimension",
                    ", but got ", mesh_->str());
}

void FullyShardedDataParallelBase::wrap(const std::shared_ptr<nn::Module>& module) {
  TORCH_CHECK(module != nullptr, "FullyShardedDataParallel: expected a module, but got an empty pointer");
  wrapped_ = register_module("module", module);
  if (options_.param_init_fn()) options_.param_init_fn()(*module);
  if (options_.sync_module_states()) sync_module_states(*module);
  const MixedPrecision& precision = options_.mixed_precision();
  if (precision.buffer_dtype()) {
    for (const Tensor& buffer : module->buffers()) {
      if (buffer.is_floating_point()) buffer.set_data(buffer.to(*precision.buffer_dtype()));
    }
  }
  FullyShardOptions settings(*mesh_);
  const ShardingStrategy strategy = options_.sharding_strategy();
  settings.ignored_params(options_.ignored_states());
  settings.reshard_after_forward(strategy != ShardingStrategy::SHARD_GRAD_OP &&
                                 strategy != ShardingStrategy::_HYBRID_SHARD_ZERO2);
  if (options_.cpu_offload()) settings.offload_policy(CPUOffloadPolicy());
  MixedPrecisionPolicy policy;
  policy.param_dtype(precision.param_dtype()).reduce_dtype(precision.reduce_dtype());
  settings.mp_policy(policy.cast_forward_inputs(precision.cast_forward_inputs()));
  for (const auto& child : module->children()) shard_below(*child, settings);
  // As the root it is needed first in backward.
  if (settings.reshard_after_forward().choice() == true) settings.reshard_after_forward(ReshardAfterForward());
  settings.mp_policy(policy.cast_forward_inputs(precision.cast_root_forward_inputs()));
  shard(*module, settings);
  using Prefetch = detail::State::Prefetch;
  for (const auto& state : detail::State::of(*module)->states(/*recurse=*/true)) {
    state->prefetches = !options_.backward_prefetch()                                     ? Prefetch::kNever
                        : *options_.backward_prefetch() == BackwardPrefetch::BACKWARD_PRE ? Prefetch::kBefore
                                                                                          : Prefetch::kBehind;
  }
  nn::parallel::name_states_as_wrapped(*this, /*has_prefix=*/false);
  set_state_dict_type(StateDictType::FULL_STATE_DICT);
}

void FullyShardedDataParallelBase::sync_module_states(nn::Module& module) const {
  std::vector<Tensor> tensors = module.parameters();
  const std::vector<Tensor> buffers = module.buffers();
  tensors.insert(tensors.end(), buffers.begin(), buffers.end());
  for (const Tensor& t : tensors) {
    TORCH_CHECK_VALUE(!t.is_meta(), "FullyShardedDataParallel: sync_module_states needs values, but a tensor of ",
                      module.name(), " is on the meta device; give it some with param_init_fn");
  }
  for (const auto& group : mesh_->get_all_groups()) c10d::broadcast_coalesced(group, tensors, kBroadcastBytes, 0);
}

// From below, so that what is above takes what is left.
void FullyShardedDataParallelBase::shard_below(nn::Module& module, const FullyShardOptions& settings) {
  if (FSDPModule::is(module)) return;
  for (const auto& child : module.children()) shard_below(*child, settings);
  if (options_.auto_wrap_policy() && options_.auto_wrap_policy()(module)) shard(module, settings);
}

void FullyShardedDataParallelBase::shard(nn::Module& module, const FullyShardOptions& settings) const {
  if (options_.sharding_strategy() != ShardingStrategy::NO_SHARD) {
    fully_shard(module, settings);
  } else {
    detail::shard_over({*mesh_, nullptr, mesh_->get_group()}, {&module}, settings);
  }
}

double FullyShardedDataParallelBase::clip_grad_norm_(double max_norm, double norm_type) {
  return fsdp::clip_grad_norm_(parameters(), max_norm, norm_type);
}

void FullyShardedDataParallelBase::set_state_dict_type(StateDictType type) {
  if (type == state_dict_type()) return;
  full_ = type == StateDictType::FULL_STATE_DICT ? std::make_unique<FullStateDict>(*wrapped_) : nullptr;
}

FullyShardedDataParallelBase::SummonedParams::SummonedParams(const FullyShardedDataParallelBase& of, bool writeback)
    : writeback_(writeback) {
  const auto states = detail::State::of(*of.wrapped_)->states(/*recurse=*/true);
  for (const auto& state : states) {
    TORCH_CHECK(!state->is_running(),
                "FullyShardedDataParallel: summon_full_params is called within forward or backward");
  }
  for (const auto& state : states) {
    if (state->group() == nullptr) continue;
    state->group()->summon();
    groups_.push_back(state->group());
  }
}

FullyShardedDataParallelBase::SummonedParams::~SummonedParams() {
  for (const auto& group : groups_) group->dismiss(writeback_);
}

}  // namespace torch::distributed::fsdp
