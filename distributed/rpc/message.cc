#include "distributed/rpc/message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/pickle/bare_pickle.h"
#include "utils/serialize/archive.h"

namespace torch::distributed::rpc {
namespace {

using at::Tensor;
using c10::IValue;

constexpr int kMaxDepth = 64;

// A tuple on the wire starts with what it stands for, so that nothing a program sends is taken for something else.
enum : int64_t { kTensor, kCapsule, kTuple };

#define CHECK_NETWORK(condition, ...) TORCH_CHECK_WITH(DistNetworkError, condition, "rpc: ", __VA_ARGS__)

IValue tuple(std::vector<IValue> elements) {
  return c10::ivalue::Tuple::create(std::move(elements));
}

// The type of all values, where that is one that lists and dicts are declared with.
c10::TypePtr common_type(const std::vector<IValue>& values) {
  using Tag = IValue::Tag;
  if (values.empty()) return c10::AnyType::get();
  const Tag tag = values[0].tag();
  for (const IValue& value : values) {
    if (value.tag() != tag) return c10::AnyType::get();
  }
  switch (tag) {
    case Tag::Int:
      return c10::IntType::get();
    case Tag::Double:
      return c10::FloatType::get();
    case Tag::Bool:
      return c10::BoolType::get();
    case Tag::String:
      return c10::StringType::get();
    case Tag::Tensor:
      return c10::TensorType::get();
    default:
      return c10::AnyType::get();
  }
}

template <class Map>
IValue map_list(const IValue& list, const Map& map) {
  std::vector<IValue> values;
  for (const IValue& value : list.toListRef()) values.push_back(map(value));
  c10::List<IValue> mapped(list.toListRef().empty() ? list.toList().elementType() : common_type(values));
  for (IValue& value : values) mapped.push_back(std::move(value));
  return mapped;
}

template <class Map>
IValue map_dict(const IValue& dict, const Map& map) {
  std::vector<IValue> keys, values;
  for (const auto& entry : dict.toGenericDict()) {
    keys.push_back(map(entry.key()));
    values.push_back(map(entry.value()));
  }
  c10::Dict<IValue, IValue> mapped(common_type(keys), common_type(values));
  for (size_t i = 0; i < keys.size(); ++i) mapped.insert(keys[i], values[i]);
  return mapped;
}

class Packer {
 public:
  explicit Packer(const std::function<IValue(const IValue&)>& capsule) : capsule_(capsule) {}

  IValue plain(const IValue& value, int depth = 0) {
    TORCH_CHECK_TYPE(depth <= kMaxDepth, "rpc: a value is nested deeper than ", kMaxDepth);
    const auto map = [&](const IValue& part) { return plain(part, depth + 1); };
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
      return tuple({int64_t{kTensor}, static_cast<int64_t>(tensors.size()) - 1});
    }
    if (value.isCapsule()) {
      TORCH_CHECK_TYPE(capsule_ != nullptr, "rpc: a value of type ", value.tagKind(), " cannot be sent");
      return tuple({int64_t{kCapsule}, capsule_(value)});
    }
    if (value.isTuple()) {
      std::vector<IValue> parts{int64_t{kTuple}};
      for (const IValue& part : value.toTupleRef().elementsArrayRef()) parts.push_back(map(part));
      return tuple(std::move(parts));
    }
    if (value.isIntList() || value.isDoubleList() || value.isBoolList()) return value;
    if (value.isList()) return map_list(value, map);
    if (value.isGenericDict()) return map_dict(value, map);
    return value;
  }

  std::vector<Tensor> tensors;

