#include "distributed/launch/rendezvous_state.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d::launch {
namespace {

using Node = RendezvousState::Node;
using Phase = RendezvousState::Phase;
using Place = RendezvousState::Place;

constexpr const char* kPhases[] = {"joining", "running", "succeeded", "failed"};
constexpr const char* kPlaces[] = {"joined", "expected", "waiting"};
// A state is read and written by every node, every few seconds.
constexpr size_t kLongestReason = 4096;
constexpr size_t kMostFailures = 8;

constexpr const char* kHead = "rendezvous-1";

bool is_plain(char c) {
  return c > ' ' && c != '%' && c != 127;
}

// Never empty: "" is "%".
void append_word(std::string& to, const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  if (text.empty()) to += '%';
  for (const char c : text) {
    if (is_plain(c)) {
      to += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    to += '%';
    to += kDigits[byte >> 4];
    to += kDigits[byte & 15];
  }
}

class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool accept(std::string_view word) {
    if (rest_.substr(0, rest_.find_first_of(" \n")) != word) return false;
    next();
    return true;
  }
  void expect(std::string_view word) { check(accept(word)); }
  template <class T>
  T number() {
    const std::string_view word = next();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    check(error == std::errc() && end == word.data() + word.size());
    return value;
  }
  template <class E, size_t n>
  E one_of(const char* const (&names)[n]) {
    const std::string_view word = next();
    size_t i = 0;
    while (i < n && word != names[i]) ++i;
    check(i < n);
    return static_cast<E>(i);
  }
  std::string text() {
    const std::string_view word = next();
    if (word == "%") return {};
    std::string text;
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] != '%') {
        text += word[i];
        continue;
      }
      unsigned byte = 0;
      check(i + 2 < word.size());
      const auto [end, error] = std::from_chars(word.data() + i + 1, word.data() + i + 3, byte, 16);
      check(error == std::errc() && end == word.data() + i + 3);
      text += static_cast<char>(byte);
      i += 2;
    }
    return text;
  }

 private:
  std::string_view next() {
    check(!rest_.empty());
    const size_t end = std::min(rest_.find_first_of(" \n"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  static void check(bool is_right) {
    TORCH_CHECK_VALUE(is_right, "rendezvous: the store holds what is no state of a rendezvous");
  }
  std::string_view rest_;
};

std::string shortened(const std::string& text) {
  return text.substr(0, kLongestReason);
}

std::string called(const NodeInfo& info) {
  return c10::str("node ", info.id,
                  info.address.empty() || info.id.find(info.address) != std::string::npos
                      ? std::string()
                      : c10::str(" (", info.address, ")"));
}

std::string milliseconds_text(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? c10::str(time.count() / 1000, " s") : c10::str(time.count(), " ms");
}

}  // namespace

void RendezvousOptions::check() const {
  TORCH_CHECK_VALUE(min_nodes >= 1 && max_nodes >= min_nodes, "rendezvous: 1 <= min_nodes <= max_nodes must hold, got ",
                    min_nodes, " and ", max_nodes);
  TORCH_CHECK_VALUE(max_restarts >= 0, "rendezvous: max_restarts must not be negative, got ", max_restarts);
  TORCH_CHECK_VALUE(join_timeout.count() > 0, "rendezvous: join_timeout must be positive");
  TORCH_CHECK_VALUE(last_call_timeout.count() >= 0, "rendezvous: last_call_timeout must not be negative");
  TORCH_CHECK_VALUE(keep_alive_interval.count() > 0, "rendezvous: keep_alive_interval must be positive");
  TORCH_CHECK_VALUE(keep_alive_max_attempt >= 1, "rendezvous: keep_alive_max_attempt must be at least 1, got ",
                    keep_alive_max_attempt);
}

int RendezvousState::count(Place place) const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.second.place == place; }));
}

// A line for the state, one for each failure, one for each node; words between spaces, other letters as "%20".
std::string RendezvousState::to_text() const {
  std::string text = c10::str(kHead, ' ', round, ' ', kPhases[static_cast<int>(phase)], ' ', restarts, ' ');
  append_word(text, reason);
  for (const Failure& failure : failures) {
    text += c10::str("\nfailure ", failure.round, ' ', failure.unix_ms, ' ');
    append_word(text, failure.text);
  }
  for (const auto& [id, node] : nodes) {
    text += "\nnode ";
    append_word(text, id);
    text += c10::str(' ', kPlaces[static_cast<int>(node.place)], ' ', node.rank, ' ', node.heartbeat, ' ',
                     node.done ? 1 : 0, ' ', node.info.workers, ' ', node.info.fixed_rank, ' ');
    append_word(text, node.info.role);
    text += ' ';
    append_word(text, node.info.address);
  }
  return text;
}

