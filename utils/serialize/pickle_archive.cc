#include "utils/serialize/pickle_archive.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "utils/pickle/file.h"

namespace torch::serialize {
namespace {

using c10::IValue;

// Dicts that hold one another twice have more names than memory, those that hold themselves names without end.
constexpr size_t kMostNames = size_t{1} << 20;
constexpr size_t kMostNameBytes = size_t{1} << 26;

bool is_container(const IValue& value) {
  return value.isGenericDict() || value.isList() || value.isTuple();
}

std::string name_of(const IValue& key) {
  if (key.isString()) return key.toStringRef();
  return key.isInt() ? std::to_string(key.toInt()) : std::string();
}

// What a dict, list or tuple has under this name.
bool child(const IValue& container, std::string_view name, IValue* out) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (container.isGenericDict()) {
    const c10::Dict<IValue, IValue> dict = container.toGenericDict();
    auto found = dict.find(IValue(name));
    if (found == dict.end() && is_number) found = dict.find(IValue(number));
    if (found == dict.end()) return false;
    *out = found->value();
    return true;
  }
  const c10::ArrayRef<IValue> items =
      container.isList() ? container.toListRef() : container.toTupleRef().elementsArrayRef();
  if (!is_number || number < 0 || static_cast<size_t>(number) >= items.size()) return false;
  *out = items[static_cast<size_t>(number)];
  return true;
}

struct Entry {
  std::string name;
  IValue value;
};

// The entries of one dict, list or tuple, and the same sorted by name.
struct Level {
  IValue whole;
  std::vector<Entry> entries;
  std::vector<uint32_t> sorted;

  void sort() {
    sorted.resize(entries.size());
    for (uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return entries[a].name < entries[b].name; });
  }
  // The first entry whose name is not below `name`.
  size_t lower(std::string_view name) const {
    return static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), name,
                                                [&](uint32_t i, std::string_view n) { return entries[i].name < n; }) -
                               sorted.begin());
  }
  const Entry* find(std::string_view name) const {
    const size_t at = lower(name);
    return at < sorted.size() && entries[sorted[at]].name == name ? &entries[sorted[at]] : nullptr;
  }
  // The entries whose names begin with `prefix`, in their order.
  std::vector<uint32_t> below(std::string_view prefix) const {
    std::vector<uint32_t> out;
    for (size_t at = lower(prefix); at < sorted.size(); ++at) {
      const std::string_view name = entries[sorted[at]].name;
      if (name.substr(0, prefix.size()) != prefix) break;
      out.push_back(sorted[at]);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
};

std::shared_ptr<const Level> level_of(const IValue& value) {
  auto level = std::make_shared<Level>();
  level->whole = value;
  if (value.isGenericDict()) {
    const c10::Dict<IValue, IValue> dict = value.toGenericDict();
    level->entries.reserve(dict.size());
    for (const auto& entry : dict) level->entries.push_back({name_of(entry.key()), entry.value()});
  } else if (is_container(value)) {
    const c10::ArrayRef<IValue> items = value.isList() ? value.toListRef() : value.toTupleRef().elementsArrayRef();
    level->entries.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) level->entries.push_back({std::to_string(i), items[i]});
  } else {
    level->entries.push_back({"0", value});
  }
  level->sort();
  return level;
}

class PickleArchive final : public ArchiveReader {
 public:
  PickleArchive(std::shared_ptr<const Level> level, std::string prefix)
      : level_(std::move(level)), prefix_(std::move(prefix)) {}

  std::vector<ArchiveKey> keys(bool recursive) const override;
  bool read(const std::string& key, at::Tensor& tensor, bool is_buffer) const override;
  bool read(const std::string& key, IValue& value) const override;
  bool read(const std::string& key, std::vector<int64_t>& list) const override;
  bool read(const std::string& key, std::vector<double>& list) const override;
  std::shared_ptr<const ArchiveReader> archive(const std::string& key) const override;
  bool whole(IValue& value) const override {
    value = level_->whole;
    return prefix_.empty();
  }
  bool describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const override;

 private:
  bool find(const std::string& key, IValue* value) const;
  std::vector<ArchiveKey> all_keys() const;

  std::shared_ptr<const Level> level_;
  std::string prefix_;
};

EntryKind kind_of(const IValue& value) {
  return value.isTensor() ? EntryKind::kTensor : value.isGenericDict() ? EntryKind::kArchive : EntryKind::kValue;
}

