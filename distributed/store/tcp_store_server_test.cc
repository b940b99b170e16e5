// A server among clients that do not keep to the protocol: they are disconnected, the others go on.

#include "distributed/store/tcp_store_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "distributed/store/tcp_protocol.h"
#include "distributed/store/testing/stores.h"
#include "gtest/gtest.h"

namespace c10d {
namespace {

using detail::kOpening;
using detail::kQueryTypes;
using detail::Message;
using detail::QueryType;
using detail::TCPStoreServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RawClient;
using testing::tcp_client;

std::shared_ptr<TCPStoreServer> start(TCPStoreLimits limits = {}) {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.limits = limits;
  return TCPStoreServer::start(options);
}

// Whether an honest client is served.
void expect_serves(const TCPStoreServer& server) {
  auto client = tcp_client(server.port(), seconds(20));
  client->set("honest", "1");
  EXPECT_EQ(client->get_to_str("honest"), "1");
}

void expect_connections(const TCPStoreServer& server, size_t number, seconds limit = seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (server.connections() != number && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(server.connections(), number);
}

std::string opened(std::string query) {
  return std::string(kOpening) + query;
}

// One query of each type, whole.
std::vector<std::string> all_queries() {
  const std::vector<std::string> keys = {"a", "b"};
  return {
      Message(QueryType::kSet).text("/a").text("value").take(),
      Message(QueryType::kCompareSet).text("/a").text("value").text("other").take(),
      Message(QueryType::kGet).text("/a").take(),
      Message(QueryType::kAdd).text("/n").number(5).take(),
      Message(QueryType::kCheck).keys(keys).take(),
      Message(QueryType::kGetNumKeys).take(),
      Message(QueryType::kDeleteKey).text("/zz").take(),
      Message(QueryType::kAppend).text("/a").text("more").take(),
      Message(QueryType::kMultiSet).number(2).text("/a").text("1").text("/b").text("2").take(),
      Message(QueryType::kMultiGet).keys(keys).take(),
      Message(QueryType::kWait).keys(keys).take(),
      Message(QueryType::kCancelWait).take(),
      Message(QueryType::kPing).nonce(7).take(),
      Message(QueryType::kQueuePush).text("/q").text("1").take(),
      Message(QueryType::kQueueLen).text("/q").take(),
      Message(QueryType::kQueuePop).text("/q").take(),
      Message(QueryType::kListKeys).take(),
      Message(QueryType::kBarrier).text("/b").number(1).take(),
  };
}

TEST(TCPStoreServerTest, AWrongFirstByteEndsTheConnectionAtOnce) {
  auto server = start();
  for (const char* text : {"GET / HTTP/1.1\r\n", "\x16\x03\x01", "x"}) {
    RawClient client(server->port());
    client.send(text);
    EXPECT_TRUE(client.closed_within(seconds(5))) << text;
  }
  for (size_t wrong = 1; wrong < kOpening.size(); ++wrong) {
    std::string opening(kOpening.substr(0, wrong + 1));
    opening[wrong] ^= 1;
    RawClient client(server->port());
    client.send(opening);
    EXPECT_TRUE(client.closed_within(seconds(5))) << wrong;
  }
  expect_connections(*server, 0);
  expect_serves(*server);
}

TEST(TCPStoreServerTest, WithoutAnOpeningAConnectionEndsAfterItsTime) {
  TCPStoreLimits limits;
  limits.opening_timeout = milliseconds(100);
  auto server = start(limits);
  RawClient silent(server->port()), slow(server->port());
  slow.send(kOpening.substr(0, 4));
  EXPECT_TRUE(silent.closed_within(seconds(10)));
  EXPECT_TRUE(slow.closed_within(seconds(10)));
  // One that has opened may be silent for as long as it likes.
  RawClient idle(server->port());
  idle.send(opened(Message(QueryType::kPing).nonce(1).take()));
  EXPECT_EQ(idle.receive(4).size(), 4u);
  EXPECT_FALSE(idle.closed_within(milliseconds(1500)));
}

TEST(TCPStoreServerTest, AQueryThatStopsEndsTheConnection) {
  TCPStoreLimits limits;
  limits.stall_timeout = milliseconds(100);
  auto server = start(limits);
  RawClient client(server->port());
  client.send(opened(Message(QueryType::kSet).text("/a").take()));
  EXPECT_TRUE(client.closed_within(seconds(10)));
  // A client that waits is not inside a query.
  RawClient waiting(server->port());
  waiting.send(opened(Message(QueryType::kWait).keys({"honest"}).take()));
  EXPECT_FALSE(waiting.closed_within(milliseconds(1200)));
  expect_serves(*server);
  EXPECT_EQ(waiting.receive(1), std::string(1, '\0'));
}

TEST(TCPStoreServerTest, EveryQueryCutAtEveryByte) {
  auto server = start();
  for (const std::string& query : all_queries()) {
    for (size_t cut = 0; cut < query.size(); ++cut) {
      RawClient client(server->port());
      ASSERT_TRUE(client.send(opened(query.substr(0, cut))));
    }
    expect_connections(*server, 0);
  }
  expect_serves(*server);
}

// The same bytes in pieces of every size give the same answers.
TEST(TCPStoreServerTest, QueriesMayComeInAnyPieces) {
  std::string all;
  for (const std::string& query : all_queries()) all += query;
  std::string expected;
  for (const size_t piece : {all.size(), size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{64}}) {
    auto server = start();
    RawClient client(server->port());
    client.send(kOpening);
    for (size_t at = 0; at < all.size(); at += piece) ASSERT_TRUE(client.send(std::string_view(all).substr(at, piece)));
    const std::string answers = client.receive(139);
    EXPECT_EQ(answers.size(), 139u);
    if (expected.empty()) expected = answers;
    EXPECT_EQ(answers, expected) << piece;
  }
}

TEST(TCPStoreServerTest, UnknownTypesAndASecondOpeningEndTheConnection) {
  auto server = start();
  for (int type : {0, static_cast<int>(kQueryTypes), 100, 255}) {
    RawClient client(server->port());
    client.send(opened(std::string(1, static_cast<char>(type))));
    EXPECT_TRUE(client.closed_within(seconds(5))) << type;
  }
  expect_serves(*server);
}

TEST(TCPStoreServerTest, HugeLengthsEndTheConnectionBeforeTheirBytes) {
  auto server = start();
  std::vector<std::string> queries;
  for (const uint64_t size : {uint64_t{8193}, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (const QueryType type :
         {QueryType::kSet, QueryType::kCompareSet, QueryType::kGet, QueryType::kAdd, QueryType::kDeleteKey,
          QueryType::kAppend, QueryType::kQueuePush, QueryType::kQueuePop, QueryType::kQueueLen, QueryType::kBarrier}) {
      queries.push_back(Message(type).number(static_cast<int64_t>(size)).take());
    }
    for (const QueryType type : {QueryType::kCheck, QueryType::kWait, QueryType::kMultiGet, QueryType::kMultiSet}) {
      queries.push_back(Message(type).number(1).number(static_cast<int64_t>(size)).take());
      if (size > 8193) queries.push_back(Message(type).number(static_cast<int64_t>(size)).take());
    }
    if (size > 8193) queries.push_back(Message(QueryType::kSet).text("/a").number(static_cast<int64_t>(size)).take());
  }
  for (const std::string& query : queries) {
    RawClient client(server->port());
    client.send(opened(query));
    EXPECT_TRUE(client.closed_within(seconds(5))) << static_cast<int>(query[0]);
  }
  expect_connections(*server, 0);
  EXPECT_LT(server->buffered_bytes(), 1u << 16);
  expect_serves(*server);
}

TEST(TCPStoreServerTest, RandomBytes) {
  auto server = start();
  std::minstd_rand random(7);
  const std::vector<std::string> queries = all_queries();
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    // Half of them look like queries for a while.
    for (size_t i = random() % 4; i > 0; --i) bytes += queries[random() % queries.size()];
    if (round % 2 == 0) {
      for (size_t i = random() % 100; i > 0; --i) bytes += static_cast<char>(random() % (round % 4 == 0 ? 256 : 20));
    }
    if (!bytes.empty() && round % 3 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
    RawClient client(server->port());
    client.send(round % 10 == 9 ? bytes : opened(bytes));
    if (round % 2 == 0) client.receive(64, milliseconds(1));
  }
  expect_connections(*server, 0);
  expect_serves(*server);
}

TEST(TCPStoreServerTest, QueriesThatCannotBeAnsweredEndTheirConnectionOnly) {
  auto server = start();
  auto honest = tcp_client(server->port());
  honest->set("text", "abc");
  honest->wait({"text"});
  for (const std::string& query : {
           Message(QueryType::kGet).text("/absent").take(),
           Message(QueryType::kMultiGet).keys({"text", "absent"}).take(),
           Message(QueryType::kAdd).text("/text").number(1).take(),
           Message(QueryType::kBarrier).text("/gate").number(0).take(),
           Message(QueryType::kBarrier).text("/gate").number(-1).take(),
           Message(QueryType::kWait).keys({"absent"}).take() + Message(QueryType::kPing).nonce(1).take(),
       }) {
    RawClient client(server->port());
    client.send(opened(query));
    EXPECT_TRUE(client.closed_within(seconds(5))) << static_cast<int>(query[0]);
  }
  EXPECT_EQ(honest->get_to_str("text"), "abc");
}

TEST(TCPStoreServerTest, AFullStoreRefusesAndStaysUsable) {
  TCPStoreLimits limits;
  limits.keys = 100;
  limits.total_bytes = 20000;
  auto server = start(limits);
  auto honest = tcp_client(server->port());
  honest->set("honest", "1");
  for (const bool many : {true, false}) {
    RawClient client(server->port());
    client.send(kOpening);
    for (int i = 0; i < 200; ++i) {
      const std::string key = "/" + std::to_string(many ? i : 0);
      if (!client.send(Message(many ? QueryType::kSet : QueryType::kQueuePush).text(key).text("x").take())) break;
    }
    EXPECT_TRUE(client.closed_within(seconds(5)));
    EXPECT_EQ(honest->get_to_str("honest"), "1");
    for (const std::string& key : honest->listKeys()) {
      if (key != "honest") honest->deleteKey(key);
    }
  }
  honest->deleteKey("0");
  RawClient client(server->port());
  client.send(kOpening);
  for (int i = 0; i < 10; ++i)
    client.send(Message(QueryType::kAppend).text("/long").text(std::string(4000, 'x')).take());
  EXPECT_TRUE(client.closed_within(seconds(5)));
  // What was stored in pieces is given back in full.
  EXPECT_TRUE(honest->deleteKey("long"));
  honest->set("long", std::string(19000, 'x'));
  EXPECT_EQ(honest->get("long").size(), 19000u);
}

TEST(TCPStoreServerTest, TheOldestThatHasNotOpenedMakesRoom) {
  TCPStoreLimits limits;
  limits.clients = 4;
  auto server = start(limits);
  auto first = tcp_client(server->port());
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<RawClient>(server->port()));
  expect_serves(*server);
  EXPECT_TRUE(silent[0]->closed_within(seconds(5)));
  first->set("a", "1");
  EXPECT_EQ(first->get_to_str("a"), "1");
  silent.clear();
  // All places taken by clients that have opened: a further one is refused, and tries again until there is room.
  std::vector<c10::intrusive_ptr<TCPStore>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(tcp_client(server->port()));
  EXPECT_THROW(tcp_client(server->port(), milliseconds(100)), c10::DistNetworkError);
  std::thread leaves([&] {
    std::this_thread::sleep_for(milliseconds(100));
    clients.pop_back();
  });
  expect_serves(*server);
  leaves.join();
}

TEST(TCPStoreServerTest, WhoDoesNotReadIsNotBufferedWithoutBound) {
  TCPStoreLimits limits;
  limits.buffered_bytes = 16 << 20;
  limits.stall_timeout = milliseconds(300);
  auto server = start(limits);
  auto writer = tcp_client(server->port());
  writer->set("large", std::string(1 << 20, 'x'));
  writer->wait({"large"});
  writer.reset();
  RawClient greedy(server->port());
  std::string queries(kOpening);
  for (int i = 0; i < 1000; ++i) queries += Message(QueryType::kGet).text("/large").take();
  greedy.send(queries);
  size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    most = std::max(most, server->buffered_bytes());
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GT(most, size_t{1} << 20);
  EXPECT_LT(most, size_t{16} << 20);
  expect_serves(*server);
  expect_connections(*server, 0);
}

TEST(TCPStoreServerTest, ManySlowClientsCostNoOneElse) {
  auto server = start();
  std::vector<std::unique_ptr<RawClient>> slow;
  const std::string query = opened(Message(QueryType::kSet).text("/slow").text(std::string(64, 'x')).take());
  for (int i = 0; i < 200; ++i) slow.push_back(std::make_unique<RawClient>(server->port()));
  auto honest = tcp_client(server->port());
  for (size_t at = 0; at + 1 < query.size(); ++at) {
    for (auto& client : slow) ASSERT_TRUE(client->send(query.substr(at, 1)));
    honest->set("n", std::to_string(at));
    EXPECT_EQ(honest->get_to_str("n"), std::to_string(at));
  }
  EXPECT_LT(server->buffered_bytes(), size_t{200} * 4096);
  EXPECT_FALSE(honest->check({"slow"}));
  slow[0]->send(query.substr(query.size() - 1));
  EXPECT_EQ(honest->get("slow").size(), 64u);
}

TEST(TCPStoreServerTest, AHundredThousandKeys) {
  constexpr size_t kKeys = 100000;
  auto server = start();
  auto client = tcp_client(server->port(), seconds(60));
  std::vector<std::string> keys;
  std::vector<std::vector<uint8_t>> values;
  for (size_t i = 0; i < kKeys; ++i) {
    keys.push_back("key" + std::to_string(i));
    values.push_back(testing::bytes(std::to_string(i)));
  }
  std::thread waiting([&] { tcp_client(server->port(), seconds(60))->wait(keys); });
  client->multiSet(keys, values);
  EXPECT_EQ(client->multiGet(keys), values);
  waiting.join();
  EXPECT_TRUE(client->check(keys));
  EXPECT_EQ(client->getNumKeys(), static_cast<int64_t>(kKeys));
  std::vector<std::string> listed = client->listKeys();
  std::sort(listed.begin(), listed.end());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(listed, keys);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6));
  }
  return 0;
}

