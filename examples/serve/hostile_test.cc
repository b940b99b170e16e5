// Damaged requests of every kind: each gets an answer that says so, or is a request after all; the server goes on.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "examples/serve/testing.h"

namespace serve {
namespace {

using testing::Connection;
using testing::double_request;
using testing::post;
using testing::status_of;
using testing::TestServer;

const std::string kInfer = "/v2/models/double/infer";

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

  // One to four changes.
  std::string changed(std::string text) {
    for (size_t n = 1 + below(4); n > 0; --n) text = changed_once(std::move(text));
    return text;
  }

 private:
  std::string changed_once(std::string text) {
    static const std::vector<std::string> kPieces = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "null",
        "true",
        "-1",
        "1e999",
        "1e-999",
        "NaN",
        "0",
        "\\u0000",
        "\\ud800",
        "\"\"",
        "[[[[[[",
        "{\"a\":{",
        "9223372036854775807",
        "18446744073709551616",
        "4611686018427387904",
        "0.1",
        "\"data\":[",
        "\"shape\":[",
        "\"name\":\"x\",",
        "\"datatype\":\"FP64\",",
        "\"parameters\":{\"binary_data_size\":",
        "\"outputs\":[{\"name\":\"y\"}],",
        "\xff",
        std::string(1, '\0'),
        "\r\n",
        "\r\n\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n",
        "Inference-Header-Content-Length: 9\r\n",
        "%00",
        "../",
        "Content-Encoding: gzip\r\n",
        "Range: bytes=0-1,2-\r\n",
        " HTTP/1.0\r\n",
    };
    const size_t at = below(text.size() + 1);
    const auto letter = [&] { return static_cast<char>(below(256)); };
    switch (below(8)) {
      case 0:
        if (!text.empty()) text[below(text.size())] = letter();
        return text;
      case 1:
        return text.insert(at, 1, letter());
      case 2:
        return text.erase(at, 1 + below(8));
      case 3:
        return text.substr(0, at);
      case 4: {
        const std::string part = text.substr(at, below(40));
        return text.insert(below(text.size() + 1), part);
      }
      case 5:
        if (!text.empty()) text[below(text.size())] ^= static_cast<char>(1 << below(8));
        return text;
      case 6: {
        // A number becomes another.
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text.replace(digit, 1, std::to_string(random_() >> below(64)));
        return text;
      }
      default:
        return text.insert(at, kPieces[below(kPieces.size())]);
    }
  }

  std::mt19937_64 random_;
};

const std::set<int> kExpected = {200, 400, 404, 405, 408, 411, 413, 414, 415, 416, 431, 501};

std::string binary_document() {
  return R"({"id":"b","inputs":[{"name":"x","datatype":"FP32","shape":[2,4],"parameters":{"binary_data_size":32}}],)"
         R"("outputs":[{"name":"y","parameters":{"binary_data":true}},{"name":"rows"}]})";
}
std::string binary_body() {
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  return binary_document() + std::string(reinterpret_cast<const char*>(x), sizeof(x));
}

TEST(Hostile, BodiesThatAreDamaged) {
  TestServer server;
  Mutator mutator(11);
  const std::string document = double_request({1, 2.5, -3, 4e3f, 5, 6, 7, 8}), binary = binary_body();
  std::map<int, int> statuses;
  for (int i = 0; i < 16000; ++i) {
    HttpRequest request;
    request.method = "POST";
    request.path = kInfer;
    if (i % 2 == 0) {
      request.body = mutator.changed(document);
    } else {
      request.body = mutator.changed(binary);
      request.json_bytes = std::to_string(binary_document().size());
      if (mutator.below(4) == 0) request.json_bytes = std::to_string(mutator.below(request.body.size() + 3));
      if (mutator.below(20) == 0) request.json_bytes = mutator.changed(*request.json_bytes);
    }
    const HttpReply reply = server.api().handle(request);
    ++statuses[reply.status];
    ASSERT_TRUE(reply.status == 200 || reply.status == 400) << i << ": " << reply.status << " " << reply.body << "\n"
                                                            << request.body;
    ASSERT_TRUE(reply.status == 200 || (reply.body.rfind("{\"error\":\"", 0) == 0 && reply.body.size() < 2000)) << i;
  }
  // Some survive what was done to them.
  EXPECT_GT(statuses[200], 300);
  EXPECT_GT(statuses[400], 10000);
}

