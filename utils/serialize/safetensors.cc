#include "utils/serialize/safetensors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "aten/core/empty.h"
#include "aten/core/from_blob.h"
#include "aten/cpu/cast.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "utils/serialize/crc32c.h"

namespace torch::safetensors {
namespace {

using c10::ScalarType;

constexpr std::string_view kComplex128 = "complex128";

struct DtypePair {
  ScalarType scalar_type;
  Dtype dtype;
};
constexpr DtypePair kDtypePairs[] = {
    {ScalarType::Bool, Dtype::BOOL},
    {ScalarType::Byte, Dtype::U8},
    {ScalarType::Char, Dtype::I8},
    {ScalarType::Short, Dtype::I16},
    {ScalarType::Half, Dtype::F16},
    {ScalarType::BFloat16, Dtype::BF16},
    {ScalarType::Int, Dtype::I32},
    {ScalarType::Float, Dtype::F32},
    {ScalarType::ComplexFloat, Dtype::C64},
    {ScalarType::Double, Dtype::F64},
    {ScalarType::Long, Dtype::I64},
    {ScalarType::UInt16, Dtype::U16},
    {ScalarType::UInt32, Dtype::U32},
    {ScalarType::UInt64, Dtype::U64},
    {ScalarType::Float8_e5m2, Dtype::F8_E5M2},
    {ScalarType::Float8_e4m3fn, Dtype::F8_E4M3},
    {ScalarType::Float8_e5m2fnuz, Dtype::F8_E5M2FNUZ},
    {ScalarType::Float8_e4m3fnuz, Dtype::F8_E4M3FNUZ},
    {ScalarType::Float8_e8m0fnu, Dtype::F8_E8M0},
};

std::string dtype_key(std::string_view name) { return c10::str("dtype.", name); }

bool is_complex128(const Header& header, const TensorInfo& info) {
  if (info.dtype != Dtype::F64 || info.shape.empty() || info.shape.back() != 2) return false;
  std::string_view value;
  return header.find_metadata(dtype_key(info.name), &value) && value == kComplex128;
}

ScalarType scalar_type_of(const Header& header, const TensorInfo& info) {
  if (is_complex128(header, info)) return ScalarType::ComplexDouble;
  for (const DtypePair& pair : kDtypePairs) {
    if (pair.dtype == info.dtype) return pair.scalar_type;
  }
  TORCH_CHECK_TYPE(false, "safetensors: tensor \"", info.name, "\" has dtype ", dtype_name(info.dtype),
                   ", which has no counterpart here");
}

std::vector<int64_t> sizes_of(const Header& header, const TensorInfo& info) {
  std::vector<int64_t> sizes = info.shape;
  if (is_complex128(header, info)) sizes.pop_back();
  return sizes;
}

LayoutView layout_of(const std::string& name, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined(), "safetensors: tensor \"", name, "\" is undefined");
  TORCH_CHECK_VALUE(!tensor.is_meta(), "safetensors: tensor \"", name, "\" is on the meta device and has no data");
  TORCH_CHECK_TYPE(!tensor.is_nested(), "safetensors: tensor \"", name, "\" is nested, which the format does not have");
  TORCH_CHECK_TYPE(tensor.layout() == c10::Layout::Strided, "safetensors: tensor \"", name, "\" has layout ",
                   tensor.layout(), ", which the format does not have");
  LayoutView layout{name, tensor.sizes(), Dtype::F64, false};
  if (tensor.scalar_type() == ScalarType::ComplexDouble) {
    layout.pairs = true;
    return layout;
  }
  for (const DtypePair& pair : kDtypePairs) {
    if (pair.scalar_type == tensor.scalar_type()) {
      layout.dtype = pair.dtype;
      return layout;
    }
  }
  TORCH_CHECK_TYPE(false, "safetensors: tensor \"", name, "\" has dtype ", c10::toString(tensor.scalar_type()),
                   ", which the format does not have");
}

constexpr std::string_view kChecksumKey = "crc32c", kNoChecksum = "00000000";

at::Tensor contiguous_on_cpu(const at::Tensor& tensor) {
  if (tensor.is_cpu() && tensor.is_contiguous()) return tensor;
  at::Tensor copy = at::empty_contiguous(tensor.sizes(), tensor.scalar_type());
  const at::NoGradGuard no_grad;
  at::copy_(copy, tensor);
  return copy;
}

}  // namespace

File::File(const std::string& path, const Limits& limits) : File(std::make_shared<serialize::FileBytes>(path), limits) {}

File::File(std::shared_ptr<serialize::FileBytes> bytes, const Limits& limits) : source_(std::make_shared<Source>()) {
  source_->bytes = std::move(bytes);
  try {
    source_->header = Header::parse(source_->bytes->view(), limits);
  } catch (FormatError& e) {
    e.add_context(source_->bytes->origin());
    throw;
  }
}

File File::from_bytes(std::string bytes, const Limits& limits) {
  return File(std::make_shared<serialize::FileBytes>(std::move(bytes), "memory"), limits);
}

std::vector<std::string> File::keys() const {
  std::vector<std::string> names;
  names.reserve(size());
  for (size_t i = 0; i < size(); ++i) names.emplace_back(source_->header.name(i));
  return names;
}

size_t File::index_of(std::string_view name) const {
  const int64_t index = source_->header.find(name);
  TORCH_CHECK_INDEX(index >= 0, "safetensors: ", source_->bytes->origin(), " has no tensor \"", name, "\"");
  return static_cast<size_t>(index);
}

