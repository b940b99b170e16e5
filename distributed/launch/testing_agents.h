// Agents as processes of a test, and what their workers say of themselves.
#pragma once

// end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace c10d::launch::testing {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr const char* kTorchrun = "distributed/launch/torchrun";
constexpr const char* kWorker = "distributed/launch/agent_test_worker";
constexpr milliseconds kLimit(20000);

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string fresh_folder() {
  std::string name = ::testing::TempDir() + "/launch_XXXXXX";
  return ::mkdtemp(name.data());
}

inline bool is_alive(pid_t process) {
  const std::string text = contents("/proc/" + std::to_string(process) + "/stat");
  const size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

// What a worker wrote of itself.
struct Seen {
  pid_t process = 0;
  int rank, size, restart, local_rank, local_size, group_rank, group_size, role_rank, role_size;
  std::string role, run_id;
  int max_restarts, threads;
};

inline std::vector<Seen> workers_in(const std::string& folder) {
  std::vector<Seen> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string text = contents(entry.path());
    if (text.empty() || text.back() != '\n') continue;
    Seen seen;
    seen.process = std::stoi(entry.path().filename().string());
    std::istringstream words(text);
    words >> seen.rank >> seen.size >> seen.restart >> seen.local_rank >> seen.local_size >> seen.group_rank >>
        seen.group_size >> seen.role_rank >> seen.role_size >> seen.role >> seen.run_id >> seen.max_restarts >>
        seen.threads;
    all.push_back(seen);
  }
  std::sort(all.begin(), all.end(), [](const Seen& a, const Seen& b) {
    return std::make_pair(a.restart, a.rank) < std::make_pair(b.restart, b.rank);
  });
  return all;
}

// An agent as a process of its own.
class Agent {
 public:
  explicit Agent(const Words& arguments, const std::map<std::string, std::string>& variables = {}) {
    static int count = 0;
    out_ = fresh_folder() + "/out" + std::to_string(++count);
    err_ = out_ + ".err";
    Words words{kTorchrun};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(::open(out_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), 1);
      ::dup2(::open(err_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), 2);
      for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
      ::execv(raw[0], raw.data());
      ::_exit(126);
    }
  }
  ~Agent() {
    if (code_) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }
  void kill(int signal) { ::kill(process_, signal); }
  // Its exit code, 1000 and the signal that ended it, or -1 where it runs on.
  int wait(milliseconds limit = kLimit) {
    for (const auto end = Clock::now() + limit; !code_ && Clock::now() < end;) {
      int status = 0;
      if (::waitpid(process_, &status, WNOHANG) == process_)
        code_ = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
      if (!code_) std::this_thread::sleep_for(milliseconds(2));
    }
    return code_.value_or(-1);
  }
  std::string out() const { return contents(out_); }
  std::string err() const { return contents(err_); }

 private:
  std::string out_, err_;
  pid_t process_ = -1;
  std::optional<int> code_;
};

inline bool until(const std::function<bool()>& is_so, milliseconds limit = kLimit) {
  for (const auto end = Clock::now() + limit; Clock::now() < end; std::this_thread::sleep_for(milliseconds(5))) {
    if (is_so()) return true;
  }
  return false;
}

// Until so many workers of a restart run.
inline bool run_in(const std::string& folder, int restart, size_t count, int size = -1) {
  return until([&] {
    const auto all = workers_in(folder);
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const Seen& seen) {
             return (restart < 0 || seen.restart == restart) && (size < 0 || seen.size == size) &&
                    is_alive(seen.process);
           })) >= count;
  });
}

inline void expect_all_ended(const std::string& folder) {
  EXPECT_TRUE(until(
      [&] {
        const auto all = workers_in(folder);
        return std::none_of(all.begin(), all.end(), [](const Seen& seen) { return is_alive(seen.process); });
      },
      milliseconds(3000)));
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

inline Words arguments(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

inline Words elastic(const std::string& nodes, int port, int workers = 1) {
  return {"--nnodes=" + nodes,
          "--nproc-per-node=" + std::to_string(workers),
          "--rdzv-backend=c10d",
          "--rdzv-endpoint=localhost:" + std::to_string(port),
          "--rdzv-id=job",
          "--monitor-interval=0.05",
          "--rdzv-conf=last_call_timeout=1,keep_alive_interval=0.2,keep_alive_max_attempt=4,join_timeout=15,close_"
          "timeout=3",
          "--shutdown-timeout=2"};
}

}  // namespace c10d::launch::testing
