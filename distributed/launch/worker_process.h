// The processes that an agent starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace c10d::launch {

/// Ends the process groups that it knows of when the process that made it ends, however that happens: a process of its
/// own, which waits for nothing else.
class ProcessGuard {
 public:
  ProcessGuard();
  ~ProcessGuard();
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;

  void add(pid_t group) { tell(group); }
  void remove(pid_t group) { tell(-group); }

 private:
  void tell(pid_t number);
  int pipe_ = -1;
  pid_t process_ = -1;
};

/// What becomes of a stream of a worker.
struct Output {
  std::string file;        ///< "" for none
  bool to_console = true;  ///< also, or only, to this process's own stream
  std::string prefix;      ///< of each line on the console
};

/// Carries what workers write to where it belongs, on a thread of its own, and keeps the last lines.
class OutputPump {
 public:
  static constexpr size_t kLines = 20;

  OutputPump();
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  /// The last lines of a stream.
  class Tail {
   public:
    void add(std::string line);
    std::vector<std::string> lines() const;

   private:
    mutable std::mutex mutex_;
    std::deque<std::string> lines_;
  };

  /// Takes over the end of a pipe. `console`: a descriptor of this process, or -1. `file`: likewise, which it closes.
  std::shared_ptr<const Tail> add(int pipe, int file, int console, std::string prefix);
  /// Returns when all that was written before has been carried on and the pipes are closed, or after `at_most`.
  void drain(std::chrono::milliseconds at_most);

 private:
  struct Stream;
  void serve();
  void wake();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> added_;
  size_t open_ = 0;
  bool is_stopping_ = false;
  int wake_[2];
  std::thread thread_;
};

struct WorkerSpec {
  std::vector<std::string> command;          ///< looked up on PATH
  std::map<std::string, std::string> added;  ///< to this process's environment
  Output standard, error;
};

/// How a process ended.
struct WorkerExit {
  int code = 0;
  int signal = 0;
  int64_t unix_ms = 0;
  /// "exit code 3", "SIGKILL (out of memory, or killed by someone)"
  std::string text() const;
  bool is_well() const { return code == 0 && signal == 0; }
};

/// A process in a group of its own, which ends with the thread that started it. Its standard input is empty.
class WorkerProcess {
 public:
  /// Throws c10::Error where the program cannot be run, and says why.
  WorkerProcess(WorkerSpec spec, ProcessGuard& guard, OutputPump& pump);
  /// Kills what is left.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// A descriptor that poll() finds readable when the process has ended; -1 where the system has none.
  int descriptor() const { return descriptor_; }
  /// How it ended, if it has. What it left behind of its process group is then killed.
  const std::optional<WorkerExit>& poll();
  /// To the whole process group; nothing where it has ended. SIGCONT goes with it, so that who is stopped gets it.
  void signal(int number);
  std::vector<std::string> last_lines_of_error() const;

 private:
  const WorkerSpec spec_;
  ProcessGuard& guard_;
  pid_t pid_ = -1;
  int descriptor_ = -1;
  std::shared_ptr<const OutputPump::Tail> tail_;
  std::optional<WorkerExit> exit_;
};

/// Sends `signal` to all and waits until they have ended; those that have not after `grace`, or when `is_hurried` says
/// so, are killed.
void stop_workers(const std::vector<std::unique_ptr<WorkerProcess>>& workers, int signal,
                  std::chrono::milliseconds grace, const std::function<bool()>& is_hurried);

}  // namespace c10d::launch
