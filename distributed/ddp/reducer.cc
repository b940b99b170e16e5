#include "distributed/ddp/reducer.h"

#include <algorithm>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/engine.h"
#include "autograd/engine/hooks.h"
#include "autograd/function/hook_helpers.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/ddp/logger.h"

namespace c10d {
namespace {

using at::Tensor;
using torch::autograd::variable_list;

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.layout() == c10::kStrided && a.is_alias_of(b) &&
         a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

Reducer::Reducer(std::vector<Tensor> params, std::vector<std::vector<size_t>> bucket_indices,
                 c10::intrusive_ptr<ProcessGroup> process_group, std::vector<bool> expect_sparse_gradients,
                 int64_t bucket_bytes_cap, bool find_unused_parameters, bool gradient_as_bucket_view,
                 std::unordered_map<size_t, std::string> param_names, int64_t first_bucket_bytes_cap,
                 bool skip_all_reduce_unused_params, bool use_python_reducer,
                 std::vector<int64_t> bucket_bytes_cap_list, bool /*batched_grad_copy*/,
                 bool /*lazy_bucket_allocation*/)
    : params_(std::move(params)),
      group_(std::move(process_group)),
      expect_sparse_(expect_sparse_gradients.empty() ? std::vector<bool>(params_.size()) : expect_sparse_gradients),
      bucket_bytes_cap_(bucket_bytes_cap),
      find_unused_parameters_(find_unused_parameters),
      gradient_as_bucket_view_(gradient_as_bucket_view),
      skip_unused_(skip_all_reduce_unused_params),
      names_(std::move(param_names)),
      alive_(std::make_shared<Alive>()),
      counted_(params_.size()),
      left_(params_.size()),
      is_ready_(params_.size()),
      is_unused_(params_.size()),
      backward_stats_(params_.size()) {
  TORCH_CHECK(group_, "Reducer: expected a process group");
  TORCH_CHECK(!params_.empty(), "Reducer: expected one parameter or more");
  TORCH_CHECK(!use_python_reducer, "Reducer: there is no Python reducer here");
  TORCH_CHECK(expect_sparse_.size() == params_.size(), "Reducer: expect_sparse_gradients has ", expect_sparse_.size(),
              " entries for ", params_.size(), " parameters");
  TORCH_CHECK(bucket_bytes_cap > 0 && first_bucket_bytes_cap > 0,
              "Reducer: expected positive limits of buckets, but got ", first_bucket_bytes_cap, " and ",
              bucket_bytes_cap);
  if (bucket_bytes_cap_list.empty()) bucket_bytes_cap_list = {first_bucket_bytes_cap, bucket_bytes_cap};
  for (const int64_t limit : bucket_bytes_cap_list) {
    TORCH_CHECK(limit > 0, "Reducer: expected positive limits of buckets, but bucket_bytes_cap_list has ", limit);
    bucket_limits_.push_back(static_cast<size_t>(limit));
  }
  for (size_t i = 0; i < params_.size(); ++i) {
    TORCH_CHECK(params_[i].defined() && params_[i].is_leaf() && params_[i].requires_grad(), "Reducer: ", name(i),
                " is no leaf that requires a gradient");
  }
  local_used_map_ = at::zeros({static_cast<int64_t>(params_.size())}, at::kInt);
  alive_->reducer = this;
  initialize_buckets(std::move(bucket_indices));
  for (size_t i = 0; i < params_.size(); ++i) {
    accumulators_.push_back(torch::autograd::grad_accumulator(params_[i]));
    by_accumulator_[accumulators_[i].get()] = i;
    hooks_.push_back(accumulators_[i]->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, i](const variable_list& outputs, const variable_list&) {
          autograd_hook(i);
          return outputs;
        })));
    // A gradient that is undefined is not accumulated: the node does not run.
    undefined_hooks_.push_back(torch::autograd::add_tensor_hook(
        *accumulators_[i], 0,
        [this, i](const Tensor& grad) {
          if (!grad.defined()) autograd_hook(i);
          return Tensor();
        },
        /*even_undefined=*/true));
  }
}

