// The protocol over real sockets.
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>

#include "examples/serve/page.h"
#include "examples/serve/testing.h"

namespace serve {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::body_of;
using testing::Connection;
using testing::double_request;
using testing::post;
using testing::ServerOptions;
using testing::status_of;
using testing::TestServer;

const std::string kInfer = "/v2/models/double/infer";

std::string error_of(const std::string& body) {
  const json document = json::parse(body, nullptr, false);
  return document.is_object() ? document.value("error", "") : "no JSON: " + body;
}

TEST(Server, AnswersTheProtocol) {
  TestServer server;
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Get("/v2/health/live")->status, 200);
  EXPECT_EQ(json::parse(client.Get("/v2/health/ready")->body)["ready"], true);
  const json about = json::parse(client.Get("/v2")->body);
  EXPECT_EQ(about["extensions"], json({"binary_tensor_data"}));
  EXPECT_EQ(json::parse(client.Get("/v2/models")->body)["models"], json({"double"}));
  EXPECT_EQ(client.Get("/v2/models/double/ready")->status, 200);
  const json model = json::parse(client.Get("/v2/models/double")->body);
  EXPECT_EQ(model, json::parse(client.Get("/v2/models/double/versions/1")->body));
  EXPECT_EQ(model["versions"], json({"1"}));
  EXPECT_EQ(model["inputs"], json::parse(R"([{"name":"x","datatype":"FP32","shape":[-1,4]}])"));
  EXPECT_EQ(model["outputs"], json::parse(R"([{"name":"y","datatype":"FP32","shape":[-1,4]},
                                              {"name":"rows","datatype":"INT64","shape":[-1]}])"));
  const httplib::Result answer = client.Post(kInfer, double_request({1, 2, 3, 4.5}), "application/json");
  ASSERT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/json");
  EXPECT_FALSE(answer->has_header("Inference-Header-Content-Length"));
  EXPECT_EQ(json::parse(answer->body), json::parse(R"({"model_name":"double","model_version":"1","outputs":[
      {"name":"y","datatype":"FP32","shape":[1,4],"data":[2.0,4.0,6.0,9.0]},
      {"name":"rows","datatype":"INT64","shape":[1],"data":[1]}]})"));
  json chosen = json::parse(double_request({1, 2, 3, 4}));
  chosen["id"] = "seven";
  chosen["outputs"] = json::array({{{"name", "rows"}}});
  const httplib::Result one = client.Post("/v2/models/double/versions/1/infer", chosen.dump(), "application/json");
  EXPECT_EQ(json::parse(one->body)["id"], "seven");
  EXPECT_EQ(json::parse(one->body)["outputs"].size(), 1u);
  EXPECT_EQ(json::parse(one->body)["outputs"][0]["name"], "rows");
}

TEST(Server, BinaryRequestsAndAnswers) {
  TestServer server;
  httplib::Client client("127.0.0.1", server.port());
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::string document =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,4],"parameters":{"binary_data_size":32}}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":true}},{"name":"rows"}]})";
  std::string body = document;
  body.append(reinterpret_cast<const char*>(x), sizeof(x));
  const httplib::Headers headers = {{"Inference-Header-Content-Length", std::to_string(document.size())}};
  const httplib::Result answer = client.Post(kInfer, headers, body, "application/octet-stream");
  ASSERT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/octet-stream");
  const size_t bytes = std::stoul(answer->get_header_value("Inference-Header-Content-Length"));
  const json head = json::parse(answer->body.substr(0, bytes));
  EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], 32);
  EXPECT_EQ(head["outputs"][1]["data"], json({2, 2}));
  float y[8];
  ASSERT_EQ(answer->body.size(), bytes + sizeof(y));
  std::memcpy(y, answer->body.data() + bytes, sizeof(y));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(y[i], 2 * x[i]);

  json all = json::parse(double_request({1, 2, 3, 4}));
  all["parameters"]["binary_data_output"] = true;
  const httplib::Result both = client.Post(kInfer, all.dump(), "application/json");
  EXPECT_EQ(both->body.size(), std::stoul(both->get_header_value("Inference-Header-Content-Length")) + 16 + 8);

  for (const char* bad : {"", "x", "-1", "99999999999999999999", "1 2"}) {
    const httplib::Result refused =
        client.Post(kInfer, {{"Inference-Header-Content-Length", bad}}, body, "application/octet-stream");
    EXPECT_EQ(refused->status, 400) << bad;
  }
}

