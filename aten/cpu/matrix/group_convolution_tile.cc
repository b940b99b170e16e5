#include "aten/cpu/matrix/group_convolution_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/group_convolution_tile.cc"
#include "hwy/foreach_target.h"  // keep first
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first `count` floats of a vector in memory, which are all that is touched.
template <class D>
struct Part {
  D d;
  size_t count;
  hn::Mask<D> mask;
  Part(D tag, int64_t number) : d(tag), count(static_cast<size_t>(number)), mask(hn::FirstN(tag, count)) {}
#if HWY_TARGET <= HWY_AVX2
  HWY_INLINE hn::Vec<D> Load(const float* from) const {
    return hn::MaskedLoad(mask, d, from);
  }
  HWY_INLINE void Store(hn::Vec<D> v, float* to) const {
    hn::BlendedStore(v, mask, d, to);
  }
#else
  // Without masks in hardware those would touch whole vectors.
  hn::Vec<D> Load(const float* from) const {
    HWY_ALIGN float all[HWY_MAX_BYTES / sizeof(float)] = {};
    for (size_t i = 0; i < count; ++i) all[i] = from[i];
    return hn::Load(d, all);
  }
  void Store(hn::Vec<D> v, float* to) const {
    HWY_ALIGN float all[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, all);
    for (size_t i = 0; i < count; ++i) to[i] = all[i];
  }
#endif
};

// --- the product ---

// c[m, n] = (add ? c : bias of the row, or 0) + a[m, k] * b[k, n]; a with any strides, the rows of b and c as they lie.
struct Product {
  int64_t m, n, k;
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_row;
  const float* bias;
  float* c;
  int64_t c_row;
  bool add;
};

// Rows [i, i + kRows), columns from j on: kVectors vectors, of the last of which `last` columns count.
template <int kRows, int kVectors>
HWY_NOINLINE void Tile(const Product& p, int64_t i, int64_t j, int64_t last) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  const Part<decltype(d)> part(d, last);
  const auto load = [&](const float* row, int v) HWY_ATTR {
    return v + 1 < kVectors ? hn::LoadU(d, row + v * lanes) : part.Load(row + v * lanes);
  };
  V sum[kRows][kVectors];
  float* const c = p.c + i * p.c_row + j;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = p.add ? load(c + r * p.c_row, v) : hn::Set(d, p.bias == nullptr ? 0.0f : p.bias[i + r]);
  // Rows in fours behind one pointer each.
  constexpr int kPointers = (kRows + 3) / 4;
  const float* a[kPointers];
#pragma GCC unroll 4
  for (int q = 0; q < kPointers; ++q) a[q] = p.a + (i + 4 * q) * p.a_row;
  const float* b = p.b + j;
  for (int64_t k = p.k; k > 0; --k, b += p.b_row) {
    V x[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) x[v] = load(b, v);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, a[r / 4][r % 4 * p.a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(factor, x[v], sum[r][v]);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kPointers; ++q) a[q] += p.a_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    float* const row = c + r * p.c_row;
#pragma GCC unroll 2
    for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sum[r][v], d, row + v * lanes);
    part.Store(sum[r][kVectors - 1], row + (kVectors - 1) * lanes);
  }
}

// Accumulators, vectors of b and one factor must fit the register file.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kTallest = 16;
#else
inline constexpr int kTallest = 8;
#endif

template <int kVectors>
void Strip(const Product& p, int64_t j, int64_t last) {
  int64_t i = 0;
  if (kVectors == 1)
    for (; i + kTallest <= p.m; i += kTallest) Tile<kVectors == 1 ? kTallest : 8, kVectors>(p, i, j, last);
  for (; i + 8 <= p.m; i += 8) Tile<8, kVectors>(p, i, j, last);
  for (; i + 4 <= p.m; i += 4) Tile<4, kVectors>(p, i, j, last);
  for (; i < p.m; ++i) Tile<1, kVectors>(p, i, j, last);
}

