// row_sum, row_nansum, row_product, row_power_sum, packed_row_sums, row_square_sum, row_abs_sum, column_sum,
// column_square_sum, column_moments.
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/sum.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_SUM_ONCE_
#define ATEN_CPU_ROWS_SUM_ONCE_
namespace at::cpu {
template <class T>
struct SumTable {
  double (*sum)(const T*, int64_t);
  void (*packed_rows)(const T*, int64_t, int64_t, double*);
  double (*square_sum)(const T*, int64_t, double);
  double (*abs_sum)(const T*, int64_t);
  double (*nansum)(const T*, int64_t);
  double (*product)(const T*, int64_t);
  double (*power_sum)(const T*, int64_t, int);
  void (*nan_columns)(const T*, int64_t, int64_t, int64_t, double*);
  void (*product_columns)(const T*, int64_t, int64_t, int64_t, double*);
  void (*columns)(const T*, int64_t, int64_t, int64_t, double*);
  void (*square_columns)(const T*, int64_t, int64_t, int64_t, const typename ComputeType<T>::type*, double*);
  void (*moments)(const T*, int64_t, int64_t, int64_t, const typename ComputeType<T>::type*, double*, double*);
};
using SumTables = FloatingTables<SumTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class T>
double sum_impl(const T* x, int64_t n) {
  return block_sum(x, n, Compute<T>{0}, [](auto, auto v) HWY_ATTR { return v; });
}

// The sums of neighbouring lanes of `kVectors` vectors, in order, until each row is one lane.
template <int kVectors, class D, class T>
HWY_INLINE hn::Vec<D> pairwise_rows(D d, const T* x) {
  if constexpr (kVectors == 1) {
    return load(d, x);
  } else {
    const auto low = pairwise_rows<kVectors / 2>(d, x);
    const auto high = pairwise_rows<kVectors / 2>(d, x + static_cast<int64_t>(hn::Lanes(d)) * (kVectors / 2));
#if HWY_TARGET == HWY_SCALAR
    return hn::Add(low, high);  // one lane a vector: all of them are of one row
#else
    return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
#endif
  }
}

template <int kWidth, class T>
void packed_rows_of(const T* x, int64_t rows, double* acc) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN Compute<T> sums[HWY_MAX_BYTES / sizeof(Compute<T>)];
  int64_t j = 0;
  for (; j + lanes <= rows; j += lanes) {
    hn::Store(pairwise_rows<kWidth>(d, x + j * kWidth), d, sums);
    for (int64_t k = 0; k < lanes; ++k) acc[j + k] += static_cast<double>(sums[k]);
  }
  for (; j < rows; ++j) {
    Compute<T> part[kWidth];
    for (int k = 0; k < kWidth; ++k) part[k] = static_cast<Compute<T>>(x[j * kWidth + k]);
    for (int width = kWidth / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) part[k] = part[2 * k] + part[2 * k + 1];
    }
    acc[j] += static_cast<double>(part[0]);
  }
}

template <class T>
void packed_rows_impl(const T* x, int64_t rows, int64_t n, double* acc) {
  if (n == 2) return packed_rows_of<2>(x, rows, acc);
  if (n == 4) return packed_rows_of<4>(x, rows, acc);
  packed_rows_of<8>(x, rows, acc);
}

template <class T>
double square_sum_impl(const T* x, int64_t n, double shift) {
  const Compute<T> s = static_cast<Compute<T>>(shift);
  return block_sum(x, n, s, [s](auto d, auto v) HWY_ATTR {
    const auto c = hn::Sub(v, hn::Set(d, s));
    return hn::Mul(c, c);
  });
}

template <class T>
double abs_sum_impl(const T* x, int64_t n) {
  return block_sum(x, n, Compute<T>{0}, [](auto, auto v) HWY_ATTR { return hn::Abs(v); });
}

template <class D>
HWY_INLINE hn::Vec<D> zero_for_nan(D d, hn::Vec<D> v) {
  return hn::IfThenZeroElse(hn::IsNaN(v), v);
}
template <class T>
double nansum_impl(const T* x, int64_t n) {
  return block_sum(x, n, Compute<T>{0}, [](auto d, auto v) HWY_ATTR { return zero_for_nan(d, v); });
}

