#include "c10/core/scalar.h"

#include <cmath>

#include "c10/core/type_meta.h"
#include "c10/util/exception.h"

namespace c10 {

void Scalar::overflow(ScalarType type) {
  std::string_view name = caffe2::TypeMeta(type).name();
  switch (type) {
    case kByte: name = "uint8_t"; break;
    case kChar: name = "int8_t"; break;
    case kShort: name = "int16_t"; break;
    case kLong: name = "int64_t"; break;
    case kHalf: name = "at::Half"; break;
    case kBFloat16: name = "at::BFloat16"; break;
    default: break;
  }
  C10_THROW_ERROR(ValueError, str("value cannot be converted to type ", name, " without overflow"));
}

Scalar Scalar::operator-() const {
  TORCH_CHECK(!isBoolean(), "torch boolean negative, the `-` operator, is not supported.");
  switch (tag_) {
    case kDouble:
      return Scalar(-parts_[0]);
    case kComplexDouble:
      return Scalar(complex<double>(-parts_[0], -parts_[1]));
    default:
      return Scalar(static_cast<int64_t>(0 - static_cast<uint64_t>(integer_)));
  }
}

Scalar Scalar::conj() const {
  return isComplex() ? Scalar(complex<double>(parts_[0], -parts_[1])) : *this;
}

Scalar Scalar::log() const {
  if (isComplex()) {
    return Scalar(complex<double>(std::log(std::hypot(parts_[0], parts_[1])), std::atan2(parts_[1], parts_[0])));
  }
  return Scalar(std::log(real_part()));
}

void to_text(std::string& out, const Scalar& s) {
  switch (s.type()) {
    case kDouble:
      detail::append_double(out, s.parts_[0]);
      break;
    case kComplexDouble:
      out += str("(", s.parts_[0], ",", s.parts_[1], ")");
      break;
    case kBool:
      out += s.integer_ != 0 ? "true" : "false";
      break;
    default:
      detail::append_i64(out, s.integer_);
  }
}

}  // namespace c10
