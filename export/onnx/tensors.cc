#include "export/onnx/tensors.h"

#include <charconv>
#include <cstring>
#include <filesystem>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {
namespace {

using ::onnx::TensorProto;

constexpr int kMostDimensions = 64;

template <class... Parts>
[[noreturn]] void fail(const TensorProto& proto, const Parts&... parts) {
  serialize::throw_format_error(c10::str("tensor '", proto.name().substr(0, 100), "' ", parts...));
}

// The file beside the model with the elements, and where they begin.
std::pair<serialize::MappedFile, size_t> external_data(const TensorProto& proto, const DataFolder& folder,
                                                       size_t bytes) {
  std::string location;
  uint64_t offset = 0, length = bytes;
  const auto number = [&](const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(proto, "has external data at '", text.substr(0, 40), "', which is no number");
    }
    return value;
  };
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number(entry.value());
    if (entry.key() == "length") length = number(entry.value());
  }
  namespace fs = std::filesystem;
  if (folder.path.empty()) fail(proto, "lies in a file of its own, and no folder is named");
  const fs::path relative(location);
  bool inside = !location.empty() && location.find('\0') == std::string::npos && relative.is_relative();
  for (const fs::path& part : relative) inside = inside && part != "..";
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::path(folder.path) / relative, error);
  const auto within = [&](const std::string& root) {
    if (root.empty()) return false;
    const fs::path beyond = path.lexically_relative(fs::weakly_canonical(root, error));
    return !error && !beyond.empty() && beyond != "." && *beyond.begin() != "..";
  };
  inside = inside && !error && (within(folder.path) || within(folder.real));
  if (!inside) fail(proto, "lies in '", location.substr(0, 200), "', which is not in the model's folder");
  serialize::MappedFile file(path.string());
  if (length != bytes) fail(proto, "has ", length, " external bytes; its sizes need ", bytes);
  if (offset > file.size() || bytes > file.size() - offset) {
    fail(proto, "lies at ", offset, " of '", location.substr(0, 200), "', which has ", file.size(), " bytes");
  }
  return {std::move(file), static_cast<size_t>(offset)};
}

template <class To, class Field>
void copy_field(const Field& field, void* to) {
  To* out = static_cast<To*>(to);
  for (const auto v : field) *out++ = static_cast<To>(v);
}

}  // namespace

std::optional<c10::ScalarType> dtype_of(int64_t number) {
  using enum c10::ScalarType;
  constexpr c10::ScalarType kTypes[] = {
      Undefined,    Float,         Byte,      Char,          UInt16,          Short,       Int,
      Long,         Undefined,     Bool,      Half,          Double,          UInt32,      UInt64,
      ComplexFloat, ComplexDouble, BFloat16,  Float8_e4m3fn, Float8_e4m3fnuz, Float8_e5m2, Float8_e5m2fnuz,
      Undefined,    Undefined,     Undefined, Float8_e8m0fnu};
  if (number < 0 || number >= static_cast<int64_t>(std::size(kTypes)) || kTypes[number] == Undefined)
    return std::nullopt;
  return kTypes[number];
}

namespace {

struct Narrow {
  int bits;
  bool is_signed;
};
std::optional<Narrow> narrow_of(int64_t number) {
  if (number == 21 || number == 22) return Narrow{4, number == 22};
  if (number == 25 || number == 26) return Narrow{2, number == 26};
  return std::nullopt;
}
// Several in a byte, the first in the lowest bits.
template <class Bytes>
void unpack(const Bytes& bytes, const Narrow& type, int64_t elements, uint8_t* to) {
  const int each = 8 / type.bits, top = 1 << type.bits;
  for (int64_t k = 0; k < elements; ++k) {
    const int byte = static_cast<int>(bytes[static_cast<int>(k / each)]) & 255;
    int value = (byte >> (static_cast<int>(k % each) * type.bits)) & (top - 1);
    if (type.is_signed && value >= top / 2) value -= top;
    to[k] = static_cast<uint8_t>(value);
  }
}

}  // namespace

bool is_narrow(int64_t number) {
  return narrow_of(number).has_value();
}
std::optional<c10::ScalarType> storage_dtype_of(int64_t number) {
  const std::optional<Narrow> narrow = narrow_of(number);
  if (narrow.has_value()) return narrow->is_signed ? c10::ScalarType::Char : c10::ScalarType::Byte;
  return dtype_of(number);
}

