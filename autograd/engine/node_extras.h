#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/engine/node.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {

// A hook on one tensor: gets its gradient and may give another one (an undefined tensor keeps it).
using TensorHook = std::function<at::Tensor(const at::Tensor&)>;
// A hook on a leaf: gets the leaf when its grad() has been updated.
using PostAccumulateHook = std::function<void(const at::Tensor&)>;

// Finds the node of a hook as long as it lives, for whoever may outlive it.
struct NodeHandle {
  explicit NodeHandle(Node* of) : node(of) {}
  std::mutex mutex;
  Node* node;  // null when it is gone; guarded by mutex
};

// What few nodes have: hooks, tensors that retain their gradient, and anomaly mode's note of where the node was made.
struct NodeExtras {
  struct KeyedTensorHook {
    uint64_t key;
    uint32_t input_nr;
    bool even_undefined;  // called where no gradient came, too
    TensorHook hook;
  };
  struct KeyedPostAccumulateHook {
    uint64_t key;
    PostAccumulateHook hook;
  };
  struct Retained {
    uint32_t input_nr;
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
  };
  NodeExtras() = default;
  NodeExtras(const NodeExtras&) = delete;
  NodeExtras& operator=(const NodeExtras&) = delete;
  ~NodeExtras();

  uint64_t next_key = 1;
  std::vector<KeyedTensorHook> tensor_hooks;
  std::vector<Retained> retained;
  // Shared with the pass that is calling one: a hook may remove itself.
  std::vector<std::shared_ptr<FunctionPreHook>> pre_hooks;
  std::vector<std::shared_ptr<FunctionPostHook>> post_hooks;
  std::vector<KeyedPostAccumulateHook> post_accumulate_hooks;  // of an AccumulateGrad
  // Anomaly mode: the calls that made this node, and the node whose backward made it.
  std::vector<void*> made_at;
  NodePtr made_by;
  std::shared_ptr<NodeHandle> handle;  // null where nobody asked for one
};

std::shared_ptr<NodeHandle> handle_of(Node& node);

// Adds `hook` for the gradient that comes in as number `input_nr`; returns its key.
uint64_t add_tensor_hook(Node& node, uint32_t input_nr, TensorHook hook, bool even_undefined = false);
bool remove_tensor_hook(Node& node, uint64_t key);

}  // namespace torch::autograd
