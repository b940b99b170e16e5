// The server of a TCPStore: one thread, which holds the data and talks to all clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "distributed/store/tcp_connection.h"
#include "distributed/store/tcp_store.h"

namespace c10d::detail {

class TCPStoreServer {
 public:
  /// Listens as the options say; shared with earlier ones under multiTenant. Throws c10::DistNetworkError where it
  /// cannot.
  static std::shared_ptr<TCPStoreServer> start(const TCPStoreOptions& options);
  /// Ends the thread and all connections.
  ~TCPStoreServer();
  TCPStoreServer(const TCPStoreServer&) = delete;
  TCPStoreServer& operator=(const TCPStoreServer&) = delete;

  uint16_t port() const { return port_; }
  /// How many connections there are now, and how many bytes they hold that wait to be processed or sent.
  size_t connections() const { return connections_; }
  size_t buffered_bytes() const { return buffered_bytes_; }

 private:
  class Loop;
  explicit TCPStoreServer(const TCPStoreOptions& options);

  uint16_t port_ = 0;
  Socket stop_;
  std::atomic<size_t> connections_{0};
  std::atomic<size_t> buffered_bytes_{0};
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace c10d::detail
