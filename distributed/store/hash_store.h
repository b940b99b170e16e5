// A store for the threads of one process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/store/store.h"

namespace c10d {

/// Keeps everything in memory; clones and threads share it, processes do not. Offers all that Store lists.
///
///   auto store = c10::make_intrusive<c10d::HashStore>();
///   store->add("ranks", 1);  // 1
class HashStore : public Store {
 public:
  HashStore();
  ~HashStore() override;

  using Store::barrier;
  using Store::compareSet;
  using Store::set;

  c10::intrusive_ptr<Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                  const std::vector<uint8_t>& newValue) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, getTimeout()); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }
  void queuePush(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> queuePop(const std::string& key, bool block = true) override;
  int64_t queueLen(const std::string& key) override;
  std::vector<std::string> listKeys() override;

 private:
  friend c10::intrusive_ptr<HashStore>;
  struct Shared;
  explicit HashStore(std::shared_ptr<Shared> shared, const std::chrono::milliseconds& timeout);

  std::shared_ptr<Shared> shared_;
};

}  // namespace c10d
