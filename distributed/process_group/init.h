// The groups of a rank: the default group of all ranks, and groups of some of them.
//
//   torch::distributed::init_process_group("gloo");  // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: as torchrun sets
//   them auto pair = torch::distributed::new_group({{0, 1}}); torch::distributed::all_reduce(tensor);          //
//   collectives.h torch::distributed::destroy_process_group();
//
// All of it belongs to the calling thread's rank (rank_local.h). Where a function takes a group, none stands for the
// default group, and a null one for a group that this rank is not in, as new_group gives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "c10/core/device.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/backend_plugins.h"
#include "distributed/process_group/group_registry.h"
#include "distributed/process_group/process_group.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/rendezvous.h"

namespace c10d {

using ProcessGroupPtr = c10::intrusive_ptr<ProcessGroup>;
using GroupArg = std::optional<ProcessGroupPtr>;

struct InitProcessGroupOptions {
  /// See rendezvous(). "": env://, or the store below.
  std::string init_method = {};
  /// Of each operation, and of finding each other. None: 30 minutes, or what the engine says.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  int world_size = -1;
  int rank = -1;
  /// In place of an init_method; with it, world_size and rank are needed.
  c10::intrusive_ptr<Store> store = nullptr;
  /// What the default group is called; "": "0".
  std::string group_name = {};
  /// Of the engine whose name they have.
  c10::intrusive_ptr<Backend::Options> pg_options = nullptr;
  /// The one device of this rank, to whose engine barriers go.
  std::optional<at::Device> device_id = std::nullopt;
};

/// Makes the default group, of all ranks. Every rank calls it, and each returns when all are connected.
///
/// `backend`: an engine for all its devices ("gloo"), one for each device ("cpu:gloo,cuda:nccl"), or "" for all engines
/// that the program has. An engine is there where it is linked: //distributed/process_group/gloo and its like.
///
/// Throws c10::ValueError for arguments and variables that are missing or wrong or where there is a default group
/// already; c10::DistBackendError, with the ranks that have not come, where not all are connected within the timeout or
/// where ranks do not agree about the group's size or engines. On a store that has served before, the ranks that start
/// for the nth time find each other; of two processes of one rank the second is told so when the others do not come.
void init_process_group(const std::string& backend = "", const InitProcessGroupOptions& options = {});

/// Of all groups, the newest first, or of one: waits for what was started, and gives back threads and connections.
void destroy_process_group(const GroupArg& group = std::nullopt);

struct NewGroupOptions {
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  /// "": the default group's.
  std::string backend = {};
  c10::intrusive_ptr<Backend::Options> pg_options = nullptr;
  /// Only the ranks of the new group call.
  bool use_local_synchronization = false;
  std::string group_desc = {};
  std::optional<at::Device> device_id = std::nullopt;
  /// The new group's ranks follow the order of the old ones'; otherwise that of the list.
  bool sort_ranks = true;
};

/// A group of some ranks of the default group (none: of all). All ranks of the default group call it, in one order;
/// null on those that are not in the new group. Errors are as of init_process_group.
ProcessGroupPtr new_group(const std::optional<std::vector<int64_t>>& ranks = std::nullopt,
                          const NewGroupOptions& options = {});

/// Groups of some ranks each of `parent` (by their ranks there), which all ranks of the parent call with the same
/// lists; no rank is in two. Returns this rank's group, or null where it is in none. Of the options, the parent's
/// engines are always used.
ProcessGroupPtr split_group(const GroupArg& parent, const std::vector<std::vector<int64_t>>& split_ranks,
                            const NewGroupOptions& options = {});

/// This rank's group, and all of them (null: not in it).
struct Subgroups {
  ProcessGroupPtr current;
  std::vector<ProcessGroupPtr> all;
};
/// Groups of `group_size` ranks that follow each other; throws c10::ValueError where the ranks cannot be divided so. 0:
/// as many as there are on a machine (LOCAL_WORLD_SIZE).
Subgroups new_subgroups(int64_t group_size = 0, const NewGroupOptions& options = {});
/// Of these ranks each; throws c10::ValueError where one is in two.
Subgroups new_subgroups_by_enumeration(const std::vector<std::vector<int64_t>>& ranks_per_subgroup,
                                       const NewGroupOptions& options = {});

bool is_available();
/// Whether there is a default group.
bool is_initialized();
/// Whether the program was started by torchrun.
bool is_torchelastic_launched();

/// Throws c10::ValueError where init_process_group was not called.
ProcessGroupPtr get_default_group();
/// In the group; -1 where this rank is not in it.
int get_rank(const GroupArg& group = std::nullopt);
int get_world_size(const GroupArg& group = std::nullopt);
/// The name of the group's default engine.
std::string get_backend(const GroupArg& group = std::nullopt);
/// "cpu:gloo,cuda:nccl"
std::string get_backend_config(const GroupArg& group = std::nullopt);
/// LOCAL_RANK, or what Slurm and Open MPI call it; else `fallback_rank`, without which it throws.
int get_node_local_rank(std::optional<int> fallback_rank = std::nullopt);
/// By ranks of the default group, in the order of the group's. Throws c10::ValueError for a group that was not made
/// here, as all functions below do.
std::vector<int64_t> get_process_group_ranks(const GroupArg& group = std::nullopt);
/// The group's rank of a rank of the default group, and back. Throws c10::ValueError where there is none.
int get_group_rank(const GroupArg& group, int64_t global_rank);
int64_t get_global_rank(const GroupArg& group, int64_t group_rank);

}  // namespace c10d

namespace torch::distributed {

using c10d::destroy_process_group;
using c10d::get_backend;
using c10d::get_backend_config;
using c10d::get_default_group;
using c10d::get_global_rank;
using c10d::get_group_rank;
using c10d::get_node_local_rank;
using c10d::get_process_group_ranks;
using c10d::get_rank;
using c10d::get_world_size;
using c10d::init_process_group;
using c10d::InitProcessGroupOptions;
using c10d::is_available;
using c10d::is_backend_available;
using c10d::is_gloo_available;
using c10d::is_initialized;
using c10d::is_mpi_available;
using c10d::is_nccl_available;
using c10d::is_torchelastic_launched;
using c10d::is_ucc_available;
using c10d::is_xccl_available;
using c10d::new_group;
using c10d::new_subgroups;
using c10d::new_subgroups_by_enumeration;
using c10d::NewGroupOptions;
using c10d::split_group;
using c10d::Subgroups;

}  // namespace torch::distributed
