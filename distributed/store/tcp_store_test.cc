#include "distributed/store/tcp_store.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "c10/testing/message_of.h"
#include "distributed/store/tcp_connection.h"
#include "distributed/store/tcp_protocol.h"
#include "distributed/store/testing/stores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using detail::Message;
using detail::QueryType;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::bytes;
using ::testing::HasSubstr;
using testing::RawClient;
using testing::tcp_client;
using testing::tcp_server;

milliseconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
}

// A port that nobody listens on.
uint16_t free_port() {
  return detail::bound_port(detail::listen_on(0).fd());
}

TEST(TCPStoreTest, PortZeroGivesAFreeOne) {
  auto store = tcp_server();
  EXPECT_NE(store->getPort(), 0);
  EXPECT_EQ(store->getHost(), "127.0.0.1");
  EXPECT_FALSE(store->isLibUvBackend());
  EXPECT_EQ(store->repr(), "TCPStore(host=127.0.0.1, port=" + std::to_string(store->getPort()) + ", server=true)");
}

TEST(TCPStoreTest, DefaultsAreTheDocumentedOnes) {
  const TCPStoreOptions options;
  EXPECT_EQ(options.port, 29500);
  EXPECT_FALSE(options.isServer);
  EXPECT_FALSE(options.numWorkers.has_value());
  EXPECT_TRUE(options.waitWorkers);
  EXPECT_EQ(options.timeout, seconds(300));
  EXPECT_FALSE(options.multiTenant);
  EXPECT_FALSE(options.masterListenFd.has_value());
  EXPECT_TRUE(options.useLibUV);
}

TEST(TCPStoreTest, HostsByNameAndBothFamilies) {
  auto store = tcp_server();
  TCPStoreOptions options;
  options.port = store->getPort();
  options.timeout = seconds(10);
  store->set("a", "1");
  EXPECT_EQ(c10::make_intrusive<TCPStore>("localhost", options)->get_to_str("a"), "1");
  if (::socket(AF_INET6, SOCK_STREAM, 0) < 0) return;
  EXPECT_EQ(c10::make_intrusive<TCPStore>("::1", options)->get_to_str("a"), "1");
}

TEST(TCPStoreTest, TheServerWaitsForTheWorkers) {
  const uint16_t port = free_port();
  std::atomic<int> joined{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&, i] {
      std::this_thread::sleep_for(milliseconds(50 * (i + 1)));
      ++joined;
      auto store = c10::make_intrusive<TCPStore>("127.0.0.1", port, 3, false, seconds(30));
      EXPECT_EQ(store->get_to_str("from server"), "1");
    });
  }
  auto server = c10::make_intrusive<TCPStore>("127.0.0.1", port, 3, true, seconds(30));
  EXPECT_EQ(joined, 2);
  EXPECT_EQ(server->getNumKeys(), 1);  // the count of the workers
  EXPECT_TRUE(server->listKeys().empty());
  server->set("from server", "1");
  for (std::thread& worker : workers) worker.join();

  TCPStoreOptions options;
  options.numWorkers = 2;
  options.timeout = milliseconds(100);
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { tcp_server(options); }), HasSubstr("1 of 2 workers"));
  options.waitWorkers = false;
  EXPECT_EQ(tcp_server(options)->getNumKeys(), 0);
}

TEST(TCPStoreTest, AClientTriesUntilTheServerIsThere) {
  const uint16_t port = free_port();
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    TCPStoreOptions options;
    options.port = port;
    options.isServer = true;
    options.timeout = seconds(30);
    auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
    server->set("a", "1");
    server->wait({"seen"});
  });
  auto client = tcp_client(port);
  EXPECT_EQ(client->get_to_str("a"), "1");
  client->set("seen", "1");
  late.join();
}

