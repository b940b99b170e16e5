#include "utils/serialize/safetensors_format.h"

#include <cstdio>
#include <cstring>

namespace torch::safetensors {
namespace {

struct DtypeFacts {
  const char* name;
  uint8_t size;
};
constexpr DtypeFacts kFacts[kDtypes] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
    {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"C64", 8},     {"F64", 8}, {"I64", 8}, {"U64", 8}};

}  // namespace

std::string_view dtype_name(Dtype dtype) { return kFacts[static_cast<int>(dtype)].name; }

bool dtype_from_name(std::string_view name, Dtype* out) {
  for (int i = 0; i < kDtypes; ++i) {
    if (name == kFacts[i].name) {
      *out = static_cast<Dtype>(i);
      return true;
    }
  }
  return false;
}

int64_t element_size(Dtype dtype) { return kFacts[static_cast<int>(dtype)].size; }

Header::Header(Header&&) noexcept = default;
Header& Header::operator=(Header&&) noexcept = default;
Header::~Header() = default;

std::string_view Header::view(const Text& text) const {
  // decoded_ is reached through the object, because a short std::string moves with it.
  return (text.is_decoded ? std::string_view(decoded_) : json_).substr(text.begin, text.length);
}

TensorInfo Header::tensor(size_t index) const {
  TORCH_CHECK_INDEX(index < entries_.size(), "safetensors: tensor ", index, " of ", entries_.size());
  const Entry& e = entries_[index];
  TensorInfo info;
  info.name = view(e.name);
  info.shape = c10::IntArrayRef(shapes_.data() + e.shape_begin, e.rank);
  info.begin = e.begin;
  info.dtype = e.dtype;
  info.bytes = e.end - e.begin;
  return info;
}

int64_t Header::find(std::string_view name) const {
  size_t low = 0, high = by_name_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int order = view(entries_[by_name_[middle]].name).compare(name);
    if (order == 0) return by_name_[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

std::pair<std::string_view, std::string_view> Header::metadata(size_t index) const {
  TORCH_CHECK_INDEX(index < metadata_.size(), "safetensors: metadata entry ", index, " of ", metadata_.size());
  return {view(metadata_[index].key), view(metadata_[index].value)};
}

bool Header::find_metadata(std::string_view key, std::string_view* value) const {
  for (const MetadataEntry& entry : metadata_) {
    if (view(entry.key) == key) {
      *value = view(entry.value);
      return true;
    }
  }
  return false;
}

}  // namespace torch::safetensors
