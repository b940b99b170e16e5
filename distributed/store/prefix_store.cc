#include "distributed/store/prefix_store.h"

#include <string>
#include <utility>
#include <vector>

namespace c10d {

PrefixStore::PrefixStore(std::string prefix, c10::intrusive_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  TORCH_CHECK_VALUE(store_, "PrefixStore '", prefix_, "': there is no underlying store");
}

std::vector<std::string> PrefixStore::joined(const std::vector<std::string>& keys) const {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const std::string& key : keys) result.push_back(joined(key));
  return result;
}

c10::intrusive_ptr<Store> PrefixStore::clone() {
  return c10::make_intrusive<PrefixStore>(prefix_, store_->clone());
}

void PrefixStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  store_->set(joined(key), value);
}

std::vector<uint8_t> PrefixStore::compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                             const std::vector<uint8_t>& newValue) {
  return store_->compareSet(joined(key), currentValue, newValue);
}

std::vector<uint8_t> PrefixStore::get(const std::string& key) {
  return store_->get(joined(key));
}
int64_t PrefixStore::add(const std::string& key, int64_t value) {
  return store_->add(joined(key), value);
}
bool PrefixStore::deleteKey(const std::string& key) {
  return store_->deleteKey(joined(key));
}
bool PrefixStore::check(const std::vector<std::string>& keys) {
  return store_->check(joined(keys));
}
int64_t PrefixStore::getNumKeys() {
  return store_->getNumKeys();
}
void PrefixStore::wait(const std::vector<std::string>& keys) {
  store_->wait(joined(keys));
}

void PrefixStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  store_->wait(joined(keys), timeout);
}

const std::chrono::milliseconds& PrefixStore::getTimeout() const noexcept {
  return store_->getTimeout();
}
void PrefixStore::setTimeout(const std::chrono::milliseconds& timeout) {
  store_->setTimeout(timeout);
}

void PrefixStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  store_->append(joined(key), value);
}

std::vector<std::vector<uint8_t>> PrefixStore::multiGet(const std::vector<std::string>& keys) {
  return store_->multiGet(joined(keys));
}

void PrefixStore::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  store_->multiSet(joined(keys), values);
}

bool PrefixStore::hasExtendedApi() const {
  return store_->hasExtendedApi();
}

void PrefixStore::queuePush(const std::string& key, const std::vector<uint8_t>& value) {
  store_->queuePush(joined(key), value);
}

std::vector<uint8_t> PrefixStore::queuePop(const std::string& key, bool block) {
  return store_->queuePop(joined(key), block);
}

int64_t PrefixStore::queueLen(const std::string& key) {
  return store_->queueLen(joined(key));
}

std::vector<std::string> PrefixStore::listKeys() {
  const std::string start = joined("");
  std::vector<std::string> keys;
  for (const std::string& key : store_->listKeys()) {
    if (key.starts_with(start)) keys.push_back(key.substr(start.size()));
  }
  return keys;
}

void PrefixStore::barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout) {
  store_->barrier(joined(key), world_size, timeout);
}

c10::intrusive_ptr<Store> PrefixStore::getUnderlyingNonPrefixStore() {
  c10::intrusive_ptr<Store> store = store_;
  while (auto* prefixed = dynamic_cast<PrefixStore*>(store.get())) store = prefixed->store_;
  return store;
}

}  // namespace c10d
