#include "distributed/process_group/gloo/guarded_transport.h"

#include <time.h>

#include <algorithm>

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

class Buffer final : public gloo::transport::UnboundBuffer {
 public:
  Buffer(std::unique_ptr<gloo::transport::UnboundBuffer> inner, std::shared_ptr<Waits> waits)
      : UnboundBuffer(inner->ptr, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {
    const std::lock_guard<std::mutex> lock(waits_->mutex_);
    waits_->live_.insert(this);
  }
  ~Buffer() override {
    const std::lock_guard<std::mutex> lock(waits_->mutex_);
    waits_->live_.erase(this);
  }

  bool waitRecv(int* rank, milliseconds timeout) override {
    return wait(receives_, timeout, [&](milliseconds limit) { return inner_->waitRecv(rank, limit); });
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
      throw WaitError("lost " + names_of(peers.to.back()) + ": " + e.what(), peers.to.back());
    }
  }

  template <class Wait>
  bool wait(Peers& peers, milliseconds timeout, const Wait& inner_wait) {
    check_alive();
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    milliseconds limit =
        timeout == gloo::transport::kUnsetTimeout || timeout.count() == 0 ? left : std::min(timeout, left);
    const bool is_known = peers.waited < peers.to.size();
    const std::vector<int> ranks = is_known ? peers.to[peers.waited] : std::vector<int>();
    const std::string names = is_known ? names_of(ranks) : "a rank";
    if (limit.count() <= 0) throw WaitError("timed out waiting for " + names, ranks);
    bool is_done = false;
    try {
      is_done = inner_wait(limit);
    } catch (const gloo::Exception& e) {
      check_alive();
      if (Clock::now() >= deadline) throw WaitError("timed out waiting for " + names, ranks);
      // The connection of any operation of this buffer may be the one that ended.
      const std::vector<int> all = outstanding();
      const std::string lost = all.empty() ? "a rank" : (all.size() > 1 ? "one of " : "") + names_of(all);
      throw WaitError("lost " + lost + ": " + e.what(), all);
    }
    check_alive();
    if (!is_done) throw WaitError("gave up waiting for " + names, ranks);
    if (is_known && ++peers.waited == peers.to.size()) peers = {};
    return true;
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
  Peers sends_, receives_;
};

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
      : gloo::transport::Context(inner->rank, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {}
  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override { return inner_->getPair(rank); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    // Gloo waits five times as long for a connection.
    inner_->setTimeout(std::max(milliseconds(1), getTimeout() / 5));
    return inner_->createPair(rank);
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override {
    return std::make_unique<Buffer>(inner_->createUnboundBuffer(data, bytes), waits_);
  }

 private:
  const std::shared_ptr<gloo::transport::Context> inner_;
  const std::shared_ptr<Waits> waits_;
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
