// References to values that live on another worker.
//
//   RRefPtr table = remote("server", "make_table", {1000, 16});      // rpc.h; returns at once
//   at::Tensor rows = table->rpc_sync<at::Tensor>("rows_of", {indices});   // runs where the table is, and is given it
//   at::Tensor all = remote("server", "ones")->to_here<at::Tensor>();      // a copy of the value
//
// The worker that has the value is its owner. It counts the references that others have, and lets the value go with the
// last one. References can be passed on as arguments and results, also by workers that are not the owner. A worker that
// ends without a word loses its references when its lease (RpcBackendOptions) is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "distributed/rpc/agent.h"
#include "distributed/rpc/functions.h"
#include "distributed/rpc/rref_interface.h"
#include "distributed/rpc/types.h"

namespace torch::distributed::rpc {

class RRefContext;

}  // namespace torch::distributed::rpc

namespace torch::distributed::autograd {
class DistAutogradContainer;
}

namespace torch::distributed::rpc {

/// A reference. Thread-safe. Names are Python's, and libtorch's where it has others.
class RRef : public c10::RRefInterface {
 public:
  ~RRef() override = default;

  worker_id_t owner() const override { return owner_; }
  std::string ownerName() const override;
  WorkerInfo ownerWorkerInfo() const;
  const RRefId& rrefId() const { return rref_id_; }
  /// c10::AnyType: values carry their own types.
  const c10::TypePtr type() const override { return c10::AnyType::get(); }
  std::string owner_name() const { return ownerName(); }
  bool is_owner() const { return isOwner(); }
  const RRefId& rref_id() const { return rref_id_; }
  bool confirmed_by_owner() const { return confirmedByOwner(); }

  /// The value: a copy of it, or, on its owner, the value itself, whatever the timeout; waits until it is there. Throws
  /// what the function threw that was to make it, c10::DistNetworkError where the owner does not answer within the
  /// timeout (seconds; 0: none), and c10::TypeError where the value is one that cannot be sent. Within an autograd
  /// context gradients flow through.
  template <class R = c10::IValue>
  R to_here(float timeout = kUnsetRpcTimeout) const {
    return detail::Convert<R>::to(fetch(timeout));
  }
  /// Runs torch::distributed::autograd::backward on the owner, with the value as the root. On the owner -1 is a
  /// backward pass of this worker alone; elsewhere it throws c10::ValueError.
  void backward(int64_t context_id = -1, bool retain_graph = false) const;
  /// The value itself; throws c10::Error on a worker that is not the owner.
  virtual c10::IValue local_value() const = 0;

  /// Calls a function on the owner that is given the value (or, where it takes an RRefPtr, the reference) and then
  /// `args`; as rpc_sync, rpc_async and remote.
  template <class R = c10::IValue>
  R rpc_sync(const std::string& function, const Args& args = {}, float timeout = kUnsetRpcTimeout) const;
  FuturePtr rpc_async(const std::string& function, const Args& args = {}, float timeout = kUnsetRpcTimeout) const;
  RRefPtr remote(const std::string& function, const Args& args = {}, float timeout = kUnsetRpcTimeout) const;

 protected:
  RRef(std::shared_ptr<RRefContext> context, worker_id_t owner, RRefId id)
      : context_(std::move(context)), owner_(owner), rref_id_(id) {}
  virtual c10::IValue fetch(float timeout) const = 0;
  Args with_self(const Args& args) const;

  const std::shared_ptr<RRefContext> context_;

 private:
  const worker_id_t owner_;
  const RRefId rref_id_;
};

/// A reference on its owner: the value, or the error that came in its place.
class OwnerRRef final : public RRef {
 public:
  OwnerRRef(std::shared_ptr<RRefContext> context, worker_id_t owner, RRefId id) : RRef(std::move(context), owner, id) {}

