// Threads of a program's own that take tasks in the order of their coming. Loops belong to at::parallel_for, single
// tasks to at::launch; this is for who wants to own the threads and to wait for them.
//
//   c10::ThreadPool pool(4);
//   for (const auto& file : files) pool.run([&file] { read(file); });
//   pool.waitWorkComplete();
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace c10 {

class TaskThreadPoolBase {
 public:
  virtual ~TaskThreadPoolBase() = default;
  virtual void run(std::function<void()> task) = 0;
  virtual size_t size() const = 0;
  /// Threads that wait for a task.
  virtual size_t numAvailable() const = 0;
  /// Whether the calling thread is one of the pool's.
  virtual bool inThreadPool() const = 0;
  /// As many as the machine has processors.
  static size_t defaultNumThreads();
};

class ThreadPool : public TaskThreadPoolBase {
 public:
  /// `pool_size` threads, each of which calls `init_thread` first. A negative size is defaultNumThreads(). Threads are
  /// not bound to a node of memory.
  explicit ThreadPool(int pool_size, int numa_node_id = -1, const std::function<void()>& init_thread = nullptr);
  /// Ends the tasks that have begun and drops the others.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// What a task throws is written to the standard error stream. Throws c10::Error where the pool has no threads.
  void run(std::function<void()> task) override;
  size_t size() const override { return threads_.size(); }
  size_t numAvailable() const override;
  bool inThreadPool() const override;
  /// Waits until no task is running or waiting.
  void waitWorkComplete();

 private:
  void work(const std::function<void()>& init_thread);

  mutable std::mutex mutex_;
  std::condition_variable has_work_, is_done_;
  std::deque<std::function<void()>> tasks_;
  size_t busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/// A pool whose threads bear a name, as the system's tools show it.
class TaskThreadPool : public ThreadPool {
 public:
  explicit TaskThreadPool(int pool_size, int numa_node_id = -1, const std::string& thread_name = "CaffeTaskThread");
};

}  // namespace c10
