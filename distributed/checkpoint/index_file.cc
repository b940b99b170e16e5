#include "distributed/checkpoint/index_file.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "utils/serialize/crc32c.h"
#include "utils/serialize/file_error.h"

namespace torch::distributed::checkpoint::detail {
namespace {

using c10::IValue;
using nlohmann::json;
using serialize::throw_format_error;

constexpr const char* kFormat = "kindling checkpoint";
constexpr std::string_view kChecksumBegin = "{\"crc32c\":\"", kNoChecksum = "00000000";
constexpr int kDeepest = 1000;
constexpr size_t kMostDimensions = 64;

std::string hex(uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(number));
  return text;
}

std::optional<c10::ScalarType> dtype_of(std::string_view name) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::Undefined); ++i) {
    if (name == c10::toString(static_cast<c10::ScalarType>(i))) return static_cast<c10::ScalarType>(i);
  }
  return std::nullopt;
}

// Reads parts of a document; what is not as it must be is a FormatError that says where.
class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw_format_error(c10::str("checkpoint: ", where_, ": ", what));
  }

  json parse(std::string_view text) const {
    // Depth is limited before the document is made: its destructor takes stack.
    int deepest = 0, depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < text.size(); ++i) {
      if (in_text) {
        if (text[i] == '\\')
          ++i;
        else if (text[i] == '"')
          in_text = false;
      } else if (text[i] == '"') {
        in_text = true;
      } else if (text[i] == '[' || text[i] == '{') {
        deepest = std::max(deepest, ++depth);
      } else if (text[i] == ']' || text[i] == '}') {
        --depth;
      }
    }
    if (deepest > 2 * kDeepest) fail("more than 2000 values within one another");
    try {
      return json::parse(text);
    } catch (const json::exception& e) {
      fail(c10::str("no JSON: ", e.what()));
    }
  }

  const json& member(const json& object, const char* name) const {
    if (!object.is_object()) fail(c10::str("no object with a \"", name, "\""));
    const auto found = object.find(name);
    if (found == object.end()) fail(c10::str("no \"", name, "\""));
    return *found;
  }
  const json& object(const json& parent, const char* name) const {
    const json& value = member(parent, name);
    if (!value.is_object()) fail(c10::str("\"", name, "\" is no object"));
    return value;
  }
  const json& array(const json& parent, const char* name) const {
    const json& value = member(parent, name);
    if (!value.is_array()) fail(c10::str("\"", name, "\" is no list"));
    return value;
  }
  std::string text(const json& value, const char* name) const {
    if (!value.is_string()) fail(c10::str("\"", name, "\" is no text"));
    return value.get<std::string>();
  }
  uint64_t number(const json& value, const char* name) const {
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(c10::str("\"", name, "\" is no number from 0 to 2^63 - 1"));
    }
    return value.get<uint64_t>();
  }
  Extents extents(const json& parent, const char* name) const {
    const json& list = array(parent, name);
    if (list.size() > kMostDimensions) fail(c10::str("\"", name, "\" has ", list.size(), " dimensions"));
    Extents extents;
    for (const json& n : list) extents.push_back(static_cast<int64_t>(number(n, name)));
    return extents;
  }
  StorageInfo storage(const json& parent) const {
    StorageInfo info{.relative_path = text(member(parent, "file"), "file"),
                     .offset = number(member(parent, "begin"), "begin"),
                     .length = number(member(parent, "bytes"), "bytes"),
                     .checksums = {}};
    for (const json& crc : array(parent, "crc32c")) {
      const std::string digits = text(crc, "crc32c");
      if (digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
        fail("\"crc32c\" is no list of eight hexadecimal digits");
      }
      info.checksums.push_back(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)));
    }
    if (info.checksums.size() != info.length / kChecksumBlock + (info.length % kChecksumBlock != 0)) {
      fail(c10::str(info.checksums.size(), " checksums of ", info.length, " bytes"));
    }
    return info;
  }
  Path path(const json& list) const {
    Path path;
    if (!list.is_array() || list.empty() || list.size() > kDeepest) fail("a path is no list of up to 1000 names");
    for (const json& item : list) {
      if (item.is_string()) {
        path.push_back({item.get<std::string>(), false});
      } else if (item.is_object()) {
        const json& key = member(item, "key");
        if (!key.is_number_integer()) fail("a key in a path is no integer");
        path.push_back({key.get<int64_t>(), false});
      } else {
        path.push_back({static_cast<int64_t>(number(item, "paths")), true});
      }
    }
    return path;
  }

 private:
  const std::string where_;
};

