#include "utils/profiler/profile.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "c10/core/device_activity.h"
#include "c10/util/exception.h"
#include "nn/module/module.h"
#include "nn/utils/module_tracker.h"
#include "utils/profiler/execution_trace.h"

namespace torch::profiler {
namespace {

std::set<ProfilerActivity> available_activities() {
  std::set<ProfilerActivity> all{ProfilerActivity::CPU};
  for (const auto& [activity, type] :
       {std::pair(ProfilerActivity::CUDA, c10::kCUDA), std::pair(ProfilerActivity::XPU, c10::kXPU),
        std::pair(ProfilerActivity::HPU, c10::kHPU), std::pair(ProfilerActivity::MTIA, c10::kMTIA),
        std::pair(ProfilerActivity::PrivateUse1, c10::kPrivateUse1)}) {
    if (c10::device_activity_source(type) != nullptr) all.insert(activity);
  }
  return all;
}

std::string random_trace_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 32; ++i) id += "0123456789ABCDEF"[random() % 16];
  return id;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

void write_packed(const std::string& path, const std::string& text) {
  gzFile const file = gzopen(path.c_str(), "wb");
  TORCH_CHECK(file != nullptr, "the profile could not be written to ", path);
  bool written = true;
  // gzwrite takes 32 bits.
  for (size_t begin = 0; written && begin < text.size();) {
    const auto part = static_cast<unsigned>(std::min<size_t>(text.size() - begin, size_t{1} << 30));
    written = gzwrite(file, text.data() + begin, part) == static_cast<int>(part);
    begin += part;
  }
  written = gzclose(file) == Z_OK && written;
  TORCH_CHECK(written, "the profile could not be written to ", path);
}

}  // namespace

Schedule schedule(const ScheduleOptions& options) {
  TORCH_CHECK_VALUE(options.wait >= 0 && options.warmup >= 0 && options.active > 0 && options.repeat >= 0 &&
                        options.skip_first >= 0,
                    "Invalid profiler schedule arguments. Got wait=", options.wait, " (need >= 0), warmup=",
                    options.warmup, " (need >= 0), active=", options.active, " (need > 0), repeat=", options.repeat,
                    " (need >= 0), skip_first=", options.skip_first, " (need >= 0).");
  if (options.warmup == 0) TORCH_WARN("Profiler won't be using warmup, this can skew profiler results");
  return [options](int64_t step) {
    TORCH_CHECK_VALUE(step >= 0, "Step must be non-negative. Got ", step, ".");
    if (step < options.skip_first) return ProfilerAction::NONE;
    step -= options.skip_first;
    if (options.skip_first_wait) step += options.wait;
    const int64_t cycle = options.wait + options.warmup + options.active;
    if (options.repeat > 0 && step >= options.repeat * cycle) return ProfilerAction::NONE;
    step %= cycle;
    if (step < options.wait) return ProfilerAction::NONE;
    if (step < options.wait + options.warmup) return ProfilerAction::WARMUP;
    return step < cycle - 1 ? ProfilerAction::RECORD : ProfilerAction::RECORD_AND_SAVE;
  };
}

TraceHandler tensorboard_trace_handler(std::string directory, std::string worker_name, bool use_gzip) {
  return [=](profile& profiler) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    TORCH_CHECK(!error, "Can't create directory: ", directory, ": ", error.message());
    std::string worker = worker_name;
    if (worker.empty()) {
      char host[256] = "localhost";
      ::gethostname(host, sizeof(host) - 1);
      worker = std::string(host) + "_" + std::to_string(::getpid());
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    profiler.export_chrome_trace(directory + "/" + worker + "." + std::to_string(ns) + ".pt.trace.json" +
                                 (use_gzip ? ".gz" : ""));
  };
}

// Makes calls of modules ranges.
class profile::Modules {
 public:
  Modules()
      : before_(nn::modules::register_module_forward_pre_hook(
            [this](nn::Module& module, const std::vector<at::Tensor>&) { enter(module); })),
        after_(nn::modules::register_module_forward_hook(
            [this](nn::Module& module, const std::vector<at::Tensor>&, const std::vector<at::Tensor>&) {
              leave(module);
            },
            /*always_call=*/true)) {}
  ~Modules() {
    before_.remove();
    after_.remove();
    while (!open_.empty()) close();
  }
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

 private:
  struct Open {
    const nn::Module* module;
    std::unique_ptr<record_function> range;
  };

