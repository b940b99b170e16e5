#include "distributed/pipeline/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::distributed::pipelining {
namespace {

using Type = ComputationType;

bool is_send(Type type) {
  return type == Type::SEND_F || type == Type::SEND_B;
}
bool is_receive(Type type) {
  return type == Type::RECV_F || type == Type::RECV_B;
}
bool is_backward(Type type) {
  return type == Type::FULL_BACKWARD || type == Type::BACKWARD_INPUT;
}
bool ends_backward(Type type) {
  return type == Type::FULL_BACKWARD || type == Type::BACKWARD_WEIGHT;
}

bool is_computation(Type type) {
  return type == Type::FORWARD || is_backward(type) || type == Type::BACKWARD_WEIGHT;
}

template <class Visit>
void visit_parts(const Action& action, const Visit& visit) {
  if (action.computation_type != Type::OVERLAP_F_B) return visit(action);
  for (const Action& part : action.sub_actions) visit(part);
}

// What is known of a microbatch in a stage.
struct Counts {
  int forward = 0, full = 0, input = 0, weight = 0;
};

int64_t microbatch_of(const Action& action) {
  TORCH_CHECK_VALUE(action.microbatch_index, "pipeline schedule: ", to_string(action.computation_type), " of stage ",
                    action.stage_index, " has no microbatch");
  return *action.microbatch_index;
}

// Messages of one kind out of one stage, and where they go to.
struct Channel {
  Type send;
  int64_t stage;
  auto operator<=>(const Channel&) const = default;
};
Channel channel_of(const Action& action) {
  switch (action.computation_type) {
    case Type::RECV_F:
      return {Type::SEND_F, action.stage_index - 1};
    case Type::RECV_B:
      return {Type::SEND_B, action.stage_index + 1};
    default:
      return {action.computation_type, action.stage_index};
  }
}

}  // namespace

OrderShape shape_of(const PipelineOrder& order) {
  OrderShape shape;
  std::map<int64_t, int64_t> ranks;
  int64_t forwards = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    for (const Action& action : order[rank]) {
      TORCH_CHECK_VALUE(action.computation_type != Type::OVERLAP_F_B || action.sub_actions.size() == 2,
                        "pipeline schedule: OVERLAP_F_B of ", action.sub_actions.size(), " actions");
      visit_parts(action, [&](const Action& part) {
        TORCH_CHECK_VALUE(part.stage_index >= 0, "pipeline schedule: there is no stage ", part.stage_index);
        const auto [found, is_new] = ranks.emplace(part.stage_index, static_cast<int64_t>(rank));
        TORCH_CHECK_VALUE(is_new || found->second == static_cast<int64_t>(rank), "pipeline schedule: stage ",
                          part.stage_index, " is on ranks ", found->second, " and ", rank);
        const Type type = part.computation_type;
        shape.has_messages = shape.has_messages || is_send(type) || is_receive(type);
        if (!is_computation(type)) return;
        const int64_t microbatch = microbatch_of(part);
        TORCH_CHECK_VALUE(microbatch >= 0, "pipeline schedule: there is no microbatch ", microbatch);
        shape.stages = std::max(shape.stages, part.stage_index + 1);
        shape.microbatches = std::max(shape.microbatches, microbatch + 1);
        shape.has_backward = shape.has_backward || type != Type::FORWARD;
        forwards += type == Type::FORWARD;
      });
    }
  }
  TORCH_CHECK_VALUE(shape.stages > 0, "pipeline schedule: nothing is computed in it");
  // So sizes are no more than what the schedule lists.
  const int64_t expected = shape.stages * shape.microbatches;
  TORCH_CHECK_VALUE(forwards == expected, "pipeline schedule: expected ", expected, " forwards, of ",
                    shape.microbatches, " microbatches in each of ", shape.stages, " stages, but got ", forwards);
  std::vector<Counts> counts(static_cast<size_t>(expected));
  for (const std::vector<Action>& row : order) {
    for (const Action& action : row) {
      visit_parts(action, [&](const Action& part) {
        const Type type = part.computation_type;
        if (!is_computation(type)) return;
        Counts& count = counts[static_cast<size_t>(part.stage_index * shape.microbatches + *part.microbatch_index)];
        count.forward += type == Type::FORWARD;
        count.full += type == Type::FULL_BACKWARD;
        count.input += type == Type::BACKWARD_INPUT;
        count.weight += type == Type::BACKWARD_WEIGHT;
      });
    }
  }
  for (int64_t i = 0; i < expected; ++i) {
    const Counts& count = counts[static_cast<size_t>(i)];
    const int64_t stage = i / shape.microbatches, microbatch = i % shape.microbatches;
    TORCH_CHECK_VALUE(count.forward == 1, "pipeline schedule: microbatch ", microbatch, " of stage ", stage, " has ",
                      count.forward, " forwards");
    if (!shape.has_backward) continue;
    TORCH_CHECK_VALUE(count.full + count.input == 1 && count.input == count.weight, "pipeline schedule: microbatch ",
                      microbatch, " of stage ", stage, " has ", count.full, " B, ", count.input, " I and ",
                      count.weight, " W, but needs one B, or one I and one W");
  }
  for (int64_t stage = 0; stage < shape.stages; ++stage) shape.rank_of_stage.push_back(ranks.at(stage));
  TORCH_CHECK_VALUE(ranks.rbegin()->first < shape.stages, "pipeline schedule: stage ", ranks.rbegin()->first,
                    " computes nothing");
  if (!shape.has_messages) return shape;

  std::map<Channel, std::vector<int64_t>> sent, received;
  for (const std::vector<Action>& row : order) {
    for (const Action& action : row) {
      const Type type = action.computation_type;
      if (!is_send(type) && !is_receive(type)) continue;
      const Channel channel = channel_of(action);
      const int64_t to = channel.stage + (channel.send == Type::SEND_F ? 1 : -1);
      TORCH_CHECK_VALUE(channel.stage >= 0 && channel.stage < shape.stages && to >= 0 && to < shape.stages,
                        "pipeline schedule: no stage is on the other side of ", to_string(action));
      TORCH_CHECK_VALUE(ranks.at(channel.stage) != ranks.at(to), "pipeline schedule: ", to_string(action),
                        " is between stages of the same rank ", ranks.at(to));
      TORCH_CHECK_VALUE(channel.send == Type::SEND_F || shape.has_backward, "pipeline schedule: ", to_string(action),
                        " in a schedule without backwards");
      (is_send(type) ? sent : received)[channel].push_back(microbatch_of(action));
    }
  }
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    for (const Type send : {Type::SEND_F, Type::SEND_B}) {
      const int64_t to = stage + (send == Type::SEND_F ? 1 : -1);
      if (to < 0 || to >= shape.stages || ranks.at(stage) == ranks.at(to)) continue;
      if (send == Type::SEND_B && !shape.has_backward) continue;
      const Channel channel{send, stage};
      std::vector<int64_t>& out = sent[channel];
      TORCH_CHECK_VALUE(out == received[channel], "pipeline schedule: stage ", to, " does not receive what stage ",
                        stage, " sends by ", to_string(send), ", in that order");
      std::sort(out.begin(), out.end());
      bool is_all = static_cast<int64_t>(out.size()) == shape.microbatches;
      for (size_t i = 0; i < out.size() && is_all; ++i) is_all = out[i] == static_cast<int64_t>(i);
      TORCH_CHECK_VALUE(is_all, "pipeline schedule: stage ", stage, " must have ", to_string(send),
                        " once for each of ", shape.microbatches, " microbatches");
    }
  }
  return shape;
}

