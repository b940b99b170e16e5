#include "utils/pickle/file.h"

#include "utils/pickle/bare_pickle.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "utils/pickle/names.h"
#include "utils/pickle/tar.h"
#include "utils/pickle/zip_file.h"

namespace torch::pickle {
namespace {

using serialize::FileBytes;

constexpr std::string_view kLegacyStart = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46";
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
bool is_legacy(std::string_view bytes) {
  return bytes.substr(0, kLegacyStart.size()) == kLegacyStart;
}

[[noreturn]] void fail(const FileBytes& bytes, const std::string& what) {
  serialize::throw_format_error(c10::str("pickle: ", bytes.origin(), " at byte 0: ", what));
}

// What is left of objects where their classes' code is not read: dicts of attributes.
class Attributes final : public ScriptObjects {
 public:
  std::optional<c10::IValue> make(const std::string&) override { return std::nullopt; }
  void set_state(const c10::IValue&, const c10::IValue&) override {}
  std::optional<c10::IValue> member(const std::string&, const c10::IValue&) override { return std::nullopt; }
  c10::IValue tagged(const c10::IValue& value, const std::string&) override { return value; }
};

// Five pickles, then the storages.
class LegacyFile : public StorageSource {
 public:
  explicit LegacyFile(std::shared_ptr<FileBytes> bytes) : bytes_(std::move(bytes)) {
    const Tree magic = next();
    const Node& number = magic[magic.root()];
    if (number.kind != NodeKind::kLong || number.view() != kLegacyMagic)
      magic.fail(magic.root(), "no magic number of PyTorch's");
    const Tree protocol = next();
    if (integer_of(protocol, protocol.root(), "the protocol version") != 1001) {
      protocol.fail(protocol.root(), "the protocol version is not 1001");
    }
    const Tree system = next();
    if (system[system.root()].kind != NodeKind::kDict)
      system.fail(system.root(), "the notes on the system are no dict");
  }

  // After the constructor: the object, then what follows it.
  Tree read_object() {
    Tree object = next();
    find_storages(object);
    return object;
  }
  Tree object_only() { return next(); }

  StorageBytes find(std::string_view key, const Tree& tree, NodeId at) override {
    const auto found = storages_.find(std::string(key));
    if (found == storages_.end()) tree.fail(at, c10::str("the file has no storage '", key, "'"));
    return {bytes_->data() + found->second.offset, found->second.size, bytes_};
  }

 private:
  struct Stored {
    uint64_t offset;
    uint64_t size;
  };

  Tree next() {
    Tree tree = parse(bytes_->view().substr(at_), {bytes_->origin(), at_});
    at_ += tree.bytes();
    return tree;
  }
  [[noreturn]] void fail_here(const std::string& what) const {
    serialize::throw_format_error(c10::str("pickle: ", bytes_->origin(), " at byte ", at_, ": ", what));
  }

  void find_storages(const Tree& object) {
    // The dtype under which a storage is seen first is what its elements are counted in.
    std::unordered_map<std::string, c10::ScalarType> mentioned;
    Storages ids(object, *this, std::nullopt);
    for (NodeId id = 0; id < object.size(); ++id) {
      if (object[id].kind != NodeKind::kPersistent) continue;
      const c10::ScalarType dtype = ids.dtype_of(id);
      mentioned.emplace(object[object[object[id].a].items[2]].view(), dtype);
    }
    const Tree keys = next();
    const Node& list = keys[keys.root()];
    if (list.kind != NodeKind::kList) keys.fail(keys.root(), "the keys of the storages are no list");
    if (list.items.size() != mentioned.size()) {
      keys.fail(keys.root(), c10::str(list.items.size(), " storages are listed and ", mentioned.size(), " are used"));
    }
    const std::string_view file = bytes_->view();
    for (const NodeId item : list.items) {
      const std::string key(text_of(keys, item, "the key of a storage"));
      const auto found = mentioned.find(key);
      if (found == mentioned.end()) keys.fail(item, c10::str("storage '", key.substr(0, 100), "' is not used"));
      if (storages_.count(key) != 0) keys.fail(item, c10::str("storage '", key, "' comes twice"));
      if (file.size() - at_ < 8) fail_here(c10::str("the file ends before storage '", key, "'"));
      int64_t count = 0;
      std::memcpy(&count, file.data() + at_, sizeof count);
      const auto element = static_cast<int64_t>(c10::elementSize(found->second));
      if (count < 0 || count > static_cast<int64_t>(file.size() - at_ - 8) / element) {
        fail_here(c10::str("storage '", key, "' is said to have ", count, " elements, which the file has not"));
      }
      storages_.emplace(key, Stored{at_ + 8, static_cast<uint64_t>(count * element)});
      at_ += 8 + static_cast<uint64_t>(count * element);
    }
  }

