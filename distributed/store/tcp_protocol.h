// What goes over a TCPStore's connections: PyTorch's wire format.
//
// Numbers are little endian. A connection opens with kOpening; then the client sends queries, a type of one byte and
// its fields each, and the server answers in their order. Keys and values have a length of 64 bits before them. The
// fields of each type stand in a table in tcp_protocol.cc, its answer here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace c10d::detail {

/// The type VALIDATE and the number 0x3C85F7CE.
constexpr std::string_view kOpening("\x00\xce\xf7\x85\x3c", 5);

enum class QueryType : uint8_t {
  kValidate,    // only as the opening; no answer
  kSet,         // key, value; no answer
  kCompareSet,  // key, expected, desired -> value
  kGet,         // key, which must be set -> value
  kAdd,         // key, number -> the sum, 64 bits
  kCheck,       // keys -> kYes, or kNo where one is missing
  kWait,        // keys -> kYes once all are there
  kGetNumKeys,  // -> 64 bits
  kDeleteKey,   // key -> how many were removed, 64 bits
  kAppend,      // key, value; no answer
  kMultiGet,    // keys, which must be set -> the values
  kMultiSet,    // count, then key and value each; no answer
  kCancelWait,  // -> kNo; the wait or barrier before it is not answered any more
  kPing,        // 32 bits -> the same
  kQueuePush,   // key, value; no answer
  kQueuePop,    // key -> how many elements there were, 64 bits; where there were any, the oldest
  kQueueLen,    // key -> 64 bits
  kListKeys,    // -> how many follow, 64 bits; the keys
  kBarrier,     // key, number of participants -> kYes once so many wait
};
constexpr uint8_t kQueryTypes = 19;
constexpr uint8_t kYes = 0;
constexpr uint8_t kNo = 1;

/// What a user's key is in messages.
inline std::string wire_key(const std::string& key) {
  return "/" + key;
}

void put_u32(std::string& out, uint32_t value);
void put_u64(std::string& out, uint64_t value);
void put_text(std::string& out, std::string_view text);
uint32_t load_u32(const char* bytes);
uint64_t load_u64(const char* bytes);

/// The bytes of a query.
///
///   std::string bytes = Message(QueryType::kAdd).text("/n").number(5).take();
class Message {
 public:
  explicit Message(QueryType type) : bytes_(1, static_cast<char>(type)) {}
  Message& text(std::string_view value) { return put_text(bytes_, value), *this; }
  Message& number(int64_t value) { return put_u64(bytes_, static_cast<uint64_t>(value)), *this; }
  Message& nonce(uint32_t value) { return put_u32(bytes_, value), *this; }
  /// A count and the wire's keys.
  Message& keys(const std::vector<std::string>& keys);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

struct Query {
  QueryType type = QueryType::kPing;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number = 0;
};

struct QueryLimits {
  size_t key_bytes;
  size_t value_bytes;
  size_t query_bytes;  ///< keys and values of one query together, with kFieldOverhead for each
};

/// Reads queries from bytes that come in any pieces. A length or type that is not allowed is seen before its bytes are
/// there, and memory grows with what has come, not with what was announced.
class QueryReader {
 public:
  enum class Result { kMore, kQuery, kBad };
  static constexpr size_t kFieldOverhead = 64;

  explicit QueryReader(const QueryLimits& limits) : limits_(limits) {}

  /// Takes what it has read from the front of `in`. kQuery: the query is whole, and is take()n next. kMore: `in` holds
  /// less than the next field. kBad: no bytes that follow make it a query.
  Result read(std::string_view& in);
  Query take();

  /// Whether a query has begun.
  bool inside() const { return inside_; }
  /// What the begun query holds in memory.
  size_t bytes() const { return bytes_; }

 private:
  Result read_text(std::string_view& in, size_t limit, std::vector<std::string>& out);

  QueryLimits limits_;
  bool inside_ = false;
  Query query_;
  size_t field_ = 0;
  uint64_t repeats_ = 0;
  size_t bytes_ = 0;
};

}  // namespace c10d::detail
