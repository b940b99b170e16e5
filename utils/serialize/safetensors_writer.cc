#include <algorithm>
#include <cstdio>

#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors_format.h"
#include "utils/serialize/utf8.h"

namespace torch::safetensors {
namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

// Throws ValueError where the sizes are negative or their product does not fit.
uint64_t checked_bytes(const TensorLayout& tensor) {
  int64_t span = element_size(tensor.dtype);
  bool zero = false;
  for (const int64_t size : tensor.shape) {
    TORCH_CHECK_VALUE(size >= 0, "safetensors: tensor \"", tensor.name, "\" has a negative size in ", tensor.shape);
    zero |= size == 0;
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(span, std::max<int64_t>(1, size), &span), "safetensors: tensor \"",
                      tensor.name, "\": the shape ", tensor.shape, " overflows");
  }
  return zero ? 0 : static_cast<uint64_t>(span);
}

template <typename Item, typename Key>
void check_distinct(const std::vector<Item>& items, const char* what, Key key) {
  std::vector<std::string_view> keys;
  keys.reserve(items.size());
  for (const Item& item : items) keys.push_back(key(item));
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  TORCH_CHECK_VALUE(twice == keys.end(), "safetensors: ", what, " \"", *twice, "\" is given twice");
  for (const std::string_view k : keys) {
    TORCH_CHECK_VALUE(serialize::is_utf8(k), "safetensors: a ", what, " is not UTF-8");
  }
}

}  // namespace

Plan plan(const std::vector<TensorLayout>& tensors, const Metadata& metadata) {
  const Limits limits;
  TORCH_CHECK_VALUE(tensors.size() <= limits.tensors && metadata.size() <= limits.metadata_entries, "safetensors: ",
                    tensors.size(), " tensors and ", metadata.size(), " metadata entries are over the limits");
  check_distinct(tensors, "tensor", [](const TensorLayout& t) { return std::string_view(t.name); });
  check_distinct(metadata, "metadata key", [](const auto& m) { return std::string_view(m.first); });

  Plan plan;
  plan.order.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) plan.order[i] = static_cast<uint32_t>(i);
  std::sort(plan.order.begin(), plan.order.end(), [&](uint32_t a, uint32_t b) {
    const int64_t x = element_size(tensors[a].dtype), y = element_size(tensors[b].dtype);
    return x != y ? x > y : a < b;
  });

  std::string& out = plan.header;
  out.assign(8, '\0');
  out += '{';
  if (!metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      TORCH_CHECK_VALUE(serialize::is_utf8(value), "safetensors: the metadata value of \"", key, "\" is not UTF-8");
      if (out.back() != '{') out += ',';
      append_string(out, key);
      out += ':';
      append_string(out, value);
    }
    out += '}';
  }
  uint64_t offset = 0;
  for (const uint32_t i : plan.order) {
    const TensorLayout& t = tensors[i];
    TORCH_CHECK_VALUE(t.name != "__metadata__", "safetensors: a tensor cannot be called \"__metadata__\"");
    TORCH_CHECK_VALUE(t.shape.size() <= limits.dimensions, "safetensors: tensor \"", t.name, "\" has ", t.shape.size(),
                      " dimensions; at most ", limits.dimensions, " are possible");
    uint64_t end;
    TORCH_CHECK_VALUE(!__builtin_add_overflow(offset, checked_bytes(t), &end), "safetensors: the data overflows");
    if (out.back() != '{') out += ',';
    append_string(out, t.name);
    out += c10::str(":{\"dtype\":\"", dtype_name(t.dtype), "\",\"shape\":[", c10::Join(",", t.shape),
                    "],\"data_offsets\":[", offset, ',', end, "]}");
    offset = end;
  }
  out += '}';
  out.append((64 - out.size() % 64) % 64, ' ');
  uint64_t length = out.size() - 8;
  TORCH_CHECK_VALUE(length <= limits.header_bytes, "safetensors: a header of ", length, " bytes is over the limit of ",
                    limits.header_bytes);
  for (size_t i = 0; i < 8; ++i, length >>= 8) out[i] = static_cast<char>(length & 0xff);
  return plan;
}

void write(const std::string& path, const std::vector<TensorData>& tensors, const Metadata& metadata) {
  std::vector<TensorLayout> layouts;
  layouts.reserve(tensors.size());
  for (const TensorData& t : tensors) layouts.push_back(t.layout);
  const Plan planned = plan(layouts, metadata);
  serialize::AtomicFile file(path);
  file.write(planned.header);
  for (const uint32_t i : planned.order) {
    file.write(tensors[i].data, static_cast<size_t>(checked_bytes(tensors[i].layout)));
  }
  file.commit();
}

}  // namespace torch::safetensors
