#include "aten/cpu/optimizer/optimizer_step.h"

#include <cmath>
#include <cstring>

#include "aten/cpu/rows/rows.h"
#include "c10/util/bfloat16.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/optimizer/optimizer_step.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls `one(p)` for each whole vector, p[k] pointing into operand k (null where the operand is). The rest goes through
// buffers of one vector, so that it is computed by the same instructions.
template <class T, int kOperands, class One>
HWY_INLINE void for_each_vector(T* const (&operand)[kOperands], int64_t n, const One& one) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T* p[kOperands];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int k = 0; k < kOperands; ++k) p[k] = operand[k] == nullptr ? nullptr : operand[k] + i;
    one(p);
  }
  if (i == n) return;
  HWY_ALIGN T buffer[kOperands][HWY_MAX_BYTES / sizeof(T)] = {};
  const size_t bytes = static_cast<size_t>(n - i) * sizeof(T);
  for (int k = 0; k < kOperands; ++k) {
    p[k] = operand[k] == nullptr ? nullptr : buffer[k];
    if (operand[k] != nullptr) std::memcpy(buffer[k], operand[k] + i, bytes);
  }
  one(p);
  for (int k = 0; k < kOperands; ++k)
    if (k != 1 && operand[k] != nullptr) std::memcpy(operand[k] + i, buffer[k], bytes);
}

template <class D, class T>
HWY_INLINE hn::Vec<D> gradient(D d, const T* from, bool maximize) {
  const auto g = hn::LoadU(d, from);
  return maximize ? hn::Neg(g) : g;
}

template <class T>
void sgd(T* const (&operand)[3], int64_t n, const SgdStep& s) {
  const hn::ScalableTag<T> d;
  const auto decay = hn::Set(d, static_cast<T>(s.weight_decay));
  const auto momentum = hn::Set(d, static_cast<T>(s.momentum));
  const auto fresh = hn::Set(d, static_cast<T>(1 - s.dampening));
  const auto lr = hn::Set(d, static_cast<T>(s.lr));
  for_each_vector(operand, n, [&](T* const(&p)[3]) HWY_ATTR {
    const auto w = hn::LoadU(d, p[0]);
    auto g = gradient(d, p[1], s.maximize);
    if (s.weight_decay != 0) g = hn::MulAdd(decay, w, g);
    if (p[2] != nullptr) {
      const auto buf = s.first ? g : hn::MulAdd(momentum, hn::LoadU(d, p[2]), hn::Mul(fresh, g));
      hn::StoreU(buf, d, p[2]);
      g = s.nesterov ? hn::MulAdd(momentum, buf, g) : buf;
    }
    hn::StoreU(hn::NegMulAdd(lr, g, w), d, p[0]);
  });
}

template <class T>
void adam(T* const (&operand)[5], int64_t n, const AdamStep& s) {
  const hn::ScalableTag<T> d;
  const auto decay = hn::Set(d, static_cast<T>(s.weight_decay));
  const auto shrink = hn::Set(d, static_cast<T>(1 - s.lr * s.weight_decay));
  const auto beta1 = hn::Set(d, static_cast<T>(s.beta1));
  const auto rest1 = hn::Set(d, static_cast<T>(1 - s.beta1));
  const auto beta2 = hn::Set(d, static_cast<T>(s.beta2));
  const auto rest2 = hn::Set(d, static_cast<T>(1 - s.beta2));
  const auto eps = hn::Set(d, static_cast<T>(s.eps));
  const auto root = hn::Set(d, static_cast<T>(1 / std::sqrt(s.bias_correction2)));
  const auto size = hn::Set(d, static_cast<T>(s.lr / s.bias_correction1));
  for_each_vector(operand, n, [&](T* const(&p)[5]) HWY_ATTR {
    auto w = hn::LoadU(d, p[0]);
    auto g = gradient(d, p[1], s.maximize);
    if (s.decoupled) {
      w = hn::Mul(w, shrink);
    } else if (s.weight_decay != 0) {
      g = hn::MulAdd(decay, w, g);
    }
    const auto m = hn::MulAdd(beta1, hn::LoadU(d, p[2]), hn::Mul(rest1, g));
    hn::StoreU(m, d, p[2]);
    auto v = hn::MulAdd(beta2, hn::LoadU(d, p[3]), hn::Mul(rest2, hn::Mul(g, g)));
    hn::StoreU(v, d, p[3]);
    if (p[4] != nullptr) {
      v = hn::Max(v, hn::LoadU(d, p[4]));
      hn::StoreU(v, d, p[4]);
    }
    const auto denominator = hn::MulAdd(hn::Sqrt(v), root, eps);
    hn::StoreU(hn::NegMulAdd(size, hn::Div(m, denominator), w), d, p[0]);
  });
}

