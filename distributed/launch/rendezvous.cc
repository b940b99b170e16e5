#include "distributed/launch/rendezvous.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "c10/util/string_util.h"

namespace c10d::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kStateKey = "state";
// How often callers look whether they are to stop.
constexpr milliseconds kGlance(100);

template <class E>
[[noreturn]] void throw_as(const std::string& text) {
  throw E(c10::SourceLocation{"next_round", __FILE__, static_cast<uint32_t>(__LINE__)}, text);
}

}  // namespace

Rendezvous::Rendezvous(c10::intrusive_ptr<Store> store, RendezvousOptions options, NodeInfo info)
    : member_(options, std::move(info)),
      store_(std::move(store)),
      origin_(store_->clone()),
      last_answer_(Clock::now()) {
  origin_->setTimeout(options.keep_alive_interval);
  connection_ = origin_->clone();
  thread_ = std::thread([this] { serve(); });
}

Rendezvous::~Rendezvous() {
  leave(member_.options().keep_alive_interval);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

// The more nodes there are the less often each looks, so that a store has about as much to do.
milliseconds Rendezvous::pause() const {
  const auto longest = member_.options().keep_alive_interval / 4;
  return std::clamp<milliseconds>(milliseconds(50 + 4 * member_.view().nodes.size()), milliseconds(5), longest);
}

void Rendezvous::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_stopping_) {
    is_asked_ = false;
    lock.unlock();
    std::string error;
    try {
      synchronize();
      last_answer_ = Clock::now();
    } catch (const c10::Error& e) {
      error = e.msg();
    } catch (const std::exception& e) {
      error = e.what();
    }
    if (!error.empty()) {
      // A connection that broke may be made again; a store that is gone may not.
      try {
        connection_ = origin_->clone();
      } catch (const std::exception&) {
      }
    }
    lock.lock();
    if (!error.empty() && Clock::now() - last_answer_ >= member_.options().dead_after()) {
      is_lost_ = true;
      lost_ = c10::str("the rendezvous' store is lost: ", error);
      changed_.notify_all();
      return;
    }
    asked_.wait_for(lock, pause(), [&] { return is_asked_ || is_stopping_; });
  }
}

void Rendezvous::synchronize() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::optional<std::string> wanted = member_.next(seen_, Clock::now());
    lock.unlock();
    // Where nothing is wanted this only reads.
    const std::string& desired = wanted ? *wanted : seen_;
    std::string has = connection_->compareSet(kStateKey, seen_, desired);
    const bool is_settled = has == desired;
    seen_ = std::move(has);
    if (!is_settled) continue;
    lock.lock();
    member_.accept(seen_, Clock::now());
    changed_.notify_all();
    return;
  }
}

Round Rendezvous::next_round(const std::function<bool()>& is_stopped) {
  const auto begin = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  member_.join();
  is_asked_ = true;
  asked_.notify_all();
  for (;;) {
    lock.unlock();
    if (is_stopped && is_stopped()) throw_as<RendezvousStoppedError>("the rendezvous was stopped");
    lock.lock();
    if (is_lost_) throw_as<RendezvousConnectionError>(lost_);
    if (member_.view().closed()) {
      throw_as<RendezvousClosedError>(c10::str("the rendezvous is closed: ", member_.view().reason));
    }
    if (const std::optional<Round> round = member_.round(); round && !member_.wants_to_join()) return *round;
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited >= member_.options().join_timeout) {
      const std::string text =
          c10::str("no round of the rendezvous began within ", waited.count(), " ms: ", member_.describe_waiting());
      member_.leave();
      is_asked_ = true;
      asked_.notify_all();
      throw_as<RendezvousTimeoutError>(text);
    }
    changed_.wait_for(lock, kGlance);
  }
}

Rendezvous::Standing Rendezvous::standing(int64_t round) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_lost_) return Standing::kLost;
  switch (member_.view().phase) {
    case RendezvousState::Phase::kSucceeded:
      return Standing::kSucceeded;
    case RendezvousState::Phase::kFailed:
      return Standing::kFailed;
    default:
      return member_.in_round(round) ? Standing::kRunning : Standing::kOver;
  }
}

std::string Rendezvous::reason() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_lost_ ? lost_ : member_.view().reason;
}

std::vector<Failure> Rendezvous::failures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return member_.view().failures;
}

void Rendezvous::succeed(int64_t round) {
  const std::lock_guard<std::mutex> lock(mutex_);
  member_.succeed(round);
  is_asked_ = true;
  asked_.notify_all();
}

void Rendezvous::fail(Failure failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  member_.fail(std::move(failure));
  is_asked_ = true;
  asked_.notify_all();
}

void Rendezvous::leave(milliseconds at_most) {
  std::unique_lock<std::mutex> lock(mutex_);
  member_.leave();
  is_asked_ = true;
  asked_.notify_all();
  changed_.wait_for(lock, at_most, [&] { return is_lost_ || !member_.is_pending(); });
}

bool Rendezvous::wait_until_alone(milliseconds at_most) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] {
    if (is_lost_) return true;
    const auto& nodes = member_.view().nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.first == member_.info().id; });
  });
}

}  // namespace c10d::launch