Reducer::~Reducer() noexcept(false) {
  {
    const std::lock_guard<std::mutex> lock(alive_->mutex);
    alive_->reducer = nullptr;
  }
  remove_autograd_hooks();
}

void Reducer::remove_autograd_hooks() {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    accumulators_[i]->del_post_hook(hooks_[i]);
    torch::autograd::remove_tensor_hook(*accumulators_[i], undefined_hooks_[i]);
  }
  hooks_.clear();
}

void Reducer::initialize_buckets(std::vector<std::vector<size_t>> bucket_indices) {
  TORCH_CHECK(!requires_finalize_, "initialize_buckets: a backward pass is being reduced");
  std::vector<bool> is_placed(params_.size());
  size_t placed = 0;
  for (const auto& indices : bucket_indices) {
    TORCH_CHECK(!indices.empty(), "Reducer: a bucket has no parameter");
    for (const size_t i : indices) {
      TORCH_CHECK(i < params_.size() && !is_placed[i], "Reducer: parameter ", i, " of ", params_.size(),
                  " does not exist, or is in two buckets");
      is_placed[i] = true;
      ++placed;
      TORCH_CHECK(params_[i].scalar_type() == params_[indices[0]].scalar_type() &&
                      params_[i].device() == params_[indices[0]].device(),
                  "Reducer: ", name(i), " and ", name(indices[0]),
                  " are in one bucket, but of different dtypes or devices");
      TORCH_CHECK(!expect_sparse_[i] || indices.size() == 1, "Reducer: ", name(i),
                  " has sparse gradients and must be alone in its bucket");
    }
  }
  TORCH_CHECK(placed == params_.size(), "Reducer: ", params_.size() - placed, " parameters are in no bucket");
  const c10::NoGradGuard no_grad;
  const c10::AutoDispatchBelowADInplaceOrView plain;
  std::vector<Bucket> buckets;
  places_.assign(params_.size(), {});
  for (const auto& indices : bucket_indices) {
    Bucket bucket;
    bucket.variables = indices;
    bucket.is_sparse = expect_sparse_[indices[0]];
    size_t total = 0;
    for (size_t k = 0; k < indices.size(); ++k) {
      places_[indices[k]] = {buckets.size(), k};
      bucket.offsets.push_back(total);
      bucket.lengths.push_back(static_cast<size_t>(params_[indices[k]].numel()));
      total += bucket.lengths.back();
    }
    if (!bucket.is_sparse) {
      const auto options =
          at::TensorOptions().dtype(params_[indices[0]].scalar_type()).device(params_[indices[0]].device());
      bucket.buffer = at::empty({static_cast<int64_t>(total)}, options);
      bucket.views = GradBucket(0, 1, bucket.buffer, bucket.offsets, bucket.lengths, {},
                                [&] {
                                  std::vector<Tensor> of_bucket;
                                  for (const size_t i : indices) of_bucket.push_back(params_[i]);
                                  return of_bucket;
                                }())
                         .getGradients();
      // What parameters get for a gradient is a tensor like others, which may be detached in place.
      for (Tensor& view : bucket.views) {
        view =
            at::empty({0}, options).set_(bucket.buffer.storage(), view.storage_offset(), view.sizes(), view.strides());
      }
    }
    bucket.pending = indices.size();
    buckets.push_back(std::move(bucket));
  }
  buckets_ = std::move(buckets);
  next_bucket_ = 0;
}

// --- before backward ---

void Reducer::prepare_for_forward() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++iterations_;
  forward_start_ = Clock::now();
}

