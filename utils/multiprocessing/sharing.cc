#include "utils/multiprocessing/sharing.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "aten/extension/shared_memory.h"
#include "aten/extension/storage_utils.h"
#include "c10/util/exception.h"
#include "c10/util/safe_numerics.h"
#include "utils/pickle/script.h"
#include "utils/pickle/values.h"

namespace torch::multiprocessing {
namespace {

using c10::IValue;
using pickle::PickledStorage;
using Clock = std::chrono::steady_clock;

constexpr char kDescriptors[] = "file_descriptor", kNames[] = "file_system";

// The kernel takes 253 descriptors a message; three are for the message itself.
constexpr size_t kMostDescriptors = 250;
// Longer messages are memory of their own, of which the socket carries the descriptor.
constexpr size_t kLongestInline = 32768;
constexpr uint64_t kLongestMessage = uint64_t{1} << 32;
constexpr size_t kLongestName = 64;

// A message: this, the storages, the pickle that names them.
struct Head {
  static constexpr uint64_t kMagic = 0x31304d50444e494bull;
  uint64_t magic = kMagic;
  uint64_t bytes = 0;  // of the message
  uint64_t storages = 0;
  uint64_t descriptors = 0;  // of storages, after that of the message itself where it is not in line
  uint8_t in_line = 1;       // or 0
  uint8_t by_name = 0;       // or 1: the last descriptor is closed when the message has been received
  char unused[6] = {};
};
struct StorageHead {
  uint64_t bytes = 0;
  char name[kLongestName] = {};  // "" where it is the next descriptor
};

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Storages that were sent by name. The receiver closes the other end of `pipe`, or the kernel does with the message.
struct Sent {
  Descriptor pipe;
  std::vector<PickledStorage> storages;
};
struct AllSent {
  std::mutex mutex;
  std::vector<Sent> messages;
  pid_t process = ::getpid();
};
AllSent& all_sent() {
  static AllSent& sent = *[] {
    auto* made = new AllSent;
    ::pthread_atfork([] { all_sent().mutex.lock(); }, [] { all_sent().mutex.unlock(); },
                     [] { all_sent().mutex.unlock(); });
    return made;
  }();
  return sent;
}

// With the lock held.
void forget_received(AllSent& sent) {
  if (sent.process != ::getpid()) {  // a child: these are its parent's
    sent.messages.clear();
    sent.process = ::getpid();
  }
  const auto is_received = [](const Sent& message) {
    pollfd end{message.pipe.get(), 0, 0};
    return ::poll(&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  };
  sent.messages.erase(std::remove_if(sent.messages.begin(), sent.messages.end(), is_received), sent.messages.end());
}

void check_tensors(const IValue& value, int depth = 0) {
  TORCH_CHECK_VALUE(depth < 1000, "multiprocessing: a value of more than 1,000 lists, tuples and dicts in one another");
  if (value.isTensor()) {
    const at::Tensor tensor = value.toTensor();
    if (!tensor.defined()) return;
    TORCH_CHECK_NOT_IMPLEMENTED(
        tensor.is_cpu() && tensor.has_storage() && tensor.layout() == at::Layout::Strided,
        "multiprocessing: only dense tensors on the CPU are sent to other processes, got one on ", tensor.device(),
        " with layout ", tensor.layout());
    TORCH_CHECK(tensor.is_leaf() || !tensor.requires_grad(),
                "multiprocessing: a tensor that requires a gradient and is not a leaf cannot be sent, because no "
                "gradient flows from process to process; send tensor.detach() if its values are all that is wanted");
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) check_tensors(element, depth + 1);
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elementsArrayRef()) check_tensors(element, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      check_tensors(entry.key(), depth + 1);
      check_tensors(entry.value(), depth + 1);
    }
  }
}

void share(const c10::Storage& storage) {
  at::Tensor all(at::TensorImpl::contiguous(storage.impl(), at::ScalarType::Byte, storage.device(),
                                            {static_cast<int64_t>(storage.nbytes())}));
  at::share_memory_(all);
}

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Descriptor memory_of(const std::string& text) {
  Descriptor memory(::memfd_create("kindling", MFD_CLOEXEC));
  TORCH_CHECK(memory.get() >= 0, "multiprocessing: cannot make a descriptor: ", std::strerror(errno));
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(memory.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    TORCH_CHECK(n > 0, "multiprocessing: cannot write a message of ", text.size(), " bytes: ", std::strerror(errno));
    at += static_cast<size_t>(n);
  }
  return memory;
}

void send_message(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (kMostDescriptors + 3))] = {};
  if (!descriptors.empty()) {
    const size_t size = sizeof(int) * descriptors.size();
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), descriptors.data(), size);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      pollfd writable{socket, POLLOUT, 0};
      ::poll(&writable, 1, -1);
      continue;
    }
    TORCH_CHECK(false, "multiprocessing: cannot send: ", std::strerror(errno));
  }
}

