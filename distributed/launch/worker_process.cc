#include "distributed/launch/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Where a child finds its pipe.
constexpr int kGuardPipe = 3;
constexpr size_t kLongestLine = 1024;
constexpr size_t kLongestTail = 16384;
// For a killed process to be gone: longer only where it hangs in the kernel.
constexpr milliseconds kKillTime(5000);

void write_all(int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(file, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd writable{file, POLLOUT, 0};
      ::poll(&writable, 1, 100);
      continue;
    }
    if (n <= 0) return;  // nobody reads any more
    data += n;
    size -= static_cast<size_t>(n);
  }
}

void make_pipe(int (&ends)[2]) {
  TORCH_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "launch: cannot make a pipe: ", std::strerror(errno));
}

int open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  TORCH_CHECK(file >= 0, "launch: cannot write ", path, ": ", std::strerror(errno));
  return file;
}

// Calls nothing that another thread of the parent may hold a lock of.
[[noreturn]] void guard(int pipe) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) ::dup2(nothing, stream);
  ::dup2(pipe, kGuardPipe);
  ::syscall(SYS_close_range, kGuardPipe + 1, ~0u, 0);
  constexpr size_t kMost = 4096;
  static pid_t groups[kMost];
  size_t count = 0;
  for (pid_t number; ::read(kGuardPipe, &number, sizeof number) == static_cast<ssize_t>(sizeof number);) {
    if (number > 0 && count < kMost) groups[count++] = number;
    for (size_t i = 0; i < count; ++i) {
      if (groups[i] == -number) groups[i--] = groups[--count];
    }
  }
  for (size_t i = 0; i < count; ++i) ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

}  // namespace

ProcessGuard::ProcessGuard() {
  int ends[2];
  make_pipe(ends);
  process_ = ::fork();
  TORCH_CHECK(process_ >= 0, "launch: cannot start a process: ", std::strerror(errno));
  if (process_ == 0) {
    ::close(ends[1]);
    guard(ends[0]);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
}

ProcessGuard::~ProcessGuard() {
  ::close(pipe_);
  ::waitpid(process_, nullptr, 0);
}

void ProcessGuard::tell(pid_t number) {
  // Without a guard the processes still end with the thread that started them; see PR_SET_PDEATHSIG.
  write_all(pipe_, reinterpret_cast<const char*>(&number), sizeof number);
}

struct OutputPump::Stream {
  int pipe, file, console;
  std::string prefix;
  std::string line;  // what has come of it
  std::shared_ptr<Tail> tail = std::make_shared<Tail>();

  ~Stream() {
    ::close(pipe);
    if (file >= 0) ::close(file);
  }

  void take(const char* data, size_t size) {
    if (file >= 0) write_all(file, data, size);
    if (console >= 0 && prefix.empty()) write_all(console, data, size);
    line.append(data, size);
    for (size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1)) put(line.substr(0, end));
  }
  void finish() {
    if (!line.empty()) put(line);
  }
  void put(const std::string& text) {
    if (console >= 0 && !prefix.empty()) {
      const std::string whole = prefix + text + "\n";
      write_all(console, whole.data(), whole.size());
    }
    tail->add(text);
  }
};

void OutputPump::Tail::add(std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lines_.push_back(line.substr(0, kLongestLine));
  if (lines_.size() > kLines) lines_.pop_front();
}

std::vector<std::string> OutputPump::Tail::lines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

OutputPump::OutputPump() {
  make_pipe(wake_);
  ::fcntl(wake_[0], F_SETFL, O_NONBLOCK);
  thread_ = std::thread([this] { serve(); });
}

OutputPump::~OutputPump() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  thread_.join();
  for (const int end : wake_) ::close(end);
}

void OutputPump::wake() {
  write_all(wake_[1], "", 1);
}

std::shared_ptr<const OutputPump::Tail> OutputPump::add(int pipe, int file, int console, std::string prefix) {
  ::fcntl(pipe, F_SETFL, O_NONBLOCK);
  auto stream = std::unique_ptr<Stream>(new Stream{pipe, file, console, std::move(prefix), {}});
  std::shared_ptr<const Tail> tail = stream->tail;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    added_.push_back(std::move(stream));
    ++open_;
  }
  wake();
  return tail;
}

void OutputPump::drain(milliseconds at_most) {
  for (const auto end = Clock::now() + at_most; Clock::now() < end; std::this_thread::sleep_for(milliseconds(2))) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (open_ == 0) return;
  }
}

void OutputPump::serve() {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    std::vector<pollfd> ready{{wake_[0], POLLIN, 0}};
    for (const auto& stream : streams) ready.push_back({stream->pipe, POLLIN, 0});
    ::poll(ready.data(), ready.size(), -1);
    while (::read(wake_[0], buffer.data(), buffer.size()) > 0) {
    }
    for (size_t i = 0; i < streams.size(); ++i) {
      if (ready[i + 1].revents == 0) continue;
      const ssize_t n = ::read(streams[i]->pipe, buffer.data(), buffer.size());
      if (n > 0) streams[i]->take(buffer.data(), static_cast<size_t>(n));
      if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      streams[i]->finish();
      streams[i].reset();
    }
    const size_t closed = static_cast<size_t>(std::erase(streams, nullptr));
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ -= closed;
    for (auto& stream : added_) streams.push_back(std::move(stream));
    added_.clear();
    if (is_stopping_) return;
  }
}

std::string WorkerExit::text() const {
  if (signal == 0) return c10::str("exit code ", code);
  const char* const name = ::sigabbrev_np(signal);
  return c10::str(name == nullptr ? c10::str("signal ", signal) : c10::str("SIG", name),
                  signal == SIGKILL ? " (out of memory, or killed by someone)" : "");
}