void Reducer::prepare_for_backward(const std::vector<Tensor>& outputs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (requires_finalize_) throw_unfinished();
  backward_start_ = Clock::now();
  forward_ns_ = std::chrono::nanoseconds(backward_start_ - forward_start_).count();
  std::fill(backward_stats_.begin(), backward_stats_.end(), 0);
  expects_hooks_ = true;
  has_marked_unused_ = false;
  next_bucket_ = 0;
  std::fill(is_ready_.begin(), is_ready_.end(), false);
  divisor_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.pending = bucket.variables.size();
    bucket.future = nullptr;
  }
  if (static_graph_) {
    if (is_first_of_static()) {
      is_delayed_ = false;
      std::fill(counted_.begin(), counted_.end(), 0);
      queue_delayed(outputs);
    }
    left_ = counted_;
  } else if (find_unused_parameters_) {
    search_unused(outputs);
  }
}

// The first iteration of a static graph ends with the pass that the gradient of an output is computed in, which no pass
// inside of it is.
void Reducer::queue_delayed(const std::vector<Tensor>& outputs) {
  bool any = false;
  for (const Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    any = true;
    torch::autograd::register_tensor_hook(output, [alive = alive_](const Tensor&) {
      const std::lock_guard<std::mutex> lock(alive->mutex);
      Reducer* const self = alive->reducer;
      if (self == nullptr || !self->is_first_of_static() || !self->expects_hooks_ || self->is_delayed_) return Tensor();
      self->is_delayed_ = true;
      torch::autograd::Engine::get_default_engine().queue_callback([self] { self->delay_all_reduce(); });
      return Tensor();
    });
  }
  TORCH_CHECK(any || outputs.empty(), "DistributedDataParallel: no output of the module requires a gradient");
}

void Reducer::search_unused(const std::vector<Tensor>& outputs) {
  std::fill(is_unused_.begin(), is_unused_.end(), true);
  std::vector<const torch::autograd::Node*> todo;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::NodePtr> keep;
  const auto visit = [&](const torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) todo.push_back(node);
  };
  for (const Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    keep.push_back(torch::autograd::gradient_edge(output).function);
    visit(keep.back().get());
  }
  while (!todo.empty()) {
    const torch::autograd::Node* const node = todo.back();
    todo.pop_back();
    if (const auto found = by_accumulator_.find(node); found != by_accumulator_.end())
      is_unused_[found->second] = false;
    for (const auto* edge = node->next_edges_begin(); edge != node->next_edges_end(); ++edge)
      visit(edge->function.get());
  }
  unused_.clear();
  for (size_t i = 0; i < params_.size(); ++i) {
    if (is_unused_[i]) unused_.push_back(i);
  }
}

void Reducer::set_forward_pass_work_handle(c10::intrusive_ptr<Work> forward_pass_work_handle,
                                           bool use_static_world_size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  forward_work_ = std::move(forward_pass_work_handle);
  uses_static_world_size_ = use_static_world_size;
}

void Reducer::set_static_graph() {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(iterations_ == 0 && !requires_finalize_,
              "set_static_graph() should be called before training loop starts");
  static_graph_ = true;
}

void Reducer::register_comm_hook(std::unique_ptr<CommHookInterface> iface) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(iface != nullptr, "register_comm_hook: expected a hook");
  TORCH_CHECK(comm_hook_ == nullptr, "register_comm_hook or register_builtin_comm_hook can only be called once.");
  TORCH_CHECK(!requires_finalize_, "register_comm_hook: a backward pass is being reduced");
  comm_hook_ = std::move(iface);
}

void Reducer::register_builtin_comm_hook(BuiltinCommHookType comm_hook_type) {
  switch (comm_hook_type) {
    case BuiltinCommHookType::ALLREDUCE:
      return register_comm_hook(std::make_unique<AllReduceCommHook>(group_));
    case BuiltinCommHookType::FP16_COMPRESS:
      return register_comm_hook(std::make_unique<FP16CompressCommHook>(group_));
  }
  TORCH_CHECK(false, "register_builtin_comm_hook: unknown type of hook ", static_cast<int>(comm_hook_type));
}

// --- during backward ---