void Multiply(const Product& p) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  for (int64_t j = 0; j < p.n; j += 2 * lanes) {
    const int64_t left = p.n - j;
    if (left > lanes)
      Strip<2>(p, j, HWY_MIN(left - lanes, lanes));
    else
      Strip<1>(p, j, left);
  }
}

// --- unfolding ---

int64_t UpToVectors(int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  return (count + lanes - 1) / lanes * lanes;
}

// How many lines of the output are worked on at a time, so that what is unfolded stays in the caches.
int64_t LinesAtATime(const GroupShape& s) {
  constexpr int64_t kFloats = int64_t{1} << 14;
  return HWY_MIN(s.output[0], HWY_MAX(1, kFloats / (s.unfolded() * s.output[1])));
}

// Room in front of columns and behind them: lines that are folded are read from before their beginning.
int64_t SlackInFront(const GroupShape& s) {
  return UpToVectors((s.kernel[1] - 1) * s.dilation[1]);
}

int64_t Scratch(const GroupShape& s) {
  const int64_t lines = LinesAtATime(s), places = lines * s.output[1], vector = UpToVectors(1);
  return SlackInFront(s) + 2 * vector + HWY_MAX(s.unfolded() * UpToVectors(places), places * UpToVectors(s.unfolded()));
}

// Calls f with the shortest vectors that hold `width` floats: long ones would write over what was just written, which
// processors wait for.
template <class F>
HWY_INLINE void WithVectors(int64_t width, const F& f) {
  if (width <= 4)
    f(hn::CappedTag<float, 4>());
  else if (width <= 8)
    f(hn::CappedTag<float, 8>());
  else
    f(hn::ScalableTag<float>());
}

// Copies `width` floats, by whole vectors and `part` of one. Writes up to a vector beyond.
template <class D>
HWY_INLINE void CopyRun(D d, const Part<D>& part, int64_t whole, const float* from, float* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t x = 0; x < whole; x += lanes) hn::StoreU(hn::LoadU(d, from + x), d, to + x);
  hn::StoreU(part.Load(from + whole), d, to + whole);
}

// to [unfolded, lines * output[1]], rows `row` apart, of the output's lines from `first` on. Writes up to a vector
// beyond: the runs that follow overwrite it.
template <class D>
void Unfold(D d, const GroupShape& s, const float* input, int64_t first, int64_t lines, int64_t row, float* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), width = s.output[1], step = s.stride[0] * s.pitch;
  const int64_t whole = (width - 1) / lanes * lanes;
  const Part<D> part(d, width - whole);
  for (int64_t i = 0; i < s.in; ++i)
    for (int64_t u = 0; u < s.kernel[0]; ++u)
      for (int64_t v = 0; v < s.kernel[1]; ++v, to += row) {
        const float* from =
            input + i * s.plane + (first * s.stride[0] + u * s.dilation[0]) * s.pitch + v * s.dilation[1];
        float* run = to;
        for (int64_t y = 0; y < lines; ++y, from += step, run += width) {
          if (s.stride[1] == 1) {
            CopyRun(d, part, whole, from, run);
          } else {
            for (int64_t x = 0; x < width; ++x) run[x] = from[x * s.stride[1]];
          }
        }
      }
}