WorkerProcess::WorkerProcess(WorkerSpec spec, ProcessGuard& guard, OutputPump& pump)
    : spec_(std::move(spec)), guard_(guard) {
  TORCH_CHECK_VALUE(!spec_.command.empty(), "launch: there is no program to run");
  // All that a child needs is made before: it may allocate nothing.
  std::vector<char*> arguments;
  for (const std::string& word : spec_.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!spec_.added.contains(text.substr(0, text.find('=')))) settings.push_back(text);
  }
  for (const auto& [name, value] : spec_.added) settings.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (const std::string& setting : settings) environment.push_back(const_cast<char*>(setting.c_str()));
  environment.push_back(nullptr);

  // Where streams go in the child, what is read here, and what is closed here after the fork.
  int targets[2] = {-1, -1};
  std::vector<int> to_close;
  struct Read {
    int pipe = -1, file = -1;
  } reads[2];
  const Output* const outputs[2] = {&spec_.standard, &spec_.error};
  for (int i = 0; i < 2; ++i) {
    const Output& output = *outputs[i];
    const bool keeps_tail = i == 1 && output.file.empty();
    if (!output.file.empty() && !output.to_console) {
      targets[i] = open_file(output.file);
      to_close.push_back(targets[i]);
    } else if (!output.file.empty() || keeps_tail || !output.prefix.empty()) {
      if (!output.file.empty()) reads[i].file = open_file(output.file);
      int ends[2];
      make_pipe(ends);
      reads[i].pipe = ends[0];
      targets[i] = ends[1];
      to_close.push_back(ends[1]);
    } else if (!output.to_console) {
      targets[i] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      to_close.push_back(targets[i]);
    }
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  to_close.push_back(nothing);
  int verdict[2];
  make_pipe(verdict);
  to_close.push_back(verdict[1]);

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(nothing, 0);
    for (int i = 0; i < 2; ++i) {
      if (targets[i] >= 0) ::dup2(targets[i], i + 1);
    }
    ::execvpe(arguments[0], arguments.data(), environment.data());
    const int why = errno;
    write_all(verdict[1], reinterpret_cast<const char*>(&why), sizeof why);
    ::_exit(127);
  }
  const int fork_error = errno;
  if (pid_ > 0) {
    ::setpgid(pid_, pid_);  // whoever comes first
    guard_.add(pid_);
  }
  for (const int file : to_close) ::close(file);
  for (int i = 0; i < 2; ++i) {
    if (reads[i].pipe < 0) continue;
    const auto tail = pump.add(reads[i].pipe, reads[i].file, outputs[i]->to_console ? i + 1 : -1, outputs[i]->prefix);
    if (i == 1) tail_ = tail;
  }
  int why = 0;
  const bool is_refused = pid_ > 0 && ::read(verdict[0], &why, sizeof why) == static_cast<ssize_t>(sizeof why);
  ::close(verdict[0]);
  TORCH_CHECK(pid_ > 0, "launch: cannot start a process: ", std::strerror(fork_error));
  if (is_refused) {
    ::waitpid(pid_, nullptr, 0);
    guard_.remove(pid_);
    TORCH_CHECK(false, "launch: cannot run '", spec_.command[0], "': ", std::strerror(why));
  }
#ifdef SYS_pidfd_open
  descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
#endif
}

WorkerProcess::~WorkerProcess() {
  if (!exit_) ::kill(-pid_, SIGKILL);
  for (const auto end = Clock::now() + kKillTime; !poll() && Clock::now() < end;) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

const std::optional<WorkerExit>& WorkerProcess::poll() {
  if (exit_) return exit_;
  siginfo_t info{};
  // The process's number stays its own until it is waited for: until then no other group can have it.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) {
    return exit_;
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  guard_.remove(pid_);
  WorkerExit made;
  if (WIFEXITED(status)) made.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) made.signal = WTERMSIG(status);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  made.unix_ms = std::chrono::duration_cast<milliseconds>(now).count();
  exit_ = made;
  return exit_;
}

void WorkerProcess::signal(int number) {
  if (exit_) return;
  ::kill(-pid_, number);
  ::kill(-pid_, SIGCONT);
}

std::vector<std::string> WorkerProcess::last_lines_of_error() const {
  if (tail_) return tail_->lines();
  std::ifstream file(spec_.error.file, std::ios::binary);
  if (!file) return {};
  file.seekg(0, std::ios::end);
  const auto size = static_cast<size_t>(std::max<std::streamoff>(file.tellg(), 0));
  file.seekg(static_cast<std::streamoff>(size - std::min(size, kLongestTail)));
  OutputPump::Tail tail;
  for (std::string line; std::getline(file, line);) tail.add(line);
  return tail.lines();
}

void stop_workers(const std::vector<std::unique_ptr<WorkerProcess>>& workers, int signal, milliseconds grace,
                  const std::function<bool()>& is_hurried) {
  for (const auto& worker : workers) worker->signal(signal);
  auto end = Clock::now() + grace;
  for (bool is_killing = false;;) {
    const bool all_ended =
        std::all_of(workers.begin(), workers.end(), [](const auto& worker) { return !!worker->poll(); });
    if (all_ended) return;
    if (Clock::now() >= end || (!is_killing && is_hurried && is_hurried())) {
      if (is_killing) return;  // hangs in the kernel
      is_killing = true;
      end = Clock::now() + kKillTime;
      for (const auto& worker : workers) worker->signal(SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
}

}  // namespace c10d::launch
