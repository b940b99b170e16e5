#include "utils/pickle/zip.h"

#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "c10/util/string_util.h"

namespace torch::pickle {
namespace {

constexpr uint32_t kLocal = 0x04034b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kLocal64Bytes = 20;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLongestComment = 65535;
// libzip tries every end record that there is.
constexpr size_t kMostEnds = 100;
// More would not fit the field of the padding.
constexpr uint64_t kLargestAlignment = 32768;
constexpr uint16_t kPaddingField = 0x4246;  // "FB"
// Deflate packs a run at 1032 to 1 at best.
constexpr uint64_t kMostInflation = 1040;
constexpr uint16_t kFirstDay = 0x21;  // 1980-01-01
// Of a record: enough to tell two files apart.
constexpr uint64_t kHashedBytes = 65536;
constexpr uint64_t kHashStart = 14695981039346656037u;
constexpr uint64_t kHashFactor = 1099511628211u;

template <class T>
T get(std::string_view bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint32_t crc_of(const void* data, uint64_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
}

class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }
  const char* text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

}  // namespace

bool is_zip(std::string_view bytes) {
  return bytes.size() >= 4 && (get<uint32_t>(bytes, 0) == kLocal || get<uint32_t>(bytes, 0) == kEnd);
}

// The file as libzip reads it, and where it reads.
class ZipReader::Source {
 public:
  explicit Source(std::string_view file) : file_(file) {}

  uint64_t position() const { return at_; }
  // The first byte read since start_reading().
  uint64_t first_read() const { return first_; }
  void start_reading() { first_ = std::numeric_limits<uint64_t>::max(); }

  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<Source*>(self)->run(data, size, command);
  }

 private:
  zip_int64_t run(void* data, uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        at_ = 0;
        return 0;
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_READ: {
        const uint64_t n = std::min(size, file_.size() - at_);
        std::memcpy(data, file_.data() + at_, n);
        first_ = std::min(first_, at_);
        at_ += n;
        return static_cast<zip_int64_t>(n);
      }
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->valid = ZIP_STAT_SIZE;
        stat->size = file_.size();
        return sizeof *stat;
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t to = zip_source_seek_compute_offset(at_, file_.size(), data, size, error_.get());
        if (to >= 0) at_ = static_cast<uint64_t>(to);
        return to < 0 ? -1 : 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(error_.get(), data, size);
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
      default:
        zip_error_set(error_.get(), ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  std::string_view file_;
  uint64_t at_ = 0;
  uint64_t first_ = 0;
  ZipError error_;
};

void ZipReader::Discard::operator()(zip* archive) const {
  zip_discard(archive);
}

ZipReader::ZipReader(std::shared_ptr<FileBytes> bytes) : bytes_(std::move(bytes)), source_(new Source(bytes_->view())) {
  const std::string_view file = bytes_->view();
  size_t ends = 0;
  const size_t tail = file.size() - std::min<size_t>(file.size(), kEndBytes + kLongestComment);
  for (size_t at = tail; (at = file.find("PK\5\6", at)) != std::string_view::npos; ++at) {
    if (++ends > kMostEnds) fail(at, "too many ends of the directory of records");
  }
  ZipError error;
  zip_source_t* source = zip_source_function_create(&Source::call, source_.get(), error.get());
  TORCH_CHECK(source != nullptr, "zip: ", error.text());
  archive_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error.get()));
  if (archive_ == nullptr) {
    zip_source_free(source);
    const bool no_zip = zip_error_code_zip(error.get()) == ZIP_ER_NOZIP;
    fail(no_zip ? file.size() : source_->position(),
         no_zip ? "there is no sound directory of records at the end: truncated, or no zip file"
                : c10::str("the directory of records is damaged: ", error.text()));
  }
  const auto count = static_cast<uint64_t>(zip_get_num_entries(archive_.get(), 0));
  if (count == 0) fail(file.size(), "there are no records");
  for (uint64_t i = 0; i < count; ++i) read_entry(i);
  check_overlaps();
}

ZipReader::~ZipReader() = default;

void ZipReader::fail(uint64_t offset, const std::string& what) const {
  serialize::throw_format_error(c10::str("zip: ", bytes_->origin(), " at byte ", offset, ": ", what));
}

