#include "distributed/store/table.h"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/store/deadline.h"

namespace c10d::detail {

bool parse_number(const std::string& text, int64_t* number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

void throw_not_a_number(const std::string& key) {
  C10_THROW_ERROR(DistStoreError, c10::str("add: the value of key ", quoted({key}), " is not a number"));
}

void Table::take(size_t keys, size_t bytes) {
  TORCH_CHECK_WITH(DistStoreError, keys <= limits_.keys - entries_, "the store is full: ", limits_.keys, " keys");
  TORCH_CHECK_WITH(DistStoreError, bytes <= limits_.bytes - bytes_, "the store is full: ", limits_.bytes, " bytes");
  entries_ += keys;
  bytes_ += bytes;
}

void Table::give_back(size_t keys, size_t bytes) {
  entries_ -= keys;
  bytes_ -= bytes;
}

void Table::set(const std::string& key, std::string value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    take(1, key.size() + value.size() + kOverhead);
    values_.emplace(key, std::move(value));
    return;
  }
  const size_t before = found->second.size();
  if (value.size() > before) {
    take(0, value.size() - before);
  } else {
    give_back(0, before - value.size());
  }
  found->second = std::move(value);
}

std::string Table::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  const std::string* value = find(key);
  if (value == nullptr ? !expected.empty() : *value != expected) return value == nullptr ? expected : *value;
  set(key, desired);
  return desired;
}

int64_t Table::add(const std::string& key, int64_t value) {
  int64_t number = 0;
  if (const std::string* text = find(key); text != nullptr && !parse_number(*text, &number)) throw_not_a_number(key);
  number = wrapping_sum(number, value);
  set(key, std::to_string(number));
  return number;
}

void Table::append(const std::string& key, const std::string& value) {
  const auto found = values_.find(key);
  if (found == values_.end()) return set(key, value);
  take(0, value.size());
  found->second += value;
}

bool Table::remove(const std::string& key) {
  bool removed = false;
  if (const auto found = values_.find(key); found != values_.end()) {
    give_back(1, key.size() + found->second.size() + kOverhead);
    values_.erase(found);
    removed = true;
  }
  for (std::string ignored; pop(key, &ignored);) removed = true;
  return removed;
}

const std::string* Table::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

void Table::push(const std::string& key, std::string value) {
  // The queue itself counts with its first element.
  const bool first = queues_.count(key) == 0;
  take(first ? 2 : 1, value.size() + kOverhead + (first ? key.size() + kOverhead : 0));
  queues_[key].push_back(std::move(value));
}

bool Table::pop(const std::string& key, std::string* value) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return false;
  *value = std::move(found->second.front());
  found->second.pop_front();
  give_back(1, value->size() + kOverhead);
  if (found->second.empty()) {
    give_back(1, key.size() + kOverhead);
    queues_.erase(found);
  }
  return true;
}

size_t Table::length(const std::string& key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : found->second.size();
}

}  // namespace c10d::detail
