// A backend of CPU tensors.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "distributed/process_group/engine_backend.h"

namespace c10d {

/// All that backends of CPU tensors have in common: threads that carry the operations out in the order in which they
/// were started, deadlines, and that all ranks do the same: before results are written each rank compares its call with
/// a neighbour's, and throws, as all others do then, where they differ. Who waits for the operation that comes next
/// carries it out, where no thread of the backend's was faster: each change of threads costs as much as a message.
class HostBackend : public EngineBackend {
 public:
  struct HostOptions : EngineOptions {
    using EngineOptions::EngineOptions;
    /// How many operations run at a time; 0: each on the thread that calls, which returns when it is done.
    int threads = 2;
    bool compare_calls = true;  // whether ranks compare their calls
  };

  HostBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<HostOptions> options,
              std::unique_ptr<Notice> notice = nullptr);
  /// Waits for what was started. The last reference may go in a callback of an operation's future, on a thread of the
  /// backend's own.
  ~HostBackend() override;

  void monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks = false) override;
  void shutdown() override;

 private:
  class HostOperation;
  // Operations that must not overtake each other: to or from a rank with a tag.
  using Line = std::tuple<OpType, int, int>;

  OperationPtr make_operation(const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                              std::vector<at::Tensor> outputs, Body body, uint64_t record) override;
  void enqueue(const OperationPtr& operation) override;
  void carry_on(const OperationPtr& operation) override;
  void run(OperationPtr operation);
  void compare_calls(const Engine::Call& call, const Fingerprint& mine);
  bool expects_wait() const;
  bool lend(const HostOperation& operation);
  void run_lent(OperationPtr operation);
  void serve();
  void await_operation(std::unique_lock<std::mutex>& lock);
  void queue_on_line(const OperationPtr& operation);
  void serve_lines();
  void serve_line(std::unique_lock<std::mutex>& lock, const Line& line);
  void end_threads();

  static thread_local const Line* own_line_;  // that this thread serves

  const int number_of_threads_;
  const bool compares_calls_;

  // Guarded by mutex_.
  std::condition_variable queue_changed_, lines_changed_, is_idle_;
  std::deque<OperationPtr> queue_;
  int active_ = 0;  // operations that have left the queue and use the engine: number_of_threads_ at most
  bool is_looking_ = false, has_started_ = false;
  std::map<Line, std::deque<OperationPtr>> lines_;  // those that are ready, or that a thread serves
  std::deque<Line> ready_lines_;                    // have operations, and none that runs
  size_t idle_line_threads_ = 0;
  std::vector<std::thread> threads_;

  // How many operations in a row were waited for as soon as they were started. While that is what happens, one thread
  // of the backend's looks from time to time whether it still does, and is not woken for each.
  const std::shared_ptr<std::atomic<int>> waited_for_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace c10d
