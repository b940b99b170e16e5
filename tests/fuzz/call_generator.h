#pragma once

#include <cstdint>
#include <string>

#include "c10/dispatch/function_schema.h"
#include "c10/value/ivalue.h"

// Calls of operators, made from their schemas: arguments that fit each other, arguments that do not, and mixtures.
namespace fuzz {

// How much of a call is meant to be wrong.
enum class Temper {
  kMixed,  // nearly half of the calls fit together, a few have only wild arguments, the rest one or some
  kTame,   // arguments that fit together, on the CPU, contiguous or not
};

// The arguments of call number `number`, one a schema argument. The same numbers give the same call, in any process.
c10::Stack generate_call(const c10::FunctionSchema& schema, uint64_t seed, uint64_t number, Temper temper = Temper::kMixed);

// One line an argument: sizes, strides, dtype and first values of tensors, everything else in full.
std::string describe(const c10::FunctionSchema& schema, const c10::Stack& arguments);

}  // namespace fuzz
