// A group without other ranks: for plans of many ranks in one process.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "distributed/process_group/host_backend.h"

namespace c10d {

/// An operation that a rank has called.
struct FakeCall {
  OpType type = OpType::UNKNOWN;
  /// That this rank gives: of its input, or, of a reduce-scatter, of all parts.
  size_t bytes = 0;
  int peer = -1;  // the root, or whom a message is to or from
};

/// Takes every operation of CPU tensors, checks its arguments as all backends do, notes it, and is done with it at
/// once: no other rank is needed, and no thread is made. What others would have given is not there: gathered parts are
/// this rank's own, scattered ones and received messages stay as they were, sums are this rank's alone.
///
/// It is the engine "fake" of init_process_group where //distributed/process_group/fake is linked.
///
///   c10d::FakeProcessGroup group(/*rank=*/3, /*size=*/1024);
///   group.allreduce(tensors);
///   group.calls()[0].bytes
class FakeProcessGroup : public HostBackend {
 public:
  struct Options : HostOptions {
    explicit Options(std::chrono::milliseconds timeout = kBackendDefaultTimeout) : HostOptions("fake", timeout) {
      threads = 0;
      compare_calls = false;
    }
    static c10::intrusive_ptr<Options> create(std::chrono::milliseconds timeout = kBackendDefaultTimeout) {
      return c10::make_intrusive<Options>(timeout);
    }
    /// Every operation fails.
    bool error_on_collective = false;
  };

  FakeProcessGroup(int rank, int size, c10::intrusive_ptr<Options> options = Options::create());
  static c10::intrusive_ptr<FakeProcessGroup> _create_internal(
      int rank, int size, c10::intrusive_ptr<Options> options = Options::create()) {
    return c10::make_intrusive<FakeProcessGroup>(rank, size, std::move(options));
  }

  /// Since the last clear_calls(), in order.
  std::vector<FakeCall> calls() const;
  void clear_calls();

  struct Log;

 private:
  FakeProcessGroup(std::shared_ptr<Log> log, int rank, int size, c10::intrusive_ptr<Options> options);

  const std::shared_ptr<Log> log_;
};

}  // namespace c10d
