#include "utils/serialize/safetensors_format.h"

namespace torch::safetensors {
namespace {

struct DtypeFacts {
  const char* name;
  uint8_t size;
};
constexpr DtypeFacts kFacts[kDtypes] = {
    {"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E5M2FNUZ", 1}, {"F8_E4M3FNUZ", 1},
    {"F8_E8M0", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},     {"BF16", 2},    {"I32", 4},         {"U32", 4},
    {"F32", 4},     {"C64", 8}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

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

std::string_view Header::name(size_t index) const {
  TORCH_CHECK_INDEX(index < entries_.size(), "safetensors: tensor ", index, " of ", entries_.size());
  return view(entries_[index].name);
}

TensorInfo Header::tensor(size_t index) const {
  TensorInfo info;
  info.name = name(index);
  const Entry& e = entries_[index];
  // The parser has checked the list: `rank` numbers.
  info.shape.reserve(e.rank);
  const char* p = json_.data() + e.shape_begin;
  while (info.shape.size() < e.rank) {
    while (*p < '0' || *p > '9') ++p;
    int64_t size = 0;
    for (; *p >= '0' && *p <= '9'; ++p) size = size * 10 + (*p - '0');
    info.shape.push_back(size);
  }
  info.begin = e.begin;
  info.dtype = e.dtype;
  info.bytes = e.end - e.begin;
  return info;
}

namespace {
// The item of `order`, which is sorted by key_at, with this key, or -1.
template <typename KeyAt>
int64_t binary_search(const std::vector<uint32_t>& order, std::string_view key, KeyAt key_at) {
  size_t low = 0, high = order.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int comparison = key_at(order[middle]).compare(key);
    if (comparison == 0) return order[middle];
    if (comparison < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}
}  // namespace

int64_t Header::find(std::string_view name) const {
  return binary_search(by_name_, name, [this](uint32_t i) { return view(entries_[i].name); });
}

std::pair<std::string_view, std::string_view> Header::metadata(size_t index) const {
  TORCH_CHECK_INDEX(index < metadata_.size(), "safetensors: metadata entry ", index, " of ", metadata_.size());
  return {view(metadata_[index].key), view(metadata_[index].value)};
}

bool Header::find_metadata(std::string_view key, std::string_view* value) const {
  const int64_t i = binary_search(metadata_by_key_, key, [this](uint32_t k) { return view(metadata_[k].key); });
  if (i < 0) return false;
  *value = view(metadata_[static_cast<size_t>(i)].value);
  return true;
}

}  // namespace torch::safetensors
