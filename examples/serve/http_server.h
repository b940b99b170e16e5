// HTTP/1.1 over TCP: cpp-httplib parses and writes it; connections, limits and the end are seen to here.
//
//   HttpServer server({.port = 8000}, [](const HttpRequest& request) { return HttpReply{...}; }, metrics);
//   server.run();                                  // until another thread calls server.stop()
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/serve/metrics.h"

namespace serve {

struct HttpRequest {
  std::string method;  ///< "GET", "HEAD" or "POST"
  std::string path;    ///< decoded, without the query
  std::string body;
  /// Inference-Header-Content-Length as it was sent.
  std::optional<std::string> json_bytes;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// {"error": why}
HttpReply error_reply(int status, const std::string& why);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                                ///< 0: a free one
  size_t most_connections = 200;               ///< more get 503
  size_t most_body = 64 << 20;                 ///< bytes of a body, decompressed; more get 413
  size_t most_bodies = 512 << 20;              ///< bytes of all bodies that are in memory; more get 503
  size_t most_head = 32 << 10;                 ///< bytes of request line and headers; more get 431
  std::chrono::milliseconds idle_time{30000};  ///< how long a connection may wait for its next request
  std::chrono::milliseconds read_time{10000};  ///< for the head of a request, and again for its body; more get 408
  std::chrono::milliseconds write_time{10000};
  std::chrono::milliseconds last_wait{200};  ///< for requests on open connections, when the server stops
};

class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  /// Listens from now on. The handler is called from many threads. Throws std::runtime_error where the port cannot be
  /// had.
  HttpServer(const HttpOptions& options, Handler handler, HttpMetrics& metrics);
  ~HttpServer();
  int port() const;
  /// Answers until stop() is called: then what was accepted, and what waits to be, is answered. Returns when the last
  /// connection is closed.
  void run();
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace serve
