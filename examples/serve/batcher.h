// Joins requests that come at the same time into one run of a model.
//
//   Batcher batcher(run, {.most_rows = 8, .most_delay = std::chrono::milliseconds(1)});
//   Outcome outcome = batcher.run({x}, deadline);        // from any number of threads
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/serve/tensor_spec.h"

namespace serve {

using Clock = std::chrono::steady_clock;

/// What a model throws where the inputs are at fault.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct BatchOptions {
  int64_t most_rows = 1;  ///< of dimension 0 of all inputs, in one run; 1: each request alone
  /// How long the first request of a batch waits for others. Zero: what waits already is taken.
  std::chrono::microseconds most_delay{0};
  size_t most_waiting = 256;  ///< requests in the queue
  int workers = 1;            ///< threads that run the model
};

struct Outcome {
  enum class Status : uint8_t {
    kDone,
    kQueueFull,
    kStopped,
    kTimedOut,  ///< the deadline passed
    kRefused,   ///< the inputs are at fault
    kNoMemory,
    kFailed,  ///< the model is
  };
  Status status = Status::kDone;
  std::string error;
  std::vector<NamedTensor> outputs;
  std::chrono::nanoseconds waited{0}, ran{0};
};

/// What a batcher tells of.
struct BatchListener {
  virtual ~BatchListener() = default;
  /// A run of `rows` rows from `requests` requests. Rows are 1 where they do not count.
  virtual void ran(int64_t rows, size_t requests, std::chrono::nanoseconds time) = 0;
};

class Batcher {
 public:
  /// Undefined tensors are inputs that were left out. Called from several threads where there are several workers.
  using Run = std::function<std::vector<NamedTensor>(std::vector<at::Tensor>)>;

  Batcher(Run run, const BatchOptions& options, BatchListener* listener = nullptr);
  /// stop().
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Waits for the outputs of these inputs, at most until the deadline: what is not begun by then is never run.
  /// Requests are joined where they have the same inputs with the same sizes behind dimension 0; each gets its own rows
  /// of every output. Where a joined run fails, or its outputs do not have its rows, its requests run one by one.
  Outcome run(std::vector<at::Tensor> inputs, Clock::time_point deadline);
  size_t waiting() const;
  /// New requests are kStopped; those in the queue are answered. Returns when all are.
  void stop();

 private:
  struct Item;
  using Queue = std::list<std::shared_ptr<Item>>;
  void work();
  bool joins(const Item& first, const Item& other) const;
  int64_t rows_with(const Item& first) const;
  std::vector<std::shared_ptr<Item>> take();
  void run_together(const std::vector<std::shared_ptr<Item>>& items);
  bool run_joined(const std::vector<std::shared_ptr<Item>>& items, int64_t rows);
  void run_alone(const std::shared_ptr<Item>& item);
  std::vector<NamedTensor> timed(std::vector<at::Tensor> inputs, int64_t rows, size_t requests,
                                 std::chrono::nanoseconds& time);
  void finish(Item& item, Outcome outcome);

  const Run run_;
  const BatchOptions options_;
  BatchListener* const listener_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // the queue, or stopping_
  Queue queue_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace serve
