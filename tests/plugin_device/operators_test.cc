// The tests of operator families on the shadow device: what they make without naming a device is made there.
#include <gtest/gtest.h>

#include <cstdio>

#include "aten/testing/on_device.h"
#include "tests/plugin_device/shadow.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = at::testing::run_all_tests_on("shadow:0");
  if (shadow::counts().own > 0) return status;
  std::fprintf(stderr, "nothing ran on the device\n");
  return 1;
}