RendezvousState RendezvousState::from_text(const std::string& text) {
  RendezvousState state;
  if (text.empty()) return state;
  Words words(text);
  words.expect(kHead);
  state.round = words.number<int64_t>();
  state.phase = words.one_of<Phase>(kPhases);
  state.restarts = words.number<int64_t>();
  state.reason = words.text();
  while (!words.at_end()) {
    if (words.accept("failure")) {
      Failure& failure = state.failures.emplace_back();
      failure.round = words.number<int64_t>();
      failure.unix_ms = words.number<int64_t>();
      failure.text = words.text();
      continue;
    }
    words.expect("node");
    std::string id = words.text();
    Node& node = state.nodes[id];
    node.info.id = std::move(id);
    node.place = words.one_of<Place>(kPlaces);
    node.rank = words.number<int>();
    node.heartbeat = words.number<uint64_t>();
    node.done = words.number<int>() != 0;
    node.info.workers = words.number<int>();
    node.info.fixed_rank = words.number<int>();
    node.info.role = words.text();
    node.info.address = words.text();
  }
  return state;
}

RendezvousMember::RendezvousMember(RendezvousOptions options, NodeInfo info)
    : options_(options), info_(std::move(info)) {
  options_.check();
  TORCH_CHECK_VALUE(!info_.id.empty(), "rendezvous: a node must have an id");
  TORCH_CHECK_VALUE(info_.workers >= 1, "rendezvous: a node must have workers, got ", info_.workers);
  TORCH_CHECK_VALUE(info_.fixed_rank < options_.max_nodes, "rendezvous: the node's rank ", info_.fixed_rank,
                    " must be below the number of nodes, ", options_.max_nodes);
}

void RendezvousMember::join() {
  wish_ = Wish::kJoin;
}
void RendezvousMember::leave() {
  wish_ = Wish::kLeave;
}
void RendezvousMember::succeed(int64_t round) {
  succeeded_round_ = round;
}

void RendezvousMember::fail(Failure failure) {
  failure.text = shortened(failure.text);
  failures_.push_back(std::move(failure));
}

bool RendezvousMember::is_pending() const {
  const auto mine = view_.nodes.find(info_.id);
  const bool is_there = mine != view_.nodes.end();
  if (!failures_.empty()) return true;
  if (wish_ == Wish::kLeave) return is_there;
  return is_there && in_round(succeeded_round_) && !mine->second.done;
}

void RendezvousMember::end_round(RendezvousState& state, const std::string& reason) {
  state.reason = shortened(reason);
  ++state.round;
  state.phase = Phase::kJoining;
  for (auto& [id, node] : state.nodes) {
    if (node.place != Place::kJoined) continue;
    node.place = Place::kExpected;
    node.done = false;
  }
}

// A node that is gone ends the round. One that had done its part stays in it: all others must be given the same round.
bool RendezvousMember::take_out(RendezvousState& state, const std::string& id, const std::string& why) {
  const auto found = state.nodes.find(id);
  if (found == state.nodes.end()) return false;
  const Node gone = found->second;
  const bool takes_part = state.phase == Phase::kRunning && gone.place == Place::kJoined;
  if (takes_part && gone.done) return false;
  state.nodes.erase(found);
  if (takes_part) {
    end_round(state, c10::str(called(gone.info), " with rank ", gone.rank, " of the nodes ", why));
  }
  return true;
}

bool RendezvousMember::remove_the_dead(RendezvousState& state, Time now) {
  std::erase_if(seen_, [&](const auto& seen) { return !state.nodes.contains(seen.first); });
  std::vector<std::string> dead;
  for (const auto& [id, node] : state.nodes) {
    const auto [seen, is_new] = seen_.try_emplace(id, Seen{node.heartbeat, now});
    if (seen->second.heartbeat != node.heartbeat) seen->second = {node.heartbeat, now};
    if (!is_new && id != info_.id && now - seen->second.since >= options_.dead_after()) dead.push_back(id);
  }
  bool changed = false;
  for (const std::string& id : dead) {
    const std::string why = c10::str("gave no sign of life for ", milliseconds_text(options_.dead_after()));
    changed = take_out(state, id, why) || changed;
  }
  return changed;
}

