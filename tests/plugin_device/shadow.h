// "shadow": a device outside the library's tree, as another team would write one. It has two devices, whose memory is closed to
// the host: it can be read and written only while one of its kernels or copies runs. Work is queued on streams, each with a
// thread of its own that runs late; nothing orders two streams but events. What it has no kernel for runs on the CPU.
//
//   torch::Tensor x = torch::ones({2, 3}, "shadow");     // linking //tests/plugin_device:shadow is enough
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "c10/core/device.h"
#include "c10/core/generator.h"
#include "c10/core/stream.h"

namespace shadow {

// Calls of its own kernels and copies, and calls that went to the CPU, since the program began.
struct Counts {
  int64_t own, on_cpu;
};
Counts counts();
// While `held`, no stream begins a task: work that nobody waits for stays undone.
void hold_streams(bool held);

// --- for its kernels ---

// Opens blocks of device memory while it lives; other addresses are ignored. Several threads may open a block at once.
class Open {
 public:
  explicit Open(std::vector<const void*> addresses);
  ~Open();

 private:
  std::vector<const void*> addresses_;
};
bool is_pinned(const void* address);

// The thread's stream on a device. A task goes to its end; what a task throws comes out of wait(). wait_for(a, b): what b gets from
// now on runs after what a has now.
c10::Stream current_stream(c10::DeviceIndex device);
void push(c10::Stream stream, std::function<void()> task);
void wait(c10::Stream stream);
void wait_for(c10::Stream first, c10::Stream then);

// The CPU generator that gives the numbers of a generator of the device, or of the default one.
at::Generator engine_of(const std::optional<at::Generator>& generator, c10::Device device);

}  // namespace shadow