void Reducer::autograd_hook(size_t index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Whether reduced now or later: it had a gradient.
  local_used_map_.mutable_data_ptr<int32_t>()[index] = 1;
  if (!expects_hooks_) return;
  backward_stats_[index] = std::chrono::nanoseconds(Clock::now() - backward_start_).count();
  if (is_first_of_static()) {
    requires_finalize_ = true;
    ++counted_[index];
    push_rebuilt(index);
    return;
  }
  if (static_graph_) {
    if (left_[index] == 0) throw_marked_twice(index);
    if (--left_[index] > 0) return;
  }
  mark_unused_ready();
  push_rebuilt(index);
  mark_ready(index);
}

void Reducer::mark_unused_ready() {
  if (has_marked_unused_) return;
  has_marked_unused_ = true;
  for (const size_t i : unused_) mark_ready(i);
}

void Reducer::find_divisor() {
  if (divisor_ != 0) return;
  divisor_ = group_->getSize();
  if (!forward_work_ || uses_static_world_size_) return;
  forward_work_->wait();
  divisor_ = forward_work_->result().at(0).item<int64_t>();
}

void Reducer::mark_ready(size_t index) {
  if (is_ready_[index]) throw_marked_twice(index);
  is_ready_[index] = true;
  requires_finalize_ = true;
  find_divisor();
  take_gradient(index);
  Bucket& bucket = buckets_[places_[index].bucket];
  if (--bucket.pending == 0) start_buckets();
  if (next_bucket_ < buckets_.size() || is_first_of_static()) return;
  if (is_dynamic()) {
    reduce_used_map();
  }
  torch::autograd::Engine::get_default_engine().queue_callback([this] { finalize(); });
}

void Reducer::take_gradient(size_t index) {
  const c10::NoGradGuard no_grad;
  Bucket& bucket = buckets_[places_[index].bucket];
  if (bucket.is_sparse) return take_sparse(bucket, index);
  const Tensor& view = bucket.views[places_[index].number];
  Tensor& grad = params_[index].mutable_grad();
  if (!grad.defined()) {
    view.zero_();
    return;
  }
  TORCH_CHECK(grad.layout() == c10::kStrided, "DistributedDataParallel: the gradient of ", name(index),
              " is sparse, which was not expected: embeddings say so by their option `sparse`");
  TORCH_CHECK(
      grad.sizes() == view.sizes() && grad.scalar_type() == view.scalar_type() && grad.device() == view.device(),
      "DistributedDataParallel: the gradient of ", name(index), " is ", grad.scalar_type(), " ", grad.sizes(), " on ",
      grad.device(), ", but the parameter is ", view.scalar_type(), " ", view.sizes(), " on ", view.device());
  const bool is_here = is_same_memory(grad, view);
  const bool may_stay = is_dynamic() && is_unused_[index];
  if (may_stay && is_here) kept_[index] = at::clone(grad);
  // The mean, rank by rank; a hook does that by itself.
  if (comm_hook_ != nullptr) {
    if (!is_here) view.copy_(grad);
  } else if (is_here) {
    view.div_(divisor_);
  } else {
    at::div_out(const_cast<Tensor&>(view), grad, at::scalar_tensor(divisor_, view.options()));
  }
  // Lets go of the gradient's own memory as soon as may be.
  if (gradient_as_bucket_view_ && !is_here && !may_stay) grad = view;
}

void Reducer::take_sparse(Bucket& bucket, size_t index) {
  take_sparse_of(bucket, params_[index].grad(), index);
}

void Reducer::take_sparse_of(Bucket& bucket, const Tensor& grad, size_t index) {
  const Tensor& param = params_[index];
  if (!grad.defined()) {
    std::vector<int64_t> sizes = param.sizes().vec();
    sizes[0] = 0;
    bucket.buffer =
        at::sparse_coo_tensor(at::empty({1, 0}, at::TensorOptions().dtype(at::kLong).device(param.device())),
                              at::empty(sizes, param.options().requires_grad(false)), param.sizes());
    return;
  }
  TORCH_CHECK(grad.layout() == c10::kSparse, "DistributedDataParallel: the gradient of ", name(index),
              " is dense, but a sparse one was expected");
  const Tensor c = at::coalesce(grad);
  bucket.buffer = comm_hook_ != nullptr || divisor_ == 1
                      ? c
                      : at::_sparse_coo_tensor_unsafe(at::_indices(c), at::div(at::_values(c), divisor_), c.sizes());
}

