// What archives (archive.h) ask of a file format. A format is one object of ArchiveFormat, listed in archive_formats();
// files are recognised by how they begin.
//
// An archive is a tree: a key has a tensor, a value or an archive below it. The interface leaves room for what formats
// differ in: a format may keep the keys' order, whether a tensor is a buffer, and that tensors share memory, or not; it
// may read tensors when they are asked for; and it may refuse values that it has no place for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "utils/serialize/file_io.h"

namespace torch::serialize {

enum class EntryKind : uint8_t { kTensor, kValue, kArchive };

// An archive on its way to a file: its entries in the order of writing. Tensors are shared with the writer, not copied.
struct ArchiveContents {
  struct Entry {
    std::string key;
    EntryKind kind = EntryKind::kTensor;
    at::Tensor tensor;
    bool is_buffer = false;
    c10::IValue value;
    std::shared_ptr<const ArchiveContents> archive;
  };
  // What a file that says so holds: named entries, one value alone ("0"), or a list ("0", "1" ...).
  enum class Shape : uint8_t { kNamed, kValue, kList };
  std::vector<Entry> entries;
  Shape shape = Shape::kNamed;
};

struct ArchiveKey {
  std::string name;
  EntryKind kind;
};

// One archive of an open file.
class ArchiveReader {
 public:
  virtual ~ArchiveReader() = default;

  // What is directly here, in the order of writing where the format keeps it, else sorted. With `recursive`, all
  // tensors and values below instead, by dotted names, as they stand in the file.
  virtual std::vector<ArchiveKey> keys(bool recursive) const = 0;
  // These are false (null) where there is no such entry. A tensor is where open() put it; it may be a view of the
  // file. `is_buffer` is what the reader expects; a format that stores it may refuse another answer. A list or dict
  // is made anew for each call: nothing else refers to it.
  virtual bool read(const std::string& key, at::Tensor& tensor, bool is_buffer) const = 0;
  virtual bool read(const std::string& key, c10::IValue& value) const = 0;
  // A list of numbers, without a value of 16 bytes for each of them. TypeError for a value of another kind.
  virtual bool read(const std::string& key, std::vector<int64_t>& list) const = 0;
  virtual bool read(const std::string& key, std::vector<double>& list) const = 0;
  virtual std::shared_ptr<const ArchiveReader> archive(const std::string& key) const = 0;
  // The whole file as one value, where the format has values that hold others.
  virtual bool whole(c10::IValue& /*value*/) const { return false; }
  // A tensor's geometry, without its data.
  virtual bool describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const = 0;
};

class ArchiveFormat {
 public:
  virtual std::string_view name() const = 0;
  // Whether a file with these bytes is meant to be of this format.
  virtual bool recognises(std::string_view bytes) const = 0;
  // The file's root. Checks the file's structure; with `verify`, all its bytes against a checksum (FormatError
  // without one). `device` is where tensors go: without it, where the file says they were, else the CPU. A format may
  // leave them on the CPU.
  virtual std::shared_ptr<const ArchiveReader> open(std::shared_ptr<FileBytes> bytes, bool verify,
                                                    std::optional<c10::Device> device) const = 0;
  // Throws ValueError for a key that is there twice, TypeError for what the format does not have.
  virtual void write(const ArchiveContents& contents, Sink& sink, bool checksum) const = 0;

 protected:
  ~ArchiveFormat() = default;
};

// All formats: the first one is written unless another is asked for; the last one reads a file that none recognises
// (to say what is wrong with it).
const std::vector<const ArchiveFormat*>& archive_formats();

}  // namespace torch::serialize
