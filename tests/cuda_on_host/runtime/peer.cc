// Access between devices.
#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

cudaError_t enable(int peer, unsigned flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  if (!is_device(peer) || peer == current_device()) return cudaErrorInvalidDevice;
  if (!state().options.peer_access) return cudaErrorPeerAccessUnsupported;
  return device_state(current_device()).peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t disable(int peer) {
  if (!is_device(peer)) return cudaErrorInvalidDevice;
  auto& peers = device_state(current_device()).peers;
  if (!peers.contains(peer)) return cudaErrorPeerAccessNotEnabled;
  finish_device(current_device());
  peers.erase(peer);
  return cudaSuccess;
}

cudaError_t can_access(int* result, int device, int peer) {
  if (!result) return cudaErrorInvalidValue;
  if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
  *result = device != peer && state().options.peer_access;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceCanAccessPeer(int* result, int device, int peer) {
  return api(
      "cudaDeviceCanAccessPeer", [&] { return can_access(result, device, peer); }, kNoContext);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) {
  return api(
      "cudaDeviceGetP2PAttribute",
      [&] {
        int access = 0;
        if (!value || device == peer) return cudaErrorInvalidValue;
        if (cudaError_t status = can_access(&access, device, peer)) return status;
        switch (attribute) {
          case cudaDevP2PAttrPerformanceRank:
            *value = 0;
            return cudaSuccess;
          case cudaDevP2PAttrAccessSupported:
          case cudaDevP2PAttrNativeAtomicSupported:
            *value = access;
            return cudaSuccess;
          default:
            *value = 0;
            return cudaSuccess;
        }
      },
      kNoContext);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return api("cudaDeviceEnablePeerAccess", [&] { return enable(peer, flags); });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api(
      "cudaDeviceDisablePeerAccess", [&] { return disable(peer); }, kReleases);
}

}  // extern "C"
}  // namespace cuda_standin
