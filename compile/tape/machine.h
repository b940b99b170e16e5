// What runs groups: direct-threaded code. An instruction ends by calling the next, which the compiler makes a jump; a
// few vectors of float, the accumulator, stay in registers on the way. All else lies in slots in the first-level cache,
// or is read from where it is.
#pragma once

#include <cstdint>

#include "aten/cpu/cast.h"
#include "aten/cpu/elementwise.h"
#include "compile/group/primitive.h"

namespace torch::compiler::tape {

constexpr int kMostSlots = 512;
/// The most elements that a processor's step has.
constexpr int64_t kMostElements = 64;
/// A slot's: of the widest type.
constexpr int64_t kSlotBytes = kMostElements * 8;

/// Where the slots are in this run.
struct Context {
  char* at[kMostSlots];
};

struct Instruction {
  using Code = void (*)();
  Code code = nullptr;
  /// Operands that are not in the accumulator, in order; of calls and conversions the result first.
  uint16_t slot[4] = {};
  /// The bytes of an element in the slot, by which a step moves on in it; 0 where all steps find the same.
  uint16_t bytes[4] = {};
  const void* parameters = nullptr;
  /// Of calls.
  at::cpu::ElementLoop loop = nullptr;
  const at::cpu::Conversion* conversion = nullptr;
};

/// The code for one instruction set.
struct Machine {
  int64_t elements;  ///< of a step: a few vectors of float
  Instruction::Code end;
  Instruction::Code load, load_bfloat16;    ///< the accumulator from slot 0
  Instruction::Code store, store_bfloat16;  ///< and into it
  Instruction::Code round_bfloat16;         ///< the accumulator to what bfloat16 holds
  Instruction::Code call;                   ///< loop: slot 0 from the others
  Instruction::Code convert;                ///< slot 0 from slot 1
  /// Of Float, on the accumulator as that operand, the others in slots; null where there is none.
  Instruction::Code (*operation)(Primitive primitive, int accumulator);
  /// That many steps, from element `first` on.
  void (*run)(const Instruction* program, Context& context, int64_t first, int64_t steps);
};

/// That of this processor.
const Machine& machine();

/// Those of the wider instruction sets; null where the compiler does not have them.
const Machine* machine_avx2();
const Machine* machine_avx3();

}  // namespace torch::compiler::tape
