#include "distributed/pipeline/orders.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/pipeline/simulator.h"

namespace torch::distributed::pipelining {
namespace {

using Type = ComputationType;

// The actions of one rank while they are put together: counts the microbatches of each stage.
class Row {
 public:
  Action forward(int64_t stage) { return make_action(stage, Type::FORWARD, forwards_[stage]++); }
  Action backward(int64_t stage, Type type = Type::FULL_BACKWARD) {
    const Action action = make_action(stage, type, backwards_[stage]++);
    if (type == Type::BACKWARD_INPUT)
      weights_.push_back(make_action(stage, Type::BACKWARD_WEIGHT, action.microbatch_index));
    return action;
  }

  void add_forward(int64_t stage) { actions.push_back(forward(stage)); }
  void add_backward(int64_t stage) { actions.push_back(backward(stage)); }
  void add_input(int64_t stage) { actions.push_back(backward(stage, Type::BACKWARD_INPUT)); }
  // The weights' part that has waited longest.
  void add_weight() {
    if (weights_.empty()) return;
    actions.push_back(weights_.front());
    weights_.pop_front();
  }
  void add_weights() {
    while (!weights_.empty()) add_weight();
  }
  // The weights' part of the newest backward.
  void add_own_weight() {
    actions.push_back(weights_.back());
    weights_.pop_back();
  }
  int64_t forwards(int64_t stage) const {
    const auto found = forwards_.find(stage);
    return found == forwards_.end() ? 0 : found->second;
  }

  std::vector<Action> actions;

 private:
  std::map<int64_t, int64_t> forwards_, backwards_;
  std::deque<Action> weights_;
};

void check_sizes(const char* name, int64_t ranks, int64_t stages_per_rank, int64_t microbatches) {
  TORCH_CHECK_VALUE(ranks > 0, name, ": expected a positive number of ranks, but got ", ranks);
  TORCH_CHECK_VALUE(stages_per_rank > 0, name, ": expected a positive number of stages on each rank, but got ",
                    stages_per_rank);
  TORCH_CHECK_VALUE(microbatches > 0, name, ": expected a positive number of microbatches, but got ", microbatches);
}

void check_enough(const char* name, int64_t microbatches, int64_t least, const char* least_is) {
  TORCH_CHECK_VALUE(microbatches >= least, name, ": expected at least as many microbatches as ", least_is, ", ", least,
                    ", but got ", microbatches);
}

// How many microbatches of a stage come before the first one of the rank's next stage.
int64_t round_of(const char* name, int64_t ranks, int64_t microbatches) {
  const int64_t rounds = std::max<int64_t>(1, microbatches / ranks);
  TORCH_CHECK_VALUE(microbatches % rounds == 0, name, ": with ", ranks, " ranks microbatches go in ", rounds,
                    " rounds, which must divide their number, but it is ", microbatches);
  return microbatches / rounds;
}

// Stages of the rank in turn, a round of microbatches each. `ahead`: forwards before the first backward, beside those
// of the other stages. `weight_delay`: none, or how many backwards the weights' part waits for.
std::vector<Action> interleaved_row(int64_t rank, int64_t ranks, int64_t locals, int64_t microbatches, int64_t round,
                                    int64_t ahead, std::optional<int64_t> weight_delay) {
  Row row;
  const int64_t total = locals * microbatches;
  const int64_t warmup = std::min(total, (locals - 1) * round + ahead);
  const auto forward = [&](int64_t i) { row.add_forward(i / round % locals * ranks + rank); };
  const auto backward = [&](int64_t i) {
    const int64_t stage = (locals - 1 - i / round % locals) * ranks + rank;
    if (!weight_delay) return row.add_backward(stage);
    row.add_input(stage);
    if (i >= *weight_delay) row.add_weight();
  };
  for (int64_t i = 0; i < warmup; ++i) forward(i);
  for (int64_t i = warmup; i < total; ++i) {
    forward(i);
    backward(i - warmup);
  }
  for (int64_t i = total - warmup; i < total; ++i) backward(i);
  row.add_weights();
  return std::move(row.actions);
}

}  // namespace

PipelineOrder gpipe_order(int64_t ranks, int64_t microbatches) {
  check_sizes("gpipe_order", ranks, 1, microbatches);
  return looped_bfs_order(ranks, 1, microbatches);
}

PipelineOrder one_forward_one_backward_order(int64_t ranks, int64_t microbatches) {
  const char* const name = "one_forward_one_backward_order";
  check_sizes(name, ranks, 1, microbatches);
  check_enough(name, microbatches, ranks, "ranks");
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    order.push_back(interleaved_row(rank, ranks, 1, microbatches, microbatches, ranks - 1 - rank, std::nullopt));
  }
  return order;
}