at::Tensor tensor_of(const TensorProto& proto, const DataFolder& folder) {
  const std::optional<c10::ScalarType> dtype = storage_dtype_of(proto.data_type());
  const std::optional<Narrow> narrow = narrow_of(proto.data_type());
  TORCH_CHECK_NOT_IMPLEMENTED(dtype.has_value() || proto.data_type() < 1 || proto.data_type() > 26, "tensor '",
                              proto.name().substr(0, 100), "': tensors of ONNX's type ", proto.data_type(),
                              " are not supported");
  if (!dtype.has_value()) fail(proto, "is of the unknown type ", proto.data_type());
  if (proto.dims_size() > kMostDimensions) fail(proto, "has more than ", kMostDimensions, " dimensions");
  int64_t elements = 1, bytes = 0;
  bool empty = false;
  for (const int64_t size : proto.dims()) {
    if (size < 0) fail(proto, "has a size of ", size);
    empty = empty || size == 0;
    if (size > 0 && __builtin_mul_overflow(elements, size, &elements)) fail(proto, "has too many elements");
  }
  if (empty) elements = 0;
  const auto item = static_cast<int64_t>(c10::elementSize(*dtype));
  if (__builtin_mul_overflow(elements, item, &bytes)) fail(proto, "has too many elements");
  // In the file.
  if (narrow.has_value()) bytes = elements / (8 / narrow->bits) + (elements % (8 / narrow->bits) != 0);
  if (proto.has_segment()) fail(proto, "is a segment of a tensor, which is not supported");

  // What is there is compared with what is needed before any memory is taken.
  const bool external = proto.data_location() == TensorProto::EXTERNAL, raw = proto.has_raw_data() && !external;
  const bool complex = c10::isComplexType(*dtype);
  int64_t given = 0;
  if (raw) {
    given = static_cast<int64_t>(proto.raw_data().size());
    if (given != bytes) fail(proto, "has ", given, " bytes of data; its sizes need ", bytes);
  } else if (!external) {
    switch (*dtype) {
      case c10::ScalarType::Float:
      case c10::ScalarType::ComplexFloat:
        given = proto.float_data_size();
        break;
      case c10::ScalarType::Double:
      case c10::ScalarType::ComplexDouble:
        given = proto.double_data_size();
        break;
      case c10::ScalarType::Long:
        given = proto.int64_data_size();
        break;
      case c10::ScalarType::UInt32:
      case c10::ScalarType::UInt64:
        given = proto.uint64_data_size();
        break;
      default:
        given = proto.int32_data_size();
    }
    const int64_t needed = narrow.has_value() ? bytes : complex ? 2 * elements : elements;
    if (given != needed) fail(proto, "has ", given, " values; its sizes need ", needed);
  }
  const std::vector<int64_t> sizes(proto.dims().begin(), proto.dims().end());
  std::optional<std::pair<serialize::MappedFile, size_t>> file;
  if (external) file = external_data(proto, folder, static_cast<size_t>(bytes));
  at::Tensor out = at::empty(sizes, at::TensorOptions().dtype(*dtype));
  if (elements == 0) return out;
  void* to = out.data_ptr();
  if (external || raw) {
    const char* from = external ? file->first.data() + file->second : proto.raw_data().data();
    if (narrow.has_value()) {
      unpack(std::string_view(from, static_cast<size_t>(bytes)), *narrow, elements, static_cast<uint8_t*>(to));
    } else if (*dtype == c10::ScalarType::Bool) {
      // Any other byte than 0 and 1 would be no bool.
      copy_field<bool>(std::string_view(from, static_cast<size_t>(bytes)), to);
    } else {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
    return out;
  }
  if (narrow.has_value()) {
    unpack(proto.int32_data(), *narrow, elements, static_cast<uint8_t*>(to));
    return out;
  }
  switch (*dtype) {
    case c10::ScalarType::Float:
    case c10::ScalarType::ComplexFloat:
      copy_field<float>(proto.float_data(), to);
      break;
    case c10::ScalarType::Double:
    case c10::ScalarType::ComplexDouble:
      copy_field<double>(proto.double_data(), to);
      break;
    case c10::ScalarType::Long:
      copy_field<int64_t>(proto.int64_data(), to);
      break;
    case c10::ScalarType::UInt32:
      copy_field<uint32_t>(proto.uint64_data(), to);
      break;
    case c10::ScalarType::UInt64:
      copy_field<uint64_t>(proto.uint64_data(), to);
      break;
    case c10::ScalarType::Int:
      copy_field<int32_t>(proto.int32_data(), to);
      break;
    case c10::ScalarType::Bool:
      copy_field<bool>(proto.int32_data(), to);
      break;
    default:
      if (item == 1) {
        copy_field<uint8_t>(proto.int32_data(), to);
      } else {
        copy_field<uint16_t>(proto.int32_data(), to);
      }
  }
  return out;
}

}  // namespace torch::onnx