 private:
  const std::function<IValue(const IValue&)>& capsule_;
};

IValue rebuilt(const IValue& value, const Message& message, const std::function<IValue(const IValue&)>& capsule,
               int depth = 0) {
  CHECK_NETWORK(depth <= 2 * kMaxDepth, "a message is nested too deep");
  const auto map = [&](const IValue& part) { return rebuilt(part, message, capsule, depth + 1); };
  if (value.isList()) return map_list(value, map);
  if (value.isGenericDict()) return map_dict(value, map);
  if (!value.isTuple()) return value;
  const c10::ArrayRef<IValue> parts = value.toTupleRef().elementsArrayRef();
  CHECK_NETWORK(!parts.empty() && parts[0].isInt(), "a message has a tuple of no kind");
  switch (parts[0].toInt()) {
    case kTensor: {
      CHECK_NETWORK(parts.size() == 2 && parts[1].isInt() && parts[1].toInt() >= 0 &&
                        parts[1].toInt() < static_cast<int64_t>(message.tensors().size()),
                    "a message names a tensor that it does not have");
      return message.tensors()[static_cast<size_t>(parts[1].toInt())];
    }
    case kCapsule:
      CHECK_NETWORK(parts.size() == 2 && capsule != nullptr, "a message has a reference where none may be");
      return capsule(parts[1]);
    case kTuple: {
      std::vector<IValue> elements;
      for (size_t i = 1; i < parts.size(); ++i) elements.push_back(map(parts[i]));
      return tuple(std::move(elements));
    }
    default:
      CHECK_NETWORK(false, "a message has a tuple of no kind");
  }
}

// The types of exceptions by name; what derives from another stands before it.
template <class E>
struct Thrown {
  static bool is(const std::exception& e) { return dynamic_cast<const E*>(&e) != nullptr; }
  static std::exception_ptr make(const std::string& text) {
    if constexpr (std::is_base_of_v<c10::Error, E>) {
      return std::make_exception_ptr(E(c10::SourceLocation{"rpc", __FILE__, __LINE__}, text));
    } else {
      return std::make_exception_ptr(E(text));
    }
  }
};
struct ThrownType {
  std::string_view name;
  bool (*is)(const std::exception&);
  std::exception_ptr (*make)(const std::string&);
};
template <class E>
constexpr ThrownType thrown_type(std::string_view name) {
  return {name, &Thrown<E>::is, &Thrown<E>::make};
}
#define THROWN(type) thrown_type<type>(#type)
constexpr std::array kThrown{
    THROWN(c10::IndexError),          THROWN(c10::ValueError),          THROWN(c10::TypeError),
    THROWN(c10::NotImplementedError), THROWN(c10::EnforceFiniteError),  THROWN(c10::LinAlgError),
    THROWN(c10::OutOfMemoryError),    THROWN(c10::BufferError),         THROWN(c10::SyntaxError),
    THROWN(c10::DistBackendError),    THROWN(c10::DistQueueEmptyError), THROWN(c10::DistStoreError),
    THROWN(c10::DistNetworkError),    THROWN(c10::DistError),           THROWN(c10::Error),
    THROWN(std::out_of_range),        THROWN(std::invalid_argument),    THROWN(std::domain_error),
    THROWN(std::length_error),        THROWN(std::logic_error),         THROWN(std::overflow_error),
    THROWN(std::underflow_error),     THROWN(std::range_error),         THROWN(std::runtime_error),
};
#undef THROWN

// --- the wire: little-endian, as the machines are that this library runs on ---

constexpr uint32_t kMagic = 0x4352504bu;  // "KPRC"

struct FixedHeader {
  uint32_t magic;
  uint8_t type;
  uint8_t reserved;
  int16_t from;
  uint64_t job;
  int64_t autograd_context;
  int64_t autograd_message;
  uint64_t payload_bytes;
  uint64_t tensors;
};
static_assert(std::is_trivially_copyable_v<FixedHeader> && sizeof(FixedHeader) == 48);

enum class Form : uint8_t { kUndefined, kPlain, kFile };

struct TensorHeader {
  Form form;
  int8_t dtype;
  uint8_t requires_grad;
  uint8_t dims;
  uint32_t reserved;
  uint64_t bytes;
};
static_assert(std::is_trivially_copyable_v<TensorHeader> && sizeof(TensorHeader) == 16);

constexpr uint8_t kMaxDims = 64;
constexpr size_t kCopiedBelow = 16 << 10;

Form form_of(const Tensor& t) {
  if (!t.defined()) return Form::kUndefined;
  const bool is_plain = t.device().type() == at::kCPU && t.layout() == at::kStrided && !t.is_quantized() &&
                        !t.is_nested() && t.dim() <= kMaxDims && t.unsafeGetTensorImpl()->storage();
  return is_plain ? Form::kPlain : Form::kFile;
}

void append(std::vector<char>& bytes, const void* data, size_t n) {
  const char* const from = static_cast<const char*>(data);
  bytes.insert(bytes.end(), from, from + n);
}
template <class T>
void append(std::vector<char>& bytes, const T& value) {
  append(bytes, &value, sizeof value);
}

}  // namespace

bool is_message_type(uint8_t type) {
  switch (static_cast<MessageType>(type)) {
    case MessageType::SCRIPT_CALL:
    case MessageType::SCRIPT_RET:
    case MessageType::SCRIPT_REMOTE_CALL:
    case MessageType::REMOTE_RET:
    case MessageType::SCRIPT_RREF_FETCH_CALL:
    case MessageType::SCRIPT_RREF_FETCH_RET:
    case MessageType::RREF_USER_DELETE:
    case MessageType::RREF_FORK_REQUEST:
    case MessageType::RREF_CHILD_ACCEPT:
    case MessageType::RREF_ACK:
    case MessageType::BACKWARD_AUTOGRAD_REQ:
    case MessageType::BACKWARD_AUTOGRAD_RESP:
    case MessageType::CLEANUP_AUTOGRAD_CONTEXT_REQ:
    case MessageType::CLEANUP_AUTOGRAD_CONTEXT_RESP:
    case MessageType::HEARTBEAT:
    case MessageType::JOIN:
    case MessageType::EMPTY_RET:
    case MessageType::EXCEPTION:
      return true;
  }
  return false;
}

