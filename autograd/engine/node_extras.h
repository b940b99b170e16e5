#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/engine/node.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {

// A hook on one tensor: gets its gradient and may give another one (an undefined tensor keeps it).
using TensorHook = std::function<at::Tensor(const at::Tensor&)>;

// What few nodes have: hooks, tensors that retain their gradient, and anomaly mode's note of where the node was made.
struct NodeExtras {
  struct KeyedTensorHook {
    uint64_t key;
    uint32_t input_nr;
    TensorHook hook;
  };
  struct Retained {
    uint32_t input_nr;
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
  };
  template <class Hook>
  struct Keyed {
    uint64_t key;
    std::unique_ptr<Hook> hook;
  };

  uint64_t next_key = 1;
  std::vector<KeyedTensorHook> tensor_hooks;
  std::vector<Retained> retained;
  std::vector<Keyed<FunctionPreHook>> pre_hooks;
  std::vector<Keyed<FunctionPostHook>> post_hooks;
  // Anomaly mode: the calls that made this node, and the node whose backward made it.
  std::string made_at;
  std::string made_by;
};

// Adds `hook` for the gradient that comes in as number `input_nr`; returns its key.
uint64_t add_tensor_hook(Node& node, uint32_t input_nr, TensorHook hook);
bool remove_tensor_hook(Node& node, uint64_t key);

}  // namespace torch::autograd
