#include "utils/multiprocessing/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "utils/multiprocessing/workers.h"

namespace torch::multiprocessing {

// A worker holds the writing end of `ended` and nothing else does, so that it is closed when the worker ends; what it
// threw is written there.
struct ProcessContext::Worker {
  pid_t pid = -1;
  int ended = -1;
  std::string thrown;
  int status = 0;
  bool running = true;
};

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Worker = ProcessContext::Worker;

constexpr size_t kLongestMessage = 65536;

void write_all(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(file, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

}  // namespace

void detail::run_worker(const std::function<void(int)>& fn, int rank, int ended, bool daemon, pid_t parent) {
  ::fcntl(ended, F_SETFL, 0);
  ::prctl(PR_SET_PDEATHSIG, daemon ? SIGKILL : SIGINT);
  if (::getppid() != parent) ::_exit(1);
  int code = 0;
  try {
    fn(rank);
  } catch (const c10::Error& e) {
    write_all(ended, c10::GetExceptionString(e).substr(0, kLongestMessage));
    code = 1;
  } catch (const std::exception& e) {
    write_all(ended, c10::GetExceptionString(e).substr(0, kLongestMessage));
    code = 1;
  } catch (...) {
    write_all(ended, "an exception that is no std::exception");
    code = 1;
  }
  std::fflush(nullptr);
  ::_exit(code);
}

namespace {

// Takes what the worker wrote; once the pipe is closed, how it ended.
void read_from(Worker& worker) {
  char text[4096];
  ssize_t n;
  while ((n = ::read(worker.ended, text, sizeof text)) > 0) worker.thrown.append(text, static_cast<size_t>(n));
  if (n < 0) return;
  // A child of the worker may hold the pipe longer than the worker lives, never shorter.
  while (::waitpid(worker.pid, &worker.status, 0) < 0 && errno == EINTR) {
  }
  worker.running = false;
}

// Waits until something of some worker's comes, and sees to it.
void wait_for(std::vector<Worker>& workers, milliseconds at_most) {
  std::vector<pollfd> ends;
  for (const Worker& worker : workers) {
    if (worker.running) ends.push_back({worker.ended, POLLIN, 0});
  }
  if (ends.empty()) return;
  ::poll(ends.data(), ends.size(), static_cast<int>(std::clamp<int64_t>(at_most.count(), 0, 100)));
  for (Worker& worker : workers) {
    if (!worker.running) continue;
    read_from(worker);
    // Where the pipe is held by a grandchild.
    if (worker.running && ::waitpid(worker.pid, &worker.status, WNOHANG) == worker.pid) {
      read_from(worker);
      worker.running = false;
    }
  }
}

bool any_running(const std::vector<Worker>& workers) {
  return std::any_of(workers.begin(), workers.end(), [](const Worker& worker) { return worker.running; });
}

void signal_all(const std::vector<Worker>& workers, int number) {
  for (const Worker& worker : workers) {
    if (worker.running) ::kill(worker.pid, number);
  }
}

void stop(std::vector<Worker>& workers, int signal, milliseconds grace_period) {
  signal_all(workers, signal);
  const auto until = Clock::now() + grace_period;
  while (any_running(workers) && Clock::now() < until) {
    wait_for(workers, std::chrono::duration_cast<milliseconds>(until - Clock::now()) + milliseconds(1));
  }
  signal_all(workers, SIGKILL);
  while (any_running(workers)) wait_for(workers, milliseconds(100));
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? c10::str("SIG", name) : c10::str("signal ", number);
}

[[noreturn]] void raise(const Worker& worker, int rank) {
  if (!worker.thrown.empty()) {
    throw ProcessRaisedException(c10::str("Process ", rank, " terminated with the following error:\n", worker.thrown),
                                 rank, worker.pid);
  }
  throw detail::exited(rank, worker.pid, worker.status);
}

}  // namespace

ProcessExitedException detail::exited(int rank, pid_t pid, int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return ProcessExitedException(c10::str("process ", rank, " terminated with signal ", signal_name(number)), rank,
                                  pid, -number, signal_name(number));
  }
  const int code = WEXITSTATUS(status);
  return ProcessExitedException(c10::str("process ", rank, " terminated with exit code ", code), rank, pid, code,
                                std::nullopt);
}

ProcessContext::ProcessContext(std::vector<Worker> workers, bool daemon)
    : workers_(std::move(workers)), daemon_(daemon) {}
ProcessContext::ProcessContext(ProcessContext&&) noexcept = default;

ProcessContext::~ProcessContext() {
  if (daemon_) signal_all(workers_, SIGKILL);
  while (any_running(workers_)) wait_for(workers_, milliseconds(100));
  for (const Worker& worker : workers_) ::close(worker.ended);
}

bool ProcessContext::join(std::optional<milliseconds> timeout, milliseconds grace_period) {
  const auto start = Clock::now();
  for (;;) {
    const size_t before = static_cast<size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.running; }));
    const auto left = timeout.has_value() ? *timeout - std::chrono::duration_cast<milliseconds>(Clock::now() - start)
                                          : milliseconds(100);
    wait_for(workers_, left);
    size_t running = 0;
    int failed = -1;
    for (size_t i = 0; i < workers_.size(); ++i) {
      running += workers_[i].running;
      if (failed < 0 && !workers_[i].running && workers_[i].status != 0) failed = static_cast<int>(i);
    }
    if (failed >= 0) {
      const Worker first = workers_[static_cast<size_t>(failed)];
      stop(workers_, SIGTERM, grace_period);
      raise(first, failed);
    }
    if (running == 0) return true;
    if (running < before || left.count() <= 0) return false;
  }
}