  bool isOwner() const override { return true; }
  bool confirmedByOwner() const override { return true; }
  bool hasValue() const { return value_->hasValue(); }
  bool has_value() const { return hasValue(); }
  c10::IValue local_value() const override { return fetch(kUnsetRpcTimeout); }
  /// Once only.
  void set_value(c10::IValue value) { value_->markCompleted(std::move(value)); }
  void set_error(std::exception_ptr error) { value_->setErrorIfNeeded(std::move(error)); }
  const FuturePtr& future() const { return value_; }
  void setValue(c10::IValue value) { set_value(std::move(value)); }
  void setError(std::exception_ptr error) { set_error(std::move(error)); }
  FuturePtr getFuture() const { return value_; }
  /// Waits for it.
  c10::IValue getValue() const { return local_value(); }

 protected:
  c10::IValue fetch(float timeout) const override;

 private:
  const FuturePtr value_ = make_future();
};

/// A reference on another worker.
class UserRRef final : public RRef {
 public:
  UserRRef(std::shared_ptr<RRefContext> context, worker_id_t owner, RRefId id, ForkId fork, FuturePtr confirmed)
      : RRef(std::move(context), owner, id), fork_id_(fork), confirmed_(std::move(confirmed)) {}
  ~UserRRef() override;

  bool isOwner() const override { return false; }
  bool confirmedByOwner() const override { return confirmed_->hasValue(); }
  c10::IValue local_value() const override;
  const ForkId& fork_id() const { return fork_id_; }
  const ForkId& forkId() const { return fork_id_; }
  c10::IValue toHere(float timeoutSeconds = kUnsetRpcTimeout) const { return fetch(timeoutSeconds); }
  const FuturePtr& confirmed() const { return confirmed_; }

 protected:
  c10::IValue fetch(float timeout) const override;

 private:
  const ForkId fork_id_;
  const FuturePtr confirmed_;  // completed when the owner has answered
};

/// The references of a worker: those it has, those that others have of its values, and those on their way. Thread-safe.
class RRefContext : public std::enable_shared_from_this<RRefContext> {
 public:
  using Clock = std::chrono::steady_clock;
  RRefContext(std::weak_ptr<RpcAgent> agent, std::shared_ptr<autograd::DistAutogradContainer> autograd, worker_id_t own,
              std::chrono::milliseconds lease);

  /// That of the calling thread's rank; throws where init_rpc was not called.
  static std::shared_ptr<RRefContext> current();
  static void set_current(std::shared_ptr<RRefContext> context);
  static RRefContext& getInstance() { return *current(); }

  GloballyUniqueId next_id();
  GloballyUniqueId genGloballyUniqueId() { return next_id(); }
  worker_id_t own() const { return own_; }
  worker_id_t getWorkerId() const { return own_; }
  const std::string& getWorkerName() const { return agent()->getWorkerInfo().name_; }
  /// Throws c10::Error after shutdown().
  std::shared_ptr<RpcAgent> agent() const;
  const std::shared_ptr<autograd::DistAutogradContainer>& autograd() const { return autograd_; }

  /// A reference to a value that is to be set, by this worker. It is known by its id while others have it, too.
  c10::intrusive_ptr<OwnerRRef> make_owner();
  c10::intrusive_ptr<OwnerRRef> createOwnerRRef(const c10::TypePtr& = c10::AnyType::get()) { return make_owner(); }
  /// That of the id. Where it is not known yet it is made, for calls may come in another order than they were sent;
  /// waiting for its value ends with an error where no call comes that makes it, and the worker that was to send that
  /// is not heard of for a lease. In the first form another worker has the reference `fork` to it from now on.
  c10::intrusive_ptr<OwnerRRef> owner_for_fork(const RRefId& id, const ForkId& fork);
  c10::intrusive_ptr<OwnerRRef> owner_of(const RRefId& id);
  /// The same as the first, of the call that makes the value.
  c10::intrusive_ptr<OwnerRRef> owner_for_call(const RRefId& id, const ForkId& fork);
  /// A reference to a value of `owner`, which `confirmed` says when it knows of it.
  RRefPtr make_user(worker_id_t owner, const RRefId& id, const ForkId& fork, FuturePtr confirmed);

