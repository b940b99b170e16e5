#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/record_function.h"
#include "autograd/profiler/averages.h"
#include "c10/core/device.h"
#include "c10/core/device_activity.h"
#include "c10/core/scalar_type.h"

/// Times the operators that a thread calls, the nodes of its backward passes and the ranges it marks, in all threads
/// that work for it with its at::ThreadLocalState, and what devices do meanwhile.
///
///   {
///     torch::autograd::profiler::RecordProfile profile("step.json");   // for chrome://tracing and the like
///     RECORD_USER_SCOPE("step");
///     loss.backward();
///   }
///
/// The time of an operator is that of the call: on a device whose work is queued, the queueing. With ActivityType::CUDA
/// the result also has the device's work, with its times, and the operators that asked for it:
///
///   enableProfiler(ProfilerConfig(ProfilerState::KINETO), {ActivityType::CPU, ActivityType::CUDA});
///   ...
///   auto result = disableProfiler();
///   std::cout << result->key_averages().table("self_cuda_time_total");
///   result->save("trace.json");
namespace torch::autograd::profiler {

/// What is measured. CPU and KINETO are the same; the others are names only.
enum class ProfilerState { Disabled = 0, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO, KINETO_GPU_FALLBACK };
/// Whose work: that of the CPU, or of a type of devices.
enum class ActivityType { CPU = 0, XPU, CUDA, HPU, MTIA, PrivateUse1 };

struct ProfilerConfig {
  explicit ProfilerConfig(ProfilerState state, bool report_input_shapes = false, bool profile_memory = false,
                          bool with_stack = false, bool with_flops = false, bool with_modules = false)
      : state(state),
        report_input_shapes(report_input_shapes),
        profile_memory(profile_memory),
        with_stack(with_stack),
        with_flops(with_flops),
        with_modules(with_modules) {}
  ProfilerState state;
  /// The sizes, strides and dtypes of tensor arguments and the values of others; of operators where their registry leaf
  /// is linked, of nodes always.
  bool report_input_shapes;
  /// Every block that the CPU's allocator gives and takes back, by the range in which it did.
  bool profile_memory;
  /// Where in the program ranges began.
  bool with_stack;
  /// The floating-point operations of products and convolutions, and those of add and mul.
  bool with_flops;
  /// Within which modules ranges began (torch::profiler::profile tells it).
  bool with_modules;
};

/// A block of memory that was given (bytes > 0) or taken back (bytes < 0) while a profile with profile_memory was on.
struct MemoryEvent {
  /// Of the steady clock, in nanoseconds.
  uint64_t time_ns = 0;
  const void* address = nullptr;
  int64_t bytes = 0;
  /// What was in use then, of the blocks that began while somebody observed.
  size_t total_allocated = 0;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  /// As at::RecordFunction::currentThreadId().
  uint64_t thread = 0;
  /// The number of the innermost range then; 0 for none.
  uint64_t range = 0;
};

/// A range that began and ended while the profiler was on, or what a device did then.
class KinetoEvent {
 public:
  /// "aten::mul", "MulBackward0", or what the program called its range; a kernel's name, "Memcpy HtoD (Pinned ->
  /// Device)".
  const std::string& name() const { return name_; }
  /// Nanoseconds of the steady clock.
  uint64_t startNs() const { return start_ns_; }
  uint64_t endNs() const { return end_ns_; }
  uint64_t durationNs() const { return end_ns_ - start_ns_; }
  /// As at::RecordFunction::currentThreadId(); 0 for the work of devices.
  uint64_t startThreadId() const { return start_thread_; }
  uint64_t endThreadId() const { return end_thread_; }
  bool isAsync() const { return start_thread_ != end_thread_; }
  /// As at::RecordFunction::seqNr(): what an operator and its node have in common; -1 for none.
  int64_t sequenceNr() const { return sequence_nr_; }
  uint8_t scope() const { return static_cast<uint8_t>(scope_); }
  bool hasShapes() const { return inputs_ != nullptr; }
  /// One list an argument, empty for those that are no tensors.
  const std::vector<std::vector<int64_t>>& shapes() const { return inputs().shapes; }
  const std::vector<std::vector<int64_t>>& strides() const { return inputs().strides; }
  bool hasTypes() const { return inputs_ != nullptr; }
  /// Of tensors the type in C++ ("float", "long int", "c10::BFloat16"), else "Scalar", "ScalarList", "TensorList" or
  /// nothing.
  const std::vector<std::string>& dtypes() const { return inputs().dtypes; }
  bool hasConcreteInputs() const { return inputs_ != nullptr; }
  /// The values of numbers, texts and lists of numbers, as Python writes them; empty for others.
  const std::vector<std::string>& concreteInputs() const { return inputs().values; }
  /// 0 where it is not known.
  uint64_t flops() const { return flops_; }
  bool hasStack() const { return !frames_.empty(); }
  /// Where the range began, the innermost call first: "train(at::Tensor const&) + 0x1c (bin/train + 0x5a21c)".
  std::vector<std::string> stack() const;
  bool hasModuleHierarchy() const { return !modules_.empty(); }
  /// The modules around it, the outermost first: {"Net_0", "Linear_1"}.
  const std::vector<std::string>& moduleHierarchy() const { return modules_; }

