// The server gives PyTorch's clients the answers that PyTorch's server gave them: replays
// testdata/tcp_pytorch_2_15.txt.

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "distributed/store/tcp_protocol.h"
#include "distributed/store/tcp_store_server.h"
#include "distributed/store/testing/stores.h"
#include "gtest/gtest.h"

namespace c10d {
namespace {

using testing::RawClient;

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

// The texts after a count, sorted.
std::vector<std::string> sorted_texts(const std::string& bytes) {
  std::vector<std::string> texts;
  for (size_t at = 8; at + 8 <= bytes.size();) {
    const uint64_t size = detail::load_u64(bytes.data() + at);
    texts.push_back(bytes.substr(at + 8, size));
    at += 8 + size;
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(TCPRecordedTest, AnswersPyTorchsClientsAsPyTorchsServerDoes) {
  std::ifstream file("distributed/store/testdata/tcp_pytorch_2_15.txt");
  ASSERT_TRUE(file);
  TCPStoreOptions options;
  options.port = 0;
  auto server = detail::TCPStoreServer::start(options);
  std::map<int, RawClient> clients;
  std::string section;
  int answers = 0, closed = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') {
      section = line;
      continue;
    }
    std::istringstream words(line);
    std::string direction, hex;
    int client = 0;
    words >> direction >> client >> hex;
    const std::string bytes = from_hex(hex);
    const auto at = clients.try_emplace(client, server->port()).first;
    if (direction == ">") {
      ASSERT_TRUE(at->second.send(bytes)) << section;
    } else if (direction == "x") {
      EXPECT_TRUE(at->second.closed_within(std::chrono::seconds(5))) << section;
      ++closed;
    } else if (direction == "*") {
      EXPECT_EQ(sorted_texts(at->second.receive(bytes.size())), sorted_texts(bytes)) << section;
      ++answers;
    } else {
      EXPECT_EQ(at->second.receive(bytes.size()), bytes) << section;
      ++answers;
    }
  }
  EXPECT_GE(answers, 60);
  EXPECT_EQ(closed, 2);
  // Nothing beyond that was sent.
  for (auto& [number, client] : clients) EXPECT_EQ(client.receive(1, std::chrono::milliseconds(20)), "") << number;
}

}  // namespace
}  // namespace c10d
