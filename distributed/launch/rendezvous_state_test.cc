// The state machine of the rendezvous: rule by rule, and in simulations of many nodes by a virtual clock.
#include "distributed/launch/rendezvous_state.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "c10/testing/message_of.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d::launch {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using Phase = RendezvousState::Phase;
using Time = RendezvousMember::Time;

RendezvousOptions options(int min_nodes, int max_nodes, int max_restarts = 0) {
  RendezvousOptions made;
  made.min_nodes = min_nodes;
  made.max_nodes = max_nodes;
  made.max_restarts = max_restarts;
  made.last_call_timeout = milliseconds(3000);
  made.return_timeout = milliseconds(10000);
  made.keep_alive_interval = milliseconds(1000);
  return made;
}

NodeInfo node(const std::string& id, int fixed_rank = -1, int workers = 1) {
  NodeInfo info;
  info.id = id;
  info.address = "host-" + id;
  info.fixed_rank = fixed_rank;
  info.workers = workers;
  return info;
}

// Nodes that take turns, each by itself.
struct Turns {
  explicit Turns(RendezvousOptions options) : options(options) {}

  RendezvousMember& add(const NodeInfo& info) {
    members.push_back(std::make_unique<RendezvousMember>(options, info));
    members.back()->join();
    return *members.back();
  }
  void turn(RendezvousMember& member) {
    if (const auto wanted = member.next(value, now)) value = *wanted;
    member.accept(value, now);
  }
  void all(milliseconds pass = milliseconds(500)) {
    now += pass;
    for (int i = 0; i < 2; ++i) {
      for (const auto& member : members) {
        if (!silent.contains(member.get())) turn(*member);
      }
    }
  }

  RendezvousOptions options;
  Time now{};
  std::string value;
  std::vector<std::unique_ptr<RendezvousMember>> members;
  std::set<const RendezvousMember*> silent;
};

TEST(RendezvousState, IsText) {
  RendezvousState state;
  state.round = 7;
  state.phase = Phase::kFailed;
  state.restarts = 2;
  state.reason = "rank 1: \"50 %\"\nof \xff\x01 it";
  state.failures = {{6, 123456789012, "a b"}, {6, 5, ""}};
  RendezvousState::Node& made = state.nodes["a node\n"];
  made.info = node("a node\n", 3, 8);
  made.info.role = "trainer";
  made.rank = 4;
  made.heartbeat = 1ull << 63;
  made.done = true;
  made.place = RendezvousState::Place::kExpected;
  const std::string text = state.to_text();
  const RendezvousState read = RendezvousState::from_text(text);
  EXPECT_EQ(read.to_text(), text);
  EXPECT_EQ(read.reason, state.reason);
  EXPECT_EQ(read.failures[0].text, "a b");
  EXPECT_EQ(read.failures[1].text, "");
  EXPECT_EQ(read.nodes.at("a node\n").info.address, "host-a node\n");
  EXPECT_EQ(read.nodes.at("a node\n").heartbeat, 1ull << 63);
  EXPECT_EQ(RendezvousState::from_text("").round, 0);
  for (size_t end = 1; end < text.size(); ++end) {
    try {
      RendezvousState::from_text(text.substr(0, end));
    } catch (const c10::ValueError& error) {
      EXPECT_EQ(error.msg(), "rendezvous: the store holds what is no state of a rendezvous");
    }
  }
  EXPECT_THROW(RendezvousState::from_text("something else"), c10::ValueError);
}

TEST(RendezvousState, OptionsThatMakeNoSense) {
  EXPECT_EQ(message_of([] { RendezvousMember(options(3, 2), node("a")); }),
            "rendezvous: 1 <= min_nodes <= max_nodes must hold, got 3 and 2");
  EXPECT_EQ(message_of([] { RendezvousMember(options(1, 2), node("a", 2)); }),
            "rendezvous: the node's rank 2 must be below the number of nodes, 2");
  EXPECT_EQ(message_of([] { RendezvousMember(options(1, 1, -1), node("a")); }),
            "rendezvous: max_restarts must not be negative, got -1");
}

