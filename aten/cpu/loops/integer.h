#pragma once

#include "aten/cpu/elementwise.h"

// Integer operators. Division by zero gives 0 and is noted in the context, for the caller to report.

namespace at::cpu {

/// The context of the int_* divisions. Threads may note at the same time; devices note nothing. As large as contexts
/// have to be.
struct alignas(64) DivisionContext {
  mutable int divided_by_zero = 0;
  void note_division_by_zero() const { __atomic_store_n(&divided_by_zero, 1, __ATOMIC_RELAXED); }
};

namespace loops {

extern const ElementOp int_trunc_divide;  // toward zero
extern const ElementOp int_floor_divide;  // toward minus infinity
extern const ElementOp int_fmod;          // sign of the dividend
extern const ElementOp int_remainder;     // sign of the divisor
extern const ElementOp bitwise_and;
extern const ElementOp bitwise_or;
extern const ElementOp bitwise_xor;
// Shifts by less than zero or at least the width (the context's int: bits of the dtype) shift everything out.
extern const ElementOp shift_left;
extern const ElementOp shift_right;
extern const ElementOp gcd;
extern const ElementOp lcm;

}  // namespace loops
}  // namespace at::cpu
