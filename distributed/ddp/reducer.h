// Averages gradients over the ranks of a process group while backward goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"
#include "distributed/ddp/bucket_assignment.h"
#include "distributed/ddp/comm.h"
#include "distributed/ddp/default_comm_hooks.h"
#include "distributed/process_group/process_group.h"

namespace c10d {

class Logger;

/// Watches the gradients of parameters. Gradients go into buckets; when all of a bucket are there and all buckets
/// before it have been started, its reduction is started, and at the end of the backward pass all are waited for: then
/// each parameter's grad() is the mean over the ranks. DistributedDataParallel is what programs use; the order of its
/// calls:
///
///   reducer.prepare_for_forward();
///   reducer.rebuild_buckets();                        // does something once
///   auto out = forward(input);
///   reducer.prepare_for_backward({out});              // not called: this pass only accumulates
///   loss(out).backward();
///
/// All ranks do the same. Errors name parameters by `param_names`. After an error of a reduction backward throws it,
/// with the names of the bucket's parameters.
///
/// Gradients come from backward passes that accumulate into grad(): torch::autograd::grad() does not take part. Graphs
/// of gradients (create_graph) are not kept. A graph that runs a part again inside of backward (re-entrant checkpoints)
/// works; where that runs a parameter's gradient more than once, only with a static graph.
class Reducer {
 public:
  /// `bucket_indices`: the parameters' numbers by bucket, each once. `bucket_bytes_cap` and `first_bucket_bytes_cap`
  /// are for rebuild_buckets(). `find_unused_parameters`: parameters that the graph of the outputs does not reach count
  /// as ready. `gradient_as_bucket_view`: grad() becomes a part of its bucket, else the bucket is copied to it.
  /// `skip_all_reduce_unused_params`: a bucket that has no used parameter is not reduced; all ranks must then not use
  /// the same parameters. `use_python_reducer` must be false. `bucket_bytes_cap_list`: the limits of all buckets in
  /// their order, the last one also of those behind it, in place of the two above. `batched_grad_copy` and
  /// `lazy_bucket_allocation` change nothing here: a bucket's gradients are copied as they come, if at all.
  explicit Reducer(std::vector<at::Tensor> params, std::vector<std::vector<size_t>> bucket_indices,
                   c10::intrusive_ptr<ProcessGroup> process_group, std::vector<bool> expect_sparse_gradients,
                   int64_t bucket_bytes_cap, bool find_unused_parameters, bool gradient_as_bucket_view,
                   std::unordered_map<size_t, std::string> param_names, int64_t first_bucket_bytes_cap,
                   bool skip_all_reduce_unused_params = false, bool use_python_reducer = false,
                   std::vector<int64_t> bucket_bytes_cap_list = {}, bool batched_grad_copy = false,
                   bool lazy_bucket_allocation = false);
  ~Reducer() noexcept(false);
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Throws where a backward pass is being reduced.
  void initialize_buckets(std::vector<std::vector<size_t>> bucket_indices);
  void prepare_for_forward();
  /// The next backward pass is reduced. Throws where the last one has not been reduced to its end, and names the
  /// parameters whose gradients did not come. `outputs` are looked at with find_unused_parameters, and for a static
  /// graph.
  void prepare_for_backward(const std::vector<at::Tensor>& outputs);
  /// The gradient of parameter `index` is there. Called by the parameters' nodes.
  void autograd_hook(size_t index);
  /// Once, after the first backward pass that was reduced: gives buckets the order in which gradients came on rank 0.
  /// Returns whether it did. Not where unused parameters are looked for and the graph is not static.
  bool rebuild_buckets();
  bool should_rebuild_buckets() const { return (static_graph_ || !find_unused_parameters_) && !has_rebuilt_bucket_; }
  /// For a rank without a backward pass of its own, which then rebuilds as the others do.
  void push_rebuilt_params_for_all_indices();
  /// Does the collectives of a backward pass with zeros for gradients, for a rank that has no data (Join); grad() then
  /// is what the other ranks have.
  void shadow_backward();

  /// Once, before the first reduction.
  void register_comm_hook(std::unique_ptr<CommHookInterface> iface);
  void register_builtin_comm_hook(BuiltinCommHookType comm_hook_type);
  /// As a backward pass would do.
  c10::intrusive_ptr<c10::ivalue::Future> run_comm_hook(GradBucket& grad_bucket);
  c10::intrusive_ptr<c10::ivalue::Future> run_allreduce_hook(GradBucket& grad_bucket);
  /// All buckets with their gradients as they are, or zeros of their sizes.
  std::vector<GradBucket> get_grad_buckets(bool return_zero_tensors = true) const;
  /// Further futures that the end of this backward pass waits for.
  void install_futures(const c10::List<c10::intrusive_ptr<c10::ivalue::Future>>& futures);
  /// Hooks step the optimizer: grad() is not written.
  void set_optimizer_in_backward() { optimizer_in_backward_ = true; }

  /// All iterations use the same parameters the same numbers of times. The first one counts, and is reduced at its end;
  /// before that one only.
  void set_static_graph();
  bool ddp_graph_static() const { return static_graph_; }
  /// Reduces all gradients of the first iteration of a static graph. Runs by itself at the end of the backward pass
  /// through the outputs that prepare_for_backward() was given.
  void delay_all_reduce();

