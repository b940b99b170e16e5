#include "distributed/rpc/grpc_agent.h"

#include <arpa/inet.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"

namespace torch::distributed::rpc {
namespace {

using std::chrono::milliseconds;

constexpr char kMethod[] = "/kindling.rpc.Agent/Send";
constexpr milliseconds kAnswersArriveWithin(5000);
// Beyond those that run functions: callbacks of futures may wait, too.
constexpr size_t kMoreThreads = 16;

// --- where to listen ---

std::string address_of_interface(const std::string& name) {
  ifaddrs* all = nullptr;
  TORCH_CHECK_WITH(DistNetworkError, ::getifaddrs(&all) == 0, "init_rpc: cannot list interfaces");
  std::string found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || name != one->ifa_name || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    found = ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    break;
  }
  ::freeifaddrs(all);
  TORCH_CHECK_VALUE(!found.empty(), "init_rpc: there is no interface \"", name, "\" with an IPv4 address");
  return found;
}

// The IPv4 address of a name, if there is one.
std::optional<std::string> address_of_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) return std::nullopt;
  char text[INET_ADDRSTRLEN];
  const std::string address =
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text, sizeof text);
  ::freeaddrinfo(found);
  return address;
}

bool is_own_address(const std::string& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return false;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  const bool own = ::inet_pton(AF_INET, address.c_str(), &at.sin_addr) == 1 &&
                   ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return own;
}

std::string own_address(const std::string& wanted) {
  if (!wanted.empty()) {
    const std::optional<std::string> found = address_of_host(wanted);
    TORCH_CHECK_VALUE(found.has_value(), "init_rpc: the address \"", wanted, "\" has no IPv4 address");
    return *found;
  }
  if (const auto names = c10d::rank_environment("GLOO_SOCKET_IFNAME"))
    return address_of_interface(names->substr(0, names->find(',')));
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) {
    const std::optional<std::string> found = address_of_host(name);
    if (found && is_own_address(*found)) return *found;
  }
  return "127.0.0.1";
}

// --- bytes ---

// A piece that gRPC has. It is freed by a thread of gRPC, whose locks ThreadSanitizer does not see: hence the flag.
struct SentPiece {
  Piece piece;
  std::atomic<bool> is_whole{false};
};

void drop_piece(void* sent) {
  auto* const piece = static_cast<SentPiece*>(sent);
  if (piece->is_whole.load(std::memory_order_acquire)) delete piece;
}

// The pieces as they lie in memory, which is kept until they are sent.
grpc_byte_buffer* to_buffer(std::vector<Piece> pieces) {
  std::vector<grpc_slice> slices;
  for (Piece& piece : pieces) {
    if (piece.size() == 0) continue;
    auto* const sent = new SentPiece{.piece = std::move(piece)};
    void* const data = const_cast<void*>(sent->piece.data());
    const size_t size = sent->piece.size();
    sent->is_whole.store(true, std::memory_order_release);  // from here on it is gRPC's
    slices.push_back(grpc_slice_new_with_user_data(data, size, drop_piece, sent));
  }
  grpc_byte_buffer* const buffer = grpc_raw_byte_buffer_create(slices.data(), slices.size());
  for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
  return buffer;
}

size_t size_of(const std::vector<Piece>& pieces) {
  size_t total = 0;
  for (const Piece& piece : pieces) total += piece.size();
  return total;
}