// Adds to each input value what Unfold would have made of it: to all of a vector's together, in a register. kWidth:
// that of windows, or 0.
template <int kWidth, class D>
void FoldLines(D d, const GroupShape& s, const float* columns, int64_t first, int64_t lines, int64_t row,
               float* input) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), width = s.output[1], begin = first * s.stride[0];
  const int64_t window = kWidth > 0 ? kWidth : s.kernel[1];
  const int64_t reach = width + (window - 1) * s.dilation[1];
  const int64_t height = (lines - 1) * s.stride[0] + (s.kernel[0] - 1) * s.dilation[0] + 1;
  const auto numbers = hn::Iota(di, 0);
  for (int64_t x = 0; x < reach; x += lanes) {
    const Part<D> part(d, HWY_MIN(lanes, reach - x));
    // The lanes to which place v of a window adds something.
    const auto inside = [&](int64_t v) HWY_ATTR {
      const int64_t at = x - v * s.dilation[1], end = HWY_MIN(width - at, lanes);
      return hn::RebindMask(d, hn::And(hn::Gt(numbers, hn::Set(di, static_cast<int32_t>(HWY_MAX(-at, 0) - 1))),
                                       hn::Lt(numbers, hn::Set(di, static_cast<int32_t>(HWY_MAX(end, 0))))));
    };
    hn::Mask<D> known[kWidth > 0 ? kWidth : 1] = {};
    for (int v = 0; v < kWidth; ++v) known[v] = inside(v);
    for (int64_t i = 0; i < s.in; ++i)
      for (int64_t y = 0; y < height; ++y) {
        float* const to = input + i * s.plane + (begin + y) * s.pitch + x;
        auto sum = part.Load(to);
        for (int64_t u = 0; u < s.kernel[0]; ++u) {
          const int64_t below = y - u * s.dilation[0];
          const int64_t from = s.stride[0] == 1 ? below : below / s.stride[0];
          if (below < 0 || from >= lines || from * s.stride[0] != below) continue;
          const float* line = columns + (i * s.kernel[0] + u) * window * row + from * width + x;
          if constexpr (kWidth > 0) {
#pragma GCC unroll 4
            for (int v = 0; v < kWidth; ++v, line += row - s.dilation[1])
              sum = hn::Add(sum, hn::IfThenElseZero(known[v], hn::LoadU(d, line)));
          } else {
            for (int64_t v = 0; v < window; ++v, line += row - s.dilation[1])
              sum = hn::Add(sum, hn::IfThenElseZero(inside(v), hn::LoadU(d, line)));
          }
        }
        part.Store(sum, to);
      }
  }
}

void Fold(const GroupShape& s, const float* columns, int64_t first, int64_t lines, int64_t row, float* input) {
  if (s.stride[1] == 1) {
    const int64_t reach = s.output[1] + (s.kernel[1] - 1) * s.dilation[1];
    return WithVectors(reach, [&](auto d) HWY_ATTR {
      s.kernel[1] == 3 ? FoldLines<3>(d, s, columns, first, lines, row, input)
                       : FoldLines<0>(d, s, columns, first, lines, row, input);
    });
  }
  for (int64_t i = 0; i < s.in; ++i)
    for (int64_t u = 0; u < s.kernel[0]; ++u)
      for (int64_t v = 0; v < s.kernel[1]; ++v, columns += row)
        for (int64_t y = 0; y < lines; ++y) {
          float* const to =
              input + i * s.plane + ((first + y) * s.stride[0] + u * s.dilation[0]) * s.pitch + v * s.dilation[1];
          for (int64_t x = 0; x < s.output[1]; ++x) to[x * s.stride[1]] += columns[y * s.output[1] + x];
        }
}

// to [lines * output[1], unfolded], rows `row` apart. Writes up to a vector beyond. kWidth: that of windows, or 0.
template <int kWidth, class D>
void UnfoldTransposed(D d, const GroupShape& s, const float* input, int64_t first, int64_t lines, int64_t row,
                      float* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), width = kWidth > 0 ? kWidth : s.kernel[1];
  const int64_t whole = (width - 1) / lanes * lanes, height = s.kernel[0], down = s.dilation[0] * s.pitch;
  const Part<D> part(d, width - whole);
  for (int64_t y = first; y < first + lines; ++y)
    for (int64_t x = 0; x < s.output[1]; ++x, to += row) {
      const float* channel = input + y * s.stride[0] * s.pitch + x * s.stride[1];
      float* run = to;
      for (int64_t i = 0; i < s.in; ++i, channel += s.plane) {
        const float* from = channel;
        for (int64_t u = 0; u < height; ++u, run += width, from += down) {
          if (kWidth > 0 || s.dilation[1] == 1) {
            CopyRun(d, part, whole, from, run);
          } else {
            for (int64_t v = 0; v < width; ++v) run[v] = from[v * s.dilation[1]];
          }
        }
      }
    }
}

