#include "autograd/profiler/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/core/thread_local_state.h"
#include "c10/util/exception.h"

namespace torch::autograd::profiler {

namespace {

uint64_t now_ns() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// The innermost range of this thread; 0 for none. Ranges are numbered through all profiles.
thread_local uint64_t t_open_range = 0;
std::atomic<uint64_t> g_next_range{1};

std::optional<c10::DeviceType> device_type_of(ActivityType activity) {
  switch (activity) {
    case ActivityType::CPU:
      return std::nullopt;
    case ActivityType::XPU:
      return c10::kXPU;
    case ActivityType::CUDA:
      return c10::kCUDA;
    case ActivityType::HPU:
      return c10::kHPU;
    case ActivityType::MTIA:
      return c10::kMTIA;
    case ActivityType::PrivateUse1:
      return c10::kPrivateUse1;
  }
  TORCH_CHECK_VALUE(false, "there is no ActivityType ", static_cast<int>(activity));
}

bool is_device_work(const c10::DeviceActivity& activity) {
  return activity.kind == c10::ActivityKind::kKernel || activity.kind == c10::ActivityKind::kCopy ||
         activity.kind == c10::ActivityKind::kSet;
}

}  // namespace

// One profile; its threads share it.
class Recorder final : public c10::intrusive_ptr_target {
 public:
  using Ptr = c10::intrusive_ptr<Recorder>;

  // The one that is on in this thread, or null.
  static Ptr& current() {
    thread_local Ptr recorder;
    return recorder;
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& range) {
    auto context = std::make_unique<Range>();
    context->recorder = current();
    if (!context->recorder) return nullptr;
    KinetoEvent& event = context->event;
    event.name_ = range.name();
    event.start_thread_ = range.threadId();
    event.resource_ = static_cast<int64_t>(range.threadId());
    event.sequence_nr_ = range.seqNr();
    event.scope_ = range.scope();
    for (const c10::IValue& input : range.inputs()) {
      const bool sized = input.isTensor() && input.toTensor().defined();
      event.shapes_.push_back(sized ? input.toTensor().sizes().vec() : std::vector<int64_t>());
    }
    event.correlation_ = g_next_range++;
    event.linked_ = std::exchange(t_open_range, event.correlation_);
    if (!context->recorder->sources_.empty()) {
      context->recorder->note_thread(range.threadId());
      for (c10::DeviceActivitySource* source : context->recorder->sources_) source->push_range(event.correlation_);
    }
    event.start_ns_ = now_ns();
    return context;
  }

  static void end(const at::RecordFunction&, at::ObserverContext* context) {
    const uint64_t time = now_ns();
    if (context == nullptr) return;
    Range& range = *static_cast<Range*>(context);
    for (c10::DeviceActivitySource* source : range.recorder->sources_) source->pop_range(range.event.correlation_);
    if (t_open_range == range.event.correlation_) t_open_range = range.event.linked_;
    range.event.end_ns_ = time;
    range.event.end_thread_ = at::RecordFunction::currentThreadId();
    const std::lock_guard<std::mutex> lock(range.recorder->mutex_);
    range.recorder->events_.push_back(std::move(range.event));
  }

  // Throws where a source is busy; then none collects for this profile.
  void start_sources(const std::set<ActivityType>& activities) {
    with_ranges_ = activities.empty() || activities.contains(ActivityType::CPU);
    try {
      for (const ActivityType activity : activities) {
        const std::optional<c10::DeviceType> type = device_type_of(activity);
        if (!type) continue;
        c10::DeviceActivitySource* const source = c10::device_activity_source(*type);
        if (source == nullptr) {
          TORCH_WARN("the profiler was asked for the work of ", *type,
                     " devices, and no library of them is linked that tells it");
        } else if (source->start()) {
          sources_.push_back(source);
        }
      }
    } catch (...) {
      for (c10::DeviceActivitySource* source : sources_) source->stop();
      throw;
    }
  }

  std::vector<KinetoEvent> finish() {
    std::vector<c10::DeviceActivity> activities;
    for (c10::DeviceActivitySource* source : sources_) {
      std::vector<c10::DeviceActivity> more = source->stop();
      std::move(more.begin(), more.end(), std::back_inserter(activities));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<KinetoEvent> events = std::exchange(events_, {});
    const size_t ranges = events.size();
    add_annotations(activities, events);
    for (c10::DeviceActivity& activity : activities) {
      if (activity.end_ns > start_ns) events.push_back(event_of(std::move(activity)));
    }
    if (!with_ranges_) events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(ranges));
    return events;
  }

  const uint64_t start_ns = now_ns();
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

 private:
  struct Range final : at::ObserverContext {
    Ptr recorder;
    KinetoEvent event;
  };

