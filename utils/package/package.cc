#include "utils/package/package.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "utils/pickle/script.h"
#include "utils/pickle/tree.h"
#include "utils/pickle/values.h"
#include "utils/pickle/zip.h"
#include "utils/serialize/utf8.h"

namespace torch::package {
namespace {

using c10::IValue;
using pickle::NodeId;
using pickle::StorageBytes;
using pickle::Tree;
using pickle::ZipReader;
using pickle::ZipRecord;

constexpr std::string_view kNotes = ".data/";
constexpr uint64_t kLargestRecord = uint64_t{1} << 40;
constexpr uint64_t kLargestNote = 4096;

bool is_name(std::string_view name, char between) {
  for (;;) {
    const size_t end = name.find(between);
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    for (const char c : part) {
      if (c == '\\' || static_cast<unsigned char>(c) < ' ') return false;
    }
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

// "a/b/weights.pkl" of "a.b" and "weights.pkl".
std::string path_of(std::string_view package, std::string_view resource) {
  TORCH_CHECK_VALUE(is_name(package, '.') && package.find('/') == std::string_view::npos, "package: '", package,
                    "' is not the name of a package");
  TORCH_CHECK_VALUE(is_name(resource, '/'), "package: '", resource, "' is not the name of a resource");
  std::string path(package);
  std::replace(path.begin(), path.end(), '.', '/');
  return path + "/" + std::string(resource);
}

class Storages final : public pickle::StorageSource {
 public:
  explicit Storages(const ZipReader& zip) : zip_(zip) {}
  StorageBytes find(std::string_view key, const Tree& tree, NodeId at) override {
    const ZipRecord* record = zip_.find(c10::str(kNotes, key, ".storage"));
    if (record == nullptr) tree.fail(at, c10::str("the file has no record ", kNotes, key, ".storage"));
    const auto bytes = std::make_shared<std::string>(zip_.read(*record, kLargestRecord));
    return {bytes->data(), bytes->size(), bytes};
  }

 private:
  const ZipReader& zip_;
};

}  // namespace

// --- PackageExporter ---

struct PackageExporter::Contents {
  std::unique_ptr<serialize::AtomicFile> file;
  serialize::Sink* sink = nullptr;
  std::deque<std::pair<std::string, std::string>> records;
  std::set<std::string> names;
  std::vector<pickle::PickledStorage> storages;
  uint64_t next_id = 0;
  bool closed = false;

  std::string new_path(std::string_view package, std::string_view resource) const {
    TORCH_CHECK(!closed, "package: the exporter is closed");
    std::string path = path_of(package, resource);
    TORCH_CHECK_VALUE(names.count(path) == 0, "package: ", path, " is there already");
    return path;
  }
  void add(std::string path, std::string bytes) {
    names.insert(path);
    records.emplace_back(std::move(path), std::move(bytes));
  }
};

PackageExporter::PackageExporter(const std::string& path) : contents_(std::make_unique<Contents>()) {
  contents_->file = std::make_unique<serialize::AtomicFile>(path);
  contents_->sink = contents_->file.get();
}
PackageExporter::PackageExporter(serialize::Sink& sink) : contents_(std::make_unique<Contents>()) {
  contents_->sink = &sink;
}
PackageExporter::~PackageExporter() = default;

void PackageExporter::save_pickle(std::string_view package, std::string_view resource, const IValue& value) {
  std::string path = contents_->new_path(package, resource);
  pickle::PickledValue pickled = pickle::pickle_value(value, contents_->storages);
  contents_->add(std::move(path), std::move(pickled.bytes));
  contents_->storages = std::move(pickled.storages);
}

void PackageExporter::save_text(std::string_view package, std::string_view resource, std::string_view text) {
  save_binary(package, resource, text);
}

void PackageExporter::save_binary(std::string_view package, std::string_view resource, std::string_view bytes) {
  contents_->add(contents_->new_path(package, resource), std::string(bytes));
}

std::string PackageExporter::get_unique_id() {
  return std::to_string(contents_->next_id++);
}

void PackageExporter::close() {
  TORCH_CHECK(!contents_->closed, "package: the exporter is closed");
  contents_->closed = true;
  pickle::ZipWriter zip(*contents_->sink, "archive");
  pickle::add_storages(zip, ".data", {{}, contents_->storages}, ".storage");
  for (const auto& [path, bytes] : contents_->records) zip.add(path, bytes.data(), bytes.size());
  // What pickles of tensors name: Python then takes it from where it is installed.
  zip.add_copy(".data/extern_modules", "torch._utils\ntorch\ncollections\n_codecs\n");
  zip.add_copy(".data/version", "6\n");
  zip.add_copy("byteorder", "little");
  zip.finish();
  if (contents_->file != nullptr) contents_->file->commit();
  contents_->storages.clear();
  contents_->records.clear();
}

// --- PackageImporter ---

struct PackageImporter::Contents {
  explicit Contents(std::shared_ptr<serialize::FileBytes> bytes) : zip(std::move(bytes)) {
    const std::string& origin = zip.bytes()->origin();
    if (zip.find(".data/version") == nullptr || zip.find(".data/extern_modules") == nullptr) {
      serialize::throw_format_error(c10::str("package: ", origin, " is not an archive of torch.package"));
    }
    TORCH_CHECK_NOT_IMPLEMENTED(note("byteorder") != "big", "package: ", origin,
                                " was written on a big-endian machine");
  }

  std::string note(std::string_view path) const {
    const ZipRecord* record = zip.find(path);
    if (record == nullptr) return "";
    std::string text = zip.read(*record, kLargestNote);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  const ZipRecord& record(std::string_view package, std::string_view resource) const {
    const std::string path = path_of(package, resource);
    const ZipRecord* record = zip.find(path);
    TORCH_CHECK_VALUE(record != nullptr, "package: ", zip.bytes()->origin(), " has no resource ", path);
    return *record;
  }

  ZipReader zip;
};

PackageImporter::PackageImporter(const std::string& path)
    : PackageImporter(std::make_shared<serialize::FileBytes>(path)) {}
PackageImporter::PackageImporter(std::shared_ptr<serialize::FileBytes> bytes)
    : contents_(std::make_unique<Contents>(std::move(bytes))) {}
PackageImporter::~PackageImporter() = default;

IValue PackageImporter::load_pickle(std::string_view package, std::string_view resource,
                                    std::optional<c10::Device> map_location) const {
  const ZipReader& zip = contents_->zip;
  const ZipRecord& record = contents_->record(package, resource);
  const std::string bytes = zip.read(record, kLargestRecord);
  // As many values as a file of this size may have that is not packed.
  const Tree tree =
      pickle::parse(bytes, {c10::str(zip.bytes()->origin(), ": ", record.name)}, zip.bytes()->view().size());
  Storages source(zip);
  pickle::LoadOptions options;
  options.map_location = map_location;
  return pickle::to_value(tree, source, options);
}

std::string PackageImporter::load_text(std::string_view package, std::string_view resource) const {
  std::string text = load_binary(package, resource);
  if (!serialize::is_utf8(text)) {
    serialize::throw_format_error(
        c10::str("package: ", contents_->zip.bytes()->origin(), ": ", path_of(package, resource), " is not UTF-8"));
  }
  return text;
}

std::string PackageImporter::load_binary(std::string_view package, std::string_view resource) const {
  return contents_->zip.read(contents_->record(package, resource), kLargestRecord);
}

bool PackageImporter::has(std::string_view package, std::string_view resource) const {
  return contents_->zip.find(path_of(package, resource)) != nullptr;
}

std::vector<std::string> PackageImporter::file_structure() const {
  std::vector<std::string> paths;
  for (const ZipRecord& record : contents_->zip.records()) {
    if (record.name.rfind(kNotes, 0) != 0 && record.name != "byteorder") paths.emplace_back(record.name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string PackageImporter::python_version() const {
  return contents_->note(".data/python_version");
}

}  // namespace torch::package