template <class T>
void adagrad(T* const (&operand)[3], int64_t n, const AdagradStep& s) {
  const hn::ScalableTag<T> d;
  const auto decay = hn::Set(d, static_cast<T>(s.weight_decay));
  const auto eps = hn::Set(d, static_cast<T>(s.eps));
  const auto lr = hn::Set(d, static_cast<T>(s.lr));
  for_each_vector(operand, n, [&](T* const(&p)[3]) HWY_ATTR {
    const auto w = hn::LoadU(d, p[0]);
    auto g = gradient(d, p[1], s.maximize);
    if (s.weight_decay != 0) g = hn::MulAdd(decay, w, g);
    const auto sum = hn::MulAdd(g, g, hn::LoadU(d, p[2]));
    hn::StoreU(sum, d, p[2]);
    hn::StoreU(hn::NegMulAdd(lr, hn::Div(g, hn::Add(hn::Sqrt(sum), eps)), w), d, p[0]);
  });
}

template <class T>
void rmsprop(T* const (&operand)[5], int64_t n, const RmspropStep& s) {
  const hn::ScalableTag<T> d;
  const auto decay = hn::Set(d, static_cast<T>(s.weight_decay));
  const auto alpha = hn::Set(d, static_cast<T>(s.alpha));
  const auto rest = hn::Set(d, static_cast<T>(1 - s.alpha));
  const auto eps = hn::Set(d, static_cast<T>(s.eps));
  const auto momentum = hn::Set(d, static_cast<T>(s.momentum));
  const auto lr = hn::Set(d, static_cast<T>(s.lr));
  for_each_vector(operand, n, [&](T* const(&p)[5]) HWY_ATTR {
    const auto w = hn::LoadU(d, p[0]);
    auto g = gradient(d, p[1], s.maximize);
    if (s.weight_decay != 0) g = hn::MulAdd(decay, w, g);
    auto v = hn::MulAdd(alpha, hn::LoadU(d, p[2]), hn::Mul(rest, hn::Mul(g, g)));
    hn::StoreU(v, d, p[2]);
    if (p[3] != nullptr) {
      const auto average = hn::MulAdd(alpha, hn::LoadU(d, p[3]), hn::Mul(rest, g));
      hn::StoreU(average, d, p[3]);
      v = hn::NegMulAdd(average, average, v);
    }
    auto move = hn::Div(g, hn::Add(hn::Sqrt(v), eps));
    if (p[4] != nullptr) {
      move = hn::MulAdd(momentum, hn::LoadU(d, p[4]), move);
      hn::StoreU(move, d, p[4]);
    }
    hn::StoreU(hn::NegMulAdd(lr, move, w), d, p[0]);
  });
}

template <class T>
void unscale(T* const (&operand)[1], int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  const auto divisor = hn::Set(d, scale);
  for_each_vector(operand, n, [&](T* const(&p)[1])
                                  HWY_ATTR { hn::StoreU(hn::Div(hn::LoadU(d, p[0]), divisor), d, p[0]); });
}

template <class T>
void scale(T* const (&operand)[1], int64_t n, T factor, bool* finite) {
  const hn::ScalableTag<T> d;
  const auto times = hn::Set(d, factor);
  for_each_vector(operand, n, [&](T* const(&p)[1]) HWY_ATTR {
    const auto g = hn::LoadU(d, p[0]);
    if (!hn::AllTrue(d, hn::IsFinite(g))) *finite = false;
    if (factor != 1) hn::StoreU(hn::Mul(g, times), d, p[0]);
  });
}