TEST(Hostile, PathsThatAreDamaged) {
  TestServer server;
  Mutator mutator(12);
  for (int i = 0; i < 2000; ++i) {
    HttpRequest request;
    request.method = i % 3 == 0 ? "POST" : "GET";
    request.path = mutator.changed(i % 2 == 0 ? kInfer : "/v2/models/double/versions/1/ready");
    const HttpReply reply = server.api().handle(request);
    ASSERT_TRUE(kExpected.count(reply.status) > 0) << request.path << ": " << reply.status;
  }
}

TEST(Hostile, WhatComesOverSocketsIsDamaged) {
  testing::ServerOptions options;
  options.http.read_time = std::chrono::milliseconds(300);
  TestServer server(options);
  std::atomic<int> silent{0}, answered{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Mutator mutator(100 + t);
      const std::string json = post(kInfer, double_request({1, 2, 3, 4})),
                        binary = post(
                            kInfer, binary_body(),
                            "Inference-Header-Content-Length: " + std::to_string(binary_document().size()) + "\r\n"),
                        get = "GET /v2/models/double HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-10\r\n\r\n";
      for (int i = 0; i < 500; ++i) {
        const std::string bytes = mutator.changed(i % 3 == 0 ? json : i % 3 == 1 ? binary : get);
        Connection connection(server.port());
        ASSERT_TRUE(connection.connected());
        connection.send(bytes);
        // Most are incomplete: the end tells that nothing follows.
        connection.end_sending();
        int answers = 0;
        for (std::string answer; !(answer = connection.response()).empty(); ++answers) {
          const int status = status_of(answer);
          EXPECT_TRUE(kExpected.count(status) > 0 || status == 100) << status << "\n" << bytes << "\n" << answer;
        }
        ++(answers == 0 ? silent : answered);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answered, 1500);
  Connection connection(server.port());
  connection.send(post(kInfer, double_request({1, 2, 3, 4})));
  EXPECT_EQ(status_of(connection.response()), 200);
}

// Small texts that would need much memory or many turns.
TEST(Hostile, NothingGrowsWithoutBound) {
  TestServer server;
  const auto status = [&](std::string body, const std::string& json_bytes = "") {
    HttpRequest request;
    request.method = "POST";
    request.path = kInfer;
    request.body = std::move(body);
    if (!json_bytes.empty()) request.json_bytes = json_bytes;
    return server.api().handle(request).status;
  };
  const size_t size = 1 << 20;
  EXPECT_EQ(status(std::string(size, '[')), 400);
  EXPECT_EQ(status(std::string(size, '{')), 400);
  EXPECT_EQ(status(std::string(size, '1')), 400);
  EXPECT_EQ(status("\"" + std::string(size, 'a')), 400);
  EXPECT_EQ(status("{\"a\":" + std::string(size, '9') + "}"), 400);
  std::string empties = "{\"inputs\":[{}";
  for (size_t i = 0; i < size / 3; ++i) empties += ",{}";
  EXPECT_EQ(status(empties), 400);
  std::string nested = R"({"inputs":[{"name":"x","data":[[])";
  for (size_t i = 0; i < size / 3; ++i) nested += ",[]";
  EXPECT_EQ(status(nested + "]}]}"), 400);
  std::string numbers = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[0)";
  for (size_t i = 0; i < size / 2; ++i) numbers += ",0";
  EXPECT_EQ(status(numbers + "]}]}"), 400);
  for (const char* shape : {"[9223372036854775807]", "[4294967296,4294967296]", "[1000000000,1000000000]",
                            "[0,9223372036854775807,9223372036854775807]"}) {
    EXPECT_EQ(status(std::string(R"({"inputs":[{"name":"x","datatype":"FP32","shape":)") + shape +
                     R"(,"parameters":{"binary_data_size":18446744073709551615}}]})"),
              400)
        << shape;
  }
}

}  // namespace
}  // namespace serve