GradBucket Reducer::grad_bucket(size_t number, Tensor buffer) const {
  const Bucket& bucket = buckets_[number];
  std::vector<Tensor> params;
  std::vector<c10::IntArrayRef> sizes;
  for (const size_t i : bucket.variables) {
    params.push_back(params_[i]);
    sizes.push_back(params_[i].sizes());
  }
  std::optional<Tensor> indices;
  if (bucket.is_sparse && buffer.layout() == c10::kSparse) indices = at::_indices(buffer);
  return GradBucket(number, buckets_.size(), std::move(buffer), bucket.offsets, bucket.lengths, std::move(sizes),
                    std::move(params), std::move(indices));
}

// All ranks start the same buckets in one order, or they would wait for each other for ever.
void Reducer::start_buckets() {
  for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0; ++next_bucket_) {
    if (next_bucket_ == 0) comm_start_ = Clock::now();
    Bucket& bucket = buckets_[next_bucket_];
    if (skip_unused_ && is_dynamic() &&
        std::all_of(bucket.variables.begin(), bucket.variables.end(), [&](size_t i) { return is_unused_[i]; })) {
      bucket.future = detail::completed_future(bucket.buffer);
      continue;
    }
    GradBucket given = grad_bucket(next_bucket_, bucket.buffer);
    try {
      bucket.future = comm_hook_ != nullptr ? run_comm_hook(given) : run_allreduce_hook(given);
    } catch (...) {
      rethrow(std::current_exception(), next_bucket_);
    }
    TORCH_CHECK(bucket.future, "DistributedDataParallel: the comm hook returned no future");
  }
}

c10::intrusive_ptr<c10::ivalue::Future> Reducer::run_comm_hook(GradBucket& grad_bucket) {
  TORCH_CHECK(comm_hook_ != nullptr, "run_comm_hook: no hook is registered");
  return comm_hook_->runHook(grad_bucket);
}

c10::intrusive_ptr<c10::ivalue::Future> Reducer::run_allreduce_hook(GradBucket& grad_bucket) {
  _AllReduceBySumCommHook hook(group_);
  return hook.runHook(grad_bucket);
}

std::vector<GradBucket> Reducer::get_grad_buckets(bool return_zero_tensors) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const c10::NoGradGuard no_grad;
  std::vector<GradBucket> buckets;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    Tensor buffer = bucket.buffer;
    if (bucket.is_sparse && (return_zero_tensors || !buffer.defined())) {
      const Tensor& param = params_[bucket.variables[0]];
      std::vector<int64_t> sizes = param.sizes().vec();
      sizes[0] = 0;
      buffer = at::sparse_coo_tensor(at::empty({1, 0}, at::kLong),
                                     at::empty(sizes, param.options().requires_grad(false)), param.sizes());
    } else if (return_zero_tensors) {
      buffer = at::zeros_like(buffer);
    }
    buckets.push_back(grad_bucket(i, std::move(buffer)));
  }
  return buckets;
}

void Reducer::install_futures(const c10::List<c10::intrusive_ptr<c10::ivalue::Future>>& futures) {
  for (const c10::intrusive_ptr<c10::ivalue::Future>& future : futures) installed_.push_back(future);
}

void Reducer::delay_all_reduce() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_first_of_static() || !expects_hooks_) return;
    requires_finalize_ = true;
    unused_.clear();
    for (size_t i = 0; i < params_.size(); ++i) {
      if (counted_[i] == 0) {
        unused_.push_back(i);
        push_rebuilt(i);
      }
    }
    reduce_used_map();
    for (size_t i = 0; i < params_.size(); ++i) mark_ready(i);
    has_counted_ = true;
  }
  finalize();
}

