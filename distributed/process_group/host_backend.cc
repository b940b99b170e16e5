#include "distributed/process_group/host_backend.h"

#include <exception>
#include <utility>

#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d {
namespace {

using Clock = std::chrono::steady_clock;

// Tags of messages between two ranks, and of operations of all, of which each has two.
constexpr uint32_t kBetweenRanks = 0x80000000u, kMonitored = 0x7FFFFFFFu, kSequences = 1u << 29;

// How often a thread looks for an operation that was to be waited for, how long one lies in the queue before it is
// taken for one that is not, and after how many looks at an empty queue it goes to sleep.
constexpr std::chrono::microseconds kLook(1000), kAtOnce(200);
constexpr int kLooks = 20;
// How many operations in a row were waited for where the next one is expected to be.
constexpr int kHabit = 3;

}  // namespace

// Knows its backend as long as it waits in the queue, which the backend outlives.
class HostBackend::HostOperation final : public Operation {
 public:
  HostOperation(HostBackend* backend, int rank, const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                std::vector<at::Tensor> outputs, Body body, uint64_t record)
      : Operation(rank, fingerprint, timeout, std::move(outputs), std::move(body), record),
        waited_for_(backend->waited_for_),
        backend_(backend) {}

  bool wait(std::chrono::milliseconds timeout) override {
    if (timeout == kNoTimeout || timeout == kUnsetTimeout) {
      std::chrono::steady_clock::now() - started_ < kAtOnce ? waited_for_->fetch_add(1) : waited_for_->exchange(0);
      run_here();
    }
    return Operation::wait(timeout);
  }
  // By a thread of the backend's, before it runs it.
  void set_taken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    backend_ = nullptr;
  }

 private:
  void run_here() {
    HostBackend* backend = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (backend_ == nullptr || !backend_->lend(*this)) return;
      backend = std::exchange(backend_, nullptr);
    }
    backend->run_lent(OperationPtr::reclaim_copy(this));
  }

  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const std::shared_ptr<std::atomic<int>> waited_for_;  // the backend's
  std::mutex mutex_;
  HostBackend* backend_;  // guarded by mutex_
};

HostBackend::HostBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<HostOptions> options,
                         std::unique_ptr<Notice> notice)
    : EngineBackend(std::move(engine), options, std::move(notice)),
      number_of_threads_(options->threads),
      compares_calls_(options->compare_calls) {
  TORCH_CHECK(number_of_threads_ >= 0, "Options: expected no thread or more, but got ", number_of_threads_);
  for (int i = 0; i < number_of_threads_; ++i) threads_.emplace_back([this] { serve(); });
}

HostBackend::~HostBackend() {
  end_threads();
  for (std::thread& own : threads_) {
    own.detach();
    is_gone_ = true;
  }
}

thread_local const HostBackend::Line* HostBackend::own_line_ = nullptr;

// All but the thread that calls, where it is one of them: that does what is left first, since the others, or other
// ranks, may wait for it.
void HostBackend::end_threads() {
  std::vector<std::thread> others;
  bool is_own = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    for (std::thread& thread : threads_) {
      if (thread.get_id() != std::this_thread::get_id()) others.push_back(std::move(thread));
    }
    std::erase_if(threads_, [](const std::thread& thread) { return !thread.joinable(); });
    is_own = !threads_.empty();
  }
  queue_changed_.notify_all();
  lines_changed_.notify_all();
  if (is_own) {
    if (own_line_ != nullptr) {
      std::unique_lock<std::mutex> lock(mutex_);
      serve_line(lock, *own_line_);
    }
    serve();
    serve_lines();
  }
  for (std::thread& thread : others) thread.join();
  std::unique_lock<std::mutex> lock(mutex_);
  is_idle_.wait(lock, [&] { return active_ == 0; });
}

EngineBackend::OperationPtr HostBackend::make_operation(const Fingerprint& fingerprint,
                                                        std::chrono::milliseconds timeout,
                                                        std::vector<at::Tensor> outputs, Body body, uint64_t record) {
  const bool is_lent = number_of_threads_ > 0 && !isP2POp(fingerprint.operation);
  if (!is_lent) return EngineBackend::make_operation(fingerprint, timeout, std::move(outputs), std::move(body), record);
  return c10::make_intrusive<HostOperation>(this, rank_, fingerprint, timeout, std::move(outputs), std::move(body),
                                            record);
}

