#include "c10/cuda/device.h"

#include <gtest/gtest.h>

#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

TEST(CudaDevice, CountsOrSaysThereIsNone) {
  const DeviceIndex count = device_count();
  ASSERT_GE(count, 0);
  if (count == 0) {
    EXPECT_THROW(current_device(), c10::Error);
    EXPECT_THROW(set_device(0), c10::Error);
    EXPECT_THROW(device_synchronize(), c10::Error);
    return;
  }
  set_device(static_cast<DeviceIndex>(count - 1));
  EXPECT_EQ(current_device(), count - 1);
  EXPECT_THROW(set_device(count), c10::Error);
  EXPECT_THROW(set_device(-1), c10::Error);
  EXPECT_EQ(current_device(), count - 1);
  device_synchronize();
}

}  // namespace
}  // namespace c10::cuda
