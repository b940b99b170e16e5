#include "utils/pickle/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "c10/util/string_util.h"

namespace torch::pickle {
namespace {

constexpr uint32_t kLocal = 0x04034b50;
constexpr uint32_t kCentral = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint32_t kIn64 = 0xffffffff;
constexpr uint64_t kAlignment = 64;
// Deflate packs a run at 1032 to 1 at best.
constexpr uint64_t kMostInflation = 1040;

template <class T>
T get(std::string_view bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t crc_of(const void* data, uint64_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
}

}  // namespace

bool is_zip(std::string_view bytes) {
  return bytes.size() >= 4 && (get<uint32_t>(bytes, 0) == kLocal || get<uint32_t>(bytes, 0) == kEnd);
}

ZipReader::ZipReader(std::shared_ptr<FileBytes> bytes) : bytes_(std::move(bytes)) {
  read_directory();
}

void ZipReader::fail(uint64_t offset, const std::string& what) const {
  serialize::throw_format_error(c10::str("zip: ", bytes_->origin(), " at byte ", offset, ": ", what));
}

void ZipReader::read_directory() {
  const std::string_view file = bytes_->view();
  if (file.size() < kEndBytes) fail(file.size(), "the file ends before the directory of its records");
  // The end record lies behind everything else, before a comment of at most 65,535 bytes.
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last > 65535 ? last - 65535 : 0;
  uint64_t end = last + 1;
  while (end-- > first) {
    if (get<uint32_t>(file, end) == kEnd && end + kEndBytes + get<uint16_t>(file, end + 20) == file.size()) break;
    if (end == first) fail(file.size(), "there is no directory of records at the end: truncated, or no zip file");
  }
  uint64_t count = get<uint16_t>(file, end + 10);
  uint64_t size = get<uint32_t>(file, end + 12);
  uint64_t offset = get<uint32_t>(file, end + 16);
  if (get<uint16_t>(file, end + 4) != 0 || get<uint16_t>(file, end + 6) != 0 || get<uint16_t>(file, end + 8) != count) {
    fail(end, "part of a set of several disks");
  }
  uint64_t behind = end;  // the directory ends here
  if (end >= kLocator64Bytes && get<uint32_t>(file, end - kLocator64Bytes) == kLocator64) {
    const uint64_t locator = end - kLocator64Bytes;
    const uint64_t at = get<uint64_t>(file, locator + 8);
    if (get<uint32_t>(file, locator + 4) != 0 || get<uint32_t>(file, locator + 16) > 1) {
      fail(locator, "part of a set of several disks");
    }
    if (locator < kEnd64Bytes || at > locator - kEnd64Bytes || get<uint32_t>(file, at) != kEnd64) {
      fail(locator, c10::str("the zip64 end record is not at byte ", at));
    }
    const uint64_t count64 = get<uint64_t>(file, at + 32);
    if (get<uint32_t>(file, at + 16) != 0 || get<uint32_t>(file, at + 20) != 0 ||
        get<uint64_t>(file, at + 24) != count64) {
      fail(at, "part of a set of several disks");
    }
    const uint64_t size64 = get<uint64_t>(file, at + 40), offset64 = get<uint64_t>(file, at + 48);
    if ((count != 0xffff && count != count64) || (size != kIn64 && size != size64) ||
        (offset != kIn64 && offset != offset64)) {
      fail(at, "the two end records differ");
    }
    count = count64, size = size64, offset = offset64, behind = at;
  }
  if (offset > behind || size > behind - offset || offset + size != behind) {
    fail(end, c10::str("the directory is said to have ", size, " bytes from byte ", offset, " on, but ends at byte ",
                       behind));
  }
  if (count > size / kCentralBytes) {
    fail(end, c10::str(count, " records are announced in a directory of ", size, " bytes"));
  }
  if (count == 0) fail(end, "there are no records");
  read_entries(offset, size, count);
}

void ZipReader::read_entries(uint64_t offset, uint64_t bytes, uint64_t count) {
  const std::string_view file = bytes_->view();
  const uint64_t directory = offset, end = offset + bytes;
  records_.reserve(count);
  spans_.reserve(count);
  by_name_.reserve(count);
  std::string_view top;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - offset < kCentralBytes || get<uint32_t>(file, offset) != kCentral) {
      fail(offset, c10::str("entry ", i, " of ", count, " is missing in the directory"));
    }
    const uint16_t flags = get<uint16_t>(file, offset + 8), method = get<uint16_t>(file, offset + 10);
    ZipRecord record;
    record.crc = get<uint32_t>(file, offset + 16);
    record.packed = get<uint32_t>(file, offset + 20);
    record.size = get<uint32_t>(file, offset + 24);
    const uint64_t name_bytes = get<uint16_t>(file, offset + 28), extra_bytes = get<uint16_t>(file, offset + 30),
                   comment_bytes = get<uint16_t>(file, offset + 32);
    uint64_t header = get<uint32_t>(file, offset + 42);
    if (get<uint16_t>(file, offset + 34) != 0) fail(offset, "part of a set of several disks");
    if (name_bytes + extra_bytes + comment_bytes > end - offset - kCentralBytes) {
      fail(offset, "the entry reaches past the directory's end");
    }
    const std::string_view name = file.substr(offset + kCentralBytes, name_bytes);
    // What does not fit into 32 bits stands in extra field 1, in this order.
    uint64_t* wide[] = {record.size == kIn64 ? &record.size : nullptr,
                        record.packed == kIn64 ? &record.packed : nullptr, header == kIn64 ? &header : nullptr};
    const bool needs_wide = wide[0] != nullptr || wide[1] != nullptr || wide[2] != nullptr;
    bool has_wide = false;
    std::string_view extra = file.substr(offset + kCentralBytes + name_bytes, extra_bytes);
    while (extra.size() >= 4 && !has_wide) {
      const uint16_t id = get<uint16_t>(extra, 0), length = get<uint16_t>(extra, 2);
      if (length > extra.size() - 4) break;
      if (id == 1) {
        uint64_t at = 4;
        for (uint64_t* value : wide) {
          if (value == nullptr) continue;
          if (at + 8 > 4u + length) fail(offset, "the zip64 field is too short");
          *value = get<uint64_t>(extra, at);
          at += 8;
        }
        has_wide = true;
      }
      extra.remove_prefix(4u + length);
    }
    if (needs_wide && !has_wide) fail(offset, "the zip64 field is missing");
    if ((flags & 0x2041) != 0) fail(offset, "the record is encrypted");
    if (method != 0 && method != 8) fail(offset, c10::str("compression method ", method, " is not supported"));
    record.deflated = method == 8;
    if (!record.deflated && record.size != record.packed) fail(offset, "a stored record has two sizes");
    if (record.size / kMostInflation > record.packed) {
      fail(offset, c10::str(record.packed, " bytes cannot unpack to ", record.size));
    }
    if (i == 0) top = name.substr(0, name.find('/') == std::string_view::npos ? 0 : name.find('/') + 1);
    const bool below = name.size() >= top.size() && name.substr(0, top.size()) == top;
    locate(record, header, directory, name);
    // What lies beside the top folder is no record, but it must be sound all the same.
    record.name = below ? name.substr(top.size()) : std::string_view();
    if (!record.name.empty() && record.name.back() != '/') {
      if (!by_name_.emplace(record.name, static_cast<uint32_t>(records_.size())).second) {
        fail(offset, c10::str("the record '", record.name.substr(0, 200), "' comes twice"));
      }
      records_.push_back(record);
    }
    offset += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  if (offset != end) fail(offset, "the directory has more entries than it says");
  check_overlaps(std::move(spans_));
}

void ZipReader::locate(ZipRecord& record, uint64_t header, uint64_t directory, std::string_view name) {
  const std::string_view file = bytes_->view();
  if (header > directory || directory - header < kLocalBytes || get<uint32_t>(file, header) != kLocal) {
    fail(std::min<uint64_t>(header, file.size()), c10::str("there is no record '", name.substr(0, 200), "' here"));
  }
  const uint64_t name_bytes = get<uint16_t>(file, header + 26), extra_bytes = get<uint16_t>(file, header + 28);
  const uint64_t room = directory - header - kLocalBytes;
  if (name_bytes + extra_bytes > room || record.packed > room - name_bytes - extra_bytes) {
    fail(header, c10::str("the record '", name.substr(0, 200), "' reaches into the directory"));
  }
  if (file.substr(header + kLocalBytes, name_bytes) != name) {
    fail(header, c10::str("the record is called otherwise than in the directory ('", name.substr(0, 200), "')"));
  }
  if (get<uint16_t>(file, header + 8) != (record.deflated ? 8 : 0)) {
    fail(header, "the record is packed otherwise than the directory says");
  }
  record.offset = header + kLocalBytes + name_bytes + extra_bytes;
  spans_.emplace_back(header, record.offset + record.packed);
}

void ZipReader::check_overlaps(std::vector<std::pair<uint64_t, uint64_t>> spans) const {
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].first < spans[i - 1].second) fail(spans[i].first, "records overlap");
  }
}

