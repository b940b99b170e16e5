// examples/mlp_inference as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "c10/testing/files.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using c10::testing::write_file;

using ::testing::HasSubstr;

const std::string& program() {
  static const std::string path = data_file("examples/mlp_inference/mlp_inference");
  return path;
}
const std::string& weights() {
  static const std::string path = data_file("examples/mlp_inference/sine.safetensors");
  return path;
}

TEST(MlpInference, ComputesWhatPyTorchComputed) {
  const Outcome o = run({program()});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  // Printed by examples/mlp_inference/record_sine.py.
  const double expected[] = {-0.13963, -0.60013, -0.90749, -0.99753, -0.84218, -0.48088, 0.00022,
                             0.47908,  0.83893,  0.99718,  0.90914,  0.59881,  0.14053};
  EXPECT_EQ(lines(o.out), 13);
  const char* p = o.out.c_str();
  for (int i = 0; i < 13; ++i) {
    double x = 0, y = 0;
    int used = 0;
    ASSERT_EQ(std::sscanf(p, "%lf -> %lf\n%n", &x, &y, &used), 2) << o.out;
    EXPECT_EQ(x, (i - 6) * 0.5);
    EXPECT_NEAR(y, expected[i], 2e-5);
    EXPECT_NEAR(y, std::sin(x), 0.01);
    p += used;
  }
  for (const char* one : {"1", "1.", "01.00", "0.1e1", "10e-1", "0.01E+2"}) {
    EXPECT_EQ(run({program(), weights(), one}).out, "1 -> 0.83893\n") << one;
  }
  EXPECT_EQ(run({program(), weights(), "-0.5", ".5"}).out, "-0.5 -> -0.48088\n0.5 -> 0.47908\n");
}

TEST(MlpInference, SaysWhatIsWrong) {
  const std::string folder = fresh_folder();
  const auto refused = [&](std::vector<std::string> arguments, const char* message) {
    arguments.insert(arguments.begin(), program());
    const Outcome o = run(arguments, {folder});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_THAT(o.err, HasSubstr(message));
  };
  refused({"none.safetensors"}, ("No such file or directory, file path: " + folder + "/none.safetensors").c_str());
  write_file(folder + "/damaged", read_file(weights()).substr(0, 3000));
  refused({"damaged", "1"}, "bytes of data");
  for (const char* text : {"x", "", "-", ".", "1x", "1e", "1.2.3", "e5"}) refused({weights(), text}, "not a number: ");
  refused({weights()}, "the network takes 1 numbers at a time, 0 were given");
}

TEST(MlpInference, HelpAndUnknownFlagsAreNoFiles) {
  for (const char* flag : {"--help", "-h"}) {
    const Outcome o = run({program(), flag});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("FILE.safetensors"));
  }
  const Outcome o = run({program(), "--weights=x"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.err, "mlp_inference: unknown flag --weights=x (--help says what there is)\n");
}

TEST(MlpInference, AFullDeviceIsAnError) {
  const Outcome o = run({program()}, {"", 0, 0, false, "/dev/full"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("mlp_inference: cannot write to standard output"));
}

}  // namespace
}  // namespace integration
