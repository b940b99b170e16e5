// The engines that a program has, each of which announces itself where it is linked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "c10/core/device.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/backend.h"
#include "distributed/process_group/types.h"

namespace c10d {

/// How backends of one name are made.
struct BackendPlugin {
  std::string name;  // in small letters
  std::vector<c10::DeviceType> devices;
  std::chrono::milliseconds timeout = kBackendDefaultTimeout;
  /// Whether a backend needs the other ranks: init_process_group then waits for all first.
  bool needs_others = true;
  /// `options`: those that the program gave for this engine; null for none. Their timeout, name and ranks are to be
  /// those of `group`.
  std::function<c10::intrusive_ptr<Backend>(const DistributedBackendOptions& group,
                                            c10::intrusive_ptr<Backend::Options> options)>
      make;
};

/// Adds an engine; one of the same name, which must be announced before, is replaced. Returns true, so that a library
/// can announce its engine before main():
///
///   const bool is_announced = c10d::register_backend({.name = "mine", .devices = {at::kCPU}, .make = make_mine});
bool register_backend(BackendPlugin plugin);

/// Throws, with the target to link, where there is none.
const BackendPlugin& find_backend(const std::string& name);
/// The names of all.
std::vector<std::string> registered_backends();

bool is_backend_available(const std::string& name);
bool is_gloo_available();
bool is_nccl_available();
bool is_mpi_available();
bool is_ucc_available();
bool is_xccl_available();

/// A device and the engine that serves it, for each part of "cpu:gloo,cuda:nccl"; an engine's name alone stands for all
/// its devices, and "" for every device the first engine that serves it. Case does not matter. Throws c10::ValueError
/// for what cannot be read, and c10::Error for engines that are not there.
std::vector<std::pair<c10::DeviceType, std::string>> parse_backends(const std::string& text);

}  // namespace c10d
