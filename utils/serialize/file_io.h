// Files without streams: a read-only file seen as memory, and a file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "utils/serialize/file_error.h"

namespace torch::serialize {

// A regular file mapped into memory, copy on write: what is written through data() stays in this process.
// The mapping survives the file's removal or replacement by rename; a file that is cut short in place while mapped
// raises SIGBUS on access, as every mapping does.
class MappedFile {
 public:
  MappedFile() = default;
  // Throws IoError where the path cannot be opened or is not a regular file. `shared`: what is written through data()
  // goes to the file, which must be writable.
  explicit MappedFile(const std::string& path, bool shared = false);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// A file's bytes, mapped or in memory. They may be written to: that stays in this process, unless the mapping is
// shared.
class FileBytes {
 public:
  // Throws IoError where the path cannot be read.
  explicit FileBytes(const std::string& path) : file_(path), origin_(path) {}
  FileBytes(MappedFile file, std::string origin) : file_(std::move(file)), origin_(std::move(origin)) {}
  FileBytes(std::string bytes, std::string origin) : bytes_(std::move(bytes)), origin_(std::move(origin)) {}

  char* data() { return file_.data() != nullptr ? file_.data() : bytes_.data(); }
  std::string_view view() const { return file_.data() != nullptr ? file_.bytes() : std::string_view(bytes_); }
  // The path, or what else the bytes are called in messages.
  const std::string& origin() const { return origin_; }

 private:
  MappedFile file_;
  std::string bytes_;
  std::string origin_;
};

// A file as torch::load takes it: mapped or read, as torch::utils::serialization::config::load says (config.h). Throws
// IoError, and ValueError for mmap_flags that are none.
std::shared_ptr<FileBytes> open_for_load(const std::string& path);

// Where a file's bytes go, piece by piece.
class Sink {
 public:
  virtual ~Sink() = default;
  // May be called once, before the first write, with the number of bytes that will come.
  virtual void expect(uint64_t /*bytes*/) {}
  virtual void write(const void* data, size_t bytes) = 0;
};

// Replaces a file in one step: the bytes go to a temporary file in the same folder, commit() syncs it, renames it over
// the target and syncs the folder. Killed at any moment, the target is the old file or the new one, whole. The temporary
// file has no name until commit() where the file system allows (O_TMPFILE), so a kill leaves no litter.
//
//   AtomicFile file("model.safetensors");
//   file.write(bytes.data(), bytes.size());
//   file.commit();
//
// Destroyed without commit() it leaves the target untouched. Throws IoError; after a throw the target is untouched too,
// unless it is the folder's sync that failed.
class AtomicFile : public Sink {
 public:
  // Opens the temporary file. A new file gets mode 0666 less the umask, a replaced one keeps its permission bits.
  explicit AtomicFile(std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes) override;
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  void give_name();

  std::string path_;
  std::string folder_;
  std::string temporary_;  // empty while the file has no name
  int fd_ = -1;
};

// Replaces a file in one step by this text. Throws IoError.
void write_file(const std::string& path, std::string_view text);

// The whole file as a string. Throws IoError, or FormatError where it is larger than `limit` bytes.
std::string read_file(const std::string& path, uint64_t limit = uint64_t{1} << 32);

}  // namespace torch::serialize