  bool is_mine() const { return std::this_thread::get_id() == thread_; }
  void enter(const nn::Module& module) {
    if (!is_mine()) return;
    const std::string type = utils::ModuleTracker::type_name(module);
    auto& numbers = numbers_[type];
    const size_t number = numbers.emplace(&module, numbers.size()).first->second;
    const std::string name = type + "_" + std::to_string(number);
    open_.push_back({&module, std::make_unique<record_function>("nn.Module: " + name)});
    autograd::profiler::detail::module_path().push_back(name);
  }
  void leave(const nn::Module& module) {
    // Recording may have begun within the module.
    if (is_mine() && !open_.empty() && open_.back().module == &module) close();
  }
  void close() {
    open_.pop_back();
    autograd::profiler::detail::module_path().pop_back();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  std::map<std::string, std::map<const nn::Module*, size_t>> numbers_;
  std::vector<Open> open_;
  nn::RemovableHandle before_, after_;
};

profile::profile(ProfileOptions options) : options_(std::move(options)) {}

profile::~profile() {
  try {
    stop();
  } catch (const std::exception& e) {
    TORCH_WARN("profile: ", e.what());
  }
}

void profile::begin_recording(bool warm_up) {
  if (records_) {
    // The warm-up ends.
    if (is_warm_up_ && !warm_up) autograd::profiler::restartProfiler();
  } else {
    autograd::profiler::ProfilerConfig config(autograd::profiler::ProfilerState::KINETO, options_.record_shapes,
                                              options_.profile_memory, options_.with_stack, options_.with_flops,
                                              options_.with_modules);
    autograd::profiler::enableProfiler(config,
                                       options_.activities.empty() ? available_activities() : options_.activities);
    records_ = true;
  }
  is_warm_up_ = warm_up;
  if (warm_up) return;
  trace_id_ = trace_id_callback_ ? trace_id_callback_() : random_trace_id();
  if (options_.execution_trace_observer != nullptr) options_.execution_trace_observer->start();
}

void profile::end_recording() {
  records_ = false;
  std::unique_ptr<ProfilerResult> result = autograd::profiler::disableProfiler();
  if (is_warm_up_) return;
  if (options_.execution_trace_observer != nullptr) options_.execution_trace_observer->stop();
  if (options_.acc_events && result_ != nullptr) {
    std::vector<KinetoEvent> events = result_->events();
    events.insert(events.end(), result->events().begin(), result->events().end());
    auto memory = result_->memory_events();
    memory.insert(memory.end(), result->memory_events().begin(), result->memory_events().end());
    result = std::make_unique<ProfilerResult>(result_->trace_start_ns(), result->trace_end_ns(), result->config(),
                                              std::move(events), std::move(memory));
  }
  result_ = std::move(result);
}

void profile::move_to(std::optional<ProfilerAction> next) {
  const ProfilerAction now = action_;
  const auto records = [](ProfilerAction action) {
    return action == ProfilerAction::RECORD || action == ProfilerAction::RECORD_AND_SAVE;
  };
  const bool ends = next == ProfilerAction::NONE || next == ProfilerAction::WARMUP;
  if (next == ProfilerAction::NONE && now == ProfilerAction::WARMUP) {
    TORCH_WARN("Incorrect schedule: WARMUP followed by NONE");
  } else if (ends && now == ProfilerAction::RECORD) {
    TORCH_WARN("Incorrect schedule: RECORD followed by ", *next == ProfilerAction::NONE ? "NONE" : "WARMUP");
  }
  const bool saves = now == ProfilerAction::RECORD_AND_SAVE || (!next && records(now));
  if (records_ && (saves || !next || (ends && records(now)) || next == ProfilerAction::NONE)) end_recording();
  if (next) action_ = *next;
  if (saves && options_.on_trace_ready) options_.on_trace_ready(*this);
  if (next && *next != ProfilerAction::NONE && (!records_ || is_warm_up_)) {
    begin_recording(/*warm_up=*/*next == ProfilerAction::WARMUP);
  }
}

void profile::begin_step() {
  if (options_.schedule) step_range_ = std::make_unique<record_function>("ProfilerStep#" + std::to_string(step_));
}

void profile::start() {
  TORCH_CHECK(!runs_, "profile: it runs already");
  step_ = 0;
  action_ = ProfilerAction::NONE;
  const ProfilerAction first = options_.schedule ? options_.schedule(0) : ProfilerAction::RECORD;
  move_to(first);
  runs_ = true;
  if (options_.with_modules) modules_ = std::make_unique<Modules>();
  begin_step();
}

void profile::step() {
  TORCH_CHECK(runs_, "profile: step() before start()");
  step_range_.reset();
  ++step_;
  move_to(options_.schedule ? options_.schedule(step_) : ProfilerAction::RECORD);
  begin_step();
}

void profile::stop() {
  if (!runs_) return;
  runs_ = false;
  step_range_.reset();
  modules_.reset();
  move_to(std::nullopt);
}

const ProfilerResult& profile::result() const {
  TORCH_CHECK(result_ != nullptr, "profile: there are no results before something was recorded and stopped");
  return *result_;
}

KeyAverages profile::key_averages(bool group_by_input_shape, int64_t group_by_stack_n) const {
  return result().key_averages(group_by_input_shape, group_by_stack_n);
}

void profile::export_chrome_trace(const std::string& path) const {
  autograd::profiler::TraceMetadata metadata = metadata_;
  metadata.emplace_back("trace_id", quoted(trace_id_));
  metadata.emplace_back("traceName", quoted(path));
  std::ostringstream text;
  result().write(text, metadata);
  if (path.ends_with(".gz")) return write_packed(path, text.str());
  std::ofstream file(path);
  file << text.str();
  file.close();
  TORCH_CHECK(!file.fail(), "the profile could not be written to ", path);
}

void profile::export_stacks(const std::string& path, const std::string& metric) const {
  result().export_stacks(path, metric);
}

void profile::add_metadata(const std::string& key, const std::string& value) {
  add_metadata_json(key, quoted(value));
}

void profile::add_metadata_json(const std::string& key, const std::string& value) {
  const auto found =
      std::find_if(metadata_.begin(), metadata_.end(), [&](const auto& item) { return item.first == key; });
  if (found != metadata_.end()) {
    found->second = value;
  } else {
    metadata_.emplace_back(key, value);
  }
}

void profile::toggle_collection_dynamic(bool enable, const std::set<ProfilerActivity>& activities) {
  for (const ProfilerActivity activity : activities) {
    TORCH_CHECK_NOT_IMPLEMENTED(activity == ProfilerActivity::CPU,
                                "toggle_collection_dynamic: the work of devices is recorded from start to stop");
  }
  if (activities.contains(ProfilerActivity::CPU)) at::enableRecordFunction(enable);
}

}  // namespace torch::profiler