void ZipReader::read_entry(uint64_t index) {
  zip_stat_t stat;
  const char* raw = zip_get_name(archive_.get(), index, ZIP_FL_ENC_RAW);
  if (raw == nullptr || zip_stat_index(archive_.get(), index, 0, &stat) != 0) {
    fail(source_->position(), c10::str("entry ", index, " of the directory cannot be read"));
  }
  const std::string_view name = raw;
  ZipRecord record;
  record.index = index;
  record.packed = stat.comp_size;
  record.size = stat.size;
  record.crc = stat.crc;
  record.deflated = stat.comp_method == ZIP_CM_DEFLATE;
  locate(record, name);
  const auto refuse = [&](const std::string& what) {
    fail(record.offset, c10::str("the record '", name.substr(0, 200), "' ", what));
  };
  if (stat.encryption_method != ZIP_EM_NONE) refuse("is encrypted");
  if (!record.deflated && stat.comp_method != ZIP_CM_STORE) {
    refuse(c10::str("is packed by method ", stat.comp_method, ", which is not supported"));
  }
  if (!record.deflated && record.size != record.packed) refuse("is stored and has two sizes");
  if (record.size / kMostInflation > record.packed) {
    refuse(c10::str("of ", record.packed, " bytes cannot unpack to ", record.size));
  }
  if (index == 0) top_ = name.substr(0, name.find('/') == std::string_view::npos ? 0 : name.find('/') + 1);
  // What lies beside the top folder is no record, but it must be sound all the same.
  if (!name.starts_with(top_)) return;
  record.name = name.substr(top_.size());
  if (record.name.empty() || record.name.back() == '/') return;
  if (!by_name_.emplace(record.name, static_cast<uint32_t>(records_.size())).second) refuse("comes twice");
  records_.push_back(record);
}

// libzip does not say where a record lies, but it reads it where it lies.
void ZipReader::locate(ZipRecord& record, std::string_view name) {
  if (record.packed == 0) return;
  source_->start_reading();
  zip_file_t* file = zip_fopen_index(archive_.get(), record.index, ZIP_FL_COMPRESSED | ZIP_FL_ENCRYPTED);
  char first = 0;
  const bool ok = file != nullptr && zip_fread(file, &first, 1) == 1;
  if (file != nullptr) zip_fclose(file);
  if (!ok) fail(source_->position(), c10::str("the record '", name.substr(0, 200), "' cannot be read"));
  record.offset = source_->position() - 1;
  if (record.packed > bytes_->view().size() - record.offset) {
    fail(record.offset, c10::str("the record '", name.substr(0, 200), "' reaches past the end of the file"));
  }
  spans_.emplace_back(source_->first_read(), record.offset + record.packed);
}

void ZipReader::check_overlaps() {
  std::sort(spans_.begin(), spans_.end());
  for (size_t i = 1; i < spans_.size(); ++i) {
    if (spans_[i].first < spans_[i - 1].second) fail(spans_[i].first, "records overlap");
  }
  spans_ = {};
}

const ZipRecord* ZipReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &records_[found->second];
}

void ZipReader::check(const ZipRecord& record) const {
  if (record.crc == 0) return;
  const uint32_t crc = crc_of(stored(record), record.size);
  if (crc != record.crc) {
    fail(record.offset, c10::str("the record '", record.name, "' is damaged: its checksum is ", crc, " where ",
                                 record.crc, " is stored"));
  }
}

void ZipReader::inflate(const ZipRecord& record, char* out) const {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(archive_.get(), record.index, 0),
                                                               &zip_fclose);
  uint64_t done = 0;
  zip_int64_t n = file == nullptr ? -1 : 1;
  while (n > 0 && done < record.size) {
    n = zip_fread(file.get(), out + done, record.size - done);
    if (n > 0) done += static_cast<uint64_t>(n);
  }
  // The checksum is compared at the end, which a byte behind it finds.
  char beyond = 0;
  if (n >= 0 && done == record.size) n = zip_fread(file.get(), &beyond, 1);
  const bool damaged = file != nullptr && n < 0 && zip_error_code_zip(zip_file_get_error(file.get())) == ZIP_ER_CRC;
  if (damaged && record.crc == 0) return;
  if (damaged) {
    fail(record.offset, c10::str("the record '", record.name, "' is damaged: its checksum is not the stored one"));
  }
  if (n != 0 || done != record.size) {
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
    check(record);
    out.assign(stored(record), record.size);
  }
  return out;
}

