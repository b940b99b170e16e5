#include "distributed/fsdp/param_group.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/engine.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/init.h"

namespace torch::distributed::fsdp::detail {
namespace {

using at::Tensor;
using c10d::ReduceOp;

// Bytes from which on a parameter is sent alone, so that no copy of it is made. What is smaller travels together.
constexpr int64_t kAlone = 256 << 10;

// What the engine does here is recorded nowhere: no views, no versions.
struct Unrecorded {
  const c10::NoGradGuard no_grad;
  const c10::AutoDispatchBelowADInplaceOrView plain;
};

// How gradients are divided by the number of ranks. What can overflow is divided about halfway before the sums, and by
// the rest after them.
struct Division {
  double before = 1, after = 1;
  ReduceOp scatter = ReduceOp::AVG, all_reduce = ReduceOp::AVG;
};

Division division_of(const ParamGroup& group, at::ScalarType dtype) {
  Division result;
  const auto ranks = static_cast<double>(group.ranks().size());
  const double factor = group.divide_factor.value_or(ranks);
  if (dtype == at::kHalf || group.sums_only) {
    if (dtype == at::kHalf) {
      while (result.before * result.before * 2 <= ranks) result.before *= 2;
    }
    result.after = factor / result.before;
    result.scatter = result.all_reduce = ReduceOp::SUM;
  } else if (group.divide_factor) {
    result.scatter = result.all_reduce = ReduceOp::SUM;
    if (group.ranks().shard) {
      result.scatter = c10d::makePreMulSum(1 / factor);
    } else {
      result.all_reduce = c10d::makePreMulSum(1 / factor);
    }
  }
  return result;
}

// Of a single tensor, or of all in one collective.
c10::intrusive_ptr<c10d::Work> gather_together(c10d::ProcessGroup& group, std::vector<Bucket>& buckets) {
  if (buckets.size() == 1) return group._allgather_base(buckets[0].output, buckets[0].input);
  std::vector<Tensor> outputs, inputs;
  for (const Bucket& bucket : buckets) {
    outputs.push_back(bucket.output);
    inputs.push_back(bucket.input);
  }
  return group.allgather_into_tensor_coalesced(outputs, inputs);
}

}  // namespace

void Transfer::wait(const char* what) {
  try {
    for (auto& work : works) {
      if (const auto one = std::exchange(work, nullptr)) one->wait();
    }
  } catch (c10::Error& e) {
    std::vector<std::string> names;
    for (const Bucket& bucket : buckets) {
      for (const Param* param : bucket.params) names.push_back(param->name());
    }
    e.add_context(c10::str("fully_shard: while ", what, " ", c10::Join(", ", names)));
    throw;
  }
  works.clear();
}

void Transfer::drop() noexcept {
  for (const auto& work : works) {
    try {
      if (work) work->wait();
    } catch (const std::exception&) {
      // The first error of the group was thrown where it was met.
    }
  }
  works.clear();
  buckets.clear();
}

Tensor Bucket::slot(const Tensor& flat, size_t i, int64_t parts) const {
  return at::narrow(flat, -1, offsets[i], params[i]->slot_numel(parts));
}

// --- gathering ---

ParamGroup::ParamGroup(std::vector<std::unique_ptr<Param>> params, Ranks ranks, const FullyShardOptions& options)
    : reshards_after_forward(options.reshard_after_forward().choice()),
      params_(std::move(params)),
      ranks_(std::move(ranks)),
      precision_(options.mp_policy()) {
  if (options.reshard_after_forward().ranks()) make_small_group(*options.reshard_after_forward().ranks());
  for (const auto& param : params_) param->use_sharded();
}

void ParamGroup::make_small_group(int64_t size) {
  const int64_t parts = ranks_.parts();
  TORCH_CHECK_VALUE(size > 1 && size < parts && parts % size == 0, "fully_shard: reshard_after_forward is ", size,
                    ", but must divide the ", parts, " ranks that parameters are sharded over, and be neither 1 nor ",
                    parts);
  std::vector<std::vector<int64_t>> lists;
  for (int64_t first = 0; first < parts; first += size) {
    lists.emplace_back();
    for (int64_t i = 0; i < size; ++i) lists.back().push_back(first + i);
  }
  small_ = c10d::split_group(ranks_.shard, lists);
}

std::vector<Bucket> ParamGroup::buckets_of(const std::vector<Param*>& params, int64_t parts, const DtypeOf& dtype_of) {
  std::vector<Bucket> buckets;
  for (Param* const param : params) {
    const at::ScalarType dtype = dtype_of(*param);
    const int64_t bytes = parts * param->slot_numel(parts) * static_cast<int64_t>(c10::elementSize(dtype));
    const bool is_alone = parts > 1 && bytes >= kAlone && param->is_in_slots(parts);
    auto bucket =
        std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) { return b.dtype == dtype && !b.is_alone; });
    if (is_alone || bucket == buckets.end()) {
      bucket = buckets.insert(buckets.end(), Bucket());
      bucket->dtype = dtype;
      bucket->is_alone = is_alone;
    }
    bucket->params.push_back(param);
    bucket->offsets.push_back(bucket->numel);
    bucket->numel += param->slot_numel(parts);
  }
  return buckets;
}

