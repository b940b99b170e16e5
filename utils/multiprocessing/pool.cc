#include "utils/multiprocessing/pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "utils/multiprocessing/sharing.h"
#include "utils/multiprocessing/workers.h"

namespace torch::multiprocessing {

using c10::IValue;
using std::chrono::milliseconds;
using Calls = std::vector<std::vector<IValue>>;

struct detail::Batch {
  struct Outcome {
    IValue value;
    std::exception_ptr thrown;
    bool done = false;
  };

  explicit Batch(size_t size) : outcomes(size) {}

  // Calls the callbacks.
  void set(size_t i, IValue value, std::exception_ptr thrown) {
    {
      const std::lock_guard lock(mutex);
      outcomes[i] = {value, thrown, true};
      order.push_back(i);
      if (thrown != nullptr && first_thrown == nullptr) first_thrown = thrown;
    }
    changed.notify_all();
    if (thrown == nullptr && callback) callback(value);
    if (thrown != nullptr && error_callback) error_callback(thrown);
  }

  // Whether `is_so` is, at the end of `timeout` at the latest. With the lock.
  template <class F>
  bool wait(std::unique_lock<std::mutex>& lock, std::optional<milliseconds> timeout, const F& is_so) {
    if (timeout.has_value()) return changed.wait_for(lock, *timeout, is_so);
    changed.wait(lock, is_so);
    return true;
  }
  bool all_done() const { return order.size() == outcomes.size(); }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Outcome> outcomes;
  std::vector<size_t> order;  // in which they came
  std::exception_ptr first_thrown;
  std::function<void(const IValue&)> callback;
  std::function<void(std::exception_ptr)> error_callback;
};

namespace {

IValue list_of(const std::vector<IValue>& values) {
  c10::impl::GenericList list(c10::AnyType::get());
  for (const IValue& value : values) list.push_back(value);
  return list;
}

std::vector<IValue> values_of(const IValue& list) {
  const auto elements = list.toListRef();
  return std::vector<IValue>(elements.begin(), elements.end());
}

bool is_closed(int socket) {
  char byte;
  const ssize_t n = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

// (false, what was thrown) or (true, the value).
IValue outcome_of(const detail::Boxed& function, const std::vector<IValue>& args) {
  try {
    return std::make_tuple(true, function(args));
  } catch (const std::exception& e) {
    return std::make_tuple(false, IValue(c10::GetExceptionString(e)));
  } catch (...) {
    return std::make_tuple(false, IValue(std::string("an exception that is no std::exception")));
  }
}

}  // namespace

void detail::run_pool_worker(int socket, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (;;) {
    pollfd readable{socket, POLLIN, 0};
    ::poll(&readable, 1, -1);
    if (is_closed(socket)) break;
    std::vector<IValue> outcomes;
    try {
      const IValue message = receive(socket);
      const auto& parts = message.toTupleRef().elementsArrayRef();
      const Boxed& function = find_function(parts[0].toStringRef());
      for (const IValue& args : parts[1].toListRef()) outcomes.push_back(outcome_of(function, values_of(args)));
      send(socket, list_of(outcomes));
    } catch (const std::exception& e) {
      // The message, the function or a result is not to be had: all calls of the message share it.
      try {
        send(socket, IValue(c10::GetExceptionString(e)));
      } catch (const std::exception&) {
        ::_exit(1);
      }
    }
  }
  std::fflush(nullptr);
  // Results that are shared by name are this process's until they are received.
  wait_until_received(std::chrono::seconds(30));
  ::_exit(0);
}

class Pool::Impl {
 public:
  Impl(int processes, bool spawns) : spawns_(spawns), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TORCH_CHECK(wake_ >= 0, "Pool: cannot make an event: ", std::strerror(errno));
    workers_.resize(static_cast<size_t>(processes));
    std::promise<void> started;
    std::future<void> is_started = started.get_future();
    // The kernel kills workers when the thread that started them ends: all are started by this one.
    thread_ = std::thread([this, &started] { run(started); });
    try {
      is_started.get();
    } catch (...) {
      thread_.join();
      ::close(wake_);
      throw;
    }
  }

  ~Impl() {
    stop(/*kills=*/true);
    join();
    ::close(wake_);
  }

