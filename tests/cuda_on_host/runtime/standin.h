// The CUDA runtime on the host, for tests: this library defines the toolkit's functions with the toolkit's own
// prototypes, and a program that links it needs neither a device nor a driver. It is hostile where CUDA leaves room:
// device memory can be touched by running device work only, streams are queues whose work is put off and reordered, and
// addresses are not used twice.
//
//   cuda_standin::reset({.devices = 1, .execution = cuda_standin::Execution::kRandom, .seed = 3});
//   ... the program under test ...
//   EXPECT_EQ(cuda_standin::misuse(), "");
//   EXPECT_EQ(cuda_standin::leaks(), "");
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cuda_standin {

/// When work of streams runs. Whatever the choice, a call that waits returns when what it waits for is done, and host
/// functions (cudaLaunchHostFunc) run on a thread of their own.
enum class Execution {
  kEager,   // at once, before the call that submits it returns
  kLazy,    // when something waits for it, and then only what that needs: finds missing synchronisation
  kRandom,  // a few pieces that are ready, of any stream, at any call: finds memory reused across streams
};

struct Options {
  int devices = 2;
  size_t memory_bytes = size_t{1} << 30;  // of each device
  Execution execution = Execution::kLazy;
  uint64_t seed = 0;
  bool protect =
      true;  // host code that touches device memory dies, with a message; costs about 0.1 us a touched page and wait
  bool idle = false;  // work of streams is dropped: what a program's calls cost without it. Not within captures
  bool peer_access = true;  // cudaDeviceEnablePeerAccess may connect any two devices
  int64_t fail_call = -1;   // the call with this number, counted from 0 as calls() does, fails without effect
  cudaError_t fail_with = cudaErrorMemoryAllocation;
  bool fail_releases =
      true;  // that call may also be one that gives something back: then what it gives back stays alive
};

/// The state of a process that has not called CUDA yet. Ends what is pending and takes back what is alive; no other
/// thread may be in a call. The program starts with the default options.
void reset(const Options& options = {});

/// Calls since reset(): of every function that returns a status, but those that read errors.
uint64_t calls();
/// Which function was made to fail by Options::fail_call; "" before that.
std::string failed_call();

/// What a program must not do though a device may not report it, one a line, since reset(); "" if nothing.
std::string misuse();
/// Adds a line to misuse().
void report_misuse(const std::string& text);

/// What is alive, and was made by the program.
struct Live {
  size_t allocations = 0;  // cudaMalloc, cudaMallocAsync
  size_t device_bytes = 0;
  size_t pinned = 0;      // cudaHostAlloc
  size_t registered = 0;  // cudaHostRegister
  size_t streams = 0, events = 0, graphs = 0, execs = 0, user_objects = 0, pools = 0;
  size_t reservations = 0, physical = 0, mappings = 0;  // cuMemAddressReserve, cuMemCreate, cuMemMap
};
Live live();
/// live() in words, one kind a line; "" if nothing is alive.
std::string leaks();
/// live().allocations.
size_t live_allocations();

/// Pieces of work that were submitted and have not run, markers of events and waits among them.
size_t pending_work();

enum class WorkKind { kKernel, kCopy, kSet, kHostFunction, kLibrary, kMarker };
/// A piece of work that ran.
struct Executed {
  std::string name;  // the kernel's, the function's, or the library's
  WorkKind kind = WorkKind::kMarker;
  int device = 0;
  cudaStream_t stream = nullptr;  // as it was named; null for the legacy default stream
  uint64_t bytes = 0;             // copied or set; of a library, read and written, where its stand-in says so
  bool in_graph = false;
};
/// What ran since reset() or clear_trace(), in its order, without markers. clear_trace() does not wait.
std::vector<Executed> trace();
void clear_trace();

/// For stand-ins of libraries: `work` runs on the stream in its turn, or becomes a node of the graph that is captured
/// there. It may throw simt::KernelFault, and may not call CUDA. `bytes` of memory are read and written, each operand's
/// once. Counts as a call.
cudaError_t enqueue(cudaStream_t stream, const char* name, std::function<void()> work, uint64_t bytes = 0);
/// Work of several devices, each of which has a part of it: it runs in its turn once `ready` is true, which is asked
/// from then on, and may touch all devices' memory. Neither calls CUDA.
cudaError_t enqueue_together(cudaStream_t stream, const char* name, std::function<bool()> ready,
                             std::function<void()> work, uint64_t bytes = 0);

/// Whether `bytes` from `pointer` on lie in memory that the current device's work may touch: its own, that of a peer
/// with access, pinned and registered.
bool device_accessible(const void* pointer, size_t bytes = 1);

}  // namespace cuda_standin