void sgd_float(float* const (&p)[3], int64_t n, const SgdStep& s) { sgd(p, n, s); }
void sgd_double(double* const (&p)[3], int64_t n, const SgdStep& s) { sgd(p, n, s); }
void adam_float(float* const (&p)[5], int64_t n, const AdamStep& s) { adam(p, n, s); }
void adam_double(double* const (&p)[5], int64_t n, const AdamStep& s) { adam(p, n, s); }
void adagrad_float(float* const (&p)[3], int64_t n, const AdagradStep& s) { adagrad(p, n, s); }
void adagrad_double(double* const (&p)[3], int64_t n, const AdagradStep& s) { adagrad(p, n, s); }
void rmsprop_float(float* const (&p)[5], int64_t n, const RmspropStep& s) { rmsprop(p, n, s); }
void rmsprop_double(double* const (&p)[5], int64_t n, const RmspropStep& s) { rmsprop(p, n, s); }
void unscale_float(float* const (&p)[1], int64_t n, float scale) { unscale(p, n, scale); }
void unscale_double(double* const (&p)[1], int64_t n, double scale) { unscale(p, n, scale); }
void scale_float(float* const (&p)[1], int64_t n, float factor, bool* finite) { scale(p, n, factor, finite); }
void scale_double(double* const (&p)[1], int64_t n, double factor, bool* finite) { scale(p, n, factor, finite); }

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {

// Widens blocks of 16-bit operands, runs `step` on float32 and narrows what it changed (all but operand 1, the
// gradient).
template <class Half, int kOperands, class Step>
void through_float(void* const (&operand)[kOperands], int64_t n, const Step& step) {
  constexpr int64_t kBlock = 512;
  alignas(64) float buffer[kOperands][kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    float* p[kOperands];
    for (int k = 0; k < kOperands; ++k) {
      p[k] = operand[k] == nullptr ? nullptr : buffer[k];
      if (p[k] != nullptr) convert_row(static_cast<const Half*>(operand[k]) + i, p[k], count);
    }
    step(p, count);
    for (int k = 0; k < kOperands; ++k)
      if (k != 1 && p[k] != nullptr) convert_row(p[k], static_cast<Half*>(operand[k]) + i, count);
  }
}

template <int kOperands, class StepFloat, class StepDouble>
void by_dtype(c10::ScalarType dtype, void* const (&operand)[kOperands], int64_t n, const StepFloat& step_float, const StepDouble& step_double) {
  switch (dtype) {
    case c10::ScalarType::Float: {
      float* p[kOperands];
      for (int k = 0; k < kOperands; ++k) p[k] = static_cast<float*>(operand[k]);
      return step_float(p, n);
    }
    case c10::ScalarType::Double: {
      double* p[kOperands];
      for (int k = 0; k < kOperands; ++k) p[k] = static_cast<double*>(operand[k]);
      return step_double(p, n);
    }
    case c10::ScalarType::Half:
      return through_float<c10::Half>(operand, n, step_float);
    case c10::ScalarType::BFloat16:
      return through_float<c10::BFloat16>(operand, n, step_float);
    default:
      TORCH_CHECK_TYPE(false, "optimizer step: expected a floating-point parameter, but got ", c10::toString(dtype));
  }
}

}  // namespace

void sgd_step(c10::ScalarType dtype, void* param, const void* grad, void* buf, int64_t n, const SgdStep& step) {
  void* const operand[3] = {param, const_cast<void*>(grad), buf};
  by_dtype(
      dtype, operand, n, [&](float* const(&p)[3], int64_t count) { AT_ISA_FUNCTION(sgd_float)(p, count, step); },
      [&](double* const(&p)[3], int64_t count) { AT_ISA_FUNCTION(sgd_double)(p, count, step); });
}

void adam_step(c10::ScalarType dtype, void* param, const void* grad, void* m, void* v, void* max_v, int64_t n, const AdamStep& step) {
  void* const operand[5] = {param, const_cast<void*>(grad), m, v, max_v};
  by_dtype(
      dtype, operand, n, [&](float* const(&p)[5], int64_t count) { AT_ISA_FUNCTION(adam_float)(p, count, step); },
      [&](double* const(&p)[5], int64_t count) { AT_ISA_FUNCTION(adam_double)(p, count, step); });
}

void adagrad_step(c10::ScalarType dtype, void* param, const void* grad, void* sum, int64_t n, const AdagradStep& step) {
  void* const operand[3] = {param, const_cast<void*>(grad), sum};
  by_dtype(
      dtype, operand, n, [&](float* const(&p)[3], int64_t count) { AT_ISA_FUNCTION(adagrad_float)(p, count, step); },
      [&](double* const(&p)[3], int64_t count) { AT_ISA_FUNCTION(adagrad_double)(p, count, step); });
}

void rmsprop_step(c10::ScalarType dtype, void* param, const void* grad, void* v, void* average, void* buf, int64_t n, const RmspropStep& step) {
  void* const operand[5] = {param, const_cast<void*>(grad), v, average, buf};
  by_dtype(
      dtype, operand, n, [&](float* const(&p)[5], int64_t count) { AT_ISA_FUNCTION(rmsprop_float)(p, count, step); },
      [&](double* const(&p)[5], int64_t count) { AT_ISA_FUNCTION(rmsprop_double)(p, count, step); });
}

void unscale_gradient(c10::ScalarType dtype, void* grad, int64_t n, double scale) {
  void* const operand[1] = {grad};
  by_dtype(
      dtype, operand, n,
      [&](float* const(&p)[1], int64_t count) {
        AT_ISA_FUNCTION(unscale_float)(p, count, static_cast<float>(scale));
      },
      [&](double* const(&p)[1], int64_t count) { AT_ISA_FUNCTION(unscale_double)(p, count, scale); });
}

bool scale_gradient(c10::ScalarType dtype, void* grad, int64_t n, double factor) {
  void* const operand[1] = {grad};
  bool finite = true;
  by_dtype(
      dtype, operand, n,
      [&](float* const(&p)[1], int64_t count) {
        AT_ISA_FUNCTION(scale_float)(p, count, static_cast<float>(factor), &finite);
      },
      [&](double* const(&p)[1], int64_t count) { AT_ISA_FUNCTION(scale_double)(p, count, factor, &finite); });
  return finite;
}

}  // namespace at::cpu
#endif  // HWY_ONCE
