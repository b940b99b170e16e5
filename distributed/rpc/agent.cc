#include "distributed/rpc/agent.h"

#include <cmath>
#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed::rpc {
namespace {

struct CurrentAgent {
  std::mutex mutex;
  std::shared_ptr<RpcAgent> agent;
};

std::shared_ptr<RpcAgent> current() {
  CurrentAgent& own = c10d::RankLocal<CurrentAgent>::get();
  const std::lock_guard<std::mutex> lock(own.mutex);
  return own.agent;
}

}  // namespace

Timer::Timer() : thread_([this] { serve(); }) {}
Timer::~Timer() {
  stop();
}

void Timer::at(Clock::time_point when, std::function<void()> run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return;
  queue_.emplace(when, std::move(run));
  changed_.notify_one();
}

void Timer::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Timer::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_) {
    if (queue_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point first = queue_.begin()->first;
    if (Clock::now() < first) {
      changed_.wait_until(lock, first);
      continue;
    }
    const std::function<void()> run = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    lock.unlock();
    run();
    lock.lock();
  }
  std::multimap<Clock::time_point, std::function<void()>> dropped;
  dropped.swap(queue_);
  lock.unlock();
}

RpcAgent::RpcAgent(WorkerInfo worker, std::unique_ptr<RequestCallback> callback, std::chrono::milliseconds rpc_timeout)
    : worker_(std::move(worker)),
      callback_(std::move(callback)),
      rank_(c10d::current_rank()),
      rpc_timeout_(rpc_timeout) {}

RpcAgent::~RpcAgent() = default;

const WorkerInfo& RpcAgent::find(const WorkerRef& ref) const {
  if (ref.by_name()) return getWorkerInfo(ref.name());
  TORCH_CHECK_VALUE(ref.id() >= 0 && ref.id() <= INT16_MAX, "rpc: there is no worker of rank ", ref.id());
  return getWorkerInfo(static_cast<worker_id_t>(ref.id()));
}

std::chrono::milliseconds RpcAgent::getRpcTimeout() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rpc_timeout_;
}
void RpcAgent::setRpcTimeout(std::chrono::milliseconds timeout) {
  TORCH_CHECK_VALUE(timeout.count() >= 0, "rpc: a timeout must be 0 or more, but got ", timeout.count(), " ms");
  const std::lock_guard<std::mutex> lock(mutex_);
  rpc_timeout_ = timeout;
}

FuturePtr RpcAgent::sendWithRetries(const WorkerInfo& to, MessagePtr message, const RpcRetryOptions& options) {
  FuturePtr result = make_future();
  try_to_send(to, message, options, 0, result);
  return result;
}

void RpcAgent::try_to_send(const WorkerInfo& to, const MessagePtr& message, const RpcRetryOptions& options, int tried,
                           const FuturePtr& result) {
  FuturePtr attempt;
  try {
    attempt = send(to, message);
  } catch (...) {
    return result->setErrorIfNeeded(std::current_exception());
  }
  attempt->addCallback([self = weak_from_this(), to, message, options, tried, result](JitFuture& done) {
    if (done.hasValue()) return result->markCompleted(done.value());
    const std::shared_ptr<RpcAgent> agent = self.lock();
    if (!agent || tried >= options.maxRetries) return result->setErrorIfNeeded(done.exception_ptr());
    const double wait = static_cast<double>(options.rpcRetryDuration.count()) * std::pow(options.retryBackoff, tried);
    agent->timer().at(Timer::Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(wait)),
                      [self, to, message, options, tried, result] {
                        if (const std::shared_ptr<RpcAgent> again = self.lock())
                          again->try_to_send(to, message, options, tried + 1, result);
                      });
  });
}

bool RpcAgent::isCurrentRpcAgentSet() {
  return current() != nullptr;
}
std::shared_ptr<RpcAgent> RpcAgent::getCurrentRpcAgent() {
  std::shared_ptr<RpcAgent> agent = current();
  TORCH_CHECK(agent != nullptr, "RPC has not been initialized. Call torch::distributed::rpc::init_rpc first.");
  return agent;
}
void RpcAgent::setCurrentRpcAgent(std::shared_ptr<RpcAgent> agent) {
  CurrentAgent& own = c10d::RankLocal<CurrentAgent>::get();
  {
    const std::lock_guard<std::mutex> lock(own.mutex);
    own.agent.swap(agent);
  }
}

}  // namespace torch::distributed::rpc
