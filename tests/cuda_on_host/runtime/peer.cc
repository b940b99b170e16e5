// Access between devices, and handles for other processes. The handles work within this process only: what they open is
// the memory and the event themselves.
#include <cstring>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

// What the bytes of both kinds of handles are.
struct Ticket {
  uint64_t id;
  char* start;
};
static_assert(sizeof(Ticket) <= sizeof(cudaIpcMemHandle_t) && sizeof(Ticket) <= sizeof(cudaIpcEventHandle_t));

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

Allocation* find_ticket(const Ticket& ticket) {
  Allocation* memory = find_memory(ticket.start);
  return memory && memory->id == ticket.id ? memory : nullptr;
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

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return api("cudaIpcGetMemHandle", [&] {
    const Allocation* memory = find_memory(pointer);
    if (!handle || !memory || memory->kind != MemoryKind::kDevice) return cudaErrorInvalidValue;
    const Ticket ticket{memory->id, memory->start};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &ticket, sizeof ticket);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** result, cudaIpcMemHandle_t handle, unsigned int flags) {
  return api("cudaIpcOpenMemHandle", [&] {
    Ticket ticket;
    std::memcpy(&ticket, &handle, sizeof ticket);
    Allocation* memory = find_ticket(ticket);
    if (!result || !memory || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    ++memory->imports;
    *result = memory->start;
    return cudaSuccess;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return api(
      "cudaIpcCloseMemHandle",
      [&] {
        Allocation* memory = find_memory(pointer);
        if (!memory || memory->start != pointer || memory->imports == 0) return cudaErrorInvalidValue;
        --memory->imports;
        return cudaSuccess;
      },
      kReleases);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t named) {
  return api("cudaIpcGetEventHandle", [&] {
    Event* event = find_event(named, "cudaIpcGetEventHandle");
    if (!event) return cudaErrorInvalidResourceHandle;
    if (!handle || !(event->flags & cudaEventInterprocess)) return cudaErrorInvalidValue;
    const Ticket ticket{event->id, nullptr};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &ticket, sizeof ticket);
    state().exported_events[event->id] = event->record;
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* result, cudaIpcEventHandle_t handle) {
  return api("cudaIpcOpenEventHandle", [&] {
    Ticket ticket;
    std::memcpy(&ticket, &handle, sizeof ticket);
    const auto found = state().exported_events.find(ticket.id);
    std::shared_ptr<Record> record = found == state().exported_events.end() ? nullptr : found->second.lock();
    if (!result || !record) return cudaErrorInvalidValue;
    auto event = std::make_unique<Event>();
    event->device = current_device();
    event->flags = cudaEventDisableTiming | cudaEventInterprocess;
    event->id = state().next_id++;
    event->record = std::move(record);
    *result = state().events.add(std::move(event));
    return cudaSuccess;
  });
}

}  // extern "C"
}  // namespace cuda_standin
