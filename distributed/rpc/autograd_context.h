// What a worker knows of autograd contexts, by libtorch's names. Programs use autograd.h:
//
//   auto& container = torch::distributed::autograd::DistAutogradContainer::getInstance();
//   auto context = container.newContext();              // of this thread, from here on
//   ...                                                 // calls of others, DistEngine::getInstance().execute(...)
//   context->getGradients();
//   container.releaseContext(context->contextId());
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/engine/engine.h"
#include "autograd/engine/node.h"
#include "distributed/rpc/agent.h"
#include "distributed/rpc/message.h"

namespace torch::distributed::autograd {

using rpc::FuturePtr;
using rpc::Message;
using rpc::worker_id_t;
using torch::autograd::edge_list;
using torch::autograd::NodePtr;
using torch::autograd::variable_list;

class LocalPass;

/// The context that the calling thread records in, or 0.
int64_t current_context_id();
/// What libtorch says instead of 0.
inline constexpr int64_t kNoContext = -1;
class ContextScope {
 public:
  explicit ContextScope(int64_t id);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const int64_t before_;
};

/// A context on one worker: the nodes at which tensors left, and the gradients. Thread-safe.
class DistAutogradContext : public std::enable_shared_from_this<DistAutogradContext> {
 public:
  DistAutogradContext(int64_t id, worker_id_t own);
  ~DistAutogradContext();

  int64_t contextId() const { return id_; }
  worker_id_t own() const { return own_; }
  void addKnownWorkerId(worker_id_t worker);
  std::set<worker_id_t> getKnownWorkerIds() const;
  void addSendFunction(int64_t message, NodePtr node);
  std::map<int64_t, NodePtr> sendFunctions() const;
  void accumulateGrad(const at::Tensor& leaf, const at::Tensor& grad);
  /// Throws where the last pass has left some that are not whole.
  c10::Dict<at::Tensor, at::Tensor> getGradients();
  void check_whole();

  /// Runs what can be run of pass `pass` once these gradients are there: those of `roots`, or those of the tensors that
  /// were sent as `message`. Returns what was sent on to others.
  std::vector<FuturePtr> run_roots(int64_t pass, bool retain_graph, const edge_list& roots, const variable_list& grads,
                                   rpc::RpcAgent& agent);
  std::vector<FuturePtr> run_message(int64_t pass, bool retain_graph, int64_t message, variable_list grads,
                                     rpc::RpcAgent& agent);

 private:
  LocalPass& pass_of(int64_t pass, bool retain_graph, const edge_list& roots);

  const int64_t id_;
  const worker_id_t own_;
  mutable std::mutex mutex_;
  std::set<worker_id_t> known_;
  std::map<int64_t, NodePtr> sends_;
  std::unordered_map<c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> grads_;
  std::mutex running_;  // of the pass
  std::unique_ptr<LocalPass> pass_;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

/// The contexts of a worker. Thread-safe.
class DistAutogradContainer : public std::enable_shared_from_this<DistAutogradContainer> {
 public:
  DistAutogradContainer(std::weak_ptr<rpc::RpcAgent> agent, worker_id_t own) : agent_(std::move(agent)), own_(own) {}

  static std::shared_ptr<DistAutogradContainer> current();
  static DistAutogradContainer& getInstance() { return *current(); }

  /// A context in which the calling thread records from here on; throws c10::Error where the thread has one.
  ContextPtr newContext();
  /// That of the calling thread. Throws c10::Error where there is none.
  ContextPtr currentContext() const;
  bool hasValidContext() const;
  /// The id of the calling thread's context, or kNoContext.
  static int64_t currentContextId();
  /// Another in its place. setCurrentContextId() throws c10::Error where the thread has one already.
  static void setCurrentContextId(int64_t id);
  static void forceCurrentContextId(int64_t id);
  void clearCurrentContext();
  /// Throws c10::Error where there is no such context here.
  void isValidContext(int64_t id) const { retrieveContext(id); }
  /// Throws c10::Error where there is none.
  ContextPtr retrieveContext(int64_t id) const;
  ContextPtr getOrCreateContext(int64_t id);
  /// Ends it here and on all workers that know of it; the calling thread leaves it. releaseContext() throws c10::Error
  /// where there is none.
  void releaseContext(int64_t id);
  void releaseContextIfPresent(int64_t id);
  worker_id_t getWorkerId() const { return own_; }
  /// A number that no message, pass or context of any worker has.
  int64_t newAutogradMessageId();
  size_t numAutogradContexts() const;
  void close();

  /// A message that is about to be sent in context `id` (0: none): its tensors leave the graph through a node of this
  /// worker.
  void record_send(Message& message, worker_id_t to, int64_t id);
  /// A message that came: its tensors enter the graph through a node of this worker. An answer to a context that is
  /// gone is not recorded.
  void record_recv(Message& message);

  void backward(int64_t id, const std::vector<at::Tensor>& roots, bool retain_graph);
  /// The answer to BACKWARD_AUTOGRAD_REQ.
  FuturePtr propagate(const Message& request);

 private:
  ContextPtr find(int64_t id) const;
  std::shared_ptr<rpc::RpcAgent> agent() const;

  const std::weak_ptr<rpc::RpcAgent> agent_;
  const worker_id_t own_;
  mutable std::mutex mutex_;
  int64_t next_ = 1;
  std::map<int64_t, ContextPtr> contexts_;
};

}  // namespace torch::distributed::autograd