TEST(RendezvousState, BeginsAtOnceWhenAllAreThere) {
  Turns turns(options(2, 2));
  RendezvousMember& b = turns.add(node("b", -1, 3));
  turns.turn(b);
  EXPECT_FALSE(b.round());
  EXPECT_EQ(b.describe_waiting(), "1 of at least 2 node(s) are there: b");
  RendezvousMember& a = turns.add(node("a", -1, 2));
  turns.turn(a);
  turns.turn(b);
  ASSERT_TRUE(a.round() && b.round());
  EXPECT_EQ(a.round()->rank, 0);
  EXPECT_EQ(b.round()->rank, 1);
  EXPECT_EQ(b.round()->first_rank, 2);
  EXPECT_EQ(b.round()->world_size, 5);
  EXPECT_EQ(b.round()->addresses, (std::vector<std::string>{"host-a", "host-b"}));
}

TEST(RendezvousState, RolesCountTheirOwnRanks) {
  Turns turns(options(3, 3));
  NodeInfo server = node("b", -1, 2);
  server.role = "server";
  turns.add(node("a", -1, 4));
  turns.add(server);
  RendezvousMember& c = turns.add(node("c", -1, 4));
  turns.all();
  ASSERT_TRUE(c.round());
  EXPECT_EQ(c.round()->first_rank, 6);
  EXPECT_EQ(c.round()->first_role_rank, 4);
  EXPECT_EQ(c.round()->role_world_size, 8);
  EXPECT_EQ(turns.members[1]->round()->role_world_size, 2);
}

TEST(RendezvousState, TheLastCall) {
  Turns turns(options(2, 4));
  RendezvousMember& a = turns.add(node("a"));
  turns.add(node("b"));
  turns.all();
  turns.all(milliseconds(2000));
  EXPECT_FALSE(a.round());
  turns.add(node("c"));
  turns.all();
  EXPECT_FALSE(a.round());
  turns.all();  // 3 s after the second came
  ASSERT_TRUE(a.round());
  EXPECT_EQ(a.round()->size, 3);
  EXPECT_EQ(a.round()->number, 0);
}

TEST(RendezvousState, WhoComesLaterStartsARound) {
  Turns turns(options(1, 3));
  RendezvousMember& b = turns.add(node("b"));
  turns.all();
  turns.all(milliseconds(3000));
  ASSERT_TRUE(b.round());
  RendezvousMember& a = turns.add(node("a"));
  turns.all();
  EXPECT_FALSE(b.in_round(0));
  EXPECT_EQ(b.view().reason, "1 more node(s) came");
  EXPECT_FALSE(a.round());  // b's workers have not ended
  b.join();
  turns.all();
  ASSERT_TRUE(a.round() && b.round());
  EXPECT_EQ(b.round()->rank, 0);  // as before
  EXPECT_EQ(a.round()->rank, 1);
  EXPECT_EQ(a.round()->number, 1);
}

TEST(RendezvousState, WhoTakesLongToComeBackIsWaitedFor) {
  Turns turns(options(1, 3));
  RendezvousMember& a = turns.add(node("a"));
  RendezvousMember& b = turns.add(node("b"));
  turns.all();
  for (int i = 0; i < 6; ++i) turns.all();
  ASSERT_TRUE(a.in_round(0) && b.in_round(0));
  turns.add(node("c"));
  turns.all();
  a.join();
  for (int i = 0; i < 18; ++i) turns.all();  // 9 s
  EXPECT_FALSE(a.round());
  for (int i = 0; i < 3; ++i) turns.all();
  ASSERT_TRUE(a.round());
  EXPECT_EQ(a.round()->size, 2);
  EXPECT_FALSE(b.round());
  b.join();
  turns.all();
  EXPECT_EQ(a.view().round, 2);  // there is a seat
}

TEST(RendezvousState, SparesWaitForASeat) {
  Turns turns(options(2, 2));
  RendezvousMember& a = turns.add(node("a"));
  RendezvousMember& b = turns.add(node("b"));
  RendezvousMember& c = turns.add(node("c"));
  turns.all();
  turns.all(milliseconds(1000));
  EXPECT_TRUE(a.in_round(0) && b.in_round(0));
  EXPECT_FALSE(c.round());
  turns.silent.insert(&a);
  for (int i = 0; i < 4; ++i) turns.all(milliseconds(1000));
  EXPECT_EQ(b.view().reason, "node a (host-a) with rank 0 of the nodes gave no sign of life for 3 s");
  b.join();
  turns.all();
  ASSERT_TRUE(b.round() && c.round());
  EXPECT_EQ(b.round()->rank, 0);
  EXPECT_EQ(c.round()->rank, 1);
  // The first comes back to life, and finds itself without a seat.
  turns.silent.clear();
  turns.all();
  EXPECT_FALSE(a.in_round(0));
  a.join();
  turns.all();
  EXPECT_FALSE(a.round());
  EXPECT_TRUE(b.in_round(1) && c.in_round(1));
}

