// Process groups of tensors on CUDA devices, by NCCL.
#pragma once

#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "c10/cuda/stream.h"
#include "distributed/process_group/engine_backend.h"
#include "distributed/store/store.h"

namespace c10d {

constexpr const char* NCCL_BACKEND_NAME = "nccl";
constexpr std::chrono::milliseconds kProcessGroupNCCLDefaultTimeout(10 * 60 * 1000);

class NcclEngine;

/// All collectives but the bitwise reductions, and messages between two ranks. A rank has a device of its own: that of
/// its tensors, and of barriers its bound device (setBoundDeviceId) or the current one.
///
///   c10d::ProcessGroupNCCL group(store, rank, size, c10d::ProcessGroupNCCL::Options::create());
///   std::vector<at::Tensor> t{torch::ones({4}, torch::Device(torch::kCUDA, rank))};
///   group.allreduce(t)->wait();            // what the current stream does next comes after it
///
/// Operations run on a stream of the group's, behind what the current stream has been given. wait() has the current
/// stream wait; with a time, or with TORCH_NCCL_BLOCKING_WAIT=1, and for barriers, the calling thread waits and sees
/// the operation's error. Without, an error is what the next call throws. The tensors are kept until it is done, so
/// they may be let go at once. A thread looks after what runs: an operation that is not done within its timeout, or an
/// error of NCCL's, ends the communicators of all ranks, and says which ranks have not called it. Communicators are
/// made by the first operation of all ranks, or what is coalesced, on a device, those of two ranks by their first
/// message; within a graph that is captured there must be one already. Messages of two ranks arrive in their order,
/// whatever their tags.
///
/// NCCL does not see that ranks call different operations: such a group ends by its timeout, or says it at once with
/// TORCH_DISTRIBUTED_DEBUG=DETAIL.
class ProcessGroupNCCL final : public EngineBackend {
 public:
  struct Options : EngineOptions {
    explicit Options(bool is_high_priority_stream = false,
                     std::chrono::milliseconds timeout = kProcessGroupNCCLDefaultTimeout)
        : EngineOptions(NCCL_BACKEND_NAME, timeout), is_high_priority_stream(is_high_priority_stream) {}
    static c10::intrusive_ptr<Options> create(bool is_high_priority_stream = false,
                                              std::chrono::milliseconds timeout = kProcessGroupNCCLDefaultTimeout) {
      return c10::make_intrusive<Options>(is_high_priority_stream, timeout);
    }
    bool is_high_priority_stream;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;  // it never blocks
    /// A group whose communicator this one's is made of where it has one, all its ranks with a color, or by
    /// performNocolorSplit().
    c10::intrusive_ptr<ProcessGroupNCCL> split_from;
    int64_t split_color = 0;
  };

  ProcessGroupNCCL(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   c10::intrusive_ptr<Options> options = Options::create());
  /// Waits for what runs. The last reference may go in a callback of an operation's future.
  ~ProcessGroupNCCL() override;

  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }

  /// Makes the communicator of all ranks on a device, which the first operation does otherwise.
  void eagerConnectSingleDevice(c10::Device device);
  /// Takes part in a split by others on the device, without a color.
  void performNocolorSplit(c10::Device device);

  /// What is called between these goes at the same time, and has one work: messages, allreduce (not of PREMUL_SUM),
  /// broadcast, _allgather_base and _reduce_scatter_base, of contiguous tensors; the work of others has an error,
  /// and the group is of no more use. Null for none.
  void startCoalescing() override;
  c10::intrusive_ptr<Work> endCoalescing() override;

  void shutdown() override;

 private:
  class DeviceOperation;
  using DeviceOperationPtr = c10::intrusive_ptr<DeviceOperation>;

  OperationPtr make_operation(const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                              std::vector<at::Tensor> outputs, Body body, uint64_t record) override;
  void enqueue(const OperationPtr& operation) override;
  void carry_on(const OperationPtr& operation) override;
  static void check_coalescable(const Operation& operation);
  void issue(const std::vector<OperationPtr>& operations, bool together);
  void put_on_stream(const std::vector<OperationPtr>& operations, c10::Device device, bool together);
  NcclEngine& engine() const;
  c10::Device device_of(const std::vector<OperationPtr>& operations) const;
  c10::cuda::CUDAStream stream_of(c10::Device device);
  void look_after();
  void look_at(const OperationPtr& operation);
  void end_with(const std::string& why);
  std::string whom_it_waits_for(const Operation& operation);
  void end_watchdog();

  const c10::intrusive_ptr<Options> nccl_options_;
  const bool waits_block_;

  std::mutex issue_mutex_;  // of what puts operations on streams
  std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams_;
  bool coalesces_ = false;
  std::vector<OperationPtr> coalesced_;

  // Guarded by mutex_.
  std::deque<OperationPtr> started_;
  std::condition_variable changed_;
  std::thread watchdog_;
};

}  // namespace c10d