std::vector<ArchiveKey> PickleArchive::keys(bool recursive) const {
  if (recursive) return all_keys();
  // By first mention; the kinds of one name together.
  std::vector<std::pair<std::string_view, std::vector<EntryKind>>> found;
  std::unordered_map<std::string_view, size_t> numbers;
  for (const uint32_t i : level_->below(prefix_)) {
    const std::string_view rest = std::string_view(level_->entries[i].name).substr(prefix_.size());
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    const EntryKind kind = dot == std::string_view::npos ? kind_of(level_->entries[i].value) : EntryKind::kArchive;
    const auto [at, fresh] = numbers.emplace(name, found.size());
    if (fresh) found.push_back({name, {}});
    auto& kinds = found[at->second].second;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::vector<ArchiveKey> out;
  for (const auto& [name, kinds] : found) {
    for (const EntryKind kind : kinds) out.push_back({std::string(name), kind});
  }
  return out;
}

std::vector<ArchiveKey> PickleArchive::all_keys() const {
  std::vector<ArchiveKey> out;
  std::vector<Entry> left;  // the next one last
  size_t names = 0, bytes = 0;
  const auto add = [&](std::string name, const IValue& value) {
    bytes += name.size();
    if (++names > kMostNames) throw_format_error(c10::str("archive: more than ", kMostNames, " names"));
    if (bytes > kMostNameBytes) throw_format_error(c10::str("archive: more than ", kMostNameBytes, " bytes of names"));
    left.push_back({std::move(name), value});
  };
  const std::vector<uint32_t> mine = level_->below(prefix_);
  for (size_t i = mine.size(); i-- > 0;) {
    const Entry& entry = level_->entries[mine[i]];
    add(entry.name.substr(prefix_.size()), entry.value);
  }
  while (!left.empty()) {
    Entry entry = std::move(left.back());
    left.pop_back();
    if (!entry.value.isGenericDict()) {
      out.push_back({std::move(entry.name), kind_of(entry.value)});
    } else {
      const std::shared_ptr<const Level> below = level_of(entry.value);
      for (size_t i = below->entries.size(); i-- > 0;) {
        add(entry.name + "." + below->entries[i].name, below->entries[i].value);
      }
    }
  }
  return out;
}

bool PickleArchive::find(const std::string& key, IValue* value) const {
  const std::string name = prefix_ + key;
  if (const Entry* entry = level_->find(name)) {
    *value = entry->value;
    return true;
  }
  // A name of dicts within dicts.
  for (size_t dot = name.find('.', prefix_.size()); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const Entry* entry = level_->find(std::string_view(name).substr(0, dot));
    if (entry == nullptr || !is_container(entry->value)) continue;
    IValue at = entry->value;
    std::string_view rest = std::string_view(name).substr(dot + 1);
    while (true) {
      IValue next;
      if (child(at, rest, &next)) {
        *value = std::move(next);
        return true;
      }
      const size_t end = rest.find('.');
      if (end == std::string_view::npos || !child(at, rest.substr(0, end), &next) || !is_container(next)) break;
      at = std::move(next);
      rest.remove_prefix(end + 1);
    }
  }
  return false;
}

bool PickleArchive::read(const std::string& key, at::Tensor& tensor, bool /*is_buffer*/) const {
  IValue value;
  if (!find(key, &value) || !value.isTensor()) return false;
  tensor = value.toTensor();
  return true;
}

bool PickleArchive::read(const std::string& key, IValue& value) const {
  IValue found;
  if (!find(key, &found) || found.isTensor()) return false;
  value = found.isList()          ? IValue(found.toList().copy())
          : found.isGenericDict() ? IValue(found.toGenericDict().copy())
                                  : found;
  return true;
}

template <class T>
void copy_numbers(const std::string& key, const IValue& value, bool (IValue::*is)() const, T (*get)(const IValue&),
                  std::vector<T>& out) {
  TORCH_CHECK_TYPE(value.isList(), "archive: the value of '", key, "' is of another kind: ", value.tag_name());
  out.clear();
  out.reserve(value.toListRef().size());
  for (const IValue& item : value.toListRef()) {
    TORCH_CHECK_TYPE((item.*is)(), "archive: the value of '", key, "' is a list of another kind: ", item.tag_name());
    out.push_back(get(item));
  }
}

bool PickleArchive::read(const std::string& key, std::vector<int64_t>& list) const {
  IValue value;
  if (!find(key, &value) || value.isTensor()) return false;
  copy_numbers<int64_t>(key, value, &IValue::isInt, [](const IValue& v) { return v.toInt(); }, list);
  return true;
}

bool PickleArchive::read(const std::string& key, std::vector<double>& list) const {
  IValue value;
  if (!find(key, &value) || value.isTensor()) return false;
  copy_numbers<double>(key, value, &IValue::isDouble, [](const IValue& v) { return v.toDouble(); }, list);
  return true;
}

std::shared_ptr<const ArchiveReader> PickleArchive::archive(const std::string& key) const {
  const std::string below = prefix_ + key + ".";
  const size_t at = level_->lower(below);
  if (at < level_->sorted.size() && level_->entries[level_->sorted[at]].name.compare(0, below.size(), below) == 0) {
    return std::make_shared<PickleArchive>(level_, below);
  }
  IValue value;
  if (!find(key, &value) || !is_container(value)) return nullptr;
  return std::make_shared<PickleArchive>(level_of(value), "");
}

bool PickleArchive::describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const {
  IValue value;
  if (!find(key, &value) || !value.isTensor()) return false;
  *dtype = value.toTensor().scalar_type();
  *sizes = value.toTensor().sizes().vec();
  return true;
}

// The same tensor apart from gradients, as it stands in a state dict.
IValue detached(const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(!tensor.is_nested(), "pickle: nested tensors cannot be saved");
  const c10::TensorImpl& t = *tensor.unsafeGetTensorImpl();
  if (t.layout() != c10::Layout::Strided) return IValue(at::Tensor(t.shallow_copy()));
  return IValue(at::Tensor(
      at::TensorImpl::strided(t.storage(), t.dtype(), t.device(), t.sizes(), t.strides(), t.storage_offset())));
}

c10::Dict<IValue, IValue> state_dict_of(const ArchiveContents& contents) {
  c10::Dict<IValue, IValue> dict;
  struct Place {
    const ArchiveContents* contents;
    size_t next;
    std::string prefix;
  };
  std::vector<Place> left = {{&contents, 0, ""}};
  std::unordered_set<const ArchiveContents*> open = {&contents};
  while (!left.empty()) {
    Place& place = left.back();
    if (place.next == place.contents->entries.size()) {
      open.erase(place.contents);
      left.pop_back();
      continue;
    }
    const ArchiveContents::Entry& entry = place.contents->entries[place.next++];
    const std::string name = place.prefix + entry.key;
    IValue value = entry.value;
    if (entry.kind == EntryKind::kTensor) value = detached(entry.tensor);
    if (entry.kind == EntryKind::kArchive) {
      if (!entry.archive->entries.empty()) {
        TORCH_CHECK_VALUE(open.insert(entry.archive.get()).second, "archive: '", name, "' holds itself");
        left.push_back({entry.archive.get(), 0, name + "."});
        continue;
      }
      value = c10::Dict<IValue, IValue>();
    }
    TORCH_CHECK_VALUE(dict.insert(IValue(name), value).second, "archive: '", name, "' was written twice");
  }
  return dict;
}

class PickleFormat final : public ArchiveFormat {
 public:
  std::string_view name() const override { return "pickle"; }
  bool recognises(std::string_view bytes) const override { return pickle::recognises(bytes); }
  std::shared_ptr<const ArchiveReader> open(std::shared_ptr<FileBytes> bytes, bool verify,
                                            std::optional<c10::Device> device) const override {
    pickle::LoadOptions options;
    options.map_location = device;
    options.verify = verify;
    return std::make_shared<PickleArchive>(level_of(pickle::load(std::move(bytes), options)), "");
  }
  // Every record has a checksum, whether one is asked for or not.
  void write(const ArchiveContents& contents, Sink& sink, bool /*checksum*/) const override {
    if (contents.shape == ArchiveContents::Shape::kValue && contents.entries.size() == 1) {
      const ArchiveContents::Entry& entry = contents.entries[0];
      return pickle::save(entry.kind == EntryKind::kTensor ? IValue(entry.tensor) : entry.value, sink);
    }
    if (contents.shape == ArchiveContents::Shape::kList) {
      c10::List<IValue> list;
      for (const ArchiveContents::Entry& entry : contents.entries) {
        list.push_back(entry.kind == EntryKind::kTensor ? IValue(entry.tensor) : entry.value);
      }
      return pickle::save(IValue(list), sink);
    }
    pickle::save(IValue(state_dict_of(contents)), sink, /*ordered=*/true);
  }
};

}  // namespace

const ArchiveFormat& pickle_archive_format() {
  static const PickleFormat format;
  return format;
}

}  // namespace torch::serialize