std::vector<Bucket> ParamGroup::gather_buckets(int64_t parts) const {
  std::vector<Param*> all;
  for (const auto& param : params_) all.push_back(param.get());
  return buckets_of(all, parts, [](const Param& param) { return param.gathered_dtype(); });
}

void ParamGroup::unshard() {
  if (state_ == State::kWhole || !gather_.empty()) return;
  std::vector<std::string> on_meta;
  for (const auto& param : params_) {
    if (param->is_on_meta()) on_meta.push_back(param->name());
  }
  TORCH_CHECK(on_meta.empty(), "fully_shard: the parameters ", c10::Join(", ", on_meta),
              " are on the meta device; give the module memory with to_empty() and values before it is called");
  const Unrecorded unrecorded;
  const bool is_small = state_ == State::kPartlySharded;
  const GroupPtr& group = is_small ? small_ : ranks_.shard;
  const int64_t parts = group ? group->getSize() : 1;
  std::vector<Bucket> buckets = gather_buckets(parts);
  for (size_t b = 0; b < buckets.size(); ++b) {
    Bucket& bucket = buckets[b];
    const auto options = at::TensorOptions().dtype(bucket.dtype).device(ranks_.mesh.device_type());
    if (is_small) {
      bucket.input = kept_[b];
    } else {
      if (bucket.is_alone) bucket.input = bucket.params[0]->own_slot();
      if (!bucket.input.defined()) {
        bucket.input = at::empty({bucket.numel}, options);
        for (size_t i = 0; i < bucket.params.size(); ++i) {
          bucket.params[i]->put_shard(bucket.slot(bucket.input, i, parts));
        }
      }
    }
    if (group) {
      if (bucket.is_alone) {
        bucket.params[0]->allocate();
        bucket.output = bucket.params[0]->slots(parts);
      } else {
        bucket.output = at::empty({parts, bucket.numel}, options);
      }
    } else {
      bucket.output = at::view(bucket.input, {1, bucket.numel});
    }
  }
  gather_.buckets = std::move(buckets);
  if (group) gather_.works.push_back(gather_together(*group, gather_.buckets));
}

void ParamGroup::wait_for_unshard() {
  if (gather_.empty()) return;
  const Unrecorded unrecorded;
  gather_.wait("gathering");
  for (Bucket& bucket : gather_.buckets) {
    const int64_t parts = bucket.output.size(0);
    for (size_t i = 0; !bucket.is_alone && i < bucket.params.size(); ++i) {
      bucket.params[i]->allocate();
      bucket.params[i]->take_whole(bucket.slot(bucket.output, i, parts));
    }
    bucket.input = bucket.output = Tensor();
  }
  gather_.buckets.clear();
  kept_.clear();
  state_ = State::kWhole;
  for (const auto& param : params_) {
    param->use_whole();
    param->watch_gradient([weak = weak_from_this(), one = param.get()] {
      if (const auto group = weak.lock()) group->gradient_came(*one);
    });
  }
}

void ParamGroup::free_early(uint64_t pass) {
  freeing_pass_ = pass;
  see_what_is_held(nullptr);
}