// --- the end of backward ---

void Reducer::reduce_used_map() {
  used_map_ = at::to(local_used_map_, device_of_messages(*group_), at::kInt, false, /*copy=*/true);
  std::vector<Tensor> tensors{used_map_};
  used_work_ = group_->allreduce(tensors);
}

bool Reducer::is_unused_everywhere(size_t index) const {
  return used_map_.defined() && used_map_.const_data_ptr<int32_t>()[index] == 0;
}

void Reducer::rethrow(const std::exception_ptr& error, size_t number, const std::exception_ptr& another) const {
  const std::string what =
      c10::str("DistributedDataParallel: the gradients of bucket ", number, " of ", buckets_.size(), " (",
               names(buckets_[number].variables), ") were not reduced on rank ", group_->getRank(), ": ");
  // Of operations that were on their way together only the first to fail may know what the other ranks say.
  std::string more;
  try {
    if (another) std::rethrow_exception(another);
  } catch (const c10::DistBackendError& e) {
    more = "; the next bucket: " + e.msg();
  } catch (...) {
  }
  try {
    std::rethrow_exception(error);
  } catch (const c10::DistBackendError& e) {
    TORCH_CHECK_WITH(DistBackendError, false, what, e.msg(), more);
  }  // what a hook throws leaves as it is
}

void Reducer::finalize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  expects_hooks_ = false;
  requires_finalize_ = false;
  std::exception_ptr error;
  const auto note = [&](const auto& call) {
    try {
      call();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  if (comm_hook_ != nullptr) note([&] { comm_hook_->finishRounds(); });
  std::vector<std::pair<size_t, std::exception_ptr>> failed;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const FuturePtr& future = buckets_[i].future;
    // What a hook left open when it failed may never end.
    if (comm_hook_ != nullptr && (error || !failed.empty()) && !future->completed()) continue;
    future->wait();
    if (future->hasError()) failed.emplace_back(i, future->exception_ptr());
  }
  if (used_work_) {
    note([&] {
      used_work_->wait();
      used_map_ = used_map_.to(at::kCPU);
    });
  }
  used_work_ = nullptr;
  if (!failed.empty()) {
    error = nullptr;
    note([&] { rethrow(failed[0].second, failed[0].first, failed.size() > 1 ? failed[1].second : nullptr); });
  }
  for (Bucket& bucket : buckets_) {
    if (!error && !optimizer_in_backward_) {
      note([&] {
        const c10::IValue result = bucket.future->value();
        give_gradients(bucket, comm_hook_ != nullptr ? comm_hook_->parseHookResult(result)
                                                     : detail::parseCppCommHookResult(result));
      });
    }
    bucket.future = nullptr;
    if (bucket.is_sparse) bucket.buffer = Tensor();
  }
  for (const FuturePtr& future : installed_) note([&] { future->waitAndThrow(); });
  installed_.clear();
  kept_.clear();
  local_used_map_.zero_();
  if (is_dynamic()) used_map_ = Tensor();
  const auto now = Clock::now();
  backward_ns_ = std::chrono::nanoseconds(now - backward_start_).count();
  comm_ns_ = std::chrono::nanoseconds(now - comm_start_).count();
  if (error) std::rethrow_exception(error);
  if (const auto logger = logger_.lock()) logger->set_runtime_stats_and_log();
}

