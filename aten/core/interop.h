// Tasks beside the parallel loops: a second set of threads, for work that a program hands off.
//
//   torch::set_num_interop_threads(2);      // before the first task
//   at::launch([&] { y = model(x); });
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "c10/parallel/parallel.h"

namespace at {

/// Sets how many threads run tasks of launch(). Throws c10::Error "Expected positive number of threads" for n < 1, and
/// where it was called before or a task has been launched: "Error: cannot set number of interop threads after parallel
/// work has started or set_num_interop_threads called".
void set_num_interop_threads(int n);
/// What was set, or the number of processors.
size_t get_num_interop_threads();

/// Runs `task` in a thread of the pool, with what this thread has switched on (at::ThreadLocalState); threads are
/// started as tasks come. What a task throws is written to the standard error stream and goes no further. Tasks that
/// have not begun when the program ends are dropped, those that run are waited for.
void launch(std::function<void()> task);
namespace internal {
/// The same without the thread's state.
void launch_no_thread_state(std::function<void()> task);
}  // namespace internal

/// Runs `task` in the calling thread: the threads of the parallel loops take no single tasks.
void intraop_launch(const std::function<void()>& task);
/// The width of the parallel loops before set_num_threads.
int intraop_default_num_threads();

/// A text about threads: both numbers, the environment, the kind of pool.
std::string get_parallel_info();

}  // namespace at
