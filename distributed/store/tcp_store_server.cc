#include "distributed/store/tcp_store_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/scope_exit.h"
#include "distributed/store/table.h"
#include "distributed/store/tcp_protocol.h"

namespace c10d::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = 64 << 10;
// A client with so much to be sent is not read from until it has taken it.
constexpr size_t kPauseBytes = 1 << 20;
constexpr int kTickMilliseconds = 500;
constexpr uint64_t kListenId = 0;
constexpr uint64_t kStopId = 1;

struct Connection {
  Connection(uint64_t number, Socket s, const QueryLimits& limits)
      : id(number), socket(std::move(s)), reader(limits), progress(Clock::now()) {}

  size_t unsent() const { return out.size() - sent; }
  bool waits() const { return !missing.empty() || !barrier.empty(); }
  // Whether a peer that keeps to the protocol does not stay so for long.
  bool in_between() const { return !opened || reader.inside() || !in.empty() || unsent() > 0; }
  size_t held() const { return in.capacity() + out.capacity() + reader.bytes() + waited_bytes; }

  uint64_t id;
  Socket socket;
  QueryReader reader;
  Clock::time_point progress;
  bool opened = false;
  bool doomed = false;
  uint32_t interest = 0;
  std::string in;
  std::string out;
  size_t sent = 0;
  // What it waits for: keys, or the key of a barrier with the "/".
  std::unordered_set<std::string> missing;
  std::string barrier;
  size_t waited_bytes = 0;
  size_t counted = 0;
};

}  // namespace