void Reducer::give_gradients(Bucket& bucket, const Tensor& reduced) {
  const c10::NoGradGuard no_grad;
  if (bucket.is_sparse) {
    const size_t i = bucket.variables[0];
    if (is_unused_everywhere(i)) return;
    params_[i].mutable_grad() = reduced;
    return;
  }
  TORCH_CHECK(
      reduced.defined() && reduced.numel() == bucket.buffer.numel() &&
          reduced.scalar_type() == bucket.buffer.scalar_type(),
      "DistributedDataParallel: the comm hook gave a tensor of other sizes or another dtype than the bucket has");
  if (!reduced.is_alias_of(bucket.buffer)) bucket.buffer.copy_(at::view(reduced, {reduced.numel()}));
  for (size_t k = 0; k < bucket.variables.size(); ++k) {
    const size_t i = bucket.variables[k];
    const Tensor& view = bucket.views[k];
    Tensor& grad = params_[i].mutable_grad();
    if (is_unused_everywhere(i)) {
      if (const auto kept = kept_.find(i); kept != kept_.end()) view.copy_(kept->second);
      continue;
    }
    if (is_same_memory(grad, view)) continue;
    if (gradient_as_bucket_view_) {
      grad = view;
    } else if (grad.defined()) {
      grad.copy_(view);
    } else {
      grad = at::clone(view);
    }
  }
}

// --- buckets in the order of arrival ---

void Reducer::push_rebuilt(size_t index) {
  if (!should_rebuild_buckets()) return;
  if (std::find(arrived_.begin(), arrived_.end(), index) == arrived_.end()) arrived_.push_back(index);
}

void Reducer::push_rebuilt_params_for_all_indices() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < params_.size(); ++i) push_rebuilt(i);
}

void Reducer::shadow_backward() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (requires_finalize_) throw_unfinished();
    TORCH_CHECK(!static_graph_, "Reducer: a static graph cannot be joined");
    const c10::NoGradGuard no_grad;
    std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      Bucket& bucket = buckets_[i];
      if (bucket.is_sparse) {
        take_sparse_of(bucket, Tensor(), bucket.variables[0]);
      }
      // Not the bucket's own memory, which grad() may lie in.
      GradBucket given = grad_bucket(i, bucket.is_sparse ? bucket.buffer : at::zeros_like(bucket.buffer));
      try {
        futures.push_back(comm_hook_ != nullptr ? run_comm_hook(given) : run_allreduce_hook(given));
      } catch (...) {
        rethrow(std::current_exception(), i);
      }
    }
    c10::intrusive_ptr<Work> used;
    std::vector<Tensor> map{at::zeros_like(local_used_map_).to(device_of_messages(*group_))};
    if (is_dynamic()) used = group_->allreduce(map);
    if (comm_hook_ != nullptr) comm_hook_->finishRounds();
    if (used) {
      used->wait();
      used_map_ = map[0].to(at::kCPU);
    }
    for (size_t i = 0; i < buckets_.size(); ++i) {
      try {
        futures[i]->waitAndThrow();
      } catch (...) {
        rethrow(std::current_exception(), i);
      }
      const c10::IValue result = futures[i]->value();
      if (optimizer_in_backward_) continue;
      give_gradients(buckets_[i], comm_hook_ != nullptr ? comm_hook_->parseHookResult(result)
                                                        : detail::parseCppCommHookResult(result));
    }
    if (is_dynamic()) used_map_ = Tensor();
  }
  push_rebuilt_params_for_all_indices();
}

