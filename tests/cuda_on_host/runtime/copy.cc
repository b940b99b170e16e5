// Copies and fills. From pageable memory the source is read before the call returns; to pageable memory the call waits;
// pinned memory is read and written when the work runs. Between host memory all calls wait.
#include <cstring>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

// Rows of bytes; a plain copy has one.
struct Rows {
  size_t width = 0, height = 1, to_pitch = 0, from_pitch = 0;
  size_t bytes() const { return width * height; }
  size_t to_span() const { return (height - 1) * to_pitch + width; }
  size_t from_span() const { return (height - 1) * from_pitch + width; }
};

void copy_rows(char* to, const char* from, const Rows& rows) {
  for (size_t row = 0; row < rows.height; ++row)
    std::memmove(to + row * rows.to_pitch, from + row * rows.from_pitch, rows.width);
}

Devices home(const Allocation* memory) {
  return memory && !memory->on_host() ? bit(memory->device) : 0;
}

Place place(const Allocation* memory) {
  if (!memory) return Place::kPageable;
  return memory->on_host() ? Place::kPinned : Place::kDevice;
}

void check_kind(const char* call, cudaMemcpyKind kind, bool from_host, bool to_host, const Allocation* from,
                const Allocation* to) {
  // Pinned memory counts as either.
  const auto fits = [&](bool host, bool pageable, const Allocation* memory) {
    return host ? pageable || memory->on_host() : !pageable;
  };
  const bool matches = kind == cudaMemcpyDefault ||
                       (fits(kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice, from_host, from) &&
                        fits(kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost, to_host, to));
  if (!matches) add_misuse(std::string(call) + ": the direction is not that of the addresses");
}

cudaError_t copy(const char* call, void* to, const void* from, const Rows& rows, cudaMemcpyKind kind,
                 cudaStream_t named, bool wait) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  Stream* stream = find_stream(named, call);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (rows.bytes() == 0) return cudaSuccess;
  if (!to || !from) return cudaErrorInvalidValue;
  if (rows.height > 1 && (rows.to_pitch < rows.width || rows.from_pitch < rows.width))
    return cudaErrorInvalidPitchValue;
  if (cudaError_t status = check_range(to, rows.to_span(), call)) return status;
  if (cudaError_t status = check_range(from, rows.from_span(), call)) return status;
  if (cudaError_t status = check_legacy(*stream)) return status;
  if (wait) {
    if (cudaError_t status = check_unsafe()) return status;
  }
  const Allocation *to_memory = find_memory(to), *from_memory = find_memory(from);
  const bool to_pageable = !to_memory, from_pageable = !from_memory;
  if (stream->capture && (to_pageable || from_pageable))
    return break_capture(*stream->capture, cudaErrorStreamCaptureUnsupported);
  check_kind(call, kind, from_pageable, to_pageable, from_memory, to_memory);

  const bool to_host = to_pageable || to_memory->on_host(), from_host = from_pageable || from_memory->on_host();
  if (wait && from_pageable) finish(stream_dependencies(*stream));
  Work work{.name = call, .kind = WorkKind::kCopy, .bytes = rows.bytes(), .reach = home(to_memory) | home(from_memory)};
  work.observed.from = place(from_memory);
  work.observed.to = place(to_memory);
  work.observed.from_device = from_memory ? from_memory->device : 0;
  work.observed.to_device = to_memory ? to_memory->device : 0;
  auto* const target = static_cast<char*>(to);
  const std::string name = call;
  if (from_pageable && !to_pageable) {
    Rows staged = rows;
    staged.to_pitch = rows.width;
    std::vector<char> bytes(rows.bytes());
    copy_rows(bytes.data(), static_cast<const char*>(from), staged);
    staged = rows;
    staged.from_pitch = rows.width;
    work.run = [=, held = hold(to), bytes = std::move(bytes)] {
      check_held(held, name);
      copy_rows(target, bytes.data(), staged);
    };
  } else {
    work.run = [=, held_to = hold(to), held_from = hold(from)] {
      check_held(held_to, name);
      check_held(held_from, name);
      copy_rows(target, static_cast<const char*>(from), rows);
    };
  }
  uint64_t id = 0;
  if (cudaError_t status = submit(*stream, std::move(work), &id, cudaGraphNodeTypeMemcpy)) return status;
  const bool between_hosts = to_host && from_host, between_devices = !to_host && !from_host;
  const bool waits = to_pageable || between_hosts || (wait && !between_devices && !from_pageable);
  if (waits && id != 0) finish({id});
  return waits ? state().sticky : cudaSuccess;
}

