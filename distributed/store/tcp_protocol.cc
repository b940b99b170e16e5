#include "distributed/store/tcp_protocol.h"

#include <string>
#include <utility>
#include <vector>

namespace c10d::detail {
namespace {

// The fields of the types in their order: a key, a value, a number of 64 bits (I), one of 32 (M); after N, a count, the
// rest comes as often as it says.
constexpr const char* kFields[kQueryTypes] = {"M",  "KV",  "KVV", "K", "KI", "NK", "NK", "", "K", "KV",
                                              "NK", "NKV", "",    "M", "KV", "K",  "K",  "", "KI"};

template <class Number>
void put(std::string& out, Number value) {
  for (size_t i = 0; i < sizeof(value); ++i) out += static_cast<char>(value >> (8 * i));
}

template <class Number>
Number load(const char* bytes) {
  Number value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) value |= static_cast<Number>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  return value;
}

}  // namespace

void put_u32(std::string& out, uint32_t value) {
  put(out, value);
}
void put_u64(std::string& out, uint64_t value) {
  put(out, value);
}
void put_text(std::string& out, std::string_view text) {
  put_u64(out, text.size());
  out += text;
}
uint32_t load_u32(const char* bytes) {
  return load<uint32_t>(bytes);
}
uint64_t load_u64(const char* bytes) {
  return load<uint64_t>(bytes);
}

Message& Message::keys(const std::vector<std::string>& keys) {
  put_u64(bytes_, keys.size());
  for (const std::string& key : keys) put_text(bytes_, wire_key(key));
  return *this;
}

QueryReader::Result QueryReader::read_text(std::string_view& in, size_t limit, std::vector<std::string>& out) {
  if (in.size() < 8) return Result::kMore;
  const uint64_t size = load_u64(in.data());
  if (size > limit || size + kFieldOverhead > limits_.query_bytes - bytes_) return Result::kBad;
  if (in.size() - 8 < size) return Result::kMore;
  out.emplace_back(in.substr(8, size));
  in.remove_prefix(8 + size);
  bytes_ += size + kFieldOverhead;
  return Result::kQuery;
}

QueryReader::Result QueryReader::read(std::string_view& in) {
  if (!inside_) {
    if (in.empty()) return Result::kMore;
    const auto type = static_cast<uint8_t>(in[0]);
    if (type >= kQueryTypes || type == static_cast<uint8_t>(QueryType::kValidate)) return Result::kBad;
    in.remove_prefix(1);
    inside_ = true;
    query_.type = static_cast<QueryType>(type);
  }
  const std::string_view fields = kFields[static_cast<uint8_t>(query_.type)];
  while (field_ < fields.size()) {
    Result result = Result::kQuery;
    switch (fields[field_]) {
      case 'K':
        result = read_text(in, limits_.key_bytes, query_.keys);
        break;
      case 'V':
        result = read_text(in, limits_.value_bytes, query_.values);
        break;
      case 'M':
        if (in.size() < 4) return Result::kMore;
        query_.number = load_u32(in.data());
        in.remove_prefix(4);
        break;
      default:
        if (in.size() < 8) return Result::kMore;
        query_.number = static_cast<int64_t>(load_u64(in.data()));
        if (fields[field_] == 'N') {
          repeats_ = load_u64(in.data());
          if (repeats_ > limits_.query_bytes / kFieldOverhead) return Result::kBad;
        }
        in.remove_prefix(8);
    }
    if (result != Result::kQuery) return result;
    ++field_;
    if (fields[0] != 'N') continue;
    if (repeats_ == 0) break;
    if (field_ == fields.size() && --repeats_ > 0) field_ = 1;
  }
  return Result::kQuery;
}

Query QueryReader::take() {
  inside_ = false;
  field_ = 0;
  repeats_ = 0;
  bytes_ = 0;
  return std::exchange(query_, Query());
}

}  // namespace c10d::detail