  /// What a reference becomes in a message to `to`, and what one that came is here.
  std::function<c10::IValue(const c10::IValue&)> packer(worker_id_t to);
  std::function<c10::IValue(const c10::IValue&)> unpacker();

  /// Messages of others.
  void delete_fork(const RRefId& id, const ForkId& fork);
  void accept_child(const ForkId& fork);
  void heard_of(worker_id_t from, const c10::IValue& forks);

  /// What UserRRef's destructor says.
  void user_is_gone(worker_id_t owner, const RRefId& id, const ForkId& fork, const FuturePtr& confirmed);

  /// Renews this worker's references and drops those of others that were not renewed, every third of a lease from now
  /// on.
  void keep_alive();
  /// Forgets everything.
  void close();

  /// References to this worker's values that others have; what this one has of others; those on their way.
  struct Counts {
    size_t owners = 0, forks = 0, users = 0, pending_children = 0;
  };
  Counts counts() const;

 private:
  // A value of this worker that others refer to, or that is still to be set: then whoever waits for it has this one.
  struct Owned {
    c10::intrusive_ptr<OwnerRRef> reference;
    std::map<ForkId, Clock::time_point> forks;  // until when they last
    bool is_being_made = false;                 // by a call that has come
    Clock::time_point until;                    // till when it waits for one; who makes it renews that
  };
  struct Child {
    RRefPtr parent;
    Clock::time_point until;
  };

  c10::IValue packed(const RRefPtr& reference, worker_id_t to);
  RRefPtr unpacked(const c10::IValue& value);
  c10::intrusive_ptr<OwnerRRef> find_or_make(const RRefId& id, const ForkId* fork, bool is_being_made);
  void drop_unused(const RRefId& id);
  void send_quietly(worker_id_t to, MessageType type, const std::vector<int64_t>& numbers);
  void drop_late();
  void send_heartbeats();

  const std::weak_ptr<RpcAgent> agent_;
  const std::shared_ptr<autograd::DistAutogradContainer> autograd_;
  const worker_id_t own_;
  const std::chrono::milliseconds lease_;

  mutable std::mutex mutex_;
  bool is_closed_ = false;
  local_id_t next_ = 0;
  std::unordered_map<RRefId, Owned, RRefId::Hash> owned_;
  std::map<worker_id_t, std::map<ForkId, RRefId>> users_;  // by owner
  std::unordered_map<ForkId, Child, ForkId::Hash> children_;
};

/// A reference to a value of this worker. The value may be anything, also a std::shared_ptr.
///
///   RRefPtr net = make_rref(std::make_shared<Net>());
RRefPtr make_rref(const Arg& value);

inline c10::intrusive_ptr<c10::RRefInterface> fromOwnerRRef(const RRefPtr& reference) {
  return reference;
}
/// Throws c10::ValueError where the reference is another worker's.
c10::intrusive_ptr<OwnerRRef> fromRRefInterface(const c10::intrusive_ptr<c10::RRefInterface>& reference);
/// OwnerRRef(GloballyUniqueId(created_on=0, local_id=3)), and what it belongs to where that is another worker
std::ostream& operator<<(std::ostream& out, const RRef& reference);

namespace detail {
// Its value, or its error thrown.
c10::IValue wait_for(const FuturePtr& future);
}  // namespace detail

template <class R>
R RRef::rpc_sync(const std::string& function, const Args& args, float timeout) const {
  const c10::IValue result = detail::wait_for(rpc_async(function, args, timeout));
  if constexpr (!std::is_void_v<R>) return detail::Convert<R>::to(result);
}

}  // namespace torch::distributed::rpc
