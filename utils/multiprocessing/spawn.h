// Worker processes of a program, forked from it.
//
//   torch::Tensor results = torch::zeros({4});
//   torch::multiprocessing::share_memory_(results);
//   torch::multiprocessing::spawn([&](int rank) { results[rank] = work(rank); }, 4);   // waits; throws what a worker
//   threw
//
// A process is forked with the one thread that forks it, and has the function and what it refers to. The thread pools
// of this library begin anew in it; threads, locks and CUDA contexts of others do not, so that workers are best started
// before those are. Processes that begin anew ("spawn", PyTorch's way) are started by function.h.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c10/util/exception.h"

namespace torch::multiprocessing {

/// A worker did not end well.
class ProcessException : public c10::Error {
 public:
  ProcessException(const std::string& message, int error_index, pid_t error_pid)
      : Error(message, nullptr), error_index(error_index), pid(error_pid) {}
  int error_index;  ///< its rank
  pid_t pid;
};

/// A worker threw; the message has its rank, and the type and the text of what it threw.
class ProcessRaisedException : public ProcessException {
  using ProcessException::ProcessException;
};

/// A worker ended by a signal or with an exit code other than 0 and without an exception.
class ProcessExitedException : public ProcessException {
 public:
  ProcessExitedException(const std::string& message, int error_index, pid_t error_pid, int exit_code,
                         std::optional<std::string> signal_name)
      : ProcessException(message, error_index, error_pid), exit_code(exit_code), signal_name(std::move(signal_name)) {}
  int exit_code;                           ///< negative: the signal's number
  std::optional<std::string> signal_name;  ///< "SIGKILL"
};

/// The workers that start_processes() started. Not thread-safe.
class ProcessContext {
 public:
  struct Worker;
  explicit ProcessContext(std::vector<Worker> workers, bool daemon);
  /// Kills workers that are daemons, waits for others.
  ~ProcessContext();
  ProcessContext(ProcessContext&&) noexcept;
  ProcessContext& operator=(ProcessContext&&) = delete;

  /// Waits, `timeout` at most, until a worker ends, and says whether all have ended well. When one did not, the others
  /// are told to end (SIGTERM), killed after `grace_period`, and what the first did is thrown as ProcessRaisedException
  /// or ProcessExitedException.
  ///
  ///   while (!context.join()) {}
  bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt,
            std::chrono::milliseconds grace_period = std::chrono::seconds(30));

  /// By rank.
  std::vector<pid_t> pids() const;

 private:
  std::vector<Worker> workers_;
  bool daemon_;
};
using SpawnContext = ProcessContext;

/// Starts `nprocs` processes, of which each calls fn(rank), 0 to nprocs - 1, and ends: with 0, or with 1 and a message
/// to this process where `fn` threw. No destructors of static objects run in it; its standard streams are flushed. A
/// `daemon` is killed when the thread that started it ends; other workers get SIGINT then.
///
/// Throws c10::ValueError where `nprocs` is negative and for another `start_method` than "fork", c10::Error with the
/// system's reason where there is no process to be had; those that were started are killed then.
ProcessContext start_processes(const std::function<void(int)>& fn, int nprocs = 1, bool daemon = false,
                               const std::string& start_method = "fork");

/// The same, and waits for them where `join` says so: all have ended well when it returns.
ProcessContext spawn(const std::function<void(int)>& fn, int nprocs = 1, bool join = true, bool daemon = false);

}  // namespace torch::multiprocessing
