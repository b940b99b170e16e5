#include "examples/serve/json_numbers.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "examples/serve/infer_request.h"

namespace serve {
namespace {

std::string text_of(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

[[noreturn]] void misfit(const std::string& name, size_t i, const std::string& value, const std::string& what) {
  throw BadRequest(400, "input '" + name + "': data[" + std::to_string(i) + "] is " + value + ", which is no " + what);
}

}  // namespace

void JsonNumbers::push(bool value) {
  mixed_ = mixed_ || (mode_ != Mode::kNothing && mode_ != Mode::kBool);
  if (mode_ == Mode::kNothing) mode_ = Mode::kBool;
  bits_.push_back(value ? 1 : 0);
}

void JsonNumbers::push(int64_t value) {
  mixed_ = mixed_ || mode_ == Mode::kBool;
  if (mode_ == Mode::kNothing) mode_ = Mode::kInt;
  if (mode_ == Mode::kUnsigned && value < 0) become_double();
  negative_ = negative_ || value < 0;
  bits_.push_back(mode_ == Mode::kDouble ? std::bit_cast<uint64_t>(static_cast<double>(value))
                                         : static_cast<uint64_t>(value));
}

void JsonNumbers::push(uint64_t value) {
  if (value <= static_cast<uint64_t>(INT64_MAX)) return push(static_cast<int64_t>(value));
  mixed_ = mixed_ || mode_ == Mode::kBool;
  if (mode_ == Mode::kInt && negative_) become_double();
  if (mode_ == Mode::kNothing || mode_ == Mode::kInt) mode_ = Mode::kUnsigned;
  bits_.push_back(mode_ == Mode::kDouble ? std::bit_cast<uint64_t>(static_cast<double>(value)) : value);
}

void JsonNumbers::push(double value) {
  mixed_ = mixed_ || mode_ == Mode::kBool;
  if (mode_ != Mode::kDouble) become_double();
  bits_.push_back(std::bit_cast<uint64_t>(value));
}

double JsonNumbers::number(size_t i) const {
  switch (mode_) {
    case Mode::kDouble:
      return std::bit_cast<double>(bits_[i]);
    case Mode::kUnsigned:
      return static_cast<double>(bits_[i]);
    default:
      return static_cast<double>(static_cast<int64_t>(bits_[i]));
  }
}

void JsonNumbers::become_double() {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] = std::bit_cast<uint64_t>(number(i));
  mode_ = Mode::kDouble;
}

template <class T>
void JsonNumbers::copy_whole(T* out, const std::string& name) const {
  const std::string what(datatype_of(c10::CppTypeToScalarType<T>::value));
  for (size_t i = 0; i < bits_.size(); ++i) {
    if (mode_ == Mode::kDouble) {
      const double value = number(i);
      // Both ends are powers of two, or 0: doubles.
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
      if (!(value >= low && value < high) || value != std::trunc(value)) misfit(name, i, text_of(value), what);
      out[i] = static_cast<T>(value);
    } else if (mode_ == Mode::kUnsigned) {
      if (!std::in_range<T>(bits_[i])) misfit(name, i, std::to_string(bits_[i]), what);
      out[i] = static_cast<T>(bits_[i]);
    } else {
      const auto value = static_cast<int64_t>(bits_[i]);
      if (!std::in_range<T>(value)) misfit(name, i, std::to_string(value), what);
      out[i] = static_cast<T>(value);
    }
  }
}

template <class T>
void JsonNumbers::copy_floating(T* out, const std::string& name) const {
  for (size_t i = 0; i < bits_.size(); ++i) {
    const double value = number(i);
    const T narrow = static_cast<T>(value);
    if (std::isinf(static_cast<double>(narrow))) {
      misfit(name, i, text_of(value), std::string(datatype_of(c10::CppTypeToScalarType<T>::value)));
    }
    out[i] = narrow;
  }
}

void JsonNumbers::copy_to(const at::Tensor& tensor, const std::string& name) const {
  if (mixed_) throw BadRequest(400, "input '" + name + "': data has both numbers and truth values");
  const bool wants_bool = tensor.scalar_type() == c10::ScalarType::Bool;
  if (mode_ == Mode::kBool && !wants_bool) {
    throw BadRequest(400, "input '" + name + "': data has truth values; expected numbers");
  }
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Bool: {
      bool* out = tensor.data_ptr<bool>();
      for (size_t i = 0; i < bits_.size(); ++i) {
        const double value = number(i);
        if (value != 0 && value != 1) misfit(name, i, text_of(value), "BOOL");
        out[i] = value != 0;
      }
      return;
    }
    case c10::ScalarType::Byte:
      return copy_whole(tensor.data_ptr<uint8_t>(), name);
    case c10::ScalarType::UInt16:
      return copy_whole(tensor.data_ptr<uint16_t>(), name);
    case c10::ScalarType::UInt32:
      return copy_whole(tensor.data_ptr<uint32_t>(), name);
    case c10::ScalarType::UInt64:
      return copy_whole(tensor.data_ptr<uint64_t>(), name);
    case c10::ScalarType::Char:
      return copy_whole(tensor.data_ptr<int8_t>(), name);
    case c10::ScalarType::Short:
      return copy_whole(tensor.data_ptr<int16_t>(), name);
    case c10::ScalarType::Int:
      return copy_whole(tensor.data_ptr<int32_t>(), name);
    case c10::ScalarType::Long:
      return copy_whole(tensor.data_ptr<int64_t>(), name);
    case c10::ScalarType::Half:
      return copy_floating(tensor.data_ptr<c10::Half>(), name);
    case c10::ScalarType::BFloat16:
      return copy_floating(tensor.data_ptr<c10::BFloat16>(), name);
    case c10::ScalarType::Float:
      return copy_floating(tensor.data_ptr<float>(), name);
    case c10::ScalarType::Double:
      return copy_floating(tensor.data_ptr<double>(), name);
    default:
      throw BadRequest(400, "input '" + name + "' has a datatype that JSON has no numbers for");
  }
}

}  // namespace serve
