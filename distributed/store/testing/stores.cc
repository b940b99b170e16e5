#include "distributed/store/testing/stores.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "c10/testing/files.h"
#include "distributed/store/file_store.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/prefix_store.h"

namespace c10d::testing {
namespace {

using Opener = std::function<c10::intrusive_ptr<Store>()>;

Opener open_hash() {
  c10::intrusive_ptr<Store> store = c10::make_intrusive<HashStore>();
  return [store] { return store->clone(); };
}

Opener open_file() {
  const std::string path = c10::testing::fresh_folder() + "/store";
  return [path]() -> c10::intrusive_ptr<Store> { return c10::make_intrusive<FileStore>(path, -1); };
}

Opener open_tcp() {
  c10::intrusive_ptr<TCPStore> server = tcp_server();
  return [server]() -> c10::intrusive_ptr<Store> { return tcp_client(server->getPort()); };
}

// A store that has no more than Store asks for: the functions of the base do the rest.
class PlainStore : public HashStore {
 public:
  bool hasExtendedApi() const override { return false; }
  void append(const std::string& key, const std::vector<uint8_t>& value) override { Store::append(key, value); }
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override {
    return Store::multiGet(keys);
  }
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override {
    Store::multiSet(keys, values);
  }
};

Opener open_plain() {
  c10::intrusive_ptr<Store> store = c10::make_intrusive<PlainStore>();
  return [store] { return store; };
}

std::function<Opener()> prefixed(Opener (*make)()) {
  return [make] {
    return [open = make()]() -> c10::intrusive_ptr<Store> {
      return c10::make_intrusive<PrefixStore>("inner", c10::make_intrusive<PrefixStore>("outer", open()));
    };
  };
}

}  // namespace

c10::intrusive_ptr<TCPStore> tcp_server(TCPStoreOptions options) {
  options.port = 0;
  options.isServer = true;
  if (options.timeout == Store::kDefaultTimeout) options.timeout = std::chrono::seconds(30);
  return c10::make_intrusive<TCPStore>("127.0.0.1", options);
}

c10::intrusive_ptr<TCPStore> tcp_client(uint16_t port, std::chrono::milliseconds timeout) {
  TCPStoreOptions options;
  options.port = port;
  options.timeout = timeout;
  return c10::make_intrusive<TCPStore>("127.0.0.1", options);
}

const std::vector<StoreKind>& store_kinds() {
  static const std::vector<StoreKind> kinds = {
      {"hash", true, open_hash},
      {"file", false, open_file},
      {"tcp", true, open_tcp},
      {"plain", true, open_plain},
      {"prefixed_hash", true, prefixed(open_hash)},
      {"prefixed_file", false, prefixed(open_file)},
      {"prefixed_tcp", true, prefixed(open_tcp)},
  };
  return kinds;
}

RawClient::RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  TORCH_CHECK(::connect(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "connect");
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string RawClient::receive(size_t size, std::chrono::milliseconds limit) {
  std::string all(size, '\0');
  size_t done = 0;
  while (done < size) {
    pollfd entry{socket_.fd(), POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(limit.count())) <= 0) break;
    const ssize_t n = ::recv(socket_.fd(), all.data() + done, size - done, 0);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  all.resize(done);
  return all;
}

bool RawClient::closed_within(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  char byte[256];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd entry{socket_.fd(), POLLIN, 0};
    if (left.count() < 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) return false;
    if (::recv(socket_.fd(), byte, sizeof(byte), 0) <= 0) return true;
  }
}

std::vector<uint8_t> bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace c10d::testing
