#include "distributed/store/hash_store.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "distributed/store/bytes.h"
#include "distributed/store/deadline.h"
#include "distributed/store/table.h"

namespace c10d {

using detail::to_bytes;
using detail::to_text;

struct HashStore::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  detail::Table table;

  // Returns once `done` returns true; `mutex` is held by `lock` whenever it is called.
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout, Done done) {
    detail::check_timeout(timeout);
    const detail::Deadline deadline(timeout);
    if (!deadline.limited()) return changed.wait(lock, done);
    if (!changed.wait_until(lock, deadline.when(), done)) detail::throw_wait_timeout(deadline, "HashStore", keys);
  }

  bool has_all(const std::vector<std::string>& keys) const {
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return table.has(key); });
  }
};

HashStore::HashStore() : shared_(std::make_shared<Shared>()) {}
HashStore::HashStore(std::shared_ptr<Shared> shared, const std::chrono::milliseconds& timeout)
    : Store(timeout), shared_(std::move(shared)) {}
HashStore::~HashStore() = default;

c10::intrusive_ptr<Store> HashStore::clone() {
  return c10::make_intrusive<HashStore>(shared_, timeout_);
}

void HashStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->table.set(key, to_text(value));
  shared_->changed.notify_all();
}

std::vector<uint8_t> HashStore::compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                           const std::vector<uint8_t>& newValue) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  const std::string now = shared_->table.compare_set(key, to_text(currentValue), to_text(newValue));
  shared_->changed.notify_all();
  return to_bytes(now);
}

std::vector<uint8_t> HashStore::get(const std::string& key) {
  return std::move(HashStore::multiGet({key})[0]);
}

int64_t HashStore::add(const std::string& key, int64_t value) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  const int64_t sum = shared_->table.add(key, value);
  shared_->changed.notify_all();
  return sum;
}

bool HashStore::deleteKey(const std::string& key) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->table.remove(key);
}

bool HashStore::check(const std::vector<std::string>& keys) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->has_all(keys);
}

int64_t HashStore::getNumKeys() {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return static_cast<int64_t>(shared_->table.size());
}

void HashStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->wait(lock, keys, timeout, [&] { return shared_->has_all(keys); });
}

void HashStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->table.append(key, to_text(value));
  shared_->changed.notify_all();
}

std::vector<std::vector<uint8_t>> HashStore::multiGet(const std::vector<std::string>& keys) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  const auto& table = shared_->table;
  shared_->wait(lock, keys, timeout_, [&] {
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return table.find(key) != nullptr; });
  });
  std::vector<std::vector<uint8_t>> values;
  for (const std::string& key : keys) values.push_back(to_bytes(*table.find(key)));
  return values;
}

void HashStore::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  detail::check_same_count(keys, values);
  std::lock_guard<std::mutex> lock(shared_->mutex);
  for (size_t i = 0; i < keys.size(); ++i) shared_->table.set(keys[i], to_text(values[i]));
  shared_->changed.notify_all();
}

void HashStore::queuePush(const std::string& key, const std::vector<uint8_t>& value) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->table.push(key, to_text(value));
  shared_->changed.notify_all();
}

std::vector<uint8_t> HashStore::queuePop(const std::string& key, bool block) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  std::string value;
  if (!block) {
    if (!shared_->table.pop(key, &value)) detail::throw_queue_empty("HashStore", key);
    return to_bytes(value);
  }
  shared_->wait(lock, {key}, timeout_, [&] { return shared_->table.pop(key, &value); });
  return to_bytes(value);
}

int64_t HashStore::queueLen(const std::string& key) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return static_cast<int64_t>(shared_->table.length(key));
}

std::vector<std::string> HashStore::listKeys() {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->table.keys();
}

}  // namespace c10d
