#include "autograd/profiler/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/core/thread_local_state.h"
#include "c10/memory/allocation_observer.h"
#include "c10/util/backtrace.h"
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

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  if (std::strtod(text, nullptr) == value) {
    // The shortest text that reads back as the number.
    for (int digits = 1; digits < 17; ++digits) {
      char shorter[32];
      std::snprintf(shorter, sizeof(shorter), "%.*g", digits, value);
      if (std::strtod(shorter, nullptr) == value) return shorter;
    }
  }
  return text;
}

template <class List, class Text>
std::string list_text(const List& list, const Text& text) {
  // Longer lists stay out of traces.
  constexpr size_t kMaxElements = 30;
  if (list.size() > kMaxElements) return {};
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + text(list[i]);
  return out + "]";
}

// The kind of an argument that is no tensor, and its value as far as traces show it.
std::pair<std::string, std::string> value_text(const c10::IValue& value) {
  const auto truth = [](bool is) { return std::string(is ? "True" : "False"); };
  const auto integer = [](int64_t number) { return std::to_string(number); };
  if (value.isBool()) return {"Scalar", truth(value.toBool())};
  if (value.isInt()) return {"Scalar", integer(value.toInt())};
  if (value.isDouble()) return {"Scalar", number_text(value.toDouble())};
  if (value.isString()) return {"Scalar", value.toStringRef()};
  if (value.isIntList()) return {"ScalarList", list_text(value.toIntVector(), integer)};
  if (value.isDoubleList()) return {"ScalarList", list_text(value.toDoubleVector(), number_text)};
  if (value.isBoolList())
    return {"ScalarList", list_text(value.toListRef(), [&](const c10::IValue& one) { return truth(one.toBool()); })};
  if (value.isTensorList()) return {"TensorList", ""};
  if (value.isList()) return {"GenericList", ""};
  return {"", ""};
}

bool is_device_work(const c10::DeviceActivity& activity) {
  return activity.kind == c10::ActivityKind::kKernel || activity.kind == c10::ActivityKind::kCopy ||
         activity.kind == c10::ActivityKind::kSet;
}

}  // namespace

// One profile; its threads share it.
class Recorder final : public c10::intrusive_ptr_target, private c10::AllocationObserver {
 public:
  using Ptr = c10::intrusive_ptr<Recorder>;

  explicit Recorder(const ProfilerConfig& config) : config_(config) {}

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
    const ProfilerConfig& config = context->recorder->config_;
    if (config.report_input_shapes && !range.inputs().empty()) event.inputs_ = describe(range.inputs());
    if (config.with_flops) event.flops_ = detail::operator_flops(event.name_, range.inputs());
    if (config.with_stack) event.frames_ = c10::capture_frames(1);
    if (config.with_modules) event.modules_ = detail::module_path();
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

  void watch_memory() {
    if (config_.profile_memory) c10::add_allocation_observer(this);
  }

  void restart() {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.clear();
    memory_.clear();
    start_ns = now_ns();
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

  std::unique_ptr<ProfilerResult> finish() {
    if (config_.profile_memory) c10::remove_allocation_observer(this);
    std::vector<c10::DeviceActivity> activities;
    for (c10::DeviceActivitySource* source : sources_) {
      std::vector<c10::DeviceActivity> more = source->stop();
      std::move(more.begin(), more.end(), std::back_inserter(activities));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<KinetoEvent> events;
    events.reserve(events_.size());
    for (KinetoEvent& event : events_) {
      if (event.start_ns_ >= start_ns) events.push_back(std::move(event));
    }
    events_.clear();
    const size_t ranges = events.size();
    add_annotations(activities, events);
    for (c10::DeviceActivity& activity : activities) {
      if (activity.end_ns > start_ns) events.push_back(event_of(std::move(activity)));
    }
    if (!with_ranges_) events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(ranges));
    return std::make_unique<ProfilerResult>(start_ns, now_ns(), config_, std::move(events), std::move(memory_));
  }

  uint64_t start_ns = now_ns();
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

 private:
  struct Range final : at::ObserverContext {
    Ptr recorder;
    KinetoEvent event;
  };

  void allocated(const void* data, size_t bytes, size_t total, c10::Device device) noexcept override {
    note_memory(data, static_cast<int64_t>(bytes), total, device);
  }
  void freed(const void* data, size_t bytes, size_t total, c10::Device device) noexcept override {
    note_memory(data, -static_cast<int64_t>(bytes), total, device);
  }
  void note_memory(const void* data, int64_t bytes, size_t total, c10::Device device) {
    if (current().get() != this) return;
    MemoryEvent event;
    event.address = data;
    event.bytes = bytes;
    event.total_allocated = total;
    event.device = device;
    event.thread = at::RecordFunction::currentThreadId();
    event.range = t_open_range;
    event.time_ns = now_ns();
    const std::lock_guard<std::mutex> lock(mutex_);
    memory_.push_back(event);
  }

  static std::shared_ptr<const KinetoEvent::Inputs> describe(const std::vector<c10::IValue>& inputs);

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

  const ProfilerConfig config_;
  std::mutex mutex_;
  std::deque<KinetoEvent> events_;  // grows without moving what is there
  std::vector<MemoryEvent> memory_;
  std::map<int64_t, uint64_t> threads_;  // by the operating system's number
  std::vector<c10::DeviceActivitySource*> sources_;
  bool with_ranges_ = true;
  const uint64_t number_ = [] {
    static std::atomic<uint64_t> next{1};
    return next++;
  }();
};

std::shared_ptr<const KinetoEvent::Inputs> Recorder::describe(const std::vector<c10::IValue>& inputs) {
  auto all = std::make_shared<KinetoEvent::Inputs>();
  for (const c10::IValue& input : inputs) {
    const bool is_dense = input.isTensor() && input.toTensor().defined();
    if (is_dense) {
      const at::Tensor& tensor = input.toTensor();
      all->shapes.push_back(tensor.sizes().vec());
      all->strides.push_back(tensor.layout() == c10::kStrided ? tensor.strides().vec() : std::vector<int64_t>());
      all->dtypes.emplace_back(detail::element_type_name(tensor.scalar_type()));
      all->values.emplace_back();
    } else {
      auto [kind, value] = value_text(input);
      all->shapes.emplace_back();
      all->strides.emplace_back();
      all->dtypes.push_back(std::move(kind));
      all->values.push_back(std::move(value));
    }
  }
  return all;
}

namespace {

at::impl::ThreadLocalPart::Value carried_recorder() {
  return Recorder::current();
}

void set_carried_recorder(const at::impl::ThreadLocalPart::Value& value) {
  Recorder::current() = Recorder::Ptr::reclaim_copy(static_cast<Recorder*>(value.get()));
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_recorder, set_carried_recorder});

}  // namespace