class Reader {
 public:
  explicit Reader(grpc_byte_buffer* buffer) : ok_(grpc_byte_buffer_reader_init(&reader_, buffer) != 0) {}
  ~Reader() {
    if (has_slice_) grpc_slice_unref(slice_);
    if (ok_) grpc_byte_buffer_reader_destroy(&reader_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read(void* to, size_t n) {
    char* at = static_cast<char*>(to);
    while (n > 0) {
      if (!has_slice_ || used_ == GRPC_SLICE_LENGTH(slice_)) next();
      const size_t part = std::min(n, GRPC_SLICE_LENGTH(slice_) - used_);
      std::memcpy(at, GRPC_SLICE_START_PTR(slice_) + used_, part);
      at += part;
      used_ += part;
      n -= part;
    }
  }

 private:
  void next() {
    if (has_slice_) grpc_slice_unref(slice_);
    used_ = 0;
    has_slice_ = ok_ && grpc_byte_buffer_reader_next(&reader_, &slice_) != 0;
    TORCH_CHECK_WITH(DistNetworkError, has_slice_, "rpc: a message ends too early");
  }

  grpc_byte_buffer_reader reader_;
  bool ok_;
  grpc_slice slice_;
  bool has_slice_ = false;
  size_t used_ = 0;
};

MessagePtr message_of(grpc_byte_buffer* buffer, uint64_t job) {
  TORCH_CHECK_WITH(DistNetworkError, buffer != nullptr, "rpc: no message came");
  Reader reader(buffer);
  return decode(
      grpc_byte_buffer_length(buffer), [&](void* to, size_t n) { reader.read(to, n); }, job);
}

std::string text_of(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// What a message is taken for in counts of what goes on: calls that a program makes, and what RPC sends for itself.
bool is_counted(MessageType type) {
  switch (type) {
    case MessageType::SCRIPT_CALL:
    case MessageType::SCRIPT_REMOTE_CALL:
    case MessageType::SCRIPT_RREF_FETCH_CALL:
    case MessageType::BACKWARD_AUTOGRAD_REQ:
      return true;
    default:
      return false;
  }
}
bool runs_function(MessageType type) {
  return type == MessageType::SCRIPT_CALL || type == MessageType::SCRIPT_REMOTE_CALL;
}

class ChannelArgs {
 public:
  ChannelArgs& add(const char* key, int64_t value) {
    grpc_arg arg{};
    arg.type = GRPC_ARG_INTEGER;
    arg.key = const_cast<char*>(key);
    arg.value.integer = static_cast<int>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
    args_.push_back(arg);
    all_ = {args_.size(), args_.data()};
    return *this;
  }
  const grpc_channel_args* get() const { return &all_; }

 private:
  std::vector<grpc_arg> args_;
  grpc_channel_args all_{};
};

// In milliseconds: how long nothing is heard of the other side before it is asked for a sign of life.
int64_t pause_of(const RpcBackendOptions& options) {
  return std::max<int64_t>(to_milliseconds(options.lease / 3).count(), 100);
}

// What the queue gives back when it is done.
class Event {
 public:
  virtual ~Event() = default;
  virtual void done(bool ok) = 0;
};

class Agent;

// A request of this worker on its way.
class ClientCall final : public Event {
 public:
  ClientCall(Agent& agent, const Peer& to, const Message& request, milliseconds timeout)
      : agent_(agent), to_(to), about_(request.about), timeout_(timeout), is_counted_(rpc::is_counted(request.type())) {
    grpc_metadata_array_init(&initial_);
    grpc_metadata_array_init(&trailing_);
  }
  ~ClientCall() override {
    grpc_metadata_array_destroy(&initial_);
    grpc_metadata_array_destroy(&trailing_);
    if (response_ != nullptr) grpc_byte_buffer_destroy(response_);
    grpc_slice_unref(details_);
    if (call_ != nullptr) grpc_call_unref(call_);
  }
  // Precondition: the agent's mutex is held.
  void start(grpc_channel* channel, grpc_completion_queue* queue, grpc_byte_buffer* request);
  void cancel() { grpc_call_cancel_with_status(call_, GRPC_STATUS_CANCELLED, "shut down", nullptr); }
  void done(bool ok) override;
  const FuturePtr& future() const { return future_; }
  bool is_counted() const { return is_counted_; }

 private:
  std::exception_ptr error() const;

  Agent& agent_;
  const Peer& to_;
  const std::string about_;
  const milliseconds timeout_;
  const bool is_counted_;
  const FuturePtr future_ = make_future();
  grpc_call* call_ = nullptr;
  grpc_metadata_array initial_, trailing_;
  grpc_byte_buffer* response_ = nullptr;
  grpc_status_code status_ = GRPC_STATUS_UNKNOWN;
  grpc_slice details_ = grpc_empty_slice();
};

// A request of another worker: waited for, read, answered.
class ServerCall final : public Event, public std::enable_shared_from_this<ServerCall> {
 public:
  explicit ServerCall(Agent& agent) : agent_(agent) {
    grpc_call_details_init(&about_);
    grpc_metadata_array_init(&metadata_);
  }
  ~ServerCall() override {
    grpc_call_details_destroy(&about_);
    grpc_metadata_array_destroy(&metadata_);
    if (request_ != nullptr) grpc_byte_buffer_destroy(request_);
    if (call_ != nullptr) grpc_call_unref(call_);
  }
  // Precondition: the agent's mutex is held.
  void wait(grpc_server* server, grpc_completion_queue* queue);
  void done(bool ok) override;
  // Runs the function that was asked for.
  void run();
  // Answers with an error, unless there is an answer already.
  void give_up() {
    const std::lock_guard<std::mutex> lock(answering_);
    if (stage_ == Stage::kRunning) finish(nullptr, GRPC_STATUS_CANCELLED, "the worker was shut down");
  }

 private:
  void receive();
  void received();
  void answer(JitFuture& result);
  void finish(grpc_byte_buffer* answer, grpc_status_code status, const std::string& details);

  enum class Stage { kWaiting, kReading, kRunning, kAnswering };

  Agent& agent_;
  std::mutex answering_;  // of what the function gives, and of giving up; before the agent's
  std::atomic<Stage> stage_{Stage::kWaiting};
  std::shared_ptr<ServerCall> in_queue_;  // itself, while gRPC has its address
  grpc_call* call_ = nullptr;
  grpc_call_details about_;
  grpc_metadata_array metadata_;
  grpc_byte_buffer* request_ = nullptr;
  MessagePtr message_;
  int cancelled_ = 0;
};

class Agent final : public GrpcAgent {
 public:
  Agent(WorkerInfo worker, std::unique_ptr<RequestCallback> callback, const RpcBackendOptions& options);
  ~Agent() override { shutdown(); }

  const std::string& address() const override { return address_; }
  void set_peers(std::vector<Peer> peers, uint64_t job) override;
  FuturePtr send(const WorkerInfo& to, MessagePtr message, float timeout_seconds) override;
  using RpcAgent::getWorkerInfo;
  const WorkerInfo& getWorkerInfo(const std::string& name) const override;
  const WorkerInfo& getWorkerInfo(worker_id_t id) const override { return peer(id).worker; }
  std::vector<WorkerInfo> getWorkerInfos() const override;
  void start() override;
  void shutdown() override;
  Activity activity() const override;
  std::unordered_map<std::string, std::string> getMetrics() const override;

 private:
  friend class ClientCall;
  friend class ServerCall;

  struct Closed final : Event {
    explicit Closed(Agent& of) : agent(of) {}
    void done(bool) override {
      const std::lock_guard<std::mutex> lock(agent.mutex_);
      agent.server_is_down_ = true;
      agent.changed_.notify_all();
    }
    Agent& agent;
  };

  const Peer& peer(int64_t id) const;
  void poll();
  // Before something that may take long: another thread waits at the queue.
  void keep_polling();
  void run_or_queue(std::shared_ptr<ServerCall> call);

  const RpcBackendOptions options_;
  std::string address_;
  uint64_t job_ = 0;
  std::vector<Peer> peers_;
  std::vector<grpc_channel*> channels_;
  grpc_completion_queue* queue_ = nullptr;
  grpc_server* server_ = nullptr;
  Closed closed_event_{*this};

  // What is handed from one thread to another through gRPC is handed over under this mutex, too.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool is_started_ = false, is_closed_ = false, server_is_down_ = false;
  std::set<ClientCall*> client_calls_;
  std::set<ServerCall*> server_calls_;
  std::deque<std::shared_ptr<ServerCall>> backlog_;
  int functions_ = 0;  // that run
  int64_t sent_ = 0, waiting_ = 0, serving_ = 0, failed_ = 0, served_ = 0, answering_ = 0;
};

// --- the agent ---

Agent::Agent(WorkerInfo worker, std::unique_ptr<RequestCallback> callback, const RpcBackendOptions& options)
    : GrpcAgent(std::move(worker), std::move(callback), to_milliseconds(options.rpcTimeoutSeconds)), options_(options) {
  const std::string host = own_address(options.address);
  grpc_init();
  const int64_t pause = pause_of(options);
  ChannelArgs args;
  args.add(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options.max_message_bytes)
      .add(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1)
      .add(GRPC_ARG_ALLOW_REUSEPORT, 0)
      .add(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10)
      .add(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0)
      .add(GRPC_ARG_KEEPALIVE_TIME_MS, pause)
      .add(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2 * pause)
      .add(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  queue_ = grpc_completion_queue_create_for_next(nullptr);
  server_ = grpc_server_create(args.get(), nullptr);
  grpc_server_register_completion_queue(server_, queue_, nullptr);
  grpc_server_credentials* const credentials = grpc_insecure_server_credentials_create();
  const int port = grpc_server_add_http2_port(server_, (host + ":0").c_str(), credentials);
  grpc_server_credentials_release(credentials);
  grpc_server_start(server_);
  if (port == 0) {
    shutdown();
    TORCH_CHECK_WITH(DistNetworkError, false, "init_rpc: cannot listen at ", host);
  }
  address_ = c10::str(host, ":", port);
}

void Agent::set_peers(std::vector<Peer> peers, uint64_t job) {
  peers_ = std::move(peers);
  job_ = job;
  const int64_t pause = pause_of(options_);
  ChannelArgs args;
  args.add(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options_.max_message_bytes)
      .add(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1)
      .add(GRPC_ARG_ENABLE_HTTP_PROXY, 0)
      .add(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1)
      .add(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100)
      .add(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000)
      .add(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000)
      .add(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0)
      .add(GRPC_ARG_KEEPALIVE_TIME_MS, pause)
      .add(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2 * pause);
  grpc_channel_credentials* const credentials = grpc_insecure_credentials_create();
  for (const Peer& peer : peers_)
    channels_.push_back(grpc_channel_create(("ipv4:" + peer.address).c_str(), credentials, args.get()));
  grpc_channel_credentials_release(credentials);
}

const Peer& Agent::peer(int64_t id) const {
  TORCH_CHECK_VALUE(id >= 0 && id < static_cast<int64_t>(peers_.size()), "rpc: there is no worker of rank ", id);
  return peers_[static_cast<size_t>(id)];
}

const WorkerInfo& Agent::getWorkerInfo(const std::string& name) const {
  for (const Peer& peer : peers_) {
    if (peer.worker.name_ == name) return peer.worker;
  }
  TORCH_CHECK_VALUE(false, "rpc: there is no worker \"", name, "\"");
}

std::vector<WorkerInfo> Agent::getWorkerInfos() const {
  std::vector<WorkerInfo> workers;
  for (const Peer& peer : peers_) workers.push_back(peer.worker);
  return workers;
}

void Agent::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_started_ = true;
  for (int i = 0; i < 4; ++i) std::make_shared<ServerCall>(*this)->wait(server_, queue_);
  for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { poll(); });
}

FuturePtr Agent::send(const WorkerInfo& to, MessagePtr message, float timeout_seconds) {
  TORCH_CHECK_VALUE(timeout_seconds >= 0 || timeout_seconds == kUnsetRpcTimeout,
                    "rpc: a timeout must be 0 or more seconds, but got ", timeout_seconds);
  const Peer& peer = this->peer(to.id_);
  const milliseconds timeout = timeout_seconds == kUnsetRpcTimeout ? getRpcTimeout() : to_milliseconds(timeout_seconds);
  std::vector<Piece> pieces = encode(*message, job_, getWorkerInfo().id_);
  TORCH_CHECK_VALUE(static_cast<int64_t>(size_of(pieces)) <= options_.max_message_bytes, "rpc: ", message->about,
                    " to \"", to.name_, "\" takes ", size_of(pieces), " bytes, more than the ",
                    options_.max_message_bytes, " of max_message_bytes");
  auto call = std::make_unique<ClientCall>(*this, peer, *message, timeout);
  grpc_byte_buffer* const buffer = to_buffer(std::move(pieces));
  FuturePtr future = call->future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_closed_ && is_started_) {
      client_calls_.insert(call.get());
      sent_ += call->is_counted();
      waiting_ += call->is_counted();
      call.release()->start(channels_[static_cast<size_t>(to.id_)], queue_, buffer);
    }
  }
  grpc_byte_buffer_destroy(buffer);
  TORCH_CHECK(call == nullptr, "rpc: ", message->about, " to \"", to.name_, "\": RPC was shut down on \"",
              getWorkerInfo().name_, "\"");
  return future;
}

