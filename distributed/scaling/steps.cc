#include "distributed/scaling/steps.h"

#include <algorithm>
#include <cmath>

#include "c10/util/exception.h"
#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/simulator.h"

namespace torch::distributed::scaling {

double data_parallel_step(const DataParallelPlan& plan, const Compute& compute, const Network& network, int64_t ranks) {
  double end = 0;
  for (const auto& bucket : plan.buckets) {
    end = std::max(end, compute.forward + compute.backward * bucket.backward) + network.all_reduce(bucket.bytes, ranks);
  }
  return std::max(compute.sum(), end);
}

double sharded_step(const ShardedPlan& plan, const std::vector<double>& units, const std::vector<double>& shares,
                    const Compute& compute, const Network& network, int64_t ranks) {
  TORCH_CHECK_VALUE(!units.empty() && units.size() == shares.size(), "sharded_step: expected a share for each of ",
                    units.size(), " units, but got ", shares.size());
  double computing = 0, sending = 0;  // until when
  std::vector<double> done(plan.collectives, 0);
  for (const ShardedPlan::Event& event : plan.events) {
    switch (event.kind) {
      case ShardedPlan::Kind::kGather:
        sending = std::max(sending, computing) + network.all_gather(2 * event.part * units.at(event.unit), ranks);
        done.at(event.collective) = sending;
        break;
      case ShardedPlan::Kind::kScatter:
        sending = std::max(sending, computing) + network.reduce_scatter(4 * event.part * units.at(event.unit), ranks);
        done.at(event.collective) = sending;
        break;
      case ShardedPlan::Kind::kWait:
        computing = std::max(computing, done.at(event.collective));
        break;
      case ShardedPlan::Kind::kForward:
        computing += compute.forward * shares.at(event.unit);
        break;
      case ShardedPlan::Kind::kBackward:
        computing += compute.backward * shares.at(event.unit);
        break;
    }
  }
  return std::max(computing, sending);
}

std::vector<int64_t> deal_layers(int64_t layers, double head, int64_t stages) {
  TORCH_CHECK_VALUE(layers >= 0 && stages > 0, "deal_layers: expected layers and stages, but got ", layers, " and ",
                    stages);
  // The longest stage is a number of layers, or the head and a number of layers.
  std::vector<double> lengths;
  for (int64_t i = 0; i <= layers; ++i) {
    lengths.push_back(static_cast<double>(i));
    lengths.push_back(static_cast<double>(i) + head);
  }
  std::sort(lengths.begin(), lengths.end());
  for (const double longest : lengths) {
    if (longest < head) continue;
    const auto each = static_cast<int64_t>(longest), with_head = static_cast<int64_t>(longest - head);
    if (each * (stages - 1) + with_head < layers) continue;
    std::vector<int64_t> dealt;
    int64_t left = layers - std::min(layers, with_head);
    for (int64_t stage = 0; stage + 1 < stages; ++stage) {
      const int64_t later = stages - 1 - stage;
      dealt.push_back((left + later - 1) / later);
      left -= dealt.back();
    }
    dealt.push_back(std::min(layers, with_head));
    return dealt;
  }
  TORCH_CHECK_VALUE(false, "deal_layers: the head must not take a negative time, but takes ", head);
}

double three_ways_step(const ThreeWays& ways, const Network& network) {
  using pipelining::Action;
  using Type = pipelining::ComputationType;
  const auto order = pipelining::add_communication(ways.order(ways.pipeline, ways.microbatches));
  const auto shape = pipelining::shape_of(order);
  const std::vector<int64_t> layers = deal_layers(ways.layers, ways.head_forward / ways.layer_forward, shape.stages);
  const auto parts = static_cast<double>(ways.tensor);
  // Two gathers and two reductions, of all activations, in each direction.
  const double sharing = 4 * network.all_gather(ways.activation_bytes, ways.tensor);
  const int64_t replica = ways.tensor * ways.pipeline;

  const auto part_time = [&](const Action& action) {
    const int64_t stage = action.stage_index;
    const auto own = static_cast<double>(layers[static_cast<size_t>(stage)]);
    const bool is_last = stage + 1 == shape.stages;
    const double forward = (own * ways.layer_forward + (is_last ? ways.head_forward : 0)) / parts;
    switch (action.computation_type) {
      case Type::FORWARD:
      case Type::BACKWARD_INPUT:
        return forward + own * sharing;
      case Type::BACKWARD_WEIGHT:
        return forward;
      case Type::FULL_BACKWARD:
        return 2 * forward + own * sharing;
      case Type::REDUCE_GRAD: {
        const double elements =
            own * ways.layer_elements + (stage == 0 ? ways.embedding_elements : 0) + (is_last ? ways.head_elements : 0);
        const double reducing = network.all_reduce(4 * elements / parts, ways.data, replica);
        return std::max(0.0, reducing - 2 * forward);  // the last backward goes on meanwhile
      }
      default:
        return 0.0;
    }
  };
  pipelining::CostModel costs;
  costs.duration = [&](const Action& action) {
    if (action.computation_type != Type::OVERLAP_F_B) return part_time(action);
    double sum = 0;
    for (const Action& part : action.sub_actions) sum += part_time(part);
    return sum;
  };
  costs.message_bytes = ways.activation_bytes / parts;
  costs.link = {.latency = network.latency,
                .overhead = network.overhead,
                .bandwidth = replica <= network.ranks_per_node ? network.within : network.across};
  return pipelining::simulate(order, costs).step_time;
}

}  // namespace torch::distributed::scaling