TEST(TCPStoreTest, AFailedConnectionSaysWhatWasTried) {
  const uint16_t port = free_port();
  const auto start = std::chrono::steady_clock::now();
  const std::string message = message_of<c10::DistNetworkError>([&] { tcp_client(port, milliseconds(150)); });
  EXPECT_GE(since(start), milliseconds(140));
  EXPECT_LT(since(start), seconds(10));
  EXPECT_THAT(message, HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(message, HasSubstr("within 150 ms; attempts: "));
  EXPECT_THAT(message, HasSubstr("Connection refused"));

  TCPStoreOptions options;
  options.timeout = milliseconds(50);
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { TCPStore("no.such.host.invalid", options); }),
              HasSubstr("getaddrinfo"));
  options.port = 0;
  EXPECT_THROW(TCPStore("127.0.0.1", options), c10::ValueError);
  options.timeout = milliseconds(-5);
  EXPECT_THROW(TCPStore("127.0.0.1", options), c10::ValueError);
}

TEST(TCPStoreTest, AServerEndsWithItsLastHandle) {
  auto server = tcp_server();
  const uint16_t port = server->getPort();
  auto copy = server->clone();
  server.reset();
  copy->set("a", "1");
  EXPECT_EQ(copy->get_to_str("a"), "1");
  copy.reset();
  EXPECT_THROW(tcp_client(port, milliseconds(50)), c10::DistNetworkError);
}

TEST(TCPStoreTest, ATakenPortIsAnError) {
  auto store = tcp_server();
  TCPStoreOptions options;
  options.port = store->getPort();
  options.isServer = true;
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { TCPStore("127.0.0.1", options); }),
              HasSubstr("port " + std::to_string(store->getPort()) + ": Address already in use"));
}

TEST(TCPStoreTest, TenantsShareAServer) {
  TCPStoreOptions options;
  options.port = free_port();
  options.isServer = true;
  options.multiTenant = true;
  options.timeout = seconds(10);
  auto first = c10::make_intrusive<TCPStore>("127.0.0.1", options);
  auto second = c10::make_intrusive<TCPStore>("127.0.0.1", options);
  first->set("a", "1");
  EXPECT_EQ(second->get_to_str("a"), "1");
  first.reset();
  EXPECT_EQ(second->get_to_str("a"), "1");
  second.reset();
  // A new server, with new data.
  EXPECT_EQ(c10::make_intrusive<TCPStore>("127.0.0.1", options)->getNumKeys(), 0);
}

TEST(TCPStoreTest, ListensOnADescriptorThatIsGiven) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const uint16_t port = detail::bound_port(fd);
  TCPStoreOptions options;
  options.isServer = true;
  options.masterListenFd = fd;
  options.timeout = seconds(10);
  options.port = static_cast<uint16_t>(port == 29501 ? 29502 : 29501);
  EXPECT_THAT(message_of<c10::ValueError>([&] { TCPStore("127.0.0.1", options); }), HasSubstr("bound to port"));
  options.port = port;
  {
    TCPStore store("127.0.0.1", options);
    EXPECT_EQ(store.getPort(), port);
    store.set("a", "1");
    EXPECT_EQ(tcp_client(port)->get_to_str("a"), "1");
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);  // closed with the server
  options.masterListenFd = 100000;
  EXPECT_THROW(TCPStore("127.0.0.1", options), c10::DistNetworkError);
  options.isServer = false;
  EXPECT_THROW(TCPStore("127.0.0.1", options), c10::ValueError);
}

TEST(TCPStoreTest, LongKeysAndValuesAreRefusedBeforeTheyAreSent) {
  TCPStoreOptions options;
  options.limits.value_bytes = 100;
  auto store = tcp_server(options);
  store->set(std::string(8191, 'k'), std::string(100, 'v'));
  EXPECT_THAT(message_of<c10::ValueError>([&] { store->get(std::string(8192, 'k')); }),
              HasSubstr("a key of 8192 bytes"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { store->set("k", std::string(101, 'v')); }),
              HasSubstr("a value of 101 bytes"));
  EXPECT_THROW(store->multiSet({"a", "b"}, {{}, std::vector<uint8_t>(101)}), c10::ValueError);
  EXPECT_EQ(store->getNumKeys(), 1);
}

