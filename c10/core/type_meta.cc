#include "c10/core/type_meta.h"

namespace caffe2 {

std::string_view TypeMeta::name() const noexcept {
  constexpr std::string_view kNames[c10::NumScalarTypes] = {
      "unsigned char",
      "signed char",
      "short int",
      "int",
      "long int",
      "c10::Half",
      "float",
      "double",
      "c10::complex<c10::Half>",
      "c10::complex<float>",
      "c10::complex<double>",
      "bool",
      "c10::qint8",
      "c10::quint8",
      "c10::qint32",
      "c10::BFloat16",
      "c10::quint4x2",
      "c10::quint2x4",
      "nullptr (uninitialized)",
  };
  return kNames[static_cast<size_t>(type_)];
}

}  // namespace caffe2
