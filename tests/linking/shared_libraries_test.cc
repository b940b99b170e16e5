// As another workspace's tests are linked, by default: every library a shared one.
#include <gtest/gtest.h>

#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"

namespace {

TEST(SharedLibraries, BringLapack) {
  const at::Tensor a = at::eye(20, at::kDouble);
  EXPECT_EQ(at::linalg_det(a).item<double>(), 1);
}

}  // namespace
