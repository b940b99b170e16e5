// What collectives of many ranks take, by a model of the network.
#pragma once

#include <cstdint>

namespace torch::distributed::scaling {

/// A collective of s steps takes T = s (2 latency + overhead) + bytes on the wire / bandwidth: each step waits for a
/// notice of the receiver and for data (docs/distributed.md). Seconds, bytes, bytes a second.
struct Network {
  double latency = 0, overhead = 0;
  /// What a rank sends and receives at once, to ranks of its node and to others.
  double within = 0, across = 0;
  int64_t ranks_per_node = 8;
  /// How steps grow with the ranks: a ring has as many as ranks but one, halving and doubling their logarithm.
  bool is_ring = true;

  /// `bytes`: of the whole tensor, which each of `ranks` has a part of afterwards, or had before. `stride`: how far
  /// apart the ranks are: where that is a node or more, all messages leave it.
  double all_gather(double bytes, int64_t ranks, int64_t stride = 1) const;
  double reduce_scatter(double bytes, int64_t ranks, int64_t stride = 1) const {
    return all_gather(bytes, ranks, stride);
  }
  double all_reduce(double bytes, int64_t ranks, int64_t stride = 1) const {
    return 2 * all_gather(bytes, ranks, stride);
  }
  /// A message to a rank of another node, without the bytes.
  double message() const { return 2 * latency + overhead; }
};

}  // namespace torch::distributed::scaling
