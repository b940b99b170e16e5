// What parts of the library say of their work.
#include "utils/logging/logging.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "c10/testing/message_of.h"
#include "compile/compile.h"
#include "gtest/gtest.h"
#include "torch/torch.h"

namespace torch {
namespace {

using _logging::DEBUG;
using _logging::INFO;
using c10::testing::message_of;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Logs : public ::testing::Test {
 protected:
  void TearDown() override { _logging::set_logs(""); }
};

template <class F>
std::string said_by(const F& f) {
  ::testing::internal::CaptureStderr();
  f();
  return ::testing::internal::GetCapturedStderr();
}

void run_programs() {
  CompileOptions options;
  options.eager_fallback = true;
  auto f = compile(
      [](const Tensor& x, bool by_element) {
        return by_element && x[0].item<float>() > 0 ? x * 2 : gelu(x + 1) * x;
      },
      options);
  f(ones({4}), false);
  f(ones({4}), false);
  f(ones({5}), false);
  f(ones({4}).requires_grad_(), false).sum().backward();
  f(ones({4}), true);
}

TEST_F(Logs, NothingAtFirst) {
  EXPECT_EQ(said_by(run_programs), "");
  EXPECT_FALSE(_logging::is_on(_logging::Artifact::kGuards));
  EXPECT_TRUE(_logging::is_on(_logging::Component::kDynamo, _logging::WARNING));
}

TEST_F(Logs, KindsOfTheCompilersMessages) {
  _logging::set_logs({{"graph_breaks", true}, {"guards", false}});
  const std::string breaks = said_by(run_programs);
  EXPECT_THAT(breaks, ContainsRegex("V[0-9]* [0-9:.]* [0-9]* compile/cache.cc:[0-9]*] \\[__graph_breaks\\] "
                                    "the program's steps depend on elements of tensors"));
  EXPECT_THAT(breaks, Not(HasSubstr("guards")));
  _logging::set_logs("recompiles,fusion");
  const std::string text = said_by(run_programs);
  EXPECT_THAT(text, HasSubstr("[__recompiles] compiled again, beside 1 that there are, for Float[5] strides [1] on "
                              "cpu\n"));
  EXPECT_THAT(text, HasSubstr("[__fusion] program: 3 of 3 nodes in 1 groups"));
  EXPECT_THAT(text, HasSubstr("[__fusion] backward: "));
  EXPECT_THAT(text, Not(HasSubstr("graph_breaks")));
  _logging::set_logs("+dynamo");
  const std::string all = said_by(run_programs);
  for (const char* name : {"guards", "recompiles", "graph_breaks", "fusion", "graph_code"}) {
    EXPECT_THAT(all, HasSubstr("[__" + std::string(name) + "]"));
  }
  EXPECT_THAT(all, HasSubstr("aten::gelu"));
  EXPECT_THAT(all, Not(HasSubstr("[__dispatch]")));
}

TEST_F(Logs, OperatorsAndNodes) {
  const auto step = [] { (ones({2}).requires_grad_() * 3).sum().backward(); };
  _logging::set_logs({{"dispatch", true}, {"autograd", DEBUG}});
  const std::string text = said_by(step);
  EXPECT_THAT(text, HasSubstr("[__dispatch] aten::mul"));
  EXPECT_THAT(text, ContainsRegex("\\[autograd\\] Executing: MulBackward[01], seq = [0-9]+"));
  _logging::set_logs("autograd");
  EXPECT_EQ(said_by(step), "") << "nodes are DEBUG";
}

TEST_F(Logs, NamesAreChecked) {
  using _logging::set_logs;
  EXPECT_EQ(message_of<c10::ValueError>([] { set_logs({{"zz", INFO}}); }),
            "Unrecognized log or artifact name passed to set_logs: zz");
  EXPECT_EQ(message_of<c10::ValueError>([] { set_logs({{"graph_breaks", DEBUG}}); }),
            "Expected bool to enable artifact graph_breaks, received 10");
  EXPECT_THAT(message_of<c10::ValueError>([] { set_logs({{"dynamo", true}}); }),
              HasSubstr("Unrecognized log level for log dynamo"));
  EXPECT_THAT(message_of<c10::ValueError>([] { set_logs("guards,+inductor"); }),
              HasSubstr("TORCH_LOGS: unknown name \"+inductor\""));
  EXPECT_FALSE(_logging::is_on(_logging::Artifact::kGuards)) << "changed nothing";
  EXPECT_THAT(message_of<c10::ValueError>([] { set_logs("help"); }), HasSubstr("  graph_breaks  Why a call"));
  set_logs("all,-dynamo");
  EXPECT_TRUE(_logging::is_on(_logging::Component::kDistributed, INFO));
  EXPECT_FALSE(_logging::is_on(_logging::Component::kDistributed, DEBUG));
  EXPECT_FALSE(_logging::is_on(_logging::Component::kDynamo, _logging::WARNING));
}

// This program again, with TORCH_LOGS.
std::pair<int, std::string> started_with(const std::string& logs, const std::string& out = "/dev/null") {
  char self[4096] = {};
  EXPECT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string command = "env -u TEST_SHARD_STATUS_FILE -u XML_OUTPUT_FILE TORCH_LOGS='" + logs +
                              "' TORCH_LOGS_OUT='" + out + "' '" + self + "' --gtest_filter=Compile.OneEntry* 2>&1";
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  char part[4096];
  for (size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  return {WEXITSTATUS(::pclose(pipe)), text};
}

TEST_F(Logs, TheEnvironmentSays) {
  EXPECT_EQ(started_with("help").first, 1);
  EXPECT_THAT(started_with("help").second, HasSubstr("Kinds of messages:"));
  EXPECT_EQ(started_with("guards,foo").first, 1);
  EXPECT_THAT(started_with("guards,foo").second, HasSubstr("unknown name \"foo\""));
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string file = std::string(folder != nullptr ? folder : "/tmp") + "/logs.txt";
  const auto [code, text] = started_with("recompiles,dispatch", file);
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(text, HasSubstr("[__recompiles]"));
  EXPECT_THAT(text, HasSubstr("[__dispatch] aten::randn"));
  std::string copy;
  if (std::FILE* in = std::fopen(file.c_str(), "r")) {
    char part[4096];
    for (size_t n; (n = std::fread(part, 1, sizeof part, in)) > 0;) copy.append(part, n);
    std::fclose(in);
  }
  EXPECT_THAT(copy, HasSubstr("[__recompiles]"));
}

}  // namespace
}  // namespace torch