std::vector<pid_t> ProcessContext::pids() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : workers_) pids.push_back(worker.pid);
  return pids;
}

ProcessContext detail::start_all(int nprocs, bool daemon, const Start& start) {
  TORCH_CHECK_VALUE(nprocs >= 0, "start_processes: expected nprocs >= 0, got ", nprocs);
  std::fflush(nullptr);
  std::vector<Worker> workers;
  const auto give_up = [&] {
    stop(workers, SIGKILL, milliseconds(0));
    for (const Worker& worker : workers) ::close(worker.ended);
  };
  for (int rank = 0; rank < nprocs; ++rank) {
    int ends[2] = {-1, -1};
    pid_t pid = -1;
    int reason = 0;
    try {
      if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        std::vector<int> of_parent{ends[0]};
        for (const Worker& worker : workers) of_parent.push_back(worker.ended);
        pid = start(rank, ends[1], of_parent);
      }
      reason = errno;
    } catch (...) {
      ::close(ends[0]);
      ::close(ends[1]);
      give_up();
      throw;
    }
    if (ends[1] >= 0) ::close(ends[1]);
    if (pid < 0) {
      if (ends[0] >= 0) ::close(ends[0]);
      give_up();
      TORCH_CHECK(false, "start_processes: cannot start process ", rank, ": ", std::strerror(reason));
    }
    workers.push_back({pid, ends[0], "", 0, true});
  }
  return ProcessContext(std::move(workers), daemon);
}

pid_t detail::fork_process(const std::vector<int>& closed, const std::function<void()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  for (const int descriptor : closed) ::close(descriptor);
  body();
  ::_exit(0);
}

ProcessContext start_processes(const std::function<void(int)>& fn, int nprocs, bool daemon,
                               const std::string& start_method) {
  TORCH_CHECK_VALUE(start_method == "fork", "start_processes: the start method is \"fork\", got \"", start_method,
                    "\": \"spawn\" takes a torch::multiprocessing::Function, which a process finds by its name");
  const pid_t parent = ::getpid();
  return detail::start_all(nprocs, daemon, [&](int rank, int ended, const std::vector<int>& of_parent) {
    return detail::fork_process(of_parent, [&] { detail::run_worker(fn, rank, ended, daemon, parent); });
  });
}

ProcessContext spawn(const std::function<void(int)>& fn, int nprocs, bool join, bool daemon) {
  ProcessContext context = start_processes(fn, nprocs, daemon);
  while (join && !context.join()) {
  }
  return context;
}

}  // namespace torch::multiprocessing
