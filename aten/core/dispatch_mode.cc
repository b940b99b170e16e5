#include "aten/core/dispatch_mode.h"

#include <memory>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"

namespace at {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

thread_local std::vector<DispatchMode*> t_modes;

void set_included() {
  c10::impl::tls_set_dispatch_key_included(DispatchKey::Mode, !t_modes.empty());
}

// Takes the last mode off the stack while it works.
class Popped {
 public:
  Popped() : mode_(t_modes.back()) {
    t_modes.pop_back();
    set_included();
  }
  ~Popped() {
    t_modes.push_back(mode_);
    set_included();
  }
  Popped(const Popped&) = delete;
  Popped& operator=(const Popped&) = delete;
  DispatchMode& mode() const { return *mode_; }

 private:
  DispatchMode* mode_;
};

void handle(void*, const c10::OperatorHandle& op, DispatchKeySet keys, c10::Stack* stack) {
  const DispatchKeySet below = keys.remove(DispatchKey::Mode);
  if (t_modes.empty()) return op.redispatchBoxed(below, stack);
  const Popped popped;
  popped.mode().handle(op, below, stack);
}

constexpr c10::BoxedKernel kHandler{&handle, nullptr};

// What another thread that works for this one is given; the key of the modes goes with the thread's keys.
struct CarriedModes final : c10::intrusive_ptr_target {
  std::vector<DispatchMode*> modes;
};

impl::ThreadLocalPart::Value carried_modes() {
  if (t_modes.empty()) return {};
  auto carried = c10::make_intrusive<CarriedModes>();
  carried->modes = t_modes;
  return carried;
}

void set_carried_modes(const impl::ThreadLocalPart::Value& value) {
  const auto* carried = static_cast<const CarriedModes*>(value.get());
  t_modes = carried == nullptr ? std::vector<DispatchMode*>() : carried->modes;
}

[[maybe_unused]] const bool registered = impl::register_thread_local_part({carried_modes, set_carried_modes});

}  // namespace

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode) {
  c10::detail::set_fallback(DispatchKey::Mode, &kHandler);
  t_modes.push_back(&mode);
  set_included();
}

DispatchModeGuard::~DispatchModeGuard() {
  t_modes.pop_back();
  set_included();
}

size_t dispatch_mode_depth() { return t_modes.size(); }

}  // namespace at
