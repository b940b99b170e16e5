// Damaged headers, made by a seeded generator: each is accepted or throws FormatError, memory stays bounded by the file's
// size, and what is accepted means the same to a general JSON parser.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "utils/serialize/counting_allocator.h"
#include "utils/serialize/safetensors_format.h"

namespace torch::safetensors {
namespace {

constexpr int kInputs = 10'000;
// One error: the message, its forms with place and stack, and the exception object.
constexpr size_t kOneMessage = 4096;

std::string file_of(const std::string& json, const std::string& data) {
  std::string out(8, '\0');
  for (size_t i = 0, n = json.size(); i < 8; ++i, n >>= 8) out[i] = static_cast<char>(n & 0xff);
  return out + json + data;
}

std::vector<std::string> seeds() {
  std::vector<TensorLayout> layouts;
  size_t data = 0;
  for (int i = 0; i < 12; ++i) {
    layouts.push_back({"layer." + std::to_string(i) + ".weight", static_cast<Dtype>(i),
                       std::vector<int64_t>(static_cast<size_t>(i % 4), i % 5)});
    int64_t n = element_size(layouts.back().dtype);
    for (const int64_t s : layouts.back().shape) n *= s;
    data += static_cast<size_t>(n);
  }
  std::vector<std::string> out;
  out.push_back(plan(layouts, {{"format", "pt"}, {"note", "a \"b\" \\ c \n"}}).header + std::string(data, 'x'));

  // Header bombs: many empty tensors, many long shapes, many tiny metadata entries, many escapes.
  std::string tensors = "{", shapes = "{", notes = R"({"__metadata__":{"":"")", escapes = R"({"__metadata__":{"":"")";
  std::string ones = "1";
  for (int i = 1; i < 60; ++i) ones += ",0";
  for (int i = 0; i < 300; ++i) {
    const std::string name = (i > 0 ? ",\"" : "\"") + std::to_string(i);
    tensors += name + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    shapes += name + R"(":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,0]})";
    notes += ",\"" + std::to_string(i) + "\":\"\"";
    escapes += ",\"" + std::to_string(i) + R"(\n\t\u00e9":"\\\"\ud83d\ude00")";
  }
  out.push_back(file_of(tensors + "}", ""));
  out.push_back(file_of(shapes + "}", ""));
  out.push_back(file_of(notes + "}}", ""));
  out.push_back(file_of(escapes + "}}", ""));
  out.push_back(file_of("{}", ""));
  return out;
}

// Bytes that the grammar cares about are likelier than others.
char interesting(std::mt19937& random) {
  constexpr std::string_view kBytes = "{}[]\",:\\0123456789-+.eE uU\x7f\x80\xc3\xed\xf4\xff\n";
  return random() % 4 == 0 ? static_cast<char>(random()) : kBytes[random() % kBytes.size()];
}

std::string mutate(const std::vector<std::string>& seeds, std::mt19937& random) {
  std::string file = seeds[random() % seeds.size()];
  const auto position = [&] { return random() % (file.size() + 1); };
  const unsigned changes = 1 + random() % 4;
  for (unsigned i = 0; i < changes && !file.empty(); ++i) {
    const size_t at = std::min(position(), file.size() - 1);
    switch (random() % 8) {
      case 0: file[at] = interesting(random); break;
      case 1: file[at] = static_cast<char>(file[at] ^ 1 << random() % 8); break;
      case 2: file.insert(at, 1, interesting(random)); break;
      case 3: file.erase(at, 1 + random() % 16); break;
      case 4: file.resize(at); break;
      case 5: {  // a piece of the file again, somewhere else
        const std::string piece = file.substr(at, 1 + random() % 80);
        file.insert(std::min(position(), file.size()), piece);
        break;
      }
      case 6: file[random() % std::min<size_t>(8, file.size())] = static_cast<char>(random()); break;
      case 7: file.append(random() % 64, interesting(random)); break;
    }
  }
  // Half of the time the length is made right again, so that the JSON itself is reached.
  if (random() % 2 == 0 && file.size() >= 8) {
    const size_t end = file.rfind('}');
    size_t n = end == std::string::npos || end < 8 ? file.size() - 8 : end - 7;
    for (size_t i = 0; i < 8; ++i, n >>= 8) file[i] = static_cast<char>(n & 0xff);
  }
  return file;
}

void expect_same_meaning(const std::string& file, const Header& header) {
  const std::string_view text = std::string_view(file).substr(8, header.data_offset() - 8);
  const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
  size_t keys = 0;
  for (size_t i = 0; i < header.size(); ++i, ++keys) {
    const TensorInfo info = header.tensor(i);
    const nlohmann::json& entry = json.at(std::string(info.name));
    ASSERT_EQ(entry.at("dtype").get<std::string>(), dtype_name(info.dtype));
    ASSERT_EQ(entry.at("shape").get<std::vector<int64_t>>(), info.shape.vec());
    ASSERT_EQ(entry.at("data_offsets").at(0).get<uint64_t>(), info.begin);
    ASSERT_EQ(entry.at("data_offsets").at(1).get<uint64_t>(), info.begin + info.bytes);
    ASSERT_LE(header.data_offset() + info.begin + info.bytes, file.size());
    ASSERT_EQ(header.find(info.name), static_cast<int64_t>(i));
  }
  if (json.contains("__metadata__")) ++keys;
  ASSERT_EQ(json.size(), keys);
  for (size_t i = 0; i < header.metadata_size(); ++i) {
    const auto [key, value] = header.metadata(i);
    ASSERT_EQ(json.at("__metadata__").at(std::string(key)).get<std::string>(), value);
  }
}

TEST(SafetensorsMutation, TenThousandInputs) {
  const std::vector<std::string> start = seeds();
  for (const std::string& seed : start) expect_same_meaning(seed, Header::parse(seed));
  std::mt19937 random(20240229);
  int accepted = 0, rejected = 0;
  for (int i = 0; i < kInputs; ++i) {
    const std::string file = mutate(start, random);
    bool ok = false;
    {
      const size_t before = serialize::testing::reset_allocation_counts();
      Header header;
      try {
        header = Header::parse(file);
        ok = true;
      } catch (const FormatError&) {
      }
      const serialize::testing::AllocationCounts counts = serialize::testing::allocation_counts();
      ASSERT_LE(counts.peak - before, 4 * file.size() + kOneMessage) << "input " << i;
      ASSERT_LE(counts.largest, 4 * file.size() + kOneMessage) << "input " << i;
      if (ok) expect_same_meaning(file, header);
    }
    ++(ok ? accepted : rejected);
    if (HasFatalFailure()) return;
  }
  // The generator reaches both sides.
  EXPECT_GT(accepted, kInputs / 50);
  EXPECT_GT(rejected, kInputs / 2);
}

TEST(SafetensorsMutation, EveryTruncationIsRejected) {
  const std::string file = seeds()[0];
  for (size_t n = 0; n < file.size(); ++n) {
    EXPECT_THROW(Header::parse(std::string_view(file).substr(0, n)), FormatError) << n;
  }
}

}  // namespace
}  // namespace torch::safetensors
