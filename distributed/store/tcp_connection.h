// A client's connection to a server, whose every step has a deadline; and the sockets of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace c10d::detail {

class Deadline;

/// A descriptor, closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// The deadline of a connection's operation has passed.
struct TimedOut {};

/// "host:port", "[::1]:port"
std::string endpoint_text(const std::string& host, uint16_t port);

/// Non-blocking, listening on all interfaces (IPv6 and IPv4 where the machine has both). Throws c10::DistNetworkError.
Socket listen_on(uint16_t port);
/// The port that a socket is bound to. Throws c10::DistNetworkError where it is no bound socket.
uint16_t bound_port(int fd);
/// No delay of small packets, and an end for peers that are gone.
void set_connection_options(int fd);

/// Opened and greeted. Breaks throw c10::DistNetworkError, a passed deadline TimedOut; it is then of no more use.
class TCPConnection {
 public:
  /// Tries until the deadline, with growing pauses; where the server is known to have been there, only until nobody
  /// listens. Throws c10::DistNetworkError with host, port, attempts and the last error.
  TCPConnection(const std::string& host, uint16_t port, const Deadline& deadline, bool was_there = false);

  void send(std::string_view bytes, const Deadline& deadline);
  /// Throws where the server has closed; does not wait.
  void check_open();
  uint8_t receive_u8(const Deadline& deadline);
  uint32_t receive_u32(const Deadline& deadline);
  uint64_t receive_u64(const Deadline& deadline);
  /// With its length before it, of which more than `limit` throws c10::DistNetworkError.
  std::string receive_text(size_t limit, const Deadline& deadline);

 private:
  void attempt(const std::string& host, uint16_t port, const Deadline& deadline);
  void poll(short events, const Deadline& deadline);
  // At least one byte into buffer_, which is empty.
  void fill(const Deadline& deadline);
  void receive(char* bytes, size_t size, const Deadline& deadline);

  Socket socket_;
  char buffer_[4096];
  size_t begin_ = 0;
  size_t end_ = 0;
  bool refused_ = false;
};

}  // namespace c10d::detail
