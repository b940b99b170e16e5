// AT_DISPATCH_V2: run a lambda with `scalar_t` set to the C++ type of a dtype, out of a list of dtypes and groups.
//
//   AT_DISPATCH_V2(x.scalar_type(), "scale", AT_WRAP([&] { scale<scalar_t, 2>(x); }), kHalf, AT_EXPAND(AT_ALL_TYPES));
//
// A dtype outside the list throws NotImplementedError: "scale" not implemented for 'Bool'.
#pragma once

#include "aten/core/dispatch.h"
#include "c10/util/float8.h"

// Around a lambda, whose commas the preprocessor would count; around a group.
#define AT_WRAP(...) (__VA_ARGS__)
#define AT_EXPAND(X) X

#define AT_FLOATING_TYPES c10::ScalarType::Double, c10::ScalarType::Float
#define AT_BAREBONES_UNSIGNED_TYPES c10::ScalarType::UInt16, c10::ScalarType::UInt32, c10::ScalarType::UInt64
#define AT_INTEGRAL_TYPES                                                                                          \
  c10::ScalarType::Byte, c10::ScalarType::Char, c10::ScalarType::Int, c10::ScalarType::Long, c10::ScalarType::Short
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES
#define AT_COMPLEX_TYPES c10::ScalarType::ComplexDouble, c10::ScalarType::ComplexFloat
#define AT_QINT_TYPES c10::ScalarType::QInt8, c10::ScalarType::QUInt8, c10::ScalarType::QInt32
#define AT_FLOAT8_TYPES                                                                                   \
  c10::ScalarType::Float8_e5m2, c10::ScalarType::Float8_e5m2fnuz, c10::ScalarType::Float8_e4m3fn,         \
      c10::ScalarType::Float8_e4m3fnuz, c10::ScalarType::Float8_e8m0fnu
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_V2 AT_INTEGRAL_TYPES_V2, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define AT_ALL_TYPES_AND_COMPLEX_V2 AT_ALL_TYPES_V2, AT_COMPLEX_TYPES

#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, KD_DISPATCH_SCAN_(KD_DISPATCH_CASES_(BODY, __VA_ARGS__)))

// One case a type: the list is read again as often as the scans say, which is enough for 80 types.
#define KD_DISPATCH_PARENTHESES_ ()
#define KD_DISPATCH_CASES_(BODY, TYPE, ...) \
  AT_DISPATCH_CASE(TYPE, BODY) __VA_OPT__(KD_DISPATCH_MORE_ KD_DISPATCH_PARENTHESES_(BODY, __VA_ARGS__))
#define KD_DISPATCH_MORE_() KD_DISPATCH_CASES_
#define KD_DISPATCH_SCAN_(...) KD_DISPATCH_SCAN3_(KD_DISPATCH_SCAN3_(KD_DISPATCH_SCAN3_(__VA_ARGS__)))
#define KD_DISPATCH_SCAN3_(...) KD_DISPATCH_SCAN2_(KD_DISPATCH_SCAN2_(KD_DISPATCH_SCAN2_(__VA_ARGS__)))
#define KD_DISPATCH_SCAN2_(...) KD_DISPATCH_SCAN1_(KD_DISPATCH_SCAN1_(KD_DISPATCH_SCAN1_(__VA_ARGS__)))
#define KD_DISPATCH_SCAN1_(...) KD_DISPATCH_SCAN0_(KD_DISPATCH_SCAN0_(KD_DISPATCH_SCAN0_(__VA_ARGS__)))
#define KD_DISPATCH_SCAN0_(...) __VA_ARGS__
