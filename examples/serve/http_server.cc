#include "examples/serve/http_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "examples/serve/infer_request.h"
#include "examples/serve/socket_stream.h"

namespace serve {
namespace {

constexpr size_t kRefusing = 16;  // connections beyond the limit that are told so
constexpr std::chrono::milliseconds kLinger{500};

// The request that a thread is answering: cpp-httplib's callbacks do not say which it is.
struct Current {
  SocketStream* stream = nullptr;
  std::string path;
  bool in_body = false;
  bool consumed = false;  // nothing of the request is left to read
  bool close = false;
};
thread_local Current* current = nullptr;

bool equal_without_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
         });
}

// A length in digits; nothing for anything else.
std::optional<uint64_t> length_of(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoull(text);
}

std::string whole_response(int status, const char* reason, const std::string& why) {
  const HttpReply reply = error_reply(status, why);
  return "HTTP/1.1 " + std::to_string(status) + " " + reason + "\r\nContent-Type: " + reply.type +
         "\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\nConnection: close\r\n\r\n" + reply.body;
}

// Connections that the kernel has not made yet stay unmade, those that it has made can still be accepted: so that none
// is made and then dropped when the socket is closed.
void refuse_new_connections(int socket) {
  sock_filter drop = {BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program = {1, &drop};
  ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

}  // namespace

HttpReply error_reply(int status, const std::string& why) {
  HttpReply reply;
  reply.status = status;
  reply.body = "{\"error\":" + json_text(why) + "}\n";
  return reply;
}

class HttpServer::Listener final : public httplib::Server {
 public:
  Listener(const HttpOptions& options, HttpServer::Handler handler, HttpMetrics& metrics)
      : options_(options), handler_(std::move(handler)), metrics_(metrics) {
    set_socket_options([](socket_t socket) {
      // Not SO_REUSEPORT, with which two servers would share a port.
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(options.idle_time).count());
    set_keep_alive_max_count(1000000);
    set_up_handlers();
    port_ = options.port;
    const bool bound =
        options.port == 0 ? (port_ = bind_to_any_port(options.host)) > 0 : bind_to_port(options.host, options.port);
    if (!bound) {
      throw std::runtime_error("cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " +
                               std::strerror(errno));
    }
    socket_ = svr_sock_;
    // cpp-httplib lets five connections wait.
    ::listen(socket_, 1024);
    ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
    ::fcntl(socket_, F_SETFD, FD_CLOEXEC);
    stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_event_ < 0) throw std::runtime_error(std::string("no event: ") + std::strerror(errno));
  }
  ~Listener() override {
    if (socket_ >= 0) ::close(socket_);
    ::close(stop_event_);
  }

  int port() const { return port_; }

  void stop() {
    stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_event_, &one, sizeof(one));
  }

  void run() {
    while (!stopping_) {
      pollfd both[] = {{socket_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
      ::poll(both, 2, -1);
      if (!accept_all()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    refuse_new_connections(socket_);
    accept_all();
    ::close(socket_);
    socket_ = -1;
    std::unique_lock<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    std::vector<std::thread> threads = std::move(threads_);
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
  }

 private:
  // False where there are too many open files, or too little memory, to go on at once.
  bool accept_all() {
    while (true) {
      const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (connection >= 0) {
        take(connection);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return true;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return false;
      }
    }
  }

  // Gives a connection to a thread.
  void take(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (open_ >= options_.most_connections + kRefusing) {
      ::close(connection);
      metrics_.refused.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const bool refuse = open_ >= options_.most_connections;
    (refuse ? metrics_.refused : metrics_.accepted).fetch_add(1, std::memory_order_relaxed);
    metrics_.connections.store(++open_, std::memory_order_relaxed);
    pending_.emplace_back(connection, refuse);
    if (idle_ < pending_.size()) {
      threads_.emplace_back([this] { work(); });
    } else {
      changed_.notify_one();
    }
  }

  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [&] { return !pending_.empty() || ended_; });
      --idle_;
      if (pending_.empty()) return;
      const auto [connection, refuse] = pending_.front();
      pending_.pop_front();
      lock.unlock();
      if (refuse) {
        turn_away(connection);
      } else {
        serve(connection);
      }
      lock.lock();
      metrics_.connections.store(--open_, std::memory_order_relaxed);
    }
  }

  void turn_away(int connection) {
    SocketStream stream(connection);
    stream.set_write_time(kLinger);
    const std::string text = whole_response(503, "Service Unavailable", "too many connections");
    metrics_.responses.add(503);
    stream.write(text.data(), text.size());
    stream.linger(kLinger);
  }

  void serve(int connection) {
    const int on = 1;
    ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    SocketStream stream(connection);
    stream.set_write_time(options_.write_time);
    Current request;
    request.stream = &stream;
    current = &request;
    while (true) {
      Readable readable = stream.wait_for_data(options_.idle_time, stop_event_);
      if (readable == Readable::kStopped) readable = stream.wait_for_data(options_.last_wait, -1);
      if (readable != Readable::kData) return;
      request.in_body = request.consumed = request.close = false;
      stream.set_read_limit(Clock::now() + options_.read_time, options_.most_head);
      bool closed = false;
      const bool answered =
          process_request(stream, false, closed, [this](httplib::Request& head) { begin_body(head); });
      if (!answered && !stream.has_written()) {
        // cpp-httplib says nothing where it has no whole request line.
        if (stream.bytes_read() == 0) return;
        const bool late = stream.timed_out(), long_line = stream.too_long();
        const int status = late ? 408 : long_line ? 431 : 400;
        const std::string text = whole_response(status,
                                                late        ? "Request Timeout"
                                                : long_line ? "Request Header Fields Too Large"
                                                            : "Bad Request",
                                                why_no_head());
        metrics_.responses.add(status);
        stream.write(text.data(), text.size());
        return stream.linger(kLinger);
      }
      if (!answered || request.close) return stream.linger(request.consumed ? std::chrono::milliseconds(0) : kLinger);
      if (!stream.flush() || closed) return;
    }
  }

  // Once the head is read. Routing is not left to cpp-httplib: it tries regular expressions, which go as deep as the
  // path is long.
  void begin_body(httplib::Request& head) const {
    current->path = std::move(head.path);
    head.path = "/";
    head.ranges.clear();
    head.headers.erase("Accept-Encoding");  // compressing is slower than the loopback is
    current->in_body = true;
    current->stream->set_read_limit(Clock::now() + options_.read_time, 2 * options_.most_body + options_.most_head);
  }

  static void put(const HttpReply& reply, httplib::Response& response) {
    response.status = reply.status;
    response.set_content(reply.body, reply.type);
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  }

  // What is wrong with how the request says where its body ends.
  std::optional<HttpReply> wrong_framing(const httplib::Request& head) const {
    const bool post = head.method == "POST";
    const size_t lengths = head.get_header_value_count("Content-Length"),
                 encodings = head.get_header_value_count("Transfer-Encoding");
    current->consumed = lengths == 0 && encodings == 0;
    if (lengths > 1 || (lengths > 0 && encodings > 0)) return error_reply(400, "the length of the body is said twice");
    std::optional<uint64_t> length;
    if (lengths == 1) {
      length = length_of(head.get_header_value("Content-Length"));
      if (!length.has_value()) return error_reply(400, "Content-Length is no length");
      current->consumed = *length == 0;
    }
    if (encodings > 0 &&
        (encodings > 1 || !equal_without_case(head.get_header_value("Transfer-Encoding"), "chunked"))) {
      return error_reply(501, "the only Transfer-Encoding that is supported is chunked");
    }
    if (!post && head.method != "GET" && head.method != "HEAD") {
      HttpReply reply = error_reply(405, "the methods that are supported are GET, HEAD and POST");
      reply.headers.emplace_back("Allow", "GET, HEAD, POST");
      return reply;
    }
    if (!post) {
      if (!current->consumed) return error_reply(400, "a " + head.method + " request has no body");
      return std::nullopt;
    }
    if (lengths == 0 && encodings == 0) return error_reply(411, "the request does not say how long its body is");
    if (length.value_or(0) > options_.most_body) return error_reply(413, too_large());
    for (const char* known : {"", "identity", "gzip", "deflate", "br"}) {
      if (equal_without_case(head.get_header_value("Content-Encoding"), known)) return wrong_type(head);
    }
    return error_reply(415, "the Content-Encodings that are supported are gzip, deflate and br");
  }
  static std::optional<HttpReply> wrong_type(const httplib::Request& head) {
    if (head.is_multipart_form_data()) return error_reply(415, "forms are not supported: the body is the request");
    return std::nullopt;
  }
  std::string too_large() const { return "the body has more than " + std::to_string(options_.most_body) + " bytes"; }
  std::string why_no_head() const {
    if (current->stream->timed_out()) {
      return "the request did not come within " + std::to_string(options_.read_time.count()) + " ms";
    }
    if (current->stream->too_long()) {
      return "request line and headers have more than " + std::to_string(options_.most_head) + " bytes";
    }
    return "this is no HTTP request";
  }

  void set_up_handlers() {
    set_pre_routing_handler([this](const httplib::Request& head, httplib::Response& response) {
      const std::optional<HttpReply> wrong = wrong_framing(head);
      if (!wrong.has_value()) return HandlerResponse::Unhandled;
      put(*wrong, response);
      return HandlerResponse::Handled;
    });
    set_expect_100_continue_handler([this](const httplib::Request& head, httplib::Response& response) {
      const std::optional<uint64_t> length = length_of(head.get_header_value("Content-Length"));
      if (length.value_or(0) <= options_.most_body) return 100;
      put(error_reply(413, too_large()), response);
      return 413;
    });
    Get("/", [this](const httplib::Request& head, httplib::Response& response) { answer(head, "", response); });
    Post("/", [this](const httplib::Request& head, httplib::Response& response, const httplib::ContentReader& content) {
      read_and_answer(head, response, content);
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::bad_alloc&) {
        put(error_reply(503, "there is not enough memory for this request"), response);
      } catch (const std::exception& error) {
        put(error_reply(500, error.what()), response);
      }
    });
    set_error_handler(HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
      if (!current->in_body) {
        current->consumed = false;
        const bool late = current->stream->timed_out(), long_head = current->stream->too_long();
        const std::string why = response.status == 414   ? "the request line is too long"
                                : response.status == 416 ? "Range is no range"
                                                         : why_no_head();
        put(error_reply(late ? 408 : long_head ? 431 : response.status, why), response);
      } else if (response.body.empty()) {
        put(error_reply(response.status, response.status == 413 ? too_large() : "bad request"), response);
      }
      if (!current->consumed) current->close = true;
      return HandlerResponse::Handled;
    }));
    set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      metrics_.responses.add(response.status);
      // A request behind this one is here already, and answered.
      if (stopping_ && current->stream->buffered() == 0) current->close = true;
      if (!current->close) return;
      response.headers.erase("Keep-Alive");
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    });
  }

  void answer(const httplib::Request& head, std::string body, httplib::Response& response) const {
    HttpRequest request;
    request.method = head.method;
    request.path = std::move(current->path);
    request.body = std::move(body);
    if (head.has_header("Inference-Header-Content-Length")) {
      request.json_bytes = head.get_header_value("Inference-Header-Content-Length");
    }
    put(handler_(request), response);
  }

  void read_and_answer(const httplib::Request& head, httplib::Response& response,
                       const httplib::ContentReader& content) {
    std::string body;
    body.reserve(std::min<uint64_t>(length_of(head.get_header_value("Content-Length")).value_or(0), 1 << 20));
    // Of the bytes that all bodies may have together.
    struct Share {
      std::atomic<size_t>& all;
      size_t own = 0;
      ~Share() { all.fetch_sub(own, std::memory_order_relaxed); }
    } share{bodies_};
    bool too_long = false, too_many = false;
    const bool whole = content([&](const char* data, size_t size) {
      share.own += size;
      too_many = bodies_.fetch_add(size, std::memory_order_relaxed) + size > options_.most_bodies;
      too_long = body.size() + size > options_.most_body;
      if (too_long || too_many) return false;
      body.append(data, size);
      return true;
    });
    if (whole) {
      current->consumed = true;
      // cpp-httplib takes a chunk that does not end as it should for the last one: what follows is no request.
      current->close = head.has_header("Transfer-Encoding");
      return answer(head, std::move(body), response);
    }
    const SocketStream& stream = *current->stream;
    if (too_long || stream.too_long()) return put(error_reply(413, too_large()), response);
    if (too_many) return put(error_reply(503, "too many large requests at a time"), response);
    if (stream.timed_out()) {
      return put(error_reply(408, "the body did not come within " + std::to_string(options_.read_time.count()) + " ms"),
                 response);
    }
    put(error_reply(400, "the body is shorter than announced, or not encoded as announced"), response);
  }

  const HttpOptions options_;
  const HttpServer::Handler handler_;
  HttpMetrics& metrics_;
  int port_ = 0, socket_ = -1, stop_event_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> bodies_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<int, bool>> pending_;  // connections, and whether they are too many
  size_t open_ = 0, idle_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(const HttpOptions& options, Handler handler, HttpMetrics& metrics)
    : listener_(std::make_unique<Listener>(options, std::move(handler), metrics)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const {
  return listener_->port();
}
void HttpServer::run() {
  listener_->run();
}
void HttpServer::stop() {
  listener_->stop();
}

}  // namespace serve
