#include "utils/hub/hub.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "c10/value/dict.h"
#include "utils/pickle/file.h"
#include "utils/serialize/file_io.h"

namespace torch::hub {
namespace {

namespace fs = std::filesystem;
using c10::testing::message_of;
using serialize::read_file;
using serialize::write_file;

std::string sha256_of(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  EXPECT_EQ(EVP_Digest(text.data(), text.size(), digest, &bytes, EVP_sha256(), nullptr), 1);
  std::string hexadecimal;
  for (unsigned i = 0; i < bytes; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", digest[i]);
    hexadecimal += two;
  }
  return hexadecimal;
}

// Answers each connection with the bytes that `answer` makes of the request, and closes it.
class Server {
 public:
  explicit Server(std::function<std::string(const std::string& request)> answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  std::string url(const std::string& path) const { return c10::str("http://127.0.0.1:", port_, path); }
  std::vector<std::string> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (int connection; (connection = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(connection)) {
      std::string request;
      char buffer[4096];
      ssize_t n;
      while (request.find("\r\n\r\n") == std::string::npos && (n = ::read(connection, buffer, sizeof buffer)) > 0) {
        request.append(buffer, static_cast<size_t>(n));
      }
      const std::string answer = answer_(request);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.push_back(request);
      }
      ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::shutdown(connection, SHUT_WR);
      while (::read(connection, buffer, sizeof buffer) > 0) {
      }
    }
  }

  std::function<std::string(const std::string&)> answer_;
  int socket_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string response(const std::string& status, const std::string& headers, const std::string& body, size_t length) {
  return c10::str("HTTP/1.1 ", status, "\r\n", headers, "Content-Length: ", length, "\r\n\r\n", body);
}

// The first byte that a request asks for; 0 for all.
size_t start_of(const std::string& request) {
  const size_t at = request.find("Range: bytes=");
  return at == std::string::npos ? 0 : static_cast<size_t>(std::atoll(request.c_str() + at + 13));
}

class Hub : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = c10::str(::testing::TempDir(), "/hub_", ::getpid(), "_",
                       ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

TEST_F(Hub, Folders) {
  ::unsetenv("TORCH_HOME");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(get_dir(), "/home/somebody/.cache/torch/hub");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(get_dir(), "/cache/torch/hub");
  ::setenv("TORCH_HOME", "~/t", 1);
  EXPECT_EQ(get_dir(), "/home/somebody/t/hub");
  set_dir("~/models");
  EXPECT_EQ(get_dir(), "/home/somebody/models");
  set_dir("");
  ::unsetenv("TORCH_HOME");
}

TEST_F(Hub, WholeFiles) {
  const std::string data(100000, 'd');
  Server server([&](const std::string&) { return response("200 OK", "", data, data.size()); });
  download_url_to_file(server.url("/a.pt?v=1#top"), path("a.pt"), sha256_of(data).substr(0, 8), /*progress=*/false);
  EXPECT_EQ(read_file(path("a.pt")), data);
  EXPECT_EQ(files(), 1u);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].rfind("GET /a.pt?v=1 HTTP/1.1\r\n", 0), 0u) << server.requests()[0];