const ZipRecord* ZipReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &records_[found->second];
}

void ZipReader::check(const ZipRecord& record, std::string_view unpacked) const {
  if (record.crc == 0) return;
  const uint32_t crc = crc_of(unpacked.data(), unpacked.size());
  if (crc != record.crc) {
    fail(record.offset, c10::str("the record '", record.name, "' is damaged: its checksum is ", crc, " where ",
                                 record.crc, " is stored"));
  }
}

void ZipReader::inflate(const ZipRecord& record, char* out) const {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail(record.offset, "zlib cannot start");
  const std::unique_ptr<z_stream, int (*)(z_streamp)> guard(&stream, &inflateEnd);
  constexpr uint64_t kPiece = uint64_t{1} << 30;
  stream.next_in = reinterpret_cast<Bytef*>(stored(record));
  stream.next_out = reinterpret_cast<Bytef*>(out);
  uint64_t in = record.packed, room = record.size;
  // A byte behind the end tells data that unpacks to more.
  Bytef beyond = 0;
  int status = Z_OK;
  bool at_end = false;
  while (status == Z_OK) {
    if (stream.avail_in == 0) in -= (stream.avail_in = static_cast<uInt>(std::min(in, kPiece)));
    if (stream.avail_out == 0 && room == 0) {
      if (at_end) break;
      at_end = true;
      stream.next_out = &beyond, stream.avail_out = 1;
    } else if (stream.avail_out == 0) {
      room -= (stream.avail_out = static_cast<uInt>(std::min(room, kPiece)));
    }
    status = ::inflate(&stream, Z_NO_FLUSH);
  }
  const bool full = at_end ? stream.avail_out == 1 : (room == 0 && stream.avail_out == 0);
  if (status != Z_STREAM_END || !full) {
    fail(record.offset, c10::str("the record '", record.name, "' does not unpack to its ", record.size, " bytes"));
  }
}

