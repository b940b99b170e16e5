#include "distributed/rpc/rref.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/rpc/autograd.h"
#include "distributed/rpc/autograd_context.h"
#include "distributed/rpc/requests.h"
#include "distributed/rpc/rpc.h"

namespace torch::distributed::rpc {
namespace {

using c10::IValue;

struct CurrentContext {
  std::mutex mutex;
  std::shared_ptr<RRefContext> context;
};

// What a reference is in a message.
struct Passed {
  int64_t owner;
  RRefId id;
  ForkId fork;
  int64_t parent;

  std::vector<int64_t> numbers() const {
    return {owner, id.createdOn_, id.localId_, fork.createdOn_, fork.localId_, parent};
  }
};

[[maybe_unused]] const bool functions_are_known = [] {
  register_function("RRef.backward", [](at::Tensor root, int64_t context_id, bool retain_graph) {
    autograd::backward(context_id, {root}, retain_graph);
  });
  return true;
}();

}  // namespace

// --- references ---

WorkerInfo RRef::ownerWorkerInfo() const {
  return context_->agent()->getWorkerInfo(owner_);
}
std::string RRef::ownerName() const {
  return ownerWorkerInfo().name_;
}

c10::intrusive_ptr<OwnerRRef> fromRRefInterface(const c10::intrusive_ptr<c10::RRefInterface>& reference) {
  auto* const owner = dynamic_cast<OwnerRRef*>(reference.get());
  TORCH_CHECK_VALUE(owner != nullptr, "fromRRefInterface: the reference is not to a value of this worker");
  return c10::intrusive_ptr<OwnerRRef>::reclaim_copy(owner);
}

std::ostream& operator<<(std::ostream& out, const RRef& reference) {
  if (reference.isOwner()) return out << "OwnerRRef(" << reference.rrefId() << ")";
  return out << "UserRRef(" << reference.rrefId() << " of " << reference.ownerWorkerInfo() << ")";
}

Args RRef::with_self(const Args& args) const {
  Args all{RRefPtr::reclaim_copy(const_cast<RRef*>(this))};
  all.insert(all.end(), args.begin(), args.end());
  return all;
}
FuturePtr RRef::rpc_async(const std::string& function, const Args& args, float timeout) const {
  return rpc::rpc_async(static_cast<int64_t>(owner_), function, with_self(args), timeout);
}
RRefPtr RRef::remote(const std::string& function, const Args& args, float timeout) const {
  return rpc::remote(static_cast<int64_t>(owner_), function, with_self(args), timeout);
}

void RRef::backward(int64_t context_id, bool retain_graph) const {
  if (is_owner() && context_id == -1) return local_value().toTensor().backward({}, retain_graph);
  TORCH_CHECK_VALUE(context_id != -1, "RRef::backward: the value is worker ", owner_, "'s: give an autograd context");
  rpc_sync<void>("RRef.backward", {context_id, retain_graph});
}

IValue OwnerRRef::fetch(float) const {
  return detail::wait_for(value_);
}

UserRRef::~UserRRef() {
  context_->user_is_gone(owner(), rref_id(), fork_id_, confirmed_);
}

IValue UserRRef::local_value() const {
  TORCH_CHECK(false, "RRef::local_value: worker ", context_->own(), " is not the owner of ", to_string(rref_id()),
              ", which is worker ", owner(), ": use to_here()");
}

IValue UserRRef::fetch(float timeout) const {
  MessagePtr message =
      pack(MessageType::SCRIPT_RREF_FETCH_CALL, std::vector<int64_t>{rref_id().createdOn_, rref_id().localId_});
  message->about = c10::str("the value of ", to_string(rref_id()));
  const FuturePtr value = make_future();
  // The first of: what the owner says, and why it has never heard of the reference.
  confirmed_->addCallback([value](JitFuture& confirmed) {
    if (confirmed.hasError()) value->setErrorIfNeeded(confirmed.exception_ptr());
  });
  if (!value->completed()) {
    request_value(context_, owner(), std::move(message), timeout, autograd::current_context_id())
        ->addCallback([value](JitFuture& done) {
          if (done.hasError()) return value->setErrorIfNeeded(done.exception_ptr());
          if (!value->completed()) value->markCompleted(done.value());
        });
  }
  return detail::wait_for(value);
}

// --- the context ---

RRefContext::RRefContext(std::weak_ptr<RpcAgent> agent, std::shared_ptr<autograd::DistAutogradContainer> autograd,
                         worker_id_t own, std::chrono::milliseconds lease)
    : agent_(std::move(agent)), autograd_(std::move(autograd)), own_(own), lease_(lease) {}

std::shared_ptr<RRefContext> RRefContext::current() {
  CurrentContext& own = c10d::RankLocal<CurrentContext>::get();
  const std::lock_guard<std::mutex> lock(own.mutex);
  TORCH_CHECK(own.context != nullptr, "RPC has not been initialized. Call torch::distributed::rpc::init_rpc first.");
  return own.context;
}
void RRefContext::set_current(std::shared_ptr<RRefContext> context) {
  CurrentContext& own = c10d::RankLocal<CurrentContext>::get();
  const std::lock_guard<std::mutex> lock(own.mutex);
  own.context.swap(context);
}

GloballyUniqueId RRefContext::next_id() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {own_, next_++};
}