struct Received {
  std::string bytes;
  std::vector<Descriptor> descriptors;
};

std::optional<Received> receive_message(int socket, bool waits) {
  Received received;
  received.bytes.resize(kLongestInline + sizeof(Head));
  iovec part{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (kMostDescriptors + 3))];
  ssize_t n = -1;
  while (n < 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    if (n < 0 && errno == EAGAIN) {
      if (!waits) return std::nullopt;
      pollfd readable{socket, POLLIN, 0};
      ::poll(&readable, 1, -1);
      continue;
    }
    TORCH_CHECK(n >= 0 || errno == EINTR, "multiprocessing: cannot receive: ", std::strerror(errno));
  }
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(head) + i * sizeof(int), sizeof number);
      received.descriptors.emplace_back(number);
    }
  }
  TORCH_CHECK(n > 0, "multiprocessing: the other end of the socket is closed");
  TORCH_CHECK((message.msg_flags & MSG_CTRUNC) == 0,
              "multiprocessing: this process may open no more descriptors (ulimit -n), so that tensors were lost; "
              "torch::multiprocessing::set_sharing_strategy(\"file_system\") in the sender needs none");
  TORCH_CHECK((message.msg_flags & MSG_TRUNC) == 0, "multiprocessing: a message that send() did not write");
  received.bytes.resize(static_cast<size_t>(n));
  return received;
}

// Storages of a message, by number.
class Storages final : public pickle::StorageSource {
 public:
  explicit Storages(std::vector<c10::Storage> storages) : storages_(std::move(storages)) {}
  pickle::StorageBytes find(std::string_view key, const pickle::Tree& tree, pickle::NodeId at) override {
    size_t number = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
    if (read.ec != std::errc() || number >= storages_.size()) tree.fail(at, "the message has no such storage");
    pickle::StorageBytes bytes;
    bytes.storage = storages_[number];
    bytes.size = bytes.storage.nbytes();
    return bytes;
  }

 private:
  std::vector<c10::Storage> storages_;
};

c10::Storage storage_of(c10::DataPtr data, size_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(data));
}