PipelineOrder interleaved_1f1b_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches) {
  const char* const name = "interleaved_1f1b_order";
  check_sizes(name, ranks, stages_per_rank, microbatches);
  const int64_t round = round_of(name, ranks, microbatches);
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    order.push_back(
        interleaved_row(rank, ranks, stages_per_rank, microbatches, round, 2 * (ranks - 1 - rank), std::nullopt));
  }
  return order;
}

PipelineOrder looped_bfs_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches) {
  check_sizes("looped_bfs_order", ranks, stages_per_rank, microbatches);
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Row row;
    for (int64_t local = 0; local < stages_per_rank; ++local) {
      for (int64_t i = 0; i < microbatches; ++i) row.add_forward(local * ranks + rank);
    }
    for (int64_t local = stages_per_rank; local-- > 0;) {
      for (int64_t i = 0; i < microbatches; ++i) row.add_backward(local * ranks + rank);
    }
    order.push_back(std::move(row.actions));
  }
  return order;
}

PipelineOrder interleaved_zero_bubble_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches) {
  const char* const name = "interleaved_zero_bubble_order";
  check_sizes(name, ranks, stages_per_rank, microbatches);
  const int64_t round = round_of(name, ranks, microbatches);
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    order.push_back(interleaved_row(rank, ranks, stages_per_rank, microbatches, round, ranks - 1 - rank, rank));
  }
  return order;
}

PipelineOrder zbv_order(int64_t ranks, int64_t microbatches) {
  check_sizes("zbv_order", ranks, 2, microbatches);
  check_enough("zbv_order", microbatches, ranks, "ranks");
  // What fewer microbatches do is what more do, without the rest.
  const int64_t n = std::max(microbatches, 2 * ranks);
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Row row;
    const int64_t down = rank, up = 2 * ranks - 1 - rank;
    for (int64_t i = 0; i < 2 * (ranks - rank) - 1; ++i) row.add_forward(down);
    for (int64_t i = 0; i < rank; ++i) {
      row.add_forward(up);
      row.add_forward(down);
    }
    for (int64_t i = 0; i < ranks - rank; ++i) {
      row.add_forward(up);
      row.add_input(up);
      row.add_own_weight();
    }
    while (row.forwards(up) < n) {
      if (row.forwards(down) < n) row.add_forward(down);
      row.add_input(down);
      row.add_own_weight();
      row.add_forward(up);
      row.add_input(up);
      row.add_own_weight();
    }
    for (int64_t i = 0; i < rank; ++i) {
      row.add_input(down);
      row.add_input(up);
    }
    for (int64_t i = 0; i < ranks - rank; ++i) {
      row.add_input(down);
      row.add_weight();
    }
    row.add_weights();
    std::erase_if(row.actions, [&](const Action& action) { return *action.microbatch_index >= microbatches; });
    order.push_back(std::move(row.actions));
  }
  return order;
}

PipelineOrder dual_pipe_v_order(int64_t ranks, int64_t microbatches) {
  check_sizes("dual_pipe_v_order", ranks, 2, microbatches);
  check_enough("dual_pipe_v_order", microbatches, 2 * ranks, "stages");
  PipelineOrder order;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Row row;
    const int64_t down = rank, up = 2 * ranks - 1 - rank, behind = ranks - 1 - rank;
    const auto both = [&](int64_t forward, int64_t backward) {
      // One after the other, so that microbatches are counted in that order.
      const Action first = row.forward(forward);
      row.actions.push_back(overlap(first, row.backward(backward)));
    };
    for (int64_t i = 0; i < 2 * behind; ++i) row.add_forward(down);
    for (int64_t i = 0; i < rank + 1; ++i) {
      row.add_forward(down);
      row.add_forward(up);
    }
    for (int64_t i = 0; i < behind; ++i) {
      row.add_input(up);
      row.add_weight();
      row.add_forward(up);
    }
    for (int64_t i = 0; i < microbatches - 2 * ranks + rank + 1; ++i) {
      if (i == 0 && behind == 0) {
        // Apart, so that the stage below gets its gradient sooner.
        row.add_forward(down);
        row.add_backward(up);
      } else {
        both(down, up);
      }
      both(up, down);
    }
    for (int64_t i = 0; i < behind; ++i) {
      row.add_backward(up);
      both(up, down);
    }
    // From the middle on weights wait; which of the two stages begins it differs from rank to rank.
    for (int64_t i = 0; i < rank + 1; ++i) {
      const int64_t middle = (rank + 1) / 2;
      i > middle || (i == middle && rank % 2 == 1) ? row.add_input(up) : row.add_backward(up);
      i >= middle ? row.add_input(down) : row.add_backward(down);
    }
    for (int64_t i = 0; i < behind; ++i) {
      row.add_weight();
      row.add_input(down);
    }
    row.add_weights();
    order.push_back(std::move(row.actions));
  }
  return order;
}