// --- the three parts ---

template <class F>
HWY_INLINE void VisitLines(const GroupShape& s, const F& f) {
  const int64_t at_a_time = LinesAtATime(s);
  for (int64_t first = 0; first < s.output[0]; first += at_a_time) f(first, HWY_MIN(at_a_time, s.output[0] - first));
}

void Forward(const GroupShape& s, const float* input, const float* weight, const float* bias, float* scratch,
             float* output) {
  VisitLines(s, [&](int64_t first, int64_t lines) HWY_ATTR {
    const int64_t places = lines * s.output[1], row = UpToVectors(places);
    WithVectors(s.output[1], [&](auto d) HWY_ATTR { Unfold(d, s, input, first, lines, row, scratch); });
    Multiply({s.out, places, s.unfolded(), weight, s.unfolded(), 1, scratch, row, bias, output + first * s.output[1],
              s.outputs(), false});
  });
}

void BackwardInput(const GroupShape& s, const float* grad_output, const float* weight, float* scratch,
                   float* grad_input) {
  VisitLines(s, [&](int64_t first, int64_t lines) HWY_ATTR {
    const int64_t places = lines * s.output[1], row = places == 1 ? 1 : UpToVectors(places);
    float* const columns = scratch + SlackInFront(s);
    // One column is computed as a row.
    if (row == 1)
      Multiply({1, s.unfolded(), s.out, grad_output + first, 0, s.outputs(), weight, s.unfolded(), nullptr, columns, 0,
                false});
    else
      Multiply({s.unfolded(), places, s.out, weight, 1, s.unfolded(), grad_output + first * s.output[1], s.outputs(),
                nullptr, columns, row, false});
    Fold(s, columns, first, lines, row, grad_input);
  });
}

void BackwardWeight(const GroupShape& s, const float* grad_output, const float* input, bool add, float* scratch,
                    float* grad_weight) {
  VisitLines(s, [&](int64_t first, int64_t lines) HWY_ATTR {
    const int64_t row = UpToVectors(s.unfolded());
    if (s.kernel[1] == 3 && s.dilation[1] == 1)
      UnfoldTransposed<3>(hn::CappedTag<float, 4>(), s, input, first, lines, row, scratch);
    else
      UnfoldTransposed<0>(hn::CappedTag<float, 8>(), s, input, first, lines, row, scratch);
    Multiply({s.out, s.unfolded(), lines * s.output[1], grad_output + first * s.output[1], s.outputs(), 1, scratch, row,
              nullptr, grad_weight, s.unfolded(), add || first > 0});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

int64_t group_scratch(const GroupShape& s) {
  return AT_ISA_FUNCTION(Scratch)(s);
}
void group_forward(const GroupShape& s, const float* input, const float* weight, const float* bias, float* scratch,
                   float* output) {
  AT_ISA_FUNCTION(Forward)(s, input, weight, bias, scratch, output);
}
void group_backward_input(const GroupShape& s, const float* grad_output, const float* weight, float* scratch,
                          float* grad_input) {
  AT_ISA_FUNCTION(BackwardInput)(s, grad_output, weight, scratch, grad_input);
}
void group_backward_weight(const GroupShape& s, const float* grad_output, const float* input, bool add, float* scratch,
                           float* grad_weight) {
  AT_ISA_FUNCTION(BackwardWeight)(s, grad_output, input, add, scratch, grad_weight);
}

}  // namespace at::matrix::internal
#endif
