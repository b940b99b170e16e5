// Key-value stores, by which the processes of a job find each other and agree.
//
// A store is a control plane: keys and values of bytes to kilobytes. HashStore serves the threads of one process,
// FileStore the processes that see one file, TCPStore those that reach one server; PrefixStore gives a part of any of
// them.
//
//   c10d::TCPStoreOptions options;
//   options.isServer = rank == 0;
//   auto store = c10::make_intrusive<c10d::TCPStore>("10.0.0.1", options);
//   if (rank == 0) store->set("plan", "ring");
//   std::string plan = store->get_to_str("plan");  // waits until it is set
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace c10d {

/// What all stores do. Keys are any bytes, values too; a key that is set again has the newer value.
///
/// Calls may come from any number of threads at once, but for setTimeout, which no other call may run beside. What
/// waits does so for getTimeout(), or for the timeout it is given, and then throws c10::DistStoreError with the key and
/// the time; a timeout of 0 (kNoTimeout) is no limit, and a negative one throws c10::ValueError. What a store does not
/// offer throws c10::NotImplementedError.
class Store : public c10::intrusive_ptr_target {
 public:
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::seconds(300);
  static constexpr std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds::zero();

  Store() : Store(kDefaultTimeout) {}
  explicit Store(const std::chrono::milliseconds& timeout) : timeout_(timeout) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() override = default;

  /// Another handle of the same data, for a thread that shall not share this one.
  virtual c10::intrusive_ptr<Store> clone() = 0;

  /// Sets a key. May return before the others see it; calls of this store that come later do.
  void set(const std::string& key, const std::string& value);
  virtual void set(const std::string& key, const std::vector<uint8_t>& value) = 0;

  /// Sets the key to `newValue` if its value is `currentValue`, or if it has none and `currentValue` is empty. Returns
  /// the value that the key then has; where it has none, `currentValue`.
  ///
  ///   bool leads = store->compareSet("leader", "", "rank 3") == "rank 3";
  std::string compareSet(const std::string& key, const std::string& currentValue, const std::string& newValue);
  virtual std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                          const std::vector<uint8_t>& newValue) = 0;

  /// The value of a key, once it is set.
  std::string get_to_str(const std::string& key);
  virtual std::vector<uint8_t> get(const std::string& key) = 0;

  /// Adds to the number that a key holds as decimal text (none: 0; the sum wraps) and returns the sum. Where the value
  /// is no such number it throws c10::DistStoreError and changes nothing; a TCPStore then ends this client's connection
  /// (c10::DistNetworkError).
  virtual int64_t add(const std::string& key, int64_t value) = 0;

  /// Removes a key or queue; returns whether it was there.
  virtual bool deleteKey(const std::string& key) = 0;

  /// Whether each of the keys is set, or is a queue with elements. Does not wait.
  virtual bool check(const std::vector<std::string>& keys) = 0;

  /// How many keys there are, with those that the store set for itself.
  virtual int64_t getNumKeys() = 0;

  /// Returns once each of the keys is set, or is a queue with elements.
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;

  virtual const std::chrono::milliseconds& getTimeout() const noexcept { return timeout_; }
  /// What later calls wait at most.
  virtual void setTimeout(const std::chrono::milliseconds& timeout);

  /// Adds bytes at the end of a key's value; sets it where there is none.
  virtual void append(const std::string& key, const std::vector<uint8_t>& value);
  /// The values of the keys in their order, once all are set; in one query where the store can.
  virtual std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys);
  /// Sets each of the keys to the value of its place. Throws c10::ValueError where there are more of the ones.
  virtual void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values);
  /// Whether append, multiGet and multiSet are there.
  virtual bool hasExtendedApi() const { return false; }

  /// First in, first out. Queues are apart from keys: one name may be both.
  virtual void queuePush(const std::string& key, const std::vector<uint8_t>& value);
  /// Takes the oldest element. Waits for one, or with `block` false throws c10::DistQueueEmptyError where there is
  /// none.
  virtual std::vector<uint8_t> queuePop(const std::string& key, bool block = true);
  /// How many elements there are; 0 for a queue nobody has pushed to.
  virtual int64_t queueLen(const std::string& key);

  /// All keys (queues are not among them), in no order.
  virtual std::vector<std::string> listKeys();

  /// Returns once `world_size` calls with this key have come. The key may be used again when all have returned.
  virtual void barrier(const std::string& key, int64_t world_size, const std::chrono::milliseconds& timeout);
  void barrier(const std::string& key, int64_t world_size) { barrier(key, world_size, getTimeout()); }

 protected:
  std::chrono::milliseconds timeout_;
};

/// Another timeout of a store, as long as the guard lives.
///
///   { c10d::StoreTimeoutGuard guard(*store, std::chrono::seconds(2)); store->get("ready"); }
class StoreTimeoutGuard {
 public:
  explicit StoreTimeoutGuard(Store& store, const std::chrono::milliseconds& timeout);
  ~StoreTimeoutGuard();
  StoreTimeoutGuard(const StoreTimeoutGuard&) = delete;
  StoreTimeoutGuard& operator=(const StoreTimeoutGuard&) = delete;

 private:
  Store& store_;
  std::chrono::milliseconds previous_;
};

}  // namespace c10d