TEST(TCPStoreTest, AddToATextEndsTheConnection) {
  auto server = tcp_server();
  auto client = tcp_client(server->getPort());
  server->set("text", "abc");
  server->wait({"text"});
  const std::string message = message_of<c10::DistNetworkError>([&] { client->add("text", 1); });
  EXPECT_THAT(message, HasSubstr("add 'text' failed after "));
  EXPECT_THAT(message, HasSubstr("127.0.0.1:" + std::to_string(server->getPort())));
  EXPECT_THROW(client->get("text"), c10::DistNetworkError);
  EXPECT_EQ(server->get_to_str("text"), "abc");
}

TEST(TCPStoreTest, AThreadThatWaitsDoesNotHinderOthers) {
  auto store = tcp_server();
  std::vector<std::thread> waiting;
  std::atomic<int> woken{0};
  for (int i = 0; i < 8; ++i) {
    waiting.emplace_back([&, i] {
      if (i % 2 == 0) store->wait({"late"});
      if (i % 2 == 1) store->get("late");
      ++woken;
    });
  }
  for (int i = 0; i < 100; ++i) store->add("n", 1);
  EXPECT_EQ(woken, 0);
  store->set("late", "1");
  for (std::thread& thread : waiting) thread.join();
}

// What is set without waiting for the server is there for a wait of the same store on another connection.
TEST(TCPStoreTest, CallsSeeWhatCameBefore) {
  auto server = tcp_server();
  auto store = tcp_client(server->getPort());
  const std::string large(100000, 'x');
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key" + std::to_string(i);
    store->set(key, large);
    store->wait({key}, milliseconds(5000));
    store->multiSet({key + "a", key + "b"}, {bytes("1"), bytes("2")});
    EXPECT_EQ(store->multiGet({key + "b", key})[1].size(), large.size());
    store->set(key + "c", large);
    store->barrier("gate", 1);
    EXPECT_TRUE(server->check({key + "c"}));
  }
}

TEST(TCPStoreTest, WhoWaitsLearnsAtOnceThatTheServerHasEnded) {
  auto server = tcp_server();
  const uint16_t port = server->getPort();
  std::vector<std::thread> waiting;
  std::vector<std::string> messages(4);
  std::atomic<int> ready{0};
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&, i] {
      auto client = tcp_client(port, seconds(60));
      ++ready;
      messages[i] = message_of<c10::DistNetworkError>([&] {
        if (i == 0) client->wait({"never"});
        if (i == 1) client->get("never");
        if (i == 2) client->queuePop("never");
        if (i == 3) client->barrier("never", 2, seconds(60));
      });
      // Sets go on another connection, which may end a moment later, and are not answered.
      EXPECT_THROW(
          {
            for (const auto begin = std::chrono::steady_clock::now(); since(begin) < seconds(5);) client->set("a", "1");
          },
          c10::DistNetworkError)
          << i;
    });
  }
  while (ready < 4) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(100));
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_LT(since(start), seconds(10));
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("never'"));
    EXPECT_THAT(message, HasSubstr("127.0.0.1:" + std::to_string(port)));
    EXPECT_THAT(message, HasSubstr(" ms: "));
  }
}

TEST(TCPStoreTest, ProcessesShareIt) {
  constexpr int kProcesses = 4, kRounds = 200;
  // Forked before this process has a server's thread.
  const uint16_t port = free_port();
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int result = 1;
      try {
        TCPStore store("127.0.0.1", port, kProcesses + 1, false, seconds(60));
        for (int i = 0; i < kRounds; ++i) store.add("sum", 1);
        store.barrier("all", kProcesses);
        result = store.add("sum", 0) == kProcesses * kRounds ? 0 : 2;
      } catch (...) {
      }
      ::_exit(result);
    }
    children.push_back(child);
  }
  TCPStore store("127.0.0.1", port, kProcesses + 1, true, seconds(60));
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store.add("sum", 0), kProcesses * kRounds);
}

