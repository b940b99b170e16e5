// A pool of processes that call functions.
//
//   torch::Tensor square(const torch::Tensor& x) { return x * x; }
//   const torch::multiprocessing::Function kSquare("square", square);
//
//   torch::multiprocessing::Pool pool(4);
//   std::vector<c10::IValue> squares = pool.map(kSquare, {x, y, z});
//   torch::multiprocessing::AsyncResult later = pool.apply_async(kSquare, {x});
//   later.get().toTensor();
//
// Arguments and results with tensors go by shared memory (sharing.h), without a copy.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c10/value/ivalue.h"
#include "utils/multiprocessing/function.h"

namespace torch::multiprocessing {

namespace detail {
struct Batch;
}  // namespace detail

/// What calls will have given. Copies are the same; it outlives the pool.
class Result {
 public:
  /// Whether all calls are done, at the end of `timeout` at the latest; without one, waits for them.
  bool wait(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;
  bool ready() const { return wait(std::chrono::milliseconds(0)); }
  /// Whether no call threw. Throws c10::ValueError where they are not all done.
  bool successful() const;

 protected:
  explicit Result(std::shared_ptr<detail::Batch> batch) : batch_(std::move(batch)) {}
  /// Waits and throws what a call threw, the first in time.
  void finish(std::optional<std::chrono::milliseconds> timeout) const;
  std::shared_ptr<detail::Batch> batch_;
};

/// Of one call.
class AsyncResult : public Result {
 public:
  /// Waits for it. Throws ProcessRaisedException (spawn.h) where the function threw, ProcessExitedException where its
  /// process ended, with the number of the worker in the pool, c10::Error where `timeout` is over or the pool was
  /// terminated, and what Queue::put() throws for arguments.
  c10::IValue get(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;

 private:
  friend class Pool;
  using Result::Result;
};

/// Of the calls of one map_async().
class MapResult : public Result {
 public:
  /// In the order of the arguments; waits and throws as AsyncResult.
  std::vector<c10::IValue> get(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;

 private:
  friend class Pool;
  using Result::Result;
};

/// The results of imap(), one after another.
class ResultIterator {
 public:
  /// Waits for the next; none after the last. Throws what that call threw, and goes on with the next one then;
  /// c10::Error where `timeout` is over.
  std::optional<c10::IValue> next(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

 private:
  friend class Pool;
  ResultIterator(std::shared_ptr<detail::Batch> batch, bool ordered) : batch_(std::move(batch)), ordered_(ordered) {}
  std::shared_ptr<detail::Batch> batch_;
  bool ordered_;
  size_t at_ = 0;
};

/// Thread-safe. A worker that ends in a call is replaced by a new one; where new ones end at once, the pool is
/// terminated.
class Pool {
 public:
  /// `processes`: 0 for as many as the machine has threads. `start_method`: "spawn" or "fork" (function.h). Throws
  /// c10::ValueError for less processes and other methods, c10::Error where they cannot be started.
  explicit Pool(int processes = 0, const std::string& start_method = "spawn");
  /// terminate() and join().
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// fn(args...) in a worker. Throws c10::Error once the pool is closed, as all of these.
  c10::IValue apply(const Function& fn, const std::vector<c10::IValue>& args = {});
  /// `callback` gets the result, `error_callback` what the call threw, in a thread of the pool; they must not throw, or
  /// wait for the pool.
  AsyncResult apply_async(const Function& fn, const std::vector<c10::IValue>& args = {},
                          std::function<void(const c10::IValue&)> callback = nullptr,
                          std::function<void(std::exception_ptr)> error_callback = nullptr);
  /// fn(item) for each item. Workers take `chunksize` at a time; 0: a quarter of what each would have to do.
  std::vector<c10::IValue> map(const Function& fn, const std::vector<c10::IValue>& items, size_t chunksize = 0);
  MapResult map_async(const Function& fn, const std::vector<c10::IValue>& items, size_t chunksize = 0);
  /// fn(items...) for each.
  std::vector<c10::IValue> starmap(const Function& fn, const std::vector<std::vector<c10::IValue>>& items,
                                   size_t chunksize = 0);
  MapResult starmap_async(const Function& fn, const std::vector<std::vector<c10::IValue>>& items,
                          size_t chunksize = 0);
  /// As map(), one result after another, in the order of the items or as they come.
  ResultIterator imap(const Function& fn, const std::vector<c10::IValue>& items, size_t chunksize = 1);
  ResultIterator imap_unordered(const Function& fn, const std::vector<c10::IValue>& items, size_t chunksize = 1);

  /// No more calls; the workers end when those that there are have been done.
  void close();
  /// Kills the workers now. Calls that are not done throw c10::Error.
  void terminate();
  /// Waits for the workers to end. Throws c10::ValueError where neither close() nor terminate() was called.
  void join();

  /// Of the workers, by number.
  std::vector<pid_t> pids() const;

 private:
  class Impl;
  std::shared_ptr<detail::Batch> submit(const Function& fn, std::vector<std::vector<c10::IValue>> calls,
                                        size_t chunksize, std::function<void(const c10::IValue&)> callback = nullptr,
                                        std::function<void(std::exception_ptr)> error_callback = nullptr);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torch::multiprocessing
