#include "distributed/store/store.h"

#include <string>
#include <utility>
#include <vector>

#include "distributed/store/bytes.h"
#include "distributed/store/deadline.h"

namespace c10d {

using detail::to_bytes;
using detail::to_text;

namespace {

[[noreturn]] void unsupported(const char* what) {
  C10_THROW_ERROR(NotImplementedError, c10::str(what, " is not supported by this store"));
}

}  // namespace

void Store::set(const std::string& key, const std::string& value) {
  set(key, to_bytes(value));
}

std::string Store::compareSet(const std::string& key, const std::string& currentValue, const std::string& newValue) {
  return to_text(compareSet(key, to_bytes(currentValue), to_bytes(newValue)));
}

std::string Store::get_to_str(const std::string& key) {
  return to_text(get(key));
}

void Store::setTimeout(const std::chrono::milliseconds& timeout) {
  detail::check_timeout(timeout);
  timeout_ = timeout;
}

void Store::append(const std::string&, const std::vector<uint8_t>&) {
  unsupported("append");
}

std::vector<std::vector<uint8_t>> Store::multiGet(const std::vector<std::string>& keys) {
  wait(keys);
  std::vector<std::vector<uint8_t>> values;
  for (const std::string& key : keys) values.push_back(get(key));
  return values;
}

void Store::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  detail::check_same_count(keys, values);
  for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

void Store::queuePush(const std::string&, const std::vector<uint8_t>&) {
  unsupported("queuePush");
}
std::vector<uint8_t> Store::queuePop(const std::string&, bool) {
  unsupported("queuePop");
}
int64_t Store::queueLen(const std::string&) {
  unsupported("queueLen");
}
std::vector<std::string> Store::listKeys() {
  unsupported("listKeys");
}

void Store::barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout) {
  detail::check_timeout(timeout);
  TORCH_CHECK_VALUE(world_size > 0, "barrier '", key, "': world_size must be positive, got ", world_size);
  const int64_t arrivals = add(key + "/arrived", 1);
  const std::string open = c10::str(key, "/open/", (arrivals - 1) / world_size);
  if (arrivals % world_size == 0) set(open, std::vector<uint8_t>{'1'});
  wait({open}, timeout);
}

StoreTimeoutGuard::StoreTimeoutGuard(Store& store, const std::chrono::milliseconds& timeout)
    : store_(store), previous_(store.getTimeout()) {
  store.setTimeout(timeout);
}

StoreTimeoutGuard::~StoreTimeoutGuard() {
  store_.setTimeout(previous_);
}

}  // namespace c10d
