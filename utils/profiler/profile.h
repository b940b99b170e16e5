// torch::profiler::profile: what a program spends time and memory on, over steps of a loop.
//
//   torch::profiler::profile profiler({
//       .schedule = torch::profiler::schedule({.wait = 1, .warmup = 1, .active = 3, .repeat = 2}),
//       .on_trace_ready = torch::profiler::tensorboard_trace_handler("runs/profile"),
//       .record_shapes = true,
//   });
//   profiler.start();
//   for (auto& batch : *loader) {
//     train(batch);
//     profiler.step();
//   }
//   profiler.stop();
//
// Without a schedule everything between start() and stop() is recorded:
//
//   torch::profiler::profile profiler;
//   profiler.start();
//   net(x);
//   profiler.stop();
//   std::cout << profiler.key_averages().table("self_cpu_time_total", 10);
//   profiler.export_chrome_trace("trace.json.gz");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autograd/profiler/profiler.h"

namespace torch::profiler {

class ExecutionTraceObserver;
class profile;

using autograd::profiler::KeyAverages;
using autograd::profiler::KinetoEvent;
using autograd::profiler::ProfilerResult;
using autograd::profiler::TableOptions;

/// What is done during a step: nothing; recorded and thrown away; recorded; recorded, and then a trace is ready.
enum class ProfilerAction { NONE = 0, WARMUP = 1, RECORD = 2, RECORD_AND_SAVE = 3 };
/// By the number of the step, from 0.
using Schedule = std::function<ProfilerAction(int64_t step)>;

/// How many steps of each kind a cycle has.
struct ScheduleOptions {
  int64_t wait = 0, warmup = 0;
  /// At least 1.
  int64_t active = 0;
  /// How many cycles; 0: until the end.
  int64_t repeat = 0;
  /// Steps before the first cycle.
  int64_t skip_first = 0;
  /// Whether the first cycle does not wait.
  bool skip_first_wait = false;
};
/// Throws ValueError where a number is below what it must be; warns without a warm-up.
Schedule schedule(const ScheduleOptions& options);

/// What is done with a trace, while its results are the profiler's.
using TraceHandler = std::function<void(profile&)>;
/// Writes "DIRECTORY/WORKER.NANOSECONDS.pt.trace.json", with ".gz" where asked for: what TensorBoard's plugin reads.
/// The worker is "HOST_PROCESS" where no name is given.
TraceHandler tensorboard_trace_handler(std::string directory, std::string worker_name = "", bool use_gzip = false);

struct ProfileOptions {
  /// Whose work: empty for the CPU's and that of all devices that tell it.
  std::set<ProfilerActivity> activities = {};
  Schedule schedule = nullptr;
  TraceHandler on_trace_ready = nullptr;
  /// As torch::autograd::profiler::ProfilerConfig says.
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stack = false;
  bool with_flops = false;
  /// Calls of modules are ranges ("nn.Module: Linear_0"), and ranges know the modules they are in.
  bool with_modules = false;
  /// Results have the events of all cycles, not those of the last one.
  bool acc_events = false;
  /// Runs while the profiler records. Must outlive it.
  ExecutionTraceObserver* execution_trace_observer = nullptr;
};

/// Records in the thread that calls start(), and in those that work for it; step() and stop() belong to the same
/// thread. What reads results throws Error before there are any.
class profile {
 public:
  explicit profile(ProfileOptions options = {});
  /// As stop(), where it runs; what goes wrong is a warning.
  ~profile();
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  /// Begins step 0. Throws Error where it runs already.
  void start();
  /// Ends a step and begins the next. With a schedule, steps are ranges called "ProfilerStep#3".
  void step();
  /// Ends the last step; where something was recorded, a trace is ready. Nothing where it does not run.
  void stop();

  int64_t step_num() const { return step_; }
  ProfilerAction current_action() const { return action_; }

  const std::vector<KinetoEvent>& events() const { return result().events(); }
  const ProfilerResult& result() const;
  /// ProfilerResult::key_averages().
  KeyAverages key_averages(bool group_by_input_shape = false, int64_t group_by_stack_n = 0) const;
  /// Writes Chrome's trace format, packed where the name ends in ".gz". Throws Error where the file cannot be written.
  void export_chrome_trace(const std::string& path) const;
  /// ProfilerResult::export_stacks().
  void export_stacks(const std::string& path, const std::string& metric = "self_cpu_time_total") const;

  /// Goes into the head of traces: as text, or as JSON. A second value of a name takes the first one's place.
  void add_metadata(const std::string& key, const std::string& value);
  void add_metadata_json(const std::string& key, const std::string& value);
  /// 32 hexadecimal digits, others for each cycle; or what the callback says.
  const std::string& get_trace_id() const { return trace_id_; }
  void set_custom_trace_id_callback(std::function<std::string()> callback) { trace_id_callback_ = std::move(callback); }
  /// Whether ranges of this thread are recorded meanwhile. Throws NotImplementedError for the work of devices.
  void toggle_collection_dynamic(bool enable, const std::set<ProfilerActivity>& activities);

 private:
  class Modules;
  void begin_recording(bool warm_up);
  void end_recording();
  void move_to(std::optional<ProfilerAction> next);
  void begin_step();

  const ProfileOptions options_;
  bool runs_ = false, records_ = false, is_warm_up_ = false;
  int64_t step_ = 0;
  ProfilerAction action_ = ProfilerAction::NONE;
  std::unique_ptr<record_function> step_range_;
  std::unique_ptr<Modules> modules_;
  std::unique_ptr<ProfilerResult> result_;
  autograd::profiler::TraceMetadata metadata_;
  std::string trace_id_;
  std::function<std::string()> trace_id_callback_;
};

}  // namespace torch::profiler