bool Message::isRequest() const {
  switch (type_) {
    case MessageType::SCRIPT_CALL:
    case MessageType::SCRIPT_REMOTE_CALL:
    case MessageType::SCRIPT_RREF_FETCH_CALL:
    case MessageType::RREF_USER_DELETE:
    case MessageType::RREF_FORK_REQUEST:
    case MessageType::RREF_CHILD_ACCEPT:
    case MessageType::BACKWARD_AUTOGRAD_REQ:
    case MessageType::CLEANUP_AUTOGRAD_CONTEXT_REQ:
    case MessageType::HEARTBEAT:
    case MessageType::JOIN:
      return true;
    default:
      return false;
  }
}

IValue to_value(MessagePtr message) {
  return IValue::make_capsule(std::move(message));
}
MessagePtr to_message(const IValue& value) {
  return MessagePtr::reclaim(static_cast<Message*>(value.toCapsule().release()));
}

MessagePtr pack(MessageType type, const IValue& value, const std::function<IValue(const IValue&)>& capsule) {
  Packer packer(capsule);
  const IValue plain = packer.plain(value);
  return c10::make_intrusive<Message>(torch::jit::pickle(plain), std::move(packer.tensors), type);
}

IValue unpack(const Message& message, const std::function<IValue(const IValue&)>& capsule) {
  IValue plain;
  try {
    plain = torch::jit::unpickle(message.payload().data(), message.payload().size());
  } catch (const c10::Error& e) {
    CHECK_NETWORK(false, "a message has bytes that are no value: ", e.msg());
  }
  return rebuilt(plain, message, capsule);
}

MessagePtr exception_message(std::exception_ptr error) {
  std::string name = "c10::Error", text = "an exception that is no std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    text = e.what();
    if (const auto* const own = dynamic_cast<const c10::Error*>(&e)) text = own->msg();
    for (const ThrownType& type : kThrown) {
      if (!type.is(e)) continue;
      name = type.name;
      break;
    }
  } catch (...) {
  }
  return pack(MessageType::EXCEPTION, tuple({name, text}));
}

std::exception_ptr exception_of(const Message& message, const std::string& where) {
  try {
    const IValue value = unpack(message);
    const c10::ArrayRef<IValue> parts = value.toTupleRef().elementsArrayRef();
    CHECK_NETWORK(parts.size() == 2, "an exception has no type and text");
    const std::string text = where + parts[1].toStringRef();
    for (const ThrownType& type : kThrown) {
      if (type.name == parts[0].toStringRef()) return type.make(text);
    }
    return Thrown<c10::Error>::make(text);
  } catch (...) {
    return std::current_exception();
  }
}

std::vector<Piece> encode(const Message& message, uint64_t job, worker_id_t from) {
  std::vector<Piece> pieces(1);
  append(pieces.back().bytes, FixedHeader{.magic = kMagic,
                                          .type = static_cast<uint8_t>(message.type()),
                                          .reserved = 0,
                                          .from = from,
                                          .job = job,
                                          .autograd_context = message.autograd_context,
                                          .autograd_message = message.autograd_message,
                                          .payload_bytes = message.payload().size(),
                                          .tensors = message.tensors().size()});
  append(pieces.back().bytes, message.payload().data(), message.payload().size());
  for (const Tensor& t : message.tensors()) {
    const Form form = form_of(t);
    Tensor plain;
    std::vector<char> file;
    if (form == Form::kPlain) plain = t.detach().contiguous();
    if (form == Form::kFile) file = torch::pickle_save(t.detach());
    const uint64_t bytes = plain.defined() ? plain.nbytes() : file.size();
    const bool requires_grad = t.defined() && t.requires_grad();
    append(pieces.back().bytes,
           TensorHeader{.form = form,
                        .dtype = static_cast<int8_t>(t.defined() ? t.scalar_type() : at::ScalarType::Undefined),
                        .requires_grad = requires_grad,
                        .dims = static_cast<uint8_t>(plain.defined() ? plain.dim() : 0),
                        .reserved = 0,
                        .bytes = bytes});
    if (!plain.defined()) {
      append(pieces.back().bytes, file.data(), file.size());
      continue;
    }
    append(pieces.back().bytes, plain.sizes().data(), plain.sizes().size() * sizeof(int64_t));
    if (bytes < kCopiedBelow) {
      append(pieces.back().bytes, plain.const_data_ptr(), bytes);
    } else {
      pieces.push_back({.bytes = {}, .tensor = std::move(plain)});
      pieces.emplace_back();
    }
  }
  return pieces;
}

