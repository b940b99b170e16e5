#include "distributed/store/tcp_store.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/store/bytes.h"
#include "distributed/store/deadline.h"
#include "distributed/store/tcp_connection.h"
#include "distributed/store/tcp_protocol.h"
#include "distributed/store/tcp_store_server.h"

namespace c10d {

using detail::Deadline;
using detail::Message;
using detail::QueryType;
using detail::TCPConnection;
using detail::TimedOut;
using detail::to_bytes;
using detail::to_text;
using detail::wire_key;

namespace {

// What a server may answer: more than one that keeps to TCPStoreLimits stores as one value.
constexpr size_t kLongestValue = size_t{1} << 30;
constexpr size_t kLongestKey = size_t{1} << 16;
// The key that counts workers, as it is on the wire.
constexpr const char* kWorkers = "init/";
constexpr size_t kIdleConnections = 4;
constexpr std::chrono::milliseconds kWorkersPause{10};
// How long after a call's deadline a server may answer what it answers at once: a short timeout is to say what a client
// waits for others, not that a busy machine breaks its connection.
constexpr std::chrono::milliseconds kAnswerTime{1000};

std::string random_text() {
  std::random_device random;
  std::string text = "kindling store, no value: ";
  for (int i = 0; i < 4; ++i) text += std::to_string(random());
  return text;
}

// No answer. A server that has ended before is noticed all the same.
struct Nothing {
  void operator()(TCPConnection& connection, const Deadline&) const { connection.check_open(); }
};

struct Number {
  int64_t operator()(TCPConnection& connection, const Deadline& deadline) const {
    return static_cast<int64_t>(connection.receive_u64(deadline));
  }
};

// kYes or kNo.
struct Flag {
  bool operator()(TCPConnection& connection, const Deadline& deadline) const {
    const uint8_t answer = connection.receive_u8(deadline);
    TORCH_CHECK_WITH(DistNetworkError, answer <= detail::kNo, "the server answers ", static_cast<int>(answer),
                     " where 0 or 1 must be");
    return answer == detail::kYes;
  }
};

struct Text {
  std::string operator()(TCPConnection& connection, const Deadline& deadline) const {
    return connection.receive_text(kLongestValue, deadline);
  }
};

TCPStoreOptions options_of(uint16_t port, std::optional<int> workers, bool is_server, std::chrono::milliseconds timeout,
                           bool wait_workers) {
  TCPStoreOptions options;
  options.port = port;
  options.isServer = is_server;
  if (workers) options.numWorkers = static_cast<size_t>(*workers);
  options.timeout = timeout;
  options.waitWorkers = wait_workers;
  return options;
}

}  // namespace

TCPStore::TCPStore(std::string host, const TCPStoreOptions& opts)
    : Store(opts.timeout),
      host_(std::move(host)),
      port_(opts.port),
      num_workers_(opts.numWorkers),
      limits_(opts.limits),
      unlike_any_(random_text()) {
  detail::check_timeout(timeout_);
  if (opts.isServer) {
    server_ = detail::TCPStoreServer::start(opts);
    port_ = server_->port();
  } else {
    TORCH_CHECK_VALUE(!opts.masterListenFd, "TCPStore: masterListenFd is for the server");
  }
  TORCH_CHECK_VALUE(port_ != 0, "TCPStore: a client needs the server's port");
  main_ = connect(Deadline(timeout_), /*was_there=*/false);
  if (num_workers_ && opts.waitWorkers) waitForWorkers();
}

TCPStore::TCPStore(const std::string& masterAddr, std::uint16_t masterPort, std::optional<int> numWorkers,
                   bool isServer, const std::chrono::milliseconds& timeout, bool waitWorkers)
    : TCPStore(masterAddr, options_of(masterPort, numWorkers, isServer, timeout, waitWorkers)) {}

TCPStore::TCPStore(const TCPStore& other, const Deadline& deadline)
    : Store(other.timeout_),
      host_(other.host_),
      port_(other.port_),
      num_workers_(other.num_workers_),
      limits_(other.limits_),
      server_(other.server_),
      unlike_any_(random_text()) {
  main_ = connect(deadline, /*was_there=*/true);
}

// Connections end before the server does.
TCPStore::~TCPStore() {
  main_.reset();
  idle_.clear();
}

c10::intrusive_ptr<Store> TCPStore::clone() {
  return c10::make_intrusive<TCPStore>(*this, Deadline(timeout_));
}

std::unique_ptr<TCPConnection> TCPStore::connect(const Deadline& deadline, bool was_there) const {
  return std::make_unique<TCPConnection>(host_, port_, deadline, was_there);
}

std::string TCPStore::where() const {
  return "TCPStore " + detail::endpoint_text(host_, port_);
}

void TCPStore::check_sizes(const char* what, const std::vector<std::string>& keys,
                           const std::vector<std::vector<uint8_t>>& values) const {
  for (const std::string& key : keys) {
    TORCH_CHECK_VALUE(key.size() < limits_.key_bytes, "TCPStore ", what, ": a key of ", key.size(),
                      " bytes: ", detail::quoted({key}), "; at most ", limits_.key_bytes - 1, " are allowed");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    TORCH_CHECK_VALUE(values[i].size() <= limits_.value_bytes, "TCPStore ", what, ": a value of ", values[i].size(),
                      " bytes for key ", detail::quoted({keys[i]}), "; at most ", limits_.value_bytes, " are allowed");
  }
}

template <class Answer>
auto TCPStore::query(const char* what, const std::vector<std::string>& keys, const Deadline& deadline,
                     std::string bytes, Answer answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto description = [&] {
    return c10::str(where(), ": ", what, " ", detail::quoted(keys), " failed after ", deadline.elapsed().count(),
                    " ms: ");
  };
  if (!broken_.empty()) C10_THROW_ERROR(DistNetworkError, description() + broken_);
  const Deadline answer_by = deadline.extended(kAnswerTime);
  try {
    main_->send(bytes, answer_by);
    return answer(*main_, answer_by);
  } catch (const c10::DistNetworkError& error) {
    broken_ = error.msg();
    main_.reset();
    C10_THROW_ERROR(DistNetworkError, description() + error.msg());
  } catch (const TimedOut&) {
    // The answer may come yet: what is read next would not be the next query's.
    broken_ = c10::str("the server did not answer ", what, " within ", deadline.timeout().count(), " ms");
    main_.reset();
    detail::throw_wait_timeout(deadline, c10::str(where(), ", which does not answer ", what), keys);
  }
}

template <class Answer>
auto TCPStore::side_query(const char* what, const std::vector<std::string>& keys, const Deadline& deadline,
                          std::string bytes, Answer answer) {
  std::unique_ptr<TCPConnection> connection;
  {
    const std::lock_guard<std::mutex> lock(idle_mutex_);
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  const auto keep = [&] {
    const std::lock_guard<std::mutex> lock(idle_mutex_);
    if (idle_.size() < kIdleConnections) idle_.push_back(std::move(connection));
  };
  const Deadline answer_by = deadline.extended(kAnswerTime);
  try {
    if (!connection) connection = connect(answer_by, /*was_there=*/true);
    connection->send(bytes, answer_by);
    auto result = answer(*connection, answer_by);
    keep();
    return result;
  } catch (const c10::DistNetworkError& error) {
    C10_THROW_ERROR(DistNetworkError, c10::str(where(), ": ", what, " ", detail::quoted(keys), " failed after ",
                                               deadline.elapsed().count(), " ms: ", error.msg()));
  } catch (const TimedOut&) {
    detail::throw_wait_timeout(deadline, where(), keys);
  }
}

void TCPStore::side_wait(const char* what, const std::vector<std::string>& keys, const Deadline& deadline,
                         std::string bytes) {
  const auto happened = [&](TCPConnection& connection, const Deadline& answer_by) {
    bool yes = false;
    try {
      yes = Flag()(connection, deadline);
    } catch (const TimedOut&) {
      // The server says no, unless its yes is under way; then the no follows.
      connection.send(Message(QueryType::kCancelWait).take(), answer_by);
      if (!Flag()(connection, answer_by)) return false;
      Flag()(connection, answer_by);
      return true;
    }
    TORCH_CHECK_WITH(DistNetworkError, yes, "the server ended the wait");
    return true;
  };
  if (!side_query(what, keys, deadline, std::move(bytes), happened))
    detail::throw_wait_timeout(deadline, where(), keys);
}

bool TCPStore::all_there(const char* what, const std::vector<std::string>& keys, const Deadline& deadline) {
  return query(what, keys, deadline, Message(QueryType::kCheck).keys(keys).take(), Flag());
}

void TCPStore::wait_until(const char* what, const std::vector<std::string>& keys, const Deadline& deadline) {
  side_wait(what, keys, deadline, Message(QueryType::kWait).keys(keys).take());
}

void TCPStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  check_sizes("set", {key}, {value});
  std::string bytes = Message(QueryType::kSet).text(wire_key(key)).text(to_text(value)).take();
  query("set", {key}, Deadline(timeout_), std::move(bytes), Nothing());
}

std::vector<uint8_t> TCPStore::compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                          const std::vector<uint8_t>& newValue) {
  check_sizes("compareSet", {key, key}, {currentValue, newValue});
  Message message(QueryType::kCompareSet);
  message.text(wire_key(key)).text(to_text(currentValue)).text(to_text(newValue));
  return to_bytes(query("compareSet", {key}, Deadline(timeout_), message.take(), Text()));
}

