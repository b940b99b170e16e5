#include "utils/multiprocessing/queue.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

}  // namespace torch::multiprocessing
