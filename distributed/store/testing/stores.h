// The stores of the tests, and sockets that speak to their servers byte by byte.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/store/store.h"
#include "distributed/store/tcp_connection.h"
#include "distributed/store/tcp_store.h"

namespace c10d::testing {

/// A server, and this process's client of it, on a free port of this machine.
c10::intrusive_ptr<TCPStore> tcp_server(TCPStoreOptions options = {});
c10::intrusive_ptr<TCPStore> tcp_client(uint16_t port, std::chrono::milliseconds timeout = std::chrono::seconds(30));

/// A kind of store: `open(first)` gives a handle of one store, the first time makes it.
struct StoreKind {
  const char* name;
  bool has_queues;
  std::function<std::function<c10::intrusive_ptr<Store>()>()> make;
};
const std::vector<StoreKind>& store_kinds();

/// A connection of bytes to a port of this machine.
class RawClient {
 public:
  explicit RawClient(uint16_t port);
  explicit RawClient(detail::Socket socket) : socket_(std::move(socket)) {}
  /// False where the peer has closed.
  bool send(std::string_view bytes);
  /// Up to `size` bytes, fewer where the peer closes or nothing comes for `limit`.
  std::string receive(size_t size, std::chrono::milliseconds limit = std::chrono::seconds(10));
  /// Whether the peer closes within the time.
  bool closed_within(std::chrono::milliseconds limit);
  void close() { socket_.close(); }

 private:
  detail::Socket socket_;
};

std::vector<uint8_t> bytes(std::string_view text);

}  // namespace c10d::testing
