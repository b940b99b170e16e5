// lstm_row, lstm_hidden_row, gru_row, rnn_row and their gradients.
#include "aten/cpu/rows/recurrent.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/recurrent.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
#include "aten/cpu/vec_math-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_RECURRENT_ONCE_
#define ATEN_CPU_ROWS_RECURRENT_ONCE_
namespace at::cpu {
template <class T>
struct RecurrentTable {
  void (*lstm)(T*, const T*, T*, T*, int64_t);
  void (*lstm_hidden)(const T*, const T*, T*, int64_t);
  void (*lstm_backward)(const T*, const T*, const T*, const T*, const T*, T*, T*, int64_t);
  void (*gru)(T*, const T*, const T*, T*, T*, int64_t);
  void (*gru_backward)(const T*, const T*, const T*, T*, const T*, T*, T*, int64_t);
  void (*rnn)(const T*, T*, int64_t, bool);
  void (*rnn_backward)(const T*, const T*, const T*, T*, int64_t, bool);
};
using RecurrentTables = FloatingTables<RecurrentTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

// A function of each lane, by the library for double.
template <class V, class F>
HWY_INLINE V by_lane(hn::ScalableTag<double> d, V x, F f) {
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}
template <class V>
HWY_INLINE V tanh_of(hn::ScalableTag<float> d, V x) {
  return vm::tanh(d, x);
}
template <class V>
HWY_INLINE V tanh_of(hn::ScalableTag<double> d, V x) {
  return by_lane(d, x, [](double v) { return std::tanh(v); });
}
template <class V>
HWY_INLINE V sigmoid_of(hn::ScalableTag<float> d, V x) {
  return vm::sigmoid(d, x);
}
template <class V>
HWY_INLINE V sigmoid_of(hn::ScalableTag<double> d, V x) {
  return by_lane(d, x, [](double v) { return 1 / (1 + std::exp(-v)); });
}

// One vector of a row: whole, or its last `left` elements.
template <class T>
struct Lane {
  Tag<T> d;
  int64_t i;
  int64_t left;  // 0: all

  HWY_INLINE hn::Vec<Tag<T>> get(const T* p) const {
    return left == 0 ? load(d, p + i) : load_part(d, p + i, left, Compute<T>{0});
  }
  HWY_INLINE hn::Vec<Tag<T>> get_or_zero(const T* p) const { return p == nullptr ? hn::Zero(d) : get(p); }
  HWY_INLINE void put(hn::Vec<Tag<T>> v, T* p) const {
    if (left == 0) {
      store(d, v, p + i);
    } else {
      store_part(d, v, p + i, left);
    }
  }
};

template <class T, class F>
HWY_INLINE void for_lanes(int64_t n, const F& f) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // One call of `f`, which is inlined: a second for the last lanes would double what is compiled.
  for (int64_t i = 0; i < n; i += lanes) f(Lane<T>{d, i, n - i < lanes ? n - i : 0});
}

template <class D, class V>
HWY_INLINE V one_minus(D d, V x) {
  return hn::Sub(hn::Set(d, hn::TFromD<D>{1}), x);
}

template <class T>
void lstm(T* gates, const T* c_prev, T* c, T* h, int64_t n) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto i = sigmoid_of(l.d, l.get(gates)), f = sigmoid_of(l.d, l.get(gates + n));
        const auto g = tanh_of(l.d, l.get(gates + 2 * n)), o = sigmoid_of(l.d, l.get(gates + 3 * n));
        const auto cell = hn::MulAdd(f, l.get(c_prev), hn::Mul(i, g));
        l.put(i, gates);
        l.put(f, gates + n);
        l.put(g, gates + 2 * n);
        l.put(o, gates + 3 * n);
        l.put(cell, c);
        l.put(hn::Mul(o, tanh_of(l.d, cell)), h);
      });
}

template <class T>
void lstm_hidden(const T* gates, const T* c, T* h, int64_t n) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR
      __attribute__((always_inline)) { l.put(hn::Mul(l.get(gates + 3 * n), tanh_of(l.d, l.get(c))), h); });
}

template <class T>
void lstm_backward(const T* gates, const T* c_prev, const T* c, const T* grad_h1, const T* grad_h2, T* grad_c,
                   T* grad_gates, int64_t n) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto i = l.get(gates), f = l.get(gates + n), g = l.get(gates + 2 * n), o = l.get(gates + 3 * n);
        const auto t = tanh_of(l.d, l.get(c)), gh = hn::Add(l.get(grad_h1), l.get_or_zero(grad_h2));
        const auto gc = hn::MulAdd(hn::Mul(gh, o), one_minus(l.d, hn::Mul(t, t)), l.get(grad_c));
        l.put(hn::Mul(hn::Mul(gc, g), hn::Mul(i, one_minus(l.d, i))), grad_gates);
        l.put(hn::Mul(hn::Mul(gc, l.get(c_prev)), hn::Mul(f, one_minus(l.d, f))), grad_gates + n);
        l.put(hn::Mul(hn::Mul(gc, i), one_minus(l.d, hn::Mul(g, g))), grad_gates + 2 * n);
        l.put(hn::Mul(hn::Mul(gh, t), hn::Mul(o, one_minus(l.d, o))), grad_gates + 3 * n);
        l.put(hn::Mul(gc, f), grad_c);
      });
}