const KinetoEvent::Inputs& KinetoEvent::inputs() const {
  static const Inputs& none = *new Inputs;
  return inputs_ != nullptr ? *inputs_ : none;
}

std::vector<std::string> KinetoEvent::stack() const {
  // Looking names up in symbol tables takes long.
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::unordered_map<void*, std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> lines;
  size_t first = 0;
  for (void* const frame : frames_) {
    std::string& line = known[frame];
    if (line.empty()) {
      line = c10::describe_frames({frame});
      line = line.substr(line.find(": ") + 2);
      if (line.ends_with('\n')) line.pop_back();
    }
    lines.push_back(line);
    // What observes stands above what is observed.
    constexpr std::string_view kObservers[] = {"torch::autograd::profiler::Recorder", "at::RecordFunction",
                                               "c10::detail::SlowCall", "handle_with_values"};
    if (std::any_of(std::begin(kObservers), std::end(kObservers),
                    [&](std::string_view name) { return line.find(name) != std::string::npos; })) {
      first = lines.size();
    }
  }
  // Observers of operators further out stay.
  if (first < lines.size() && first <= 8) lines.erase(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(first));
  return lines;
}

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

const char* detail::element_type_name(c10::ScalarType type) {
  switch (type) {
    case c10::kByte:
      return "unsigned char";
    case c10::kChar:
      return "signed char";
    case c10::kShort:
      return "short int";
    case c10::kInt:
      return "int";
    case c10::kLong:
      return "long int";
    case c10::kHalf:
      return "c10::Half";
    case c10::kFloat:
      return "float";
    case c10::kDouble:
      return "double";
    case c10::kComplexFloat:
      return "c10::complex<float>";
    case c10::kComplexDouble:
      return "c10::complex<double>";
    case c10::kBool:
      return "bool";
    case c10::kBFloat16:
      return "c10::BFloat16";
    default:
      return c10::toString(type);
  }
}

std::vector<std::string>& detail::module_path() {
  thread_local std::vector<std::string> path;
  return path;
}

ProfilerResult::ProfilerResult(uint64_t start_ns, uint64_t end_ns, ProfilerConfig config,
                               std::vector<KinetoEvent> events, std::vector<MemoryEvent> memory)
    : start_ns_(start_ns), end_ns_(end_ns), config_(config), events_(std::move(events)), memory_(std::move(memory)) {
  std::sort(events_.begin(), events_.end(), [](const KinetoEvent& a, const KinetoEvent& b) {
    return a.startNs() != b.startNs() ? a.startNs() < b.startNs() : a.endNs() > b.endNs();
  });
  std::sort(memory_.begin(), memory_.end(),
            [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
}

void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      config.state == ProfilerState::CPU || config.state == ProfilerState::KINETO,
      "the profiler is ProfilerState::CPU or ProfilerState::KINETO; activities say whose work it measures");
  for (const ActivityType activity : activities) device_type_of(activity);
}

void enableProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities,
                    const std::set<at::RecordScope>& scopes) {
  prepareProfiler(config, activities);
  TORCH_CHECK(!Recorder::current(), "Profiler is already enabled on this thread");
  auto recorder = c10::make_intrusive<Recorder>(config);
  recorder->start_sources(activities);
  recorder->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&Recorder::begin, &Recorder::end)
                                     .needsInputs(config.report_input_shapes || config.with_flops)
                                     .scopes(std::vector<at::RecordScope>(scopes.begin(), scopes.end())));
  recorder->watch_memory();
  Recorder::current() = std::move(recorder);
}

void restartProfiler() {
  TORCH_CHECK(Recorder::current(), "restartProfiler: the profiler is not on");
  Recorder::current()->restart();
}

std::unique_ptr<ProfilerResult> disableProfiler() {
  const Recorder::Ptr recorder = std::exchange(Recorder::current(), Recorder::Ptr());
  TORCH_CHECK(recorder, "Can't disable Kineto profiler when it's not running");
  at::removeCallback(recorder->handle);
  return recorder->finish();
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
