#include "distributed/process_group/gloo/guarded_transport.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "c10/util/string_util.h"

namespace c10d::gloo_transport {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

thread_local Clock::time_point deadline = Clock::time_point::max();

std::string names_of(const std::vector<int>& ranks) {
  return c10::str(ranks.size() == 1 ? "rank " : "ranks ", c10::Join(", ", ranks));
}

}  // namespace

DeadlineScope::DeadlineScope(Clock::time_point at) : before_(std::exchange(deadline, at)) {}
DeadlineScope::~DeadlineScope() {
  deadline = before_;
}

NoBrokenPipe::NoBrokenPipe() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}
NoBrokenPipe::~NoBrokenPipe() {
  if (::sigismember(&before_, SIGPIPE) == 1) return;
  // One that has come stays with the thread and must not be delivered now.
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  const timespec at_once{};
  while (::sigtimedwait(&pipe, nullptr, &at_once) > 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// Which ranks are gone. Gloo tells a message that may come from several ranks nothing of a connection that ends, so a
// thread waits for messages that nobody sends; the first wait for such a message starts it.
class Losses {
 public:
  Losses(std::shared_ptr<gloo::transport::Context> context, std::shared_ptr<Waits> waits)
      : context_(std::move(context)), waits_(std::move(waits)) {}
  ~Losses() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
      if (watch_) watch_->abortWaitRecv();
    }
    if (thread_.joinable()) thread_.join();
  }
  Losses(const Losses&) = delete;
  Losses& operator=(const Losses&) = delete;

  void start() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  }
  std::vector<int> of(const std::vector<int>& ranks) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int> gone;
    for (const int rank : ranks) {
      if (gone_.count(rank) != 0) gone.push_back(rank);
    }
    return gone;
  }

 private:
  static constexpr uint64_t kSlot = UINT64_MAX;

  void watch() {
    const NoBrokenPipe quiet;
    for (;;) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_ending_) return;
        watch_ = context_->createUnboundBuffer(&nothing_, sizeof nothing_);
      }
      size_t left = 0;
      for (int rank = 0; rank < context_->size; ++rank) {
        if (rank == context_->rank || !of({rank}).empty()) continue;
        try {
          watch_->recv(rank, kSlot);
          ++left;
        } catch (const gloo::Exception&) {
          const std::lock_guard<std::mutex> lock(mutex_);
          gone_.insert(rank);
        }
      }
      waits_->wake_receivers_of_any();
      if (left == 0) return;
      try {
        if (!watch_->waitRecv(std::chrono::hours(24 * 365))) return;
      } catch (const gloo::Exception&) {
        // Which connection it was shows where it is to be used again.
      }
    }
  }

  const std::shared_ptr<gloo::transport::Context> context_;
  const std::shared_ptr<Waits> waits_;
  mutable std::mutex mutex_;
  bool is_ending_ = false;
  std::set<int> gone_;
  char nothing_ = 0;
  std::unique_ptr<gloo::transport::UnboundBuffer> watch_;
  std::thread thread_;
};

class Buffer final : public gloo::transport::UnboundBuffer {
 public:
  Buffer(std::unique_ptr<gloo::transport::UnboundBuffer> inner, std::shared_ptr<Waits> waits,
         std::shared_ptr<Losses> losses)
      : UnboundBuffer(inner->ptr, inner->size),
        inner_(std::move(inner)),
        waits_(std::move(waits)),
        losses_(std::move(losses)) {
    const std::lock_guard<std::mutex> lock(waits_->mutex_);
    waits_->live_.insert(this);
  }
  ~Buffer() override {
    const std::lock_guard<std::mutex> lock(waits_->mutex_);
    waits_->live_.erase(this);
  }

  bool waitRecv(int* rank, milliseconds timeout) override {
    if (!is_of_any_) return wait(receives_, timeout, [&](milliseconds limit) { return inner_->waitRecv(rank, limit); });
    return wait(receives_, timeout, [&](milliseconds limit) { return wait_for_any(rank, limit); });
  }
  bool waitSend(int* rank, milliseconds timeout) override {
    return wait(sends_, timeout, [&](milliseconds limit) { return inner_->waitSend(rank, limit); });
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int to, uint64_t slot, size_t offset, size_t bytes) override {
    sends_.to.push_back({to});
    start(sends_, [&] { inner_->send(to, slot, offset, bytes); });
  }
  void recv(int from, uint64_t slot, size_t offset, size_t bytes) override {
    receives_.to.push_back({from});
    start(receives_, [&] { inner_->recv(from, slot, offset, bytes); });
  }
  void recv(std::vector<int> from, uint64_t slot, size_t offset, size_t bytes) override {
    receives_.to.push_back(from);
    if (from.size() > 1) {
      is_of_any_ = true;
      losses_->start();
    }
    start(receives_, [&] { inner_->recv(std::move(from), slot, offset, bytes); });
  }

 private:
  // Of what was started since nothing was on its way, in order, and how many of these were waited for. Which they were
  // is not known: operations may end in another order than they were started in.
  struct Peers {
    std::vector<std::vector<int>> to;
    size_t waited = 0;
  };

  // A connection that has ended is an error here already.
  template <class Start>
  void start(const Peers& peers, const Start& inner_start) {
    check_alive();
    const NoBrokenPipe quiet;
    try {
      inner_start();
    } catch (const gloo::Exception& e) {
      check_alive();
      throw WaitError("lost " + names_of(peers.to.back()) + ": " + e.what(), peers.to.back(), true);
    }
  }