void Agent::poll() {
  const c10d::RankScope scope(rank());
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++idle_;
    }
    const grpc_event event = grpc_completion_queue_next(queue_, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      --idle_;
    }
    if (event.type == GRPC_QUEUE_SHUTDOWN) return;
    static_cast<Event*>(event.tag)->done(event.success != 0);
  }
}

void Agent::keep_polling() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_ == 0 && threads_.size() < static_cast<size_t>(options_.num_worker_threads) + kMoreThreads)
    threads_.emplace_back([this] { poll(); });
}

void Agent::run_or_queue(std::shared_ptr<ServerCall> call) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (functions_ >= options_.num_worker_threads) {
      backlog_.push_back(std::move(call));
      return;
    }
    ++functions_;
  }
  while (call) {
    call->run();
    call = nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (backlog_.empty()) {
      --functions_;
      changed_.notify_all();
    } else {
      call = std::move(backlog_.front());
      backlog_.pop_front();
    }
  }
}

void Agent::shutdown() {
  std::vector<std::shared_ptr<ServerCall>> open;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (std::exchange(is_closed_, true)) return;
    // What was answered is on its way; the others get no answer.
    if (is_started_) changed_.wait_for(lock, kAnswersArriveWithin, [this] { return answering_ == 0; });
    for (ClientCall* const call : client_calls_) call->cancel();
    for (ServerCall* const call : server_calls_) {
      if (std::shared_ptr<ServerCall> one = call->weak_from_this().lock()) open.push_back(std::move(one));
    }
    backlog_.clear();
  }
  for (const std::shared_ptr<ServerCall>& call : open) call->give_up();
  open.clear();
  grpc_server_shutdown_and_notify(server_, queue_, &closed_event_);
  grpc_server_cancel_all_calls(server_);
  std::vector<std::thread> threads;
  if (is_started_) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(
        lock, [this] { return server_is_down_ && client_calls_.empty() && server_calls_.empty() && functions_ == 0; });
  }
  grpc_completion_queue_shutdown(queue_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads.swap(threads_);
  }
  if (threads.empty()) {
    while (grpc_completion_queue_next(queue_, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
  }
  for (std::thread& thread : threads) thread.join();
  grpc_server_destroy(server_);
  for (grpc_channel* const channel : channels_) grpc_channel_destroy(channel);
  grpc_completion_queue_destroy(queue_);
  grpc_shutdown();
}

RpcAgent::Activity Agent::activity() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {.sent = sent_, .waiting = waiting_, .running = serving_ + functions_};
}