void ParamGroup::see_what_is_held(const Param* in_hook) {
  for (const auto& param : params_) {
    if (param->is_held(param.get() == in_hook ? 1 : 0)) held_.insert(param.get());
  }
}

void ParamGroup::gradient_came(Param& param) {
  if (freeing_pass_ == 0 || freeing_pass_ != torch::autograd::Engine::current_pass()) return;
  if (held_.contains(&param) && !param.is_held(/*handles=*/1)) {
    param.use_sharded();
    param.free();
  }
  // What has been computed again holds them only now.
  see_what_is_held(&param);
}

void ParamGroup::reshard() {
  gather_.drop();
  kept_.clear();
  freeing_pass_ = 0;
  held_.clear();
  for (const auto& param : params_) {
    if (state_ == State::kWhole) param->use_sharded();
    param->free();  // also what was on its way there
  }
  state_ = State::kSharded;
}

void ParamGroup::reshard_after_forward() {
  if (state_ != State::kWhole) return;
  if (!small_) return reshard();
  {
    const Unrecorded unrecorded;
    const int64_t parts = small_->getSize();
    for (const Bucket& bucket : gather_buckets(parts)) {
      const Tensor mine =
          at::empty({bucket.numel}, at::TensorOptions().dtype(bucket.dtype).device(ranks_.mesh.device_type()));
      for (size_t i = 0; i < bucket.params.size(); ++i) {
        bucket.params[i]->put_part(bucket.slot(mine, i, parts), parts, small_->getRank());
      }
      kept_.push_back(mine);
    }
  }
  for (const auto& param : params_) {
    param->use_sharded();
    param->free();
  }
  state_ = State::kPartlySharded;
}

// --- gradients ---

void ParamGroup::post_backward(Reductions& reductions, bool defers) {
  const Unrecorded unrecorded;
  const bool reduces = reduces_gradients && !defers;
  if (!reduces) {
    for (const auto& param : params_) param->keep_gradient(precision_.reduce_dtype());
  }
  if (reshards_after_backward && !defers) reshard();
  if (reduces) reductions.start(shared_from_this());
}

void ParamGroup::summon() {
  reshard();
  for (const auto& param : params_) param->set_own_precision(true);
  unshard();
  wait_for_unshard();
}

void ParamGroup::dismiss(bool writeback) {
  const Unrecorded unrecorded;
  for (const auto& param : params_) {
    if (writeback) param->write_back(ranks_.parts(), ranks_.index());
    param->set_own_precision(false);
  }
  reshard();
}

void ParamGroup::reset() noexcept {
  reshard();
  for (const auto& param : params_) param->drop_gradients();
}

Reduction::Reduction(std::shared_ptr<ParamGroup> group) : group_(std::move(group)) {
  const Ranks& ranks = group_->ranks();
  const int64_t parts = ranks.parts();
  const auto reduce_dtype = group_->precision_.reduce_dtype();
  is_partial_ = ranks.replicate && !group_->all_reduces_gradients;
  std::vector<Param*> params;
  for (const auto& param : group_->params()) {
    if (param->has_gradient() || (param->has_partial() && !is_partial_)) params.push_back(param.get());
  }
  transfer_.buckets = ParamGroup::buckets_of(
      params, parts, [&](const Param& param) { return reduce_dtype ? *reduce_dtype : param.gathered_dtype(); });
  for (Bucket& bucket : transfer_.buckets) {
    const Division division = division_of(*group_, bucket.dtype);
    const auto options = at::TensorOptions().dtype(bucket.dtype).device(ranks.mesh.device_type());
    Tensor alone = bucket.is_alone ? bucket.params[0]->take_gradient(reduce_dtype) : Tensor();
    if (alone.defined()) {
      bucket.input = bucket.params[0]->in_slots(alone, parts);
      if (division.before != 1) bucket.input = at::div(bucket.input, division.before);
    } else {
      bucket.input = at::empty({parts, bucket.numel}, options);
      for (size_t i = 0; i < bucket.params.size(); ++i) {
        Param& param = *bucket.params[i];
        Tensor slots = bucket.slot(bucket.input, i, parts);
        const Tensor gradient = param.take_gradient(reduce_dtype);
        if (!gradient.defined() || !param.fills_slots(parts)) slots.zero_();
        if (gradient.defined()) param.put_gradient(gradient, slots);
      }
      if (division.before != 1) bucket.input.div_(division.before);
    }
    if (ranks.shard) {
      bucket.output = at::empty({bucket.numel}, options);
    } else {
      bucket.output = at::view(bucket.input, {bucket.numel});
    }
  }
  if (ranks.shard) scatter_together();
}