std::shared_ptr<RpcAgent> RRefContext::agent() const {
  std::shared_ptr<RpcAgent> agent = agent_.lock();
  TORCH_CHECK(agent != nullptr, "rpc: RPC was shut down");
  return agent;
}

c10::intrusive_ptr<OwnerRRef> RRefContext::make_owner() {
  return c10::make_intrusive<OwnerRRef>(shared_from_this(), own_, next_id());
}

c10::intrusive_ptr<OwnerRRef> RRefContext::owner_for_fork(const RRefId& id, const ForkId& fork) {
  return find_or_make(id, &fork, false);
}

c10::intrusive_ptr<OwnerRRef> RRefContext::owner_for_call(const RRefId& id, const ForkId& fork) {
  return find_or_make(id, &fork, true);
}

c10::intrusive_ptr<OwnerRRef> RRefContext::owner_of(const RRefId& id) {
  return find_or_make(id, nullptr, false);
}

c10::intrusive_ptr<OwnerRRef> RRefContext::find_or_make(const RRefId& id, const ForkId* fork, bool is_being_made) {
  c10::intrusive_ptr<OwnerRRef> reference;
  bool is_new = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Clock::time_point until = Clock::now() + lease_;
    Owned& owned = owned_[id];
    is_new = !owned.reference.defined();
    if (is_new) owned.reference = c10::make_intrusive<OwnerRRef>(shared_from_this(), own_, id);
    if (fork != nullptr) owned.forks[*fork] = until;
    owned.until = until;
    owned.is_being_made |= is_being_made;
    reference = owned.reference;
  }
  if (is_new) {
    reference->future()->addCallback([self = weak_from_this(), id](JitFuture&) {
      if (const std::shared_ptr<RRefContext> context = self.lock()) context->drop_unused(id);
    });
  }
  return reference;
}

void RRefContext::drop_unused(const RRefId& id) {
  Owned gone;  // freed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = owned_.find(id);
  if (found == owned_.end() || !found->second.forks.empty() || !found->second.reference->future()->completed()) return;
  gone = std::move(found->second);
  owned_.erase(found);
}

RRefPtr RRefContext::make_user(worker_id_t owner, const RRefId& id, const ForkId& fork, FuturePtr confirmed) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    users_[owner][fork] = id;
  }
  return c10::make_intrusive<UserRRef>(shared_from_this(), owner, id, fork, std::move(confirmed));
}

std::function<IValue(const IValue&)> RRefContext::packer(worker_id_t to) {
  return [self = shared_from_this(), to](const IValue& value) {
    TORCH_CHECK_TYPE(dynamic_cast<RRef*>(value.toCapsule().get()) != nullptr,
                     "rpc: an object of this worker cannot be sent to another; it can be the value of a reference");
    return self->packed(detail::to_reference(value), to);
  };
}
std::function<IValue(const IValue&)> RRefContext::unpacker() {
  return [self = shared_from_this()](const IValue& value) { return detail::reference_value(self->unpacked(value)); };
}