std::unordered_map<std::string, std::string> Agent::getMetrics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {{"agent.threads", std::to_string(threads_.size())},
          {"agent.client_active_calls", std::to_string(client_calls_.size())},
          {"agent.client_calls", std::to_string(sent_)},
          {"agent.client_errors", std::to_string(failed_)},
          {"agent.server_active_calls", std::to_string(serving_)},
          {"agent.server_calls", std::to_string(served_)},
          {"agent.server_backlog", std::to_string(backlog_.size())}};
}

// --- requests of this worker ---

void ClientCall::start(grpc_channel* channel, grpc_completion_queue* queue, grpc_byte_buffer* request) {
  const gpr_timespec deadline =
      timeout_.count() == 0
          ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
          : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout_.count(), GPR_TIMESPAN));
  call_ = grpc_channel_create_call(channel, nullptr, GRPC_PROPAGATE_DEFAULTS, queue,
                                   grpc_slice_from_static_string(kMethod), nullptr, deadline, nullptr);
  grpc_op ops[6] = {};
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = request;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial_;
  ops[4].op = GRPC_OP_RECV_MESSAGE;
  ops[4].data.recv_message.recv_message = &response_;
  ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  ops[5].data.recv_status_on_client.trailing_metadata = &trailing_;
  ops[5].data.recv_status_on_client.status = &status_;
  ops[5].data.recv_status_on_client.status_details = &details_;
  const grpc_call_error error = grpc_call_start_batch(call_, ops, 6, static_cast<Event*>(this), nullptr);
  TORCH_INTERNAL_ASSERT(error == GRPC_CALL_OK, "gRPC refuses a call: ", static_cast<int>(error));
}

