// The data of a store in one process's memory, without waiting and without locks: HashStore's and the TCPStore
// server's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace c10d::detail {

struct TableLimits {
  size_t keys = SIZE_MAX;   ///< keys, queues and elements of queues together
  size_t bytes = SIZE_MAX;  ///< of keys, values and elements, and kOverhead for each
};

/// Keys with values, and queues. What would pass a limit throws c10::DistStoreError, and so does adding to what is no
/// number; nothing has changed then.
class Table {
 public:
  static constexpr size_t kOverhead = 64;

  explicit Table(TableLimits limits = {}) : limits_(limits) {}

  void set(const std::string& key, std::string value);
  /// What the key holds afterwards; `expected` where it holds nothing.
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  int64_t add(const std::string& key, int64_t value);
  void append(const std::string& key, const std::string& value);
  bool remove(const std::string& key);
  /// Null for a key that is not set. Valid until the table changes.
  const std::string* find(const std::string& key) const;
  /// Whether it is set, or a queue with elements.
  bool has(const std::string& key) const { return values_.count(key) != 0 || queues_.count(key) != 0; }
  size_t size() const { return values_.size(); }
  std::vector<std::string> keys() const;

  void push(const std::string& key, std::string value);
  /// False for an empty queue.
  bool pop(const std::string& key, std::string* value);
  size_t length(const std::string& key) const;

  size_t bytes() const { return bytes_; }

 private:
  void take(size_t keys, size_t bytes);
  void give_back(size_t keys, size_t bytes);

  TableLimits limits_;
  size_t entries_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<std::string, std::string> values_;
  std::unordered_map<std::string, std::deque<std::string>> queues_;  // none is empty
};

/// The whole text as a decimal number of 64 bits; false where it is none.
bool parse_number(const std::string& text, int64_t* number);

/// The sum, which wraps around.
inline int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// Throws c10::DistStoreError: add to a key whose value is no number.
[[noreturn]] void throw_not_a_number(const std::string& key);

}  // namespace c10d::detail
