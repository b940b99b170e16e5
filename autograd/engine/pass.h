#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/engine/node.h"
#include "c10/util/atomic.h"

// What the parts of the engine know of running passes. Not for users.
namespace torch::autograd {

// What may be asked about the nodes of a running pass.
class PassTasks {
 public:
  // Whether the pass evaluates `node`, or returns a gradient that comes into it.
  virtual bool will_execute(const Node* node) const = 0;
  // Whether edge `edge` of a task leads to something that was asked for.
  virtual bool needs_output(uint32_t task, size_t edge) const = 0;
  // Whether it is for some gradients only: those of the inputs it was given.
  virtual bool has_inputs() const = 0;

 protected:
  ~PassTasks() = default;
};

// One running backward pass.
struct Pass {
  c10::Atomic<uint64_t> id{0};  // 0 until somebody asks
  const PassTasks* tasks = nullptr;
  std::mutex callbacks_mutex;
  std::vector<std::function<void()>> callbacks;
};

// A pass in one of the threads that run it. The frames of passes that run inside others lead outwards through `outer`, to
// another thread where a pass was continued there.
struct Frame {
  Pass* pass;
  Frame* outer;
  uint32_t depth;  // passes in this thread that this one runs inside of
  // Of a node in a device's thread: the frame that this thread left to run it, of the same pass or of any other.
  Frame* below = nullptr;
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
