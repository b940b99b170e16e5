#include "distributed/rpc/rpc.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/rendezvous.h"
#include "distributed/rpc/autograd_context.h"
#include "distributed/rpc/grpc_agent.h"
#include "distributed/rpc/requests.h"
#include "distributed/store/prefix_store.h"

namespace torch::distributed::rpc {
namespace {

using c10::IValue;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Where all workers meet in shutdown(): they come to worker 0, in rounds, and say how many calls they have sent since
// the last one. A round is over when all have come; the last is the one in which nobody has sent any.
class Meeting {
 public:
  explicit Meeting(size_t size) : size_(size) {}

  // The future is of the calls of all.
  FuturePtr come(worker_id_t worker, int64_t sent) {
    const FuturePtr total = make_future();
    std::map<worker_id_t, FuturePtr> all;
    int64_t sum = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (failure_) {
        total->setError(failure_);
        return total;
      }
      come_[worker] = total;
      sum_ += sent;
      if (come_.size() < size_) return total;
      all.swap(come_);
      sum = std::exchange(sum_, 0);
    }
    for (const auto& [who, future] : all) future->markCompleted(sum);
    return total;
  }
  std::set<worker_id_t> here() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::set<worker_id_t> workers;
    for (const auto& [who, future] : come_) workers.insert(who);
    return workers;
  }
  void fail(std::exception_ptr error) {
    std::map<worker_id_t, FuturePtr> all;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      failure_ = error;
      all.swap(come_);
    }
    for (const auto& [who, future] : all) future->setErrorIfNeeded(error);
  }

 private:
  const size_t size_;
  mutable std::mutex mutex_;
  std::map<worker_id_t, FuturePtr> come_;
  int64_t sum_ = 0;
  std::exception_ptr failure_;
};

struct Worker {
  std::shared_ptr<GrpcAgent> agent;
  std::shared_ptr<Meeting> meeting;
  milliseconds lease{0};
  c10::intrusive_ptr<c10d::Store> store;  // whose server may be this worker's
};
// This rank's, and how often it was one.
struct Own {
  std::mutex mutex;
  std::unique_ptr<Worker> worker;
  int64_t starts = 0;
};
Own& own() {
  return c10d::RankLocal<Own>::get();
}

std::string key_of(int rank) {
  return c10::str("worker/", rank);
}

// Names and addresses of all workers, and the number of the job.
std::pair<std::vector<Peer>, uint64_t> exchange(c10d::Store& store, const WorkerInfo& self, const std::string& address,
                                                int world_size, milliseconds timeout) {
  if (self.id_ == 0) {
    std::random_device random;
    store.set("job", std::to_string(static_cast<uint64_t>(random()) << 32 | random()));
  }
  TORCH_CHECK_VALUE(!store.check({key_of(self.id_)}), "init_rpc: there is a worker of rank ", self.id_, " already");
  store.set(key_of(self.id_), self.name_ + "\n" + address);
  std::vector<std::string> keys{"job"};
  for (int rank = 0; rank < world_size; ++rank) keys.push_back(key_of(rank));
  try {
    store.wait(keys, timeout);
  } catch (const c10::DistStoreError&) {
    std::string missing;
    for (int rank = 0; rank < world_size; ++rank) {
      if (!store.check({key_of(rank)})) missing += c10::str(missing.empty() ? "" : ", ", rank);
    }
    TORCH_CHECK_WITH(DistNetworkError, false, "init_rpc: worker \"", self.name_, "\" (rank ", self.id_, " of ",
                     world_size, ") has waited ", timeout.count(), " ms; there is no word from rank ", missing);
  }
  std::vector<Peer> peers;
  std::map<std::string, int> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string entry = store.get_to_str(key_of(rank));
    const size_t end = entry.find('\n');
    peers.push_back({WorkerInfo(entry.substr(0, end), rank), entry.substr(end + 1)});
    const auto [at, is_new] = ranks.emplace(peers.back().worker.name_, rank);
    TORCH_CHECK_VALUE(is_new, "init_rpc: ranks ", at->second, " and ", rank, " have one name, \"", at->first, "\"");
  }
  return {std::move(peers), std::stoull(store.get_to_str("job"))};
}