// Writes JSON without making a document of it first: an index has as many chunks as all ranks together.
class Writer {
 public:
  Writer& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Writer& number(int64_t value) {
    text_ += std::to_string(value);
    return *this;
  }
  Writer& quoted(const std::string& text) {
    try {
      text_ += json(text).dump();
    } catch (const json::exception&) {
      TORCH_CHECK_VALUE(false, "checkpoint: a name in the state dict is no UTF-8");
    }
    return *this;
  }
  template <class List, class Write>
  Writer& list(const List& list, char open, char close, const Write& write) {
    text_ += open;
    bool is_first = true;
    for (const auto& item : list) {
      if (!is_first) text_ += ',';
      is_first = false;
      write(item);
    }
    text_ += close;
    return *this;
  }
  Writer& numbers(const Extents& extents) {
    return list(extents, '[', ']', [this](int64_t n) { number(n); });
  }
  // The members of an object, without its braces.
  Writer& storage(const StorageInfo& info) {
    raw("\"file\":").quoted(info.relative_path).raw(",\"begin\":").raw(std::to_string(info.offset));
    raw(",\"bytes\":").raw(std::to_string(info.length)).raw(",\"crc32c\":");
    return list(info.checksums, '[', ']', [this](uint32_t crc) { raw("\"").raw(hex(crc)).raw("\""); });
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

const StorageInfo& storage_of(const Metadata& metadata, const MetadataIndex& index) {
  const auto found = metadata.storage_data.find(index);
  TORCH_CHECK(found != metadata.storage_data.end(), "checkpoint: nobody wrote '", index.fqn, "'");
  return found->second;
}

// --- values ---

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

json json_of(double number) {
  if (std::isfinite(number)) return number;
  return {{"float", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"}};
}

json json_of(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string digits;
  for (const char c : text) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    digits += two;
  }
  return {{"bytes", digits}};
}

json json_of(const IValue& value, int depth) {
  TORCH_CHECK_VALUE(depth < kDeepest, "checkpoint: more than ", kDeepest, " values within one another");
  const auto list_of = [&](c10::ArrayRef<IValue> elements) {
    json list = json::array();
    for (const IValue& element : elements) list.push_back(json_of(element, depth + 1));
    return list;
  };
  if (value.isNone()) return nullptr;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return json_of(value.toDouble());
  if (value.isString()) return json_of(value.toStringRef());
  if (value.isList()) return list_of(value.toListRef());
  if (value.isTuple()) return {{"tuple", list_of(value.toTupleRef().elements())}};
  if (value.isDevice()) return {{"device", value.toDevice().str()}};
  if (value.isComplexDouble()) {
    const c10::complex<double> z = value.toComplexDouble();
    return {{"complex", {json_of(z.real()), json_of(z.imag())}}};
  }
  if (value.isGenericDict()) {
    json entries = json::array();
    for (const auto& entry : value.toGenericDict()) {
      entries.push_back({json_of(entry.key(), depth + 1), json_of(entry.value(), depth + 1)});
    }
    return {{"dict", entries}};
  }
  TORCH_CHECK_TYPE(false, "checkpoint: a value of type ", value.tag_name(), " cannot be saved");
}

template <class T>
IValue typed_list(const std::vector<IValue>& elements) {
  c10::List<T> list;
  for (const IValue& element : elements) list.push_back(element.to<T>());
  return list;
}

double double_of(const Reader& reader, const json& given) {
  if (given.is_number_float()) return given.get<double>();
  const std::string text = reader.text(reader.member(given, "float"), "float");
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  reader.fail(c10::str("\"", text, "\" is no float"));
}

IValue value_of(const Reader& reader, const json& given);

std::vector<IValue> values_of(const Reader& reader, const json& list) {
  if (!list.is_array()) reader.fail("no list");
  std::vector<IValue> elements;
  for (const json& element : list) elements.push_back(value_of(reader, element));
  return elements;
}

IValue list_of(const Reader& reader, const json& list) {
  const std::vector<IValue> elements = values_of(reader, list);
  const auto all = [&](bool (IValue::*is)() const) {
    for (const IValue& element : elements) {
      if (!(element.*is)()) return false;
    }
    return !elements.empty();
  };
  if (all(&IValue::isInt)) return typed_list<int64_t>(elements);
  if (all(&IValue::isDouble)) return typed_list<double>(elements);
  if (all(&IValue::isBool)) return typed_list<bool>(elements);
  if (all(&IValue::isString)) return typed_list<std::string>(elements);
  return elements;
}

IValue value_of(const Reader& reader, const json& given) {
  if (given.is_null()) return {};
  if (given.is_boolean()) return given.get<bool>();
  if (given.is_number_unsigned()) return static_cast<int64_t>(reader.number(given, "a value"));
  if (given.is_number_integer()) return given.get<int64_t>();
  if (given.is_number_float()) return given.get<double>();
  if (given.is_string()) return given.get<std::string>();
  if (given.is_array()) return list_of(reader, given);
  if (given.size() != 1) reader.fail("a value that is none");
  const std::string kind = given.begin().key();
  const json& content = given.begin().value();
  if (kind == "float") return double_of(reader, given);
  if (kind == "tuple") return c10::ivalue::Tuple::create(values_of(reader, content));
  if (kind == "device") {
    try {
      return c10::Device(reader.text(content, "device"));
    } catch (const c10::Error& e) {
      reader.fail(e.msg());
    }
  }
  if (kind == "complex") {
    if (!content.is_array() || content.size() != 2) reader.fail("a complex number that is none");
    return c10::complex<double>(double_of(reader, content[0]), double_of(reader, content[1]));
  }
  if (kind == "bytes") {
    const std::string digits = reader.text(content, "bytes");
    if (digits.size() % 2 != 0 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
      reader.fail("bytes that are none");
    }
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    return bytes;
  }
  if (kind == "dict") {
    if (!content.is_array()) reader.fail("a dict that is none");
    c10::Dict<IValue, IValue> dict;
    for (const json& entry : content) {
      if (!entry.is_array() || entry.size() != 2) reader.fail("an entry of a dict that is none");
      const IValue key = value_of(reader, entry[0]);
      if (!key.isString() && !key.isInt() && !key.isBool() && !key.isDouble())
        reader.fail("a key of a dict that is none");
      dict.insert_or_assign(key, value_of(reader, entry[1]));
    }
    return dict;
  }
  reader.fail(c10::str("a value of the unknown kind \"", kind.substr(0, 100), "\""));
}

}  // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

void check_metadata(const Metadata& metadata, const std::string& path, bool has_exact_lengths) {
  const Reader reader(path);
  for (const auto& [index, info] : metadata.storage_data) {
    if (!is_file_name(info.relative_path)) {
      reader.fail(c10::str("'", index.fqn, "' lies in \"", info.relative_path.substr(0, 200),
                           "\", which is no name of a file in the folder"));
    }
    uint64_t end = 0;
    if (__builtin_add_overflow(info.offset, info.length, &end)) reader.fail(c10::str("'", index.fqn, "' has no end"));
    if (metadata.files.empty()) continue;
    const auto file = metadata.files.find(info.relative_path);
    if (file == metadata.files.end()) reader.fail(c10::str("no size of ", info.relative_path));
    if (end > file->second) {
      reader.fail(c10::str("'", index.fqn, "' lies at bytes ", info.offset, " to ", end, " of ", info.relative_path,
                           ", which has ", file->second));
    }
  }
  for (const auto& [name, stored] : metadata.state_dict_metadata) {
    const auto* tensor = std::get_if<TensorStorageMetadata>(&stored);
    if (tensor == nullptr) {
      if (metadata.storage_data.count({name}) == 0) reader.fail(c10::str("'", name, "' lies nowhere"));
      continue;
    }
    const auto element = static_cast<int64_t>(c10::elementSize(tensor->properties.dtype));
    const std::optional<int64_t> numel = numel_of(tensor->size);
    int64_t bytes = 0;
    if (!numel || __builtin_mul_overflow(*numel, element, &bytes)) {
      reader.fail(c10::str("'", name, "' has sizes ", c10::IntArrayRef(tensor->size), ", which are none"));
    }
    const std::string gap = uncovered(tensor->size, tensor->chunks);
    if (!gap.empty()) {
      reader.fail(c10::str("the chunks of '", name, "' of sizes ", c10::IntArrayRef(tensor->size),
                           " do not make it up: ", gap));
    }
    for (const ChunkStorageMetadata& chunk : tensor->chunks) {
      const auto found = metadata.storage_data.find({name, chunk.offsets});
      if (found == metadata.storage_data.end()) {
        reader.fail(c10::str("the chunk of '", name, "' at ", c10::IntArrayRef(chunk.offsets), " lies nowhere"));
      }
      const auto length = static_cast<uint64_t>(numel_of(chunk.sizes).value_or(0) * element);
      if (has_exact_lengths && found->second.length != length) {
        reader.fail(c10::str("the chunk of '", name, "' at ", c10::IntArrayRef(chunk.offsets), " has ",
                             found->second.length, " bytes, and takes ", length));
      }
    }
  }
}

std::string index_text(const Metadata& metadata) {
  using Named = std::pair<const std::string, ValueStorageMetadata>;
  std::vector<const Named*> tensors, values;
  for (const Named& named : metadata.state_dict_metadata) {
    (std::holds_alternative<TensorStorageMetadata>(named.second) ? tensors : values).push_back(&named);
  }
  Writer out;
  out.raw(kChecksumBegin).raw(kNoChecksum).raw("\",\n\"format\":\"").raw(kFormat).raw("\",\"version\":1,\n\"files\":");
  out.list(metadata.files, '{', '}',
           [&](const auto& file) { out.quoted(file.first).raw(":").raw(std::to_string(file.second)); });
  out.raw(",\n\"tensors\":").list(tensors, '{', '}', [&](const Named* named) {
    const auto& tensor = std::get<TensorStorageMetadata>(named->second);
    out.raw("\n").quoted(named->first).raw(":{\"dtype\":\"").raw(c10::toString(tensor.properties.dtype));
    out.raw("\",\"size\":").numbers(tensor.size).raw(",\"chunks\":");
    out.list(tensor.chunks, '[', ']', [&](const ChunkStorageMetadata& chunk) {
      out.raw("\n{\"offsets\":").numbers(chunk.offsets).raw(",\"sizes\":").numbers(chunk.sizes).raw(",");
      out.storage(storage_of(metadata, {named->first, chunk.offsets})).raw("}");
    });
    out.raw("}");
  });
  out.raw(",\n\"values\":").list(values, '{', '}', [&](const Named* named) {
    out.raw("\n").quoted(named->first).raw(":{").storage(storage_of(metadata, {named->first})).raw("}");
  });
  out.raw(",\n\"paths\":").list(metadata.planner_data, '{', '}', [&](const auto& named) {
    out.raw("\n").quoted(named.first).raw(":").list(named.second, '[', ']', [&](const PathItem& item) {
      if (const auto* text = std::get_if<std::string>(&item.key)) {
        out.quoted(*text);
      } else if (item.is_element) {
        out.number(std::get<int64_t>(item.key));
      } else {
        out.raw("{\"key\":").number(std::get<int64_t>(item.key)).raw("}");
      }
    });
  });
  std::string text = out.raw("}\n").take();
  text.replace(kChecksumBegin.size(), kNoChecksum.size(), hex(serialize::crc32c(text)));
  return text;
}

Metadata parse_index(std::string_view text, const std::string& path) {
  const Reader reader(path);
  if (text.substr(0, kChecksumBegin.size()) != kChecksumBegin ||
      text.size() < kChecksumBegin.size() + kNoChecksum.size()) {
    reader.fail("no index of a checkpoint");
  }
  uint32_t crc = serialize::crc32c(kChecksumBegin);
  crc = serialize::crc32c(crc, kNoChecksum.data(), kNoChecksum.size());
  const std::string_view rest = text.substr(kChecksumBegin.size() + kNoChecksum.size());
  crc = serialize::crc32c(crc, rest.data(), rest.size());
  const std::string_view stored = text.substr(kChecksumBegin.size(), kNoChecksum.size());
  if (stored != hex(crc)) {
    reader.fail(c10::str("damaged: its checksum is ", hex(crc), " where ", stored, " is stored"));
  }
  const json index = reader.parse(text);
  if (reader.text(reader.member(index, "format"), "format") != kFormat) reader.fail("no index of a checkpoint");
  const uint64_t version = reader.number(reader.member(index, "version"), "version");
  if (version != 1) reader.fail(c10::str("version ", version, ", where 1 is the newest that is known"));

  Metadata metadata;
  for (const auto& [name, bytes] : reader.object(index, "files").items()) {
    if (!is_file_name(name)) reader.fail(c10::str("\"", name.substr(0, 200), "\" is no name of a file in the folder"));
    metadata.files[name] = reader.number(bytes, "files");
  }
  const auto add = [&](const std::string& name, ValueStorageMetadata stored) {
    if (!metadata.state_dict_metadata.emplace(name, std::move(stored)).second) {
      reader.fail(c10::str("'", name, "' is there twice"));
    }
  };
  for (const auto& [name, given] : reader.object(index, "tensors").items()) {
    TensorStorageMetadata tensor;
    const std::optional<c10::ScalarType> dtype = dtype_of(reader.text(reader.member(given, "dtype"), "dtype"));
    if (!dtype) reader.fail(c10::str("'", name, "' has an unknown dtype"));
    tensor.properties.dtype = *dtype;
    tensor.size = reader.extents(given, "size");
    for (const json& entry : reader.array(given, "chunks")) {
      ChunkStorageMetadata chunk{reader.extents(entry, "offsets"), reader.extents(entry, "sizes")};
      if (!metadata.storage_data.emplace(MetadataIndex{name, chunk.offsets}, reader.storage(entry)).second) {
        reader.fail(c10::str("two chunks of '", name, "' at ", c10::IntArrayRef(chunk.offsets)));
      }
      tensor.chunks.push_back(std::move(chunk));
    }
    add(name, std::move(tensor));
  }
  for (const auto& [name, given] : reader.object(index, "values").items()) {
    metadata.storage_data.emplace(MetadataIndex{name}, reader.storage(given));
    add(name, BytesStorageMetadata{});
  }
  for (const auto& [name, list] : reader.object(index, "paths").items())
    metadata.planner_data[name] = reader.path(list);
  check_metadata(metadata, path, /*has_exact_lengths=*/true);
  return metadata;
}

std::string value_text(const IValue& value) {
  return json_of(value, 0).dump();
}

IValue parse_value(std::string_view text, const std::string& where) {
  const Reader reader(where);
  return value_of(reader, reader.parse(text));
}

}  // namespace torch::distributed::checkpoint::detail
