#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/engine/node.h"

// What the parts of the engine know of running passes. Not for users.
namespace torch::autograd {

class Runner;

// One running backward pass.
struct Pass {
  uint64_t id;
  Runner* runner = nullptr;
  std::mutex callbacks_mutex = {};
  std::vector<std::function<void()>> callbacks = {};
};

// A pass in one of the threads that run it. The frames of passes that run inside others lead outwards through `outer`, to
// another thread where a pass was continued there.
struct Frame {
  Pass* pass;
  Frame* outer;
  uint32_t depth;  // passes in this thread that this one runs inside of
  Node* node = nullptr;
  uint32_t task = 0;
};

extern thread_local constinit Frame* current_frame;

class FrameScope {
 public:
  explicit FrameScope(Frame& frame) : before_(std::exchange(current_frame, &frame)) {}
  ~FrameScope() { current_frame = before_; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Frame* before_;
};

}  // namespace torch::autograd
