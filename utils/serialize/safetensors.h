// Tensors in safetensors files: the format that Python's `safetensors` package, Hugging Face and others read and write.
//
//   torch::safetensors::save_file({{"weight", w}, {"bias", b}}, "layer.safetensors");
//   auto tensors = torch::safetensors::load_file("layer.safetensors");      // a list of (name, tensor)
//   torch::safetensors::File file("layer.safetensors");                     // or one by one
//   torch::Tensor w = file.get("weight");
//
// Dtypes: all of this library; complex128, which the format lacks, is stored as F64 with a last dimension of 2 and the
// metadata entry "dtype.NAME" = "complex128". Reading checks the header before anything is allocated (safetensors_format.h
// lists the rules); a damaged file is a FormatError, a dtype that this library does not have a TypeError.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors_format.h"

namespace torch::safetensors {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// A file that is open for reading. Its tensors are views of the mapped file: nothing is read before it is used and nothing
// is copied (but where the file's layout leaves a tensor misaligned for its dtype). Writing to them changes this process'
// memory only. They keep the mapping alive; the File itself may go.
class File {
 public:
  // Throws IoError where the path cannot be read, FormatError where the header is damaged.
  explicit File(const std::string& path, const Limits& limits = {});
  // Over a file's bytes, which are kept.
  explicit File(std::shared_ptr<serialize::FileBytes> bytes, const Limits& limits = {});
  static File from_bytes(std::string bytes, const Limits& limits = {});

  // In the order of the file's header.
  std::vector<std::string> keys() const;
  size_t size() const { return source_->header.size(); }
  bool contains(std::string_view name) const { return source_->header.find(name) >= 0; }
  // On the CPU. Throws IndexError where there is no such tensor, FormatError for a boolean that is neither 0 nor 1.
  at::Tensor get(std::string_view name) const;
  // Like get(), without touching the data: what the tensor will look like.
  c10::ScalarType dtype(std::string_view name) const;
  std::vector<int64_t> sizes(std::string_view name) const;

  // Compares the file's bytes with the checksum that save_file wrote. Reads the whole file. Throws FormatError where they
  // differ or there is no checksum.
  void verify_checksum() const;

  Metadata metadata() const;
  const Header& header() const { return source_->header; }

 private:
  struct Source {
    std::shared_ptr<serialize::FileBytes> bytes;
    Header header;
  };
  size_t index_of(std::string_view name) const;

  std::shared_ptr<Source> source_;
};

NamedTensors load_file(const std::string& path);

// Replaces the file in one step. Tensors on other devices or with other strides are written as contiguous CPU tensors;
// tensors that share memory are each written whole. Throws ValueError for an undefined tensor or a bad name.
// With `checksum`, the metadata entry "crc32c" holds the CRC-32C of the whole file (eight hexadecimal digits, taken as zeros
// for the computation), so that File::verify_checksum() sees any damage, also in the data.
void save_file(const NamedTensors& tensors, const std::string& path, const Metadata& metadata = {},
               bool checksum = false);

// The same, piece by piece, to wherever `write` puts it; used by save_file and the archives.
using serialize::Sink;
void save_to(const NamedTensors& tensors, const Metadata& metadata, Sink& sink, bool checksum = false);
// The same for metadata that somebody else holds.
void save_views(const NamedTensors& tensors, MetadataView metadata, Sink& sink, bool checksum = false);

}  // namespace torch::safetensors