// Those that are reduced in the same way in one collective.
void Reduction::scatter_together() {
  std::vector<Bucket*> left;
  for (Bucket& bucket : transfer_.buckets) left.push_back(&bucket);
  while (!left.empty()) {
    c10d::ReduceScatterOptions options;
    options.reduceOp = division_of(*group_, left.front()->dtype).scatter;
    std::vector<Tensor> outputs, inputs;
    std::erase_if(left, [&](Bucket* bucket) {
      if (division_of(*group_, bucket->dtype).scatter.op_ != options.reduceOp.op_) return false;
      outputs.push_back(bucket->output);
      inputs.push_back(bucket->input);
      // The work lets go of it as soon as it is done, whenever that is noticed here. On other devices memory that is
      // given back may be taken by what runs before the work.
      if (bucket->input.is_cpu()) bucket->input = Tensor();
      return true;
    });
    c10d::ProcessGroup& group = *group_->ranks().shard;
    transfer_.works.push_back(outputs.size() == 1 ? group._reduce_scatter_base(outputs[0], inputs[0], options)
                                                  : group.reduce_scatter_tensor_coalesced(outputs, inputs, options));
  }
}

void Reduction::start_all_reduce() {
  if (is_scattered_) return;
  const Unrecorded unrecorded;
  const Ranks& ranks = group_->ranks();
  const int64_t parts = ranks.parts();
  transfer_.wait("reducing the gradients of");
  for (Bucket& bucket : transfer_.buckets) {
    bucket.input = Tensor();
    if (!ranks.replicate) continue;
    for (size_t i = 0; i < bucket.params.size(); ++i) {
      const Tensor slot = bucket.slot(bucket.output, i, parts);
      if (is_partial_) {
        bucket.params[i]->keep_partial(slot);
      } else {
        bucket.params[i]->take_partial_into(slot);
      }
    }
    if (is_partial_) continue;
    c10d::AllreduceOptions all_reduce;
    all_reduce.reduceOp = division_of(*group_, bucket.dtype).all_reduce;
    std::vector<Tensor> tensors{bucket.output};
    transfer_.works.push_back(ranks.replicate->allreduce(tensors, all_reduce));
  }
  is_scattered_ = true;
}

void Reduction::finish() {
  start_all_reduce();
  if (is_partial_) return;
  transfer_.wait("reducing the gradients of");
  for (Bucket& bucket : transfer_.buckets) {
    {
      const Unrecorded unrecorded;
      const Division division = division_of(*group_, bucket.dtype);
      if (division.after != 1) bucket.output.div_(division.after);
    }
    const c10::NoGradGuard no_grad;
    if (group_->all_reduce_hook) group_->all_reduce_hook(bucket.output);
    const int64_t parts = group_->ranks().parts();
    for (size_t i = 0; i < bucket.params.size(); ++i) {
      {
        const c10::AutoDispatchBelowADInplaceOrView plain;
        bucket.params[i]->add_gradient(bucket.slot(bucket.output, i, parts));
      }
      bucket.params[i]->call_hooks();
    }
  }
}

void Reduction::drop() noexcept {
  transfer_.drop();
}

void Reductions::start(std::shared_ptr<ParamGroup> group) {
  // Before the next one takes memory.
  wait_for_scatter();
  if (running_.size() > 1) {
    running_.front().finish();
    running_.pop_front();
  }
  Reduction reduction(std::move(group));
  if (!reduction.is_empty()) running_.push_back(std::move(reduction));
}

void Reductions::wait_for_scatter() {
  if (!running_.empty()) running_.back().start_all_reduce();
}

void Reductions::finish() {
  while (!running_.empty()) {
    running_.front().finish();
    running_.pop_front();
  }
}

void Reductions::drop() noexcept {
  for (Reduction& reduction : running_) reduction.drop();
  running_.clear();
}

}  // namespace torch::distributed::fsdp::detail
