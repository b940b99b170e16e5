// Processes of an agent, and the error files of workers.
#include "distributed/launch/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "c10/testing/message_of.h"
#include "distributed/launch/error_file.h"

namespace c10d::launch {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string fresh(const std::string& name) {
  static int count = 0;
  return ::testing::TempDir() + "/" + name + std::to_string(++count);
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_alive(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  const size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

bool ends_within(pid_t process, milliseconds limit) {
  for (const auto end = Clock::now() + limit; Clock::now() < end;) {
    if (!is_alive(process)) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

// The number that a file will hold.
pid_t number_in(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    const std::string text = contents(path);
    if (!text.empty() && text.back() == '\n') return std::stoi(text);
    std::this_thread::sleep_for(milliseconds(2));
  }
  return -1;
}

struct Fixture {
  ProcessGuard guard;
  OutputPump pump;

  std::unique_ptr<WorkerProcess> start(const std::string& script, WorkerSpec spec = {}) {
    spec.command = {"sh", "-c", script};
    return std::make_unique<WorkerProcess>(spec, guard, pump);
  }
  static WorkerExit wait(WorkerProcess& worker, milliseconds limit = milliseconds(5000)) {
    for (const auto end = Clock::now() + limit; !worker.poll() && Clock::now() < end;) {
      pollfd event{worker.descriptor(), POLLIN, 0};
      ::poll(&event, 1, 20);
    }
    return worker.poll().value_or(WorkerExit{-1, -1, 0});
  }
};

TEST(WorkerProcess, HowItEnds) {
  Fixture at;
  EXPECT_TRUE(Fixture::wait(*at.start("exit 0")).is_well());
  EXPECT_EQ(Fixture::wait(*at.start("exit 3")).text(), "exit code 3");
  EXPECT_EQ(Fixture::wait(*at.start("kill -9 $$")).text(), "SIGKILL (out of memory, or killed by someone)");
  EXPECT_EQ(Fixture::wait(*at.start("kill -SEGV $$")).text(), "SIGSEGV");
}

TEST(WorkerProcess, AProgramThatIsNotThere) {
  Fixture at;
  WorkerSpec spec;
  spec.command = {"no-such-program"};
  EXPECT_EQ(message_of([&] { WorkerProcess(spec, at.guard, at.pump); }),
            "launch: cannot run 'no-such-program': No such file or directory");
  spec.command.clear();
  EXPECT_EQ(message_of([&] { WorkerProcess(spec, at.guard, at.pump); }), "launch: there is no program to run");
}

TEST(WorkerProcess, EnvironmentAndStreams) {
  Fixture at;
  ::setenv("LAUNCH_TEST_KEPT", "kept", 1);
  ::setenv("LAUNCH_TEST_CHANGED", "old", 1);
  WorkerSpec spec;
  spec.added = {{"LAUNCH_TEST_CHANGED", "new"}, {"LAUNCH_TEST_ADDED", "added"}};
  spec.standard.file = fresh("out");
  spec.standard.to_console = false;
  spec.error.file = fresh("err");
  spec.error.to_console = false;
  auto worker = at.start(
      "echo $LAUNCH_TEST_KEPT $LAUNCH_TEST_CHANGED $LAUNCH_TEST_ADDED; read line || echo empty; "
      "for i in $(seq 30); do echo error $i >&2; done",
      spec);
  EXPECT_TRUE(Fixture::wait(*worker).is_well());
  EXPECT_EQ(contents(spec.standard.file), "kept new added\nempty\n");
  const auto lines = worker->last_lines_of_error();
  ASSERT_EQ(lines.size(), OutputPump::kLines);
  EXPECT_EQ(lines.front(), "error 11");
  EXPECT_EQ(lines.back(), "error 30");
}

TEST(WorkerProcess, TeeAndPrefix) {
  Fixture at;
  const std::string console = fresh("console");
  const int saved = ::dup(1);
  const int file = ::open(console.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  std::fflush(stdout);
  ::dup2(file, 1);
  WorkerSpec spec;
  spec.standard.file = fresh("tee");
  spec.standard.prefix = "[default3]:";
  auto worker = at.start("printf 'one\\ntw'; sleep 0.05; printf 'o\\nthree'", spec);
  const bool is_well = Fixture::wait(*worker).is_well();
  at.pump.drain(milliseconds(2000));
  ::dup2(saved, 1);
  ::close(saved);
  ::close(file);
  EXPECT_TRUE(is_well);
  EXPECT_EQ(contents(spec.standard.file), "one\ntwo\nthree");
  EXPECT_EQ(contents(console), "[default3]:one\n[default3]:two\n[default3]:three\n");
}

TEST(WorkerProcess, StderrThatIsShownIsKept) {
  Fixture at;
  WorkerSpec spec;
  spec.error.to_console = false;
  auto worker = at.start("echo first >&2; printf last >&2; exit 1", spec);
  Fixture::wait(*worker);
  at.pump.drain(milliseconds(2000));
  EXPECT_EQ(worker->last_lines_of_error(), (std::vector<std::string>{"first", "last"}));
}

TEST(WorkerProcess, IsStopped) {
  Fixture at;
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  const std::string ready = fresh("ready");
  workers.push_back(at.start("trap 'exit 7' TERM; while true; do sleep 0.01; done"));
  workers.push_back(at.start("trap '' TERM; echo 1 > " + ready + "; while true; do sleep 0.01; done"));
  workers.push_back(at.start("kill -STOP $$; sleep 100"));
  ASSERT_EQ(number_in(ready), 1);
  std::this_thread::sleep_for(milliseconds(50));
  const auto begin = Clock::now();
  stop_workers(workers, SIGTERM, milliseconds(300), nullptr);
  EXPECT_GE(Clock::now() - begin, milliseconds(300));
  EXPECT_LT(Clock::now() - begin, milliseconds(3000));
  EXPECT_EQ(workers[0]->poll()->text(), "exit code 7");
  EXPECT_EQ(workers[1]->poll()->signal, SIGKILL);
  EXPECT_EQ(workers[2]->poll()->signal, SIGTERM);
}

TEST(WorkerProcess, LeavesNothingBehind) {
  Fixture at;
  const std::string child = fresh("child");
  auto worker = at.start("sleep 100 & echo $! > " + child);
  EXPECT_TRUE(Fixture::wait(*worker).is_well());
  EXPECT_TRUE(ends_within(number_in(child), milliseconds(2000)));
}

// The process that started it is killed: so is the worker, and what the worker has started.
TEST(WorkerProcess, EndsWithWhoStartedIt) {
  const std::string child = fresh("child"), grandchild = fresh("grandchild");
  const pid_t agent = ::fork();
  if (agent == 0) {
    Fixture at;
    auto worker = at.start("trap '' TERM; sleep 100 & echo $! > " + grandchild + "; echo $$ > " + child + "; wait");
    ::pause();
    ::_exit(0);
  }
  const pid_t first = number_in(grandchild), second = number_in(child);
  ASSERT_GT(first, 0);
  ASSERT_GT(second, 0);
  EXPECT_TRUE(is_alive(first) && is_alive(second));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  EXPECT_TRUE(ends_within(second, milliseconds(2000)));
  EXPECT_TRUE(ends_within(first, milliseconds(2000)));
}

int exit_code_of(const std::function<void()>& body) {
  const pid_t process = ::fork();
  if (process == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, 2);
    body();
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ErrorFile, OfAnException) {
  const std::string path = fresh("error");
  EXPECT_FALSE(read_error_file(path));
  EXPECT_EQ(exit_code_of([&] {
              ::setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
              ::_exit(record([]() -> int { throw std::runtime_error("no \"data\"\n\xff"); }));
            }),
            1);
  const auto error = read_error_file(path);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("no \"data\"\n"), std::string::npos) << error->message;
  EXPECT_NE(error->message.find("runtime_error"), std::string::npos) << error->message;
  EXPECT_EQ(error->callstack, error->message);
  EXPECT_GT(error->unix_seconds, 1700000000);
  EXPECT_EQ(exit_code_of([&] { ::_exit(record([] { return 5; })); }), 5);
}

TEST(ErrorFile, OfACrash) {
  const std::string path = fresh("error");
  EXPECT_EQ(exit_code_of([&] {
              ::setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
              record([]() -> int { std::abort(); });
            }),
            1000 + SIGABRT);
  const auto error = read_error_file(path);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "the program ended by SIGABRT");
  EXPECT_EQ(error->callstack, error->message);
}

TEST(ErrorFile, OfPyTorch) {
  const std::string path = fresh("error");
  std::ofstream(path)
      << R"({"message": {"message": "ValueError: x", "extraInfo": {"py_callstack": "at y", "timestamp": "17"}}})";
  const auto error = read_error_file(path);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "ValueError: x");
  EXPECT_EQ(error->callstack, "at y");
  EXPECT_EQ(error->unix_seconds, 17);
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"no json", "no json"}, {"[1]", "[1]"}, {R"({"message": "plain"})", "plain"}, {R"({"message": 3})", "3"}}) {
    std::ofstream(path) << text;
    EXPECT_EQ(read_error_file(path)->message, message);
  }
  std::ofstream(path) << std::string(100000, 'x');
  EXPECT_EQ(read_error_file(path)->message.size(), 4096u);
}

}  // namespace
}  // namespace c10d::launch