using Doubles = hn::ScalableTag<double>;
template <class T>
HWY_INLINE hn::Vec<Doubles> load_doubles(const T* p) {
  const Doubles d;
  if constexpr (std::is_same_v<T, double>) {
    return hn::LoadU(d, p);
  } else {
    return hn::PromoteTo(d, load(hn::Rebind<float, Doubles>(), p));
  }
}

// The elements in double, joined over many lanes; join(start, start) == start.
template <class T, class Map, class Join>
HWY_INLINE double fold_doubles(const T* x, int64_t n, double start, const Map& map, const Join& join) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a0 = hn::Set(d, start), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = join(a0, map(load_doubles(x + i)));
    a1 = join(a1, map(load_doubles(x + i + lanes)));
    a2 = join(a2, map(load_doubles(x + i + 2 * lanes)));
    a3 = join(a3, map(load_doubles(x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) a0 = join(a0, map(load_doubles(x + i)));
  HWY_ALIGN double part[HWY_MAX_BYTES / sizeof(double)];
  if (i < n) {
    const auto fill = hn::Set(d, start);
    hn::Store(fill, d, part);
    const int64_t m = n - i;
    for (int64_t k = 0; k < m; ++k) part[k] = static_cast<double>(static_cast<Compute<T>>(x[i + k]));
    a1 = join(a1, hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(m)), map(hn::Load(d, part)), fill));
  }
  hn::Store(join(join(a0, a1), join(a2, a3)), d, part);
  double result = part[0];
  for (int64_t k = 1; k < lanes; ++k) {
    result = hn::GetLane(join(hn::Set(d, result), hn::Set(d, part[k])));
  }
  return result;
}

template <class T>
double product_impl(const T* x, int64_t n) {
  return fold_doubles(
      x, n, 1.0, [](auto v) HWY_ATTR { return v; }, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
}

template <class T>
double power_sum_impl(const T* x, int64_t n, int exponent) {
  const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  if (exponent == 3) {
    return fold_doubles(x, n, 0.0, [](auto v) HWY_ATTR { return hn::Abs(hn::Mul(hn::Mul(v, v), v)); }, add);
  }
  return fold_doubles(x, n, 0.0, [exponent](auto v) HWY_ATTR { return whole_power(v, exponent); }, add);
}

template <int kVectors, class T>
HWY_INLINE void product_block(const T* x, int64_t row_stride, int64_t rows, double* acc) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Doubles> products[kVectors];
  for (int k = 0; k < kVectors; ++k) products[k] = hn::LoadU(d, acc + k * lanes);
  const char* row = reinterpret_cast<const char*>(x);
  for (int64_t r = 0; r < rows; ++r, row += row_stride) {
    for (int k = 0; k < kVectors; ++k)
      products[k] = hn::Mul(products[k], load_doubles(reinterpret_cast<const T*>(row) + k * lanes));
  }
  for (int k = 0; k < kVectors; ++k) hn::StoreU(products[k], d, acc + k * lanes);
}
template <class T>
void product_columns_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Doubles()));
  int64_t j = 0;
  for (; j + 4 * lanes <= cols; j += 4 * lanes) product_block<4>(x + j, row_stride, rows, acc + j);
  for (; j + lanes <= cols; j += lanes) product_block<1>(x + j, row_stride, rows, acc + j);
  for (; j < cols; ++j) {
    const char* row = reinterpret_cast<const char*>(x + j);
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      acc[j] *= static_cast<double>(static_cast<Compute<T>>(*reinterpret_cast<const T*>(row)));
    }
  }
}

// What of a column's elements is added, of a vector of neighbouring columns or of one.
struct Itself {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> v, int64_t) const {
    return v;
  }
  template <class C>
  HWY_INLINE double number(C v, int64_t) const {
    return static_cast<double>(v);
  }
};
struct ItselfOrZero {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v, int64_t) const {
    return zero_for_nan(d, v);
  }
  template <class C>
  HWY_INLINE double number(C v, int64_t) const {
    return v == v ? static_cast<double>(v) : 0.0;
  }
};
template <class C>
struct SquareAbout {
  const C* center;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v, int64_t column) const {
    const auto c = hn::Sub(v, hn::LoadU(d, center + column));
    return hn::Mul(c, c);
  }
  HWY_INLINE double number(C v, int64_t column) const {
    const double c = static_cast<double>(v - center[column]);
    return c * c;
  }
};

