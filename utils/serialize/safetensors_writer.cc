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
uint64_t checked_bytes(const LayoutView& tensor) {
  int64_t span = element_size(tensor.dtype) * (tensor.pairs ? 2 : 1);
  bool zero = false;
  for (const int64_t size : tensor.shape) {
    TORCH_CHECK_VALUE(size >= 0, "safetensors: tensor \"", tensor.name, "\" has a negative size in ", tensor.shape);
    zero |= size == 0;
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(span, std::max<int64_t>(1, size), &span), "safetensors: tensor \"",
                      tensor.name, "\": the shape ", tensor.shape, " overflows");
  }
  return zero ? 0 : static_cast<uint64_t>(span);
}

void check_distinct(std::vector<std::string_view> keys, const char* what) {
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  TORCH_CHECK_VALUE(twice == keys.end(), "safetensors: ", what, " \"", *twice, "\" is given twice");
  for (const std::string_view k : keys) {
    TORCH_CHECK_VALUE(serialize::is_utf8(k), "safetensors: a ", what, " is not UTF-8");
  }
}

// The bytes of append_string.
size_t string_bytes(std::string_view text) {
  size_t n = text.size() + 2;
  for (const char c : text) n += c == '"' || c == '\\' ? 1 : static_cast<unsigned char>(c) < 0x20 ? 5 : 0;
  return n;
}

size_t digits(int64_t x) {
  size_t n = 1;
  for (; x > 9; x /= 10) ++n;
  return n;
}

// At least the bytes of the header, so that it grows only once.
size_t header_bytes(const std::vector<LayoutView>& tensors, std::initializer_list<const MetadataView*> metadata) {
  size_t n = 128;
  for (const MetadataView* part : metadata) {
    for (const auto& [key, value] : *part) n += string_bytes(key) + string_bytes(value) + 2;
  }
  uint64_t offset = 0;
  for (const LayoutView& t : tensors) {
    offset += checked_bytes(t);  // what overflows is refused later
    n += string_bytes(t.name) + 53 + 2;
    for (const int64_t size : t.shape) n += digits(size) + 1;
  }
  return n + tensors.size() * 2 * digits(static_cast<int64_t>(std::min<uint64_t>(offset, INT64_MAX)));
}

}  // namespace

Plan plan(const std::vector<TensorLayout>& tensors, const Metadata& metadata) {
  std::vector<LayoutView> views;
  views.reserve(tensors.size());
  for (const TensorLayout& t : tensors) views.push_back({t.name, t.shape, t.dtype, false});
  const MetadataView metadata_views(metadata.begin(), metadata.end());
  return plan_views(views, {&metadata_views});
}

Plan plan_views(const std::vector<LayoutView>& tensors, std::initializer_list<const MetadataView*> metadata) {
  const Limits limits;
  size_t entries = 0;
  for (const MetadataView* part : metadata) entries += part->size();
  TORCH_CHECK_VALUE(tensors.size() <= limits.tensors && entries <= limits.metadata_entries, "safetensors: ",
                    tensors.size(), " tensors and ", entries, " metadata entries are over the limits");
  std::vector<std::string_view> keys;
  keys.reserve(tensors.size());
  for (const LayoutView& t : tensors) keys.push_back(t.name);
  check_distinct(std::move(keys), "tensor");
  keys = {};
  keys.reserve(entries);
  for (const MetadataView* part : metadata) {
    for (const auto& [key, value] : *part) keys.push_back(key);
  }
  check_distinct(std::move(keys), "metadata key");

  Plan plan;
  plan.order.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) plan.order[i] = static_cast<uint32_t>(i);
  std::sort(plan.order.begin(), plan.order.end(), [&](uint32_t a, uint32_t b) {
    const int64_t x = element_size(tensors[a].dtype), y = element_size(tensors[b].dtype);
    return x != y ? x > y : a < b;
  });

  std::string& out = plan.header;
  out.reserve(header_bytes(tensors, metadata));
  out.assign(8, '\0');
  out += '{';
  if (entries > 0) {
    out += "\"__metadata__\":{";
    for (const MetadataView* part : metadata) {
      for (const auto& [key, value] : *part) {
        TORCH_CHECK_VALUE(serialize::is_utf8(value), "safetensors: the metadata value of \"", key, "\" is not UTF-8");
        if (out.back() != '{') out += ',';
        append_string(out, key);
        out += ':';
        append_string(out, value);
      }
    }
    out += '}';
  }
  uint64_t offset = 0;
  for (const uint32_t i : plan.order) {
    const LayoutView& t = tensors[i];
    TORCH_CHECK_VALUE(t.name != "__metadata__", "safetensors: a tensor cannot be called \"__metadata__\"");
    const size_t rank = t.shape.size() + t.pairs;
    TORCH_CHECK_VALUE(rank <= limits.dimensions, "safetensors: tensor \"", t.name, "\" has ", rank,
                      " dimensions; at most ", limits.dimensions, " are possible");
    uint64_t end;
    TORCH_CHECK_VALUE(!__builtin_add_overflow(offset, checked_bytes(t), &end), "safetensors: the data overflows");
    if (out.back() != '{') out += ',';
    append_string(out, t.name);
    out += c10::str(":{\"dtype\":\"", dtype_name(t.dtype), "\",\"shape\":[", c10::Join(",", t.shape), !t.pairs ? "" : t.shape.empty() ? "2" : ",2",
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
    const TensorLayout& t = tensors[i].layout;
    file.write(tensors[i].data, static_cast<size_t>(checked_bytes({t.name, t.shape, t.dtype, false})));
  }
  file.commit();
}

}  // namespace torch::safetensors
