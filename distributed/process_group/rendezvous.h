// How the ranks of a job find each other.
#pragma once

#include <chrono>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/types.h"
#include "distributed/store/store.h"

namespace c10d {

/// A store that all ranks share, which of them this is, and how many there are.
struct Rendezvous {
  c10::intrusive_ptr<Store> store;
  int rank = -1;
  int world_size = -1;
};

/// By one of
///
///   env://                                   the variables below
///   tcp://10.0.0.1:29500?rank=0&world_size=2  a server that rank 0 runs there
///   file:///shared/job17?rank=0&world_size=2  a file, fresh for each job
///
/// `rank` and `world_size` (-1: not given) stand where the URL has none. For env:// they come, unless they are given,
/// from RANK and WORLD_SIZE, from SLURM_PROCID and SLURM_NTASKS, or from OMPI_COMM_WORLD_RANK and
/// OMPI_COMM_WORLD_SIZE; the server is at MASTER_ADDR and MASTER_PORT, without which it is on the first node of
/// SLURM_NODELIST, or, where all ranks of mpirun are on one machine, here, at port 29500. With
/// TORCHELASTIC_USE_AGENT_STORE=True the launcher runs the server, and each attempt has a part of its own.
///
/// Returns when this rank is connected; `timeout` holds for that and for what the store waits for later. Throws
/// c10::ValueError for what is missing, and what stores throw.
Rendezvous rendezvous(const std::string& url, int rank = -1, int world_size = -1,
                      std::chrono::milliseconds timeout = kBackendDefaultTimeout);

namespace detail {
/// "node001" of "node[001-004,007],login"
std::string first_host(const std::string& node_list);
}  // namespace detail

}  // namespace c10d