void check_order(const PipelineOrder& order) {
  shape_of(order);
}

double Simulation::bubble_ratio() const {
  double busy = 0;
  for (const SimulatedRank& rank : ranks) busy += rank.busy;
  const double all = step_time * static_cast<double>(ranks.size());
  return all > 0 ? 1 - busy / all : 0;
}

namespace {

class Simulator {
 public:
  Simulator(const PipelineOrder& order, const CostModel& costs)
      : order_(order),
        costs_(costs),
        shape_(shape_of(order)),
        next_(order.size()),
        live_(order.size()),
        has_begun_(order.size()) {
    result_.ranks.resize(order.size());
    clock_.resize(order.size());
    done_.assign(place(Type::REDUCE_GRAD, shape_.stages, 0), -1);
  }

  Simulation run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t rank = 0; rank < order_.size(); ++rank) {
        while (next_[rank] < order_[rank].size() && advance(rank)) moves = true;
      }
    }
    std::string waiting;
    for (size_t rank = 0; rank < order_.size(); ++rank) {
      if (next_[rank] == order_[rank].size()) continue;
      advance(rank);  // says what is missing
      waiting += c10::str("; rank ", rank, " waits at ", to_string(order_[rank][next_[rank]]), " (its action ",
                          next_[rank], ") for ", to_string(missing_));
    }
    TORCH_CHECK_VALUE(waiting.empty(), "pipeline schedule: it cannot go on", waiting);
    for (const SimulatedRank& rank : result_.ranks) result_.step_time = std::max(result_.step_time, rank.end);
    return std::move(result_);
  }

 private:
  // B counts as I. A send's time is when its turn on the link has come.
  size_t place(Type type, int64_t stage, int64_t microbatch) const {
    const auto kind = static_cast<int64_t>(is_backward(type) ? Type::BACKWARD_INPUT : type);
    return static_cast<size_t>((kind * shape_.stages + stage) * shape_.microbatches + microbatch);
  }
  double transfer_time(Type send, int64_t stage, int64_t microbatch) const {
    if (costs_.link.bandwidth <= 0) return 0;
    const double bytes = costs_.bytes ? costs_.bytes(make_action(stage, send, microbatch)) : costs_.message_bytes;
    return bytes / costs_.link.bandwidth;
  }

  // When it is there; nothing where it is not known yet, and missing_ says what.
  std::optional<double> time_of(Type type, int64_t stage, int64_t microbatch) {
    const double time = done_[place(type, stage, microbatch)];
    if (time >= 0) return time;
    missing_ = make_action(stage, type, microbatch);
    return std::nullopt;
  }

  // When the message that a stage of this rank needs is there.
  std::optional<double> arrival(Type receive, int64_t stage, int64_t microbatch) {
    const Channel channel = channel_of(make_action(stage, receive, microbatch));
    double posted = -INFINITY;
    if (shape_.has_messages) {
      const auto time = time_of(receive, stage, microbatch);
      if (!time) return std::nullopt;
      posted = *time;
    }
    const auto sent = time_of(channel.send, channel.stage, microbatch);
    if (!sent) return std::nullopt;
    const LinkModel& link = costs_.link;
    return std::max(*sent, posted + link.latency) + link.latency + link.overhead +
           transfer_time(channel.send, channel.stage, microbatch);
  }

  // Of stage `from`'s output or gradient.
  std::optional<double> value_from(int64_t from, int64_t to, int64_t microbatch, size_t rank) {
    if (shape_.rank_of_stage[static_cast<size_t>(from)] != static_cast<int64_t>(rank)) {
      return arrival(from < to ? Type::RECV_F : Type::RECV_B, to, microbatch);
    }
    return time_of(from < to ? Type::FORWARD : Type::BACKWARD_INPUT, from, microbatch);
  }

  // When all that a computation needs is there.
  std::optional<double> ready(const Action& action, size_t rank) {
    const int64_t stage = action.stage_index, microbatch = *action.microbatch_index;
    if (action.computation_type == Type::FORWARD) {
      return stage == 0 ? 0.0 : value_from(stage - 1, stage, microbatch, rank);
    }
    if (action.computation_type == Type::BACKWARD_WEIGHT) return time_of(Type::BACKWARD_INPUT, stage, microbatch);
    const auto forward = time_of(Type::FORWARD, stage, microbatch);
    if (!forward || stage + 1 == shape_.stages) return forward;
    const auto gradient = value_from(stage + 1, stage, microbatch, rank);
    return gradient ? std::optional(std::max(*forward, *gradient)) : std::nullopt;
  }

  double duration(const Action& action) const {
    if (costs_.duration) return costs_.duration(action);
    double sum = 0;
    visit_parts(action, [&](const Action& part) {
      const Type type = part.computation_type;
      if (type == Type::FORWARD) sum += costs_.forward;
      if (is_backward(type)) sum += costs_.backward_input;
      if (ends_backward(type)) sum += costs_.backward_weight;
    });
    return sum;
  }

  void send(const Action& action, size_t rank, double now) {
    const int64_t to = action.stage_index + (action.computation_type == Type::SEND_F ? 1 : -1);
    double& free = free_[{static_cast<int64_t>(rank), shape_.rank_of_stage[static_cast<size_t>(to)]}];
    const double sent = std::max(now, free);
    free = sent + transfer_time(action.computation_type, action.stage_index, *action.microbatch_index);
    done_[place(action.computation_type, action.stage_index, *action.microbatch_index)] = sent;
  }

  // The result of a part is there: other ranks may be told.
  void finish(const Action& part, size_t rank, double end) {
    const Type type = part.computation_type;
    const int64_t stage = part.stage_index;
    done_[place(type, stage, *part.microbatch_index)] = end;
    if (shape_.has_messages) return;
    const int64_t to = type == Type::FORWARD ? stage + 1 : stage - 1;
    if ((type != Type::FORWARD && !is_backward(type)) || to < 0 || to == shape_.stages) return;
    if (shape_.rank_of_stage[static_cast<size_t>(to)] == static_cast<int64_t>(rank)) return;
    send(make_action(stage, type == Type::FORWARD ? Type::SEND_F : Type::SEND_B, part.microbatch_index), rank, end);
  }

  bool advance(size_t rank) {
    const Action& action = order_[rank][next_[rank]];
    SimulatedRank& simulated = result_.ranks[rank];
    double& clock = clock_[rank];
    const Type type = action.computation_type;
    double begin = clock, end = clock;
    if (is_send(type)) {
      const bool forwards = type == Type::SEND_F;
      if (!time_of(forwards ? Type::FORWARD : Type::BACKWARD_INPUT, action.stage_index, *action.microbatch_index)) {
        return false;
      }
      send(action, rank, clock);
    } else if (is_receive(type)) {
      // Gradients have the sizes of outputs, which the forward tells.
      if (type == Type::RECV_B && !time_of(Type::FORWARD, action.stage_index, *action.microbatch_index)) return false;
      done_[place(type, action.stage_index, *action.microbatch_index)] = clock;
    } else {
      if (type != Type::UNSHARD && type != Type::RESHARD && type != Type::REDUCE_GRAD) {
        bool is_ready = true;
        visit_parts(action, [&](const Action& part) {
          const auto time = is_ready ? ready(part, rank) : std::nullopt;
          is_ready = time.has_value();
          if (time) begin = std::max(begin, *time);
        });
        if (!is_ready) return false;
      }
      const double time = duration(action);
      TORCH_CHECK_VALUE(time >= 0, "simulate: ", to_string(action), " takes ", time, ", which is no time");
      end = begin + time;
      count(action, rank);
      visit_parts(action, [&](const Action& part) {
        if (part.microbatch_index) finish(part, rank, end);
      });
      if (!has_begun_[rank]) simulated.begin = begin;
      has_begun_[rank] = true;
      simulated.busy += time;
      simulated.end = end;
    }
    simulated.actions.push_back({action, begin, end});
    clock = end;
    ++next_[rank];
    return true;
  }

  void count(const Action& action, size_t rank) {
    visit_parts(action, [&](const Action& part) { live_[rank] += part.computation_type == Type::FORWARD; });
    int64_t& peak = result_.ranks[rank].peak_activations;
    peak = std::max(peak, live_[rank]);
    visit_parts(action, [&](const Action& part) { live_[rank] -= ends_backward(part.computation_type); });
  }

  const PipelineOrder& order_;
  const CostModel& costs_;
  const OrderShape shape_;
  std::vector<size_t> next_;
  std::vector<double> clock_;
  std::vector<int64_t> live_;
  std::vector<bool> has_begun_;
  std::vector<double> done_;                            // when; negative: not yet
  std::map<std::pair<int64_t, int64_t>, double> free_;  // when a link is, by its ranks
  Action missing_;
  Simulation result_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