// kVectors neighbouring vectors of columns, blocks of 32 rows in the compute type, blocks in double.
template <int kVectors, class T, class Map>
HWY_INLINE void column_block(const T* x, int64_t row_stride, int64_t rows, int64_t column, const Map& map, double* acc) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN Compute<T> part[HWY_MAX_BYTES / sizeof(Compute<T>) * kVectors];
  const char* row = reinterpret_cast<const char*>(x);
  constexpr int64_t kRows = 32;
  while (rows > 0) {
    const int64_t m = rows < kRows ? rows : kRows;
    hn::Vec<Tag<T>> sums[kVectors];
    for (int k = 0; k < kVectors; ++k) sums[k] = hn::Zero(d);
    for (int64_t r = 0; r < m; ++r, row += row_stride) {
      const T* p = reinterpret_cast<const T*>(row);
      for (int k = 0; k < kVectors; ++k) sums[k] = hn::Add(sums[k], map(d, load(d, p + k * lanes), column + k * lanes));
    }
    for (int k = 0; k < kVectors; ++k) hn::StoreU(sums[k], d, part + k * lanes);
    for (int64_t j = 0; j < kVectors * lanes; ++j) acc[j] += static_cast<double>(part[j]);
    rows -= m;
  }
}

template <class T, class Map>
HWY_INLINE void mapped_columns(const T* x, int64_t row_stride, int64_t rows, int64_t cols, const Map& map, double* acc) {
  if (rows == 0) return;  // x may be null
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + 4 * lanes <= cols; j += 4 * lanes) column_block<4>(x + j, row_stride, rows, j, map, acc + j);
  for (; j + lanes <= cols; j += lanes) column_block<1>(x + j, row_stride, rows, j, map, acc + j);
  for (; j < cols; ++j) {
    const char* row = reinterpret_cast<const char*>(x + j);
    double sum = acc[j];
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      sum += map.number(static_cast<Compute<T>>(*reinterpret_cast<const T*>(row)), j);
    }
    acc[j] = sum;
  }
}

template <class T>
void columns_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  mapped_columns(x, row_stride, rows, cols, Itself(), acc);
}
template <class T>
void nan_columns_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  mapped_columns(x, row_stride, rows, cols, ItselfOrZero(), acc);
}
template <class T>
void square_columns_impl(
    const T* x, int64_t row_stride, int64_t rows, int64_t cols, const Compute<T>* center, double* acc) {
  mapped_columns(x, row_stride, rows, cols, SquareAbout<Compute<T>>{center}, acc);
}

// kVectors neighbouring vectors of columns, blocks of 32 rows in the compute type, blocks in double.
template <int kVectors, class T>
HWY_INLINE void moments_block(const T* x, int64_t row_stride, int64_t rows, const Compute<T>* center, double* sum,
                              double* square) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN Compute<T> part[HWY_MAX_BYTES / sizeof(Compute<T>)];
  const char* row = reinterpret_cast<const char*>(x);
  constexpr int64_t kRows = 32;
  hn::Vec<Tag<T>> about[kVectors], sums[kVectors], squares[kVectors];
  for (int k = 0; k < kVectors; ++k) about[k] = hn::LoadU(d, center + k * lanes);
  for (; rows > 0; rows -= kRows) {
    for (int k = 0; k < kVectors; ++k) sums[k] = squares[k] = hn::Zero(d);
    for (int64_t r = rows < kRows ? rows : kRows; r > 0; --r, row += row_stride) {
      const T* p = reinterpret_cast<const T*>(row);
      for (int k = 0; k < kVectors; ++k) {
        const auto v = hn::Sub(load(d, p + k * lanes), about[k]);
        sums[k] = hn::Add(sums[k], v);
        squares[k] = hn::MulAdd(v, v, squares[k]);
      }
    }
    for (int k = 0; k < kVectors; ++k) {
      hn::Store(sums[k], d, part);
      for (int64_t j = 0; j < lanes; ++j) sum[k * lanes + j] += static_cast<double>(part[j]);
      hn::Store(squares[k], d, part);
      for (int64_t j = 0; j < lanes; ++j) square[k * lanes + j] += static_cast<double>(part[j]);
    }
  }
}

