#include "utils/multiprocessing/queue.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "c10/util/exception.h"
#include "utils/multiprocessing/sharing.h"

namespace torch::multiprocessing {

struct Queue::Ends {
  int in = -1, out = -1;
  ~Ends() {
    ::close(in);
    ::close(out);
  }
};

namespace {

bool is_readable(int socket, int milliseconds) {
  pollfd end{socket, POLLIN, 0};
  const int ready = ::poll(&end, 1, milliseconds);
  TORCH_CHECK(ready >= 0 || errno == EINTR, "Queue: cannot poll: ", std::strerror(errno));
  return ready == 1;
}

}  // namespace

Queue::Queue() {
  int ends[2];
  TORCH_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
              "Queue: cannot make a pair of sockets: ", std::strerror(errno));
  ends_ = std::make_shared<Ends>();
  ends_->in = ends[0];
  ends_->out = ends[1];
}

void Queue::put(const c10::IValue& value) {
  send(ends_->in, value);
}

c10::IValue Queue::get() {
  return receive(ends_->out);
}

std::optional<c10::IValue> Queue::get(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    // Another process may take it first.
    if (is_readable(ends_->out, static_cast<int>(std::clamp<int64_t>(left, 0, 1000)))) {
      if (auto value = try_receive(ends_->out)) return value;
    }
    if (left <= 0) return std::nullopt;
  }
}

bool Queue::empty() const {
  return !is_readable(ends_->out, 0);
}

struct Connection::End {
  int socket = -1;
  ~End() {
    if (socket >= 0) ::close(socket);
  }
};

void Connection::send(const c10::IValue& value) {
  TORCH_CHECK(!closed(), "Connection: this end is closed");
  multiprocessing::send(end_->socket, value);
}

c10::IValue Connection::recv() {
  TORCH_CHECK(!closed(), "Connection: this end is closed");
  return receive(end_->socket);
}

bool Connection::poll(std::chrono::milliseconds timeout) const {
  TORCH_CHECK(!closed(), "Connection: this end is closed");
  return is_readable(end_->socket, static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, 1 << 30)));
}

void Connection::close() {
  if (!closed()) ::close(std::exchange(end_->socket, -1));
}
bool Connection::closed() const {
  return end_->socket < 0;
}
int Connection::fileno() const {
  return end_->socket;
}

std::pair<Connection, Connection> Pipe(bool duplex) {
  int ends[2];
  TORCH_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
              "Pipe: cannot make a pair of sockets: ", std::strerror(errno));
  auto first = detail::Descriptors::connection({ends[0]}), second = detail::Descriptors::connection({ends[1]});
  if (!duplex) ::shutdown(ends[0], SHUT_WR);
  return {std::move(first), std::move(second)};
}

namespace detail {

std::vector<int> Descriptors::of(const Queue& queue) {
  return {queue.ends_->in, queue.ends_->out};
}
std::vector<int> Descriptors::of(const Connection& end) {
  TORCH_CHECK(!end.closed(), "Connection: this end is closed");
  return {end.end_->socket};
}

Queue Descriptors::queue(const std::vector<int64_t>& descriptors) {
  TORCH_CHECK_TYPE(descriptors.size() == 2, "expected a Queue");
  for (const int64_t socket : descriptors) ::fcntl(static_cast<int>(socket), F_SETFD, FD_CLOEXEC);
  auto ends = std::make_shared<Queue::Ends>();
  ends->in = static_cast<int>(descriptors[0]);
  ends->out = static_cast<int>(descriptors[1]);
  return Queue(std::move(ends));
}
Connection Descriptors::connection(const std::vector<int64_t>& descriptors) {
  TORCH_CHECK_TYPE(descriptors.size() == 1, "expected a Connection");
  ::fcntl(static_cast<int>(descriptors[0]), F_SETFD, FD_CLOEXEC);
  auto end = std::make_shared<Connection::End>();
  end->socket = static_cast<int>(descriptors[0]);
  return Connection(std::move(end));
}

}  // namespace detail

}  // namespace torch::multiprocessing
