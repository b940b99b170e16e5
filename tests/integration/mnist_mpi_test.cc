// examples/mnist_mpi as a user runs it, with two ranks, on drawn digits.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <random>
#include <string>

#include "c10/testing/files.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

std::string big_endian(uint32_t x) {
  return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)};
}

// Class c is a bright square at a place of its own.
void write_set(const std::string& folder, const std::string& prefix, uint32_t count) {
  std::mt19937 random(count);
  std::string images = big_endian(2051) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(2049) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t label = random() % 10;
    labels += static_cast<char>(label);
    const uint32_t row = label / 5 * 14 + 3, column = label % 5 * 5 + 1;
    for (uint32_t y = 0; y < 28; ++y) {
      for (uint32_t x = 0; x < 28; ++x) {
        const bool inside = y >= row && y < row + 8 && x >= column && x < column + 4;
        images += static_cast<char>(inside ? 200 + random() % 50 : random() % 80);
      }
    }
  }
  c10::testing::write_file(folder + "/" + prefix + "-images-idx3-ubyte", images);
  c10::testing::write_file(folder + "/" + prefix + "-labels-idx1-ubyte", labels);
}

TEST(MnistMpi, LearnsTogether) {
  const std::string folder = c10::testing::fresh_folder();
  write_set(folder, "train", 640);
  write_set(folder, "t10k", 200);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("TMPDIR", "/tmp", 1);
  const Outcome o = run({"/usr/bin/mpirun", "-n", "2", "--oversubscribe", "--mca", "mpi_yield_when_idle", "0", "--mca",
                         "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "plm",
                         "isolated", "--mca", "oob_tcp_if_include", "lo",
                         data_file("examples/mnist_mpi/mnist_mpi"), folder, "3"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  std::string accuracy[2];
  for (int rank = 0; rank < 2; ++rank) {
    const std::string says = "rank " + std::to_string(rank) + " of 2: accuracy ";
    const size_t at = o.out.find(says);
    ASSERT_NE(at, std::string::npos) << o.out;
    accuracy[rank] = o.out.substr(at + says.size(), 6);
  }
  EXPECT_EQ(accuracy[0], accuracy[1]);
  EXPECT_GT(std::stod(accuracy[0]), 0.9) << o.out;
}

}  // namespace
}  // namespace integration
