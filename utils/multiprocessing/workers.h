// How workers are started and run, whatever starts them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "utils/multiprocessing/spawn.h"

namespace torch::multiprocessing::detail {

/// Starts process `rank`, which keeps the end `ended` of a pipe open while it lives and closes those of `of_parent`.
/// The process, or -1 with the reason in errno.
using Start = std::function<pid_t(int rank, int ended, const std::vector<int>& of_parent)>;
ProcessContext start_all(int nprocs, bool daemon, const Start& start);

/// A forked process that closes `closed`, runs `body` and ends; -1 with errno.
pid_t fork_process(const std::vector<int>& closed, const std::function<void()>& body);

/// In the worker: calls fn(rank), writes to `ended` what it throws, and ends the process.
[[noreturn]] void run_worker(const std::function<void(int)>& fn, int rank, int ended, bool daemon, pid_t parent);

/// How a process ended, by its status of waitpid().
ProcessExitedException exited(int rank, pid_t pid, int status);

/// This program, started anew: its freeze_support() does what `command` says. It has the descriptors `kept` by the same
/// numbers. -1 with errno; throws c10::Error where this program did not call freeze_support().
pid_t spawn_process(const std::string& command, const std::vector<int>& kept);

/// What a worker of a pool does until the other end of `socket` is closed.
[[noreturn]] void run_pool_worker(int socket, pid_t parent);

}  // namespace torch::multiprocessing::detail
