#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"
#include "autograd/engine/node.h"

namespace torch::autograd {

// Runs graphs backwards, in the calling thread. Nodes run in the reverse of the order they were recorded in, each once all
// gradients that flow into it have come.
//
// A node whose forward result lies on a device with streams runs in the one thread that the device has, with the state of the
// calling thread (at::ThreadLocalState) and on the stream that the forward ran on; so do its hooks. A stream waits for those
// whose gradients it takes, and at the end the caller's streams wait for all that were used, so that nothing needs to be
// synchronised by hand:
//
//   { c10::StreamGuard side(stream); y = f(x); }    // x, y on the device
//   y.backward();                                   // f's nodes run on `stream`
//   use(x.grad());                                  // on the current stream, after them
//
// Re-entrant to any depth: a hook or a node may run another backward pass; passes 64 deep continue in a further thread, with
// this thread's state. Several threads may run backward passes at once; where those share leaves, gradients accumulate under a
// lock, and where they share nodes and free the graph, one of them finds the saved tensors and the others throw "Trying to
// backward through the graph a second time ..".
class Engine {
 public:
  static Engine& get_default_engine();

  // Feeds `inputs` into `roots`. With `accumulate_grad` the leaves' grad() grows: of all leaves, or, where `outputs` are
  // given, of these only; without, the gradients that flow into `outputs` are returned in their order (undefined where none
  // does). `keep_graph`: what nodes saved stays for another pass. `create_graph`: the pass itself is recorded.
  //
  // An exception thrown by a node or hook leaves with its type; nodes already run have given back what they saved.
  variable_list execute(
      const edge_list& roots,
      const variable_list& inputs,
      bool keep_graph,
      bool create_graph,
      bool accumulate_grad,
      const edge_list& outputs = {});

  // The usual case: from one root into the grad() of all leaves.
  void accumulate(const Edge& root, const at::Tensor& gradient, bool keep_graph, bool create_graph);

  // Runs `callback` at the end of this thread's running backward pass. Throws where none is running.
  void queue_callback(std::function<void()> callback);

  // The node being evaluated in this thread, or null.
  static Node* current_node() noexcept;
  // A number that this thread's running pass has alone, or 0.
  static uint64_t current_pass() noexcept;
  // Whether this thread's running pass was given inputs: it computes their gradients, and not those of all leaves.
  static bool has_inputs() noexcept;
  // Whether this thread's running pass evaluates `node` or returns a gradient that comes into it. Throws where none is running.
  static bool will_execute(const Node& node);
};

}  // namespace torch::autograd
