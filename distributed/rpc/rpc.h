// Calls of functions on other workers.
//
//   namespace rpc = torch::distributed::rpc;
//   rpc::register_function("scale", [](at::Tensor x, double by) { return x * by; });     // functions.h
//   rpc::init_rpc("worker0", 0, 2);                                                      // each process, by its name
//   at::Tensor y = rpc::rpc_sync<at::Tensor>("worker1", "scale", {x, 2.0});
//   rpc::FuturePtr later = rpc::rpc_async("worker1", "scale", {x, 3.0});                 // later->waitAndThrow()
//   rpc::RRefPtr there = rpc::remote("worker1", "scale", {x, 4.0});       // rref.h; the result stays on worker1
//   rpc::shutdown();                                                      // when all have come so far
//
// What a function throws is thrown at the caller with its type, its text and the worker's name. A worker that does not
// answer within the timeout, or is gone, is a c10::DistNetworkError that names it; calls are never sent twice. All of
// it belongs to the calling thread's rank (distributed/process_group/rank_local.h): threads can be workers, too.
// Workers trust each other: bytes of strangers are refused, but who is let in can call everything.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "distributed/rpc/agent.h"
#include "distributed/rpc/functions.h"
#include "distributed/rpc/rref.h"
#include "distributed/rpc/types.h"

namespace torch::distributed::rpc {

/// Makes this rank a worker. Every rank calls it; each returns when all are there. `rank` and `world_size` of -1 are
/// those of the environment or the initMethod.
///
/// Throws c10::ValueError for a wrong name, rank or option, and where two workers have one name; c10::DistNetworkError
/// with the ranks that are missing where not all have come within rpcTimeoutSeconds; c10::Error where this rank is a
/// worker already.
void init_rpc(const std::string& name, int rank = -1, int world_size = -1, const RpcBackendOptions& options = {});

/// Ends it. With `graceful`, when all workers have called it and no calls are left anywhere, those that functions have
/// made included; if a worker is gone (not heard of for a lease) this throws a c10::DistNetworkError that names it, on
/// all others, and RPC is ended all the same. Without, at once: calls that this worker waits for fail. References and
/// autograd contexts are of no more use. Does nothing where this rank is no worker.
void shutdown(bool graceful = true);

/// This worker, or one of a name or rank. Throws c10::ValueError where there is none.
const WorkerInfo& get_worker_info();
const WorkerInfo& get_worker_info(const WorkerRef& worker);
/// All, by rank.
std::vector<WorkerInfo> get_worker_infos();

/// Calls a function on a worker, also on this one. The future is of its result. Throws c10::ValueError for a worker
/// that does not exist or arguments of too many bytes, c10::TypeError for arguments that cannot be sent; everything
/// else is the future's error. Tensors of 16 KiB and more are read when they are sent: do not write to them before.
/// Callbacks of the future run on a thread that also serves others; a few may wait for calls of their own.
FuturePtr rpc_async(const WorkerRef& to, const std::string& function, const Args& args = {},
                    float timeout = kUnsetRpcTimeout);

/// The same, and its result.
template <class R = c10::IValue>
R rpc_sync(const WorkerRef& to, const std::string& function, const Args& args = {}, float timeout = kUnsetRpcTimeout) {
  const c10::IValue result = detail::wait_for(rpc_async(to, function, args, timeout));
  if constexpr (!std::is_void_v<R>) return detail::Convert<R>::to(result);
}

/// Calls a function on a worker, where its result stays; returns at once. What goes wrong, the use of the reference
/// throws.
RRefPtr remote(const WorkerRef& to, const std::string& function, const Args& args = {},
               float timeout = kUnsetRpcTimeout);

}  // namespace torch::distributed::rpc
