#include "aten/core/interop.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"
#include "c10/util/exception.h"

namespace at {
namespace {

class TaskPool {
 public:
  explicit TaskPool(size_t width) : width_(width) {}
  ~TaskPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
      tasks_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
      if (idle_ < tasks_.size() && threads_.size() < width_) threads_.emplace_back([this] { work(); });
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      --idle_;
      if (ending_) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      run(task);
      task = nullptr;
      lock.lock();
    }
  }

  static void run(const std::function<void()>& task) {
    try {
      task();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "Exception in thread pool task: %s\n", e.what());
    } catch (...) {
      std::fprintf(stderr, "Exception in thread pool task: unknown\n");
    }
  }

  const size_t width_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

// The pool and how wide it shall be. A child process made by fork() has none of its parent's threads: it starts anew
// and leaves the old object where it is.
class Pools {
 public:
  ~Pools() {
    if (owner_ == getpid()) delete pool_;
  }
  void set_width(int n) {
    std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(width_ == 0 && pool_ == nullptr,
                "Error: cannot set number of interop threads after parallel work has started or "
                "set_num_interop_threads called");
    width_ = static_cast<size_t>(n);
  }
  size_t width() {
    std::lock_guard<std::mutex> lock(mutex_);
    return width_or_default();
  }
  void submit(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (pool_ == nullptr || owner_ != getpid()) {
      pool_ = new TaskPool(width_or_default());
      owner_ = getpid();
    }
    pool_->submit(std::move(task));
  }

 private:
  size_t width_or_default() const {
    if (width_ > 0) return width_;
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? n : 1;
  }

  std::mutex mutex_;
  size_t width_ = 0;
  TaskPool* pool_ = nullptr;
  pid_t owner_ = 0;
};

Pools& pools() {
  static Pools pools;
  return pools;
}

}  // namespace

void set_num_interop_threads(int n) {
  TORCH_CHECK(n > 0, "Expected positive number of threads");
  pools().set_width(n);
}

size_t get_num_interop_threads() { return pools().width(); }

namespace internal {
void launch_no_thread_state(std::function<void()> task) { pools().submit(std::move(task)); }
}  // namespace internal

void launch(std::function<void()> task) {
  internal::launch_no_thread_state([task = std::move(task), state = ThreadLocalState()] {
    ThreadLocalStateGuard guard(state);
    task();
  });
}

void intraop_launch(const std::function<void()>& task) { task(); }

int intraop_default_num_threads() { return internal::determine_num_threads(); }

std::string get_parallel_info() {
  std::string out = c10::str("ATen/Parallel:\n\tat::get_num_threads() : ", get_num_threads(),
                             "\n\tat::get_num_interop_threads() : ", get_num_interop_threads(),
                             "\nstd::thread::hardware_concurrency() : ", std::thread::hardware_concurrency(),
                             "\nEnvironment variables:\n");
  for (const char* name : {"OMP_NUM_THREADS", "GOMP_SPINCOUNT"}) {
    const char* value = std::getenv(name);
    out += c10::str("\t", name, " : ", value != nullptr ? value : "[not set]", "\n");
  }
  return out + "ATen parallel backend: the library's own pool\n";
}

}  // namespace at
