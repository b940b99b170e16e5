// The code of a machine, for sources compiled for one target, or once a target. Include after hwy/highway.h.
//
// Vectors of more than 128 bits are passed in registers only by sources that are compiled for their instruction set as
// a whole: machine_avx2.cc and machine_avx3.cc. These must not emit functions that others could come to call.

#if defined(COMPILE_TAPE_MACHINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPILE_TAPE_MACHINE_INL_H_
#undef COMPILE_TAPE_MACHINE_INL_H_
#else
#define COMPILE_TAPE_MACHINE_INL_H_
#endif

// clang-format off
#include "aten/cpu/loops/activation-inl.h"
#include "aten/cpu/loops/activation_backward-inl.h"
#include "aten/cpu/loops/arithmetic-inl.h"
#include "aten/cpu/loops/math-inl.h"
#include "aten/cpu/loops/unary-inl.h"
#include "aten/cpu/support/narrow-inl.h"
#include "compile/tape/machine.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace torch::compiler::tape {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace cpu = ::at::cpu::HWY_NAMESPACE;
namespace op = ::at::cpu::op;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Pair = cpu::VecFloat;

// The accumulator: as many vectors as are passed in registers, and as a slot holds. Of the operations that take little
// time, finding the next one is half.
#if HWY_TARGET <= HWY_AVX3
#define KD_VECTORS(M) M(0) M(1) M(2) M(3)
#define KD_PAIRS(M) M(0, 1) M(2, 3)
#define KD_ARGUMENTS v0, v1, v2, v3
#else
#define KD_VECTORS(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define KD_PAIRS(M) M(0, 1) M(2, 3) M(4, 5) M(6, 7)
#define KD_ARGUMENTS v0, v1, v2, v3, v4, v5, v6, v7
#endif
#define KD_COUNT(n) +1
constexpr int64_t kVectors = KD_VECTORS(KD_COUNT);
#undef KD_COUNT

#define KD_PARAMETER(n) , V v##n
#define KD_ACCUMULATOR const Instruction *pc, Context &context, int64_t i KD_VECTORS(KD_PARAMETER)
#define KD_NEXT return reinterpret_cast<Code>(pc[1].code)(pc + 1, context, i, KD_ARGUMENTS)

using Code = void (*)(KD_ACCUMULATOR);

HWY_INLINE int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(D()));
}
template <class T>
HWY_INLINE T* slot(const Instruction* pc, Context& context, int64_t i, int k) {
  return reinterpret_cast<T*>(context.at[pc->slot[k]] + i * pc->bytes[k]);
}

void end(KD_ACCUMULATOR) {}

// A step is so short that the processor sees few loads ahead: what comes this many bytes later is fetched meanwhile.
HWY_INLINE void fetch_ahead([[maybe_unused]] const float* from) {
#if HWY_TARGET <= HWY_AVX3
  constexpr int64_t kBytes = 4096;
  __builtin_prefetch(reinterpret_cast<const char*>(from) + kBytes);
#endif
}

