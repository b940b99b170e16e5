// A store on a server that its clients reach by TCP, in PyTorch's wire format.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distributed/store/store.h"

namespace c10d {

/// What a server takes. A client that passes one of these limits is disconnected; the others go on.
struct TCPStoreLimits {
  std::size_t key_bytes = 8192;                       ///< of one key
  std::size_t value_bytes = std::size_t{64} << 20;    ///< of one value
  std::size_t query_bytes = std::size_t{256} << 20;   ///< of all keys and values of one query
  std::size_t keys = std::size_t{1} << 22;            ///< keys, queues and their elements together
  std::size_t total_bytes = std::size_t{4} << 30;     ///< of everything stored
  std::size_t buffered_bytes = std::size_t{1} << 30;  ///< of all that is received or to be sent and not yet processed
  std::size_t clients = 65536;
  /// Until the opening's five bytes are there.
  std::chrono::milliseconds opening_timeout = std::chrono::seconds(10);
  /// Without a byte of progress inside a query or an answer.
  std::chrono::milliseconds stall_timeout = std::chrono::seconds(60);
};

struct TCPStoreOptions {
  static constexpr std::uint16_t kDefaultPort = 29500;

  /// Of the server; 0: any free one, which getPort() then says.
  std::uint16_t port = kDefaultPort;
  /// Whether this process runs the server. It ends with the last TCPStore that shares it.
  bool isServer = false;
  /// How many stores there will be, the server's too.
  std::optional<std::size_t> numWorkers = std::nullopt;
  /// The server's constructor returns when numWorkers have come.
  bool waitWorkers = true;
  /// Of the connection, and of what waits.
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  /// All stores of this process with isServer and the same port share one server.
  bool multiTenant = false;
  /// A bound socket that the server is to listen on, and to close.
  std::optional<int> masterListenFd = std::nullopt;
  /// For programs that say it; there is one server here.
  bool useLibUV = true;
  TCPStoreLimits limits = {};
};

namespace detail {
class Deadline;
class TCPConnection;
class TCPStoreServer;
}  // namespace detail

/// A client of the server at host and port, and the server itself in one of the processes. PyTorch's clients and
/// servers of version 2 take part as well.
///
/// The constructor connects, again and again until the timeout, and throws c10::DistNetworkError with host, port,
/// attempts and the last error. When the server ends or a connection breaks, calls throw c10::DistNetworkError at once,
/// those that wait too, and so do all later ones. Keys of more than 8,192 bytes throw c10::ValueError, and so do values
/// above TCPStoreLimits::value_bytes, by the client's own options.
///
/// A server that does not answer at all ends a call a second after its timeout, and the connection with it.
///
/// A call that waits has a connection of its own: other threads' calls go on. A child of fork() makes a TCPStore of its
/// own. There is no encryption and no authentication: whoever reaches the port can read and write everything.
///
///   c10d::TCPStoreOptions options;
///   options.port = 29500;
///   options.isServer = rank == 0;
///   options.numWorkers = 2;
///   auto store = c10::make_intrusive<c10d::TCPStore>("10.0.0.1", options);
class TCPStore : public Store {
 public:
  explicit TCPStore(std::string host, const TCPStoreOptions& opts = {});
  explicit TCPStore(const std::string& masterAddr, std::uint16_t masterPort,
                    std::optional<int> numWorkers = std::nullopt, bool isServer = false,
                    const std::chrono::milliseconds& timeout = kDefaultTimeout, bool waitWorkers = true);
  ~TCPStore() override;

  using Store::barrier;
  using Store::compareSet;
  using Store::set;

  c10::intrusive_ptr<Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                  const std::vector<uint8_t>& newValue) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, getTimeout()); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }
  void queuePush(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> queuePop(const std::string& key, bool block = true) override;
  int64_t queueLen(const std::string& key) override;
  std::vector<std::string> listKeys() override;
  /// On PyTorch's server a key serves for one barrier.
  void barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout) override;

  /// Counts this store; the server's then returns when numWorkers are counted, or throws c10::DistStoreError at the
  /// timeout. The constructor calls it where the options say so.
  void waitForWorkers();

  const std::string& getHost() const noexcept { return host_; }
  std::uint16_t getPort() const noexcept { return port_; }
  bool isLibUvBackend() const noexcept { return false; }
  /// "TCPStore(host=localhost, port=29500, server=true)"
  std::string repr() const;

 private:
  friend c10::intrusive_ptr<TCPStore>;
  TCPStore(const TCPStore& other, const detail::Deadline& deadline);

  void check_sizes(const char* what, const std::vector<std::string>& keys,
                   const std::vector<std::vector<uint8_t>>& values = {}) const;
  // Sends on the connection that keeps the order of calls, and has `answer` read what comes back.
  template <class Answer>
  auto query(const char* what, const std::vector<std::string>& keys, const detail::Deadline& deadline,
             std::string bytes, Answer answer);
  // The same on a connection of its own, for what may take long.
  template <class Answer>
  auto side_query(const char* what, const std::vector<std::string>& keys, const detail::Deadline& deadline,
                  std::string bytes, Answer answer);
  // Sends what is answered with kYes once something has happened, and waits for that until the deadline.
  void side_wait(const char* what, const std::vector<std::string>& keys, const detail::Deadline& deadline,
                 std::string bytes);
  std::unique_ptr<detail::TCPConnection> connect(const detail::Deadline& deadline, bool was_there) const;
  std::string where() const;
  bool all_there(const char* what, const std::vector<std::string>& keys, const detail::Deadline& deadline);
  void wait_until(const char* what, const std::vector<std::string>& keys, const detail::Deadline& deadline);

  std::string host_;
  std::uint16_t port_;
  std::optional<std::size_t> num_workers_;
  TCPStoreLimits limits_;
  std::shared_ptr<detail::TCPStoreServer> server_;
  // What a compareSet expects that only asks: no value is equal to it.
  std::string unlike_any_;

  std::mutex mutex_;
  std::unique_ptr<detail::TCPConnection> main_;
  // Why main_ is not used any more.
  std::string broken_;

  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<detail::TCPConnection>> idle_;
};

}  // namespace c10d
