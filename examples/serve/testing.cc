#include "examples/serve/testing.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

#include "aten/core/empty.h"

namespace serve::testing {

using torch::graph::IntExpr;

at::Tensor floats(const std::vector<float>& values, std::vector<int64_t> sizes) {
  at::Tensor out = at::empty_contiguous(sizes, c10::ScalarType::Float);
  std::copy(values.begin(), values.end(), out.data_ptr<float>());
  return out;
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor t = tensor.contiguous();
  return {t.data_ptr<float>(), t.data_ptr<float>() + t.numel()};
}

Doubler::Doubler(std::chrono::microseconds time, bool batched) : time_(time) {
  info_.format = "test";
  info_.path = "<nowhere>";
  const std::vector<IntExpr> sizes = {IntExpr::symbol("batch"), 4};
  info_.signature.symbols["batch"] = {1, 1000};
  info_.signature.inputs.push_back({"x", TensorSpec::Kind::kTensor, c10::ScalarType::Float, sizes});
  info_.outputs.push_back({"y", TensorSpec::Kind::kTensor, c10::ScalarType::Float, sizes});
  info_.outputs.push_back(
      {"rows", TensorSpec::Kind::kTensor, c10::ScalarType::Long, std::vector<IntExpr>{IntExpr::symbol("batch")}});
  info_.outputs_known = true;
  info_.most_rows = 1000;
  if (!batched) info_.not_batched = "the test says so";
  info_.graph_svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
}

std::vector<NamedTensor> Doubler::run(std::vector<at::Tensor> inputs) {
  const at::Tensor& x = inputs.at(0);
  const int64_t rows = x.sizes()[0];
  ++runs_;
  for (int64_t seen = most_; rows > seen && !most_.compare_exchange_weak(seen, rows);) {
  }
  if (time_.count() > 0) std::this_thread::sleep_for(time_);
  at::Tensor y = at::empty_contiguous(x.sizes(), c10::ScalarType::Float);
  at::Tensor counts = at::empty_contiguous({rows}, c10::ScalarType::Long);
  std::fill_n(counts.data_ptr<int64_t>(), rows, rows);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float value = x.data_ptr<float>()[i];
    if (value == 666) throw Refused("666 is not wanted");
    if (value == 777) throw std::runtime_error("777 breaks it");
    if (value == 888) throw std::bad_alloc();
    y.data_ptr<float>()[i] = 2 * value;
  }
  return {{"y", y}, {"rows", counts}};
}

TestServer::TestServer(const ServerOptions& options) {
  auto model = std::make_unique<Doubler>(options.model_time, options.batched);
  model_ = model.get();
  std::vector<std::unique_ptr<ServedModel>> models;
  models.push_back(std::make_unique<ServedModel>("double", std::move(model), options.batch));
  api_ = std::make_unique<Api>(std::move(models), options.timeout, http_);
  server_ = std::make_unique<HttpServer>(
      options.http, [this](const HttpRequest& request) { return api_->handle(request); }, http_);
  thread_ = std::thread([this] { server_->run(); });
}
TestServer::~TestServer() {
  stop();
}
void TestServer::stop() {
  api_->set_stopping();
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

std::string double_request(const std::vector<float>& x) {
  std::string data;
  for (const float value : x) data += (data.empty() ? "" : ",") + std::to_string(value);
  return R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" + std::to_string(x.size() / 4) + R"(,4],"data":[)" +
         data + "]}]}";
}

std::string post(const std::string& path, const std::string& body, const std::string& headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Connection::Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(socket_);
    socket_ = -1;
    return;
  }
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

bool Connection::send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}
void Connection::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

std::string Connection::response() {
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (true) {
    const size_t head = rest_.find("\r\n\r\n");
    if (head != std::string::npos) {
      size_t length = 0;
      for (size_t at = 0; at < head; at = rest_.find("\r\n", at) + 2) {
        constexpr char kName[] = "content-length:";
        if (::strncasecmp(rest_.c_str() + at, kName, sizeof(kName) - 1) == 0) {
          length = std::strtoul(rest_.c_str() + at + sizeof(kName) - 1, nullptr, 10);
        }
      }
      if (rest_.size() >= head + 4 + length) {
        std::string out = rest_.substr(0, head + 4 + length);
        rest_.erase(0, out.size());
        return out;
      }
    }
    pollfd one{socket_, POLLIN, 0};
    if (Clock::now() > deadline || ::poll(&one, 1, 20000) <= 0) return "";
    char buffer[16384];
    const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) return "";
    rest_.append(buffer, static_cast<size_t>(count));
  }
}

bool Connection::ended(std::chrono::milliseconds time) {
  const auto deadline = Clock::now() + time;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{socket_, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(std::max<int64_t>(left, 0))) <= 0) return false;
    char buffer[4096];
    if (::recv(socket_, buffer, sizeof(buffer), 0) <= 0) return true;
  }
}

int status_of(const std::string& response) {
  int status = 0;
  if (response.rfind("HTTP/1.1 ", 0) == 0) std::from_chars(response.data() + 9, response.data() + 12, status);
  return status;
}

std::string body_of(const std::string& response) {
  const size_t head = response.find("\r\n\r\n");
  return head == std::string::npos ? "" : response.substr(head + 4);
}

}  // namespace serve::testing
