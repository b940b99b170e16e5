#include "distributed/testing/run_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "c10/util/exception.h"

namespace c10d::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

[[noreturn]] void be_rank(int rank, int pipe, const std::function<void(int)>& body) {
  std::string error;
  int code = 1;
  try {
    body(rank);
    code = 0;
  } catch (const c10::Error& e) {
    error = e.msg();
  } catch (const std::exception& e) {
    error = e.what();
  }
  for (size_t done = 0; done < error.size();) {
    const ssize_t n = ::write(pipe, error.data() + done, error.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  std::fflush(nullptr);
  ::_exit(code);
}

std::string read_all(int pipe) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(pipe, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(pipe);
  return text;
}

}  // namespace

std::vector<Ended> run_processes(int size, const std::function<void(int)>& body, milliseconds limit,
                                 const std::function<void(const std::vector<pid_t>&)>& meanwhile) {
  const auto begin = Clock::now();
  std::vector<pid_t> processes;
  std::vector<int> pipes;
  std::fflush(nullptr);
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    TORCH_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "run_processes: no pipe");
    const pid_t process = ::fork();
    TORCH_CHECK(process >= 0, "run_processes: no process");
    if (process == 0) {
      ::close(ends[0]);
      be_rank(rank, ends[1], body);
    }
    ::close(ends[1]);
    processes.push_back(process);
    pipes.push_back(ends[0]);
  }
  if (meanwhile) meanwhile(processes);
  std::vector<Ended> ended(processes.size());
  size_t left = processes.size();
  std::vector<bool> is_done(processes.size());
  while (left > 0) {
    const bool is_late = Clock::now() - begin > limit;
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      if (is_done[rank]) continue;
      if (is_late) ::kill(processes[rank], SIGKILL);
      int status = 0;
      if (::waitpid(processes[rank], &status, is_late ? 0 : WNOHANG) != processes[rank]) continue;
      is_done[rank] = true;
      --left;
      ended[rank].after = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
      if (WIFEXITED(status)) ended[rank].exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) ended[rank].signal = WTERMSIG(status);
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  for (size_t rank = 0; rank < processes.size(); ++rank) ended[rank].error = read_all(pipes[rank]);
  return ended;
}

}  // namespace c10d::testing
