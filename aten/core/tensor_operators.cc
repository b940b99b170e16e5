// The C++ operators of Tensor. Each is the named operator of its family.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/unary/ops.h"

namespace at {

Tensor Tensor::operator~() const {
  return at::bitwise_not(*this);
}

Tensor Tensor::operator-() const {
  return at::neg(*this);
}

Tensor& Tensor::operator+=(const Tensor& other) {
  at::add_(*this, other);
  return *this;
}

Tensor& Tensor::operator+=(const Scalar& other) {
  at::add_(*this, other);
  return *this;
}

Tensor& Tensor::operator-=(const Tensor& other) {
  at::sub_(*this, other);
  return *this;
}

Tensor& Tensor::operator-=(const Scalar& other) {
  at::sub_(*this, other);
  return *this;
}

Tensor& Tensor::operator*=(const Tensor& other) {
  at::mul_(*this, other);
  return *this;
}

Tensor& Tensor::operator*=(const Scalar& other) {
  at::mul_(*this, other);
  return *this;
}

Tensor& Tensor::operator/=(const Tensor& other) {
  at::div_(*this, other);
  return *this;
}

Tensor& Tensor::operator/=(const Scalar& other) {
  at::div_(*this, other);
  return *this;
}

Tensor& Tensor::operator&=(const Tensor& other) {
  at::bitwise_and_(*this, other);
  return *this;
}

Tensor& Tensor::operator&=(const Scalar& other) {
  at::bitwise_and_(*this, other);
  return *this;
}

Tensor& Tensor::operator|=(const Tensor& other) {
  at::bitwise_or_(*this, other);
  return *this;
}

Tensor& Tensor::operator|=(const Scalar& other) {
  at::bitwise_or_(*this, other);
  return *this;
}

Tensor& Tensor::operator^=(const Tensor& other) {
  at::bitwise_xor_(*this, other);
  return *this;
}

Tensor& Tensor::operator^=(const Scalar& other) {
  at::bitwise_xor_(*this, other);
  return *this;
}

Tensor operator+(const Tensor& a, const Tensor& b) {
  return at::add(a, b);
}

Tensor operator+(const Tensor& a, const Scalar& b) {
  return at::add(a, b);
}

Tensor operator+(const Scalar& a, const Tensor& b) {
  return at::add(b, a);
}

Tensor operator-(const Tensor& a, const Tensor& b) {
  return at::sub(a, b);
}

Tensor operator-(const Tensor& a, const Scalar& b) {
  return at::sub(a, b);
}

Tensor operator-(const Scalar& a, const Tensor& b) {
  return at::rsub(b, a);
}

Tensor operator*(const Tensor& a, const Tensor& b) {
  return at::mul(a, b);
}

Tensor operator*(const Tensor& a, const Scalar& b) {
  return at::mul(a, b);
}

Tensor operator*(const Scalar& a, const Tensor& b) {
  return at::mul(b, a);
}

Tensor operator/(const Tensor& a, const Tensor& b) {
  return at::div(a, b);
}

Tensor operator/(const Tensor& a, const Scalar& b) {
  return at::div(a, b);
}

Tensor operator/(const Scalar& a, const Tensor& b) {
  return at::mul(at::reciprocal(b), a);
}

Tensor operator%(const Tensor& a, const Tensor& b) {
  return at::remainder(a, b);
}

Tensor operator%(const Tensor& a, const Scalar& b) {
  return at::remainder(a, b);
}

Tensor operator%(const Scalar& a, const Tensor& b) {
  return at::remainder(a, b);
}

Tensor operator&(const Tensor& a, const Tensor& b) {
  return at::bitwise_and(a, b);
}

Tensor operator&(const Tensor& a, const Scalar& b) {
  return at::bitwise_and(a, b);
}

Tensor operator&(const Scalar& a, const Tensor& b) {
  return at::bitwise_and(b, a);
}

Tensor operator|(const Tensor& a, const Tensor& b) {
  return at::bitwise_or(a, b);
}

Tensor operator|(const Tensor& a, const Scalar& b) {
  return at::bitwise_or(a, b);
}

Tensor operator|(const Scalar& a, const Tensor& b) {
  return at::bitwise_or(b, a);
}

Tensor operator^(const Tensor& a, const Tensor& b) {
  return at::bitwise_xor(a, b);
}

Tensor operator^(const Tensor& a, const Scalar& b) {
  return at::bitwise_xor(a, b);
}

Tensor operator^(const Scalar& a, const Tensor& b) {
  return at::bitwise_xor(b, a);
}

Tensor operator<(const Tensor& a, const Tensor& b) {
  return at::lt(a, b);
}

Tensor operator<(const Tensor& a, const Scalar& b) {
  return at::lt(a, b);
}

Tensor operator<(const Scalar& a, const Tensor& b) {
  return at::gt(b, a);
}

Tensor operator<=(const Tensor& a, const Tensor& b) {
  return at::le(a, b);
}

Tensor operator<=(const Tensor& a, const Scalar& b) {
  return at::le(a, b);
}

Tensor operator<=(const Scalar& a, const Tensor& b) {
  return at::ge(b, a);
}

Tensor operator>(const Tensor& a, const Tensor& b) {
  return at::gt(a, b);
}

Tensor operator>(const Tensor& a, const Scalar& b) {
  return at::gt(a, b);
}

Tensor operator>(const Scalar& a, const Tensor& b) {
  return at::lt(b, a);
}

Tensor operator>=(const Tensor& a, const Tensor& b) {
  return at::ge(a, b);
}

Tensor operator>=(const Tensor& a, const Scalar& b) {
  return at::ge(a, b);
}

Tensor operator>=(const Scalar& a, const Tensor& b) {
  return at::le(b, a);
}

Tensor operator==(const Tensor& a, const Tensor& b) {
  return at::eq(a, b);
}

Tensor operator==(const Tensor& a, const Scalar& b) {
  return at::eq(a, b);
}

Tensor operator==(const Scalar& a, const Tensor& b) {
  return at::eq(b, a);
}

Tensor operator!=(const Tensor& a, const Tensor& b) {
  return at::ne(a, b);
}

Tensor operator!=(const Tensor& a, const Scalar& b) {
  return at::ne(a, b);
}

Tensor operator!=(const Scalar& a, const Tensor& b) {
  return at::ne(b, a);
}

}  // namespace at
