#include "utils/pickle/names.h"

#include <iterator>

namespace torch::pickle {
namespace {

using c10::ScalarType;

// In the order of ScalarType.
constexpr std::string_view kDtypes[] = {"uint8",
                                        "int8",
                                        "int16",
                                        "int32",
                                        "int64",
                                        "float16",
                                        "float32",
                                        "float64",
                                        "complex32",
                                        "complex64",
                                        "complex128",
                                        "bool",
                                        "qint8",
                                        "quint8",
                                        "qint32",
                                        "bfloat16",
                                        "quint4x2",
                                        "quint2x4",
                                        "bits1x8",
                                        "bits2x4",
                                        "bits4x2",
                                        "bits8",
                                        "bits16",
                                        "float8_e5m2",
                                        "float8_e4m3fn",
                                        "float8_e5m2fnuz",
                                        "float8_e4m3fnuz",
                                        "uint16",
                                        "uint32",
                                        "uint64",
                                        "uint1",
                                        "uint2",
                                        "uint3",
                                        "uint4",
                                        "uint5",
                                        "uint6",
                                        "uint7",
                                        "int1",
                                        "int2",
                                        "int3",
                                        "int4",
                                        "int5",
                                        "int6",
                                        "int7",
                                        "float8_e8m0fnu",
                                        "float4_e2m1fn_x2",
                                        "bcomplex32"};
static_assert(std::size(kDtypes) == static_cast<size_t>(ScalarType::BComplex32) + 1);

struct StorageClass {
  std::string_view name;
  ScalarType dtype;
};
constexpr StorageClass kClasses[] = {{"DoubleStorage", ScalarType::Double},
                                     {"FloatStorage", ScalarType::Float},
                                     {"HalfStorage", ScalarType::Half},
                                     {"BFloat16Storage", ScalarType::BFloat16},
                                     {"LongStorage", ScalarType::Long},
                                     {"IntStorage", ScalarType::Int},
                                     {"ShortStorage", ScalarType::Short},
                                     {"CharStorage", ScalarType::Char},
                                     {"ByteStorage", ScalarType::Byte},
                                     {"BoolStorage", ScalarType::Bool},
                                     {"ComplexDoubleStorage", ScalarType::ComplexDouble},
                                     {"ComplexFloatStorage", ScalarType::ComplexFloat},
                                     {"QInt8Storage", ScalarType::QInt8},
                                     {"QUInt8Storage", ScalarType::QUInt8},
                                     {"QInt32Storage", ScalarType::QInt32},
                                     {"QUInt4x2Storage", ScalarType::QUInt4x2},
                                     {"QUInt2x4Storage", ScalarType::QUInt2x4},
                                     {"UntypedStorage", ScalarType::Byte}};

// In the order of Layout.
constexpr std::string_view kLayouts[] = {"torch.strided",    "torch.sparse_coo", "torch.sparse_csr", "torch._mkldnn",
                                         "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc", "torch.jagged"};
static_assert(std::size(kLayouts) == static_cast<size_t>(c10::Layout::NumOptions));

}  // namespace

std::optional<c10::Layout> layout_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kLayouts); ++i) {
    if (kLayouts[i] == name) return static_cast<c10::Layout>(i);
  }
  return std::nullopt;
}

std::string_view name_of_layout(c10::Layout layout) {
  return kLayouts[static_cast<size_t>(layout)];
}

std::optional<ScalarType> dtype_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kDtypes); ++i) {
    if (kDtypes[i] == name) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

std::string_view name_of_dtype(ScalarType dtype) {
  return kDtypes[static_cast<size_t>(dtype)];
}

std::optional<ScalarType> dtype_of_storage_class(std::string_view name) {
  for (const StorageClass& c : kClasses) {
    if (c.name == name) return c.dtype;
  }
  return std::nullopt;
}

std::string_view storage_class_of(ScalarType dtype) {
  for (const StorageClass& c : kClasses) {
    if (c.dtype == dtype) return c.name;
  }
  return {};
}

bool is_quantized(ScalarType dtype) {
  return dtype == ScalarType::QInt8 || dtype == ScalarType::QUInt8 || dtype == ScalarType::QInt32 ||
         dtype == ScalarType::QUInt4x2 || dtype == ScalarType::QUInt2x4;
}

}  // namespace torch::pickle