  /// The CPU's for ranges and for calls of a device's runtime.
  c10::DeviceType deviceType() const { return device_.type(); }
  /// -1 for the CPU.
  int deviceIndex() const { return device_.index(); }
  /// The number of the stream, or of the thread.
  int64_t deviceResourceId() const { return resource_; }
  /// A range's own number. A call of a device's runtime and what it caused have one number, too.
  uint64_t correlationId() const { return correlation_; }
  /// Of calls and the work of devices: the number of the innermost range in which the call was made; of ranges that
  /// around it, in the same thread. 0 for none.
  uint64_t linkedCorrelationId() const { return linked_; }
  /// Of copies and fills.
  uint64_t nBytes() const { return bytes_; }
  /// Traces' word for what it is: "cpu_op", "user_annotation", "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime",
  /// "cuda_sync", "overhead", and "gpu_user_annotation" for the span of the work that a range of the program asked for.
  const char* category() const;
  bool is_range() const { return activity_ < 0; }
  /// Of what is no range.
  c10::ActivityKind activity() const { return static_cast<c10::ActivityKind>(activity_); }
  /// What else is known, as JSON by its name in traces.
  const std::vector<std::pair<std::string, std::string>>& details() const { return details_; }

 private:
  friend class Recorder;
  struct Inputs {
    std::vector<std::vector<int64_t>> shapes, strides;
    std::vector<std::string> dtypes, values;
  };
  const Inputs& inputs() const;

