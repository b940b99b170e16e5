#include "utils/serialize/file_io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "utils/serialize/config.h"

namespace torch::serialize {
namespace {

// Closes a descriptor at the end of a scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

int open_regular(const std::string& path, struct stat* info, int access = O_RDONLY) {
  check_path(path);
  // O_NONBLOCK: a FIFO must not hang us before fstat tells what it is.
  const int fd = ::open(path.c_str(), access | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw_open_error(path);
  Descriptor guard{fd};
  if (::fstat(fd, info) != 0) throw_io_error("stat", path);
  if (!S_ISREG(info->st_mode)) {
    errno = S_ISDIR(info->st_mode) ? EISDIR : EINVAL;
    throw_open_error(path);
  }
  guard.fd = -1;
  return fd;
}

mode_t creation_mask() {
  // There is no call that only reads the mask; /proc has it without the race of setting it.
  if (FILE* status = std::fopen("/proc/self/status", "re")) {
    char line[256];
    unsigned mask = 022;
    while (std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "Umask: %o", &mask) == 1) break;
    }
    std::fclose(status);
    return static_cast<mode_t>(mask);
  }
  return 022;
}

void sync_folder(const std::string& folder) {
  Descriptor dir{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (dir.fd < 0) throw_io_error("open", folder);
  // Some file systems cannot sync a folder and say EINVAL: nothing more can be done there.
  if (::fsync(dir.fd) != 0 && errno != EINVAL) throw_io_error("fsync", folder);
}

}  // namespace

MappedFile::MappedFile(const std::string& path, bool shared) {
  struct stat info;
  Descriptor file{open_regular(path, &info, shared ? O_RDWR : O_RDONLY)};
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  const int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, file.fd, 0);
  if (p == MAP_FAILED) {
    size_ = 0;
    throw_io_error("mmap", path);
  }
  data_ = static_cast<char*>(p);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::shared_ptr<FileBytes> open_for_load(const std::string& path) {
  const auto& config = torch::utils::serialization::config::load;
  if (!config.mmap) {
    return std::make_shared<FileBytes>(read_file(path, std::numeric_limits<uint64_t>::max()), path);
  }
  TORCH_CHECK_VALUE(config.mmap_flags == MAP_PRIVATE || config.mmap_flags == MAP_SHARED,
                    "torch::load: expected config::load.mmap_flags MAP_PRIVATE or MAP_SHARED, got ", config.mmap_flags);
  return std::make_shared<FileBytes>(MappedFile(path, config.mmap_flags == MAP_SHARED), path);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  check_path(path_);
  // A link is followed, so that the file it names is replaced and not the link.
  if (char* real = ::realpath(path_.c_str(), nullptr)) {
    path_ = real;
    std::free(real);
  }
  const size_t slash = path_.rfind('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  struct stat old;
  mode_t mode = 0666 & ~creation_mask();
  if (::stat(path_.c_str(), &old) == 0) {
    if (!S_ISREG(old.st_mode)) {
      errno = S_ISDIR(old.st_mode) ? EISDIR : EINVAL;
      throw_io_error("write", path_);
    }
    mode = old.st_mode & 0777;
  }
  if (::stat(folder_.c_str(), &old) != 0 && errno == ENOENT) throw_missing_folder(folder_);
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd_ < 0) {
    std::string name = path_ + ".tmp.XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) throw_io_error("create of a temporary file", path_);
    temporary_ = std::move(name);
  }
  ::fchmod(fd_, mode);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, bytes < (size_t{1} << 30) ? bytes : (size_t{1} << 30));
    if (n < 0) {
      if (errno == EINTR) continue;
      throw_io_error("write", path_);
    }
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

void AtomicFile::give_name() {
  const std::string self = c10::str("/proc/self/fd/", fd_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = c10::str(path_, ".tmp.", static_cast<int64_t>(::getpid()), ".", attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  throw_io_error("link", path_);
}

void AtomicFile::commit() {
  TORCH_CHECK(fd_ >= 0, "AtomicFile: commit() was called twice for ", path_);
  if (::fsync(fd_) != 0) throw_io_error("fsync", path_);
  if (temporary_.empty()) give_name();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io_error("rename", path_);
  temporary_.clear();
  ::close(std::exchange(fd_, -1));
  sync_folder(folder_);
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const std::string& path, uint64_t limit) {
  struct stat info;
  Descriptor file{open_regular(path, &info)};
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > limit) throw_format_error(c10::str(path, " has ", size, " bytes; at most ", limit, " are read"));
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(file.fd, text.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io_error("read", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace torch::serialize
