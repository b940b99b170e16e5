// How long a step of training takes on many ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "distributed/pipeline/actions.h"
#include "distributed/scaling/llama.h"
#include "distributed/scaling/network.h"

namespace torch::distributed::scaling {

/// What one rank computes for its tokens, with the whole model; seconds.
struct Compute {
  double forward = 0, backward = 0;
  double sum() const { return forward + backward; }
};

/// Buckets are reduced one after another, each as soon as it is full and the one before it is done; the step ends when
/// backward and the last reduction have.
double data_parallel_step(const DataParallelPlan& plan, const Compute& compute, const Network& network, int64_t ranks);

/// The events of the plan in their order, with units of `units` elements: gathered ones have 2 bytes an element,
/// gradients
/// 4. A collective begins when what was computed before it, and the collective before it, are done. `shares`: the part
/// of the computing that is each unit's.
double sharded_step(const ShardedPlan& plan, const std::vector<double>& units, const std::vector<double>& shares,
                    const Compute& compute, const Network& network, int64_t ranks);

/// A model that is spread three ways: layers over `pipeline` ranks, products of each layer over `tensor` ranks, batches
/// over the others.
struct ThreeWays {
  int64_t tensor = 1, pipeline = 1, data = 1;
  int64_t microbatches = 1;
  /// By ranks of the pipeline and microbatches.
  std::function<pipelining::PipelineOrder(int64_t ranks, int64_t microbatches)> order;
  /// Of one microbatch's activations between layers, on all ranks of a stage together.
  double activation_bytes = 0;
  /// Seconds of a microbatch in one layer, and in the head, forwards, on one rank; backwards takes twice as long.
  double layer_forward = 0, head_forward = 0;
  /// Elements of the parameters of a layer, of the embedding and of the head.
  double layer_elements = 0, embedding_elements = 0, head_elements = 0;
  int64_t layers = 1;
};

/// The simulator's time of the schedule with messages as PipelineSchedule runs it. Each layer gathers and scatters its
/// activations twice, forwards and backwards, with nothing computed meanwhile; ranks of one replica are on one node
/// where they fit. Gradients (4 bytes an element) are reduced over the replicas while the last backward of a stage goes
/// on. The head counts as some of the layers when these are dealt out to stages.
double three_ways_step(const ThreeWays& ways, const Network& network);

/// How many of `layers` each stage gets, where the last one has a head that takes as long as `head` of them, such that
/// the longest stage is as short as it can be.
std::vector<int64_t> deal_layers(int64_t layers, double head, int64_t stages);

}  // namespace torch::distributed::scaling
