// For tests: a model without a file, a server of it, and clients that need no library.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "examples/serve/api.h"

namespace serve::testing {

at::Tensor floats(const std::vector<float>& values, std::vector<int64_t> sizes);
std::vector<float> values_of(const at::Tensor& tensor);

/// x: FP32 [batch, 4] -> y: FP32 [batch, 4], twice x, and rows: INT64 [batch], the rows of the run. It refuses an x
/// with 666, fails at 777 and has no memory for 888.
class Doubler final : public Model {
 public:
  explicit Doubler(std::chrono::microseconds time = {}, bool batched = true);
  std::vector<NamedTensor> run(std::vector<at::Tensor> inputs) override;
  int64_t most_rows_seen() const { return most_; }
  int runs() const { return runs_; }

 private:
  const std::chrono::microseconds time_;
  std::atomic<int64_t> most_{0};
  std::atomic<int> runs_{0};
};

struct ServerOptions {
  HttpOptions http;
  BatchOptions batch;
  std::chrono::milliseconds timeout{5000};
  std::chrono::microseconds model_time{0};
  bool batched = true;
};

/// A server of one Doubler, "double", until the end of its life.
class TestServer {
 public:
  explicit TestServer(const ServerOptions& options = {});
  ~TestServer();
  /// Returns when the server has ended.
  void stop();
  int port() const { return server_->port(); }
  Doubler& model() { return *model_; }
  Api& api() { return *api_; }
  HttpMetrics& http() { return http_; }
  HttpServer& server() { return *server_; }

 private:
  HttpMetrics http_;
  Doubler* model_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

/// {"inputs": [x]} for the Doubler.
std::string double_request(const std::vector<float>& x);
/// POST with this body and further header lines, each with its end.
std::string post(const std::string& path, const std::string& body, const std::string& headers = "");

/// A connection to the loopback.
class Connection {
 public:
  explicit Connection(int port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  bool connected() const { return socket_ >= 0; }
  bool send(const std::string& bytes);
  void end_sending();
  /// The next response with its body; empty where the connection ends before it does, or after 20 s.
  std::string response();
  /// Whether the other side has ended the connection, waiting at most this long for it.
  bool ended(std::chrono::milliseconds time);

 private:
  int socket_;
  std::string rest_;
};
/// Of a response: 200 and so on; 0 where it is none.
int status_of(const std::string& response);
std::string body_of(const std::string& response);

}  // namespace serve::testing