  write_file(path("b c.pt"), "local");
  download_url_to_file("file://" + folder_ + "/b%20c.pt", path("copy.pt"), std::nullopt, false);
  EXPECT_EQ(read_file(path("copy.pt")), "local");
  EXPECT_THROW(download_url_to_file("file://" + path("none"), path("x"), std::nullopt, false), serialize::IoError);
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(Hub, AnotherHashIsRefusedAndTheOldFileStays) {
  write_file(path("a.pt"), "old");
  Server server([&](const std::string&) { return response("200 OK", "ETag: \"1\"\r\n", "abc", 3); });
  EXPECT_EQ(message_of([&] { download_url_to_file(server.url("/a.pt"), path("a.pt"), "12345678", false); }),
            "invalid hash value (expected \"12345678\", got \""
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\")");
  EXPECT_EQ(read_file(path("a.pt")), "old");
  EXPECT_EQ(files(), 1u);
  download_url_to_file(server.url("/a.pt"), path("a.pt"), sha256_of("abc"), false);
  EXPECT_EQ(read_file(path("a.pt")), "abc");
}

TEST_F(Hub, StatusOtherThanOkIsAnError) {
  Server server([&](const std::string& request) {
    return request.rfind("GET /gone", 0) == 0 ? response("404 Not Found", "", "no such file", 12)
                                              : response("500 Internal Server Error", "", "", 0);
  });
  try {
    download_url_to_file(server.url("/gone"), path("x"), std::nullopt, false);
    FAIL();
  } catch (const HTTPError& e) {
    EXPECT_EQ(e.code, 404);
    EXPECT_EQ(e.msg(), "HTTP Error 404: Not Found (" + server.url("/gone") + ")");
  }
  EXPECT_THROW(download_url_to_file(server.url("/broken"), path("x"), std::nullopt, false), HTTPError);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(message_of<c10::ValueError>([&] { download_url_to_file("ftp://host/x", path("x")); }),
            "hub: expected a URL with http://, https:// or file://, got 'ftp://host/x'");
  EXPECT_THROW(download_url_to_file("http:///x", path("x")), c10::ValueError);
  EXPECT_THROW(download_url_to_file("file://other/x", path("x")), c10::ValueError);
}

TEST_F(Hub, RedirectsAreFollowed) {
  Server server([&](const std::string& request) {
    if (request.rfind("GET /moved", 0) == 0) return response("302 Found", "Location: /here/a.pt\r\n", "elsewhere", 9);
    if (request.rfind("GET /round", 0) == 0) return response("302 Found", "Location: /round\r\n", "", 0);
    return response("200 OK", "", "found", 5);
  });
  download_url_to_file(server.url("/moved"), path("a.pt"), std::nullopt, false);
  EXPECT_EQ(read_file(path("a.pt")), "found");
  EXPECT_THROW(download_url_to_file(server.url("/round"), path("b.pt"), std::nullopt, false), c10::Error);
  EXPECT_FALSE(fs::exists(path("b.pt")));
}

TEST_F(Hub, BrokenConnectionsAreTakenUpWhereTheyBroke) {
  std::string data;
  for (int i = 0; i < 30000; ++i) data += std::to_string(i);
  int connections = 0;
  Server server([&](const std::string& request) {
    const size_t start = start_of(request);
    const std::string rest = data.substr(start);
    const std::string some = rest.substr(0, ++connections < 3 ? 40000 : std::string::npos);
    if (start == 0) return response("200 OK", "ETag: \"7\"\r\n", some, rest.size());
    return response(
        "206 Partial Content",
        c10::str("ETag: \"7\"\r\nContent-Range: bytes ", start, "-", data.size() - 1, "/", data.size(), "\r\n"), some,
        rest.size());
  });
  download_url_to_file(server.url("/a.pt"), path("a.pt"), sha256_of(data), false);
  EXPECT_EQ(read_file(path("a.pt")), data);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(start_of(requests[0]), 0u);
  EXPECT_EQ(start_of(requests[1]), 40000u);
  EXPECT_EQ(start_of(requests[2]), 80000u);
  EXPECT_NE(requests[1].find("If-Range: \"7\"\r\n"), std::string::npos);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Hub, ALaterCallGoesOnUnlessTheFileChanged) {
  const std::string data(1000, 'x'), changed(500, 'y');
  int phase = 0;
  Server server([&](const std::string& request) {
    const size_t start = start_of(request);
    if (phase == 1) return response("200 OK", "ETag: \"2\"\r\n", changed, changed.size());
    if (phase == 2) return response("416 Range Not Satisfiable", "", "", 0);
    if (start == 0) return response("200 OK", "ETag: \"1\"\r\n", data.substr(0, 100), data.size());
    return response("500 Internal Server Error", "", "", 0);
  });
  EXPECT_THROW(download_url_to_file(server.url("/a.pt"), path("a.pt"), std::nullopt, false), HTTPError);
  EXPECT_EQ(read_file(path("a.pt.partial")), data.substr(0, 100));
  EXPECT_FALSE(fs::exists(path("a.pt")));
  // Of another URL nothing is taken.
  phase = 1;
  download_url_to_file(server.url("/a.pt"), path("a.pt"), std::nullopt, false);
  EXPECT_EQ(start_of(server.requests().back()), 100u);
  EXPECT_EQ(read_file(path("a.pt")), changed);
  EXPECT_EQ(files(), 1u);
}

// Each has a file of its own until it is whole, however many there are.
TEST_F(Hub, DownloadsAtTheSameTime) {
  const std::string first(300000, 'a'), second(300000, 'b'), third(300000, 'c');
  write_file(path("third"), third);
  const auto download = [&](const std::string& url) {
    download_url_to_file(url, path("a.pt"), std::nullopt, false);
    return read_file(path("a.pt"));
  };
  std::string inner, outer;
  Server other([&](const std::string&) {
    inner = download("file://" + path("third"));
    return response("200 OK", "ETag: \"2\"\r\n", second, second.size());
  });
  Server server([&](const std::string&) {
    outer = download(other.url("/b.pt"));
    return response("200 OK", "ETag: \"1\"\r\n", first, first.size());
  });
  EXPECT_TRUE(download(server.url("/a.pt")) == first);
  EXPECT_TRUE(outer == second);
  EXPECT_TRUE(inner == third);
  EXPECT_EQ(files(), 2u);

  std::atomic<int> whole{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) whole += download("file://" + path("third")) == third;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 80);
  EXPECT_EQ(files(), 2u);
}

TEST_F(Hub, WithoutAVersionNothingIsKept) {
  Server server([&](const std::string&) { return response("200 OK", "ETag: W/\"1\"\r\n", "abc", 1000); });
  EXPECT_NE(message_of<serialize::IoError>([&] {
              download_url_to_file(server.url("/a"), path("a"), std::nullopt, false);
            }).find("the connection broke after 3 bytes of " + server.url("/a")),
            std::string::npos);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(server.requests().size(), 1u);
  std::string closed;
  {
    closed = Server([](const std::string&) { return ""; }).url("/a");
  }
  EXPECT_THROW(download_url_to_file(closed, path("a"), std::nullopt, false), serialize::IoError);
}

TEST_F(Hub, StateDictsAreKept) {
  c10::Dict<std::string, at::Tensor> weights;
  weights.insert("w", at::ones({2, 3}));
  pickle::save(weights, path("net.pth"));
  const std::string bytes = read_file(path("net.pth"));
  Server server([&](const std::string&) { return response("200 OK", "", bytes, bytes.size()); });
  const LoadOptions options{.model_dir = path("kept/here"), .progress = false, .check_hash = true};
  const std::string name = c10::str("/net-", sha256_of(bytes).substr(0, 8), ".pth");
  for (int i = 0; i < 2; ++i) {
    const c10::IValue loaded = load_state_dict_from_url(server.url(name), options);
    EXPECT_EQ(loaded.toGenericDict().at(c10::IValue("w")).toTensor().sizes(), at::IntArrayRef({2, 3}));
  }
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(fs::exists(path("kept/here") + name));
  EXPECT_NE(message_of([&] {
              load_state_dict_from_url(server.url("/net-0123abcd.pth"), options);
            }).find("invalid hash value (expected \"0123abcd\""),
            std::string::npos);
  LoadOptions shown = options;
  shown.progress = true;
  shown.file_name = "shown.pth";
  ::testing::internal::CaptureStderr();
  load_state_dict_from_url(server.url(name), shown);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("Downloading: \"" + server.url(name) + "\" to " + path("kept/here/shown.pth")),
            std::string::npos);
  EXPECT_NE(printed.find("KiB"), std::string::npos) << printed;
  LoadOptions named = options;
  named.file_name = "other.pth";
  named.map_location = c10::Device(c10::kMeta);
  EXPECT_TRUE(utils::model_zoo::load_url(server.url("/x-0123abcd.pth"), named)
                  .toGenericDict()
                  .at(c10::IValue("w"))
                  .toTensor()
                  .is_meta());
  EXPECT_TRUE(fs::exists(path("kept/here/other.pth")));
  EXPECT_THROW(load_state_dict_from_url(server.url("/"), options), c10::ValueError);
}

uint32_t crc32_of(const std::string& text) {
  uint32_t crc = ~0u;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// A zip file with one stored record.
std::string zip_of(const std::string& name, const std::string& data) {
  const auto number = [](uint32_t value, int bytes) {
    return std::string(reinterpret_cast<const char*>(&value), static_cast<size_t>(bytes));
  };
  const auto size = static_cast<uint32_t>(data.size());
  const std::string common = number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(crc32_of(data), 4) +
                             number(size, 4) + number(size, 4) + number(static_cast<uint32_t>(name.size()), 2);
  const std::string local = "PK\3\4" + common + number(0, 2) + name + data;
  const std::string entry = "PK\1\2" + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                            number(0, 2) + number(0, 4) + number(0, 4) + name;
  return local + entry + "PK\5\6" + number(0, 2) + number(0, 2) + number(1, 2) + number(1, 2) +
         number(static_cast<uint32_t>(entry.size()), 4) + number(static_cast<uint32_t>(local.size()), 4) + number(0, 2);
}

TEST_F(Hub, AZipFileOfOneFileIsUnpacked) {
  c10::Dict<std::string, at::Tensor> weights;
  weights.insert("w", at::ones({2, 3}));
  pickle::save(weights, path("net.pth"));
  write_file(path("net.zip"), zip_of("inner.pth", read_file(path("net.pth"))));
  const LoadOptions options{.model_dir = path("kept"), .progress = false};
  const c10::IValue loaded = load_state_dict_from_url("file://" + path("net.zip"), options);
  EXPECT_EQ(loaded.toGenericDict().at(c10::IValue("w")).toTensor().numel(), 6);
  EXPECT_EQ(read_file(path("kept/inner.pth")), read_file(path("net.pth")));
  write_file(path("same.zip"), zip_of("../same.zip", "x"));
  EXPECT_THROW(load_state_dict_from_url("file://" + path("same.zip"), options), serialize::FormatError);
}

}  // namespace
}  // namespace torch::hub
