#include "c10/cuda/peer_access.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/testing.h"

namespace c10::cuda {
namespace {

using at::cuda::get_p2p_access;
using testing::in_all_orders;

int g_enabled = 0;

TEST(PeerAccess, IsEnabledOnce) {
  in_all_orders([] {
    EXPECT_TRUE(get_p2p_access(0, 0));
    EXPECT_THROW(get_p2p_access(0, 100), Error);
    EXPECT_THROW(get_p2p_access(-1, 0), Error);
    EXPECT_THROW(at::cuda::canDeviceAccessPeer(0, 0), Error);
    if (device_count() < 2) return;
    const bool can = at::cuda::canDeviceAccessPeer(0, 1);
    EXPECT_EQ(get_p2p_access(0, 1), can);
    EXPECT_EQ(current_device(), 0);
    if (can) {
      EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
      C10_CUDA_CLEAR_ERROR();
      enable_peer_access(0, 1);
      EXPECT_EQ(last_launch_status(), cudaSuccess);
    }
#ifdef KD_CUDA_ON_HOST
    const uint64_t calls = cuda_standin::calls();
    EXPECT_EQ(get_p2p_access(0, 1), can);
    EXPECT_EQ(cuda_standin::calls(), calls) << "the answer is known";
#endif
    set_enable_peer_access([](DeviceIndex dev, DeviceIndex dev_to_access) { g_enabled = 10 * dev + dev_to_access; });
    get_p2p_access(1, 0);
    EXPECT_EQ(g_enabled, can ? 10 : 0);
  });
}

#ifdef KD_CUDA_ON_HOST
TEST(PeerAccess, MayBeImpossible) {
  in_all_orders([] { EXPECT_FALSE(get_p2p_access(0, 1)); }, {.peer_access = false});
}
#endif

TEST(PeerAccess, FailsCleanly) {
  testing::with_each_call_failing([] {
    const auto last = static_cast<DeviceIndex>(device_count_ensure_non_zero() - 1);
    get_p2p_access(last, 0);
    EXPECT_EQ(current_device(), 0);
  });
}

}  // namespace
}  // namespace c10::cuda
