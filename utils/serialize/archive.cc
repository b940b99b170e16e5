#include "utils/serialize/archive.h"

#include <algorithm>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "utils/serialize/archive_format.h"
#include "utils/pickle/file.h"
#include "utils/serialize/pickle_archive.h"
#include "utils/serialize/safetensors_archive.h"

namespace torch::serialize {
namespace {

class StringSink : public Sink {
 public:
  void expect(uint64_t bytes) override { text.reserve(static_cast<size_t>(bytes)); }
  void write(const void* data, size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  std::string text;
};

class FunctionSink : public Sink {
 public:
  explicit FunctionSink(const std::function<size_t(const void*, size_t)>& writer) : writer_(writer) {}
  void write(const void* data, size_t bytes) override {
    const char* p = static_cast<const char*>(data);
    while (bytes > 0) {
      const size_t n = writer_(p, bytes);
      TORCH_CHECK(n > 0 && n <= bytes, "archive: the writer took ", n, " of ", bytes, " bytes");
      p += n;
      bytes -= n;
    }
  }

 private:
  const std::function<size_t(const void*, size_t)>& writer_;
};

const ArchiveFormat& format_of(std::string_view bytes) {
  for (const ArchiveFormat* format : archive_formats()) {
    if (format->recognises(bytes)) return *format;
  }
  return *archive_formats().back();
}

std::shared_ptr<const ArchiveReader> open(std::shared_ptr<FileBytes> bytes, bool verify,
                                          std::optional<c10::Device> device) {
  const ArchiveFormat& format = format_of(bytes->view());
  return format.open(std::move(bytes), verify, device);
}

// Whether a tensor is where it was asked for; "cuda" is any such device.
bool is_at(const at::Tensor& tensor, c10::Device device) {
  return tensor.device() == device || (!device.has_index() && tensor.device().type() == device.type());
}

}  // namespace

const std::vector<const ArchiveFormat*>& archive_formats() {
  static const std::vector<const ArchiveFormat*> formats = {&pickle_archive_format(), &safetensors_archive_format()};
  return formats;
}

OutputArchive::OutputArchive() : contents_(std::make_shared<ArchiveContents>()) {}
OutputArchive::OutputArchive(std::shared_ptr<jit::CompilationUnit> unit) : OutputArchive() {
  unit_ = std::move(unit);
}
OutputArchive::OutputArchive(OutputArchive&&) noexcept = default;
OutputArchive& OutputArchive::operator=(OutputArchive&&) noexcept = default;
OutputArchive::~OutputArchive() = default;

void OutputArchive::write(const std::string& key, const at::Tensor& value, bool is_buffer) {
  TORCH_CHECK_VALUE(value.defined(), "archive: the tensor '", key, "' is undefined");
  ArchiveContents::Entry entry;
  entry.key = key;
  entry.tensor = value;
  entry.is_buffer = is_buffer;
  contents_->entries.push_back(std::move(entry));
}

void OutputArchive::write(const std::string& key, const c10::IValue& value) {
  if (value.isTensor()) return write(key, value.toTensor());
  ArchiveContents::Entry entry;
  entry.key = key;
  entry.kind = EntryKind::kValue;
  entry.value = value;
  contents_->entries.push_back(std::move(entry));
}

void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  TORCH_CHECK_VALUE(&nested != this, "archive: '", key, "' is the archive itself");
  ArchiveContents::Entry entry;
  entry.key = key;
  entry.kind = EntryKind::kArchive;
  entry.archive = nested.contents_;
  contents_->entries.push_back(std::move(entry));
}

OutputArchive& OutputArchive::use_format(std::string_view name) {
  for (const ArchiveFormat* format : archive_formats()) {
    if (format->name() == name) {
      format_ = format;
      return *this;
    }
  }
  TORCH_CHECK_VALUE(false, "archive: there is no format '", name, "'");
}

bool OutputArchive::empty() const {
  return contents_->entries.empty();
}
void OutputArchive::save_as_value() {
  contents_->shape = ArchiveContents::Shape::kValue;
}
void OutputArchive::save_as_list() {
  contents_->shape = ArchiveContents::Shape::kList;
}

const ArchiveFormat& OutputArchive::format(std::string_view path) const {
  if (format_ != nullptr) return *format_;
  const ArchiveFormat& safetensors = safetensors_archive_format();
  return path.ends_with(".safetensors") ? safetensors : *archive_formats().front();
}

void OutputArchive::write_file(const std::string& path, const ArchiveFormat& format, bool checksum) const {
  AtomicFile file(path);
  format.write(*contents_, file, checksum);
  file.commit();
}

void OutputArchive::save_to(const std::string& path) const {
  write_file(path, format(path), /*checksum=*/false);
}
void OutputArchive::save_with_checksum(const std::string& path) const {
  write_file(path, safetensors_archive_format(), /*checksum=*/true);
}

void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& writer) const {
  FunctionSink sink(writer);
  format("").write(*contents_, sink, /*checksum=*/false);
}

