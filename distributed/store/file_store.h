// A store for the processes that see one file, on this machine or on a file system that they share.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed/store/store.h"

namespace c10d {

namespace detail {
class Deadline;
}

/// A log of keys and values in a file, in the format of PyTorch's FileStore. Each call opens the file, locks it (fcntl
/// and flock) for as long as it reads or writes, and closes it; the lock of a process that ends is given up. Who waits
/// looks every few milliseconds (at most 20).
///
/// The file is made when it is not there. With `numWorkers` >= 0 it is removed when that many stores on it have ended
/// and none is left; use a fresh path for each job. A record that a killed process left half written is overwritten.
/// Where the file is no store's, cannot be read or written, or was removed, calls throw c10::DistStoreError.
///
/// deleteKey and queues are not supported: c10::NotImplementedError. A child of fork() makes a FileStore of its own.
///
///   auto store = c10::make_intrusive<c10d::FileStore>("/shared/job17/store", /*numWorkers=*/2);
class FileStore : public Store {
 public:
  /// Waits for the file's lock for kDefaultTimeout at most.
  explicit FileStore(std::string path, int numWorkers);
  ~FileStore() override;

  using Store::barrier;
  using Store::compareSet;
  using Store::set;

  c10::intrusive_ptr<Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                  const std::vector<uint8_t>& newValue) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  [[noreturn]] bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, getTimeout()); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }
  std::vector<std::string> listKeys() override;

  const std::string& getPath() const noexcept { return path_; }

 private:
  class OpenFile;

  // Runs `f` with the file locked and read to its end.
  void locked(const std::function<void(OpenFile&)>& f);
  void locked(const std::function<void(OpenFile&)>& f, bool create, const detail::Deadline& deadline);
  void refresh(OpenFile& file);
  void write(OpenFile& file, const std::string& records);
  int64_t add_number(OpenFile& file, const std::string& raw_key, int64_t value);
  void wait_for(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout,
                std::vector<std::vector<uint8_t>>* values);
  std::string where() const { return "FileStore at " + path_; }

  std::string path_;
  int num_workers_;
  std::mutex mutex_;
  // Below the mutex: what the file holds up to `position_`, by the keys as they stand in it.
  std::unordered_map<std::string, std::string> cache_;
  int64_t position_ = 0;
  // Open all the time, so that no other file has its number.
  int anchor_ = -1;
};

}  // namespace c10d
