// Gloo as an engine.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/engine.h"
#include "distributed/store/store.h"

namespace c10d {

/// Where Gloo's connections are made: by interface ("eth0") or by a name or address of this machine; both empty for the
/// one that the machine's name has, or else the loopback.
struct GlooInterface {
  std::string name;
  std::string host;
};

/// Connects each rank with each, within the timeout; all ranks of a group call it with the same part of a store, which
/// nothing else uses. Throws DistBackendError, which names the interface and what failed.
std::unique_ptr<Engine> make_gloo_engine(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                         const GlooInterface& at, std::chrono::milliseconds timeout);

}  // namespace c10d
