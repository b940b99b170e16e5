// How the nodes of a job agree, round by round, who takes part and with which ranks: a state machine whose state is one
// value of a store, which nodes replace by compare-and-set. No threads and no clock here; Rendezvous drives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace c10d::launch {

/// What a node tells the others of itself.
struct NodeInfo {
  std::string id;       ///< unlike any other's, also that of an earlier life of the same node
  std::string address;  ///< under which the others reach it
  std::string role = "default";
  int workers = 1;      ///< how many processes it starts
  int fixed_rank = -1;  ///< the rank it must have, or -1
};

struct RendezvousOptions {
  int min_nodes = 1;
  int max_nodes = 1;
  /// How many rounds may end by a failed worker before the job does.
  int max_restarts = 0;
  /// How long a node waits for a round.
  std::chrono::milliseconds join_timeout = std::chrono::seconds(600);
  /// How long after min_nodes have come others may still join.
  std::chrono::milliseconds last_call_timeout = std::chrono::seconds(30);
  /// How long after that the others still wait for nodes of the round before that live: what their workers may take to
  /// end.
  std::chrono::milliseconds return_timeout = std::chrono::seconds(40);
  /// How often a node says that it lives, and how many such times it may miss before the others go on without it.
  std::chrono::milliseconds keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;

  /// Throws c10::ValueError where they make no sense.
  void check() const;
  std::chrono::milliseconds dead_after() const { return keep_alive_interval * keep_alive_max_attempt; }
};

/// A worker that failed, as its node tells it.
struct Failure {
  int64_t round = 0;
  int64_t unix_ms = 0;  // when
  std::string text;
};

/// The agreement of all nodes.
struct RendezvousState {
  enum class Place {
    kJoined,    ///< takes part in the round
    kExpected,  ///< took part in the round before, lives, and has not come back yet
    kWaiting,   ///< came when there was no seat, or while a round ran
  };
  struct Node {
    NodeInfo info;
    Place place = Place::kJoined;
    int rank = -1;  // in the round, or, of who has not been given one yet, in the round before
    uint64_t heartbeat = 0;
    bool done = false;  // its workers have all ended well
  };
  enum class Phase { kJoining, kRunning, kSucceeded, kFailed };

  int64_t round = 0;
  Phase phase = Phase::kJoining;
  int64_t restarts = 0;           // of those, how many for a failed worker
  std::string reason;             // why the round before, or the job, has ended
  std::vector<Failure> failures;  // of the last round that had any, the earliest first
  std::map<std::string, Node> nodes;

  bool closed() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
  int count(Place place) const;

  std::string to_text() const;
  /// Throws c10::ValueError for what is no such text. "" is the state before the first node.
  static RendezvousState from_text(const std::string& text);
};

/// What a node has been given.
struct Round {
  int64_t number = 0;
  int64_t restarts = 0;    // of the group for failed workers
  int rank = 0;            // of the node
  int size = 1;            // nodes
  int64_t first_rank = 0;  // of the node's workers
  int64_t world_size = 1;
  int64_t first_role_rank = 0;
  int64_t role_world_size = 1;
  std::vector<std::string> addresses;  // by rank of the nodes
};

/// One node's part. `next` says what it would make of the store's value, `accept` takes over what the store then has:
///
///   for (std::string seen = ""; auto wanted = member.next(seen, now);) {
///     std::string has = store.compareSet(key, seen, *wanted);
///     if (has == *wanted) { member.accept(has, now); break; }
///     seen = has;
///   }
///
/// Times are of any clock that only this node reads: a death is told by a heartbeat that does not change, not by its
/// date.
class RendezvousMember {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RendezvousMember(RendezvousOptions options, NodeInfo info);

  const NodeInfo& info() const { return info_; }
  const RendezvousOptions& options() const { return options_; }

  // What the node wants.
  /// To be in the next round; asked for again after each.
  void join();
  void leave();
  /// Its workers of this round have ended well.
  void succeed(int64_t round);
  void fail(Failure failure);

  /// The value to replace `current` by, or none where there is nothing to change.
  std::optional<std::string> next(const std::string& current, Time now);
  /// The store holds this value.
  void accept(const std::string& value, Time now);
  /// Whether the node has asked for a round that has not begun.
  bool wants_to_join() const { return wish_ == Wish::kJoin; }
  /// Whether something wanted has not been told the others yet.
  bool is_pending() const;

  /// As last accepted.
  const RendezvousState& view() const { return view_; }
  /// The node's part in the round that runs, if it has one.
  std::optional<Round> round() const;
  /// Whether that round runs, with this node in it.
  bool in_round(int64_t number) const;
  /// Why the node is in no round yet: who has come and how many must.
  std::string describe_waiting() const;

 private:
  struct Seen {
    uint64_t heartbeat = 0;
    Time since;
  };

  RendezvousState read(const std::string& text) const;
  bool remove_the_dead(RendezvousState& state, Time now);
  bool do_what_is_wanted(RendezvousState& state);
  bool settle(RendezvousState& state, Time now);
  bool can_join(const RendezvousState& state, const RendezvousState::Node& node) const;
  void begin(RendezvousState& state) const;
  static void end_round(RendezvousState& state, const std::string& reason);
  static bool take_out(RendezvousState& state, const std::string& id, const std::string& why);

  RendezvousOptions options_;
  NodeInfo info_;
  enum class Wish { kNothing, kJoin, kLeave } wish_ = Wish::kNothing;
  int64_t succeeded_round_ = -1;
  std::vector<Failure> failures_;  // to be told
  size_t told_ = 0;                // of those, how many `next` has seen
  RendezvousState view_, proposed_;
  std::string view_text_, proposed_text_;  // the same as text, which need not be read again
  std::map<std::string, Seen> seen_;
  std::optional<Time> last_beat_;
  std::optional<Time> enough_since_;  // min_nodes are there, in the round enough_round_
  int64_t enough_round_ = -1;
};

}  // namespace c10d::launch
