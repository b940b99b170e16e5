#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace at {

namespace detail {
// `count` numbers of type `source` in memory as a tensor of one dimension with the dtype and device of `options`; of `source` and on
// the CPU where they say nothing.
Tensor tensor_of(const void* values, ScalarType source, size_t count, const TensorOptions& options);
template <class T>
concept TensorElement = requires { CppTypeToScalarType<T>::value; };
}  // namespace detail

// A new tensor of one dimension with the values given, of their own type: int gives Int and double Double, where torch::tensor
// gives Long and the default dtype. One value is a tensor of one element.
//
//   at::tensor({1, 2, 3})               // Int
//   at::tensor(0.5, at::dtype(kFloat))  // {0.5}, Float
template <detail::TensorElement T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  return detail::tensor_of(values.data(), CppTypeToScalarType<T>::value, values.size(), options);
}
template <detail::TensorElement T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <detail::TensorElement T>
  requires(!std::is_same_v<T, bool>)
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <detail::TensorElement T>
Tensor tensor(T value, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(value), options);
}

}  // namespace at

namespace torch::detail {

enum class TensorDataContainerType { Scalar, InitList, Tensor };

// What torch::tensor takes: a number, nested braces of numbers of one type, or a flat sequence (vector, ArrayRef). Knows
// its sizes and its element type; the tensor of int is Long and that of float or double of the default dtype.
class TensorDataContainer {
 public:
  TensorDataContainer();
  TensorDataContainer(bool value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Bool) {}
  TensorDataContainer(int value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Int) {}
  TensorDataContainer(int64_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Long) {}
  TensorDataContainer(uint8_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Byte) {}
  TensorDataContainer(int8_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Char) {}
  TensorDataContainer(int16_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Short) {}
  TensorDataContainer(uint16_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::UInt16) {}
  TensorDataContainer(uint32_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::UInt32) {}
  TensorDataContainer(uint64_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::UInt64) {}
  TensorDataContainer(float value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Float) {}
  TensorDataContainer(double value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Double) {}
  TensorDataContainer(c10::Half value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Half) {}
  TensorDataContainer(c10::BFloat16 value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::BFloat16) {}
  TensorDataContainer(c10::complex<float> value)
      : TensorDataContainer(c10::Scalar(value), c10::ScalarType::ComplexFloat) {}
  TensorDataContainer(c10::complex<double> value)
      : TensorDataContainer(c10::Scalar(value), c10::ScalarType::ComplexDouble) {}
  // Throws Error where sub-lists differ in size or element type.
  TensorDataContainer(std::initializer_list<TensorDataContainer> list);
  template <class T>
  TensorDataContainer(c10::ArrayRef<T> values)
      : type_(TensorDataContainerType::Tensor),
        scalar_type_(c10::CppTypeToScalarType<T>::value),
        tensor_(at::detail::tensor_of(values.data(), c10::CppTypeToScalarType<T>::value, values.size(), scalar_type_)) {
    sizes_.push_back(static_cast<int64_t>(values.size()));
  }
  template <class T>
    requires(!std::is_same_v<T, bool>)
  TensorDataContainer(const std::vector<T>& values) : TensorDataContainer(c10::ArrayRef<T>(values)) {}
  TensorDataContainer(const std::vector<bool>& values);

  bool is_scalar() const { return type_ == TensorDataContainerType::Scalar; }
  bool is_init_list() const { return type_ == TensorDataContainerType::InitList; }
  bool is_tensor() const { return type_ == TensorDataContainerType::Tensor; }
  const c10::Scalar& scalar() const;
  const std::vector<TensorDataContainer>& init_list() const;
  const at::Tensor& tensor() const;
  const std::vector<int64_t>& sizes() const { return sizes_; }
  c10::ScalarType scalar_type() const { return scalar_type_; }

  // The tensor, of options.dtype() where it is set: else Long for Int, the default dtype for Float and Double.
  at::Tensor convert_to_tensor(c10::TensorOptions options) const;

 private:
  TensorDataContainer(const c10::Scalar& scalar, c10::ScalarType dtype)
      : type_(TensorDataContainerType::Scalar), scalar_type_(dtype), scalar_(scalar) {}

  void write(at::Tensor& flat, int64_t& position) const;

  TensorDataContainerType type_;
  c10::ScalarType scalar_type_;
  c10::Scalar scalar_;
  std::vector<TensorDataContainer> list_;
  at::Tensor tensor_;
  std::vector<int64_t> sizes_;
};

// "{{1, 2}, {3, 4}}".
void to_text(std::string& out, const TensorDataContainer& data);

}  // namespace torch::detail

namespace torch {

// A new leaf tensor of the values given.
//
//   torch::tensor(3)                          // 0-dim, Long
//   torch::tensor({{1., 2.}, {3., 4.}})       // 2 x 2, default dtype
//   torch::tensor({1, 0}, torch::kFloat32)
at::Tensor tensor(detail::TensorDataContainer data, const c10::TensorOptions& options = {});

}  // namespace torch