std::exception_ptr ClientCall::error() const {
  const std::string to = c10::str("worker \"", to_.worker.name_, "\" (rank ", to_.worker.id_, ", ", to_.address, ")");
  std::string text;
  switch (status_) {
    case GRPC_STATUS_DEADLINE_EXCEEDED:
      text = c10::str("rpc: ", to, " has not answered ", about_, " within ", timeout_.count(), " ms");
      break;
    case GRPC_STATUS_UNAVAILABLE:
      text = c10::str("rpc: ", to, " cannot be reached for ", about_, ": ", text_of(details_));
      break;
    case GRPC_STATUS_CANCELLED:
      text = c10::str("rpc: ", about_, " to ", to, " was given up: ", text_of(details_));
      break;
    default:
      text = c10::str("rpc: ", about_, " to ", to, " failed: ", text_of(details_));
  }
  return std::make_exception_ptr(c10::DistNetworkError(c10::SourceLocation{__func__, __FILE__, __LINE__}, text));
}

void ClientCall::done(bool) {
  const std::unique_ptr<ClientCall> self(this);
  MessagePtr answer;
  std::exception_ptr failure;
  if (status_ != GRPC_STATUS_OK) {
    failure = error();
  } else {
    try {
      answer = message_of(response_, agent_.job_);
      if (answer->type() == MessageType::EXCEPTION) {
        failure = exception_of(*answer, c10::str("on worker \"", to_.worker.name_, "\" (rank ", to_.worker.id_, "): "));
      }
      answer->from = to_.worker.id_;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  agent_.keep_polling();
  if (failure) {
    {
      const std::lock_guard<std::mutex> lock(agent_.mutex_);
      ++agent_.failed_;
    }
    future_->setErrorIfNeeded(failure);
  } else {
    future_->markCompleted(to_value(std::move(answer)));
  }
  const std::lock_guard<std::mutex> lock(agent_.mutex_);
  agent_.client_calls_.erase(this);
  agent_.waiting_ -= is_counted_;
  agent_.changed_.notify_all();
}

// --- requests of others ---

void ServerCall::wait(grpc_server* server, grpc_completion_queue* queue) {
  in_queue_ = shared_from_this();
  agent_.server_calls_.insert(this);
  const grpc_call_error error =
      grpc_server_request_call(server, &call_, &about_, &metadata_, queue, queue, static_cast<Event*>(this));
  TORCH_INTERNAL_ASSERT(error == GRPC_CALL_OK, "gRPC refuses to wait for a call: ", static_cast<int>(error));
}

void ServerCall::done(bool ok) {
  const std::shared_ptr<ServerCall> self = std::move(in_queue_);
  switch (stage_) {
    case Stage::kWaiting: {
      if (ok) {
        const std::lock_guard<std::mutex> lock(agent_.mutex_);
        if (!agent_.is_closed_) std::make_shared<ServerCall>(agent_)->wait(agent_.server_, agent_.queue_);
      }
      if (ok && text_of(about_.method) == kMethod) return receive();
      if (ok) return finish(nullptr, GRPC_STATUS_UNIMPLEMENTED, "there is no such method");
      break;
    }
    case Stage::kReading:
      return received();
    case Stage::kRunning:
    case Stage::kAnswering:
      break;
  }
  // A future that is never completed may keep this, but nothing of gRPC's.
  grpc_call* call = nullptr;
  {
    const std::lock_guard<std::mutex> lock(agent_.mutex_);
    call = std::exchange(call_, nullptr);
    agent_.answering_ -= stage_ == Stage::kAnswering;
    agent_.server_calls_.erase(this);
    if (message_ && is_counted(message_->type())) --agent_.serving_;
    agent_.changed_.notify_all();
  }
  if (call != nullptr) grpc_call_unref(call);
}

void ServerCall::receive() {
  grpc_op op{};
  op.op = GRPC_OP_RECV_MESSAGE;
  op.data.recv_message.recv_message = &request_;
  const std::lock_guard<std::mutex> lock(agent_.mutex_);
  stage_ = Stage::kReading;
  in_queue_ = shared_from_this();
  const grpc_call_error error = grpc_call_start_batch(call_, &op, 1, static_cast<Event*>(this), nullptr);
  TORCH_INTERNAL_ASSERT(error == GRPC_CALL_OK, "gRPC refuses to read a call: ", static_cast<int>(error));
}

void ServerCall::received() {
  if (request_ == nullptr) return finish(nullptr, GRPC_STATUS_INVALID_ARGUMENT, "no message came");
  try {
    message_ = message_of(request_, agent_.job_);
    TORCH_CHECK_WITH(DistNetworkError, message_->isRequest(), "rpc: a message is no request");
    agent_.peer(message_->from);
  } catch (const c10::Error& e) {
    message_ = nullptr;
    return finish(nullptr, GRPC_STATUS_INVALID_ARGUMENT, e.msg());
  } catch (const std::exception& e) {
    message_ = nullptr;
    return finish(nullptr, GRPC_STATUS_INVALID_ARGUMENT, e.what());
  }
  grpc_byte_buffer_destroy(std::exchange(request_, nullptr));
  bool is_late = false;
  {
    const std::lock_guard<std::mutex> lock(agent_.mutex_);
    stage_ = Stage::kRunning;
    is_late = agent_.is_closed_;
    agent_.serving_ += is_counted(message_->type());
    agent_.served_ += is_counted(message_->type());
  }
  if (is_late) return give_up();
  if (!runs_function(message_->type())) {
    if (message_->type() == MessageType::BACKWARD_AUTOGRAD_REQ) agent_.keep_polling();
    return run();
  }
  agent_.keep_polling();
  agent_.run_or_queue(shared_from_this());
}

void ServerCall::run() {
  const auto answer_with = [self = shared_from_this()](const FuturePtr& result) {
    result->addCallback([self](JitFuture& done) { self->answer(done); });
  };
  try {
    agent_.callback()(message_, answer_with);
  } catch (...) {
    const FuturePtr failed = make_future();
    failed->setError(std::current_exception());
    answer_with(failed);
  }
}

void ServerCall::answer(JitFuture& result) {
  const std::lock_guard<std::mutex> lock(answering_);
  if (stage_ != Stage::kRunning) return;  // given up, and the agent may be gone
  std::vector<Piece> pieces;
  const worker_id_t own = agent_.getWorkerInfo().id_;
  try {
    if (result.hasError()) std::rethrow_exception(result.exception_ptr());
    pieces = encode(*to_message(result.constValue()), agent_.job_, own);
    TORCH_CHECK_VALUE(static_cast<int64_t>(size_of(pieces)) <= agent_.options_.max_message_bytes,
                      "rpc: a result takes ", size_of(pieces), " bytes, more than the ",
                      agent_.options_.max_message_bytes, " of max_message_bytes");
  } catch (...) {
    pieces = encode(*exception_message(std::current_exception()), agent_.job_, own);
  }
  finish(to_buffer(std::move(pieces)), GRPC_STATUS_OK, "");
}

void ServerCall::finish(grpc_byte_buffer* answer, grpc_status_code status, const std::string& details) {
  grpc_op ops[4] = {};
  size_t n = 0;
  ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
  if (answer != nullptr) {
    ops[n].op = GRPC_OP_SEND_MESSAGE;
    ops[n++].data.send_message.send_message = answer;
  }
  grpc_slice text = grpc_slice_from_copied_buffer(details.data(), details.size());
  ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  ops[n].data.send_status_from_server.status = status;
  ops[n++].data.send_status_from_server.status_details = &text;
  ops[n].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  ops[n++].data.recv_close_on_server.cancelled = &cancelled_;
  {
    const std::lock_guard<std::mutex> lock(agent_.mutex_);
    stage_ = Stage::kAnswering;
    ++agent_.answering_;
    in_queue_ = shared_from_this();
    const grpc_call_error error = grpc_call_start_batch(call_, ops, n, static_cast<Event*>(this), nullptr);
    TORCH_INTERNAL_ASSERT(error == GRPC_CALL_OK, "gRPC refuses an answer: ", static_cast<int>(error));
  }
  grpc_slice_unref(text);
  if (answer != nullptr) grpc_byte_buffer_destroy(answer);
}

}  // namespace

std::shared_ptr<GrpcAgent> GrpcAgent::create(WorkerInfo worker, std::unique_ptr<RequestCallback> callback,
                                             const RpcBackendOptions& options) {
  options.check();
  return std::make_shared<Agent>(std::move(worker), std::move(callback), options);
}

}  // namespace torch::distributed::rpc