bool RendezvousMember::can_join(const RendezvousState& state, const Node& node) const {
  if (state.phase != Phase::kJoining) return false;
  const int joined = state.count(Place::kJoined);
  if (node.info.fixed_rank >= 0) {
    for (const auto& [id, other] : state.nodes) {
      if (id == node.info.id || other.place == Place::kWaiting) continue;
      if (other.info.fixed_rank == node.info.fixed_rank) return false;
    }
  }
  // Who was in the round before has a seat.
  if (node.place == Place::kExpected) return joined < options_.max_nodes;
  return joined + state.count(Place::kExpected) < options_.max_nodes;
}

bool RendezvousMember::do_what_is_wanted(RendezvousState& state) {
  bool changed = false;
  // A node may learn of its worker's failure when another has ended the round already: that is told, and ends nothing.
  for (const Failure& failure : failures_) {
    const bool ends = state.phase == Phase::kRunning && state.round == failure.round && state.nodes.contains(info_.id);
    const bool is_late = !state.failures.empty() && state.failures.front().round == failure.round;
    if (!ends && !is_late) continue;
    changed = true;
    if (ends) state.failures.clear();
    state.failures.push_back(failure);
    std::sort(state.failures.begin(), state.failures.end(), [](const Failure& a, const Failure& b) {
      return std::tie(a.unix_ms, a.text) < std::tie(b.unix_ms, b.text);
    });
    if (state.failures.size() > kMostFailures) state.failures.pop_back();
    if (!ends) continue;
    if (state.restarts >= options_.max_restarts) {
      state.phase = Phase::kFailed;
      state.reason = failure.text;
    } else {
      ++state.restarts;
      end_round(state, failure.text);
    }
  }
  const auto mine = state.nodes.find(info_.id);
  if (wish_ == Wish::kLeave) return take_out(state, info_.id, "left") || changed;
  if (mine != state.nodes.end() && state.phase == Phase::kRunning && state.round == succeeded_round_ &&
      mine->second.place == Place::kJoined && !mine->second.done) {
    mine->second.done = true;
    changed = true;
  }
  if (wish_ == Wish::kJoin && !state.closed()) {
    if (mine == state.nodes.end()) {
      Node node;
      node.info = info_;
      node.place = Place::kWaiting;
      if (can_join(state, node)) node.place = Place::kJoined;
      state.nodes[info_.id] = node;
      changed = true;
    } else if (mine->second.place == Place::kExpected && can_join(state, mine->second)) {
      mine->second.place = Place::kJoined;
      changed = true;
    }
  }
  return changed;
}

void RendezvousMember::begin(RendezvousState& state) const {
  std::vector<Node*> joined;
  for (auto& [id, node] : state.nodes) {
    if (node.place == Place::kJoined) joined.push_back(&node);
  }
  // Nodes keep their order from round to round, as far as it goes: what the first has on its disk stays the first's.
  std::sort(joined.begin(), joined.end(), [](const Node* a, const Node* b) {
    const auto order = [](const Node* node) {
      return std::make_tuple(node->info.fixed_rank, node->rank < 0, node->rank, std::cref(node->info.id));
    };
    return order(a) < order(b);
  });
  for (size_t rank = 0; rank < joined.size(); ++rank) joined[rank]->rank = static_cast<int>(rank);
  state.phase = Phase::kRunning;
  // Who has not come back has no seat any more.
  std::erase_if(state.nodes, [](const auto& node) { return node.second.place == Place::kExpected; });
}

bool RendezvousMember::settle(RendezvousState& state, Time now) {
  bool changed = false;
  if (state.phase == Phase::kRunning) {
    bool all_done = true, any_done = false;
    for (const auto& [id, node] : state.nodes) {
      if (node.place != Place::kJoined) continue;
      all_done = all_done && node.done;
      any_done = any_done || node.done;
    }
    if (any_done && all_done) {
      state.phase = Phase::kSucceeded;
      state.reason = "all workers have ended well";
      return true;
    }
    // Nobody is let in when the end is near.
    const int free = options_.max_nodes - state.count(Place::kJoined);
    if (!any_done && free > 0 && state.count(Place::kWaiting) > 0) {
      end_round(state, c10::str(std::min(free, state.count(Place::kWaiting)), " more node(s) came"));
      changed = true;
    }
  }
  if (state.phase != Phase::kJoining) return changed;
  for (auto& [id, node] : state.nodes) {
    if (node.place != Place::kWaiting || !can_join(state, node)) continue;
    node.place = Place::kJoined;
    changed = true;
  }
  const int joined = state.count(Place::kJoined);
  if (joined < options_.min_nodes) {
    enough_since_.reset();
    return changed;
  }
  if (!enough_since_ || enough_round_ != state.round) {
    enough_since_ = now;
    enough_round_ = state.round;
  }
  const auto waited = now - *enough_since_;
  const bool is_enough = state.count(Place::kExpected) == 0 ? state.round > 0 || waited >= options_.last_call_timeout
                                                            : waited >= options_.return_timeout;
  if (joined == options_.max_nodes || is_enough) {
    begin(state);
    changed = true;
  }
  return changed;
}