IValue RRefContext::packed(const RRefPtr& reference, worker_id_t to) {
  const ForkId fork = next_id();
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(!is_closed_, "rpc: RPC was shut down");
  const Clock::time_point until = Clock::now() + lease_;
  if (reference->is_owner()) {
    Owned& owned = owned_[reference->rref_id()];
    owned.reference = c10::intrusive_ptr<OwnerRRef>::reclaim_copy(static_cast<OwnerRRef*>(reference.get()));
    owned.forks[fork] = until;
  } else {
    children_[fork] = {reference, until};
  }
  return Passed{reference->owner(), reference->rref_id(), fork, own_}.numbers();
}

RRefPtr RRefContext::unpacked(const IValue& value) {
  TORCH_CHECK_WITH(DistNetworkError, value.isIntList() && value.toIntVector().size() == 6,
                   "rpc: a message has a reference that is none");
  const std::vector<int64_t> numbers = value.toIntVector();
  const auto workers = static_cast<int64_t>(agent()->getWorkerInfos().size());
  for (const int i : {0, 1, 3, 5}) {
    TORCH_CHECK_WITH(DistNetworkError, numbers[i] >= 0 && numbers[i] < workers,
                     "rpc: a message has a reference of worker ", numbers[i], ", which there is none of");
  }
  const auto owner = static_cast<worker_id_t>(numbers[0]), parent = static_cast<worker_id_t>(numbers[5]);
  const RRefId id{static_cast<worker_id_t>(numbers[1]), numbers[2]};
  const ForkId fork{static_cast<worker_id_t>(numbers[3]), numbers[4]};
  if (owner == own_) {
    c10::intrusive_ptr<OwnerRRef> reference = owner_of(id);
    if (parent == own_) {
      delete_fork(id, fork);
    } else {
      send_quietly(parent, MessageType::RREF_CHILD_ACCEPT, {fork.createdOn_, fork.localId_});
    }
    return reference;
  }
  FuturePtr confirmed = make_future();
  RRefPtr reference = make_user(owner, id, fork, confirmed);
  if (parent == owner) {
    confirmed->markCompleted();
    return reference;
  }
  MessagePtr message = pack(MessageType::RREF_FORK_REQUEST,
                            std::vector<int64_t>{id.createdOn_, id.localId_, fork.createdOn_, fork.localId_});
  message->about = "a reference";
  const std::shared_ptr<RpcAgent> agent = this->agent();
  agent->sendWithRetries(agent->getWorkerInfo(owner), std::move(message))
      ->addCallback([self = shared_from_this(), confirmed, parent, fork](JitFuture& done) {
        if (done.hasError()) return confirmed->setErrorIfNeeded(done.exception_ptr());
        confirmed->markCompleted();
        self->send_quietly(parent, MessageType::RREF_CHILD_ACCEPT, {fork.createdOn_, fork.localId_});
      });
  return reference;
}

void RRefContext::delete_fork(const RRefId& id, const ForkId& fork) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = owned_.find(id);
    if (found != owned_.end()) found->second.forks.erase(fork);
  }
  drop_unused(id);
}

void RRefContext::accept_child(const ForkId& fork) {
  Child gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = children_.find(fork);
  if (found == children_.end()) return;
  gone = std::move(found->second);
  children_.erase(found);
}

void RRefContext::heard_of(worker_id_t from, const IValue& forks) {
  const std::vector<int64_t> numbers = forks.toIntVector();
  TORCH_CHECK_WITH(DistNetworkError, numbers.size() % 4 == 0, "rpc: a heartbeat has a reference that is none");
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point until = Clock::now() + lease_;
  for (size_t i = 0; i < numbers.size(); i += 4) {
    const auto owned = owned_.find({static_cast<worker_id_t>(numbers[i]), numbers[i + 1]});
    if (owned == owned_.end()) continue;
    if (owned->first.createdOn_ == from) owned->second.until = until;
    const auto fork = owned->second.forks.find({static_cast<worker_id_t>(numbers[i + 2]), numbers[i + 3]});
    if (fork != owned->second.forks.end()) fork->second = until;
  }
}

void RRefContext::user_is_gone(worker_id_t owner, const RRefId& id, const ForkId& fork, const FuturePtr& confirmed) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed_) return;
  }
  // Until the owner has heard of it the reference is renewed, and not deleted: the call that makes the value may still
  // wait for its turn.
  confirmed->addCallback([self = shared_from_this(), owner, id, fork](JitFuture&) {
    {
      const std::lock_guard<std::mutex> lock(self->mutex_);
      self->users_[owner].erase(fork);
    }
    self->send_quietly(owner, MessageType::RREF_USER_DELETE,
                       {id.createdOn_, id.localId_, fork.createdOn_, fork.localId_});
  });
}