  /// What tells how many ranks have data in this iteration: a work whose result is their number (a tensor of one
  /// element). With `use_static_world_size` gradients are divided by the size of the group all the same.
  void set_forward_pass_work_handle(c10::intrusive_ptr<Work> forward_pass_work_handle, bool use_static_world_size);
  /// 1 for each parameter that had a gradient on this rank since the last reduction; int32.
  at::Tensor get_local_used_map_on_device() const { return local_used_map_; }
  /// For each parameter the nanoseconds from the begin of the backward pass to its gradient; 0 for none.
  std::vector<int64_t> get_backward_stats() const { return backward_stats_; }

  /// Throws where a backward pass has begun to be reduced and has not ended.
  void check_finalized();
  /// Forgets what a backward pass that failed has left. What was started goes on.
  void reset_state();
  /// Reduces with another group from now on, of any size.
  void update_process_group(c10::intrusive_ptr<ProcessGroup> process_group);
  void remove_autograd_hooks();
  void set_logger(std::weak_ptr<Logger> logger) { logger_ = std::move(logger); }

 private:
  friend class Logger;
  using Clock = std::chrono::steady_clock;
  using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

  struct Bucket {
    std::vector<size_t> variables;
    std::vector<size_t> offsets, lengths;
    std::vector<at::Tensor> views;  // of the buffer, laid out like the parameters
    at::Tensor buffer;              // of a sparse bucket: its gradient
    size_t pending = 0;
    bool is_sparse = false;
    FuturePtr future;  // null: not started
  };
  struct Place {
    size_t bucket = 0, number = 0;
  };
  // Where the buckets of an iteration are reduced in, for hooks that outlive the reducer.
  struct Alive {
    std::mutex mutex;
    Reducer* reducer = nullptr;
  };

  bool is_dynamic() const { return find_unused_parameters_ && !static_graph_; }
  bool is_first_of_static() const { return static_graph_ && !has_counted_; }
  void queue_delayed(const std::vector<at::Tensor>& outputs);
  void search_unused(const std::vector<at::Tensor>& outputs);
  void mark_unused_ready();
  void mark_ready(size_t index);
  void take_gradient(size_t index);
  void take_sparse(Bucket& bucket, size_t index);
  void take_sparse_of(Bucket& bucket, const at::Tensor& grad, size_t index);
  void find_divisor();
  void start_buckets();
  GradBucket grad_bucket(size_t number, at::Tensor buffer) const;
  void push_rebuilt(size_t index);
  void finalize();
  void give_gradients(Bucket& bucket, const at::Tensor& reduced);
  [[noreturn]] void rethrow(const std::exception_ptr& error, size_t number,
                            const std::exception_ptr& another = nullptr) const;
  bool is_unused_everywhere(size_t index) const;
  std::string name(size_t index) const;
  std::string names(const std::vector<size_t>& indices) const;
  [[noreturn]] void throw_marked_twice(size_t index);
  [[noreturn]] void throw_unfinished();
  void note_error(const std::string& error);

  mutable std::mutex mutex_;
  const std::vector<at::Tensor> params_;
  c10::intrusive_ptr<ProcessGroup> group_;
  const std::vector<bool> expect_sparse_;
  const int64_t bucket_bytes_cap_;
  std::vector<size_t> bucket_limits_;  // of the buckets when they are rebuilt
  const bool find_unused_parameters_, gradient_as_bucket_view_, skip_unused_;
  const std::unordered_map<size_t, std::string> names_;
  std::vector<torch::autograd::NodePtr> accumulators_;
  std::vector<uintptr_t> hooks_;
  std::vector<uint64_t> undefined_hooks_;
  std::unordered_map<const torch::autograd::Node*, size_t> by_accumulator_;
  std::shared_ptr<Alive> alive_;
  std::weak_ptr<Logger> logger_;

  std::vector<Bucket> buckets_;
  std::vector<Place> places_;
  std::unique_ptr<CommHookInterface> comm_hook_;
  bool optimizer_in_backward_ = false;

  bool static_graph_ = false, has_counted_ = false, is_delayed_ = false;
  std::vector<int> counted_, left_;  // gradients of each parameter in an iteration of a static graph

  // Of the running iteration.
  bool expects_hooks_ = false;      // gradients are reduced
  bool requires_finalize_ = false;  // some are there
  bool has_marked_unused_ = false;
  size_t next_bucket_ = 0;
  std::vector<bool> is_ready_;
  std::vector<bool> is_unused_;
  std::vector<size_t> unused_;
  std::map<size_t, at::Tensor> kept_;  // gradients that lie in buckets and may have to stay as they are
  std::vector<FuturePtr> installed_;
  c10::intrusive_ptr<Work> forward_work_;
  bool uses_static_world_size_ = true;
  int64_t divisor_ = 0;  // 0: not known yet

  at::Tensor local_used_map_, used_map_;  // of this rank; of all
  c10::intrusive_ptr<Work> used_work_;

  bool has_rebuilt_bucket_ = false;
  std::vector<size_t> arrived_;

  Clock::time_point forward_start_, backward_start_;
  std::vector<int64_t> backward_stats_;
  int64_t iterations_ = 0;
  int64_t forward_ns_ = 0, backward_ns_ = 0, comm_ns_ = 0;  // of the last iteration
  Clock::time_point comm_start_;
};

}  // namespace c10d
