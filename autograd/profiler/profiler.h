#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "aten/core/record_function.h"

/// Times the operators that a thread calls, the nodes of its backward passes and the ranges it marks, in all threads that work
/// for it with its at::ThreadLocalState. What is timed is the call: on a device whose work is queued, the queueing.
///
///   {
///     torch::autograd::profiler::RecordProfile profile("step.json");   // for chrome://tracing and the like
///     RECORD_USER_SCOPE("step");
///     loss.backward();
///   }
namespace torch::autograd::profiler {

/// What is measured. CPU and KINETO are times of the CPU; the others are names only.
enum class ProfilerState { Disabled = 0, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO, KINETO_GPU_FALLBACK };
enum class ActivityType { CPU = 0, XPU, CUDA };

struct ProfilerConfig {
  explicit ProfilerConfig(
      ProfilerState state,
      bool report_input_shapes = false,
      bool profile_memory = false,
      bool with_stack = false,
      bool with_flops = false,
      bool with_modules = false)
      : state(state),
        report_input_shapes(report_input_shapes),
        profile_memory(profile_memory),
        with_stack(with_stack),
        with_flops(with_flops),
        with_modules(with_modules) {}
  ProfilerState state;
  /// The sizes of tensor arguments; of operators where their registry leaf is linked, of nodes always.
  bool report_input_shapes;
  bool profile_memory;
  bool with_stack;
  bool with_flops;
  bool with_modules;
};

/// One range that began and ended while the profiler was on.
class KinetoEvent {
 public:
  /// "aten::mul", "MulBackward0", or what the program called its range.
  const std::string& name() const { return name_; }
  /// Nanoseconds of the steady clock.
  uint64_t startNs() const { return start_ns_; }
  uint64_t endNs() const { return end_ns_; }
  uint64_t durationNs() const { return end_ns_ - start_ns_; }
  uint64_t startThreadId() const { return start_thread_; }
  uint64_t endThreadId() const { return end_thread_; }
  /// As at::RecordFunction::seqNr(): what an operator and its node have in common; -1 for none.
  int64_t sequenceNr() const { return sequence_nr_; }
  uint8_t scope() const { return static_cast<uint8_t>(scope_); }
  bool hasShapes() const { return !shapes_.empty(); }
  /// One list an argument, empty for those that are no tensors.
  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }

 private:
  friend class Recorder;
  std::string name_;
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = 0;
  uint64_t start_thread_ = 0;
  uint64_t end_thread_ = 0;
  int64_t sequence_nr_ = -1;
  at::RecordScope scope_ = at::RecordScope::FUNCTION;
  std::vector<std::vector<int64_t>> shapes_;
};

/// What a profile found, by the times at which the ranges began.
class ProfilerResult {
 public:
  ProfilerResult(uint64_t start_ns, std::vector<KinetoEvent> events);
  uint64_t trace_start_ns() const { return start_ns_; }
  const std::vector<KinetoEvent>& events() const { return events_; }
  /// Writes the events as JSON in Chrome's trace format. Throws Error where the file cannot be written.
  void save(const std::string& path) const;
  void write(std::ostream& out) const;

 private:
  uint64_t start_ns_;
  std::vector<KinetoEvent> events_;
};

/// Has nothing to prepare; throws as enableProfiler.
void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities);
/// Begins to time ranges of `scopes` (all, where that is empty). Throws NotImplementedError for states other than CPU and KINETO,
/// activities other than CPU, and for profile_memory, with_stack, with_flops and with_modules; Error where this thread's profiler
/// is on.
void enableProfiler(
    const ProfilerConfig& config, const std::set<ActivityType>& activities, const std::set<at::RecordScope>& scopes = {});
/// Ends it, in the thread that began it. Throws Error where it is not on.
std::unique_ptr<ProfilerResult> disableProfiler();
bool isProfilerEnabledInThread();

/// A profile from here to the end of the scope, then written as JSON.
class RecordProfile {
 public:
  explicit RecordProfile(std::ostream& out);
  explicit RecordProfile(const std::string& filename);
  ~RecordProfile();
  RecordProfile(const RecordProfile&) = delete;
  RecordProfile& operator=(const RecordProfile&) = delete;

 private:
  std::ostream* out_ = nullptr;
  std::string filename_;
};

}  // namespace torch::autograd::profiler
