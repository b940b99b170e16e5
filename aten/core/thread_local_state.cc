#include "aten/core/thread_local_state.h"

#include "c10/util/exception.h"

namespace at {
namespace {

constinit impl::ThreadLocalPart parts[impl::kMaxThreadLocalParts] = {};
constinit size_t num_parts = 0;

}  // namespace

bool impl::register_thread_local_part(ThreadLocalPart part) {
  TORCH_INTERNAL_ASSERT(num_parts < kMaxThreadLocalParts);
  parts[num_parts++] = part;
  return true;
}

ThreadLocalState::ThreadLocalState() : own_(c10::thread_state()) {
  own_.recorded_operator = nullptr;  // of a call that is going on in this thread
  for (size_t i = 0; i < num_parts; ++i) parts_[i] = parts[i].get();
}

void ThreadLocalState::set_grad_mode(bool enabled) {
  own_.grad_enabled = enabled;
  own_.update();
}

void ThreadLocalState::setThreadLocalState(const ThreadLocalState& state) {
  c10::thread_state() = state.own_;
  for (size_t i = 0; i < num_parts; ++i) parts[i].set(state.parts_[i]);
}

}  // namespace at
