#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"
#include "autograd/engine/input_metadata.h"
#include "c10/util/atomic.h"
#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {

using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = std::vector<at::Tensor>;

struct NodeExtras;
class FunctionPreHook;
class FunctionPostHook;

// The number the next node of this thread gets: later operations have higher numbers, so the engine runs them first.
uint64_t next_sequence_nr() noexcept;

// One recorded operation: takes the gradients of its results and gives those of its arguments.
//
// Inputs are the gradients that come in (one a forward result), outputs the gradients that go out (one an edge). Derive from
// it and override apply() for an operation of your own; Function<T> does that for most purposes. Nodes are counted by
// c10::intrusive_ptr; the last reference destroys a chain of any length without recursion.
class Node : public c10::intrusive_ptr_target {
 public:
  static constexpr uint64_t kAccumulateSequence = UINT64_MAX;

  explicit Node(uint64_t sequence_nr, edge_list&& next_edges = {});
  explicit Node(edge_list&& next_edges = {}) : Node(next_sequence_nr(), static_cast<edge_list&&>(next_edges)) {}
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Frees without recursion: a node that dies while another one of this thread does waits for its turn.
  void operator delete(Node* self, std::destroying_delete_t) noexcept;

  // The documented name, e.g. "MulBackward0".
  virtual std::string name() const;
  // Gives back what was saved for the backward pass.
  virtual void release_variables() {}
  // SavedVariable::keep_past_of for everything that was saved.
  virtual void keep_past_of(const c10::TensorImpl& /*t*/) {}

  // Computes the gradients of the arguments: reads num_inputs() tensors (undefined where nothing came) and writes
  // num_outputs() ones. Both arrays are the caller's. The default calls apply().
  virtual void evaluate(at::Tensor* grad_inputs_of_node, at::Tensor* grad_outputs_of_node);

  // Runs the node by itself, without hooks and checks.
  variable_list operator()(variable_list&& inputs);

  uint64_t sequence_nr() const noexcept { return order_.sequence_nr; }
  NodePtr getptr() { return NodePtr::reclaim_copy(this); }

  // -- inputs: the forward results --
  uint32_t num_inputs() const noexcept { return num_inputs_; }
  const InputMetadata& input_metadata(size_t i) const { return metadata_[i]; }
  InputMetadata& mutable_input_metadata(size_t i) { return metadata_[i]; }
  // Adds the result `t`, or one of these sizes, dtype and device, and returns its number.
  uint32_t add_input_metadata(const at::Tensor& t);
  uint32_t add_input_metadata(const at::TensorOptions& options, at::IntArrayRef shape);
  // Adds a result nobody asks a gradient of.
  struct undefined_input {};
  uint32_t add_input_metadata(undefined_input);
  // Where the node runs: on the device of its first result that is on one with streams, if there is such a result.
  std::optional<at::Device> device() const noexcept;
  // The stream of that device that the result was made on: the node runs there, but for a leaf's gradient, which is
  // added up on the caller's. Its work there is queued, not done, when the node has run.
  std::optional<c10::Stream> stream() const noexcept;
  bool runs_on_stream() const noexcept {
    bool any = false;
    for (uint32_t i = 0; i < num_inputs_; ++i) any |= metadata_[i].has_stream();
    return any;
  }

  // -- outputs: the edges --
  uint32_t num_outputs() const noexcept { return num_edges_; }
  const Edge& next_edge(size_t i) const { return edges_[i]; }
  const Edge* next_edges_begin() const noexcept { return edges_; }
  const Edge* next_edges_end() const noexcept { return edges_ + num_edges_; }
  edge_list next_edges() const { return edge_list(next_edges_begin(), next_edges_end()); }
  void set_next_edge(size_t i, Edge edge) { edges_[i] = static_cast<Edge&&>(edge); }
  void add_next_edge(Edge edge);
  void set_next_edges(edge_list&& edges);
  // Whether anything wants gradient `i`.
  bool should_compute_output(size_t i) const { return i < num_edges_ && edges_[i].is_valid(); }
  // The same for the backward pass that is evaluating this node: false too where the edge leads to nothing it was asked for.
  bool task_should_compute_output(size_t i) const;

  // -- hooks; the returned key removes the hook --
  uintptr_t add_pre_hook(std::unique_ptr<FunctionPreHook>&& hook);
  uintptr_t add_post_hook(std::unique_ptr<FunctionPostHook>&& hook);
  bool del_pre_hook(const uintptr_t& key);
  bool del_post_hook(const uintptr_t& key);
  // Null for the usual node: no hooks, no notes.
  NodeExtras* extras() const noexcept { return extras_; }
  NodeExtras& mutable_extras();
  // Whether it is a generated operator's node (GenericNode): nothing flows out of it where nothing flows in.
  bool is_generic() const noexcept { return block_bytes_ != 0; }

 protected:
  // For nodes that lie with their arrays in one pooled block of `block_bytes`; the arrays are the derived class's to make.
  Node(uint32_t block_bytes, uint32_t num_edges, uint32_t num_inputs, bool saves_nothing) noexcept;

  // Computes the gradients of the arguments from those of the results; one result an edge.
  virtual variable_list apply(variable_list&& inputs);

  // For nodes that save nothing: passes run through them without a look at each other.
  void set_saves_nothing() noexcept;
  [[noreturn]] void throw_wrong_count(size_t expected, size_t got) const;
  bool arrays_inline() const noexcept { return block_bytes_ != 0; }

  // What a node that lives keeps its place in the order of the recording by, and one that is dead and waits to be destroyed
  // the list of those.
  union {
    uint64_t sequence_nr;
    Node* next_dead;
  } order_;
  Edge* edges_ = nullptr;
  InputMetadata* metadata_ = nullptr;
  NodeExtras* extras_ = nullptr;
  uint32_t num_edges_ = 0;
  uint32_t num_inputs_ = 0;
  uint32_t edge_capacity_ = 0;
  uint32_t metadata_capacity_ = 0;
  uint32_t block_bytes_ = 0;

 private:
  friend struct NodeReaper;
  friend class NodeGate;
  uint32_t append_metadata(InputMetadata&& metadata);
  const InputMetadata* result_on_device() const noexcept;

  c10::Atomic<uint32_t> gate_{0};
};

// The node that this thread evaluates, or null.
NodePtr get_current_node();

// A tensor's place in the graph without the tensor: result `output_nr` of `node`.
struct GradientEdge {
  NodePtr node;
  uint32_t output_nr = 0;
};

// Runs before a node's evaluation on all its incoming gradients and may replace them.
class FunctionPreHook {
 public:
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};

// Runs after a node's evaluation; `outputs` are the gradients it computed, `inputs` those it was given.
class FunctionPostHook {
 public:
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& outputs, const variable_list& inputs) = 0;
};

}  // namespace torch::autograd
