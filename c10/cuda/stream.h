// Streams of CUDA devices, their pools, and the current stream of a thread.
//
//   c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
//   { c10::cuda::CUDAStreamGuard guard(stream);  y = x + 1; }
//   stream.synchronize();
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "c10/core/device.h"
#include "c10/core/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda {

/// How many priorities pools tell apart: 0, the lowest, down to -3 where the device has so many.
inline constexpr int max_compile_time_stream_priorities = 4;

/// A stream of a CUDA device: a value like c10::Stream, of which it is the CUDA kind. It owns nothing; streams of the
/// pools live as long as the process. Its number is 0 for the device's default stream, negative for one of a pool, and
/// the handle itself for a stream that was made elsewhere.
class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };

  /// Throws c10::Error for a stream of another type of device.
  explicit CUDAStream(Stream stream) : stream_(stream) {
    TORCH_CHECK(stream.device_type() == DeviceType::CUDA, "CUDAStream: expected a stream of a CUDA device, got one of ",
                stream.device());
  }
  explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}

  bool operator==(const CUDAStream& other) const noexcept = default;

  operator cudaStream_t() const { return stream(); }
  operator Stream() const { return unwrap(); }

  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return stream_.device_index(); }
  Device device() const { return Device(DeviceType::CUDA, device_index()); }
  StreamId id() const { return stream_.id(); }

  /// Whether all work put on the stream so far is done.
  bool query() const;
  /// Waits until it is. Counts as a synchronizing call (warn_or_error_on_sync).
  void synchronize() const;
  /// A lower number is a higher priority.
  int priority() const;
  /// The runtime's handle; null for the default stream. Makes a pool's stream if nobody has asked for it yet.
  cudaStream_t stream() const;
  Stream unwrap() const { return stream_; }

  StreamData3 pack3() const { return stream_.pack3(); }
  static CUDAStream unpack3(StreamId stream_id, DeviceIndex device_index, DeviceType device_type) {
    return CUDAStream(Stream::unpack3(stream_id, device_index, device_type));
  }
  /// The lowest and the highest priority that pools give on the current device: {0, -3} where there are four or more.
  static std::tuple<int, int> priority_range();

 private:
  Stream stream_;
};

/// A stream of a device's pool of 32 a priority, the next one in turn at every call: more than 32 share. -1 is the
/// current device; a priority out of range counts as the nearest. Streams of pools do not wait for the default stream.
CUDAStream getStreamFromPool(int priority, DeviceIndex device = -1);
/// The highest or the lowest priority.
CUDAStream getStreamFromPool(bool isHighPriority = false, DeviceIndex device = -1);
/// A stream that was made elsewhere, which must outlive its use here. Null is the default stream.
CUDAStream getStreamFromExternal(cudaStream_t ext_stream, DeviceIndex device_index);
/// The stream of those who ask for none, with which other blocking streams keep order. -1 is the current device.
CUDAStream getDefaultCUDAStream(DeviceIndex device_index = -1);
/// The calling thread's current stream of a device: the default one unless it is set. -1 is the current device.
CUDAStream getCurrentCUDAStream(DeviceIndex device_index = -1);
/// Sets the calling thread's current stream of the stream's device. The current device stays; guards change both and go
/// back.
void setCurrentCUDAStream(CUDAStream stream);

/// "stream 3 on device cuda:0"
inline void to_text(std::string& out, const CUDAStream& stream) {
  to_text(out, stream.unwrap());
}
template <TextStream Out, SameType<CUDAStream> X>
Out& operator<<(Out& out, const X& stream) {
  return out << stream.unwrap();
}

}  // namespace c10::cuda

namespace std {
template <>
struct hash<c10::cuda::CUDAStream> {
  size_t operator()(const c10::cuda::CUDAStream& stream) const noexcept { return hash<c10::Stream>()(stream.unwrap()); }
};
}  // namespace std

namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromExternal;
using c10::cuda::getStreamFromPool;
using c10::cuda::setCurrentCUDAStream;
}  // namespace at::cuda
