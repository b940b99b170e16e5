// Process groups of CPU tensors on Gloo.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "distributed/process_group/gloo/gloo_engine.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/store/store.h"

namespace c10d {

constexpr const char* GLOO_BACKEND_NAME = "gloo";

/// All collectives, and messages between two ranks, over TCP. See HostBackend for what happens when something fails.
///
///   auto store = c10::make_intrusive<c10d::TCPStore>("10.0.0.1", store_options);
///   c10d::ProcessGroupGloo group(store, rank, size, c10d::ProcessGroupGloo::Options::create());
///   std::vector<at::Tensor> t{torch::ones({4})};
///   group.allreduce(t)->wait();
class ProcessGroupGloo : public HostBackend {
 public:
  struct Options : HostOptions {
    explicit Options(std::chrono::milliseconds timeout = kBackendDefaultTimeout)
        : HostOptions(GLOO_BACKEND_NAME, timeout) {}
    static c10::intrusive_ptr<Options> create(std::chrono::milliseconds timeout = kBackendDefaultTimeout) {
      return c10::make_intrusive<Options>(timeout);
    }
    /// Where connections are made; none: createDefaultDevice().
    std::vector<GlooInterface> devices;
  };

  /// Throws DistBackendError where the ranks cannot be connected within the options' timeout.
  ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   c10::intrusive_ptr<Options> options = Options::create());

  /// By interface, as "eth0"; by a name or address of this machine; and as GLOO_SOCKET_IFNAME says (the first of its
  /// names), or else by the machine's own name.
  static GlooInterface createDeviceForInterface(const std::string& interface) { return {interface, {}}; }
  static GlooInterface createDeviceForHostname(const std::string& hostname) { return {{}, hostname}; }
  static GlooInterface createDefaultDevice();
};

}  // namespace c10d
