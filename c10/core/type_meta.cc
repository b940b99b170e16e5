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
      "c10::bits1x8",
      "c10::bits2x4",
      "c10::bits4x2",
      "c10::bits8",
      "c10::bits16",
      "c10::Float8_e5m2",
      "c10::Float8_e4m3fn",
      "c10::Float8_e5m2fnuz",
      "c10::Float8_e4m3fnuz",
      "short unsigned int",
      "unsigned int",
      "long unsigned int",
      "c10::dummy_uint1_7_t<1>",
      "c10::dummy_uint1_7_t<2>",
      "c10::dummy_uint1_7_t<3>",
      "c10::dummy_uint1_7_t<4>",
      "c10::dummy_uint1_7_t<5>",
      "c10::dummy_uint1_7_t<6>",
      "c10::dummy_uint1_7_t<7>",
      "c10::dummy_int1_7_t<1>",
      "c10::dummy_int1_7_t<2>",
      "c10::dummy_int1_7_t<3>",
      "c10::dummy_int1_7_t<4>",
      "c10::dummy_int1_7_t<5>",
      "c10::dummy_int1_7_t<6>",
      "c10::dummy_int1_7_t<7>",
      "c10::Float8_e8m0fnu",
      "c10::Float4_e2m1fn_x2",
      "c10::complex<c10::BFloat16>",
      "nullptr (uninitialized)",
  };
  const auto i = static_cast<uint8_t>(type_);
  return kNames[i < c10::NumScalarTypes ? i : c10::NumScalarTypes - 1];
}

}  // namespace caffe2
