// What a thread is busy with, for whoever observes it: a stack of notes of several kinds, which at::ThreadLocalState
// carries along to the threads that work is handed to.
//
//   struct Request : c10::DebugInfoBase { std::string id; };
//   auto request = std::make_shared<Request>();
//   c10::DebugInfoGuard guard(c10::DebugInfoKind::INFERENCE_CONTEXT, request);
//   c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::INFERENCE_CONTEXT);   // request.get()
#pragma once

#include <cstdint>
#include <memory>

namespace c10 {

enum class DebugInfoKind : uint8_t {
  PRODUCER_INFO = 0,
  MOBILE_RUNTIME_INFO,
  PROFILER_STATE,
  INFERENCE_CONTEXT,
  PARAM_COMMS_INFO,
  TEST_INFO,
  TEST_INFO_2,
};

/// A note.
class DebugInfoBase {
 public:
  DebugInfoBase() = default;
  virtual ~DebugInfoBase() = default;
};

/// A thread's stack of notes. Nodes are shared and do not change, so that a copy of a stack is a pointer.
class ThreadLocalDebugInfo {
 public:
  /// The newest note of the kind in the calling thread; null where there is none.
  static DebugInfoBase* get(DebugInfoKind kind);
  /// The calling thread's stack; null where it is empty.
  static std::shared_ptr<ThreadLocalDebugInfo> current();

  static void _forceCurrentDebugInfo(std::shared_ptr<ThreadLocalDebugInfo> info);
  /// Lays a note on the calling thread's stack.
  static void _push(DebugInfoKind kind, std::shared_ptr<DebugInfoBase> info);
  /// Takes the note on top away and returns it. Throws c10::Error where it is of another kind.
  static std::shared_ptr<DebugInfoBase> _pop(DebugInfoKind kind);
  /// The note on top. Throws c10::Error where it is of another kind.
  static std::shared_ptr<DebugInfoBase> _peek(DebugInfoKind kind);

 private:
  std::shared_ptr<DebugInfoBase> info_;
  DebugInfoKind kind_ = DebugInfoKind::PRODUCER_INFO;
  std::shared_ptr<ThreadLocalDebugInfo> below_;
};

/// A note, or a whole stack, until the end of the scope; null changes nothing.
class DebugInfoGuard {
 public:
  DebugInfoGuard(DebugInfoKind kind, std::shared_ptr<DebugInfoBase> info);
  explicit DebugInfoGuard(std::shared_ptr<ThreadLocalDebugInfo> info);
  ~DebugInfoGuard();
  DebugInfoGuard(const DebugInfoGuard&) = delete;
  DebugInfoGuard& operator=(const DebugInfoGuard&) = delete;

 private:
  bool active_ = false;
  std::shared_ptr<ThreadLocalDebugInfo> before_;
};

}  // namespace c10
