// What the stand-in tells a profiler: stand-ins of tools are built on it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/cuda_on_host/runtime/standin.h"

namespace cuda_standin {

/// A call of the program, told when it ends. Times are nanoseconds of the steady clock.
struct ObservedCall {
  const char* name = "";
  bool driver = false;
  uint64_t correlation = 0;  // what the call caused has the same
  cudaError_t status = cudaSuccess;
  uint64_t start_ns = 0, end_ns = 0;
};

enum class Place { kPageable, kPinned, kDevice };

/// A piece of work that ran; as Executed, and more.
struct ObservedWork {
  std::string name;
  WorkKind kind = WorkKind::kMarker;
  int device = 0;
  uint64_t stream = 0;       // its number
  uint64_t correlation = 0;  // of the call that submitted it
  uint64_t start_ns = 0, end_ns = 0;
  dim3 grid, block;
  size_t shared_bytes = 0;
  uint64_t bytes = 0;
  int value = 0;  // of a fill
  Place from = Place::kDevice, to = Place::kDevice;
  int from_device = 0, to_device = 0;
  uint32_t graph = 0;  // the executable graph, 0 outside
  uint64_t node = 0;
};

enum class WaitKind { kNone, kEvent, kStreamForEvent, kStream, kDevice };
/// A call that waits, or makes a stream wait; told before the call itself.
struct ObservedWait {
  WaitKind kind = WaitKind::kNone;
  uint64_t correlation = 0;
  uint64_t stream = 0, event = 0;
  int device = 0;
  uint64_t start_ns = 0, end_ns = 0;
};

/// Called with the stand-in's lock held, in the thread that calls or that runs the work. May not call CUDA.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void called(const ObservedCall& call) = 0;
  virtual void ran(const ObservedWork& work) = 0;
  virtual void waited(const ObservedWait& wait) = 0;
};
/// Null ends it. Outlives reset().
void set_observer(Observer* observer);
/// The newest call's.
uint64_t last_correlation();

/// The lock of the stand-in, for those who share state with an observer.
class ObserverLock {
 public:
  ObserverLock();
  ~ObserverLock();
  ObserverLock(const ObserverLock&) = delete;
  ObserverLock& operator=(const ObserverLock&) = delete;
};

}  // namespace cuda_standin
