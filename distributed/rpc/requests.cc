#include "distributed/rpc/requests.h"

#include <utility>

#include "c10/util/exception.h"
#include "distributed/rpc/autograd_context.h"
#include "distributed/rpc/functions.h"

namespace torch::distributed::rpc {
namespace {

using c10::IValue;

thread_local bool is_in_function = false;

class FunctionScope {
 public:
  explicit FunctionScope(int64_t autograd) : context_(autograd), before_(std::exchange(is_in_function, true)) {}
  ~FunctionScope() { is_in_function = before_; }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  const autograd::ContextScope context_;
  const bool before_;
};

FuturePtr completed(MessagePtr message) {
  const FuturePtr future = make_future();
  future->markCompleted(to_value(std::move(message)));
  return future;
}

// The numbers that a message of RPC itself consists of.
std::vector<int64_t> numbers_of(const Message& message, size_t count) {
  const IValue value = unpack(message);
  TORCH_CHECK_WITH(DistNetworkError, value.isIntList() && value.toIntVector().size() == count,
                   "rpc: a message has not ", count, " numbers");
  return value.toIntVector();
}
GloballyUniqueId id_of(const std::vector<int64_t>& numbers, size_t at) {
  return {static_cast<worker_id_t>(numbers[at]), numbers[at + 1]};
}

// A future may be completed when the handler is gone.
MessagePtr reply(RRefContext& context, MessageType type, const IValue& value, const Message& request) {
  MessagePtr message = pack(type, value, context.packer(request.from));
  context.autograd()->record_send(*message, request.from, request.autograd_context);
  return message;
}

}  // namespace

bool in_function() {
  return is_in_function;
}

FuturePtr request_value(const std::shared_ptr<RRefContext>& context, worker_id_t to, MessagePtr message, float timeout,
                        int64_t autograd) {
  const std::shared_ptr<RpcAgent> agent = context->agent();
  context->autograd()->record_send(*message, to, autograd);
  return agent->send(agent->getWorkerInfo(to), std::move(message), timeout)
      ->then(
          [context](JitFuture& done) {
            const MessagePtr answer = to_message(done.value());
            context->autograd()->record_recv(*answer);
            return unpack(*answer, context->unpacker());
          },
          c10::AnyType::get());
}

MessagePtr call_message(const std::shared_ptr<RRefContext>& context, MessageType type, worker_id_t to,
                        const std::string& function, const Args& args, std::vector<int64_t> more) {
  std::vector<IValue> values;
  for (const Arg& arg : args) values.push_back(arg.value());
  // Neither a list of one type nor, where it is empty, of none.
  const IValue arguments = c10::ivalue::Tuple::create(std::move(values));
  MessagePtr message =
      pack(type, c10::ivalue::Tuple::create({IValue(function), arguments, IValue(more)}), context->packer(to));
  message->about = "\"" + function + "\"";
  return message;
}

void RequestHandler::run_function(const MessagePtr& request, const Answer& answer) {
  context_->autograd()->record_recv(*request);
  const IValue call = unpack(*request, context_->unpacker());
  TORCH_CHECK_WITH(DistNetworkError, call.isTuple() && call.toTupleRef().size() == 3, "rpc: a message is no call");
  const c10::ArrayRef<IValue> parts = call.toTupleRef().elementsArrayRef();
  const std::string& name = parts[0].toStringRef();
  std::vector<IValue> arguments = parts[1].toTupleRef().elementsArrayRef().vec();
  const FunctionScope scope(request->autograd_context);

  if (request->type() == MessageType::SCRIPT_REMOTE_CALL) {
    const std::vector<int64_t> ids = parts[2].toIntVector();
    TORCH_CHECK_WITH(DistNetworkError, ids.size() == 4, "rpc: a message has no reference");
    const c10::intrusive_ptr<OwnerRRef> owner = context_->owner_for_call(id_of(ids, 0), id_of(ids, 2));
    answer(completed(pack(MessageType::REMOTE_RET, IValue())));
    try {
      const IValue result = detail::call_function(name, std::move(arguments));
      if (!result.isFuture()) return owner->set_value(result);
      result.toFuture()->addCallback([owner](JitFuture& done) {
        if (done.hasError()) return owner->set_error(done.exception_ptr());
        owner->set_value(done.value());
      });
    } catch (...) {
      owner->set_error(std::current_exception());
    }
    return;
  }
  const IValue result = detail::call_function(name, std::move(arguments));
  if (!result.isFuture()) return answer(completed(reply(*context_, MessageType::SCRIPT_RET, result, *request)));
  answer(result.toFuture()->then(
      [context = context_, request](JitFuture& done) {
        return to_value(reply(*context, MessageType::SCRIPT_RET, done.value(), *request));
      },
      c10::AnyType::get()));
}

void RequestHandler::operator()(const MessagePtr& request, const Answer& answer) {
  switch (request->type()) {
    case MessageType::SCRIPT_CALL:
    case MessageType::SCRIPT_REMOTE_CALL:
      return run_function(request, answer);
    case MessageType::SCRIPT_RREF_FETCH_CALL: {
      context_->autograd()->record_recv(*request);
      const FuturePtr value = context_->owner_of(id_of(numbers_of(*request, 2), 0))->future();
      return answer(value->then(
          [context = context_, request](JitFuture& done) {
            return to_value(reply(*context, MessageType::SCRIPT_RREF_FETCH_RET, done.value(), *request));
          },
          c10::AnyType::get()));
    }
    case MessageType::RREF_USER_DELETE: {
      const std::vector<int64_t> ids = numbers_of(*request, 4);
      context_->delete_fork(id_of(ids, 0), id_of(ids, 2));
      return answer(completed(pack(MessageType::RREF_ACK, IValue())));
    }
    case MessageType::RREF_FORK_REQUEST: {
      const std::vector<int64_t> ids = numbers_of(*request, 4);
      context_->owner_for_fork(id_of(ids, 0), id_of(ids, 2));
      return answer(completed(pack(MessageType::RREF_ACK, IValue())));
    }
    case MessageType::RREF_CHILD_ACCEPT: {
      context_->accept_child(id_of(numbers_of(*request, 2), 0));
      return answer(completed(pack(MessageType::RREF_ACK, IValue())));
    }
    case MessageType::BACKWARD_AUTOGRAD_REQ:
      return answer(context_->autograd()->propagate(*request));
    case MessageType::CLEANUP_AUTOGRAD_CONTEXT_REQ: {
      const IValue id = unpack(*request);
      context_->autograd()->releaseContextIfPresent(id.toInt());
      return answer(completed(pack(MessageType::CLEANUP_AUTOGRAD_CONTEXT_RESP, IValue())));
    }
    case MessageType::HEARTBEAT: {
      context_->heard_of(request->from, unpack(*request));
      return answer(completed(pack(MessageType::EMPTY_RET, IValue())));
    }
    case MessageType::JOIN:
      return answer(join_(*request));
    default:
      TORCH_CHECK_WITH(DistNetworkError, false, "rpc: a message is no request");
  }
}

}  // namespace torch::distributed::rpc
