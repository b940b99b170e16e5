#include "examples/serve/socket_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace serve {
namespace {

constexpr size_t kBuffer = 64 << 10;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

}  // namespace

SocketStream::SocketStream(int socket) : socket_(socket), in_(kBuffer, '\0') {}

SocketStream::~SocketStream() {
  ::close(socket_);
}

void SocketStream::set_read_limit(Clock::time_point deadline, size_t bytes) {
  deadline_ = deadline;
  limit_ = bytes;
  bytes_read_ = 0;
  timed_out_ = too_long_ = has_written_ = false;
}

bool SocketStream::wait(short events, Clock::time_point deadline) const {
  pollfd one{socket_, events, 0};
  while (true) {
    const int ready = ::poll(&one, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Readable SocketStream::wait_for_data(std::chrono::milliseconds time, int stop) const {
  if (buffered() > 0) return Readable::kData;
  const auto deadline = Clock::now() + time;
  pollfd both[] = {{socket_, POLLIN, 0}, {stop, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(both, 2, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (both[0].revents != 0) return Readable::kData;
    return ready > 0 ? Readable::kStopped : Readable::kNothing;
  }
}

ssize_t SocketStream::read(char* data, size_t size) {
  if (bytes_read_ >= limit_) {
    too_long_ = true;
    return -1;
  }
  size = std::min(size, limit_ - bytes_read_);
  while (begin_ == end_) {
    if (broken_ || !flush()) return -1;
    if (Clock::now() >= deadline_) {
      timed_out_ = true;
      return -1;
    }
    const ssize_t got = ::recv(socket_, in_.data(), in_.size(), 0);
    if (got > 0) {
      begin_ = 0;
      end_ = static_cast<size_t>(got);
      break;
    }
    if (got == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      broken_ = true;
      return -1;
    }
    wait(POLLIN, deadline_);
  }
  const size_t count = std::min(size, end_ - begin_);
  std::memcpy(data, in_.data() + begin_, count);
  begin_ += count;
  bytes_read_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t SocketStream::write(const char* data, size_t size) {
  if (broken_) return -1;
  has_written_ = true;
  out_.append(data, size);
  return static_cast<ssize_t>(size);
}

bool SocketStream::flush() {
  const auto deadline = Clock::now() + write_time_;
  size_t sent = 0;
  while (sent < out_.size() && !broken_) {
    const ssize_t count = ::send(socket_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      broken_ = !wait(POLLOUT, deadline);
    } else if (errno != EINTR) {
      broken_ = true;
    }
    broken_ = broken_ || (sent < out_.size() && Clock::now() >= deadline);
  }
  if (out_.capacity() > 16 * kBuffer) {
    out_ = std::string();
  } else {
    out_.clear();
  }
  return !broken_;
}

void SocketStream::linger(std::chrono::milliseconds time) {
  if (!flush()) return;
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + time;
  while (Clock::now() < deadline) {
    const ssize_t got = ::recv(socket_, in_.data(), in_.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return;
    if (got < 0) wait(POLLIN, deadline);
  }
}

// Who it is matters to nobody here: looking it up would be two calls of the system a request.
void SocketStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void SocketStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace serve
