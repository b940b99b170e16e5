// Schedules without tensors: whether they can run, and how long they would take.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/pipeline/actions.h"

namespace torch::distributed::pipelining {

/// What a message between two ranks takes. Times in seconds, or in whatever unit all times of a simulation have.
///
/// The receiver tells the sender that it is ready, then data comes: with both there at once
/// T = 2 latency + overhead + bytes / bandwidth, and a latency less where the receiver was there first. Messages from
/// one rank to another follow each other at the pace of the bandwidth; pairs of ranks do not disturb each other.
struct LinkModel {
  double latency = 0;    // one way
  double overhead = 0;   // of a message, on both sides together
  double bandwidth = 0;  // bytes in a unit of time; 0: no limit
};

/// What actions take.
struct CostModel {
  double forward = 1, backward_input = 1, backward_weight = 1;  // B: the last two together; OVERLAP_F_B: all its parts
  /// Takes the place of all three, for any action that a rank is busy with: other than SEND_* and RECV_*.
  std::function<double(const Action& action)> duration;
  LinkModel link;
  double message_bytes = 0;
  /// Takes the place of message_bytes: of a SEND_F or SEND_B.
  std::function<double(const Action& send)> bytes;
};

struct SimulatedAction {
  Action action;
  double begin = 0, end = 0;
};

struct SimulatedRank {
  std::vector<SimulatedAction> actions;  // all, in order; SEND_* and RECV_* take no time of the rank
  double busy = 0;                       // with actions
  double begin = 0, end = 0;             // of the first and the last that it is busy with
  /// How many forwards, of all its stages, had begun without their backward (B or W) having ended, at most.
  int64_t peak_activations = 0;
};

struct Simulation {
  double step_time = 0;  // until the last rank is done, from 0
  std::vector<SimulatedRank> ranks;

  /// How long a rank is not busy in the step.
  double bubble(size_t rank) const { return step_time - ranks.at(rank).busy; }
  /// Likewise, between its own first and last action only.
  double waiting(size_t rank) const { return ranks.at(rank).end - ranks.at(rank).begin - ranks.at(rank).busy; }
  /// The part of all ranks' time in which they are not busy: 0 for the ideal pipeline.
  double bubble_ratio() const;
};

/// Runs a schedule on a model of time. It may be one that only computes, where messages are sent by themselves, or one
/// with SEND_* and RECV_*.
///
///   auto order = one_forward_one_backward_order(4, 16);
///   simulate(order).bubble_ratio();   // 3 / (16 + 3)
///
/// An action begins when the one before it on its rank has ended and what it needs is there: F the outputs of the stage
/// below, B and I the F of its microbatch and the gradients of the stage above, W its I. Throws ValueError where that
/// never comes, saying what each rank waits for; and what check_order() throws.
Simulation simulate(const PipelineOrder& order, const CostModel& costs = {});

/// Throws ValueError where the schedule is not of a step: each stage on one rank only; every stage from 0 on with every
/// microbatch from 0 on, forwards once and, where there are backwards at all, backwards once, as B or as I and later W;
/// messages, where there are some, each sent and received once between stages of different ranks, by the ranks that
/// have them, received in the order in which they are sent.
void check_order(const PipelineOrder& order);

/// How many stages and microbatches it has, and which rank has which stage. Throws what check_order() throws.
struct OrderShape {
  int64_t stages = 0, microbatches = 0;
  std::vector<int64_t> rank_of_stage;
  bool has_backward = false, has_messages = false;
};
OrderShape shape_of(const PipelineOrder& order);

/// A drawing: a row for each rank, time from left to right; forwards blue, backwards green, of inputs alone cyan, of
/// weights alone purple, with microbatches' numbers.
std::string to_svg(const Simulation& simulation);

}  // namespace torch::distributed::pipelining
