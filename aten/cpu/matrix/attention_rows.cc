#include "aten/cpu/matrix/attention_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/attention_rows.cc"
#include "hwy/foreach_target.h"  // keep first
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace vm = cpu::HWY_NAMESPACE::vm;

template <class T>
HWY_INLINE T Infinity() {
  return static_cast<T>(__builtin_inf());
}

// The `left` values at p, then `fill`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadTail(D d, const T* p, int64_t left, T fill) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < lanes; ++i) buffer[i] = i < left ? p[i] : fill;
  return hn::Load(d, buffer);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreTail(D d, hn::Vec<D> v, T* p, int64_t left) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, buffer);
  for (int64_t i = 0; i < left; ++i) p[i] = buffer[i];
}

template <class T>
T ExpRow(T* row, int64_t cols, T shift) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto s = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) {
    const auto e = vm::exp(d, hn::Sub(hn::LoadU(d, row + j), s));
    hn::StoreU(e, d, row + j);
    sum = hn::Add(sum, e);
  }
  if (j < cols) {
    const auto e = vm::exp(d, hn::Sub(LoadTail(d, row + j, cols - j, -Infinity<T>()), s));
    StoreTail(d, e, row + j, cols - j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
T MaxRow(const T* row, int64_t cols) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m = hn::Set(d, -Infinity<T>());
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) m = hn::Max(hn::LoadU(d, row + j), m);
  if (j < cols) m = hn::Max(LoadTail(d, row + j, cols - j, -Infinity<T>()), m);
  return hn::GetLane(hn::MaxOfLanes(d, m));
}

template <class T>
T ExpOne(T x) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(vm::exp(d, hn::Set(d, x)));
}

template <class T>
void SoftmaxStep(T* rows, int64_t count, int64_t cols, int64_t stride, T* max, T* sum, T* correction) {
  for (int64_t r = 0; r < count; ++r) {
    T* row = rows + r * stride;
    const T here = MaxRow(row, cols);
    const T now = here > max[r] ? here : max[r];
    // Nothing but -infinity so far (a NaN makes the comparison of `here` false, but not its exponential).
    const T shift = now == -Infinity<T>() ? T(0) : now;
    correction[r] = max[r] == now ? T(1) : ExpOne<T>(max[r] - shift);
    max[r] = now;
    sum[r] = sum[r] * correction[r] + ExpRow(row, cols, shift);
  }
}

template <class T>
void ScaleRows(T* rows, int64_t count, int64_t cols, int64_t stride, const T* factor) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < count; ++r) {
    if (factor[r] == T(1)) continue;
    T* row = rows + r * stride;
    const auto f = hn::Set(d, factor[r]);
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes) hn::StoreU(hn::Mul(f, hn::LoadU(d, row + j)), d, row + j);
    for (; j < cols; ++j) row[j] *= factor[r];
  }
}

template <class T>
void ExpRows(T* rows, int64_t count, int64_t cols, int64_t stride, const T* shift) {
  for (int64_t r = 0; r < count; ++r) ExpRow(rows + r * stride, cols, shift[r]);
}

template <class T>
void SoftmaxGradient(T* grad, const T* weights, int64_t count, int64_t cols, int64_t stride, const T* shift, T scale) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < count; ++r) {
    T* g = grad + r * stride;
    const T* w = weights + r * stride;
    const auto s = hn::Set(d, shift[r]), f = hn::Set(d, scale);
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes)
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, w + j), hn::Sub(hn::LoadU(d, g + j), s)), f), d, g + j);
    for (; j < cols; ++j) g[j] = w[j] * (g[j] - shift[r]) * scale;
  }
}

void SoftmaxStepF(float* r, int64_t n, int64_t c, int64_t s, float* m, float* t, float* k) { SoftmaxStep(r, n, c, s, m, t, k); }
void SoftmaxStepD(double* r, int64_t n, int64_t c, int64_t s, double* m, double* t, double* k) { SoftmaxStep(r, n, c, s, m, t, k); }
void ScaleRowsF(float* r, int64_t n, int64_t c, int64_t s, const float* f) { ScaleRows(r, n, c, s, f); }
void ScaleRowsD(double* r, int64_t n, int64_t c, int64_t s, const double* f) { ScaleRows(r, n, c, s, f); }
void ExpRowsF(float* r, int64_t n, int64_t c, int64_t s, const float* f) { ExpRows(r, n, c, s, f); }
void ExpRowsD(double* r, int64_t n, int64_t c, int64_t s, const double* f) { ExpRows(r, n, c, s, f); }
void SoftmaxGradientF(float* g, const float* w, int64_t n, int64_t c, int64_t s, const float* h, float f) { SoftmaxGradient(g, w, n, c, s, h, f); }
void SoftmaxGradientD(double* g, const double* w, int64_t n, int64_t c, int64_t s, const double* h, double f) { SoftmaxGradient(g, w, n, c, s, h, f); }

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

template <>
void softmax_step(float* r, int64_t n, int64_t c, int64_t s, float* m, float* t, float* k) {
  AT_ISA_FUNCTION(SoftmaxStepF)(r, n, c, s, m, t, k);
}
template <>
void softmax_step(double* r, int64_t n, int64_t c, int64_t s, double* m, double* t, double* k) {
  AT_ISA_FUNCTION(SoftmaxStepD)(r, n, c, s, m, t, k);
}
template <>
void scale_rows(float* r, int64_t n, int64_t c, int64_t s, const float* f) {
  AT_ISA_FUNCTION(ScaleRowsF)(r, n, c, s, f);
}
template <>
void scale_rows(double* r, int64_t n, int64_t c, int64_t s, const double* f) {
  AT_ISA_FUNCTION(ScaleRowsD)(r, n, c, s, f);
}
template <>
void exp_rows(float* r, int64_t n, int64_t c, int64_t s, const float* f) {
  AT_ISA_FUNCTION(ExpRowsF)(r, n, c, s, f);
}
template <>
void exp_rows(double* r, int64_t n, int64_t c, int64_t s, const double* f) {
  AT_ISA_FUNCTION(ExpRowsD)(r, n, c, s, f);
}
template <>
void softmax_gradient(float* g, const float* w, int64_t n, int64_t c, int64_t s, const float* h, float f) {
  AT_ISA_FUNCTION(SoftmaxGradientF)(g, w, n, c, s, h, f);
}
template <>
void softmax_gradient(double* g, const double* w, int64_t n, int64_t c, int64_t s, const double* h, double f) {
  AT_ISA_FUNCTION(SoftmaxGradientD)(g, w, n, c, s, h, f);
}

}  // namespace at::matrix::internal
#endif
