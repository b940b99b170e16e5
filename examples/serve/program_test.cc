// The program itself: flags, what it prints, requests, and how it ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "examples/serve/testing.h"

namespace serve {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::Connection;
using testing::post;
using testing::status_of;

const std::string kProgram = "examples/serve/serve";
const std::string kModel = "export/onnx/testdata/mlp_dynamic.dynamo@2.15.0.onnx";

// The program while it runs; what it prints on standard output and error comes together.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kProgram);
    std::vector<char*> words;
    for (std::string& one : arguments) words.push_back(one.data());
    words.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      ::execv(kProgram.c_str(), words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~Program() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      end();
    }
    ::close(output_);
  }
  // Reads until this was printed behind `from`, or the end; all that was printed so far.
  const std::string& read_until(const std::string& text, size_t from = 0) {
    char buffer[1024];
    while (printed_.find(text, from) == std::string::npos) {
      const ssize_t count = ::read(output_, buffer, sizeof(buffer));
      if (count <= 0) break;
      printed_.append(buffer, static_cast<size_t>(count));
    }
    return printed_;
  }
  // 0 where the program ends before it has one.
  int port() {
    const std::string start = "serving on http://127.0.0.1:";
    const size_t at = read_until(start).find(start);
    return at == std::string::npos ? 0 : std::atoi(read_until("\n", at).c_str() + at + start.size());
  }
  void signal(int number) const { ::kill(child_, number); }
  // The exit status, or 1000 and the signal.
  int end() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t child_ = 0;
  int output_ = -1;
  std::string printed_;
};

std::string ask(float value) {
  const std::string data = std::to_string(value);
  return R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[)" + data + ",1,2,3]}]}";
}

TEST(Program, ServesAndEndsAtASignal) {
  for (const int number : {SIGTERM, SIGINT}) {
    Program program({"--model=net=" + kModel, "--port=0"});
    const int port = program.port();
    ASSERT_GT(port, 0) << program.read_until("ended");
    EXPECT_NE(program.read_until("net: ONNX, batched\n").find("net: ONNX, batched\n"), std::string::npos);
    httplib::Client client("127.0.0.1", port);
    EXPECT_EQ(client.Get("/v2/health/ready")->status, 200);
    const httplib::Result answer = client.Post("/v2/models/net/infer", ask(1), "application/json");
    ASSERT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(json::parse(answer->body)["outputs"][0]["shape"], json({1, 3}));
    EXPECT_EQ(json::parse(answer->body)["outputs"][0]["name"], "log_softmax");
    EXPECT_NE(client.Get("/models/net/graph.svg")->body.find("<svg"), std::string::npos);
    program.signal(number);
    EXPECT_NE(program.read_until("ended\n").find("ended\n"), std::string::npos);
    EXPECT_EQ(program.end(), 0);
  }
}

TEST(Program, LosesNothingUnderLoad) {
  Program program({"--model=net=" + kModel, "--port=0", "--max_batch=8", "--max_delay_us=500"});
  const int port = program.port();
  ASSERT_GT(port, 0);
  std::atomic<int> answered{0}, lost{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      while (true) {
        Connection connection(port);
        if (!connection.connected()) return;
        for (int i = 0; i < (c % 2 == 0 ? 1000000 : 1); ++i) {
          if (!connection.send(post("/v2/models/net/infer", ask(static_cast<float>(i))))) break;
          const std::string answer = connection.response();
          ++(status_of(answer) == 200 ? answered : lost);
          if (status_of(answer) == 0 || answer.find("Connection: close") != std::string::npos) break;
        }
      }
    });
  }
  std::this_thread::sleep_for(300ms);
  program.signal(SIGTERM);
  EXPECT_EQ(program.end(), 0);
  for (std::thread& client : clients) client.join();
  EXPECT_GT(answered, 100);
  EXPECT_EQ(lost, 0);
}

TEST(Program, MistakesAreSaidInOneLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "serve: no --model=NAME=FILE is given (--help says more)\n"},
      {{"--model=net"}, "serve: --model=net: expected NAME=FILE\n"},
      {{"--model=a b=" + kModel}, "a name has letters, digits, '.', '_' and '-'\n"},
      {{"--model=net=" + kModel, "--model=net=" + kModel}, "serve: two models have the name 'net'\n"},
      {{"--model=net=/absent"}, "/absent"},
      {{"--model=net(x:FP32[-1,4])=" + kModel}, "says itself what its inputs are"},
      {{"--model=net(x:FP32)=" + kModel}, "expected NAME:DATATYPE[SIZES]"},
      {{"--model=net=" + kModel, "--port=99999"}, "serve: --port=99999: expected 0 to 65535\n"},
      {{"--model=net=" + kModel, "--max_connections=1000"}, "serve: --max_connections=1000: expected 1 to 900\n"},
  };
  for (const auto& [arguments, message] : cases) {
    Program program(arguments);
    const std::string& printed = program.read_until(message);
    EXPECT_NE(printed.find(message), std::string::npos) << printed;
    EXPECT_EQ(program.end(), 1);
  }
}

}  // namespace
}  // namespace serve