  template <class Wait>
  bool wait(Peers& peers, milliseconds timeout, const Wait& inner_wait) {
    check_alive();
    // Up: who gives up before the deadline would take the rank for lost.
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    milliseconds limit =
        timeout == gloo::transport::kUnsetTimeout || timeout.count() == 0 ? left : std::min(timeout, left);
    const bool is_known = peers.waited < peers.to.size();
    const std::vector<int> ranks = is_known ? peers.to[peers.waited] : std::vector<int>();
    const auto names_now = [&] {
      return (is_known ? names_of(ranks) : "a rank") + (gone_.empty() ? "" : ", of which lost " + names_of(gone_));
    };
    if (limit.count() <= 0) throw WaitError("timed out waiting for " + names_now(), ranks);
    bool is_done = false;
    try {
      is_done = inner_wait(limit);
    } catch (const gloo::Exception& e) {
      check_alive();
      if (Clock::now() >= deadline) throw WaitError("timed out waiting for " + names_now(), ranks);
      // The connection of any operation of this buffer may be the one that ended.
      const std::vector<int> all = outstanding();
      const std::string lost = all.empty() ? "a rank" : (all.size() > 1 ? "one of " : "") + names_of(all);
      throw WaitError("lost " + lost + ": " + e.what(), all, true);
    }
    check_alive();
    if (!is_done) throw WaitError("gave up waiting for " + names_now(), ranks, !gone_.empty());
    if (is_known && ++peers.waited == peers.to.size()) peers = {};
    return true;
  }

  // Woken whenever a connection ends. Some may be gone for good reasons, their work done: nobody is left to send where
  // all are.
  bool wait_for_any(int* rank, milliseconds limit) {
    const std::vector<int>& ranks = receives_.to.at(receives_.waited);
    const Clock::time_point end = Clock::now() + limit;
    for (;;) {
      gone_ = losses_->of(ranks);
      if (gone_.size() == ranks.size()) return take_what_came(rank);
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
      if (inner_->waitRecv(rank, std::max(milliseconds(1), left))) return true;
      check_alive();
    }
  }
  bool take_what_came(int* rank) {
    try {
      return inner_->waitRecv(rank, milliseconds(1));
    } catch (const gloo::Exception&) {
      return false;
    }
  }

  // With whom something may be on its way.
  std::vector<int> outstanding() const {
    std::set<int> ranks;
    for (const Peers* peers : {&sends_, &receives_}) {
      for (const std::vector<int>& some : peers->to) ranks.insert(some.begin(), some.end());
    }
    return {ranks.begin(), ranks.end()};
  }

  void check_alive() const {
    const std::string why = waits_->aborted();
    if (!why.empty()) throw gloo::IoException(why);
  }

  const std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  const std::shared_ptr<Waits> waits_;
  const std::shared_ptr<Losses> losses_;
  std::atomic<bool> is_of_any_{false};  // whether a message may come from several ranks,
  std::vector<int> gone_;               // and which of them were gone when it was last waited for
  Peers sends_, receives_;
  friend class Waits;
};

void Waits::wake_receivers_of_any() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Buffer* buffer : live_) {
    if (buffer->is_of_any_) buffer->abortWaitRecv();
  }
}

void Waits::abort(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (aborted_.empty()) aborted_ = why;
  for (Buffer* buffer : live_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

std::string Waits::aborted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return aborted_;
}

namespace {

class Context final : public gloo::transport::Context {
 public:
  Context(std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<Waits> waits)
      : gloo::transport::Context(inner->rank, inner->size),
        inner_(std::move(inner)),
        waits_(std::move(waits)),
        losses_(std::make_shared<Losses>(inner_, waits_)) {}
  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override { return inner_->getPair(rank); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    // Gloo waits five times as long for a connection.
    inner_->setTimeout(std::max(milliseconds(1), getTimeout() / 5));
    return inner_->createPair(rank);
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override {
    return std::make_unique<Buffer>(inner_->createUnboundBuffer(data, bytes), waits_, losses_);
  }

 private:
  const std::shared_ptr<gloo::transport::Context> inner_;
  const std::shared_ptr<Waits> waits_;
  const std::shared_ptr<Losses> losses_;
};

class Device final : public gloo::transport::Device {
 public:
  Device(std::shared_ptr<gloo::transport::Device> inner, std::shared_ptr<Waits> waits)
      : inner_(std::move(inner)), waits_(std::move(waits)) {}
  std::string str() const override { return inner_->str(); }
  const std::string& getPCIBusID() const override { return inner_->getPCIBusID(); }
  int getInterfaceSpeed() const override { return inner_->getInterfaceSpeed(); }
  std::shared_ptr<gloo::transport::Context> createContext(int rank, int size) override {
    return std::make_shared<Context>(inner_->createContext(rank, size), waits_);
  }

 private:
  const std::shared_ptr<gloo::transport::Device> inner_;
  const std::shared_ptr<Waits> waits_;
};

}  // namespace

std::shared_ptr<gloo::transport::Device> guarded(std::shared_ptr<gloo::transport::Device> device,
                                                 std::shared_ptr<Waits> waits) {
  return std::make_shared<Device>(std::move(device), std::move(waits));
}

}  // namespace c10d::gloo_transport
