// examples/mnist as a user runs it, on drawn digits: class c is a bright square at a place of its own, with noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using c10::testing::write_file;

using ::testing::HasSubstr;

std::string big_endian(uint32_t x) {
  return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)};
}

void write_set(const std::string& folder, const std::string& prefix, uint32_t count) {
  std::mt19937 random(count);
  std::string images = big_endian(2051) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(2049) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t label = random() % 10;
    labels += static_cast<char>(label);
    const uint32_t row = label / 5 * 14 + 3, column = label % 5 * 5 + 1;
    for (uint32_t y = 0; y < 28; ++y)
      for (uint32_t x = 0; x < 28; ++x) {
        const bool inside = y >= row && y < row + 8 && x >= column && x < column + 4;
        images += static_cast<char>(inside ? 200 + random() % 50 : random() % 80);
      }
  }
  write_file(folder + "/" + prefix + "-images-idx3-ubyte", images);
  write_file(folder + "/" + prefix + "-labels-idx1-ubyte", labels);
}

Outcome mnist(const std::string& folder, std::vector<std::string> more, const char* program = "examples/mnist/mnist") {
  more.insert(more.begin(), data_file(program));
  return run(more, {folder, 0, 0, false});
}

double last_accuracy(const std::string& out) {
  const size_t at = out.rfind("test accuracy ");
  return at == std::string::npos ? -1 : std::atof(out.c_str() + at + 14);
}

TEST(Mnist, LearnsAndSaves) {
  const std::string folder = fresh_folder();
  write_set(folder, "t10k", 600);
  const Outcome o = mnist(folder, {"--data=.", "--epochs=4", "--batch_size=32", "--threads=1", "--save=weights.safetensors"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("540 images to train on, 60 to test on, 1 thread(s)"));
  EXPECT_THAT(o.out, HasSubstr("epoch 4/4"));
  EXPECT_GE(last_accuracy(o.out), 95) << o.out;
  EXPECT_THAT(read_file(folder + "/weights.safetensors"), HasSubstr("conv1.weight"));
}

TEST(Mnist, ResultsFollowTheSeedWhateverTheNumberOfWorkers) {
  const std::string folder = fresh_folder();
  write_set(folder, "t10k", 100);
  write_set(folder, "train", 200);
  std::vector<std::string> results;
  for (const char* workers : {"--workers=0", "--workers=2"}) {
    const Outcome o = mnist(folder, {"--data=.", "--epochs=1", "--seed=5", "--threads=1", workers, "--save=w"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("200 images to train on, 100 to test on"));
    results.push_back(read_file(folder + "/w"));
  }
  EXPECT_TRUE(results[0] == results[1]);
}

// The lines of the epochs, without the time they took.
std::string without_times(const std::string& out) {
  std::string text;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find('%')) + "\n";
  return text;
}

TEST(Mnist, TrainsOnAPluginDeviceToTheSameBits) {
  const std::string folder = fresh_folder();
  write_set(folder, "t10k", 300);
  std::vector<std::string> weights, epochs;
  for (const char* device : {"cpu", "shadow", "shadow:1"}) {
    // A device has a generator of its own, so nothing is drawn while it trains.
    const Outcome o = mnist(folder,
                            {"--data=.", "--epochs=2", "--batch_size=32", "--dropout=0", "--threads=1", "--save=w.safetensors",
                             std::string("--device=") + device},
                            "tests/integration/mnist_with_shadow");
    ASSERT_EQ(o.exit_code, 0) << o.err;
    weights.push_back(read_file(folder + "/w.safetensors"));
    epochs.push_back(without_times(o.out));
  }
  EXPECT_THAT(epochs[0], HasSubstr("epoch 2/2  loss 0."));
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(epochs[i], epochs[0]);
    EXPECT_TRUE(weights[i] == weights[0]);
  }
}

TEST(Mnist, SaysWhatIsWrong) {
  const std::string folder = fresh_folder();
  const auto refused = [&](std::vector<std::string> arguments, const char* text) {
    const Outcome o = mnist(folder, arguments);
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_THAT(o.err, HasSubstr(text));
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_EQ(o.out, "");
  };
  refused({}, "there is no MNIST in");
  refused({"--data=nowhere"}, "t10k-images-idx3-ubyte.gz");
  refused({"--epochs=0"}, "--epochs");
  refused({"--epochs=many"}, "epochs");
  refused({"--no_such_flag"}, "no_such_flag");
  refused({"stray"}, "stray");
  refused({"--device=shadow"}, "device string: shadow");
  write_file(folder + "/t10k-images-idx3-ubyte", "not an image");
  write_file(folder + "/t10k-labels-idx1-ubyte", "not a label");
  refused({"--data=."}, "is too short to be an IDX file");
}

TEST(Mnist, Help) {
  const Outcome o = mnist(fresh_folder(), {"--help"});
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_THAT(o.out, HasSubstr("--batch_size=64\n      images a step"));
}

}  // namespace
}  // namespace integration