// A client that is killed in a barrier is not counted any more.
TEST(TCPStoreTest, WhoGoesLeavesTheBarrier) {
  auto server = tcp_server();
  {
    RawClient gone(server->getPort());
    gone.send(std::string(detail::kOpening) + Message(QueryType::kBarrier).text("/gate").number(2).take());
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_THROW(server->barrier("gate", 2, milliseconds(100)), c10::DistStoreError);
  std::thread other([&] { tcp_client(server->getPort())->barrier("gate", 2, seconds(30)); });
  server->barrier("gate", 2, seconds(30));
  other.join();
}

TEST(TCPStoreTest, ATimeoutLeavesTheStoreUsable) {
  auto server = tcp_server();
  auto client = tcp_client(server->getPort());
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(client->wait({"key"}, milliseconds(1)), c10::DistStoreError);
    EXPECT_THROW(client->barrier("gate", 2, milliseconds(1)), c10::DistStoreError);
  }
  client->set("key", "1");
  client->wait({"key"}, milliseconds(1));
  EXPECT_EQ(client->get_to_str("key"), "1");
}

// Servers that are none, or that break the protocol.
class HostileServerTest : public ::testing::Test {
 protected:
  // Accepts one connection after the other; each greets, and then answers the first query with `answer` and is left
  // open, or closed.
  void serve(std::string answer, bool greets = true, bool closes = false) {
    listener_ = detail::listen_on(0);
    port_ = detail::bound_port(listener_.fd());
    thread_ = std::thread([this, answer, greets, closes] {
      std::vector<RawClient> open;
      while (!stop_) {
        pollfd entry{listener_.fd(), POLLIN, 0};
        if (::poll(&entry, 1, 20) <= 0) continue;
        RawClient client(detail::Socket(::accept(listener_.fd(), nullptr, nullptr)));
        if (greets) {
          const std::string greeting = client.receive(10, seconds(5));
          client.send(greeting.substr(6));
          client.receive(1, seconds(5));
        }
        client.send(answer);
        if (!closes) open.push_back(std::move(client));
      }
    });
  }
  void TearDown() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  detail::Socket listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(HostileServerTest, WrongGreeting) {
  serve("SSH-2.0-server\r\n", /*greets=*/false);
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { tcp_client(port_, milliseconds(200)); }),
              HasSubstr("no TCPStore server"));
}

TEST_F(HostileServerTest, NoGreeting) {
  serve("", /*greets=*/false);
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { tcp_client(port_, milliseconds(200)); }), HasSubstr("no answer"));
}

TEST_F(HostileServerTest, ClosesBeforeTheGreeting) {
  serve("", /*greets=*/false, /*closes=*/true);
  EXPECT_THROW(tcp_client(port_, milliseconds(200)), c10::DistNetworkError);
}

TEST_F(HostileServerTest, HugeValue) {
  serve(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f abc", 12));
  auto client = tcp_client(port_, seconds(5));
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { client->get("a"); }),
              HasSubstr("announces 9223372036854775807 bytes"));
  EXPECT_THROW(client->get("a"), c10::DistNetworkError);
}

TEST_F(HostileServerTest, AValueThatDoesNotCome) {
  serve(std::string("\0\0\0\x30\0\0\0\0 abc", 12));  // 768 MiB are announced
  auto client = tcp_client(port_, milliseconds(200));
  const auto start = std::chrono::steady_clock::now();
  const std::string message = message_of<c10::DistStoreError>([&] { client->get("a"); });
  EXPECT_LT(since(start), seconds(10));
  EXPECT_THAT(message, HasSubstr("does not answer get, keys: 'a'"));
  EXPECT_THROW(client->get("a"), c10::DistNetworkError);
}

TEST_F(HostileServerTest, AnEndlessListOfKeys) {
  serve(std::string(8, '\xff') + std::string(1000, '\0'));
  auto client = tcp_client(port_, milliseconds(200));
  EXPECT_THROW(client->listKeys(), c10::DistStoreError);
}

TEST_F(HostileServerTest, AnAnswerThatIsNone) {
  serve("\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07");
  auto client = tcp_client(port_, seconds(5));
  EXPECT_THAT(message_of<c10::DistNetworkError>([&] { client->check({"a"}); }), HasSubstr("answers 7"));
}

TEST_F(HostileServerTest, ClosesInsideAnAnswer) {
  serve(std::string("\x05\0\0\0\0\0\0\0ab", 10), /*greets=*/true, /*closes=*/true);
  auto client = tcp_client(port_, seconds(5));
  EXPECT_THROW(client->get("a"), c10::DistNetworkError);
}

}  // namespace
}  // namespace c10d