std::optional<std::string> RendezvousMember::next(const std::string& current, Time now) {
  RendezvousState state = read(current);
  bool changed = remove_the_dead(state, now);
  changed = do_what_is_wanted(state) || changed;
  told_ = failures_.size();
  if (state.nodes.contains(info_.id) && !state.closed()) changed = settle(state, now) || changed;
  if (const auto mine = state.nodes.find(info_.id); mine != state.nodes.end()) {
    if (!changed && last_beat_ && now - *last_beat_ < options_.keep_alive_interval) return std::nullopt;
    ++mine->second.heartbeat;
  } else if (!changed) {
    return std::nullopt;
  }
  proposed_text_ = state.to_text();
  proposed_ = std::move(state);
  return proposed_text_;
}

RendezvousState RendezvousMember::read(const std::string& text) const {
  if (text == view_text_) return view_;
  if (text == proposed_text_) return proposed_;
  return RendezvousState::from_text(text);
}

void RendezvousMember::accept(const std::string& value, Time now) {
  RendezvousState state = read(value);
  const auto mine = state.nodes.find(info_.id);
  const auto before = view_.nodes.find(info_.id);
  if (mine != state.nodes.end() &&
      (before == view_.nodes.end() || before->second.heartbeat != mine->second.heartbeat)) {
    last_beat_ = now;
  }
  view_ = std::move(state);
  view_text_ = value;
  failures_.erase(failures_.begin(), failures_.begin() + static_cast<ptrdiff_t>(told_));
  told_ = 0;
  // The node joins again when its workers of this round have ended.
  if (in_round(view_.round)) wish_ = wish_ == Wish::kJoin ? Wish::kNothing : wish_;
}

bool RendezvousMember::in_round(int64_t number) const {
  if (view_.phase != Phase::kRunning || view_.round != number) return false;
  const auto mine = view_.nodes.find(info_.id);
  return mine != view_.nodes.end() && mine->second.place == Place::kJoined;
}

std::optional<Round> RendezvousMember::round() const {
  if (!in_round(view_.round)) return std::nullopt;
  std::vector<const Node*> joined;
  for (const auto& [id, node] : view_.nodes) {
    if (node.place == Place::kJoined) joined.push_back(&node);
  }
  std::sort(joined.begin(), joined.end(), [](const Node* a, const Node* b) { return a->rank < b->rank; });
  Round round;
  round.number = view_.round;
  round.restarts = view_.restarts;
  round.size = static_cast<int>(joined.size());
  round.world_size = round.role_world_size = 0;
  for (const Node* node : joined) {
    if (node->info.id == info_.id) {
      round.rank = node->rank;
      round.first_rank = round.world_size;
      round.first_role_rank = round.role_world_size;
    }
    round.world_size += node->info.workers;
    if (node->info.role == info_.role) round.role_world_size += node->info.workers;
    round.addresses.push_back(node->info.address);
  }
  return round;
}

std::string RendezvousMember::describe_waiting() const {
  std::vector<std::string> names;
  for (const auto& [id, node] : view_.nodes) {
    if (node.place != Place::kJoined) continue;
    names.push_back(id + (node.info.fixed_rank < 0 ? "" : c10::str(" (rank ", node.info.fixed_rank, ")")));
  }
  std::string text = c10::str(names.size(), " of at least ", options_.min_nodes, " node(s) are there",
                              names.empty() ? "" : ": ", c10::Join(", ", names));
  for (const auto& [id, node] : view_.nodes) {
    if (id == info_.id || node.place == Place::kWaiting || info_.fixed_rank < 0) continue;
    if (node.info.fixed_rank == info_.fixed_rank) {
      text += c10::str("; this node's rank ", info_.fixed_rank, " is taken by ", called(node.info));
    }
  }
  if (view_.phase == Phase::kRunning) text += c10::str("; round ", view_.round, " runs without this node");
  if (!view_.reason.empty()) text += c10::str("; the round before ended: ", view_.reason);
  return text;
}

}  // namespace c10d::launch