void HostBackend::enqueue(const OperationPtr& operation) {
  if (number_of_threads_ == 0) return;
  if (isP2POp(operation->retrieveOpType())) return queue_on_line(operation);
  operation->begin = Clock::now();
  has_started_ = true;
  queue_.push_back(operation);
}

// Waking a thread takes longer than a small operation: no thread is woken for one that is about to be waited for.
void HostBackend::carry_on(const OperationPtr& operation) {
  if (number_of_threads_ == 0) return run(operation);
  if (isP2POp(operation->retrieveOpType())) return lines_changed_.notify_one();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty() || (expects_wait() && is_looking_ && queue_.size() == 1 && !stopping_)) return;
  }
  queue_changed_.notify_one();
}

// Whether the operation left the queue for the thread that waits for it.
bool HostBackend::lend(const HostOperation& operation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty() || queue_.front().get() != &operation || active_ == number_of_threads_) return false;
  queue_.pop_front();
  ++active_;
  return true;
}

// As a thread of the backend's would: with nothing switched on or off. The backend may be gone then.
void HostBackend::run_lent(OperationPtr operation) {
  const c10::ThreadState state = std::exchange(c10::thread_state(), c10::ThreadState());
  run(std::move(operation));
  c10::thread_state() = state;
}

void HostBackend::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    await_operation(lock);
    if (queue_.empty()) return;
    OperationPtr operation = std::move(queue_.front());
    queue_.pop_front();
    ++active_;
    if (!queue_.empty()) queue_changed_.notify_one();
    lock.unlock();
    static_cast<HostOperation&>(*operation).set_taken();
    run(std::move(operation));
    if (is_gone_) return;
    lock.lock();
  }
}

// Last of all comes what the operation's future calls, which may destroy the backend.
void HostBackend::run(OperationPtr operation) {
  const auto begin = Clock::now();
  const auto ms = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); };
  operation->begin = begin;
  recorder_->start(operation->record);
  std::exception_ptr error;
  try {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running_.push_back(operation);
      if (!broken_.empty()) TORCH_CHECK_WITH(DistBackendError, false, broken_);
    }
    const c10::AutoDispatchBelowADInplaceOrView plain;
    Engine::Call call{.deadline = begin + operation->getTimeout()};
    const bool is_between = isP2POp(operation->retrieveOpType());
    call.tag = is_between ? kBetweenRanks | static_cast<uint32_t>(operation->tag)
                          : static_cast<uint32_t>(operation->fingerprint.sequence % kSequences * 2);
    bool has_agreed = is_between || !compares_calls_ || size_ == 1;
    call.agree = [&] {
      if (std::exchange(has_agreed, true)) return;
      compare_calls({.tag = call.tag - 1, .deadline = call.deadline}, operation->fingerprint);
    };
    if (!is_between) ++call.tag;
    if (!engine_->agrees()) call.agree();
    operation->body(call, *operation);
    call.agree();
  } catch (const std::exception& e) {
    error = failed(*operation, e, ms());
  }
  recorder_->end(operation->record, error != nullptr);
  operation->body = nullptr;  // and the tensors that it holds
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(running_, operation);
    if (number_of_threads_ > 0 && !isP2POp(operation->retrieveOpType())) {
      --active_;
      if (!queue_.empty()) queue_changed_.notify_one();
      is_idle_.notify_all();
    }
  }
  operation->finish(error);
}

// All calls are the same if each is its left neighbour's.
void HostBackend::compare_calls(const Engine::Call& call, const Fingerprint& mine) {
  Fingerprint theirs;
  const int left = (rank_ + size_ - 1) % size_;
  static_assert(std::is_trivially_copyable_v<Fingerprint>);
  engine_->send_receive(call, &mine, (rank_ + 1) % size_, &theirs, left, sizeof mine);
  TORCH_CHECK_WITH(DistBackendError, theirs == mine, "the ranks do not call the same: rank ", rank_, " called ",
                   describe(mine), ", and rank ", left, " called ", describe(theirs));
}

