#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/node.h"
#include "autograd/engine/node_extras.h"
#include "autograd/engine/pass.h"

// What runs a backward pass. Not for users.
namespace torch::autograd {

constexpr uint32_t kNone = UINT32_MAX;

// One node of a running pass.
struct Task {
  Node* node;
  uint32_t missing = 0;        // edges that lead here and have not delivered
  uint32_t first_edge = 0;     // of its targets
  uint32_t first_grad = 0;     // of its incoming gradients
  uint32_t first_capture = kNone;
  bool needed = true;          // lies on a way to something asked for
};

struct Ready {
  uint64_t sequence;
  uint32_t task;
  bool operator<(const Ready& other) const {
    return sequence != other.sequence ? sequence < other.sequence : task > other.task;
  }
};

// A result that the caller asked for: the gradient number `input_nr` of a task.
struct Capture {
  uint32_t input_nr;
  uint32_t position;
  uint32_t next;
};

// The memory of a pass; kept by the thread from one pass to the next.
struct Scratch {
  std::vector<Task> tasks;
  std::vector<uint32_t> targets;  // by edge: the task it leads to
  std::vector<at::Tensor> grads;
  std::vector<at::Tensor> outs;
  std::vector<Ready> ready;
  std::vector<Capture> captures;
  std::vector<uint32_t> table;  // open addressing over node addresses: task + 1, or 0

  static constexpr size_t kKeptTasks = 1 << 14;
  // Fewer tasks are searched one by one.
  static constexpr size_t kTableFrom = 8;

  void clear() {
    tasks.clear();
    targets.clear();
    grads.clear();
    outs.clear();
    ready.clear();
    captures.clear();
  }
};

// Finds the nodes that a pass reaches, counts what each of them waits for, and runs them in order.
class Runner {
 public:
  Runner(Scratch& scratch, Frame& frame, bool keep_graph, bool accumulate)
      : s_(scratch), frame_(frame), keep_graph_(keep_graph), accumulate_(accumulate) {}

  void discover(const Edge* roots, size_t count);
  void ask_for(const edge_list& outputs, variable_list& results);
  void feed(const Edge* roots, const at::Tensor* inputs, size_t count);
  void run();

  // Whether the pass evaluates `node`, or returns a gradient that comes into it.
  bool will_execute(const Node* node) const;
  // Whether edge `edge` of a task leads to something that was asked for.
  bool needs_output(uint32_t task, size_t edge) const;

 private:
  // The task of a node that was discovered, or kNone.
  uint32_t find(const Node* node) const;
  uint32_t find_or_add(Node* node);
  void rehash(size_t slots);
  static size_t hash(const Node* node) {
    const uint64_t bits = reinterpret_cast<uint64_t>(node) >> 4;
    return static_cast<size_t>((bits * 0x9E3779B97F4A7C15u) >> 20);
  }
  void push_ready(uint32_t task) {
    s_.ready.push_back({s_.tasks[task].node->sequence_nr(), task});
    if (s_.ready.size() > 1) std::push_heap(s_.ready.begin(), s_.ready.end());
  }
  void run_task(uint32_t index);
  void run_tensor_hooks(Node& node, NodeExtras& extras, at::Tensor* grads);
  void run_post_hooks(Node& node, const variable_list& in, at::Tensor* out);
  void run_pre_hooks(Node& node, at::Tensor* in);
  void evaluate(Node& node, at::Tensor* in, at::Tensor* out);
  void evaluate_checked(Node& node, at::Tensor* in, at::Tensor* out);
  void deliver(Node& node, const Task& task, at::Tensor* out);
  void accumulate(at::Tensor& into, at::Tensor&& grad) {
    if (into.defined()) {
      into = grad_ops::add_reusing(std::move(into), std::move(grad));
    } else {
      into = std::move(grad);
    }
  }

  Scratch& s_;
  Frame& frame_;
  variable_list* results_ = nullptr;
  const bool keep_graph_;
  const bool accumulate_;
  bool hashed_ = false;
  uint32_t grads_count_ = 0;
};

}  // namespace torch::autograd