std::string OutputArchive::to_bytes() const {
  StringSink sink;
  format("").write(*contents_, sink, /*checksum=*/false);
  return std::move(sink.text);
}

InputArchive::InputArchive() = default;
InputArchive::InputArchive(const InputArchive&) = default;
InputArchive::InputArchive(InputArchive&&) noexcept = default;
InputArchive& InputArchive::operator=(const InputArchive&) = default;
InputArchive& InputArchive::operator=(InputArchive&&) noexcept = default;
InputArchive::~InputArchive() = default;

void InputArchive::load(std::shared_ptr<FileBytes> bytes, bool verify, std::optional<c10::Device> device) {
  // What it read before goes first: both need not fit into memory.
  *this = InputArchive();
  reader_ = open(std::move(bytes), verify, device);
  device_ = device;
}

void InputArchive::load_from(const std::string& path, std::optional<c10::Device> device) {
  load(open_for_load(path), /*verify=*/false, device);
}

void InputArchive::load_verified(const std::string& path) {
  load(open_for_load(path), /*verify=*/true, std::nullopt);
}

void InputArchive::load_bytes(std::string bytes, std::optional<c10::Device> device) {
  load(std::make_shared<FileBytes>(std::move(bytes), "memory"), /*verify=*/false, device);
}

void InputArchive::load_from(const char* data, size_t size, std::optional<c10::Device> device) {
  load_bytes(std::string(data, size), device);
}

void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read,
                             const std::function<size_t()>& size, std::optional<c10::Device> device) {
  std::string bytes(size(), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t n = read(done, bytes.data() + done, bytes.size() - done);
    TORCH_CHECK(n > 0 && n <= bytes.size() - done, "archive: the reader gave ", n, " bytes at ", done, " of ",
                bytes.size());
    done += n;
  }
  load_bytes(std::move(bytes), device);
}

const ArchiveReader& InputArchive::reader() const {
  TORCH_CHECK(reader_ != nullptr, "archive: load_from() comes before reading");
  return *reader_;
}

void InputArchive::throw_missing(const std::string& key, const char* what) const {
  TORCH_CHECK(false, what, " '", prefix_, key, "'");
}

bool InputArchive::whole(c10::IValue& value) const {
  return reader().whole(value);
}

bool InputArchive::describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const {
  return reader().describe(key, dtype, sizes);
}

bool InputArchive::try_read(const std::string& key, at::Tensor& value, bool is_buffer) const {
  at::Tensor stored;
  if (!reader().read(key, stored, is_buffer)) return false;
  const at::NoGradGuard no_grad;
  if (!value.defined() && device_.has_value() && !is_at(stored, *device_)) {
    value = at::empty_contiguous(stored.sizes(), stored.scalar_type(), *device_);
  }
  if (value.defined() && value.sizes() == stored.sizes()) {
    at::copy_(value, stored);
  } else if (value.defined()) {
    value.set_data(at::to(stored, value.options(), /*non_blocking=*/false, /*copy=*/false, std::nullopt));
  } else {
    value = std::move(stored);
  }
  return true;
}

void InputArchive::read(const std::string& key, at::Tensor& value, bool is_buffer) const {
  if (!try_read(key, value, is_buffer)) throw_missing(key, "No such serialized tensor");
}

bool InputArchive::try_read(const std::string& key, c10::IValue& value) const {
  if (reader().read(key, value)) return true;
  at::Tensor tensor;
  if (!try_read(key, tensor)) return false;
  value = tensor;
  return true;
}

