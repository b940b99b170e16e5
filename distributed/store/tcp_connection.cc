#include "distributed/store/tcp_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "c10/util/exception.h"
#include "distributed/store/deadline.h"
#include "distributed/store/tcp_protocol.h"

namespace c10d::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{1000};
// One attempt, where the deadline leaves more: a host that drops packets shall not take all the time.
constexpr milliseconds kAttempt{20000};
constexpr int kBacklog = 4096;

[[noreturn]] void fail(const std::string& what, int error) {
  C10_THROW_ERROR(DistNetworkError, what + ": " + std::strerror(error));
}

void set_option(int fd, int level, int name, int value) {
  // All are improvements only: a socket without them serves, too.
  (void)::setsockopt(fd, level, name, &value, sizeof(value));
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

std::unique_ptr<addrinfo, FreeAddresses> addresses_of(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    C10_THROW_ERROR(DistNetworkError, c10::str("getaddrinfo(", host, "): ", ::gai_strerror(error)));
  }
  return std::unique_ptr<addrinfo, FreeAddresses>(list);
}

// An error of listen(), after which an address of the other family may do.
Socket try_listen(int family, uint16_t port, int* error) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  *error = errno;
  if (!socket) return {};
  set_option(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    set_option(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    auto* in = reinterpret_cast<sockaddr_in6*>(&address);
    in->sin6_family = AF_INET6;
    in->sin6_addr = in6addr_any;
    in->sin6_port = htons(port);
    size = sizeof(*in);
  } else {
    auto* in = reinterpret_cast<sockaddr_in*>(&address);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_ANY);
    in->sin_port = htons(port);
    size = sizeof(*in);
  }
  const bool listens =
      ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(socket.fd(), kBacklog) == 0;
  *error = errno;
  return listens ? std::move(socket) : Socket();
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string endpoint_text(const std::string& host, uint16_t port) {
  const bool numeric_v6 = host.find(':') != std::string::npos;
  return c10::str(numeric_v6 ? "[" : "", host, numeric_v6 ? "]:" : ":", port);
}

Socket listen_on(uint16_t port) {
  int error = 0;
  Socket socket = try_listen(AF_INET6, port, &error);
  if (!socket && error != EADDRINUSE) socket = try_listen(AF_INET, port, &error);
  if (!socket) fail(c10::str("the TCPStore server cannot listen on port ", port), error);
  return socket;
}

uint16_t bound_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail(c10::str("getsockname of descriptor ", fd), errno);
  }
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  C10_THROW_ERROR(DistNetworkError, c10::str("descriptor ", fd, " is no socket of TCP"));
}

void set_connection_options(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 6);
}

TCPConnection::TCPConnection(const std::string& host, uint16_t port, const Deadline& deadline, bool was_there) {
  std::minstd_rand random(std::random_device{}());
  std::string last = "none";
  milliseconds pause = kFirstPause;
  for (int attempts = 1;; ++attempts) {
    try {
      attempt(host, port, deadline);
      return;
    } catch (const TimedOut&) {
      last = "no answer";
    } catch (const c10::DistNetworkError& error) {
      last = error.msg();
    }
    socket_.close();
    begin_ = end_ = 0;
    // Up to half more, so that many clients do not come at once.
    milliseconds next = pause + milliseconds(random() % (pause.count() / 2));
    if (deadline.limited()) next = std::min(next, milliseconds(deadline.poll_timeout()));
    if (deadline.passed() || next.count() == 0 || (was_there && refused_)) {
      C10_THROW_ERROR(DistNetworkError,
                      c10::str("TCPStore: could not connect to ", endpoint_text(host, port), " within ",
                               was_there ? deadline.elapsed().count() : deadline.timeout().count(),
                               " ms; attempts: ", attempts, ", the last error: ", last));
    }
    std::this_thread::sleep_for(next);
    pause = std::min(2 * pause, kLongestPause);
  }
}

