#include "c10/cuda/frontend.h"

#include <gtest/gtest.h>

#include "c10/core/accelerator.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"

namespace torch::cuda {
namespace {

using c10::testing::message_of;

// A program without the backend.
TEST(CudaFrontend, SaysThatThereIsNoDevice) {
  EXPECT_EQ(device_count(), 0);
  EXPECT_FALSE(is_available() || cudnn_is_available() || is_initialized());
  manual_seed(1);
  manual_seed_all(1);
  for (const auto& f : std::initializer_list<void (*)()>{
           [] { init(); }, [] { synchronize(); }, [] { synchronize(0); }, [] { current_device(); },
           [] { set_device(0); }, [] { get_device_name(); }, [] { get_device_capability(); }, [] { mem_get_info(); },
           [] { can_device_access_peer(0, 1); }, [] { ipc_collect(); }, [] { current_stream(); },
           [] { default_stream(); }, [] { stream_from_pool(); },
           [] { set_stream(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::kCUDA, 0))); }}) {
    EXPECT_EQ(message_of(f), "No CUDA GPUs are available");
  }
  EXPECT_EQ(at::getAccelerator(), std::nullopt);
  nvtx::mark("nobody listens");
  EXPECT_LT(nvtx::range_push("x"), 0);
  EXPECT_LT(nvtx::range_pop(), 0);
  nvtx::range_end(nvtx::range_start("y"));
  const nvtx::Range range("z");
}

TEST(CudaFrontend, SetsTheDebugModeByNumberAndName) {
  EXPECT_EQ(get_sync_debug_mode(), 0);
  set_sync_debug_mode(1);
  EXPECT_EQ(get_sync_debug_mode(), 1);
  set_sync_debug_mode("error");
  EXPECT_EQ(get_sync_debug_mode(), 2);
  EXPECT_THROW(set_sync_debug_mode(3), c10::Error);
  EXPECT_THROW(set_sync_debug_mode("loud"), c10::Error);
  EXPECT_EQ(get_sync_debug_mode(), 2);
  set_sync_debug_mode("warn");
  set_sync_debug_mode("default");
  EXPECT_EQ(get_sync_debug_mode(), 0);
}

}  // namespace
}  // namespace torch::cuda