void RRefContext::send_quietly(worker_id_t to, MessageType type, const std::vector<int64_t>& numbers) {
  const std::shared_ptr<RpcAgent> agent = agent_.lock();
  if (!agent) return;
  MessagePtr message = pack(type, numbers);
  message->about = "a reference";
  agent->sendWithRetries(agent->getWorkerInfo(to), std::move(message));
}

void RRefContext::keep_alive() {
  const std::shared_ptr<RpcAgent> agent = agent_.lock();
  if (!agent) return;
  agent->timer().at(Clock::now() + lease_ / 3, [self = weak_from_this()] {
    const std::shared_ptr<RRefContext> context = self.lock();
    if (!context) return;
    context->drop_late();
    context->send_heartbeats();
    context->keep_alive();
  });
}

void RRefContext::drop_late() {
  std::vector<Owned> owned;
  std::vector<c10::intrusive_ptr<OwnerRRef>> never_made;
  std::vector<Child> children;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Clock::time_point now = Clock::now();
    for (auto at = owned_.begin(); at != owned_.end();) {
      Owned& one = at->second;
      std::erase_if(one.forks, [&](const auto& fork) { return fork.second < now; });
      const bool is_set = one.reference->future()->completed();
      const bool is_late = !is_set && !one.is_being_made && one.until < now;
      if (is_late) never_made.push_back(one.reference);
      if (!one.forks.empty() || !(is_set || is_late)) {
        ++at;
        continue;
      }
      owned.push_back(std::move(one));
      at = owned_.erase(at);
    }
    for (auto at = children_.begin(); at != children_.end();) {
      if (at->second.until >= now) {
        ++at;
        continue;
      }
      children.push_back(std::move(at->second));
      at = children_.erase(at);
    }
  }
  for (const c10::intrusive_ptr<OwnerRRef>& late : never_made) {
    late->set_error(std::make_exception_ptr(c10::DistNetworkError(
        c10::SourceLocation{__func__, __FILE__, __LINE__},
        c10::str("rpc: there is no value of ", to_string(late->rref_id()), ": worker ", late->rref_id().createdOn_,
                 ", which was to ask for it, has not been heard of for ", lease_.count(), " ms"))));
  }
}

void RRefContext::send_heartbeats() {
  std::map<worker_id_t, std::vector<int64_t>> numbers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [owner, forks] : users_) {
      for (const auto& [fork, id] : forks) {
        for (const int64_t number : {int64_t{id.createdOn_}, id.localId_, int64_t{fork.createdOn_}, fork.localId_})
          numbers[owner].push_back(number);
      }
    }
  }
  const std::shared_ptr<RpcAgent> agent = agent_.lock();
  if (!agent) return;
  for (const auto& [owner, forks] : numbers) {
    MessagePtr message = pack(MessageType::HEARTBEAT, forks);
    message->about = "a heartbeat";
    try {
      agent->send(agent->getWorkerInfo(owner), std::move(message), static_cast<float>(lease_.count()) / 1000);
    } catch (const c10::Error&) {
      return;  // the agent is being shut down
    }
  }
}

void RRefContext::close() {
  decltype(owned_) owned;
  decltype(children_) children;
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  owned.swap(owned_);
  children.swap(children_);
  users_.clear();
}

RRefContext::Counts RRefContext::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Counts counts{.owners = owned_.size(), .pending_children = children_.size()};
  for (const auto& [id, owned] : owned_) counts.forks += owned.forks.size();
  for (const auto& [owner, forks] : users_) counts.users += forks.size();
  return counts;
}

namespace detail {
IValue wait_for(const FuturePtr& future) {
  future->waitAndThrow();
  return future->value();
}
}  // namespace detail

RRefPtr make_rref(const Arg& value) {
  const c10::intrusive_ptr<OwnerRRef> reference = RRefContext::current()->make_owner();
  reference->set_value(value.value());
  return reference;
}

}  // namespace torch::distributed::rpc
