// A graph of a forward and a backward pass, cut in two where the least memory lies between them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::compiler {

/// What the backward graph is given before the tangents.
struct Saved {
  bool is_input;  ///< of the forward graph; else one of its outputs
  size_t index;
};

struct TrainingGraphs {
  std::unique_ptr<graph::Graph> forward;   ///< the joint graph's inputs but the tangents -> its outputs, what is saved
  std::unique_ptr<graph::Graph> backward;  ///< what is saved, the tangents -> the gradients
  std::vector<Saved> saved;
  int64_t saved_bytes = 0;    ///< of forward outputs that are saved
  int64_t unsplit_bytes = 0;  ///< what would be saved if nothing were computed again
};

/// `joint`: functional, with infos (propagate_shapes); its last `tangents` inputs are the gradients of its first
/// `outputs` outputs, from which it computes the other outputs, the gradients of inputs.
///
/// What a backward pass reads of a forward one is saved, or computed again from what is: pointwise operators of a few
/// instructions may be computed again, and views always are; elementary functions, products, reductions, random numbers
/// and all else are not. Inputs cost
/// nothing to save. Chosen is the set with the fewest bytes, by the least cut between what has to be there and what is
/// read (Dinic's algorithm). Throws ValueError for graphs whose values have no infos.
TrainingGraphs split_training(const graph::Graph& joint, size_t outputs, size_t tangents);

}  // namespace torch::compiler