template <class T>
void gru(T* gates, const T* recurrent, const T* h_prev, T* h, T* kept, int64_t n) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto r = sigmoid_of(l.d, hn::Add(l.get(gates), l.get(recurrent)));
        const auto z = sigmoid_of(l.d, hn::Add(l.get(gates + n), l.get(recurrent + n)));
        const auto from_hidden = l.get(recurrent + 2 * n);
        const auto fresh = tanh_of(l.d, hn::MulAdd(r, from_hidden, l.get(gates + 2 * n)));
        const auto before = l.get(h_prev);
        l.put(r, gates);
        l.put(z, gates + n);
        l.put(fresh, gates + 2 * n);
        if (kept != nullptr) l.put(from_hidden, kept);
        l.put(hn::MulAdd(z, hn::Sub(before, fresh), fresh), h);
      });
}

template <class T>
void gru_backward(const T* gates, const T* kept, const T* h_prev, T* grad_h1, const T* grad_h2, T* grad_gates,
                  T* grad_recurrent, int64_t n) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto r = l.get(gates), z = l.get(gates + n), fresh = l.get(gates + 2 * n);
        const auto gh = hn::Add(l.get(grad_h1), l.get_or_zero(grad_h2));
        const auto g_n = hn::Mul(hn::Mul(gh, one_minus(l.d, z)), one_minus(l.d, hn::Mul(fresh, fresh)));
        const auto g_z = hn::Mul(hn::Mul(gh, hn::Sub(l.get(h_prev), fresh)), hn::Mul(z, one_minus(l.d, z)));
        const auto g_r = hn::Mul(hn::Mul(g_n, l.get(kept)), hn::Mul(r, one_minus(l.d, r)));
        l.put(g_r, grad_gates);
        l.put(g_r, grad_recurrent);
        l.put(g_z, grad_gates + n);
        l.put(g_z, grad_recurrent + n);
        l.put(g_n, grad_gates + 2 * n);
        l.put(hn::Mul(g_n, r), grad_recurrent + 2 * n);
        l.put(hn::Mul(gh, z), grad_h1);
      });
}

template <class T>
void rnn(const T* gates, T* h, int64_t n, bool relu) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto x = l.get(gates);
        l.put(relu ? hn::IfThenZeroElse(hn::Lt(x, hn::Zero(l.d)), x) : tanh_of(l.d, x), h);
      });
}

template <class T>
void rnn_backward(const T* h, const T* grad_h1, const T* grad_h2, T* grad_gates, int64_t n, bool relu) {
  for_lanes<T>(
      n, [=](Lane<T> l) HWY_ATTR __attribute__((always_inline)) {
        const auto y = l.get(h), gh = hn::Add(l.get(grad_h1), l.get_or_zero(grad_h2));
        const auto of_tanh = hn::Mul(gh, one_minus(l.d, hn::Mul(y, y)));
        l.put(relu ? hn::IfThenElseZero(hn::Gt(y, hn::Zero(l.d)), gh) : of_tanh, grad_gates);
      });
}

// Rows of 16-bit numbers where much is computed of each: in pieces of float, by the functions of float, since those take seconds
// to compile for every instruction set.
constexpr int64_t kPiece = 256;

template <class T>
void widen(const T* from, float* to, int64_t n) {
  for_lanes<T>(n, [=](Lane<T> l) HWY_ATTR { Lane<float>{l.d, l.i, l.left}.put(l.get(from), to); });
}
template <class T>
void round_to(const float* from, T* to, int64_t n) {
  for_lanes<T>(n, [=](Lane<T> l) HWY_ATTR { l.put(Lane<float>{l.d, l.i, l.left}.get(from), to); });
}
// `count` rows, `n` apart there and `m` apart here.
template <class T>
void widen_rows(const T* from, int64_t n, float* to, int64_t m, int count) {
  for (int k = 0; k < count; ++k) widen(from + k * n, to + k * m, m);
}
template <class T>
void round_rows(const float* from, int64_t m, T* to, int64_t n, int count) {
  for (int k = 0; k < count; ++k) round_to(from + k * m, to + k * n, m);
}

