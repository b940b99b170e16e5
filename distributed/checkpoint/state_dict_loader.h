// Loading what several ranks need.
//
//   dcp::StateDict state{{"model", net->state_dict()}, {"optimizer", optimizer_state}, {"step", 0}};
//   dcp::load(state, {.checkpoint_id = "runs/7/step-1000"});      // the tensors of `net` have the saved values
//   step = state.at("step").toInt();
#pragma once

#include <memory>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "distributed/checkpoint/coordination.h"
#include "distributed/checkpoint/planner.h"
#include "distributed/checkpoint/state.h"
#include "distributed/checkpoint/storage.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::checkpoint {

struct LoadOptions {
  /// A folder, or what else the reader takes it for. "": the reader's own.
  std::string checkpoint_id = {};
  /// Null: a FileSystemReader, which reads folders of this library, of PyTorch, and safetensors.
  std::shared_ptr<StorageReader> storage_reader = nullptr;
  /// Null: a DefaultLoadPlanner.
  std::shared_ptr<LoadPlanner> planner = nullptr;
  /// The ranks that load together. Null: the default group, or this rank alone where there is none.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group = nullptr;
  bool no_dist = false;
};

/// Loads into the tensors of `state_dict`, whatever ranks and shards they were saved from: each rank reads what its
/// parts of DTensors take. Dtypes are converted. Values that are no tensors are replaced. Names of the checkpoint that
/// `state_dict` does not have are left out. All ranks call it, with the same names at the top. Stateful objects give
/// their states first, and take them in the end.
///
/// An error of any rank is a CheckpointException on all ranks. Names that the checkpoint lacks, other sizes, and files
/// that are not there or too short are found before anything is written to; damage within a file may be found later,
/// when some tensors have new values already.
void load(StateDict& state_dict, const LoadOptions& options);

}  // namespace torch::distributed::checkpoint