// Waits until nothing runs here for others and nothing is waited for. Returns how many calls were sent so far.
int64_t wait_for_rest(const RpcAgent& agent) {
  for (milliseconds pause{0};; pause = std::min(pause + milliseconds(1), milliseconds(20))) {
    const RpcAgent::Activity activity = agent.activity();
    if (activity.waiting == 0 && activity.running == 0) return activity.sent;
    std::this_thread::sleep_for(pause);
  }
}

std::exception_ptr network_error(const std::string& text) {
  return std::make_exception_ptr(c10::DistNetworkError(c10::SourceLocation{"shutdown", __FILE__, __LINE__}, text));
}

// On worker 0, until the round is over: looks for workers that have not come, whether they still live.
void watch_missing(Worker& worker, const FuturePtr& round) {
  const auto gone = std::make_shared<std::pair<std::mutex, std::set<worker_id_t>>>();  // those that are being asked
  for (Clock::time_point next = Clock::now() + worker.lease / 3; !round->completed();) {
    std::this_thread::sleep_for(std::min<milliseconds>(worker.lease / 30 + milliseconds(1), milliseconds(20)));
    if (Clock::now() < next) continue;
    next = Clock::now() + worker.lease / 3;
    const std::set<worker_id_t> here = worker.meeting->here();
    for (const WorkerInfo& other : worker.agent->getWorkerInfos()) {
      if (here.count(other.id_) != 0) continue;
      {
        const std::lock_guard<std::mutex> lock(gone->first);
        if (!gone->second.insert(other.id_).second) continue;
      }
      MessagePtr message = pack(MessageType::HEARTBEAT, std::vector<int64_t>{});
      message->about = "a heartbeat";
      worker.agent->send(other, std::move(message), static_cast<float>(worker.lease.count()) / 1000)
          ->addCallback([gone, id = other.id_, meeting = worker.meeting](JitFuture& done) {
            if (done.hasError()) {
              return meeting->fail(
                  network_error("shutdown: not all workers have come: " + done.tryRetrieveErrorMessage()));
            }
            const std::lock_guard<std::mutex> lock(gone->first);
            gone->second.erase(id);
          });
    }
  }
}

// Returns when all workers are here and nothing is left to do.
void meet(Worker& worker) {
  RpcAgent& agent = *worker.agent;
  for (int64_t before = -1;;) {
    const int64_t sent = wait_for_rest(agent);
    FuturePtr round;
    if (agent.getWorkerInfo().id_ == 0) {
      round = worker.meeting->come(0, sent - before);
      watch_missing(worker, round);
    } else {
      MessagePtr message = pack(MessageType::JOIN, sent - before);
      message->about = "shutdown";
      round = agent.send(agent.getWorkerInfo(worker_id_t{0}), std::move(message), 0);
      // 0 calls to the first worker of the job.
      round = round->then([](JitFuture& done) { return unpack(*to_message(done.value())); }, c10::AnyType::get());
    }
    before = sent;
    if (detail::wait_for(round).toInt() == 0) return;
  }
}

}  // namespace