std::vector<uint8_t> TCPStore::get(const std::string& key) {
  check_sizes("get", {key});
  const Deadline deadline(timeout_);
  for (;;) {
    // One round trip: it answers with the value, or with what was expected where there is none.
    std::string bytes = Message(QueryType::kCompareSet).text(wire_key(key)).text(unlike_any_).text(unlike_any_).take();
    const std::string value = query("get", {key}, deadline, std::move(bytes), Text());
    if (value != unlike_any_) return to_bytes(value);
    wait_until("get", {key}, deadline);
  }
}

int64_t TCPStore::add(const std::string& key, int64_t value) {
  check_sizes("add", {key});
  return query("add", {key}, Deadline(timeout_), Message(QueryType::kAdd).text(wire_key(key)).number(value).take(),
               Number());
}

bool TCPStore::deleteKey(const std::string& key) {
  check_sizes("deleteKey", {key});
  return query("deleteKey", {key}, Deadline(timeout_), Message(QueryType::kDeleteKey).text(wire_key(key)).take(),
               Number()) > 0;
}

bool TCPStore::check(const std::vector<std::string>& keys) {
  check_sizes("check", keys);
  return all_there("check", keys, Deadline(timeout_));
}

int64_t TCPStore::getNumKeys() {
  return query("getNumKeys", {}, Deadline(timeout_), Message(QueryType::kGetNumKeys).take(), Number());
}

void TCPStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  detail::check_timeout(timeout);
  check_sizes("wait", keys);
  const Deadline deadline(timeout);
  // On the connection that keeps the order: what this store has set before is there.
  if (!all_there("wait", keys, deadline)) wait_until("wait", keys, deadline);
}

void TCPStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  check_sizes("append", {key}, {value});
  std::string bytes = Message(QueryType::kAppend).text(wire_key(key)).text(to_text(value)).take();
  query("append", {key}, Deadline(timeout_), std::move(bytes), Nothing());
}

std::vector<std::vector<uint8_t>> TCPStore::multiGet(const std::vector<std::string>& keys) {
  check_sizes("multiGet", keys);
  const Deadline deadline(timeout_);
  for (;;) {
    if (!all_there("multiGet", keys, deadline)) wait_until("multiGet", keys, deadline);
    try {
      return side_query("multiGet", keys, deadline, Message(QueryType::kMultiGet).keys(keys).take(),
                        [&](TCPConnection& connection, const Deadline&) {
                          std::vector<std::vector<uint8_t>> values;
                          for (size_t i = 0; i < keys.size(); ++i)
                            values.push_back(to_bytes(Text()(connection, deadline)));
                          return values;
                        });
    } catch (const c10::DistNetworkError&) {
      // The server ends the connection where a key was removed meanwhile.
      if (all_there("multiGet", keys, deadline)) throw;
    }
  }
}