TEST(RendezvousState, AFailureEndsTheRoundOnce) {
  Turns turns(options(2, 2, 1));
  RendezvousMember& a = turns.add(node("a"));
  RendezvousMember& b = turns.add(node("b"));
  turns.all();
  a.fail({0, 200, "a's worker"});
  b.fail({0, 100, "b's worker"});
  turns.all();
  EXPECT_EQ(a.view().restarts, 1);
  EXPECT_EQ(a.view().round, 1);
  ASSERT_EQ(a.view().failures.size(), 2u);
  EXPECT_EQ(a.view().failures[0].text, "b's worker");  // it was the first
  a.join();
  b.join();
  turns.all();
  ASSERT_TRUE(a.round());
  EXPECT_EQ(a.round()->restarts, 1);
  a.fail({0, 300, "old"});  // of the round before
  turns.all();
  EXPECT_TRUE(a.in_round(1));
  b.fail({1, 400, "again"});
  turns.all();
  EXPECT_EQ(a.view().phase, Phase::kFailed);
  EXPECT_EQ(a.view().reason, "again");
  RendezvousMember& c = turns.add(node("c"));
  turns.all();
  EXPECT_TRUE(c.view().closed());
  EXPECT_FALSE(c.view().nodes.contains("c"));
}

TEST(RendezvousState, ANodeThatIsDoneWaitsForTheOthers) {
  Turns turns(options(2, 3));
  RendezvousMember& a = turns.add(node("a"));
  RendezvousMember& b = turns.add(node("b"));
  for (int i = 0; i < 5; ++i) turns.all(milliseconds(900));
  ASSERT_TRUE(a.round());
  a.succeed(0);
  turns.all();
  EXPECT_EQ(a.view().phase, Phase::kRunning);
  turns.add(node("c"));  // is not let in any more
  turns.all();
  EXPECT_TRUE(b.in_round(0));
  // One that is done may go: the others have the same round still.
  turns.silent.insert(&a);
  for (int i = 0; i < 5; ++i) turns.all(milliseconds(1000));
  EXPECT_TRUE(b.in_round(0));
  EXPECT_EQ(b.round()->size, 2);
  b.succeed(0);
  turns.all();
  EXPECT_EQ(b.view().phase, Phase::kSucceeded);
}

TEST(RendezvousState, LeavingIsNoFailure) {
  Turns turns(options(1, 2));
  RendezvousMember& a = turns.add(node("a"));
  RendezvousMember& b = turns.add(node("b"));
  turns.all();
  a.leave();
  turns.all();
  EXPECT_FALSE(a.is_pending());
  EXPECT_EQ(b.view().reason, "node a (host-a) with rank 0 of the nodes left");
  EXPECT_EQ(b.view().restarts, 0);
  b.join();
  turns.all();
  ASSERT_TRUE(b.round());
  EXPECT_EQ(b.round()->size, 1);
}

TEST(RendezvousState, RanksThatAreGiven) {
  Turns turns(options(2, 2));
  RendezvousMember& one = turns.add(node("a", 1));
  turns.turn(one);
  RendezvousMember& twin = turns.add(node("b", 1));
  turns.all();
  EXPECT_FALSE(one.round());
  EXPECT_EQ(twin.describe_waiting(),
            "1 of at least 2 node(s) are there: a (rank 1); this node's rank 1 is taken by node a (host-a)");
  RendezvousMember& zero = turns.add(node("c", 0));
  turns.all();
  ASSERT_TRUE(one.round() && zero.round());
  EXPECT_EQ(one.round()->rank, 1);
  EXPECT_EQ(zero.round()->rank, 0);
  // It takes the seat when the other is gone.
  one.leave();
  turns.all();
  zero.join();
  turns.all();
  ASSERT_TRUE(twin.round());
  EXPECT_EQ(twin.round()->rank, 1);
}

// Many nodes by a virtual clock. Each reads and replaces the value over a store that takes its time; nodes come, leave,
// die, stall, and have workers that fail.
class Simulation {
 public:
  struct Chaos {
    int nodes = 8, min_nodes = 2, max_nodes = 6;
    milliseconds slowest_answer{50};
    milliseconds lasts = std::chrono::seconds(40);
    milliseconds keep_alive = std::chrono::seconds(1);
  };

