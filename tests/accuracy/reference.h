#pragma once

#include <complex>
#include <vector>

#include "c10/value/ivalue.h"

// The pointwise operators in long double: what the accuracy test compares with.

namespace at::accuracy {

using Real = long double;
using Complex = std::complex<long double>;

/// What is not compared: the sign of a zero, where it is not defined; anything but the uniform draws, where
/// intermediate results may overflow.
enum Limits : int { kAll = 0, kNoZeroSign = 1, kUniformOnly = 2 };

/// The value of an operator at its operands, in long double. The unit of the error is the last place of the value or,
/// where sums may cancel, of the greater of it and `scale` (else null).
struct Function {
  const char* op;  // "add.Tensor"
  int tensors;     // operands; the arguments that follow are `rest`
  std::vector<c10::IValue> rest;
  Real (*exact)(const Real* x);
  Complex (*complex)(const Complex* z);  // null: not for complex numbers
  Real (*scale)(const Real* x);
  double low, high;  // of the uniform draws; others are of every magnitude
  int limits = kAll;
};

const std::vector<Function>& functions();

}  // namespace at::accuracy
