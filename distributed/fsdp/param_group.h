// Parameters that are gathered, freed and reduced together. For the files of this folder.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/fsdp/param.h"
#include "distributed/fsdp/policies.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::fsdp::detail {

/// Parameters of one dtype in a flat tensor.
struct Bucket {
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<Param*> params;
  std::vector<int64_t> offsets;
  int64_t numel = 0;      // of a part
  bool is_alone = false;  // one large parameter, which is sent from where it lies, and received there
  at::Tensor input;       // on the CPU the work holds it, and no longer than it has to
  at::Tensor output;

  at::Tensor slot(const at::Tensor& flat, size_t i, int64_t parts) const;
};

/// Buckets, and the collectives that carry them: one for all, but where their reductions differ.
struct Transfer {
  std::vector<Bucket> buckets;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  bool empty() const { return buckets.empty(); }
  /// Waits, and says in an error whose data was waited for, while doing `what`.
  void wait(const char* what);
  /// Waits, whatever comes of it, and forgets all.
  void drop() noexcept;
};

class ParamGroup;

/// Gradients on their way to their shards.
class Reduction {
 public:
  /// Starts the reduce-scatter of what the parameters have.
  explicit Reduction(std::shared_ptr<ParamGroup> group);
  /// Waits for it, and starts the all-reduce over replicas.
  void start_all_reduce();
  /// Waits for all of it, and adds the gradients to the shards'.
  void finish();
  /// Waits, and forgets them.
  void drop() noexcept;
  bool is_empty() const { return transfer_.empty(); }

 private:
  void scatter_together();

  std::shared_ptr<ParamGroup> group_;
  Transfer transfer_;
  bool is_scattered_ = false, is_partial_ = false;
};

/// The reductions that run: while one scatters, the one before may be all-reduced.
class Reductions {
 public:
  void start(std::shared_ptr<ParamGroup> group);
  /// Waits until none scatters: what was sent has no memory then.
  void wait_for_scatter();
  void finish();
  void drop() noexcept;

 private:
  std::deque<Reduction> running_;
};

/// The parameters of one call of fully_shard().
class ParamGroup : public std::enable_shared_from_this<ParamGroup> {
 public:
  ParamGroup(std::vector<std::unique_ptr<Param>> params, Ranks ranks, const FullyShardOptions& options);

  const std::vector<std::unique_ptr<Param>>& params() const { return params_; }
  const Ranks& ranks() const { return ranks_; }
  bool is_whole() const { return state_ == State::kWhole; }
  /// Whether the parameters are there, or on their way.
  bool is_gathered() const { return is_whole() || !gather_.empty(); }

  /// Starts to gather, where the parameters are not there or on their way.
  void unshard();
  /// Waits for it; the modules have the whole parameters then.
  void wait_for_unshard();
  /// Gives the memory back; the modules have the shards.
  void reshard();
  /// The same, but keeps what a smaller group of ranks can gather from, where the policy says so.
  void reshard_after_forward();
  /// Reduces the gradients, or keeps them: if `defers`, whatever FSDPModule has set; the parameters stay, too.
  void post_backward(Reductions& reductions, bool defers);
  /// The whole parameters in their own dtype, for others than forward; and their end: with `writeback` the shards
  /// become what these are then.
  void summon();
  void dismiss(bool writeback);
  /// Until the next reshard(), in backward pass `pass`: a parameter is given back as soon as its gradient is there and
  /// the graph, which held it, does no more. Others wait for reshard(): whoever computes with them again may hold none
  /// of them, as checkpoints do.
  void free_early(uint64_t pass);
  /// Forgets what a failed pass left.
  void reset() noexcept;

  // What FSDPModule sets.
  std::optional<bool> reshards_after_forward;  // nullopt: as the root does
  bool reshards_after_backward = true;
  bool unshards_in_backward = true;
  bool reduces_gradients = true;
  bool all_reduces_gradients = true;
  std::optional<double> divide_factor;
  bool sums_only = false;
  std::function<void(at::Tensor)> all_reduce_hook;

 private:
  friend class Reduction;
  enum class State : uint8_t { kSharded, kPartlySharded, kWhole };
  using DtypeOf = std::function<at::ScalarType(const Param&)>;
  static std::vector<Bucket> buckets_of(const std::vector<Param*>& params, int64_t parts, const DtypeOf& dtype_of);
  std::vector<Bucket> gather_buckets(int64_t parts) const;
  void make_small_group(int64_t size);
  void see_what_is_held(const Param* in_hook);
  void gradient_came(Param& param);

  const std::vector<std::unique_ptr<Param>> params_;
  const Ranks ranks_;
  const MixedPrecisionPolicy precision_;
  State state_ = State::kSharded;
  uint64_t freeing_pass_ = 0;
  std::set<const Param*> held_;   // by the graph, at some time since free_early()
  Transfer gather_;               // on its way
  GroupPtr small_;                // that parameters are gathered from after forward
  std::vector<at::Tensor> kept_;  // this rank's part of the small group's, by bucket
};

}  // namespace torch::distributed::fsdp::detail
