#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace torch::detail {

enum class TensorDataContainerType { Scalar, InitList, Tensor };

// What torch::tensor takes: a number, nested braces of numbers, or a flat sequence (vector, ArrayRef). Knows its sizes and
// its element type: int and int64_t count as Long, float and double as the default dtype, others as themselves.
class TensorDataContainer {
 public:
  TensorDataContainer();
  TensorDataContainer(bool value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Bool) {}
  TensorDataContainer(int value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Long) {}
  TensorDataContainer(int64_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Long) {}
  TensorDataContainer(uint8_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Byte) {}
  TensorDataContainer(int8_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Char) {}
  TensorDataContainer(int16_t value) : TensorDataContainer(c10::Scalar(value), c10::ScalarType::Short) {}
  TensorDataContainer(float value) : TensorDataContainer(c10::Scalar(value), floating()) {}
  TensorDataContainer(double value) : TensorDataContainer(c10::Scalar(value), floating()) {}
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
        scalar_type_(element_type(c10::CppTypeToScalarType<T>::value)),
        tensor_(from_values(values.data(), c10::CppTypeToScalarType<T>::value, values.size(), scalar_type_)) {
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

  // The tensor, of options.dtype() where it is set.
  at::Tensor convert_to_tensor(c10::TensorOptions options) const;

 private:
  TensorDataContainer(const c10::Scalar& scalar, c10::ScalarType dtype)
      : type_(TensorDataContainerType::Scalar), scalar_type_(dtype), scalar_(scalar) {}

  static c10::ScalarType floating() { return c10::get_default_dtype_as_scalartype(); }
  static c10::ScalarType element_type(c10::ScalarType dtype);
  static at::Tensor from_values(const void* values, c10::ScalarType source, size_t count, c10::ScalarType dtype);
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