class TCPStoreServer::Loop {
 public:
  Loop(Socket listener, int stop, const TCPStoreLimits& limits, TCPStoreServer& server)
      : limits_(limits),
        server_(server),
        listener_(std::move(listener)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
        table_({limits.keys, limits.total_bytes}),
        input_(kReadBytes, '\0') {
    TORCH_CHECK_WITH(DistNetworkError, epoll_, "TCPStore server: epoll_create1: ", std::strerror(errno));
    watch(EPOLL_CTL_ADD, listener_.fd(), EPOLLIN, kListenId);
    watch(EPOLL_CTL_ADD, stop, EPOLLIN, kStopId);
  }

  void run() {
    std::vector<epoll_event> events(256);
    while (!stopped_) {
      const int n =
          ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), tick_ ? kTickMilliseconds : -1);
      if (n < 0 && errno != EINTR) return;
      for (int i = 0; i < n; ++i) handle(events[i]);
      if (tick_ && Clock::now() >= next_tick_) end_stalled();
      bury();
    }
  }

 private:
  void watch(int what, int fd, uint32_t events, uint64_t id) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    TORCH_CHECK_WITH(DistNetworkError, ::epoll_ctl(epoll_.fd(), what, fd, &event) == 0,
                     "epoll_ctl: ", std::strerror(errno));
  }

  void handle(const epoll_event& event) {
    if (event.data.u64 == kStopId) {
      stopped_ = true;
    } else if (event.data.u64 == kListenId) {
      accept_all();
    } else if (const auto found = connections_.find(event.data.u64); found != connections_.end()) {
      // What a client asks may fail, and for want of memory as well: it alone is disconnected.
      try {
        serve(*found->second, event.events);
      } catch (const std::exception&) {
        doom(*found->second);
      }
      count(*found->second);
    }
  }

  void accept_all() {
    for (;;) {
      Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE) refuse_one();
        return;
      }
      if (connections_.size() >= limits_.clients) evict_unopened();
      if (connections_.size() >= limits_.clients) continue;
      set_connection_options(socket.fd());
      const uint64_t id = next_id_++;
      const QueryLimits limits{limits_.key_bytes, limits_.value_bytes, limits_.query_bytes};
      try {
        auto connection = std::make_unique<Connection>(id, std::move(socket), limits);
        connection->interest = EPOLLIN;
        watch(EPOLL_CTL_ADD, connection->socket.fd(), EPOLLIN, id);
        connections_.emplace(id, std::move(connection));
      } catch (const std::exception&) {
        continue;
      }
      server_.connections_ = connections_.size();
      need_tick();
    }
  }

  // There is no descriptor left: the spare one takes a client off the queue, which would wake this thread for ever.
  void refuse_one() {
    spare_.close();
    Socket refused(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    refused.close();
    spare_ = Socket(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  // The oldest client that has not said who it is makes room.
  void evict_unopened() {
    for (const auto& [id, connection] : connections_) {
      if (connection->opened || connection->doomed) continue;
      doom(*connection);
      bury();
      return;
    }
  }

  void serve(Connection& c, uint32_t events) {
    if (c.doomed) return;
    if ((events & EPOLLOUT) != 0) flush(c);
    // What a client sent before it went is read first.
    if ((events & EPOLLIN) == 0) {
      if ((events & (EPOLLERR | EPOLLHUP)) != 0) return doom(c);
    } else {
      const ssize_t n = ::recv(c.socket.fd(), input_.data(), input_.size(), 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return doom(c);
      if (n > 0) {
        c.progress = Clock::now();
        c.in.append(input_.data(), static_cast<size_t>(n));
      }
    }
    process(c);
  }

  // Answers what is there to be read, as far as the answers can be sent.
  void process(Connection& c) {
    std::string_view in = c.in;
    if (!c.opened) {
      const size_t n = std::min(in.size(), kOpening.size());
      if (in.substr(0, n) != kOpening.substr(0, n)) return doom(c);
      if (n < kOpening.size()) return need_tick();
      c.opened = true;
      in.remove_prefix(n);
    }
    bool paused = false;
    while (!c.doomed) {
      if (c.unsent() > kPauseBytes) {
        flush(c);
        paused = c.unsent() > kPauseBytes;
        if (paused) break;
      }
      const QueryReader::Result result = c.reader.read(in);
      if (result == QueryReader::Result::kBad) return doom(c);
      if (result == QueryReader::Result::kMore) break;
      answer(c, c.reader.take());
    }
    if (c.doomed) return;
    c.in.erase(0, c.in.size() - in.size());
    if (c.in.empty() && c.in.capacity() > kReadBytes) c.in = std::string();
    // Once all is sent nothing would bring back what is left to be read.
    if (!paused) flush(c);
  }

  void flush(Connection& c) {
    while (c.unsent() > 0) {
      const ssize_t n = ::send(c.socket.fd(), c.out.data() + c.sent, c.unsent(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) return doom(c);
      c.sent += static_cast<size_t>(n);
      c.progress = Clock::now();
    }
    if (c.unsent() == 0) {
      c.sent = 0;
      c.out.clear();
      if (c.out.capacity() > kReadBytes) c.out = std::string();
    }
    const uint32_t interest = (c.unsent() > kPauseBytes ? 0u : EPOLLIN) | (c.unsent() > 0 ? EPOLLOUT : 0u);
    if (interest != c.interest) {
      watch(EPOLL_CTL_MOD, c.socket.fd(), interest, c.id);
      c.interest = interest;
    }
  }

  void answer(Connection& c, Query query) {
    // A client that waits for an answer can only give up.
    if (c.waits() && query.type != QueryType::kCancelWait) return doom(c);
    std::string& out = c.out;
    switch (query.type) {
      case QueryType::kValidate:
        return doom(c);
      case QueryType::kSet:
        table_.set(query.keys[0], std::move(query.values[0]));
        return wake(query.keys[0]);
      case QueryType::kCompareSet:
        put_text(out, table_.compare_set(query.keys[0], query.values[0], query.values[1]));
        return wake(query.keys[0]);
      case QueryType::kGet:
      case QueryType::kMultiGet:
        return answer_values(c, query.keys);
      case QueryType::kAdd:
        put_u64(out, static_cast<uint64_t>(table_.add(query.keys[0], query.number)));
        return wake(query.keys[0]);
      case QueryType::kCheck: {
        const bool all =
            std::all_of(query.keys.begin(), query.keys.end(), [&](const auto& key) { return table_.has(key); });
        out += static_cast<char>(all ? kYes : kNo);
        return;
      }
      case QueryType::kWait:
        return start_wait(c, std::move(query.keys));
      case QueryType::kGetNumKeys:
        return put_u64(out, table_.size());
      case QueryType::kDeleteKey:
        return put_u64(out, table_.remove(query.keys[0]) ? 1 : 0);
      case QueryType::kAppend:
        table_.append(query.keys[0], query.values[0]);
        return wake(query.keys[0]);
      case QueryType::kMultiSet:
        for (size_t i = 0; i < query.keys.size(); ++i) {
          table_.set(query.keys[i], std::move(query.values[i]));
          wake(query.keys[i]);
        }
        return;
      case QueryType::kCancelWait:
        end_wait(c);
        out += static_cast<char>(kNo);
        return;
      case QueryType::kPing:
        return put_u32(out, static_cast<uint32_t>(query.number));
      case QueryType::kQueuePush:
        table_.push(query.keys[0], std::move(query.values[0]));
        return wake(query.keys[0]);
      case QueryType::kQueuePop: {
        std::string value;
        put_u64(out, table_.length(query.keys[0]));
        if (table_.pop(query.keys[0], &value)) put_text(out, value);
        return;
      }
      case QueryType::kQueueLen:
        return put_u64(out, table_.length(query.keys[0]));
      case QueryType::kListKeys: {
        TORCH_CHECK_WITH(DistStoreError, table_.bytes() <= room(), "no room for the list of keys");
        const std::vector<std::string> keys = table_.keys();
        put_u64(out, keys.size());
        for (const std::string& key : keys) put_text(out, key);
        return;
      }
      case QueryType::kBarrier:
        return arrive(c, query.keys[0], query.number);
    }
  }

  void answer_values(Connection& c, const std::vector<std::string>& keys) {
    size_t bytes = 0;
    std::vector<const std::string*> values;
    for (const std::string& key : keys) {
      values.push_back(table_.find(key));
      if (values.back() == nullptr) return doom(c);
      bytes += 8 + values.back()->size();
    }
    if (bytes > room()) return doom(c);
    for (const std::string* value : values) put_text(c.out, *value);
  }

  void start_wait(Connection& c, std::vector<std::string> keys) {
    for (std::string& key : keys) {
      if (table_.has(key)) continue;
      const size_t bytes = key.size() + QueryReader::kFieldOverhead;
      const auto [at, is_first] = c.missing.insert(std::move(key));
      if (!is_first) continue;
      c.waited_bytes += bytes;
      waiting_[*at].push_back(&c);
    }
    if (c.missing.empty()) c.out += static_cast<char>(kYes);
  }

  // Forgets what it waits for.
  void end_wait(Connection& c) {
    for (const std::string& key : c.missing) remove_from(waiting_, key, c);
    if (!c.barrier.empty()) remove_from(arrived_, c.barrier, c);
    c.missing.clear();
    c.barrier.clear();
    c.waited_bytes = 0;
  }

  using Waiting = std::unordered_map<std::string, std::vector<Connection*>>;

  static void remove_from(Waiting& waiting, const std::string& key, Connection& c) {
    const auto found = waiting.find(key);
    if (found == waiting.end()) return;
    std::erase(found->second, &c);
    if (found->second.empty()) waiting.erase(found);
  }

  // The key may be there now.
  void wake(const std::string& key) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end() || !table_.has(key)) return;
    const std::vector<Connection*> woken = std::move(found->second);
    waiting_.erase(found);
    for (Connection* c : woken) {
      c->missing.erase(key);
      if (c->missing.empty()) release(*c);
    }
  }

  void arrive(Connection& c, const std::string& key, int64_t participants) {
    if (participants <= 0) return doom(c);
    std::vector<Connection*>& arrived = arrived_[key];
    arrived.push_back(&c);
    c.barrier = key;
    if (arrived.size() < static_cast<uint64_t>(participants)) return;
    const std::vector<Connection*> all = std::move(arrived);
    arrived_.erase(key);
    for (Connection* each : all) {
      each->barrier.clear();
      release(*each);
    }
  }

  void release(Connection& c) {
    c.waited_bytes = 0;
    c.progress = Clock::now();
    c.out += static_cast<char>(kYes);
    flush(c);
    count(c);
  }

  void count(Connection& c) {
    if (c.doomed) return;
    const size_t held = c.held();
    buffered_ = buffered_ - c.counted + held;
    c.counted = held;
    server_.buffered_bytes_ = buffered_;
    if (c.in_between()) need_tick();
    if (buffered_ > limits_.buffered_bytes && held > kReadBytes) doom(c);
  }

  size_t room() const { return limits_.buffered_bytes - std::min(buffered_, limits_.buffered_bytes); }

  void need_tick() {
    if (tick_) return;
    tick_ = true;
    next_tick_ = Clock::now() + std::chrono::milliseconds(kTickMilliseconds);
  }

  void end_stalled() {
    const Clock::time_point now = Clock::now();
    bool any = false;
    for (const auto& [id, c] : connections_) {
      if (!c->in_between()) continue;
      any = true;
      // One that waits owes nothing but a reader for what is sent to it.
      if (now - c->progress > (c->opened ? limits_.stall_timeout : limits_.opening_timeout)) doom(*c);
    }
    tick_ = any;
    next_tick_ = now + std::chrono::milliseconds(kTickMilliseconds);
  }

  void doom(Connection& c) {
    if (c.doomed) return;
    c.doomed = true;
    doomed_.push_back(c.id);
  }

  // Only here connections end, so that no one holds a pointer to one that is gone.
  void bury() {
    for (const uint64_t id : doomed_) {
      const auto found = connections_.find(id);
      end_wait(*found->second);
      buffered_ -= found->second->counted;
      connections_.erase(found);
    }
    if (doomed_.empty()) return;
    doomed_.clear();
    server_.connections_ = connections_.size();
    server_.buffered_bytes_ = buffered_;
  }

  const TCPStoreLimits limits_;
  TCPStoreServer& server_;
  Socket listener_;
  Socket epoll_;
  Socket spare_;
  Table table_;
  std::string input_;
  bool stopped_ = false;
  uint64_t next_id_ = 2;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;  // the oldest first
  Waiting waiting_;
  Waiting arrived_;
  std::vector<uint64_t> doomed_;
  size_t buffered_ = 0;
  bool tick_ = false;
  Clock::time_point next_tick_;
};

TCPStoreServer::TCPStoreServer(const TCPStoreOptions& options) : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TORCH_CHECK_WITH(DistNetworkError, stop_, "TCPStore server: eventfd: ", std::strerror(errno));
  Socket listener;
  if (options.masterListenFd) {
    const int fd = *options.masterListenFd;
    port_ = bound_port(fd);
    TORCH_CHECK_VALUE(options.port == 0 || options.port == port_, "TCPStore: the masterListenFd is bound to port ",
                      port_, ", the options say ", options.port);
    listener = Socket(fd);
    const int flags = ::fcntl(fd, F_GETFL);
    TORCH_CHECK_WITH(DistNetworkError,
                     flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && ::listen(fd, SOMAXCONN) == 0,
                     "TCPStore: cannot listen on the masterListenFd: ", std::strerror(errno));
  } else {
    listener = listen_on(options.port);
    port_ = bound_port(listener.fd());
  }
  loop_ = std::make_unique<Loop>(std::move(listener), stop_.fd(), options.limits, *this);
  // Signals are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto restore = c10::make_scope_exit([&] { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); });
  thread_ = std::thread([this] { loop_->run(); });
}

TCPStoreServer::~TCPStoreServer() {
  const uint64_t one = 1;
  // An eventfd takes any number short of its limit.
  if (::write(stop_.fd(), &one, sizeof(one)) == sizeof(one)) thread_.join();
}

std::shared_ptr<TCPStoreServer> TCPStoreServer::start(const TCPStoreOptions& options) {
  const auto make = [&] { return std::shared_ptr<TCPStoreServer>(new TCPStoreServer(options)); };
  if (!options.multiTenant) return make();
  static std::mutex mutex;
  static std::unordered_map<uint16_t, std::weak_ptr<TCPStoreServer>> by_port;
  std::lock_guard<std::mutex> lock(mutex);
  if (options.port != 0) {
    if (const auto found = by_port.find(options.port); found != by_port.end()) {
      if (auto server = found->second.lock()) return server;
    }
  }
  auto server = make();
  by_port[server->port()] = server;
  return server;
}

}  // namespace c10d::detail
