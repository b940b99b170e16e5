#include "tests/integration/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace integration {
namespace {

using Clock = std::chrono::steady_clock;

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string(what) + " failed");
}

// Reads what is there; false at the end.
bool drain(int fd, std::string* text) {
  char block[4096];
  const ssize_t n = ::read(fd, block, sizeof block);
  if (n > 0) text->append(block, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

Outcome run(const std::vector<std::string>& command, const RunOptions& options) {
  int out[2], err[2];
  if (options.terminal) {
    check(::openpty(&out[0], &out[1], nullptr, nullptr, nullptr) == 0, "openpty");
  } else {
    check(::pipe(out) == 0, "pipe");
  }
  check(::pipe(err) == 0, "pipe");
  const pid_t child = ::fork();
  check(child >= 0, "fork");
  if (child == 0) {
    const int given = options.output.empty() ? -1 : ::open(options.output.c_str(), O_WRONLY);
    ::dup2(given >= 0 ? given : out[1], 1);
    ::dup2(err[1], 2);
    for (const int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
    if (!options.folder.empty()) ::setenv("BUILD_WORKING_DIRECTORY", options.folder.c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  Outcome outcome;
  bool signalled = options.signal == 0;
  const auto deadline = Clock::now() + std::chrono::milliseconds(options.after_ms);
  pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    int wait = -1;
    if (!signalled && !options.signal_after.empty()) {
      if (outcome.out.find(options.signal_after) != std::string::npos) {
        ::kill(child, options.signal);
        signalled = true;
      }
    } else if (!signalled) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      wait = static_cast<int>(std::max<long long>(0, left));
    }
    const int ready = ::poll(fds, 2, wait);
    if (ready == 0 && !signalled) {
      ::kill(child, options.signal);
      signalled = true;
    }
    for (int i = 0; ready > 0 && i < 2; ++i) {
      if (fds[i].fd >= 0 && fds[i].revents != 0 && !drain(fds[i].fd, i == 0 ? &outcome.out : &outcome.err)) fds[i].fd = -1;
    }
  }
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

std::string data_file(const std::string& path) {
  char here[4096];
  check(::getcwd(here, sizeof here) != nullptr, "getcwd");
  return std::string(here) + "/" + path;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace integration