void TCPConnection::attempt(const std::string& host, uint16_t port, const Deadline& deadline) {
  milliseconds limit = kAttempt;
  if (deadline.limited()) limit = std::min(limit, milliseconds(std::max(1, deadline.poll_timeout())));
  const Deadline of_attempt(limit);
  const auto list = addresses_of(host, port);
  int error = 0;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    socket_ = Socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = errno;
    if (!socket_) continue;
    if (::connect(socket_.fd(), at->ai_addr, at->ai_addrlen) != 0) {
      error = errno;
      if (error != EINPROGRESS) continue;
      poll(POLLOUT, of_attempt);
      socklen_t size = sizeof(error);
      if (::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
      if (error != 0) continue;
    }
    set_connection_options(socket_.fd());
    // The answer shows that it is a store's server.
    const auto nonce = static_cast<uint32_t>(::getpid());
    send(std::string(kOpening) + Message(QueryType::kPing).nonce(nonce).take(), of_attempt);
    if (receive_u32(of_attempt) != nonce) {
      C10_THROW_ERROR(DistNetworkError, "the peer answers the greeting wrongly: it is no TCPStore server");
    }
    return;
  }
  refused_ = error == ECONNREFUSED;
  fail("connect", error);
}

void TCPConnection::poll(short events, const Deadline& deadline) {
  pollfd entry{socket_.fd(), events, 0};
  for (;;) {
    const int n = ::poll(&entry, 1, deadline.poll_timeout());
    if (n > 0) return;
    if (n < 0 && errno != EINTR) fail("poll", errno);
    if (deadline.passed()) throw TimedOut();
  }
}

void TCPConnection::send(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      poll(POLLOUT, deadline);
    } else if (errno != EINTR) {
      fail("send", errno);
    }
  }
}

void TCPConnection::check_open() {
  char byte = 0;
  const ssize_t n = ::recv(socket_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0) C10_THROW_ERROR(DistNetworkError, "the server closed the connection");
  if (n < 0 && errno != EAGAIN && errno != EINTR) fail("recv", errno);
}

void TCPConnection::fill(const Deadline& deadline) {
  for (;;) {
    poll(POLLIN, deadline);
    const ssize_t n = ::recv(socket_.fd(), buffer_, sizeof(buffer_), 0);
    if (n > 0) {
      begin_ = 0;
      end_ = static_cast<size_t>(n);
      return;
    }
    if (n == 0) C10_THROW_ERROR(DistNetworkError, "the server closed the connection");
    if (errno != EAGAIN && errno != EINTR) fail("recv", errno);
  }
}

void TCPConnection::receive(char* bytes, size_t size, const Deadline& deadline) {
  while (size > 0) {
    if (begin_ == end_) fill(deadline);
    const size_t n = std::min(size, end_ - begin_);
    std::memcpy(bytes, buffer_ + begin_, n);
    begin_ += n;
    bytes += n;
    size -= n;
  }
}

uint8_t TCPConnection::receive_u8(const Deadline& deadline) {
  char byte = 0;
  receive(&byte, 1, deadline);
  return static_cast<uint8_t>(byte);
}

uint32_t TCPConnection::receive_u32(const Deadline& deadline) {
  char bytes[4];
  receive(bytes, sizeof(bytes), deadline);
  return load_u32(bytes);
}

uint64_t TCPConnection::receive_u64(const Deadline& deadline) {
  char bytes[8];
  receive(bytes, sizeof(bytes), deadline);
  return load_u64(bytes);
}

std::string TCPConnection::receive_text(size_t limit, const Deadline& deadline) {
  const uint64_t size = receive_u64(deadline);
  if (size > limit) {
    C10_THROW_ERROR(DistNetworkError, c10::str("the server announces ", size, " bytes, more than ", limit));
  }
  // Grows with what has come, not with what was announced.
  std::string text;
  while (text.size() < size) {
    if (begin_ == end_) fill(deadline);
    const size_t n = std::min<size_t>(size - text.size(), end_ - begin_);
    text.append(buffer_ + begin_, n);
    begin_ += n;
  }
  return text;
}

}  // namespace c10d::detail
