// What carries messages between workers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "distributed/process_group/rank_local.h"
#include "distributed/rpc/message.h"
#include "distributed/rpc/types.h"

namespace torch::distributed::rpc {

/// What answers the requests of other workers. Called by any number of threads at once.
class RequestCallback {
 public:
  virtual ~RequestCallback() = default;
  /// Takes a future of the answer (to_value).
  using Answer = std::function<void(const FuturePtr&)>;
  /// Calls `answer` once, at any time before it returns. The error that the future is completed with, or, where there
  /// was no answer yet, what this throws, is sent as an exception.
  virtual void operator()(const MessagePtr& request, const Answer& answer) = 0;
};

/// Runs functions at later times, on one thread.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;
  Timer();
  ~Timer();
  void at(Clock::time_point when, std::function<void()> run);
  /// Drops what is left; what runs has ended when this returns.
  void stop();

 private:
  void serve();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> queue_;
  bool stopped_ = false;
  std::thread thread_;
};

/// Carries messages. Everything but the constructor is thread-safe; an agent belongs to the rank (c10d::RankLocal) that
/// made it.
class RpcAgent : public std::enable_shared_from_this<RpcAgent> {
 public:
  RpcAgent(WorkerInfo worker, std::unique_ptr<RequestCallback> callback, std::chrono::milliseconds rpc_timeout);
  virtual ~RpcAgent();
  RpcAgent(const RpcAgent&) = delete;
  RpcAgent& operator=(const RpcAgent&) = delete;

  /// Sends a request, also to this worker itself. The future is of the answer (to_message), or of an error: what the
  /// other worker threw, or a c10::DistNetworkError that names it where it does not answer within the timeout or cannot
  /// be reached. Throws c10::ValueError for a message that is too large.
  virtual FuturePtr send(const WorkerInfo& to, MessagePtr message, float timeout_seconds = kUnsetRpcTimeout) = 0;
  /// The same for requests that may arrive more than once: sent again where they fail.
  FuturePtr sendWithRetries(const WorkerInfo& to, MessagePtr message, const RpcRetryOptions& options = {});

  /// This worker; another one. Throws c10::ValueError where there is none.
  const WorkerInfo& getWorkerInfo() const { return worker_; }
  virtual const WorkerInfo& getWorkerInfo(const std::string& name) const = 0;
  virtual const WorkerInfo& getWorkerInfo(worker_id_t id) const = 0;
  virtual std::vector<WorkerInfo> getWorkerInfos() const = 0;
  const WorkerInfo& find(const WorkerRef& ref) const;

  std::chrono::milliseconds getRpcTimeout() const;
  void setRpcTimeout(std::chrono::milliseconds timeout);

  /// Starts and ends it. shutdown() fails what is still waited for; after it, send() throws.
  virtual void start() = 0;
  virtual void shutdown() = 0;

  /// Calls of functions and references that this worker has sent since it was started, how many it waits for, and how
  /// many functions run here for others or wait to.
  struct Activity {
    int64_t sent = 0, waiting = 0, running = 0;
  };
  virtual Activity activity() const = 0;

  /// Counts, for people to read.
  virtual std::unordered_map<std::string, std::string> getMetrics() const = 0;
  std::unordered_map<std::string, std::string> getDebugInfo() const { return getMetrics(); }

  Timer& timer() { return timer_; }

  /// The agent of the calling thread's rank. getCurrentRpcAgent throws c10::Error where there is none: init_rpc was not
  /// called.
  static bool isCurrentRpcAgentSet();
  static std::shared_ptr<RpcAgent> getCurrentRpcAgent();
  static void setCurrentRpcAgent(std::shared_ptr<RpcAgent> agent);

 protected:
  RequestCallback& callback() { return *callback_; }
  const c10d::RankContextPtr& rank() const { return rank_; }

 private:
  void try_to_send(const WorkerInfo& to, const MessagePtr& message, const RpcRetryOptions& options, int tried,
                   const FuturePtr& result);

  const WorkerInfo worker_;
  const std::unique_ptr<RequestCallback> callback_;
  const c10d::RankContextPtr rank_;
  mutable std::mutex mutex_;
  std::chrono::milliseconds rpc_timeout_;
  Timer timer_;
};

/// A future of messages and values.
inline FuturePtr make_future() {
  return c10::make_intrusive<JitFuture>(c10::AnyType::get());
}

}  // namespace torch::distributed::rpc
