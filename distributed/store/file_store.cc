#include "distributed/store/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/store/bytes.h"
#include "distributed/store/deadline.h"
#include "distributed/store/table.h"

namespace c10d {

using detail::to_bytes;
using detail::to_text;

namespace {

// A record of the file: length and bytes of the key, length and bytes of the value, lengths of 32 bits in the machine's
// order. Keys of users begin with '/', a removed key with '-', the store's own are these.
constexpr const char* kRefcount = "refcount/";
constexpr const char* kCleanup = "cleanup/";
constexpr std::chrono::microseconds kFirstPause{200};
constexpr std::chrono::microseconds kLongestPause{20000};

std::string user_key(const std::string& key) {
  return "/" + key;
}

void append_bytes(std::string& out, const std::string& bytes) {
  TORCH_CHECK_VALUE(bytes.size() < std::numeric_limits<uint32_t>::max(), "FileStore: ", bytes.size(),
                    " bytes are more than a key or value may have");
  const auto size = static_cast<uint32_t>(bytes.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out += bytes;
}

std::string record(const std::string& raw_key, const std::string& value) {
  std::string out;
  append_bytes(out, raw_key);
  append_bytes(out, value);
  return out;
}

// Takes a length and as many bytes from the front; false where they are not all there.
bool take_bytes(std::string_view& in, std::string_view* bytes) {
  uint32_t size = 0;
  if (in.size() < sizeof(size)) return false;
  std::memcpy(&size, in.data(), sizeof(size));
  if (in.size() - sizeof(size) < size) return false;
  *bytes = in.substr(sizeof(size), size);
  in.remove_prefix(sizeof(size) + size);
  return true;
}

}  // namespace

// The file, open and locked as long as the object lives.
class FileStore::OpenFile {
 public:
  OpenFile(const std::string& path, bool create, const detail::Deadline& deadline) : path_(path) {
    for (std::chrono::microseconds pause = kFirstPause;;) {
      if (fd_ < 0) open_file(create);
      if (lock()) {
        // Its last user may have removed it between open and lock.
        if (status().st_nlink > 0) return;
        release();
        if (!create) fail("was removed", ENOENT);
        continue;
      }
      if (deadline.passed()) {
        release();
        C10_THROW_ERROR(DistStoreError,
                        c10::str("FileStore at ", path_, ": another process holds the lock of the file; ", "waited ",
                                 deadline.elapsed().count(), " ms"));
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }
  ~OpenFile() { release(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  struct stat status() {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail("fstat", errno);
    return info;
  }

  // Another descriptor of the file, which shares no lock with this one.
  int duplicate() {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("cannot be opened", errno);
    return fd;
  }

  std::string read(int64_t from, int64_t size) {
    std::string bytes(static_cast<size_t>(size), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::pread(fd_, bytes.data() + done, bytes.size() - done, from + static_cast<int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("read", errno);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

  // All of it, or nothing.
  void write(int64_t at, const std::string& bytes) {
    if (::ftruncate(fd_, at) != 0) fail("ftruncate", errno);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, at + static_cast<int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int error = n < 0 ? errno : ENOSPC;
        // Nothing is to be done where even that fails: a reader stops at the half record, the next writer removes it.
        if (::ftruncate(fd_, at) != 0) fail("write, and ftruncate after it", error);
        fail("write", error);
      }
      done += static_cast<size_t>(n);
    }
  }

 private:
  void open_file(bool create) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0644);
    if (fd_ < 0) fail(errno == ENOENT && !create ? "was removed" : "cannot be opened", errno);
  }

  bool lock() {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    // flock as well: it is what PyTorch takes.
    if (::fcntl(fd_, F_OFD_SETLK, &whole) != 0) {
      if (errno == EAGAIN || errno == EACCES || errno == EINTR) return false;
      fail("fcntl", errno);
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return true;
    const int error = errno;
    whole.l_type = F_UNLCK;
    if (::fcntl(fd_, F_OFD_SETLK, &whole) != 0) fail("fcntl", errno);
    // On file systems whose flock is an fcntl lock the first one is enough.
    if (error == EWOULDBLOCK || error == EINTR) return false;
    fail("flock", error);
  }

  void release() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  [[noreturn]] void fail(const char* what, int error) {
    release();
    C10_THROW_ERROR(DistStoreError, c10::str("FileStore at ", path_, ": ", what, ": ", std::strerror(error)));
  }

  const std::string& path_;
  int fd_ = -1;
};

FileStore::FileStore(std::string path, int numWorkers) : path_(std::move(path)), num_workers_(numWorkers) {
  try {
    locked([&](OpenFile& file) { add_number(file, kRefcount, 1); }, /*create=*/true, detail::Deadline(timeout_));
  } catch (...) {
    if (anchor_ >= 0) ::close(anchor_);
    throw;
  }
}

FileStore::~FileStore() {
  try {
    locked([&](OpenFile& file) {
      const int64_t finished = add_number(file, kCleanup, 1);
      const int64_t users = add_number(file, kRefcount, -1);
      if (num_workers_ >= 0 && users == 0 && finished >= num_workers_) ::unlink(path_.c_str());
    });
  } catch (const c10::Error&) {
    // The file is gone or cannot be written: there is nobody to tell.
  }
  if (anchor_ >= 0) ::close(anchor_);
}

c10::intrusive_ptr<Store> FileStore::clone() {
  auto copy = c10::make_intrusive<FileStore>(path_, num_workers_);
  copy->timeout_ = timeout_;
  return copy;
}

void FileStore::locked(const std::function<void(OpenFile&)>& f) {
  locked(f, /*create=*/false, detail::Deadline(timeout_));
}

void FileStore::locked(const std::function<void(OpenFile&)>& f, bool create, const detail::Deadline& deadline) {
  std::lock_guard<std::mutex> lock(mutex_);
  OpenFile file(path_, create, deadline);
  refresh(file);
  f(file);
}

void FileStore::refresh(OpenFile& file) {
  const struct stat info = file.status();
  if (anchor_ < 0) anchor_ = file.duplicate();
  struct stat first {};
  TORCH_CHECK_WITH(DistStoreError,
                   ::fstat(anchor_, &first) == 0 && first.st_ino == info.st_ino && first.st_dev == info.st_dev &&
                       info.st_size >= position_,
                   where(), ": the file was replaced or cut");
  if (info.st_size == position_) return;
  const std::string bytes = file.read(position_, info.st_size - position_);
  if (position_ == 0) {
    std::string start;
    append_bytes(start, kRefcount);
    const size_t common = std::min(start.size(), bytes.size());
    TORCH_CHECK_WITH(DistStoreError, bytes.compare(0, common, start, 0, common) == 0, where(),
                     ": the file is no store's; it is left as it is");
  }
  std::string_view rest = bytes;
  while (!rest.empty()) {
    std::string_view next = rest, key, value;
    if (!take_bytes(next, &key) || !take_bytes(next, &value)) break;
    if (key.starts_with('-')) {
      cache_.erase(std::string(key.substr(1)));
    } else {
      cache_[std::string(key)] = value;
    }
    position_ += static_cast<int64_t>(rest.size() - next.size());
    rest = next;
  }
}

void FileStore::write(OpenFile& file, const std::string& records) {
  file.write(position_, records);
  refresh(file);
}

int64_t FileStore::add_number(OpenFile& file, const std::string& raw_key, int64_t value) {
  int64_t number = 0;
  const auto found = cache_.find(raw_key);
  if (found != cache_.end() && !detail::parse_number(found->second, &number)) {
    detail::throw_not_a_number(raw_key.substr(1));
  }
  number = detail::wrapping_sum(number, value);
  write(file, record(raw_key, std::to_string(number)));
  return number;
}

void FileStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  locked([&](OpenFile& file) { write(file, record(user_key(key), to_text(value))); });
}

std::vector<uint8_t> FileStore::compareSet(const std::string& key, const std::vector<uint8_t>& currentValue,
                                           const std::vector<uint8_t>& newValue) {
  std::vector<uint8_t> result = currentValue;
  locked([&](OpenFile& file) {
    const auto found = cache_.find(user_key(key));
    if (found == cache_.end() ? currentValue.empty() : to_bytes(found->second) == currentValue) {
      write(file, record(user_key(key), to_text(newValue)));
      result = newValue;
    } else if (found != cache_.end()) {
      result = to_bytes(found->second);
    }
  });
  return result;
}

std::vector<uint8_t> FileStore::get(const std::string& key) {
  return std::move(FileStore::multiGet({key})[0]);
}

int64_t FileStore::add(const std::string& key, int64_t value) {
  int64_t sum = 0;
  locked([&](OpenFile& file) { sum = add_number(file, user_key(key), value); });
  return sum;
}

bool FileStore::deleteKey(const std::string&) {
  C10_THROW_ERROR(NotImplementedError, "deleteKey is not supported by FileStore");
}

bool FileStore::check(const std::vector<std::string>& keys) {
  bool all = false;
  locked([&](OpenFile&) {
    all =
        std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return cache_.count(user_key(key)) != 0; });
  });
  return all;
}

int64_t FileStore::getNumKeys() {
  int64_t count = 0;
  locked([&](OpenFile&) { count = static_cast<int64_t>(cache_.size()); });
  return count;
}

void FileStore::wait_for(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout,
                         std::vector<std::vector<uint8_t>>* values) {
  detail::check_timeout(timeout);
  const detail::Deadline deadline(timeout);
  for (std::chrono::microseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    std::vector<std::string> missing;
    const auto look = [&](OpenFile&) {
      values->clear();
      for (const std::string& key : keys) {
        const auto found = cache_.find(user_key(key));
        if (found == cache_.end()) {
          missing.push_back(key);
        } else {
          values->push_back(to_bytes(found->second));
        }
      }
    };
    locked(look, /*create=*/false, deadline);
    if (missing.empty()) return;
    if (deadline.passed()) detail::throw_wait_timeout(deadline, where(), missing);
    std::this_thread::sleep_for(pause);
  }
}

void FileStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  std::vector<std::vector<uint8_t>> ignored;
  wait_for(keys, timeout, &ignored);
}

void FileStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  locked([&](OpenFile& file) {
    const auto found = cache_.find(user_key(key));
    const std::string before = found == cache_.end() ? "" : found->second;
    write(file, record(user_key(key), before + to_text(value)));
  });
}

std::vector<std::vector<uint8_t>> FileStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::vector<uint8_t>> values;
  wait_for(keys, timeout_, &values);
  return values;
}

void FileStore::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  detail::check_same_count(keys, values);
  std::string records;
  for (size_t i = 0; i < keys.size(); ++i) records += record(user_key(keys[i]), to_text(values[i]));
  locked([&](OpenFile& file) { write(file, records); });
}

std::vector<std::string> FileStore::listKeys() {
  std::vector<std::string> keys;
  locked([&](OpenFile&) {
    for (const auto& [key, value] : cache_) {
      if (key.starts_with('/')) keys.push_back(key.substr(1));
    }
  });
  return keys;
}

}  // namespace c10d