namespace {

// Takes a message apart; every number is looked at before it is used.
class Decoder {
 public:
  Decoder(size_t total, const std::function<void(void*, size_t)>& read) : total_(total), left_(total), read_(read) {}

  MessagePtr message(uint64_t job) {
    FixedHeader header;
    take(&header, sizeof header);
    CHECK_NETWORK(header.magic == kMagic && is_message_type(header.type), "bytes are no message");
    CHECK_NETWORK(header.job == job, "a message is of another job");
    std::vector<char> payload = bytes(header.payload_bytes);
    CHECK_NETWORK(header.tensors <= left_ / sizeof(TensorHeader), "a message says that it has more tensors than bytes");
    std::vector<Tensor> tensors;
    tensors.reserve(header.tensors);
    for (uint64_t i = 0; i < header.tensors; ++i) tensors.push_back(tensor());
    CHECK_NETWORK(left_ == 0, "a message of ", total_, " bytes has ", left_, " too many");
    auto message =
        c10::make_intrusive<Message>(std::move(payload), std::move(tensors), static_cast<MessageType>(header.type));
    message->from = header.from;
    message->autograd_context = header.autograd_context;
    message->autograd_message = header.autograd_message;
    return message;
  }

 private:
  void take(void* to, size_t n) {
    CHECK_NETWORK(n <= left_, "a message of ", total_, " bytes ends too early");
    left_ -= n;
    if (n != 0) read_(to, n);
  }
  std::vector<char> bytes(uint64_t n) {
    CHECK_NETWORK(n <= left_, "a message of ", total_, " bytes says that it has more");
    std::vector<char> all(n);
    take(all.data(), n);
    return all;
  }

  Tensor tensor() {
    TensorHeader about;
    take(&about, sizeof about);
    CHECK_NETWORK(about.dims <= kMaxDims, "a tensor has too many dimensions");
    std::vector<int64_t> sizes(about.dims);
    take(sizes.data(), sizes.size() * sizeof(int64_t));
    Tensor t;
    switch (about.form) {
      case Form::kUndefined:
        CHECK_NETWORK(about.bytes == 0, "no tensor has bytes");
        break;
      case Form::kPlain:
        t = plain_tensor(about, sizes);
        break;
      case Form::kFile:
        t = stored_tensor(about);
        break;
      default:
        CHECK_NETWORK(false, "a tensor has no form that is known");
    }
    const bool has_gradients =
        t.defined() && (c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type()));
    CHECK_NETWORK(about.requires_grad == 0 || has_gradients, "a tensor that has no gradients requires one");
    if (about.requires_grad != 0) t.set_requires_grad(true);
    return t;
  }

  Tensor plain_tensor(const TensorHeader& about, const std::vector<int64_t>& sizes) {
    const auto dtype = static_cast<at::ScalarType>(about.dtype);
    const bool is_known = about.dtype >= 0 && dtype < at::ScalarType::NumOptions && dtype != at::ScalarType::Undefined;
    CHECK_NETWORK(is_known && !c10::isQIntType(dtype) && c10::elementSize(dtype) != 0,
                  "a tensor has no dtype that is plain");
    const uint64_t item = c10::elementSize(dtype);
    uint64_t numel = 1;
    for (const int64_t size : sizes) {
      CHECK_NETWORK(size >= 0, "a tensor has a negative size");
      const uint64_t most = std::numeric_limits<int64_t>::max();
      CHECK_NETWORK(size == 0 || numel <= most / static_cast<uint64_t>(size), "a tensor is too large");
      numel *= static_cast<uint64_t>(size);
    }
    CHECK_NETWORK(about.bytes % item == 0 && numel == about.bytes / item,
                  "a tensor has another number of bytes than its sizes say");
    CHECK_NETWORK(about.bytes <= left_, "a tensor says that it has more bytes than there are");
    Tensor t = at::empty(sizes, dtype);
    take(t.mutable_data_ptr(), about.bytes);
    return t;
  }

  Tensor stored_tensor(const TensorHeader& about) {
    const std::vector<char> file = bytes(about.bytes);
    try {
      return torch::pickle_load(file).toTensor();
    } catch (const c10::Error& e) {
      CHECK_NETWORK(false, "a tensor has bytes that are no file: ", e.msg());
    }
  }

  const size_t total_;
  size_t left_;
  const std::function<void(void*, size_t)>& read_;
};

}  // namespace

MessagePtr decode(size_t total, const std::function<void(void*, size_t)>& read, uint64_t job) {
  return Decoder(total, read).message(job);
}

}  // namespace torch::distributed::rpc