PipelineOrder forward_only(const PipelineOrder& order) {
  PipelineOrder result;
  for (const std::vector<Action>& row : order) {
    std::vector<Action>& forwards = result.emplace_back();
    for (const Action& action : row) {
      if (action.computation_type == Type::FORWARD) forwards.push_back(action);
      if (action.computation_type == Type::OVERLAP_F_B) forwards.push_back(action.sub_actions.at(0));
    }
  }
  return result;
}

// --- messages ---

namespace {

// What a rank does, in what order, before messages are put between.
struct Place {
  size_t rank = 0, position = 0;
};
// By stage and microbatch.
using Places = std::map<std::pair<int64_t, int64_t>, Place>;

// The parts of an action that compute.
std::vector<Action> parts_of(const Action& action) {
  return action.computation_type == Type::OVERLAP_F_B ? action.sub_actions : std::vector<Action>{action};
}

}  // namespace

PipelineOrder add_communication(const PipelineOrder& order) {
  TORCH_CHECK_VALUE(!shape_of(order).has_messages, "add_communication: the schedule has messages already");
  Places forwards, backwards;
  // The last position of each stage's backward.
  std::map<int64_t, Place> last;
  std::set<int64_t> reduced;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    for (size_t i = 0; i < order[rank].size(); ++i) {
      for (const Action& part : parts_of(order[rank][i])) {
        const Type type = part.computation_type;
        if (type == Type::REDUCE_GRAD) reduced.insert(part.stage_index);
        if (!part.microbatch_index) continue;
        const std::pair key(part.stage_index, *part.microbatch_index);
        if (type == Type::FORWARD) forwards[key] = {rank, i};
        if (type == Type::FULL_BACKWARD || type == Type::BACKWARD_INPUT) backwards[key] = {rank, i};
        if (type == Type::FULL_BACKWARD || type == Type::BACKWARD_WEIGHT) last[part.stage_index] = {rank, i};
      }
    }
  }

  // What is put before and behind each action.
  std::vector<std::vector<std::vector<Action>>> before(order.size()), behind(order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    before[rank].resize(order[rank].size());
    behind[rank].resize(order[rank].size());
  }
  const auto connect = [&](const Places& senders, const Places& receivers, int64_t step, Type send, Type receive,
                           bool follows_forward) {
    // Messages of each stage in the order in which they are sent.
    std::map<int64_t, std::vector<std::pair<size_t, int64_t>>> sent;
    for (const auto& [key, place] : senders) {
      const auto to = receivers.find({key.first + step, key.second});
      if (to == receivers.end() || to->second.rank == place.rank) continue;
      sent[key.first].emplace_back(place.position, key.second);
      behind[place.rank][place.position].push_back(make_action(key.first, send, key.second));
    }
    for (auto& [stage, messages] : sent) {
      std::sort(messages.begin(), messages.end());
      // A message comes behind all that were sent before it, so those must be received by then.
      size_t latest = SIZE_MAX;
      for (size_t i = messages.size(); i-- > 0;) {
        const std::pair key(stage + step, messages[i].second);
        const Place place = receivers.at(key);
        size_t at = place.position == 0 ? 0 : place.position - 1;
        if (follows_forward) at = std::max(at, forwards.at(key).position + 1);
        latest = std::min(latest, at);
        before[place.rank][latest].insert(before[place.rank][latest].begin(),
                                          make_action(key.first, receive, key.second));
      }
    }
  };
  connect(forwards, forwards, 1, Type::SEND_F, Type::RECV_F, false);
  connect(backwards, backwards, -1, Type::SEND_B, Type::RECV_B, true);
  for (const auto& [stage, place] : last) {
    if (reduced.count(stage) == 0) behind[place.rank][place.position].push_back(make_action(stage, Type::REDUCE_GRAD));
  }

  PipelineOrder result(order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    for (size_t i = 0; i < order[rank].size(); ++i) {
      result[rank].insert(result[rank].end(), before[rank][i].begin(), before[rank][i].end());
      result[rank].push_back(order[rank][i]);
      result[rank].insert(result[rank].end(), behind[rank][i].begin(), behind[rank][i].end());
    }
  }
  return result;
}

}  // namespace torch::distributed::pipelining