bool HostBackend::expects_wait() const {
  return *waited_for_ >= kHabit;
}

// Until a thread of the backend's is to take the first operation of the queue, or the backend ends and there is none.
void HostBackend::await_operation(std::unique_lock<std::mutex>& lock) {
  int looks = 0;
  while (true) {
    if (queue_.empty() ? stopping_ : active_ < number_of_threads_) {
      if (queue_.size() != 1 || !expects_wait() || stopping_) return;
      if (Clock::now() - queue_.front()->begin >= kAtOnce) {
        *waited_for_ = 0;
        return;
      }
    }
    if (!expects_wait() || is_looking_ || (queue_.empty() && looks >= kLooks)) {
      queue_changed_.wait(lock);
      looks = 0;
      continue;
    }
    is_looking_ = true;
    has_started_ = false;
    queue_changed_.wait_for(lock, kLook);
    is_looking_ = false;
    looks = has_started_ ? 0 : looks + 1;
  }
}

void HostBackend::queue_on_line(const OperationPtr& operation) {
  const Line line(operation->retrieveOpType(), operation->peer, operation->tag);
  const auto [waiting, is_new] = lines_.try_emplace(line);
  waiting->second.push_back(operation);
  if (!is_new) return;
  ready_lines_.push_back(line);
  // A message waits for another rank: no other may wait for it.
  if (idle_line_threads_ < ready_lines_.size()) threads_.emplace_back([this] { serve_lines(); });
}

void HostBackend::serve_lines() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_line_threads_;
    lines_changed_.wait(lock, [&] { return stopping_ || !ready_lines_.empty(); });
    --idle_line_threads_;
    if (ready_lines_.empty()) return;
    const Line line = ready_lines_.front();
    ready_lines_.pop_front();
    const Line* const outer = std::exchange(own_line_, &line);
    serve_line(lock, line);
    if (is_gone_) return;
    own_line_ = outer;
    lines_.erase(line);
  }
}

void HostBackend::serve_line(std::unique_lock<std::mutex>& lock, const Line& line) {
  std::deque<OperationPtr>& waiting = lines_[line];
  while (!waiting.empty()) {
    OperationPtr operation = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    run(std::move(operation));
    if (is_gone_) return;
    lock.lock();
  }
}

void HostBackend::monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks) {
  std::chrono::milliseconds timeout = opts.timeout;
  take_in_what_was_heard();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_usable();
    if (timeout == kUnsetTimeout) timeout = options_->timeout;
  }
  const Engine::Call call{.tag = kMonitored, .deadline = Clock::now() + timeout};
  char message = 0;
  if (rank_ != 0) {
    try {
      engine_->send(call, &message, 1, 0);
      engine_->receive(call, &message, 1, 0);
    } catch (const c10::Error& e) {
      TORCH_CHECK_WITH(DistBackendError, false, "[Rank ", rank_,
                       "]: rank 0 did not pass monitoredBarrier, or found a rank that ", "did not: ", e.msg());
    }
    return;
  }
  std::vector<bool> is_here(static_cast<size_t>(size_));
  std::string why;
  for (int here = 1; here < size_ && why.empty(); ++here) {
    try {
      is_here[static_cast<size_t>(engine_->receive_any(call, &message, 1))] = true;
    } catch (const c10::Error& e) {
      why = e.msg();
    }
  }
  std::vector<int> missing;
  for (int rank = 1; rank < size_ && (missing.empty() || wait_all_ranks); ++rank) {
    if (!is_here[static_cast<size_t>(rank)]) missing.push_back(rank);
  }
  if (!missing.empty()) {
    std::string text = c10::str("[Rank 0]: Rank", missing.size() == 1 ? " " : "s ", c10::Join(", ", missing),
                                " failed to pass monitoredBarrier in ", timeout.count(), " ms: ", why);
    const std::string message_of_error = text;
    break_group(text, {missing});
    TORCH_CHECK_WITH(DistBackendError, false, message_of_error);
  }
  for (int rank = 1; rank < size_; ++rank) engine_->send(call, &message, 1, rank);
}

void HostBackend::shutdown() {
  end_threads();
}

}  // namespace c10d
