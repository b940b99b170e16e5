// Operations of memory of CUDA devices by NCCL.
#pragma once

#include <nccl.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "distributed/process_group/engine.h"
#include "distributed/process_group/nccl/communicator.h"
#include "distributed/store/store.h"

namespace c10d {

/// Puts operations on the current stream of the current device; they are done when the stream has come past them. One
/// thread calls at a time, but for error() and abort().
class NcclEngine final : public Engine {
 public:
  NcclEngine(c10::intrusive_ptr<Store> store, int rank, int size, const ncclConfig_t& config);

  /// Makes the communicator that an operation of all ranks, or a message to or from `peer` alone, wants, where there is
  /// none. All ranks, or both, call it.
  void prepare(const Call& call, int peer = -1);
  /// The communicator of all ranks becomes a part of another engine's, with prepare().
  void split_from(NcclEngine& parent, int color);
  /// What other engines do when one splits off that this rank is not in.
  void split_off_nothing(const Call& call);
  /// What `calls` calls goes at the same time, on the communicator of all ranks.
  void in_group(const Call& call, const std::function<void()>& calls);
  /// What NCCL says went wrong; "" for nothing.
  std::string error();

  const char* name() const override { return "NCCL"; }
  c10::DeviceType device_type() const override { return c10::DeviceType::CUDA; }
  bool averages() const override { return true; }
  void check_reduction(const char* operation, const ReduceOp& op, c10::ScalarType dtype) const override;

  void send(const Call& call, const void* data, size_t bytes, int to) override;
  void receive(const Call& call, void* data, size_t bytes, int from) override;
  int receive_any(const Call& call, void* data, size_t bytes) override;
  void send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) override;
  void barrier(const Call& call) override;
  void broadcast(const Call& call, void* data, size_t bytes, int root) override;
  void all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) override;
  void reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) override;
  void all_gather(const Call& call, const void* in, size_t bytes, void* out) override;
  void all_gather_together(const Call& call, const std::vector<Gathered>& parts) override;
  void gather(const Call& call, const void* in, size_t bytes, void* out, int root) override;
  void scatter(const Call& call, const void* in, void* out, size_t bytes, int root) override;
  void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) override;
  void reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts, ReduceOp::RedOpType op) override;
  void all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                  const std::vector<size_t>& out_bytes) override;
  void abort(const std::string& why) noexcept override;

 private:
  using Key = std::pair<int, int>;  // device, and the message's other rank or -1

  bool has(const Key& key);
  NcclCommunicator& communicator(int peer = -1);
  template <class Make>
  void call_one(const char* name, NcclCommunicator& communicator, const Call& call, const Make& make);
  template <class Make>
  void call_message(const char* name, int peer, const Call& call, const Make& make);
  template <class Make>
  void call_group(const char* name, const Call& call, const Make& make);

  const c10::intrusive_ptr<Store> store_;
  const ncclConfig_t config_;
  NcclEngine* parent_ = nullptr;
  int color_ = 0;
  bool in_group_ = false;

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<NcclCommunicator>> communicators_;
  std::string aborted_;
  std::vector<std::future<void>> aborting_;
};

}  // namespace c10d
