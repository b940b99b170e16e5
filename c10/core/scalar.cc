#include "c10/core/scalar.h"

#include <cmath>

#include "c10/util/exception.h"
#include "c10/util/float8.h"

namespace c10 {

void Scalar::overflow(ScalarType type) {
  std::string_view name, prefix;
  switch (type) {
    case kByte: name = "uint8_t"; break;
    case kChar: name = "int8_t"; break;
    case kShort: name = "int16_t"; break;
    case kInt:
      name = "int";
      break;
    case kLong: name = "int64_t"; break;
    case kUInt16:
      name = "uint16_t";
      break;
    case kUInt32:
      name = "uint32_t";
      break;
    case kUInt64:
      name = "uint64_t";
      break;
    case kFloat:
      name = "float";
      break;
    case kDouble:
      name = "double";
      break;
    case kBool:
      name = "bool";
      break;
    case kHalf: name = "at::Half"; break;
    case kBFloat16: name = "at::BFloat16"; break;
    default:
      prefix = "c10::", name = toString(type);
  }
  C10_THROW_ERROR(Error, str("value cannot be converted to type ", prefix, name, " without overflow"));
}

Float8_e5m2 Scalar::toFloat8_e5m2() const {
  return to<Float8_e5m2>();
}
Float8_e4m3fn Scalar::toFloat8_e4m3fn() const {
  return to<Float8_e4m3fn>();
}
Float8_e5m2fnuz Scalar::toFloat8_e5m2fnuz() const {
  return to<Float8_e5m2fnuz>();
}
Float8_e4m3fnuz Scalar::toFloat8_e4m3fnuz() const {
  return to<Float8_e4m3fnuz>();
}
Float8_e8m0fnu Scalar::toFloat8_e8m0fnu() const {
  return to<Float8_e8m0fnu>();
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
    case kUInt64:
      detail::append_u64(out, static_cast<uint64_t>(s.integer_));
      break;
    default:
      detail::append_i64(out, s.integer_);
  }
}

}  // namespace c10
