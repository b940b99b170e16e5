// The zip files that PyTorch writes: stored records, aligned to 64 bytes, below one top folder.
//
// libzip reads and writes them. What it takes and PyTorch's files never have is refused on top of it, before anything
// is unpacked: entries that overlap, encryption, methods other than stored and deflated, sizes that no packing reaches.
//
// Whatever is wrong with a file is a FormatError that names the file and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "utils/serialize/file_io.h"

struct zip;
struct zip_error;

namespace torch::pickle {

using serialize::FileBytes;
using serialize::Sink;

struct ZipRecord {
  std::string_view name;  // without the top folder
  uint64_t offset = 0;    // of the data in the file
  uint64_t packed = 0;    // bytes in the file
  uint64_t size = 0;      // bytes unpacked
  uint64_t index = 0;     // of its entry in the directory
  uint32_t crc = 0;       // 0: not computed
  bool deflated = false;
};

class ZipReader {
 public:
  // Reads and checks the directory and all local headers.
  explicit ZipReader(std::shared_ptr<FileBytes> bytes);
  ~ZipReader();

  const std::shared_ptr<FileBytes>& bytes() const { return bytes_; }
  const std::vector<ZipRecord>& records() const { return records_; }
  // The record of this name (without the top folder), or null.
  const ZipRecord* find(std::string_view name) const;
  // Throws FormatError unless the bytes of a stored record have its checksum.
  void check(const ZipRecord& record) const;
  // The record's bytes where the file has them as they are; only for stored records.
  char* stored(const ZipRecord& record) const { return bytes_->data() + record.offset; }
  // Inflates into `out`, which has room for record.size bytes. The checksum is checked.
  void inflate(const ZipRecord& record, char* out) const;
  // A copy of a record that is meant to be small: refused above `limit` bytes. Its checksum is checked.
  std::string read(const ZipRecord& record, uint64_t limit) const;

 private:
  class Source;
  struct Discard {
    void operator()(zip* archive) const;
  };
  [[noreturn]] void fail(uint64_t offset, const std::string& what) const;
  void read_entry(uint64_t index);
  void locate(ZipRecord& record, std::string_view name);
  void check_overlaps();

  std::shared_ptr<FileBytes> bytes_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<zip, Discard> archive_;
  std::string top_;
  std::vector<ZipRecord> records_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<std::pair<uint64_t, uint64_t>> spans_;
};

// Whether a file with these bytes is meant to be a zip file.
bool is_zip(std::string_view bytes);

// Writes records one after another and the directory at the end. All is written by finish(): the data stays the
// caller's until then.
class ZipWriter {
 public:
  struct Options {
    bool checksums = true;    // without, they are written as 0
    uint64_t alignment = 64;  // of data in the file, 1 to 32,768
  };
  ZipWriter(Sink& sink, std::string top) : ZipWriter(sink, std::move(top), Options()) {}
  // Throws ValueError for another alignment.
  ZipWriter(Sink& sink, std::string top, const Options& options);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  // Uncompressed; the data begins at a multiple of the alignment. Null `data`: zeros, without a checksum.
  void add(std::string_view name, const void* data, uint64_t size);
  // The same with bytes that are copied.
  void add_copy(std::string_view name, std::string data);
  // Adds .data/serialization_id and writes everything.
  void finish();

 private:
  class Tape;
  class Bare;
  [[noreturn]] void fail(zip_error* error, const std::string& what) const;

  Sink& sink_;
  std::string top_;
  Options options_;
  std::unique_ptr<Tape> tape_;
  std::vector<std::unique_ptr<Bare>> bare_;
  zip* archive_ = nullptr;
  std::deque<std::string> copies_;
  uint64_t names_, contents_;  // hashes
};

}  // namespace torch::pickle
