// What the parts of RPC share: workers, settings, identities.
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

#include "c10/util/intrusive_ptr.h"
#include "c10/value/future.h"
#include "c10/value/ivalue.h"
#include "distributed/store/store.h"

namespace torch::distributed::rpc {

/// A worker's rank.
using worker_id_t = int16_t;
using local_id_t = int64_t;
using JitFuture = c10::ivalue::Future;
using FuturePtr = c10::intrusive_ptr<JitFuture>;

/// Seconds. A timeout of 0 is no limit; kUnsetRpcTimeout is that of the options.
inline constexpr float kDefaultRpcTimeoutSeconds = 60;
inline constexpr float kUnsetRpcTimeout = -1;
inline constexpr float kSecToMsConversion = 1000;
inline constexpr const char* kDefaultInitMethod = "env://";
inline constexpr int kDefaultNumWorkerThreads = 16;

/// Rounded, and at least 1 for more than 0 seconds, since 0 is no limit.
std::chrono::milliseconds to_milliseconds(float seconds);

/// A worker: its name and its rank. Throws c10::ValueError for a name that is not of 1 to 128 letters, digits, '-', '_'
/// and ':', or for a rank that is not of 0 to 32767.
struct WorkerInfo final {
  WorkerInfo(std::string name, int64_t id);

  static constexpr size_t MAX_NAME_LEN = 128;

  std::string name_;
  worker_id_t id_;

  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};
/// WorkerInfo(id=0, name=worker0)
std::ostream& operator<<(std::ostream& out, const WorkerInfo& worker);

/// Which worker: by name, by rank, or as get_worker_info gives it.
class WorkerRef {
 public:
  WorkerRef(const char* name) : name_(name), by_name_(true) {}
  WorkerRef(std::string name) : name_(std::move(name)), by_name_(true) {}
  WorkerRef(const WorkerInfo& info) : id_(info.id_) {}
  template <std::integral Rank>
  WorkerRef(Rank rank) : id_(static_cast<int64_t>(rank)) {}
  bool by_name() const { return by_name_; }
  const std::string& name() const { return name_; }
  int64_t id() const { return id_; }

 private:
  std::string name_;
  int64_t id_ = -1;
  bool by_name_ = false;
};

/// Settings of init_rpc. Throws of it: c10::ValueError for what is negative or not in its range.
///
///   RpcBackendOptions(30.0f, "tcp://10.0.0.1:29500")     or     RpcBackendOptions{.num_worker_threads = 4}
struct RpcBackendOptions {
  /// Of each call that is given none, and of finding the other workers. 0: no limit.
  float rpcTimeoutSeconds = kDefaultRpcTimeoutSeconds;
  /// How the workers find each other: "env://", "tcp://host:port", "file:///path" (c10d::rendezvous).
  std::string initMethod = kDefaultInitMethod;
  /// In place of an initMethod.
  c10::intrusive_ptr<c10d::Store> store = nullptr;
  /// How many functions of other workers run here at once; further ones wait.
  int num_worker_threads = kDefaultNumWorkerThreads;
  /// The name or address of this machine that the others connect to. "": that of the interface GLOO_SOCKET_IFNAME,
  /// else of the machine's name, or 127.0.0.1 where it has none.
  std::string address = {};
  /// Of what is sent and received, in bytes. At most 2^31 - 1.
  int64_t max_message_bytes = (int64_t{1} << 31) - 1;
  /// In seconds: a worker that was not heard of for so long is taken for dead: its references end, and so do calls to
  /// it that have no timeout.
  float lease = 30;

  void check() const;
};

/// Of messages that RPC sends for itself: they are sent again `maxRetries` times where they fail, first after
/// `rpcRetryDuration`, then after `retryBackoff` times as long as before.
struct RpcRetryOptions {
  int maxRetries = 5;
  std::chrono::milliseconds rpcRetryDuration = std::chrono::seconds(1);
  float retryBackoff = 1.5f;
};

/// A number that one worker gave: no other thing of its kind has it.
struct GloballyUniqueId final {
  worker_id_t createdOn_ = -1;
  local_id_t localId_ = -1;

  static constexpr int kLocalIdBits = 48;

  /// A tuple of the two numbers, and back. Throws c10::TypeError for another value, and c10::ValueError for a number
  /// that is no worker's.
  c10::IValue toIValue() const;
  static GloballyUniqueId fromIValue(const c10::IValue& value);

  friend auto operator<=>(const GloballyUniqueId&, const GloballyUniqueId&) = default;
  struct Hash {
    size_t operator()(const GloballyUniqueId& id) const {
      return std::hash<uint64_t>()(static_cast<uint64_t>(id.createdOn_) << kLocalIdBits ^
                                   static_cast<uint64_t>(id.localId_));
    }
  };
};
/// "GloballyUniqueId(created_on=0, local_id=3)"
std::string to_string(const GloballyUniqueId& id);
std::ostream& operator<<(std::ostream& out, const GloballyUniqueId& id);

using RRefId = GloballyUniqueId;
using ForkId = GloballyUniqueId;

}  // namespace torch::distributed::rpc

template <>
struct std::hash<torch::distributed::rpc::WorkerInfo> {
  size_t operator()(const torch::distributed::rpc::WorkerInfo& worker) const noexcept {
    return static_cast<size_t>(worker.id_);
  }
};
