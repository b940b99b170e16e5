// Ranges for Intel's profilers, with a collector of the test's.
#include "utils/profiler/itt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"

namespace torch::profiler {
namespace {

TEST(Itt, RangesReachTheCollector) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/itt.txt";
  const auto collected = [&] {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(::truncate(path.c_str(), 0), 0);
    return text.str();
  };
  ::setenv("INTEL_LIBITTNOTIFY64", "utils/profiler/libitt_collector.so", 1);
  ::setenv("ITT_COLLECTED", path.c_str(), 1);
  ASSERT_TRUE(itt::is_available());
  {
    const itt::range outer("outer");
    itt::mark("moment");
  }
  EXPECT_EQ(collected(), "PyTorch: begin outer\nPyTorch: begin moment\nPyTorch: end\nPyTorch: end\n");
  const at::Tensor x = torch::ones({2, 3}).requires_grad_();
  {
    const autograd::profiler::emit_itt on;
    EXPECT_EQ(c10::testing::message_of([] { autograd::profiler::emit_itt again; }),
              "ITT annotation context manager is not reentrant");
    const autograd::profiler::emit_itt off(/*enabled=*/false);
    (x * 2).sum().backward();
  }
  const std::string names = collected();
  for (const char* part : {"begin aten::mul\n", "begin aten::sum\n", "begin SumBackward0\n", "begin MulBackward1\n"}) {
    EXPECT_NE(names.find(part), std::string::npos) << part << names;
  }
  {
    const autograd::profiler::emit_itt on(/*enabled=*/true, /*record_shapes=*/true);
    at::add(x, torch::ones({3}));
  }
  const std::string shapes = collected();
  EXPECT_NE(shapes.find("begin aten::add, sizes = [[2, 3], [3], []]\n"), std::string::npos) << shapes;
  x + 1;
  EXPECT_EQ(collected(), "");
}

}  // namespace
}  // namespace torch::profiler
