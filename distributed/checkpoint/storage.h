// Where checkpoints are kept.
#pragma once

#include <string>
#include <vector>

#include "distributed/checkpoint/metadata.h"
#include "distributed/checkpoint/planner.h"

namespace torch::distributed::checkpoint {

/// Where an item was written.
struct WriteResult {
  MetadataIndex index;
  StorageInfo storage_data;
  uint64_t file_bytes = 0;  // of the whole file, where storage_data names one
};

/// What save() writes with. In this order: reset (where the call has a checkpoint_id), set_up_storage_writer and
/// prepare_local_plan on all ranks, prepare_global_plan on the coordinator, write_data on all, finish on the
/// coordinator. Nothing that was there before is lost before finish() returns.
class StorageWriter {
 public:
  virtual ~StorageWriter() = default;
  virtual void reset(const std::string& checkpoint_id) = 0;
  virtual void set_up_storage_writer(bool is_coordinator) = 0;
  virtual SavePlan prepare_local_plan(SavePlan plan) = 0;
  /// Called at every save, also where plans come from the cache.
  virtual std::vector<SavePlan> prepare_global_plan(std::vector<SavePlan> plans) = 0;
  virtual std::vector<WriteResult> write_data(const SavePlan& plan, SavePlanner& planner) = 0;
  /// Makes the checkpoint one that can be read.
  virtual void finish(Metadata& metadata, const std::vector<std::vector<WriteResult>>& results) = 0;
  /// Gives back what write_data() took, on all ranks, where one has failed and finish() is not called.
  virtual void discard() {}
};

/// What load() reads with. In this order: reset (where the call has a checkpoint_id), read_metadata,
/// set_up_storage_reader and prepare_local_plan on all ranks, prepare_global_plan on the coordinator, read_data on all.
class StorageReader {
 public:
  virtual ~StorageReader() = default;
  virtual void reset(const std::string& checkpoint_id) = 0;
  virtual Metadata read_metadata() = 0;
  virtual void set_up_storage_reader(const Metadata& metadata, bool is_coordinator) = 0;
  virtual LoadPlan prepare_local_plan(LoadPlan plan) = 0;
  virtual std::vector<LoadPlan> prepare_global_plan(std::vector<LoadPlan> plans) = 0;
  virtual void read_data(const LoadPlan& plan, LoadPlanner& planner) = 0;
};

}  // namespace torch::distributed::checkpoint
