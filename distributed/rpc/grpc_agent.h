// The agent on gRPC's C library: a server, a channel to each worker, and threads that serve both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/rpc/agent.h"

namespace torch::distributed::rpc {

/// A worker and where it listens, as "10.0.0.1:2345".
struct Peer {
  WorkerInfo worker;
  std::string address;
};

/// Messages are single calls of one method, whose bytes encode() makes. A thread that takes an answer or a request from
/// the queue runs what follows from it itself, after it has seen to it that another one waits at the queue; functions
/// of other workers run on no more than num_worker_threads of them.
class GrpcAgent : public RpcAgent {
 public:
  /// Listens, and answers from start() on. Throws c10::DistNetworkError where it cannot listen at the address.
  static std::shared_ptr<GrpcAgent> create(WorkerInfo worker, std::unique_ptr<RequestCallback> callback,
                                           const RpcBackendOptions& options);
  /// Where it listens.
  virtual const std::string& address() const = 0;
  /// All workers, by rank, this one too; before start(). `job` is a number that strangers do not know.
  virtual void set_peers(std::vector<Peer> peers, uint64_t job) = 0;

 protected:
  using RpcAgent::RpcAgent;
};

}  // namespace torch::distributed::rpc
