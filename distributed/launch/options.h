// The command line and the environment of torchrun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/launch/agent.h"

namespace c10d::launch {

/// What a machine says of itself; tests say something else.
struct Machine {
  /// A variable of the environment.
  std::function<std::optional<std::string>(const std::string&)> variable;
  int cpus = 1;
  int gpus = 0;
  std::string host_name;  ///< fully qualified where it has a domain

  static Machine this_one();
};

struct LaunchOptions {
  AgentOptions agent;
  enum class StoreKind { kTcp, kFile } store_kind = StoreKind::kTcp;
  std::string endpoint_host = "localhost";
  uint16_t endpoint_port = 0;  ///< 0: any free one, on this machine
  std::string store_file;
  /// Whether this node runs the store's server; none: whoever is at the endpoint's host, and comes first.
  std::optional<bool> is_host;
  bool is_static = false;
  std::string local_address;  ///< "": the one by which this machine reaches the endpoint
  std::vector<int> signals;   ///< to pass on
  bool wants_help = false;
};

/// torchrun's options, as PyTorch documents them, then a program and its arguments. Options may be written
/// --nproc-per-node=2, --nproc-per-node 2 or with underscores; an option that is not given is read from the environment
/// (PET_NPROC_PER_NODE). Throws c10::ValueError, which names the option.
///
///   torchrun --standalone --nproc-per-node=2 ./train --epochs=3
///
/// `--cluster=slurm` and `--cluster=kubernetes` (no options of PyTorch's) take the number of nodes, the node's rank and
/// the first node's name from what these set; see docs/distributed.md.
LaunchOptions parse_options(const std::vector<std::string>& arguments, const Machine& machine);

/// The text of --help.
std::string usage();

/// "node[01-03,7],login" is node01, node02, node03, node7, login. Throws c10::ValueError.
std::vector<std::string> expand_host_list(const std::string& list);

}  // namespace c10d::launch