void load(KD_ACCUMULATOR) {
  const float* from = slot<float>(pc, context, i, 0);
#define KD_ONE(n)                \
  fetch_ahead(from + n * lanes()); \
  v##n = hn::LoadU(D(), from + n * lanes());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}
void store(KD_ACCUMULATOR) {
  float* to = slot<float>(pc, context, i, 0);
#define KD_ONE(n) hn::StoreU(v##n, D(), to + n * lanes());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}

void load_bfloat16(KD_ACCUMULATOR) {
  const c10::BFloat16* from = slot<c10::BFloat16>(pc, context, i, 0);
#define KD_ONE(n) v##n = cpu::LoadFloats(D(), from + n * lanes());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}
void store_bfloat16(KD_ACCUMULATOR) {
  uint16_t* to = slot<uint16_t>(pc, context, i, 0);
#define KD_ONE(n) cpu::StoreBFloat16(D(), cpu::RoundedToBFloat16(D(), v##n), to + n * lanes());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}
void round_bfloat16(KD_ACCUMULATOR) {
#define KD_ONE(n) v##n = hn::BitCast(D(), cpu::RoundedToBFloat16(D(), v##n));
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}

void call(KD_ACCUMULATOR) {
  char* const data[] = {slot<char>(pc, context, i, 0), slot<char>(pc, context, i, 1), slot<char>(pc, context, i, 2),
                        slot<char>(pc, context, i, 3)};
  pc->loop(data, kVectors * lanes(), pc->parameters);
  // Nothing is in the accumulator.
#define KD_ONE(n) v##n = hn::Undefined(D());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}
void convert(KD_ACCUMULATOR) {
  ::at::cpu::convert(*pc->conversion, slot<char>(pc, context, i, 0), slot<char>(pc, context, i, 1), kVectors * lanes());
  KD_NEXT;
}

Instruction::Code erased(Code code) {
  return reinterpret_cast<Instruction::Code>(code);
}

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
// Without vectors loops do as well.
Instruction::Code operation(Primitive, int) {
  return nullptr;
}
#else

// --- operations: the accumulator is operand `accumulator`, the others follow each other in the slots ---

// Operand k of the part of the step that begins `from` elements behind its start.
template <int accumulator, int k>
HWY_INLINE V operand(const Instruction* pc, Context& context, int64_t i, V v, int64_t from) {
  if constexpr (k == accumulator) {
    return v;
  } else {
    return hn::LoadU(D(), slot<float>(pc, context, i, k < accumulator ? k : k - 1) + from);
  }
}

template <class Tag, int accumulator>
HWY_INLINE V apply(const Instruction* pc, Context& context, int64_t i, V v, int64_t from) {
  using F = cpu::VecFn<Tag>;
  const D d;
  const float* parameters = static_cast<const float*>(pc->parameters);
  const V a = operand<accumulator, 0>(pc, context, i, v, from);
  if constexpr (F::kInputs == 1) {
    return F::run(d, a, parameters);
  } else {
    const V b = operand<accumulator, 1>(pc, context, i, v, from);
    if constexpr (F::kInputs == 2) {
      return F::run(d, a, b, parameters);
    } else {
      return F::run(d, a, b, operand<accumulator, 2>(pc, context, i, v, from), parameters);
    }
  }
}
template <class Tag, int accumulator>
void vector_operation(KD_ACCUMULATOR) {
#define KD_ONE(n) v##n = apply<Tag, accumulator>(pc, context, i, v##n, n * lanes());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  KD_NEXT;
}

template <int accumulator, int k>
HWY_INLINE Pair pair_operand(const Instruction* pc, Context& context, int64_t i, Pair v, int64_t from) {
  return {operand<accumulator, k>(pc, context, i, v.v, from),
          operand<accumulator, k>(pc, context, i, v.w, from + lanes())};
}
template <class Tag, int accumulator>
HWY_INLINE Pair apply_formula(const Instruction* pc, Context& context, int64_t i, Pair v, int64_t from) {
  using F = cpu::Fn<Tag>;
  Pair p[F::kParams + 1];
  for (int k = 0; k < F::kParams; ++k) {
    p[k] = Pair(static_cast<double>(static_cast<const float*>(pc->parameters)[k]));
  }
  const Pair a = pair_operand<accumulator, 0>(pc, context, i, v, from);
  if constexpr (F::kInputs == 1) {
    return F::run(a, p);
  } else {
    return F::run(a, pair_operand<accumulator, 1>(pc, context, i, v, from), p);
  }
}
template <class Tag, int accumulator>
void formula_operation(KD_ACCUMULATOR) {
#define KD_TWO(m, n)                                                                           \
  {                                                                                            \
    const Pair x = apply_formula<Tag, accumulator>(pc, context, i, {v##m, v##n}, m * lanes()); \
    v##m = x.v;                                                                                \
    v##n = x.w;                                                                                \
  }
  KD_PAIRS(KD_TWO)
#undef KD_TWO
  KD_NEXT;
}

template <class Tag>
Instruction::Code vectors(int accumulator) {
  constexpr int kInputs = cpu::VecFn<Tag>::kInputs;
  if (accumulator == 0) return erased(vector_operation<Tag, 0>);
  if constexpr (kInputs > 1) {
    if (accumulator == 1) return erased(vector_operation<Tag, 1>);
  }
  if constexpr (kInputs > 2) {
    if (accumulator == 2) return erased(vector_operation<Tag, 2>);
  }
  return nullptr;
}
template <class Tag>
Instruction::Code formula(int accumulator) {
  constexpr int kInputs = cpu::Fn<Tag>::kInputs;
  if (accumulator == 0) return erased(formula_operation<Tag, 0>);
  if constexpr (kInputs > 1) {
    if (accumulator == 1) return erased(formula_operation<Tag, 1>);
  }
  return nullptr;
}

// Which forms of KD_PRIMITIVES have code here: all vectors, and the formulas whose headers are included.
Instruction::Code operation(Primitive primitive, int accumulator) {
  switch (primitive) {
#define KD_VECTOR(Tag)    \
  case Primitive::k##Tag: \
    return vectors<op::Tag>(accumulator);
#define KD_FORMULA(Tag)   \
  case Primitive::k##Tag: \
    return formula<op::Tag>(accumulator);
    KD_VECTOR(Add)
    KD_VECTOR(AddScaled)
    KD_VECTOR(Sub)
    KD_VECTOR(Mul)
    KD_VECTOR(Div)
    KD_VECTOR(Maximum)
    KD_VECTOR(Minimum)
    KD_VECTOR(Fmax)
    KD_VECTOR(Fmin)
    KD_VECTOR(Clamp)
    KD_VECTOR(ClampMin)
    KD_VECTOR(ClampMax)
    KD_VECTOR(ClampTensor)
    KD_VECTOR(Addcmul)
    KD_VECTOR(Addcdiv)
    KD_VECTOR(Lerp)
    KD_VECTOR(LerpScalar)
    KD_VECTOR(Neg)
    KD_VECTOR(Abs)
    KD_VECTOR(Sign)
    KD_VECTOR(Ceil)
    KD_VECTOR(Floor)
    KD_VECTOR(Round)
    KD_VECTOR(Trunc)
    KD_VECTOR(Frac)
    KD_VECTOR(Reciprocal)
    KD_VECTOR(Square)
    KD_VECTOR(Cube)
    KD_VECTOR(InverseSquare)
    KD_VECTOR(Sqrt)
    KD_VECTOR(Rsqrt)
    KD_VECTOR(Copysign)
    KD_FORMULA(Exp)
    KD_FORMULA(Exp2)
    KD_FORMULA(Expm1)
    KD_FORMULA(Log)
    KD_FORMULA(Log2)
    KD_FORMULA(Log1p)
    KD_FORMULA(Sin)
    KD_FORMULA(Cos)
    KD_FORMULA(Tanh)
    KD_FORMULA(Sigmoid)
    KD_FORMULA(Erf)
    KD_FORMULA(Gelu)
    KD_FORMULA(GeluTanh)
    KD_FORMULA(Silu)
    KD_FORMULA(Mish)
    KD_FORMULA(Softplus)
    KD_FORMULA(Elu)
    KD_FORMULA(LeakyRelu)
    KD_FORMULA(Hardsigmoid)
    KD_FORMULA(Hardswish)
    KD_FORMULA(Threshold)
    KD_FORMULA(LogSigmoid)
    KD_FORMULA(SigmoidBackward)
    KD_FORMULA(TanhBackward)
    KD_FORMULA(GeluBackward)
    KD_FORMULA(GeluTanhBackward)
    KD_FORMULA(SiluBackward)
    KD_FORMULA(ThresholdBackward)
#undef KD_VECTOR
#undef KD_FORMULA
    default:
      return nullptr;
  }
}

#endif

void run(const Instruction* program, Context& context, int64_t first, int64_t steps) {
#define KD_ONE(n) const V v##n = hn::Zero(D());
  KD_VECTORS(KD_ONE)
#undef KD_ONE
  const int64_t elements = kVectors * lanes(), last = first + steps * elements;
  for (int64_t i = first; i < last; i += elements) {
    reinterpret_cast<Code>(program->code)(program, context, i, KD_ARGUMENTS);
  }
}

#undef KD_NEXT
#undef KD_ACCUMULATOR
#undef KD_PARAMETER
#undef KD_ARGUMENTS
#undef KD_PAIRS
#undef KD_VECTORS

}  // namespace

const Machine* make_machine() {
  static const Machine machine{kVectors * lanes(),
                               erased(end),
                               erased(load),
                               erased(load_bfloat16),
                               erased(store),
                               erased(store_bfloat16),
                               erased(round_bfloat16),
                               erased(call),
                               erased(convert),
                               operation,
                               run};
  return &machine;
}

}  // namespace HWY_NAMESPACE
}  // namespace torch::compiler::tape
HWY_AFTER_NAMESPACE();

#endif  // include guard
