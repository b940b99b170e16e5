// examples/mnist_mpi as a user runs it, with two ranks, on drawn digits.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

// Two ranks of a program on drawn digits, which lie in the folder.
Outcome run_two_ranks(const std::string& program, const std::string& folder, const std::vector<std::string>& more) {
  write_set(folder, "train", 640);
  write_set(folder, "t10k", 200);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("TMPDIR", "/tmp", 1);
  std::vector<std::string> words{"/usr/bin/mpirun",
                                 "-n",
                                 "2",
                                 "--oversubscribe",
                                 "--mca",
                                 "mpi_yield_when_idle",
                                 "0",
                                 "--mca",
                                 "btl",
                                 "self,vader",
                                 "--mca",
                                 "btl_vader_single_copy_mechanism",
                                 "none",
                                 "--mca",
                                 "plm",
                                 "isolated",
                                 "--mca",
                                 "oob_tcp_if_include",
                                 "lo",
                                 data_file(program),
                                 folder};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

// What stands behind `says`.
std::string word_after(const std::string& text, const std::string& says) {
  const size_t at = text.find(says);
  if (at == std::string::npos) return "nothing behind '" + says + "'";
  const size_t begin = at + says.size();
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

TEST(MnistMpi, LearnsTogether) {
  const Outcome o = run_two_ranks("examples/mnist_mpi/mnist_mpi", c10::testing::fresh_folder(), {"3"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const std::string accuracy = word_after(o.out, "rank 0 of 2: accuracy ");
  EXPECT_EQ(word_after(o.out, "rank 1 of 2: accuracy "), accuracy);
  EXPECT_GT(std::stod(accuracy), 0.9) << o.out;
}

// A program as PyTorch's examples write it: groups and work in std::shared_ptr, paths from before PyTorch 1.10.
TEST(MnistMpi, ProgramsOfOlderNamesLearnTogether) {
  const Outcome o = run_two_ranks("tests/integration/dist_mnist", c10::testing::fresh_folder(), {});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(word_after(o.out, "rank 1 of 2: weights "), word_after(o.out, "rank 0 of 2: weights ")) << o.out;
  EXPECT_GT(std::stod(word_after(o.out, "Test Accuracy - ")), 90) << o.out;
}

}  // namespace
}  // namespace integration