TEST(TCPStoreServerTest, AThousandClientsAtOnce) {
  constexpr int kClients = 1024, kThreads = 16;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < 5000) GTEST_SKIP() << "no more than " << files.rlim_cur << " files may be open";
  auto server = start();
  const size_t before = resident_kib();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<c10::intrusive_ptr<TCPStore>> clients(kClients);
  const auto in_threads = [&](auto f) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < kClients; i += kThreads) f(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  in_threads([&](int i) { clients[i] = tcp_client(server->port(), seconds(120)); });
  const auto connected = std::chrono::steady_clock::now();
  EXPECT_EQ(server->connections(), static_cast<size_t>(kClients));
  // As a start does it: each says its address, and reads all others'.
  std::vector<std::string> keys;
  for (int i = 0; i < kClients; ++i) keys.push_back("rank" + std::to_string(i));
  in_threads([&](int i) {
    clients[i]->set(keys[i], std::string(64, 'a'));
    EXPECT_LE(clients[i]->add("count", 1), kClients);
  });
  in_threads([&](int i) { EXPECT_EQ(clients[i]->multiGet(keys).size(), keys.size()); });
  const auto done = std::chrono::steady_clock::now();
  const size_t after = resident_kib();
  // Sanitizers keep more.
  if (!kSanitized) EXPECT_LT(after - before, size_t{200} << 10);
  EXPECT_EQ(clients[0]->add("count", 0), kClients);
  const auto ms = [](auto time) { return std::chrono::duration_cast<milliseconds>(time).count(); };
  std::cout << kClients << " clients: connected in " << ms(connected - begin) << " ms, exchanged in "
            << ms(done - connected) << " ms, " << (after - before) / 1024 << " MiB more\n";
  clients.clear();
  expect_connections(*server, 0);
}

}  // namespace
}  // namespace c10d