  void note_thread(uint64_t thread) {
    thread_local uint64_t noted_for = 0;
    if (std::exchange(noted_for, number_) == number_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_[static_cast<int64_t>(::gettid())] = thread;
  }

  KinetoEvent event_of(c10::DeviceActivity activity) const {
    KinetoEvent event;
    event.name_ = std::move(activity.name);
    event.start_ns_ = activity.start_ns;
    event.end_ns_ = std::max(activity.start_ns, activity.end_ns);
    event.activity_ = static_cast<int8_t>(activity.kind);
    event.device_ = activity.device;
    event.resource_ = activity.resource;
    event.correlation_ = activity.correlation;
    event.linked_ = activity.range;
    event.bytes_ = activity.bytes;
    event.details_ = std::move(activity.details);
    if (activity.device.is_cpu()) {
      const auto thread = threads_.find(activity.resource);
      if (thread != threads_.end()) event.resource_ = static_cast<int64_t>(thread->second);
      event.start_thread_ = event.end_thread_ = static_cast<uint64_t>(event.resource_);
    }
    return event;
  }

  // The program's ranges as they show on streams: from the first to the last piece of work that was asked for within
  // them.
  static void add_annotations(const std::vector<c10::DeviceActivity>& activities, std::vector<KinetoEvent>& events) {
    std::unordered_map<uint64_t, size_t> ranges;
    for (size_t i = 0; i < events.size(); ++i) ranges.emplace(events[i].correlation_, i);
    std::map<std::tuple<size_t, c10::DeviceIndex, int64_t>, KinetoEvent> spans;
    for (const c10::DeviceActivity& activity : activities) {
      if (!is_device_work(activity)) continue;
      for (uint64_t number = activity.range; number != 0;) {
        const auto found = ranges.find(number);
        if (found == ranges.end()) break;
        const KinetoEvent& range = events[found->second];
        number = range.linked_;
        if (range.scope_ != at::RecordScope::USER_SCOPE) continue;
        KinetoEvent& span = spans[{found->second, activity.device.index(), activity.resource}];
        if (span.correlation_ == 0) {
          span.name_ = range.name_;
          span.start_ns_ = activity.start_ns;
          span.scope_ = at::RecordScope::USER_SCOPE;
          span.device_ = activity.device;
          span.resource_ = activity.resource;
          span.correlation_ = span.linked_ = range.correlation_;
        }
        span.start_ns_ = std::min(span.start_ns_, activity.start_ns);
        span.end_ns_ = std::max(span.end_ns_, activity.end_ns);
      }
    }
    for (auto& [place, span] : spans) events.push_back(std::move(span));
  }

  std::mutex mutex_;
  std::vector<KinetoEvent> events_;
  std::map<int64_t, uint64_t> threads_;  // by the operating system's number
  std::vector<c10::DeviceActivitySource*> sources_;
  bool with_ranges_ = true;
  const uint64_t number_ = [] {
    static std::atomic<uint64_t> next{1};
    return next++;
  }();
};

namespace {

at::impl::ThreadLocalPart::Value carried_recorder() {
  return Recorder::current();
}

void set_carried_recorder(const at::impl::ThreadLocalPart::Value& value) {
  Recorder::current() = Recorder::Ptr::reclaim_copy(static_cast<Recorder*>(value.get()));
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_recorder, set_carried_recorder});

}  // namespace

const char* KinetoEvent::category() const {
  if (is_range()) {
    if (!device_.is_cpu()) return "gpu_user_annotation";
    return scope_ == at::RecordScope::USER_SCOPE ? "user_annotation" : "cpu_op";
  }
  switch (activity()) {
    case c10::ActivityKind::kKernel:
      return "kernel";
    case c10::ActivityKind::kCopy:
      return "gpu_memcpy";
    case c10::ActivityKind::kSet:
      return "gpu_memset";
    case c10::ActivityKind::kWait:
      return "cuda_sync";
    case c10::ActivityKind::kCall:
      return "cuda_runtime";
    case c10::ActivityKind::kOverhead:
      return "overhead";
  }
  return "";
}

ProfilerResult::ProfilerResult(uint64_t start_ns, std::vector<KinetoEvent> events)
    : start_ns_(start_ns), events_(std::move(events)) {
  std::sort(events_.begin(), events_.end(), [](const KinetoEvent& a, const KinetoEvent& b) {
    return a.startNs() != b.startNs() ? a.startNs() < b.startNs() : a.endNs() > b.endNs();
  });
}

void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      config.state == ProfilerState::CPU || config.state == ProfilerState::KINETO,
      "the profiler is ProfilerState::CPU or ProfilerState::KINETO; activities say whose work it measures");
  for (const ActivityType activity : activities) device_type_of(activity);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !config.profile_memory && !config.with_stack && !config.with_flops && !config.with_modules,
      "the profiler does not support profile_memory, with_stack, with_flops and with_modules");
}

void enableProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities,
                    const std::set<at::RecordScope>& scopes) {
  prepareProfiler(config, activities);
  TORCH_CHECK(!Recorder::current(), "Profiler is already enabled on this thread");
  auto recorder = c10::make_intrusive<Recorder>();
  recorder->start_sources(activities);
  recorder->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&Recorder::begin, &Recorder::end)
                                     .needsInputs(config.report_input_shapes)
                                     .scopes(std::vector<at::RecordScope>(scopes.begin(), scopes.end())));
  Recorder::current() = std::move(recorder);
}

std::unique_ptr<ProfilerResult> disableProfiler() {
  const Recorder::Ptr recorder = std::exchange(Recorder::current(), Recorder::Ptr());
  TORCH_CHECK(recorder, "Can't disable Kineto profiler when it's not running");
  at::removeCallback(recorder->handle);
  return std::make_unique<ProfilerResult>(recorder->start_ns, recorder->finish());
}

bool isProfilerEnabledInThread() {
  return static_cast<bool>(Recorder::current());
}

RecordProfile::RecordProfile(std::ostream& out) : out_(&out) {
  enableProfiler(ProfilerConfig(ProfilerState::CPU), {ActivityType::CPU});
}

RecordProfile::RecordProfile(const std::string& filename) : filename_(filename) {
  enableProfiler(ProfilerConfig(ProfilerState::CPU), {ActivityType::CPU});
}

RecordProfile::~RecordProfile() {
  try {
    const std::unique_ptr<ProfilerResult> result = disableProfiler();
    out_ != nullptr ? result->write(*out_) : result->save(filename_);
  } catch (const std::exception& e) {
    TORCH_WARN("RecordProfile: ", e.what());
  }
}

}  // namespace torch::autograd::profiler