  std::shared_ptr<detail::Batch> submit(const Function& fn, Calls calls, size_t chunksize,
                                        std::shared_ptr<detail::Batch> batch) {
    {
      const std::lock_guard lock(mutex_);
      TORCH_CHECK(!closed_, "Pool: it is closed");
      for (size_t begin = 0; begin < calls.size(); begin += chunksize) {
        const size_t end = std::min(calls.size(), begin + chunksize);
        std::vector<IValue> part;
        for (size_t i = begin; i < end; ++i) part.push_back(list_of(calls[i]));
        tasks_.push_back({batch, begin, end - begin, std::make_tuple(fn.name(), list_of(part))});
      }
    }
    wake();
    return batch;
  }

  void stop(bool kills) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      killed_ |= kills;
    }
    wake();
  }

  void join() {
    {
      const std::lock_guard lock(mutex_);
      TORCH_CHECK_VALUE(closed_, "Pool: close() or terminate() comes before join()");
    }
    const std::lock_guard lock(joining_);
    if (thread_.joinable()) thread_.join();
  }

  std::vector<pid_t> pids() const {
    const std::lock_guard lock(mutex_);
    std::vector<pid_t> pids;
    for (const Worker& worker : workers_) pids.push_back(worker.pid);
    return pids;
  }
  size_t size() const { return workers_.size(); }

 private:
  struct Task {
    std::shared_ptr<detail::Batch> batch;
    size_t begin = 0, count = 0;
    IValue message;

    void fail(const std::exception_ptr& thrown) const {
      for (size_t i = 0; i < count; ++i) batch->set(begin + i, {}, thrown);
    }
  };
  struct Worker {
    pid_t pid = -1;
    int socket = -1;
    bool has_served = false;
    std::optional<Task> task;
  };

  void wake() const {
    const uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }

  void start(size_t number) {
    int ends[2];
    TORCH_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
                "Pool: cannot make a pair of sockets: ", std::strerror(errno));
    pid_t pid = -1;
    int reason = 0;
    try {
      const pid_t parent = ::getpid();
      if (spawns_) {
        pid = detail::spawn_process(c10::str("pool ", parent, " ", ends[1]), {ends[1]});
      } else {
        std::vector<int> of_parent{ends[0], wake_};
        for (const Worker& worker : workers_) {
          if (worker.socket >= 0) of_parent.push_back(worker.socket);
        }
        std::fflush(nullptr);
        pid = detail::fork_process(of_parent, [&] { detail::run_pool_worker(ends[1], parent); });
      }
      reason = errno;
    } catch (...) {
      ::close(ends[0]);
      ::close(ends[1]);
      throw;
    }
    ::close(ends[1]);
    if (pid < 0) ::close(ends[0]);
    TORCH_CHECK(pid >= 0, "Pool: cannot start worker ", number, ": ", std::strerror(reason));
    const std::lock_guard lock(mutex_);
    workers_[number].pid = pid;
    workers_[number].socket = ends[0];
    workers_[number].has_served = false;
  }

  // Closes the worker's socket and waits for its end.
  int bury(Worker& worker, bool kills) {
    if (worker.pid < 0) return 0;
    if (worker.socket >= 0) ::close(std::exchange(worker.socket, -1));
    if (kills) ::kill(worker.pid, SIGKILL);
    int status = 0;
    while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  void run(std::promise<void>& started) {
    try {
      for (size_t i = 0; i < workers_.size(); ++i) start(i);
    } catch (...) {
      for (Worker& worker : workers_) bury(worker, /*kills=*/true);
      started.set_exception(std::current_exception());
      return;
    }
    started.set_value();
    while (serve()) {
    }
    const bool kills = is_killed();
    for (Worker& worker : workers_) bury(worker, kills);
    if (!kills) return;
    const auto thrown =
        std::make_exception_ptr(c10::Error("Pool: it was terminated before the call was done", nullptr));
    for (Worker& worker : workers_) {
      if (worker.task.has_value()) worker.task->fail(thrown);
    }
    std::deque<Task> left;
    {
      const std::lock_guard lock(mutex_);
      left.swap(tasks_);
    }
    for (const Task& task : left) task.fail(thrown);
  }

  bool is_killed() const {
    const std::lock_guard lock(mutex_);
    return killed_;
  }

  // Hands tasks out and waits for what comes back; false when all is done.
  bool serve() {
    for (Worker& worker : workers_) {
      while (!worker.task.has_value() && take(worker)) {
        try {
          send(worker.socket, worker.task->message);
          worker.task->message = IValue();
        } catch (...) {
          const Task task = *std::exchange(worker.task, std::nullopt);
          task.fail(std::current_exception());
        }
      }
    }
    bool is_busy = false;
    std::vector<pollfd> ends{{wake_, POLLIN, 0}};
    for (const Worker& worker : workers_) {
      is_busy |= worker.task.has_value();
      ends.push_back({worker.socket, POLLIN, 0});
    }
    {
      const std::lock_guard lock(mutex_);
      if (killed_ || (closed_ && !is_busy && tasks_.empty())) return false;
    }
    ::poll(ends.data(), ends.size(), -1);
    uint64_t count;
    (void)!::read(wake_, &count, sizeof count);
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (ends[i + 1].revents != 0) hear(i);
    }
    return true;
  }

  bool take(Worker& worker) {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty() || killed_) return false;
    worker.task = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }

  void hear(size_t number) {
    Worker& worker = workers_[number];
    if (is_closed(worker.socket)) {
      const pid_t pid = worker.pid;
      const int status = bury(worker, /*kills=*/true);
      if (worker.task.has_value()) {
        const Task task = *std::exchange(worker.task, std::nullopt);
        task.fail(std::make_exception_ptr(detail::exited(static_cast<int>(number), pid, status)));
      }
      // A program that cannot even begin is not started for ever.
      if (!worker.has_served && ++bad_starts_ > 3) return stop(/*kills=*/true);
      try {
        start(number);
      } catch (const c10::Error&) {
        stop(/*kills=*/true);
      }
      return;
    }
    if (!worker.task.has_value()) return;
    std::optional<IValue> reply;
    try {
      reply = try_receive(worker.socket);
      if (!reply.has_value()) return;
    } catch (...) {
      const Task task = *std::exchange(worker.task, std::nullopt);
      task.fail(std::current_exception());
      return;
    }
    worker.has_served = true;
    bad_starts_ = 0;
    const Task task = *std::exchange(worker.task, std::nullopt);
    const auto raised = [&](const std::string& text) {
      return std::make_exception_ptr(
          ProcessRaisedException(c10::str("Process ", number, " terminated with the following error:\n", text),
                                 static_cast<int>(number), worker.pid));
    };
    if (reply->isString()) return task.fail(raised(reply->toStringRef()));
    const std::vector<IValue> outcomes = values_of(*reply);
    for (size_t i = 0; i < task.count; ++i) {
      const auto& parts = outcomes[i].toTupleRef().elementsArrayRef();
      if (parts[0].toBool()) {
        task.batch->set(task.begin + i, parts[1], nullptr);
      } else {
        task.batch->set(task.begin + i, {}, raised(parts[1].toStringRef()));
      }
    }
  }

  const bool spawns_;
  const int wake_;
  mutable std::mutex mutex_;
  std::vector<Worker> workers_;  // of the thread; the lock is for pid
  std::deque<Task> tasks_;
  int bad_starts_ = 0;
  bool closed_ = false, killed_ = false;
  std::mutex joining_;
  std::thread thread_;
};