c10::ScalarType File::dtype(std::string_view name) const {
  return scalar_type_of(source_->header, source_->header.tensor(index_of(name)));
}

std::vector<int64_t> File::sizes(std::string_view name) const {
  return sizes_of(source_->header, source_->header.tensor(index_of(name)));
}

at::Tensor File::get(std::string_view name) const {
  const TensorInfo info = source_->header.tensor(index_of(name));
  const ScalarType dtype = scalar_type_of(source_->header, info);
  const std::vector<int64_t> sizes = sizes_of(source_->header, info);
  at::cpu::prepare_type(dtype);
  if (info.bytes == 0) return at::empty_contiguous(sizes, dtype);
  char* data = source_->bytes->data() + source_->header.data_offset() + info.begin;
  if (dtype == ScalarType::Bool) {
    for (uint64_t i = 0; i < info.bytes; ++i) {
      if (static_cast<unsigned char>(data[i]) > 1) {
        serialize::throw_format_error(
            c10::str("safetensors: tensor \"", name, "\" is boolean and holds ", static_cast<int>(static_cast<unsigned char>(data[i])), " at ", i));
      }
    }
  }
  const size_t alignment = std::min<size_t>(c10::elementSize(dtype), alignof(double));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    at::Tensor copy = at::empty_contiguous(sizes, dtype);
    std::memcpy(copy.data_ptr(), data, info.bytes);
    return copy;
  }
  // The deleter's copy of the pointer is what keeps the mapping alive.
  return at::from_blob(data, sizes, [source = source_](void*) {}, at::TensorOptions(dtype));
}

Metadata File::metadata() const {
  Metadata out;
  out.reserve(source_->header.metadata_size());
  for (size_t i = 0; i < source_->header.metadata_size(); ++i) {
    const auto [key, value] = source_->header.metadata(i);
    out.emplace_back(key, value);
  }
  return out;
}

NamedTensors load_file(const std::string& path) {
  const File file(path);
  NamedTensors out;
  out.reserve(file.size());
  for (std::string& name : file.keys()) {
    at::Tensor tensor = file.get(name);
    out.emplace_back(std::move(name), std::move(tensor));
  }
  return out;
}

void File::verify_checksum() const {
  const std::string_view all = source_->bytes->view();
  std::string_view stored;
  if (!source_->header.find_metadata(kChecksumKey, &stored) || stored.size() != kNoChecksum.size() ||
      stored.data() < all.data() || stored.data() >= all.data() + all.size()) {
    serialize::throw_format_error(c10::str("safetensors: ", source_->bytes->origin(), " has no checksum"));
  }
  const size_t at = static_cast<size_t>(stored.data() - all.data());
  uint32_t crc = serialize::crc32c(0, all.data(), at);
  crc = serialize::crc32c(crc, kNoChecksum.data(), kNoChecksum.size());
  crc = serialize::crc32c(crc, all.data() + at + stored.size(), all.size() - at - stored.size());
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc));
  if (stored != text) {
    serialize::throw_format_error(c10::str("safetensors: ", source_->bytes->origin(), " is damaged: its checksum is ", text,
                                           " where ", stored, " is stored"));
  }
}

namespace {

// What precedes the data. The layouts and views are gone before the data is written.
Plan plan_of(const NamedTensors& tensors, MetadataView metadata, bool checksum) {
  std::vector<LayoutView> layouts;
  layouts.reserve(tensors.size());
  std::vector<std::string> dtype_keys;
  for (const auto& [name, tensor] : tensors) {
    layouts.push_back(layout_of(name, tensor));
    if (layouts.back().pairs) dtype_keys.push_back(dtype_key(name));
  }
  MetadataView first, last;
  if (checksum) first.emplace_back(kChecksumKey, kNoChecksum);
  for (const std::string& key : dtype_keys) last.emplace_back(key, kComplex128);
  return plan_views(layouts, {&first, &metadata, &last});
}

}  // namespace

void save_to(const NamedTensors& tensors, const Metadata& metadata, Sink& sink, bool checksum) {
  save_views(tensors, MetadataView(metadata.begin(), metadata.end()), sink, checksum);
}

void save_views(const NamedTensors& tensors, MetadataView metadata, Sink& sink, bool checksum) {
  Plan planned = plan_of(tensors, std::move(metadata), checksum);
  if (checksum) {
    uint32_t crc = serialize::crc32c(planned.header);
    for (const uint32_t i : planned.order) {
      const at::Tensor t = contiguous_on_cpu(tensors[i].second);
      crc = serialize::crc32c(crc, t.data_ptr(), t.nbytes());
    }
    // The first entry of the metadata, so its first occurrence.
    const size_t at = planned.header.find(kNoChecksum, planned.header.find(kChecksumKey));
    char text[9];
    std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc));
    planned.header.replace(at, kNoChecksum.size(), text);
  }
  uint64_t bytes = planned.header.size();
  for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes();
  sink.expect(bytes);
  sink.write(planned.header.data(), planned.header.size());
  for (const uint32_t i : planned.order) {
    const at::Tensor t = contiguous_on_cpu(tensors[i].second);
    sink.write(t.data_ptr(), t.nbytes());
  }
}

void save_file(const NamedTensors& tensors, const std::string& path, const Metadata& metadata, bool checksum) {
  serialize::AtomicFile file(path);
  save_to(tensors, metadata, file, checksum);
  file.commit();
}

}  // namespace torch::safetensors
