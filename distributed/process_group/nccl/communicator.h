// A communicator of NCCL that does not block the thread that calls it.
#pragma once

#include <nccl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/store/store.h"

namespace c10d {

/// Of one rank on one device. NCCL is asked what goes on, until a deadline, so that abort() ends every call from
/// another thread. Functions throw DistBackendError, with NCCL's own words.
class NcclCommunicator {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Of the current device, with the ranks that call with the same part of the store, where the first leaves NCCL's id.
  NcclCommunicator(Store& store, const std::string& key, int rank, int size, ncclConfig_t config, Deadline deadline);
  /// A part of another's ranks: those that call with the same color, in the order of their keys. All ranks of the
  /// other call; those that want no part, with NCCL_SPLIT_NOCOLOR.
  NcclCommunicator(NcclCommunicator& of, int color, int key, ncclConfig_t config, Deadline deadline);
  /// Gives it back; where something still runs on it, by aborting.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// Makes a call of NCCL's, whose name is `name`, and waits until NCCL has taken it.
  void call(const char* name, const std::function<ncclResult_t(ncclComm_t)>& make, Deadline deadline);
  /// The same within a group of calls, behind which wait() is due.
  void call_in_group(const char* name, const std::function<ncclResult_t(ncclComm_t)>& make);
  void wait(const char* name, Deadline deadline);

  /// What went wrong since; ncclSuccess for nothing.
  ncclResult_t error();
  /// Ends what runs and what is called later. May take a while, from any thread.
  void abort(const std::string& why) noexcept;

 private:
  void check(const char* name, ncclResult_t result);
  void check_usable(const char* name) const;

  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  std::string aborted_;  // why
};

}  // namespace c10d