void TCPStore::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  detail::check_same_count(keys, values);
  check_sizes("multiSet", keys, values);
  Message message(QueryType::kMultiSet);
  message.number(static_cast<int64_t>(keys.size()));
  for (size_t i = 0; i < keys.size(); ++i) message.text(wire_key(keys[i])).text(to_text(values[i]));
  query("multiSet", keys, Deadline(timeout_), message.take(), Nothing());
}

void TCPStore::queuePush(const std::string& key, const std::vector<uint8_t>& value) {
  check_sizes("queuePush", {key}, {value});
  std::string bytes = Message(QueryType::kQueuePush).text(wire_key(key)).text(to_text(value)).take();
  query("queuePush", {key}, Deadline(timeout_), std::move(bytes), Nothing());
}

std::vector<uint8_t> TCPStore::queuePop(const std::string& key, bool block) {
  check_sizes("queuePop", {key});
  const Deadline deadline(timeout_);
  for (;;) {
    const auto element = [](TCPConnection& connection, const Deadline& until) {
      return connection.receive_u64(until) > 0 ? std::optional<std::string>(Text()(connection, until)) : std::nullopt;
    };
    std::string bytes = Message(QueryType::kQueuePop).text(wire_key(key)).take();
    const std::optional<std::string> value = query("queuePop", {key}, deadline, std::move(bytes), element);
    if (value) return to_bytes(*value);
    if (!block) detail::throw_queue_empty(where(), key);
    wait_until("queuePop", {key}, deadline);
  }
}

int64_t TCPStore::queueLen(const std::string& key) {
  check_sizes("queueLen", {key});
  return query("queueLen", {key}, Deadline(timeout_), Message(QueryType::kQueueLen).text(wire_key(key)).take(),
               Number());
}

std::vector<std::string> TCPStore::listKeys() {
  const auto answer = [](TCPConnection& connection, const Deadline& deadline) {
    std::vector<std::string> keys;
    for (uint64_t left = connection.receive_u64(deadline); left > 0; --left) {
      std::string key = connection.receive_text(kLongestKey, deadline);
      // What the store set for itself is not a user's.
      if (key.starts_with('/')) keys.push_back(key.substr(1));
    }
    return keys;
  };
  return query("listKeys", {}, Deadline(timeout_), Message(QueryType::kListKeys).take(), answer);
}

void TCPStore::barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout) {
  detail::check_timeout(timeout);
  check_sizes("barrier", {key});
  TORCH_CHECK_VALUE(world_size > 0, "barrier '", key, "': world_size must be positive, got ", world_size);
  const Deadline deadline(timeout);
  // What this store has set before it arrives is there for all that leave.
  all_there("barrier", {}, deadline);
  side_wait("barrier", {key}, deadline, Message(QueryType::kBarrier).text(wire_key(key)).number(world_size).take());
}

void TCPStore::waitForWorkers() {
  if (!num_workers_) return;
  const Deadline deadline(timeout_);
  const auto count = [&](int64_t by) {
    return query("waitForWorkers", {kWorkers}, deadline, Message(QueryType::kAdd).text(kWorkers).number(by).take(),
                 Number());
  };
  int64_t joined = count(1);
  if (!server_) return;
  while (joined < static_cast<int64_t>(*num_workers_)) {
    if (deadline.passed()) {
      C10_THROW_ERROR(DistStoreError, c10::str(where(), ": ", joined, " of ", *num_workers_,
                                               " workers have come after ", deadline.elapsed().count(), " ms"));
    }
    std::this_thread::sleep_for(kWorkersPause);
    joined = count(0);
  }
}

std::string TCPStore::repr() const {
  return c10::str("TCPStore(host=", host_, ", port=", port_, ", server=", server_ ? "true" : "false", ")");
}

}  // namespace c10d