// What libzip writes. It goes back to a record's header when it has seen the data, and a sink takes nothing back: so
// the headers and the directory are kept here until the end. The data is not, it is in memory anyway.
class ZipWriter::Tape {
 public:
  struct Record {
    uint64_t begin;   // of the data in the file
    uint64_t before;  // bytes of data before it
    const char* data;
    uint64_t size;
  };

  // Where the data of a record with such a header will lie, rounded up.
  uint64_t next_data(uint64_t header_bytes, uint64_t alignment) const {
    return (end_ + header_bytes + alignment - 1) / alignment * alignment;
  }
  uint64_t end() const { return end_; }
  void expect(uint64_t begin, const void* data, uint64_t size) {
    const uint64_t before = records_.empty() ? 0 : records_.back().before + records_.back().size;
    records_.push_back({begin, before, static_cast<const char*>(data), size});
    end_ = begin + size;
  }
  // Whether all data came where it was expected.
  bool complete() const { return sound_; }
  void play(Sink& sink) const {
    uint64_t done = 0;
    for (const Record& r : records_) {
      const uint64_t text = r.begin - r.before;
      sink.write(text_.data() + done, text - done);
      if (r.data != nullptr) {
        if (r.size > 0) sink.write(r.data, r.size);
      } else {
        static constexpr char kZeros[65536] = {};
        for (uint64_t left = r.size, n = 0; left > 0; left -= n) sink.write(kZeros, n = std::min(left, sizeof kZeros));
      }
      done = text;
    }
    sink.write(text_.data() + done, text_.size() - done);
  }

  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<Tape*>(self)->run(data, size, command);
  }

 private:
  zip_int64_t run(void* data, uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_WRITE:
        write(static_cast<const char*>(data), size);
        return static_cast<zip_int64_t>(size);
      case ZIP_SOURCE_SEEK_WRITE: {
        const zip_int64_t to = zip_source_seek_compute_offset(at_, written_, data, size, error_.get());
        if (to >= 0) at_ = static_cast<uint64_t>(to);
        return to < 0 ? -1 : 0;
      }
      case ZIP_SOURCE_TELL_WRITE:
        return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_STAT:
        zip_stat_init(static_cast<zip_stat_t*>(data));
        return sizeof(zip_stat_t);
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(error_.get(), data, size);
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_READ:
      case ZIP_SOURCE_SEEK:
      case ZIP_SOURCE_TELL:
        zip_error_set(error_.get(), ZIP_ER_OPNOTSUPP, 0);
        return -1;
      default:
        return 0;
    }
  }

  void write(const char* data, uint64_t size) {
    // The last record that begins here or before.
    const auto behind = std::upper_bound(records_.begin(), records_.end(), at_,
                                         [](uint64_t at, const Record& r) { return at < r.begin; });
    const Record* r = behind == records_.begin() ? nullptr : &*(behind - 1);
    if (r != nullptr && at_ < r->begin + r->size) {
      sound_ &= size <= r->begin + r->size - at_ &&
                (r->data == nullptr || std::memcmp(data, r->data + (at_ - r->begin), size) == 0);
    } else {
      const uint64_t at = at_ - (r == nullptr ? 0 : r->before + r->size);
      sound_ &= at <= text_.size();
      if (sound_) text_.replace(at, size, data, size);
    }
    at_ += size;
    written_ = std::max(written_, at_);
  }

  std::vector<Record> records_;
  std::string text_;
  uint64_t end_ = 0;
  uint64_t at_ = 0;
  uint64_t written_ = 0;
  bool sound_ = true;
  ZipError error_;
};

