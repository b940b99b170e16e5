// The rendezvous of a node with the others of its job, over a store.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/launch/rendezvous_state.h"
#include "distributed/store/store.h"

namespace c10d::launch {

/// Nobody else came, or not enough, within the join timeout.
class RendezvousTimeoutError : public c10::DistError {
  using DistError::DistError;
};
/// The job has ended.
class RendezvousClosedError : public c10::DistError {
  using DistError::DistError;
};
/// The store is gone, or does not answer.
class RendezvousConnectionError : public c10::DistError {
  using DistError::DistError;
};
/// The caller's `is_stopped` said so.
class RendezvousStoppedError : public c10::DistError {
  using DistError::DistError;
};

/// One node's rendezvous. All nodes of a job have the same part of a store and the same options; a thread of this class
/// keeps the node alive among them and looks what the others do.
///
///   Rendezvous rendezvous(store, options, info);
///   for (;;) {
///     Round round = rendezvous.next_round();
///     ... start workers; while rendezvous.standing(round.number) == kRunning, look after them; stop them
///   }
///
/// A store that fails is connected with again (Store::clone) until a node that is dead would be taken out.
class Rendezvous {
 public:
  enum class Standing {
    kRunning,    ///< the round goes on
    kOver,       ///< a node came or went, or a worker failed: next_round() is to be called
    kSucceeded,  ///< all workers of all nodes have ended well
    kFailed,     ///< the job has failed: reason()
    kLost,       ///< the store is gone: reason()
  };

  Rendezvous(c10::intrusive_ptr<Store> store, RendezvousOptions options, NodeInfo info);
  /// Leaves.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Takes part in the next round: returns when it begins. Throws RendezvousTimeoutError after the join timeout,
  /// RendezvousClosedError when the job has ended, RendezvousConnectionError when the store is gone, and
  /// RendezvousStoppedError within 0.1 s when `is_stopped` returns true.
  Round next_round(const std::function<bool()>& is_stopped = nullptr);

  Standing standing(int64_t round) const;
  std::string reason() const;
  std::vector<Failure> failures() const;

  /// This node's workers of the round have ended well.
  void succeed(int64_t round);
  /// A worker of this node has failed: ends the round, or, if no restart is left, the job.
  void fail(Failure failure);
  /// Tells the others. Returns when they are told, or after `at_most`.
  void leave(std::chrono::milliseconds at_most);
  /// For the node that holds the store: returns true when all others have left or are dead, false after `at_most`.
  bool wait_until_alone(std::chrono::milliseconds at_most);

  /// The job's part of the store, for what nodes tell each other beside.
  const c10::intrusive_ptr<Store>& store() const { return store_; }

 private:
  void serve();
  void synchronize();
  std::chrono::milliseconds pause() const;

  mutable std::mutex mutex_;
  std::condition_variable asked_;    // the thread has something to do
  std::condition_variable changed_;  // the view has changed
  RendezvousMember member_;
  bool is_asked_ = false;
  bool is_stopping_ = false;
  bool is_lost_ = false;
  std::string lost_;

  const c10::intrusive_ptr<Store> store_;
  // Only the thread uses these.
  c10::intrusive_ptr<Store> origin_;  // of connections
  c10::intrusive_ptr<Store> connection_;
  std::string seen_;
  std::chrono::steady_clock::time_point last_answer_;

  std::thread thread_;
};

}  // namespace c10d::launch
