// The tests of operator families on a CUDA device: what they make without naming a device is made there.
#include <gtest/gtest.h>

#include "aten/core/context.h"
#include "aten/testing/on_device.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::globalContext().setAllowTF32CuDNN(false);  // families compare with sums of float32
  return at::testing::run_all_tests_on("cuda:0");
}
