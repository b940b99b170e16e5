// Which rank writes and reads what.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"
#include "distributed/checkpoint/metadata.h"
#include "distributed/checkpoint/state.h"

namespace torch::distributed::checkpoint {

enum class WriteItemType : uint8_t { TENSOR, SHARD, BYTE_IO };
enum class LoadItemType : uint8_t { TENSOR, BYTE_IO };

/// The chunk that is to be written, and the tensor that it is a part of.
struct TensorWriteData {
  ChunkStorageMetadata chunk;
  TensorProperties properties;
  Extents size;
};

/// A chunk of a tensor, or a value, that is to be written.
struct WriteItem {
  MetadataIndex index;
  WriteItemType type = WriteItemType::TENSOR;
  std::optional<TensorWriteData> tensor_data;  // of tensors
  /// In bytes; nullopt where it is no tensor.
  std::optional<int64_t> tensor_storage_size() const;
};

/// What a rank writes.
struct SavePlan {
  std::vector<WriteItem> items;
  std::string storage_data;                                // the storage's own, for this rank
  std::vector<std::pair<std::string, Path>> planner_data;  // where the values stand
};

/// A part of a stored chunk (`lengths` elements from `storage_offsets` on), or a stored value, that is to be read, and
/// where it goes: from `dest_offsets` on into the chunk that the state dict has at `dest_index`.
struct ReadItem {
  LoadItemType type = LoadItemType::TENSOR;
  MetadataIndex dest_index;
  Extents dest_offsets;
  MetadataIndex storage_index;
  Extents storage_offsets;
  Extents lengths;
};

/// What a rank reads.
struct LoadPlan {
  std::vector<ReadItem> items;
  std::string storage_data;
};

/// What save() asks for what is to be written. In this order: set_up_planner and create_local_plan on all ranks,
/// create_global_plan on the coordinator, finish_plan and resolve_data on all.
class SavePlanner {
 public:
  virtual ~SavePlanner() = default;
  /// `state_dict` has no Stateful objects.
  virtual void set_up_planner(StateDict state_dict, bool is_coordinator) = 0;
  virtual SavePlan create_local_plan() = 0;
  /// The plans of all ranks as they shall be, and what the checkpoint will hold.
  virtual std::pair<std::vector<SavePlan>, Metadata> create_global_plan(std::vector<SavePlan> all_plans) = 0;
  virtual SavePlan finish_plan(SavePlan new_plan) = 0;
  /// The tensor (any device and layout; it may be a view) or value of an item. May be called again, and by several
  /// threads.
  virtual std::variant<at::Tensor, c10::IValue> resolve_data(const WriteItem& write_item) = 0;
  /// Where all ranks' local plans and keys are as they were, the global plan is taken to be, too. "": never.
  virtual std::string plan_cache_key() const { return ""; }
};

/// What load() asks for where data goes. In this order: set_up_planner and create_local_plan on all ranks,
/// create_global_plan on the coordinator, finish_plan on all, and then for each item load_bytes, or resolve_tensor and
/// commit_tensor.
class LoadPlanner {
 public:
  virtual ~LoadPlanner() = default;
  /// `state_dict` has no Stateful objects; its containers and tensors are the caller's. It lives until the load ends.
  virtual void set_up_planner(StateDict& state_dict, const Metadata& metadata, bool is_coordinator) = 0;
  virtual LoadPlan create_local_plan() = 0;
  virtual std::vector<LoadPlan> create_global_plan(std::vector<LoadPlan> global_plan) = 0;
  virtual LoadPlan finish_plan(LoadPlan central_plan) = 0;
  virtual void load_bytes(const ReadItem& read_item, const c10::IValue& value) = 0;
  /// The tensor that the item's data is copied into.
  virtual at::Tensor resolve_tensor(const ReadItem& read_item) = 0;
  virtual void commit_tensor(const ReadItem& read_item, const at::Tensor& tensor) = 0;
};

struct SavePlannerOptions {
  /// Whether what several ranks have is written by the lowest of them; else by the one that has least to write.
  bool dedup_save_to_lowest_rank = false;
  bool enable_plan_caching = true;
};

/// Plans for tensors, DTensors of any placements but Partial, and values. State dicts are flattened.
class DefaultSavePlanner : public SavePlanner {
 public:
  explicit DefaultSavePlanner(SavePlannerOptions options = {}) : options_(options) {}
  void set_up_planner(StateDict state_dict, bool is_coordinator) override;
  SavePlan create_local_plan() override;
  /// Throws ValueError where ranks disagree about a name's type, dtype or sizes, or where chunks do not cover a tensor
  /// exactly.
  std::pair<std::vector<SavePlan>, Metadata> create_global_plan(std::vector<SavePlan> all_plans) override;
  SavePlan finish_plan(SavePlan new_plan) override { return new_plan; }
  std::variant<at::Tensor, c10::IValue> resolve_data(const WriteItem& write_item) override;
  std::string plan_cache_key() const override;

  /// For planners derived from this one: the tensor or value before and after it is changed for storage.
  virtual c10::IValue lookup_object(const MetadataIndex& index);
  virtual std::variant<at::Tensor, c10::IValue> transform_object(const WriteItem& write_item,
                                                                 const c10::IValue& object);

 private:
  const SavePlannerOptions options_;
  StateDict state_dict_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::string, size_t> by_name_;
};

struct LoadPlannerOptions {
  /// Whether names that the checkpoint lacks are left as they are; else they are an error.
  bool allow_partial_load = false;
};

/// Plans that read for each tensor of the state dict the parts that this rank has, from whatever chunks hold them.
class DefaultLoadPlanner : public LoadPlanner {
 public:
  explicit DefaultLoadPlanner(LoadPlannerOptions options = {}) : options_(options) {}
  void set_up_planner(StateDict& state_dict, const Metadata& metadata, bool is_coordinator) override;
  /// Throws ValueError, which names all of them, for names that the checkpoint lacks and tensors of other sizes.
  LoadPlan create_local_plan() override;
  std::vector<LoadPlan> create_global_plan(std::vector<LoadPlan> global_plan) override { return global_plan; }
  LoadPlan finish_plan(LoadPlan central_plan) override { return central_plan; }
  void load_bytes(const ReadItem& read_item, const c10::IValue& value) override;
  at::Tensor resolve_tensor(const ReadItem& read_item) override;
  void commit_tensor(const ReadItem& /*read_item*/, const at::Tensor& /*tensor*/) override {}

  /// For planners derived from this one: this rank's chunk of a tensor, and what data is read into instead.
  virtual at::Tensor lookup_tensor(const MetadataIndex& index);
  virtual at::Tensor transform_tensor(const ReadItem& /*read_item*/, const at::Tensor& tensor) { return tensor; }

 private:
  const LoadPlannerOptions options_;
  Metadata metadata_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::string, size_t> by_name_;
};

/// The chunks of a tensor that this rank has, and the part of its memory that each is.
struct LocalChunk {
  ChunkStorageMetadata chunk;
  at::Tensor data;
};
/// Of a plain tensor all of it; of a DTensor those of its part, several for a strided shard, none where this rank is
/// not in the mesh. Throws ValueError for a Partial placement.
std::vector<LocalChunk> local_chunks(const std::string& name, const at::Tensor& tensor);

}  // namespace torch::distributed::checkpoint
