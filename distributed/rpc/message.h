// What workers send each other, and how values become messages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/value/ivalue.h"
#include "distributed/rpc/types.h"

namespace torch::distributed::rpc {

enum class MessageType : uint8_t {
  SCRIPT_CALL = 0,                     // a function and its arguments; answered by
  SCRIPT_RET = 1,                      // its result
  SCRIPT_REMOTE_CALL = 4,              // the same, whose result stays with the callee
  REMOTE_RET = 6,                      // it is there, not yet run
  SCRIPT_RREF_FETCH_CALL = 7,          // which reference's value is wanted
  SCRIPT_RREF_FETCH_RET = 9,           // the value
  RREF_USER_DELETE = 11,               // a reference is gone
  RREF_FORK_REQUEST = 12,              // a reference was passed on to who sends this
  RREF_CHILD_ACCEPT = 13,              // to who passed it on: it has arrived
  RREF_ACK = 14,                       // answers the three above
  BACKWARD_AUTOGRAD_REQ = 17,          // gradients
  BACKWARD_AUTOGRAD_RESP = 18,         // they and all that follows from them are done
  CLEANUP_AUTOGRAD_CONTEXT_REQ = 19,   // an autograd context is gone
  CLEANUP_AUTOGRAD_CONTEXT_RESP = 20,  // answers that
  HEARTBEAT = 32,                      // the references that the sender has of this worker
  JOIN = 33,                           // the sender is in shutdown(); answered when all are
  EMPTY_RET = 34,                      // answers the two above
  EXCEPTION = 55,                      // answers anything
};
/// Whether a value of this type is known.
bool is_message_type(uint8_t type);

/// A message: bytes, and tensors beside them.
class Message final : public c10::intrusive_ptr_target {
 public:
  Message(std::vector<char> payload, std::vector<at::Tensor> tensors, MessageType type)
      : payload_(std::move(payload)), tensors_(std::move(tensors)), type_(type) {}

  const std::vector<char>& payload() const { return payload_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  std::vector<at::Tensor>& tensors() { return tensors_; }
  MessageType type() const { return type_; }
  bool isRequest() const;
  bool isResponse() const { return !isRequest(); }

  /// Who sent it; set by the agent that receives it.
  worker_id_t from = -1;
  /// What the text of an error calls it; stays here.
  std::string about;
  /// The autograd context it belongs to, or 0; and the number of its tensors that require gradients in the context's
  /// graph, or 0 where none do.
  int64_t autograd_context = 0;
  int64_t autograd_message = 0;

 private:
  std::vector<char> payload_;
  std::vector<at::Tensor> tensors_;
  MessageType type_;
};
using MessagePtr = c10::intrusive_ptr<Message>;

/// A message as a value, for futures, and back.
c10::IValue to_value(MessagePtr message);
MessagePtr to_message(const c10::IValue& value);

/// A message with this value: numbers, texts, devices, tensors, and lists, tuples and dicts of them, to a depth of 64.
/// What a capsule in it becomes `capsule` says. Throws c10::TypeError for values that cannot be sent.
MessagePtr pack(MessageType type, const c10::IValue& value,
                const std::function<c10::IValue(const c10::IValue&)>& capsule = nullptr);
/// And back; what a capsule became is given to `capsule`. Throws c10::DistNetworkError for a message that pack() does
/// not make.
c10::IValue unpack(const Message& message, const std::function<c10::IValue(const c10::IValue&)>& capsule = nullptr);

/// An EXCEPTION that says what `error` is.
MessagePtr exception_message(std::exception_ptr error);
/// What such a message says as an exception of the same type, whose text starts with `where`. Types of the standard
/// library and of c10 are kept, others become c10::Error.
std::exception_ptr exception_of(const Message& message, const std::string& where);

/// A part of what goes over the wire: bytes, or (where it is defined) a contiguous tensor's memory.
struct Piece {
  std::vector<char> bytes;
  at::Tensor tensor;

  const void* data() const { return tensor.defined() ? tensor.const_data_ptr() : bytes.data(); }
  size_t size() const { return tensor.defined() ? tensor.nbytes() : bytes.size(); }
};
/// The message on the wire; `job` is what all workers of a job know, `from` the sender. Tensors travel as they lie in
/// memory, those of 16 KiB and more without a copy; those that have no such memory (sparse, quantized, not of the CPU)
/// as the bytes of a file. Throws c10::TypeError for tensors that cannot be saved either.
std::vector<Piece> encode(const Message& message, uint64_t job, worker_id_t from);
/// A message of `total` bytes that `read(to, n)` gives in order. Throws c10::DistNetworkError for bytes that are no
/// message of the job; no more memory is taken than there are bytes.
MessagePtr decode(size_t total, const std::function<void(void* to, size_t n)>& read, uint64_t job);

}  // namespace torch::distributed::rpc