  Simulation(uint64_t seed, Chaos chaos)
      : random_(seed), chaos_(chaos), options_(options(chaos.min_nodes, chaos.max_nodes, 1 << 30)) {
    options_.keep_alive_interval = chaos.keep_alive;
    for (int i = 0; i < chaos.nodes; ++i) add(milliseconds(pick(5000)));
  }

  void run() {
    // Each second something happens to somebody.
    for (int64_t ms = 5000; ms < chaos_.lasts.count(); ms += 200 + pick(1800)) {
      at(milliseconds(ms), [this] { something_happens(); });
    }
    run_until(Time{} + chaos_.lasts);
    // From now on, nothing does: they must agree, at the latest when the dead have been taken out and the last call has
    // passed twice, and who stalls is back.
    const Time end = now_ + options_.dead_after() * 3 + options_.last_call_timeout * 2 + std::chrono::seconds(30);
    while (now_ < end && !is_settled()) run_until(now_ + milliseconds(250));
    EXPECT_TRUE(is_settled()) << describe();
    check_rounds();
  }

  size_t rounds() const { return given_.size(); }
  int64_t most_members() const { return most_; }

 private:
  struct Node {
    std::unique_ptr<RendezvousMember> member;
    std::string seen;
    bool is_alive = true;
    Time stalled_until{};
    int64_t round = -1;
    bool is_stopping = false;  // workers
    bool is_left = false;
  };

