// One parameter of a group. For the files of this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/fsdp/policies.h"
#include "distributed/process_group/process_group.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/spec.h"
#include "nn/module/module.h"

namespace torch::distributed::fsdp::detail {

using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

/// The ranks that share parameters, and those that have the same shards.
struct Ranks {
  tensor::DeviceMesh mesh;
  GroupPtr shard;      // null: parameters are not sharded
  GroupPtr replicate;  // null: no other rank has the same shard
  int64_t parts() const { return shard ? shard->getSize() : 1; }
  int64_t index() const { return shard ? shard->getRank() : 0; }
  int64_t size() const { return mesh.size(); }
  std::vector<Placement> placements(const Placement& of_shard) const;
  void abort(const std::string& reason) const;
};

/// A module, and the name of a parameter in it.
struct Place {
  nn::Module* module;
  std::string name;
};

/// A parameter as its shard, a DTensor that optimizers and state dictionaries see, and as the whole that forward uses:
/// a leaf whose memory comes and goes. The module has one or the other in all places where it is registered.
///
/// Of `parts` ranks each has the rows [index * c, ...) of dimension `dim`, where c = ceil(size / parts), in a slot of c
/// rows of a flat tensor that is sent: what the last ranks lack is zeros. Where tensor parallelism has given this rank
/// a part of each of several layers in one (StridedShard), each of these parts is cut so, and has its rows in each
/// slot.
class Param {
 public:
  /// Takes this rank's shard out of `whole`; modules are not touched. Throws, naming the parameter, where it cannot be
  /// sharded.
  Param(std::vector<Place> places, std::string name, const at::Tensor& whole, const Ranks& ranks,
        const std::optional<Shard>& placement, const FullyShardOptions& options);

  const std::string& name() const { return name_; }
  const std::vector<Place>& places() const { return places_; }
  const at::Tensor& sharded() const { return sharded_; }
  const at::Tensor& whole() const { return whole_; }
  /// Whether `t` is the tensor that this parameter was made of.
  bool was(const at::Tensor& t) const;
  at::ScalarType dtype() const { return sharded_.scalar_type(); }
  at::ScalarType gathered_dtype() const;
  bool is_on_meta() const { return sharded_.is_meta(); }

  void use_sharded() { use(sharded_); }
  void use_whole();
  /// Gives the whole memory of undefined content, or none.
  void allocate();
  void free();
  /// `then` is called whenever a backward pass has added to the whole's gradient, with one handle of the
  /// whole on the stack meanwhile.
  void watch_gradient(std::function<void()> then);
  /// Whether others than this object and the modules have the whole: what a graph has saved, above all. `handles`: on
  /// the caller's stack.
  bool is_held(size_t handles = 0) const;

  // --- slots: tensors of one dimension, or one row for each part of `parts` of them ---
  int64_t slot_numel(int64_t parts) const;
  bool fills_slots(int64_t parts) const { return rows() % parts == 0; }
  /// Whether the whole is its slots one after the other.
  bool is_in_slots(int64_t parts) const { return dim_ == 0 && fills_slots(parts); }
  /// The whole, which has memory, as slots; where is_in_slots().
  at::Tensor slots(int64_t parts) const { return in_slots(memory_, parts); }
  /// A gradient likewise; a copy where it lies in another way.
  at::Tensor in_slots(const at::Tensor& t, int64_t parts) const;
  /// This rank's shard as it lies; undefined where what is sent has another dtype or device.
  at::Tensor own_slot() const;
  /// This rank's shard.
  void put_shard(const at::Tensor& slot) const;
  /// What the whole has there.
  void put_part(const at::Tensor& slot, int64_t parts, int64_t index) const;
  void put_gradient(const at::Tensor& gradient, const at::Tensor& slots) const;
  void take_whole(const at::Tensor& slots) const;
  /// The shard becomes what the whole has there.
  void write_back(int64_t parts, int64_t index) const;
  /// Whether the whole has the shard's dtype, whatever forward uses.
  void set_own_precision(bool on) { own_precision_ = on; }

  // --- gradients ---
  /// This rank's gradient of the whole since the last call, and what was kept; undefined: none.
  at::Tensor take_gradient(std::optional<at::ScalarType> dtype);
  /// Puts it aside for a later pass.
  void keep_gradient(std::optional<at::ScalarType> dtype);
  bool has_gradient() const;
  void drop_gradients();
  /// What was reduced over the shards' ranks, but not over replicas yet.
  void keep_partial(const at::Tensor& slot);
  bool has_partial() const { return partial_.defined(); }
  void take_partial_into(const at::Tensor& slot);
  /// Adds the reduced gradient of the shard to its grad().
  void add_gradient(const at::Tensor& slot);
  /// Calls what waits for it (register_post_accumulate_grad_hook).
  void call_hooks() const;

 private:
  int64_t rows() const { return sizes_[static_cast<size_t>(dim_)]; }
  int64_t row_numel() const;
  at::Tensor piece_in(const at::Tensor& whole, int64_t parts, int64_t index) const;
  at::Tensor shard_in(const at::Tensor& slot) const;
  template <class Copy>
  void each_part(const at::Tensor& whole, const at::Tensor& slots, const Copy& copy) const;
  void use(const at::Tensor& t);
  at::Tensor plain(const at::Tensor& gradient) const;

  const std::vector<Place> places_;
  const std::string name_;
  const std::optional<at::ScalarType> param_dtype_;
  const bool offloads_;
  bool own_precision_ = false;
  c10::weak_intrusive_ptr<c10::TensorImpl> original_;
  // The dimension that is cut, and the sizes of the whole on this rank (of its part where it is tensor-parallel), both
  // with one more dimension before that one where several layers are cut.
  int64_t dim_ = 0;
  std::vector<int64_t> sizes_;
  tensor::SpecPtr parallel_;  // of the whole, where it is tensor-parallel
  c10::Device compute_device_;
  at::Tensor sharded_, whole_, memory_;        // the whole's plain tensor
  bool is_watched_ = false;                    // the whole's gradient
  size_t memory_uses_ = 0, storage_uses_ = 0;  // of what only this object has
  at::Tensor kept_, partial_;
};

}  // namespace torch::distributed::fsdp::detail
