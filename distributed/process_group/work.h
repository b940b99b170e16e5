// An operation of a process group that has been started.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"
#include "c10/value/ivalue_class.h"
#include "distributed/process_group/types.h"

namespace c10d {

/// What an operation does; numbers are PyTorch's.
enum class OpType : uint8_t {
  BROADCAST = 0,
  ALLREDUCE = 1,
  ALLREDUCE_COALESCED = 2,
  REDUCE = 3,
  ALLGATHER = 4,
  _ALLGATHER_BASE = 5,
  ALLGATHER_COALESCED = 6,
  GATHER = 7,
  SCATTER = 8,
  REDUCE_SCATTER = 9,
  ALLTOALL_BASE = 10,
  ALLTOALL = 11,
  SEND = 12,
  RECV = 13,
  RECVANYSOURCE = 14,
  BARRIER = 15,
  _REDUCE_SCATTER_BASE = 16,
  COALESCED = 17,
  _ALLREDUCE_SPARSE = 18,
  UNKNOWN = 100,
};

/// "ALLREDUCE", ...
std::string opTypeToString(OpType type);
/// Whether it is between two ranks, and not of all.
bool isP2POp(OpType type);

/// Thread-safe. Tensors that the operation reads or writes must not be touched before it is done.
class Work : public torch::CustomClassHolder {
 public:
  explicit Work(int rank = -1, OpType type = OpType::UNKNOWN, const char* profilingTitle = nullptr,
                const std::optional<std::vector<at::Tensor>>& inputs = std::nullopt);
  ~Work() override;

  /// Whether it is done, with an error or not.
  virtual bool isCompleted();
  /// Whether it is done without an error. Throws where it is not done.
  virtual bool isSuccess() const;
  /// Its error; null for none.
  virtual std::exception_ptr exception() const;
  /// The rank whose message was received, of recvAnysource and recv.
  virtual int sourceRank() const;
  /// The tensors that it wrote. Throws where it is not done.
  virtual std::vector<at::Tensor> result();
  /// What follows comes after the operation: on the host, nothing but waiting does that.
  virtual void synchronize();
  /// Waits until it is done, and throws its error. Throws DistBackendError where it is not done after `timeout`
  /// (kNoTimeout: the operation has a deadline of its own); it goes on then. Returns true.
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout);
  /// The current stream waits; on the host, the calling thread does.
  virtual void blockCurrentStream();
  /// Ends it with an error, where the backend can end single operations. Throws where it cannot.
  virtual void abort();
  /// Of the tensors that it writes (a list); completed with the work.
  virtual c10::intrusive_ptr<c10::ivalue::Future> getFuture();
  /// How long it took, in ms. Throws where it is not done.
  virtual float getDuration() const;
  /// Its number among the operations of the group, from 0 on; those between two ranks are not counted.
  virtual uint64_t getSequencenumber() const;
  virtual std::chrono::milliseconds getTimeout() const;
  OpType retrieveOpType() const { return type_; }

  /// A work that is done when the future is.
  static c10::intrusive_ptr<Work> create_from_future(const c10::intrusive_ptr<c10::ivalue::Future>& future);

 protected:
  /// To be called once, with an error or none.
  void finish(std::exception_ptr error = nullptr);
  /// Throws the error, too.
  void finishAndThrow(std::exception_ptr error);

  const int rank_;
  const OpType type_;
  std::vector<at::Tensor> outputs_;  // set before it is finished
  int source_rank_ = -1;             // likewise
  uint64_t sequence_number_ = 0;
  std::chrono::milliseconds timeout_ = kUnsetTimeout;

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;
  std::condition_variable done_;
  bool completed_ = false;
  std::exception_ptr exception_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  Clock::time_point start_ = Clock::now(), end_;
};

}  // namespace c10d
