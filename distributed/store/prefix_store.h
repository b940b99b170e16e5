// A part of another store, under a prefix of its own.
#pragma once

#include <string>
#include <vector>

#include "distributed/store/store.h"

namespace c10d {

/// The keys of this store are those of the underlying one that begin with `prefix/`. Prefixes nest; the timeout is the
/// underlying store's, and so is what is offered.
///
///   auto group = c10::make_intrusive<c10d::PrefixStore>("group0", store);
///   group->set("a", "1");  // store->get_to_str("group0/a") is "1"
class PrefixStore : public Store {
 public:
  /// Throws c10::ValueError for a null store.
  explicit PrefixStore(std::string prefix, c10::intrusive_ptr<Store> store);

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
  /// Of the whole underlying store.
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  const std::chrono::milliseconds& getTimeout() const noexcept override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override;
  void queuePush(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> queuePop(const std::string& key, bool block = true) override;
  int64_t queueLen(const std::string& key) override;
  /// The keys of this store, without the prefix.
  std::vector<std::string> listKeys() override;
  void barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout) override;

  c10::intrusive_ptr<Store> getUnderlyingStore() { return store_; }
  /// The first store below that is no PrefixStore.
  c10::intrusive_ptr<Store> getUnderlyingNonPrefixStore();

 private:
  std::string joined(const std::string& key) const { return prefix_ + "/" + key; }
  std::vector<std::string> joined(const std::vector<std::string>& keys) const;

  std::string prefix_;
  c10::intrusive_ptr<Store> store_;
};

}  // namespace c10d
