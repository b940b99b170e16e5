#pragma once

#include "c10/core/device.h"

namespace at::testing {

/// RUN_ALL_TESTS(), where factories that are called without tensors and without a device make tensors on `device`.
int run_all_tests_on(Device device);

}  // namespace at::testing