TEST(Server, BadRequestsAreToldWhy) {
  TestServer server;
  httplib::Client client("127.0.0.1", server.port());
  client.set_keep_alive(true);
  const auto refused = [&](const std::string& path, const std::string& body, int status, const std::string& why) {
    const httplib::Result answer = client.Post(path, body, "application/json");
    ASSERT_TRUE(answer) << body;
    EXPECT_EQ(answer->status, status) << body;
    EXPECT_EQ(error_of(answer->body), why) << body;
  };
  const auto input = [](const std::string& text) { return R"({"inputs":[)" + text + "]}"; };
  refused(kInfer, "{}", 400, "input 'x' is missing");
  refused(kInfer, input(R"({"name":"z","datatype":"FP32","shape":[1],"data":[1]})"), 400,
          "model 'double' has no input 'z'; it has 'x'");
  refused(kInfer, input(R"({"name":"x","datatype":"INT64","shape":[1,4],"data":[1,2,3,4]})"), 400,
          "input 'x' has datatype INT64; expected FP32");
  refused(kInfer, input(R"({"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]})"), 400,
          "input 'x' has shape [1, 3]; expected [-1, 4]");
  refused(kInfer, input(R"({"name":"x","datatype":"FP32","shape":[0,4],"data":[]})"), 400,
          "input 'x' has shape [0, 4]; expected [-1, 4], of which size 0 is 1 to 1000");
  refused(kInfer,
          R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}],"outputs":[{"name":"q"}]})", 400,
          "model 'double' has no output 'q'; it has 'y', 'rows'");
  refused(kInfer, double_request({1, 666, 3, 4}), 400, "the model refuses the inputs: 666 is not wanted");
  refused(kInfer, double_request({1, 777, 3, 4}), 500, "the model failed: 777 breaks it");
  refused(kInfer, double_request({1, 888, 3, 4}), 503, "there is not enough memory to run the model on these inputs");
  refused("/v2/models/triple/infer", "{}", 404, "there is no model 'triple'; there are 'double'");
  refused("/v2/models/double/versions/2/infer", "{}", 404, "model 'double' has version 1 alone");
  refused("/v2/models/double/explain", "{}", 404, "there is nothing at '/v2/models/double/explain'");
  refused("/v2/models/double/infer/again", "{}", 404, "there is nothing at '/v2/models/double/infer/again'");
  refused("/v2/models/double", "{}", 405, "'/v2/models/double' is there for GET");
  refused("/metrics", "{}", 405, "'/metrics' is there for GET");
  refused("/nothing", "{}", 404, "there is nothing at '/nothing'");
  const httplib::Result got = client.Get(kInfer);
  EXPECT_EQ(got->status, 405);
  EXPECT_EQ(got->get_header_value("Allow"), "POST");
  // All on one connection, which bad requests do not end.
  EXPECT_EQ(server.http().accepted, 1u);
}

