// What happens where a program waits for a device, to find waits that nobody meant.
#pragma once

namespace c10::cuda {

enum class SyncDebugMode { L_DISABLED = 0, L_WARN, L_ERROR };

/// The mode of the process; disabled unless it is set.
class WarningState {
 public:
  void set_sync_debug_mode(SyncDebugMode mode) { __atomic_store(&mode_, &mode, __ATOMIC_RELAXED); }
  SyncDebugMode get_sync_debug_mode() const {
    SyncDebugMode mode;
    __atomic_load(&mode_, &mode, __ATOMIC_RELAXED);
    return mode;
  }

 private:
  SyncDebugMode mode_ = SyncDebugMode::L_DISABLED;
};

inline constinit WarningState g_warning_state;
inline WarningState& warning_state() {
  return g_warning_state;
}

}  // namespace c10::cuda
