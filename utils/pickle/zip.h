// The zip files that PyTorch writes: stored records, aligned to 64 bytes, below one top folder.
//
// zlib inflates and computes checksums. The directory is read and written here because the libraries that Debian has
// for it (libzip, minizip) neither refuse entries that overlap or come twice nor align what they write, and libzip does
// not tell where in the file a stored record lies, which mapping needs.
//
// Whatever is wrong with a file is a FormatError that names the file and the byte. Refused before anything is unpacked:
// entries that overlap, come twice or lie outside the file, methods other than stored and deflated, encryption, several
// disks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "utils/serialize/file_io.h"

namespace torch::pickle {

using serialize::FileBytes;
using serialize::Sink;

struct ZipRecord {
  std::string_view name;    // without the top folder
  uint64_t offset = 0;      // of the data in the file
  uint64_t packed = 0;      // bytes in the file
  uint64_t size = 0;        // bytes unpacked
  uint32_t crc = 0;         // 0: not computed
  bool deflated = false;
};

class ZipReader {
 public:
  // Reads and checks the directory and all local headers.
  explicit ZipReader(std::shared_ptr<FileBytes> bytes);

  const std::shared_ptr<FileBytes>& bytes() const { return bytes_; }
  const std::vector<ZipRecord>& records() const { return records_; }
  // The record of this name (without the top folder), or null.
  const ZipRecord* find(std::string_view name) const;
  // Throws FormatError unless the bytes have the record's checksum.
  void check(const ZipRecord& record, std::string_view unpacked) const;
  // The record's bytes where the file has them as they are; only for stored records.
  char* stored(const ZipRecord& record) const { return bytes_->data() + record.offset; }
  // Inflates into `out`, which has room for record.size bytes.
  void inflate(const ZipRecord& record, char* out) const;
  // A copy of a record that is meant to be small: refused above `limit` bytes. Its checksum is checked.
  std::string read(const ZipRecord& record, uint64_t limit) const;

 private:
  [[noreturn]] void fail(uint64_t offset, const std::string& what) const;
  void read_directory();
  void read_entries(uint64_t offset, uint64_t bytes, uint64_t count);
  void locate(ZipRecord& record, uint64_t header, uint64_t directory, std::string_view name);
  void check_overlaps(std::vector<std::pair<uint64_t, uint64_t>> spans) const;

  std::shared_ptr<FileBytes> bytes_;
  std::vector<ZipRecord> records_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<std::pair<uint64_t, uint64_t>> spans_;
};

// Whether a file with these bytes is meant to be a zip file.
bool is_zip(std::string_view bytes);

// Writes records one after another and the directory at the end.
class ZipWriter {
 public:
  ZipWriter(Sink& sink, std::string top) : sink_(sink), top_(std::move(top)) {}
  // Uncompressed; the data begins at a multiple of 64.
  void add(std::string_view name, const void* data, uint64_t size);
  // Adds .data/serialization_id and writes the directory.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t header;
    uint64_t size;
    uint32_t crc;
  };
  void put(const std::string& bytes);

  Sink& sink_;
  std::string top_;
  std::vector<Entry> entries_;
  uint64_t offset_ = 0;
};

}  // namespace torch::pickle