bool InputArchive::read_value(const std::string& key, bool (c10::IValue::*is)() const, c10::IValue& value) const {
  if (!reader().read(key, value)) return false;
  TORCH_CHECK_TYPE((value.*is)(), "archive: the value of '", prefix_, key, "' is of another kind: ", value.tag_name());
  return true;
}

bool InputArchive::try_read(const std::string& key, int64_t& value) const {
  c10::IValue stored;
  if (!read_value(key, &c10::IValue::isInt, stored)) return false;
  value = stored.toInt();
  return true;
}
bool InputArchive::try_read(const std::string& key, double& value) const {
  c10::IValue stored;
  if (!read_value(key, &c10::IValue::isDouble, stored)) return false;
  value = stored.toDouble();
  return true;
}
bool InputArchive::try_read(const std::string& key, bool& value) const {
  c10::IValue stored;
  if (!read_value(key, &c10::IValue::isBool, stored)) return false;
  value = stored.toBool();
  return true;
}
bool InputArchive::try_read(const std::string& key, std::string& value) const {
  c10::IValue stored;
  if (!read_value(key, &c10::IValue::isString, stored)) return false;
  value = stored.toStringRef();
  return true;
}
bool InputArchive::try_read(const std::string& key, std::vector<int64_t>& value) const {
  return reader().read(key, value);
}
bool InputArchive::try_read(const std::string& key, std::vector<double>& value) const {
  return reader().read(key, value);
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  std::shared_ptr<const ArchiveReader> below = reader().archive(key);
  if (below == nullptr) return false;
  InputArchive out;
  out.reader_ = std::move(below);
  out.prefix_ = prefix_ + key + ".";
  out.device_ = device_;
  nested = std::move(out);
  return true;
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<ArchiveKey> keys = reader().keys(/*recursive=*/false);
  std::vector<std::string> out;
  out.reserve(keys.size());
  for (ArchiveKey& key : keys) {
    // A key of two kinds comes twice in a row.
    if (out.empty() || out.back() != key.name) out.push_back(std::move(key.name));
  }
  return out;
}

std::vector<std::string> InputArchive::tensor_names() const {
  std::vector<ArchiveKey> keys = reader().keys(/*recursive=*/true);
  std::vector<std::string> out;
  out.reserve(static_cast<size_t>(std::count_if(
      keys.begin(), keys.end(), [](const ArchiveKey& key) { return key.kind == EntryKind::kTensor; })));
  for (ArchiveKey& key : keys) {
    if (key.kind == EntryKind::kTensor) out.push_back(std::move(key.name));
  }
  return out;
}

std::vector<std::pair<std::string, c10::IValue>> InputArchive::values() const {
  std::vector<ArchiveKey> keys = reader().keys(/*recursive=*/true);
  std::vector<std::pair<std::string, c10::IValue>> out;
  out.reserve(static_cast<size_t>(std::count_if(
      keys.begin(), keys.end(), [](const ArchiveKey& key) { return key.kind == EntryKind::kValue; })));
  for (ArchiveKey& key : keys) {
    if (key.kind != EntryKind::kValue) continue;
    c10::IValue value;
    reader().read(key.name, value);
    out.emplace_back(std::move(key.name), std::move(value));
  }
  return out;
}

OutputArchive& operator<<(OutputArchive& archive, const at::Tensor& tensor) {
  if (archive.empty()) archive.save_as_value();
  archive.write("0", tensor);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, at::Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}

OutputArchive& operator<<(OutputArchive& archive, const c10::IValue& value) {
  if (archive.empty()) archive.save_as_value();
  archive.write("0", value);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, c10::IValue& value) {
  if (!archive.whole(value)) archive.read("0", value);
  return archive;
}

}  // namespace torch::serialize

namespace torch {

std::vector<char> pickle_save(const c10::IValue& value) {
  serialize::StringSink sink;
  pickle::save(value, sink);
  return std::vector<char>(sink.text.begin(), sink.text.end());
}

c10::IValue pickle_load(const std::vector<char>& data) {
  return pickle::load(std::make_shared<serialize::FileBytes>(std::string(data.begin(), data.end()), "memory"));
}

}  // namespace torch
