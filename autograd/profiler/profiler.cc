#include "autograd/profiler/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <mutex>
#include <ostream>
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
    event.sequence_nr_ = range.seqNr();
    event.scope_ = range.scope();
    for (const c10::IValue& input : range.inputs()) {
      const bool sized = input.isTensor() && input.toTensor().defined();
      event.shapes_.push_back(sized ? input.toTensor().sizes().vec() : std::vector<int64_t>());
    }
    event.start_ns_ = now_ns();
    return context;
  }

  static void end(const at::RecordFunction&, at::ObserverContext* context) {
    const uint64_t time = now_ns();
    if (context == nullptr) return;
    Range& range = *static_cast<Range*>(context);
    range.event.end_ns_ = time;
    range.event.end_thread_ = at::RecordFunction::currentThreadId();
    const std::lock_guard<std::mutex> lock(range.recorder->mutex_);
    range.recorder->events_.push_back(std::move(range.event));
  }

  std::vector<KinetoEvent> take_events() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(events_, {});
  }

  const uint64_t start_ns = now_ns();
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

 private:
  struct Range final : at::ObserverContext {
    Ptr recorder;
    KinetoEvent event;
  };

  std::mutex mutex_;
  std::vector<KinetoEvent> events_;
};

namespace {

at::impl::ThreadLocalPart::Value carried_recorder() { return Recorder::current(); }

void set_carried_recorder(const at::impl::ThreadLocalPart::Value& value) {
  Recorder::current() = Recorder::Ptr::reclaim_copy(static_cast<Recorder*>(value.get()));
}

[[maybe_unused]] const bool registered =
    at::impl::register_thread_local_part({carried_recorder, set_carried_recorder});

void write_text(std::ostream& out, const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out << "\\u00" << kDigits[c >> 4] << kDigits[c & 15];
    } else {
      out << c;
    }
  }
  out << '"';
}

// Nanoseconds as microseconds.
void write_time(std::ostream& out, uint64_t ns) {
  const std::string fraction = std::to_string(ns % 1000);
  out << ns / 1000 << '.' << std::string(3 - fraction.size(), '0') << fraction;
}

void write_shapes(std::ostream& out, const std::vector<std::vector<int64_t>>& shapes) {
  out << '[';
  for (size_t i = 0; i < shapes.size(); ++i) {
    out << (i == 0 ? "[" : ", [");
    for (size_t d = 0; d < shapes[i].size(); ++d) out << (d == 0 ? "" : ", ") << shapes[i][d];
    out << ']';
  }
  out << ']';
}

}  // namespace

ProfilerResult::ProfilerResult(uint64_t start_ns, std::vector<KinetoEvent> events)
    : start_ns_(start_ns), events_(std::move(events)) {
  std::sort(events_.begin(), events_.end(), [](const KinetoEvent& a, const KinetoEvent& b) {
    return a.startNs() != b.startNs() ? a.startNs() < b.startNs() : a.endNs() > b.endNs();
  });
}

void ProfilerResult::write(std::ostream& out) const {
  const int pid = ::getpid();
  out << "{\"traceEvents\": [";
  for (size_t i = 0; i < events_.size(); ++i) {
    const KinetoEvent& event = events_[i];
    const bool user = event.scope() == static_cast<uint8_t>(at::RecordScope::USER_SCOPE);
    out << (i == 0 ? "\n" : ",\n") << "{\"ph\": \"X\", \"cat\": \"" << (user ? "user_annotation" : "cpu_op") << "\", \"name\": ";
    write_text(out, event.name());
    out << ", \"pid\": " << pid << ", \"tid\": " << event.startThreadId() << ", \"ts\": ";
    write_time(out, event.startNs() - start_ns_);
    out << ", \"dur\": ";
    write_time(out, event.durationNs());
    out << ", \"args\": {\"Sequence number\": " << event.sequenceNr();
    if (event.hasShapes()) {
      out << ", \"Input Dims\": ";
      write_shapes(out, event.shapes());
    }
    out << "}}";
  }
  out << "\n]}\n";
}

void ProfilerResult::save(const std::string& path) const {
  std::ofstream file(path);
  write(file);
  file.close();
  TORCH_CHECK(!file.fail(), "the profile could not be written to ", path);
}

void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      config.state == ProfilerState::CPU || config.state == ProfilerState::KINETO,
      "the profiler measures times of the CPU only: ProfilerState::CPU and ProfilerState::KINETO");
  for (const ActivityType activity : activities) {
    TORCH_CHECK_NOT_IMPLEMENTED(activity == ActivityType::CPU, "the profiler measures ActivityType::CPU only");
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      !config.profile_memory && !config.with_stack && !config.with_flops && !config.with_modules,
      "the profiler does not support profile_memory, with_stack, with_flops and with_modules");
}

void enableProfiler(
    const ProfilerConfig& config, const std::set<ActivityType>& activities, const std::set<at::RecordScope>& scopes) {
  prepareProfiler(config, activities);
  TORCH_CHECK(!Recorder::current(), "Profiler is already enabled on this thread");
  auto recorder = c10::make_intrusive<Recorder>();
  recorder->handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&Recorder::begin, &Recorder::end)
          .needsInputs(config.report_input_shapes)
          .scopes(std::vector<at::RecordScope>(scopes.begin(), scopes.end())));
  Recorder::current() = std::move(recorder);
}

std::unique_ptr<ProfilerResult> disableProfiler() {
  const Recorder::Ptr recorder = std::exchange(Recorder::current(), Recorder::Ptr());
  TORCH_CHECK(recorder, "Can't disable Kineto profiler when it's not running");
  at::removeCallback(recorder->handle);
  return std::make_unique<ProfilerResult>(recorder->start_ns, recorder->take_events());
}

bool isProfilerEnabledInThread() { return static_cast<bool>(Recorder::current()); }

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
