// Saving what several ranks have.
//
//   namespace dcp = torch::distributed::checkpoint;
//   dcp::save({{"model", net->state_dict()}, {"optimizer", optimizer.state_dict()}, {"step", step}},
//             {.checkpoint_id = "runs/7/step-1000"});
//   auto saved = dcp::async_save(state, {.checkpoint_id = "runs/7/step-2000"});   // copies the state, and returns
//   saved->waitAndThrow();
#pragma once

#include <memory>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"
#include "distributed/checkpoint/coordination.h"
#include "distributed/checkpoint/metadata.h"
#include "distributed/checkpoint/planner.h"
#include "distributed/checkpoint/staging.h"
#include "distributed/checkpoint/state.h"
#include "distributed/checkpoint/storage.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::checkpoint {

struct SaveOptions {
  /// A folder, or what else the writer takes it for. "": the writer's own.
  std::string checkpoint_id = {};
  /// Null: a FileSystemWriter.
  std::shared_ptr<StorageWriter> storage_writer = nullptr;
  /// Null: a DefaultSavePlanner.
  std::shared_ptr<SavePlanner> planner = nullptr;
  /// The ranks that save together; it needs a backend for CPU tensors. Null: the default group, or this rank alone
  /// where there is none.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group = nullptr;
  /// Whether this rank saves alone whatever groups there are.
  bool no_dist = false;
};

/// Saves the state of all ranks as one checkpoint: of DTensors each rank writes what it has; what several ranks have is
/// written by one of them. All ranks call it, with the same names at the top (below, each may have names of its own, as
/// stages of a pipeline do). When it returns the checkpoint is complete and on disk. On rank 0 the result says what
/// lies where; elsewhere it is empty.
///
/// An error of any rank is a CheckpointException on all ranks that says which and why, and what the storage held before
/// is there; a rank that is lost or late is the group's error (DistBackendError). Throws ValueError for neither a
/// checkpoint_id nor a writer.
Metadata save(const StateDict& state_dict, const SaveOptions& options);

/// As SaveOptions, and what makes the copy.
struct AsyncSaveOptions {
  std::string checkpoint_id = {};
  std::shared_ptr<StorageWriter> storage_writer = nullptr;
  std::shared_ptr<SavePlanner> planner = nullptr;
  /// Null: a group of all ranks that the first call makes.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group = nullptr;
  bool no_dist = false;
  /// Null: a BlockingAsyncStager.
  std::shared_ptr<AsyncStager> stager = nullptr;
};

/// The same on another thread, of a copy that is made first; the state may change when this returns. The future has no
/// value, or the error. Waits until the asynchronous save before is done, as save() and load() do; its error is in its
/// own future only. Nothing else may use `process_group` meanwhile; without one, the first call makes a group of all
/// ranks for this, with the timeout of the default group. A program that ends, by an error, too, waits for its last
/// save, at most until that timeout.
c10::intrusive_ptr<c10::ivalue::Future> async_save(const StateDict& state_dict, const AsyncSaveOptions& options);

namespace detail {
/// Waits for this rank's asynchronous save.
void wait_for_async_save();
/// The group of options.
c10::intrusive_ptr<c10d::ProcessGroup> group_of(const c10::intrusive_ptr<c10d::ProcessGroup>& group, bool no_dist);
/// Throws where ranks have different names at the top.
void check_names(const Ranks& ranks, const StateDict& state_dict);
/// The state dict with the states of objects in their places, which are asked in the order of their names.
StateDict without_objects(const StateDict& state_dict);
}  // namespace detail

}  // namespace torch::distributed::checkpoint
