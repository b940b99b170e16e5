#include "utils/serialize/archive.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::serialize {
namespace {

// Values are metadata: "value.KEY" = kind, ':', text. Kinds: i, f, b, s, I (list), F (list), a (an empty nested archive).
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

template <typename X>
bool parse_list(std::string_view text, std::vector<X>* out) {
  out->clear();
  if (!text.empty()) out->reserve(static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    X value;
    if (!parse(text.substr(0, comma), &value)) return false;
    out->push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

[[noreturn]] void throw_unreadable(const std::string& key) {
  throw_format_error(c10::str("archive: the value of '", key, "' cannot be read"));
}

class StringSink : public safetensors::Sink {
 public:
  void expect(uint64_t bytes) override { text.reserve(static_cast<size_t>(bytes)); }
  void write(const void* data, size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  std::string text;
};

class FunctionSink : public safetensors::Sink {
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

}  // namespace

void OutputArchive::write(const std::string& key, const at::Tensor& value, bool) {
  TORCH_CHECK_VALUE(value.defined(), "archive: the tensor '", key, "' is undefined");
  tensors_.emplace_back(key, value);
}

void OutputArchive::write_text(const std::string& key, std::string text) {
  values_.emplace_back(c10::str(kValuePrefix, key), std::move(text));
}

void OutputArchive::write(const std::string& key, int64_t value) { write_text(key, "i:" + std::to_string(value)); }
void OutputArchive::write(const std::string& key, double value) { write_text(key, "f:" + text_of(value)); }
void OutputArchive::write(const std::string& key, bool value) { write_text(key, value ? "b:1" : "b:0"); }
void OutputArchive::write(const std::string& key, const std::string& value) { write_text(key, "s:" + value); }
void OutputArchive::write(const std::string& key, const std::vector<int64_t>& value) {
  write_text(key, "I:" + c10::Join(",", value));
}
void OutputArchive::write(const std::string& key, const std::vector<double>& value) {
  std::string text = "F:";
  for (const double v : value) text += (text.size() > 2 ? "," : "") + text_of(v);
  write_text(key, std::move(text));
}

void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  if (nested.tensors_.empty() && nested.values_.empty()) write_text(key, "a:");
  for (const auto& [name, tensor] : nested.tensors_) tensors_.emplace_back(key + "." + name, tensor);
  for (const auto& [name, text] : nested.values_) {
    values_.emplace_back(c10::str(kValuePrefix, key, ".", std::string_view(name).substr(kValuePrefix.size())), text);
  }
}

safetensors::MetadataView OutputArchive::metadata() const {
  safetensors::MetadataView views;
  views.reserve(values_.size() + 1);
  views.emplace_back("format", "pt");
  views.insert(views.end(), values_.begin(), values_.end());
  return views;
}

void OutputArchive::save_to(const std::string& path) const {
  safetensors::save_views(tensors_, metadata(), path);
}

void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& writer) const {
  FunctionSink sink(writer);
  safetensors::save_views(tensors_, metadata(), sink);
}

void OutputArchive::save_with_checksum(const std::string& path) const {
  safetensors::save_views(tensors_, metadata(), path, /*checksum=*/true);
}

std::string OutputArchive::to_bytes() const {
  StringSink sink;
  safetensors::save_views(tensors_, metadata(), sink);
  return std::move(sink.text);
}

void InputArchive::load_from(const std::string& path, std::optional<c10::Device> device) {
  *this = InputArchive();
  file_ = std::make_shared<safetensors::File>(path);
  device_ = device;
}

void InputArchive::load_from(const char* data, size_t size, std::optional<c10::Device> device) {
  *this = InputArchive();
  file_ = std::make_shared<safetensors::File>(safetensors::File::from_bytes(std::string(data, size)));
  device_ = device;
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
  *this = InputArchive();
  file_ = std::make_shared<safetensors::File>(safetensors::File::from_bytes(std::move(bytes)));
  device_ = device;
}

void InputArchive::load_verified(const std::string& path) {
  auto file = std::make_shared<safetensors::File>(path);
  file->verify_checksum();
  *this = InputArchive();
  file_ = std::move(file);
}

const safetensors::File& InputArchive::file() const {
  TORCH_CHECK(file_ != nullptr, "archive: load_from() comes before reading");
  return *file_;
}

void InputArchive::throw_missing(const std::string& key, const char* kind) const {
  TORCH_CHECK(false, "No such serialized ", kind, " '", prefix_, key, "'");
}

bool InputArchive::describe(const std::string& key, c10::ScalarType* dtype, std::vector<int64_t>* sizes) const {
  const std::string name = prefix_ + key;
  if (!file().contains(name)) return false;
  *dtype = file().dtype(name);
  *sizes = file().sizes(name);
  return true;
}

bool InputArchive::try_read(const std::string& key, at::Tensor& value, bool) const {
  const std::string name = prefix_ + key;
  if (!file().contains(name)) return false;
  if (!value.defined()) {
    at::Tensor stored = file().get(name);
    if (device_.has_value() && !device_->is_cpu()) {
      at::Tensor moved = at::empty_contiguous(stored.sizes(), stored.scalar_type(), *device_);
      const at::NoGradGuard no_grad;
      at::copy_(moved, stored);
      stored = std::move(moved);
    }
    value = std::move(stored);
    return true;
  }
  const std::vector<int64_t> sizes = file().sizes(name);
  TORCH_CHECK_VALUE(value.sizes() == c10::IntArrayRef(sizes), "archive: '", name, "' was stored with sizes ",
                    c10::IntArrayRef(sizes), ", but is to be read into ", value.sizes());
  const at::Tensor stored = file().get(name);
  const at::NoGradGuard no_grad;
  at::copy_(value, stored);
  return true;
}

void InputArchive::read(const std::string& key, at::Tensor& value, bool is_buffer) const {
  if (!try_read(key, value, is_buffer)) throw_missing(key, "tensor");
}

bool InputArchive::find_value(const std::string& key, char kind, std::string_view* text) const {
  if (!file().header().find_metadata(c10::str(kValuePrefix, prefix_, key), text)) return false;
  TORCH_CHECK_TYPE(text->size() >= 2 && (*text)[0] == kind && (*text)[1] == ':', "archive: the value of '", prefix_, key,
                   "' is of another kind");
  text->remove_prefix(2);
  return true;
}

bool InputArchive::try_read(const std::string& key, int64_t& value) const {
  std::string_view text;
  if (!find_value(key, 'i', &text)) return false;
  int64_t parsed;
  if (!parse(text, &parsed)) throw_unreadable(prefix_ + key);
  value = parsed;
  return true;
}

bool InputArchive::try_read(const std::string& key, double& value) const {
  std::string_view text;
  if (!find_value(key, 'f', &text)) return false;
  double parsed;
  if (!parse(text, &parsed)) throw_unreadable(prefix_ + key);
  value = parsed;
  return true;
}

bool InputArchive::try_read(const std::string& key, bool& value) const {
  std::string_view text;
  if (!find_value(key, 'b', &text)) return false;
  if (text != "0" && text != "1") throw_unreadable(prefix_ + key);
  value = text == "1";
  return true;
}

bool InputArchive::try_read(const std::string& key, std::string& value) const {
  std::string_view text;
  if (!find_value(key, 's', &text)) return false;
  value = text;
  return true;
}

bool InputArchive::try_read(const std::string& key, std::vector<int64_t>& value) const {
  std::string_view text;
  if (!find_value(key, 'I', &text)) return false;
  std::vector<int64_t> parsed;
  if (!parse_list(text, &parsed)) throw_unreadable(prefix_ + key);
  value = std::move(parsed);
  return true;
}

bool InputArchive::try_read(const std::string& key, std::vector<double>& value) const {
  std::string_view text;
  if (!find_value(key, 'F', &text)) return false;
  std::vector<double> parsed;
  if (!parse_list(text, &parsed)) throw_unreadable(prefix_ + key);
  value = std::move(parsed);
  return true;
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  const std::string below = prefix_ + key + ".";
  const std::string value_below = c10::str(kValuePrefix, below), marker = c10::str(kValuePrefix, prefix_, key);
  const safetensors::Header& header = file().header();
  bool found = false;
  for (size_t i = 0; i < header.size() && !found; ++i) found = header.name(i).substr(0, below.size()) == below;
  for (size_t i = 0; i < header.metadata_size() && !found; ++i) {
    const auto [name, text] = header.metadata(i);
    found = name.substr(0, value_below.size()) == value_below || (name == marker && text == "a:");
  }
  if (!found) return false;
  InputArchive out;
  out.file_ = file_;
  out.prefix_ = below;
  out.device_ = device_;
  nested = std::move(out);
  return true;
}

std::vector<std::string> InputArchive::keys() const {
  const safetensors::Header& header = file().header();
  std::vector<std::string_view> out;
  out.reserve(header.size() + header.metadata_size());
  const auto add = [&](std::string_view name, std::string_view prefix) {
    if (name.substr(0, prefix.size()) != prefix) return;
    name.remove_prefix(prefix.size());
    out.push_back(name.substr(0, name.find('.')));
  };
  for (size_t i = 0; i < header.size(); ++i) add(header.name(i), prefix_);
  const std::string value_prefix = c10::str(kValuePrefix, prefix_);
  for (size_t i = 0; i < header.metadata_size(); ++i) add(header.metadata(i).first, value_prefix);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return std::vector<std::string>(out.begin(), out.end());
}

std::vector<std::string> InputArchive::tensor_names() const {
  std::vector<std::string> out;
  const safetensors::Header& header = file().header();
  out.reserve(header.size());
  for (size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = header.name(i);
    if (name.substr(0, prefix_.size()) == prefix_) out.emplace_back(name.substr(prefix_.size()));
  }
  return out;
}

std::vector<std::pair<std::string, char>> InputArchive::value_names() const {
  std::vector<std::pair<std::string, char>> out;
  const safetensors::Header& header = file().header();
  const std::string prefix = c10::str(kValuePrefix, prefix_);
  out.reserve(header.metadata_size());
  for (size_t i = 0; i < header.metadata_size(); ++i) {
    const auto [name, text] = header.metadata(i);
    if (name.substr(0, prefix.size()) != prefix) continue;
    if (text.size() < 2 || text[1] != ':') throw_unreadable(std::string(name));
    out.emplace_back(name.substr(prefix.size()), text[0]);
  }
  return out;
}

OutputArchive& operator<<(OutputArchive& archive, const at::Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, at::Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}

}  // namespace torch::serialize
