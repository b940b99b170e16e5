// Events and statistics of long-running programs.
//
//   struct Print : torch::monitor::EventHandler {
//     void handle(const torch::monitor::Event& event) override { std::cout << event.name << "\n"; }
//   };
//   torch::monitor::registerEventHandler(std::make_shared<Print>());
//   torch::monitor::Stat<double> losses("loss", {Aggregation::MEAN, Aggregation::MAX}, std::chrono::seconds(60));
//   losses.add(loss);          // an event "torch.monitor.Stat" a minute, with "loss.mean" and "loss.max"
#pragma once

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace torch::monitor {

using data_value_t = std::variant<std::string, double, int64_t, bool>;

struct Event {
  /// Static: "torch.monitor.Stat".
  std::string name;
  std::chrono::system_clock::time_point timestamp;
  std::unordered_map<std::string, data_value_t> data;
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  /// Called in the thread that logs, one event at a time for all handlers.
  virtual void handle(const Event& event) = 0;
};

/// Gives the event to all handlers; nothing where there are none. Handlers must not log.
void logEvent(const Event& event);
void registerEventHandler(std::shared_ptr<EventHandler> handler);
/// Nothing for one that is not registered.
void unregisterEventHandler(const std::shared_ptr<EventHandler>& handler);

enum class Aggregation {
  NONE = 0,
  /// The value that was added last.
  VALUE = 1,
  MEAN = 2,
  COUNT = 3,
  SUM = 4,
  MAX = 5,
  MIN = 6,
};
inline constexpr int NUM_AGGREGATIONS = 7;
/// "mean"
const char* aggregationName(Aggregation aggregation);

/// Sums up values over windows of time, and logs each window as an event: when the first value of a later one comes, or
/// once `maxSamples` values were added. Further values of that window are dropped. Thread-safe.
template <typename T>
class Stat {
 public:
  Stat(std::string name, std::initializer_list<Aggregation> aggregations, std::chrono::milliseconds windowSize,
       int64_t maxSamples = std::numeric_limits<int64_t>::max())
      : Stat(std::move(name), std::vector<Aggregation>(aggregations), windowSize, maxSamples) {}
  Stat(std::string name, const std::vector<Aggregation>& aggregations, std::chrono::milliseconds windowSize,
       int64_t maxSamples = std::numeric_limits<int64_t>::max())
      : name_(std::move(name)), window_size_(windowSize), max_samples_(maxSamples) {
    for (const Aggregation aggregation : aggregations) aggregations_.set(static_cast<size_t>(aggregation));
  }
  /// Logs what there is.
  ~Stat() {
    const std::lock_guard lock(mutex_);
    log();
  }
  Stat(const Stat&) = delete;
  Stat& operator=(const Stat&) = delete;

  void add(T value) {
    const std::lock_guard lock(mutex_);
    const int64_t window = current_window();
    if (window != window_) {
      log();
      window_ = window;
      is_logged_ = false;
    }
    if (is_logged_) return;
    now_.value = value;
    now_.sum += value;
    if (now_.count == 0 || now_.max < value) now_.max = value;
    if (now_.count == 0 || value < now_.min) now_.min = value;
    ++now_.count;
    if (now_.count < max_samples_) return;
    log();
    is_logged_ = true;
  }

  const std::string& name() const noexcept { return name_; }
  /// Of the values that are not logged yet.
  int64_t count() noexcept {
    const std::lock_guard lock(mutex_);
    return now_.count;
  }
  /// Of the window that was logged last: zeros before the first.
  std::unordered_map<Aggregation, T> get() noexcept {
    const std::lock_guard lock(mutex_);
    return summary();
  }

 private:
  struct Values {
    T value{}, sum{}, max{}, min{};
    int64_t count = 0;
  };

  int64_t current_window() const {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count() /
           std::max<int64_t>(1, window_size_.count());
  }

  void log() {
    last_ = std::exchange(now_, {});
    if (last_.count == 0) return;
    Event event;
    event.name = "torch.monitor.Stat";
    event.timestamp = std::chrono::system_clock::now();
    for (const auto& [aggregation, value] : summary()) {
      event.data.emplace(name_ + "." + aggregationName(aggregation), value);
    }
    logEvent(event);
  }

  std::unordered_map<Aggregation, T> summary() const {
    std::unordered_map<Aggregation, T> out;
    const auto add = [&](Aggregation aggregation, T value) {
      if (aggregations_.test(static_cast<size_t>(aggregation))) out.emplace(aggregation, value);
    };
    add(Aggregation::VALUE, last_.value);
    add(Aggregation::MEAN, last_.count == 0 ? T{} : static_cast<T>(last_.sum / static_cast<T>(last_.count)));
    add(Aggregation::COUNT, static_cast<T>(last_.count));
    add(Aggregation::SUM, last_.sum);
    add(Aggregation::MAX, last_.max);
    add(Aggregation::MIN, last_.min);
    return out;
  }

  const std::string name_;
  std::bitset<NUM_AGGREGATIONS> aggregations_;
  const std::chrono::milliseconds window_size_;
  const int64_t max_samples_;
  std::mutex mutex_;
  int64_t window_ = -1;
  bool is_logged_ = false;
  Values now_, last_;
};

}  // namespace torch::monitor
