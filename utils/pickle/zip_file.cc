#include "utils/pickle/zip_file.h"

#include <bit>
#include <utility>

#include "utils/serialize/config.h"

namespace torch::pickle {
namespace {

// What is packed may be this large, and hold this many values, and so many more for each byte of the file.
constexpr uint64_t kLargestPickle = uint64_t{1} << 26;
constexpr uint64_t kMostNodes = uint64_t{1} << 20;
constexpr uint64_t kPacked = 16;
// Of records that are read whole before anything is known of them.
constexpr uint64_t kLargestNote = 4096;

[[noreturn]] void fail(const ZipReader& zip, const std::string& what) {
  serialize::throw_format_error(c10::str("pickle: ", zip.bytes()->origin(), " at byte 0: ", what));
}

int version_of(const ZipReader& zip) {
  const ZipRecord* record = zip.find("version");
  if (record == nullptr) record = zip.find(".data/version");
  if (record == nullptr) fail(zip, "the zip file has no record version");
  std::string text = zip.read(*record, kLargestNote);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  int version = text.empty() || text.size() > 3 ? -1 : 0;
  for (const char c : text) version = version < 0 || c < '0' || c > '9' ? -1 : version * 10 + (c - '0');
  if (version < 1 || version > 10)
    fail(zip, c10::str("the file's version '", text.substr(0, 100), "' is not supported"));
  return version;
}

}  // namespace

ZipFile::ZipFile(std::shared_ptr<FileBytes> bytes) : zip_(std::move(bytes)) {
  if (zip_.find("archive_format") != nullptr || zip_.find("serialized_exported_program.json") != nullptr) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "pickle: ", origin(), " at byte 0: programs of torch.export are not read");
  }
  if (zip_.find("data.pkl") == nullptr) fail(zip_, "the zip file has no record data.pkl");
  version_ = version_of(zip_);
  if (const ZipRecord* order = zip_.find("byteorder")) {
    const std::string text = zip_.read(*order, kLargestNote);
    if (text != "little" && text != "big")
      fail(zip_, c10::str("the byte order '", text.substr(0, 100), "' is unknown"));
    big_endian_ = text == "big";
  } else if (const auto order = serialization::get_default_load_endianness(); order.has_value() && !is_script()) {
    using serialization::LoadEndianness;
    big_endian_ = *order == LoadEndianness::BIG ||
                  (*order == LoadEndianness::NATIVE && std::endian::native == std::endian::big);
  }
}

void ZipFile::verify() const {
  for (const ZipRecord& record : zip_.records()) {
    if (record.deflated) {
      const std::unique_ptr<char[]> out(new char[record.size]);
      zip_.inflate(record, out.get());
    } else {
      zip_.check(record);
    }
  }
}

ZipPickle::ZipPickle(const ZipFile& file, std::string name) : file_(file), name_(std::move(name)) {
  const ZipReader& zip = file_.zip_;
  const ZipRecord* record = zip.find(name_ + ".pkl");
  if (record == nullptr) fail(zip, c10::str("the zip file has no record ", name_, ".pkl"));
  if (record->deflated) {
    const uint64_t more = kPacked * zip.bytes()->view().size();
    unpacked_ = zip.read(*record, kLargestPickle + more);
    most_nodes_ = kMostNodes + more;
    source_ = {c10::str(file_.origin(), ": ", record->name, " (unpacked)"), 0};
    pickle_ = unpacked_;
  } else {
    pickle_ = {zip.stored(*record), record->size};
    zip.check(*record);
    source_ = {file_.origin(), record->offset};
  }
}

StorageBytes ZipPickle::find(std::string_view key, const Tree& tree, NodeId at) {
  const ZipReader& zip = file_.zip_;
  const ZipRecord* record = zip.find(c10::str(name_, "/", key));
  if (record == nullptr) tree.fail(at, c10::str("the file has no record ", name_, "/", key));
  if (serialization::skip_data::is_on()) return {nullptr, record->size};
  if (!record->deflated) {
    zip.check(*record);
    return {zip.stored(*record), record->size, zip.bytes()};
  }
  const std::shared_ptr<char[]> out(new char[record->size]);
  zip.inflate(*record, out.get());
  return {out.get(), record->size, out};
}

}  // namespace torch::pickle
