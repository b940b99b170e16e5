#pragma once

#include <cstddef>
#include <cstdint>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"
#include "autograd/engine/node.h"
#include "autograd/engine/pass.h"

// What runs a backward pass. Not for users.
namespace torch::autograd {

// What was asked of the engine.
struct Request {
  const Edge* roots;
  const at::Tensor* inputs;
  size_t count;
  bool keep_graph;
  bool create_graph;
  bool accumulate_grad;
  const edge_list* outputs;
  variable_list* results;
};

// Runs a pass in this thread, inside of `outer` where that is not null. `depth`: passes that this thread runs outside of it.
void run_here(const Request& request, Frame* outer, uint32_t depth);

}  // namespace torch::autograd
