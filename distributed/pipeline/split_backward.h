// A backward pass in two: gradients of inputs first, those of parameters whenever there is time.
#pragma once

#include <utility>

#include "autograd/engine/edge.h"
#include "autograd/engine/engine.h"

namespace torch::distributed::pipelining {

/// What is left of a backward pass: where it goes on, and the gradients that it goes on with.
struct WeightBackward {
  autograd::edge_list roots;
  autograd::variable_list gradients;
  /// Whether it may read values of leaves: where it goes to them through other nodes.
  bool reads_parameters = false;
  /// Adds to grad() of all leaves that are left, once.
  void run();
};

/// Computes the gradients of `inputs`, leaves, from `gradients` of the results whose edges are `roots` (undefined where
/// nothing of the results depends on an input), and nothing that only other leaves need: a node between results and
/// inputs computes the gradients of its other arguments in run(), from the gradient that came to it here. So no
/// gradient is computed twice; only what a node computes for both, such as the statistics of a normalization, is.
///
/// What only the gradients of inputs needed is free afterwards, and the graph serves for nothing else. Hooks on tensors
/// and nodes between results and inputs that also lead to parameters run twice, with the same gradients. What a node
/// adds to grad() by itself, as re-entrant checkpoints do, is added here.
std::pair<autograd::variable_list, WeightBackward> backward_input(const autograd::edge_list& roots,
                                                                  const autograd::variable_list& gradients,
                                                                  const autograd::variable_list& inputs);

}  // namespace torch::distributed::pipelining
