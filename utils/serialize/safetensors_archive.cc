#include "utils/serialize/safetensors_archive.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <list>
#include <tuple>
#include <utility>

#include "utils/serialize/safetensors.h"

namespace torch::serialize {
namespace {

// Values are metadata: "value.KEY" = kind, ':', text. Kinds: i, f, b, s, n (None), I, F, B (lists), a (an empty
// archive).
constexpr std::string_view kValuePrefix = "value.";

// Exact, and without locale.
std::string text_of(double value) {
  char text[40];
  const int n = std::snprintf(text, sizeof text, "%a", value);
  for (int i = 0; i < n; ++i) {
    if (text[i] == ',') text[i] = '.';
  }
  return text;
}

bool parse(std::string_view text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(std::string_view text, bool* out) {
  *out = text == "1";
  return *out || text == "0";
}

bool parse(std::string_view text, double* out) {
  if (text == "inf" || text == "-inf") {
    *out = text[0] == '-' ? -__builtin_inf() : __builtin_inf();
    return true;
  }
  if (text == "nan" || text == "-nan") {
    *out = __builtin_nan("");
    return true;
  }
  // %a gives [-]0xh.hhhp[+-]d; from_chars wants it without the 0x.
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  if (text.substr(0, 2) != "0x") return false;
  text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, std::chars_format::hex);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (negative) *out = -*out;
  return true;
}

// Of an empty vector or c10::List.
template <typename List>
bool parse_list(std::string_view text, List* out) {
  if (!text.empty()) out->reserve(static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    typename List::value_type value;
    if (!parse(text.substr(0, comma), &value)) return false;
    out->push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

[[noreturn]] void throw_unreadable(std::string_view key) {
  throw_format_error(c10::str("archive: the value of '", key, "' cannot be read"));
}

template <typename List, typename F>
std::string joined(char kind, const List& list, const F& text) {
  std::string out = {kind, ':'};
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ",") + text(list[i]);
  return out;
}

std::string encoded(const std::string& key, const c10::IValue& value) {
  if (value.isNone()) return "n:";
  if (value.isBool()) return value.toBool() ? "b:1" : "b:0";
  if (value.isInt()) return "i:" + std::to_string(value.toInt());
  if (value.isDouble()) return "f:" + text_of(value.toDouble());
  if (value.isString()) return "s:" + value.toStringRef();
  if (value.isIntList()) return joined('I', value.toIntList(), [](int64_t x) { return std::to_string(x); });
  if (value.isDoubleList()) return joined('F', value.toDoubleList(), [](double x) { return text_of(x); });
  if (value.isBoolList()) return joined('B', value.toBoolList(), [](bool x) { return std::to_string(x ? 1 : 0); });
  TORCH_CHECK_TYPE(false, "archive: '", key, "' is a value of type ", value.tag_name(),
                   "; safetensors files have numbers, texts, lists of numbers and None");
}

template <typename X>
c10::IValue parsed(std::string_view key, std::string_view text) {
  X value;
  if (!parse(text, &value)) throw_unreadable(key);
  return value;
}
template <typename List>
List parsed_list(std::string_view key, std::string_view text) {
  List list;
  if (!parse_list(text, &list)) throw_unreadable(key);
  return list;
}

c10::IValue decoded(std::string_view key, std::string_view text) {
  if (text.size() < 2 || text[1] != ':') throw_unreadable(key);
  const char kind = text[0];
  text.remove_prefix(2);
  switch (kind) {
    case 'n':
      if (text.empty()) return {};
      break;
    case 'b':
      if (text == "0" || text == "1") return text == "1";
      break;
    case 'i':
      return parsed<int64_t>(key, text);
    case 'f':
      return parsed<double>(key, text);
    case 's':
      return std::string(text);
    case 'I':
      return parsed_list<c10::List<int64_t>>(key, text);
    case 'F':
      return parsed_list<c10::List<double>>(key, text);
    case 'B':
      return parsed_list<c10::List<bool>>(key, text);
  }
  throw_unreadable(key);
}

// A part of the file: what its names begin with.
class SafetensorsArchive final : public ArchiveReader {
 public:
  SafetensorsArchive(std::shared_ptr<const safetensors::File> file, std::string prefix)
      : file_(std::move(file)), prefix_(std::move(prefix)), value_prefix_(c10::str(kValuePrefix, prefix_)) {}

  std::vector<ArchiveKey> keys(bool recursive) const override {
    std::vector<ArchiveKey> out;
    const safetensors::Header& header = file_->header();
    out.reserve(count_below());
    for (size_t i = 0; i < header.size(); ++i) add(header.name(i), prefix_, EntryKind::kTensor, recursive, out);
    for (size_t i = 0; i < header.metadata_size(); ++i) {
      const auto [name, text] = header.metadata(i);
      const bool archive = text == kEmptyArchive;
      if (archive && recursive) continue;
      add(name, value_prefix_, archive ? EntryKind::kArchive : EntryKind::kValue, recursive, out);
    }
    if (recursive) return out;
    const auto order = [](const ArchiveKey& k) { return std::tie(k.name, k.kind); };
    std::sort(out.begin(), out.end(), [&](const ArchiveKey& a, const ArchiveKey& b) { return order(a) < order(b); });
    out.erase(std::unique(out.begin(), out.end(),
                          [&](const ArchiveKey& a, const ArchiveKey& b) { return order(a) == order(b); }),
              out.end());
    return out;
  }

  bool read(const std::string& key, at::Tensor& tensor, bool) const override {
    if (!file_->contains(prefix_ + key)) return false;
    tensor = file_->get(prefix_ + key);
    return true;
  }
  bool read(const std::string& key, c10::IValue& value) const override {
    std::string_view text;
    if (!file_->header().find_metadata(value_prefix_ + key, &text) || text == kEmptyArchive) return false;
    value = decoded(prefix_ + key, text);
    return true;
  }
  bool read(const std::string& key, std::vector<int64_t>& list) const override { return read_list(key, 'I', list); }
  bool read(const std::string& key, std::vector<double>& list) const override { return read_list(key, 'F', list); }
  std::shared_ptr<const ArchiveReader> archive(const std::string& key) const override {
    return has_archive(key) ? std::make_shared<SafetensorsArchive>(file_, prefix_ + key + ".") : nullptr;
  }
  bool describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const override {
    const std::string name = prefix_ + key;
    if (!file_->contains(name)) return false;
    *dtype = file_->dtype(name);
    *sizes = file_->sizes(name);
    return true;
  }

 private:
  static constexpr std::string_view kEmptyArchive = "a:";

  template <typename X>
  bool read_list(const std::string& key, char kind, std::vector<X>& list) const {
    std::string_view text;
    if (!file_->header().find_metadata(value_prefix_ + key, &text) || text == kEmptyArchive) return false;
    if (text.size() < 2 || text[0] != kind || text[1] != ':') {
      TORCH_CHECK_TYPE(false, "archive: the value of '", prefix_, key, "' is of another kind: ",
                       decoded(prefix_ + key, text).tag_name());
    }
    list = parsed_list<std::vector<X>>(prefix_ + key, text.substr(2));
    return true;
  }
  static void add(std::string_view name, std::string_view prefix, EntryKind kind, bool recursive,
                  std::vector<ArchiveKey>& out) {
    if (!name.starts_with(prefix)) return;
    name.remove_prefix(prefix.size());
    const size_t dot = recursive ? name.npos : name.find('.');
    out.push_back({std::string(name.substr(0, dot)), dot == name.npos ? kind : EntryKind::kArchive});
  }
  // Of tensors and values, at any depth.
  size_t count_below() const {
    const safetensors::Header& header = file_->header();
    size_t n = 0;
    for (size_t i = 0; i < header.size(); ++i) n += header.name(i).starts_with(prefix_);
    for (size_t i = 0; i < header.metadata_size(); ++i) n += header.metadata(i).first.starts_with(value_prefix_);
    return n;
  }
  bool has_archive(const std::string& key) const {
    const std::string below = prefix_ + key + ".", values_below = value_prefix_ + key + ".";
    const safetensors::Header& header = file_->header();
    std::string_view text;
    if (header.find_metadata(value_prefix_ + key, &text) && text == kEmptyArchive) return true;
    for (size_t i = 0; i < header.size(); ++i) {
      if (header.name(i).starts_with(below)) return true;
    }
    for (size_t i = 0; i < header.metadata_size(); ++i) {
      if (header.metadata(i).first.starts_with(values_below)) return true;
    }
    return false;
  }

  const std::shared_ptr<const safetensors::File> file_;
  const std::string prefix_, value_prefix_;
};

// An archive's tensors and values as they stand in the file.
class Flattened {
 public:
  explicit Flattened(const ArchiveContents& contents) {
    size_t values = 1, tensor_count = 0;
    count(contents, values, tensor_count);
    metadata.reserve(values);
    tensors.reserve(tensor_count);
    metadata.emplace_back("format", "pt");
    add(contents, "");
  }

  safetensors::NamedTensors tensors;
  safetensors::MetadataView metadata;  // of texts_

 private:
  static constexpr size_t kPiece = 16 * 1024;

  static void count(const ArchiveContents& contents, size_t& values, size_t& tensors) {
    for (const ArchiveContents::Entry& entry : contents.entries) {
      if (entry.kind == EntryKind::kArchive && !entry.archive->entries.empty()) {
        count(*entry.archive, values, tensors);
      } else {
        ++(entry.kind == EntryKind::kTensor ? tensors : values);
      }
    }
  }
  void add(const ArchiveContents& contents, const std::string& prefix) {
    for (const ArchiveContents::Entry& entry : contents.entries) {
      std::string name = prefix + entry.key;
      if (entry.kind == EntryKind::kTensor) {
        tensors.emplace_back(std::move(name), entry.tensor);
      } else if (entry.kind == EntryKind::kValue) {
        add_value(entry.value, std::move(name));
      } else if (entry.archive->entries.empty()) {
        metadata.emplace_back(keep(c10::str(kValuePrefix, name)), "a:");
      } else {
        add(*entry.archive, name + ".");
      }
    }
  }
  // Dicts, and lists and tuples of more than numbers, are archives: their parts have names of their own.
  void add_value(const c10::IValue& value, std::string name) {
    if (value.isTensor()) {
      tensors.emplace_back(std::move(name), value.toTensor());
      return;
    }
    if (value.isGenericDict()) {
      const auto dict = value.toGenericDict();
      for (const auto& entry : dict) add_value(entry.value(), name + "." + key_text(name, entry.key()));
      if (!dict.empty()) return;
    } else if (value.isTuple() || (value.isList() && !is_number_list(value))) {
      const auto items = value.isTuple() ? value.toTupleRef().elementsArrayRef() : value.toListRef();
      if (items.empty() || !same_numbers(items)) {
        for (size_t i = 0; i < items.size(); ++i) add_value(items[i], name + "." + std::to_string(i));
        if (!items.empty()) return;
      } else {
        add_text(name, encoded(name, numbers_of(items)));
        return;
      }
    } else {
      add_text(name, encoded(name, value));
      return;
    }
    metadata.emplace_back(keep(c10::str(kValuePrefix, name)), "a:");
  }
  void add_text(const std::string& name, const std::string& text) {
    metadata.emplace_back(keep(c10::str(kValuePrefix, name)), keep(text));
  }
  static std::string key_text(const std::string& name, const c10::IValue& key) {
    TORCH_CHECK_TYPE(key.isString() || key.isInt(), "archive: a key of the dict '", name, "' is of type ",
                     key.tag_name(), "; safetensors files have texts and integers");
    return key.isString() ? key.toStringRef() : std::to_string(key.toInt());
  }
  static bool is_number_list(const c10::IValue& value) {
    return value.isIntList() || value.isDoubleList() || value.isBoolList();
  }
  static bool same_numbers(c10::ArrayRef<c10::IValue> items) {
    const c10::IValue& first = items[0];
    if (!first.isInt() && !first.isDouble() && !first.isBool()) return false;
    return std::all_of(items.begin(), items.end(), [&](const c10::IValue& v) { return v.tag() == first.tag(); });
  }
  static c10::IValue numbers_of(c10::ArrayRef<c10::IValue> items) {
    const auto all = [&](auto zero, auto get) {
      c10::List<decltype(zero)> list;
      for (const c10::IValue& v : items) list.push_back((v.*get)());
      return c10::IValue(list);
    };
    if (items[0].isInt()) return all(int64_t{}, &c10::IValue::toInt);
    return items[0].isBool() ? all(false, &c10::IValue::toBool) : all(0.0, &c10::IValue::toDouble);
  }
  // Short texts share pieces that never grow: many small values take hardly more room than they do in the file.
  std::string_view keep(std::string_view text) {
    if (text.size() > kPiece / 8) return texts_.emplace_front(text);
    if (texts_.empty() || texts_.back().capacity() - texts_.back().size() < text.size()) {
      texts_.emplace_back().reserve(kPiece);
    }
    std::string& piece = texts_.back();
    const size_t begin = piece.size();
    piece.append(text);
    return std::string_view(piece).substr(begin);
  }

  std::list<std::string> texts_;
};

class SafetensorsFormat final : public ArchiveFormat {
 public:
  std::string_view name() const override { return "safetensors"; }
  // Eight bytes of length, then a JSON object.
  bool recognises(std::string_view bytes) const override { return bytes.size() > 8 && bytes[8] == '{'; }
  std::shared_ptr<const ArchiveReader> open(std::shared_ptr<FileBytes> bytes, bool verify,
                                            std::optional<c10::Device> /*device*/) const override {
    auto file = std::make_shared<const safetensors::File>(std::move(bytes));
    if (verify) file->verify_checksum();
    return std::make_shared<SafetensorsArchive>(std::move(file), "");
  }
  void write(const ArchiveContents& contents, Sink& sink, bool checksum) const override {
    Flattened flat(contents);
    safetensors::save_views(flat.tensors, std::move(flat.metadata), sink, checksum);
  }
};

}  // namespace

const ArchiveFormat& safetensors_archive_format() {
  static const SafetensorsFormat format;
  return format;
}

}  // namespace torch::serialize