std::string ZipReader::read(const ZipRecord& record, uint64_t limit) const {
  if (record.size > limit) {
    fail(record.offset, c10::str("the record '", record.name, "' has ", record.size, " bytes, more than ", limit));
  }
  std::string out;
  if (record.deflated) {
    out.resize(record.size);
    inflate(record, out.data());
  } else {
    out.assign(stored(record), record.size);
  }
  check(record, out);
  return out;
}

void ZipWriter::put(const std::string& bytes) {
  sink_.write(bytes.data(), bytes.size());
  offset_ += bytes.size();
}

void ZipWriter::add(std::string_view record, const void* data, uint64_t size) {
  Entry entry{top_ + "/" + std::string(record), offset_, size, size == 0 ? 0 : crc_of(data, size)};
  const bool wide = size >= kIn64;
  std::string header;
  append(header, kLocal);
  append(header, uint16_t{0});       // version
  append(header, uint16_t{0x0800});  // names are UTF-8
  append(header, uint16_t{0});       // stored
  append(header, uint32_t{0});       // time and date
  append(header, entry.crc);
  append(header, wide ? kIn64 : static_cast<uint32_t>(size));
  append(header, wide ? kIn64 : static_cast<uint32_t>(size));
  append(header, static_cast<uint16_t>(entry.name.size()));
  const uint64_t before = offset_ + kLocalBytes + entry.name.size() + (wide ? 20 : 0) + 4;
  const uint64_t padding = (kAlignment - before % kAlignment) % kAlignment;
  append(header, static_cast<uint16_t>((wide ? 20 : 0) + 4 + padding));
  header += entry.name;
  if (wide) {
    append(header, uint16_t{1});
    append(header, uint16_t{16});
    append(header, size);
    append(header, size);
  }
  header += "FB";
  append(header, static_cast<uint16_t>(padding));
  header.append(padding, 'Z');
  put(header);
  if (size > 0) sink_.write(data, size);
  offset_ += size;
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  // Two numbers of 20 digits, one of the names and one of the contents.
  uint64_t names = 14695981039346656037u, contents = names;
  for (const Entry& entry : entries_) {
    for (const char c : entry.name) names = (names ^ static_cast<unsigned char>(c)) * 1099511628211u;
    contents = (contents ^ entry.crc) * 1099511628211u;
  }
  std::string id;
  for (const uint64_t number : {names, contents}) {
    const std::string digits = std::to_string(number);
    id += std::string(20 - digits.size(), '0') + digits;
  }
  add(".data/serialization_id", id.data(), id.size());

  const uint64_t directory = offset_;
  std::string out;
  for (const Entry& entry : entries_) {
    const bool wide_size = entry.size >= kIn64, wide_offset = entry.header >= kIn64;
    const uint16_t extra = static_cast<uint16_t>((wide_size ? 16 : 0) + (wide_offset ? 8 : 0));
    append(out, kCentral);
    append(out, uint16_t{0});
    append(out, uint16_t{0});
    append(out, uint16_t{0x0800});
    append(out, uint16_t{0});
    append(out, uint32_t{0});
    append(out, entry.crc);
    append(out, wide_size ? kIn64 : static_cast<uint32_t>(entry.size));
    append(out, wide_size ? kIn64 : static_cast<uint32_t>(entry.size));
    append(out, static_cast<uint16_t>(entry.name.size()));
    append(out, static_cast<uint16_t>(extra == 0 ? 0 : extra + 4));
    append(out, uint16_t{0});  // comment
    append(out, uint16_t{0});  // disk
    append(out, uint16_t{0});
    append(out, uint32_t{0});
    append(out, wide_offset ? kIn64 : static_cast<uint32_t>(entry.header));
    out += entry.name;
    if (extra != 0) {
      append(out, uint16_t{1});
      append(out, extra);
      if (wide_size) append(out, entry.size), append(out, entry.size);
      if (wide_offset) append(out, entry.header);
    }
  }
  const uint64_t size = out.size(), end64 = directory + size, count = entries_.size();
  append(out, kEnd64);
  append(out, uint64_t{kEnd64Bytes - 12});
  append(out, uint32_t{0});  // versions
  append(out, uint32_t{0});  // disks
  append(out, uint32_t{0});
  append(out, count);
  append(out, count);
  append(out, size);
  append(out, directory);
  append(out, kLocator64);
  append(out, uint32_t{0});
  append(out, end64);
  append(out, uint32_t{1});
  append(out, kEnd);
  append(out, uint32_t{0});
  const auto count16 = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  append(out, count16);
  append(out, count16);
  append(out, static_cast<uint32_t>(std::min<uint64_t>(size, kIn64)));
  append(out, static_cast<uint32_t>(std::min<uint64_t>(directory, kIn64)));
  append(out, uint16_t{0});
  put(out);
}

}  // namespace torch::pickle