  std::shared_ptr<FileBytes> bytes_;
  uint64_t at_ = 0;
  std::unordered_map<std::string, Stored> storages_;
};

}  // namespace

bool recognises(std::string_view bytes) {
  return is_zip(bytes) || is_legacy(bytes) || is_tar(bytes);
}

c10::IValue load(std::shared_ptr<FileBytes> bytes, const LoadOptions& options) {
  if (is_legacy(bytes->view())) {
    if (options.verify) fail(*bytes, "a file of the legacy format has no checksum");
    LegacyFile file(std::move(bytes));
    const Tree object = file.read_object();
    return to_value(object, file, options);
  }
  if (is_tar(bytes->view())) {
    if (options.verify) fail(*bytes, "a file of the oldest format has no checksum");
    TarFile file(std::move(bytes));
    const Tree object = file.read(options.map_location);
    return to_value(object, file, options);
  }
  if (!is_zip(bytes->view())) {
    // Zip files may have something in front of them.
    if (bytes->view().size() < 4) fail(*bytes, "the file is too short to hold anything");
  }
  const ZipFile file(std::move(bytes));
  if (options.verify) file.verify();
  ZipPickle pickle(file, "data");
  const Tree tree = pickle.read();
  Attributes attributes;
  return to_value(tree, pickle, options, file.is_script() ? &attributes : nullptr);
}

c10::IValue load(const std::string& path, const LoadOptions& options) {
  return load(serialize::open_for_load(path), options);
}

std::string inspect(std::shared_ptr<FileBytes> bytes, size_t limit) {
  if (is_legacy(bytes->view())) {
    LegacyFile file(std::move(bytes));
    const Tree tree = file.object_only();
    return describe(tree, tree.root(), limit);
  }
  if (is_tar(bytes->view())) {
    TarFile file(std::move(bytes));
    const Tree tree = file.read_object_only();
    return describe(tree, tree.root(), limit);
  }
  const ZipFile file(std::move(bytes));
  const ZipPickle pickle(file, "data");
  const Tree tree = pickle.read();
  return describe(tree, tree.root(), limit);
}

std::string inspect(const std::string& path, size_t limit) {
  return inspect(std::make_shared<FileBytes>(path), limit);
}

}  // namespace torch::pickle

namespace torch::serialization {

std::vector<std::string> get_unsafe_globals_in_checkpoint(const std::string& path) {
  auto bytes = std::make_shared<serialize::FileBytes>(path);
  if (pickle::is_tar(bytes->view())) {
    return pickle::unknown_globals(pickle::TarFile(std::move(bytes)).read_object_only());
  }
  if (pickle::is_legacy(bytes->view())) {
    pickle::LegacyFile file(std::move(bytes));
    return pickle::unknown_globals(file.object_only());
  }
  const pickle::ZipFile file(std::move(bytes));
  return pickle::unknown_globals(pickle::ZipPickle(file, "data").read());
}

}  // namespace torch::serialization

namespace torch::jit {
namespace {

class NoStorages final : public torch::pickle::StorageSource {
 public:
  torch::pickle::StorageBytes find(std::string_view, const torch::pickle::Tree& tree, torch::pickle::NodeId at) override {
    tree.fail(at, "a pickle by itself has no storages");
  }
};

}  // namespace

c10::IValue unpickle(const char* data, size_t size) {
  const std::string bytes(data, size);
  const torch::pickle::Tree tree = torch::pickle::parse(bytes, {"memory"});
  NoStorages none;
  return torch::pickle::to_value(tree, none, {});
}

}  // namespace torch::jit