cudaError_t fill(const char* call, void* to, const Rows& rows, int value, cudaStream_t named, bool wait) {
  Stream* stream = find_stream(named, call);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (rows.bytes() == 0) return cudaSuccess;
  if (rows.height > 1 && rows.to_pitch < rows.width) return cudaErrorInvalidPitchValue;
  if (cudaError_t status = check_range(to, rows.to_span(), call)) return status;
  const Allocation* memory = find_memory(to);
  if (!memory) return cudaErrorInvalidValue;
  if (cudaError_t status = check_legacy(*stream)) return status;
  if (wait) {
    if (cudaError_t status = check_unsafe()) return status;
  }
  const bool waits = wait && memory->on_host();
  auto* const target = static_cast<char*>(to);
  Work work{.name = call, .kind = WorkKind::kSet, .bytes = rows.bytes(), .reach = home(memory)};
  work.observed.value = value;
  work.observed.to = place(memory);
  work.run = [=, held = hold(to), name = std::string(call)] {
    check_held(held, name);
    for (size_t row = 0; row < rows.height; ++row) std::memset(target + row * rows.to_pitch, value, rows.width);
  };
  uint64_t id = 0;
  if (cudaError_t status = submit(*stream, std::move(work), &id, cudaGraphNodeTypeMemset)) return status;
  if (waits && id != 0) finish({id});
  return waits ? state().sticky : cudaSuccess;
}

cudaError_t check_devices(int to, int from) {
  return is_device(to) && is_device(from) ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api("cudaMemcpy", [&] { return copy("cudaMemcpy", to, from, {.width = bytes}, kind, nullptr, true); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyAsync",
             [&] { return copy("cudaMemcpyAsync", to, from, {.width = bytes}, kind, stream, false); });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return api("cudaMemcpy2D", [&] {
    return copy("cudaMemcpy2D", to, from, {width, height, to_pitch, from_pitch}, kind, nullptr, true);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpy2DAsync", [&] {
    return copy("cudaMemcpy2DAsync", to, from, {width, height, to_pitch, from_pitch}, kind, stream, false);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return api("cudaMemcpyPeerAsync", [&] {
    if (cudaError_t status = check_devices(to_device, from_device)) return status;
    return copy("cudaMemcpyPeerAsync", to, from, {.width = bytes}, cudaMemcpyDefault, stream, false);
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return api("cudaMemcpyPeer", [&] {
    if (cudaError_t status = check_devices(to_device, from_device)) return status;
    // It is serialised with all work of both devices.
    for (int device : {to_device, from_device}) {
      if (cudaError_t status = check_device_wait(device)) return status;
      finish_device(device);
    }
    if (cudaError_t status = copy("cudaMemcpyPeer", to, from, {.width = bytes}, cudaMemcpyDefault, nullptr, true))
      return status;
    finish_device(current_device());
    return state().sticky;
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return api("cudaMemset", [&] { return fill("cudaMemset", to, {.width = bytes}, value, nullptr, true); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return api("cudaMemsetAsync", [&] { return fill("cudaMemsetAsync", to, {.width = bytes}, value, stream, false); });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return api("cudaMemset2D", [&] { return fill("cudaMemset2D", to, {width, height, pitch}, value, nullptr, true); });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return api("cudaMemset2DAsync", [&] {
    return fill("cudaMemset2DAsync", to, {width, height, pitch}, value, stream, false);
  });
}

}  // extern "C"
}  // namespace cuda_standin