  int64_t pick(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random_); }
  void at(milliseconds after_start, std::function<void()> what) {
    events_.push({Time{} + after_start, order_++, std::move(what)});
  }
  void after(milliseconds pause, std::function<void()> what) {
    events_.push({now_ + pause, order_++, std::move(what)});
  }

  void run_until(Time end) {
    while (!events_.empty() && events_.top().when <= end) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.when;
      event.what();
    }
    now_ = end;
  }

  void add(milliseconds when) {
    auto made = std::make_shared<Node>();
    made->member = std::make_unique<RendezvousMember>(options_, node(c10::str("n", nodes_.size()), -1, 1 + pick(4)));
    nodes_.push_back(made);
    after(when, [this, made] {
      made->member->join();
      look(made);
    });
  }

  milliseconds answer_time() {
    // Now and then the store is slow.
    return milliseconds(pick(20) == 0 ? pick(chaos_.slowest_answer.count() + 1) : 1 + pick(3));
  }

  void look(const std::shared_ptr<Node>& node) {
    if (!node->is_alive) return;
    if (now_ < node->stalled_until) {
      events_.push({node->stalled_until, order_++, [this, node] { look(node); }});
      return;
    }
    const auto wanted = node->member->next(node->seen, now_);
    const std::string desired = wanted.value_or(node->seen);
    after(answer_time(), [this, node, desired] {
      if (value_ == node->seen) value_ = desired;  // also of a node that has died meanwhile
      const std::string has = value_;
      after(answer_time(), [this, node, desired, has] { answered(node, desired, has); });
    });
  }

  void answered(const std::shared_ptr<Node>& node, const std::string& desired, const std::string& has) {
    if (!node->is_alive) return;
    if (now_ < node->stalled_until) {
      events_.push({node->stalled_until, order_++, [=, this] { answered(node, desired, has); }});
      return;
    }
    node->seen = has;
    if (has != desired) return look(node);
    node->member->accept(has, now_);
    most_ = std::max<int64_t>(most_, static_cast<int64_t>(node->member->view().nodes.size()));
    lives(node);
    const int64_t pause = std::min<int64_t>(50 + 4 * static_cast<int64_t>(node->member->view().nodes.size()),
                                            chaos_.keep_alive.count() / 4);
    after(milliseconds(pause + pick(20)), [this, node] { look(node); });
  }

  // What an agent does.
  void lives(const std::shared_ptr<Node>& node) {
    if (node->is_left || node->is_stopping) return;
    if (node->round < 0) {
      const auto round = node->member->round();
      if (!round || node->member->wants_to_join()) return;
      node->round = round->number;
      given_[round->number].push_back(*round);
      return;
    }
    if (node->member->in_round(node->round)) return;
    node->is_stopping = true;
    // Some workers do not end when they are told to. The others wait for those, but not for ever.
    after(milliseconds(pick(1000) == 0 ? 15000
                       : pick(10) == 0 ? 8000
                                       : pick(2000)),
          [node] {
            node->is_stopping = false;
            node->round = -1;
            if (!node->is_left) node->member->join();
          });
  }

  void something_happens() {
    const auto& node = nodes_[static_cast<size_t>(pick(static_cast<int64_t>(nodes_.size())))];
    switch (pick(6)) {
      case 0:
        node->is_alive = false;
        break;
      case 1:
        if (!node->is_left) node->member->leave();
        node->is_left = true;
        break;
      case 2:
        node->stalled_until = now_ + milliseconds(pick(8000));
        break;
      case 3:
        if (node->round >= 0) node->member->fail({node->round, 0, "a worker"});
        break;
      default:
        add(milliseconds(0));
    }
  }

  std::string describe() const {
    std::string text = value_.substr(0, value_.find('\n'));
    for (const auto& node : nodes_) {
      const std::string& id = node->member->info().id;
      if (node->is_alive && !node->is_left && !node->member->in_round(node->round)) {
        text += c10::str("\nout: ", id, " round ", node->round, " stopping ", node->is_stopping, " wants to join ",
                         node->member->wants_to_join(), ", sees ", node->member->view().round);
      }
    }
    return text;
  }

  // As many as fit are in one round.
  bool is_settled() const {
    std::set<int64_t> rounds;
    size_t in = 0, there = 0;
    for (const auto& node : nodes_) {
      if (!node->is_alive || node->is_left) continue;
      ++there;
      if (node->round < 0 || !node->member->in_round(node->round)) continue;
      ++in;
      rounds.insert(node->round);
    }
    if (there < static_cast<size_t>(chaos_.min_nodes)) return in == 0;
    return in == std::min(there, static_cast<size_t>(chaos_.max_nodes)) && rounds.size() == 1;
  }

  // Whoever was in a round was told the same, and each has ranks of its own.
  void check_rounds() {
    for (const auto& [number, rounds] : given_) {
      std::set<int> ranks;
      std::set<int64_t> first_ranks;
      for (const Round& round : rounds) {
        EXPECT_GE(round.size, chaos_.min_nodes);
        EXPECT_LE(round.size, chaos_.max_nodes);
        EXPECT_EQ(round.size, rounds.front().size) << "round " << number;
        EXPECT_EQ(round.world_size, rounds.front().world_size) << "round " << number;
        EXPECT_EQ(round.addresses, rounds.front().addresses) << "round " << number;
        EXPECT_TRUE(ranks.insert(round.rank).second) << "round " << number << " rank " << round.rank;
        EXPECT_TRUE(first_ranks.insert(round.first_rank).second);
        EXPECT_LT(round.rank, round.size);
        EXPECT_GE(round.rank, 0);
      }
    }
  }

  struct Event {
    Time when;
    uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const { return when != other.when ? when > other.when : order > other.order; }
  };

  std::mt19937_64 random_;
  const Chaos chaos_;
  RendezvousOptions options_;
  Time now_{};
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::string value_;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::map<int64_t, std::vector<Round>> given_;
  int64_t most_ = 0;
};

TEST(RendezvousSimulation, FewNodesOfManySeeds) {
  size_t rounds = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(c10::str("seed ", seed));
    Simulation simulation(seed, {});
    simulation.run();
    rounds += simulation.rounds();
  }
  EXPECT_GT(rounds, 200u);  // else nothing was tried
}

TEST(RendezvousSimulation, ASlowStore) {
  for (uint64_t seed = 100; seed < 115; ++seed) {
    SCOPED_TRACE(c10::str("seed ", seed));
    Simulation::Chaos chaos;
    chaos.slowest_answer = milliseconds(800);
    Simulation simulation(seed, chaos);
    simulation.run();
  }
}

TEST(RendezvousSimulation, ManyNodes) {
  Simulation::Chaos chaos;
  chaos.nodes = 256;
  chaos.min_nodes = 200;
  chaos.max_nodes = 256;
  chaos.lasts = std::chrono::seconds(9);
  chaos.keep_alive = std::chrono::seconds(5);
  Simulation simulation(7, chaos);
  simulation.run();
  EXPECT_GE(simulation.most_members(), 230);
  EXPECT_GE(simulation.rounds(), 2u);
}

}  // namespace
}  // namespace c10d::launch