bool Reducer::rebuild_buckets() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!should_rebuild_buckets() || arrived_.empty()) return false;
  if (requires_finalize_) throw_unfinished();
  TORCH_CHECK(arrived_.size() == params_.size(), "rebuild_buckets: ", arrived_.size(), " gradients came for ",
              params_.size(), " parameters");
  std::vector<Tensor> params;
  std::vector<bool> expect_sparse;
  std::vector<int64_t> order;
  for (const size_t i : arrived_) {
    params.push_back(params_[i]);
    expect_sparse.push_back(expect_sparse_[i]);
    order.push_back(static_cast<int64_t>(i));
  }
  const auto mine = std::get<0>(compute_bucket_assignment_by_size(params, bucket_limits_, expect_sparse, order));
  // Rank 0's: the number of buckets, their sizes, the parameters.
  const auto n = static_cast<int64_t>(params_.size());
  std::vector<Tensor> message{at::zeros({1 + 2 * n}, at::kLong)};
  int64_t* const words = message[0].mutable_data_ptr<int64_t>();
  words[0] = static_cast<int64_t>(mine.size());
  int64_t* parameter = words + 1 + n;
  for (size_t b = 0; b < mine.size(); ++b) {
    words[1 + b] = static_cast<int64_t>(mine[b].size());
    for (const size_t i : mine[b]) *parameter++ = static_cast<int64_t>(i);
  }
  message[0] = message[0].to(device_of_messages(*group_));
  group_->broadcast(message)->wait();
  const Tensor received = message[0].to(at::kCPU);
  const int64_t* const theirs = received.const_data_ptr<int64_t>();
  std::vector<std::vector<size_t>> indices(static_cast<size_t>(theirs[0]));
  const int64_t* next = theirs + 1 + n;
  for (size_t b = 0; b < indices.size(); ++b) {
    for (int64_t k = 0; k < theirs[1 + b]; ++k) indices[b].push_back(static_cast<size_t>(*next++));
  }
  has_rebuilt_bucket_ = true;
  arrived_.clear();
  initialize_buckets(std::move(indices));
  return true;
}

// --- states and errors ---

void Reducer::check_finalized() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (requires_finalize_) throw_unfinished();
}

void Reducer::reset_state() {
  const std::lock_guard<std::mutex> lock(mutex_);
  expects_hooks_ = false;
  requires_finalize_ = false;
  has_marked_unused_ = false;
  next_bucket_ = 0;
  installed_.clear();
  kept_.clear();
  arrived_.clear();
  used_work_ = nullptr;
  forward_work_ = nullptr;
  local_used_map_.zero_();
  std::fill(is_ready_.begin(), is_ready_.end(), false);
  for (Bucket& bucket : buckets_) {
    bucket.future = nullptr;
    bucket.pending = bucket.variables.size();
  }
}

void Reducer::update_process_group(c10::intrusive_ptr<ProcessGroup> process_group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(process_group, "update_process_group: expected a process group");
  TORCH_CHECK(!requires_finalize_, "update_process_group: a backward pass is being reduced");
  group_ = std::move(process_group);
}

std::string Reducer::name(size_t index) const {
  const auto found = names_.find(index);
  return found == names_.end() ? c10::str("parameter ", index) : found->second;
}

std::string Reducer::names(const std::vector<size_t>& indices) const {
  std::string text;
  for (const size_t i : indices) text += (text.empty() ? "" : ", ") + name(i);
  return text;
}

void Reducer::note_error(const std::string& error) {
  if (const auto logger = logger_.lock()) logger->set_error_and_log(error);
}

void Reducer::throw_marked_twice(size_t index) {
  const std::string text = c10::str(
      "Expected to mark a variable ready only once. Parameter at index ", index, " with name ", name(index),
      " has been marked as ready twice on rank ", group_->getRank(),
      static_graph_
          ? ": it got more gradients than in the first iteration, but the graph was said to be static."
          : ". Its gradient was complete before: either one forward pass is followed by several backward passes "
            "through it, or a part of the model runs several times, as re-entrant checkpoints of shared "
            "parameters do; the latter works with static_graph, and with checkpoints that are not re-entrant.");
  note_error(text);
  TORCH_CHECK(false, text);
}

void Reducer::throw_unfinished() {
  std::vector<size_t> missing;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (is_first_of_static() ? counted_[i] == 0 : !is_ready_[i]) missing.push_back(i);
  }
  const std::string text = c10::str(
      "Expected to have finished reduction in the prior iteration before starting a new one. Parameters which did not "
      "receive grad for rank ",
      group_->getRank(), ": ", missing.empty() ? "none" : names(missing),
      ". They took no part in the loss, or backward failed. Where a forward pass does not use all parameters, "
      "find_unused_parameters=true lets it; all outputs of forward must be part of the loss then. After a backward "
      "pass "
      "that failed, reset_state() forgets it.");
  note_error(text);
  TORCH_CHECK(false, text);
}

}  // namespace c10d
