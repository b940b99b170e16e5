#include "distributed/process_group/nccl/communicator.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "c10/util/exception.h"

namespace c10d {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kTurn(50);
// How long a communicator that is given back has to end.
constexpr std::chrono::seconds kFarewell(5);

std::string text_of(const char* name, ncclResult_t result, ncclComm_t comm) {
  std::string text = c10::str(name, ": ", ncclGetErrorString(result));
  const char* const more = ncclGetLastError(comm);
  if (more != nullptr && *more != '\0') text += c10::str(" (", more, ")");
  return text;
}

// The first rank's id, by the store.
ncclUniqueId id_of(Store& store, const std::string& key, int rank, Clock::time_point deadline) {
  ncclUniqueId id;
  if (rank == 0) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    TORCH_CHECK_WITH(DistBackendError, result == ncclSuccess, text_of("ncclGetUniqueId", result, nullptr));
    store.set(key, std::vector<uint8_t>(id.internal, id.internal + sizeof id.internal));
    return id;
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  store.wait({key}, std::max(left, std::chrono::milliseconds(1)));
  const std::vector<uint8_t> bytes = store.get(key);
  TORCH_CHECK_WITH(DistBackendError, bytes.size() == sizeof id.internal, "ncclGetUniqueId: rank 0 has left ",
                   bytes.size(), " bytes in the store, and an id has ", sizeof id.internal);
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(Store& store, const std::string& key, int rank, int size, ncclConfig_t config,
                                   Deadline deadline) {
  config.blocking = 0;
  const ncclUniqueId id = id_of(store, key, rank, deadline);
  check("ncclCommInitRankConfig", ncclCommInitRankConfig(&comm_, size, id, rank, &config));
  try {
    wait("ncclCommInitRankConfig", deadline);
  } catch (const c10::Error& e) {
    abort(e.msg());
    throw;
  }
}

NcclCommunicator::NcclCommunicator(NcclCommunicator& of, int color, int key, ncclConfig_t config, Deadline deadline) {
  config.blocking = 0;
  of.call(
      "ncclCommSplit", [&](ncclComm_t comm) { return ncclCommSplit(comm, color, key, &comm_, &config); }, deadline);
  if (comm_ == nullptr) return;
  try {
    wait("ncclCommSplit", deadline);
  } catch (const c10::Error& e) {
    abort(e.msg());
    throw;
  }
}

NcclCommunicator::~NcclCommunicator() {
  try {
    if (comm_ != nullptr)
      call(
          "ncclCommFinalize", [](ncclComm_t comm) { return ncclCommFinalize(comm); }, Clock::now() + kFarewell);
  } catch (const c10::Error& e) {
    abort(e.msg());
  }
  if (comm_ != nullptr) ncclCommDestroy(comm_);
}

void NcclCommunicator::check_usable(const char* name) const {
  TORCH_CHECK_WITH(DistBackendError, aborted_.empty(), name, ": the communicator was aborted: ", aborted_);
}

void NcclCommunicator::check(const char* name, ncclResult_t result) {
  TORCH_CHECK_WITH(DistBackendError, result == ncclSuccess || result == ncclInProgress, text_of(name, result, comm_));
}

void NcclCommunicator::call_in_group(const char* name, const std::function<ncclResult_t(ncclComm_t)>& make) {
  const std::lock_guard<std::mutex> lock(mutex_);
  check_usable(name);
  check(name, make(comm_));
}

void NcclCommunicator::call(const char* name, const std::function<ncclResult_t(ncclComm_t)>& make, Deadline deadline) {
  call_in_group(name, make);
  wait(name, deadline);
}

void NcclCommunicator::wait(const char* name, Deadline deadline) {
  while (true) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      check_usable(name);
      ncclResult_t state = ncclSuccess;
      check("ncclCommGetAsyncError", ncclCommGetAsyncError(comm_, &state));
      check(name, state);
      if (state == ncclSuccess) return;
    }
    TORCH_CHECK_WITH(DistBackendError, Clock::now() < deadline, name, ": timed out");
    std::this_thread::sleep_for(kTurn);
  }
}

ncclResult_t NcclCommunicator::error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (comm_ == nullptr) return ncclSuccess;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
  if (asked != ncclSuccess) return asked;
  return state == ncclInProgress ? ncclSuccess : state;
}

void NcclCommunicator::abort(const std::string& why) noexcept {
  ncclComm_t comm = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted_ = why.empty() ? "by this rank" : why;
    std::swap(comm, comm_);
  }
  if (comm != nullptr) ncclCommAbort(comm);
}

}  // namespace c10d