TEST(Server, HttpThatIsNoneIsToldWhy) {
  ServerOptions options;
  options.http.most_body = 1000;
  TestServer server(options);
  const std::string host = " HTTP/1.1\r\nHost: x\r\n";
  const std::string long_path(300, 'a'), very_long(9000, 'a'), range = "0-" + std::string(7000, ',') + "1";
  const struct {
    std::string bytes;
    int status;
    std::string why;
  } cases[] = {
      {"nonsense\r\n\r\n", 400, "this is no HTTP request"},
      {"GET / HTTP/3.0\r\n\r\n", 400, "this is no HTTP request"},
      {"POST " + kInfer + host + "\r\n", 411, "the request does not say how long its body is"},
      {"POST " + kInfer + host + "Content-Length: x\r\n\r\n", 400, "Content-Length is no length"},
      {"POST " + kInfer + host + "Content-Length: -1\r\n\r\n", 400, "Content-Length is no length"},
      {"POST " + kInfer + host + "Content-Length: 99999999999999999999\r\n\r\n", 400, "Content-Length is no length"},
      {"POST " + kInfer + host + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400,
       "the length of the body is said twice"},
      {"POST " + kInfer + host + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400,
       "the length of the body is said twice"},
      {"POST " + kInfer + host + "Transfer-Encoding: gzip\r\n\r\n{}", 501,
       "the only Transfer-Encoding that is supported is chunked"},
      {"POST " + kInfer + host + "Content-Length: 1001\r\n\r\n", 413, "the body has more than 1000 bytes"},
      {"POST " + kInfer + host + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n", 413,
       "the body has more than 1000 bytes"},
      {"POST " + kInfer + host + "Content-Length: 2\r\nContent-Encoding: zstd\r\n\r\n{}", 415,
       "the Content-Encodings that are supported are gzip, deflate and br"},
      {"POST " + kInfer + host + "Content-Length: 2\r\nContent-Type: multipart/form-data; boundary=a\r\n\r\n{}", 415,
       "forms are not supported: the body is the request"},
      {"POST " + kInfer + host + "Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}", 400,
       "the body is shorter than announced, or not encoded as announced"},
      {"POST " + kInfer + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400,
       "the body is shorter than announced, or not encoded as announced"},
      {"GET /" + host + "Content-Length: 2\r\n\r\n{}", 400, "a GET request has no body"},
      {"DELETE /" + host + "\r\n", 405, "the methods that are supported are GET, HEAD and POST"},
      {"PUT " + kInfer + host + "Content-Length: 2\r\n\r\n{}", 405,
       "the methods that are supported are GET, HEAD and POST"},
      {"PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n", 405, "the methods that are supported are GET, HEAD and POST"},
      {"GET /" + long_path + host + "\r\n", 404, "there is nothing at '/" + long_path.substr(0, 99) + "...'"},
      {"GET /" + very_long + host + "\r\n", 414, "the request line is too long"},
      {"GET /v2" + host + "Range: bytes=" + range + "\r\n\r\n", 416, "Range is no range"},
      {"GET /" + host + "A: " + std::string(40000, 'a') + "\r\n\r\n", 431,
       "request line and headers have more than 32768 bytes"},
      {"GET " + std::string(40000, 'a'), 431, "request line and headers have more than 32768 bytes"},
  };
  for (const auto& one : cases) {
    Connection connection(server.port());
    connection.send(one.bytes);
    const std::string answer = connection.response();
    EXPECT_EQ(status_of(answer), one.status) << one.bytes.substr(0, 200) << "\n" << answer;
    EXPECT_EQ(error_of(body_of(answer)), one.why) << one.bytes.substr(0, 200);
  }
  std::string many_lines = "GET /" + host;
  for (int i = 0; i < 10000; ++i) many_lines += "a: b\r\n";
  Connection connection(server.port());
  connection.send(many_lines + "\r\n");
  EXPECT_EQ(status_of(connection.response()), 431);
  // What ends in the middle is answered where a request line was there, and dropped.
  for (const char* cut : {"", "GET", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"}) {
    Connection half(server.port());
    half.send(cut);
    half.end_sending();
    EXPECT_TRUE(half.ended(5s)) << cut;
  }
  EXPECT_EQ(httplib::Client("127.0.0.1", server.port()).Get("/v2/health/live")->status, 200);
}

TEST(Server, ConnectionsLastAndRequestsMayComeInARow) {
  TestServer server;
  Connection connection(server.port());
  std::string row;
  for (int i = 0; i < 20; ++i) row += post(kInfer, double_request({static_cast<float>(i), 0, 0, 0}));
  ASSERT_TRUE(connection.send(row));
  for (int i = 0; i < 20; ++i) {
    const std::string answer = connection.response();
    ASSERT_EQ(status_of(answer), 200);
    EXPECT_EQ(json::parse(body_of(answer))["outputs"][0]["data"][0], 2.0 * i);
  }
  ASSERT_TRUE(connection.send("GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(status_of(connection.response()), 200);
  EXPECT_TRUE(connection.ended(5s));

  Connection chunked(server.port());
  const std::string body = double_request({1, 2, 3, 4});
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", body.size());
  chunked.send("POST " + kInfer + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + size + body +
               "\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(chunked.response()), 200);

  Connection waiting(server.port());
  waiting.send("POST " + kInfer + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(status_of(waiting.response()), 100);
  waiting.send(body);
  EXPECT_EQ(status_of(waiting.response()), 200);

  Connection head(server.port());
  head.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(head.ended(5s));
}

TEST(Server, PackedBodiesAreLimitedAsTheyUnfold) {
  ServerOptions options;
  options.http.most_body = 100000;
  TestServer server(options);
  httplib::Client client("127.0.0.1", server.port());
  client.set_compress(true);
  json request = json::parse(double_request(std::vector<float>(400, 1)));
  EXPECT_EQ(client.Post(kInfer, request.dump(), "application/json")->status, 200);
  request["note"] = std::string(10000000, 'a');
  const httplib::Result bomb = client.Post(kInfer, request.dump(), "application/json");
  ASSERT_TRUE(bomb);
  EXPECT_EQ(bomb->status, 413);
}

TEST(Server, BodiesHaveALimitTogether) {
  ServerOptions options;
  options.http.most_body = 1000;
  options.http.most_bodies = 1500;
  TestServer server(options);
  // Two that are not complete hold their bytes, the third finds no room.
  std::string body = double_request({1, 2, 3, 4});
  body += std::string(1000 - body.size(), ' ');
  const std::string whole = post(kInfer, body);
  Connection first(server.port()), second(server.port());
  first.send(whole.substr(0, whole.size() - 1));
  std::this_thread::sleep_for(50ms);
  second.send(whole);
  EXPECT_EQ(status_of(second.response()), 503);
  first.send(whole.substr(whole.size() - 1));
  EXPECT_EQ(status_of(first.response()), 200);
  Connection third(server.port());
  third.send(whole);
  EXPECT_EQ(status_of(third.response()), 200);
}

TEST(Server, SlowClientsAreNotWaitedFor) {
  ServerOptions options;
  options.http.read_time = 150ms;
  options.http.idle_time = 300ms;
  TestServer server(options);
  const auto dripped = [&](const std::string& bytes) {
    Connection connection(server.port());
    const auto begin = Clock::now();
    for (const char c : bytes) {
      if (!connection.send(std::string(1, c))) break;
      std::this_thread::sleep_for(10ms);
      if (Clock::now() - begin > 1s) break;
    }
    return connection.response();
  };
  EXPECT_EQ(status_of(dripped("GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")), 408);
  EXPECT_EQ(status_of(dripped("GET /a HTTP/1.1\r\nA: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")), 408);
  Connection body(server.port());
  body.send("POST " + kInfer + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  const std::string late = body.response();
  EXPECT_EQ(status_of(late), 408);
  EXPECT_EQ(error_of(body_of(late)), "the body did not come within 150 ms");
  Connection idle(server.port());
  EXPECT_FALSE(idle.ended(100ms));
  EXPECT_TRUE(idle.ended(5s));
}

TEST(Server, ConnectionsHaveALimit) {
  ServerOptions options;
  options.http.most_connections = 3;
  TestServer server(options);
  std::vector<std::unique_ptr<Connection>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(std::make_unique<Connection>(server.port()));
    open.back()->send("GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(open.back()->response()), 200);
  }
  Connection more(server.port());
  const std::string refused = more.response();
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_EQ(error_of(body_of(refused)), "too many connections");
  EXPECT_GE(server.http().refused, 1u);
  open.clear();
  int status = 503;
  for (int i = 0; i < 100 && status == 503; ++i) {
    Connection again(server.port());
    again.send("GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
    status = status_of(again.response());
    if (status == 503) std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(status, 200);
}

TEST(Server, TheQueueHasALimitAndAnswersHaveATime) {
  ServerOptions options;
  options.batch.most_waiting = 1;
  options.model_time = 300ms;
  options.timeout = 450ms;
  TestServer server(options);
  const auto ask = [&](const std::string& body) {
    Connection connection(server.port());
    connection.send(post(kInfer, body));
    return connection.response();
  };
  const std::string request = double_request({1, 2, 3, 4});
  auto runs = std::async(std::launch::async, ask, request);
  while (server.model().runs() == 0) std::this_thread::yield();
  auto waits = std::async(std::launch::async, ask, request);  // and is late: it would take 600 ms
  std::this_thread::sleep_for(50ms);
  const std::string full = ask(request);
  EXPECT_EQ(status_of(full), 429);
  EXPECT_EQ(error_of(body_of(full)), "the queue is full: 1 requests wait");
  EXPECT_NE(full.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(status_of(runs.get()), 200);
  const std::string late = waits.get();
  EXPECT_EQ(status_of(late), 504);
  EXPECT_EQ(error_of(body_of(late)).rfind("no answer within 4", 0), 0u) << late;
  // A request may say that it will not wait so long.
  std::this_thread::sleep_for(300ms);
  json hurried = json::parse(request);
  hurried["parameters"]["timeout"] = 20000;
  EXPECT_EQ(status_of(ask(hurried.dump())), 504);
}

TEST(Server, JoinsRequests) {
  ServerOptions options;
  options.batch.most_rows = 8;
  options.model_time = 20ms;
  TestServer server(options);
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 16; ++i) {
    answers.push_back(std::async(std::launch::async, [&, i] {
      Connection connection(server.port());
      connection.send(post(kInfer, double_request({static_cast<float>(i), 1, 2, 3})));
      return connection.response();
    }));
  }
  for (int i = 0; i < 16; ++i) {
    const std::string answer = answers[static_cast<size_t>(i)].get();
    ASSERT_EQ(status_of(answer), 200);
    EXPECT_EQ(json::parse(body_of(answer))["outputs"][0]["data"][0], 2.0 * i);
  }
  EXPECT_GT(server.model().most_rows_seen(), 1);
  EXPECT_LE(server.model().most_rows_seen(), 8);
  EXPECT_LT(server.model().runs(), 16);
}

TEST(Server, Metrics) {
  ServerOptions options;
  options.batch.most_rows = 8;
  TestServer server(options);
  httplib::Client client("127.0.0.1", server.port());
  client.Post(kInfer, double_request({1, 2, 3, 4, 5, 6, 7, 8}), "application/json");
  client.Post(kInfer, "{}", "application/json");
  client.Get("/nothing");
  const httplib::Result answer = client.Get("/metrics");
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"# TYPE kindling_requests_total counter\n", "kindling_requests_total{model=\"double\",code=\"200\"} 1\n",
        "kindling_requests_total{model=\"double\",code=\"400\"} 1\n", "kindling_http_responses_total{code=\"404\"} 1\n",
        "kindling_queue_depth{model=\"double\"} 0\n", "kindling_batch_rows_bucket{model=\"double\",le=\"1\"} 0\n",
        "kindling_batch_rows_bucket{model=\"double\",le=\"2\"} 1\n",
        "kindling_request_duration_seconds_count{model=\"double\"} 2\n",
        "kindling_run_duration_seconds_count{model=\"double\"} 1\n"}) {
    EXPECT_NE(answer->body.find(line), std::string::npos) << line << answer->body;
  }
  // Every line is a comment, or a name with labels and a number.
  std::istringstream lines(answer->body);
  const std::regex sample(R"([a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)");
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.rfind("# ", 0) == 0 || std::regex_match(line, sample)) << line;
  }
}

TEST(Server, PageNeedsNothingFromElsewhere) {
  TestServer server;
  httplib::Client client("127.0.0.1", server.port());
  const httplib::Result page = client.Get("/");
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page->get_header_value("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page->body.find("//"), std::string::npos);
  for (const char* part : {"<h2>double</h2>", "<td>x</td>", "[batch, 4]", "/models/double/graph.svg", "p99"}) {
    EXPECT_NE(page->body.find(part), std::string::npos) << part;
  }
  for (const char* path : {"/page.css", "/page.js", "/live", "/models/double/graph.svg"}) {
    const httplib::Result part = client.Get(path);
    EXPECT_EQ(part->status, 200) << path;
    EXPECT_EQ(part->get_header_value("X-Content-Type-Options"), "nosniff");
  }
  EXPECT_EQ(client.Get("/models/other/graph.svg")->status, 404);
  client.Post(kInfer, double_request({1, 2, 3, 4}), "application/json");
  EXPECT_NE(client.Get("/live")->body.find("<th>answered</th><td>1</td>"), std::string::npos);
  EXPECT_EQ(html_text("<a b=\"c\">'&"), "&lt;a b=&quot;c&quot;&gt;&#39;&amp;");
}

// What is accepted is answered: under load, none of the requests that went out on a connection is without its answer.
TEST(Server, LosesNothingWhenItStops) {
  for (int turn = 0; turn < 5; ++turn) {
    ServerOptions options;
    options.batch.most_rows = 4;
    options.model_time = 3ms;
    auto server = std::make_unique<TestServer>(options);
    std::atomic<int> answered{0}, unavailable{0}, lost{0}, refused{0};
    std::atomic<bool> stopped{false};
    std::vector<std::thread> clients;
    for (int c = 0; c < 12; ++c) {
      clients.emplace_back([&, c] {
        while (true) {
          // Some keep their connection, some make one for each request.
          Connection connection(server->port());
          if (!connection.connected()) {
            ++refused;
            if (stopped) return;
            continue;
          }
          for (int i = 0; i < (c % 2 == 0 ? 1000000 : 1); ++i) {
            if (!connection.send(post(kInfer, double_request({1, 2, 3, 4})))) break;
            const std::string answer = connection.response();
            const int status = status_of(answer);
            ++(status == 200 ? answered : status == 503 ? unavailable : lost);
            if (status == 0 || answer.find("Connection: close") != std::string::npos) break;
          }
          if (stopped) return;
        }
      });
    }
    std::this_thread::sleep_for(60ms);
    stopped = true;
    server->stop();
    for (std::thread& client : clients) client.join();
    EXPECT_GT(answered, 20);
    EXPECT_EQ(lost, 0) << answered << " answered, " << unavailable << " unavailable";
    EXPECT_EQ(unavailable, 0);
  }
}

TEST(Server, StopsWhileConnectionsAreIdle) {
  TestServer server;
  Connection idle(server.port()), used(server.port());
  used.send("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_of(used.response()), 200);
  const auto begin = Clock::now();
  auto stopped = std::async(std::launch::async, [&] { server.stop(); });
  // One that is open still gets its answer, and that it is the last.
  used.send("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string last = used.response();
  EXPECT_TRUE(status_of(last) == 503 || status_of(last) == 200);
  EXPECT_TRUE(used.ended(5s));
  EXPECT_TRUE(idle.ended(5s));
  stopped.get();
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_FALSE(Connection(server.port()).connected());
}

TEST(Server, PortsThatAreTaken) {
  TestServer server;
  HttpOptions options;
  options.port = server.port();
  HttpMetrics metrics;
  EXPECT_THROW(HttpServer(
                   options, [](const HttpRequest&) { return HttpReply{}; }, metrics),
               std::runtime_error);
}

}  // namespace
}  // namespace serve