template <class T>
void moments_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, const Compute<T>* center, double* sum,
                  double* square) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + 4 * lanes <= cols; j += 4 * lanes)
    moments_block<4>(x + j, row_stride, rows, center + j, sum + j, square + j);
  for (; j + lanes <= cols; j += lanes)
    moments_block<1>(x + j, row_stride, rows, center + j, sum + j, square + j);
  for (; j < cols; ++j) {
    const char* row = reinterpret_cast<const char*>(x + j);
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      const double v = static_cast<double>(static_cast<Compute<T>>(*reinterpret_cast<const T*>(row)) - center[j]);
      sum[j] += v;
      square[j] += v * v;
    }
  }
}

template <class T>
constexpr SumTable<T> make_sum_table() {
  return {sum_impl<T>,     packed_rows_impl<T>,    square_sum_impl<T>, abs_sum_impl<T>,
          nansum_impl<T>,  product_impl<T>,        power_sum_impl<T>,  nan_columns_impl<T>, product_columns_impl<T>,
          columns_impl<T>, square_columns_impl<T>, moments_impl<T>};
}

const SumTables* sum_tables() {
  static constexpr SumTables tables{{make_sum_table<float>(), make_sum_table<double>()}, make_sum_table<c10::Half>(),
                                    make_sum_table<c10::BFloat16>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const SumTable<T>& sum_table() {
  return AT_ISA_FUNCTION(sum_tables)()->template get<T>();
}
}  // namespace

template <class T>
double row_sum(const T* x, int64_t n) {
  return sum_table<T>().sum(x, n);
}
template <class T>
void packed_row_sums(const T* x, int64_t rows, int64_t n, double* acc) {
  sum_table<T>().packed_rows(x, rows, n, acc);
}
template <class T>
double row_square_sum(const T* x, int64_t n, double shift) {
  return sum_table<T>().square_sum(x, n, shift);
}
template <class T>
double row_abs_sum(const T* x, int64_t n) {
  return sum_table<T>().abs_sum(x, n);
}
template <class T>
double row_nansum(const T* x, int64_t n) {
  return sum_table<T>().nansum(x, n);
}
template <class T>
double row_product(const T* x, int64_t n) {
  return sum_table<T>().product(x, n);
}
template <class T>
double row_power_sum(const T* x, int64_t n, int exponent) {
  return sum_table<T>().power_sum(x, n, exponent);
}
template <class T>
void column_nansum(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  if (rows > 0) sum_table<T>().nan_columns(x, row_stride, rows, cols, acc);
}
template <class T>
void column_product(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  if (rows > 0) sum_table<T>().product_columns(x, row_stride, rows, cols, acc);
}
template <class T>
void column_sum(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc) {
  if (rows > 0) sum_table<T>().columns(x, row_stride, rows, cols, acc);
}

template <class T>
void column_square_sum(
    const T* x, int64_t row_stride, int64_t rows, int64_t cols, const typename ComputeType<T>::type* center, double* acc) {
  if (rows > 0) sum_table<T>().square_columns(x, row_stride, rows, cols, center, acc);
}

template <class T>
void column_moments(const T* x, int64_t row_stride, int64_t rows, int64_t cols,
                    const typename ComputeType<T>::type* center, double* sum, double* square) {
  if (rows > 0) sum_table<T>().moments(x, row_stride, rows, cols, center, sum, square);
}

#define ATEN_CPU_ROWS_SUM(T)                                  \
  template double row_sum(const T*, int64_t);                 \
  template void packed_row_sums(const T*, int64_t, int64_t, double*); \
  template double row_square_sum(const T*, int64_t, double);  \
  template double row_abs_sum(const T*, int64_t);             \
  template double row_nansum(const T*, int64_t);              \
  template double row_product(const T*, int64_t);             \
  template double row_power_sum(const T*, int64_t, int);      \
  template void column_nansum(const T*, int64_t, int64_t, int64_t, double*);  \
  template void column_product(const T*, int64_t, int64_t, int64_t, double*); \
  template void column_sum(const T*, int64_t, int64_t, int64_t, double*); \
  template void column_square_sum(const T*, int64_t, int64_t, int64_t, const ComputeType<T>::type*, double*); \
  template void column_moments(const T*, int64_t, int64_t, int64_t, const ComputeType<T>::type*, double*, double*);
ATEN_CPU_ROWS_SUM(float)
ATEN_CPU_ROWS_SUM(double)
ATEN_CPU_ROWS_SUM(c10::Half)
ATEN_CPU_ROWS_SUM(c10::BFloat16)
#undef ATEN_CPU_ROWS_SUM

}  // namespace at::cpu
#endif  // HWY_ONCE