void init_rpc(const std::string& name, int rank, int world_size, const RpcBackendOptions& options) {
  options.check();
  const WorkerInfo wanted(name, std::max(rank, 0));
  Own& self = own();
  int64_t start = 0;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    TORCH_CHECK(!self.worker, "init_rpc: this rank is worker \"", self.worker->agent->getWorkerInfo().name_,
                "\" already");
    start = self.starts++;
  }
  const milliseconds timeout = to_milliseconds(options.rpcTimeoutSeconds);
  c10d::Rendezvous found{.store = options.store, .rank = rank, .world_size = world_size};
  if (!options.store) {
    found = c10d::rendezvous(options.initMethod, rank, world_size,
                             timeout.count() == 0 ? c10d::Store::kNoTimeout : timeout);
  }
  TORCH_CHECK_VALUE(found.world_size > 0 && found.rank >= 0 && found.rank < found.world_size, "init_rpc: rank ",
                    found.rank, " is not of 0 to world_size - 1, ", found.world_size - 1);
  const WorkerInfo info(name, found.rank);
  auto store = c10::make_intrusive<c10d::PrefixStore>(c10::str("rpc_prefix_", start), found.store);

  auto handler = std::make_unique<RequestHandler>();
  RequestHandler& requests = *handler;
  auto worker = std::make_unique<Worker>();
  worker->agent = GrpcAgent::create(info, std::move(handler), options);
  worker->meeting = std::make_shared<Meeting>(found.world_size);
  worker->lease = to_milliseconds(options.lease);
  worker->store = found.store;
  const auto autograd = std::make_shared<autograd::DistAutogradContainer>(worker->agent, info.id_);
  const auto context = std::make_shared<RRefContext>(worker->agent, autograd, info.id_, worker->lease);
  requests.serve(context, [meeting = worker->meeting](const Message& message) {
    return meeting->come(message.from, unpack(message).toInt())
        ->then([](JitFuture& done) { return to_value(pack(MessageType::EMPTY_RET, done.value())); },
               c10::AnyType::get());
  });
  auto [peers, job] = exchange(*store, info, worker->agent->address(), found.world_size, timeout);
  worker->agent->set_peers(std::move(peers), job);
  // Before the first function of another worker may run.
  RRefContext::set_current(context);
  RpcAgent::setCurrentRpcAgent(worker->agent);
  worker->agent->start();
  context->keep_alive();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.worker = std::move(worker);
}

void shutdown(bool graceful) {
  TORCH_CHECK(!in_function(), "shutdown: a function of another worker cannot end RPC");
  std::unique_ptr<Worker> worker;
  {
    Own& self = own();
    const std::lock_guard<std::mutex> lock(self.mutex);
    worker = std::move(self.worker);
  }
  if (!worker) return;
  std::exception_ptr error;
  try {
    if (graceful) meet(*worker);
  } catch (...) {
    error = std::current_exception();
  }
  const std::shared_ptr<RRefContext> context = RRefContext::current();
  worker->agent->timer().stop();
  worker->agent->shutdown();
  context->close();
  context->autograd()->close();
  RRefContext::set_current(nullptr);
  RpcAgent::setCurrentRpcAgent(nullptr);
  if (error) std::rethrow_exception(error);
}

const WorkerInfo& get_worker_info() {
  return RpcAgent::getCurrentRpcAgent()->getWorkerInfo();
}
const WorkerInfo& get_worker_info(const WorkerRef& worker) {
  return RpcAgent::getCurrentRpcAgent()->find(worker);
}
std::vector<WorkerInfo> get_worker_infos() {
  return RpcAgent::getCurrentRpcAgent()->getWorkerInfos();
}

FuturePtr rpc_async(const WorkerRef& to, const std::string& function, const Args& args, float timeout) {
  const std::shared_ptr<RRefContext> context = RRefContext::current();
  const worker_id_t worker = context->agent()->find(to).id_;
  return request_value(context, worker, call_message(context, MessageType::SCRIPT_CALL, worker, function, args),
                       timeout, autograd::current_context_id());
}

RRefPtr remote(const WorkerRef& to, const std::string& function, const Args& args, float timeout) {
  const std::shared_ptr<RRefContext> context = RRefContext::current();
  const worker_id_t worker = context->agent()->find(to).id_;
  const RRefId id = context->next_id();
  const ForkId fork = context->next_id();
  MessagePtr message = call_message(context, MessageType::SCRIPT_REMOTE_CALL, worker, function, args,
                                    {id.createdOn_, id.localId_, fork.createdOn_, fork.localId_});
  if (worker != context->own()) {
    const FuturePtr confirmed = make_future();
    RRefPtr reference = context->make_user(worker, id, fork, confirmed);
    request_value(context, worker, std::move(message), timeout, autograd::current_context_id())
        ->addCallback([confirmed](JitFuture& done) {
          if (done.hasError()) return confirmed->setErrorIfNeeded(done.exception_ptr());
          confirmed->markCompleted();
        });
    return reference;
  }
  const c10::intrusive_ptr<OwnerRRef> reference = context->owner_for_call(id, fork);
  request_value(context, worker, std::move(message), timeout, autograd::current_context_id())
      ->addCallback([context, reference, id, fork](JitFuture& done) {
        if (done.hasError()) reference->set_error(done.exception_ptr());
        context->delete_fork(id, fork);
      });
  return reference;
}

}  // namespace torch::distributed::rpc