bool Result::wait(std::optional<milliseconds> timeout) const {
  std::unique_lock lock(batch_->mutex);
  return batch_->wait(lock, timeout, [this] { return batch_->all_done(); });
}

bool Result::successful() const {
  TORCH_CHECK_VALUE(ready(), "AsyncResult: the call is not done");
  return batch_->first_thrown == nullptr;
}

void Result::finish(std::optional<milliseconds> timeout) const {
  TORCH_CHECK(wait(timeout), "AsyncResult: the call was not done within ", timeout->count(), " ms");
  if (batch_->first_thrown != nullptr) std::rethrow_exception(batch_->first_thrown);
}

IValue AsyncResult::get(std::optional<milliseconds> timeout) const {
  finish(timeout);
  return batch_->outcomes[0].value;
}

std::vector<IValue> MapResult::get(std::optional<milliseconds> timeout) const {
  finish(timeout);
  std::vector<IValue> values;
  for (const auto& outcome : batch_->outcomes) values.push_back(outcome.value);
  return values;
}

std::optional<IValue> ResultIterator::next(std::optional<milliseconds> timeout) {
  std::unique_lock lock(batch_->mutex);
  if (at_ == batch_->outcomes.size()) return std::nullopt;
  const bool is_there = batch_->wait(
      lock, timeout, [this] { return ordered_ ? batch_->outcomes[at_].done : batch_->order.size() > at_; });
  TORCH_CHECK(is_there, "imap: the next result did not come within ", timeout->count(), " ms");
  const auto& outcome = batch_->outcomes[ordered_ ? at_ : batch_->order[at_]];
  ++at_;
  if (outcome.thrown != nullptr) std::rethrow_exception(outcome.thrown);
  return outcome.value;
}