template <class T>
void lstm_by_pieces(T* gates, const T* c_prev, T* c, T* h, int64_t n) {
  float g[4 * kPiece], before[kPiece], cell[kPiece], hidden[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    widen_rows(gates + i, n, g, m, 4);
    widen(c_prev + i, before, m);
    lstm<float>(g, before, cell, hidden, m);
    round_rows(g, m, gates + i, n, 4);
    round_to(cell, c + i, m);
    round_to(hidden, h + i, m);
  }
}

template <class T>
void gru_by_pieces(T* gates, const T* recurrent, const T* h_prev, T* h, T* kept, int64_t n) {
  float g[3 * kPiece], r[3 * kPiece], before[kPiece], hidden[kPiece], from_hidden[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    widen_rows(gates + i, n, g, m, 3);
    widen_rows(recurrent + i, n, r, m, 3);
    widen(h_prev + i, before, m);
    gru<float>(g, r, before, hidden, from_hidden, m);
    round_rows(g, m, gates + i, n, 3);
    round_to(hidden, h + i, m);
    if (kept != nullptr) round_to(from_hidden, kept + i, m);
  }
}

template <class T>
constexpr RecurrentTable<T> recurrent_entries() {
  if constexpr (sizeof(T) == 2) {
    return {lstm_by_pieces<T>, lstm_hidden<T>, lstm_backward<T>, gru_by_pieces<T>, gru_backward<T>, rnn<T>, rnn_backward<T>};
  } else {
    return {lstm<T>, lstm_hidden<T>, lstm_backward<T>, gru<T>, gru_backward<T>, rnn<T>, rnn_backward<T>};
  }
}

const RecurrentTables* recurrent_tables() {
  static constexpr RecurrentTables tables{{recurrent_entries<float>(), recurrent_entries<double>()},
                                          recurrent_entries<c10::Half>(),
                                          recurrent_entries<c10::BFloat16>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const RecurrentTable<T>& table() {
  return AT_ISA_FUNCTION(recurrent_tables)()->template get<T>();
}
}  // namespace

template <class T>
void lstm_row(T* gates, const T* c_prev, T* c, T* h, int64_t n) {
  table<T>().lstm(gates, c_prev, c, h, n);
}
template <class T>
void lstm_hidden_row(const T* gates, const T* c, T* h, int64_t n) {
  table<T>().lstm_hidden(gates, c, h, n);
}
template <class T>
void lstm_row_backward(const T* gates, const T* c_prev, const T* c, const T* grad_h1, const T* grad_h2, T* grad_c,
                       T* grad_gates, int64_t n) {
  table<T>().lstm_backward(gates, c_prev, c, grad_h1, grad_h2, grad_c, grad_gates, n);
}
template <class T>
void gru_row(T* gates, const T* recurrent, const T* h_prev, T* h, T* kept, int64_t n) {
  table<T>().gru(gates, recurrent, h_prev, h, kept, n);
}
template <class T>
void gru_row_backward(const T* gates, const T* kept, const T* h_prev, T* grad_h1, const T* grad_h2, T* grad_gates,
                      T* grad_recurrent, int64_t n) {
  table<T>().gru_backward(gates, kept, h_prev, grad_h1, grad_h2, grad_gates, grad_recurrent, n);
}
template <class T>
void rnn_row(const T* gates, T* h, int64_t n, bool relu) {
  table<T>().rnn(gates, h, n, relu);
}
template <class T>
void rnn_row_backward(const T* h, const T* grad_h1, const T* grad_h2, T* grad_gates, int64_t n, bool relu) {
  table<T>().rnn_backward(h, grad_h1, grad_h2, grad_gates, n, relu);
}

#define ATEN_CPU_ROWS_RECURRENT(T)                                                                    \
  template void lstm_row(T*, const T*, T*, T*, int64_t);                                              \
  template void lstm_hidden_row(const T*, const T*, T*, int64_t);                                     \
  template void lstm_row_backward(const T*, const T*, const T*, const T*, const T*, T*, T*, int64_t); \
  template void gru_row(T*, const T*, const T*, T*, T*, int64_t);                                     \
  template void gru_row_backward(const T*, const T*, const T*, T*, const T*, T*, T*, int64_t);        \
  template void rnn_row(const T*, T*, int64_t, bool);                                                 \
  template void rnn_row_backward(const T*, const T*, const T*, T*, int64_t, bool);
ATEN_CPU_ROWS_RECURRENT(float)
ATEN_CPU_ROWS_RECURRENT(double)
ATEN_CPU_ROWS_RECURRENT(c10::Half)
ATEN_CPU_ROWS_RECURRENT(c10::BFloat16)
#undef ATEN_CPU_ROWS_RECURRENT

}  // namespace at::cpu
#endif  // HWY_ONCE
