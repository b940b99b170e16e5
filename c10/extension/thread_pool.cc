#include "c10/extension/thread_pool.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/thread_name.h"

namespace c10 {

size_t TaskThreadPoolBase::defaultNumThreads() {
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(int pool_size, int /*numa_node_id*/, const std::function<void()>& init_thread) {
  const size_t n = pool_size < 0 ? defaultNumThreads() : static_cast<size_t>(pool_size);
  threads_.reserve(n);
  for (size_t i = 0; i < n; ++i) threads_.emplace_back([this, init_thread] { work(init_thread); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    tasks_.clear();
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(std::function<void()> task) {
  TORCH_CHECK(!threads_.empty(), "No threads to run a task");
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  has_work_.notify_one();
}

size_t ThreadPool::numAvailable() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return threads_.size() - busy_;
}

bool ThreadPool::inThreadPool() const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); });
}

void ThreadPool::waitWorkComplete() {
  std::unique_lock<std::mutex> lock(mutex_);
  is_done_.wait(lock, [this] { return tasks_.empty() && busy_ == 0; });
}

void ThreadPool::work(const std::function<void()>& init_thread) {
  if (init_thread) init_thread();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (ending_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    ++busy_;
    lock.unlock();
    try {
      task();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "Exception in thread pool task: %s\n", error.what());
    } catch (...) {
      std::fprintf(stderr, "Exception in thread pool task: unknown\n");
    }
    task = nullptr;  // what it holds is given up before anybody waits for it no longer
    lock.lock();
    --busy_;
    if (busy_ == 0 && tasks_.empty()) is_done_.notify_all();
  }
}

TaskThreadPool::TaskThreadPool(int pool_size, int numa_node_id, const std::string& thread_name)
    : ThreadPool(pool_size, numa_node_id, [thread_name] { setThreadName(thread_name); }) {}

}  // namespace c10
