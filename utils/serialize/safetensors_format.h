// The safetensors format, without tensors: reading and checking a header, and writing one. Depends on c10/util only.
//
// A file is: the header's length N as a little-endian u64; N bytes of UTF-8 JSON, beginning with '{' and padded with
// spaces; the data. The JSON maps each tensor's name to {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]},
// offsets relative to the data; the optional "__metadata__" maps strings to strings.
// Specification: https://github.com/huggingface/safetensors#format
//
// parse() accepts a file only if all of this holds, and allocates nothing before the whole header has been read once:
//   - N <= 100,000,000 and the header lies within the file; after the closing brace there are only spaces;
//   - valid JSON of exactly this shape, valid UTF-8, no key twice (after decoding escapes) on any level, no other fields;
//   - numbers are non-negative decimal integers; a known dtype; at most 64 dimensions;
//   - the product of max(1, size) over the dimensions, times the element size, fits int64 and equals end - begin;
//   - in order of their offsets the tensors cover the data from 0 to its end, without overlap or hole;
//   - at most Limits::tensors tensors and Limits::metadata_entries metadata entries.
// What it allocates is at most three times the file's size (plus one message in case of an error). Everything else throws
// FormatError. The grammar is that of this format only, because a general JSON library costs 150 KB of a static binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/util/array_ref.h"
#include "utils/serialize/file_error.h"

namespace torch::safetensors {

using serialize::FormatError;

enum class Dtype : uint8_t {
  BOOL,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E5M2FNUZ,
  F8_E4M3FNUZ,
  F8_E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64
};
inline constexpr int kDtypes = 19;

// "F32"; and back, false where there is no such dtype.
std::string_view dtype_name(Dtype dtype);
bool dtype_from_name(std::string_view name, Dtype* out);
int64_t element_size(Dtype dtype);

struct Limits {
  uint64_t header_bytes = 100'000'000;
  size_t dimensions = 64;
  size_t tensors = 1'000'000;
  size_t metadata_entries = 1'000'000;
};

// A tensor's sizes.
struct Shape : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
  const std::vector<int64_t>& vec() const { return *this; }
  friend bool operator==(const Shape& a, c10::ArrayRef<int64_t> b) { return c10::ArrayRef<int64_t>(a.vec()) == b; }
  friend bool operator==(const Shape& a, const std::vector<int64_t>& b) { return a.vec() == b; }
};

// One tensor of a file. The name is a view into the header object, valid as long as it and the parsed bytes are.
struct TensorInfo {
  std::string_view name;
  Shape shape;
  uint64_t begin = 0;  // bytes from the start of the file's data
  Dtype dtype = Dtype::U8;
  uint64_t bytes = 0;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// The checked header of a file.
class Header {
 public:
  Header() = default;
  Header(Header&&) noexcept;
  Header& operator=(Header&&) noexcept;
  ~Header();

  // `file` is the whole file; it must outlive the header. Throws FormatError.
  static Header parse(std::string_view file, const Limits& limits = {});

  // In the order of the file's header.
  size_t size() const { return entries_.size(); }
  TensorInfo tensor(size_t index) const;
  std::string_view name(size_t index) const;
  // The index of a name, or -1.
  int64_t find(std::string_view name) const;
  // Where the data begins in the file.
  uint64_t data_offset() const { return data_offset_; }

  size_t metadata_size() const { return metadata_.size(); }
  std::pair<std::string_view, std::string_view> metadata(size_t index) const;
  // The value of a metadata key; false where it is absent.
  bool find_metadata(std::string_view key, std::string_view* value) const;

 private:
  friend class HeaderParser;

  // A string of the header: a piece of the file, or, where it had escapes, of `decoded_`.
  struct Text {
    uint32_t begin = 0, length : 31 = 0, is_decoded : 1 = 0;
  };
  struct Entry {
    Text name;
    uint32_t shape_begin = 0;  // where its list begins in the JSON; it is read again when it is asked for
    uint8_t rank = 0;
    Dtype dtype = Dtype::U8;
    uint64_t begin = 0, end = 0;
  };
  struct MetadataEntry {
    Text key, value;
  };
  std::string_view view(const Text& text) const;

  std::string_view json_;
  uint64_t data_offset_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_name_;
  std::vector<MetadataEntry> metadata_;
  std::vector<uint32_t> metadata_by_key_;
  std::string decoded_;
};

// What a tensor is called and how it looks, for writing.
struct TensorLayout {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
};

// The bytes that precede the data, and the order in which the tensors' data must follow: wider elements first, so that
// each tensor is aligned for its dtype; the data begins at a multiple of 64. Throws ValueError for a name that is not
// UTF-8, is "__metadata__" or comes twice, a negative size, an overflow, or a header over the limit.
struct Plan {
  std::string header;
  std::vector<uint32_t> order;
};
Plan plan(const std::vector<TensorLayout>& tensors, const Metadata& metadata = {});
// The same for names, sizes and metadata that somebody else holds; the metadata in parts, one behind the other.
struct LayoutView {
  std::string_view name;
  c10::ArrayRef<int64_t> shape;
  Dtype dtype = Dtype::F32;
  bool pairs = false;  // another dimension of 2 follows `shape`
};
using MetadataView = std::vector<std::pair<std::string_view, std::string_view>>;
Plan plan_views(const std::vector<LayoutView>& tensors, std::initializer_list<const MetadataView*> metadata);

// A tensor's contiguous data, for write().
struct TensorData {
  TensorLayout layout;
  const void* data = nullptr;
};

// Writes a file in one step (see AtomicFile): it is there whole, or the old one is.
void write(const std::string& path, const std::vector<TensorData>& tensors, const Metadata& metadata = {});

}  // namespace torch::safetensors