// Data without a checksum. libzip computes one of what it stores, so this says that it is packed already, by a method
// that libzip hands on as it is, and once it is read, when libzip writes the header, that it is stored.
class ZipWriter::Bare {
 public:
  Bare(const void* data, uint64_t size) : data_(static_cast<const char*>(data)), size_(size) {}

  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<Bare*>(self)->run(data, size, command);
  }

 private:
  zip_int64_t run(void* data, uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        at_ = 0;
        return 0;
      case ZIP_SOURCE_READ: {
        const uint64_t n = std::min(size, size_ - at_);
        if (data_ == nullptr) {
          std::memset(data, 0, n);
        } else {
          std::memcpy(data, data_ + at_, n);
        }
        at_ += n;
        return static_cast<zip_int64_t>(n);
      }
      case ZIP_SOURCE_CLOSE:
        is_read_ = true;
        return 0;
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->valid = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC;
        stat->size = stat->comp_size = size_;
        stat->comp_method = is_read_ ? ZIP_CM_STORE : ZIP_CM_DEFLATE;
        stat->crc = 0;
        return sizeof *stat;
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(error_.get(), data, size);
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_READABLE;
      default:
        zip_error_set(error_.get(), ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  const char* data_;
  uint64_t size_;
  uint64_t at_ = 0;
  bool is_read_ = false;
  ZipError error_;
};

ZipWriter::ZipWriter(Sink& sink, std::string top, const Options& options)
    : sink_(sink),
      top_(std::move(top)),
      options_(options),
      tape_(new Tape),
      names_(kHashStart),
      contents_(kHashStart) {
  TORCH_CHECK_VALUE(options.alignment >= 1 && options.alignment <= kLargestAlignment,
                    "zip: expected an alignment of storages of 1 to ", kLargestAlignment, " bytes, got ",
                    options.alignment);
  ZipError error;
  zip_source_t* source = zip_source_function_create(&Tape::call, tape_.get(), error.get());
  archive_ = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, error.get());
  if (archive_ == nullptr) {
    zip_source_free(source);
    fail(error.get(), "cannot start");
  }
}

ZipWriter::~ZipWriter() {
  if (archive_ != nullptr) zip_discard(archive_);
}

void ZipWriter::fail(zip_error_t* error, const std::string& what) const {
  TORCH_CHECK(false, "zip: ", what, ": ", zip_error_strerror(error));
}

void ZipWriter::add(std::string_view record, const void* data, uint64_t size) {
  const std::string name = top_ + "/" + std::string(record);
  const bool wide = size >= std::numeric_limits<uint32_t>::max();
  const uint64_t header = kLocalBytes + name.size() + 4 + (wide ? kLocal64Bytes : 0);
  const uint64_t begin = tape_->next_data(header, options_.alignment);
  const std::string padding(begin - tape_->end() - header, 'Z');
  tape_->expect(begin, data, size);
  const bool is_zeros = data == nullptr && size > 0, is_bare = is_zeros || !options_.checksums;
  if (is_bare) bare_.push_back(std::make_unique<Bare>(data, size));
  zip_source_t* source = is_bare ? zip_source_function(archive_, &Bare::call, bare_.back().get())
                                 : zip_source_buffer(archive_, data, size, /*freep=*/0);
  const zip_int64_t added = source == nullptr ? -1 : zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) zip_source_free(source);
  const auto index = static_cast<zip_uint64_t>(added);
  const bool ok = added >= 0 && (is_bare || zip_set_file_compression(archive_, index, ZIP_CM_STORE, 0) == 0) &&
                  zip_file_set_dostime(archive_, index, 0, kFirstDay, 0) == 0 &&
                  zip_file_extra_field_set(archive_, index, kPaddingField, ZIP_EXTRA_FIELD_NEW,
                                           reinterpret_cast<const zip_uint8_t*>(padding.data()),
                                           static_cast<zip_uint16_t>(padding.size()), ZIP_FL_LOCAL) == 0;
  if (!ok) fail(zip_get_error(archive_), c10::str("the record '", record, "' cannot be added"));
  for (const char c : name) names_ = (names_ ^ static_cast<unsigned char>(c)) * kHashFactor;
  contents_ = (contents_ ^ size) * kHashFactor;
  if (is_zeros) return;
  contents_ = (contents_ ^ crc_of(data, std::min(size, kHashedBytes))) * kHashFactor;
}

void ZipWriter::add_copy(std::string_view record, std::string data) {
  copies_.push_back(std::move(data));
  add(record, copies_.back().data(), copies_.back().size());
}

void ZipWriter::finish() {
  // Two numbers of 20 digits, one of the names and one of the contents.
  std::string id;
  for (const uint64_t number : {names_, contents_}) {
    const std::string digits = std::to_string(number);
    id += std::string(20 - digits.size(), '0') + digits;
  }
  add_copy(".data/serialization_id", std::move(id));
  if (zip_close(archive_) != 0) fail(zip_get_error(archive_), "the file cannot be written");
  archive_ = nullptr;
  TORCH_CHECK(tape_->complete(), "zip: libzip lays records out otherwise than expected");
  tape_->play(sink_);
}

}  // namespace torch::pickle