Pool::Pool(int processes, const std::string& start_method) {
  TORCH_CHECK_VALUE(processes >= 0, "Pool: expected processes >= 0, got ", processes);
  TORCH_CHECK_VALUE(start_method == "spawn" || start_method == "fork",
                    "Pool: the start methods are \"spawn\" and \"fork\", got \"", start_method, "\"");
  if (processes == 0) processes = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  impl_ = std::make_unique<Impl>(processes, start_method == "spawn");
}

Pool::~Pool() = default;

std::shared_ptr<detail::Batch> Pool::submit(const Function& fn, Calls calls, size_t chunksize,
                                            std::function<void(const IValue&)> callback,
                                            std::function<void(std::exception_ptr)> error_callback) {
  auto batch = std::make_shared<detail::Batch>(calls.size());
  batch->callback = std::move(callback);
  batch->error_callback = std::move(error_callback);
  if (chunksize == 0) {
    const size_t parts = impl_->size() * 4;
    chunksize = std::max<size_t>(1, (calls.size() + parts - 1) / parts);
  }
  return impl_->submit(fn, std::move(calls), chunksize, std::move(batch));
}

namespace {

Calls calls_of(const std::vector<IValue>& items) {
  Calls calls;
  for (const IValue& item : items) calls.push_back({item});
  return calls;
}

}  // namespace

IValue Pool::apply(const Function& fn, const std::vector<IValue>& args) {
  return apply_async(fn, args).get();
}
AsyncResult Pool::apply_async(const Function& fn, const std::vector<IValue>& args,
                              std::function<void(const IValue&)> callback,
                              std::function<void(std::exception_ptr)> error_callback) {
  return AsyncResult(submit(fn, {args}, 1, std::move(callback), std::move(error_callback)));
}
std::vector<IValue> Pool::map(const Function& fn, const std::vector<IValue>& items, size_t chunksize) {
  return map_async(fn, items, chunksize).get();
}
MapResult Pool::map_async(const Function& fn, const std::vector<IValue>& items, size_t chunksize) {
  return MapResult(submit(fn, calls_of(items), chunksize));
}
std::vector<IValue> Pool::starmap(const Function& fn, const std::vector<std::vector<IValue>>& items,
                                  size_t chunksize) {
  return starmap_async(fn, items, chunksize).get();
}
MapResult Pool::starmap_async(const Function& fn, const std::vector<std::vector<IValue>>& items, size_t chunksize) {
  return MapResult(submit(fn, items, chunksize));
}
ResultIterator Pool::imap(const Function& fn, const std::vector<IValue>& items, size_t chunksize) {
  return ResultIterator(submit(fn, calls_of(items), chunksize), /*ordered=*/true);
}
ResultIterator Pool::imap_unordered(const Function& fn, const std::vector<IValue>& items, size_t chunksize) {
  return ResultIterator(submit(fn, calls_of(items), chunksize), /*ordered=*/false);
}

void Pool::close() {
  impl_->stop(/*kills=*/false);
}
void Pool::terminate() {
  impl_->stop(/*kills=*/true);
}
void Pool::join() {
  impl_->join();
}
std::vector<pid_t> Pool::pids() const {
  return impl_->pids();
}

}  // namespace torch::multiprocessing