std::string text_of(at::IntArrayRef values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

// Numbers with `separator` between them; false where the text is something else.
bool read_numbers(std::string_view text, std::vector<int64_t>& numbers) {
  while (!text.empty()) {
    int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || number < 0) return false;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
    if (text.empty()) return true;
    if (text[0] != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

}  // namespace

std::set<std::string> get_all_sharing_strategies() {
  return {kDescriptors, kNames};
}
std::string get_sharing_strategy() {
  return at::sharing_strategy() == at::SharingStrategy::kFileDescriptor ? kDescriptors : kNames;
}
void set_sharing_strategy(std::string_view strategy) {
  TORCH_CHECK_VALUE(strategy == kDescriptors || strategy == kNames, "set_sharing_strategy: expected \"", kDescriptors,
                    "\" or \"", kNames, "\", got \"", strategy, "\"");
  at::set_sharing_strategy(strategy == kDescriptors ? at::SharingStrategy::kFileDescriptor
                                                    : at::SharingStrategy::kFileSystem);
}

at::Tensor& share_memory_(at::Tensor& tensor) {
  at::share_memory_(tensor);
  return tensor;
}
bool is_shared(const at::Tensor& tensor) {
  return at::is_shared(tensor);
}

std::string share_by_name(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.defined(), "share_by_name: expected a defined tensor");
  check_tensors(tensor);
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (!at::is_shared_memory(storage.data_ptr())) {
    c10::DataPtr fresh = at::new_shared_memory(storage.nbytes(), at::SharingStrategy::kFileSystem);
    if (storage.nbytes() != 0) std::memcpy(fresh.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr(std::move(fresh));
    storage.set_resizable(false);
  }
  const std::string name = at::shared_memory_name(storage.data_ptr());
  TORCH_CHECK_VALUE(!name.empty(), "share_by_name: the tensor's storage is shared by descriptor already; ",
                    "share it after set_sharing_strategy(\"", kNames, "\")");
  return c10::str(name, ":", static_cast<int>(tensor.scalar_type()), ";", tensor.storage_offset(), ";",
                  text_of(tensor.sizes()), ";", text_of(tensor.strides()), ";", tensor.requires_grad() ? 1 : 0);
}

at::Tensor open_by_name(const std::string& name) {
  std::vector<std::string_view> fields;
  const size_t colon = name.find(':');
  std::string_view rest = colon == std::string::npos ? std::string_view() : std::string_view(name).substr(colon + 1);
  for (size_t end; (end = rest.find(';')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    fields.push_back(rest.substr(0, end));
  }
  fields.push_back(rest);
  std::vector<int64_t> dtype, offset, sizes, strides, grad;
  const bool is_name = fields.size() == 5 && read_numbers(fields[0], dtype) && dtype.size() == 1 &&
                       dtype[0] < static_cast<int64_t>(at::ScalarType::Undefined) && read_numbers(fields[1], offset) &&
                       offset.size() == 1 && read_numbers(fields[2], sizes) && read_numbers(fields[3], strides) &&
                       sizes.size() == strides.size() && sizes.size() <= at::TensorImpl::kMaxDims &&
                       read_numbers(fields[4], grad) && grad.size() == 1 && grad[0] <= 1;
  TORCH_CHECK_VALUE(is_name, "open_by_name: '", name, "' is not a name that share_by_name gives");
  c10::checked_numel(sizes);
  size_t bytes = 0;
  c10::DataPtr data = at::attach_shared_memory(name.substr(0, colon), &bytes);
  const auto type = static_cast<at::ScalarType>(dtype[0]);
  // The last element's end, which the memory has.
  int64_t end = offset[0];
  bool fits = true, is_empty = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t step = 0;
    is_empty |= sizes[d] == 0;
    fits &= !c10::mul_overflows(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &step) &&
            !__builtin_add_overflow(end, step, &end);
  }
  int64_t last = 0;
  fits &= !__builtin_add_overflow(end, 1, &end) &&
          !c10::mul_overflows(end, static_cast<int64_t>(c10::elementSize(type)), &last);
  TORCH_CHECK_VALUE(is_empty || (fits && last <= static_cast<int64_t>(bytes)), "open_by_name: '", name,
                    "' says more elements than its ", bytes, " bytes have");
  auto impl = at::TensorImpl::contiguous(storage_of(std::move(data), bytes).impl(), type, c10::Device(c10::kCPU), {0});
  impl->set_sizes_and_strides(sizes, strides);
  impl->set_storage_offset(offset[0]);
  at::Tensor tensor(std::move(impl));
  if (grad[0] == 1) tensor.requires_grad_();
  return tensor;
}

void send(int socket, const IValue& value) {
  check_tensors(value);
  pickle::PickledValue pickled = pickle::pickle_value(value);
  Head head;
  std::string storages;
  std::vector<int> descriptors;
  for (const PickledStorage& stored : pickled.storages) {
    share(stored.storage);
    const size_t element = stored.untyped ? 1 : c10::elementSize(stored.dtype);
    StorageHead one;
    one.bytes = stored.storage.nbytes() / element * element;
    const std::string name = at::shared_memory_name(stored.storage.data_ptr());
    if (name.empty()) {
      const int descriptor = at::shared_memory_descriptor(stored.storage.data_ptr());
      TORCH_CHECK_NOT_IMPLEMENTED(descriptor >= 0,
                                  "multiprocessing: a tensor in a mapped file that is not kept open cannot be sent");
      descriptors.push_back(descriptor);
    } else {
      head.by_name = 1;
      std::copy(name.begin(), name.end(), one.name);
    }
    append(storages, one);
  }
  TORCH_CHECK_VALUE(descriptors.size() <= kMostDescriptors, "multiprocessing: a message carries the descriptors of ",
                    kMostDescriptors, " storages at most, this has ", descriptors.size(), "; set_sharing_strategy(\"",
                    kNames, "\") shares tensors without");
  head.storages = pickled.storages.size();
  head.descriptors = descriptors.size();
  std::string body = std::move(storages) + pickled.bytes;
  head.bytes = body.size();
  head.in_line = body.size() <= kLongestInline ? 1 : 0;
  Descriptor memory;
  if (!head.in_line) {
    memory = memory_of(body);
    descriptors.insert(descriptors.begin(), memory.get());
    body.clear();
  }
  Descriptor here, there;
  if (head.by_name) {
    int ends[2];
    TORCH_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "multiprocessing: cannot make a pipe: ", std::strerror(errno));
    here = Descriptor(ends[0]);
    there = Descriptor(ends[1]);
    descriptors.push_back(there.get());
  }
  std::string message;
  append(message, head);
  message += body;
  send_message(socket, message, descriptors);
  AllSent& sent = all_sent();
  const std::lock_guard<std::mutex> lock(sent.mutex);
  there = Descriptor();
  forget_received(sent);
  if (head.by_name) sent.messages.push_back({std::move(here), std::move(pickled.storages)});
}

namespace {

IValue value_of(Received received) {
  const auto check = [](bool is_right) {
    TORCH_CHECK(is_right, "multiprocessing: a message that send() did not write");
  };
  Head head;
  check(received.bytes.size() >= sizeof head);
  std::memcpy(&head, received.bytes.data(), sizeof head);
  check(head.in_line <= 1 && head.by_name <= 1);
  const size_t more = (head.in_line ? 0 : 1) + (head.by_name ? 1 : 0);
  check(head.magic == Head::kMagic && head.descriptors <= kMostDescriptors && head.bytes <= kLongestMessage &&
        received.descriptors.size() == head.descriptors + more && head.storages <= head.bytes / sizeof(StorageHead));
  std::string body;
  if (head.in_line) {
    body = received.bytes.substr(sizeof head);
  } else {
    const int memory = received.descriptors[0].get();
    struct stat status {};
    check(::fstat(memory, &status) == 0 && static_cast<uint64_t>(status.st_size) == head.bytes);
    body.resize(head.bytes);
    for (size_t at = 0; at < body.size();) {
      const ssize_t n = ::pread(memory, body.data() + at, body.size() - at, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      check(n > 0);
      at += static_cast<size_t>(n);
    }
  }
  check(body.size() == head.bytes);

  std::vector<c10::Storage> storages;
  size_t next = head.in_line ? 0 : 1;
  for (uint64_t i = 0; i < head.storages; ++i) {
    StorageHead one;
    std::memcpy(&one, body.data() + i * sizeof one, sizeof one);
    check(one.name[kLongestName - 1] == '\0');
    if (one.name[0] != '\0') {
      size_t bytes = 0;
      c10::DataPtr data = at::attach_shared_memory(one.name, &bytes);
      check(bytes >= one.bytes);
      storages.push_back(storage_of(std::move(data), one.bytes));
    } else {
      check(next < received.descriptors.size() && one.bytes <= static_cast<uint64_t>(INT64_MAX));
      storages.push_back(
          storage_of(at::map_shared_memory(received.descriptors[next++].release(), one.bytes), one.bytes));
    }
  }
  const std::string_view text = std::string_view(body).substr(head.storages * sizeof(StorageHead));
  const pickle::Tree tree = pickle::parse(text, {"multiprocessing: a message"});
  Storages source(std::move(storages));
  return pickle::to_value(tree, source, {});
}

}  // namespace

IValue receive(int socket) {
  return value_of(*receive_message(socket, /*waits=*/true));
}

std::optional<IValue> try_receive(int socket) {
  std::optional<Received> received = receive_message(socket, /*waits=*/false);
  if (!received.has_value()) return std::nullopt;
  return value_of(*std::move(received));
}

bool wait_until_received(std::chrono::milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  AllSent& sent = all_sent();
  for (;;) {
    pollfd first{-1, 0, 0};
    {
      const std::lock_guard<std::mutex> lock(sent.mutex);
      forget_received(sent);
      if (sent.messages.empty()) return true;
      first.fd = sent.messages.front().pipe.get();
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    // Another thread may close it meanwhile: then this looks again after a moment.
    ::poll(&first, 1, static_cast<int>(std::min<int64_t>(left.count(), 20)));
  }
}

}  // namespace torch::multiprocessing