  std::string name_;
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = 0;
  uint64_t start_thread_ = 0;
  uint64_t end_thread_ = 0;
  int64_t sequence_nr_ = -1;
  at::RecordScope scope_ = at::RecordScope::FUNCTION;
  int8_t activity_ = -1;
  c10::Device device_ = c10::Device(c10::DeviceType::CPU);
  int64_t resource_ = 0;
  uint64_t correlation_ = 0;
  uint64_t linked_ = 0;
  uint64_t bytes_ = 0;
  uint64_t flops_ = 0;
  std::shared_ptr<const Inputs> inputs_;
  std::vector<void*> frames_;
  std::vector<std::string> modules_;
  std::vector<std::pair<std::string, std::string>> details_;
};

/// What is written at the head of a trace: names, and values as JSON.
using TraceMetadata = std::vector<std::pair<std::string, std::string>>;

/// What a profile found, by the times at which the events began.
class ProfilerResult {
 public:
  ProfilerResult(uint64_t start_ns, uint64_t end_ns, ProfilerConfig config, std::vector<KinetoEvent> events,
                 std::vector<MemoryEvent> memory);
  uint64_t trace_start_ns() const { return start_ns_; }
  uint64_t trace_end_ns() const { return end_ns_; }
  const ProfilerConfig& config() const { return config_; }
  const std::vector<KinetoEvent>& events() const { return events_; }
  /// With profile_memory, by time.
  const std::vector<MemoryEvent>& memory_events() const { return memory_; }
  /// Sums by name; by the sizes of arguments, and by the innermost `group_by_stack_n` calls, where asked for. What
  /// waits, and what measuring cost, is not among them.
  KeyAverages key_averages(bool group_by_input_shape = false, int64_t group_by_stack_n = 0) const;
  /// Writes the events as JSON in Chrome's trace format: the program's threads, each device's streams, arrows from
  /// calls to what they caused and from operators to their nodes of the backward pass, and memory as instants. Throws
  /// Error where the file cannot be written.
  void save(const std::string& path) const;
  void write(std::ostream& out, const TraceMetadata& metadata = {}) const;
  /// Writes a line a range that has a stack, "outermost;...;innermost microseconds", for flame graphs. `metric` is
  /// self_cpu_time_total, or self_device_time_total (self_cuda_time_total ...). Throws ValueError for others, Error
  /// where the file cannot be written.
  void export_stacks(const std::string& path, const std::string& metric = "self_cpu_time_total") const;

 private:
  uint64_t start_ns_, end_ns_;
  ProfilerConfig config_;
  std::vector<KinetoEvent> events_;
  std::vector<MemoryEvent> memory_;
};

/// Has nothing to prepare; throws as enableProfiler.
void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities);
/// Begins to time ranges of `scopes` (all, where that is empty), and the work of the devices that `activities` names;
/// ranges stay out of the result where it names devices only. A type of devices that no library brings, or whose tools
/// are missing, is a warning. Throws NotImplementedError for states other than CPU and KINETO; Error where this
/// thread's profiler is on, or another thread's with the same devices.
void enableProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities,
                    const std::set<at::RecordScope>& scopes = {});
/// Ends it, in the thread that began it, and waits for the devices. Throws Error where it is not on.
std::unique_ptr<ProfilerResult> disableProfiler();
bool isProfilerEnabledInThread();
/// Forgets what was found so far, ranges that are open included: what a warm-up ends with. Throws Error where it is not
/// on.
void restartProfiler();

namespace detail {
/// The modules that this thread is in, the outermost first: what with_modules notes.
std::vector<std::string>& module_path();
/// What with_flops counts for an operator called with these: mm, addmm, bmm, baddbmm, conv2d, mul and add; 0 for
/// others.
uint64_t operator_flops(const std::string& name, const std::vector<c10::IValue>& inputs);
/// The type of an element in C++, as traces write it: "long int".
const char* element_type_name(c10::ScalarType type);
}  // namespace detail

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

/// A range that the program names, until the end of the scope: user_annotation in traces.
///
///   {
///     torch::profiler::record_function range("attention");
///     ...
///   }
class record_function {
 public:
  explicit record_function(const std::string& name) : range_(at::RecordScope::USER_SCOPE) { range_.before(name); }
  /// `args` is the range's one input.
  record_function(const std::string& name, const std::string& args) : range_(at::RecordScope::USER_SCOPE) {
    if (range_.isActive()) range_.before(name, std::vector<c10::IValue>{args});
  }

 private:
  at::RecordFunction range_;
};

}  // namespace torch::autograd::profiler

/// The same by the names of torch.profiler.
namespace torch::profiler {
namespace impl {
using autograd::profiler::ActivityType;
using autograd::profiler::ProfilerConfig;
using autograd::profiler::ProfilerState;
}  // namespace impl
using autograd::profiler::record_function;
using impl::ActivityType;
using ProfilerActivity = ActivityType;
}  // namespace torch::profiler