const char* colour(Type type) {
  switch (type) {
    case Type::FORWARD:
      return "#8ab4f8";
    case Type::FULL_BACKWARD:
      return "#81c995";
    case Type::BACKWARD_INPUT:
      return "#78d9ec";
    case Type::BACKWARD_WEIGHT:
      return "#c58af9";
    default:
      return "#dadce0";
  }
}

}  // namespace

Simulation simulate(const PipelineOrder& order, const CostModel& costs) {
  return Simulator(order, costs).run();
}

std::string to_svg(const Simulation& simulation) {
  constexpr double kRow = 24, kGap = 4, kLeft = 56, kWidth = 1200;
  const double scale = simulation.step_time > 0 ? kWidth / simulation.step_time : 0;
  const double height = (kRow + kGap) * static_cast<double>(simulation.ranks.size()) + kGap;
  std::string svg = c10::str("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", number(kLeft + kWidth + kGap),
                             "\" height=\"", number(height), "\" font-family=\"sans-serif\" font-size=\"10\">\n");
  for (size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    const double y = kGap + (kRow + kGap) * static_cast<double>(rank);
    svg += c10::str("<text x=\"4\" y=\"", number(y + 16), "\">rank ", rank, "</text>\n");
    for (const SimulatedAction& timed : simulation.ranks[rank].actions) {
      const auto parts = timed.action.computation_type == Type::OVERLAP_F_B ? timed.action.sub_actions
                                                                            : std::vector<Action>{timed.action};
      const double h = kRow / static_cast<double>(parts.size()), width = (timed.end - timed.begin) * scale;
      if (width <= 0) continue;
      for (size_t i = 0; i < parts.size(); ++i) {
        const double top = y + h * static_cast<double>(i), x = kLeft + timed.begin * scale;
        svg += c10::str("<rect x=\"", number(x), "\" y=\"", number(top), "\" width=\"", number(width), "\" height=\"",
                        number(h), "\" fill=\"", colour(parts[i].computation_type),
                        "\" stroke=\"#5f6368\" stroke-width=\"0.5\"><title>", to_string(parts[i]), " ",
                        number(timed.begin), " to ", number(timed.end), "</title></rect>\n");
        if (!parts[i].microbatch_index || width < 10) continue;
        svg += c10::str("<text x=\"", number(x + width / 2), "\" y=\"", number(top + h / 2 + 4),
                        "\" text-anchor=\"middle\">", *parts[i].microbatch_index, "</text>\n");
      }
    }
  }
  return svg + "</svg>\n";
}

}  // namespace torch::distributed::pipelining
